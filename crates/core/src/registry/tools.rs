//! The spellings of tools that people may use in rules and limits: one row per tool.
//!
//! This is the only such table outside the drivers. [`entity`](crate::entity) has the tools that an entity
//! names.

use crate::entity::Provider;
use crate::hook::ToolName;

/// A tool and its names.
struct ToolSpellings {
    /// Windlass's word. There are more of these than [`ToolName`] has variants, because rules distinguish
    /// more tools.
    name: &'static str,
    kind: ToolName,
    /// The spelling that rules use.
    spelling: &'static str,
    /// Other spellings, in lower case.
    others: &'static [&'static str],
}

/// The spellings that Windlass accepts. If two rows share a spelling, the first row applies.
#[rustfmt::skip]
const ROWS: &[ToolSpellings] = &[
    row("bash", ToolName::Shell, "Bash", &["shell", "execute", "exec", "terminal", "run_command", "local_shell", "run_in_terminal",
        "powershell", "bash_tool", "runcommands", "runcommand", "runinterminal", "local_shell_call", "unified_exec", "shell_command",
        "exec_command", "run_shell_command"]),
    row("read", ToolName::Read, "Read", &["read_many_files", "view", "cat", "readfile", "readmanyfiles", "notebookread", "notebook_read",
        "view_image", "read_file"]),
    row("write", ToolName::Write, "Write", &["create_file", "createfile", "writefile", "new", "create", "write_file"]),
    row("edit", ToolName::Edit, "Edit", &["str_replace", "str_replace_editor", "str_replace_based_edit_tool", "patch", "apply_patch",
        "edit_file", "editfile", "editfiles", "replace"]),
    row("multiedit", ToolName::Edit, "Edit", &["multi_edit"]),
    row("glob", ToolName::Search, "Glob", &["find", "file_search", "filesearch", "findfiles"]),
    row("grep", ToolName::Search, "Grep", &["search", "grep_search", "codebase", "usages", "textsearch", "searchtext", "ripgrep", "rg",
        "search_file_content"]),
    row("list", ToolName::Read, "LS", &["listdir", "list_dir", "listdirectory", "readfolder", "ls", "list_directory"]),
    row("webfetch", ToolName::WebFetch, "WebFetch", &["fetch", "web", "web_fetch"]),
    row("websearch", ToolName::WebSearch, "WebSearch", &["web_search_request", "googlesearch", "web_search", "google_web_search"]),
    row("task", ToolName::Task, "Task", &["agent", "subagent", "custom-agent", "runsubagent"]),
    row("skill", ToolName::Skill, "Skill", &["skills", "activate_skill"]),
    row("todowrite", ToolName::Plan, "TodoWrite", &["todo", "todos", "todoread", "update_plan", "manage_todo_list", "update_todo",
        "write_todos", "plan"]),
    row("notebookedit", ToolName::Edit, "NotebookEdit", &["notebook_edit"]),
    row("question", ToolName::Plan, "AskUserQuestion", &["ask", "askuserquestion", "request_user_input", "ask_user"]),
];

const fn row(
    name: &'static str,
    kind: ToolName,
    spelling: &'static str,
    others: &'static [&'static str],
) -> ToolSpellings {
    ToolSpellings { name, kind, spelling, others }
}

