//! Reads an entity's text: its argument slots, and the commands and files it asks for.
//!
//! Does not see the arguments, so it cannot take their content for a slot, a command or a file.
//! [`expand`](super::expand) puts the arguments in.

use std::collections::HashMap;

use super::entity_syntax::{ArgumentSlots, EntitySyntax, Files, ShellSyntax};

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntityTextPart<'t> {
    /// Plain text.
    Text(&'t str),
    /// A slot and its notation.
    Slot(TextSlot, &'t str),
    /// A shell command between its delimiters.
    Shell(Marks, Vec<EntityTextPart<'t>>),
    /// The path of a file between its delimiters.
    File(Marks, Vec<EntityTextPart<'t>>),
}

/// The value of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSlot {
    /// All arguments, unchanged.
    All,
    /// One word of the arguments, counted from 0.
    Word(usize),
    /// The plugin's folder.
    Root,
}

/// The delimiters before and after a command or a path.
pub(super) type Marks = (&'static str, &'static str);

const ARGUMENTS: &str = "$ARGUMENTS";
const ARGS: &str = "{{args}}";
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";

/// Splits a text into its parts.
pub(super) fn parse(text: &str, dialect: EntitySyntax) -> Vec<EntityTextPart<'_>> {
    let closing = if dialect.shell == ShellSyntax::Braces { closing_braces(text) } else { HashMap::new() };
    let reader = EntityTextReader { text, syntax: dialect, closing };
    let (mut parts, mut done, mut at) = (Vec::new(), 0, 0);
    while let Some(offset) = tail(text, at).find(['$', '{', '!', '@', '\\']) {
        let here = at + offset;
        let (part, length) = reader.read(here);
        at = here + length;
        if let Some(part) = part {
            parts.extend(text.get(done..here).filter(|text| !text.is_empty()).map(EntityTextPart::Text));
            parts.push(part);
            done = at;
        }
    }
    parts.extend(Some(tail(text, done)).filter(|text| !text.is_empty()).map(EntityTextPart::Text));
    parts
}

struct EntityTextReader<'t> {
    text: &'t str,
    syntax: EntitySyntax,
    /// The position of the closing brace for each open brace. Empty unless braces enclose commands.
    closing: HashMap<usize, usize>,
}

impl<'t> EntityTextReader<'t> {
    /// Reads a part that may start here. Returns the part, if any, and the number of bytes to skip.
    fn read(&self, here: usize) -> (Option<EntityTextPart<'t>>, usize) {
        let rest = tail(self.text, here);
        if let Some((slot, written)) = slot(rest, self.syntax) {
            return (Some(EntityTextPart::Slot(slot, written)), written.len());
        }
        let dollars = matches!(self.syntax.slots, ArgumentSlots::FromOne | ArgumentSlots::FromZero);
        let found = match rest.chars().next() {
            // Claude Code removes the backslash.
            Some('\\') if self.syntax.slots == ArgumentSlots::FromZero && rest.starts_with("\\$") => {
                return (rest.get(1..2).map(EntityTextPart::Text), 2);
            }
            // The backslash and the character after it stay, and that character starts no slot.
            Some('\\') if dollars => return (None, 1 + rest.chars().nth(1).map_or(0, char::len_utf8)),
            Some('$') if dollars && rest.starts_with("$$") => return (None, 2),
            Some('!') => self.shell(here, rest),
            Some('@') => self.file(here, rest),
            _ => None,
        };
        found.map_or((None, 1), |(part, length)| (Some(part), length))
    }

    fn shell(&self, here: usize, rest: &'t str) -> Option<(EntityTextPart<'t>, usize)> {
        let (inner, marks) = match self.syntax.shell {
            ShellSyntax::None => return None,
            ShellSyntax::Braces => (self.braced(here, rest)?, ("!{", "}")),
            ShellSyntax::Backticks if !self.may_begin(here) => return None,
            // `` `!` `` is the character in code, not a command.
            ShellSyntax::BackticksAnywhere if self.before(here) == Some('`') => return None,
            ShellSyntax::Backticks | ShellSyntax::BackticksAnywhere => {
                (rest.strip_prefix("!`")?.split_once('`')?.0, ("!`", "`"))
            }
        };
        let length = marks.0.len() + inner.len() + marks.1.len();
        let has_command = !inner.trim().is_empty();
        has_command.then(|| (EntityTextPart::Shell(marks, parse(inner, self.syntax.within())), length))
    }

    fn file(&self, here: usize, rest: &'t str) -> Option<(EntityTextPart<'t>, usize)> {
        let (inner, marks) = match self.syntax.files {
            Files::None => return None,
            Files::Braces => (self.braced(here, rest)?, ("@{", "}")),
            Files::Bare if !self.may_begin(here) => return None,
            Files::Bare => (path(tail(rest, 1), self.syntax)?, ("@", "")),
        };
        let length = marks.0.len() + inner.len() + marks.1.len();
        let has_path = !inner.trim().is_empty();
        has_path.then(|| (EntityTextPart::File(marks, parse(inner, self.syntax.within())), length))
    }

