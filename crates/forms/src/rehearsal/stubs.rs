//! Reads stub results: for each node one result, or a list with one result for each start.

use std::collections::BTreeMap;

use windlass_core::engine::rehearsal::{Stub, StubField, StubProblem, StubStatus, Stubs};

use super::fields::{MOST_BYTES, members, number, text, unknown, value_at, word};
use crate::diagnostic::{Diagnostic, Severity};
use crate::diagnostics::Diagnostics;
use crate::json::{JsonNode, JsonValue, kind};
use crate::yaml::to_json;

/// The stub results of a file, with their positions.
#[derive(Debug, Clone)]
pub struct StubFile {
    pub stubs: Stubs,
    text: String,
    file: String,
    places: BTreeMap<String, StubPlaces>,
}

/// The positions of the results of a node.
#[derive(Debug, Clone, Default)]
pub(super) struct StubPlaces {
    key: usize,
    results: Vec<ResultPlaces>,
}

/// The positions of one result.
#[derive(Debug, Clone, Default)]
struct ResultPlaces {
    at: usize,
    fields: BTreeMap<StubField, usize>,
}

impl StubFile {
    /// Returns a mistake that the workflow shows, with its position in the file.
    pub fn diagnose(&self, problem: &StubProblem) -> Diagnostic {
        let places = self.places.get(&problem.node);
        let result = problem.result.and_then(|at| places.and_then(|places| places.results.get(at)));
        let field = problem.field.and_then(|field| result.and_then(|result| result.fields.get(&field)));
        let at = field.copied().or(result.map(|result| result.at)).or(places.map(|places| places.key));
        Diagnostic::new(Severity::Error, &problem.text)
            .in_file(Some(&self.file))
            .at(&self.text, at.unwrap_or(0))
            .hint(problem.hint.clone())
    }
}

/// Reads a file of stub results. Returns it unless there is an error.
pub fn read_stubs(text: &str, file: &str) -> (Option<StubFile>, Vec<Diagnostic>) {
    let mut found = Diagnostics::in_text(text, Some(file));
    if text.len() > MOST_BYTES {
        found.error(0, &format!("the file has {} bytes; at most {MOST_BYTES} are allowed", text.len()), None);
        return (None, found.finish());
    }
    let root = value_at(text, 0, None, &mut found).root;
    let is_empty = matches!(root.value, JsonValue::Null);
    let read = if is_empty { StubReading::default() } else { stubs(&root, &mut found) };
    let file = (!found.has_errors()).then(|| read.in_file(text, file));
    (file, found.finish())
}

/// The stub results of a mapping, before they belong to a file.
#[derive(Default)]
pub(super) struct StubReading {
    pub(super) stubs: Stubs,
    pub(super) places: BTreeMap<String, StubPlaces>,
}

impl StubReading {
    pub(super) fn in_file(self, text: &str, file: &str) -> StubFile {
        StubFile { stubs: self.stubs, text: text.to_owned(), file: file.to_owned(), places: self.places }
    }
}

/// Reads the results by node.
pub(super) fn stubs(node: &JsonNode, found: &mut Diagnostics<'_>) -> StubReading {
    let mut read = StubReading::default();
    for member in members("the list of results by node", node, found) {
        let name = &member.key;
        let mut places = StubPlaces { key: member.key_at, results: Vec::new() };
        let mut results = Vec::new();
        let one = std::slice::from_ref(&member.node);
        let items = if let JsonValue::List(items) = &member.node.value { items.as_slice() } else { one };
        if items.is_empty() {
            let hint = Some("leave the node out, or give it a result".to_owned());
            found.error(member.node.at, &format!("the list of results of `{name}` is empty"), hint);
        }
        for item in items {
            let (stub, place) = result(name, item, found);
            results.push(stub);
            places.results.push(place);
        }
        read.stubs.insert(name.clone(), results);
        read.places.insert(name.clone(), places);
    }
    read
}

fn result(name: &str, node: &JsonNode, found: &mut Diagnostics<'_>) -> (Stub, ResultPlaces) {
    let mut stub = Stub::default();
    let mut places = ResultPlaces { at: node.at, ..ResultPlaces::default() };
    if let JsonValue::Null = node.value {
        return (stub, places);
    }
    let what = format!("the result of `{name}`");
    for member in members(&what, node, found) {
        let Some(field) = StubField::from_word(&member.key) else {
            unknown(&what, member, &StubField::WORDS.map(|(word, _)| word), found);
            continue;
        };
        places.fields.insert(field, member.node.at);
        let (node, what) = (&member.node, format!("`{}`", member.key));
        match field {
            StubField::Text => stub.text = text(&what, node, found),
            StubField::Value => stub.value = Some(to_json(node.clone())),
            StubField::ExitCode => {
                let code = number(&what, 255, node, found);
                stub.exit_code = code.and_then(|code| i32::try_from(code).ok());
            }
            StubField::Stdout => stub.stdout = text(&what, node, found),
            StubField::Status => stub.status = word(&what, &STATUS, node, found),
            StubField::Answer => stub.answer = text(&what, node, found),
            StubField::Tasks => stub.tasks = tasks(node, found),
        }
    }
    (stub, places)
}

static STATUS: [(&str, StubStatus); 2] = StubStatus::WORDS;

fn tasks(node: &JsonNode, found: &mut Diagnostics<'_>) -> Option<Vec<serde_json::Value>> {
    let JsonValue::List(items) = &node.value else {
        found.error(node.at, &format!("`tasks` must be a list, found {}", kind(&node.value)), None);
        return None;
    };
    let mut tasks = Vec::new();
    for (at, item) in items.iter().enumerate() {
        members("a task", item, found);
        let mut task = to_json(item.clone());
        if let Some(fields) = task.as_object_mut() {
            // Tasks without ids are numbered, so that no two are the same task.
            let id = fields.get("id").map_or_else(|| (at + 1).to_string(), plain);
            fields.insert("id".to_owned(), id.into());
        }
        tasks.push(task);
    }
    Some(tasks)
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
