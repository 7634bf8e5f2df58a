//! The happenings of a session, before a format puts them into the words of a CLI.
//!
//! Tools and their inputs have the names of Claude Code, because scripts use them. Each format translates them.

use std::path::Path;

use serde_json::{Map, Value};

use super::script::ScriptUsage;

/// One happening of a session.
#[derive(Clone, Copy)]
pub(super) enum SimEvent<'a> {
    /// The model is about to get a prompt.
    Opened(&'a SessionOpening<'a>),
    /// The model answers.
    Answered(&'a SimMessage, MessagePart<'a>),
    /// A tool may run and starts.
    Started(&'a SimCall),
    /// The result of a tool goes to the model.
    Returned(&'a SimCall, &'a ToolResult),
    /// The user interrupted a tool.
    Interrupted,
    /// A hook blocked the stop. The count is that of blocks in a row.
    StopBlocked { reason: &'a str, blocks: u32 },
    /// A hook blocked the stop too often, so the session ends anyway.
    CapReached { blocks: u32 },
    /// The model's service refused a request, and the session ends.
    Failed(&'a Failure),
    /// An event that only Claude Code has, in its format.
    Aside(&'a Value),
    /// The session is over.
    Ended(&'a SessionSummary<'a>),
}

/// A part of a message of the model.
#[derive(Clone, Copy)]
pub(super) enum MessagePart<'a> {
    Said(&'a str),
    Thought(&'a str),
    Called(&'a SimCall),
}

/// The facts at the beginning of a prompt.
pub(super) struct SessionOpening<'a> {
    pub(super) cwd: &'a Path,
    pub(super) prompt: &'a str,
    /// No prompt came before in this process.
    pub(super) is_first: bool,
    /// The session must give a structured answer.
    pub(super) gives_answer: bool,
}

/// The answer to one model request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SimMessage {
    pub(super) id: String,
    pub(super) request: String,
    pub(super) usage: ScriptUsage,
    pub(super) cost_usd: f64,
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SimCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// The fate of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallVerdict {
    Ran,
    /// A hook or the CLI refused it.
    Refused,
    /// The user interrupted it.
    Interrupted,
    /// The CLI has no such tool.
    Missing,
}

/// The result of a tool call, for the model and for programs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolResult {
    /// A text, or blocks of text.
    pub(super) content: Value,
    pub(super) is_error: bool,
    /// Claude Code's description of the result.
    pub(super) structured: Value,
    pub(super) verdict: CallVerdict,
    /// The end of a shell command.
    pub(super) shell: Option<CommandEnd>,
}

/// The exit code and the output of a shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandEnd {
    /// `None` if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) output: String,
}

impl ToolResult {
    /// Returns the text for the model.
    pub(super) fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            other => other.pointer("/0/text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.verdict != CallVerdict::Ran
    }
}

/// A refusal of the model's service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The HTTP status.
    pub(super) status: u16,
    /// The words of the service.
    pub(super) message: String,
    /// Set if the account reached a limit.
    pub(super) limit: Option<LimitReset>,
}

/// The end of a limit of the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitReset {
    Unknown,
    /// In seconds since the epoch.
    At(i64),
}

impl Failure {
    /// Returns the time at which a limit ends, in seconds since the epoch.
    pub(super) fn resets_at(&self) -> Option<i64> {
        match self.limit? {
            LimitReset::At(seconds) => Some(seconds),
            LimitReset::Unknown => None,
        }
    }

    /// Returns the words of the service, or those of the status.
    pub(super) fn words(&self) -> String {
        match self.message.as_str() {
            "" => status_text(self.status).to_owned(),
            words => words.to_owned(),
        }
    }
}

/// Returns the standard words for an HTTP status.
pub(super) fn status_text(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Payload Too Large",
        425 => "Too Early",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Error",
    }
}

/// The tokens, money and requests so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct UsageTally {
    pub(super) usage: ScriptUsage,
    pub(super) cost_usd: f64,
    pub(super) requests: u64,
}

impl UsageTally {
    /// Adds one model request.
    pub(super) fn add(&mut self, usage: ScriptUsage, cost_usd: f64) {
        self.usage.add(usage);
        self.cost_usd += cost_usd;
        self.requests += 1;
    }
}

/// The outcome of a session, or of a part of it that has a result of its own.
pub(super) struct PlayVerdict {
    pub(super) terminal_reason: &'static str,
    pub(super) stop_reason: &'static str,
    /// The last message, or the internal errors.
    pub(super) outcome: Result<String, Vec<String>>,
    pub(super) failure: Option<Failure>,
}

impl PlayVerdict {
    /// Makes the verdict of an agent that ended with this message.
    pub(super) fn said(terminal_reason: &'static str, text: String) -> PlayVerdict {
        PlayVerdict { terminal_reason, stop_reason: "end_turn", outcome: Ok(text), failure: None }
    }

    pub(super) fn broken(terminal_reason: &'static str, error: String) -> PlayVerdict {
        PlayVerdict { terminal_reason, stop_reason: "tool_use", outcome: Err(vec![error]), failure: None }
    }

    pub(super) fn is_error(&self) -> bool {
        self.outcome.is_err() || self.failure.is_some()
    }
}

/// A result with its counts.
pub(super) struct SimResult {
    pub(super) verdict: PlayVerdict,
    /// The usage since the last result.
    pub(super) since: UsageTally,
    pub(super) elapsed_ms: u64,
    pub(super) denials: Vec<Value>,
    pub(super) index: usize,
    pub(super) subagents: u32,
    pub(super) structured: Option<Value>,
    /// The origin of the prompt, if no person wrote it.
    pub(super) origin: Option<Value>,
}

/// The results of a session, at its end.
pub(super) struct SessionSummary<'a> {
    pub(super) results: &'a [SimResult],
    pub(super) total: UsageTally,
    /// Fields that replace those of the last result in Claude Code's format.
    pub(super) overrides: &'a Map<String, Value>,
    /// The exit code that follows.
    pub(super) exit_code: u8,
}

impl SessionSummary<'_> {
    /// Returns the failure of the session, if it has one.
    pub(super) fn failure(&self) -> Option<&Failure> {
        self.results.last()?.verdict.failure.as_ref()
    }

    pub(super) fn is_error(&self) -> bool {
        self.results.last().is_some_and(|result| result.verdict.is_error())
    }
}
