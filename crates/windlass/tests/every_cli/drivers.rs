//! What differs between the drivers, as data.

/// A driver with the real CLI that it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RealDriver {
    /// The value of `--driver`.
    pub(crate) name: &'static str,
    /// The CLI, as in the list of pinned versions.
    pub(crate) cli: &'static str,
    /// The arguments that are part of the agent's command.
    pub(crate) words: &'static str,
    /// The modes of a loop that the CLI supports.
    pub(crate) modes: &'static [Mode],
    /// A file of the user's own settings, with its text, beside those of the recipe.
    pub(crate) own_file: Option<(&'static str, &'static str)>,
    /// The beginnings of the paths of files that the CLI may add to the user's folders: its history, its login
    /// and its caches, which it shares with the user's own sessions. `docs/drivers.md` lists them.
    pub(crate) may_add: &'static [&'static str],
    /// The isolation in which it does tasks: `strict` if it can commit in it, which needs more than work in a folder.
    pub(crate) tasks_in: &'static str,
    /// A variable and the folder in the cache of the tests in which the CLI unpacks itself once.
    pub(crate) unpacks: Option<(&'static str, &'static str)>,
}

/// A mode of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Fresh,
    InSession,
    Resume,
}

impl Mode {
    /// Returns the value of `--mode`.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Mode::Fresh => "fresh",
            Mode::InSession => "in_session",
            Mode::Resume => "resume",
        }
    }
}

const EVERY_MODE: &[Mode] = &[Mode::Fresh, Mode::InSession, Mode::Resume];

const PLAIN: RealDriver = RealDriver {
    name: "",
    cli: "",
    words: "",
    modes: EVERY_MODE,
    own_file: None,
    may_add: &[],
    tasks_in: "minimal",
    unpacks: None,
};

const COPILOT_CACHE: Option<(&str, &str)> = Some(("COPILOT_CACHE_HOME", "copilot-unpacked"));

pub(crate) fn claude() -> RealDriver {
    RealDriver {
        name: "claude",
        cli: "claude",
        own_file: Some(("home/.claude/settings.json", "{\"cleanupPeriodDays\": 77}\n")),
        may_add: &[
            "home/.claude/.claude.json",
            "home/.claude/backups/",
            "home/.claude/plugins/",
            "home/.claude/projects/",
        ],
        ..PLAIN
    }
}

pub(crate) fn codex() -> RealDriver {
    RealDriver { name: "codex", cli: "codex", ..PLAIN }
}

pub(crate) fn opencode() -> RealDriver {
    RealDriver { name: "opencode", cli: "opencode", ..PLAIN }
}

pub(crate) fn copilot() -> RealDriver {
    let own_file = Some(("home/.copilot/settings.json", "{\"banner\": \"never\"}\n"));
    RealDriver {
        name: "copilot",
        cli: "copilot",
        own_file,
        tasks_in: "strict",
        unpacks: COPILOT_CACHE,
        ..PLAIN
    }
}

pub(crate) fn gemini() -> RealDriver {
    RealDriver { name: "gemini", cli: "gemini", ..PLAIN }
}

pub(crate) fn acp_opencode() -> RealDriver {
    let may_add: &[&str] = &["config/opencode/.gitignore", "home/.npm/_cacache/"];
    RealDriver { name: "acp", words: " acp", may_add, ..opencode() }
}

pub(crate) fn acp_copilot() -> RealDriver {
    let may_add: &[&str] = &[
        "home/.copilot/config.json",
        "home/.copilot/logs/",
        "home/.copilot/session-",
        "home/.copilot/settings.json.lock",
    ];
    RealDriver { name: "acp", words: " --acp", may_add, tasks_in: "minimal", ..copilot() }
}

/// Version 0.61.0 offers to load conversations, and does not find its own, so a turn cannot resume.
pub(crate) fn acp_gemini() -> RealDriver {
    let modes: &[Mode] = &[Mode::Fresh, Mode::InSession];
    let may_add: &[&str] = &["home/.gemini/history/", "home/.gemini/projects.json", "home/.gemini/tmp/"];
    RealDriver { name: "acp", words: " --acp", modes, may_add, ..gemini() }
}
