//! Hook programs: runs them, and the meaning of their answers, whatever their format.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::process::{self, Environment, ProgramEnd, SimProgram, Stderr};
use super::signals::StopRequest;

/// A moment of a session at which a CLI may call hooks.
///
/// The moments have the names of Claude Code, which has the most of them, and its facts about them.
pub(super) struct HookMoment<'a> {
    pub(super) event: &'a str,
    /// The tool or the subagent that the moment is about.
    pub(super) subject: &'a str,
    pub(super) facts: Value,
    /// The current prompt.
    pub(super) prompt: &'a str,
    pub(super) prompt_id: &'a str,
    /// The agent was already kept from stopping.
    pub(super) has_been_blocked: bool,
    pub(super) room: HookRoom<'a>,
}

impl HookMoment<'_> {
    /// Returns a fact, or null.
    pub(super) fn fact(&self, name: &str) -> Value {
        self.facts.get(name).cloned().unwrap_or_default()
    }
}

/// The environment in which hooks run.
pub(super) struct HookRoom<'a> {
    pub(super) env: &'a Environment,
    pub(super) cwd: &'a Path,
    /// The upper limit for all hooks, regardless of their own timeouts.
    pub(super) limit: Option<Duration>,
}

/// A hook program.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HookProgram {
    pub(super) argv: Vec<OsString>,
    /// Variables for it, beside those of the session.
    pub(super) env: Environment,
    pub(super) limit: Duration,
}

/// The output of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HookOutput {
    /// `None` if the hook did not end by itself.
    pub(super) exit_code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// The meaning of a hook's output.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct HookMeaning {
    pub(super) decision: Option<HookDecision>,
    pub(super) reason: String,
    pub(super) updated_input: Option<Value>,
    /// `continue: false`: the session ends after this.
    pub(super) halt: bool,
}

/// A hook's decision about a tool or a stop, in order of strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HookDecision {
    Allow,
    Defer,
    Ask,
    /// The tool may not run, or the agent may not stop.
    Refuse,
}

impl HookProgram {
    /// Makes a program of shell code.
    pub(super) fn shell(code: &str, limit: Duration) -> HookProgram {
        HookProgram { argv: vec!["sh".into(), "-c".into(), code.into()], env: Vec::new(), limit }
    }

    /// Runs the program with a payload.
    pub(super) fn call(&self, payload: &[u8], room: &HookRoom<'_>) -> Result<HookOutput, StopRequest> {
        let mut env = room.env.clone();
        env.retain(|(name, _)| !self.env.iter().any(|(own, _)| own == name));
        env.extend(self.env.iter().cloned());
        let job = SimProgram {
            argv: &self.argv,
            env: &env,
            cwd: room.cwd,
            stdin: payload,
            limit: self.limit.min(room.limit.unwrap_or(Duration::MAX)),
            stderr: Stderr::Apart,
        };
        match process::run(&job) {
            Ok(ProgramEnd::Ended { code, stdout, stderr }) => {
                Ok(HookOutput { exit_code: code, stdout, stderr })
            }
            Ok(ProgramEnd::TimedOut) => Ok(HookOutput::nothing("timed out")),
            Ok(ProgramEnd::Cut(asked)) => Err(asked),
            Err(cause) => Ok(HookOutput::nothing(&cause.to_string())),
        }
    }
}

impl HookOutput {
    fn nothing(why: &str) -> HookOutput {
        HookOutput { exit_code: None, stdout: String::new(), stderr: why.to_owned() }
    }

    /// Returns the JSON on standard output, or null.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }
}

impl HookMeaning {
    pub(super) fn allow() -> HookMeaning {
        HookMeaning { decision: Some(HookDecision::Allow), ..HookMeaning::default() }
    }

    pub(super) fn refuse(reason: impl Into<String>) -> HookMeaning {
        HookMeaning { decision: Some(HookDecision::Refuse), reason: reason.into(), ..HookMeaning::default() }
    }

    /// Combines the answers of several hooks: the strongest decision, and the last changed input.
    pub(super) fn together(answers: impl IntoIterator<Item = HookMeaning>) -> HookMeaning {
        let mut all = HookMeaning::default();
        for one in answers {
            if one.decision > all.decision {
                all.decision = one.decision;
                all.reason = one.reason;
            }
            all.halt |= one.halt;
            all.updated_input = one.updated_input.or(all.updated_input);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_beats_an_allowance() {
        let all = HookMeaning::together([HookMeaning::refuse("no"), HookMeaning::allow()]);
        assert_eq!((all.decision, all.reason.as_str()), (Some(HookDecision::Refuse), "no"));
    }

    #[test]
    fn a_hook_that_does_not_read_its_input_is_no_trouble() {
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        let room = HookRoom { env: &env, cwd: Path::new("/"), limit: None };
        let hook = HookProgram::shell("true", Duration::from_secs(60));
        assert_eq!(hook.call(&vec![b'x'; 5_000_000], &room).unwrap().exit_code, Some(0));
    }
}
