//! Values of the wrong type, names that are none, limits that cannot be understood: what is made
//! of each, and exactly what is said about it.

use crate::entity::{clean, line, only, origin, refused, said};
use windlass_core::entity::{EntityKind, PluginSource, Provider};
use windlass_forms::entity::{Origin, parse};

#[test]
fn of_a_key_that_is_there_twice_the_last_wins() {
    let read = line("name: a\ndescription: d\nname: b\nextra: 1\nextra: 2");
    assert_eq!(only(&read).name, "b");
    assert_eq!(only(&read).extra["extra"], 2);
    insta::assert_snapshot!(said(&read), @"
    warning: this has the same meaning as `name` above; this one is used
      at .claude/x.md:4:1
         4 | name: b
           | ^
      hint: remove one of the two
    warning: this has the same meaning as `extra` above; this one is used
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
    warning: `description` is a list without quotes; it is read as text
      at .claude/x.md:2:14
         2 | description: [a, b]
           |              ^
      hint: put it in quotes
    warning: `model` must be text, found an object; it is ignored
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
    warning: `description` must be text, found a list; it is ignored
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
fn a_merge_key_never_loses_a_limit() {
    let head = "description: d\nbase: &base\n  tools: Read\n";
    for provider in [Provider::Claude, Provider::Opencode, Provider::Copilot] {
        for kind in [EntityKind::Agent, EntityKind::Skill, EntityKind::Command] {
            for merge in
                ["<<: *base", "<<: [*base]", "\"<<\": *base", "permission:\n  <<: *base", "<<: {tools: Read}"]
            {
                let origin = Origin { provider, ..origin(kind) };
                let read = parse(&origin, &format!("---\n{head}{merge}\n---\ntext\n"));
                let told = refused(&read);
                assert!(told.contains("`<<` copies keys from elsewhere"), "{provider} {merge}: {told}");
                assert!(told.contains("hint: write the keys out"), "{told}");
            }
        }
    }
    // What is almost YAML is read line by line.
    let told = refused(&line("description: a: b\n<<: *base"));
    assert!(told.starts_with("error: "), "{told}");
    clean(&line("description: d\nx: a << b"));
}

#[test]
fn a_rule_that_could_never_hold_is_an_error() {
    for (lines, rule) in [
        ("allowed-tools: Read, mcp__a__b(x)", "mcp__a__b(x)"),
        ("allowed-tools: 'Bash(git push *|git pull *)'", "Bash(git push *|git pull *)"),
        ("disallowed-tools: 'Write({.env,src/**})'", "Write({.env,src/**})"),
        ("permission: {edit: {'[.]env': deny}}", "edit([.]env)"),
        ("permission: {bash: {'git pu{sh,ll} *': deny}}", "bash(git pu{sh,ll} *)"),
        ("permission: [{action: write, resource: '.env:*', effect: deny}]", "write(.env:*)"),
    ] {
        let told = refused(&line(&format!("description: d\n{lines}")));
        assert!(told.contains(&format!("the rule `{rule}` never applies, because")), "{told}");
        assert!(told.contains("at .claude/x.md:3:") && told.contains("hint: "), "{told}");
    }
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
    let read = parse(&Origin { name: "a\u{1b}b", ..origin(EntityKind::Command) }, "Do it.");
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
    let origin = Origin { plugin: Some(&plugin), ..origin(EntityKind::Command) };
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
    assert!(refused(&line(&bomb)).starts_with("error: there are too many values, aliases included\n"));
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
    error: `tools` above already sets this limit
      at .claude/x.md:4:1
         4 | allowed-tools: Read, Bash
           | ^
      hint: write one limit in one place
    ");
    insta::assert_snapshot!(refused(&line("description: d\nalowed-tools: Read")), @"
    error: unknown key `alowed-tools`: a limit would not apply
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
        ("tool: Read", "unknown key `tool`: a limit would not apply"),
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
        let origin = Origin {
            provider: Provider::Opencode,
            path: ".opencode/agent/x.md",
            ..origin(EntityKind::Agent)
        };
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
        ("permission: {bash: {'': allow}}", "the pattern `` is not valid"),
        ("permission: {edt: deny}", "no agent CLI has a tool `edt`"),
        ("permission: {teleport: deny}", "no agent CLI has a tool `teleport`"),
        ("permission: never", "`permission` must be true, false, allow, ask or deny, found `never`"),
        ("permission: [deny]", "`permission` must be a list of rules, found a string"),
        ("permissions: [{action: edit}]", "a rule of `permissions` needs an `action` and an `effect`"),
        ("permissions: [{action: edit, efect: deny}]", "`efect` is not a key of a rule in `permissions`"),
        ("permission: {edit: deny}\npermissions: []", "`permission` above already sets this limit"),
    ] {
        let shown = opencode(lines);
        assert!(
            shown.starts_with(&format!("error: {message}\n  at .opencode/agent/x.md:")),
            "{lines}: {shown}"
        );
    }
    let codex = Origin { provider: Provider::Codex, path: "a.toml", ..origin(EntityKind::Agent) };
    let text = "description = 'd'\nsandbox_mode = 'readonly'\ndeveloper_instructions = 'x'\n";
    let shown = refused(&parse(&codex, text));
    let message = "`sandbox_mode` must be one of `read-only`, `workspace-write`, `danger-full-access`, found `readonly`";
    assert!(shown.starts_with(&format!("error: {message}\n  at a.toml:2:16\n")), "{shown}");
    assert!(shown.ends_with("hint: did you mean `read-only`?"), "{shown}");
    let gemini = Origin { provider: Provider::Gemini, ..origin(EntityKind::Agent) };
    let shown = refused(&parse(&gemini, "---\ndescription: d\npolicy:\n  rules: []\n---\nDo it.\n"));
    assert!(shown.starts_with("error: Windlass does not understand the limits in `policy`"), "{shown}");
}

/// A key that limits something, in a format that has it; values that it may have, and the messages for
/// each type that it may not.
struct Row {
    provider: Provider,
    kind: EntityKind,
    key: &'static str,
    fine: &'static [&'static str],
    wrong: &'static [&'static str],
}

