//! The names that agent CLIs give to their tools.
//!
//! One row a tool, in the words of each CLI. Which tools an entity names is
//! [`entity`](crate::entity)'s; what becomes of one that a driver lacks is the caller's.

use crate::entity::Tool;

/// What a tool is on a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapped {
    /// The driver's name for it, with the pattern where the driver can enforce it.
    To(String),
    /// The driver's name for it, but the driver cannot keep to the pattern: it would allow more.
    Wider(String),
    /// Every tool the driver has.
    Everything,
    /// The driver has no such tool, or nobody knows it.
    Unknown,
}

/// A tool and its names.
struct Row {
    /// In our words.
    name: &'static str,
    /// In those of others, where they are not a driver's below.
    others: &'static [&'static str],
    claude: &'static str,
    codex: &'static str,
    opencode: &'static str,
    copilot: &'static str,
    gemini: &'static str,
    /// The kind of a tool call, which is all that the protocol names.
    acp: &'static str,
}

/// In the order of the fields of a row; an empty name is a tool that is not there.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("bash", &["shell", "execute", "exec", "terminal", "run_command", "local_shell", "run_in_terminal"],
        ["Bash", "exec_command", "bash", "bash", "run_shell_command", "execute"]),
    row("read", &["read_many_files", "view", "cat"], ["Read", "", "read", "view", "read_file", "read"]),
    row("write", &["create_file"], ["Write", "apply_patch", "write", "create", "write_file", "edit"]),
    row("edit", &["str_replace", "str_replace_editor", "str_replace_based_edit_tool", "patch", "apply_patch", "edit_file"],
        ["Edit", "apply_patch", "edit", "edit", "replace", "edit"]),
    row("multiedit", &["multi_edit"], ["Edit", "apply_patch", "edit", "edit", "replace", "edit"]),
    row("glob", &["find", "file_search"], ["Glob", "", "glob", "glob", "glob", "search"]),
    row("grep", &["search", "grep_search", "codebase"], ["Grep", "", "grep", "grep", "search_file_content", "search"]),
    row("list", &["listdir", "list_dir"], ["LS", "", "list", "", "list_directory", "read"]),
    row("webfetch", &["fetch", "web"], ["WebFetch", "", "webfetch", "web_fetch", "web_fetch", "fetch"]),
    row("websearch", &["web_search_request"], ["WebSearch", "web_search", "websearch", "web_search", "google_web_search", "fetch"]),
    row("task", &["agent", "subagent", "custom-agent"], ["Task", "", "task", "task", "", ""]),
    row("skill", &["skills"], ["Skill", "", "skill", "skill", "activate_skill", ""]),
    row("todowrite", &["todo", "todoread", "update_plan"], ["TodoWrite", "", "todowrite", "update_todo", "write_todos", ""]),
    row("notebookedit", &["notebook_edit"], ["NotebookEdit", "", "", "", "", "edit"]),
    row("question", &["ask"], ["AskUserQuestion", "request_user_input", "question", "ask_user", "ask_user", ""]),
];

const fn row(name: &'static str, others: &'static [&'static str], names: [&'static str; 6]) -> Row {
    let [claude, codex, opencode, copilot, gemini, acp] = names;
    Row { name, others, claude, codex, opencode, copilot, gemini, acp }
}

impl Row {
    /// The name on a driver; empty where it has no such tool.
    fn on(&self, driver: &str) -> &'static str {
        match driver {
            "claude" | "sim" => self.claude,
            "codex" => self.codex,
            "opencode" => self.opencode,
            "copilot" => self.copilot,
            "gemini" => self.gemini,
            "acp" => self.acp,
            _ => "",
        }
    }

    /// Whether a driver gives this tool that name, but for its case.
    fn is_on_a_driver(&self, name: &str) -> bool {
        DRIVERS.iter().any(|driver| self.on(driver).eq_ignore_ascii_case(name))
    }
}

/// Those whose names of tools are names of tools; those of the protocol are kinds of them.
const DRIVERS: [&str; 5] = ["claude", "codex", "opencode", "copilot", "gemini"];

/// Our word for a tool, whoever's word it is.
pub fn canonical(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    if name.is_empty() {
        return None;
    }
    // One CLI's word for two tools, or for another's tool, is settled by the first column that has it.
    let called = |is: fn(&Row, &str) -> bool| ROWS.iter().find(|row| is(row, &name));
    let known =
        called(|row, name| row.name == name).or_else(|| called(|row, name| row.others.contains(&name)));
    known.or_else(|| called(Row::is_on_a_driver)).map(|row| row.name)
}

/// What a tool is on a driver. Tools of MCP servers go by their own name everywhere.
pub fn map(tool: &Tool, driver: &str) -> Mapped {
    let written = tool.pattern.as_deref().unwrap_or(&tool.name);
    if tool.name == "*" || tool.name == "all" {
        return Mapped::Everything;
    }
    if tool.name.starts_with("mcp__") {
        return Mapped::To(written.to_owned());
    }
    let row = canonical(&tool.name).and_then(|name| ROWS.iter().find(|row| row.name == name));
    let Some(name) = row.map(|row| row.on(driver)).filter(|name| !name.is_empty()) else {
        return Mapped::Unknown;
    };
    match written.find('(').and_then(|at| written.get(at..)) {
        None => Mapped::To(name.to_owned()),
        // Rather no tool than one without the limits that were meant.
        Some(pattern) if !is_pattern(pattern) => Mapped::Unknown,
        Some("(*)" | "(:*)") => Mapped::To(name.to_owned()),
        Some(pattern) if matches!(driver, "claude" | "sim") => Mapped::To(format!("{name}{pattern}")),
        Some(_) => Mapped::Wider(name.to_owned()),
    }
}

