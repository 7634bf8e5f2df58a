//! The laws that every step of a run must obey. They count on their own, from events and effects alone
//! where possible.

use std::collections::{BTreeMap, BTreeSet};

use super::world::settles;
use crate::effect::{Effect, Planned};
use crate::engine::Decision;
use crate::engine::allowance::tokens;
use crate::event::{Event, LandingEnd, SessionEnd};
use crate::graph::builder::{Builder, clear_context};
use crate::graph::upper_bound::{Others, UpperBound, worst};
use crate::graph::workflow::{
    Budget, CriteriaLoopNode, LoopNode, Node as Drawn, NodeKind, OnFailure, ParallelNode, TaskLoopNode,
    Workflow,
};
use crate::hook::{HookAnswer, HookKind};
use crate::id::{EffectId, NodeId, SessionId, Verb};
use crate::looping::LoopMode;
use crate::price::{ModelPrice, PriceTable};
use crate::run::{
    ActiveNode, Activity, BranchState, EachItem, EndReason, FinalStatus, Lifecycle, News, ParallelState,
    Round, RoundPhase, RunState, Spent, TaskRounds, Waiting,
};
use crate::spec::Spec;
use crate::tasks::TaskId;
use crate::time::Moment;
use crate::usage::Usage;

/// The facts about a node that the laws need.
struct Known {
    step: Drawn,
    /// The gates before it in its own sequence.
    gates: Vec<NodeId>,
    /// The number of rounds and tries of blocks in its name.
    marks: usize,
    /// It is in `finally`, or `finally` itself.
    is_last: bool,
}

/// A node in one of its rounds, whatever try.
type InRound = (NodeId, String);

/// The knowledge about a run that the laws collect from outside.
pub(super) struct Laws {
    nodes: BTreeMap<NodeId, Known>,
    /// A plugin holds turns of its own, which are known late.
    has_plugin: bool,
    spec: Spec,
    /// The turns that its own sessions may take in all, as a check of the workflow says.
    worst: UpperBound,
    planned: BTreeSet<EffectId>,
    handed: BTreeSet<EffectId>,
    started: BTreeSet<NodeId>,
    /// Nodes that are done or were skipped.
    passed: BTreeSet<InRound>,
    /// Turns begun by each session.
    turns: BTreeMap<InRound, u32>,
    /// The sessions so far, each with the driver that took the work over, if any.
    sessions: BTreeMap<SessionId, Option<String>>,
    rounds: BTreeSet<(NodeId, u32)>,
    /// The conflicts of each task loop, each of which took a number of a round.
    conflicts: BTreeMap<NodeId, u32>,
    /// The last round of each task that was to land, and the round before that of a conflict.
    landing: BTreeMap<(String, TaskId), NodeId>,
    conflicted: BTreeMap<NodeId, NodeId>,
    /// Sessions that ended well.
    well: BTreeSet<NodeId>,
    /// The spending of its own turns. `children` has the spending of each run that it started.
    own: Spent,
    children: BTreeMap<NodeId, Spent>,
    /// The turns that a run had taken when it was started or continued.
    child_began: BTreeMap<EffectId, u32>,
    /// The number of times that the run was continued.
    continued: u32,
    children_in_all: Spent,
    /// The part of both that `finally` spent, to which no budget of the run applies.
    last: Spent,
    /// The number of ends so far, which is part of the names in `finally`.
    ends: u32,
    /// The number of times that `finally` began since the run ended or continued last.
    finals: u32,
    /// The status with which the run ended last, unless it continued since.
    ended: Option<FinalStatus>,
    /// The items that are complete.
    complete: BTreeSet<(InRound, u32)>,
    facts: Vec<Event>,
}

/// The state before a step.
pub(super) struct Before {
    is_ending: bool,
    is_final: bool,
    is_done: bool,
    paused: bool,
    open: BTreeSet<EffectId>,
}

impl Laws {
    pub(super) fn of(spec: &Spec) -> Laws {
        let mut nodes = BTreeMap::new();
        know(&spec.body, 0, false, &mut nodes);
        let mut modes = spec.sessions.values().filter_map(|session_settings| session_settings.rules.as_ref());
        Laws {
            nodes,
            has_plugin: modes.any(|rules| rules.mode == LoopMode::Plugin),
            spec: spec.clone(),
            worst: worst_case(spec),
            planned: BTreeSet::new(),
            handed: BTreeSet::new(),
            started: BTreeSet::new(),
            passed: BTreeSet::new(),
            turns: BTreeMap::new(),
            sessions: BTreeMap::new(),
            rounds: BTreeSet::new(),
            conflicts: BTreeMap::new(),
            landing: BTreeMap::new(),
            conflicted: BTreeMap::new(),
            well: BTreeSet::new(),
            own: Spent::default(),
            children: BTreeMap::new(),
            child_began: BTreeMap::new(),
            continued: 0,
            children_in_all: Spent::default(),
            last: Spent::default(),
            ends: 0,
            finals: 0,
            ended: None,
            complete: BTreeSet::new(),
            facts: Vec::new(),
        }
    }

