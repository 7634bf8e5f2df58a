//! What an agent may use: presets and rules, deny over allow.
//!
//! A preset is a wall: what is not in it is denied, whatever the rules say. Rules narrow it.
//! Windlass's own tools and the CLI's inner ones always pass.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How much the agent may use and load, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Files and shell; nothing loaded from outside.
    Strict,
    /// And web, subagents, skills and MCP; the project's settings.
    #[default]
    Minimal,
    /// Everything; the user's settings too.
    Permissive,
}

impl Isolation {
    /// The word used in flags and files.
    pub fn word(self) -> &'static str {
        match self {
            Isolation::Strict => "strict",
            Isolation::Minimal => "minimal",
            Isolation::Permissive => "permissive",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Isolation> {
        [Isolation::Strict, Isolation::Minimal, Isolation::Permissive].into_iter().find(|i| i.word() == word)
    }
}

/// The settings' own rules, as patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// May be used without asking. When there is none, the whole preset may.
    pub allow: Vec<String>,
    /// May not be used.
    pub deny: Vec<String>,
    /// A person, or the policy, decides.
    pub ask: Vec<String>,
    /// Where it is said, nothing else may be used: the tools of an agent entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
}

/// What the rules say of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It may run.
    Allow,
    /// It may not.
    Deny {
        /// What the agent is told.
        reason: String,
    },
    /// Left open.
    Ask,
}

const STRICT: &[&str] = &["Read", "Edit", "Glob", "Grep", "Bash", "Write"];
const MINIMAL: &[&str] = &["WebSearch", "WebFetch", "Task", "Skill"];
/// Tools without reach beyond the conversation or what it already started.
const INNER: &[&str] = &[
    "StructuredOutput",
    "AskUserQuestion",
    "ToolSearch",
    "TodoWrite",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "BashOutput",
    "KillShell",
];

/// Decides one tool call.
pub fn decide(isolation: Isolation, rules: &Rules, tool: &str, input: &Value) -> Ruling {
    let tool = canonical(tool);
    if tool.starts_with("mcp__windlass__") || INNER.contains(&tool) {
        return Ruling::Allow;
    }
    if let Some(rule) = rules.deny.iter().find(|rule| matches(rule, tool, input)) {
        return Ruling::Deny { reason: format!("{tool} is denied by the rule `{rule}` of this run") };
    }
    if !in_preset(isolation, tool) {
        return Ruling::Deny {
            reason: format!(
                "{tool} is not allowed under the `{}` isolation of this run; do without it",
                isolation.word()
            ),
        };
    }
    if let Some(only) = &rules.only
        && !only.iter().any(|rule| grants(rule, tool, input))
    {
        return Ruling::Deny { reason: beyond(only, tool) };
    }
    if rules.ask.iter().any(|rule| matches(rule, tool, input)) {
        return Ruling::Ask;
    }
    if rules.allow.is_empty() || rules.allow.iter().any(|rule| grants(rule, tool, input)) {
        return Ruling::Allow;
    }
    Ruling::Ask
}

/// Whether a rule of the settings allows this very call. That no rule speaks against it is less.
pub fn is_granted(rules: &Rules, tool: &str, input: &Value) -> bool {
    rules.allow.iter().any(|rule| grants(rule, canonical(tool), input))
}

/// Why a call is not one of those an agent may make.
fn beyond(only: &[String], tool: &str) -> String {
    let ways: Vec<&str> = only
        .iter()
        .filter(|rule| pattern_of(rule).is_some_and(|(name, _)| glob(canonical(name), tool)))
        .map(String::as_str)
        .collect();
    if ways.is_empty() {
        return format!("{tool} is not among the tools this agent may use; do without it");
    }
    format!("this agent may use {tool} only as {}, one command at a time", ways.join(", "))
}

/// `Task` and `Agent` are one tool: the stream says the one, hooks the other.
fn canonical(tool: &str) -> &str {
    if tool == "Agent" { "Task" } else { tool }
}

