//! Each provider's files as its own CLI documents them, and the tables of models and tools.

use serde_json::json;
use windlass_core::entity::{Entity, EntityKind, EntityTool, Level, Provider, Tier, ToolRule};
use windlass_forms::entity::{Origin, ReadEntities, builtin, parse, print};

fn origin(
    provider: Provider,
    kind: Option<EntityKind>,
    path: &'static str,
    name: &'static str,
) -> Origin<'static> {
    Origin { provider, kind, level: Level::Project, distance: 0, path, name, plugin: None }
}

fn read(provider: Provider, kind: EntityKind, name: &'static str, text: &str) -> Entity {
    let read = parse(&origin(provider, Some(kind), "file", name), text);
    assert_eq!(said(&read), "");
    assert_eq!(read.entities.len(), 1);
    read.entities.into_iter().next().unwrap_or_else(|| unreachable!("there is one"))
}

fn said(read: &ReadEntities) -> String {
    read.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn tools(entity: &Entity) -> Option<Vec<&str>> {
    entity.tools.as_ref().map(|tools| tools.iter().map(|tool| tool.name.as_str()).collect())
}

/// Returns the rules about single tools, in order.
fn rules(entity: &Entity) -> Vec<String> {
    let rule = |rule: &ToolRule| {
        let pattern = rule.pattern.as_ref().map(|pattern| format!("({pattern})")).unwrap_or_default();
        format!("{} {}{pattern}", rule.effect.word(), rule.tool)
    };
    entity.limits.iter().map(rule).collect()
}

fn tool(name: &str, pattern: Option<&str>) -> EntityTool {
    EntityTool { name: name.into(), pattern: pattern.map(str::to_owned) }
}

/// The providers whose agents are Markdown with `model` and `tools`.
const MARKDOWN: [Provider; 6] = [
    Provider::Windlass,
    Provider::Claude,
    Provider::Opencode,
    Provider::Copilot,
    Provider::Gemini,
    Provider::Atomic,
];

#[test]
fn models_are_normalised_row_by_row() {
    let rows = [
        ("opus", Tier::Opus),
        ("sonnet", Tier::Sonnet),
        ("haiku", Tier::Haiku),
        ("anthropic/claude-opus-4-5", Tier::Opus),
        ("anthropic/claude-3-sonnet", Tier::Sonnet),
        ("anthropic/claude-3-5-haiku", Tier::Haiku),
        ("claude-opus-4-5", Tier::Opus),
        ("gpt-4o", Tier::Inherit),
        ("gemini-1.5-pro", Tier::Inherit),
        ("inherit", Tier::Inherit),
    ];
    for (written, tier) in rows {
        for provider in MARKDOWN {
            let text = format!("---\ndescription: d\nmodel: {written}\n---\nDo it.\n");
            let model = read(provider, EntityKind::Agent, "a", &text).model.unwrap();
            assert_eq!((model.tier, model.original.as_str()), (tier, written), "{provider}");
        }
        let text =
            format!("description = \"d\"\nmodel = \"{written}\"\ndeveloper_instructions = \"Do it.\"\n");
        assert_eq!(read(Provider::Codex, EntityKind::Agent, "a", &text).model.unwrap().tier, tier);
    }
}

#[test]
fn tools_are_normalised_row_by_row() {
    let rows = [
        ("[\"bash\", \"edit\"]", Some(vec!["bash", "edit"])),
        ("\n  - bash\n  - edit", Some(vec!["bash", "edit"])),
        ("{ bash: true, edit: true, write: false }", None),
        ("\"Bash(git:*), Edit\"", Some(vec!["bash", "edit"])),
        ("Bash(git:*), Edit", Some(vec!["bash", "edit"])),
        ("Bash(git add:*, git rm:*) Edit", Some(vec!["bash", "edit"])),
        ("Read,Edit", Some(vec!["read", "edit"])),
        ("\"*\"", None),
        ("[\"*\"]", None),
        ("[]", Some(vec![])),
        ("\"\"", Some(vec![])),
        ("Bash(git add:*), Bash(git commit:*), Read, Read", Some(vec!["bash", "bash", "read"])),
    ];
    for (written, expected) in rows {
        for provider in MARKDOWN {
            let text = format!("---\ndescription: d\ntools: {written}\n---\nDo it.\n");
            let entity = read(provider, EntityKind::Agent, "a", &text);
            assert_eq!(tools(&entity), expected, "{provider}: {written}");
        }
    }
}

#[test]
fn patterns_and_switches_are_kept_for_those_who_enforce_them() {
    let text = "---\nallowed-tools: Bash(git add:*), Bash(git status:*), mcp__github__get\n---\nDo it.\n";
    let entity = read(Provider::Claude, EntityKind::Command, "a", text);
    let expected = [
        tool("bash", Some("Bash(git add:*)")),
        tool("bash", Some("Bash(git status:*)")),
        tool("mcp__github__get", None),
    ];
    assert_eq!(entity.tools.unwrap(), expected);
    let text = "---\ndescription: d\ntools:\n  bash: true\n  write: false\n---\nDo it.\n";
    for provider in MARKDOWN {
        let entity = read(provider, EntityKind::Agent, "a", text);
        assert_eq!(
            (rules(&entity).as_slice(), entity.tools),
            (["allow bash", "deny write", "deny edit"].map(String::from).as_slice(), None)
        );
    }
}

#[test]
fn claude_code() {
    let text = "---\nallowed-tools: Bash(git add:*), Bash(git commit:*)\nargument-hint: [message]\ndescription: Create a git commit\nmodel: claude-3-5-haiku-20241022\ndisable-model-invocation: true\n---\n\n## Context\n\n- Status: !`git status`\n\nCommit with $ARGUMENTS, see @README.md\n";
    let command = read(Provider::Claude, EntityKind::Command, "git:commit", text);
    assert_eq!(command.name, "git:commit");
    assert_eq!(command.description, "Create a git commit");
    assert_eq!(command.argument_hint.as_deref(), Some("[message]"));
    assert_eq!(command.model.as_ref().unwrap().tier, Tier::Haiku);
    assert_eq!(tools(&command), Some(vec!["bash", "bash"]));
    assert_eq!(command.extra["disable-model-invocation"], json!(true));
    assert!(command.prompt.starts_with("## Context\n\n- Status: !`git status`"));
    assert_eq!((command.source.provider, command.source.line), (Provider::Claude, 1));

    let text = "---\nname: code-reviewer\ndescription: \"Use this agent when code was written. <example>\\nuser: 'x'\\n</example>\"\ntools: Read, Grep, Glob, Bash\nmodel: inherit\ncolor: blue\n---\n\nYou are a reviewer.\n";
    let agent = read(Provider::Claude, EntityKind::Agent, "reviewer", text);
    assert_eq!(
        (agent.name.as_str(), agent.aliases.as_slice()),
        ("code-reviewer", ["reviewer".to_owned()].as_slice())
    );
    assert_eq!(tools(&agent), Some(vec!["read", "grep", "glob", "bash"]));
    assert_eq!(agent.prompt, "You are a reviewer.");
    assert!(agent.description.contains("\n"));
}

#[test]
fn opencode_files() {
    let text = "---\ndescription: Run tests with coverage\nagent: build\nmodel: anthropic/claude-3-5-sonnet-20241022\nsubtask: true\n---\nRun the tests for $ARGUMENTS.\n";
    let command = read(Provider::Opencode, EntityKind::Command, "test/all", text);
    assert_eq!((command.name.as_str(), command.extra["agent"].as_str()), ("test/all", Some("build")));
    assert_eq!(command.model.unwrap().tier, Tier::Sonnet);

    let text = "---\ndescription: Reviews code\nmode: subagent\ntemperature: 0.1\npermission:\n  edit: deny\n  bash:\n    \"*\": ask\n    \"git diff\": allow\n---\nYou review.\n";
    let agent = read(Provider::Opencode, EntityKind::Agent, "review", text);
    assert_eq!(agent.tools, None, "what a permission does not name is allowed");
    assert_eq!(rules(&agent), ["deny edit", "deny write", "ask bash", "allow bash(git diff)"]);
    let text = "---\ndescription: d\npermission:\n  \"*\": deny\n  read: allow\n  bash: ask\n  edit: deny\n---\nYou review.\n";
    let agent = read(Provider::Opencode, EntityKind::Agent, "review", text);
    assert_eq!(rules(&agent), ["deny *", "allow read", "ask bash", "deny edit", "deny write"]);
    let off =
        parse(&origin(Provider::Opencode, Some(EntityKind::Agent), "f", "a"), "---\ndisable: true\n---\nx\n");
    assert_eq!(off, ReadEntities::default());
}

const OPENCODE: &str = r#"{
  // Settings of the project.
  "$schema": "https://opencode.ai/config.json",
  "model": "anthropic/claude-sonnet-4-5",
  "command": {
    "test": {
      "template": "Run the tests.\nThen $ARGUMENTS.",
      "description": "Run tests",
      "agent": "build",
      "model": "anthropic/claude-haiku-4-5", /* the small one */
    },
    "bare": { "template": "Say hello. Twice." },
  },
  "agent": {
    "build": { "model": "openai/gpt-5" },
    "code-reviewer": {
      "description": "Reviews code",
      "mode": "subagent",
      "prompt": "You are a reviewer.",
      "tools": { "write": false, "edit": false, "bash": true },
    },
    "gone": { "description": "d", "prompt": "p", "disable": true },
  },
}
"#;

