//! Reads YAML into values that know where they stand, through the event parser that serde-saphyr
//! is built on.
//!
//! Not through serde-saphyr itself: every key and value needs its byte, a repeated key is a
//! warning and not a mistake, and building the tree straight from events takes half the time.
//! Bounded: a small text that means a large value is refused. What the keys mean, and a second
//! try with what is almost YAML, are left to others.

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::{scalar, subset};
use crate::json::{Broken, Member, Node, Value};

/// Deeper than any frontmatter; keeps a hostile one from exhausting the stack.
const DEEPEST: usize = 32;
/// The most values and keys a text may mean, its aliases written out.
const MOST_NODES: usize = 20_000;
/// The most bytes of text that aliases may add.
const MOST_COPIED: usize = 256 * 1024;

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refused {
    /// It is not YAML, and perhaps almost.
    Broken(Broken),
    /// It means more than anybody would write by hand.
    Excess(Broken),
}

/// Reads one document; positions are counted from `base`. An empty one is null.
pub(super) fn read(text: &str, base: usize) -> Result<Node, Refused> {
    match subset::read(text, base) {
        Some(node) => Ok(node),
        None => read_all(text, base),
    }
}

/// The same, without the short cut for simple texts.
pub(super) fn read_all(text: &str, base: usize) -> Result<Node, Refused> {
    let limits = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: DEEPEST,
        block_nesting_limit: DEEPEST,
    };
    let parser = Parser::new_from_str_with_options(text, limits);
    Reader { parser, base, anchors: Vec::new(), nodes: 0, copied: 0 }.document()
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    base: usize,
    anchors: Vec<Anchor>,
    nodes: usize,
    copied: usize,
}

/// A value that aliases may repeat.
struct Anchor {
    id: usize,
    node: Node,
}

impl<'a> Reader<'a> {
    fn document(mut self) -> Result<Node, Refused> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                _ if root.is_some() => {
                    return Err(self.broken(span, "there is more after the end of the YAML", None));
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
        Ok(root.unwrap_or(Node { at: self.base, value: Value::Null }))
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Refused> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.not_yaml(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Refused> {
        self.count(span, 1)?;
        if depth == DEEPEST {
            return Err(too_deep(self.at(span)));
        }
        let at = self.at(span);
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (scalar_value(text.into_owned(), style, tag.as_deref()), anchor)
            }
            Event::SequenceStart(_, anchor, _) => (Value::List(self.items(depth)?), anchor),
            Event::MappingStart(_, anchor, _) => (Value::Object(self.members(depth)?), anchor),
            Event::Alias(id) => (self.copy(id, span)?, 0),
            _ => return Err(self.broken(span, "expected a value", None)),
        };
        let node = Node { at, value };
        if anchor != 0 {
            self.keep(anchor, &node, span)?;
        }
        Ok(node)
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, Refused> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>, Refused> {
        let mut members = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(members),
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(self.broken(span, "a key must be plain text", Some("put quotes around it"))),
            };
            self.count(span, 1)?;
            let key_at = self.at(span);
            let (event, span) = self.next()?;
            members.push(Member { key, key_at, node: self.node(event, span, depth + 1)? });
        }
    }

    /// Remembers an anchored value. Anchors inside anchors copy again and again, so the copies
    /// count like those that aliases make.
    fn keep(&mut self, id: usize, node: &Node, span: Span) -> Result<(), Refused> {
        self.charge(node, span)?;
        self.anchors.push(Anchor { id, node: node.clone() });
        Ok(())
    }

    fn copy(&mut self, id: usize, span: Span) -> Result<Value, Refused> {
        let Some(place) = self.anchors.iter().rposition(|anchor| anchor.id == id) else {
            return Err(self.broken(span, "an alias inside the value it repeats", None));
        };
        let Some(node) = self.anchors.get(place).map(|anchor| anchor.node.clone()) else {
            return Err(self.broken(span, "an alias without an anchor", None));
        };
        self.charge(&node, span)?;
        Ok(node.value)
    }

    fn charge(&mut self, node: &Node, span: Span) -> Result<(), Refused> {
        let (nodes, bytes) = size(node);
        self.copied += bytes;
        if self.copied > MOST_COPIED {
            return Err(self.too_large(span));
        }
        self.count(span, nodes)
    }

    fn count(&mut self, span: Span, nodes: usize) -> Result<(), Refused> {
        self.nodes += nodes;
        if self.nodes > MOST_NODES { Err(self.too_large(span)) } else { Ok(()) }
    }

    fn too_large(&self, span: Span) -> Refused {
        let message = "this means far more than it says".to_owned();
        let hint = Some("write it without anchors and aliases");
        Refused::Excess(Broken { at: self.at(span), message, hint })
    }

    fn at(&self, span: Span) -> usize {
        self.base + span.start.byte_offset().unwrap_or_default()
    }

    fn broken(&self, span: Span, message: &str, hint: Option<&'static str>) -> Refused {
        Refused::Broken(Broken { at: self.at(span), message: message.to_owned(), hint })
    }

    fn not_yaml(&self, error: &ScanError) -> Refused {
        let at = self.base + error.marker().byte_offset().unwrap_or_default();
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            return too_deep(at);
        }
        let hint = Some("a value with `: `, `#`, quotes or brackets in it goes into quotes");
        Refused::Broken(Broken { at, message: format!("not YAML: {}", error.info()), hint })
    }
}

fn too_deep(at: usize) -> Refused {
    let message = format!("nested more than {DEEPEST} levels deep");
    Refused::Excess(Broken { at, message, hint: Some("write it flatter") })
}

fn scalar_value(text: String, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
    if is_text { Value::Text(text) } else { scalar::plain(text) }
}

/// How many values there are in one, and how many bytes of text.
fn size(node: &Node) -> (usize, usize) {
    let add = |(nodes, bytes): (usize, usize), (more, text): (usize, usize)| (nodes + more, bytes + text);
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

#[cfg(test)]
mod tests;
