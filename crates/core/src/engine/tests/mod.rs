//! The engine as stories: facts in, effects and standing out.

mod blocks;
mod broken;
mod budgets;
mod continued;
mod continued_sessions;
mod costs;
mod cuts;
mod day;
mod finally_budget;
mod hand_over;
mod kinds;
mod language;
mod leaves;
mod misfits;
mod model;
mod numbers;
mod pauses;
mod people;
mod replay;
mod session;
mod tasks;
mod tree;
mod unstartable;

use std::collections::BTreeMap;

use super::*;
use crate::effect::SessionPlan;
use crate::event::{PersonReply, RunEnd, SessionEnd, SessionVerdict, ShellEnd};
use crate::graph::builder::Builder;
use crate::graph::workflow::{Budget, Node as Drawn, NodeKind};
use crate::hook::permission::{Isolation, PermissionRules};
use crate::hook::{HookAnswer, HookCall, HookKind, Question, ToolCall};
use crate::id::{InboxId, NodeId};
use crate::looping::verdict::{CheckResult, Inspection, TrackerInspection};
use crate::looping::{LoopMode, LoopRules, MarkerMatch};
use crate::run::{Progress, Waiting};
use crate::spec::{AgentCommand, Check, OnPermission, OnQuestion, Policy, SessionSettings, TimeLimits};
use crate::tasks::{Claim, TaskId, TaskStatus};

pub(super) const NOW: Moment = Moment(1_000);

pub(super) fn rules(mode: LoopMode, max_iterations: u32) -> LoopRules {
    LoopRules {
        prompt: String::new(),
        mode,
        marker: Some("DONE".into()),
        marker_match: MarkerMatch::Line,
        promise: None,
        signal: None,
        blocked_marker: None,
        max_iterations,
        continue_message: "go on".into(),
        tracker_body: String::new(),
        tracker_path: Some("/w/loop-tracker.md".into()),
        stuck_after: 0,
    }
}

/// Answers to questions, by their text.
pub(super) fn reply(answers: &[(&str, &str)]) -> HookAnswer {
    let pair = |(question, answer): &(&str, &str)| ((*question).to_owned(), (*answer).to_owned());
    HookAnswer::Reply { answers: answers.iter().map(pair).collect() }
}

pub(super) fn session_settings(rules: Option<LoopRules>) -> SessionSettings {
    SessionSettings {
        driver: AgentCommand {
            name: "sim".into(),
            program: "/bin/sim".into(),
            words: vec![],
            model: None,
            args: vec![],
        },
        models: Vec::new(),
        effort: None,
        isolation: Isolation::Strict,
        permissions: PermissionRules::default(),
        entity: None,
        rules,
        choice: None,
        fallback: Vec::new(),
        switch_back: false,
    }
}

/// Orders for every session of these nodes; a loop of turns where they say so.
pub(super) fn all_orders(body: &[Drawn], into: &mut BTreeMap<NodeId, SessionSettings>) {
    for step in body {
        if let NodeKind::Session(session) = &step.kind {
            let rules = session.turns.as_ref().map(|turns| LoopRules {
                tracker_path: Some(String::new()),
                ..rules(turns.mode.unwrap_or_default(), turns.max.unwrap_or(15))
            });
            into.insert(step.id.clone(), session_settings(rules));
        }
        for block in step.kind.blocks() {
            all_orders(block.body, into);
        }
    }
}

/// The orders of a run that does this.
pub(super) fn spec_of(body: Vec<Drawn>) -> Spec {
    let mut sessions = BTreeMap::new();
    all_orders(&body, &mut sessions);
    Spec {
        workflow: "test".into(),
        description: None,
        seed: "seed".into(),
        input: "do it".into(),
        inputs: BTreeMap::new(),
        kinds: BTreeMap::new(),
        ranges: BTreeMap::new(),
        body,
        sessions,
        workspace: "/w".into(),
        machine: "m".into(),
        plugins: vec![],
        checks: vec![],
        env: Default::default(),
        parent_env: Default::default(),
        shell: Default::default(),
        gives: None,
        runs: None,
        policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
        limits: TimeLimits::default(),
        timeout_from: None,
        budget: Budget::default(),
        prices: Default::default(),
        others: BTreeMap::new(),
        parent: None,
        notify: Default::default(),
        worktree: None,
        fork_of: None,
        request: None,
    }
}

/// The orders of a run of a workflow as it is written in Rust.
pub(super) fn drawn(workflow: Builder) -> Spec {
    let workflow = workflow.end().expect("a workflow");
    Spec { budget: workflow.budget, ..spec_of(workflow.body) }
}

pub(super) fn test_check() -> Check {
    Check { name: "test".into(), command: "make test".into() }
}

