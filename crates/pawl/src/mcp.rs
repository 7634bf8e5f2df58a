//! `windlass mcp [--prompt EVENT] [--refusal TEXT]`: the stdio MCP server given to the agents of a run.
//!
//! So far it only has the permission prompt, for agent CLIs that follow rules of their own and ask an MCP tool
//! about a tool call. The run's rules or a person decide, as they do for hooks. The server knows nothing about
//! a particular agent CLI: the dialect that installs it names the hook event, reads the arguments, writes the
//! answer, and supplies the refusal that is used if the run does not answer.
//!
//! Agent CLIs start one in every turn, so it starts no async runtime. Only a call that waits for the run gets a
//! thread.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::hook;

/// The name of the tool; agents see it as `mcp__windlass__approve`.
const NAME: &str = "approve";
const ABOUT: &str = "Answers permission prompts that no rule decided.";

/// The versions of the protocol in which the messages of this server are the same. The last one is the answer
/// to a client that knows none of them.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-11-25", "2025-06-18"];

/// The size limit of a message, larger than any real one.
const LARGEST_LINE: u64 = 64 << 20;
const USAGE: u8 = 2;

/// The error codes of JSON-RPC.
const NOT_JSON: i64 = -32700;
const NO_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const BAD_PARAMETERS: i64 = -32602;

/// Serves standard input and output until the agent closes its end.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(prompt) = read_args(args) else {
        let _ = std::io::stderr().write_all(b"usage: windlass mcp [--prompt EVENT [--refusal TEXT]]\n");
        return ExitCode::from(USAGE);
    };
    let server = McpServer { prompt, output: Arc::new(Mutex::new(std::io::stdout())) };
    let mut input = BufReader::new(std::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.by_ref().take(LARGEST_LINE).read_until(b'\n', &mut line) {
            // A call that still waits has nobody to answer: the agent is gone.
            Ok(0) | Err(_) => return ExitCode::SUCCESS,
            Ok(_) if line.trim_ascii().is_empty() => {}
            Ok(_) => server.hear(&line),
        }
    }
}

/// The way in which permission prompts reach the run.
#[derive(Debug, Clone, Default)]
struct PermissionPrompt {
    /// The hook event to use.
    event: String,
    /// The answer if the run gives none.
    refusal: String,
}

/// Reads the arguments. The inner value is `None` if the server has no permission prompt; the outer one if the
/// arguments are wrong.
fn read_args(mut args: impl Iterator<Item = OsString>) -> Option<Option<PermissionPrompt>> {
    let (mut event, mut refusal) = (None, None);
    while let Some(arg) = args.next() {
        let value = args.next()?.into_string().ok()?;
        match arg.to_str()? {
            "--prompt" => event = Some(value),
            "--refusal" => refusal = Some(value),
            _ => return None,
        }
    }
    match (event, refusal) {
        (None, Some(_)) => None,
        (event, refusal) => {
            Some(event.map(|event| PermissionPrompt { event, refusal: refusal.unwrap_or_default() }))
        }
    }
}

impl PermissionPrompt {
    /// Returns the run's answer. Waits without a limit, because a person may have to decide.
    fn answer(&self, arguments: &Value) -> String {
        match hook::ask(&self.event, arguments.to_string().as_bytes()) {
            Some(reply) if !reply.stdout.is_empty() => reply.stdout,
            Some(_) | None => self.refusal.clone(),
        }
    }
}

/// A server, and the output that its calls share.
#[derive(Debug)]
struct McpServer<W> {
    prompt: Option<PermissionPrompt>,
    output: Arc<Mutex<W>>,
}

