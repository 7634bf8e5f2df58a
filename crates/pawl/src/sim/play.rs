//! Plays one process of the sim, from the first hook to the exit code.
//!
//! Asks to stop, and reports the result. `choose` selects the turn, and `tools`, `finish`, `background` and
//! `faults` play the single steps.

use std::io::{self, Write};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Map, Value, json};

use super::args::SimFlags;
use super::events::{self, ResultCounts, ResultVerdict, SessionOpening, put};
use super::hooks::{HookDecision, HookMeaning, Hooks};
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
    Over(ResultVerdict),
    /// The script cannot be played.
    Fatal(String),
}

impl From<io::Error> for PlayCut {
    fn from(_: io::Error) -> PlayCut {
        PlayCut::Unread
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
    Result(ResultVerdict),
}

/// A session being played.
pub(super) struct Player<'a> {
    pub(super) script: &'a SimScript,
    pub(super) flags: &'a SimFlags,
    pub(super) env: Environment,
    pub(super) stream: Stream<'a>,
    pub(super) words: ScriptVariables,
    pub(super) hooks: Hooks,
    pub(super) log: RequestLog,
    pub(super) skip_hooks: bool,
    pub(super) prompt_id: String,
    pub(super) transcript: String,
    /// The schema of the answer.
    pub(super) schema: Option<Value>,
    /// The agent's last message in this turn.
    pub(super) said: String,
    /// The structured answer, once given.
    pub(super) structured: Option<Value>,
    pub(super) denials: Vec<Value>,
    /// The origin of the current prompt, if no person wrote it.
    pub(super) origin: Option<Value>,
    pub(super) results: Vec<Value>,
    /// The results are in the stream.
    pub(super) has_reported: bool,
    pub(super) overrides: Map<String, Value>,
    pub(super) in_tool: bool,
    pub(super) subagents: u32,
    pub(super) turn: u32,
    pub(super) blocks: u32,
    pub(super) block_cap: u32,
}

/// Plays a script to its end.
pub(super) fn play(mut stage: ProcessInputs<'_>) -> PlayEnding {
    let (flags, script, prompt) = match stage.read() {
        Ok(read) => read,
        Err(why) => return complain(stage.err, &why),
    };
    let ProcessInputs { env, cwd, input, out, err, ready, .. } = stage;
    let mut player = match Player::new(&script, &flags, SessionStart { env, cwd, out, prompt }) {
        Ok(player) => player,
        Err(why) => return complain(err, &why),
    };
    ready();
    let played = player.perform();
    if flags.reads_lines && player.has_reported {
        // As the real CLI does, which waits for another message.
        let _ = io::copy(input, &mut io::sink());
    }
    match played {
        Ok(ending) | Err(PlayCut::Dead(ending)) => ending,
        Err(PlayCut::Fatal(why)) => complain(err, &why),
        Err(PlayCut::Unread | PlayCut::Asked(_) | PlayCut::Over(_)) => PlayEnding::Exit(1),
    }
}

