//! Reads tests of workflows: one in each YAML document, or a list of them.

use windlass_core::engine::rehearsal::{Expectation, ExpectationField, ExpectationProblem};
use windlass_core::run::FinalStatus;

use super::fields::{FileValue, MOST_BYTES, members, number, text, unknown, value_at, word};
use super::stubs::{StubFile, StubReading, stubs};
use crate::diagnostic::{Diagnostic, Severity};
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue, kind};
use crate::words::quoted;

const KEYS: [&str; 6] = ["test", "workflow", "input", "inputs", "nodes", "expect"];

/// The hint for an alias whose anchor may be in another test.
const ANCHORS: &str = "an anchor holds within one document; write the tests as one list";

/// The statuses that a rehearsal can end with.
static STATUS: [(&str, FinalStatus); 4] = [
    ("completed", FinalStatus::Completed),
    ("failed", FinalStatus::Failed),
    ("blocked", FinalStatus::Blocked),
    ("exhausted", FinalStatus::Exhausted),
];

/// A test of a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowTest {
    pub name: String,
    /// The name of a workflow, or a path from the folder of the test file.
    pub workflow: String,
    pub input: String,
    /// The inputs, as they would be typed. A list has one pair for each item.
    pub inputs: Vec<(String, String)>,
    pub nodes: StubFile,
    pub expect: Expectation,
    text: String,
    file: String,
    at: usize,
    expect_at: usize,
    places: Vec<(ExpectationField, Option<usize>, usize)>,
}

impl WorkflowTest {
    /// Returns an error at the start of the test.
    pub fn error(&self, message: &str, hint: Option<String>) -> Diagnostic {
        self.error_at(self.at, message, hint)
    }

    /// Returns a mistake in the expectations that the workflow shows, with its position.
    pub fn diagnose(&self, problem: &ExpectationProblem) -> Diagnostic {
        let is_it = |(field, item, _): &&(ExpectationField, Option<usize>, usize)| {
            *field == problem.field && *item == problem.item
        };
        let at = self.places.iter().find(is_it).map_or(self.expect_at, |(_, _, at)| *at);
        self.error_at(at, &problem.text, problem.hint.clone())
    }

    fn error_at(&self, at: usize, message: &str, hint: Option<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, message).in_file(Some(&self.file)).at(&self.text, at).hint(hint)
    }
}

/// Reads a test file. Returns the tests without mistakes, and all mistakes.
pub fn read_tests(text: &str, file: &str) -> (Vec<WorkflowTest>, Vec<Diagnostic>) {
    let mut found = Diagnostics::in_text(text, Some(file));
    if text.len() > MOST_BYTES {
        found.error(0, &format!("the file has {} bytes; at most {MOST_BYTES} are allowed", text.len()), None);
        return (Vec::new(), found.finish());
    }
    let mut tests: Vec<WorkflowTest> = Vec::new();
    let documents = documents(text);
    let no_anchor = (documents.len() > 1).then_some(ANCHORS);
    for (start, document) in documents {
        let FileValue { root, open } = value_at(document, start, no_anchor, &mut found);
        let items = match &root.value {
            JsonValue::Null => continue,
            JsonValue::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&root),
        };
        // A test that was read in part has its error, and what it lacks may be in the other part.
        for item in items.iter().filter(|item| !open.contains(&item.at)) {
            let Some(test) = read_test(item, text, file, &mut found) else { continue };
            match tests.iter().any(|other| other.name == test.name) {
                true => found.error(test.at, &format!("two tests are called `{}`", test.name), None),
                false => tests.push(test),
            }
        }
    }
    if tests.is_empty() && !found.has_errors() {
        let hint = "write `test`, `workflow` and `expect`; `windlass workflow test --help` shows one";
        found.error(0, "the file has no tests", Some(hint.to_owned()));
    }
    (tests, found.finish())
}

/// Splits a text at the lines `---`. Returns each part with its first byte.
fn documents(text: &str) -> Vec<(usize, &str)> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let rest = line.strip_prefix("---");
        at += line.len();
        if rest.is_some_and(|rest| rest.trim().is_empty()) {
            starts.push(at);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let part = |(start, end): (&usize, usize)| {
        let part = text.get(*start..end).unwrap_or_default();
        // The line that ends a part belongs to the next one.
        let line = part.trim_end_matches('\n').rfind('\n').map_or(0, |newline| newline + 1);
        let is_end = part.get(line..).is_some_and(|last| last.trim_end() == "---");
        (*start, if is_end { part.get(..line).unwrap_or_default() } else { part })
    };
    starts.iter().zip(ends).map(part).collect()
}

