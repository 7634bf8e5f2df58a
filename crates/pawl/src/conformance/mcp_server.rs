//! A small MCP server on standard input and output, which an agent starts in a scene.
//!
//! `windlass scripted-mcp` runs it, so that a scene needs no other program. It has two tools without arguments: the
//! scene lets the agent call one and refuses the other.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

/// The first argument of `windlass` that starts the server.
pub const VERB: &str = "scripted-mcp";
/// The name under which a scene adds the server to the settings of a CLI.
pub(super) const SERVER: &str = "harbour";
/// The tool that a scene allows.
pub(super) const ALLOWED: &str = "look_up";
/// The tool that a scene denies.
pub(super) const DENIED: &str = "wipe_out";
/// The result of the allowed tool.
pub(super) const RESULT: &str = "the tide turns at noon";

/// Runs the server until its input ends.
pub fn main() -> ExitCode {
    match serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    for line in input.lines() {
        let request: Value = serde_json::from_str(&line?).unwrap_or_default();
        // A message without an id is a notification.
        let (Some(id), Some(method)) = (request.get("id"), request.get("method").and_then(Value::as_str))
        else {
            continue;
        };
        let reply = match answer(method, request.get("params").unwrap_or(&Value::Null)) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                let error = json!({"code": -32601, "message": "method not found"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        writeln!(output, "{reply}")?;
        output.flush()?;
    }
    Ok(())
}

/// Returns the result of a request, or nothing for an unknown method.
fn answer(method: &str, params: &Value) -> Option<Value> {
    match method {
        "initialize" => {
            let version = params.get("protocolVersion").and_then(Value::as_str).unwrap_or("2025-06-18");
            let server = json!({"name": SERVER, "version": "1.0.0"});
            let able = json!({"tools": {}});
            Some(json!({"protocolVersion": version, "capabilities": able, "serverInfo": server}))
        }
        "ping" => Some(json!({})),
        "tools/list" => Some(json!({"tools": [described(ALLOWED), described(DENIED)]})),
        "tools/call" => {
            let text = if params.get("name")? == ALLOWED { RESULT } else { "everything is gone" };
            Some(json!({"content": [{"type": "text", "text": text}]}))
        }
        _ => None,
    }
}

fn described(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"harbour": {"type": "string"}}});
    json!({"name": name, "description": format!("A tool of a test: {name}"), "inputSchema": schema})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(lines: &[Value]) -> Vec<Value> {
        let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output).unwrap();
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_tool_is_listed_and_called_and_a_notification_gets_no_reply() {
        let replies = replies(&[
            json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}}),
            json!({"method": "notifications/initialized"}),
            json!({"id": "a", "method": "tools/list"}),
            json!({"id": 2, "method": "tools/call", "params": {"name": "look_up"}}),
            json!({"id": 3, "method": "resources/list"}),
        ]);
        assert_eq!(replies.len(), 4);
        assert_eq!(replies[0]["result"]["protocolVersion"], "2024-11-05");
        assert_eq!(
            (&replies[1]["id"], &replies[1]["result"]["tools"][0]["name"]),
            (&json!("a"), &json!("look_up"))
        );
        assert_eq!(replies[2]["result"]["content"][0]["text"], RESULT);
        assert_eq!(replies[3]["error"]["code"], -32601);
    }
}
