//! Describes every setting once, and writes the two pages that people read: the commented built-in
//! file `default.toml` and `docs/configuration.md`.
//!
//! A test compares both files with what this module writes, and this table with the keys that
//! [`key`](super::key) takes. Default values come from `default.toml` itself.

use std::fmt::Write as _;

use windlass_core::spec::{OnPermission, OnQuestion};

use super::key;
use super::prices::PRICES;
use super::project::{Widens, is_above};
use super::resolve::resolve;
use super::words::{DRIVERS, DURABILITIES, ISOLATIONS, MODES, ON_PERMISSION, ON_QUESTION, PROVIDERS};
use crate::words::WordTable;

/// A setting as the pages describe it.
pub(super) struct SettingReference {
    /// The key with dots. A part in capitals is a name that the user chooses.
    pub(super) key: &'static str,
    value: ValueType,
    /// Whole sentences.
    meaning: &'static str,
    /// A value as TOML, and the keys that it needs below it.
    example: &'static str,
    flag: Option<&'static str>,
    /// The values that need trust in a project's file.
    pub(super) widens: Widens,
}

enum ValueType {
    Word(fn() -> Vec<&'static str>),
    Text,
    Path,
    Count,
    Dollars,
    Duration,
    Texts,
    Program,
    Flag,
    Words(fn() -> Vec<&'static str>),
    Command,
    Rules,
}

impl ValueType {
    fn describe(&self) -> String {
        match self {
            ValueType::Word(words) => listed(&words(), "or"),
            ValueType::Text => "string".to_owned(),
            ValueType::Path => "path".to_owned(),
            ValueType::Count => "whole number".to_owned(),
            ValueType::Dollars => "amount in dollars".to_owned(),
            ValueType::Duration => "duration, such as `90s`, `15m` or `2h30m`".to_owned(),
            ValueType::Texts => "list of strings".to_owned(),
            ValueType::Program => "list: a program and its arguments".to_owned(),
            ValueType::Flag => "`true` or `false`".to_owned(),
            ValueType::Words(words) => format!("list of {}", listed(&words(), "and")),
            ValueType::Command => "command line, run by `sh -c`".to_owned(),
            ValueType::Rules => "list of rules".to_owned(),
        }
    }
}

const LOOSENS: &str = "it lets agents do more";
const PROGRAM: &str = "it names a program to run";
const CHEAPER: &str = "it decides what your runs seem to cost";
const EVERYWHERE: &str = "it limits your runs in all folders";

/// All settings, in the order of the pages.
pub(super) const REFERENCE: &[SettingReference] = &[
    SettingReference {
        key: "driver",
        value: ValueType::Word(|| words(&DRIVERS)),
        meaning: "The agent CLI that runs a session. `sim` is a simulated agent that needs no model; `acp` runs any agent that speaks the \
                  Agent Client Protocol.",
        example: "\"sim\"",
        flag: Some("--driver"),
        widens: Widens::No,
    },
    SettingReference {
        key: "model",
        value: ValueType::Text,
        meaning: "The model, by the name that the agent CLI uses. If unset, the CLI chooses. A driver other than `driver` gets it only if its \
                  CLI knows the name.",
        example: "\"opus\"",
        flag: Some("--model"),
        widens: Widens::No,
    },
    SettingReference {
        key: "fallback",
        value: ValueType::Words(|| words(&DRIVERS)),
        meaning: "The drivers that take the work over, in this order, when the driver of a session is at a usage limit for more than a \
                  minute or its provider fails again and again. The next driver repeats the turn in a new session and gets a description \
                  of the work so far.",
        example: "[\"codex\", \"opencode\"]",
        flag: Some("--fallback"),
        widens: Widens::No,
    },
    SettingReference {
        key: "switch_back",
        value: ValueType::Flag,
        meaning: "Whether the work returns to an earlier driver, before the next turn that starts a process, when the limit of that driver \
                  has reset. Without it, a node stays with the driver that took it over.",
        example: "true",
        flag: Some("--switch-back"),
        widens: Widens::No,
    },
    SettingReference {
        key: "isolation",
        value: ValueType::Word(|| words(&ISOLATIONS)),
        meaning: "The tools that an agent may use, and the settings that it loads. `strict` allows reading, editing, searching and the \
                  shell, and loads no settings, hooks or MCP servers. `minimal` adds the web, subagents, skills and MCP, and loads the \
                  project's settings. `permissive` allows every tool and also loads yours.",
        example: "\"strict\"",
        flag: Some("--isolation"),
        widens: Widens::When {
            which: "a value that is more permissive than yours",
            when: |given, settings| is_above(given, settings.isolation),
            why: LOOSENS,
        },
    },
    SettingReference {
        key: "max_isolation",
        value: ValueType::Word(|| words(&ISOLATIONS)),
        meaning: "The most permissive isolation that a workflow may ask for. Windlass refuses a run that asks for more.",
        example: "\"minimal\"",
        flag: None,
        widens: Widens::When {
            which: "a value above yours",
            when: |given, settings| is_above(given, settings.max_isolation),
            why: "it lets workflows ask for more",
        },
    },
    SettingReference {
        key: "plugins",
        value: ValueType::Texts,
        meaning: "Plugin folders to load. A path is relative to the file that names it. Each layer adds to the list.",
        example: "[\"tools/review-plugin\"]",
        flag: Some("--plugin"),
        widens: Widens::Yes("its hooks and MCP servers run unasked"),
    },
    SettingReference {
        key: "max_iterations",
        value: ValueType::Count,
        meaning: "The most turns of a loop. 0 means no limit.",
        example: "30",
        flag: Some("--max-iterations"),
        widens: Widens::No,
    },
    SettingReference {
        key: "mode",
        value: ValueType::Word(|| words(&MODES)),
        meaning: "How a loop starts its next turn. `fresh` starts a new session, `resume` resumes the last session in a new process, \
                  `in_session` continues in the same process, and `plugin` leaves the loop to a plugin.",
        example: "\"resume\"",
        flag: Some("--mode"),
        widens: Widens::No,
    },
    SettingReference {
        key: "stuck_after",
        value: ValueType::Count,
        meaning: "The number of turns without progress after which a loop ends as blocked. A loop also ends as blocked when a check that \
                  never passed prints the same error in three turns in a row. 0 switches both off.",
        example: "3",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "timeout",
        value: ValueType::Duration,
        meaning: "The longest time that a run may take. If unset, a run has no limit.",
        example: "\"4h\"",
        flag: Some("--timeout"),
        widens: Widens::No,
    },
    SettingReference {
        key: "check_timeout",
        value: ValueType::Duration,
        meaning: "The longest time that one check may take.",
        example: "\"30m\"",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "grace",
        value: ValueType::Duration,
        meaning: "The time between asking a process to end and killing it.",
        example: "\"20s\"",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "retry_delay",
        value: ValueType::Duration,
        meaning: "The wait after a transient error of the agent's service. It doubles with each of the three retries.",
        example: "\"10s\"",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "rate_limit_wait",
        value: ValueType::Duration,
        meaning: "The longest wait after a rate limit that does not say when it ends. Windlass tries again after a minute and doubles the wait \
                  each time, up to this.",
        example: "\"15m\"",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "on_permission",
        value: ValueType::Word(|| words(&ON_PERMISSION)),
        meaning: "The answer to a permission request that no rule decides and that nobody is there to answer. `fail` ends the run as \
                  blocked, `ask` waits for a person. At a terminal, Windlass asks you unless you set this or `on_question`.",
        example: "\"ask\"",
        flag: Some("--on-permission"),
        widens: Widens::When {
            which: "`allow`",
            when: |given, _| given.word(&ON_PERMISSION) == Ok(OnPermission::Allow),
            why: LOOSENS,
        },
    },
    SettingReference {
        key: "on_question",
        value: ValueType::Word(|| words(&ON_QUESTION)),
        meaning: "The answer to an agent's question that nobody is there to answer. `fail` ends the run as blocked, `empty` gives an \
                  empty answer, `wait` waits for a person.",
        example: "\"wait\"",
        flag: Some("--on-question"),
        widens: Widens::When {
            which: "`empty`",
            when: |given, _| given.word(&ON_QUESTION) == Ok(OnQuestion::Empty),
            why: "it answers questions for you",
        },
    },
    SettingReference {
        key: "durability",
        value: ValueType::Word(|| words(&DURABILITIES)),
        meaning: "How safely Windlass records a decision before it acts: `full` survives a power cut, `normal` only a crash of the \
                  process.",
        example: "\"normal\"",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "entities.providers",
        value: ValueType::Words(|| words(&PROVIDERS)),
        meaning: "The tools whose folders Windlass searches for commands, skills and agents. A higher layer replaces the list. The \
                  entities that are part of Windlass are always there.",
        example: "[\"windlass\", \"claude\"]",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "entities.project_path",
        value: ValueType::Path,
        meaning: "The folder to search for the project's entities, instead of the current folder and the folders above it up to the \
                  repository. Relative to the file that names it. A project's file may not name a folder outside the repository.",
        example: "\"../prompts\"",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "entities.user_path",
        value: ValueType::Path,
        meaning: "The folder to search for your own entities, instead of your home folder.",
        example: "\"/srv/prompts\"",
        flag: None,
        widens: Widens::Yes("it replaces your own prompts"),
    },
    SettingReference {
        key: "checks.NAME",
        value: ValueType::Command,
        meaning: "A command that must succeed before a loop is complete. A project's file may set it: read the checks of a stranger's \
                  repository before you run anything there.",
        example: "\"cargo test\"",
        flag: Some("--check"),
        widens: Widens::No,
    },
    SettingReference {
        key: "permissions.allow",
        value: ValueType::Rules,
        meaning: "Tool calls that need no permission. If the list is not empty, every other tool call needs one. `deny` and `ask` win \
                  over it.",
        example: "[\"shell(cargo test *)\"]",
        flag: None,
        widens: Widens::Yes(LOOSENS),
    },
    SettingReference {
        key: "permissions.deny",
        value: ValueType::Rules,
        meaning: "Tool calls that Windlass refuses. It wins over `allow` and `ask`.",
        example: "[\"shell(git push *)\", \"edit(docs/**)\"]",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "permissions.ask",
        value: ValueType::Rules,
        meaning: "Tool calls that a person, or `on_permission`, decides.",
        example: "[\"web_fetch(domain:example.com)\"]",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "agents.DRIVER.program",
        value: ValueType::Path,
        meaning: "The program of an agent CLI: a path, or a name to look up. Words behind it are arguments, separated as in a shell; no shell reads them.",
        example: "\"/opt/claude/bin/claude\"",
        flag: Some("--agent-bin"),
        widens: Widens::Yes(PROGRAM),
    },
    SettingReference {
        key: "agents.DRIVER.args",
        value: ValueType::Texts,
        meaning: "Arguments for the agent CLI, before all others.",
        example: "[\"--verbose\"]",
        flag: None,
        widens: Widens::Yes(PROGRAM),
    },
    SettingReference {
        key: "agents.DRIVER.model",
        value: ValueType::Text,
        meaning: "The model of this driver, by the name that its CLI uses. The setting `model`, the workflow and `--model` win over it, \
                  except for a driver that takes work over, and where the driver does not know their name.",
        example: "\"sonnet\"",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "budgets.SCOPE.turns",
        value: ValueType::Count,
        meaning: "The most turns that may start on one day.",
        example: "100",
        flag: None,
        widens: Widens::Yes(EVERYWHERE),
    },
    SettingReference {
        key: "budgets.SCOPE.tokens",
        value: ValueType::Count,
        meaning: "The input and output tokens on one day after which no turn starts. Tokens from a cache do not count.",
        example: "2000000",
        flag: None,
        widens: Widens::Yes(EVERYWHERE),
    },
    SettingReference {
        key: "budgets.SCOPE.cost",
        value: ValueType::Dollars,
        meaning: "The cost of one day, in dollars, after which no turn starts. It counts what the CLI reports, or else what follows from \
                  your `[prices]`.",
        example: "20",
        flag: None,
        widens: Widens::Yes(EVERYWHERE),
    },
    SettingReference {
        key: "budgets.SCOPE.time",
        value: ValueType::Duration,
        meaning: "The time on one day after which no turn starts: the sum of the times for which the agents of all runs work. Waiting does \
                  not count, and two agents that work side by side count twice.",
        example: "\"6h\"",
        flag: None,
        widens: Widens::Yes(EVERYWHERE),
    },
    SettingReference {
        key: "prices.MODEL.input",
        value: ValueType::Dollars,
        meaning: "The price of a million input tokens, in dollars. A price needs `input` and `output`.",
        example: "1.25\noutput = 10",
        flag: None,
        widens: Widens::Yes(CHEAPER),
    },
    SettingReference {
        key: "prices.MODEL.output",
        value: ValueType::Dollars,
        meaning: "The price of a million output tokens, in dollars.",
        example: "10\ninput = 1.25",
        flag: None,
        widens: Widens::Yes(CHEAPER),
    },
    SettingReference {
        key: "prices.MODEL.cached_input",
        value: ValueType::Dollars,
        meaning: "The price of a million input tokens that came from a cache, in dollars. If unset, they cost as much as `input`.",
        example: "0.125\ninput = 1.25\noutput = 10",
        flag: None,
        widens: Widens::Yes(CHEAPER),
    },
    SettingReference {
        key: "prices.MODEL.cache_write",
        value: ValueType::Dollars,
        meaning: "The price of a million input tokens that were written to a cache, in dollars. If unset, they cost as much as `input`.",
        example: "1.5\ninput = 1.25\noutput = 10",
        flag: None,
        widens: Widens::Yes(CHEAPER),
    },
    SettingReference {
        key: "notify.command",
        value: ValueType::Program,
        meaning: "A command to run when a run needs a person or has ended. It reads a JSON object from standard input; \
                  docs/notify.md describes it. No shell reads the command. A path is relative to the file that names it.",
        example: "[\"/home/me/bin/tell-me\", \"--quiet\"]",
        flag: None,
        widens: Widens::Yes(PROGRAM),
    },
    SettingReference {
        key: "notify.bell",
        value: ValueType::Flag,
        meaning: "Rings the terminal's bell when a run that it shows needs a person or has ended.",
        example: "true",
        flag: None,
        widens: Widens::No,
    },
    SettingReference {
        key: "notify.osc9",
        value: ValueType::Flag,
        meaning: "Shows a notification of the terminal at these moments. Windlass sends the escape sequence OSC 9, which not every \
                  terminal understands.",
        example: "true",
        flag: None,
        widens: Widens::No,
    },
];

/// The tables of the file, each with the sentence that introduces it.
const TABLE_INTROS: &[(&str, &str)] = &[
    ("entities", "Where Windlass finds commands, skills and agents."),
    ("checks", "Commands that prove that the work is done. You choose the names."),
    (
        "permissions",
        "Rules about tool calls, within the isolation preset. A rule names a tool, with or without a pattern: `write`, \
         `shell(git push *)`, `edit(docs/**)`, `mcp__server`. The spelling of any agent CLI works too. A rule about an unknown tool \
         is an error. Each layer adds to the lists.",
    ),
    ("agents", "How Windlass starts an agent CLI, by driver."),
    (
        "budgets",
        "What all your runs together may spend on one day, in all folders of this machine. SCOPE is `day` for all drivers together, \
         or the name of a driver for its turns alone. A day is a calendar day in your local time zone. Windlass counts a turn on the \
         day on which it starts, and its tokens, cost and time on the day on which its process ends. A turn in progress ends, also when it \
         exceeds a budget. Then the run ends as exhausted. Continue it on the next day, or raise the budget, with `windlass resume`. \
         A run reads the budgets when it starts and when it resumes.",
    ),
    (
        "prices",
        "What models cost, for agent CLIs that report tokens but no cost. MODEL is the name that the CLI reports, or else the one that \
         the run asks for; the whole name wins. A `*` at the end stands for the rest of a name, and the longest such name wins: \
         `[prices.\"gpt-5*\"]`. `[prices.\"*\"]` is for all other models, also unknown ones. Windlass ships no prices: copy them from \
         your provider's price list. A cost that the CLI reports wins. A run keeps the prices of its start. The numbers here are \
         examples and not the price of any model.",
    ),
    ("notify", "How Windlass tells you that a run needs you or has ended."),
];

fn words<T: Copy + PartialEq>(table: &WordTable<T>) -> Vec<&'static str> {
    table.0.iter().map(|(word, _)| *word).collect()
}

fn listed(words: &[&str], last: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// Returns the description of a key. A check and a driver have names that the user chooses.
pub(super) fn described(path: &[&str]) -> Option<&'static SettingReference> {
    let is_name = |part: &str| part.chars().all(|c| c.is_ascii_uppercase());
    REFERENCE.iter().find(|setting| {
        let parts: Vec<&str> = setting.key.split('.').collect();
        let is_same = |(part, given): (&&str, &&str)| is_name(part) || part == given;
        parts.len() == path.len() && parts.iter().zip(path).all(is_same)
    })
}

impl SettingReference {
    /// Returns the built-in value as TOML, if the key has one.
    fn default(&self) -> Option<String> {
        let builtin = key::show(&resolve(Vec::new()).settings);
        builtin.into_iter().find(|(key, _)| key == self.key).map(|(_, value)| value)
    }

