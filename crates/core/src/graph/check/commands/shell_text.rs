//! Reads the text of a command line as a shell does, to find out how it is quoted at each place and which
//! words of it are commands.
//!
//! [`word`] reads the pieces of a word, and [`bashisms`](super::bashisms) judges the words. If the text has an open quote or bracket, nothing is
//! certain, and there are no findings about its syntax.

mod word;

use super::bashisms;
use crate::graph::template::command::VALUE;

/// The deepest nesting of substitutions.
const DEEPEST: usize = 30;
/// The words after which another command may start.
const RESERVED: [&str; 14] =
    ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "{", "}", "!", "time"];
/// Stands for a quoted character, an expansion or a value in the plain text of a word.
pub(super) const HIDDEN: char = '\u{1}';

/// The quotes around a place of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellQuotes {
    None,
    Single,
    Double,
    /// A here-document.
    Document,
}

/// A command line that has been read.
#[derive(Debug, Default)]
pub(super) struct ShellText {
    quotings: Vec<(usize, ShellQuotes)>,
    bashisms: Vec<(usize, &'static str)>,
    /// The commands outside of substitutions.
    commands: Vec<SimpleCommand>,
    /// True if a quote or a bracket is open at the end.
    is_open: bool,
}

/// A command with its words, such as `git log -1`.
#[derive(Debug, Default, Clone)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<Word>,
    /// The end of its last word.
    pub(super) end: usize,
    /// A file gets its output.
    pub(super) is_redirected: bool,
    /// The next command gets its output.
    pub(super) is_piped: bool,
}

/// A word of a command.
#[derive(Debug, Default, Clone)]
pub(super) struct Word {
    pub(super) start: usize,
    /// The text, with [`HIDDEN`] for each character that is not written plainly.
    pub(super) text: String,
}

impl ShellText {
    pub(super) fn read(text: &str) -> ShellText {
        let mut reader = Reader { text, at: 0, depth: 0, documents: Vec::new(), read: ShellText::default() };
        while reader.at < text.len() {
            reader.list(ListEnd::Text, Silence::No);
        }
        reader.read.is_open |= !reader.documents.is_empty();
        reader.read
    }

    /// Returns how the shell reads a value.
    pub(super) fn quoting_at(&self, offset: usize) -> ShellQuotes {
        let found = self.quotings.iter().find(|(at, _)| *at == offset);
        found.map_or(ShellQuotes::None, |(_, quoting)| *quoting)
    }

    /// Returns the syntax that `sh` does not have, each with its place.
    pub(super) fn bashisms(&self) -> &[(usize, &'static str)] {
        if self.is_open { &[] } else { &self.bashisms }
    }

    /// Returns the commands outside of substitutions; `None` if a quote or a bracket is open.
    pub(super) fn commands(&self) -> Option<&[SimpleCommand]> {
        (!self.is_open).then_some(&self.commands)
    }
}

/// The end of a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListEnd {
    Text,
    Bracket,
    Backquote,
}

/// The choice to take words for commands or not: the items of an array are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    No,
    Yes,
}

/// The state of a list of commands.
#[derive(Debug, Default)]
struct List {
    words: Vec<Word>,
    word: Option<Word>,
    /// The next word is the target of a redirection.
    is_target: bool,
    /// A file gets the output of the command.
    is_redirected: bool,
    brackets: usize,
    cases: usize,
    /// The words are patterns of a `case`.
    is_pattern: bool,
}

struct Document {
    delimiter: String,
    is_quoted: bool,
    drops_tabs: bool,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Here-documents that start on the next line.
    documents: Vec<Document>,
    read: ShellText,
}

impl<'t> Reader<'t> {
    fn list(&mut self, end: ListEnd, silence: Silence) {
        self.depth += 1;
        if self.depth > DEEPEST {
            self.give_up();
        }
        let mut list = List::default();
        loop {
            let Some(next) = self.peek() else {
                self.read.is_open |= end != ListEnd::Text || list.brackets > 0;
                break;
            };
            match next {
                ' ' | '\t' => {
                    self.at += 1;
                    self.end_word(&mut list, silence);
                }
                '\n' => {
                    self.at += 1;
                    self.end_command(&mut list, silence);
                    self.documents();
                }
                '`' if end == ListEnd::Backquote => {
                    self.at += 1;
                    break;
                }
                ')' if self.closes(&mut list, end, silence) => break,
                ')' => {}
                '#' if list.word.is_none() => self.comment(),
                ';' | '&' | '|' => self.separator(&mut list, silence),
                '(' => self.bracket(&mut list, silence),
                '<' | '>' => self.redirection(&mut list, silence),
                _ => self.piece(list.word.get_or_insert_with(|| Word { start: self.at, ..Word::default() })),
            }
        }
        self.end_command(&mut list, silence);
        self.depth -= 1;
    }

    /// Reads a closing bracket. Returns true if it ends the list.
    fn closes(&mut self, list: &mut List, end: ListEnd, silence: Silence) -> bool {
        self.at += 1;
        if list.is_pattern {
            self.end_word(list, silence);
            list.is_pattern = false;
            return false;
        }
        self.end_command(list, silence);
        if list.brackets > 0 {
            list.brackets -= 1;
            return false;
        }
        self.read.is_open |= end != ListEnd::Bracket;
        end == ListEnd::Bracket
    }

