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
        TOOL | TOOL_OF_READER if payload.tool_name == tools::QUESTION => {
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
    ToolCall { tool: tools::name(&name), name, input }
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

fn read_question(question: &Value) -> Option<Question> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let option = |option| {
        let description = text(option, "description").filter(|description| !description.is_empty());
        Some(QuestionOption { label: text(option, "label")?, description })
    };
    let options = question.get("options").and_then(Value::as_array).into_iter().flatten();
    Some(Question {
        text: text(question, "question")?,
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
        (TOOL | TOOL_OF_READER, HookAnswer::Deny { reason } | HookAnswer::Block { reason })
        | (STOP, HookAnswer::Block { reason }) => refuse(reason),
        (TOOL | TOOL_OF_READER, HookAnswer::Reply { answers }) => refuse(&answered(answers)),
        (TOOL | TOOL_OF_READER, HookAnswer::Pass) if is_question(payload) => refuse(UNDECIDED),
        _ => Printed::default(),
    }
}

/// The reply to a question that no person and no policy answers. Without one, the CLI says that the tool
/// does not exist here.
const UNDECIDED: &str =
    "Nobody is here to answer. Decide by yourself, or say in the tracker what blocks you.";

/// A reason without text would let the tool run.
fn refuse(reason: &str) -> Printed {
    let reason = match reason.trim() {
        "" => "Windlass does not permit this.",
        reason => reason,
    };
    Printed { exit: REFUSED, stderr: format!("{reason}\n"), ..Printed::default() }
}

fn is_question(payload: &[u8]) -> bool {
    serde_json::from_slice::<Payload>(payload).is_ok_and(|payload| payload.tool_name == tools::QUESTION)
}

/// Writes answers for the agent. A hook cannot fill in a tool's result, so the refusal carries them.
fn answered(answers: &[(String, String)]) -> String {
    let answers: Vec<Value> =
        answers.iter().map(|(question, answer)| json!({ "question": question, "answer": answer })).collect();
    format!("The question was answered. Continue with this answer: {}", Value::Array(answers))
}
