//! Values of the wrong type, names that are none, limits that cannot be understood: what is made
//! of each, and exactly what is said about it.

use crate::entity::{clean, line, only, origin, refused, said};
use windlass_core::entity::{Kind, PluginSource, Provider};
use windlass_forms::entity::{Origin, parse};

#[test]
fn of_a_key_that_is_there_twice_the_last_wins() {
    let read = line("name: a\ndescription: d\nname: b\nextra: 1\nextra: 2");
    assert_eq!(only(&read).name, "b");
    assert_eq!(only(&read).extra["extra"], 2);
    insta::assert_snapshot!(said(&read), @"
    warning: this says again what `name` says above; this one is used
      at .claude/x.md:4:1
         4 | name: b
           | ^
      hint: remove one of the two
    warning: this says again what `extra` says above; this one is used
      at .claude/x.md:6:1
         6 | extra: 2
           | ^
      hint: remove one of the two
    ");
}

#[test]
fn a_value_of_the_wrong_type_is_used_where_that_is_safe() {
    let read = line("name: 1.10\ndescription: true");
    assert_eq!((clean(&read).name.as_str(), clean(&read).description.as_str()), ("1.10", "true"));
    let read = line("description: [a, b]\nmodel: {a: 1}");
    assert_eq!((only(&read).description.as_str(), &only(&read).model), ("[a, b]", &None));
    insta::assert_snapshot!(said(&read), @"
    warning: `description` is a list as it stands; it is read as text
      at .claude/x.md:2:14
         2 | description: [a, b]
           |              ^
      hint: put it in quotes
    warning: `model` must be text, found an object; it is passed over
      at .claude/x.md:3:8
         3 | model: {a: 1}
           |        ^
      hint: write it in quotes
    ");
    insta::assert_snapshot!(refused(&line("name: [a]\ndescription:\n  - a")), @"
    error: `name` must be text, found a list
      at .claude/x.md:2:7
         2 | name: [a]
           |       ^
      hint: write it in quotes
    warning: `description` must be text, found a list; it is passed over
      at .claude/x.md:4:3
         4 |   - a
           |   ^
      hint: write it in quotes
    ");
}

#[test]
fn a_limit_of_tools_that_cannot_be_understood_is_never_no_limit() {
    insta::assert_snapshot!(refused(&line("description: d\nallowed-tools: true")), @"
    error: `allowed-tools` must name tools, found true or false
      at .claude/x.md:3:16
         3 | allowed-tools: true
           |                ^
      hint: write it as `allowed-tools: Read, Bash(git:*)`, or as a list
    ");
    insta::assert_snapshot!(refused(&line("description: d\ntools:\n  bash: maybe")), @"
    error: `tools.bash` must be true, false, allow, ask or deny, found `maybe`
      at .claude/x.md:4:9
         4 |   bash: maybe
           |         ^
    ");
    let read = line("description: d\ntools: [Read, Grep\nmodel: opus");
    let names: Vec<&str> =
        only(&read).tools.as_ref().unwrap().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read", "grep"]);
    insta::assert_snapshot!(said(&read), @"
    warning: the `[` is never closed
      at .claude/x.md:3:8
         3 | tools: [Read, Grep
           |        ^
      hint: close it, or put the whole value in quotes
    ");
    insta::assert_snapshot!(refused(&line("description: d\ntools: Read, Bash(git")), @"
    error: a bracket in `tools` is never closed
      at .claude/x.md:3:8
         3 | tools: Read, Bash(git
           |        ^
      hint: close it, so that no tool is lost
    ");
}

#[test]
fn a_name_is_neither_a_path_nor_a_trick() {
    for (name, wrong) in [
        ("../x", "has a `/` in it"),
        ("a\\\\b", "has a `\\` in it"),
        ("a\\e[2J", "has a control character in it"),
        (" ", "is empty"),
        ("a\u{202e}b", "has a control character in it"),
    ] {
        let shown = refused(&line(&format!("name: \"{name}\"\ndescription: d")));
        let first = shown.lines().next().unwrap();
        assert!(first.starts_with("error: the name `") && first.ends_with(wrong), "{shown}");
        assert!(shown.contains("at .claude/x.md:2:7") && !shown.contains('\u{1b}'), "{shown}");
    }
    let long = "n".repeat(129);
    assert!(refused(&line(&format!("name: {long}"))).contains("is longer than 128 characters"));
    let read = parse(&Origin { name: "a\u{1b}b", ..origin(Kind::Command) }, "Do it.");
    insta::assert_snapshot!(refused(&read), @"
    error: the name `a�b` has a control character in it
      at .claude/x.md:1:1
         1 | Do it.
           | ^
      hint: rename the file, or give it a `name`
    ");
}

#[test]
fn a_name_in_the_file_wins_and_the_file_s_own_is_an_alias() {
    let read = line("name: Other\ndescription: d\naliases: one, two other\n");
    assert_eq!(clean(&read).name, "Other");
    assert_eq!(clean(&read).aliases, ["one", "two", "x"]);
    let read = line("name: X\ndescription: d");
    assert_eq!(clean(&read).aliases, [""; 0], "case makes no other name");
    let read = line("description: d\naliases:\n  - ok\n  - ../no");
    assert_eq!(only(&read).aliases, ["ok"]);
    assert!(
        said(&read).starts_with(
            "warning: the alias `../no` has a `/` in it; it is left out\n  at .claude/x.md:5:5\n"
        )
    );
}

#[test]
fn what_a_plugin_brings_has_the_plugin_s_name() {
    let plugin = PluginSource { name: "e2e".into(), root: "/p".into() };
    let origin = Origin { plugin: Some(&plugin), ..origin(Kind::Command) };
    let read = parse(&origin, "---\nname: run\naliases: [go]\n---\nDo it.\n");
    let entity = clean(&read);
    assert_eq!((entity.name.as_str(), entity.source.plugin.as_ref()), ("e2e:run", Some(&plugin)));
    assert_eq!(entity.aliases, ["e2e:go", "e2e:x"]);
}

#[test]
fn a_bomb_is_refused_and_not_repaired() {
    let mut bomb = "description: d\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..8 {
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", ")));
    }
    assert!(refused(&line(&bomb)).starts_with("error: this means far more than it says\n"));
    let deep = refused(&line(&format!("description: d\na: {}", "[".repeat(5000))));
    assert!(deep.starts_with("error: nested more than 32 levels deep\n  at .claude/x.md:3:36\n"), "{deep}");
    let long = refused(&line(&format!("description: {}", "x".repeat(64 * 1024))));
    assert!(
        long.starts_with("error: the frontmatter is longer than 64 KB\n  at .claude/x.md:1:1\n"),
        "{long}"
    );
}

#[test]
fn unknown_keys_are_kept_as_they_were_read() {
    let read = line(
        "description: d\nlicense: MIT\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          timeout: 30\nratio: 0.5\nnone:",
    );
    let expected = serde_json::json!({
        "license": "MIT",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "timeout": 30}]}]},
        "ratio": 0.5,
        "none": null,
    });
    assert_eq!(serde_json::to_value(&clean(&read).extra).unwrap(), expected);
}

#[test]
fn what_people_see_is_harmless_on_a_screen() {
    let read = line("description: \"a\\e[31mb\\u202ec\"\nargument-hint: \"\\a[x]\"\nmodel: \"m\\e\"");
    let entity = clean(&read);
    assert_eq!(entity.description, "a\u{fffd}[31mb\u{fffd}c");
    assert_eq!(entity.argument_hint.as_deref(), Some("\u{fffd}[x]"));
    assert_eq!(entity.model.as_ref().unwrap().original, "m\u{fffd}");
    let shown = refused(&line("description: d\ntools: [\"T\\e[31m\"]"));
    assert!(shown.starts_with("error: no agent CLI has a tool `T\u{fffd}[31m`"), "{shown}");
}

#[test]
fn a_limit_that_is_not_understood_says_where_and_what_was_meant() {
    insta::assert_snapshot!(refused(&line("description: d\ntools: [Read, Wrte]")), @"
    error: no agent CLI has a tool `Wrte`
      at .claude/x.md:3:15
         3 | tools: [Read, Wrte]
           |               ^
      hint: did you mean `Write`?
    ");
    insta::assert_snapshot!(refused(&line("description: d\ndisallowedTools: Teleport")), @"
    error: no agent CLI has a tool `Teleport`
      at .claude/x.md:3:18
         3 | disallowedTools: Teleport
           |                  ^
      hint: a tool of an MCP server is written `mcp__server__tool`
    ");
    insta::assert_snapshot!(refused(&line("description: d\ntools: Read\nallowed-tools: Read, Bash")), @"
    error: this sets a limit that `tools` sets above
      at .claude/x.md:4:1
         4 | allowed-tools: Read, Bash
           | ^
      hint: write one limit in one place
    ");
    insta::assert_snapshot!(refused(&line("description: d\nalowed-tools: Read")), @"
    error: unknown key `alowed-tools`: a limit would not hold
      at .claude/x.md:3:1
         3 | alowed-tools: Read
           | ^
      hint: did you mean `allowed-tools`?
    ");
    for (lines, message) in [
        ("tools: 5", "`tools` must name tools, found a number"),
        ("tools: [Read, {a: b}]", "`tools` must name tools, found an object"),
        ("tools: {bash: }", "`tools.bash` must be true, false, allow, ask or deny, found null"),
        ("tools: {wirte: false}", "no agent CLI has a tool `wirte`"),
        ("tools: {web_serch: false}", "no agent CLI has a tool `web_serch`"),
        ("tools: ['Bash(a) b)']", "the brackets of the tool `Bash(a) b)` do not match"),
        ("tools: ['Bash()']", "the brackets of the tool `Bash()` do not match"),
        ("disallowedTools: true", "`disallowedTools` must name tools, found true or false"),
        ("disallowed-tools: Bsh", "no agent CLI has a tool `Bsh`"),
        ("tool: Read", "unknown key `tool`: a limit would not hold"),
        (
            "permissionMode: plam",
            "`permissionMode` must be one of `plan`, `default`, `acceptEdits`, `bypassPermissions`, `dontAsk`, `auto`, `manual`, `delegate`, found `plam`",
        ),
        ("permissionMode: [plan]", "`permissionMode` must be a word, found a list"),
    ] {
        let shown = refused(&line(&format!("description: d\n{lines}")));
        assert!(shown.starts_with(&format!("error: {message}\n  at .claude/x.md:3:")), "{lines}: {shown}");
    }
}

#[test]
fn a_permission_that_is_not_understood_is_an_error() {
    let opencode = |lines: &str| {
        let origin =
            Origin { provider: Provider::Opencode, path: ".opencode/agent/x.md", ..origin(Kind::Agent) };
        refused(&parse(&origin, &format!("---\ndescription: d\n{lines}\n---\nDo it.\n")))
    };
    for (lines, message) in [
        (
            "permission: {edit: maybe}",
            "`permission.edit` must be true, false, allow, ask or deny, found `maybe`",
        ),
        (
            "permission: {edit: 5}",
            "`permission.edit` must be true, false, allow, ask or deny, found a number",
        ),
        (
            "permission: {edit: [deny]}",
            "`permission.edit` must be true, false, allow, ask or deny, found a list",
        ),
        (
            "permission: {bash: {'git *': alow}}",
            "`permission.bash.git *` must be true, false, allow, ask or deny, found `alow`",
        ),
        ("permission: {bash: {'': allow}}", "the pattern `` cannot be understood"),
        ("permission: {edt: deny}", "no agent CLI has a tool `edt`"),
        ("permission: {teleport: deny}", "no agent CLI has a tool `teleport`"),
        ("permission: never", "`permission` must be true, false, allow, ask or deny, found `never`"),
        ("permission: [deny]", "`permission` must be a list of rules, found a string"),
        ("permissions: [{action: edit}]", "a rule of `permissions` needs an `action` and an `effect`"),
        ("permissions: [{action: edit, efect: deny}]", "`efect` has no place in a rule of `permissions`"),
        ("permission: {edit: deny}\npermissions: []", "this sets a limit that `permission` sets above"),
    ] {
        let shown = opencode(lines);
        assert!(
            shown.starts_with(&format!("error: {message}\n  at .opencode/agent/x.md:")),
            "{lines}: {shown}"
        );
    }
    let codex = Origin { provider: Provider::Codex, path: "a.toml", ..origin(Kind::Agent) };
    let text = "description = 'd'\nsandbox_mode = 'readonly'\ndeveloper_instructions = 'x'\n";
    let shown = refused(&parse(&codex, text));
    let message = "`sandbox_mode` must be one of `read-only`, `workspace-write`, `danger-full-access`, found `readonly`";
    assert!(shown.starts_with(&format!("error: {message}\n  at a.toml:2:16\n")), "{shown}");
    assert!(shown.ends_with("hint: did you mean `read-only`?"), "{shown}");
    let gemini = Origin { provider: Provider::Gemini, ..origin(Kind::Agent) };
    let shown = refused(&parse(&gemini, "---\ndescription: d\npolicy:\n  rules: []\n---\nDo it.\n"));
    assert!(shown.starts_with("error: Windlass does not understand the limits in `policy`"), "{shown}");
}
