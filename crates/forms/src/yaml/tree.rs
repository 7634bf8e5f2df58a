//! Builds the tree from the parser's events. After a mistake it continues as far as it can and
//! keeps what it has read, so that one mistake does not hide another.

use std::collections::BTreeSet;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::reading::{Bounds, Tagged, YamlReading};
use super::scalar::plain;
use crate::json::{JsonMember, JsonNode, JsonValue};

/// A placeholder for a text that could not be read.
const UNREAD: &str = "?";

/// A parsed text, perhaps incomplete.
pub(crate) struct YamlTree {
    /// The value, as far as it could be read.
    pub(crate) root: JsonNode,
    /// The starting bytes of values whose end was not reached.
    pub(crate) open: BTreeSet<usize>,
    /// The mistakes in the YAML, in the order of the text.
    pub(crate) errors: Vec<YamlError>,
}

/// A mistake in the YAML and its byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YamlError {
    pub(crate) at: usize,
    pub(crate) kind: YamlErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum YamlErrorKind {
    /// The scanner's own message.
    NotYaml(String),
    /// A second document in the same text.
    More,
    /// Something else in place of a value.
    NoValue,
    /// A key that is a list, a mapping or an alias.
    KeyNotText,
    /// An alias inside the value it repeats.
    EndlessAlias,
    /// A tag that the reader refuses.
    Tag,
    /// A mapping that the author did not mean as one.
    NoMapping,
    /// Nesting deeper than the limit.
    TooDeep,
    /// More values than the limit.
    TooMany,
    /// More copies by aliases than the limit.
    TooMuchCopied,
}

/// Reads one document. Positions are counted from `base`. An empty document is null.
pub(crate) fn read(text: &str, base: usize, manner: &dyn YamlReading) -> YamlTree {
    let bounds = manner.bounds();
    let limits = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: bounds.deepest,
        block_nesting_limit: bounds.deepest,
    };
    let mut reader = YamlReader {
        text,
        base,
        manner,
        bounds,
        parser: Parser::new_from_str_with_options(text, limits),
        anchors: Vec::new(),
        values: 0,
        copied: (0, 0),
        open: BTreeSet::new(),
        errors: Vec::new(),
        is_over: false,
    };
    let root = reader.document();
    YamlTree { root, open: reader.open, errors: reader.errors }
}

struct YamlReader<'a> {
    text: &'a str,
    base: usize,
    manner: &'a dyn YamlReading,
    bounds: Bounds,
    parser: Parser<'a, StrInput<'a>>,
    anchors: Vec<Anchor>,
    values: usize,
    /// The values, and the bytes of text, that aliases added.
    copied: (usize, usize),
    open: BTreeSet<usize>,
    errors: Vec<YamlError>,
    is_over: bool,
}

/// A value that aliases may repeat.
struct Anchor {
    id: usize,
    node: JsonNode,
}

