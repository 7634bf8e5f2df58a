//! Codex's hooks: the payloads it sends to them and the answers they print.
//!
//! A hook that fails in any way lets the tool run, and so does an answer that Codex cannot read. Its shell may
//! print more than the hook does. So every refusal is an exit code with its reason on standard error, which
//! nothing else on standard output can undo, and every permission is silence.
//!
//! Translation only. The engine decides whether a tool may run and whether the agent may stop.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::hook::{HookAnswer, HookKind, Question, QuestionOption, ToolCall, ToolName};

use super::super::dialect::Printed;
use super::{patch, tools};

/// The hook before a tool.
pub(super) const TOOL: &str = "PreToolUse";
/// The hook before a tool of a session whose sandbox lets it only read: its shell is a way to read.
pub(super) const TOOL_OF_READER: &str = "PreToolUseReadOnly";
/// The hook before the end of a turn.
pub(super) const STOP: &str = "Stop";

/// The exit code that refuses. Codex then reads the reason from standard error.
const REFUSED: u8 = 2;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    tool_name: String,
    tool_input: Value,
    last_assistant_message: Option<String>,
}

/// Parses the payload that the CLI sent to a hook. `event` is the forwarder's argument. An unreadable
/// payload becomes an unknown tool or a plain stop.
pub(super) fn read_hook(event: &str, payload: &[u8]) -> HookKind {
    let payload: Payload = serde_json::from_slice(payload).unwrap_or_default();
    match event {
        TOOL | TOOL_OF_READER if tools::is_question(&payload.tool_name) => {
            HookKind::Question { questions: read_questions(&payload.tool_input) }
        }
        TOOL => HookKind::Tool(read_tool(payload)),
        TOOL_OF_READER => HookKind::Tool(only_reading(read_tool(payload))),
        STOP => HookKind::Stop { last_message: payload.last_assistant_message, background: false },
        other => HookKind::Other { name: other.to_owned() },
    }
}

/// Returns the working folder of the CLI, to which relative paths refer.
pub(super) fn read_cwd(payload: &[u8]) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct PayloadFolder {
        cwd: PathBuf,
    }
    serde_json::from_slice::<PayloadFolder>(payload).ok().map(|folder| folder.cwd)
}

fn read_tool(payload: Payload) -> ToolCall {
    let Payload { tool_name: name, tool_input: input, .. } = payload;
    let input = if name == tools::PATCH { patch::input(input) } else { input };
    ToolCall { tool: tools::name(&name), name: tools::own_name(&name).to_owned(), input }
}

/// Counts the shell as a tool that reads. Rules that name the shell still apply to it.
fn only_reading(call: ToolCall) -> ToolCall {
    match call.tool {
        ToolName::Shell => ToolCall { tool: ToolName::Read, ..call },
        _ => call,
    }
}

/// Reads the questions to a person. An input in another form becomes a single question with the raw
/// text.
fn read_questions(input: &Value) -> Vec<Question> {
    let list = input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match list.iter().filter_map(read_question).collect::<Vec<_>>() {
        none if none.is_empty() => vec![Question::open(input.to_string())],
        questions => questions,
    }
}

/// Reads a question in either of its forms. An option is a label, or an object with one.
fn read_question(question: &Value) -> Option<Question> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let option = |option: &Value| {
        let description = text(option, "description").filter(|description| !description.is_empty());
        let label = option.as_str().map(str::to_owned).or_else(|| text(option, "label"))?;
        Some(QuestionOption { label, description })
    };
    let options = question.get("options").and_then(Value::as_array).into_iter().flatten();
    Some(Question {
        text: text(question, "question").or_else(|| text(question, "title"))?,
        options: options.filter_map(option).collect(),
        several: false,
        // The CLI's own dialogue accepts free text, too.
        free_text: true,
    })
}

/// Translates an answer into the CLI's format. An unsuitable answer never allows a tool and always
/// allows a stop.
pub(super) fn write_answer(event: &str, payload: &[u8], answer: &HookAnswer) -> Printed {
    match (event, answer) {
        (TOOL | TOOL_OF_READER, HookAnswer::Deny { reason } | HookAnswer::Block { reason }) => refuse(reason),
        (STOP, HookAnswer::Block { reason }) if reason.contains(['<', '>', '&']) => {
            refuse(&format!("{reason}\n\n{ESCAPED}"))
        }
        (STOP, HookAnswer::Block { reason }) => refuse(reason),
        (TOOL | TOOL_OF_READER, HookAnswer::Reply { answers }) => refuse(&answered(answers)),
        (TOOL | TOOL_OF_READER, HookAnswer::Pass) if is_question(payload) => refuse(UNDECIDED),
        _ => Printed::default(),
    }
}

/// The reply to a question that no person and no policy answers. Without one, the CLI says that the tool
/// does not exist here.
const UNDECIDED: &str =
    "Nobody is here to answer. Decide by yourself, or say in the tracker what blocks you.";

/// Explains the form of a reason for the agent. Codex puts the reason into a tag, and escapes it.
const ESCAPED: &str = "(This message has HTML escapes for angle brackets and ampersands. Where it quotes text, write the plain characters.)";

/// A reason without text would let the tool run.
fn refuse(reason: &str) -> Printed {
    let reason = match reason.trim() {
        "" => "Windlass does not permit this.",
        reason => reason,
    };
    Printed { exit: REFUSED, stderr: format!("{reason}\n"), ..Printed::default() }
}

fn is_question(payload: &[u8]) -> bool {
    serde_json::from_slice::<Payload>(payload).is_ok_and(|payload| tools::is_question(&payload.tool_name))
}

