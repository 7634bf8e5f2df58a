//! What differs between the drivers, as data.

use std::time::Duration;

use windlass_testkit::{Turn, rate_limit, usage_limit};

/// A driver with the real CLI that it runs.
#[derive(Clone, Copy)]
pub(crate) struct DriverCase {
    /// The head of its column.
    pub(crate) title: &'static str,
    /// The value of `--driver`.
    pub(crate) name: &'static str,
    /// The CLI, as in the list of pinned versions.
    pub(crate) cli: &'static str,
    /// The arguments that are part of the agent's command.
    pub(crate) words: &'static str,
    /// A variable and the folder in the cache of the tests in which the CLI unpacks itself once.
    pub(crate) unpacks: Option<(&'static str, &'static str)>,
    /// A file of the user's own settings, with its text, beside those of the recipe.
    pub(crate) own_file: Option<(&'static str, &'static str)>,
    /// The place of an entity's role.
    pub(crate) role: RolePlace,
    /// An answer that refuses a request because of a limit that resets after this time.
    pub(crate) limit: fn(Duration) -> Turn,
    /// How exactly the CLI reports the reset.
    pub(crate) reset: LimitReset,
    pub(crate) usage: ReportedUsage,
}

/// The place at which the model reads an entity's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RolePlace {
    System,
    /// At the beginning of the prompt, because the CLI has no flag for a system prompt.
    Prompt,
}

/// How exactly a CLI reports when a limit resets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitReset {
    ToTheSecond,
    ToTheMinute,
    /// Not at all, so the run waits a minute, then longer. With the reason.
    Unknown(&'static str),
    /// The CLI waits itself, and Windlass learns nothing of the limit. With the words for it.
    Hidden(&'static str),
}

/// How completely a CLI reports its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportedUsage {
    Exact,
    /// The figure is marked as partial.
    Partial,
}

const CLAUDE: DriverCase = DriverCase {
    title: "claude",
    name: "claude",
    cli: "claude",
    words: "",
    unpacks: None,
    own_file: Some(("home/.claude/settings.json", "{\"cleanupPeriodDays\": 77}\n")),
    role: RolePlace::System,
    limit: usage_limit,
    reset: LimitReset::Unknown(
        "with an API key, the CLI does not report when a limit resets, so the run tries again",
    ),
    usage: ReportedUsage::Exact,
};

/// Every driver of an agent CLI.
pub(crate) const DRIVERS: [DriverCase; 6] = [
    CLAUDE,
    DriverCase {
        title: "codex",
        name: "codex",
        cli: "codex",
        own_file: None,
        reset: LimitReset::ToTheMinute,
        ..CLAUDE
    },
    DriverCase {
        title: "opencode",
        name: "opencode",
        cli: "opencode",
        own_file: None,
        limit: rate_limit,
        reset: LimitReset::ToTheSecond,
        ..CLAUDE
    },
    DriverCase {
        title: "copilot",
        name: "copilot",
        cli: "copilot",
        unpacks: Some(("COPILOT_CACHE_HOME", "copilot-unpacked")),
        own_file: Some(("home/.copilot/settings.json", "{\"banner\": \"never\"}\n")),
        reset: LimitReset::Unknown(
            "the provider of the tests does not report when a limit resets, so the run tries again",
        ),
        ..CLAUDE
    },
    DriverCase {
        title: "gemini",
        name: "gemini",
        cli: "gemini",
        own_file: None,
        role: RolePlace::Prompt,
        limit: rate_limit,
        reset: LimitReset::ToTheSecond,
        ..CLAUDE
    },
    DriverCase {
        title: "acp: opencode",
        name: "acp",
        cli: "opencode",
        words: " acp",
        own_file: None,
        role: RolePlace::Prompt,
        limit: rate_limit,
        reset: LimitReset::Hidden(
            "the CLI itself waits and tells the client nothing, so Windlass cannot show the wait",
        ),
        usage: ReportedUsage::Partial,
        ..CLAUDE
    },
];
