//! Steps that go wrong: a session that hangs, dies, babbles or is refused by the service.

use std::time::Duration;

use serde_json::json;

use super::events::{self, Failure, Verdict};
use super::play::{Cut, Ending, Player};
use super::process;
use super::script::{ApiError, Crash, Garbage, Grandchild, Hang, RateLimit, Step};
use super::signals;
use super::stream::{new_uuid, now_ms};

/// How often a file is looked for.
const LOOK: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_secs(3600);

impl Player<'_> {
    /// Plays a step that is no deed of the agent.
    pub(super) fn go_wrong(&mut self, step: &Step) -> Result<(), Cut> {
        match step {
            Step::Hang(Hang::Plain(false)) => Ok(()),
            Step::Hang(Hang::Plain(true)) => hang(),
            Step::Hang(Hang::How { ignore_sigterm }) => {
                if *ignore_sigterm {
                    signals::ignore_terminate();
                }
                hang()
            }
            Step::SleepMs(ms) => Ok(signals::pause(Duration::from_millis(*ms))?),
            Step::WaitFor(path) => self.wait_for(path),
            Step::Crash(Crash::Code(code)) => Err(Cut::Dead(Ending::Exit(*code))),
            Step::Crash(Crash::Signal(signal)) => Err(Cut::Dead(Ending::Signal(*signal))),
            Step::HalfLine(on) => self.only_if(*on, Self::break_off),
            Step::BigLine(bytes) => {
                Ok(self.stream.block(json!({"type": "text", "text": "x".repeat(*bytes)}))?)
            }
            Step::Garbage(garbage) => self.babble(garbage),
            Step::Grandchild(Grandchild::Plain(false)) => Ok(()),
            Step::Grandchild(grandchild) => self.leave_grandchild(grandchild),
            Step::RateLimit(limit) => self.meet_limit(limit),
            Step::ApiError(error) => self.meet_error(error),
            _ => Ok(()),
        }
    }

    fn wait_for(&mut self, path: &str) -> Result<(), Cut> {
        let path = self.words.cwd.join(self.words.fill(path));
        while !path.exists() {
            signals::pause(LOOK)?;
        }
        Ok(())
    }

    /// Dies in the middle of a line.
    fn break_off(&mut self) -> Result<(), Cut> {
        let event =
            events::assistant("msg_half", self.stream.model(), Default::default(), json!({"type": "text"}));
        let line = event.to_string();
        let half = line.as_bytes().get(..line.len() / 2).unwrap_or_default().to_vec();
        self.stream.raw(&half)?;
        Err(Cut::Dead(Ending::Exit(1)))
    }

    fn babble(&mut self, garbage: &Garbage) -> Result<(), Cut> {
        let mut line = match garbage {
            Garbage::Text(text) => self.words.fill(text).into_bytes(),
            Garbage::Raw { bytes } => bytes.clone(),
        };
        line.push(b'\n');
        Ok(self.stream.raw(&line)?)
    }

    fn leave_grandchild(&mut self, grandchild: &Grandchild) -> Result<(), Cut> {
        let unable = |cause: std::io::Error| Cut::Fatal(format!("cannot leave a process behind: {cause}"));
        let pid = process::leave_sleeper(&self.env, &self.words.cwd).map_err(unable)?;
        if let Grandchild::Noted { pid_file } = grandchild {
            let path = self.words.cwd.join(self.words.fill(pid_file));
            std::fs::write(path, pid).map_err(unable)?;
        }
        Ok(())
    }

    fn meet_limit(&mut self, limit: &RateLimit) -> Result<(), Cut> {
        let resets_ms = limit.resets_at_ms.or(limit.resets_in_ms.map(|ms| now_ms().saturating_add(ms)));
        // Whole seconds, rounded up: a limit is not over before it is.
        let resets_at = resets_ms.map(|ms| ms.div_euclid(1000) + i64::from(ms.rem_euclid(1000) > 0));
        self.stream.event(events::rate_limit(resets_at))?;
        self.fail(Failure { status: 429, text: "You've hit your limit".to_owned() })
    }

    fn meet_error(&mut self, error: &ApiError) -> Result<(), Cut> {
        let text = format!("API Error: {} {}", error.status, self.words.fill(&error.message));
        let failure = Failure { status: error.status, text: text.trim_end().to_owned() };
        if matches!(error.status, 401 | 408 | 409 | 429 | 500..) {
            self.stream.event(events::api_retry(&failure))?;
        }
        self.fail(failure)
    }

    /// The service's refusal ends the session; its Stop hook is not asked.
    fn fail(&mut self, failure: Failure) -> Result<(), Cut> {
        let event = events::api_error_message(&new_uuid(), &failure);
        self.stream.synthetic(event)?;
        self.said = failure.text.clone();
        Err(Cut::Over(Verdict {
            terminal_reason: "api_error",
            stop_reason: "stop_sequence",
            outcome: Ok(failure.text.clone()),
            failure: Some(failure),
        }))
    }
}

/// Does nothing until a signal comes.
fn hang() -> Result<(), Cut> {
    loop {
        signals::pause(LONG)?;
    }
}