const NAMES: &[&str] = &["Read", "[]", "[Read]", "\"\""];
const NO_NAMES: &[&str] = &["", "null", "3", "true", "{}", "[3]", "[\"\"]", "[null]", "[[Read]]"];
const SWITCHES: &[&str] = &["Read", "[]", "[Read]", "{bash: false}"];
const NO_SWITCHES: &[&str] =
    &["", "3", "true", "[{}]", "{bash: maybe}", "{bash: \"false\"}", "{bash: }", "{x: false}"];
const RULES: &[&str] = &["deny", "{bash: ask}", "{bash: {\"git *\": allow}}", "[]"];
const NO_RULES: &[&str] =
    &["", "3", "maybe", "{bash: maybe}", "{bash: []}", "{bash: {\"git *\": 3}}", "[deny]"];
const NO_WORDS: &[&str] = &["", "3", "true", "{}", "[]", "[plan]", "\"\"", "nothing"];

const MARKDOWN: [Row; 17] = {
    use EntityKind::{Agent, Command, Skill};
    use Provider::{Atomic, Claude, Codex, Copilot, Gemini, Opencode, Shared, Windlass};
    const fn row(
        provider: Provider,
        kind: EntityKind,
        key: &'static str,
        fine: &'static [&'static str],
        wrong: &'static [&'static str],
    ) -> Row {
        Row { provider, kind, key, fine, wrong }
    }
    [
        row(Claude, Agent, "tools", SWITCHES, NO_SWITCHES),
        row(Claude, Agent, "disallowedTools", NAMES, NO_NAMES),
        row(Claude, Agent, "permissionMode", &["plan", "default"], NO_WORDS),
        row(Claude, Skill, "allowed-tools", NAMES, NO_NAMES),
        row(Claude, Skill, "disallowed-tools", NAMES, NO_NAMES),
        row(Claude, Command, "allowed-tools", NAMES, NO_NAMES),
        row(Opencode, Agent, "tools", SWITCHES, NO_SWITCHES),
        row(Opencode, Agent, "permission", RULES, NO_RULES),
        row(Opencode, Command, "permission", RULES, NO_RULES),
        row(Copilot, Agent, "tools", SWITCHES, NO_SWITCHES),
        row(Copilot, Command, "tools", SWITCHES, NO_SWITCHES),
        row(Codex, Skill, "allowed-tools", NAMES, NO_NAMES),
        row(Gemini, Agent, "tools", SWITCHES, NO_SWITCHES),
        row(Gemini, Skill, "allowed-tools", NAMES, NO_NAMES),
        row(Shared, Skill, "allowed-tools", NAMES, NO_NAMES),
        row(Windlass, Agent, "permissions", RULES, NO_RULES),
        row(Atomic, Skill, "allowed-tools", NAMES, NO_NAMES),
    ]
};

#[test]
fn every_key_that_limits_has_its_types_and_any_other_is_an_error() {
    for Row { provider, kind, key, fine, wrong } in MARKDOWN {
        let origin = Origin { provider, path: "x.md", ..origin(kind) };
        let read =
            |value: &str| parse(&origin, &format!("---\ndescription: d\n{key}: {value}\n---\nDo it.\n"));
        for value in fine {
            assert_eq!(
                read(value).entities.len(),
                1,
                "{provider} {kind} {key}: {value}\n{}",
                said(&read(value))
            );
        }
        for value in wrong {
            let read = read(value);
            assert_eq!(read.entities.len(), 0, "{provider} {kind} {key}: {value}");
            assert!(said(&read).contains("\n  at x.md:3:"), "{key}: {value}: {}", said(&read));
        }
    }
}

