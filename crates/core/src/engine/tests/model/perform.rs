//! Performs the effects of a run, with success or failure.

use serde_json::json;

use super::super::{result, session_end};
use super::laws::PRICED;
use super::world::{Event, World};
use crate::effect::{Effect, Planned};
use crate::engine::Ledger;
use crate::engine::allowance::Allowance;
use crate::event::{
    LandingEnd, PrepareEnd, RunEnd, SaveEnd, SessionEnd, SessionFailure, SessionVerdict, ShellEnd,
    WorktreeEnd,
};
use crate::id::{EffectId, RunId};
use crate::looping::LoopMode;
use crate::looping::verdict::{Inspection, TrackerInspection};
use crate::run::{EndReason, FinalStatus, Outcome, SessionPhase, Spent};
use crate::snapshot::{FolderSnapshot, SnapshotName};
use crate::spec::Spec;
use crate::tasks::{Attempts, Claim, Deadlock, TaskId, TaskStatus};
use crate::usage::{ModelUsage, Usage};

impl World {
    /// Does what is wanted, well or badly.
    pub(super) fn perform(&mut self, planned: &Planned) {
        let effect = planned.id.clone();
        if self.roll(64) == 63 {
            self.tell(Event::EffectBroken { effect, what: "a fault".into() });
            return;
        }
        if matches!(planned.effect, Effect::Prepare { .. } | Effect::Inspect { .. } | Effect::CleanUp { .. })
        {
            self.saved(&effect);
        }
        let event = match &planned.effect {
            Effect::Prepare { .. } => {
                let end = match self.seldom(16) == 15 {
                    true => PrepareEnd::Failed { why: "no space".to_owned() },
                    false => PrepareEnd::Ready { texts: None, fingerprint: "0".to_owned(), work: None },
                };
                Event::Prepared { effect, end, base: Some("abc".to_owned()), odd: Vec::new() }
            }
            Effect::StartSession(_) => return self.session(effect),
            Effect::Inspect { .. } => {
                let sight = self.sight();
                Event::Inspected { effect, sight }
            }
            Effect::RunChecks { .. } => {
                let passed = self.roll(4) < 3;
                Event::ChecksFinished { effect, results: vec![result(passed)] }
            }
            Effect::RunShell(_) => {
                let exited = |passed, output: &str| ShellEnd::exited(passed, "exit", output);
                let end = match self.seldom(8) {
                    0..=4 => exited(true, "fine"),
                    7 => ShellEnd::Unknown,
                    _ => exited(false, "bad"),
                };
                Event::ShellEnded { effect, end }
            }
            Effect::StartRun { run, spec, .. } => return self.child(effect, run, spec),
            Effect::ClaimTask { busy, attempts, .. } => {
                let claim = self.claim(busy, attempts);
                Event::TaskClaimed { effect, claim, odd: self.odd() }
            }
            Effect::SettleTask { task, ok, .. } => self.settle(effect, task, *ok),
            Effect::ReleaseTask { task, .. } => self.release(effect, task),
            Effect::MakeWorktree { .. } => {
                let workspace = format!("/trees/{}", effect.node);
                let end = match self.seldom(3) < 2 {
                    true => WorktreeEnd::Made {
                        workspace,
                        branch: "branch".into(),
                        target: None,
                        commit: (self.roll(4) > 0).then(|| "base".into()),
                    },
                    false if self.roll(2) == 0 => WorktreeEnd::Conflict { why: "both".into() },
                    false => WorktreeEnd::Failed { why: "why not".into() },
                };
                Event::WorktreeMade { effect, end }
            }
            Effect::LeaveWorktree { .. } => {
                let end = WorktreeEnd::Left { kept: self.roll(2) == 0 };
                Event::WorktreeMade { effect, end }
            }
            Effect::RenewWorktree { .. } => {
                let end = match self.seldom(5) {
                    0..=2 => WorktreeEnd::Renewed { commit: "merged".into(), files: vec!["a".into()] },
                    3 => WorktreeEnd::Renewed { commit: "merged".into(), files: Vec::new() },
                    _ => WorktreeEnd::Failed { why: "why not".into() },
                };
                Event::WorktreeMade { effect, end }
            }
            Effect::Land { .. } => {
                let what = || "so".to_owned();
                let end = match self.seldom(3) < 2 {
                    true => LandingEnd::Landed { what: what(), is_empty: self.roll(4) == 0 },
                    false if self.seldom(3) == 2 => LandingEnd::Hindered { why: what() },
                    false if self.roll(3) > 0 => LandingEnd::Conflict {
                        files: vec!["a".into()],
                        commit: (self.roll(4) > 0).then(|| "own".into()),
                        why: what(),
                    },
                    false => LandingEnd::Refused { why: what(), checks: Default::default() },
                };
                Event::Landed { effect, end }
            }
            Effect::WaitUntil { until } => {
                self.at = self.at.max(*until);
                Event::WaitOver { effect }
            }
            Effect::CleanUp { .. } => Event::CleanedUp { effect },
            Effect::KillChildren | Effect::AnswerHook { .. } | Effect::MarkTracker { .. } => {
                panic!("{effect} has no outcome")
            }
        };
        assert_eq!(Some(event.word()), planned.effect.traits().settled_by, "what settles {}", planned.id);
        self.tell(event);
    }

