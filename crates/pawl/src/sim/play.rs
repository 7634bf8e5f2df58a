//! Plays one process of the sim, from the first hook to the exit code.
//!
//! Asks to stop, and reports the result. `choose` selects the turn, and `tools`, `finish`, `background` and
//! `faults` play the single steps.

use std::io::{self, Write};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Map, Value, json};

use super::event::{PlayVerdict, SessionOpening, SessionSummary, SimEvent, SimResult};
use super::format::{LaunchRefusal, SignalEnd, SimFormat, SimLaunch};
use super::hook_call::{HookDecision, HookMeaning, HookMoment, HookRoom};
use super::log::{ModelRequest, RequestLog};
use super::process::Environment;
use super::script::{ScriptStep, ScriptTurn, SimScript};
use super::signals::{self, StopRequest};
use super::start::{ProcessInputs, SessionStart};
use super::stream::Stream;
use super::words::{ScriptVariables, find_tracker};

/// The time limit of the last hook when the process is asked to end.
const PARTING: Duration = Duration::from_millis(1500);

/// The way the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlayEnding {
    Exit(u8),
    Signal(Signal),
}

/// The reason why playing stops early.
pub(super) enum PlayCut {
    /// The reader of the stream is gone.
    Unread,
    /// A signal asked the process to end.
    Asked(StopRequest),
    /// The script ends the process here.
    Dead(PlayEnding),
    /// The session ends without asking the Stop hook again.
    Over(PlayVerdict),
    /// The script cannot be played, or the CLI does not take the session.
    Refused(LaunchRefusal),
}

impl From<io::Error> for PlayCut {
    fn from(_: io::Error) -> PlayCut {
        PlayCut::Unread
    }
}

impl PlayCut {
    /// Ends the play with this text on standard error.
    pub(super) fn fatal(why: String) -> PlayCut {
        PlayCut::Refused(LaunchRefusal::from(why))
    }
}

impl From<StopRequest> for PlayCut {
    fn from(asked: StopRequest) -> PlayCut {
        PlayCut::Asked(asked)
    }
}

/// The step after a turn.
enum AfterTurn {
    /// The Stop hook blocked the stop, with this message.
    Turn(String),
    Result(PlayVerdict),
}

/// A session being played.
pub(super) struct Player<'a> {
    pub(super) script: &'a SimScript,
    pub(super) launch: SimLaunch,
    pub(super) env: Environment,
    pub(super) stream: Stream<'a>,
    pub(super) words: ScriptVariables,
    pub(super) log: RequestLog,
    pub(super) skip_hooks: bool,
    pub(super) prompt_id: String,
    /// The agent's last message in this turn.
    pub(super) said: String,
    /// The structured answer, once given.
    pub(super) structured: Option<Value>,
    pub(super) denials: Vec<Value>,
    /// The origin of the current prompt, if no person wrote it.
    pub(super) origin: Option<Value>,
    pub(super) results: Vec<SimResult>,
    /// The results are in the stream.
    pub(super) has_reported: bool,
    pub(super) overrides: Map<String, Value>,
    pub(super) in_tool: bool,
    pub(super) subagents: u32,
    pub(super) turn: u32,
    pub(super) blocks: u32,
}

/// Plays a script to its end.
pub(super) fn play(mut inputs: ProcessInputs<'_>, mut format: Box<dyn SimFormat>) -> PlayEnding {
    let script = match inputs.read_script() {
        Ok(script) => script,
        Err(refusal) => return refuse(inputs.err, &refusal),
    };
    let launch = match format.launch(&mut inputs) {
        Ok(launch) => launch,
        Err(refusal) => return refuse(inputs.err, &refusal),
    };
    let waits_for_input = launch.waits_for_input;
    let ProcessInputs { env, cwd, mut input, out, err, ready, .. } = inputs;
    let start = SessionStart { env, cwd, out, err: &mut *err, format };
    let mut player = Player::new(&script, launch, start);
    ready();
    let (played, has_reported) = (player.perform(), player.has_reported);
    drop(player);
    if waits_for_input && has_reported {
        // As the real CLI does, which waits for another message.
        let _ = io::copy(&mut input, &mut io::sink());
    }
    match played {
        Ok(ending) | Err(PlayCut::Dead(ending)) => ending,
        Err(PlayCut::Refused(refusal)) => refuse(err, &refusal),
        Err(PlayCut::Unread | PlayCut::Asked(_) | PlayCut::Over(_)) => PlayEnding::Exit(1),
    }
}

fn refuse(err: &mut dyn Write, refusal: &LaunchRefusal) -> PlayEnding {
    let _ = err.write_all(refusal.text.as_bytes());
    PlayEnding::Exit(refusal.code)
}