fn codex(lines: &str) -> windlass_forms::entity::ReadEntities {
    let origin = Origin { provider: Provider::Codex, path: "a.toml", ..origin(EntityKind::Agent) };
    parse(&origin, &format!("description = 'd'\ndeveloper_instructions = 'x'\n{lines}\n"))
}

#[test]
fn what_an_agent_of_codex_switches_off_is_off() {
    for (lines, expected) in [
        ("sandbox-mode = 'read-only'", vec!["deny edit", "deny write", "deny bash"]),
        ("sandboxMode = 'read-only'", vec!["deny edit", "deny write", "deny bash"]),
        ("default_permissions = ':read-only'", vec!["deny edit", "deny write", "deny bash"]),
        (
            "default_permissions = ':workspace'",
            vec!["deny edit", "allow edit(./**)", "deny write", "allow write(./**)"],
        ),
        ("default_permissions = ':danger-full-access'", vec![]),
        ("approval_policy = 'untrusted'", vec!["ask bash"]),
        ("approval_policy = 'never'", vec![]),
        ("web_search = 'disabled'", vec!["deny websearch"]),
        ("web_search = 'live'", vec![]),
        ("[features]\nshell_tool = false", vec!["deny bash"]),
        ("[features]\nshell_tool = { enabled = false }", vec!["deny bash"]),
        ("features.shell_tool = true", vec![]),
        ("[features]\nmulti_agent = false\nweb_search_request = false", vec!["deny task", "deny websearch"]),
        ("[features]\nimage_generation = false\nhooks = true", vec![]),
        ("[tools]\nweb_search = false", vec!["deny websearch"]),
        ("[tools]\nweb_search = true\nview_image = true", vec![]),
        ("[mcp_servers.foo]\ncommand = 'x'\ntool_timeout_sec = 3", vec![]),
        ("[mcp_servers.foo]\nenabled = false", vec!["deny mcp__foo__*"]),
        (
            "[mcp_servers.foo]\nenabled = true\ndisabled_tools = ['a', 'b']",
            vec!["deny mcp__foo__a", "deny mcp__foo__b"],
        ),
        (
            "[mcp_servers.foo]\ndisabled_tools = ['a']\nenabled_tools = ['a', 'b']",
            vec!["deny mcp__foo__*", "allow mcp__foo__a", "allow mcp__foo__b", "deny mcp__foo__a"],
        ),
        ("[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = ['/x']", vec![]),
        (
            "approval_policy = 'untrusted'\nsandbox_mode = 'read-only'",
            vec!["ask bash", "deny edit", "deny write", "deny bash"],
        ),
    ] {
        let read = codex(lines);
        let rules: Vec<String> = clean(&read)
            .limits
            .iter()
            .map(|rule| {
                let pattern = rule.pattern.as_ref().map(|pattern| format!("({pattern})")).unwrap_or_default();
                format!("{} {}{pattern}", rule.effect.word(), rule.tool)
            })
            .collect();
        assert_eq!(rules, expected, "{lines}");
    }
}

