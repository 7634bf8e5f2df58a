//! Translates the lines of `stream-json` into our events, one function per kind.
//!
//! A message arrives in parts. The reader joins them and reports the message when another line follows, because
//! a message that a person reads and a marker that the run looks for may be split anywhere.

mod quota;

use windlass_core::agent::{AgentEvent, ApiTrouble, FailureCause, RateLimit, TurnFailure, TurnResult};
use windlass_core::time::Moment;

use super::super::dialect::ReadLine;
use super::super::lines::{TEXT_MAX, cut_text, shorten};
use super::super::stamp;
use super::schema::{
    GeminiError, GeminiFault, GeminiInit, GeminiInput, GeminiKind, GeminiMessage, GeminiResult,
    GeminiToolResult, GeminiToolUse,
};
use super::tools;

/// The number of bytes of a tool's input to keep for people.
const SHOWN: usize = 200;
/// The beginning of a line, as the CLI writes it.
const BEGINNING: &str = r#"{"type":""#;
/// The warning that a hook kept the agent from stopping. It repeats the message of the hook.
const HELD: &str = "Agent execution blocked:";

type Read = serde_json::Result<()>;

/// A reader of one turn.
#[derive(Debug, Default)]
pub(super) struct GeminiReader {
    /// The message of which parts arrive.
    open: String,
    /// The last error that the CLI reported before its result.
    last_error: Option<String>,
}

impl ReadLine for GeminiReader {
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String> {
        self.read(line, out).map_err(|error| error.to_string())
    }

    fn time(&self, line: &str) -> Option<Moment> {
        stamp::time(line)
    }
}

