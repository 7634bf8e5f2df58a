//! The end of a turn. The exit code in it is 0 even if a signal ended the turn.

use serde::Deserialize;
use serde::de::IgnoredAny;
use windlass_core::agent::{AgentEvent, FailureCause, TurnFailure, TurnResult};

use super::message::NO_TOKENS;
use super::{CopilotLine, CopilotReader};

#[derive(Deserialize)]
struct Idle {
    #[serde(default)]
    aborted: bool,
}

#[derive(Deserialize)]
struct Exhausted {}

/// The last line. It has no data.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultLine {
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    exit_code: i64,
}

impl CopilotReader {
    pub(super) fn read_abort(&mut self, line: &str) -> serde_json::Result<()> {
        self.was_aborted |= !CopilotLine::<IgnoredAny>::read(line)?.is_side();
        Ok(())
    }

    /// Reads that the agent has nothing more to do. A CLI that a signal ends may print nothing after it.
    pub(super) fn read_idle(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let line = CopilotLine::<Idle>::read(line)?;
        if line.data.aborted && !line.is_side() {
            self.was_aborted = true;
            out.push(self.result(0));
        }
        Ok(())
    }

    pub(super) fn read_exhausted(&mut self, line: &str) -> serde_json::Result<()> {
        CopilotLine::<Exhausted>::read(line)?;
        let said = Some("the limit of AI credits for this session is reached".to_owned());
        self.failure =
            Some(TurnFailure { cause: FailureCause::OwnLimit, word: "ai_credits".to_owned(), said });
        Ok(())
    }

    pub(super) fn read_result(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let line: ResultLine = serde_json::from_str(line)?;
        out.push(self.result(line.exit_code));
        Ok(())
    }

    fn result(&self, exit_code: i64) -> AgentEvent {
        let failure = match (&self.failure, self.was_aborted, exit_code) {
            (_, true, _) => {
                let word = "aborted".to_owned();
                Some(TurnFailure { cause: FailureCause::CutOff, word, said: None })
            }
            (Some(failure), false, _) => Some(failure.clone()),
            (None, false, 0) => None,
            (None, false, code) => {
                let word = format!("exit_code_{code}");
                Some(TurnFailure { cause: FailureCause::Other, word, said: None })
            }
        };
        let usage = NO_TOKENS;
        AgentEvent::Result(Box::new(TurnResult { failure, usage, num_turns: 1, ..TurnResult::default() }))
    }
}
