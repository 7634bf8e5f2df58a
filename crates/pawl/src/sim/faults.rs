//! Plays faults: a session that hangs, dies, writes garbage or is refused by the service.

use std::time::Duration;

use serde_json::json;

use super::events::{self, Failure, ResultVerdict};
use super::play::{PlayCut, PlayEnding, Player};
use super::process;
use super::script::{ApiError, CrashStep, Garbage, Grandchild, Hang, RateLimitStep, ScriptStep};
use super::signals;
use super::stream::{new_uuid, now_ms};

/// The interval for checking that a file exists.
const LOOK: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_secs(3600);

impl Player<'_> {
    /// Plays a fault step.
    pub(super) fn go_wrong(&mut self, step: &ScriptStep) -> Result<(), PlayCut> {
        match step {
            ScriptStep::Hang(Hang::Plain(false)) => Ok(()),
            ScriptStep::Hang(Hang::Plain(true)) => hang(),
            ScriptStep::Hang(Hang::How { ignore_sigterm }) => {
                if *ignore_sigterm {
                    signals::ignore_terminate();
                }
                hang()
            }
            ScriptStep::SleepMs(ms) => Ok(signals::pause(Duration::from_millis(*ms))?),
            ScriptStep::WaitFor(path) => self.wait_for(path),
            ScriptStep::Crash(CrashStep::Code(code)) => Err(PlayCut::Dead(PlayEnding::Exit(*code))),
            ScriptStep::Crash(CrashStep::Signal(signal)) => Err(PlayCut::Dead(PlayEnding::Signal(*signal))),
            ScriptStep::HalfLine(on) => self.only_if(*on, Self::break_off),
            ScriptStep::BigLine(bytes) => {
                Ok(self.stream.block(json!({"type": "text", "text": "x".repeat(*bytes)}))?)
            }
            ScriptStep::Garbage(garbage) => self.babble(garbage),
            ScriptStep::Grandchild(Grandchild::Plain(false)) => Ok(()),
            ScriptStep::Grandchild(grandchild) => self.leave_grandchild(grandchild),
            ScriptStep::RateLimit(limit) => self.meet_limit(limit),
            ScriptStep::ApiError(error) => self.meet_error(error),
            _ => Ok(()),
        }
    }

    fn wait_for(&mut self, path: &str) -> Result<(), PlayCut> {
        let path = self.words.cwd.join(self.words.fill(path));
        while !path.exists() {
            signals::pause(LOOK)?;
        }
        Ok(())
    }

    /// Dies in the middle of a line.
    fn break_off(&mut self) -> Result<(), PlayCut> {
        let event =
            events::assistant("msg_half", self.stream.model(), Default::default(), json!({"type": "text"}));
        let line = event.to_string();
        let half = line.as_bytes().get(..line.len() / 2).unwrap_or_default().to_vec();
        self.stream.raw(&half)?;
        Err(PlayCut::Dead(PlayEnding::Exit(1)))
    }

    fn babble(&mut self, garbage: &Garbage) -> Result<(), PlayCut> {
        let mut line = match garbage {
            Garbage::Text(text) => self.words.fill(text).into_bytes(),
            Garbage::Raw { bytes } => bytes.clone(),
        };
        line.push(b'\n');
        Ok(self.stream.raw(&line)?)
    }

    fn leave_grandchild(&mut self, grandchild: &Grandchild) -> Result<(), PlayCut> {
        let unable =
            |cause: std::io::Error| PlayCut::Fatal(format!("cannot leave a process behind: {cause}"));
        let pid = process::leave_sleeper(&self.env, &self.words.cwd).map_err(unable)?;
        if let Grandchild::Noted { pid_file } = grandchild {
            let path = self.words.cwd.join(self.words.fill(pid_file));
            std::fs::write(path, pid).map_err(unable)?;
        }
        Ok(())
    }

    fn meet_limit(&mut self, limit: &RateLimitStep) -> Result<(), PlayCut> {
        let resets_ms = limit.resets_at_ms.or(limit.resets_in_ms.map(|ms| now_ms().saturating_add(ms)));
        // Whole seconds, rounded up, so that the limit never ends early.
        let resets_at = resets_ms.map(|ms| ms.div_euclid(1000) + i64::from(ms.rem_euclid(1000) > 0));
        self.stream.event(events::rate_limit(resets_at))?;
        self.fail(Failure { status: 429, text: "You've hit your limit".to_owned() })
    }

    fn meet_error(&mut self, error: &ApiError) -> Result<(), PlayCut> {
        let text = format!("API Error: {} {}", error.status, self.words.fill(&error.message));
        let failure = Failure { status: error.status, text: text.trim_end().to_owned() };
        if matches!(error.status, 401 | 408 | 409 | 429 | 500..) {
            self.stream.event(events::api_retry(&failure))?;
        }
        self.fail(failure)
    }

    /// Ends the session with the service's refusal. The Stop hook is not called.
    fn fail(&mut self, failure: Failure) -> Result<(), PlayCut> {
        let event = events::api_error_message(&new_uuid(), &failure);
        self.stream.synthetic(event)?;
        self.said = failure.text.clone();
        Err(PlayCut::Over(ResultVerdict {
            terminal_reason: failure.reason(),
            stop_reason: "stop_sequence",
            outcome: Ok(failure.text.clone()),
            failure: Some(failure),
        }))
    }
}

/// Does nothing until a signal comes.
fn hang() -> Result<(), PlayCut> {
    loop {
        signals::pause(LONG)?;
    }
}
