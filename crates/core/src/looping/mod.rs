//! Loops: their rules, the decision when they end, and the prompt of each turn.

pub mod completion;
mod defaults;
pub mod marker;
pub mod promise;
pub mod prompt;
pub mod prose;
pub mod reach;
pub mod same_error;
pub mod verdict;

use crate::words;
use serde::{Deserialize, Serialize};

pub use defaults::{
    BLOCKED_MARKER, DEFAULT_CONTINUE, DEFAULT_CONTINUE_WITHOUT_TRACKER, DEFAULT_MARKER,
    DEFAULT_MAX_ITERATIONS, DEFAULT_TRACKER,
};

words! {
    /// The way a loop continues after a turn.
    #[derive(Default)]
    pub enum LoopMode {
        /// Starts a new session for every turn. The tracker carries the state.
        #[default]
        Fresh = "fresh",
        /// Keeps one session and blocks its Stop hook.
        InSession = "in_session",
        /// Resumes the same session.
        Resume = "resume",
        /// Lets the ralph-loop plugin loop. Windlass writes its state file.
        Plugin = "plugin",
    }
}

words! {
    /// The required position of a completion marker.
    #[derive(Default)]
    pub enum MarkerMatch {
        /// Alone on a line outside code fences, and not from the template.
        #[default]
        Line = "line",
        /// On the last non-blank line.
        LastLine = "last_line",
        Anywhere = "anywhere",
    }
}

/// The rules of one loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopRules {
    /// The agent's prompt, with the input filled in.
    pub prompt: String,
    pub mode: LoopMode,
    /// The text in the tracker that completes the loop.
    pub marker: Option<String>,
    #[serde(default)]
    pub marker_match: MarkerMatch,
    /// The text in `<promise>` tags of the final message that completes the loop.
    pub promise: Option<String>,
    /// The text alone on a line of the final message that completes a loop without a tracker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The blocked marker, if the workflow changes it.
    #[serde(default)]
    pub blocked_marker: Option<String>,
    /// The maximum number of turns; 0 is unlimited.
    pub max_iterations: u32,
    /// The message for turns after the first. `{tracker_path}` is replaced by the tracker's path.
    pub continue_message: String,
    /// The tracker's initial body.
    pub tracker_body: String,
    /// The tracker's absolute path; `None` for a loop without a tracker.
    pub tracker_path: Option<String>,
    /// The number of turns without progress after which the loop ends as stuck; 0 is never.
    pub stuck_after: u32,
}

impl LoopRules {
    /// Returns true if the final message of a turn can end the loop. Then it can also report that the agent
    /// is blocked.
    pub fn is_ended_by_words(&self) -> bool {
        self.signal.is_some() || self.promise.is_some()
    }
}
