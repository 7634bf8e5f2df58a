//! Builds the tree from the events of the parser, and goes on after a mistake as far as it can:
//! a text that breaks off still gives what stood before, so that one slip hides no other.

use std::collections::BTreeSet;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::manner::{Bounds, Manner, Tagged};
use super::scalar::plain;
use crate::json::{Member, Node, Value};

/// Stands for a text that is there and could not be read.
const UNREAD: &str = "?";

/// A text taken apart.
pub(crate) struct Tree {
    /// What it says, as far as it could be read.
    pub(crate) root: Node,
    /// Where the values begin whose end was not reached.
    pub(crate) open: BTreeSet<usize>,
    /// What is wrong with it as YAML, in the order of the text.
    pub(crate) slips: Vec<Slip>,
}

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slip {
    pub(crate) at: usize,
    pub(crate) mistake: Mistake,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// In the words of the scanner.
    NotYaml(String),
    /// There is a second document.
    More,
    /// There is something else where a value should be.
    NoValue,
    /// A key is a list, a mapping or an alias.
    KeyNotText,
    /// An alias stands inside the value it repeats.
    EndlessAlias,
    /// A tag that is refused.
    Tag,
    /// A mapping that was not meant as one.
    NoMapping,
    /// It is nested too deep.
    TooDeep,
    /// There are too many values.
    TooMany,
    /// Aliases add too much.
    TooMuchCopied,
}

/// Reads one document; positions are counted from `base`. An empty one is null.
pub(crate) fn read(text: &str, base: usize, manner: &dyn Manner) -> Tree {
    let bounds = manner.bounds();
    let limits = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: bounds.deepest,
        block_nesting_limit: bounds.deepest,
    };
    let mut reader = Reader {
        text,
        base,
        manner,
        bounds,
        parser: Parser::new_from_str_with_options(text, limits),
        anchors: Vec::new(),
        values: 0,
        copied: (0, 0),
        open: BTreeSet::new(),
        slips: Vec::new(),
        is_over: false,
    };
    let root = reader.document();
    Tree { root, open: reader.open, slips: reader.slips }
}

struct Reader<'a> {
    text: &'a str,
    base: usize,
    manner: &'a dyn Manner,
    bounds: Bounds,
    parser: Parser<'a, StrInput<'a>>,
    anchors: Vec<Anchor>,
    values: usize,
    /// What aliases added: values, and bytes of text.
    copied: (usize, usize),
    open: BTreeSet<usize>,
    slips: Vec<Slip>,
    is_over: bool,
}