/// Writes answers for the agent. A hook cannot fill in a tool's result, so the refusal carries them.
fn answered(answers: &[(String, String)]) -> String {
    let answers: Vec<Value> =
        answers.iter().map(|(question, answer)| json!({ "question": question, "answer": answer })).collect();
    format!("The question was answered. Continue with this answer: {}", Value::Array(answers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(name: &str, input: Value) -> Vec<u8> {
        json!({ "tool_name": name, "tool_input": input, "cwd": "/w" }).to_string().into_bytes()
    }

    fn tool(event: &str, name: &str, input: Value) -> ToolCall {
        let HookKind::Tool(call) = read_hook(event, &payload(name, input)) else { panic!("a tool") };
        call
    }

    fn denial(reason: &str) -> HookAnswer {
        HookAnswer::Deny { reason: reason.to_owned() }
    }

    #[test]
    fn a_call_is_read_with_the_keys_of_rules() {
        let shell = tool(TOOL, "Bash", json!({ "command": "ls" }));
        assert_eq!((shell.tool, &shell.input["command"]), (ToolName::Shell, &json!("ls")));
        let patch = tool(
            TOOL,
            "apply_patch",
            json!({ "command": "*** Begin Patch\n*** Delete File: a\n*** End Patch" }),
        );
        assert_eq!((patch.tool, &patch.input["file_path"]), (ToolName::Edit, &json!("a")));
        assert_eq!(tool(TOOL, "mcp__x__y", json!({})).tool, ToolName::Mcp);
        let subagent = tool(TOOL, "collaborationspawn_agent", json!({}));
        assert_eq!((subagent.tool, subagent.name.as_str()), (ToolName::Task, "spawn_agent"));
        assert_eq!(tool(TOOL, "brand_new", json!({})).tool, ToolName::Other);
    }

    #[test]
    fn in_a_read_only_sandbox_the_shell_is_a_way_to_read() {
        let shell = tool(TOOL_OF_READER, "Bash", json!({ "command": "cat a" }));
        assert_eq!((shell.tool, shell.name.as_str()), (ToolName::Read, "Bash"));
        assert_eq!(tool(TOOL_OF_READER, "apply_patch", json!({})).tool, ToolName::Edit);
    }

    #[test]
    fn an_unreadable_payload_is_a_tool_nobody_knows_or_a_plain_stop() {
        let call = ToolCall { tool: ToolName::Other, name: String::new(), input: Value::Null };
        assert_eq!(read_hook(TOOL, b"{"), HookKind::Tool(call));
        assert_eq!(read_hook(STOP, b"{"), HookKind::Stop { last_message: None, background: false });
        assert_eq!(read_hook("Else", b"{}"), HookKind::Other { name: "Else".into() });
    }

    #[test]
    fn a_refusal_is_an_exit_code_with_a_reason_and_a_permission_is_silence() {
        let refused = |text: &str| Printed { exit: 2, stderr: format!("{text}\n"), ..Printed::default() };
        for event in [TOOL, TOOL_OF_READER] {
            assert_eq!(write_answer(event, b"", &denial("no")), refused("no"));
            assert_eq!(write_answer(event, b"", &HookAnswer::Allow), Printed::default());
            let silent = write_answer(event, b"", &denial(" "));
            assert!(silent.exit == 2 && silent.stderr.len() > 2, "without a reason Codex lets the tool run");
        }
        let block = HookAnswer::Block { reason: "go on".into() };
        assert_eq!(write_answer(STOP, b"", &block), refused("go on"));
        assert_eq!(write_answer(STOP, b"", &HookAnswer::Pass), Printed::default());
        assert_eq!(write_answer(STOP, b"", &denial("no")), Printed::default());
        assert_eq!(write_answer("Else", b"", &block), Printed::default());
    }

    #[test]
    fn a_question_gets_its_answer_as_the_reason_of_a_refusal() {
        let input = json!({ "questions": [{ "id": "q", "question": "Which?", "options": [
            { "label": "80", "description": "the usual" }, { "label": "8080", "description": "" }, 7] }] });
        let asked = payload("request_user_input", input);
        let HookKind::Question { questions } = read_hook(TOOL, &asked) else { panic!("a question") };
        let option = |label: &str, description: Option<&str>| QuestionOption {
            label: label.to_owned(),
            description: description.map(str::to_owned),
        };
        let options = vec![option("80", Some("the usual")), option("8080", None)];
        assert_eq!(questions, [Question { text: "Which?".into(), options, several: false, free_text: true }]);
        let reply = HookAnswer::Reply { answers: vec![("Which?".into(), "a \"b\"".into())] };
        let said = write_answer(TOOL, &asked, &reply);
        assert!(
            said.exit == 2 && said.stderr.contains(r#"[{"answer":"a \"b\"","question":"Which?"}]"#),
            "{said:?}"
        );
        assert_eq!(write_answer(TOOL, &asked, &HookAnswer::Pass).exit, 2);
        let titled = json!({ "questions": [{ "title": "Which?", "options": ["80"] }] });
        let HookKind::Question { questions } = read_hook(TOOL, &payload("request_user_input_async", titled))
        else {
            panic!("a question")
        };
        assert_eq!(
            (questions[0].text.as_str(), &questions[0].options),
            ("Which?", &vec![option("80", None)])
        );
        let other = payload("request_user_input", json!({ "what": 1 }));
        let raw = HookKind::Question { questions: vec![Question::open(r#"{"what":1}"#)] };
        assert_eq!(read_hook(TOOL, &other), raw);
    }
}