    pub(super) fn told(&self) -> String {
        let mut told = String::from("after:");
        for event in &self.facts {
            let line = match event {
                Event::RunStarted { .. } => "it was started".to_owned(),
                event => format!("{event:?}"),
            };
            told.push_str("\n  ");
            told.push_str(&line);
        }
        told
    }

    pub(super) fn child_spent(&self, effect: &EffectId) -> Spent {
        self.children.get(&effect.node).copied().unwrap_or_default()
    }

    /// A turn in which a hook found no owner is never taken for a finished one.
    fn a_turn_that_was_cut_off_is_not_judged(&self, event: &Event, step: &Decision) {
        let unanswered = match event {
            Event::SessionEnded { end, .. } => &end.unanswered,
            Event::HookAsked { call } => &call.unanswered,
            _ => return,
        };
        let is_judged = step.effects.iter().any(|planned| matches!(planned.effect, Effect::Inspect { .. }));
        assert!(unanswered.is_empty() || !is_judged, "it was cut off, and is judged; {}", self.told());
    }

    /// Neither a node whose template has no value, nor one whose run ended by that.
    fn what_a_template_cannot_say_is_not_tried_again(&self, event: &Event, step: &Decision) {
        let again = |node: &NodeId| {
            step.news.iter().any(|news| matches!(news, News::Retrying { node: tried, .. } if tried == node))
        };
        for news in &step.news {
            if let News::NodeFinished { node, outcome, .. } = news
                && outcome.reason == EndReason::Template
            {
                assert!(!again(node), "{node} is tried again: {outcome:?}; {}", self.told());
            }
        }
        if let Event::RunEnded { effect, end } = event
            && end.outcome.reason == EndReason::Template
        {
            assert!(!again(&effect.node), "{} is tried again; {}", effect.node, self.told());
        }
    }

    /// Whatever the workflow says of failures: nothing new begins after it, and the run ends for that reason.
    fn a_broken_effect_ends_the_run(
        &self,
        before: Option<&Before>,
        event: &Event,
        state: &RunState,
        step: &Decision,
    ) {
        let (Some(before), Event::EffectBroken { effect, .. }) = (before, event) else { return };
        if before.is_ending || before.is_done || before.is_final || !before.open.contains(effect) {
            return;
        }
        let outcome = match &state.lifecycle {
            Lifecycle::Ending { outcome } | Lifecycle::Finally { outcome } | Lifecycle::Done { outcome } => {
                Some(outcome)
            }
            Lifecycle::Running => None,
        };
        let reason = outcome.map(|outcome| (outcome.status, outcome.reason));
        let expected = Some((FinalStatus::Failed, EndReason::InternalError));
        assert_eq!(reason, expected, "{effect} broke; {}", self.told());
        let begins =
            |planned: &&Planned| planned.effect.begins_work() && !self.is_at_the_end(&planned.id.node);
        let begins = step.effects.iter().find(begins);
        assert_eq!(begins, None, "it begins though {effect} broke; {}", self.told());
    }

    /// Neither a task nor a loop is done by the word of a session that did not end well.
    fn only_who_ended_well_claims(&mut self, step: &Decision) {
        for news in &step.news {
            let News::NodeFinished { node, outcome, .. } = news else { continue };
            let known = self.nodes.get(&node.in_workflow()).map(|known| &known.step.kind);
            match known {
                Some(NodeKind::Session(_)) if outcome.status == FinalStatus::Completed => {
                    self.well.insert(node.clone());
                }
                Some(NodeKind::CriteriaLoop(_)) if outcome.reason == EndReason::Signal => {
                    let rounds = self.rounds.iter().filter(|(other, _)| other == node);
                    let last = rounds.map(|(_, round)| *round).max().expect("a round");
                    self.somebody_ended_well_in(&NodeId::new(format!("{node}@{last}")));
                }
                _ => {}
            }
        }
        for planned in &step.effects {
            match &planned.effect {
                Effect::SettleTask { ok: true, said: Some(_), .. } | Effect::Land { said: Some(_), .. } => {
                    self.somebody_ended_well_in(&planned.id.node);
                }
                _ => {}
            }
            let around =
                planned.id.node.as_str().rsplit_once('@').map_or("", |(around, _)| around).to_owned();
            match &planned.effect {
                Effect::Land { task, .. } => {
                    self.landing.insert((around, task.clone()), planned.id.node.clone());
                }
                Effect::RenewWorktree { task, .. } => {
                    let before = self.landing.get(&(around, task.clone())).expect("it was to land");
                    self.conflicted.insert(planned.id.node.clone(), before.clone());
                }
                _ => {}
            }
        }
    }