    fn separator(&mut self, list: &mut List, silence: Silence) {
        let start = self.at;
        if list.is_pattern && self.peek() == Some('|') {
            self.at += 1;
            return self.end_word(list, silence);
        }
        if self.rest().starts_with("&>") {
            self.found(start, "`&>`");
            self.end_word(list, silence);
            self.at += if self.rest().starts_with("&>>") { 3 } else { 2 };
            list.is_target = true;
            list.is_redirected = true;
            return;
        }
        let before = self.read.commands.len();
        self.end_command(list, silence);
        if self.peek() == Some('|')
            && !self.rest().starts_with("||")
            && let Some(last) = self.read.commands.get_mut(before..).and_then(<[SimpleCommand]>::last_mut)
        {
            last.is_piped = true;
        }
        if self.rest().starts_with("|&") {
            self.found(start, "`|&`");
        }
        let two = ["&&", "||", ";;", "|&", ";&"].iter().any(|two| self.rest().starts_with(two));
        let is_case_end = list.cases > 0 && [";;", ";&"].iter().any(|two| self.rest().starts_with(two));
        self.at += if two { 2 } else { 1 };
        if is_case_end {
            list.is_pattern = true;
            if self.peek() == Some('&') {
                self.at += 1;
            }
        }
    }

    fn bracket(&mut self, list: &mut List, silence: Silence) {
        let start = self.at;
        if list.is_pattern {
            self.at += 1;
            return;
        }
        if let Some(word) = &mut list.word {
            if bashisms::is_array(&word.text) {
                let begin = word.start;
                word.text = format!("a={HIDDEN}");
                self.found(begin, "`a=(…)`");
                self.at += 1;
                return self.list(ListEnd::Bracket, Silence::Yes);
            }
            // `name()` defines a function.
            if self.rest().starts_with("()") {
                self.at += 2;
                self.end_word(list, silence);
                if let [keyword, _] = list.words.as_slice()
                    && keyword.text == "function"
                {
                    self.found(keyword.start, "`function`");
                }
                list.words.clear();
                return;
            }
        }
        self.end_word(list, silence);
        let is_for = list.words.first().is_some_and(|word| word.text == "for");
        if self.rest().starts_with("((")
            && let Some(inside) = self.sum(start + 2)
            && (is_for || list.words.is_empty() && bashisms::is_arithmetic(inside))
        {
            self.found(start, "`((…))`");
            let end = start + 2 + inside.len();
            self.quote_values(start, end, ShellQuotes::None);
            self.at = end + 2;
            return;
        }
        self.end_command(list, silence);
        self.at += 1;
        list.brackets += 1;
    }

    fn redirection(&mut self, list: &mut List, silence: Silence) {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with("<(") || rest.starts_with(">(") {
            self.found(start, "`<(…)`");
            list.word.get_or_insert_with(|| Word { start, ..Word::default() }).text.push(HIDDEN);
            self.at += 2;
            return self.list(ListEnd::Bracket, Silence::No);
        }
        // A number right before it is the descriptor.
        let is_number = |word: &Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
        let number = list.word.take_if(|word| is_number(word));
        let has_number = number.is_some();
        let is_output = number.is_none_or(|number| number.text == "1");
        list.is_redirected |= is_output && rest.starts_with('>');
        self.end_word(list, silence);
        if rest.starts_with("<<<") {
            self.found(start, "`<<<`");
            self.at += 3;
        } else if rest.starts_with("<<") {
            self.at += 2;
            return self.here_document();
        } else if rest.starts_with(">&") {
            self.at += 2;
            let target = self.rest().trim_start_matches([' ', '\t']).chars().next();
            let is_file = target.is_some_and(|first| first.is_ascii_alphabetic() || "./~_".contains(first));
            if is_file && !has_number {
                self.found(start, "`>&` with a file");
            }
        } else {
            let two = [">>", ">|", "<>", "<&"].iter().any(|two| rest.starts_with(two));
            self.at += if two { 2 } else { 1 };
        }
        list.is_target = true;
    }

