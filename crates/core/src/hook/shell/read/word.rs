//! Reads words: quotes, escapes and expansions, and the commands inside them.

use super::super::{ShellCommand, ShellWord, Unclear};
use super::{ListEnd, ShellReader, is_name};

/// Limits on the search for the end of an arithmetic expression: bytes per search, and number of searches.
const LONGEST_SUM: usize = 1_000;
const MOST_SUMS: usize = 100;
/// The maximum length of an expansion that the command's text repeats.
const LONGEST_EXPANSION: usize = 256;

/// Bytes with a special meaning: in a word, in double quotes, in backquotes.
const IN_WORD: Special = special(b" \t\n;&|()<>'\"\\$`*?[]{}");
const IN_QUOTES: Special = special(b"\"\\$`");
const IN_BACKQUOTES: Special = special(b"`\\");
const IN_PARAMETER: Special = special(b"}\\'\"$`<>");
const IN_ESCAPED: Special = special(b"'\\");
const IN_EXPANSIONS: Special = special(b"\\$`");

type Special = [bool; 256];

const fn special(bytes: &[u8]) -> Special {
    let mut table = [false; 256];
    let mut rest = bytes;
    while let [byte, more @ ..] = rest {
        if let Some(place) = table.as_mut_slice().split_at_mut(*byte as usize).1.first_mut() {
            *place = true;
        }
        rest = more;
    }
    table
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    None,
    Double,
}