impl<'a> YamlReader<'a> {
    fn document(&mut self) -> JsonNode {
        let mut root = None;
        while let Some((event, span)) = self.next() {
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                _ if root.is_some() => {
                    self.stop::<()>(self.at(span), YamlErrorKind::More);
                }
                event => root = self.node(event, span, 0),
            }
        }
        root.unwrap_or_else(|| {
            self.open.extend(self.is_over.then_some(self.base));
            JsonNode { at: self.base, value: JsonValue::Null }
        })
    }

    /// Returns the next event, or `None` once reading has stopped.
    #[inline]
    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        if self.is_over {
            return None;
        }
        match self.parser.next_event()? {
            Ok(next) => Some(next),
            Err(error) => self.not_yaml(&error),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Option<JsonNode> {
        let at = match event {
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
                self.base + self.manner.block_at(self.text, offset(span))
            }
            _ => self.at(span),
        };
        self.count(1, at)?;
        if depth == self.bounds.deepest {
            return self.stop(at, YamlErrorKind::TooDeep);
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (self.scalar(text.into_owned(), style, tag.as_deref(), at), anchor)
            }
            Event::SequenceStart(_, anchor, _) => (JsonValue::List(self.items(at, depth)), anchor),
            Event::MappingStart(_, anchor, _) => (self.mapping(span, depth), anchor),
            Event::Alias(id) => (self.copy(id, at)?, 0),
            _ => return self.stop(at, YamlErrorKind::NoValue),
        };
        let node = JsonNode { at, value };
        if anchor != 0 {
            self.keep(anchor, &node)?;
        }
        Some(node)
    }

    #[inline]
    fn scalar(&mut self, text: String, style: ScalarStyle, tag: Option<&Tag>, at: usize) -> JsonValue {
        match tag.map_or(Tagged::AsWritten, |tag| self.manner.tagged(tag)) {
            Tagged::AsWritten if style == ScalarStyle::Plain => plain(text),
            Tagged::AsWritten | Tagged::Text => JsonValue::Text(text),
            Tagged::Refused => {
                self.note(at, YamlErrorKind::Tag);
                JsonValue::Text(UNREAD.to_owned())
            }
        }
    }

    fn items(&mut self, at: usize, depth: usize) -> Vec<JsonNode> {
        let mut items = Vec::new();
        while let Some((event, span)) = self.next() {
            if matches!(event, Event::SequenceEnd) {
                return items;
            }
            items.extend(self.node(event, span, depth + 1));
        }
        self.open.insert(at);
        items
    }

    /// Reads a mapping. If the author did not mean one, ignores its contents and the mistakes in
    /// them.
    fn mapping(&mut self, span: Span, depth: usize) -> JsonValue {
        let at = self.at(span);
        if self.manner.is_mapping(self.text, offset(span)) {
            return JsonValue::Object(self.members(at, depth));
        }
        self.note(at, YamlErrorKind::NoMapping);
        let known = self.errors.len();
        self.members(at, depth);
        self.errors.truncate(known);
        JsonValue::Text(UNREAD.to_owned())
    }

    fn members(&mut self, at: usize, depth: usize) -> Vec<JsonMember> {
        let mut members = Vec::new();
        while let Some((event, span)) = self.next() {
            if matches!(event, Event::MappingEnd) {
                return members;
            }
            let key_at = self.at(span);
            let key = self.key(event, span, depth);
            let Some((event, span)) = self.next() else { break };
            let Some(node) = self.node(event, span, depth + 1) else { break };
            members.extend(key.map(|key| JsonMember { key, key_at, node }));
        }
        self.open.insert(at);
        members
    }

    #[inline]
    fn key(&mut self, event: Event<'a>, span: Span, depth: usize) -> Option<String> {
        if let Event::Scalar(key, ..) = event {
            self.count(1, self.at(span))?;
            return Some(key.into_owned());
        }
        self.note(self.at(span), YamlErrorKind::KeyNotText);
        self.node(event, span, depth + 1);
        None
    }

    /// Keeps an anchored value for its aliases. Nested anchors copy their contents repeatedly, so
    /// these copies count against the same limit as aliases.
    fn keep(&mut self, id: usize, node: &JsonNode) -> Option<()> {
        self.charge(node, node.at)?;
        self.anchors.push(Anchor { id, node: node.clone() });
        Some(())
    }

    fn copy(&mut self, id: usize, at: usize) -> Option<JsonValue> {
        let Some(anchor) = self.anchors.iter().rfind(|anchor| anchor.id == id) else {
            return self.stop(at, YamlErrorKind::EndlessAlias);
        };
        let node = anchor.node.clone();
        self.charge(&node, at)?;
        Some(node.value)
    }

    fn charge(&mut self, node: &JsonNode, at: usize) -> Option<()> {
        let (values, bytes) = size(node);
        self.copied = (self.copied.0 + values, self.copied.1 + bytes);
        if self.copied.0 > self.bounds.copied_values || self.copied.1 > self.bounds.copied_bytes {
            return self.stop(at, YamlErrorKind::TooMuchCopied);
        }
        self.count(values, at)
    }

    fn count(&mut self, values: usize, at: usize) -> Option<()> {
        self.values += values;
        if self.values > self.bounds.values { self.stop(at, YamlErrorKind::TooMany) } else { Some(()) }
    }

    fn at(&self, span: Span) -> usize {
        self.base + offset(span)
    }

    #[cold]
    fn not_yaml<T>(&mut self, error: &ScanError) -> Option<T> {
        let at = self.base + error.marker().byte_offset().unwrap_or_default();
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => self.stop(at, YamlErrorKind::TooDeep),
            _ => self.stop(at, YamlErrorKind::NotYaml(error.info())),
        }
    }

    #[cold]
    fn stop<T>(&mut self, at: usize, mistake: YamlErrorKind) -> Option<T> {
        self.note(at, mistake);
        self.is_over = true;
        None
    }

    fn note(&mut self, at: usize, mistake: YamlErrorKind) {
        self.errors.push(YamlError { at, kind: mistake });
    }
}

fn offset(span: Span) -> usize {
    span.start.byte_offset().unwrap_or_default()
}

/// Counts the values and keys in a value, and its bytes of text.
fn size(node: &JsonNode) -> (usize, usize) {
    let add = |(values, bytes): (usize, usize), (more, text): (usize, usize)| (values + more, bytes + text);
    match &node.value {
        JsonValue::Null | JsonValue::Boolean(_) => (1, 0),
        JsonValue::Number(text) | JsonValue::Text(text) => (1, text.len()),
        JsonValue::List(items) => items.iter().map(size).fold((1, 0), add),
        JsonValue::Object(members) => {
            let one = |member: &JsonMember| add(size(&member.node), (1, member.key.len()));
            members.iter().map(one).fold((1, 0), add)
        }
    }
}