    /// Reads the delimiter of a here-document.
    fn here_document(&mut self) {
        let drops_tabs = self.rest().starts_with('-');
        self.at += usize::from(drops_tabs);
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let (mut delimiter, mut is_quoted, mut open) = (String::new(), false, None);
        while let Some(next) = self.rest().chars().next() {
            match (open, next) {
                (None, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => break,
                (None, '\'' | '"') => {
                    open = Some(next);
                    is_quoted = true;
                }
                (Some(quote), next) if next == quote => open = None,
                (None, '\\') => is_quoted = true,
                _ => delimiter.push(next),
            }
            self.at += next.len_utf8();
        }
        self.documents.push(Document { delimiter, is_quoted, drops_tabs });
    }

    /// Reads the here-documents that start on this line.
    fn documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let begin = self.at;
            let mut end = None;
            for line in self.text.get(begin..).unwrap_or_default().split_inclusive('\n') {
                let line_begin = self.at;
                self.at += line.len();
                let line = line.strip_suffix('\n').unwrap_or(line);
                let line = if document.drops_tabs { line.trim_start_matches('\t') } else { line };
                if line == document.delimiter {
                    end = Some(line_begin);
                    break;
                }
            }
            let end = end.unwrap_or_else(|| {
                self.read.is_open = true;
                self.at
            });
            if document.is_quoted {
                self.quote_values(begin, end, ShellQuotes::Document);
                continue;
            }
            let after = std::mem::replace(&mut self.at, begin);
            let mut scratch = Word::default();
            while self.at < end {
                match self.rest().chars().next() {
                    Some('\\') => self.skip_two(),
                    Some('$' | '`') => self.expansion(&mut scratch, ShellQuotes::Document),
                    Some(_) => self.take(&mut scratch, ShellQuotes::Document),
                    None => break,
                }
            }
            self.at = after.max(self.at);
        }
    }

    /// Reads the inside of `[[ … ]]`, in which brackets and `&&` separate no commands.
    fn condition(&mut self) {
        let mut word = Word::default();
        loop {
            match self.rest().chars().next() {
                None => return self.read.is_open = true,
                Some(' ' | '\t' | '\n' | ';') if word.text == "]]" => return,
                Some(blank @ (' ' | '\t' | '\n')) => {
                    self.at += blank.len_utf8();
                    word = Word::default();
                }
                Some(_) => self.piece(&mut word),
            }
            if word.text == "]]" && self.rest().chars().next().is_none_or(|next| " \t\n;&|)".contains(next)) {
                return;
            }
        }
    }

    fn end_word(&mut self, list: &mut List, silence: Silence) {
        let Some(word) = list.word.take() else { return };
        if std::mem::take(&mut list.is_target) {
            return;
        }
        if list.is_pattern {
            if word.text == "esac" {
                list.cases = list.cases.saturating_sub(1);
                list.is_pattern = false;
            }
            return;
        }
        if bashisms::has_braces(&word.text) {
            self.found(word.start, "`{a,b}`");
        }
        if silence == Silence::Yes {
            return;
        }
        let is_first = list.words.is_empty();
        if is_first && RESERVED.contains(&word.text.as_str()) {
            list.cases = list.cases.saturating_sub(usize::from(word.text == "esac"));
            return;
        }
        if is_first && word.text == "[[" {
            self.found(word.start, "`[[ … ]]`");
            return self.condition();
        }
        list.words.push(word);
        if let [first, _, last] = list.words.as_slice()
            && first.text == "case"
            && last.text == "in"
        {
            list.words.clear();
            list.cases += 1;
            list.is_pattern = true;
        }
    }

    fn end_command(&mut self, list: &mut List, silence: Silence) {
        self.end_word(list, silence);
        list.is_target = false;
        let is_redirected = std::mem::take(&mut list.is_redirected);
        let words = std::mem::take(&mut list.words);
        for (offset, what) in bashisms::command(&words) {
            self.found(offset, what);
        }
        if self.depth == 1 && !words.is_empty() {
            let end = self.at;
            self.read.commands.push(SimpleCommand { words, end, is_redirected, is_piped: false });
        }
    }

    fn comment(&mut self) {
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        // A new line in a value ends the comment.
        self.quote_values(self.at, self.at + length, ShellQuotes::None);
        self.at += length;
    }

    /// Returns the inside of `((…))`, if it ends with both brackets at once.
    fn sum(&self, from: usize) -> Option<&'t str> {
        let inside = self.text.get(from..)?;
        let mut depth = 0_usize;
        for (at, byte) in inside.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' if depth == 0 => {
                    return inside.get(..at).filter(|_| inside.as_bytes().get(at + 1) == Some(&b')'));
                }
                b')' => depth -= 1,
                b'\n' => return None,
                _ => {}
            }
        }
        None
    }

    /// Reads one character, which may be a value.
    fn take(&mut self, word: &mut Word, quoting: ShellQuotes) {
        let Some(next) = self.rest().chars().next() else { return };
        if next == VALUE {
            self.read.quotings.push((self.at, quoting));
        }
        word.text.push(HIDDEN);
        self.at += next.len_utf8();
    }

    /// Skips a backslash and the character after it.
    fn skip_two(&mut self) {
        self.at += 1;
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    fn quote_values(&mut self, begin: usize, end: usize, quoting: ShellQuotes) {
        let inside = self.text.get(begin..end).unwrap_or_default();
        self.read.quotings.extend(inside.match_indices(VALUE).map(|(at, _)| (begin + at, quoting)));
    }

    fn found(&mut self, offset: usize, what: &'static str) {
        self.read.bashisms.push((offset, what));
    }

    fn give_up(&mut self) {
        self.give_up_in(ShellQuotes::None);
    }

    fn give_up_in(&mut self, quoting: ShellQuotes) {
        self.quote_values(self.at, self.text.len(), quoting);
        self.read.is_open = true;
        self.at = self.text.len();
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the next character. Skips continued lines.
    fn peek(&mut self) -> Option<char> {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
        }
        self.rest().chars().next()
    }
}
