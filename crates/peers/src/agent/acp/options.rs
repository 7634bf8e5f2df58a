//! The modes, models and efforts that an agent offers for a conversation, and the requests that choose them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::launch::Notes;
use super::wire::{self, SET_EFFORT, SET_MODE, SET_MODEL};

/// Modes in which an agent uses tools without asking, in the words of several agents.
const UNASKING: &[&str] = &[
    "yolo",
    "autoEdit",
    "auto",
    "acceptEdits",
    "bypassPermissions",
    "full-access",
    "agent-full-access",
    "https://agentclientprotocol.com/protocol/session-modes#autopilot",
];
/// Modes in which an agent works and asks, in the same order.
const ASKING: &[&str] =
    &["default", "ask", "agent", "https://agentclientprotocol.com/protocol/session-modes#agent"];

/// The result of a request that opens a conversation, as far as it offers choices.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OpenedSession {
    pub(super) session_id: String,
    modes: Option<Modes>,
    models: Option<Models>,
    config_options: Vec<ConfigOption>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Modes {
    current_mode_id: String,
    available_modes: Vec<Mode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Mode {
    id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Models {
    current_model_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ConfigOption {
    id: String,
    category: String,
    current_value: Value,
    options: Value,
}

/// A request that chooses something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OptionChoice {
    pub(super) id: &'static str,
    pub(super) line: Vec<u8>,
}

/// A wish of the user that the agent cannot fulfil.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotOffered {
    Models,
    Effort,
}

impl OpenedSession {
    /// Returns the name of the current model, if the agent says it.
    pub(super) fn model(&self) -> String {
        let of_option = self.option("model").and_then(|option| option.current_value.as_str());
        let of_models = self.models.as_ref().map(|models| models.current_model_id.as_str());
        of_option.or(of_models).unwrap_or_default().to_owned()
    }

    /// Returns the requests that choose what the turn needs, and what the agent does not offer.
    pub(super) fn choices(&self, session: &str, notes: &Notes) -> (Vec<OptionChoice>, Vec<NotOffered>) {
        let (mut choices, mut missing) = (Vec::new(), Vec::new());
        choices.extend(self.mode(session).filter(|_| notes.asks));
        if let Some(model) = notes.model.as_deref().filter(|model| *model != self.model()) {
            match self.model_choice(session, model) {
                Some(choice) => choices.push(choice),
                None => missing.push(NotOffered::Models),
            }
        }
        if let Some(effort) = notes.effort.as_deref() {
            match self.option("thought_level").filter(|option| option.offers(effort)) {
                Some(option) if option.current_value == effort => {}
                Some(option) => choices.push(option.choice(SET_EFFORT, session, effort)),
                None => missing.push(NotOffered::Effort),
            }
        }
        (choices, missing)
    }

    /// Returns the request for a mode that asks, if the current one does not.
    fn mode(&self, session: &str) -> Option<OptionChoice> {
        let modes = self.modes.as_ref().filter(|modes| UNASKING.contains(&modes.current_mode_id.as_str()))?;
        let is_offered = |id: &&&str| modes.available_modes.iter().any(|mode| mode.id == **id);
        let asking = ASKING.iter().find(is_offered)?;
        let params = json!({ "sessionId": session, "modeId": asking });
        Some(OptionChoice { id: SET_MODE, line: wire::request(SET_MODE, "session/set_mode", &params) })
    }

    fn model_choice(&self, session: &str, model: &str) -> Option<OptionChoice> {
        if let Some(option) = self.option("model") {
            return Some(option.choice(SET_MODEL, session, model));
        }
        self.models.as_ref()?;
        let params = json!({ "sessionId": session, "modelId": model });
        Some(OptionChoice { id: SET_MODEL, line: wire::request(SET_MODEL, "session/set_model", &params) })
    }

    fn option(&self, category: &str) -> Option<&ConfigOption> {
        self.config_options.iter().find(|option| option.category == category)
    }
}

impl ConfigOption {
    /// Decides whether a value is in the list, which may have groups.
    fn offers(&self, value: &str) -> bool {
        let is_it = |option: &Value| option.get("value").is_some_and(|own| own == value);
        let groups = || self.options.as_array().into_iter().flatten();
        let in_group = |group: &Value| group.get("options")?.as_array().map(|list| list.iter().any(is_it));
        groups().any(is_it) || groups().any(|group| in_group(group).unwrap_or_default())
    }

    fn choice(&self, id: &'static str, session: &str, value: &str) -> OptionChoice {
        let params = json!({ "sessionId": session, "configId": self.id, "value": value });
        OptionChoice { id, line: wire::request(id, "session/set_config_option", &params) }
    }
}