    fn somebody_ended_well_in(&self, round: &NodeId) {
        let (id, mark) = self.in_round(round);
        let around = &self.nodes[&id].step;
        // Once each: the round may have the same marks as what is around it.
        let rest = round.as_str().strip_prefix(id.as_str()).unwrap_or_default();
        let own = rest.strip_prefix(mark.as_str()).unwrap_or(rest);
        // What is in the first try of a block that may be tried again has its mark, and the block has none.
        let is_first = around.retry.times > 0 && !own.starts_with('~');
        let mark = format!("{mark}{}{own}", if is_first { "~1" } else { "" });
        let is_in = |node: &NodeId| {
            let own = node.in_workflow();
            let rest = node.as_str().trim_start_matches(own.as_str()).strip_prefix(mark.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '~']))
                && any_in(around, &|step| step.id == own)
        };
        // Git may merge all of a conflict, so that nobody has to do anything in its round.
        if let Some(before) = self.conflicted.get(round).filter(|_| !self.well.iter().any(is_in)) {
            return self.somebody_ended_well_in(before);
        }
        assert!(self.well.iter().any(is_in), "nobody ended well in {round}; {}", self.told());
    }

    pub(super) fn look(&self, state: &RunState) -> Before {
        Before {
            is_ending: matches!(state.lifecycle, Lifecycle::Ending { .. }),
            is_final: matches!(state.lifecycle, Lifecycle::Finally { .. }),
            is_done: state.is_done(),
            paused: state.bookkeeping.paused,
            open: state.bookkeeping.open.iter().map(|planned| planned.id.clone()).collect(),
        }
    }

    /// Checks everything.
    pub(super) fn hold(&mut self, before: Option<&Before>, event: &Event, state: &RunState, step: &Decision) {
        self.facts.push(event.clone());
        self.only_what_landed_passes(event, step);
        if let Event::Continued { .. } = event {
            // A node continues under its name, and its limits are higher.
            self.started.clear();
            self.spec = state.spec.clone();
            self.continued += 1;
            (self.finals, self.ended) = (0, None);
        }
        self.ends = state.bookkeeping.ends;
        self.finally_runs_once_for_each_end(step);
        for planned in step.effects.iter().filter(|planned| planned.id.verb == Verb::Run) {
            self.child_began.insert(planned.id.clone(), self.child_spent(&planned.id).turns);
        }
        self.count_spending(before, event);
        self.ids_are_planned_once(event, state, step);
        self.nothing_begins_that_may_not(before, event, step);
        self.a_resumed_session_was_there_before(state, step);
        self.budgets_are_kept(state, step);
        self.nodes_begin_once_and_behind_their_gates(step);
        self.what_is_open_is_of_nodes_under_way(state);
        self.hooks_are_answered(event, state, step);
        self.a_turn_that_was_cut_off_is_not_judged(event, step);
        self.what_a_template_cannot_say_is_not_tried_again(event, step);
        self.only_who_ended_well_claims(step);
        self.a_broken_effect_ends_the_run(before, event, state, step);
        self.blocks_keep_their_bounds(state);
        self.no_item_runs_twice(state, step);
        let is_kept = |planned: &Planned| {
            self.handed.contains(&planned.id) || state.bookkeeping.deferred.contains(&planned.id)
        };
        assert!(state.bookkeeping.open.iter().all(is_kept), "what is open was handed out; {}", self.told());
        if state.is_done() {
            let book = &state.bookkeeping;
            let is_empty = book.open.is_empty() && book.deferred.is_empty() && book.asks.is_empty();
            assert!(is_empty, "nothing is open in a run that is over: {book:?}; {}", self.told());
        }
    }

    pub(super) fn at_the_end(&self, state: &RunState) {
        assert!(state.root.now.is_none(), "no node is under way: {:?}; {}", state.root, self.told());
    }

    fn count_spending(&mut self, before: Option<&Before>, event: &Event) {
        let is_open = |effect: &EffectId| before.is_some_and(|before| before.open.contains(effect));
        match event {
            Event::SessionEnded { effect, end } if is_open(effect) => {
                let usage = priced(end);
                self.own.usage.add(&usage);
                if self.is_last(&effect.node) {
                    self.last.usage.add(&usage);
                }
            }
            Event::RunSpent { effect, spent } if is_open(effect) => self.child(effect, spent),
            Event::RunEnded { effect, end } if is_open(effect) => self.child(effect, &end.spent),
            _ => {}
        }
    }

    fn is_last(&self, node: &NodeId) -> bool {
        self.nodes.get(&node.in_workflow()).is_some_and(|known| known.is_last)
    }

    fn child(&mut self, effect: &EffectId, spent: &Spent) {
        let earlier = self.children.insert(effect.node.clone(), *spent).unwrap_or_default();
        let mut all = self.own;
        all.add(&self.children_in_all);
        let all = all.since(&self.last);
        let fresh = spent.since(&earlier);
        self.children_in_all.add(&fresh);
        if self.is_last(&effect.node) {
            return self.last.add(&fresh);
        }
        if fresh.turns == 0 || self.has_plugin {
            return;
        }
        let Budget { turns, tokens: most, cost_usd, .. } = self.spec.budget;
        // As if all but the last of its turns were over before that one began.
        let share = f64::from(fresh.turns - 1) / f64::from(fresh.turns);
        let begun = all.turns + fresh.turns;
        assert!(turns.is_none_or(|most| begun <= most), "turn {begun} of {turns:?} begins; {}", self.told());
        let used = tokens(&all.usage) as f64 + tokens(&fresh.usage) as f64 * share;
        let is_left = most.is_none_or(|most| used < most as f64);
        assert!(is_left, "a run goes on with {used} of {most:?} tokens used; {}", self.told());
        let cost = all.usage.cost_usd.unwrap_or(0.0) + fresh.usage.cost_usd.unwrap_or(0.0) * share;
        let is_left = cost_usd.is_none_or(|most| cost < most + 1e-3);
        assert!(is_left, "a run goes on with ${cost} of {cost_usd:?} spent; {}", self.told());
    }

    fn ids_are_planned_once(&mut self, event: &Event, state: &RunState, step: &Decision) {
        let settled = step.effects.iter().filter(|planned| planned.effect.is_settled_by_an_event());
        for planned in settled {
            let is_new = self.handed.insert(planned.id.clone());
            assert!(is_new, "{} is handed out twice; {}", planned.id, self.told());
        }
        for planned in &state.bookkeeping.open {
            if self.planned.insert(planned.id.clone())
                && planned.id.verb == Verb::Session
                && planned.id.attempt == 1
            {
                self.turn_begins(&planned.id.node);
            }
        }
        // A stop that is refused as soon as it is asked for ends no turn: the one under way was cut off.
        if !matches!(event, Event::HookAsked { .. }) && step.news.iter().any(is_held) {
            let answers = |planned: &&Planned| matches!(planned.effect, Effect::AnswerHook { .. });
            let held = step.effects.iter().find(answers).expect("a stop is held");
            self.turn_begins(&held.id.node);
        }
    }

    fn turn_begins(&mut self, node: &NodeId) {
        self.own.turns += 1;
        if self.is_last(node) {
            self.last.turns += 1;
        }
        let session = self.in_round(node);
        let turns = self.turns.entry(session.clone()).or_default();
        *turns += 1;
        let turns = *turns;
        let most = self.nodes.get(&session.0).and_then(|known| known.step.budget.turns);
        let begun = self.own.turns;
        let is_foreseen = match self.worst {
            UpperBound::AtMost(most) => u64::from(begun) <= most,
            UpperBound::Without { .. } => true,
        };
        assert!(
            is_foreseen || self.has_plugin || self.continued > 0,
            "turn {begun} begins, {}; {}",
            self.worst,
            self.told()
        );
        let is_kept = self.has_plugin || self.continued > 0 || most.is_none_or(|most| turns <= most);
        assert!(is_kept, "turn {turns} of {node} begins, in all tries, of {most:?}; {}", self.told());
    }

    /// The node and its round, without its own try.
    fn in_round(&self, instance: &NodeId) -> InRound {
        let step = instance.in_workflow();
        let is_later_end = |known: &Known| known.is_last && self.ends > 1;
        let marks = self.nodes.get(&step).map_or(0, |known| known.marks + usize::from(is_later_end(known)));
        let mark = instance.as_str().trim_start_matches(step.as_str());
        let own_try = mark.match_indices(['@', '~']).nth(marks).map_or(mark.len(), |(at, _)| at);
        (step, mark[..own_try].to_owned())
    }

    /// A paused run begins nothing, and neither does one that is ending.
    fn nothing_begins_that_may_not(&self, before: Option<&Before>, event: &Event, step: &Decision) {
        let Some(before) = before else { return };
        let begins: Vec<&EffectId> = step
            .effects
            .iter()
            .filter(|planned| planned.effect.begins_work() && !self.is_at_the_end(&planned.id.node))
            .map(|planned| &planned.id)
            .collect();
        // Who cancels a paused run wants its `finally` to run now.
        let is_resumed = match event {
            Event::UnpauseAsked { .. } => true,
            Event::CancelAsked { .. } => self.spec.finally().is_some(),
            _ => self.spec.finally().is_some() && before.is_ending,
        };
        let is_paused = before.paused && !is_resumed;
        let is_again = matches!(event, Event::Continued { .. });
        let may = is_again || (!is_paused && !before.is_ending && !before.is_done);
        assert!(may || begins.is_empty(), "{begins:?} may not begin; {}", self.told());
        // A new owner tells again what was waited for before.
        if is_paused && !is_again && *event != Event::OwnerChanged {
            let is_last = |news: &News| matches!(news, News::NodeStarted { node, .. } | News::NodeSkipped { node, .. } | News::Round { node, .. } if self.is_at_the_end(node));
            let began = step.news.iter().find(|news| is_beginning(news) && !is_last(news));
            assert_eq!(began, None, "it begins while the run is paused; {}", self.told());
        }
        let is_late = settles(event).is_some_and(|effect| !before.open.contains(effect));
        assert!(!is_late || *step == Decision::default(), "{event:?} came too late; {}", self.told());
    }

    /// Turns of runs that were started and have told of none: the first of each is counted already.
    fn first_turns(&self, state: &RunState) -> u32 {
        let is_counted = |planned: &&Planned| {
            let Effect::StartRun { spec, .. } = &planned.effect else { return false };
            let began = self.child_began.get(&planned.id).copied().unwrap_or_default();
            !spec.sessions.is_empty() && self.child_spent(&planned.id).turns == began
        };
        u32::try_from(state.bookkeeping.open.iter().filter(is_counted).count()).unwrap_or(u32::MAX)
    }

    /// Only a session that was planned before is resumed, and only by its driver.
    fn a_resumed_session_was_there_before(&mut self, state: &RunState, step: &Decision) {
        for planned in &step.effects {
            let Effect::StartSession(plan) = &planned.effect else { continue };
            let is_known = self.sessions.get(&plan.session) == Some(&plan.driver);
            assert!(is_known || !plan.resume, "{} has {plan:?}; {}", planned.id, self.told());
            self.sessions.insert(plan.session.clone(), plan.driver.clone());
        }
        // A pause may defer a session.
        for planned in &state.bookkeeping.open {
            if let Effect::StartSession(plan) = &planned.effect {
                self.sessions.insert(plan.session.clone(), plan.driver.clone());
            }
        }
    }

    /// Work goes to another driver, and only to one that accepts work.
    pub(super) fn a_hand_over_goes_to_a_free_driver(&self, at: Moment, state: &RunState, step: &Decision) {
        for news in &step.news {
            let News::HandedOver { from, to, .. } = news else { continue };
            let is_limited = state.bookkeeping.limited.get(to).is_some_and(|until| *until > at);
            assert!(from != to && !is_limited, "{news:?}; {}", self.told());
        }
    }

    fn budgets_are_kept(&mut self, state: &RunState, step: &Decision) {
        let mut all = self.own;
        all.add(&self.children_in_all);
        all.turns += self.first_turns(state);
        let said = &state.spent;
        assert_eq!(tokens(&said.usage), tokens(&all.usage), "every token is counted once; {}", self.told());
        let (cost, known) = (said.usage.cost(), all.usage.cost());
        let is_same = (cost.usd.unwrap_or(-1.0) - known.usd.unwrap_or(-1.0)).abs() < 1e-9;
        let is_as_known = (cost.is_computed, cost.is_partial) == (known.is_computed, known.is_partial);
        assert!(is_same && is_as_known, "{cost:?} is not {known:?}; {}", self.told());
        if self.has_plugin {
            assert!(said.turns >= all.turns, "every turn is counted; {}", self.told());
        } else {
            assert_eq!(said.turns, all.turns, "every turn is counted once; {}", self.told());
        }
        let is_turn = |planned: &&Planned| matches!(planned.effect, Effect::StartSession(_));
        let turns: Vec<&Planned> = step.effects.iter().filter(is_turn).collect();
        let goes_on = step.news.iter().any(is_held);
        let budget = &self.spec.budget;
        let is_last = matches!(state.lifecycle, Lifecycle::Finally { .. });
        if (turns.is_empty() && !goes_on) || self.is_released(step) || is_last {
            return;
        }
        let all = all.since(&self.last);
        let is_first = goes_on || turns.iter().any(|planned| planned.id.attempt == 1);
        if let (Some(most), true, false) = (budget.turns, is_first, self.has_plugin) {
            assert!(all.turns <= most, "turn {} of {most} begins; {}", all.turns, self.told());
        }
        if let Some(most) = budget.tokens {
            let used = tokens(&all.usage);
            assert!(used < most, "a turn begins with {used} of {most} tokens used; {}", self.told());
        }
        if let Some(most) = budget.cost_usd {
            // Summed in another order, so not to the last digit.
            let cost = all.usage.cost_usd.unwrap_or(0.0);
            assert!(cost < most + 1e-9, "a turn begins with ${cost} of ${most} spent; {}", self.told());
        }
    }

    /// Decides whether a step ends a pause. The run paid for the deferred effects when it planned them.
    fn is_released(&self, step: &Decision) -> bool {
        step.news.iter().any(|news| matches!(news, News::GoesOn))
    }

    fn nodes_begin_once_and_behind_their_gates(&mut self, step: &Decision) {
        for news in &step.news {
            match news {
                News::NodeStarted { node, .. } => {
                    assert!(self.started.insert(node.clone()), "{node} begins twice; {}", self.told());
                    self.gates_are_passed(node);
                }
                News::NodeFinished { node, outcome, .. } if outcome.status == FinalStatus::Completed => {
                    self.passed.insert(self.in_round(node));
                }
                News::NodeSkipped { node, .. } => drop(self.passed.insert(self.in_round(node))),
                News::Round { node, round, .. } => self.round(node, *round),
                News::Conflict { node, .. } => *self.conflicts.entry(node.clone()).or_default() += 1,
                _ => {}
            }
        }
    }

    fn gates_are_passed(&self, node: &NodeId) {
        let (step, round) = self.in_round(node);
        let Some(known) = self.nodes.get(&step) else { panic!("{node} is no node") };
        for gate in &known.gates {
            let is_passed = self.passed.contains(&(gate.clone(), round.clone()));
            assert!(is_passed, "{node} begins, and {gate} did not let it through; {}", self.told());
        }
    }

    fn round(&mut self, node: &NodeId, round: u32) {
        let is_new = self.rounds.insert((node.clone(), round));
        let is_item = matches!(self.nodes.get(&node.in_workflow()), Some(Known { step, .. }) if matches!(step.kind, NodeKind::Each(_)));
        // An item that is not complete begins again when the run continues.
        assert!(
            is_new || (is_item && self.continued > 0),
            "round {round} of {node} begins twice; {}",
            self.told()
        );
        let most = match self.nodes.get(&node.in_workflow()).map(|known| &known.step.kind) {
            Some(
                NodeKind::Loop(LoopNode { max, .. })
                | NodeKind::CriteriaLoop(CriteriaLoopNode { max, .. })
                | NodeKind::TaskLoop(TaskLoopNode { max, .. }),
            ) => *max,
            Some(NodeKind::Each(each)) => each.most_items(),
            other => panic!("{node} has rounds and is {other:?}"),
        };
        let most = if most == 0 { 0 } else { most + 2 * self.continued };
        let conflicts = self.conflicts.get(node).copied().unwrap_or_default();
        let most = if most == 0 { 0 } else { most + conflicts };
        assert!(most == 0 || round <= most, "round {round} of {node} begins, of {most}; {}", self.told());
    }

    /// Checks that each open effect and question belongs to a node in progress or to the round of a task.
    fn what_is_open_is_of_nodes_under_way(&self, state: &RunState) {
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        let mut names: BTreeSet<NodeId> = actives.iter().map(|active| active.instance.clone()).collect();
        for active in actives {
            if let Activity::Each(each) = &active.activity {
                let numbers = each.open.iter().map(|open| each.items[open.at].number);
                names.extend(numbers.map(|number| NodeId::new(format!("{}@{number}", active.instance))));
            }
            if let Activity::Tasks(tasks) = &active.activity {
                let rounds = tasks.open.iter().map(|round| format!("{}@{}", active.instance, round.round));
                names.extend(rounds.map(NodeId::new));
            }
        }
        for Planned { id, .. } in &state.bookkeeping.open {
            assert!(names.contains(&id.node), "{id} is open and its node is not; {}", self.told());
        }
        for ask in &state.bookkeeping.asks {
            assert!(names.contains(&ask.node), "{ask:?} is open and its node is not; {}", self.told());
        }
    }

    /// Checks that a hook call gets one answer, unless it waits for a person or asks to stop.
    fn hooks_are_answered(&self, event: &Event, state: &RunState, step: &Decision) {
        let Event::HookAsked { call } = event else { return };
        let answers = |planned: &&Planned| matches!(&planned.effect, Effect::AnswerHook { hook, .. } if *hook == call.id);
        let answered = step.effects.iter().filter(answers).count();
        let waits = state.bookkeeping.asks.iter().any(|ask| ask.hook == call.id);
        let is_held = matches!(call.kind, HookKind::Stop { .. });
        assert!(
            answered == 1 || (answered == 0 && (waits || is_held)),
            "{call:?} is answered {answered} times; {}",
            self.told()
        );
    }

    fn blocks_keep_their_bounds(&self, state: &RunState) {
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        for active in actives {
            self.block_keeps_its_bounds(active);
        }
    }

    fn block_keeps_its_bounds(&self, active: &ActiveNode) {
        let Some(Known { step, .. }) = self.nodes.get(&active.step) else {
            panic!("{} is no node", active.step)
        };
        let holds_runs = |step: &Drawn| matches!(step.kind, NodeKind::Workflow(_));
        let is_loose = self.has_plugin || self.continued > 0 || any_in(step, &holds_runs);
        if let (Some(most), false) = (step.budget.turns, is_loose) {
            let turns = active.spent.turns;
            assert!(turns <= most, "{} spent {turns} of {most} turns; {}", active.instance, self.told());
        }
        match (&step.kind, &active.activity) {
            (
                NodeKind::Parallel(ParallelNode { limit, .. }),
                Activity::Parallel(ParallelState { slots, .. }),
            ) if *limit > 0 => {
                let open = slots.iter().filter(|slot| matches!(slot, BranchState::Open(_))).count();
                assert!(open <= *limit as usize, "{open} branches at once, of {limit}; {}", self.told());
            }
            (NodeKind::Each(each), Activity::Each(state)) => {
                let (open, most) = (state.open.len(), each.jobs.max(1) as usize);
                assert!(open <= most, "{open} items at once, of {most}; {}", self.told());
            }
            (NodeKind::TaskLoop(TaskLoopNode { jobs, .. }), Activity::Tasks(tasks)) => {
                let ids: BTreeSet<_> = tasks.open.iter().map(|round| &round.id).collect();
                assert_eq!(ids.len(), tasks.open.len(), "a task is done twice at once; {}", self.told());
                self.one_conflict_at_a_time(tasks);
                let most = (*jobs).max(1) as usize;
                assert!(ids.len() <= most, "{} tasks at once, of {most}; {}", ids.len(), self.told());
            }
            _ => {}
        }
    }
}

