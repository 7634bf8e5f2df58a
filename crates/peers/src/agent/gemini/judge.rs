//! Judges how a turn went by the exit code, where the CLI's result does not say it.
//!
//! After an answer of the model's service with an error, the exit code is the HTTP status, of which only eight
//! bits remain. After a signal, the CLI ends with code 0 and no result.

use windlass_core::agent::{AgentEvent, ApiTrouble};
use windlass_core::event::SessionVerdict;
use windlass_core::launch::ExitFile;

use super::super::transcript::{ProcessEnd, Transcript};

/// No user is logged in.
const NO_LOGIN: i32 = 41;
/// An error without a status.
const ERROR: i32 = 1;
/// The line on standard error with the class of an error, and the class that has no status.
const REPORT: &str = "Error when talking to Gemini API ";
const NO_MODEL: &str = ".json ModelNotFoundError: ";
/// The number of bytes of standard error to show.
const SHOWN: usize = 600;

pub(super) fn judge(transcript: &Transcript, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
    let ProcessEnd::Exited(exit) = over else { return transcript.judge(over, stderr) };
    let has_result = transcript.results() > 0;
    let trouble = match exit.code {
        Some(NO_LOGIN) => Some(ApiTrouble::Login),
        Some(ERROR) if has_result && has_no_model(stderr) => Some(ApiTrouble::Model),
        Some(code) if has_result => status(code).map(trouble),
        _ => None,
    };
    if let Some(trouble) = trouble {
        let mut known = transcript.clone();
        let text = end_of(stderr).to_owned();
        known.add(&AgentEvent::ApiError { trouble, error: String::new(), text });
        // The number is a status, and not that of a signal.
        let exit = ExitFile { code: Some(1), ..exit.clone() };
        return known.judge(ProcessEnd::Exited(&exit), stderr);
    }
    match transcript.judge(over, stderr) {
        SessionVerdict::NothingSaid { .. } => {
            SessionVerdict::Interrupted { what: "ended without a result, as after a signal".to_owned() }
        }
        verdict => verdict,
    }
}

/// Returns the HTTP status that an exit code stands for: 400 to 511.
fn status(code: i32) -> Option<i32> {
    (144..=255).contains(&code).then_some(code + 256)
}

fn trouble(status: i32) -> ApiTrouble {
    match status {
        429 => ApiTrouble::RateLimit,
        401 | 403 => ApiTrouble::Login,
        404 => ApiTrouble::Model,
        408 | 409 | 425 | 499 | 500.. => ApiTrouble::Transient,
        _ => ApiTrouble::Lasting,
    }
}

fn has_no_model(stderr: &str) -> bool {
    stderr.lines().any(|line| line.starts_with(REPORT) && line.contains(NO_MODEL))
}

fn end_of(stderr: &str) -> &str {
    let text = stderr.trim();
    let from = (text.len().saturating_sub(SHOWN)..=text.len()).find(|at| text.is_char_boundary(*at));
    text.get(from.unwrap_or_default()..).unwrap_or_default()
}
