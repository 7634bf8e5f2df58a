//! The MCP server, as an agent CLI speaks to it.

use serde_json::{Value, json};

use crate::stage::{Stage, assert_exit, lines};

fn hello() -> Vec<Value> {
    vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

fn say(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

#[test]
fn lists_the_permission_prompt_and_denies_what_nobody_decided() {
    let mut messages = hello();
    messages.push(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let arguments = json!({"tool_name": "WebFetch", "input": {"url": "http://x"}, "tool_use_id": "t"});
    let call = json!({"name": "approve", "arguments": arguments});
    messages.push(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}));
    let refusal = r#"{"behavior":"deny"}"#;
    let arguments = ["mcp", "--prompt", "PermissionRequest", "--refusal", refusal];
    let output = Stage::new().run_with_input(&arguments, &say(&messages));
    assert_exit(&output, 0);
    let replies = lines(&output);
    let reply = |id: u64| &replies.iter().find(|reply| reply["id"] == id).unwrap()["result"];
    assert_eq!(reply(0)["serverInfo"]["name"], "windlass");
    assert_eq!(reply(1)["tools"][0]["name"], "approve");
    let answer: Value = serde_json::from_str(reply(2)["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(answer["behavior"], "deny");
}

#[test]
fn it_has_no_permission_prompt_unless_it_was_told_how_to_ask() {
    let mut messages = hello();
    messages.push(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let output = Stage::new().run_with_input(&["mcp"], &say(&messages));
    let replies = lines(&output);
    let tools = &replies.iter().find(|reply| reply["id"] == 1).unwrap()["result"]["tools"];
    assert_eq!(tools, &json!([]));
}

#[test]
fn an_agent_that_says_nothing_is_no_failure() {
    assert_exit(&Stage::new().run_with_input(&["mcp"], ""), 0);
}