impl Laws {
    /// Returns whether a node runs at the end of the run.
    fn is_at_the_end(&self, node: &NodeId) -> bool {
        self.nodes.get(&node.in_workflow()).is_some_and(|known| known.is_last)
    }

    /// `finally` begins once for each end. An interrupted run has not ended.
    fn finally_runs_once_for_each_end(&mut self, step: &Decision) {
        let has_finally = self.spec.finally().is_some();
        for news in &step.news {
            match news {
                News::NodeStarted { node, .. } if node.in_workflow().as_str() == "finally" => {
                    self.finals += 1;
                }
                News::Finished { outcome, .. } => {
                    let expected = match (self.ended, outcome.status) {
                        _ if !has_finally => 0..=0,
                        // Who cancels a run that had ended gets no second end.
                        (Some(before), _) if before != FinalStatus::Interrupted => 0..=0,
                        (_, FinalStatus::Interrupted) => 0..=1,
                        _ => 1..=1,
                    };
                    let finals = std::mem::take(&mut self.finals);
                    assert!(
                        expected.contains(&finals),
                        "finally began {finals} times at the end {outcome:?}; {}",
                        self.told()
                    );
                    self.ended = Some(outcome.status);
                }
                _ => {}
            }
        }
    }

    /// An item that is complete never begins again, whatever is tried again or continued.
    fn no_item_runs_twice(&mut self, state: &RunState, step: &Decision) {
        for news in &step.news {
            if let News::Round { node, round, .. } = news {
                let item = (self.in_round(node), *round);
                assert!(!self.complete.contains(&item), "item {round} of {node} runs twice; {}", self.told());
            }
        }
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        for active in actives {
            let Activity::Each(each) = &active.activity else { continue };
            let is_complete = |item: &&EachItem| {
                item.result.as_ref().is_some_and(|result| result.status == FinalStatus::Completed)
            };
            for item in each.items.iter().filter(is_complete) {
                self.complete.insert((self.in_round(&active.instance), item.number));
            }
            for open in &each.open {
                assert!(
                    each.items[open.at].result.is_none(),
                    "an item with a result is open; {}",
                    self.told()
                );
            }
        }
    }

