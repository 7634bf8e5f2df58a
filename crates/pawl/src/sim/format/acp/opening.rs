//! The beginning of a conversation: the client and the agent agree on a version, a session and a prompt.

use serde_json::{Value, json};

use super::super::{LaunchRefusal, SessionChoice, SimLaunch};
use super::wire::{self, ClientLine, ClientLines, NO_METHOD};
use crate::sim::ids::new_uuid;
use crate::sim::start::{ProcessInputs, request_log};

/// The version of the protocol.
const VERSION: u64 = 1;
/// JSON-RPC's code for wrong parameters.
const BAD_PARAMS: i64 = -32602;

/// A prompt with the id of its request.
pub(super) struct OpenPrompt {
    pub(super) id: Value,
    pub(super) prompt: String,
    /// The texts before the prompt itself.
    pub(super) role: Option<String>,
}

/// Answers the client until it sends a prompt. The launch has an empty prompt if the client left without one.
pub(super) fn open(
    inputs: &mut ProcessInputs<'_>,
    client: &ClientLines,
) -> Result<(SimLaunch, Option<OpenPrompt>), LaunchRefusal> {
    let mut launch = SimLaunch::default();
    let gone = |cause: std::io::Error| LaunchRefusal::from(format!("cannot write: {cause}"));
    loop {
        let line = match client.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok((launch, None)),
            Err(_) => return Err(LaunchRefusal { text: String::new(), code: 143 }),
        };
        if line.method == "session/prompt" {
            let open = prompt(line);
            launch.prompt.clone_from(&open.prompt);
            launch.role.clone_from(&open.role);
            return Ok((launch, Some(open)));
        }
        let answers = answer(&line, &mut launch, inputs);
        answers.iter().try_for_each(|answer| wire::write(inputs.out, answer)).map_err(gone)?;
    }
}

/// Reads a prompt. The last of its texts is the prompt itself.
pub(super) fn prompt(line: ClientLine) -> OpenPrompt {
    let blocks = line.params.get("prompt").and_then(Value::as_array).into_iter().flatten();
    let mut texts: Vec<&str> = blocks.filter_map(|block| block.get("text")?.as_str()).collect();
    let prompt = texts.pop().unwrap_or_default().to_owned();
    let role = (!texts.is_empty()).then(|| texts.join("\n\n"));
    OpenPrompt { id: line.id, prompt, role }
}

/// Returns the lines with which the agent answers a request before the prompt.
fn answer(line: &ClientLine, launch: &mut SimLaunch, inputs: &ProcessInputs<'_>) -> Vec<String> {
    let id = &line.id;
    let text = |key: &str| line.params.get(key).and_then(Value::as_str).map(str::to_owned);
    match line.method.as_str() {
        "initialize" => vec![wire::result(id, initialized())],
        "session/new" => {
            launch.session = SessionChoice::made(new_uuid, None);
            let mut opened = offers(launch.model.as_deref());
            if let Some(opened) = opened.as_object_mut() {
                opened.insert("sessionId".to_owned(), json!(launch.session.id));
            }
            vec![wire::result(id, opened)]
        }
        "session/load" | "session/resume" => {
            let session = text("sessionId").unwrap_or_default();
            let log = request_log(&inputs.env, &inputs.cwd);
            if log.is_kept() && log.prompts(&session).is_empty() {
                return vec![wire::error(id, BAD_PARAMS, &format!("Session not found: {session}"))];
            }
            launch.session = SessionChoice::made(String::new, Some(session.clone()));
            // This process counts the money that it spends itself.
            vec![
                wire::update(&session, usage_update(0, 0.0)),
                wire::result(id, offers(launch.model.as_deref())),
            ]
        }
        "session/set_model" => {
            launch.model = text("modelId");
            vec![wire::result(id, json!({}))]
        }
        "session/set_mode" | "session/set_config_option" | "authenticate" => {
            vec![wire::result(id, json!({}))]
        }
        // A notice needs no answer.
        _ if id.is_null() => Vec::new(),
        method => vec![wire::error(id, NO_METHOD, &format!("\"Method not found\": {method}"))],
    }
}

fn initialized() -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": false, "sse": false},
            "sessionCapabilities": {"resume": {}},
        },
        "agentInfo": {"name": "windlass-sim", "title": "Windlass sim", "version": "1"},
        "authMethods": [],
    })
}

/// Returns the modes, models and efforts of a session.
fn offers(model: Option<&str>) -> Value {
    let model = model.unwrap_or("sim");
    let efforts: Vec<Value> =
        ["low", "medium", "high"].iter().map(|effort| json!({"value": effort, "name": effort})).collect();
    json!({
        "modes": {"currentModeId": "default", "availableModes": [{"id": "default", "name": "Default"}]},
        "models": {"currentModelId": model, "availableModels": [{"modelId": model, "name": model}]},
        "configOptions": [{
            "id": "effort", "name": "Effort", "category": "thought_level", "type": "select",
            "currentValue": "medium", "options": efforts,
        }],
    })
}

/// Builds the update about the size of the conversation and its cost so far.
pub(super) fn usage_update(used: u64, cost_usd: f64) -> Value {
    let cost = json!({"amount": cost_usd, "currency": "USD"});
    json!({"sessionUpdate": "usage_update", "used": used, "size": 200_000, "cost": cost})
}