impl GeminiReader {
    fn read(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Read {
        match kind_at_start(line) {
            Some(kind) => self.read_kind(kind, line, out),
            None => {
                let GeminiKind { kind } = serde_json::from_str(line)?;
                self.read_kind(&kind, line, out)
            }
        }
    }

    fn read_kind(&mut self, kind: &str, line: &str, out: &mut Vec<AgentEvent>) -> Read {
        if kind != "message" && kind != "result" {
            self.close(out);
        }
        match kind {
            "message" => self.message(line, out),
            "init" => init(line, out),
            "tool_use" => tool_use(line, out),
            "tool_result" => tool_result(line, out),
            "error" => self.error(line, out),
            "result" => self.result(line, out),
            other => {
                // Unknown, but a line of JSON.
                let GeminiKind { .. } = serde_json::from_str(line)?;
                out.push(AgentEvent::Unknown { what: other.to_owned() });
                Ok(())
            }
        }
    }

    fn message(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Read {
        let line: GeminiMessage<'_> = serde_json::from_str(line)?;
        // The other role is the user's, whose prompt Windlass knows.
        if line.role != "assistant" {
            self.close(out);
            return Ok(());
        }
        if !line.delta {
            self.close(out);
        }
        self.open.push_str(&line.content);
        // Each part is bounded; of very many parts, the first and the last are kept.
        if self.open.len() > 2 * TEXT_MAX {
            cut_text(&mut self.open);
        }
        Ok(())
    }

    /// Reports the message of which no further part can arrive.
    fn close(&mut self, out: &mut Vec<AgentEvent>) {
        if !self.open.is_empty() {
            let text = std::mem::take(&mut self.open);
            out.push(AgentEvent::Text { text, message_id: String::new(), side: false });
        }
    }

    /// Reads an error that does not end the turn by itself.
    fn error(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Read {
        let GeminiError { severity, message } = serde_json::from_str(line)?;
        if !message.starts_with(HELD) {
            self.last_error = Some(message.clone().into_owned());
            out.push(AgentEvent::Notice { about: severity.into_owned(), text: message.into_owned() });
        }
        Ok(())
    }

    fn result(&mut self, text: &str, out: &mut Vec<AgentEvent>) -> Read {
        let line: GeminiResult<'_> = serde_json::from_str(text)?;
        if let Some(error) = &line.error
            && let Some(wait) = quota::wait(&error.message)
        {
            let resets_at = stamp::time(text).map(|now| Moment(now.0.saturating_add(wait)));
            // Counts only if the exit code or the name of the error says that a limit was reached.
            out.push(AgentEvent::RateLimit(RateLimit { rejected: false, resets_at, limit: None }));
        }
        let last_error = self.last_error.take();
        match line.status == "success" {
            true => self.close(out),
            // The CLI takes the message back that an error cut off. Nothing of it is in the conversation.
            false => self.open.clear(),
        }
        let failure = (line.status != "success").then(|| match &line.error {
            Some(error) => failure(error),
            // The model's answer was empty or malformed.
            None => TurnFailure {
                cause: FailureCause::Api(ApiTrouble::Transient),
                word: "invalid_stream".to_owned(),
                said: last_error,
            },
        });
        out.push(AgentEvent::Result(Box::new(TurnResult {
            failure,
            usage: line.stats.usage(),
            models: line.stats.models()?,
            ..TurnResult::default()
        })));
        Ok(())
    }
}

/// Returns the kind of a line that begins with it. This saves a search through the line.
fn kind_at_start(line: &str) -> Option<&str> {
    let (kind, _) = line.strip_prefix(BEGINNING)?.split_once('"')?;
    (!kind.contains('\\')).then_some(kind)
}

fn init(line: &str, out: &mut Vec<AgentEvent>) -> Read {
    let GeminiInit { session_id, model } = serde_json::from_str(line)?;
    out.push(AgentEvent::SessionInit { session: session_id, model, tools: Vec::new() });
    Ok(())
}

fn tool_use(line: &str, out: &mut Vec<AgentEvent>) -> Read {
    let line: GeminiToolUse<'_> = serde_json::from_str(line)?;
    let input = line.parameters.map(|input| input.get()).unwrap_or_default();
    out.push(AgentEvent::ToolUse {
        id: line.tool_id,
        tool: tools::name(&line.tool_name),
        name: line.tool_name,
        asks: false,
        summary: summarise(input),
        side: false,
    });
    Ok(())
}

fn tool_result(line: &str, out: &mut Vec<AgentEvent>) -> Read {
    let line: GeminiToolResult<'_> = serde_json::from_str(line)?;
    let error = line.error.unwrap_or_default();
    let said = line.output.filter(|output| !output.is_empty()).unwrap_or(error.message);
    out.push(AgentEvent::ToolResult {
        id: line.tool_id,
        is_error: line.status != "success",
        text: shorten(&said, 10 * SHOWN),
        was_decided: !NO_HOOK.contains(&error.kind.as_ref()),
        side: false,
    });
    Ok(())
}

/// The errors of calls that do not reach a hook.
const NO_HOOK: &[&str] = &["invalid_tool_params", "tool_not_registered", "unhandled_exception"];

/// Returns the most informative field of a tool's input, or else the whole input, shortened.
fn summarise(input: &str) -> String {
    let told: GeminiInput = serde_json::from_str(input).unwrap_or_default();
    let told =
        [told.command, told.file_path, told.query, told.pattern, told.dir_path, told.prompt, told.name];
    let text = told.into_iter().flatten().find(|text| !text.is_empty());
    shorten(text.as_deref().unwrap_or(input), SHOWN)
}

/// Describes the failure of a turn by the name of the CLI's error. The name is `unknown` for every answer of
/// the model's service and of the network; then only the exit code has the HTTP status
/// ([`judge`](super::judge)).
fn failure(error: &GeminiFault<'_>) -> TurnFailure {
    let cause = match error.kind.as_ref() {
        "unknown" | "ApiError" => FailureCause::Api(ApiTrouble::Transient),
        "TerminalQuotaError" | "RetryableQuotaError" => FailureCause::Api(ApiTrouble::RateLimit),
        "FatalAuthenticationError" | "UnauthorizedError" | "ValidationRequiredError" => {
            FailureCause::Api(ApiTrouble::Login)
        }
        "ModelNotFoundError" => FailureCause::Api(ApiTrouble::Model),
        "FatalTurnLimitedError" => FailureCause::OwnLimit,
        "FatalCancellationError" | "AbortError" => FailureCause::CutOff,
        _ => FailureCause::Other,
    };
    TurnFailure {
        cause,
        word: error.kind.clone().into_owned(),
        said: Some(error.message.clone().into_owned()),
    }
}
