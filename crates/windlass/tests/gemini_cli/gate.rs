//! What the run does not allow does not happen, and the model is told why.

use serde_json::json;
use windlass_testkit::{Model, require_agent, say, shell, tool, write};

use crate::stage::Stage;

#[test]
fn a_denied_call_does_not_run_and_the_model_is_told_why() {
    let stage = Stage::new(require_agent!("gemini"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let model = Model::script([shell("touch no"), shell("echo yes > yes"), say("done")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert!(!stage.repo("no").exists() && stage.repo("yes").exists());
    let told = model.requests()[1].last_user_text();
    assert!(told.contains("denied by the rule `Bash(touch *)`"), "{told}");
    let decisions: Vec<String> = ended.decisions().into_iter().map(|(_, said)| said).collect();
    assert_eq!(decisions, ["deny", "allow", "pass"]);
}

#[test]
fn tools_outside_of_the_preset_are_not_even_offered() {
    let stage = Stage::new(require_agent!("gemini"));
    let page = tool("web_fetch", json!({"prompt": "read http://127.0.0.1:9/"}));
    let model = Model::script([page, say("then without it")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &["--isolation", "strict"]);

    ended.assert_ended(0, "completed", "turn_done");
    let offered = model.requests()[0].tool_names();
    for name in ["web_fetch", "google_web_search", "invoke_agent", "activate_skill", "enter_plan_mode"] {
        assert!(!offered.iter().any(|tool| tool == name), "{name}: {offered:?}");
    }
    for name in ["read_file", "write_file", "replace", "run_shell_command", "glob"] {
        assert!(offered.iter().any(|tool| tool == name), "{name}: {offered:?}");
    }
    assert!(model.requests()[1].last_user_text().contains("not found"), "{}", ended.story());
}

#[test]
fn a_session_that_may_only_read_has_no_tool_that_writes() {
    let stage = Stage::new(require_agent!("gemini"));
    let file = stage.repo("made.txt");
    let forced = tool("write_file", json!({"file_path": file, "content": "x"}));
    let model = Model::script([forced, say("looked")]).start();
    let ended = stage.run(&model, "  - prompt: look\n    tools: [read, search]\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert!(!file.exists());
    let offered = model.requests()[0].tool_names();
    assert!(offered.iter().any(|tool| tool == "read_file"), "{offered:?}");
    for name in ["write_file", "replace", "run_shell_command"] {
        assert!(!offered.iter().any(|tool| tool == name), "{name}: {offered:?}");
    }
}

#[test]
fn a_project_cannot_switch_off_the_hooks() {
    for settings in [
        json!({"hooksConfig": {"enabled": false}}),
        json!({"hooksConfig": {"disabled": ["windlass BeforeTool"]}, "hooks": {"BeforeTool": []}}),
        json!({"admin": {"extensions": {"enabled": false}}}),
        json!({"hooks": {"BeforeTool": []}, "mcpServers": {}}),
    ] {
        let stage = Stage::new(require_agent!("gemini"));
        stage.sealed.write("repo/.gemini/settings.json", settings.to_string());
        stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Write\"]\n");
        let file = stage.repo("made.txt");
        let model = Model::script([write(file.to_str().unwrap(), "x"), shell("true"), say("done")]).start();
        let ended = stage.run(&model, "  - prompt: go\n", &["--isolation", "permissive"]);

        ended.assert_ended(0, "completed", "turn_done");
        assert!(!file.exists(), "{settings}");
        let decisions: Vec<String> = ended.decisions().into_iter().map(|(_, said)| said).collect();
        assert_eq!(decisions, ["deny", "allow", "pass"], "{settings}: {}", ended.story());
    }
}

/// An MCP server on standard input and output, with the tools `echo` and `erase`.
const SERVER: &str = r#"
const text = "from the server";
const answers = {
  "initialize": { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "docs", version: "1" } },
  "tools/list": { tools: ["echo", "erase"].map((name) => ({ name, description: name, inputSchema: { type: "object", properties: {} } })) },
  "tools/call": { content: [{ type: "text", text }] },
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] ?? {} }));
});
"#;

#[test]
fn tools_of_the_projects_mcp_servers_have_the_names_that_rules_use() {
    let stage = Stage::new(require_agent!("gemini"));
    let server = stage.sealed.write("server.js", SERVER);
    let settings = json!({"mcpServers": {"my_docs": {"command": "node", "args": [server]}}});
    stage.sealed.write("repo/.gemini/settings.json", settings.to_string());
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"mcp__my_docs__erase\"]\n");
    let call = |name: &str| tool(name, json!({}));
    let model = Model::script([call("mcp_my_docs_echo"), call("mcp_my_docs_erase"), say("done")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    let expected = [("mcp__my_docs__echo", "allow"), ("mcp__my_docs__erase", "deny"), ("stop", "pass")];
    assert_eq!(ended.decisions(), expected.map(|(tool, said)| (tool.to_owned(), said.to_owned())));
    assert!(model.requests()[1].last_user_text().contains("from the server"), "{}", ended.story());

    let model = Model::script([say("done")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &["--isolation", "strict"]);
    ended.assert_ended(0, "completed", "turn_done");
    let offered = model.requests()[0].tool_names();
    assert!(!offered.iter().any(|tool| tool.starts_with("mcp_")), "{offered:?}");
}

#[test]
fn a_subagent_is_held_to_the_same_rules() {
    let stage = Stage::new(require_agent!("gemini"));
    stage.sealed.write("config/windlass/config.toml", "[permissions]\ndeny = [\"Write\"]\n");
    let file = stage.repo("made.txt");
    let task = tool("invoke_agent", json!({"agent_name": "generalist", "prompt": "write it"}));
    let model = Model::script([task, say("done")])
        .subagents([
            write(file.to_str().unwrap(), "x"),
            tool("complete_task", json!({"result": "could not", "response": "could not"})),
        ])
        .start();
    let ended = stage.run(&model, "  - prompt: go\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert!(!file.exists());
    let decided = ended.decisions();
    let denied = ("write_file".to_owned(), "deny".to_owned());
    assert!(decided.contains(&denied), "{decided:?}\n{}", ended.story());
}
