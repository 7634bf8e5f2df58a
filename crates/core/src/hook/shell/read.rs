//! Reads a command line in one pass, command by command.
//!
//! [`word`] reads the words.

mod word;

use super::{DEEPEST, InputSource, MOST_COMMANDS, ShellCommand, ShellScript, ShellWord, Unclear};

/// Reserved words. At the start of a command, another command may follow them.
const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "{", "}", "!", "coproc",
    "time",
];

/// A text and the position up to which it has been read.
pub(super) struct ShellReader<'t, 's> {
    text: &'t str,
    at: usize,
    depth: usize,
    script: &'s mut ShellScript,
    /// Here-documents whose bodies start on the next line.
    pending: Vec<HereDocument>,
    /// Commands that start before this position may be arithmetic.
    sum_end: usize,
    sums: usize,
    /// True inside a text that may be arithmetic without a known end.
    may_be_sum: bool,
    /// The number of open `[` outside quotes. An array index is arithmetic, too.
    squares: usize,
    /// True if the next redirection applies to a descriptor other than the input.
    is_other: bool,
}

struct HereDocument {
    number: usize,
    delimiter: String,
    is_quoted: bool,
    drops_tabs: bool,
}

/// The end of a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListEnd {
    TextEnds,
    BracketCloses,
}

impl<'t, 's> ShellReader<'t, 's> {
    pub(super) fn new(text: &'t str, script: &'s mut ShellScript, depth: usize) -> ShellReader<'t, 's> {
        ShellReader {
            text,
            at: 0,
            depth,
            script,
            pending: Vec::new(),
            sum_end: 0,
            sums: 0,
            may_be_sum: false,
            squares: 0,
            is_other: false,
        }
    }

    /// Reads the text to its end.
    pub(super) fn all(mut self) {
        self.commands(ListEnd::TextEnds);
    }

    fn commands(&mut self, until: ListEnd) {
        let (begin, outer) = (self.at, std::mem::take(&mut self.pending));
        let (sum_end, squares) = (std::mem::take(&mut self.sum_end), std::mem::take(&mut self.squares));
        // `$((` that may or may not be arithmetic.
        let may_be_sum = until == ListEnd::BracketCloses && self.peek() == Some(b'(');
        let may_be_sum = std::mem::replace(&mut self.may_be_sum, may_be_sum);
        self.list(until);
        (self.sum_end, self.squares, self.may_be_sum) = (sum_end, squares, may_be_sum);
        // Shells differ in where they look for a here-document that starts inside brackets, or before them.
        let is_astride =
            !outer.is_empty() && self.text.get(begin..self.at).is_some_and(|text| text.contains('\n'));
        if is_astride || !self.pending.is_empty() {
            self.script.blame(Unclear::Unclosed);
        }
        self.pending = outer;
    }

    fn list(&mut self, until: ListEnd) {
        let (mut brackets, mut cases) = (0usize, 0usize);
        let mut doubtful = None;
        let mut command = ShellCommand::default();
        let mut begin = self.at;
        loop {
            self.skip(b" \t");
            if command.words.is_empty() {
                begin = self.at;
            }
            let Some(byte) = self.peek() else { break };
            match byte {
                b'#' => self.skip_line(),
                b'\n' => {
                    self.finish(&mut command, begin);
                    self.at += 1;
                    self.bodies();
                }
                b';' => {
                    self.finish(&mut command, begin);
                    self.at += 1;
                    if cases > 0 && self.peek().is_some_and(|byte| b";&|".contains(&byte)) {
                        self.skip(b";&|");
                        self.patterns(&mut cases);
                    }
                }
                b'&' => {
                    let end = self.at;
                    self.at += 1;
                    if self.peek() == Some(b'>') {
                        self.redirect(&mut command);
                    } else {
                        self.finish_at(&mut command, begin, end);
                    }
                }
                b'|' => {
                    self.finish(&mut command, begin);
                    self.at += 1;
                }
                b'(' => {
                    self.finish(&mut command, begin);
                    self.at += 1;
                    brackets += 1;
                    if self.peek() == Some(b'(') {
                        match self.sum(self.at + 1) {
                            Some(end) => self.sum_end = end,
                            None if !self.may_be_sum => {
                                doubtful = Some(brackets);
                                self.may_be_sum = true;
                            }
                            None => {}
                        }
                    }
                }
                b')' => {
                    self.finish(&mut command, begin);
                    self.at += 1;
                    if brackets == 0 && until == ListEnd::BracketCloses {
                        return;
                    }
                    if doubtful == Some(brackets) {
                        doubtful = None;
                        self.may_be_sum = false;
                    }
                    brackets = brackets.saturating_sub(1);
                }
                // `1 << 2`
                b'<' if self.at < self.sum_end && self.rest().starts_with("<<") => self.at += 2,
                b'<' | b'>' if !self.is_process() => self.redirect(&mut command),
                _ => {
                    self.word(&mut command);
                    self.after_word(&mut command, begin, &mut cases);
                }
            }
        }
        self.finish(&mut command, begin);
        if until == ListEnd::BracketCloses || brackets > 0 {
            self.script.blame(Unclear::Unclosed);
        }
    }

