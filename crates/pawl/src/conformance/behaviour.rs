//! The behaviours that every driver must show.

/// A behaviour, a line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Start,
    Stream,
    Tool,
    UsageSum,
    NothingLeft,
    DeniedTool,
    LimitInText,
    OddPrompt,
    LongPrompt,
    Role,
    MalformedLine,
    McpTool,
    Question,
    Resume,
    UsageAfterResume,
    StopBlock,
    Quota,
    Silence,
    Crash,
    Cancel,
    Kill,
}

impl Behaviour {
    /// All behaviours, in the order of the table.
    pub const ALL: [Behaviour; 21] = [
        Behaviour::Start,
        Behaviour::Stream,
        Behaviour::Tool,
        Behaviour::UsageSum,
        Behaviour::NothingLeft,
        Behaviour::DeniedTool,
        Behaviour::LimitInText,
        Behaviour::OddPrompt,
        Behaviour::LongPrompt,
        Behaviour::Role,
        Behaviour::MalformedLine,
        Behaviour::McpTool,
        Behaviour::Question,
        Behaviour::Resume,
        Behaviour::UsageAfterResume,
        Behaviour::StopBlock,
        Behaviour::Quota,
        Behaviour::Silence,
        Behaviour::Crash,
        Behaviour::Cancel,
        Behaviour::Kill,
    ];

    /// Returns the head of its line in the table.
    pub fn title(self) -> &'static str {
        match self {
            Behaviour::Start => "start",
            Behaviour::Stream => "stream",
            Behaviour::Tool => "tool",
            Behaviour::UsageSum => "usage sum",
            Behaviour::NothingLeft => "no process left, the user's files as they were",
            Behaviour::DeniedTool => "denied tool",
            Behaviour::LimitInText => "\"rate limit\" in a file causes no wait",
            Behaviour::OddPrompt => "odd bytes in the prompt",
            Behaviour::LongPrompt => "prompt of 100 KB",
            Behaviour::Role => "entity as system prompt",
            Behaviour::MalformedLine => "a malformed line is only a warning",
            Behaviour::McpTool => "tool of an MCP server",
            Behaviour::Question => "question to a person",
            Behaviour::Resume => "resume",
            Behaviour::UsageAfterResume => "usage sum after resume",
            Behaviour::StopBlock => "kept from stopping",
            Behaviour::Quota => "limit with reset: wait, do not count, continue",
            Behaviour::Silence => "a silent model ends with the timeout",
            Behaviour::Crash => "killed agent: the turn is continued or repeated",
            Behaviour::Cancel => "cancel leaves no process",
            Behaviour::Kill => "killed Windlass: resume leaves no process",
        }
    }
}