    /// A task whose work did not land is not settled as done.
    fn only_what_landed_passes(&self, event: &Event, step: &Decision) {
        let Event::Landed { end, .. } = event else { return };
        let passes = |planned: &Planned| matches!(planned.effect, Effect::SettleTask { ok: true, .. });
        let has_landed = matches!(end, LandingEnd::Landed { .. });
        assert!(has_landed || !step.effects.iter().any(passes), "{}", self.told());
    }

    /// While one task resolves its conflict, no other lands.
    fn one_conflict_at_a_time(&self, tasks: &TaskRounds) {
        let is_in = |round: &&Round, phases: &[RoundPhase]| phases.contains(&round.phase) && !round.stopped;
        let resolving: Vec<&Round> = tasks
            .open
            .iter()
            .filter(|round| round.conflict.is_some())
            .filter(|round| !is_in(round, &[RoundPhase::Conflicted, RoundPhase::Settling]) && !round.stopped)
            .collect();
        assert!(resolving.len() <= 1, "several conflicts at once; {}", self.told());
        let Some(one) = resolving.first() else { return };
        assert_eq!(tasks.resolving.as_ref(), Some(&one.id), "{}", self.told());
        let others = tasks.open.iter().filter(|round| round.id != one.id);
        let landing = others.filter(|round| is_in(round, &[RoundPhase::Landing])).count();
        assert_eq!(landing, 0, "others land while a conflict is resolved; {}", self.told());
    }
}

