//! Reads frontmatter that is almost YAML as it was meant, with a warning for each mistake.
//!
//! The second try, for a text that strict YAML refused: each key with what belongs to it is tried
//! alone, so that one mistake costs one value. What a single broken value means is
//! [`loose_value`](super::loose_value)'s.

use super::frontmatter::key_of;
use super::lenient_value::{self, Written};
use super::yaml;
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue};

/// How deep mistakes are looked for.
const DEEPEST: usize = 4;

/// The keys that stand at the margin, even where somebody indented them.
const OUTER: &[&str] =
    &["name", "description", "model", "tools", "allowed-tools", "argument-hint", "aliases"];

/// A second try.
pub(super) struct LenientYaml<'a, 'f, 't> {
    text: &'a str,
    base: usize,
    findings: &'f mut Diagnostics<'t>,
    has_warned: bool,
}

/// A line of the frontmatter.
#[derive(Clone, Copy)]
pub(super) struct LooseLine<'a> {
    /// The byte in the frontmatter.
    pub(super) at: usize,
    /// Without its end.
    pub(super) text: &'a str,
}

impl<'a> LooseLine<'a> {
    pub(super) fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start_matches([' ', '\t']).len()
    }

    pub(super) fn content(&self) -> &'a str {
        self.text.trim()
    }

    /// Blank, or a comment.
    fn is_silent(&self) -> bool {
        self.content().is_empty() || self.content().starts_with('#')
    }

    fn is_item(&self) -> bool {
        self.content() == "-" || self.content().starts_with("- ")
    }
}

impl<'a, 'f, 't> LenientYaml<'a, 'f, 't> {
    pub(super) fn new(text: &'a str, base: usize, findings: &'f mut Diagnostics<'t>) -> Self {
        LenientYaml { text, base, findings, has_warned: false }
    }

    /// Whether a mistake was found and said.
    pub(super) fn has_warned(&self) -> bool {
        self.has_warned
    }

    /// The keys; `None` where not even this can make sense of them.
    pub(super) fn read(&mut self) -> Option<Vec<JsonMember>> {
        let mut at = 0;
        let mut lines = Vec::new();
        for line in self.text.split_inclusive('\n') {
            lines.push(LooseLine { at, text: line.trim_end_matches(['\n', '\r']) });
            at += line.len();
        }
        self.members(&lines, 0)
    }

