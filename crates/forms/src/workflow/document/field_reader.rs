//! Takes mappings out of a document, notes what is wrong in them, and remembers where each value
//! stands.
//!
//! Each function gives `None` after noting an error, so that reading goes on and finds the next.
//! Single values are [`value`](super::value)'s.

use std::collections::{BTreeSet, HashMap};

use windlass_core::graph::check::UnreadParts;

use super::ids::ChosenIds;
use super::keys::{KeyTable, called_here, is_note, is_slip_for, is_strange};
use super::positions::{DocumentPart, Field};
use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue};
use crate::words::{did_you_mean, quoted};

/// After this many mistakes nothing is looked up for a hint that nobody sees.
const FLOOD: usize = 100;

/// A document being read.
pub(super) struct FieldReader<'a> {
    text: &'a str,
    findings: Diagnostics<'a>,
    errors: usize,
    /// Where values begin whose end nobody knows.
    open: BTreeSet<usize>,
    /// The ids that somebody chose.
    pub(super) chosen: ChosenIds,
    /// The nodes so far, in the order of the text.
    pub(super) nodes: Vec<DocumentPart>,
    /// Whether there are more than there may be.
    pub(super) is_full: bool,
    /// How many blocks are around what is read now.
    pub(super) depth: usize,
    /// The node that is read now.
    pub(super) current_part: DocumentPart,
    /// Nodes, or what one of them does, could not be read.
    pub(super) is_part: bool,
    /// What nobody knows because of that.
    pub(super) unread: UnreadParts,
    /// Something is missing without which nothing can be said of the rest.
    pub(super) is_lost: bool,
}

/// A mapping, each key once.
pub(super) struct Map<'n> {
    /// Where it begins.
    pub(super) at: usize,
    path: String,
    pub(super) members: Vec<&'n JsonMember>,
    /// Those whose keys may be slips for others.
    strange: Vec<&'n JsonMember>,
}

impl<'n> Map<'n> {
    pub(super) fn empty(at: usize, path: &str) -> Map<'n> {
        Map { at, path: path.to_owned(), members: Vec::new(), strange: Vec::new() }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'n JsonMember> {
        self.members.iter().find(|member| member.key == key).copied()
    }

    /// The key that is there with a slip in it.
    fn slip_for(&self, key: &str) -> Option<&'n JsonMember> {
        self.strange.iter().find(|member| is_slip_for(&member.key, key)).copied()
    }
}

