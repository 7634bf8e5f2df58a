//! Puts words into a shell command so that the shell reads each word literally.
//!
//! Tracks the quotes of the command as long as they are certain. In a here-document, a comment, arithmetic,
//! or a substitution within quotes they are not, and nothing is put in. Several words stay separate only if
//! all of them must be arguments: in `x=$ARGUMENTS` the second word would be a program.

/// The position in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandPosition {
    Bare,
    SingleQuotes,
    DoubleQuotes,
    /// After `>&`, before the number that must follow; then within that number.
    Descriptor,
    DescriptorNumber,
    Unsure,
}

/// A command, read up to some position.
#[derive(Debug)]
pub(super) struct Quotes {
    place: CommandPosition,
    is_escaped: bool,
    before: Option<char>,
    program: Program,
}

/// The program of the current simple command, as read so far.
#[derive(Debug, PartialEq, Eq)]
enum Program {
    /// The program's name, still incomplete.
    Name(String),
    /// A complete, plain name. The words that follow are arguments.
    Named,
    /// Anything else, such as an assignment, a keyword or a redirection. The next word could be a program.
    Other,
}

/// Words that may precede a command, or that are not programs.
const KEYWORDS: [&str; 17] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "time", "until", "while",
];

impl Program {
    fn step(&mut self, c: char, before: Option<char>) {
        *self = match (std::mem::replace(self, Program::Other), c) {
            // The following text may still belong to an assignment: `x=$(date)y`.
            (_, '<' | '>' | ')') => Program::Other,
            (_, '|') if before == Some('>') => Program::Other,
            (_, ';' | '|' | '&' | '(' | '\n') => Program::Name(String::new()),
            (Program::Name(name), ' ' | '\t') if name.is_empty() => Program::Name(name),
            (Program::Name(name), ' ' | '\t') if KEYWORDS.contains(&name.as_str()) => Program::Other,
            (Program::Name(_), ' ' | '\t') => Program::Named,
            (Program::Name(mut name), c) if c.is_ascii_alphanumeric() || "_./-".contains(c) => {
                name.push(c);
                Program::Name(name)
            }
            (Program::Name(_), _) => Program::Other,
            (program @ (Program::Named | Program::Other), _) => program,
        };
    }
}

impl Quotes {
    pub(super) fn new() -> Quotes {
        Quotes {
            place: CommandPosition::Bare,
            is_escaped: false,
            before: None,
            program: Program::Name(String::new()),
        }
    }

    /// Reads the next part of the command.
    pub(super) fn read(&mut self, text: &str) {
        for c in text.chars() {
            self.step(c);
            if self.place == CommandPosition::Bare {
                self.program.step(c, self.before);
            }
            self.before = Some(c);
        }
    }

    fn step(&mut self, c: char) {
        use CommandPosition::{Bare, Descriptor, DescriptorNumber, DoubleQuotes, SingleQuotes, Unsure};
        if self.is_escaped {
            self.is_escaped = false;
            // The shell joins the two lines before it reads anything else.
            if c == '\n' {
                self.place = Unsure;
            }
            return;
        }
        let after = |c: char| self.before == Some(c);
        self.place = match (self.place, c) {
            (Unsure, _) => Unsure,
            (SingleQuotes, '\'') => Bare,
            (SingleQuotes, _) => SingleQuotes,
            (_, '`') => Unsure,
            (_, '{' | '[') if after('$') => Unsure,
            (DoubleQuotes, '(') if after('$') => Unsure,
            (DoubleQuotes, '"') => Bare,
            (Bare, '\'' | '"') if after('$') => Unsure,
            (Bare, '\'') => SingleQuotes,
            (Bare, '"') => DoubleQuotes,
            (Bare, '#') => Unsure,
            (Bare, '<') if after('<') => Unsure,
            // Some shells evaluate an index or a condition as arithmetic. `[ -f x ]` is neither.
            (Bare, '[') if !self.before.is_none_or(|c| c.is_whitespace() || ";|&".contains(c)) => Unsure,
            (Bare, c) if after('[') && !c.is_whitespace() => Unsure,
            // Some shells expand a file name after `>&` twice, even in quotes.
            (Bare, '&') if after('>') || after('<') => Descriptor,
            (Descriptor, ' ' | '\t') => Descriptor,
            (Descriptor | DescriptorNumber, '-' | '0'..='9') => DescriptorNumber,
            (DescriptorNumber, c) if c.is_ascii_whitespace() || ";|)".contains(c) => Bare,
            (Descriptor | DescriptorNumber, _) => Unsure,
            (Bare, '(') if after('(') => Unsure,
            (place, '\\') => {
                self.is_escaped = true;
                place
            }
            (place, _) => place,
        };
    }

    /// Returns true inside single quotes, where the shell expands nothing.
    pub(super) fn is_verbatim(&self) -> bool {
        self.place == CommandPosition::SingleQuotes
    }

    /// Returns the words as they must be written here: separately if they are arguments of a program,
    /// otherwise `one` as a single word. Returns `None` if nothing can be put in safely.
    pub(super) fn put(&mut self, words: &[&str], one: &str) -> Option<String> {
        let is_odd = self.place == CommandPosition::Bare && matches!(self.before, Some('$' | '['));
        if self.is_escaped || is_odd {
            self.place = CommandPosition::Unsure;
        }
        let put = match self.place {
            CommandPosition::Unsure | CommandPosition::Descriptor | CommandPosition::DescriptorNumber => {
                self.place = CommandPosition::Unsure;
                return None;
            }
            _ if words.is_empty() => String::new(),
            CommandPosition::Bare if self.is_argument() => {
                words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
            }
            CommandPosition::Bare => quote(one),
            CommandPosition::SingleQuotes => format!("'{}'", quote(one)),
            CommandPosition::DoubleQuotes => format!("\"{}\"", quote(one)),
        };
        if !put.is_empty() {
            self.before = None;
            if matches!(self.program, Program::Name(_)) {
                self.program = Program::Other;
            }
        }
        Some(put)
    }

    /// Returns true if an argument of a program starts here.
    fn is_argument(&self) -> bool {
        self.program == Program::Named && matches!(self.before, Some(' ' | '\t'))
    }
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
