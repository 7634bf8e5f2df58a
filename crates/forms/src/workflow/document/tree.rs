//! Reads YAML, and so JSON, into values that know where they stand, and goes on after a mistake
//! as far as it can.
//!
//! A text that breaks off still gives what stood before, so that one slip hides no other. Bounded:
//! a small text that means a large value is refused. What the keys mean is left to others.

use std::collections::BTreeSet;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::{scalar, slip};
use crate::json::{Broken, Member, Node, Value};

/// Deeper than any workflow whose blocks are nested as deep as they may be.
const DEEPEST: usize = 160;
/// The most values and keys.
const MOST_VALUES: usize = 500_000;
/// The most values that aliases may add, and the most bytes of text.
const MOST_COPIED: (usize, usize) = (20_000, 256 * 1024);

/// Stands for a text that is there and could not be read.
const UNREAD: &str = "?";

/// A text taken apart.
pub(super) struct Tree {
    /// What it says, as far as it could be read.
    pub(super) root: Node,
    /// Where the values begin whose end was not reached.
    pub(super) open: BTreeSet<usize>,
    /// What is wrong with it as YAML.
    pub(super) broken: Vec<Broken>,
}

/// Reads one document. An empty one is null.
pub(super) fn read(text: &str) -> Tree {
    let tree = read_as_it_is(text);
    if tree.broken.is_empty() {
        return tree;
    }
    let Some((tabs, spaced)) = slip::tabs(text) else { return tree };
    // What else the scanner says here comes from the tabs.
    let tree = read_as_it_is(&spaced);
    Tree { broken: tabs, ..tree }
}

