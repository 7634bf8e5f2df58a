//! The simulated agent's own format: one JSON object per line, each with one key that gives its kind.

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::agent::{AgentEvent, ApiTrouble, FailureCause, RateLimit, TurnFailure, TurnResult};
use windlass_core::hook::{HookAnswer, HookKind, Question, QuestionOption, ToolCall, ToolName};
use windlass_core::time::Moment;
use windlass_core::usage::Usage;

use super::super::dialect::Printed;
use super::super::lines::shorten;
use super::super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};

/// The names of its hooks.
pub(super) const TOOL: &str = "sim_tool";
pub(super) const STOP: &str = "sim_stop";

/// The number of bytes of a tool's input to show.
const SHOWN: usize = 200;

/// Prepares one turn.
pub(super) fn prepare(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Prepared {
    let [start, prompt, role] = ["start.json", "prompt", "system"].map(|name| paths.dir.join(name));
    let argv = ["sim", "--plain"].map(str::to_owned).into_iter().chain([start.display().to_string()]);
    let argv = turn.settings.driver.command().into_iter().chain(argv).collect();
    let hook = |event: &str, unanswered: &str| json!([paths.windlass_exe, "hook", event, unanswered]);
    let settings = json!({
        "session": turn.plan.session, "resume": turn.plan.resume, "model": turn.model(),
        "role": turn.system.map(|_| &role), "schema": turn.plan.schema,
        "hooks": { "tool": hook(TOOL, "--closed"), "stop": hook(STOP, "--open") },
    });
    let files =
        [(start, settings.to_string().into_bytes()), (prompt.clone(), turn.plan.prompt.clone().into_bytes())];
    let role = turn.system.map(|text| (role, text.as_bytes().to_vec()));
    let launch = turn.launch(paths, outside, argv, Some(&prompt));
    Prepared { launch, files: files.into_iter().chain(role).collect(), links: Vec::new() }
}

/// A line. The key that is present gives its kind.
#[derive(Deserialize, Default)]
#[serde(default)]
struct PlainLine {
    begin: Option<String>,
    model: Option<String>,
    tools: Vec<String>,
    say: Option<String>,
    think: Option<String>,
    #[serde(rename = "use")]
    uses: Option<String>,
    tool: String,
    with: Value,
    used: Option<String>,
    ok: bool,
    asked: bool,
    text: Value,
    spent: Option<PlainTokens>,
    trouble: Option<String>,
    limit: Option<PlainLimit>,
    end: Option<PlainEnd>,
    message: String,
    side: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PlainTokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PlainLimit {
    until_ms: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PlainEnd {
    said: Option<String>,
    value: Option<Value>,
    turns: u32,
    spent: PlainTokens,
    cost_usd: Option<f64>,
    failed: Option<Failed>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Failed {
    cause: String,
    word: String,
    text: Option<String>,
}

/// Reads a line of this format. Returns `None` for a line of Claude Code's format, which has a `type`.
pub(super) fn read_line(line: &str) -> Result<Option<AgentEvent>, String> {
    if !line.starts_with('{') || line.starts_with(r#"{"type""#) {
        return Ok(None);
    }
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if value.get("type").is_some() {
        return Ok(None);
    }
    let line: PlainLine = serde_json::from_value(value).map_err(|error| error.to_string())?;
    Ok(Some(line.event()))
}

impl PlainLine {
    fn event(self) -> AgentEvent {
        let (message_id, side) = (self.message.clone(), self.side);
        match self {
            PlainLine { begin: Some(session), model, tools, .. } => {
                AgentEvent::SessionInit { session, model: model.unwrap_or_default(), tools }
            }
            PlainLine { say: Some(text), .. } => AgentEvent::Text { text, message_id, side },
            PlainLine { think: Some(text), .. } => AgentEvent::Thinking { text, side },
            PlainLine { uses: Some(id), tool, with, .. } => AgentEvent::ToolUse {
                id,
                asks: tool == "ask",
                summary: summary(&with),
                tool: named(&tool),
                name: tool,
                side,
            },
            PlainLine { used: Some(id), ok, asked, text, .. } => AgentEvent::ToolResult {
                id,
                is_error: !ok,
                text: shorten(text.as_str().unwrap_or_default(), 10 * SHOWN),
                was_decided: asked,
                side,
            },
            PlainLine { spent: Some(tokens), .. } => {
                AgentEvent::Spent { message_id, usage: tokens.usage(None) }
            }
            PlainLine { trouble: Some(word), text, .. } => AgentEvent::ApiError {
                trouble: trouble(&word),
                error: word,
                text: text.as_str().unwrap_or_default().to_owned(),
            },
            PlainLine { limit: Some(limit), .. } => AgentEvent::RateLimit(RateLimit {
                rejected: true,
                resets_at: limit.until_ms.map(Moment),
                limit: None,
            }),
            PlainLine { end: Some(end), .. } => AgentEvent::Result(Box::new(end.result())),
            _ => AgentEvent::Unknown { what: "a line without a word".to_owned() },
        }
    }
}

impl PlainTokens {
    fn usage(&self, cost_usd: Option<f64>) -> Usage {
        Usage {
            input_tokens: self.input,
            output_tokens: self.output,
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            cost_usd,
            ..Usage::default()
        }
    }
}

impl PlainEnd {
    fn result(self) -> TurnResult {
        let failure = |failed: Failed| TurnFailure {
            cause: match failed.cause.as_str() {
                "cut_off" => FailureCause::CutOff,
                "other" => FailureCause::Other,
                word => FailureCause::Api(trouble(word)),
            },
            word: failed.word,
            said: failed.text,
        };
        TurnResult {
            usage: self.spent.usage(self.cost_usd),
            cost_is_cumulative: true,
            usage_is_cumulative: false,
            models: Vec::new(),
            failure: self.failed.map(failure),
            text: self.said,
            structured: self.value,
            num_turns: self.turns,
        }
    }
}

fn trouble(word: &str) -> ApiTrouble {
    match word {
        "rate_limit" => ApiTrouble::RateLimit,
        "transient" => ApiTrouble::Transient,
        "login" => ApiTrouble::Login,
        "model" => ApiTrouble::Model,
        _ => ApiTrouble::Lasting,
    }
}

/// Returns the tool's canonical name. Only tools of MCP servers and invented tools have other names.
fn named(tool: &str) -> ToolName {
    match tool {
        "ask" => ToolName::Plan,
        server if server.starts_with("mcp__") => ToolName::Mcp,
        word => ToolName::parse(word).unwrap_or(ToolName::Other),
    }
}

fn summary(input: &Value) -> String {
    let telling = ["command", "path", "url", "query", "pattern"];
    let text = telling.into_iter().find_map(|key| input.get(key).and_then(Value::as_str));
    shorten(text.map_or_else(|| input.to_string(), str::to_owned).as_str(), SHOWN)
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PlainToolCall {
    tool: String,
    with: Value,
    ask: Option<Vec<PlainQuestion>>,
    said: Option<String>,
    busy: bool,
}

#[derive(Deserialize)]
struct PlainQuestion {
    text: String,
    #[serde(default)]
    options: Vec<QuestionOption>,
    #[serde(default)]
    several: bool,
}

/// Parses a hook call. An unreadable call becomes an unknown tool or a plain stop.
pub(super) fn read_hook(event: &str, payload: &[u8]) -> HookKind {
    let call: PlainToolCall = serde_json::from_slice(payload).unwrap_or_default();
    let question =
        |PlainQuestion { text, options, several }| Question { text, options, several, free_text: true };
    match call.ask {
        _ if event == STOP => HookKind::Stop { last_message: call.said, background: call.busy },
        Some(asked) => HookKind::Question { questions: asked.into_iter().map(question).collect() },
        None => HookKind::Tool(ToolCall { tool: named(&call.tool), name: call.tool, input: call.with }),
    }
}

/// Writes an answer. An unsuitable answer never allows a tool.
pub(super) fn write_answer(event: &str, answer: &HookAnswer) -> Printed {
    let said = match answer {
        HookAnswer::Block { reason } if event == STOP => json!({ "go_on": reason }),
        _ if event == STOP => json!({}),
        HookAnswer::Allow => json!({ "may": true }),
        HookAnswer::Reply { answers } => {
            let pairs = answers.iter().map(|(question, answer)| (question.clone(), json!(answer)));
            json!({ "answers": Value::Object(pairs.collect()) })
        }
        HookAnswer::Deny { reason } | HookAnswer::Block { reason } => json!({ "may": false, "why": reason }),
        HookAnswer::Pass => json!({ "may": false, "why": "the run has not decided this" }),
    };
    Printed { stdout: said.to_string(), ..Printed::default() }
}
