//! Finds mistakes in stub results before anything is walked: nodes that do not exist, fields that a node cannot
//! have, and values that do not fit.

use serde_json::{Map, Value};

use super::stub::{Stub, StubField, StubStatus, Stubs};
use crate::engine::node::shape::GivenValue;
use crate::graph::check::nearest;
use crate::graph::schema;
use crate::graph::walk::find;
use crate::graph::workflow::{AskNode, Node, NodeKind};
use crate::spec::Spec;

/// A mistake in the stub results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubProblem {
    /// The node, as it is written.
    pub node: String,
    /// The number of the result, counted from 0. `None` if the mistake is about the node itself.
    pub result: Option<usize>,
    pub field: Option<StubField>,
    pub text: String,
    pub hint: Option<String>,
}

/// A node that can have a stub result.
#[derive(Debug, Clone, PartialEq)]
pub struct StubTarget<'s> {
    /// The node with the nodes that call its workflow: `CALLER/NODE`.
    pub path: String,
    pub node: &'s Node,
    /// The spec of its workflow.
    pub spec: &'s Spec,
    pub fields: &'static [StubField],
}

impl StubTarget<'_> {
    /// Returns the fields that a result can have, by the definition of the node.
    pub fn offers(&self) -> Vec<StubField> {
        let gives_none =
            matches!(self.node.kind.shape().value(), GivenValue::OnlyText | GivenValue::Answer(None));
        let is_offered = |field: &StubField| *field != StubField::Value || !gives_none;
        self.fields.iter().copied().filter(is_offered).collect()
    }

    /// Returns a result that fits, for a file that a person fills in.
    pub fn example(&self) -> Stub {
        if let Some(value) = self.fields.contains(&StubField::Value).then(|| self.example_value()).flatten() {
            // The value alone is the result, and a command prints it.
            return Stub { value: Some(value), ..Stub::default() };
        }
        let mut stub = Stub::default();
        for field in self.offers() {
            match field {
                StubField::Text => stub.text = Some("(the text)".to_owned()),
                StubField::ExitCode => stub.exit_code = Some(0),
                StubField::Stdout => stub.stdout = Some(String::new()),
                StubField::Answer => stub.answer = Some(self.example_answer()),
                StubField::Value | StubField::Status | StubField::Tasks => {}
            }
        }
        if let NodeKind::Check(_) = self.node.kind {
            stub = Stub { status: Some(StubStatus::Completed), ..Stub::default() };
        }
        stub
    }

    fn example_value(&self) -> Option<Value> {
        match self.node.kind.shape().value() {
            // In the first round booleans are true, which ends most loops.
            GivenValue::Answer(schema) => schema.map(|schema| schema::example_in_round(schema, 1)),
            GivenValue::Checks(names) => {
                let all = || self.spec.checks.iter().map(|check| check.name.clone()).collect();
                let names: Vec<String> = if names.is_empty() { all() } else { names.to_vec() };
                let each = names.into_iter().map(|name| (name, Value::Bool(true)));
                let all: Map<String, Value> = each.collect();
                (!all.is_empty()).then_some(Value::Object(all))
            }
            GivenValue::Unknown => self.node.kind.shape().stand_in().value,
            GivenValue::OnlyText
            | GivenValue::Fields(_)
            | GivenValue::Branches(_)
            | GivenValue::Items
            | GivenValue::Called(_) => None,
        }
    }

    fn example_answer(&self) -> String {
        let choice = match &self.node.kind {
            NodeKind::Ask(AskNode { choices, .. }) => choices.first().cloned(),
            _ => None,
        };
        choice.unwrap_or_else(|| "yes".to_owned())
    }
}

/// Lists the nodes that can have a stub result, in the order of the documents.
pub fn stub_targets(spec: &Spec) -> Vec<StubTarget<'_>> {
    let mut targets = Vec::new();
    gather(spec, spec, &spec.body, "", &mut Vec::new(), &mut targets);
    targets
}

fn gather<'s>(
    main: &'s Spec,
    spec: &'s Spec,
    body: &'s [Node],
    callers: &str,
    open: &mut Vec<&'s str>,
    targets: &mut Vec<StubTarget<'s>>,
) {
    for node in body {
        let shape = node.kind.shape();
        let fields = shape.stub_fields();
        let path = format!("{callers}{}", node.id);
        let called = shape.calls().and_then(|call| main.others.get_key_value(&call.name));
        targets.extend((!fields.is_empty()).then(|| StubTarget { path: path.clone(), node, spec, fields }));
        for block in node.kind.blocks() {
            gather(main, spec, block.body, callers, open, targets);
        }
        // A workflow that calls itself is refused elsewhere, and must not make this list endless.
        if let Some((name, other)) = called.filter(|(name, _)| !open.contains(&name.as_str())) {
            open.push(name);
            gather(main, other, &other.body, &format!("{path}/"), open, targets);
            open.pop();
        }
    }
}

/// Finds every mistake in the stub results of a workflow.
pub fn check_stubs(spec: &Spec, stubs: &Stubs) -> Vec<StubProblem> {
    let targets = stub_targets(spec);
    let mut problems = Vec::new();
    for (name, results) in stubs {
        let problem =
            |result, field, text: String, hint| StubProblem { node: name.clone(), result, field, text, hint };
        let Some(target) = targets.iter().find(|target| target.path == *name) else {
            let (text, hint) = no_target(spec, name, &targets);
            problems.push(problem(None, None, text, hint));
            continue;
        };
        for (at, stub) in results.iter().enumerate() {
            let found = check_result(target, stub).into_iter();
            problems.extend(found.map(|(field, text, hint)| problem(Some(at), Some(field), text, hint)));
        }
    }
    problems
}

