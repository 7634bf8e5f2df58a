//! Work that conflicts with its target: its agent resolves the conflict, then the task runs alone, then
//! a person gets it.
//!
//! None of this costs an attempt. While one task resolves its conflict no other lands, so that the
//! target stays as the agent found it.

use super::TaskLoopNode;
use super::round::{RoundContext, RoundsShared};
use crate::effect::{Effect, OpenConflict};
use crate::engine::DecisionCx;
use crate::engine::node::pair::NodeSite;
use crate::event::WorktreeEnd;
use crate::id::Verb;
use crate::looping::prompt;
use crate::run::{
    ConflictStep, EndReason, FinalStatus, Lane, News, Outcome, Round, RoundPhase, TaskConflict, TaskRounds,
};

/// The number of conflicts that the agent of a task resolves.
const BY_AGENT: u32 = 3;
/// The number of characters of a commit in a message.
const SHORT: usize = 12;

impl TaskConflict {
    /// Returns the conflict, if the agent must commit something before its work lands. It need not if git
    /// merged every file.
    pub(super) fn to_resolve(&self) -> Option<OpenConflict> {
        let since = self.since.clone().filter(|_| self.is_alone() || !self.files.is_empty())?;
        Some(OpenConflict { files: self.files.clone(), since })
    }

    /// Decides whether agents have stopped to resolve the conflict, so that the task is done again.
    fn is_alone(&self) -> bool {
        self.times > BY_AGENT
    }
}

impl Round {
    /// Remembers where the work starts that is done again after a conflict.
    pub(super) fn starts_at(&mut self, commit: Option<&str>) {
        if let Some(conflict) = &mut self.conflict {
            conflict.since = commit.map(str::to_owned);
        }
    }
}

impl TaskLoopNode {
    /// Starts to resolve the next conflict once nothing lands any more. Without a conflict, lands the
    /// work that waited.
    pub(super) fn wake(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, tasks: &mut TaskRounds) {
        let is_in = |round: &Round, phase: RoundPhase| round.phase == phase && !round.stopped;
        if tasks.resolving.is_none() {
            let waiting = tasks.open.iter().filter(|round| is_in(round, RoundPhase::Conflicted));
            tasks.resolving = waiting.min_by_key(|round| round.round).map(|round| round.id.clone());
        }
        let inside = site.inside();
        let rounds = RoundContext::of(self, site, &inside);
        let Some(task) = tasks.resolving.clone() else {
            let (all, open) = tasks.split();
            for round in open.iter_mut().filter(|round| is_in(round, RoundPhase::Queued)) {
                rounds.gate(cx, &all, round);
            }
            return;
        };
        let is_next = |round: &Round| round.id == task && is_in(round, RoundPhase::Conflicted);
        let is_landing = tasks.open.iter().any(|round| is_in(round, RoundPhase::Landing));
        if is_landing || !tasks.open.iter().any(is_next) {
            return;
        }
        // A new number, so that the effects of the iteration get new ids.
        tasks.rounds += 1;
        tasks.conflict_rounds += 1;
        let number = tasks.rounds;
        let (mut all, open) = tasks.split();
        if let Some(round) = open.iter_mut().find(|round| is_next(round)) {
            round.round = number;
            rounds.resolve(cx, &mut all, round);
        }
    }
}