    /// Returns the variable that sets the key. The name of a model does not fit into one.
    fn variable(&self) -> Option<String> {
        let name = self.key.to_uppercase().replace('.', "_");
        (self.table() != Some(PRICES)).then(|| format!("WINDLASS_{name}"))
    }

    fn table(&self) -> Option<&'static str> {
        self.key.split_once('.').map(|(table, _)| table)
    }

    /// Returns the header and the key of an assignment in a TOML file.
    fn in_file(&self) -> (Option<String>, String) {
        let named = self.key.replace("NAME", "test").replace("DRIVER", "claude").replace("SCOPE", "day");
        let named = named.replace("MODEL", "\"my-model\"");
        match named.rsplit_once('.') {
            Some((table, key)) => (Some(format!("[{table}]")), key.to_owned()),
            None => (None, named),
        }
    }
}

/// The line width of the comments in `default.toml`.
const COMMENT_WIDTH: usize = 98;

/// Returns `default.toml`: every setting with its meaning and its built-in value.
pub fn default_file() -> String {
    let mut file = String::from(
        "# The built-in settings of Windlass. docs/configuration.md describes them with examples.\n#\n\
         # Copy what you want to change to $XDG_CONFIG_HOME/windlass/config.toml (yours) or to\n\
         # .windlass/config.toml (the project's). Higher layers win: built-in < user < project <\n\
         # WINDLASS_* < flags. `windlass config show` names the source of each value.\n",
    );
    let mut current = None;
    for setting in REFERENCE {
        let (header, name) = setting.in_file();
        let default = setting.default();
        // A table whose entries are all examples stays commented out.
        let is_example = matches!(setting.table(), Some("agents" | "budgets" | PRICES));
        let mark = if is_example { "# " } else { "" };
        if header != current {
            let intro = TABLE_INTROS.iter().find(|(table, _)| Some(*table) == setting.table());
            let _ = write!(file, "\n{}", comment(intro.map_or("", |(_, text)| text)));
            let _ = writeln!(file, "{mark}{}", header.clone().unwrap_or_default());
            current = header;
        } else {
            file.push('\n');
        }
        let choices = match &setting.value {
            ValueType::Word(words) => format!(" Values: {}.", listed(&words(), "or")),
            _ => String::new(),
        };
        file.push_str(&comment(&format!("{}{}{choices}", setting.meaning, project_rule(setting))));
        let _ = match default {
            Some(value) => writeln!(file, "{name} = {value}"),
            None => writeln!(file, "# {name} = {}", setting.example.lines().next().unwrap_or_default()),
        };
    }
    file
}

