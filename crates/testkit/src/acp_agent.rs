//! A fake agent that speaks the Agent Client Protocol: a process that answers each line it reads as the test says.
//!
//! It keeps every line that it read, so that a test can see what was sent and how often.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::env::Sealed;

/// The script of an agent: which lines it answers, and how.
#[derive(Debug, Clone, Default)]
pub struct AcpAgent {
    /// A text in a line, and the commands of a shell that answer it.
    answers: Vec<(String, Vec<String>)>,
    /// Commands after the end of the input.
    end: Vec<String>,
}

impl AcpAgent {
    /// Makes an agent that opens conversations, and continues them.
    pub fn new() -> AcpAgent {
        let capabilities = json!({ "loadSession": true });
        AcpAgent::default()
            .result(
                "windlass-initialize",
                &json!({ "protocolVersion": 1, "agentCapabilities": capabilities }),
            )
            .result("windlass-session", &json!({ "sessionId": "s-1" }))
    }

    /// Answers a request of Windlass with a result. The first answer to a line counts.
    #[must_use]
    pub fn result(self, id: &str, result: &Value) -> AcpAgent {
        self.say(id, &[&json!({ "jsonrpc": "2.0", "id": id, "result": result })])
    }

    /// Answers a request of Windlass with an error.
    #[must_use]
    pub fn error(self, id: &str, code: i64, message: &str) -> AcpAgent {
        let error = json!({ "code": code, "message": message });
        self.say(id, &[&json!({ "jsonrpc": "2.0", "id": id, "error": error })])
    }

    /// Answers a line that has this text with these messages.
    #[must_use]
    pub fn say(self, text: &str, messages: &[&Value]) -> AcpAgent {
        let print = |message: &&Value| format!("printf '%s\\n' {}", quoted(&message.to_string()));
        self.run(text, messages.iter().map(print))
    }

    /// Answers a line that has this text with commands of a shell.
    #[must_use]
    pub fn run(mut self, text: &str, commands: impl IntoIterator<Item = String>) -> AcpAgent {
        match self.answers.iter_mut().find(|(known, _)| known == text) {
            Some((_, known)) => known.extend(commands),
            None => self.answers.push((text.to_owned(), commands.into_iter().collect())),
        }
        self
    }

    /// Runs a command of a shell after the end of the input.
    #[must_use]
    pub fn at_the_end(mut self, command: &str) -> AcpAgent {
        self.end.push(command.to_owned());
        self
    }

    /// Writes the program, and returns its path.
    pub fn write(&self, sealed: &Sealed) -> PathBuf {
        let heard = heard_file(sealed);
        let mut text =
            format!("#!/bin/sh\necho started >> {0}\nwhile IFS= read -r line; do\n", quoted_path(&heard));
        text.push_str(&format!("printf '%s\\n' \"$line\" >> {}\ncase $line in\n", quoted_path(&heard)));
        for (pattern, commands) in &self.answers {
            text.push_str(&format!(
                "*{}*)\n{}\n;;\n",
                quoted(&format!("\"{pattern}\"")),
                commands.join("\n")
            ));
        }
        text.push_str(&format!("esac\ndone\n{}\n", self.end.join("\n")));
        let file = sealed.write("an acp agent", text);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a program of the sealed place");
        file
    }
}

/// Returns an update of the conversation.
pub fn update(update: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s-1", "update": update } })
}

/// Returns a piece of a message.
pub fn chunk(text: &str) -> Value {
    update(&json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }))
}

/// Returns the request for a permission to run a command.
pub fn asks(id: u64, command: &str) -> Value {
    let call =
        json!({ "toolCallId": format!("c-{id}"), "kind": "execute", "rawInput": { "command": command } });
    let option = |kind: &str| json!({ "optionId": format!("the-{kind}"), "kind": kind, "name": kind });
    let options = ["allow_always", "allow_once", "reject_once"].map(option);
    let params = json!({ "sessionId": "s-1", "toolCall": call, "options": options });
    json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params })
}

/// Returns the lines that the agent read, from all its processes. Each process begins with `started`.
pub fn heard(sealed: &Sealed) -> Vec<String> {
    let text = fs::read_to_string(heard_file(sealed)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn heard_file(sealed: &Sealed) -> PathBuf {
    sealed.root().join("heard")
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