/// Tools that exist in some agent CLI only. A limit may name them; for other CLIs this has no effect.
#[rustfmt::skip]
const ELSEWHERE: &[&str] = &[
    // Claude Code.
    "bashoutput", "killshell", "killbash", "exitplanmode", "exit_plan_mode", "enterplanmode", "slashcommand", "toolsearch",
    "structuredoutput", "taskcreate", "taskget", "tasklist", "taskupdate", "taskoutput", "taskstop", "listmcpresources",
    "listmcpresourcestool", "readmcpresource", "readmcpresourcetool", "lsp", "monitor", "sendmessage", "teamcreate", "teamdelete",
    "croncreate", "crondelete", "cronlist", "enterworktree", "exitworktree", "workflow", "computer", "present_files", "agentoutputtool",
    "repl", "listagents", "reportfindings", "schedulewakeup",
    // OpenCode.
    "codesearch", "doom_loop", "plan_enter", "plan_exit", "external_directory", "invalid", "batch", "repo_clone", "repo_overview",
    // Copilot, its editor and its CLI.
    "problems", "changes", "think", "vscodeapi", "githubrepo", "opensimplebrowser", "findtestfiles", "testfailure", "terminallastcommand",
    "terminalselection", "extensions", "searchresults", "runnotebooks", "runtasks", "runtests", "runtask", "gettaskoutput",
    "getterminaloutput", "createdirectory", "editnotebook", "runnotebookcell", "getnotebooksummary", "readnotebookcelloutput",
    "selection", "activepullrequest", "newworkspace", "getprojectsetupinfo", "installextension", "runvscodecommand", "memory",
    "vscode", "askquestions", "switchagent", "handoff", "report_intent", "report_progress", "read_bash", "stop_bash", "write_bash",
    "list_bash", "fetch_copilot_cli_documentation", "store_memory", "copilotcodingagent", "openintegratedbrowser", "browser",
    // Codex.
    "write_stdin", "get_goal", "create_goal", "update_goal", "spawn_agent", "send_input", "wait", "close_agent", "tool_search",
    // Gemini.
    "save_memory", "get_internal_docs", "exit_plan_mode", "enter_plan_mode", "update_topic", "complete_task",
    "codebase_investigator", "cli_help", "generalist", "tracker_create_task", "tracker_update_task", "tracker_get_task",
    "tracker_list_tasks", "tracker_add_dependency", "tracker_visualize",
];

/// Further tools that affect only the conversation. No rule applies to them.
#[rustfmt::skip]
const INNER: &[&str] = &[
    "structuredoutput", "toolsearch", "taskcreate", "taskget", "tasklist", "taskupdate", "taskoutput", "taskstop", "bashoutput",
    "killshell",
];

/// Further tools that run commands or type into a shell.
const SHELLS: &[&str] = &["monitor", "write_stdin", "write_bash"];

/// Further tools that neither change a file nor run a command.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "exitplanmode", "exit_plan_mode", "enterplanmode", "enter_plan_mode", "plan_enter", "plan_exit", "listmcpresources",
    "listmcpresourcestool", "readmcpresource", "readmcpresourcetool", "lsp", "listagents", "reportfindings", "cronlist",
    "schedulewakeup", "agentoutputtool", "killbash", "toolsearch", "tool_search", "codesearch", "think", "problems", "changes",
    "report_intent", "report_progress", "read_bash", "stop_bash", "list_bash", "get_internal_docs", "cli_help", "get_goal",
];

/// The tool sets that Copilot's editor writes before a slash: `search/codebase`.
const SETS: [&str; 12] = [
    "edit",
    "search",
    "read",
    "execute",
    "web",
    "agent",
    "todo",
    "vscode",
    "runcommands",
    "runtasks",
    "runnotebooks",
    "new",
];

/// The tools that read files and search in them, and can do nothing else.
pub const READERS: [&str; 4] = ["read", "list", "glob", "grep"];

/// Returns the name of a tool that people see, the same for every agent CLI: the spelling of rules. `own` is the
/// CLI's name. A tool that rules do not spell, or one of an MCP server, keeps it.
pub fn label(tool: ToolName, own: &str) -> &str {
    let lower = own.to_lowercase();
    let is_own = |row: &&ToolSpellings| row.name == lower || row.others.contains(&lower.as_str());
    let of_kind = || ROWS.iter().filter(|row| row.kind == tool && tool != ToolName::Plan);
    of_kind().find(is_own).or_else(|| of_kind().next()).map_or(own, |row| row.spelling)
}

/// The meaning of a tool name in a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    Everything,
    /// These tools, in Windlass's words.
    These(Vec<&'static str>),
    /// Tools of MCP servers, or all tools that a wildcard matches.
    Matching(String),
    /// A tool that only another CLI has.
    Elsewhere,
    /// A tool that no agent CLI has.
    Unknown,
}