impl ShellReader<'_, '_> {
    /// Reads one word into a command.
    pub(super) fn word(&mut self, command: &mut ShellCommand) {
        if !command.words.is_empty() {
            command.text.push(' ');
        }
        let start = command.text.len();
        let mut word = ShellWord { start, end: start, plain: usize::MAX, ..ShellWord::default() };
        let (mut curly, mut closed, mut square) = (None, None, None);
        while let Some(byte) = self.peek() {
            let here = command.text.len();
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if self.is_process() => {
                    word.plain = word.plain.min(here);
                    self.process();
                    command.text.push_str("<(…)");
                    word.open(here, command.text.len());
                }
                b'<' | b'>' => break,
                b'(' if word.plain > here
                    && command.text.get(start..).is_some_and(|text| text.ends_with('=')) =>
                {
                    self.array();
                    word.plain = word.plain.min(here);
                }
                b'(' => break,
                b'\'' => {
                    word.quote(here);
                    self.single(command);
                }
                b'"' => {
                    word.quote(here);
                    self.double(command, &mut word);
                }
                b'\\' => {
                    word.quote(here);
                    self.at += 1;
                    self.take(command);
                }
                b'$' | b'`' => self.expansion(command, &mut word, Quoting::None),
                b'*' | b'?' => {
                    self.take(command);
                    word.open(here, here + 1);
                }
                b'[' | b'{' => {
                    let first = if byte == b'[' { &mut square } else { &mut curly };
                    first.get_or_insert(here);
                    self.squares += usize::from(byte == b'[');
                    self.take(command);
                }
                b']' => {
                    self.squares = self.squares.saturating_sub(1);
                    self.take(command);
                    if let Some(from) = square {
                        word.open(from, here + 1);
                    }
                }
                b'}' => {
                    self.take(command);
                    closed = curly.map(|from| (from, here + 1));
                }
                _ => self.take_plain(command, &IN_WORD),
            }
        }
        word.end = command.text.len();
        word.plain = word.plain.min(word.end);
        // `{a,b}` becomes two words.
        if let Some((from, to)) = closed
            && let Some(inside) = command.text.get(from..to)
            && (inside.contains(',') || inside.contains(".."))
        {
            word.open(from, to);
            word.splits = true;
        }
        let text = command.text.get(start..).unwrap_or_default();
        // A number, or a name in braces, right before a redirection is its descriptor.
        let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let is_descriptor = !name.is_empty()
            && matches!(self.peek(), Some(b'<' | b'>'))
            && word.plain == word.end
            && (name.bytes().all(|byte| byte.is_ascii_digit()) || name.len() < text.len() && is_name(name));
        if is_descriptor {
            self.is_other = name.bytes().any(|byte| byte != b'0');
            command.text.truncate(start.saturating_sub(1));
        } else {
            command.words.push(word);
        }
    }

    fn single(&mut self, command: &mut ShellCommand) {
        self.at += 1;
        let inside = self.rest();
        let Some(end) = inside.find('\'') else { return self.give_up() };
        command.text.push_str(inside.get(..end).unwrap_or_default());
        self.at += end + 1;
    }

    fn double(&mut self, command: &mut ShellCommand, word: &mut ShellWord) {
        self.at += 1;
        loop {
            match self.peek() {
                None => return self.give_up(),
                Some(b'"') => {
                    self.at += 1;
                    return;
                }
                Some(b'\\') => {
                    self.at += 1;
                    if !self.byte().is_some_and(|byte| b"$`\"\\".contains(&byte)) {
                        command.text.push('\\');
                    }
                    self.take(command);
                }
                Some(b'$' | b'`') => self.expansion(command, word, Quoting::Double),
                Some(_) => self.take_plain(command, &IN_QUOTES),
            }
        }
    }

    /// Reads `$…` or a command in backquotes. Its result is unknown, but the commands in it are known.
    fn expansion(&mut self, command: &mut ShellCommand, word: &mut ShellWord, quoting: Quoting) {
        let (from, here) = (self.at, command.text.len());
        let mut splits = quoting == Quoting::None;
        if self.peek() == Some(b'`') {
            self.backquotes(quoting);
        } else {
            self.at += 1;
            match self.peek() {
                Some(b'\'') if quoting == Quoting::None => {
                    word.quote(here);
                    return self.escaped(command);
                }
                Some(b'"') if quoting == Quoting::None => {
                    word.quote(here);
                    return self.double(command, word);
                }
                Some(b'(') => {
                    self.at += 1;
                    let sum = if self.peek() == Some(b'(') { self.sum(self.at + 1) } else { None };
                    match sum {
                        Some(end) => self.within(|reader| reader.expansions(Some(end))),
                        None => self.within(|reader| reader.commands(ListEnd::BracketCloses)),
                    }
                    match sum {
                        Some(end) if self.at == end => self.at += 2,
                        Some(_) => self.give_up(),
                        None => {}
                    }
                }
                Some(b'{') => {
                    self.at += 1;
                    self.within(|reader| reader.parameter(quoting));
                }
                Some(byte) if byte == b'_' || byte.is_ascii_alphabetic() => {
                    let name = self.rest();
                    let is_part = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
                    let length = name.bytes().take_while(|byte| is_part(*byte)).count();
                    self.at += length;
                    // These variables are folders, which count as one word.
                    splits &= !matches!(name.get(..length), Some("HOME" | "PWD"));
                }
                Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => self.at += 1,
                _ => return command.text.push('$'),
            }
        }
        word.plain = word.plain.min(here);
        let written = self.text.get(from..self.at).unwrap_or_default();
        command.text.push_str(if written.len() > LONGEST_EXPANSION { "$(…)" } else { written });
        word.open(here, command.text.len());
        word.splits |= splits;
    }

    /// Reads `<(…)` or `>(…)`.
    fn process(&mut self) {
        self.at += 2;
        self.within(|reader| reader.commands(ListEnd::BracketCloses));
    }

    /// Reads `${…}` after its opening brace.
    fn parameter(&mut self, quoting: Quoting) {
        let begin = self.at;
        let (mut scratch, mut word) = (ShellCommand::default(), ShellWord::default());
        loop {
            match self.peek() {
                None => return self.give_up(),
                Some(b'}') => {
                    let inside = self.text.get(begin..self.at).unwrap_or_default();
                    self.at += 1;
                    // The shell expands the variable's value again and runs the commands in it.
                    let flags = inside.strip_prefix('(').and_then(|flags| flags.split(')').next());
                    if inside.ends_with("@P") || flags.is_some_and(|flags| flags.contains('e')) {
                        let word: String = inside.chars().take(LONGEST_EXPANSION).collect();
                        self.script.blame(Unclear::Word(format!("${{{word}}}")));
                    }
                    return;
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.take(&mut scratch);
                }
                Some(b'\'') if quoting == Quoting::None => self.single(&mut scratch),
                Some(b'<' | b'>') if self.is_process() => self.process(),
                Some(b'"') => self.double(&mut scratch, &mut word),
                Some(b'$' | b'`') => self.expansion(&mut scratch, &mut word, quoting),
                Some(_) => self.take_plain(&mut scratch, &IN_PARAMETER),
            }
        }
    }

    /// Reads only the expansions of a text: in arithmetic, or in a here-document.
    pub(super) fn expansions(&mut self, until: Option<usize>) {
        let (mut scratch, mut word) = (ShellCommand::default(), ShellWord::default());
        while let Some(byte) = self.peek() {
            match byte {
                _ if until.is_some_and(|end| self.at >= end) => return,
                b'\\' => self.at += 2,
                b'$' | b'`' => self.expansion(&mut scratch, &mut word, Quoting::Double),
                _ => {
                    self.at += 1 + plain(
                        self.text.get(self.at + 1..until.unwrap_or(self.text.len())).unwrap_or_default(),
                        &IN_EXPANSIONS,
                    )
                }
            }
            scratch.text.clear();
        }
    }

    /// Reads a command in backquotes. There, a backslash escapes only a few characters.
    fn backquotes(&mut self, quoting: Quoting) {
        self.at += 1;
        let mut inner = String::new();
        let mut scratch = ShellCommand::default();
        loop {
            match self.byte() {
                None => return self.give_up(),
                Some(b'`') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let is_escape =
                        |byte: u8| b"$`\\".contains(&byte) || quoting == Quoting::Double && byte == b'"';
                    if !self.byte().is_some_and(is_escape) {
                        inner.push('\\');
                    }
                    self.take(&mut scratch);
                }
                Some(_) => self.take_plain(&mut scratch, &IN_BACKQUOTES),
            }
            inner.push_str(&scratch.text);
            scratch.text.clear();
        }
        self.at += 1;
        self.within(|reader| ShellReader::new(&inner, reader.script, reader.depth).all());
    }

    /// Reads `$'…'`, with C escapes.
    fn escaped(&mut self, command: &mut ShellCommand) {
        self.at += 1;
        loop {
            match self.byte() {
                None => return self.give_up(),
                Some(b'\'') => {
                    self.at += 1;
                    return;
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(command);
                }
                Some(_) => self.take_plain(command, &IN_ESCAPED),
            }
        }
    }

    fn escape(&mut self, command: &mut ShellCommand) {
        let digits = |text: &str, radix: u32, most: usize| {
            let length = text.chars().take(most).take_while(|c| c.is_digit(radix)).count();
            let number = u32::from_str_radix(text.get(..length).unwrap_or_default(), radix).ok();
            number.map(|number| (char::from_u32(number).unwrap_or('\u{fffd}'), length))
        };
        let rest = self.rest();
        let after = rest.get(1..).unwrap_or_default();
        let number = match self.byte() {
            Some(b'x') => digits(after, 16, 2).map(|(c, length)| (c, length + 1)),
            Some(b'u') => digits(after, 16, 4).map(|(c, length)| (c, length + 1)),
            Some(b'U') => digits(after, 16, 8).map(|(c, length)| (c, length + 1)),
            Some(b'0'..=b'7') => digits(rest, 8, 3),
            _ => None,
        };
        if let Some((c, length)) = number {
            command.text.push(c);
            self.at += length;
            return;
        }
        let named = match self.byte() {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            _ => return self.take(command),
        };
        command.text.push(named);
        self.at += 1;
    }

    /// Reads `(a b)` of `x=(a b)`. None of its words is a command.
    fn array(&mut self) {
        self.at += 1;
        self.within(|reader| {
            let mut scratch = ShellCommand::default();
            loop {
                reader.skip(b" \t\n");
                match reader.peek() {
                    None => return reader.give_up(),
                    Some(b')') => {
                        reader.at += 1;
                        return;
                    }
                    Some(b'#') => reader.skip_line(),
                    Some(b'<' | b'>') if reader.is_process() => reader.word(&mut scratch),
                    // Some shells continue after this syntax error.
                    Some(b';' | b'&' | b'|' | b'(' | b'<' | b'>') => return reader.give_up(),
                    Some(_) => reader.word(&mut scratch),
                }
            }
        });
    }

    /// Returns the position of the `))` that closes the `((` right before `from`, if this can only be
    /// arithmetic.
    pub(super) fn sum(&mut self, from: usize) -> Option<usize> {
        self.sums += 1;
        if self.sums > MOST_SUMS {
            return None;
        }
        let bytes = self.text.as_bytes().get(from..)?;
        let mut depth = 2usize;
        for (at, byte) in bytes.iter().enumerate().take(LONGEST_SUM) {
            match byte {
                b'\'' | b'"' | b'\\' | b'`' => return None,
                b'(' => depth += 1,
                b')' if depth == 2 => return (bytes.get(at + 1) == Some(&b')')).then_some(from + at),
                b')' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Copies one character of any kind.
    fn take(&mut self, command: &mut ShellCommand) {
        if let Some(c) = self.rest().chars().next() {
            command.text.push(c);
            self.at += c.len_utf8();
        }
    }

    /// Copies one character and everything up to the next special byte.
    fn take_plain(&mut self, command: &mut ShellCommand, special: &Special) {
        let rest = self.rest();
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = first + plain(rest.get(first..).unwrap_or_default(), special);
        command.text.push_str(rest.get(..end).unwrap_or_default());
        self.at += end;
    }
}

impl ShellWord {
    /// Marks the text between two positions as unknown.
    fn open(&mut self, from: usize, to: usize) {
        self.hole = Some(self.hole.map_or((from, to), |(first, last)| (first.min(from), last.max(to))));
    }

    fn quote(&mut self, here: usize) {
        self.is_quoted = true;
        self.plain = self.plain.min(here);
    }
}

/// Returns the number of bytes before the first special one.
fn plain(text: &str, special: &Special) -> usize {
    let is_special = |byte: u8| special.get(usize::from(byte)) == Some(&true);
    text.bytes().position(is_special).unwrap_or(text.len())
}