pub(super) fn result(passed: bool) -> CheckResult {
    let (how, output) = if passed { ("", "") } else { ("exit code 1", "boom") };
    CheckResult {
        name: "test".into(),
        passed,
        how: how.into(),
        output: output.into(),
        ..CheckResult::default()
    }
}

/// The end of a turn that went so.
pub(super) fn session_end(verdict: SessionVerdict) -> SessionEnd {
    SessionEnd {
        verdict,
        last_message: Some("words".into()),
        usage: Usage { output_tokens: 10, ..Usage::default() },
        tool_calls: 0,
        spoke: true,
        offset: 1,
        unanswered: Vec::new(),
        session: None,
        usage_is_cumulative: false,
        models: Vec::new(),
        took_ms: 0,
        value: None,
    }
}

/// A run that is told facts, and remembers what it last wanted.
pub(super) struct Story {
    pub(super) state: RunState,
    pub(super) step: Decision,
    pub(super) records: Vec<Record>,
    pub(super) at: Moment,
}

impl Story {
    /// A run that was just begun.
    pub(super) fn of(spec: Spec) -> Story {
        let (state, step) = start(RunId::new("r"), spec.clone(), NOW);
        let record = step.record(NOW, Event::RunStarted { spec: Box::new(spec) });
        Story { state, step, records: vec![record], at: NOW }
    }

    pub(super) fn drawn(workflow: Builder) -> Story {
        Story::of(drawn(workflow))
    }

    pub(super) fn tell(&mut self, event: Event) -> &mut Story {
        self.step = apply(&mut self.state, self.at, &event);
        self.records.push(self.step.record(self.at, event));
        self
    }

    /// Time passes.
    pub(super) fn later(&mut self, ms: u64) -> &mut Story {
        self.at = self.at.plus_ms(ms);
        self
    }

    /// The first open effect of that kind.
    pub(super) fn open(&self, verb: Verb) -> EffectId {
        self.find(|id| id.verb == verb).unwrap_or_else(|| panic!("no open {verb:?}: {:?}", self.wanted()))
    }

    /// The open effect of that kind of a node.
    pub(super) fn open_of(&self, node: &str, verb: Verb) -> EffectId {
        let found = self.find(|id| id.verb == verb && id.node.as_str() == node);
        found.unwrap_or_else(|| panic!("no open {verb:?} of {node}: {:?}", self.wanted()))
    }

    fn find(&self, which: impl Fn(&EffectId) -> bool) -> Option<EffectId> {
        self.state.bookkeeping.open.iter().map(|planned| planned.id.clone()).find(which)
    }

    /// Everything that is to be done now, by name.
    pub(super) fn wanted(&self) -> Vec<String> {
        self.state.to_perform().iter().map(|planned| planned.id.to_string()).collect()
    }

    /// Returns the effects that the last event caused, by name.
    pub(super) fn does(&self) -> Vec<String> {
        self.step.effects.iter().map(|planned| planned.id.to_string()).collect()
    }

    pub(super) fn prepared(&mut self, node: &str) -> &mut Story {
        let effect = self.open_of(node, Verb::Prepare);
        self.tell(Event::Prepared {
            effect,
            end: crate::event::PrepareEnd::Ready { texts: None, fingerprint: "0".into(), work: None },
            base: None,
            odd: Vec::new(),
        })
    }

    pub(super) fn session_ends(&mut self, verdict: SessionVerdict) -> &mut Story {
        let effect = self.open(Verb::Session);
        self.tell(Event::SessionEnded { effect, end: session_end(verdict) })
    }

    pub(super) fn seen(&mut self, complete: bool) -> &mut Story {
        let effect = self.open(Verb::Inspect);
        let sight = Inspection {
            tracker: TrackerInspection::Read { complete, blocked: None },
            promised: false,
            signalled: false,
            fingerprint: self.state.turns().to_string(),
        };
        self.tell(Event::Inspected { effect, sight })
    }

    /// A node's turn is prepared, done and looked at; what it wants to end with stands open.
    pub(super) fn speaks(&mut self, node: &str, text: &str) -> &mut Story {
        self.prepared(node);
        let effect = self.open_of(node, Verb::Session);
        let end = SessionEnd { last_message: Some(text.into()), ..session_end(SessionVerdict::Completed) };
        self.tell(Event::SessionEnded { effect, end });
        let effect = self.open_of(node, Verb::Inspect);
        let sight = Inspection {
            tracker: TrackerInspection::None,
            promised: false,
            signalled: false,
            fingerprint: text.into(),
        };
        self.tell(Event::Inspected { effect, sight })
    }

    /// A node with one turn, from its beginning to its end.
    pub(super) fn says(&mut self, node: &str, text: &str) -> &mut Story {
        self.speaks(node, text).cleaned(node)
    }

