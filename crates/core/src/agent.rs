//! What an agent said, in one form for all of them.
//!
//! A driver's `parse` makes these out of lines; what they add up to is `peers::agent::Transcript`'s.

use serde::Serialize;
use serde_json::Value;

use crate::hook::ToolName;
use crate::time::Moment;
use crate::usage::Usage;

/// One thing an agent said or did. `side` means: in a subagent, not the main conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum AgentEvent {
    /// The conversation began, or went on.
    SessionInit {
        /// Its id.
        session: String,
        /// The model.
        model: String,
        /// The tools there are.
        tools: Vec<String>,
    },
    /// The agent spoke.
    Text {
        /// What it said.
        text: String,
        /// The message it is part of.
        message_id: String,
        /// In a subagent.
        side: bool,
    },
    /// The agent thought.
    Thinking {
        /// What.
        text: String,
        /// In a subagent.
        side: bool,
    },
    /// The agent wants to use a tool.
    ToolUse {
        /// The call.
        id: String,
        /// What the tool does.
        tool: ToolName,
        /// The name that the CLI gives it.
        name: String,
        /// It asks a person.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        asks: bool,
        /// Its input in a few words.
        summary: String,
        /// In a subagent.
        side: bool,
    },
    /// What a tool gave.
    ToolResult {
        /// The call.
        id: String,
        /// It was refused or failed.
        is_error: bool,
        /// What it gave, shortened.
        text: String,
        /// The call got as far as a permission decision, so that a hook must have been asked.
        /// A call of a tool that does not exist, or with a wrong input, does not.
        was_decided: bool,
        /// In a subagent.
        side: bool,
    },
    /// What a message has used so far; said again with each part of the message.
    Spent {
        /// The message.
        message_id: String,
        /// Its usage.
        usage: Usage,
    },
    /// The model's API gave an error.
    ApiError {
        /// What kind of error it is.
        trouble: ApiTrouble,
        /// The CLI's word for it.
        error: String,
        /// For people.
        text: String,
    },
    /// A request is tried again.
    Retry(ApiRetry),
    /// Where the account stands with its limits.
    RateLimit(RateLimit),
    /// Something for people.
    Notice {
        /// The CLI's word for it.
        about: String,
        /// For people.
        text: String,
    },
    /// A turn is over. There may be several in one stream.
    Result(Box<TurnResult>),
    /// A message we have no use for.
    Unknown {
        /// What the CLI calls it.
        what: String,
    },
    /// A line that cannot be read.
    Warning {
        /// Why.
        what: String,
    },
}

/// A request that is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApiRetry {
    /// Which try failed, from 1.
    pub attempt: u32,
    /// How many there will be.
    pub max_retries: u32,
    /// The wait before the next.
    pub delay_ms: u64,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// The CLI's word for it.
    pub error: String,
}

/// Where the account stands with its limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RateLimit {
    /// Nothing more is accepted.
    pub rejected: bool,
    /// When it ends.
    pub resets_at: Option<Moment>,
    /// Which limit.
    pub limit: Option<String>,
}

/// An error of the model's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiTrouble {
    /// A usage limit was reached.
    RateLimit,
    /// It may pass: the server is overloaded or failed.
    Transient,
    /// Nobody is logged in, or the key was refused.
    Login,
    /// It will not pass: the request was refused.
    Lasting,
}

/// How a turn ended, as the CLI says.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TurnResult {
    /// Why the turn failed. A turn without a failure ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<TurnFailure>,
    /// The last words.
    pub text: Option<String>,
    /// The value, where a schema was given and the agent kept to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// What this turn used, subagents included where the CLI says so.
    pub usage: Usage,
    /// The cost in `usage` is of all turns of the stream so far rather than of this one.
    pub cost_is_cumulative: bool,
    /// Turns of the model.
    pub num_turns: u32,
}

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnFailure {
    /// What kind of failure it is.
    pub cause: FailureCause,
    /// The CLI's word for it.
    pub word: String,
    /// What the CLI says about it.
    pub said: Option<String>,
}

/// What kind of failure ended a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The model's API gave an error.
    Api(ApiTrouble),
    /// Somebody cut the turn off.
    CutOff,
    /// A limit of the CLI itself was reached: turns or money.
    OwnLimit,
    /// Anything else.
    Other,
}