fn in_preset(isolation: Isolation, tool: &str) -> bool {
    match isolation {
        Isolation::Strict => STRICT.contains(&tool),
        Isolation::Minimal => STRICT.contains(&tool) || MINIMAL.contains(&tool) || tool.starts_with("mcp__"),
        Isolation::Permissive => true,
    }
}

/// Whether a rule speaks of this call: `Name`, `prefix*`, `mcp__server__*`, `Bash(git *)`. It
/// speaks of a command line when it speaks of any command in it.
fn matches(rule: &str, tool: &str, input: &Value) -> bool {
    let Some((name, pattern)) = pattern_of(rule) else { return glob(canonical(rule), tool) };
    let Some(subject) = subject(input).filter(|_| glob(canonical(name), tool)) else { return false };
    fits(pattern, subject) || (tool == "Bash" && commands(subject).any(|command| fits(pattern, command)))
}

/// Whether a rule lets this call pass: a command line only when it lets every command in it
/// pass, so that `git log; rm -rf .` is not a `git` command.
fn grants(rule: &str, tool: &str, input: &Value) -> bool {
    let Some((name, pattern)) = pattern_of(rule) else { return glob(canonical(rule), tool) };
    let Some(subject) = subject(input).filter(|_| glob(canonical(name), tool)) else { return false };
    match tool {
        "Bash" => !writes(subject) && commands(subject).all(|command| fits(pattern, command)),
        _ => fits(pattern, subject),
    }
}

/// The name and the pattern of `Name(pattern)`.
fn pattern_of(rule: &str) -> Option<(&str, &str)> {
    rule.strip_suffix(')').and_then(|rule| rule.split_once('('))
}

fn fits(pattern: &str, subject: &str) -> bool {
    // `Bash(git:*)` is how Claude Code writes a prefix.
    match pattern.strip_suffix(":*") {
        Some(prefix) => subject == prefix || subject.starts_with(&format!("{prefix} ")),
        None => glob(pattern, subject),
    }
}

/// The commands of a command line, cut wherever a shell could begin another one: too often
/// (within quotes too) rather than too seldom.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    line.split([';', '&', '|', '\n', '`', '(', ')', '{', '}']).map(str::trim).filter(|part| !part.is_empty())
}

/// Whether a command line sends its output into a file.
fn writes(line: &str) -> bool {
    line.contains('>')
}

/// The part of an input a pattern in brackets speaks of.
fn subject(input: &Value) -> Option<&str> {
    ["command", "file_path", "path", "url", "query", "skill"]
        .into_iter()
        .find_map(|key| input.get(key)?.as_str())
}

