//! Puts arguments into an entity's text.
//!
//! Works in one pass: it never reads the content of arguments for slots, and keeps all other text byte for
//! byte. The runtime runs the commands and reads the files that a text asks for.
//!
//! - `$ARGUMENTS` is all arguments, unchanged. `$1` is one word of them; Claude counts from `$0`. Gemini
//!   writes `{{args}}`.
//! - A backslash or another `$` before a slot escapes it, and both stay in the text. For Claude the
//!   backslash is removed, and a slot without an argument stays as written.
//! - A longer word (`$ARGUMENTSX`, `$HOME`) and a price (`$1.50`, `$100`) are plain text.
//! - If a text has no slot, the arguments follow at its end.

use super::entity_syntax::EntitySyntax;
use super::shell::Quotes;
use super::template::{EntityTextPart, Marks, TextSlot, parse};
use super::words::split;
use crate::entity::{Entity, EntityKind, Provider};

/// An entity's text with the arguments put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    pub pieces: Vec<Piece>,
}

/// A piece of a text.
///
/// Commands and files come only from the entity's own text, never from its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// A shell command that its output replaces.
    Shell {
        /// The command for a shell, with arguments quoted.
        command: String,
        /// The notation in the text.
        written: String,
    },
    /// A file that its content replaces, if the file exists.
    File {
        /// The path as written. It may lead anywhere.
        path: String,
        /// The notation in the text.
        written: String,
    },
}

impl Piece {
    /// Returns the piece as written in the text.
    pub fn written(&self) -> &str {
        match self {
            Piece::Text(text) => text,
            Piece::Shell { written, .. } | Piece::File { written, .. } => written,
        }
    }
}

impl Expanded {
    /// Returns the whole text, with commands and files as written. Do not search it for them again:
    /// arguments in it may look like commands or files.
    pub fn text(&self) -> String {
        self.pieces.iter().map(Piece::written).collect()
    }

    fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }
}

/// Puts arguments into an entity's text.
///
/// An agent's text is a system prompt, and the arguments are the user's message. So only the plugin's folder
/// is put into it.
pub fn expand(entity: &Entity, args: &str) -> Expanded {
    let dialect = EntitySyntax::of(entity);
    let parts = parse(&entity.prompt, dialect);
    let mut filling = Filling {
        args,
        words: split(args),
        rest_from: dialect.last_takes_rest.then(|| highest(&parts)).flatten(),
        root: entity.source.plugin.as_ref().map_or("", |plugin| &plugin.root),
        nothing: if entity.kind == EntityKind::Skill { "[no arguments]" } else { "" },
        shell_takes_one: entity.source.provider == Provider::Gemini,
        keeps_empty: entity.source.provider == Provider::Claude,
        is_used: false,
    };
    let mut expanded = Expanded { pieces: Vec::new() };
    for part in &parts {
        filling.put(part, &mut expanded);
    }
    if entity.kind != EntityKind::Agent && !filling.is_used && !args.trim().is_empty() {
        append(args, &mut expanded);
    }
    expanded
}

/// Returns the highest number of a slot in a text.
fn highest(parts: &[EntityTextPart<'_>]) -> Option<usize> {
    let number = |part: &EntityTextPart<'_>| match part {
        EntityTextPart::Slot(TextSlot::Word(number), _) => Some(*number),
        EntityTextPart::Slot(TextSlot::All | TextSlot::Root, _) | EntityTextPart::Text(_) => None,
        EntityTextPart::Shell(_, inner) | EntityTextPart::File(_, inner) => highest(inner),
    };
    parts.iter().filter_map(number).max()
}

/// Adds arguments after a blank line, for a text without a slot.
fn append(args: &str, expanded: &mut Expanded) {
    let last = expanded.pieces.last().map(Piece::written);
    let gap = match last {
        None => "",
        Some(text) if text.ends_with("\n\n") => "",
        Some(text) if text.ends_with('\n') => "\n",
        Some(_) => "\n\n",
    };
    expanded.push_text(&format!("{gap}ARGUMENTS: {args}"));
}