#[test]
fn opencode_documents() {
    let read = parse(&origin(Provider::Opencode, None, "opencode.jsonc", "opencode"), OPENCODE);
    assert_eq!(said(&read), "");
    let [test, bare, reviewer] = read.entities.as_slice() else { panic!("{:?}", read.entities) };
    assert_eq!((test.kind, test.name.as_str(), test.source.line), (EntityKind::Command, "test", 6));
    assert_eq!(test.prompt, "Run the tests.\nThen $ARGUMENTS.");
    assert_eq!(test.model.as_ref().unwrap().tier, Tier::Haiku);
    assert_eq!(test.extra["agent"], "build");
    assert_eq!((bare.description.as_str(), bare.source.line), ("Say hello.", 12));
    assert_eq!(
        (reviewer.kind, reviewer.name.as_str(), reviewer.source.line),
        (EntityKind::Agent, "code-reviewer", 16)
    );
    assert_eq!(rules(reviewer), ["deny write", "deny edit", "allow bash"]);
    assert_eq!(reviewer.extra["mode"], "subagent");
    let marked =
        parse(&origin(Provider::Opencode, None, "opencode.jsonc", ""), &format!("\u{feff}{OPENCODE}"));
    assert_eq!(marked, read);
}

#[test]
fn one_broken_entity_of_a_document_costs_only_itself() {
    let text = r#"{"command": {
  "empty": {"description": "d"},
  "wrong": "text",
  "good": {"template": "Do it."},
  "good": {"template": "Do it twice."}
}, "agent": {"a/b/../c": {"prompt": "p", "description": "d"}, "f": {"prompt": "{file:./p.txt}", "description": "d"}}}"#;
    let read = parse(&origin(Provider::Opencode, None, "opencode.json", ""), text);
    let names: Vec<&str> = read.entities.iter().map(|entity| entity.name.as_str()).collect();
    assert_eq!(names, ["good", "f"]);
    assert_eq!(read.entities[0].prompt, "Do it twice.");
    insta::assert_snapshot!(said(&read), @r#"
    warning: `good` is defined above as well; this one is used
      at opencode.json:5:3
         5 |   "good": {"template": "Do it twice."}
           |   ^
      hint: remove one of the two
    error: this command has no text
      at opencode.json:2:3
         2 |   "empty": {"description": "d"},
           |   ^
      hint: write what it should do
    error: the command `wrong` must be an object, found a string
      at opencode.json:3:12
         3 |   "wrong": "text",
           |            ^
    error: the name `a/b/../c` is a path
      at opencode.json:6:14
         6 | }, "agent": {"a/b/../c": {"prompt": "p", "description": "d"}, "f": {"prompt": "{file:./p.txt}", "description": "d"}}}
           |              ^
      hint: rename the file, or give it a `name`
    warning: the file in `prompt` is only read by OpenCode itself
      at opencode.json:6:79
         6 | }, "agent": {"a/b/../c": {"prompt": "p", "description": "d"}, "f": {"prompt": "{file:./p.txt}", "description": "d"}}}
           |                                                                               ^
      hint: write the text here, or as a Markdown file in .opencode
    "#);
}