impl<'a> Player<'a> {
    fn perform(&mut self) -> Result<PlayEnding, PlayCut> {
        if let Some(ending) = self.refuse_session()? {
            return Ok(ending);
        }
        let verdict = match self.converse() {
            Ok(verdict) | Err(PlayCut::Over(verdict)) => verdict,
            Err(PlayCut::Asked(asked)) => return self.obey(asked),
            Err(cut) => return Err(cut),
        };
        self.finish(verdict);
        let overrides = std::mem::take(&mut self.overrides);
        let code = self.report(&overrides, None)?;
        self.part(None)?;
        Ok(PlayEnding::Exit(code))
    }

    /// Rejects a session id that is already used, and a resume of an unknown session.
    fn refuse_session(&mut self) -> Result<Option<PlayEnding>, PlayCut> {
        if !self.log.is_kept() {
            return Ok(None);
        }
        let session = self.launch.session.clone();
        let known = |id: &str| !self.log.prompts(id).is_empty();
        if session.is_chosen && known(&session.id) {
            return Err(PlayCut::fatal(format!("Session ID {} is already in use.", session.id)));
        }
        let Some(id) = session.resumes.filter(|id| !known(id)) else { return Ok(None) };
        if let Some(refusal) = self.stream.format.unknown_session(&id) {
            return Err(PlayCut::Refused(refusal));
        }
        let error = format!("No conversation found with session ID: {id}");
        self.finish(PlayVerdict::broken("error_during_execution", error));
        Ok(Some(PlayEnding::Exit(self.report(&Map::new(), None)?)))
    }

    fn converse(&mut self) -> Result<PlayVerdict, PlayCut> {
        if let Some(ScriptStep::SkipHooks(skip)) = self.current().and_then(|turn| turn.steps.first()) {
            self.skip_hooks = *skip || self.launch.has_no_hooks;
        }
        let source = if self.launch.session.resumes.is_some() { "resume" } else { "startup" };
        self.fire("SessionStart", source, json!({"source": source}))?;
        self.open_prompt(&self.words.prompt.clone())?;
        loop {
            match self.play_turn()? {
                AfterTurn::Result(verdict) => return Ok(verdict),
                AfterTurn::Turn(reason) => {
                    self.turn += 1;
                    self.words.place.iteration += 1;
                    self.words.place.attempt = 1;
                    self.words.tracker = find_tracker(&reason).or(self.words.tracker.take());
                    self.words.prompt = reason;
                }
            }
        }
    }