/// The values for the slots of a text, and the rules for filling them.
struct Filling<'a> {
    args: &'a str,
    words: Vec<String>,
    /// The slot that also takes all remaining words.
    rest_from: Option<usize>,
    root: &'a str,
    /// The text in place of empty arguments.
    nothing: &'static str,
    /// True if a slot without an argument stays as written.
    keeps_empty: bool,
    /// True if all arguments form one word of a command.
    shell_takes_one: bool,
    /// True once a slot has taken arguments.
    is_used: bool,
}

impl Filling<'_> {
    fn put(&mut self, part: &EntityTextPart<'_>, expanded: &mut Expanded) {
        match part {
            EntityTextPart::Text(text) => expanded.push_text(text),
            EntityTextPart::Slot(TextSlot::All, _) if self.args.trim().is_empty() => {
                self.is_used = true;
                expanded.push_text(self.nothing);
            }
            // Claude Code leaves a slot without an argument unchanged.
            EntityTextPart::Slot(TextSlot::Word(number), written)
                if self.keeps_empty && *number >= self.words.len() =>
            {
                expanded.push_text(written);
            }
            EntityTextPart::Slot(slot, _) => expanded.push_text(&self.plain(*slot)),
            EntityTextPart::Shell((open, close), inner) => {
                let command = self.command(inner);
                let written = format!("{open}{command}{close}");
                expanded.pieces.push(Piece::Shell { command, written });
            }
            EntityTextPart::File(marks, inner) => self.put_file(*marks, inner, expanded),
        }
    }

    fn put_file(&mut self, (open, close): Marks, inner: &[EntityTextPart<'_>], expanded: &mut Expanded) {
        let mut path = String::new();
        for part in inner {
            match part {
                EntityTextPart::Slot(slot, _) => path.push_str(&self.plain(*slot)),
                EntityTextPart::Text(text) => path.push_str(text),
                EntityTextPart::Shell(..) | EntityTextPart::File(..) => {}
            }
        }
        let written = format!("{open}{path}{close}");
        let path = path.trim().to_owned();
        if path.is_empty() {
            return expanded.push_text(&written);
        }
        expanded.pieces.push(Piece::File { path, written });
    }

    /// Returns the value of a slot as plain text.
    fn plain(&mut self, slot: TextSlot) -> String {
        if slot == TextSlot::Root {
            return self.root.to_owned();
        }
        self.is_used = true;
        match slot {
            TextSlot::All => self.args.to_owned(),
            _ => self.words_of(slot).join(" "),
        }
    }

    /// Returns the value of a slot as separate words.
    fn words_of(&self, slot: TextSlot) -> Vec<&str> {
        let all = || self.words.iter().map(String::as_str);
        match slot {
            TextSlot::Root => vec![self.root],
            TextSlot::All if self.args.trim().is_empty() => Vec::new(),
            TextSlot::All if self.shell_takes_one => vec![self.args],
            TextSlot::All => all().collect(),
            TextSlot::Word(number) if self.rest_from == Some(number) => all().skip(number).collect(),
            TextSlot::Word(number) => all().skip(number).take(1).collect(),
        }
    }

    /// Returns a command with quoted values in its slots.
    fn command(&mut self, inner: &[EntityTextPart<'_>]) -> String {
        let mut quotes = Quotes::new();
        let mut command = String::new();
        for part in inner {
            match part {
                EntityTextPart::Slot(slot, written) => match self.quoted(*slot, &mut quotes) {
                    Some(quoted) => command.push_str(&quoted),
                    None => command.push_str(written),
                },
                EntityTextPart::Text(text) => {
                    quotes.read(text);
                    command.push_str(text);
                }
                EntityTextPart::Shell(..) | EntityTextPart::File(..) => {}
            }
        }
        command
    }

    fn quoted(&mut self, slot: TextSlot, quotes: &mut Quotes) -> Option<String> {
        // In `awk '{print $1}'`, `$1` belongs to awk. An argument in its place would become program code.
        if matches!(slot, TextSlot::Word(_)) && quotes.is_verbatim() {
            return None;
        }
        let words = self.words_of(slot);
        let within = if slot == TextSlot::All { self.args.to_owned() } else { words.join(" ") };
        let quoted = quotes.put(&words, &within)?;
        self.is_used |= slot != TextSlot::Root;
        Some(quoted)
    }
}

#[cfg(test)]
mod tests;