    /// The state of the folder is saved, or that fails. Nothing but a warning follows from it.
    fn saved(&mut self, effect: &EffectId) {
        let end = match self.records.len() % 4 {
            0 => SaveEnd::Failed { why: "no space".to_owned() },
            _ => SaveEnd::Saved(FolderSnapshot {
                commit: "abc".to_owned(),
                tree: "def".to_owned(),
                head: None,
                left_out: Vec::new(),
            }),
        };
        let name = SnapshotName::Turn { node: effect.node.clone(), turn: effect.iteration };
        let mut before = self.state.clone();
        let step = self.tell(Event::FolderSaved { name, folder: "/w".to_owned(), end });
        assert!(step.effects.is_empty() && step.news.len() <= 1, "{step:?}");
        before.bookkeeping.warned_of_snapshots = self.state.bookkeeping.warned_of_snapshots;
        assert_eq!(before, self.state);
    }

    fn sight(&mut self) -> Inspection {
        let read = |complete, blocked: Option<&str>| TrackerInspection::Read {
            complete,
            blocked: blocked.map(str::to_owned),
        };
        let tracker = match self.roll(16) {
            0..=6 => read(true, None),
            7..=13 => read(false, None),
            14 => read(false, Some("no key")),
            _ => TrackerInspection::Missing,
        };
        let fingerprint = self.roll(3).to_string();
        Inspection { tracker, promised: false, signalled: false, fingerprint }
    }

    /// A turn begins, calls its hooks, goes on, ends.
    fn session(&mut self, effect: EffectId) {
        let work = self.state.work(&effect.node).cloned();
        let mode = work.as_ref().and_then(|work| work.node.rules()).map(|rules| rules.mode);
        let is_in_turn = work.is_some_and(|work| work.phase == SessionPhase::InTurn);
        let holds_stop = matches!(mode, Some(LoopMode::InSession | LoopMode::Plugin)) && is_in_turn;
        match self.roll(6) {
            0..=2 if holds_stop && (mode == Some(LoopMode::InSession) || self.roll(2) == 1) => {
                self.hook_of(Some(effect), 0)
            }
            0..=3 => {
                let end = self.session_end();
                self.tell(Event::SessionEnded { effect, end });
            }
            4 => {
                let Some(session) = self.state.work(&effect.node).and_then(|work| work.session.clone())
                else {
                    return;
                };
                self.tell(Event::SessionStarted { effect, session });
            }
            _ => {
                let kind = self.roll(5);
                self.hook_of(Some(effect), kind)
            }
        }
    }

    fn session_end(&mut self) -> SessionEnd {
        let verdict = match self.seldom(12) {
            0..=3 => SessionVerdict::Completed,
            4 => {
                let hour = self.at.plus_ms(3_600_000);
                SessionVerdict::RateLimited { resets_at: (self.roll(2) == 1).then_some(hour) }
            }
            5 => SessionVerdict::Transient { what: "529".into() },
            6 | 7 => SessionVerdict::Interrupted { what: "killed".into() },
            8 => SessionVerdict::TimedOut,
            9 => SessionVerdict::Failed { cause: SessionFailure::Model, what: "404".into() },
            10 => SessionVerdict::Failed { cause: SessionFailure::NoConversation, what: "not found".into() },
            _ => SessionVerdict::Failed { cause: Default::default(), what: "broken".into() },
        };
        let words = ["SIGNAL", "words", "<status>passing</status>"][self.roll(3)];
        let tokens = self.roll(60);
        // Money is not a round number: what is written must be read as the same.
        let cost = f64::from(u16::try_from(tokens).unwrap_or(0)) / 299.7;
        let reported = ["", "", PRICED, "another model"][self.roll(4)];
        let usage = Usage {
            output_tokens: tokens as u64,
            input_tokens: tokens as u64 / 3,
            cost_usd: reported.is_empty().then_some(cost),
            ..Usage::default()
        };
        let of_model = ModelUsage { model: reported.to_owned(), usage };
        SessionEnd {
            last_message: Some(words.into()),
            usage,
            models: (!reported.is_empty()).then_some(of_model).into_iter().collect(),
            tool_calls: u32::from(self.seldom(16) == 15),
            spoke: self.roll(4) < 3,
            value: (self.roll(3) < 2).then(|| json!({"cost": cost})),
            unanswered: self.some_unanswered(),
            ..session_end(verdict)
        }
    }

