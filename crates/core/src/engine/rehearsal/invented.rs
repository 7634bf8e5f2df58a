//! Invents the text of a node for which nobody gave a stub, and the input of a called workflow that such a text
//! does not fit.

use serde_json::{Map, Value, json};

use crate::graph::ids::folded;
use crate::graph::schema;
use crate::graph::workflow::{InputKind, InputRange, Node};
use crate::id::NodeId;
use crate::run::ResultOrigin;

/// The text of an agent.
pub(super) const AGENT_TEXT: &str = "(the agent's answer)";
/// The text of a run within the run.
pub(super) const RUN_TEXT: &str = "(its agent's answer)";
/// The text of a node that the workflow converts to a number.
const NUMBER: &str = "1";

/// Returns a value for the input of a called workflow, in place of an invented text that does not fit it. In a
/// real run the text would fail the node, and so does one that a person chose.
pub(in crate::engine) fn input(
    results: ResultOrigin,
    kind: InputKind,
    range: InputRange,
    text: &str,
) -> Option<Value> {
    let is_invented = match results {
        ResultOrigin::Real => false,
        ResultOrigin::Invented => true,
        ResultOrigin::Chosen => {
            text.trim().is_empty() || [AGENT_TEXT, RUN_TEXT].iter().any(|invented| text.contains(invented))
        }
    };
    is_invented.then(|| fitting(kind, range, text))
}

fn fitting(kind: InputKind, range: InputRange, text: &str) -> Value {
    let word = match kind {
        InputKind::Text => return json!(text),
        // One item, so that the rehearsal walks through what the workflow does with each.
        InputKind::List => return json!([text]),
        InputKind::Number => "number",
        InputKind::Integer => "integer",
        InputKind::Boolean => "boolean",
    };
    // A limit of 2.0 would make an example of 2.0, which is no whole number.
    let number = |limit: f64| serde_json::from_str(&limit.to_string()).unwrap_or_else(|_| json!(limit));
    let limits = [("minimum", range.minimum), ("maximum", range.maximum)];
    let limits = limits.into_iter().filter_map(|(name, limit)| Some((name.to_owned(), number(limit?))));
    let schema: Map<String, Value> = limits.chain([("type".to_owned(), json!(word))]).collect();
    schema::example(&Value::Object(schema))
}

/// Returns `usual`, or a number if the workflow converts the text of the node to one.
pub(super) fn text(body: &[Node], node: &NodeId, usual: &str) -> String {
    // All templates and conditions of the workflow, wherever they are.
    let sources = serde_json::to_string(body).unwrap_or_default();
    let name = format!("outputs.{}", folded(node.in_workflow().as_str()));
    let mut uses = sources.match_indices(&name).filter_map(|(at, _)| sources.get(at + name.len()..));
    if uses.any(is_converted) { NUMBER.to_owned() } else { usual.to_owned() }
}

/// Decides whether the rest of a template, after the output of a node, converts that output to a number.
fn is_converted(rest: &str) -> bool {
    let mut rest = [".text", ".stdout"].iter().find_map(|field| rest.strip_prefix(field)).unwrap_or(rest);
    while let Some(filtered) = rest.trim_start().strip_prefix('|') {
        let filtered = filtered.trim_start();
        let end = filtered.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(filtered.len());
        let (filter, after) = filtered.split_at(end);
        match filter {
            "int" | "float" => return true,
            "trim" => rest = after,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rehearsal::{RehearsalOptions, RehearsedLoops, rehearse};
    use crate::engine::tests::drawn;
    use crate::graph::builder::{Builder, prompt, shell, workflow};

    fn invented(prompt_text: &str) -> String {
        let workflow = Builder::new("w").start(shell("x").id("the-count")).then(prompt(prompt_text));
        text(&workflow.end().unwrap().body, &NodeId::new("the-count@2"), "some text")
    }

    #[test]
    fn a_text_is_a_number_where_the_workflow_converts_it() {
        assert_eq!(invented("{{ outputs.the_count.text | trim | int }}"), "1");
        assert_eq!(invented("{{ outputs.the_count|float }}"), "1");
        assert_eq!(invented("{% if outputs.the_count.stdout | int > 3 %}x{% endif %}"), "1");
        assert_eq!(invented("{{ outputs.the_count.text }} {{ 1 | int }}"), "some text");
        assert_eq!(invented("{{ outputs.the_count_2 | int }}"), "some text");
        assert_eq!(invented("{{ outputs.the_count | length | int }}"), "some text");
    }

    /// Rehearses a call that gives this text to an input of this kind, and returns the text that the called
    /// workflow makes of it.
    fn called(
        kind: InputKind,
        given: &str,
        expression: &str,
        loops: RehearsedLoops,
    ) -> Result<String, String> {
        let mut spec = drawn(
            Builder::new("w")
                .start(shell("date").id("sh"))
                .then(prompt("x").id("ag"))
                .then(workflow("other").with_input("it", given).id("sub")),
        );
        let mut other =
            drawn(Builder::new("other").start(shell(format!("echo {{{{ {expression} }}}}")).id("c")));
        other.workflow = "other".into();
        other.inputs.insert("it".into(), Value::Null);
        other.kinds.insert("it".into(), kind);
        other.ranges.insert("it".into(), InputRange { minimum: Some(2.0), maximum: None });
        spec.others.insert("other".into(), other);
        let rehearsal = rehearse(&spec, &RehearsalOptions { loops, ..RehearsalOptions::default() });
        let ran = rehearsal.acts.iter().find(|act| act.path == "sub/c" && act.what == "runs");
        ran.map(|act| act.text.clone()).ok_or_else(|| rehearsal.outcome.why())
    }

    #[test]
    fn a_called_workflow_gets_inputs_of_their_kinds() {
        use InputKind::{Boolean, Integer, List};
        for loops in [RehearsedLoops::Once, RehearsedLoops::AsWritten] {
            let said = |kind, given: &str, expression: &str| called(kind, given, expression, loops);
            assert_eq!(said(Integer, "3", "inputs.it + 1"), Ok("echo 4".into()));
            assert_eq!(said(Boolean, "no", "not inputs.it"), Ok("echo true".into()));
            assert_eq!(said(List, "{{ ['a', 'b'] }}", "inputs.it | length"), Ok("echo 2".into()));
        }
    }

    #[test]
    fn an_invented_text_fits_the_input_of_a_called_workflow_and_a_chosen_one_must() {
        use InputKind::{Boolean, Integer, List};
        for loops in [RehearsedLoops::Once, RehearsedLoops::AsWritten] {
            let said = |kind, given: &str, expression: &str| called(kind, given, expression, loops);
            assert_eq!(
                said(Integer, "{{ outputs.ag }}", "inputs.it + 1"),
                Ok("echo 3".into()),
                "in its range"
            );
            assert_eq!(said(Boolean, "{{ outputs.sh.stdout }}", "not inputs.it"), Ok("echo true".into()));
            assert_eq!(said(List, "{{ outputs.ag }}", "inputs.it | length"), Ok("echo 1".into()));
        }
        let chosen = |given: &str| called(Integer, given, "inputs.it", RehearsedLoops::AsWritten);
        let kind =
            "`sub` gives `many` to the input `it` of workflow `other`, but the input must be of kind integer";
        assert_eq!(chosen("many"), Err(kind.into()));
        let range = "`sub` gives 1 to the input `it` of workflow `other`, but it must be at least 2";
        assert_eq!(chosen("1"), Err(range.into()));
    }
}