impl RoundContext<'_> {
    /// Handles a landing that ended in a conflict.
    pub(super) fn conflicted(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        files: &[String],
        commit: Option<&str>,
        why: &str,
    ) {
        let before = round.conflict.take().map(|before| *before).unwrap_or_default();
        let mut sessions = before.sessions;
        sessions.append(&mut round.lane.sessions.clone());
        let times = before.times + 1;
        let conflict = TaskConflict {
            times,
            files: files.to_vec(),
            commit: commit.map(str::to_owned).or(before.commit),
            is_unresolved: commit.is_none(),
            since: None,
            earlier: before.earlier,
            why: why.to_owned(),
            told: String::new(),
            sessions,
        };
        round.conflict = Some(Box::new(conflict));
        if times > BY_AGENT + 1 {
            let why = match commit {
                Some(_) => by_hand(round, why),
                None => self.not_done_again(all, round),
            };
            return self.hand_over(cx, all, round, why);
        }
        round.phase = RoundPhase::Conflicted;
        all.resolving.get_or_insert_with(|| round.id.clone());
        if let Some(outcome) = all.over.clone().filter(|_| self.is_cut) {
            self.stop(cx, all, round, &outcome);
        }
    }

    /// Leaves the task to a person. The other tasks go on.
    pub(super) fn hand_over(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        why: String,
    ) {
        all.attempts.spend(&round.id);
        let outcome = Outcome::new(FinalStatus::Blocked, EndReason::Git);
        all.blocked.get_or_insert(outcome.because(format!("task `{}`: {why}", round.id)));
        round.wrong = Some(why);
        self.settle(cx, all, round);
    }

    /// Describes a task that was done again after a conflict without a commit.
    fn not_done_again(&self, all: &RoundsShared<'_>, round: &mut Round) -> String {
        // No landing has handled the worktree, so the settlement removes it if it is empty.
        round.phase = RoundPhase::Conflicted;
        let target = all.target.as_deref().unwrap_or("the target branch");
        let conflict = round.conflict.as_deref();
        let earlier = conflict.and_then(|conflict| conflict.earlier.as_deref());
        let place = earlier.map_or_else(String::new, |branch| format!(" on branch `{branch}`"));
        // The branch itself may have the target's version of the files, so that merging it would lose the
        // work without a word.
        let commit = conflict.and_then(|conflict| conflict.commit.as_deref());
        let commit = commit.map(|commit| commit.get(..SHORT).unwrap_or(commit)).or(earlier);
        let merge = commit.map_or_else(String::new, |commit| format!("`git merge {commit}`, then "));
        format!(
            "its earlier work conflicts with `{target}`, and the agent that did the task again committed nothing, so \
             nothing landed. The earlier work is{place}. Merge it by hand: {merge}`windlass tasks set {} done`",
            round.id
        )
    }

    /// Starts the next step against a conflict.
    fn resolve(&self, cx: &mut DecisionCx<'_>, all: &mut RoundsShared<'_>, round: &mut Round) {
        let Some(conflict) = &round.conflict else { return };
        let next = match conflict.times {
            time @ ..=BY_AGENT => ConflictStep::Agent { time, of: BY_AGENT },
            _ => ConflictStep::Alone,
        };
        cx.decision.news.push(News::Conflict {
            node: self.instance.clone(),
            task: round.id.to_string(),
            target: all.target.clone(),
            files: conflict.files.clone(),
            next,
        });
        match next {
            ConflictStep::Agent { .. } => {
                round.phase = RoundPhase::Renewing;
                self.renew(cx, all, round);
            }
            ConflictStep::Alone => self.begin_alone(cx, all, round),
        }
    }

    /// Brings the worktree up to date, or goes on from there if that is done.
    pub(super) fn renew(&self, cx: &mut DecisionCx<'_>, all: &mut RoundsShared<'_>, round: &mut Round) {
        let is_renewed = round.conflict.as_ref().is_some_and(|conflict| conflict.since.is_some());
        let (false, Some(workspace), Some(branch)) = (is_renewed, &round.workspace, &round.branch) else {
            return self.redo(cx, all, round);
        };
        let effect = Effect::RenewWorktree {
            task: round.id.clone(),
            workspace: workspace.clone(),
            branch: branch.clone(),
            target: all.target.clone(),
        };
        cx.plan_once(&round.name(self.instance), Verb::Worktree, effect);
    }

    /// Handles the end of a renewal. Returns false if the event does not belong to one.
    pub(super) fn renewed(
        &self,
        cx: &mut DecisionCx<'_>,
        all: &mut RoundsShared<'_>,
        round: &mut Round,
        end: &WorktreeEnd,
    ) -> bool {
        let Some(conflict) = &mut round.conflict else { return false };
        match end {
            WorktreeEnd::Made { .. } | WorktreeEnd::Left { .. } => return false,
            WorktreeEnd::Renewed { commit, files } => {
                if !conflict.is_unresolved {
                    conflict.files.clear();
                }
                let new: Vec<String> =
                    files.iter().filter(|name| !conflict.files.contains(name)).cloned().collect();
                conflict.files.extend(new);
                conflict.since = Some(commit.clone());
            }
            // The task runs alone instead.
            WorktreeEnd::Failed { why } | WorktreeEnd::Conflict { why } => {
                conflict.times = BY_AGENT + 1;
                cx.decision.news.push(News::Odd { node: self.instance.clone(), what: why.clone() });
                round.phase = RoundPhase::Conflicted;
            }
        }
        if let Some(outcome) = all.over.clone().filter(|_| self.is_cut) {
            self.stop(cx, all, round, &outcome);
        } else if round.phase == RoundPhase::Renewing {
            self.redo(cx, all, round);
        }
        true
    }

    /// Runs the nodes of the task again in the renewed worktree. If git merged every file, the work
    /// lands at once.
    fn redo(&self, cx: &mut DecisionCx<'_>, all: &mut RoundsShared<'_>, round: &mut Round) {
        if let Some(conflict) = round.conflict.as_mut().filter(|conflict| !conflict.files.is_empty()) {
            let target = all.target.as_deref().unwrap_or("the target branch");
            let commit = conflict.commit.as_deref();
            conflict.told = prompt::conflict(target, &conflict.files, commit, conflict.is_unresolved);
            round.phase = RoundPhase::Working;
            round.lane = Lane::default();
            if let Some(outcome) = self.proceed(cx, all, round, &self.node.body) {
                self.nodes_over(cx, all, round, outcome);
            }
            return;
        }
        self.gate(cx, all, round);
    }

    /// Starts the task again in a new worktree.
    fn begin_alone(&self, cx: &mut DecisionCx<'_>, all: &mut RoundsShared<'_>, round: &mut Round) {
        let branch = round.branch.take();
        round.workspace = None;
        round.lane = Lane::default();
        round.phase = RoundPhase::Leasing;
        if let Some(conflict) = &mut round.conflict {
            let target = all.target.as_deref().unwrap_or("the target branch");
            conflict.told = prompt::conflict_alone(target, &conflict.files, branch.as_deref());
            conflict.since = None;
            conflict.earlier = branch;
            conflict.sessions.clear();
        }
        self.begin(cx, all, round);
    }
}

/// Describes a task that was done again after a conflict and conflicts again.
fn by_hand(round: &Round, why: &str) -> String {
    let branch = round.branch.as_deref().unwrap_or_default();
    format!(
        "{why}\nAgents could not resolve the conflict, and doing the task again did not help. Merge by hand: \
         `git merge {branch}`, then `windlass tasks set {} done`",
        round.id
    )
}