    /// A session fails for good.
    pub(super) fn breaks(&mut self, node: &str) -> &mut Story {
        self.prepared(node);
        let effect = self.open_of(node, Verb::Session);
        let end = session_end(SessionVerdict::Failed { cause: Default::default(), what: "broken".into() });
        self.tell(Event::SessionEnded { effect, end }).cleaned(node)
    }

    pub(super) fn cleaned(&mut self, node: &str) -> &mut Story {
        let effect = self.open_of(node, Verb::CleanUp);
        self.tell(Event::CleanedUp { effect })
    }

    pub(super) fn shell(&mut self, node: &str, passed: bool, output: &str) -> &mut Story {
        let effect = self.open_of(node, Verb::Shell);
        let how = if passed { "exit code 0" } else { "exit code 1" };
        let end = ShellEnd::exited(passed, how, output);
        self.tell(Event::ShellEnded { effect, end })
    }

    pub(super) fn checks(&mut self, node: &str, passed: bool) -> &mut Story {
        let effect = self.open_of(node, Verb::Checks);
        self.tell(Event::ChecksFinished { effect, results: vec![result(passed)] })
    }

    pub(super) fn wait_over(&mut self, node: &str, verb: Verb) -> &mut Story {
        let effect = self.open_of(node, verb);
        self.tell(Event::WaitOver { effect })
    }

    pub(super) fn asks(&mut self, id: &str, kind: HookKind) -> &mut Story {
        self.tell(Event::HookAsked {
            call: HookCall { id: HookId::new(id), from: None, kind, unanswered: Vec::new(), real: None },
        })
    }

    pub(super) fn stops(&mut self, id: &str) -> &mut Story {
        self.asks(id, HookKind::Stop { last_message: None, background: false })
    }

    pub(super) fn cancel(&mut self) -> &mut Story {
        self.tell(Event::CancelAsked { inbox: None })
    }

    pub(super) fn pause(&mut self) -> &mut Story {
        self.tell(Event::PauseAsked { inbox: None })
    }

    pub(super) fn go_on(&mut self) -> &mut Story {
        self.tell(Event::UnpauseAsked { inbox: None })
    }

    pub(super) fn answers(&mut self, hook: Option<&str>, text: &str) -> &mut Story {
        self.tell(Event::PersonAnswered {
            inbox: InboxId::new("i"),
            hook: hook.map(HookId::new),
            reply: PersonReply::Answers { answers: vec![(String::new(), text.into())] },
            origin: None,
        })
    }

    pub(super) fn told(&mut self, name: &str, text: &str) -> &mut Story {
        self.tell(Event::EventReceived { inbox: InboxId::new("i"), name: name.into(), text: text.into() })
    }

    /// The turn that was just begun.
    pub(super) fn plan(&self) -> SessionPlan {
        let found = self.step.effects.iter().find_map(|planned| match &planned.effect {
            Effect::StartSession(plan) => Some(plan.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no session is started: {:?}", self.does()))
    }

    /// Returns the answer to the hook in the last step.
    pub(super) fn answer(&self) -> HookAnswer {
        let found = self.step.effects.iter().find_map(|planned| match &planned.effect {
            Effect::AnswerHook { answer, .. } => Some(answer.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no hook is answered: {:?}", self.does()))
    }

    /// Returns the command line that a node is running.
    pub(super) fn command(&self, node: &str) -> String {
        let id = self.open_of(node, Verb::Shell);
        let found = self.state.bookkeeping.open.iter().find(|planned| planned.id == id);
        match found.map(|planned| &planned.effect) {
            Some(Effect::RunShell(plan)) => plan.command.clone(),
            other => panic!("not a command line: {other:?}"),
        }
    }

    /// Returns the last outcome of a node.
    pub(super) fn became(&self, node: &str) -> (FinalStatus, EndReason) {
        let seen = self.state.bookkeeping.nodes.get(&NodeId::new(node));
        let outcome = seen.and_then(|seen| seen.outcome.clone());
        let Outcome { status, reason, .. } =
            outcome.unwrap_or_else(|| panic!("{node} is not over: {seen:?}"));
        (status, reason)
    }

    /// Returns the outcome of the finished run, and checks that its log folds to the same state.
    pub(super) fn ended(&self) -> (FinalStatus, EndReason) {
        let folded = fold(RunId::new("r"), &self.records);
        assert_eq!(folded.as_ref(), Some(&self.state), "the log folds to what is here");
        assert_eq!(self.state.to_perform(), vec![], "nothing is left to do");
        match self.state.progress() {
            Progress::Finished(Outcome { status, reason, .. }) => (status, reason),
            other => panic!("not finished: {other:?}; open: {:?}", self.wanted()),
        }
    }

    /// Returns the detail of the outcome of the run.
    pub(super) fn detail(&self) -> String {
        self.state.outcome().and_then(|outcome| outcome.detail.clone()).unwrap_or_default()
    }
}
