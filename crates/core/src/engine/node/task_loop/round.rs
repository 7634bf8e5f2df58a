//! One iteration of a task loop: its worktree, its nodes, its checks, and the result for the task
//! file.

use std::collections::BTreeMap;

use serde_json::Value;

use super::TaskLoopNode;
use crate::effect::Effect;
use crate::engine::frame::Frame;
use crate::engine::node::pair::{Delivered, NodeSite};
use crate::engine::{DecisionCx, cancel, lane};
use crate::event::{Event, LandingEnd, WorktreeEnd};
use crate::graph::workflow::{CheckNode, Node, NodeKind};
use crate::id::{NodeId, Verb};
use crate::looping::verdict::red;
use crate::run::{
    EndReason, FinalStatus, Lane, Outcome, Round, RoundPhase, SessionSignal, TaskConflict, TaskRounds,
};
use crate::tasks::{Attempts, TaskId};

/// The part of the loop's state that its iterations share.
pub(super) struct RoundsShared<'t> {
    path: &'t Option<String>,
    /// The task whose conflict is being resolved.
    pub(super) resolving: &'t mut Option<TaskId>,
    pub(super) attempts: &'t mut Attempts,
    /// The problem with each task at its last attempt.
    wrong: &'t BTreeMap<TaskId, String>,
    pub(super) target: &'t mut Option<String>,
    fixed: &'t mut BTreeMap<TaskId, Outcome>,
    pub(super) blocked: &'t mut Option<Outcome>,
    pub(super) over: &'t mut Option<Outcome>,
}

impl TaskRounds {
    /// Returns the state of a loop before its first iteration.
    pub(super) fn of(path: Option<String>, attempts: Attempts) -> TaskRounds {
        TaskRounds {
            path,
            rounds: 0,
            conflict_rounds: 0,
            resolving: None,
            claims: 0,
            asking: false,
            idle: false,
            stale: false,
            attempts,
            wrong: Default::default(),
            target: None,
            open: Vec::new(),
            max: None,
            passed: 0,
            told: Default::default(),
            fixed: Default::default(),
            blocked: None,
            over: None,
        }
    }

    /// Splits the state into the shared part and the iterations in progress.
    pub(super) fn split(&mut self) -> (RoundsShared<'_>, &mut Vec<Round>) {
        let TaskRounds { path, resolving, attempts, wrong, target, fixed, blocked, over, open, .. } = self;
        (RoundsShared { path, resolving, attempts, wrong, target, fixed, blocked, over }, open)
    }

    /// Counts a new iteration for a task.
    pub(super) fn next_round(&mut self, id: &TaskId, task: &Value) -> Round {
        self.rounds += 1;
        Round {
            round: self.rounds,
            id: id.clone(),
            task: task.clone(),
            workspace: None,
            branch: None,
            phase: RoundPhase::Leasing,
            lane: Lane::default(),
            turns: 0,
            wrong: None,
            stopped: false,
            conflict: None,
        }
    }

    /// Returns the number of iterations started, without those that only resolved a conflict.
    pub(super) fn iterations(&self) -> u32 {
        self.rounds.saturating_sub(self.conflict_rounds)
    }

    /// Decides whether no one works on a task or claims one.
    pub(super) fn are_still(&self) -> bool {
        !self.asking && self.open.iter().all(|round| round.stopped)
    }
}

impl Round {
    /// Returns the id for the effects of this iteration.
    pub(super) fn name(&self, instance: &NodeId) -> NodeId {
        NodeId::new(format!("{instance}@{}", self.round))
    }

    /// Counts the turns that the nodes of this iteration started, from the turns of the run before and now.
    fn count_turns(&mut self, before: u32, now: u32) {
        // A turn that did not start after all is returned, so the number may shrink.
        self.turns = self.turns.saturating_add(now).saturating_sub(before);
    }
}

