//! What only a person can answer, and how they do it.

use serde_json::Value;
use windlass_core::id::RunId;
use windlass_core::run::Ask;

use crate::cli::plain::{plain_line, plain_short};

/// The longest input of a tool that is shown.
const INPUT: usize = 300;

/// The question or the tool, and the command that answers.
pub(crate) fn describe(run: &RunId, ask: &Ask) -> Vec<String> {
    match &ask.tool {
        Some(tool) => vec![
            wants(tool, &ask.input.to_string()),
            format!("allow it:  windlass approve {run}"),
            format!("refuse it: windlass approve {run} --deny \"why\""),
        ],
        None => question(run, &ask.input),
    }
}

/// The tool and what it would do.
pub(super) fn wants(tool: &str, input: &str) -> String {
    format!("the agent wants to use {}: {}", plain_line(tool), plain_short(input, INPUT))
}

fn question(run: &RunId, input: &Value) -> Vec<String> {
    let list = input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut lines: Vec<String> = list.iter().flat_map(one).collect();
    if lines.is_empty() {
        lines.push(format!("the agent asks: {}", plain_short(&input.to_string(), INPUT)));
    }
    lines.push(match list {
        [_, _, ..] => format!("answer each: windlass answer {run} \"TEXT\" --question \"QUESTION\""),
        _ => format!("answer it: windlass answer {run} \"TEXT\""),
    });
    lines
}

/// A question, and below it what may be chosen.
fn one(question: &Value) -> Vec<String> {
    let mut lines = vec![format!("the agent asks: {}", text_of(question, "question"))];
    lines.extend(options(question).iter().map(|option| format!("  - {option}")));
    lines
}

/// What may be chosen, each on a line.
pub(super) fn options(question: &Value) -> Vec<String> {
    let options = question.get("options").and_then(Value::as_array).into_iter().flatten();
    let line = |option| {
        let (label, description) = (text_of(option, "label"), text_of(option, "description"));
        if description.is_empty() || description == label { label } else { format!("{label}: {description}") }
    };
    options.map(line).collect()
}

/// A text of foreign JSON, on one line.
pub(super) fn text_of(value: &Value, key: &str) -> String {
    plain_line(value.get(key).and_then(Value::as_str).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::id::HookId;

    use super::*;

    fn ask(tool: Option<&str>, input: Value) -> Vec<String> {
        let ask = Ask { hook: HookId::new("h1"), tool: tool.map(str::to_owned), input, answers: Vec::new() };
        describe(&RunId::new("k3f9"), &ask)
    }

    #[test]
    fn a_question_shows_its_choices_and_how_to_answer() {
        let input = json!({"questions": [{"question": "Which \u{1b}[1mport?", "options": [
            {"label": "80", "description": "the usual"}, {"label": "8080", "description": ""}]}]});
        let expected = [
            "the agent asks: Which ^[[1mport?",
            "  - 80: the usual",
            "  - 8080",
            "answer it: windlass answer k3f9 \"TEXT\"",
        ];
        assert_eq!(ask(None, input), expected);
    }

    #[test]
    fn a_tool_is_allowed_or_refused() {
        let lines = ask(Some("WebFetch"), json!({"url": "http://x"}));
        assert_eq!(lines[0], "the agent wants to use WebFetch: {\"url\":\"http://x\"}");
        assert_eq!(lines[2], "refuse it: windlass approve k3f9 --deny \"why\"");
    }
}
