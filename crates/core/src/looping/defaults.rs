//! The defaults of a loop: its markers, tracker, continue messages and limit.

/// The completion marker of a workflow that sets none.
pub const DEFAULT_MARKER: &str = "<!-- WORKFLOW_COMPLETE -->";
/// The marker of an agent that cannot continue.
pub const BLOCKED_MARKER: &str = "<!-- WORKFLOW_BLOCKED: reason -->";
/// The initial tracker body of a workflow that sets none.
pub const DEFAULT_TRACKER: &str = "# Loop Progress\n\n_In progress_";
/// The default message for turns after the first.
pub const DEFAULT_CONTINUE: &str =
    "Continue the task. Read the tracker at {tracker_path} for what is done and what is next.";
/// The same for a loop without a tracker.
pub const DEFAULT_CONTINUE_WITHOUT_TRACKER: &str =
    "Go on with the task: look at what is already done, then do what is left.";
/// The default limit on the number of turns.
pub const DEFAULT_MAX_ITERATIONS: u32 = 15;