fn read_test(node: &JsonNode, whole: &str, file: &str, found: &mut Diagnostics<'_>) -> Option<WorkflowTest> {
    let members = members("a test", node, found);
    if members.is_empty() {
        return None;
    }
    let get = |key: &str| members.iter().find(|member| member.key == key).copied();
    for member in members.iter().filter(|member| !KEYS.contains(&member.key.as_str())) {
        unknown("a test", member, &KEYS, found);
    }
    let required = |key: &str, hint: &str, found: &mut Diagnostics<'_>| match get(key) {
        Some(member) => text(&format!("`{key}`"), &member.node, found),
        None => {
            found.error(node.at, &format!("the test has no `{key}`"), Some(hint.to_owned()));
            None
        }
    };
    let name = required("test", "give it a name: `test: reviewer-rejects`", found);
    let workflow = required("workflow", "name the workflow, or its file: `workflow: fix`", found);
    let input = get("input").and_then(|member| text("`input`", &member.node, found)).unwrap_or_default();
    let inputs = get("inputs").map(|member| inputs(&member.node, found)).unwrap_or_default();
    let nodes = get("nodes").map(|member| stubs(&member.node, found));
    let nodes = nodes.unwrap_or_else(StubReading::default);
    let mut places = Vec::new();
    let expect = match get("expect") {
        Some(member) => expectation(member, &mut places, found),
        None => Expectation::default(),
    };
    let expect_at = get("expect").map_or(node.at, |member| member.node.at);
    if expect.is_empty() && places.is_empty() {
        let hint = "say what must happen: `expect: { status: completed, ran: [NODE] }`";
        found.error(expect_at, "a test that cannot fail: it expects nothing", Some(hint.to_owned()));
        return None;
    }
    Some(WorkflowTest {
        name: name?,
        workflow: workflow?,
        input,
        inputs,
        nodes: nodes.in_file(whole, file),
        expect,
        text: whole.to_owned(),
        file: file.to_owned(),
        at: node.at,
        expect_at,
        places,
    })
}

/// Reads the inputs of a workflow, as they would be typed on the command line.
fn inputs(node: &JsonNode, found: &mut Diagnostics<'_>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for member in members("`inputs`", node, found) {
        let what = format!("the input `{}`", member.key);
        let one = std::slice::from_ref(&member.node);
        let items = if let JsonValue::List(items) = &member.node.value { items.as_slice() } else { one };
        let texts = items.iter().filter_map(|item| text(&what, item, found));
        pairs.extend(texts.map(|text| (member.key.clone(), text)));
    }
    pairs
}

fn expectation(
    member: &JsonMember,
    places: &mut Vec<(ExpectationField, Option<usize>, usize)>,
    found: &mut Diagnostics<'_>,
) -> Expectation {
    let mut expect = Expectation::default();
    for member in members("`expect`", &member.node, found) {
        let Some(field) = ExpectationField::from_word(&member.key) else {
            unknown("`expect`", member, &ExpectationField::WORDS.map(|(word, _)| word), found);
            // An expectation that is not understood is still one.
            places.push((ExpectationField::Status, Some(usize::MAX), member.node.at));
            continue;
        };
        let (node, what) = (&member.node, format!("`{}`", member.key));
        places.push((field, None, node.at));
        match field {
            ExpectationField::Status => expect.status = word(&what, &STATUS, node, found),
            ExpectationField::Reason => expect.reason = text(&what, node, found),
            ExpectationField::Ran => expect.ran = list(field, node, places, found),
            ExpectationField::NotRan => expect.not_ran = list(field, node, places, found),
            ExpectationField::Turns => {
                let turns = number(&what, u64::from(u32::MAX), node, found);
                expect.turns = turns.and_then(|turns| u32::try_from(turns).ok());
            }
        }
    }
    expect
}

/// Reads a list of nodes, which is not empty.
fn list(
    field: ExpectationField,
    node: &JsonNode,
    places: &mut Vec<(ExpectationField, Option<usize>, usize)>,
    found: &mut Diagnostics<'_>,
) -> Vec<String> {
    let what = field.word();
    let JsonValue::List(items) = &node.value else {
        let message = format!("`{what}` must be a list of nodes, found {}", kind(&node.value));
        found.error(node.at, &message, Some(format!("write {}", quoted(&format!("{what}: [NODE]")))));
        return Vec::new();
    };
    if items.is_empty() {
        found.error(node.at, &format!("`{what}` is empty"), Some("leave it out".to_owned()));
    }
    let mut names = Vec::new();
    for (at, item) in items.iter().enumerate() {
        places.push((field, Some(at), item.at));
        names.push(text(&format!("a node of `{what}`"), item, found).unwrap_or_default());
    }
    names
}