/// Returns the meaning of a tool name in a limit. Copilot's words are broader than others: its `edit` also
/// writes new files, and its `search` also finds files by name.
pub fn named(name: &str, provider: Provider) -> Named {
    let lower = name.trim().to_lowercase();
    let wide: &[&'static str] = match lower.as_str() {
        "*" | "all" => return Named::Everything,
        "search" => &["grep", "glob"],
        "mcp" => return Named::Matching("mcp__*".to_owned()),
        "other" => return Named::Elsewhere,
        "editfiles" => &["edit", "write", "notebookedit"],
        "web" => &["webfetch", "websearch"],
        "codebase" => &["grep", "glob"],
        "edit" if provider == Provider::Copilot => &["edit", "write", "notebookedit"],
        "read" if provider == Provider::Copilot => &["read", "list"],
        _ => &[],
    };
    if !wide.is_empty() {
        return Named::These(wide.to_vec());
    }
    if let Some(name) = canonical(&lower) {
        return Named::These(vec![name]);
    }
    if ELSEWHERE.contains(&lower.as_str()) || lower.starts_with("discovered_tool_") {
        return Named::Elsewhere;
    }
    if let Some((set, inner)) = lower.split_once('/') {
        return match SETS.contains(&set) {
            true if inner == "*" => self::named(set, Provider::Copilot),
            true => match self::named(inner, provider) {
                Named::Unknown => Named::Elsewhere,
                known => known,
            },
            false if is_plain(set) && is_plain(inner) => Named::Matching(format!("mcp__{set}__{inner}")),
            false => Named::Unknown,
        };
    }
    match () {
        () if !is_plain(&lower) => Named::Unknown,
        () if lower.starts_with("mcp__") && lower.len() > 5 => Named::Matching(name.trim().to_owned()),
        // Gemini separates server and tool by one underscore.
        () if lower.starts_with("mcp_") => Named::Matching(lower),
        () if lower.contains(['*', '?']) => Named::Matching(lower),
        // OpenCode names a tool of a server `server_tool`.
        () if provider == Provider::Opencode && lower.contains('_') => Named::Matching(lower),
        () => Named::Unknown,
    }
}

/// Returns true if a name has only characters that tool names and wildcards use.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.:-*?@".contains(c))
}

/// Returns every word for a tool, for suggestions: spellings in rules first.
pub fn words() -> impl Iterator<Item = &'static str> {
    let of_row =
        |row: &'static ToolSpellings| [row.spelling, row.name].into_iter().chain(row.others.iter().copied());
    let ours = ToolName::ALL.into_iter().map(ToolName::word);
    ROWS.iter().flat_map(of_row).chain(ours).chain(ELSEWHERE.iter().copied())
}

/// Returns Windlass's word for a tool, from any CLI's word.
pub fn canonical(name: &str) -> Option<&'static str> {
    row_of(name).map(|row| row.name)
}

fn row_of(name: &str) -> Option<&'static ToolSpellings> {
    let name = name.to_lowercase();
    let by_name = ROWS.iter().find(|row| row.name == name);
    by_name.or_else(|| ROWS.iter().find(|row| row.others.contains(&name.as_str())))
}

/// Returns the kind of a tool that a rule or a limit names.
pub fn kind(name: &str) -> Option<ToolName> {
    ToolName::parse(name).or_else(|| row_of(name).map(|row| row.kind))
}