/// A value that aliases may repeat.
struct Anchor {
    id: usize,
    node: Node,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Node {
        let mut root = None;
        while let Some((event, span)) = self.next() {
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                _ if root.is_some() => {
                    self.stop::<()>(self.at(span), Mistake::More);
                }
                event => root = self.node(event, span, 0),
            }
        }
        root.unwrap_or_else(|| {
            self.open.extend(self.is_over.then_some(self.base));
            Node { at: self.base, value: Value::Null }
        })
    }

    /// The next event, unless there is no reading on.
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

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Option<Node> {
        let at = match event {
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
                self.base + self.manner.block_at(self.text, offset(span))
            }
            _ => self.at(span),
        };
        self.count(1, at)?;
        if depth == self.bounds.deepest {
            return self.stop(at, Mistake::TooDeep);
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (self.scalar(text.into_owned(), style, tag.as_deref(), at), anchor)
            }
            Event::SequenceStart(_, anchor, _) => (Value::List(self.items(at, depth)), anchor),
            Event::MappingStart(_, anchor, _) => (self.mapping(span, depth), anchor),
            Event::Alias(id) => (self.copy(id, at)?, 0),
            _ => return self.stop(at, Mistake::NoValue),
        };
        let node = Node { at, value };
        if anchor != 0 {
            self.keep(anchor, &node)?;
        }
        Some(node)
    }

    #[inline]
    fn scalar(&mut self, text: String, style: ScalarStyle, tag: Option<&Tag>, at: usize) -> Value {
        match tag.map_or(Tagged::AsWritten, |tag| self.manner.tagged(tag)) {
            Tagged::AsWritten if style == ScalarStyle::Plain => plain(text),
            Tagged::AsWritten | Tagged::Text => Value::Text(text),
            Tagged::Refused => {
                self.note(at, Mistake::Tag);
                Value::Text(UNREAD.to_owned())
            }
        }
    }

    fn items(&mut self, at: usize, depth: usize) -> Vec<Node> {
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

    /// A mapping. Of one that was not meant as such, what is in it is of no interest.
    fn mapping(&mut self, span: Span, depth: usize) -> Value {
        let at = self.at(span);
        if self.manner.is_mapping(self.text, offset(span)) {
            return Value::Object(self.members(at, depth));
        }
        self.note(at, Mistake::NoMapping);
        let known = self.slips.len();
        self.members(at, depth);
        self.slips.truncate(known);
        Value::Text(UNREAD.to_owned())
    }

    fn members(&mut self, at: usize, depth: usize) -> Vec<Member> {
        let mut members = Vec::new();
        while let Some((event, span)) = self.next() {
            if matches!(event, Event::MappingEnd) {
                return members;
            }
            let key_at = self.at(span);
            let key = self.key(event, span, depth);
            let Some((event, span)) = self.next() else { break };
            let Some(node) = self.node(event, span, depth + 1) else { break };
            members.extend(key.map(|key| Member { key, key_at, node }));
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
        self.note(self.at(span), Mistake::KeyNotText);
        self.node(event, span, depth + 1);
        None
    }

    /// Remembers an anchored value. Anchors inside anchors copy again and again, so the copies
    /// count like those that aliases make.
    fn keep(&mut self, id: usize, node: &Node) -> Option<()> {
        self.charge(node, node.at)?;
        self.anchors.push(Anchor { id, node: node.clone() });
        Some(())
    }

    fn copy(&mut self, id: usize, at: usize) -> Option<Value> {
        let Some(anchor) = self.anchors.iter().rfind(|anchor| anchor.id == id) else {
            return self.stop(at, Mistake::EndlessAlias);
        };
        let node = anchor.node.clone();
        self.charge(&node, at)?;
        Some(node.value)
    }

    fn charge(&mut self, node: &Node, at: usize) -> Option<()> {
        let (values, bytes) = size(node);
        self.copied = (self.copied.0 + values, self.copied.1 + bytes);
        if self.copied.0 > self.bounds.copied_values || self.copied.1 > self.bounds.copied_bytes {
            return self.stop(at, Mistake::TooMuchCopied);
        }
        self.count(values, at)
    }

    fn count(&mut self, values: usize, at: usize) -> Option<()> {
        self.values += values;
        if self.values > self.bounds.values { self.stop(at, Mistake::TooMany) } else { Some(()) }
    }

    fn at(&self, span: Span) -> usize {
        self.base + offset(span)
    }

    #[cold]
    fn not_yaml<T>(&mut self, error: &ScanError) -> Option<T> {
        let at = self.base + error.marker().byte_offset().unwrap_or_default();
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => self.stop(at, Mistake::TooDeep),
            _ => self.stop(at, Mistake::NotYaml(error.info())),
        }
    }

    #[cold]
    fn stop<T>(&mut self, at: usize, mistake: Mistake) -> Option<T> {
        self.note(at, mistake);
        self.is_over = true;
        None
    }

    fn note(&mut self, at: usize, mistake: Mistake) {
        self.slips.push(Slip { at, mistake });
    }
}

fn offset(span: Span) -> usize {
    span.start.byte_offset().unwrap_or_default()
}

/// How many values and keys there are in one, and how many bytes of text.
fn size(node: &Node) -> (usize, usize) {
    let add = |(values, bytes): (usize, usize), (more, text): (usize, usize)| (values + more, bytes + text);
    match &node.value {
        Value::Null | Value::Boolean(_) => (1, 0),
        Value::Number(text) | Value::Text(text) => (1, text.len()),
        Value::List(items) => items.iter().map(size).fold((1, 0), add),
        Value::Object(members) => {
            let one = |member: &Member| add(size(&member.node), (1, member.key.len()));
            members.iter().map(one).fold((1, 0), add)
        }
    }
}