    /// Returns the text between the braces after a `!` or `@`.
    fn braced(&self, here: usize, rest: &str) -> Option<&'t str> {
        if rest.as_bytes().get(1) != Some(&b'{') {
            return None;
        }
        self.text.get(here + 2..*self.closing.get(&(here + 1))?)
    }

    fn may_begin(&self, here: usize) -> bool {
        self.before(here).is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '<'))
    }

    fn before(&self, here: usize) -> Option<char> {
        self.text.get(..here)?.chars().next_back()
    }
}

fn slot(rest: &str, dialect: EntitySyntax) -> Option<(TextSlot, &str)> {
    if dialect.has_root && rest.starts_with(ROOT) {
        return Some((TextSlot::Root, rest.get(..ROOT.len())?));
    }
    let (slot, length) = match dialect.slots {
        ArgumentSlots::None => return None,
        ArgumentSlots::Braces => (TextSlot::All, rest.starts_with(ARGS).then_some(ARGS.len())?),
        ArgumentSlots::FromOne => all(rest).or_else(|| numbered(rest, 1))?,
        ArgumentSlots::FromZero => indexed(rest).or_else(|| all(rest)).or_else(|| numbered(rest, 0))?,
    };
    Some((slot, rest.get(..length)?))
}

/// Reads `$ARGUMENTS`, unless it is the start of a longer word.
fn all(rest: &str) -> Option<(TextSlot, usize)> {
    let after = rest.strip_prefix(ARGUMENTS)?;
    (!after.starts_with(is_word)).then_some((TextSlot::All, ARGUMENTS.len()))
}

/// Reads `$ARGUMENTS[0]`.
fn indexed(rest: &str) -> Option<(TextSlot, usize)> {
    let index = rest.strip_prefix(ARGUMENTS)?.strip_prefix('[')?;
    let (digits, after) = index.split_at_checked(digits(index))?;
    after.starts_with(']').then_some(())?;
    Some((TextSlot::Word(number(digits)?), ARGUMENTS.len() + digits.len() + 2))
}

/// Reads `$1`. Leaves prices alone: `$1.50`, `$1,000`, `$100`, `$05` and `$5M`.
fn numbered(rest: &str, first: usize) -> Option<(TextSlot, usize)> {
    let after = rest.strip_prefix('$')?;
    let (digits, after) = after.split_at_checked(digits(after))?;
    let is_price =
        after.strip_prefix(['.', ',']).is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()));
    if is_price || after.starts_with(is_word) {
        return None;
    }
    Some((TextSlot::Word(number(digits)?.checked_sub(first)?), 1 + digits.len()))
}

/// Returns the number of digits at the start of a text.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Reads a number of at most two digits.
fn number(digits: &str) -> Option<usize> {
    let is_plain = matches!(digits.as_bytes(), [b'0'..=b'9'] | [b'1'..=b'9', b'0'..=b'9']);
    is_plain.then(|| digits.parse().ok()).flatten()
}

/// Returns true if a character continues a name. Only ASCII counts: in scripts without spaces the next word
/// follows directly.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the path at the start of a text. A word is a path if it contains a slash, a dot or a slot.
fn path(text: &str, dialect: EntitySyntax) -> Option<&str> {
    let (mut end, mut has_slot) = (0, false);
    loop {
        let rest = tail(text, end);
        if let Some((_, written)) = slot(rest, dialect) {
            (end, has_slot) = (end + written.len(), true);
        } else if let Some(c) =
            rest.chars().next().filter(|c| c.is_alphanumeric() || "_./-~+%=#:".contains(*c))
        {
            end += c.len_utf8();
        } else {
            break;
        }
    }
    let ends = tail(text, end).chars().next().is_none_or(|c| c.is_whitespace() || ",;!?)]}>'\"".contains(c));
    let path = text.get(..end)?.trim_end_matches(['.', ':']);
    let is_path = has_slot || (path.contains(['/', '.']) && path.contains(char::is_alphanumeric));
    (ends && is_path && !path.is_empty()).then_some(path)
}

/// Maps each open brace to the brace that closes it.
fn closing_braces(text: &str) -> HashMap<usize, usize> {
    let (mut open, mut closing) = (Vec::new(), HashMap::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push(at),
            b'}' => closing.extend(open.pop().map(|opened| (opened, at))),
            _ => {}
        }
    }
    closing
}

fn tail(text: &str, from: usize) -> &str {
    text.get(from..).unwrap_or_default()
}
