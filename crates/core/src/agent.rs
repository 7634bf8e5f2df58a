//! The messages of an agent, in one form for all agents.
//!
//! A driver's parser turns lines into these events; `peers::agent` turns the events into a verdict
//! on the turn.

use serde::Serialize;
use serde_json::Value;

use crate::hook::ToolName;
use crate::time::Moment;
use crate::usage::{ModelUsage, Usage};

/// One message or action of an agent. `side` marks a message from a subagent rather than the main
/// conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum AgentEvent {
    /// The session started or resumed.
    SessionInit {
        session: String,
        model: String,
        tools: Vec<String>,
    },
    Text {
        text: String,
        /// The message that contains the text.
        message_id: String,
        side: bool,
    },
    Thinking {
        text: String,
        side: bool,
    },
    /// The agent asks to use a tool.
    ToolUse {
        id: String,
        tool: ToolName,
        /// The CLI's name for the tool.
        name: String,
        /// The tool asks a person.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        asks: bool,
        /// The input in a few words.
        summary: String,
        side: bool,
    },
    ToolResult {
        id: String,
        is_error: bool,
        /// The output, shortened.
        text: String,
        /// The call reached a permission decision, so a hook must have arrived for it. A call of an
        /// unknown tool, or one with a wrong input, does not get that far.
        was_decided: bool,
        side: bool,
    },
    /// The usage of a message so far. The CLI repeats it with each part of the message.
    Spent {
        message_id: String,
        usage: Usage,
    },
    /// An error of the model's API.
    ApiError {
        trouble: ApiTrouble,
        error: String,
        text: String,
    },
    /// The CLI repeats a request.
    Retry(ApiRetry),
    RateLimit(RateLimit),
    /// A notice for people.
    Notice {
        about: String,
        text: String,
    },
    /// The end of a turn. One stream can contain several.
    Result(Box<TurnResult>),
    /// The CLI asks Windlass and waits for a reply.
    Asks(AgentRequest),
    /// The CLI no longer waits for the reply to a request.
    AskWithdrawn {
        id: String,
    },
    /// A message that Windlass does not use.
    Unknown {
        /// The CLI's name for the message.
        what: String,
    },
    /// A line that Windlass cannot read.
    Warning {
        what: String,
    },
}

/// A request in the CLI's output. It is answered like a hook call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentRequest {
    /// The CLI's name for the request.
    pub id: String,
    /// The event name, as for a hook.
    pub event: String,
    pub payload: Value,
}

/// A request that the CLI repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApiRetry {
    /// The failed attempt, counted from 1.
    pub attempt: u32,
    pub max_retries: u32,
    /// The wait before the next attempt.
    pub delay_ms: u64,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    pub error: String,
}

/// The state of an account's usage limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RateLimit {
    /// The API accepts no more requests.
    pub rejected: bool,
    pub resets_at: Option<Moment>,
    /// The name of the limit.
    pub limit: Option<String>,
}

/// The kind of an API error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiTrouble {
    /// The agent reached a usage limit.
    RateLimit,
    /// An error that may pass: the server is overloaded or failed.
    Transient,
    /// No user is logged in, or the API refused the key.
    Login,
    /// The API does not have the model, or not for this user.
    Model,
    /// An error that will not pass: the API refused the request.
    Lasting,
}

/// The end of a turn, as the CLI reports it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TurnResult {
    /// The failure. A turn without one ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<TurnFailure>,
    /// The last message.
    pub text: Option<String>,
    /// The structured answer, if there was a schema and the agent followed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The usage of this turn, including subagents where the CLI counts them.
    pub usage: Usage,
    /// The cost in `usage` covers all turns of the stream so far, not this turn alone.
    pub cost_is_cumulative: bool,
    /// The usage covers the whole conversation so far, also its earlier processes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub usage_is_cumulative: bool,
    /// The usage by model, if the CLI reports it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUsage>,
    /// The number of turns of the model.
    pub num_turns: u32,
}

/// The failure of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnFailure {
    pub cause: FailureCause,
    pub word: String,
    /// The CLI's explanation.
    pub said: Option<String>,
}

/// The kind of failure that ended a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    Api(ApiTrouble),
    /// Someone interrupted the turn.
    CutOff,
    /// The agent reached a limit of its own CLI, on turns or money.
    OwnLimit,
    /// The CLI does not find the conversation that it was asked to continue.
    NoConversation,
    Other,
}