    fn current(&self) -> Option<&'a ScriptTurn> {
        self.script.turn(&self.words.place)
    }

    /// Writes the events before the model's first message on a prompt.
    pub(super) fn open_prompt(&mut self, prompt: &str) -> Result<(), PlayCut> {
        self.fire("UserPromptSubmit", "", json!({"prompt": prompt}))?;
        let opening = SessionOpening {
            cwd: &self.words.cwd,
            prompt,
            is_first: self.origin.is_none(),
            gives_answer: self.launch.schema.is_some(),
        };
        Ok(self.stream.tell(SimEvent::Opened(&opening))?)
    }

    fn play_turn(&mut self) -> Result<AfterTurn, PlayCut> {
        let turn =
            self.current().ok_or_else(|| PlayCut::fatal("the script has no turn to play".to_owned()))?;
        let place = &self.words.place;
        let request = ModelRequest {
            node: place.node.clone(),
            task: place.task.as_ref().map(|task| task.id.clone()),
            iteration: place.iteration,
            attempt: place.attempt,
            session: self.words.session.clone(),
            resumed: self.launch.session.resumes.is_some(),
            turn: self.turn,
            prompt: self.words.prompt.clone(),
            system: self.launch.role.clone(),
        };
        self.log
            .append(&request)
            .map_err(|cause| PlayCut::fatal(format!("cannot write the request log: {cause}")))?;
        self.stream.begin_turn(turn.usage, turn.cost_usd);
        self.said.clear();
        self.overrides = turn.result.clone();
        for step in &turn.steps {
            self.step(step)?;
            signals::pause(Duration::from_millis(self.script.delay_ms))?;
            if let Some(answer) = &self.structured {
                return self.end_answered(answer.to_string());
            }
        }
        self.end_turn()
    }

    fn end_turn(&mut self) -> Result<AfterTurn, PlayCut> {
        let answer = self.ask_to_stop(&json!([]))?;
        if answer.halt {
            return Ok(AfterTurn::Result(PlayVerdict::said("stop_hook_prevented", self.said.clone())));
        }
        if answer.decision != Some(HookDecision::Refuse) {
            return Ok(AfterTurn::Result(PlayVerdict::said("completed", self.said.clone())));
        }
        self.blocks += 1;
        let blocks = self.blocks;
        self.stream.tell(SimEvent::StopBlocked { reason: &answer.reason, blocks })?;
        let cap = self.launch.block_cap;
        if cap > 0 && blocks > cap {
            self.stream.tell(SimEvent::CapReached { blocks })?;
            // The real CLI counts the turn that it did not allow.
            self.stream.since.requests += 1;
            return Ok(AfterTurn::Result(PlayVerdict::said("completed", String::new())));
        }
        Ok(AfterTurn::Turn(answer.reason))
    }

    /// Ends the session after a structured answer. Like the real CLI, it calls the Stop hook and ignores its
    /// answer.
    fn end_answered(&mut self, answer: String) -> Result<AfterTurn, PlayCut> {
        self.ask_to_stop(&json!([]))?;
        // The real CLI counts the turn that it did not need.
        self.stream.since.requests += 1;
        Ok(AfterTurn::Result(PlayVerdict {
            stop_reason: "tool_use",
            ..PlayVerdict::said("completed", answer)
        }))
    }

    /// Calls the Stop hook.
    pub(super) fn ask_to_stop(&mut self, background_tasks: &Value) -> Result<HookMeaning, PlayCut> {
        self.stream.close_message();
        let extra = json!({
            "stop_hook_active": self.blocks > 0, "last_assistant_message": self.said,
            "background_tasks": background_tasks, "session_crons": [],
        });
        self.fire("Stop", "", extra)
    }

    /// Keeps a result for the end of the stream.
    pub(super) fn finish(&mut self, verdict: PlayVerdict) {
        self.results.push(SimResult {
            verdict,
            since: std::mem::take(&mut self.stream.since),
            elapsed_ms: self.stream.lines.elapsed_ms(),
            denials: self.denials.clone(),
            index: self.results.len(),
            subagents: self.subagents,
            structured: self.structured.take(),
            origin: self.origin.take(),
        });
    }

    /// Writes the results, always at the end of the stream. The script may change the last one. Returns the exit
    /// code.
    fn report(&mut self, overrides: &Map<String, Value>, code: Option<u8>) -> Result<u8, PlayCut> {
        let results = std::mem::take(&mut self.results);
        let verdict = results.last().map(|result| &result.verdict);
        let scripted = overrides.get("exit_code").and_then(Value::as_u64);
        let is_error = match overrides.get("is_error") {
            Some(is_error) => *is_error == Value::Bool(true),
            None => verdict.is_some_and(PlayVerdict::is_error),
        };
        let failure = verdict.and_then(|verdict| verdict.failure.as_ref());
        let exit_code = code.unwrap_or_else(|| match scripted {
            Some(code) => u8::try_from(code).unwrap_or(1),
            None => self.stream.format.exit_code(failure, is_error),
        });
        let total = self.stream.total;
        let summary = SessionSummary { results: &results, total, overrides, exit_code };
        self.has_reported = true;
        self.stream.tell(SimEvent::Ended(&summary))?;
        Ok(exit_code)
    }

    fn part(&mut self, limit: Option<Duration>) -> Result<(), PlayCut> {
        self.fire_within("SessionEnd", "other", json!({"reason": "other"}), limit).map(drop)
    }

    /// Ends as the real CLI does when it is asked to.
    fn obey(&mut self, asked: StopRequest) -> Result<PlayEnding, PlayCut> {
        signals::clear();
        let end = self.stream.format.signalled(asked, self.in_tool, &mut self.stream.lines)?;
        if let SignalEnd::Result(code) = end {
            let reason = if self.in_tool { "aborted_tools" } else { "aborted_streaming" };
            self.finish(PlayVerdict::broken(reason, "the request was interrupted".to_owned()));
            self.report(&Map::new(), Some(code))?;
        }
        // The hook gets little time: a second request should not have to wait for it.
        let _ = self.part(Some(PARTING));
        Ok(match (end, asked) {
            (SignalEnd::Result(code) | SignalEnd::Code(code), _) => PlayEnding::Exit(code),
            (SignalEnd::Signal, StopRequest::Interrupt) => PlayEnding::Signal(Signal::INT),
            (SignalEnd::Signal, StopRequest::Terminate(_)) => PlayEnding::Signal(Signal::TERM),
        })
    }

    /// Calls the hooks of a moment and returns their combined answer.
    pub(super) fn fire(&mut self, event: &str, subject: &str, facts: Value) -> Result<HookMeaning, PlayCut> {
        self.fire_within(event, subject, facts, None)
    }

    fn fire_within(
        &mut self,
        event: &str,
        subject: &str,
        facts: Value,
        limit: Option<Duration>,
    ) -> Result<HookMeaning, PlayCut> {
        let is_hook = event != "Stop" || !self.stream.format.abilities().tells_stops;
        if self.skip_hooks && is_hook {
            return Ok(HookMeaning::default());
        }
        let room = HookRoom { env: &self.env, cwd: &self.words.cwd, limit };
        self.stream.ask(&HookMoment {
            event,
            subject,
            facts,
            prompt: &self.words.prompt,
            prompt_id: &self.prompt_id,
            has_been_blocked: self.blocks > 0,
            room,
        })
    }
}