/// `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return text.is_empty() };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ruling(isolation: Isolation, tool: &str) -> bool {
        decide(isolation, &Rules::default(), tool, &json!({})) == Ruling::Allow
    }

    #[test]
    fn strict_is_files_and_shell_only() {
        for tool in ["Read", "Edit", "Glob", "Grep", "Bash", "Write"] {
            assert!(ruling(Isolation::Strict, tool), "{tool}");
        }
        for tool in
            ["WebFetch", "WebSearch", "Task", "Agent", "Skill", "mcp__x__y", "NotebookEdit", "Brand_new"]
        {
            assert!(!ruling(Isolation::Strict, tool), "{tool}");
        }
    }

    #[test]
    fn minimal_adds_web_subagents_skills_and_mcp() {
        for tool in ["WebFetch", "WebSearch", "Task", "Agent", "Skill", "mcp__plugin_demo_rig__echo"] {
            assert!(ruling(Isolation::Minimal, tool), "{tool}");
        }
        assert!(!ruling(Isolation::Minimal, "NotebookEdit"));
        assert!(ruling(Isolation::Permissive, "NotebookEdit"));
    }

    #[test]
    fn our_own_tools_and_inner_ones_pass_even_when_denied() {
        let rules = Rules { deny: vec!["*".into()], ..Rules::default() };
        for tool in ["mcp__windlass__approve", "TodoWrite", "AskUserQuestion"] {
            assert_eq!(decide(Isolation::Strict, &rules, tool, &json!({})), Ruling::Allow, "{tool}");
        }
    }

    #[test]
    fn deny_beats_allow_and_the_preset_beats_both() {
        let rules = Rules {
            allow: vec!["Bash".into(), "WebFetch".into()],
            deny: vec!["Bash(git push*)".into()],
            ..Rules::default()
        };
        let push = json!({"command": "git push origin"});
        assert!(matches!(decide(Isolation::Strict, &rules, "Bash", &push), Ruling::Deny { .. }));
        assert_eq!(decide(Isolation::Strict, &rules, "Bash", &json!({"command": "ls"})), Ruling::Allow);
        assert!(matches!(decide(Isolation::Strict, &rules, "WebFetch", &json!({})), Ruling::Deny { .. }));
        assert_eq!(decide(Isolation::Strict, &rules, "Read", &json!({})), Ruling::Ask);
    }

    #[test]
    fn patterns_are_exact_prefix_server_and_command() {
        let cases = [
            ("Read", "Read", true),
            ("Read", "ReadMore", false),
            ("mcp__db__*", "mcp__db__query", true),
            ("mcp__db__*", "mcp__dbx__query", false),
            ("Web*", "WebFetch", true),
        ];
        for (rule, tool, expected) in cases {
            assert_eq!(matches(rule, tool, &json!({})), expected, "{rule} {tool}");
        }
        let git = json!({"command": "git log --oneline"});
        assert!(matches("Bash(git *)", "Bash", &git));
        assert!(matches("Bash(git:*)", "Bash", &git));
        assert!(!matches("Bash(git:*)", "Bash", &json!({"command": "gitk"})));
        assert!(!matches("Bash(npm *)", "Bash", &git));
    }

    #[test]
    fn only_the_tools_of_an_agent_may_be_used() {
        let only = Some(vec!["Read".to_owned(), "Bash(git log:*)".to_owned()]);
        let rules = Rules { only, ..Rules::default() };
        let ruling = |tool, input| decide(Isolation::Minimal, &rules, tool, &input);
        assert_eq!(ruling("Read", json!({})), Ruling::Allow);
        assert_eq!(ruling("TodoWrite", json!({})), Ruling::Allow);
        assert_eq!(ruling("Bash", json!({"command": "git log -3"})), Ruling::Allow);
        assert!(matches!(ruling("Bash", json!({"command": "git push"})), Ruling::Deny { .. }));
        assert!(matches!(ruling("Edit", json!({})), Ruling::Deny { .. }));
    }

    #[test]
    fn a_command_line_is_as_good_as_its_worst_command() {
        let rules = Rules {
            allow: vec!["Bash(git:*)".into()],
            deny: vec!["Bash(git push*)".into()],
            ..Rules::default()
        };
        let ruling = |line: &str| decide(Isolation::Minimal, &rules, "Bash", &json!({"command": line}));
        assert_eq!(ruling("git log && git status"), Ruling::Allow);
        for line in ["git log; rm -rf .", "git log | sh", "git log $(evil)", "git log `evil`", "git log > x"]
        {
            assert_eq!(ruling(line), Ruling::Ask, "{line}");
        }
        for line in ["git push", "cd x && git push", "true\ngit push origin"] {
            assert!(matches!(ruling(line), Ruling::Deny { .. }), "{line}");
        }
    }

    #[test]
    fn ask_is_left_open() {
        let rules = Rules { ask: vec!["Bash(rm *)".into()], ..Rules::default() };
        assert_eq!(decide(Isolation::Minimal, &rules, "Bash", &json!({"command": "rm -rf x"})), Ruling::Ask);
    }
}
