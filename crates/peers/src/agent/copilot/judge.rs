//! The verdict on a turn.

use windlass_core::event::{SessionFailure, SessionVerdict};

use super::super::transcript::{ProcessEnd, Transcript};

/// The beginning of what the CLI prints, instead of any event, when it has no login.
const NO_LOGIN: &str = "Error: No authentication information found";

/// Judges a turn by its typed events. The exit code says little: it is 0 when a tool was refused, and also when
/// a signal ended the turn.
pub(super) fn judge(transcript: &Transcript, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
    match transcript.judge(over, stderr) {
        SessionVerdict::Failed { cause: SessionFailure::Process, .. } if stderr.starts_with(NO_LOGIN) => {
            SessionVerdict::Failed {
                cause: SessionFailure::Login,
                what: "nobody is logged in; run `copilot login`".to_owned(),
            }
        }
        verdict => verdict,
    }
}
