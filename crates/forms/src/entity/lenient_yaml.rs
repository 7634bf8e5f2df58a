//! Reads frontmatter that is almost YAML, with a warning for each mistake.
//!
//! This is the second attempt, for text that strict YAML refuses. It reads each key with its value
//! separately, so that one mistake affects one value. [`lenient_value`](super::lenient_value)
//! interprets a single broken value.

use super::frontmatter::key_of;
use super::lenient_value::{self, Written};
use super::yaml;
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue};

/// The deepest level at which mistakes are corrected.
const DEEPEST: usize = 4;

/// Keys that belong to the top level, even if they are indented.
const OUTER: &[&str] =
    &["name", "description", "model", "tools", "allowed-tools", "argument-hint", "aliases"];

/// A lenient reader for one frontmatter.
pub(super) struct LenientYaml<'a, 'f, 't> {
    text: &'a str,
    base: usize,
    findings: &'f mut Diagnostics<'t>,
    has_warned: bool,
}

/// A line of the frontmatter.
#[derive(Clone, Copy)]
pub(super) struct LenientLine<'a> {
    /// The byte in the frontmatter.
    pub(super) at: usize,
    /// The line without its line break.
    pub(super) text: &'a str,
}

impl<'a> LenientLine<'a> {
    pub(super) fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start_matches([' ', '\t']).len()
    }

    pub(super) fn content(&self) -> &'a str {
        self.text.trim()
    }

    /// Decides whether the line is blank or a comment.
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

    /// Decides whether a mistake has been reported.
    pub(super) fn has_warned(&self) -> bool {
        self.has_warned
    }

    /// Reads the keys. Returns `None` if even lenient reading fails.
    pub(super) fn read(&mut self) -> Option<Vec<JsonMember>> {
        let mut at = 0;
        let mut lines = Vec::new();
        for line in self.text.split_inclusive('\n') {
            lines.push(LenientLine { at, text: line.trim_end_matches(['\n', '\r']) });
            at += line.len();
        }
        self.members(&lines, 0)
    }

    fn members(&mut self, lines: &[LenientLine<'a>], depth: usize) -> Option<Vec<JsonMember>> {
        if depth == DEEPEST {
            return None;
        }
        let first = lines.iter().find(|line| !line.is_silent())?;
        key_of(first.content())?;
        let margin = first.indent();
        let starts = |line: &LenientLine<'_>| is_start(line, margin, depth);
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

    /// Reads one key with the lines that belong to it.
    fn member(&mut self, chunk: &[LenientLine<'a>], depth: usize) -> Option<Vec<JsonMember>> {
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

    /// Reads the lines below a key: a list or a mapping.
    fn block(&mut self, lines: &[LenientLine<'a>], depth: usize) -> Option<JsonNode> {
        let first = lines.iter().find(|line| !line.is_silent())?;
        let at = self.base + first.at + first.indent();
        let value = if first.is_item() {
            JsonValue::List(self.items(lines)?)
        } else {
            JsonValue::Object(self.members(lines, depth + 1)?)
        };
        Some(JsonNode { at, value })
    }

    fn items(&mut self, lines: &[LenientLine<'a>]) -> Option<Vec<JsonNode>> {
        let margin = lines.iter().find(|line| !line.is_silent())?.indent();
        let starts = |line: &LenientLine<'_>| line.is_item() && line.indent() <= margin;
        let mut items = Vec::new();
        for chunk in chunks(lines, starts) {
            items.extend(self.item(chunk)?);
        }
        Some(items)
    }

    fn item(&mut self, chunk: &[LenientLine<'a>]) -> Option<Vec<JsonNode>> {
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

    fn strict(&mut self, chunk: &[LenientLine<'a>]) -> Option<Vec<JsonMember>> {
        match self.tried(chunk)?.value {
            JsonValue::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Reads some lines as YAML on their own, and retries with spaces in place of leading tabs.
    fn tried(&mut self, chunk: &[LenientLine<'a>]) -> Option<JsonNode> {
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

/// Decides whether a line begins a key: it is at the margin, or its key belongs to the top level.
fn is_start(line: &LenientLine<'_>, margin: usize, depth: usize) -> bool {
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

/// Splits the lines before each one that starts an entry. Drops the lines before the first.
fn chunks<'l, 'a>(
    lines: &'l [LenientLine<'a>],
    starts: impl Fn(&LenientLine<'a>) -> bool,
) -> impl Iterator<Item = &'l [LenientLine<'a>]> {
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

/// Replaces every leading tab with a space, so that byte positions stay the same.
fn untabbed(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t']);
        clean.extend(std::iter::repeat_n(' ', line.len() - content.len()));
        clean.push_str(content);
    }
    clean
}
