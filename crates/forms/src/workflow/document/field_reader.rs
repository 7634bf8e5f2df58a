//! Reads the mappings of a document, reports what is wrong in them and records the position of each
//! value.
//!
//! Each function returns `None` after it reports an error, so that reading continues and finds the
//! next. [`value`](super::value) reads single values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use windlass_core::graph::check::UnreadParts;
use windlass_core::graph::workflow::{Expression, NodeNumber, WorkflowInput, input_name};

use super::ids::ChosenIds;
use super::keys::{KeyTable, called_here, is_note, is_slip_for, is_strange};
use super::positions::{DocumentPart, Field};
use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue};
use crate::words::{did_you_mean, quoted};

/// After this many mistakes no hints are computed, because their messages are not shown.
const FLOOD: usize = 100;

/// A reader for the fields of one document.
pub(super) struct FieldReader<'a> {
    text: &'a str,
    findings: Diagnostics<'a>,
    errors: usize,
    /// The starting bytes of values whose end was not reached.
    open: BTreeSet<usize>,
    /// The ids that the author chose.
    pub(super) chosen: ChosenIds,
    /// The nodes so far, in the order of the text.
    pub(super) nodes: Vec<DocumentPart>,
    /// True if the document has more nodes than the limit.
    pub(super) is_full: bool,
    /// The number of blocks around the current position.
    pub(super) depth: usize,
    /// The node that is being read.
    pub(super) current_part: DocumentPart,
    /// The inputs of the workflow.
    pub(super) inputs: Vec<WorkflowInput>,
    /// The computed numbers of the node that is being read.
    pub(super) computed: BTreeMap<NodeNumber, Expression>,
    /// True if nodes, or the kind of a node, could not be read.
    pub(super) is_part: bool,
    /// The parts that the checks must treat as unknown.
    pub(super) unread: UnreadParts,
    /// True if an unreadable part makes checking the rest pointless.
    pub(super) is_lost: bool,
}

/// A mapping without repeated keys.
pub(super) struct Map<'n> {
    /// The starting byte.
    pub(super) at: usize,
    path: String,
    pub(super) members: Vec<&'n JsonMember>,
    /// The members whose keys may be misspelt.
    strange: Vec<&'n JsonMember>,
}

impl<'n> Map<'n> {
    pub(super) fn empty(at: usize, path: &str) -> Map<'n> {
        Map { at, path: path.to_owned(), members: Vec::new(), strange: Vec::new() }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'n JsonMember> {
        self.members.iter().find(|member| member.key == key).copied()
    }

    /// Returns the member whose key is a misspelling of `key`.
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
            inputs: Vec::new(),
            computed: BTreeMap::new(),
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

    /// Adds a warning that unread parts may hide more mistakes.
    pub(super) fn leaves_doubt(&mut self) {
        self.findings.whole("Windlass could not read all of this file; there may be more mistakes");
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

    /// Reads a mapping that may have only these keys.
    pub(super) fn map<'n>(&mut self, path: &str, node: &'n JsonNode, known: KeyTable) -> Option<Map<'n>> {
        let map = self.any_map(path, node)?;
        for member in map.members.iter().filter(|member| !known.contains(&member.key.as_str())) {
            self.unknown(path, member, known);
        }
        Some(map)
    }

    /// Reads a mapping with these keys, which has a number as its short form. The caller has
    /// handled the number, which is the value of the key `number`.
    pub(super) fn map_or_number<'n>(
        &mut self,
        path: &str,
        node: &'n JsonNode,
        known: KeyTable,
        number: &str,
    ) -> Option<Map<'n>> {
        if matches!(node.value, JsonValue::Object(_) | JsonValue::Null) {
            return self.map(path, node, known);
        }
        let hint = match &node.value {
            JsonValue::Text(text) => {
                let name = input_name(text.trim().trim_start_matches("{{").trim_end_matches("}}").trim());
                name.map(|name| format!("to compute it, write `{{ {number}: inputs.{name} }}`"))
            }
            _ => None,
        };
        self.wrong_with(path, "a whole number or a mapping", node, hint);
        None
    }

    /// Reads a mapping with any keys, such as names that the author chose.
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

    pub(super) fn error_count(&self) -> usize {
        self.errors
    }

    /// Records that nodes could not be read.
    pub(super) fn nodes_are_missing(&mut self) {
        self.is_part = true;
        self.unread.nodes = true;
    }

    /// Records that the output of a node is unknown.
    pub(super) fn values_are_unsure(&mut self) {
        self.is_part = true;
        self.unread.values = true;
    }

    /// Decides whether there are more mistakes than the user will see.
    pub(super) fn is_flooded(&self) -> bool {
        self.errors >= FLOOD
    }

    /// Records the position of a field.
    pub(super) fn mark(&mut self, path: &str, key_at: usize, at: usize) {
        self.current_part.fields.push(Field { path: path.into(), key_at, at });
    }

    /// Returns the line of a byte, for a hint.
    pub(super) fn line(&self, at: usize) -> Option<usize> {
        let before = self.text.get(..at).filter(|_| !self.is_flooded())?;
        Some(before.matches('\n').count() + 1)
    }

    pub(super) fn unknown(&mut self, path: &str, member: &JsonMember, known: &[&str]) {
        let key = quoted(&join(path, &member.key));
        let hint = if self.is_flooded() { None } else { meant(&member.key, known) };
        self.error(member.key_at, &format!("unknown key {key}"), hint);
    }

    /// Reads the value of a key, if present. A misspelt key has been reported, and its value is
    /// read all the same.
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

    /// Reads the value of a required key.
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

    /// Reports a missing key, unless the key may be in a part that could not be read or is there
    /// but misspelt.
    fn missing(&mut self, map: &Map<'_>, key: &str) {
        if self.is_open(map.at) || map.slip_for(key).is_some() {
            return;
        }
        let path = join(&map.path, key);
        self.error(map.at, &format!("the key `{path}` is missing"), None);
    }

    /// Decides whether the end of the value that begins at this byte was never reached.
    pub(super) fn is_open(&self, at: usize) -> bool {
        self.open.contains(&at)
    }
}

/// Returns a hint for an unknown key: its name here, or the nearest known key.
fn meant(key: &str, known: &[&str]) -> Option<String> {
    match called_here(key, known) {
        Some(here) => Some(format!("it is called `{here}` here")),
        None if key == "<<" => Some("write the keys out".to_owned()),
        None => did_you_mean(key, known.iter().copied()),
    }
}

/// Names the type of a value for a message.
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

pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
