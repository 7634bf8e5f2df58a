//! Loops: their rules, what ends them, and what each turn is told.

pub mod marker;
pub mod promise;
pub mod prompt;
pub mod prose;
pub mod reach;
pub mod verdict;

use crate::words;
use serde::{Deserialize, Serialize};

/// The marker that completes a loop when a workflow names none.
pub const DEFAULT_MARKER: &str = "<!-- WORKFLOW_COMPLETE -->";
/// How an agent says that it cannot go on.
pub const BLOCKED_MARKER: &str = "<!-- WORKFLOW_BLOCKED: reason -->";
/// The tracker's body when a workflow brings none.
pub const DEFAULT_TRACKER: &str = "# Loop Progress\n\n_In progress_";
/// What a turn after the first is told when a workflow says nothing else.
pub const DEFAULT_CONTINUE: &str =
    "Continue the task. Read the tracker at {tracker_path} for what is done and what is next.";
/// The same in a loop without a tracker.
pub const DEFAULT_GO_ON: &str = "Go on with the task: look at what is already done, then do what is left.";
/// Turns in total, when a workflow says nothing else.
pub const DEFAULT_MAX_ITERATIONS: u32 = 15;

words! {
    /// How a loop goes from one turn to the next.
    #[derive(Default)]
    pub enum LoopMode {
        /// Every turn is a new session; the tracker carries the state.
        #[default]
        Fresh = "fresh",
        /// One session whose Stop hook is answered with block.
        InSession = "in_session",
        /// The same session is resumed.
        Resume = "resume",
        /// The ralph-loop plugin loops; its state file is written for it.
        Plugin = "plugin",
    }
}

words! {
    /// Where a completion marker must stand.
    #[derive(Default)]
    pub enum MarkerMatch {
        /// Alone on a line outside code fences, and not already in the template.
        #[default]
        Line = "line",
        /// The last line that is not blank.
        LastLine = "last_line",
        /// Any place.
        Anywhere = "anywhere",
    }
}

/// One loop, complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopRules {
    /// What the agent is asked, with the input in it.
    pub prompt: String,
    /// How it goes on.
    pub mode: LoopMode,
    /// Text in the tracker that completes it.
    pub marker: Option<String>,
    /// Where that text must stand.
    #[serde(default)]
    pub marker_match: MarkerMatch,
    /// Text in `<promise>` tags of the final message that completes it.
    pub promise: Option<String>,
    /// Text alone on a line of the final message that completes it, in a loop without a tracker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// How the agent says that it is blocked, where a workflow changes it.
    #[serde(default)]
    pub blocked_marker: Option<String>,
    /// Turns in total; 0 is unlimited.
    pub max_iterations: u32,
    /// What a turn after the first is told; `{tracker_path}` stands for the path.
    pub continue_message: String,
    /// The tracker's first body.
    pub tracker_body: String,
    /// The tracker's absolute path; none where the loop keeps none.
    pub tracker_path: Option<String>,
    /// Turns without progress after which the agent is stuck; 0 is never.
    pub stuck_after: u32,
}

impl LoopRules {
    /// Whether the last words of a turn can end the loop: then they can also say that the agent is blocked.
    pub fn is_ended_by_words(&self) -> bool {
        self.signal.is_some() || self.promise.is_some()
    }
}