fn project_rule(setting: &SettingReference) -> String {
    match setting.widens {
        Widens::No => String::new(),
        Widens::Yes(_) => " A project's file needs your trust for it.".to_owned(),
        Widens::When { which, .. } => format!(" A project's file needs your trust for {which}."),
    }
}

/// Returns the cell of the table about a project's file.
fn in_project(setting: &SettingReference) -> String {
    match setting.widens {
        Widens::No => "free".to_owned(),
        Widens::Yes(_) => "needs trust".to_owned(),
        Widens::When { which, .. } => format!("{which} needs trust"),
    }
}

/// Wraps a text as comment lines.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() + word.len() + 1 > COMMENT_WIDTH {
            let _ = writeln!(lines, "#{line}");
            line.clear();
        }
        let _ = write!(line, " {word}");
    }
    if !line.is_empty() {
        let _ = writeln!(lines, "#{line}");
    }
    lines
}

const PAGE_HEAD: &str = "\
# Configuration

Windlass reads settings from five layers. A later layer wins:

1. the built-in defaults;
2. your file, `$XDG_CONFIG_HOME/windlass/config.toml` (usually `~/.config/windlass/config.toml`);
3. the project's file, `.windlass/config.toml` in the repository;
4. environment variables that start with `WINDLASS_`;
5. flags.