/// Returns the spelling of one of Windlass's tools in rules.
pub fn spelling(name: &'static str) -> &'static str {
    ROWS.iter().find(|row| row.name == name).map_or(name, |row| row.spelling)
}

/// Returns true if a tool runs commands.
pub fn is_shell(name: &str) -> bool {
    canonical(name) == Some("bash") || SHELLS.contains(&name.to_lowercase().as_str())
}

/// Returns true if a tool always passes, so that rules about it have no effect.
pub fn is_always_allowed(name: &str) -> bool {
    let lower = name.to_lowercase();
    kind(&lower) == Some(ToolName::Plan) || INNER.contains(&lower.as_str())
}

/// Returns true if an edit tool also writes new files.
pub fn is_every_edit(name: &str) -> bool {
    let every = ["apply_patch", "patch", "str_replace_editor", "str_replace_based_edit_tool", "editfiles"];
    every.contains(&name.to_lowercase().as_str())
}

/// Returns true if Windlass knows what a tool can do. Then rules about it, or about its kind, are
/// sufficient.
pub fn is_understood(name: &str) -> bool {
    let lower = name.to_lowercase();
    canonical(&lower).is_some() || is_shell(&lower) || HARMLESS.contains(&lower.as_str())
}

/// Returns the pattern of `Name(pattern)`. Fails unless one pair of brackets encloses all of it.
pub fn pattern(written: &str) -> Result<Option<&str>, BrokenPattern> {
    let Some(at) = written.find('(') else {
        return if written.contains(')') { Err(BrokenPattern) } else { Ok(None) };
    };
    let rest = written.get(at..).unwrap_or_default();
    let inner = rest.get(1..rest.len().saturating_sub(1)).unwrap_or_default();
    match is_pattern(rest) && !inner.trim().is_empty() {
        true => Ok(Some(inner).filter(|inner| !matches!(*inner, "*" | ":*"))),
        false => Err(BrokenPattern),
    }
}

/// The error for brackets that are empty or do not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenPattern;

/// Explains why a rule can never match as intended, and what to write instead.
pub fn name_error(name: &str, pattern: Option<&str>) -> Option<(&'static str, &'static str)> {
    let is_of_server = |name: &str| name.starts_with("mcp__") || name.contains('/');
    if name.contains(':') && !is_of_server(name) {
        return Some(("a tool name cannot contain `:`", "write the tool alone, or `NAME(PATTERN)`"));
    }
    let pattern = pattern?;
    match canonical(name) {
        Some("bash") => command_pattern_error(pattern),
        _ if name.starts_with("mcp__") => {
            Some(("a rule about an MCP tool cannot have a pattern", "name the tool alone"))
        }
        _ if name.eq_ignore_ascii_case("mcp") => Some((
            "a rule about MCP tools cannot have a pattern",
            "name the server or the tool: `mcp__server`",
        )),
        _ if name.eq_ignore_ascii_case("other") => {
            Some(("a rule about other tools cannot have a pattern", "name the tool alone"))
        }
        Some("read" | "write" | "edit" | "multiedit" | "notebookedit" | "list") => {
            path_pattern_error(pattern)
        }
        _ => None,
    }
}

fn command_pattern_error(pattern: &str) -> Option<(&'static str, &'static str)> {
    let is_expression = pattern.len() > 1 && pattern.starts_with('/') && pattern.ends_with('/')
        || pattern.starts_with('^')
        || pattern.ends_with('$');
    let is_list = pattern
        .split('{')
        .skip(1)
        .any(|rest| rest.split('}').next().is_some_and(|in_it| in_it.contains(',')));
    match () {
        () if is_expression => Some((
            "a pattern is not a regular expression",
            "write the command, with `*` for any text: `git push *`",
        )),
        () if pattern.contains('|') || pattern.contains("&&") => Some((
            "Windlass checks each command of a line separately, so no command can match this",
            "write one rule for each command",
        )),
        () if is_list => Some(("a pattern cannot contain a list in `{}`", "write one rule for each command")),
        () => None,
    }
}

fn path_pattern_error(pattern: &str) -> Option<(&'static str, &'static str)> {
    match () {
        () if pattern.ends_with(":*") => {
            Some(("`:*` works in a pattern about commands, not about files", "write `*` for any text"))
        }
        () if pattern.contains(['{', '}', '[', ']']) => Some((
            "a pattern about files cannot contain `{}` or `[]`",
            "write one rule for each, with `*` for any text and `?` for one character",
        )),
        () if pattern.starts_with('!') => {
            Some(("a pattern about files cannot start with `!`", "name the files that the rule is about"))
        }
        () => None,
    }
}

/// Returns true if one pair of brackets encloses the whole text.
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
    fn every_canonical_word_may_be_written_and_means_what_it_says() {
        for tool in ToolName::ALL {
            assert_ne!(named(tool.word(), Provider::Claude), Named::Unknown, "{}", tool.word());
            assert_eq!(kind(tool.word()), Some(tool));
        }
        assert_eq!(kind("Bash"), Some(ToolName::Shell));
        assert_eq!(kind("Glob"), Some(ToolName::Search));
        assert_eq!(kind("teleport"), None);
    }

    #[test]
    fn a_name_stands_for_what_its_provider_means() {
        let these = |names: &[&'static str]| Named::These(names.to_vec());
        let matching = |name: &str| Named::Matching(name.to_owned());
        let rows = [
            ("edit", Provider::Claude, these(&["edit"])),
            ("edit", Provider::Copilot, these(&["edit", "write", "notebookedit"])),
            ("editFiles", Provider::Copilot, these(&["edit", "write", "notebookedit"])),
            ("edit/editFiles", Provider::Copilot, these(&["edit", "write", "notebookedit"])),
            ("search", Provider::Copilot, these(&["grep", "glob"])),
            ("search/*", Provider::Copilot, these(&["grep", "glob"])),
            ("runCommands", Provider::Copilot, these(&["bash"])),
            ("execute/runInTerminal", Provider::Copilot, these(&["bash"])),
            ("search/changes", Provider::Copilot, Named::Elsewhere),
            ("githubRepo", Provider::Copilot, Named::Elsewhere),
            ("github/*", Provider::Copilot, matching("mcp__github__*")),
            ("playwright/click", Provider::Copilot, matching("mcp__playwright__click")),
            ("read_file", Provider::Gemini, these(&["read"])),
            ("replace", Provider::Gemini, these(&["edit"])),
            ("mcp_github_*", Provider::Gemini, matching("mcp_github_*")),
            ("save_memory", Provider::Gemini, Named::Elsewhere),
            ("mcp__GitHub__getIssue", Provider::Claude, matching("mcp__GitHub__getIssue")),
            ("github_create_issue", Provider::Opencode, matching("github_create_issue")),
            ("web*", Provider::Opencode, matching("web*")),
            ("*", Provider::Opencode, Named::Everything),
            ("All", Provider::Claude, Named::Everything),
            ("Bsh", Provider::Claude, Named::Unknown),
            ("a b", Provider::Claude, Named::Unknown),
            ("", Provider::Claude, Named::Unknown),
        ];
        for (name, provider, expected) in rows {
            assert_eq!(named(name, provider), expected, "{name} of {provider}");
        }
    }

    #[test]
    fn a_tool_has_one_label_whatever_a_cli_calls_it() {
        for own in ["Bash", "bash", "run_shell_command", "exec_command", "a_new_shell"] {
            assert_eq!(label(ToolName::Shell, own), "Bash");
        }
        assert_eq!(label(ToolName::Search, "grep_search"), "Grep");
        assert_eq!(label(ToolName::Read, "list_directory"), "LS");
        assert_eq!(label(ToolName::Mcp, "mcp__docs__find"), "mcp__docs__find");
        assert_eq!(label(ToolName::Other, "memory"), "memory");
        assert_eq!(label(ToolName::Plan, "update_plan"), "update_plan");
    }

    #[test]
    fn a_pattern_stands_in_one_pair_of_brackets() {
        assert_eq!(pattern("Bash"), Ok(None));
        assert_eq!(pattern("Bash(*)"), Ok(None));
        assert_eq!(pattern("Bash(git:*)"), Ok(Some("git:*")));
        assert_eq!(pattern("Bash(git log (x))"), Ok(Some("git log (x)")));
        for written in [
            "Bash(git:*",
            "Bash(git:*) Write",
            "Bash(a), Write(b)",
            "Bash(a\nb)",
            "Bash(a))",
            "Bash()",
            "Bash)",
        ] {
            assert_eq!(pattern(written), Err(BrokenPattern), "{written:?}");
        }
    }
}