impl<W: Write + Send + 'static> McpServer<W> {
    /// Handles one message. Only requests get a reply.
    fn hear(&self, line: &[u8]) {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(_) => {
                return reply(&self.output, &Value::Null, Err((NOT_JSON, "this is not JSON".to_owned())));
            }
        };
        let (id, params) = (field(&message, "id"), field(&message, "params"));
        let Some(method) = field(&message, "method").as_str() else {
            // The reply to a request of ours, of which there are none, or no message of this protocol.
            if field(&message, "result").is_null() && field(&message, "error").is_null() {
                reply(&self.output, id, Err((NO_REQUEST, "the message has no method".to_owned())));
            }
            return;
        };
        if id.is_null() {
            return;
        }
        match (method, &self.prompt) {
            ("tools/call", Some(prompt)) if *field(params, "name") == NAME => {
                self.ask_the_run(prompt.clone(), id.clone(), field(params, "arguments").clone());
            }
            _ => reply(&self.output, id, self.result(method, params)),
        }
    }

    fn result(&self, method: &str, params: &Value) -> Result<Value, (i64, String)> {
        match method {
            "initialize" => Ok(initialized(field(params, "protocolVersion").as_str())),
            "ping" => Ok(json!({})),
            "tools/list" => {
                let schema = json!({"type": "object", "additionalProperties": true});
                let tool = json!({"name": NAME, "description": ABOUT, "inputSchema": schema});
                let tools: Vec<Value> = self.prompt.iter().map(|_| tool.clone()).collect();
                Ok(json!({"tools": tools}))
            }
            "tools/call" => {
                let name = field(params, "name").as_str().unwrap_or_default();
                Err((BAD_PARAMETERS, format!("no tool `{name}`")))
            }
            method => Err((UNKNOWN_METHOD, format!("no method `{method}`"))),
        }
    }

    /// Answers a permission prompt, in a thread of its own if that may take long.
    fn ask_the_run(&self, prompt: PermissionPrompt, id: Value, arguments: Value) {
        let output = Arc::clone(&self.output);
        let arguments = if arguments.is_object() { arguments } else { json!({}) };
        let answer = move || {
            let content = json!([{"type": "text", "text": prompt.answer(&arguments)}]);
            reply(&output, &id, Ok(json!({"content": content, "isError": false})));
        };
        match hook::has_run() {
            true => drop(std::thread::spawn(answer)),
            false => answer(),
        }
    }
}

/// Returns a field of an object, or null if there is none.
fn field<'a>(of: &'a Value, name: &str) -> &'a Value {
    of.get(name).unwrap_or(&Value::Null)
}

fn initialized(version: Option<&str>) -> Value {
    let is_known = |version: &&str| VERSIONS.contains(version);
    let version = version.filter(is_known).or(VERSIONS.last().copied());
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "windlass", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// Writes one reply as one line. An agent that is gone needs none.
fn reply(output: &Mutex<impl Write>, id: &Value, result: Result<Value, (i64, String)>) {
    let message = match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    };
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = output.write_all(format!("{message}\n").as_bytes()).and_then(|()| output.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(prompt: Option<PermissionPrompt>, lines: &[&str]) -> Vec<Value> {
        let server = McpServer { prompt, output: Arc::new(Mutex::new(Vec::new())) };
        lines.iter().for_each(|line| server.hear(line.as_bytes()));
        let said: Vec<u8> = server.output.lock().unwrap().clone();
        let said = String::from_utf8(said).unwrap();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn prompt() -> PermissionPrompt {
        PermissionPrompt { event: "Tool".to_owned(), refusal: "no".to_owned() }
    }

    #[test]
    fn a_run_that_does_not_answer_refuses() {
        let call = r#"{"id":"a","method":"tools/call","params":{"name":"approve"}}"#;
        let [answer] = &answers(Some(prompt()), &[call])[..] else { panic!() };
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!("a"), &json!("no")));
    }

    #[test]
    fn it_speaks_the_version_of_the_client_if_it_knows_it() {
        let version = |version: &str| initialized(Some(version))["protocolVersion"].clone();
        assert_eq!(
            (version("2024-11-05"), version("1999-01-01")),
            (json!("2024-11-05"), json!("2025-06-18"))
        );
        assert_eq!(initialized(None)["protocolVersion"], "2025-06-18");
    }

    #[test]
    fn every_request_is_answered_and_nothing_else() {
        let lines = [
            r#"{"method":"notifications/initialized"}"#,
            r#"{"id":7,"result":{}}"#,
            r#"{"id":1,"method":"ping"}"#,
            r#"{"id":2,"method":"resources/list"}"#,
            r#"{"id":3,"method":"tools/call","params":{"name":"other"}}"#,
            "nonsense",
            "[]",
        ];
        let answers = answers(Some(prompt()), &lines);
        let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
        let expected = [None, Some(UNKNOWN_METHOD), Some(BAD_PARAMETERS), Some(NOT_JSON), Some(NO_REQUEST)];
        assert_eq!(codes, expected);
        assert_eq!(answers[0]["result"], json!({}));
    }

    #[test]
    fn arguments_are_an_event_and_a_refusal() {
        let args = |list: &[&str]| read_args(list.iter().map(OsString::from).collect::<Vec<_>>().into_iter());
        assert!(args(&[]).is_some_and(|prompt| prompt.is_none()));
        assert!(args(&["--prompt", "E", "--refusal", "-x"]).flatten().is_some_and(|p| p.refusal == "-x"));
        assert!(args(&["--refusal", "x"]).is_none());
        assert!(args(&["--prompt"]).is_none() && args(&["else", "x"]).is_none());
    }
}
