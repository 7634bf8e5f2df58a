//! Upcasts what agents ask: tools, questions and answers.
//!
//! Version 3 stored them in the form of Claude Code, the only agent at the time.

use serde_json::{Map, Value, json};

use super::UpcastResult;

/// Version 3: `{"tool": {"name", "input"}}`, the same for `permission`, and `{"question":
/// {"input"}}`.
pub(super) fn hook_kind(kind: &mut Value) -> UpcastResult {
    let Some(fields) = kind.as_object_mut() else { return Ok(()) };
    for word in ["tool", "permission"] {
        if let Some(call) = fields.get_mut(word) {
            tool_call(call);
        }
    }
    if let Some(asked) = fields.get_mut("question") {
        let input = asked.get("input").cloned().unwrap_or_default();
        *asked = json!({ "questions": questions(&input) });
    }
    Ok(())
}

/// Version 3: `tool` is a name or nothing, and `input` is the tool's input or the questions.
pub(super) fn ask(ask: &mut Value) {
    let Some(fields) = ask.as_object_mut() else { return };
    let input = fields.remove("input").unwrap_or_default();
    let tool = fields.remove("tool").filter(|tool| !tool.is_null());
    let is_of_workflow =
        fields.get("hook").and_then(Value::as_str).is_some_and(|hook| hook.starts_with("ask/"));
    let Some(name) = tool else {
        let mut questions = questions(&input);
        if is_of_workflow {
            questions.iter_mut().for_each(close);
        }
        fields.insert("questions".to_owned(), questions.into());
        return;
    };
    let question = json!({
        "text": format!("May the agent use {}?", name.as_str().unwrap_or_default()),
        "options": [{ "label": "allow" }, { "label": "refuse" }],
        "free_text": false,
    });
    let mut call = json!({ "name": name, "input": input });
    tool_call(&mut call);
    fields.insert("tool".to_owned(), call);
    fields.insert("questions".to_owned(), json!([question]));
}

/// Version 3: a permission is `{"do": "allow", "input": null}`, and an answer has its answers in
/// the input.
pub(super) fn answer(answer: &mut Value) {
    if answer.get("do").and_then(Value::as_str) != Some("allow") {
        return;
    }
    let answers = answer.pointer("/input/answers").and_then(Value::as_object).cloned();
    *answer = match answers {
        Some(answers) => json!({ "do": "reply", "answers": answers.into_iter().collect::<Vec<_>>() }),
        None => json!({ "do": "allow" }),
    };
}

/// An `ask` node with choices accepts no other answer.
fn close(question: &mut Value) {
    let has_options = question.get("options").is_some();
    if let Some(fields) = question.as_object_mut() {
        fields.insert("free_text".to_owned(), Value::Bool(!has_options));
    }
}

fn questions(input: &Value) -> Vec<Value> {
    let list = input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let questions: Vec<Value> = list.iter().filter_map(question).collect();
    match questions.is_empty() {
        true => vec![json!({ "text": input.to_string(), "free_text": true })],
        false => questions,
    }
}

fn question(asked: &Value) -> Option<Value> {
    let mut question = Map::new();
    question.insert("text".to_owned(), asked.get("question")?.as_str()?.into());
    let options = asked.get("options").and_then(Value::as_array).into_iter().flatten();
    let options: Vec<Value> = options.filter_map(option).collect();
    if !options.is_empty() {
        question.insert("options".to_owned(), options.into());
    }
    if asked.get("multiSelect").and_then(Value::as_bool) == Some(true) {
        question.insert("several".to_owned(), true.into());
    }
    question.insert("free_text".to_owned(), true.into());
    Some(question.into())
}

fn option(option: &Value) -> Option<Value> {
    let label = option.get("label")?.as_str()?;
    let description = option.get("description").and_then(Value::as_str).filter(|text| !text.is_empty());
    Some(match description {
        Some(description) => json!({ "label": label, "description": description }),
        None => json!({ "label": label }),
    })
}

fn tool_call(call: &mut Value) {
    let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
    let tool = match name {
        "Read" => "read",
        "Edit" => "edit",
        "Write" => "write",
        "Glob" | "Grep" => "search",
        "Bash" => "shell",
        "WebFetch" => "web_fetch",
        "WebSearch" => "web_search",
        "Task" | "Agent" => "task",
        "Skill" => "skill",
        "StructuredOutput" | "AskUserQuestion" | "ToolSearch" | "TodoWrite" | "TaskCreate" | "TaskGet"
        | "TaskList" | "TaskUpdate" | "TaskOutput" | "TaskStop" | "BashOutput" | "KillShell" => "plan",
        name if name.starts_with("mcp__") => "mcp",
        _ => "other",
    };
    if let Some(fields) = call.as_object_mut() {
        fields.insert("tool".to_owned(), tool.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::{HookAnswer, HookKind, Question, QuestionOption, ToolCall, ToolName};
    use crate::run::Ask;

    #[test]
    fn a_tool_call_says_what_the_tool_does() {
        let mut kind = json!({ "tool": { "name": "Bash", "input": { "command": "ls" } } });
        hook_kind(&mut kind).unwrap();
        let call = ToolCall { tool: ToolName::Shell, name: "Bash".into(), input: json!({ "command": "ls" }) };
        assert_eq!(serde_json::from_value::<HookKind>(kind).unwrap(), HookKind::Tool(call));
    }

    #[test]
    fn a_question_of_an_agent_takes_any_words_and_one_of_the_workflow_only_its_choices() {
        let input = json!({ "questions": [{ "question": "Port?", "options": [{ "label": "80", "description": "" }] }] });
        let asked = |hook: &str| {
            let mut old = json!({ "node": "n", "hook": hook, "tool": null, "input": input });
            ask(&mut old);
            serde_json::from_value::<Ask>(old).unwrap()
        };
        let options = vec![QuestionOption { label: "80".into(), description: None }];
        let question = Question { text: "Port?".into(), options, several: false, free_text: true };
        assert_eq!(asked("h").questions, std::slice::from_ref(&question));
        assert_eq!(asked("ask/n").questions, [Question { free_text: false, ..question }]);
    }

    #[test]
    fn a_permission_keeps_its_tool_and_asks_about_it() {
        let mut old = json!({ "node": "n", "hook": "h", "tool": "WebFetch", "input": { "url": "x" } });
        ask(&mut old);
        let ask: Ask = serde_json::from_value(old).unwrap();
        let call =
            ToolCall { tool: ToolName::WebFetch, name: "WebFetch".into(), input: json!({ "url": "x" }) };
        assert_eq!(ask, Ask::permission(ask.node.clone(), ask.hook.clone(), call));
    }

    #[test]
    fn answers_are_no_part_of_an_input_any_more() {
        let read = |mut old: Value| {
            answer(&mut old);
            serde_json::from_value::<HookAnswer>(old).unwrap()
        };
        assert_eq!(read(json!({ "do": "allow", "input": null })), HookAnswer::Allow);
        let reply = json!({ "do": "allow", "input": { "questions": [], "answers": { "Port?": "80" } } });
        assert_eq!(read(reply), HookAnswer::Reply { answers: vec![("Port?".into(), "80".into())] });
        assert_eq!(read(json!({ "do": "deny", "reason": "no" })), HookAnswer::Deny { reason: "no".into() });
    }
}