    /// Handles the last word by its role: a reserved word, an assignment, or a plain word.
    fn after_word(&mut self, command: &mut ShellCommand, begin: usize, cases: &mut usize) {
        let count = command.words.len();
        let Some(word) = command.words.last().copied() else { return };
        let text = command.text.get(word.start..word.end).unwrap_or_default();
        let is_plain = word.plain == word.end;
        let is_loop = || matches!(command.word(0), Some("for" | "select"));
        match text {
            reserved if is_plain && count == 1 && RESERVED.contains(&reserved) => {
                if reserved == "esac" {
                    *cases = cases.saturating_sub(1);
                }
                let is_timed = reserved == "time";
                *command = ShellCommand::default();
                if is_timed {
                    self.skip_time_options();
                }
            }
            "case" if is_plain && count == 1 => self.case(command, cases),
            "[[" if is_plain && count == 1 => self.condition(command),
            // Some shells start a block here, others read a plain word.
            "{" if is_plain => self.finish_without_last(command, begin),
            "do" if is_plain && count == 3 && is_loop() => self.finish_without_last(command, begin),
            _ if command.program + 1 == count && is_assignment(text, word.plain - word.start) => {
                command.program = count;
            }
            _ => {}
        }
    }

    fn skip_time_options(&mut self) {
        self.skip(b" \t");
        while ["-p ", "-p\t", "-- ", "--\t"].iter().any(|option| self.rest().starts_with(option)) {
            self.at += 2;
            self.skip(b" \t");
        }
    }

    /// Reads `case WORD in`, up to the first command.
    fn case(&mut self, command: &mut ShellCommand, cases: &mut usize) {
        while command.words.len() < 3 {
            self.skip(b" \t\n");
            if self.peek().is_none_or(|byte| b";&|()<>".contains(&byte)) {
                return;
            }
            self.word(command);
        }
        *command = ShellCommand::default();
        *cases += 1;
        self.patterns(cases);
    }

    /// Reads the patterns of a `case` branch up to their bracket, or up to `esac`.
    fn patterns(&mut self, cases: &mut usize) {
        let mut pattern = ShellCommand::default();
        loop {
            self.skip(b" \t\n");
            match self.peek() {
                None => return,
                Some(b')') => {
                    self.at += 1;
                    return;
                }
                Some(b'#') => self.skip_line(),
                Some(b'(' | b'|') => self.at += 1,
                Some(b';' | b'&' | b'<' | b'>') if !self.is_process() => return self.give_up(),
                Some(_) => {
                    self.word(&mut pattern);
                    if pattern.text == "esac" {
                        *cases = cases.saturating_sub(1);
                        return;
                    }
                }
            }
        }
    }

    /// Reads the inside of `[[ … ]]`, where `<`, `&&` and brackets do not separate commands.
    fn condition(&mut self, command: &mut ShellCommand) {
        loop {
            self.skip(b" \t\n");
            match self.peek() {
                None => return self.script.blame(Unclear::Unclosed),
                Some(b';') => return,
                Some(b'<' | b'>') if self.is_process() => self.word(command),
                Some(b'(' | b')' | b'|' | b'&' | b'<' | b'>') => self.at += 1,
                Some(_) => {
                    self.word(command);
                    if command.word(command.words.len() - 1) == Some("]]") {
                        return;
                    }
                }
            }
        }
    }

    fn finish(&mut self, command: &mut ShellCommand, begin: usize) {
        self.finish_at(command, begin, self.at);
    }

    fn finish_at(&mut self, command: &mut ShellCommand, begin: usize, end: usize) {
        let mut command = std::mem::take(command);
        if command.words.is_empty() {
            return;
        }
        if self.script.commands.len() >= MOST_COMMANDS {
            self.script.blame(Unclear::TooMuch);
            self.at = self.text.len();
            return;
        }
        command.raw = self.text.get(begin..end).unwrap_or_default().trim().to_owned();
        command.is_sum = begin < self.sum_end;
        self.script.commands.push(command);
    }

    /// Ends a command before its last word. Another command follows that word.
    fn finish_without_last(&mut self, command: &mut ShellCommand, begin: usize) {
        if let Some(word) = command.words.pop() {
            command.text.truncate(word.start.saturating_sub(1));
        }
        self.finish(command, begin);
    }