#[test]
fn a_document_that_is_not_json_says_where() {
    let document = |text: &str| parse(&origin(Provider::Opencode, None, "opencode.json", ""), text);
    insta::assert_snapshot!(said(&document("{\n  /* never closed\n")), @"
    error: this comment is never closed
      at opencode.json:2:3
         2 |   /* never closed
           |   ^
      hint: add `*/`
    ");
    insta::assert_snapshot!(said(&document("{\"command\": []}")), @r#"
    error: `command` must be an object, found a list
      at opencode.json:1:13
         1 | {"command": []}
           |             ^
    "#);
    assert_eq!(document("{}"), ReadEntities::default());
    assert_eq!(document("{\"mcp\": {}, \"command\": null}"), ReadEntities::default());
}

#[test]
fn copilot() {
    let text = "---\nmode: agent\nmodel: Claude Sonnet 4\ntools: ['codebase', 'search/usages', 'githubRepo']\ndescription: 'Generate a form'\n---\nYour goal is a form for ${input:formName}.\n";
    let command = read(Provider::Copilot, EntityKind::Command, "form", text);
    assert_eq!(tools(&command), Some(vec!["codebase", "search/usages", "githubrepo"]));
    assert_eq!(command.model.unwrap().tier, Tier::Sonnet);
    assert_eq!(command.extra["mode"], "agent");

    let text = "---\nname: Test Specialist\ndescription: Writes tests\ntools: [\"read\", \"edit\"]\ntarget: vscode\nmodel: ['Claude Opus 4.5', 'GPT-5']\nmcp-servers:\n  x:\n    type: local\n---\n\nYou write tests.\n";
    let agent = read(Provider::Copilot, EntityKind::Agent, "test-specialist", text);
    assert_eq!(
        (agent.name.as_str(), agent.aliases.as_slice()),
        ("Test Specialist", ["test-specialist".to_owned()].as_slice())
    );
    assert_eq!(agent.model.unwrap().original, "Claude Opus 4.5");
    assert_eq!(agent.extra["model"], json!(["Claude Opus 4.5", "GPT-5"]));
    assert_eq!(agent.extra["mcp-servers"], json!({"x": {"type": "local"}}));
}

#[test]
fn codex() {
    let text = "name = \"pr_explorer\"\ndescription = \"Read-only explorer\"\nmodel = \"gpt-5.3-codex\"\nmodel_reasoning_effort = \"medium\"\nsandbox_mode = \"read-only\"\nnickname_candidates = [\"Atlas\", \"Delta\"]\ndeveloper_instructions = \"\"\"\nStay in exploration mode.\nDo not edit.\n\"\"\"\n\n[mcp_servers.docs]\nurl = \"https://example.com/mcp\"\n";
    let agent = read(Provider::Codex, EntityKind::Agent, "explorer", text);
    assert_eq!(
        (agent.name.as_str(), agent.prompt.as_str()),
        ("pr_explorer", "Stay in exploration mode.\nDo not edit.\n")
    );
    assert_eq!(agent.aliases, ["Atlas", "Delta", "explorer"]);
    assert_eq!(agent.extra["sandbox_mode"], "read-only");
    assert_eq!(rules(&agent), ["deny edit", "deny write", "deny bash"]);
    assert_eq!(agent.extra["mcp_servers"], json!({"docs": {"url": "https://example.com/mcp"}}));
    let text = "---\ndescription: Prep a branch\nargument-hint: FILES=<paths> [PR_TITLE=\"<title>\"]\n---\n\nCreate a branch for $FILES.\n";
    let prompt = read(Provider::Codex, EntityKind::Command, "draftpr", text);
    assert_eq!(prompt.argument_hint.as_deref(), Some("FILES=<paths> [PR_TITLE=\"<title>\"]"));
    let text = "---\nname: s\ndescription: A skill\nmetadata:\n  short-description: s\n---\nDo it.\n";
    assert_eq!(read(Provider::Codex, EntityKind::Skill, "s", text).description, "A skill");
}

#[test]
fn gemini() {
    let text = "# In: .gemini/commands/git/commit.toml\ndescription = \"Generates a commit message\"\nprompt = \"\"\"\nLook at !{git diff --staged} and {{args}}\n\"\"\"\n";
    let command = read(Provider::Gemini, EntityKind::Command, "git:commit", text);
    assert_eq!(
        (command.name.as_str(), command.description.as_str()),
        ("git:commit", "Generates a commit message")
    );
    assert_eq!(command.prompt, "Look at !{git diff --staged} and {{args}}\n");
    assert_eq!(
        read(Provider::Gemini, EntityKind::Command, "x", "prompt = 'Fix it. Now'").description,
        "Fix it."
    );
    let text = "---\nname: auditor\ndescription: Finds holes\nkind: local\ntools:\n  - read_file\n  - grep_search\nmodel: gemini-3-flash-preview\ntemperature: 0.2\nmax_turns: 10\n---\nYou audit.\n";
    let agent = read(Provider::Gemini, EntityKind::Agent, "auditor", text);
    assert_eq!(tools(&agent), Some(vec!["read_file", "grep_search"]));
    assert_eq!(agent.extra["max_turns"], json!(10));
}

#[test]
fn toml_that_is_none_says_where() {
    let command =
        |text: &str| parse(&origin(Provider::Gemini, Some(EntityKind::Command), "c.toml", "c"), text);
    let read = command("description = Fix it\nprompt = \"x\"\n");
    assert_eq!(read.entities, []);
    insta::assert_snapshot!(said(&read), @r#"
    error: not TOML: string values must be quoted, expected literal string
      at c.toml:1:15
         1 | description = Fix it
           |               ^
      hint: text goes into quotes: `"…"` on one line, `"""…"""` on several
    "#);
    insta::assert_snapshot!(said(&command("description = 'd'\n")), @"
    error: this command has no text
      at c.toml:1:1
         1 | description = 'd'
           | ^
      hint: write what it should do
    ");
    insta::assert_snapshot!(said(&command("prompt = ['x']\n")), @"
    error: this command has no text
      at c.toml:1:1
         1 | prompt = ['x']
           | ^
      hint: write what it should do
    warning: `prompt` must be text, found a list; it is ignored
      at c.toml:1:10
         1 | prompt = ['x']
           |          ^
      hint: write it in quotes
    ");
    assert!(said(&command("\u{feff}\n")).starts_with("error: the file is empty"));
    assert!(said(&command("\u{feff}prompt = 'x'\ndescription = 3\n")).is_empty());
}

#[test]
fn shared_skills_and_atomic() {
    let text = "---\nname: pdf\ndescription: Works with PDF files\nlicense: Apache-2.0\ncompatibility: needs python\nallowed-tools: Bash(python:*) Read\nmetadata:\n  author: a\n  version: \"1.0\"\n---\nDo it.\n";
    let skill = read(Provider::Shared, EntityKind::Skill, "pdf", text);
    assert_eq!(tools(&skill), Some(vec!["bash", "read"]));
    assert_eq!(skill.extra["metadata"], json!({"author": "a", "version": "1.0"}));
    let text = "---\ndescription: d\nargumentHint: <x>\nallowedTools: [bash]\n---\nDo it.\n";
    let command = read(Provider::Atomic, EntityKind::Command, "c", text);
    assert_eq!((command.argument_hint.as_deref(), tools(&command)), (Some("<x>"), Some(vec!["bash"])));
}

#[test]
fn a_document_of_a_provider_that_has_none_is_refused() {
    let read = parse(&origin(Provider::Claude, None, "settings.json", "settings"), "{}");
    assert_eq!(said(&read), "error: claude keeps no entities in a document\n  at settings.json");
}

#[test]
fn what_comes_with_windlass_is_named_and_printed_like_everything_else() {
    let all = builtin();
    let mut names: Vec<&str> = all.iter().map(|entity| entity.name.as_str()).collect();
    names.sort_unstable();
    let expected = [
        "commit",
        "create-pr",
        "create-spec",
        "create-tasks",
        "debug",
        "debugger",
        "explain-code",
        "implement-task",
        "research-codebase",
        "review-code",
        "reviewer",
    ];
    assert_eq!(names, expected);
    let commit = all.iter().find(|entity| entity.name == "commit").unwrap();
    assert_eq!(commit.source.path, "builtin/skills/commit/SKILL.md");
    assert_eq!((commit.source.level, commit.source.provider), (Level::Builtin, Provider::Windlass));
    for entity in &all {
        assert_eq!(entity.prompt.contains("$ARGUMENTS"), entity.kind != EntityKind::Agent, "{}", entity.name);
        let origin = Origin {
            provider: Provider::Windlass,
            kind: Some(entity.kind),
            level: Level::Builtin,
            distance: 0,
            path: &entity.source.path,
            name: &entity.name,
            plugin: None,
        };
        assert_eq!(
            parse(&origin, &print(entity)),
            ReadEntities { entities: vec![entity.clone()], ..ReadEntities::default() }
        );
    }
}

#[test]
fn every_way_to_limit_an_agent_is_read() {
    let agent = |provider, head: &str| {
        rules(&read(
            provider,
            EntityKind::Agent,
            "a",
            &format!("---\nname: a\ndescription: d\n{head}\n---\nDo it.\n"),
        ))
    };
    for (provider, head, expected) in [
        (Provider::Opencode, "permission: deny", vec!["deny *"]),
        (Provider::Opencode, "permission: ask", vec!["ask *"]),
        (
            Provider::Opencode,
            "permission: { '*': ask, 'mcp_*': deny, github_create_issue: allow }",
            vec!["ask *", "deny mcp_*", "allow github_create_issue"],
        ),
        (
            Provider::Opencode,
            "tools: { mymcp_*: false, webfetch: deny }",
            vec!["deny mymcp_*", "deny webfetch"],
        ),
        (
            Provider::Opencode,
            "tools: { bash: false }\npermission: { edit: ask }",
            vec!["deny bash", "ask edit", "ask write"],
        ),
        (
            Provider::Opencode,
            "permission: { external_directory: { '*': deny, '~/notes/**': allow }, doom_loop: ask }",
            vec!["deny external_directory", "allow external_directory(~/notes/**)", "ask doom_loop"],
        ),
        (
            Provider::Opencode,
            "permissions:\n  - { action: '*', resource: '*', effect: ask }\n  - { action: shell, resource: 'git status *', effect: allow }",
            vec!["ask *", "allow shell(git status *)"],
        ),
        (
            Provider::Claude,
            "disallowedTools: Bash(git push:*), Write",
            vec!["deny bash(git push:*)", "deny write"],
        ),
        (Provider::Claude, "disallowed-tools: [Write, mcp__x]", vec!["deny write", "deny mcp__x"]),
        (Provider::Opencode, "tools: { edit: true, write: false }", vec!["allow edit", "deny write"]),
        (Provider::Opencode, "tools: { patch: false }", vec!["deny patch", "deny write"]),
        (
            Provider::Opencode,
            "permission: { '*': deny, edit: { 'docs/*': allow } }",
            vec!["deny *", "allow edit(docs/*)", "allow write(docs/*)"],
        ),
        (Provider::Claude, "disallowedTools: Write", vec!["deny write"]),
        (Provider::Claude, "permissionMode: plan", vec!["deny edit", "deny write", "ask bash"]),
        (Provider::Claude, "permissionMode: bypassPermissions", vec![]),
        (Provider::Windlass, "disallowed_tools: Write", vec!["deny write"]),
        (Provider::Atomic, "disallowedTools: [Write]", vec!["deny write"]),
    ] {
        assert_eq!(agent(provider, head), expected, "{provider}: {head}");
    }
    let codex = |mode: &str| {
        rules(&read(
            Provider::Codex,
            EntityKind::Agent,
            "a",
            &format!("description = 'd'\nsandbox_mode = '{mode}'\ndeveloper_instructions = 'x'\n"),
        ))
    };
    assert_eq!(
        codex("workspace-write"),
        ["deny edit", "allow edit(./**)", "deny write", "allow write(./**)"]
    );
    assert_eq!(codex("danger-full-access"), [""; 0]);
}

#[test]
fn commands_and_skills_have_limits_in_any_spelling() {
    for kind in [EntityKind::Command, EntityKind::Skill] {
        for provider in MARKDOWN.into_iter().chain([Provider::Shared, Provider::Codex]) {
            if (provider, kind) == (Provider::Gemini, EntityKind::Command) {
                continue;
            }
            for key in ["tools", "allowed-tools", "allowed_tools", "allowedTools"] {
                let text = format!("---\ndescription: d\n{key}: Read, Grep\n---\nDo it.\n");
                assert_eq!(
                    tools(&read(provider, kind, "a", &text)),
                    Some(vec!["read", "grep"]),
                    "{provider} {kind} {key}"
                );
            }
        }
    }
    let command = read(Provider::Gemini, EntityKind::Command, "a", "prompt = 'x'\ntools = ['read_file']\n");
    assert_eq!(tools(&command), Some(vec!["read_file"]));
}

#[test]
fn a_document_limits_agents_that_are_defined_elsewhere() {
    let document = |text: &str| parse(&origin(Provider::Opencode, None, "opencode.json", ""), text);
    let read = document(
        r#"{"permission": {"edit": "ask"}, "agent": {"plan": {"model": "x"}, "fix": {"tools": {"bash": false}}}}"#,
    );
    assert_eq!(said(&read), "");
    let shown: Vec<(Option<&str>, usize)> = read
        .default_limits
        .iter()
        .map(|ground| (ground.agent.as_deref(), ground.rules.as_ref().unwrap().len()))
        .collect();
    assert_eq!(shown, [(None, 2), (Some("fix"), 1)]);
    let broken =
        document(r#"{"permission": {"edt": "deny"}, "agent": {"fix": {"permission": {"bash": 5}}}}"#);
    assert!(broken.default_limits.iter().all(|ground| ground.rules.is_none()), "{:?}", broken.default_limits);
    assert_eq!(broken.diagnostics.iter().filter(|found| found.is_error()).count(), 2, "{}", said(&broken));
}
