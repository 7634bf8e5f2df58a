//! Plays faults: a session that hangs, dies, writes garbage or is refused by the service.

use std::time::Duration;

use super::event::{Failure, LimitReset, PlayVerdict};
use super::ids::now_ms;
use super::play::{PlayCut, PlayEnding, Player};
use super::process;
use super::script::{ApiError, CrashStep, Garbage, Grandchild, Hang, RateLimitStep, ScriptStep};
use super::signals;

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
            ScriptStep::BigLine(bytes) => Ok(self.stream.said(&"x".repeat(*bytes))?),
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
        let line = self.stream.format.sample_line();
        let half = line.as_bytes().get(..line.len() / 2).unwrap_or_default();
        self.stream.lines.raw(half)?;
        Err(PlayCut::Dead(PlayEnding::Exit(1)))
    }

    fn babble(&mut self, garbage: &Garbage) -> Result<(), PlayCut> {
        let mut line = match garbage {
            Garbage::Text(text) => self.words.fill(text).into_bytes(),
            Garbage::Raw { bytes } => bytes.clone(),
        };
        line.push(b'\n');
        Ok(self.stream.lines.raw(&line)?)
    }

    fn leave_grandchild(&mut self, grandchild: &Grandchild) -> Result<(), PlayCut> {
        let unable =
            |cause: std::io::Error| PlayCut::fatal(format!("cannot leave a process behind: {cause}"));
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
        let limit = Some(resets_at.map_or(LimitReset::Unknown, LimitReset::At));
        self.fail(Failure { status: 429, message: String::new(), limit })
    }

    fn meet_error(&mut self, error: &ApiError) -> Result<(), PlayCut> {
        let message = self.words.fill(&error.message);
        self.fail(Failure { status: error.status, message, limit: None })
    }

    /// Ends the session with the service's refusal. The Stop hook is not called.
    fn fail(&mut self, failure: Failure) -> Result<(), PlayCut> {
        self.stream.failed(&failure)?;
        self.said = failure.words();
        Err(PlayCut::Over(PlayVerdict {
            terminal_reason: "api_error",
            stop_reason: "stop_sequence",
            outcome: Ok(self.said.clone()),
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