/// The most turns of a run, those of runs that it starts not counted.
fn worst_case(spec: &Spec) -> UpperBound {
    let other = Builder::new("other").start(clear_context()).end().unwrap();
    let whole = Workflow { body: spec.body.clone(), budget: spec.budget, ..other.clone() };
    worst(&whole, &Others::from([("other".to_owned(), Some(other))])).turns
}

/// A stop was held: another turn begins in the same process.
fn is_held(news: &News) -> bool {
    matches!(news, News::HookDecided { answer: HookAnswer::Block { .. }, .. })
}

/// Something begins. A task that was being taken when a pause came is taken.
fn is_beginning(news: &News) -> bool {
    match news {
        News::NodeStarted { .. } | News::NodeSkipped { .. } => true,
        News::Round { task, .. } => task.is_none(),
        News::Waiting(Waiting::Time { .. } | Waiting::Event { .. }) => true,
        _ => false,
    }
}

fn know(body: &[Drawn], marks: usize, is_last: bool, into: &mut BTreeMap<NodeId, Known>) {
    let mut gates = Vec::new();
    for step in body {
        if is_finally(step) {
            gates.clear();
        }
        into.insert(
            step.id.clone(),
            Known { step: step.clone(), gates: gates.clone(), marks, is_last: is_last || is_finally(step) },
        );
        let has_rounds = matches!(
            step.kind,
            NodeKind::Loop(_) | NodeKind::CriteriaLoop(_) | NodeKind::TaskLoop(_) | NodeKind::Each(_)
        );
        let inside = marks + usize::from(has_rounds) + usize::from(step.retry.times > 0);
        for block in step.kind.blocks() {
            know(block.body, inside, is_last || is_finally(step), into);
        }
        let is_gate = matches!(step.kind, NodeKind::Ask(_) | NodeKind::Check(_));
        if is_gate && step.on_failure == OnFailure::Fail {
            gates.push(step.id.clone());
        }
    }
}