/// One pair of brackets around all of it.
fn is_pattern(pattern: &str) -> bool {
    let mut depth = 0usize;
    let ends_at_once = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    let end = pattern.find(ends_at_once);
    end.is_some_and(|end| end + 1 == pattern.len()) && !pattern.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(name: &str) -> Mapped {
        Mapped::To(name.into())
    }

    #[test]
    fn every_word_for_a_tool_is_that_tool() {
        let rows: &[(&str, &[&str])] = &[
            ("bash", &["bash", "Bash", "shell", "execute", "run_shell_command", "exec_command"]),
            ("read", &["Read", "read_file", "view"]),
            ("write", &["Write", "write_file", "create"]),
            ("edit", &["Edit", "replace", "str_replace", "patch"]),
            ("multiedit", &["MultiEdit"]),
            ("glob", &["Glob"]),
            ("grep", &["Grep", "search", "search_file_content", "grep_search"]),
            ("webfetch", &["WebFetch", "web_fetch", "fetch"]),
            ("websearch", &["WebSearch", "web_search", "google_web_search"]),
            ("task", &["Task", "agent"]),
            ("skill", &["Skill"]),
            ("todowrite", &["TodoWrite", "todo"]),
            ("list", &["list", "LS", "list_directory"]),
            ("notebookedit", &["NotebookEdit"]),
            ("question", &["question", "AskUserQuestion"]),
        ];
        for (name, words) in rows {
            for word in *words {
                assert_eq!(canonical(word), Some(*name), "{word}");
            }
        }
        assert_eq!(canonical("apply_patch"), Some("edit"));
        assert_eq!(canonical("teleport"), None);
        assert_eq!(canonical(""), None);
    }

    #[test]
    fn a_tool_has_the_name_of_its_driver() {
        let rows = [
            ("claude", ["Bash", "Read", "Write", "Edit", "Grep", "WebSearch"].map(to)),
            ("sim", ["Bash", "Read", "Write", "Edit", "Grep", "WebSearch"].map(to)),
            ("opencode", ["bash", "read", "write", "edit", "grep", "websearch"].map(to)),
            ("copilot", ["bash", "view", "create", "edit", "grep", "web_search"].map(to)),
            (
                "gemini",
                [
                    "run_shell_command",
                    "read_file",
                    "write_file",
                    "replace",
                    "search_file_content",
                    "google_web_search",
                ]
                .map(to),
            ),
            ("acp", ["execute", "read", "edit", "edit", "search", "fetch"].map(to)),
        ];
        for (driver, names) in rows {
            let mapped = ["shell", "read_file", "create", "str_replace", "search", "web_search"]
                .map(|word| map(&Tool::named(word), driver));
            assert_eq!(mapped, names, "{driver}");
        }
        assert_eq!(map(&Tool::named("Bash"), "codex"), to("exec_command"));
        assert_eq!(map(&Tool::named("Edit"), "codex"), to("apply_patch"));
        assert_eq!(map(&Tool::named("Read"), "codex"), Mapped::Unknown);
        assert_eq!(map(&Tool::named("Read"), "nobody"), Mapped::Unknown);
        assert_eq!(map(&Tool::named("Teleport"), "claude"), Mapped::Unknown);
    }

    #[test]
    fn a_pattern_is_kept_where_it_can_be_enforced_and_said_where_not() {
        let git = Tool::named("Bash(git:*)");
        assert_eq!(map(&git, "claude"), to("Bash(git:*)"));
        assert_eq!(map(&git, "gemini"), Mapped::Wider("run_shell_command".into()));
        assert_eq!(map(&Tool::named("shell(git log (x))"), "sim"), to("Bash(git log (x))"));
        assert_eq!(map(&Tool::named("Bash(*)"), "gemini"), to("run_shell_command"));
        assert_eq!(map(&Tool::named("Edit"), "gemini"), to("replace"));
    }

    #[test]
    fn a_broken_pattern_does_not_widen_a_tool() {
        for written in ["Bash(git:*", "Bash(git:*) Write", "Bash(a), Write(b)", "Bash(a\nb)", "Bash(a))"] {
            assert_eq!(map(&Tool::named(written), "claude"), Mapped::Unknown, "{written:?}");
        }
    }

    #[test]
    fn servers_tools_keep_their_names_and_a_star_is_everything() {
        for driver in DRIVERS {
            assert_eq!(map(&Tool::named("mcp__GitHub__getIssue"), driver), to("mcp__GitHub__getIssue"));
            assert_eq!(map(&Tool::named("*"), driver), Mapped::Everything);
            assert_eq!(map(&Tool::named("All"), driver), Mapped::Everything);
        }
    }
}