impl<'a> FieldReader<'a> {
    pub(super) fn new(text: &'a str, file: &'a str, open: BTreeSet<usize>) -> FieldReader<'a> {
        FieldReader {
            text,
            findings: Diagnostics::in_text(text, Some(file)),
            errors: 0,
            open,
            chosen: ChosenIds::default(),
            nodes: Vec::new(),
            is_full: false,
            depth: 0,
            current_part: DocumentPart::default(),
            is_part: false,
            unread: UnreadParts::default(),
            is_lost: false,
        }
    }

    pub(super) fn error(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.errors += 1;
        self.current_part.errors.push(at);
        self.findings.error(at, message, hint);
    }

    /// Says that not everything could be looked at.
    pub(super) fn leaves_doubt(&mut self) {
        self.findings.whole("more may be found once this is mended");
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.findings.finish()
    }

    pub(super) fn mismatch(&mut self, path: &str, wanted: &str, node: &JsonNode) {
        let hint = matches!(node.value, JsonValue::Null).then(|| "leave the key out instead".to_owned());
        self.wrong_with(path, wanted, node, hint);
    }

    pub(super) fn wrong_with(&mut self, path: &str, wanted: &str, node: &JsonNode, hint: Option<String>) {
        self.error(node.at, &format!("`{path}` must be {wanted}, found {}", kind(&node.value)), hint);
    }

    /// A mapping with these keys and no others.
    pub(super) fn map<'n>(&mut self, path: &str, node: &'n JsonNode, known: KeyTable) -> Option<Map<'n>> {
        let map = self.any_map(path, node)?;
        for member in map.members.iter().filter(|member| !known.contains(&member.key.as_str())) {
            self.unknown(path, member, known);
        }
        Some(map)
    }

    /// A mapping with these keys, for which a number is the short form and was looked for before.
    pub(super) fn map_or_number<'n>(
        &mut self,
        path: &str,
        node: &'n JsonNode,
        known: KeyTable,
    ) -> Option<Map<'n>> {
        if matches!(node.value, JsonValue::Object(_) | JsonValue::Null) {
            return self.map(path, node, known);
        }
        self.wrong_with(path, "a whole number or a mapping", node, None);
        None
    }

    /// A mapping whose keys are somebody's names.
    pub(super) fn any_map<'n>(&mut self, path: &str, node: &'n JsonNode) -> Option<Map<'n>> {
        let JsonValue::Object(members) = &node.value else {
            self.mismatch(path, "a mapping", node);
            return None;
        };
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut map = Map::empty(node.at, path);
        for member in members.iter().filter(|member| !is_note(&member.key)) {
            let key = join(path, &member.key);
            if let Some(first) = seen.get(member.key.as_str()) {
                let hint =
                    self.line(*first).map(|line| format!("the first one is in line {line}: remove one"));
                self.error(member.key_at, &format!("{} is given twice", quoted(&key)), hint);
                continue;
            }
            seen.insert(&member.key, member.key_at);
            self.mark(&key, member.key_at, member.node.at);
            map.members.push(member);
            if is_strange(&member.key) && !self.is_flooded() {
                map.strange.push(member);
            }
        }
        Some(map)
    }

    /// How many mistakes there are so far.
    pub(super) fn error_count(&self) -> usize {
        self.errors
    }

    /// Nodes could not be read.
    pub(super) fn nodes_are_missing(&mut self) {
        self.is_part = true;
        self.unread.nodes = true;
    }

    /// What a node gives is not known.
    pub(super) fn values_are_unsure(&mut self) {
        self.is_part = true;
        self.unread.values = true;
    }

    /// Whether there are more mistakes than anybody is shown.
    pub(super) fn is_flooded(&self) -> bool {
        self.errors >= FLOOD
    }

    /// Remembers where a field stands.
    pub(super) fn mark(&mut self, path: &str, key_at: usize, at: usize) {
        self.current_part.fields.push(Field { path: path.into(), key_at, at });
    }

    /// The line of a byte, for a hint.
    pub(super) fn line(&self, at: usize) -> Option<usize> {
        let before = self.text.get(..at).filter(|_| !self.is_flooded())?;
        Some(before.matches('\n').count() + 1)
    }

    pub(super) fn unknown(&mut self, path: &str, member: &JsonMember, known: &[&str]) {
        let key = quoted(&join(path, &member.key));
        let hint = if self.is_flooded() { None } else { meant(&member.key, known) };
        self.error(member.key_at, &format!("unknown key {key}"), hint);
    }

    /// What a key says, if it is there. One with a slip in it is complained about, and read.
    pub(super) fn take<'n, T>(
        &mut self,
        map: &Map<'n>,
        key: &str,
        read: impl FnOnce(&mut Self, &str, &'n JsonNode) -> Option<T>,
    ) -> Option<T> {
        let path = join(&map.path, key);
        if let Some(member) = map.get(key) {
            return read(self, &path, &member.node);
        }
        let member = map.slip_for(key)?;
        self.mark(&path, member.key_at, member.node.at);
        read(self, &path, &member.node)
    }

    /// What a key says that must be there.
    pub(super) fn need<'n, T>(
        &mut self,
        map: &Map<'n>,
        key: &str,
        read: impl FnOnce(&mut Self, &str, &'n JsonNode) -> Option<T>,
    ) -> Option<T> {
        match map.get(key).map(|member| &member.node) {
            None => self.missing(map, key),
            Some(JsonNode { at, value: JsonValue::Null }) => {
                let hint = Some("it must have a value".to_owned());
                self.error(*at, &format!("`{}` is empty", join(&map.path, key)), hint);
                return None;
            }
            Some(_) => {}
        }
        self.take(map, key, read)
    }

    /// Says that a key is missing, unless it may stand in what could not be read, or is there
    /// with a slip in it.
    fn missing(&mut self, map: &Map<'_>, key: &str) {
        if self.is_open(map.at) || map.slip_for(key).is_some() {
            return;
        }
        let path = join(&map.path, key);
        self.error(map.at, &format!("the key `{path}` is missing"), None);
    }

    /// Whether the end of what begins here was never reached.
    pub(super) fn is_open(&self, at: usize) -> bool {
        self.open.contains(&at)
    }
}

/// What somebody meant who wrote a key that is not there.
fn meant(key: &str, known: &[&str]) -> Option<String> {
    match called_here(key, known) {
        Some(here) => Some(format!("it is called `{here}` here")),
        None if key == "<<" => Some("write the keys out".to_owned()),
        None => did_you_mean(key, known.iter().copied()),
    }
}

/// What a value is called in a message.
pub(super) fn kind(value: &JsonValue) -> &'static str {
    match value {
        JsonValue::Null => "nothing",
        JsonValue::Boolean(_) => "true or false",
        JsonValue::Number(_) => "a number",
        JsonValue::Text(_) => "text",
        JsonValue::List(_) => "a list",
        JsonValue::Object(_) => "a mapping",
    }
}

/// The path of a field.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
