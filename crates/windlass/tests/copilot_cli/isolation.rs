//! What a preset leaves out is neither loaded nor offered, and what it has works.

use serde_json::{Value, json};
use windlass_testkit::{Model, Request, read, require_agent, say, shell, tool, write};

use crate::stage::{Ended, INPUT, Stage, one_turn};

/// A server with the tool `say_it`, as a script.
const SERVER: &str = r#"#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    result = {}
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if method == "tools/list":
        result = {"tools": [{"name": "say_it", "description": "d", "inputSchema": {"type": "object", "properties": {}}}]}
    if method == "tools/call":
        result = {"content": [{"type": "text", "text": "it-is-said"}]}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// A hook that leaves a file behind at the start of a session.
fn hook(file: &str) -> String {
    let hook = json!([{ "type": "command", "bash": format!("touch \"$HOME/{file}\"") }]);
    json!({ "version": 1, "hooks": { "sessionStart": hook } }).to_string()
}

/// A place whose project and user have instructions, hooks and servers, and whose user trusts the project.
fn full(stage: &Stage) {
    let server = stage.sealed.write("home/server.py", SERVER);
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&server, permissions).unwrap();
    let servers =
        |name: &str| json!({ "mcpServers": { name: { "command": server, "args": [], "tools": ["*"] } } });
    for (name, text) in [
        ("AGENTS.md", "INSTRUCTIONS-OF-PROJECT".to_owned()),
        (".mcp.json", servers("project").to_string()),
        (".github/hooks/start.json", hook("hook-of-project")),
        (
            ".agents/skills/probe/SKILL.md",
            "---\nname: probe\ndescription: SKILL-OF-PROJECT\n---\n".to_owned(),
        ),
    ] {
        stage.sealed.write(format!("repo/{name}"), text);
    }
    stage.users("copilot-instructions.md", "INSTRUCTIONS-OF-USER");
    stage.users("mcp-config.json", &servers("user").to_string());
    stage.users("hooks/start.json", &hook("hook-of-user"));
    let trusted =
        json!({ "firstLaunchAt": "2026-01-01T00:00:00.000Z", "trustedFolders": [stage.sealed.repo()] });
    stage.users("config.json", &trusted.to_string());
}

fn run(stage: &Stage, model: &Model, isolation: &str) -> Ended {
    stage.run(model, &["--plugin", &stage.plugin(&one_turn()), "--isolation", isolation])
}

/// Returns which of the things of [`full`] were loaded.
fn loaded(stage: &Stage, request: &Request) -> Vec<&'static str> {
    let text = request.body.to_string();
    let names = request.tool_names();
    let all = [
        ("project's instructions", text.contains("INSTRUCTIONS-OF-PROJECT")),
        ("project's skill", text.contains("SKILL-OF-PROJECT")),
        ("project's server", names.iter().any(|name| name == "project-say_it")),
        ("project's hook", stage.sealed.home().join("hook-of-project").exists()),
        ("user's instructions", text.contains("INSTRUCTIONS-OF-USER")),
        ("user's server", names.iter().any(|name| name == "user-say_it")),
        ("user's hook", stage.sealed.home().join("hook-of-user").exists()),
    ];
    all.into_iter().filter(|(_, is_loaded)| *is_loaded).map(|(name, _)| name).collect()
}

#[test]
fn each_preset_loads_what_it_has_and_the_users_files_stay_as_they_are() {
    let projects = ["project's instructions", "project's skill", "project's server", "project's hook"];
    let users = ["user's instructions", "user's server", "user's hook"];
    let rows: [(&str, Vec<&str>); 3] = [
        ("strict", vec![]),
        ("minimal", projects.to_vec()),
        ("permissive", projects.into_iter().chain(users).collect()),
    ];
    for (isolation, expected) in rows {
        let stage = Stage::new(require_agent!("copilot"));
        full(&stage);
        let before = stage.users_files();
        let model = Model::script([say("done")]).start();
        let ended = run(&stage, &model, isolation);
        ended.assert_ended(0, "completed", "turn_done", 1);
        assert_eq!(loaded(&stage, &model.requests()[0]), expected, "{isolation}\n{}", ended.story());
        assert_eq!(stage.users_files(), before, "{isolation}");
    }
}