    /// Reads a redirection from its `<` or `>` on.
    fn redirect(&mut self, command: &mut ShellCommand) {
        let is_other = std::mem::take(&mut self.is_other);
        let is_output = self.peek() == Some(b'>');
        self.at += 1;
        let second = self.peek().filter(|byte| b"<>&|".contains(byte));
        if second.is_some() {
            self.at += 1;
        }
        if !is_output && second == Some(b'<') {
            let input = self.here();
            if !is_other {
                command.read_from(input);
            }
            return;
        }
        let target = self.target();
        let text = target.text.as_str();
        let is_known = target.words.first().is_some_and(|word| word.hole.is_none());
        let is_number =
            second == Some(b'&') && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
        if is_output || second == Some(b'>') {
            self.script.writes |= !is_known || text != "/dev/null" && !is_number;
        } else if !is_other {
            let is_file = is_known && second.is_none() && !super::is_descriptor(text);
            command.read_from(if is_file { InputSource::File } else { InputSource::Unknown });
        }
    }

    /// Reads a here-document or a here-string after its `<<`.
    fn here(&mut self) -> InputSource {
        if self.peek() == Some(b'<') {
            self.at += 1;
            let target = self.target();
            let is_known = |word: &ShellWord| word.hole.is_none() || word.plain == word.end;
            let is_known = target.words.iter().all(is_known);
            return if is_known { InputSource::Text(target.text) } else { InputSource::Unknown };
        }
        if self.may_be_sum || self.squares > 0 {
            self.script.blame(Unclear::Unclosed);
        }
        let drops_tabs = self.peek() == Some(b'-');
        self.at += usize::from(drops_tabs);
        let target = self.target();
        self.script.here_documents += 1;
        let number = self.script.here_documents;
        let is_quoted = target.words.first().is_some_and(|word| word.is_quoted);
        self.pending.push(HereDocument { number, delimiter: target.text, is_quoted, drops_tabs });
        InputSource::HereDocument(number)
    }

    /// Reads the word that a redirection names.
    fn target(&mut self) -> ShellCommand {
        let mut target = ShellCommand::default();
        self.skip(b" \t");
        if self.peek().is_some_and(|byte| !b"\n;&|()<>".contains(&byte) || self.is_process()) {
            self.word(&mut target);
        }
        target
    }

    /// Reads the bodies of the here-documents that start at this line.
    fn bodies(&mut self) {
        for document in std::mem::take(&mut self.pending) {
            let begin = self.at;
            let mut end = None;
            let mut joined = String::new();
            while self.at < self.text.len() {
                let line_begin = self.at;
                let line = self.rest().split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let slashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
                if !document.is_quoted && slashes % 2 == 1 {
                    joined.push_str(line.get(..line.len() - 1).unwrap_or_default());
                    continue;
                }
                let whole = if joined.is_empty() { line.to_owned() } else { format!("{joined}{line}") };
                joined.clear();
                let whole = if document.drops_tabs { whole.trim_start_matches('\t') } else { &whole };
                if whole == document.delimiter {
                    end = Some(line_begin);
                    break;
                }
            }
            // Without its closing line, this may not be a here-document at all.
            let end = end.unwrap_or_else(|| {
                self.script.blame(Unclear::Unclosed);
                self.text.len()
            });
            let body = self.text.get(begin..end).unwrap_or_default();
            if !document.is_quoted {
                self.within(|reader| {
                    ShellReader::new(body, reader.script, reader.depth).expansions(None);
                });
            }
            self.script.bodies.push((document.number, body.to_owned()));
        }
    }

    /// Reads a nested part, unless it exceeds the maximum depth.
    fn within(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth >= DEEPEST {
            self.script.blame(Unclear::TooMuch);
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    /// Stops reading: a part is not closed, or is not shell syntax.
    fn give_up(&mut self) {
        self.script.blame(Unclear::Unclosed);
        self.at = self.text.len();
    }

    /// Returns true at `<(` or `>(`, which passes a command's output or input as a file.
    fn is_process(&self) -> bool {
        matches!(self.byte(), Some(b'<' | b'>')) && self.text.as_bytes().get(self.at + 1) == Some(&b'(')
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns the next byte; skips continued line ends.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b'\\') if self.text.as_bytes().get(self.at + 1) == Some(&b'\n') => self.at += 2,
                byte => return byte,
            }
        }
    }

    fn skip(&mut self, bytes: &[u8]) {
        while self.peek().is_some_and(|byte| bytes.contains(&byte)) {
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    text.bytes().all(is_part) && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// Returns true if a word is an assignment: `x=1`, `x+=1`, `x[0]=1`. The first `plain` bytes are not quoted.
fn is_assignment(text: &str, plain: usize) -> bool {
    let plain = text.get(..plain).unwrap_or_default();
    if let Some((name, _)) = plain.split_once('[')
        && is_name(name)
    {
        return text.contains("]=") || text.contains("]+=");
    }
    plain.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}