fn complain(err: &mut dyn Write, why: &str) -> PlayEnding {
    let _ = err.write_all(format!("Error: {why}\n").as_bytes());
    PlayEnding::Exit(1)
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
        self.finish(&verdict);
        let overrides = std::mem::take(&mut self.overrides);
        let exit_code = overrides.get("exit_code").and_then(Value::as_u64);
        let is_error = self.report(overrides)?;
        self.part(None)?;
        Ok(PlayEnding::Exit(exit_code.map_or(u8::from(is_error), |code| u8::try_from(code).unwrap_or(1))))
    }

    /// Rejects a session id that is already used, and a resume of an unknown session.
    fn refuse_session(&mut self) -> Result<Option<PlayEnding>, PlayCut> {
        if !self.log.is_kept() {
            return Ok(None);
        }
        let known = |id: &String| !self.log.prompts(id).is_empty();
        if let Some(id) = self.flags.session_id.as_ref().filter(|id| known(id)) {
            return Err(PlayCut::Fatal(format!("Session ID {id} is already in use.")));
        }
        let Some(id) = self.flags.resume.as_ref().filter(|id| !known(id)) else { return Ok(None) };
        let error = format!("No conversation found with session ID: {id}");
        self.finish(&ResultVerdict::broken("error_during_execution", error));
        self.report(Map::new())?;
        Ok(Some(PlayEnding::Exit(1)))
    }

    fn converse(&mut self) -> Result<ResultVerdict, PlayCut> {
        if let Some(ScriptStep::SkipHooks(skip)) = self.current().and_then(|turn| turn.steps.first()) {
            self.skip_hooks = *skip || self.flags.bare;
        }
        let source = if self.flags.resume.is_some() { "resume" } else { "startup" };
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
            cwd: &self.words.cwd.display().to_string(),
            model: self.stream.model(),
            permission_mode: self.permission_mode(),
            mcp_servers: mcp_servers(self.flags, &self.words),
            plugin_dirs: &self.flags.plugin_dirs,
            gives_answer: self.schema.is_some(),
        };
        let event = events::init(&opening);
        Ok(self.stream.event(event)?)
    }

    fn play_turn(&mut self) -> Result<AfterTurn, PlayCut> {
        let turn =
            self.current().ok_or_else(|| PlayCut::Fatal("the script has no turn to play".to_owned()))?;
        let place = &self.words.place;
        let request = ModelRequest {
            node: place.node.clone(),
            task: place.task.as_ref().map(|task| task.id.clone()),
            iteration: place.iteration,
            attempt: place.attempt,
            session: self.words.session.clone(),
            resumed: self.flags.resume.is_some(),
            turn: self.turn,
            prompt: self.words.prompt.clone(),
            system: self.flags.system_file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()),
        };
        self.log
            .append(&request)
            .map_err(|cause| PlayCut::Fatal(format!("cannot write the request log: {cause}")))?;
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
            return Ok(AfterTurn::Result(ResultVerdict::said("stop_hook_prevented", self.said.clone())));
        }
        if answer.decision != Some(HookDecision::Refuse) {
            return Ok(AfterTurn::Result(ResultVerdict::said("completed", self.said.clone())));
        }
        self.blocks += 1;
        self.stream.user(events::feedback(&answer.reason))?;
        if self.block_cap > 0 && self.blocks > self.block_cap {
            for event in events::cap_reached(self.blocks) {
                self.stream.event(event)?;
            }
            // The real CLI counts the turn that it did not allow.
            self.stream.since.requests += 1;
            return Ok(AfterTurn::Result(ResultVerdict::said("completed", String::new())));
        }
        if self.blocks == 1 {
            self.stream.event(events::stop_blocked())?;
        }
        Ok(AfterTurn::Turn(answer.reason))
    }

    /// Ends the session after a structured answer. Like the real CLI, it calls the Stop hook and ignores its
    /// answer.
    fn end_answered(&mut self, answer: String) -> Result<AfterTurn, PlayCut> {
        self.ask_to_stop(&json!([]))?;
        // The real CLI counts the turn that it did not need.
        self.stream.since.requests += 1;
        Ok(AfterTurn::Result(ResultVerdict {
            stop_reason: "tool_use",
            ..ResultVerdict::said("completed", answer)
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
    pub(super) fn finish(&mut self, verdict: &ResultVerdict) {
        let counts = ResultCounts {
            since: self.stream.since,
            elapsed_ms: self.stream.elapsed_ms(),
            denials: &self.denials,
            index: self.results.len(),
            subagents: self.subagents,
        };
        let mut event = events::result(verdict, &counts);
        if let Some(answer) = self.structured.take() {
            put(&mut event, "structured_output", answer);
        }
        if let Some(origin) = self.origin.take() {
            put(&mut event, "origin", origin);
        }
        self.stream.since = Default::default();
        self.results.push(event);
    }

    /// Writes the results, always at the end of the stream. The script may change the last one. Returns true
    /// if the last one is an error.
    fn report(&mut self, overrides: Map<String, Value>) -> Result<bool, PlayCut> {
        let mut results = std::mem::take(&mut self.results);
        for event in &mut results {
            events::put_totals(event, self.stream.model(), self.stream.total);
        }
        for (key, value) in overrides.into_iter().filter(|(key, _)| key != "exit_code") {
            if let Some(last) = results.last_mut() {
                put(last, &key, value);
            }
        }
        let is_error = results.last().is_some_and(|last| last.get("is_error") == Some(&json!(true)));
        for event in results {
            self.stream.event(event)?;
            self.has_reported = true;
        }
        Ok(is_error)
    }

    fn part(&mut self, limit: Option<Duration>) -> Result<(), PlayCut> {
        self.fire_within("SessionEnd", "other", json!({"reason": "other"}), limit).map(drop)
    }

    /// Ends as the real CLI does when it is asked to.
    fn obey(&mut self, asked: StopRequest) -> Result<PlayEnding, PlayCut> {
        signals::clear();
        let code = match asked {
            StopRequest::Terminate(code) => code,
            StopRequest::Interrupt => {
                let reason = if self.in_tool { "aborted_tools" } else { "aborted_streaming" };
                self.finish(&ResultVerdict::broken(reason, "the request was interrupted".to_owned()));
                self.report(Map::new())?;
                0
            }
        };
        // The hook gets little time: a second request should not have to wait for it.
        let _ = self.part(Some(PARTING));
        Ok(PlayEnding::Exit(code))
    }
}

impl ResultVerdict {
    /// Makes the verdict of an agent that ended with this message.
    pub(super) fn said(terminal_reason: &'static str, text: String) -> ResultVerdict {
        ResultVerdict { terminal_reason, stop_reason: "end_turn", outcome: Ok(text), failure: None }
    }

    fn broken(terminal_reason: &'static str, error: String) -> ResultVerdict {
        ResultVerdict { terminal_reason, stop_reason: "tool_use", outcome: Err(vec![error]), failure: None }
    }
}

fn mcp_servers(flags: &SimFlags, words: &ScriptVariables) -> Vec<String> {
    let read = |config: &String| -> Option<Value> {
        if config.trim_start().starts_with('{') {
            return serde_json::from_str(config).ok();
        }
        serde_json::from_slice(&std::fs::read(words.cwd.join(config)).ok()?).ok()
    };
    let configs = flags.mcp_config.iter().filter_map(read);
    let names =
        configs.filter_map(|config| Some(config.get("mcpServers")?.as_object()?.keys().cloned().collect()));
    names.collect::<Vec<Vec<String>>>().concat()
}