fn read_as_it_is(text: &str) -> Tree {
    let limits = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: DEEPEST,
        block_nesting_limit: DEEPEST,
    };
    let parser = Parser::new_from_str_with_options(text, limits);
    let mut reader = Reader {
        text,
        parser,
        anchors: Vec::new(),
        values: 0,
        copied: (0, 0),
        open: BTreeSet::new(),
        broken: Vec::new(),
        is_over: false,
    };
    let root = reader.document();
    Tree { root, open: reader.open, broken: reader.broken }
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    anchors: Vec<Anchor>,
    values: usize,
    copied: (usize, usize),
    open: BTreeSet<usize>,
    broken: Vec<Broken>,
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
                    let hint = Some("a file holds one workflow");
                    self.stop::<()>(at(span), "there is more after the end of the document", hint);
                }
                event => root = self.node(event, span, 0),
            }
        }
        root.unwrap_or_else(|| {
            self.open.extend(self.is_over.then_some(0));
            Node { at: 0, value: Value::Null }
        })
    }

    /// The next event, unless there is no reading on.
    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        if self.is_over {
            return None;
        }
        match self.parser.next_event()? {
            Ok(next) => Some(next),
            Err(error) => {
                self.not_yaml(&error);
                None
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Option<Node> {
        let at = match event {
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => header(self.text, at(span)),
            _ => at(span),
        };
        self.count(at)?;
        if depth == DEEPEST {
            return self.stop(at, &too_deep(), Some("write it flatter"));
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_refused = self.refuse_tag(at, tag.as_deref());
                let text = if is_refused { UNREAD.to_owned() } else { text.into_owned() };
                (scalar_value(text, style, tag.as_deref()), anchor)
            }
            Event::SequenceStart(_, anchor, _) => (Value::List(self.items(at, depth)), anchor),
            Event::MappingStart(_, anchor, _) => (self.mapping(at, depth), anchor),
            Event::Alias(id) => (self.copy(id, at)?, 0),
            _ => return self.stop(at, "expected a value", None),
        };
        let node = Node { at, value };
        if anchor != 0 {
            self.keep(anchor, &node)?;
        }
        Some(node)
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

    /// A mapping, or a template that looks like one because its quotes are missing.
    fn mapping(&mut self, at: usize, depth: usize) -> Value {
        let is_template = slip::is_template(self.text, at);
        if is_template {
            self.note(slip::unquoted(at));
        }
        let known = self.broken.len();
        let members = self.members(at, depth);
        if !is_template {
            return Value::Object(members);
        }
        self.broken.truncate(known);
        Value::Text(UNREAD.to_owned())
    }

    fn members(&mut self, at: usize, depth: usize) -> Vec<Member> {
        let mut members = Vec::new();
        while let Some((event, span)) = self.next() {
            if matches!(event, Event::MappingEnd) {
                return members;
            }
            let key_at = self::at(span);
            let key = self.key(event, span, depth);
            let Some((event, span)) = self.next() else { break };
            let Some(node) = self.node(event, span, depth + 1) else { break };
            members.extend(key.map(|key| Member { key, key_at, node }));
        }
        self.open.insert(at);
        members
    }

    fn key(&mut self, event: Event<'a>, span: Span, depth: usize) -> Option<String> {
        if let Event::Scalar(key, ..) = event {
            self.count(at(span))?;
            return Some(key.into_owned());
        }
        self.note(Broken {
            at: at(span),
            message: "a key must be plain text".to_owned(),
            hint: Some("put quotes around it"),
        });
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
            return self.stop(at, "an alias inside the value it repeats", None);
        };
        let node = anchor.node.clone();
        self.charge(&node, at)?;
        Some(node.value)
    }

    fn charge(&mut self, node: &Node, at: usize) -> Option<()> {
        let (values, bytes) = size(node);
        self.copied = (self.copied.0 + values, self.copied.1 + bytes);
        if self.copied.0 > MOST_COPIED.0 || self.copied.1 > MOST_COPIED.1 {
            let hint = Some("write it without anchors and aliases");
            return self.stop(at, "this means far more than it says", hint);
        }
        Some(())
    }

    fn count(&mut self, at: usize) -> Option<()> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return self.stop(at, "there are more values than a workflow can have", None);
        }
        Some(())
    }

    fn refuse_tag(&mut self, at: usize, tag: Option<&Tag>) -> bool {
        let is_strange = tag.is_some_and(Tag::is_custom);
        if is_strange {
            let before = self.text.get(..at).unwrap_or_default();
            let at = before.rfind('!').unwrap_or(at);
            let message = "a value that begins with `!` must be in quotes".to_owned();
            self.note(Broken { at, message, hint: Some("or write `not` instead of `!`") });
        }
        is_strange
    }

    fn not_yaml(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or_default();
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            self.stop::<()>(at, &too_deep(), Some("write it flatter"));
            return;
        }
        let broken = slip::explain(self.text, at, &error.info());
        self.note(broken);
        self.is_over = true;
    }

    fn stop<T>(&mut self, at: usize, message: &str, hint: Option<&'static str>) -> Option<T> {
        self.note(Broken { at, message: message.to_owned(), hint });
        self.is_over = true;
        None
    }

    /// Notes a mistake; a second one at the same place says nothing new.
    fn note(&mut self, broken: Broken) {
        if self.broken.last().is_none_or(|last| last.at != broken.at) {
            self.broken.push(broken);
        }
    }
}

fn at(span: Span) -> usize {
    span.start.byte_offset().unwrap_or_default()
}

/// Where a block of text begins, whose first line has a character at `at`: at its `|` or `>`.
fn header(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let above = before.trim_end_matches([' ', '\t']);
    let is_first_line = !above.ends_with('\n');
    if is_first_line { at } else { above.rfind(['|', '>']).unwrap_or(at) }
}

fn too_deep() -> String {
    format!("nested more than {DEEPEST} levels deep")
}

fn scalar_value(text: String, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = style != ScalarStyle::Plain || tag.is_some();
    if is_text { Value::Text(text) } else { scalar::plain(text) }
}

/// How many values there are in one, and how many bytes of text.
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
