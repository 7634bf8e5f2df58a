//! The usage of a session, which outlives its processes. It is where the CLI keeps its sessions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sim::event::{SimMessage, UsageTally};
use crate::sim::script::ScriptUsage;

/// The usage of a whole session, in a file.
#[derive(Debug, Default)]
pub(super) struct SessionState {
    path: Option<PathBuf>,
    kept: KeptState,
    last_message: String,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct KeptState {
    usage: ScriptUsage,
    requests: u64,
}

impl SessionState {
    /// Opens the state of a session. A missing or unreadable file is a new session.
    pub(super) fn open(path: PathBuf) -> SessionState {
        let kept = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        SessionState { path: Some(path), kept: kept.unwrap_or_default(), last_message: String::new() }
    }

    /// Counts a message, once. It is kept at once, because the process may be killed.
    pub(super) fn count(&mut self, message: &SimMessage) {
        if self.last_message == message.id {
            return;
        }
        self.last_message = message.id.clone();
        self.kept.usage.add(message.usage);
        self.kept.requests += 1;
        let Some(path) = &self.path else { return };
        // Whoever cannot keep a state starts with none the next time.
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(path, serde_json::to_vec(&self.kept).unwrap_or_default());
    }

    /// Returns the usage of the session so far, with that of earlier processes.
    pub(super) fn tally(&self) -> UsageTally {
        UsageTally { usage: self.kept.usage, requests: self.kept.requests, cost_usd: 0.0 }
    }
}
