//! Tests for the limits that result from lists, switches and permissions.

use std::collections::BTreeMap;

use super::*;
use crate::entity::{EntityKind, EntitySource, Level};
use crate::hook::permission::{FileLimits, Isolation, PermissionRules, may_write};

fn entity(provider: Provider, tools: Option<&[&str]>, rules: &[(&str, Option<&str>, ToolEffect)]) -> Entity {
    let rule = |(tool, pattern, effect): &(&str, Option<&str>, ToolEffect)| ToolRule {
        tool: (*tool).to_owned(),
        pattern: pattern.map(str::to_owned),
        effect: *effect,
    };
    Entity {
        kind: EntityKind::Agent,
        name: "a".into(),
        description: String::new(),
        aliases: vec![],
        prompt: "p".into(),
        tools: tools.map(|tools| tools.iter().map(|tool| EntityTool::named(tool)).collect()),
        limits: rules.iter().map(rule).collect(),
        agents: vec![],
        roles: vec![],
        model: None,
        argument_hint: None,
        source: EntitySource {
            provider,
            level: Level::Project,
            distance: 0,
            path: "f".into(),
            line: 1,
            plugin: None,
        },
        extra: BTreeMap::new(),
    }
}

use ToolEffect::{Allow, Ask, Deny};

#[test]
fn a_list_is_all_there_is_and_each_tool_is_there_once() {
    let of = |provider, tools: &[&str]| {
        limits(&entity(provider, Some(tools), &[]), DriverTools::ALL).only.unwrap()
    };
    assert_eq!(of(Provider::Claude, &[]), [""; 0], "an empty list is no tools");
    assert_eq!(
        of(Provider::Claude, &["Bash(git add:*)", "Bash(git commit:*)", "Read", "Read"]),
        ["Bash(git add:*)", "Bash(git commit:*)", "Read"]
    );
    assert_eq!(of(Provider::Copilot, &["edit", "search"]), ["Edit", "Write", "NotebookEdit", "Grep", "Glob"]);
    assert_eq!(of(Provider::Copilot, &["github/*", "githubRepo"]), ["mcp__github__*", "githubRepo"]);
    assert_eq!(
        of(Provider::Gemini, &["read_file", "run_shell_command(git status)"]),
        ["Read", "Bash(git status:*)"]
    );
    assert_eq!(of(Provider::Claude, &["mcp__GitHub__getIssue"]), ["mcp__GitHub__getIssue"]);
    assert_eq!(limits(&entity(Provider::Claude, Some(&["Read", "*"]), &[]), DriverTools::ALL).only, None);
}

#[test]
fn a_tool_that_the_driver_lacks_is_named() {
    let entity = entity(Provider::Claude, Some(&["Read", "Task", "KillShell", "Bash(git:*)"]), &[]);
    let driver = DriverTools { has: &[ToolName::Read, ToolName::Shell], keeps_patterns: false };
    let limits = limits(&entity, driver);
    assert_eq!(limits.only.unwrap(), ["Read", "KillShell", "Bash"]);
    assert_eq!(limits.missing, ["Task"]);
    assert_eq!(limits.wider, ["Bash(git:*)"]);
}

#[test]
fn what_is_switched_off_is_denied_and_nothing_else_changes() {
    let of = |rules: &[_]| limits(&entity(Provider::Opencode, None, rules), DriverTools::ALL);
    let read_only = of(&[("write", None, Deny), ("edit", None, Deny), ("bash", None, Deny)]);
    assert_eq!(read_only.deny, ["Write", "Edit", "Bash"]);
    assert_eq!((read_only.only, read_only.ordered), (None, vec![]));
    let no_write = of(&[("write", None, Deny), ("bash", None, Allow)]);
    assert_eq!(no_write.deny, ["Write"]);
    assert_eq!((no_write.only, no_write.ask, no_write.ordered), (None, vec![], vec![]));
}

#[test]
fn exceptions_keep_their_order() {
    let rules =
        [("bash", None, Ask), ("bash", Some("git *"), Allow), ("edit", None, Deny), ("webfetch", None, Ask)];
    let limits = limits(&entity(Provider::Opencode, None, &rules), DriverTools::ALL);
    let rule = |rule: &str, effect| LimitRule { rule: rule.to_owned(), effect };
    assert_eq!(limits.ordered[..2], [rule("Bash", Ask), rule("Bash(git *)", Allow)]);
    assert_eq!(limits.ask, ["WebFetch"]);
    assert_eq!(limits.deny, ["Edit"]);
}

#[test]
fn who_may_neither_write_nor_run_commands_changes_no_files() {
    let of =
        |tools: Option<&[&str]>, rules: &[_]| may_change_files(&entity(Provider::Opencode, tools, rules));
    assert!(of(None, &[]));
    assert!(!of(Some(&["Read"]), &[]));
    assert!(of(Some(&["Read", "Bash(git:*)"]), &[]));
    assert!(of(Some(&["Read", "Monitor"]), &[]), "it runs commands");
    assert!(!of(None, &[("write", None, Deny), ("edit", None, Deny), ("bash", None, Deny)]));
    assert!(!of(None, &[("*", None, Deny)]));
    assert!(of(None, &[("write", None, Deny), ("edit", None, Deny)]), "a shell may");
    assert!(of(None, &[("write", None, Deny), ("edit", None, Deny), ("bash", Some("rm *"), Deny)]));
    let builtin = |tools: Option<&[&str]>| {
        let mut entity = entity(Provider::Windlass, tools, &[]);
        entity.source.level = Level::Builtin;
        may_change_files(&entity)
    };
    assert!(!builtin(Some(&["read", "bash"])), "its text forbids changes");
    assert!(builtin(Some(&["edit"])) && builtin(None));
}

#[test]
fn a_node_that_only_reads_gets_the_tools_that_read() {
    let only = |tools: &SessionTools| limits_of_node(tools, DriverTools::ALL).only;
    let names = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    assert_eq!(only(&SessionTools::Read), names(&["Read", "LS", "Glob", "Grep"]));
    let these = |tools: &[&str]| SessionTools::These(tools.iter().map(|&tool| tool.to_owned()).collect());
    assert_eq!(only(&these(&["read_file", "Bash(git diff:*)"])), names(&["Read", "Bash(git diff:*)"]));
    assert_eq!(only(&these(&[])), names(&[]), "no tool at all");
    assert_eq!(only(&these(&["*"])), None);
}

#[test]
fn only_a_node_without_shell_and_edits_leaves_the_files_alone() {
    let these = |tool: &str| SessionTools::These(vec!["Read".to_owned(), tool.to_owned()]);
    assert!(!may_change_files_with(&SessionTools::Read));
    assert!(!may_change_files_with(&these("WebFetch")));
    for tool in ["Edit", "write_file", "Bash", "Bash(git diff:*)"] {
        assert!(may_change_files_with(&these(tool)), "{tool}");
    }
}

#[test]
fn a_session_that_only_reads_is_no_writer() {
    let rules = |tools: &SessionTools| PermissionRules {
        bounds: vec![FileLimits {
            only: limits_of_node(tools, DriverTools::ALL).only,
            ..FileLimits::default()
        }],
        ..PermissionRules::default()
    };
    assert!(!may_write(Isolation::Permissive, &rules(&SessionTools::Read)));
    let edits = SessionTools::These(vec!["Edit".to_owned()]);
    assert!(may_write(Isolation::Permissive, &rules(&edits)));
}