`windlass config show` prints every setting that has a value, and the layer it comes from. An unknown key is a warning with a suggestion. An
unknown key in `[permissions]`, or a typo in a key that limits an agent, is an error.

A project's file comes with the repository that you cloned, so it cannot widen what an agent may do until you [trust](trust.md) it. The last
column says which values need trust.

In an environment variable, separate the items of a list with commas, of `WINDLASS_PLUGINS` with colons, and of arguments with blanks.

";

/// Returns `docs/configuration.md`: every key with its type, default, meaning and an example.
pub fn page() -> String {
    let mut page = String::from(PAGE_HEAD);
    let _ = writeln!(page, "## Keys\n");
    page.push_str("| key | default | type | in a project's file |\n|---|---|---|---|\n");
    for setting in REFERENCE {
        let default = setting.default().map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"));
        let anchor = setting.key.to_lowercase().replace('.', "");
        let kind = setting.value.describe();
        let rule = in_project(setting);
        let _ = writeln!(page, "| [`{}`](#{anchor}) | {default} | {kind} | {rule} |", setting.key);
    }
    let mut current = None;
    for setting in REFERENCE {
        if setting.table() != current {
            current = setting.table();
            if let Some((table, intro)) = TABLE_INTROS.iter().find(|(table, _)| Some(*table) == current) {
                let _ = writeln!(page, "\n## The table `[{table}]`\n\n{intro}");
            }
        }
        write_setting(&mut page, setting);
    }
    page
}

fn write_setting(page: &mut String, setting: &SettingReference) {
    let (header, name) = setting.in_file();
    let _ = writeln!(page, "\n### `{}`\n\n{}{}\n", setting.key, setting.meaning, project_rule(setting));
    let flag = setting.flag.map(|flag| format!(", flag `{flag}`")).unwrap_or_default();
    let _ = match setting.variable() {
        Some(variable) => writeln!(page, "Variable `{variable}`{flag}.\n"),
        None => writeln!(page, "Only a settings file sets it.\n"),
    };
    let header = header.map(|header| format!("{header}\n")).unwrap_or_default();
    let _ = writeln!(page, "```toml\n{header}{name} = {}\n```", setting.example);
}