    fn members(&mut self, lines: &[LooseLine<'a>], depth: usize) -> Option<Vec<JsonMember>> {
        if depth == DEEPEST {
            return None;
        }
        let first = lines.iter().find(|line| !line.is_silent())?;
        key_of(first.content())?;
        let margin = first.indent();
        let starts = |line: &LooseLine<'_>| is_start(line, margin, depth);
        let mut members = Vec::new();
        for chunk in chunks(lines, starts) {
            members.extend(self.member(chunk, depth)?);
            if let Some(head) = chunk.first().filter(|head| head.indent() > margin) {
                let hint = Some("remove the spaces before it".to_owned());
                self.warn(self.base + head.at, "this key is indented and belongs to no other", hint);
            }
        }
        Some(members)
    }

    /// One key with what belongs to it.
    fn member(&mut self, chunk: &[LooseLine<'a>], depth: usize) -> Option<Vec<JsonMember>> {
        if let Some(members) = self.strict(chunk) {
            return Some(members);
        }
        let (head, below) = chunk.split_first()?;
        let key = key_of(head.content())?;
        let key_at = self.base + head.at + head.indent();
        let label = head.content().get(..=key.len())?;
        let text = head.content().get(label.len()..)?;
        let at = key_at + head.content().len() - text.trim().len();
        let node = if text.is_empty() && below.iter().any(|line| !line.is_silent()) {
            self.block(below, depth)?
        } else {
            let is_glued = !text.is_empty() && !text.starts_with([' ', '\t']);
            let base = self.base;
            self.value(&Written { label, text: text.trim(), at, is_glued, below, base })
        };
        Some(vec![JsonMember { key: key.to_owned(), key_at, node }])
    }

    /// What stands below a key: a list, or keys of its own.
    fn block(&mut self, lines: &[LooseLine<'a>], depth: usize) -> Option<JsonNode> {
        let first = lines.iter().find(|line| !line.is_silent())?;
        let at = self.base + first.at + first.indent();
        let value = if first.is_item() {
            JsonValue::List(self.items(lines)?)
        } else {
            JsonValue::Object(self.members(lines, depth + 1)?)
        };
        Some(JsonNode { at, value })
    }

    fn items(&mut self, lines: &[LooseLine<'a>]) -> Option<Vec<JsonNode>> {
        let margin = lines.iter().find(|line| !line.is_silent())?.indent();
        let starts = |line: &LooseLine<'_>| line.is_item() && line.indent() <= margin;
        let mut items = Vec::new();
        for chunk in chunks(lines, starts) {
            items.extend(self.item(chunk)?);
        }
        Some(items)
    }

    fn item(&mut self, chunk: &[LooseLine<'a>]) -> Option<Vec<JsonNode>> {
        if let Some(JsonNode { value: JsonValue::List(items), .. }) = self.tried(chunk) {
            return Some(items);
        }
        let [line] = chunk else { return None };
        let text = line.content().strip_prefix('-')?.trim();
        let at = self.base + line.at + line.text.trim_end().len() - text.len();
        let written = Written { label: "-", text, at, is_glued: false, below: &[], base: self.base };
        Some(vec![self.value(&written)])
    }

    fn value(&mut self, written: &Written<'_>) -> JsonNode {
        let fix = lenient_value::fix(written);
        self.warn(fix.at, &fix.message, Some(fix.hint));
        JsonNode { at: written.at, value: JsonValue::Text(fix.value) }
    }

    fn strict(&mut self, chunk: &[LooseLine<'a>]) -> Option<Vec<JsonMember>> {
        match self.tried(chunk)?.value {
            JsonValue::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Some lines as YAML by themselves, once more with spaces for the tabs they begin with.
    fn tried(&mut self, chunk: &[LooseLine<'a>]) -> Option<JsonNode> {
        let (first, last) = (chunk.first()?, chunk.last()?);
        let source = self.text.get(first.at..last.at + last.text.len())?;
        if let Ok(node) = yaml::read(source, self.base + first.at) {
            return Some(node);
        }
        let tabbed =
            chunk.iter().find(|line| line.text.get(..line.indent()).is_some_and(|s| s.contains('\t')))?;
        let node = yaml::read(&untabbed(source), self.base + first.at).ok()?;
        let column = tabbed.text.find('\t').unwrap_or_default();
        let hint = Some("use spaces".to_owned());
        self.warn(self.base + tabbed.at + column, "this line is indented with a tab", hint);
        Some(node)
    }

    fn warn(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.has_warned = true;
        self.findings.warn(at, message, hint);
    }
}

/// Whether a line begins a key: at the margin, or one that belongs there.
fn is_start(line: &LooseLine<'_>, margin: usize, depth: usize) -> bool {
    let Some(key) = key_of(line.content()) else {
        return line.indent() <= margin && is_quoted_key(line.content());
    };
    line.indent() <= margin || depth == 0 && line.indent() <= 3 && OUTER.contains(&key)
}

fn is_quoted_key(content: &str) -> bool {
    let quote = content.chars().next().filter(|c| matches!(c, '"' | '\''));
    let rest = quote.and_then(|quote| content.get(1..)?.split_once(quote));
    rest.is_some_and(|(_, rest)| rest.starts_with(": "))
}

/// Cuts lines before each one that starts something; silent ones before the first are left out.
fn chunks<'l, 'a>(
    lines: &'l [LooseLine<'a>],
    starts: impl Fn(&LooseLine<'a>) -> bool,
) -> impl Iterator<Item = &'l [LooseLine<'a>]> {
    let first = lines.iter().position(&starts).unwrap_or(lines.len());
    let mut rest = lines.get(first..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (_, below) = rest.split_first()?;
        let length = 1 + below.iter().position(&starts).unwrap_or(below.len());
        let (chunk, left) = rest.split_at_checked(length)?;
        rest = left;
        Some(chunk)
    })
}

/// The same text with a space for every tab that a line begins with: no byte moves.
fn untabbed(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t']);
        clean.extend(std::iter::repeat_n(' ', line.len() - content.len()));
        clean.push_str(content);
    }
    clean
}