/// The context of a loop's iterations.
pub(super) struct RoundContext<'a> {
    pub(super) node: &'a TaskLoopNode,
    pub(super) instance: &'a NodeId,
    inside: &'a Frame<'a>,
    pub(super) is_cut: bool,
}

impl<'a> RoundContext<'a> {
    pub(super) fn of(node: &'a TaskLoopNode, site: &NodeSite<'a>, inside: &'a Frame<'a>) -> RoundContext<'a> {
        RoundContext { node, instance: site.instance, inside, is_cut: site.cut.is_some() }
    }

    /// Starts an iteration.
    pub(super) fn begin(&self, cx: &mut DecisionCx<'_>, all: &mut RoundsShared<'_>, round: &mut Round) {
        if self.node.at_once() > 1 {
            let attempt = all.attempts.made.get(&round.id).copied().unwrap_or(1);
            let from = self.node.branches_before(cx, all.path.as_ref(), &round.task);
            let (task, target) = (round.id.clone(), all.target.clone());
            let effect = Effect::MakeWorktree { task, attempt, target, from };
            cx.plan_once(&round.name(self.instance), Verb::Worktree, effect);
            return;
        }
        self.start(cx, all, round);
    }

    /// Starts the nodes of an iteration, those before the task first.
    pub(super) fn start(&self, cx: &mut DecisionCx<'_>, all: &mut RoundsShared<'_>, round: &mut Round) {
        round.phase = RoundPhase::Before;
        if let Some(outcome) = self.proceed(cx, all, round, &self.node.before_each) {
            self.nodes_over(cx, all, round, outcome);
        }
    }

    pub(super) fn proceed(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &RoundsShared<'_>,
        round: &mut Round,
        body: &[Node],
    ) -> Option<Outcome> {
        let frame = around(self.frame(all, round), &round.task, round.conflict.as_deref());
        let before = cx.turns();
        let outcome = lane::proceed(cx, body, &mut round.lane, &frame);
        round.count_turns(before, cx.turns());
        outcome
    }

    /// Returns the surroundings of the nodes in an iteration, without the task.
    fn frame(&self, all: &RoundsShared<'_>, round: &Round) -> Frame<'a> {
        let told =
            round.conflict.as_ref().map(|conflict| conflict.told.as_str()).filter(|told| !told.is_empty());
        let feedback = told.or_else(|| all.wrong.get(&round.id).map(String::as_str)).unwrap_or_default();
        round_frame(self.inside, round.round, feedback, round.workspace.as_deref())
    }

    /// Delivers an event to a node of the iteration.
    pub(super) fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        let body = match round.phase {
            RoundPhase::Before => &self.node.before_each,
            RoundPhase::Working => &self.node.body,
            RoundPhase::Leasing
            | RoundPhase::Checking
            | RoundPhase::Queued
            | RoundPhase::Landing
            | RoundPhase::Conflicted
            | RoundPhase::Renewing
            | RoundPhase::Settling => return Delivered::NotMine,
        };
        let frame = around(self.frame(all, round), &round.task, round.conflict.as_deref());
        let before = cx.turns();
        let delivered = lane::deliver(cx, body, &mut round.lane, &frame, to, event);
        round.count_turns(before, cx.turns());
        delivered
    }

    /// Continues after the nodes of an iteration, or those before the task, ended.
    pub(super) fn nodes_over(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        outcome: Outcome,
    ) {
        let mut outcome = outcome;
        if round.phase == RoundPhase::Before
            && round.lane.cut.is_none()
            && outcome.status == FinalStatus::Completed
        {
            round.phase = RoundPhase::Working;
            round.lane = Lane::default();
            match self.proceed(cx, all, round, &self.node.body) {
                Some(next) => outcome = next,
                None => return,
            }
        }
        if let Some(cut) = round.lane.cut.clone() {
            return self.stop(cx, all, round, &cut);
        }
        if outcome.status != FinalStatus::Completed {
            return self.failed(cx, all, round, outcome);
        }
        if let Some(SessionSignal::Broken { broken, .. }) = &round.lane.word {
            round.wrong = Some(match round.lane.wrong.as_str() {
                "" => broken.clone(),
                wrong => wrong.to_owned(),
            });
            return self.settle(cx, all, round);
        }
        self.gate(cx, all, round);
    }

    fn failed(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        outcome: Outcome,
    ) {
        let detail = outcome.detail.clone().unwrap_or_else(|| outcome.reason.word().to_owned());
        let wrong = std::mem::take(&mut round.lane.wrong);
        round.wrong = Some(if wrong.is_empty() { detail } else { wrong });
        if outcome.status == FinalStatus::Blocked {
            all.attempts.spend(&round.id);
            all.blocked.get_or_insert(outcome);
        } else if outcome.fixed().is_some() {
            all.attempts.spend(&round.id);
            all.fixed.insert(round.id.clone(), outcome);
        } else if cx.has_run_dry(&outcome) {
            all.over.get_or_insert(outcome);
            // Attempts count failed work, and no agent has worked on the task.
            if round.turns == 0 {
                all.attempts.take_back(&round.id);
                return self.release(cx, all, round);
            }
        }
        self.settle(cx, all, round);
    }

    /// Runs the checks in the workspace, or lands the work of a worktree, which includes the
    /// checks. The work of a branch that is kept does not land.
    pub(super) fn gate(&self, cx: &mut DecisionCx<'_>, all: &RoundsShared<'_>, round: &mut Round) {
        let name = round.name(self.instance);
        let env = match self.inside.env_around(cx) {
            Ok(env) => env,
            Err(outcome) => {
                round.wrong = outcome.detail;
                return self.settle(cx, all, round);
            }
        };
        let lands = !self.node.keeps_branches;
        if let (true, Some(workspace), Some(branch)) = (lands, &round.workspace, &round.branch) {
            if all.resolving.as_ref().is_some_and(|task| *task != round.id) {
                round.phase = RoundPhase::Queued;
                return;
            }
            round.phase = RoundPhase::Landing;
            let effect = Effect::Land {
                workspace: workspace.clone(),
                branch: branch.clone(),
                target: all.target.clone(),
                path: all.path.clone(),
                task: round.id.clone(),
                said: round.lane.word.as_ref().map(|word| word.text().to_owned()),
                conflict: round.conflict.as_ref().and_then(|conflict| conflict.to_resolve()),
                env,
            };
            cx.plan_once(&name, Verb::Land, effect);
            return;
        }
        if cx.spec.checks.is_empty() || self.ends_with_all_checks() {
            return self.settle(cx, all, round);
        }
        round.phase = RoundPhase::Checking;
        let workspace = round.workspace.clone().unwrap_or_else(|| self.inside.workspace.clone());
        let effect = Effect::RunChecks { names: Vec::new(), workspace, env };
        cx.plan_once(&name, Verb::Checks, effect);
    }

    /// Decides whether the last node already runs all checks.
    fn ends_with_all_checks(&self) -> bool {
        let last = self.node.body.last().map(|node| &node.kind);
        matches!(last, Some(NodeKind::Check(CheckNode { names })) if names.is_empty())
    }

    /// Plans to write the result of the task into its file.
    pub(super) fn settle(&self, cx: &mut DecisionCx<'_>, all: &RoundsShared<'_>, round: &mut Round) {
        // The next attempt gets a new worktree. A landing handles the worktree itself.
        let branch = round.branch.clone().filter(|_| round.phase != RoundPhase::Landing);
        round.phase = RoundPhase::Settling;
        let effect = Effect::SettleTask {
            path: all.path.clone(),
            task: round.id.clone(),
            ok: round.wrong.is_none(),
            said: round.lane.word.as_ref().map(|word| word.text().to_owned()),
            why: round.wrong.clone(),
            branch,
        };
        cx.plan_once(&round.name(self.instance), Verb::Settle, effect);
    }

    /// Leaves a task on which no one works any more: for later if the run was interrupted, and
    /// otherwise to its file.
    pub(super) fn stop(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &RoundsShared<'_>,
        round: &mut Round,
        outcome: &Outcome,
    ) {
        match outcome.status {
            FinalStatus::Interrupted => round.stopped = true,
            _ => self.release(cx, all, round),
        }
    }

    /// Continues the work on a task that an interruption stopped.
    pub(super) fn reopen(&self, cx: &mut DecisionCx<'_>, all: &mut RoundsShared<'_>, round: &mut Round) {
        round.stopped = false;
        let body = match round.phase {
            RoundPhase::Before => &self.node.before_each,
            RoundPhase::Working => &self.node.body,
            RoundPhase::Leasing if round.workspace.is_some() => return self.start(cx, all, round),
            RoundPhase::Leasing => return self.begin(cx, all, round),
            RoundPhase::Renewing => return self.renew(cx, all, round),
            // They go on when it is their turn.
            RoundPhase::Queued | RoundPhase::Conflicted => return,
            RoundPhase::Checking | RoundPhase::Landing | RoundPhase::Settling => {
                return self.gate(cx, all, round);
            }
        };
        let frame = around(self.frame(all, round), &round.task, round.conflict.as_deref());
        let before = cx.turns();
        let outcome = lane::reopen(cx, body, &mut round.lane, &frame);
        round.count_turns(before, cx.turns());
        if let Some(outcome) = outcome {
            self.nodes_over(cx, all, round, outcome);
        }
    }

    /// Plans to return the task to its file.
    pub(super) fn release(&self, cx: &mut DecisionCx<'_>, all: &RoundsShared<'_>, round: &mut Round) {
        // A landing handles the worktree itself.
        let has_tried_to_land = round.phase == RoundPhase::Landing && round.wrong.is_some();
        round.phase = RoundPhase::Settling;
        let effect = Effect::ReleaseTask {
            path: all.path.clone(),
            task: round.id.clone(),
            branch: round.branch.clone().filter(|_| !has_tried_to_land),
            why: round.wrong.clone(),
        };
        cx.plan_once(&round.name(self.instance), Verb::Settle, effect);
    }

    /// Handles the outcome of the iteration's own effects. Returns false if the event belongs to
    /// none of them.
    pub(super) fn about(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        event: &Event,
    ) -> bool {
        match event {
            Event::WorktreeMade { end, .. } if round.phase == RoundPhase::Renewing => {
                return self.renewed(cx, all, round, end);
            }
            Event::WorktreeMade { end: WorktreeEnd::Renewed { .. } | WorktreeEnd::Left { .. }, .. } => {
                return false;
            }
            Event::WorktreeMade { end, .. } => self.worktree(cx, all, round, end),
            Event::ChecksFinished { results, .. } => {
                round.wrong = red(results).map(|told| format!("checks are red:\n{told}"));
                self.settle(cx, all, round);
            }
            Event::Landed { end, .. } => self.landed(cx, all, round, end),
            Event::CleanedUp { .. } => match all.over.clone() {
                Some(outcome) => self.stop(cx, all, round, &outcome),
                None => self.release(cx, all, round),
            },
            _ => return false,
        }
        true
    }

    fn worktree(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        end: &WorktreeEnd,
    ) {
        let is_ending = all.over.is_some() && self.is_cut;
        match end {
            WorktreeEnd::Made { branch, workspace, target, commit } if is_ending => {
                round.branch = Some(branch.clone());
                round.starts_at(commit.as_deref());
                match all.over.clone() {
                    Some(outcome) if outcome.status == FinalStatus::Interrupted => {
                        *all.target = all.target.take().or_else(|| target.clone());
                        round.workspace = Some(workspace.clone());
                        self.stop(cx, all, round, &outcome);
                    }
                    _ => self.release(cx, all, round),
                }
            }
            WorktreeEnd::Failed { .. } | WorktreeEnd::Conflict { .. } if is_ending => {
                self.release(cx, all, round);
            }
            WorktreeEnd::Made { workspace, branch, target, commit } => {
                *all.target = all.target.take().or_else(|| target.clone());
                round.workspace = Some(workspace.clone());
                round.branch = Some(branch.clone());
                round.starts_at(commit.as_deref());
                self.start(cx, all, round);
            }
            WorktreeEnd::Renewed { .. } | WorktreeEnd::Left { .. } => {}
            // The next task and the next attempt would fail in the same way.
            WorktreeEnd::Failed { why } => self.stopped_by_git(cx, all, round, why),
            // Only a person can help, but other tasks may not need these branches.
            WorktreeEnd::Conflict { why } => self.hand_over(cx, all, round, why.clone()),
        }
    }

    fn landed(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        end: &LandingEnd,
    ) {
        match end {
            LandingEnd::Landed { .. } => self.settle(cx, all, round),
            LandingEnd::Refused { why, checks } => {
                round.wrong = Some(why.clone());
                let is_unchecked = checks.values().any(|started| !started)
                    && all.over.as_ref().is_some_and(|over| over.reason == EndReason::CheckCannotStart);
                // A check that cannot start costs the task no attempt.
                if is_unchecked { self.release(cx, all, round) } else { self.settle(cx, all, round) }
            }
            LandingEnd::Conflict { files, commit, why } => {
                self.conflicted(cx, all, round, files, commit.as_deref(), why);
            }
            // The next task would cost as much and fail in the same way.
            LandingEnd::Hindered { why } => self.stopped_by_git(cx, all, round, why),
        }
    }

    fn stopped_by_git(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        why: &str,
    ) {
        round.wrong = Some(why.to_owned());
        all.over.get_or_insert(Outcome::new(FinalStatus::Blocked, EndReason::Git).because(why));
        self.release(cx, all, round);
    }

    /// Ends an iteration. Returns whether no one works on its task any more.
    pub(super) fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &RoundsShared<'_>,
        round: &mut Round,
        outcome: &Outcome,
    ) -> bool {
        let name = round.name(self.instance);
        let frame = around(self.frame(all, round), &round.task, round.conflict.as_deref());
        match round.phase {
            RoundPhase::Before => {
                cancel::lane(cx, &self.node.before_each, &mut round.lane, &frame, outcome).is_some()
            }
            RoundPhase::Working => {
                cancel::lane(cx, &self.node.body, &mut round.lane, &frame, outcome).is_some()
            }
            RoundPhase::Checking => {
                cx.forget(&name);
                cx.plan_once(&name, Verb::CleanUp, Effect::CleanUp { iteration: 0 });
                false
            }
            RoundPhase::Queued | RoundPhase::Conflicted => true,
            RoundPhase::Leasing | RoundPhase::Landing | RoundPhase::Renewing => {
                let is_held = cx.is_deferred(&name);
                if is_held {
                    cx.forget(&name);
                }
                is_held
            }
            RoundPhase::Settling => false,
        }
    }
}

/// Adds the task to the surroundings of the nodes in an iteration, and the sessions that resolve its
/// conflict.
fn around<'f>(frame: Frame<'f>, task: &'f Value, conflict: Option<&'f TaskConflict>) -> Frame<'f> {
    Frame { task: Some(task), resumed: conflict.map(|conflict| &conflict.sessions), ..frame }
}

/// Returns the surroundings of the nodes in an iteration, without the task.
pub(super) fn round_frame<'f>(
    inside: &Frame<'f>,
    round: u32,
    feedback: &str,
    workspace: Option<&str>,
) -> Frame<'f> {
    let mut frame = inside.in_round(round, feedback);
    if let Some(workspace) = workspace {
        frame.workspace = workspace.to_owned();
    }
    frame
}
