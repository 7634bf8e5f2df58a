//! Tests for the limits that result from lists, switches and permissions.

use std::collections::BTreeMap;

use super::*;
use crate::entity::{EntityKind, EntitySource, Level};

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