/// Describes a name to which no stub can be given.
fn no_target(spec: &Spec, name: &str, targets: &[StubTarget<'_>]) -> (String, Option<String>) {
    if let Some(node) = node_at(spec, name) {
        let word = node.kind.word();
        let text = format!("`{name}` is a node of kind `{word}`, which has no result of its own");
        let has_nodes = !node.kind.blocks().is_empty();
        let hint = if has_nodes { "give results to the nodes inside it" } else { "leave it out" };
        return (text, Some(hint.to_owned()));
    }
    let text = format!("workflow `{}` has no node `{name}`", spec.workflow);
    let near = nearest(name, targets.iter().map(|target| target.path.as_str()));
    let inside = targets.iter().find(|target| target.path.ends_with(&format!("/{name}")));
    let meant = near.or(inside.map(|target| target.path.as_str()));
    let names = || {
        let names: Vec<&str> = targets.iter().map(|target| target.path.as_str()).collect();
        format!("nodes with results: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    };
    (text, Some(meant.map_or_else(names, |meant| format!("did you mean `{meant}`?"))))
}

/// Finds a node by the path that tells it from nodes of the same name in other workflows.
pub(super) fn node_at<'s>(spec: &'s Spec, path: &str) -> Option<&'s Node> {
    let mut body = &spec.body;
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let node = find(body, &crate::id::NodeId::new(part))?;
        if parts.peek().is_none() {
            return Some(node);
        }
        body = &spec.others.get(&node.kind.shape().calls()?.name)?.body;
    }
    None
}

type FieldProblem = (StubField, String, Option<String>);

fn check_result(target: &StubTarget<'_>, stub: &Stub) -> Vec<FieldProblem> {
    let path = &target.path;
    let word = target.node.kind.word();
    let mut found: Vec<FieldProblem> = Vec::new();
    for field in stub.fields() {
        if !target.fields.contains(&field) {
            let text = format!("`{path}` is a node of kind `{word}`, which cannot have `{}`", field.word());
            let can: Vec<&str> = target.fields.iter().map(|field| field.word()).collect();
            found.push((field, text, Some(format!("it can have: {}", can.join(", ")))));
        }
    }
    if !found.is_empty() {
        return found;
    }
    if let Some(value) = &stub.value {
        let misfit = misfit(target, value);
        found.extend(misfit.map(|(text, hint)| (StubField::Value, text, hint)));
    }
    if let (Some(answer), NodeKind::Ask(AskNode { choices, .. })) = (&stub.answer, &target.node.kind) {
        let is_choice = |choice: &String| choice.trim().eq_ignore_ascii_case(answer.trim());
        if !choices.is_empty() && !choices.iter().any(is_choice) {
            let text = format!("`{answer}` is no answer to `{path}`");
            found.push((StubField::Answer, text, Some(format!("choose one of: {}", choices.join(", ")))));
        }
    }
    if let (Some(code), true) = (stub.exit_code, stub.status.is_some()) {
        let is_failure = stub.is_failure();
        if is_failure != (code != 0) {
            let status = if is_failure { "failed" } else { "completed" };
            let text = format!("`{path}` has the exit code {code}, and so cannot be {status}");
            found.push((StubField::Status, text, Some("leave out one of the two".to_owned())));
        }
    }
    found
}

/// Describes why a node cannot give a value.
fn misfit(target: &StubTarget<'_>, value: &Value) -> Option<(String, Option<String>)> {
    let path = &target.path;
    let no_value = |hint: &str| Some((format!("`{path}` gives no value"), Some(hint.to_owned())));
    match target.node.kind.shape().value() {
        GivenValue::OnlyText if target.node.kind.shape().stub_fields().contains(&StubField::Stdout) => {
            no_value("give its `stdout`, or add a `schema` to the node")
        }
        GivenValue::OnlyText => no_value("give its `text`"),
        GivenValue::Answer(None) => no_value("give its `text`, or add a `schema` to the node"),
        GivenValue::Answer(Some(schema)) => {
            let errors: Vec<String> =
                schema::validate(schema, value).iter().map(ToString::to_string).collect();
            let text = format!("the value of `{path}` does not fit its schema: {}", errors.join("; "));
            (!errors.is_empty()).then_some((text, None))
        }
        GivenValue::Checks(names) => checks_misfit(target, names, value),
        GivenValue::Unknown
        | GivenValue::Fields(_)
        | GivenValue::Branches(_)
        | GivenValue::Items
        | GivenValue::Called(_) => None,
    }
}

fn checks_misfit(
    target: &StubTarget<'_>,
    names: &[String],
    value: &Value,
) -> Option<(String, Option<String>)> {
    let path = &target.path;
    let Some(given) = value.as_object().filter(|given| given.values().all(Value::is_boolean)) else {
        let hint = "write the checks and whether each passes: { test: false }".to_owned();
        return Some((format!("the value of `{path}` is no list of checks"), Some(hint)));
    };
    let all: Vec<&str> = target.spec.checks.iter().map(|check| check.name.as_str()).collect();
    let names: Vec<&str> = if names.is_empty() { all } else { names.iter().map(String::as_str).collect() };
    let unknown = given.keys().find(|name| !names.contains(&name.as_str()))?;
    let hint = match names.is_empty() {
        true => "it has no checks here; use `status`".to_owned(),
        false => format!("it has: {}", names.join(", ")),
    };
    Some((format!("`{path}` has no check `{unknown}`"), Some(hint)))
}