#[test]
fn what_an_agent_of_codex_limits_and_windlass_cannot_hold_is_an_error() {
    for (lines, message) in [
        ("sandbox_mode = 3", "`sandbox_mode` must be a word, found a number"),
        ("sandbox_mod = 'read-only'", "unknown key `sandbox_mod`: a limit would not apply"),
        ("default_permissions = 'mine'", "`default_permissions` must be one of"),
        ("profile = 'careful'", "Windlass does not understand the limits in `profile`"),
        (
            "[profiles.careful]\nsandbox_mode = 'read-only'",
            "Windlass does not understand the limits in `profiles`",
        ),
        ("[permissions.mine]\nnetwork = false", "Windlass does not understand the limits in `permissions`"),
        ("[apps._default]\nenabled = false", "Windlass does not understand the limits in `apps`"),
        ("[agents]\nmax_depth = 1", "Windlass does not understand the limits in `agents`"),
        ("[rules]\nx = 1", "Windlass does not understand the limits in `rules`"),
        (
            "[mcp_servers.foo]\ndisabled_tools = 'a'",
            "`mcp_servers.foo.disabled_tools` must be a list of tools, found `a`",
        ),
        (
            "[mcp_servers.foo]\nenabled_tools = ['*']",
            "an entry of `mcp_servers.foo.enabled_tools` is not the name of a tool: `*`",
        ),
        ("[mcp_servers.foo]\nenabled = 'false'", "`mcp_servers.foo.enabled` must be true or false"),
        (
            "[mcp_servers.foo]\ndisabled_tool = ['a']",
            "Windlass does not know `mcp_servers.foo.disabled_tool`",
        ),
        ("[mcp_servers.'a*']\nenabled = false", "`a*` is not a valid name for an MCP server"),
        ("approval_policy = 'sometimes'", "`approval_policy` must be one of"),
        ("[approval_policy.granular]\nrules = true", "`approval_policy` must be a word, found an object"),
        ("web_search = 'off'", "`web_search` must be one of"),
        ("features = false", "`features` must be a table, found true or false"),
        (
            "[features]\nshell_tool = 'false'",
            "`features.shell_tool` must be true or false, found the text \"false\" in quotes",
        ),
        (
            "[features]\nshel_tool = false",
            "Windlass does not know `features.shel_tool`: a limit would not apply",
        ),
        ("[features]\nview_image = false", "Windlass cannot enforce the limit `features.view_image`"),
        ("[features]\nnetwork_proxy = true", "Windlass cannot enforce the limit `features.network_proxy`"),
        (
            "[features]\nshell_tool = { only = ['ls'] }",
            "Windlass cannot enforce the limit `features.shell_tool.only`",
        ),
        ("[tools]\nbash = false", "Windlass does not know `tools.bash`: a limit would not apply"),
        ("[tools]\nview_image = false", "Windlass cannot enforce the limit `tools.view_image`"),
        (
            "[tools.web_search]\nallowed_domains = ['x.org']",
            "Windlass cannot enforce the limit `tools.web_search.allowed_domains`",
        ),
        (
            "[sandbox_workspace_write]\nnetwork_access = false",
            "Windlass cannot enforce `sandbox_workspace_write.network_access`",
        ),
        (
            "[sandbox_workspace_write]\nnetwork_access = 'false'",
            "`sandbox_workspace_write.network_access` cannot be the text \"false\" in quotes",
        ),
        (
            "[sandbox_workspace_write]\nread_only = true",
            "Windlass does not know `sandbox_workspace_write.read_only`",
        ),
        ("disabled_tools = ['x']", "unknown key `disabled_tools`: a limit would not apply"),
        ("readonly = true", "unknown key `readonly`: a limit would not apply"),
    ] {
        let shown = refused(&codex(lines));
        assert!(shown.starts_with(&format!("error: {message}")), "{lines}: {shown}");
        assert!(
            shown.contains("\n  at a.toml:") && shown.contains("\n  hint: ") || shown.contains("must be"),
            "{lines}: {shown}"
        );
    }
}

#[test]
fn a_switch_in_quotes_is_told_from_a_switch() {
    insta::assert_snapshot!(refused(&line("description: d\ntools:\n  write: \"false\"")), @r#"
    error: `tools.write` must be true, false, allow, ask or deny, found the text "false" in quotes
      at .claude/x.md:4:10
         4 |   write: "false"
           |          ^
      hint: write it without quotes: `write: false`
    "#);
}

#[test]
fn a_limit_in_a_document_of_opencode_is_not_lost_by_a_slip() {
    let origin = Origin {
        provider: Provider::Opencode,
        kind: None,
        path: "opencode.json",
        ..origin(EntityKind::Agent)
    };
    for (text, key) in [
        (r#"{"permision": {"bash": "deny"}}"#, "permision"),
        (r#"{"agent": {"plan": {"permision": {"bash": "deny"}}}}"#, "permision"),
        (r#"{"agents": {"plan": {"permission": {"bash": "deny"}}}}"#, "agents"),
    ] {
        let read = parse(&origin, text);
        let message = format!("error: unknown key `{key}`: a limit would not apply\n  at opencode.json:1:");
        assert!(said(&read).starts_with(&message), "{}", said(&read));
    }
    assert_eq!(said(&parse(&origin, r#"{"model": "x", "modes": 1}"#)).matches("error").count(), 1);
    let old =
        parse(&origin, r#"{"mode": {"m": {"prompt": "p", "description": "d", "tools": {"bash": false}}}}"#);
    assert_eq!(only(&old).limits.len(), 1);
}

#[test]
fn to_allow_an_edit_in_opencode_is_to_allow_every_change() {
    let origin = Origin { provider: Provider::Opencode, path: "x.md", ..origin(EntityKind::Agent) };
    for (lines, expected) in [
        ("permission: {edit: allow}", ["edit", "write"]),
        ("permission: {write: allow}", ["write", "edit"]),
        ("tools: {edit: true}", ["edit", "write"]),
    ] {
        let read = parse(&origin, &format!("---\ndescription: d\n{lines}\n---\nDo it.\n"));
        let tools: Vec<&str> = clean(&read).limits.iter().map(|rule| rule.tool.as_str()).collect();
        assert_eq!(tools, expected, "{lines}");
    }
}