#[test]
fn strict_offers_tools_for_files_and_the_shell_alone_and_keeps_files_inside() {
    let stage = Stage::new(require_agent!("copilot"));
    // The place of the test is in the temporary folder, which the tools may use.
    let outside = format!("/dev/shm/windlass-outside-{}", std::process::id());
    let inside = stage.sealed.repo().join("inside.txt").display().to_string();
    let model = Model::script([
        write(&inside, "x"),
        read("/etc/passwd"),
        write(&outside, "x"),
        tool("task", json!({ "name": "n", "description": "d", "prompt": "p", "agent_type": "task" })),
        shell("echo ran"),
        say("done"),
    ])
    .start();
    let ended = run(&stage, &model, "strict");

    ended.assert_ended(0, "completed", "turn_done", 1);
    let requests = model.requests();
    let mut offered = requests[0].tool_names();
    offered.sort();
    let expected =
        ["bash", "create", "edit", "glob", "grep", "list_bash", "read_bash", "sql", "stop_bash", "view"];
    assert_eq!(offered, expected);
    assert_eq!(std::fs::read_to_string(&inside).unwrap(), "x");
    assert!(!requests[2].last_user_text().contains("root:"), "{}", requests[2].last_user_text());
    assert!(std::fs::remove_file(&outside).is_err(), "the file was written\n{}", ended.story());
    assert!(requests[5].last_user_text().contains("ran"));
}

#[test]
fn minimal_reaches_files_anywhere_and_tools_of_servers() {
    let stage = Stage::new(require_agent!("copilot"));
    full(&stage);
    let outside = stage.sealed.home().join("outside.txt").display().to_string();
    let model = Model::script([
        write(&outside, "seen\n"),
        read(&outside),
        tool("project-say_it", json!({})),
        say("done"),
    ])
    .start();
    let ended = run(&stage, &model, "minimal");

    ended.assert_ended(0, "completed", "turn_done", 1);
    let requests = model.requests();
    assert!(requests[2].last_user_text().contains("seen"), "{}", requests[2].last_user_text());
    assert!(requests[3].last_user_text().contains("it-is-said"), "{}", requests[3].last_user_text());
    let tools: Vec<&Value> =
        ended.of("hook.decision").into_iter().map(|decision| &decision["tool"]).collect();
    assert!(tools.contains(&&json!("mcp__project__say_it")), "{tools:?}");
}

#[test]
fn a_project_that_disables_all_hooks_gets_no_tool_run() {
    let stage = Stage::new(require_agent!("copilot"));
    stage.sealed.write("repo/.github/copilot/settings.json", r#"{"disableAllHooks": true}"#);
    let made = stage.sealed.repo().join("made.txt").display().to_string();
    let model = Model::script([shell("touch made-by-shell"), write(&made, "x"), say("done")]).start();
    let ended = run(&stage, &model, "minimal");
    assert!(!stage.sealed.repo().join("made-by-shell").exists(), "{}", ended.story());
    assert!(!std::fs::exists(&made).unwrap(), "{}", ended.story());
}

#[test]
fn a_user_who_allows_everything_in_the_clis_own_way_changes_nothing() {
    let stage = Stage::new(require_agent!("copilot"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    stage.sealed.write("repo/.github/hooks/start.json", hook("hook-of-project"));
    let model = Model::script([shell("touch made-by-shell"), say("done")]).start();
    let flags = ["--plugin", &stage.plugin(&one_turn()), "--isolation", "strict"];
    let mut command = stage.command(&model, INPUT, &flags);
    command.env("COPILOT_ALLOW_ALL", "true").env("GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS", "true");
    let ended = stage.start(command).end();
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert!(!stage.sealed.repo().join("made-by-shell").exists());
    assert!(!stage.sealed.home().join("hook-of-project").exists());
}