    fn child(&mut self, effect: EffectId, run: &RunId, spec: &Spec) {
        let more = self.roll(4);
        let mut spent = self.laws.child_spent(&effect);
        // It is told at once what others leave it.
        let mut ledger = Ledger::default();
        ledger.note(&self.state);
        let left = ledger.left_to_call(&self.state.run, run).unwrap_or_default();
        let budget = spec.budget.least(&left);
        for _ in 0..more {
            if (Allowance { budget, spent }).is_spent().is_none() {
                let usage = Usage { output_tokens: 7, cost_usd: Some(1.0 / 7.0), ..Usage::default() };
                spent.add(&Spent { turns: 1, usage, ..Spent::default() });
            }
        }
        if self.roll(3) == 2 {
            self.tell(Event::RunSpent { effect, spent });
            return;
        }
        let status = match self.seldom(4) {
            0 | 1 => FinalStatus::Completed,
            2 => FinalStatus::Failed,
            _ => FinalStatus::Cancelled,
        };
        let reason = if self.seldom(3) == 2 { EndReason::Template } else { EndReason::TurnDone };
        let outcome = Outcome::new(status, reason);
        self.tell(Event::RunEnded {
            effect,
            end: Box::new(RunEnd { outcome, spent, text: "SIGNAL".into(), value: None }),
        });
    }

    fn odd(&mut self) -> Vec<String> {
        (self.seldom(8) == 7).then(|| "task `b` is passing".to_owned()).into_iter().collect()
    }

    /// The next task as a file would say it; seldom one that is busy, or something wrong.
    fn claim(&mut self, busy: &[TaskId], attempts: &Attempts) -> Claim {
        match self.seldom(16) {
            12 => return Claim::Working,
            15 => return Claim::Unproven { why: "removed".into() },
            13 => return Claim::Unreadable { why: "line 3".into() },
            14 => return Claim::Deadlock(Deadlock::Cycle(vec!["a".parse().expect("an id")])),
            8..=11 if !busy.is_empty() => {
                return Claim::Task { id: busy[0].clone(), task: json!({"id": busy[0]}) };
            }
            _ => {}
        }
        let is_ready = |(id, status): &&mut (TaskId, TaskStatus)| {
            matches!(status, TaskStatus::Pending | TaskStatus::Failing) && attempts.allow(id)
        };
        if let Some((id, status)) = self.tasks.iter_mut().find(is_ready) {
            *status = TaskStatus::InProgress;
            return Claim::Task { id: id.clone(), task: json!({"id": id}) };
        }
        let with = |wanted: TaskStatus| self.tasks.iter().filter(move |(_, status)| *status == wanted);
        if with(TaskStatus::InProgress).count() > 0 {
            return Claim::Working;
        }
        let left: Vec<TaskId> =
            with(TaskStatus::Failing).chain(with(TaskStatus::Pending)).map(|(id, _)| id.clone()).collect();
        if left.is_empty() { Claim::AllDone } else { Claim::Failed { ids: left } }
    }

    fn settle(&mut self, effect: EffectId, task: &TaskId, ok: bool) -> Event {
        let is_passing = ok && self.seldom(3) < 2;
        let status = if is_passing { TaskStatus::Passing } else { TaskStatus::Failing };
        let error = (self.seldom(8) == 7).then(|| "read-only".to_owned());
        for (id, in_file) in &mut self.tasks {
            if id == task {
                *in_file = status;
            }
        }
        Event::TaskSettled { effect, status, why: Some("why".into()), error }
    }

    fn release(&mut self, effect: EffectId, task: &TaskId) -> Event {
        let error = (self.seldom(8) == 7).then(|| "read-only".to_owned());
        let is_written = error.is_none();
        for (id, in_file) in &mut self.tasks {
            if id == task && is_written && *in_file == TaskStatus::InProgress {
                *in_file = TaskStatus::Pending;
            }
        }
        Event::TaskSettled { effect, status: TaskStatus::Pending, why: None, error }
    }
}