fn is_finally(step: &Drawn) -> bool {
    matches!(step.kind, NodeKind::Finally(_))
}

fn any_in(step: &Drawn, which: &impl Fn(&Drawn) -> bool) -> bool {
    which(step) || step.kind.blocks().iter().any(|block| block.body.iter().any(|step| any_in(step, which)))
}

/// The model that has a price.
pub(super) const PRICED: &str = "priced";
const INPUT: f64 = 1_300.0;
const OUTPUT: f64 = 4_100.0;

/// Returns the prices of a run.
pub(super) fn prices() -> PriceTable {
    let price = ModelPrice { input: INPUT, output: OUTPUT, cached_input: 0.0, cache_write: 0.0 };
    PriceTable([(PRICED.to_owned(), price)].into())
}

/// Returns the usage of a turn with what it costs.
fn priced(end: &SessionEnd) -> Usage {
    let usage = end.usage;
    let is_spent = usage.input_tokens + usage.output_tokens > 0;
    match end.models.first().map(|part| part.model.as_str()) {
        Some(PRICED) if is_spent => {
            let cost = usage.input_tokens as f64 * INPUT + usage.output_tokens as f64 * OUTPUT;
            Usage { cost_usd: Some(cost / 1e6), is_cost_computed: true, ..usage }
        }
        Some(_) => Usage { is_cost_partial: is_spent, ..usage },
        None => usage,
    }
}
