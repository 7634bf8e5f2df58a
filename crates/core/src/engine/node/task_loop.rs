//! `task_loop`: one iteration for each task of a file as it becomes ready, several at once with
//! more than one job.
//!
//! Windlass claims a task in its file before the iteration starts and settles it there afterwards.
//! With more than one job, each iteration has its own worktree, and its commits land before the
//! task counts as passing. [`round`] handles one iteration, [`kept`] the branches of tasks that do not land.

mod conflict;
mod kept;
mod round;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{FieldKind, GivenValue, NodeShape, Structure, times};
use crate::effect::Effect;
use crate::engine::frame::Frame;
use crate::engine::rehearsal::StubField;
use crate::engine::{DecisionCx, done};
use crate::event::Event;
use crate::graph::check::outline::{EvaluationTime, Text};
use crate::graph::workflow::{Expression, Node, NodeNumber, Template};
use crate::id::{EffectId, NodeId, Verb};
use crate::run::{
    Activity, Bookkeeping, EndReason, FinalStatus, Lane, News, Outcome, Round, RoundPhase, SessionSignal,
    TaskRounds, Waiting,
};
use crate::tasks::{Attempts, Claim, TaskId, TaskStatus};
use round::{RoundContext, round_frame};

/// The fields of the value that a task loop outputs.
const TASKS: [(&str, FieldKind); 4] = [
    ("iteration", FieldKind::Number),
    ("passed", FieldKind::Number),
    ("all_tasks_complete", FieldKind::Truth),
    ("max_iterations_reached", FieldKind::Truth),
];

/// A loop over the tasks of a file, as they become ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskLoopNode {
    /// The task file. `None` or an empty path means the default locations.
    pub path: Option<Template>,
    /// A condition that ends the loop, even if tasks are left.
    pub until: Option<Expression>,
    /// A filter on the ready tasks. `task` is each of them.
    pub select: Option<Expression>,
    /// The maximum number of iterations. 0 means no limit.
    pub max: u32,
    /// The number of tasks at once. With more than one, each task has its own worktree.
    pub jobs: u32,
    /// The number of attempts before a task counts as failed. Each attempt is an iteration.
    pub attempts: u32,
    /// The branch of each passing task is kept, and nothing lands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_branches: bool,
    /// The nodes that run before each task.
    pub before_each: Vec<Node>,
    /// The nodes that run for each task.
    pub body: Vec<Node>,
}

impl NodeShape for TaskLoopNode {
    fn word(&self) -> &'static str {
        "task_loop"
    }

    fn label(&self) -> String {
        let path = self.path.as_ref().map(|path| format!(" of {}", path.0)).unwrap_or_default();
        let jobs = if self.jobs > 1 { format!(", {} at once", self.jobs) } else { String::new() };
        format!("each task{path}{}{jobs}", times(self.max))
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Tasks(self)
    }

    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        vec![&mut self.before_each, &mut self.body]
    }

    fn texts(&self) -> Vec<Text> {
        let path = self.path.iter().map(|path| Text::template("task_loop.path", path));
        let round = |field, condition| Text::condition(field, condition, EvaluationTime::Round);
        path.chain(self.until.iter().map(|until| round("task_loop.until", until)))
            .chain(self.select.iter().map(|select| round("task_loop.select", select)))
            .collect()
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::Fields(&TASKS)
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Tasks]
    }
}

impl ActiveState for TaskRounds {
    fn word(&self) -> &'static str {
        "a task loop"
    }

    fn waits(&self, site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool {
        let Bookkeeping { open, deferred, .. } = site.bookkeeping;
        let mut is_busy = open.iter().any(|planned| {
            matches!(planned.effect, Effect::ClaimTask { .. }) && !deferred.contains(&planned.id)
        });
        for round in &self.open {
            is_busy |= match round.phase {
                RoundPhase::Before | RoundPhase::Working => round.lane.waits(site.bookkeeping, into),
                // They wait for another round.
                RoundPhase::Queued | RoundPhase::Conflicted => false,
                _ => true,
            };
        }
        is_busy
    }

    fn lanes(&self) -> Vec<&Lane> {
        self.open.iter().map(|round| &round.lane).collect()
    }

    fn lanes_mut(&mut self) -> Vec<&mut Lane> {
        self.open.iter_mut().map(|round| &mut round.lane).collect()
    }
}

impl NodeRun for TaskLoopNode {
    type State<'s> = &'s mut TaskRounds;

    fn state(activity: &mut Activity) -> Option<&mut TaskRounds> {
        if let Activity::Tasks(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let inside = site.inside();
        let path = match self.path.as_ref().map(|path| inside.render(cx, path)).transpose() {
            Ok(path) => path.map(|path| path.trim().to_owned()).filter(|path| !path.is_empty()),
            Err(outcome) => return NodeOpening::NotBegun(outcome),
        };
        let attempts = site.number(NodeNumber::Attempts, self.attempts);
        let mut tasks = TaskRounds::of(path, Attempts::of(attempts));
        tasks.max = site.numbers.contains_key(&NodeNumber::Max).then(|| site.number(NodeNumber::Max, 0));
        let over = self.go_on(cx, site, &mut tasks);
        NodeOpening::of(Activity::Tasks(Box::new(tasks)), over)
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        tasks: &mut TaskRounds,
        event: &Event,
    ) -> Delivered {
        match event {
            Event::TaskClaimed { claim, odd, .. } => {
                tasks.asking = false;
                for what in odd {
                    if tasks.told.insert(what.clone()) {
                        cx.decision.news.push(News::Odd { node: site.instance.clone(), what: what.clone() });
                    }
                }
                self.claimed(cx, site, tasks, claim);
                self.go_on(cx, site, tasks).into()
            }
            _ => site.unexpected(cx, event),
        }
    }

    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        tasks: &mut TaskRounds,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        let inside = site.inside();
        let is_its = |round: &Round| round.name(site.instance) == *to;
        if let Event::TaskSettled { status, why, error, .. } = event
            && let Some(place) = tasks.open.iter().position(is_its)
        {
            let round = tasks.open.remove(place);
            self.settled(cx, site, &inside, tasks, &round, *status, why.as_deref(), error.as_deref());
            return self.go_on(cx, site, tasks).into();
        }
        let rounds = RoundContext::of(self, site, &inside);
        let (mut all, open) = tasks.split();
        if let Some(round) = open.iter_mut().find(|round| is_its(round)) {
            if !rounds.about(cx, &mut all, round, event) {
                return site.unexpected(cx, event);
            }
            return self.go_on(cx, site, tasks).into();
        }
        for round in open {
            match rounds.deliver(cx, &mut all, round, to, event) {
                Delivered::NotMine => {}
                Delivered::UnderWay => return self.go_on(cx, site, tasks).into(),
                Delivered::Over(outcome) => {
                    rounds.nodes_over(cx, &mut all, round, outcome);
                    return self.go_on(cx, site, tasks).into();
                }
            }
        }
        Delivered::NotMine
    }

    /// Finishes landings in progress first. Returns the other tasks to their file once no one works
    /// on them.
    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        tasks: &mut TaskRounds,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        tasks.over = Some(outcome.clone());
        // A task that is being claimed right now is returned once its id is known. A claim that a
        // pause defers never happens.
        if !tasks.asking || cx.is_deferred(site.instance) {
            tasks.asking = false;
            cx.forget(site.instance);
        }
        let inside = site.inside();
        let rounds = RoundContext::of(self, site, &inside);
        let (all, open) = tasks.split();
        let idle: Vec<bool> = open.iter_mut().map(|round| rounds.cancel(cx, &all, round, outcome)).collect();
        for (round, _) in open.iter_mut().zip(idle).filter(|(_, is_idle)| *is_idle) {
            rounds.stop(cx, &all, round, outcome);
        }
        tasks.are_still().then(|| outcome.clone())
    }

    fn can_reopen(&self, _tasks: &mut TaskRounds, _before: Option<&Outcome>) -> bool {
        true
    }

    /// Continues the tasks that an interruption stopped, and gives the others new attempts.
    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        tasks: &mut TaskRounds,
        before: Option<&Outcome>,
    ) -> Option<Outcome> {
        tasks.max = cx.raised(tasks.max.unwrap_or(self.max), before).or(tasks.max);
        tasks.attempts.allowed =
            tasks.attempts.allowed.saturating_add(site.number(NodeNumber::Attempts, self.attempts));
        tasks.fixed.clear();
        (tasks.over, tasks.blocked) = (None, None);
        (tasks.idle, tasks.asking, tasks.stale) = (false, false, false);
        let inside = site.inside();
        let rounds = RoundContext::of(self, site, &inside);
        let (mut all, open) = tasks.split();
        for round in open.iter_mut().filter(|round| round.stopped) {
            rounds.reopen(cx, &mut all, round);
        }
        self.go_on(cx, site, tasks)
    }

    fn said(&self, site: &NodeSite<'_>, tasks: Option<&mut TaskRounds>) -> Option<String> {
        let mut open = tasks.iter().flat_map(|tasks| tasks.open.iter().rev());
        open.find_map(|round| round.lane.said.clone()).or_else(|| site.last_message.clone())
    }

    fn last_word(
        &self,
        site: &NodeSite<'_>,
        tasks: Option<&mut TaskRounds>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        let mut open = tasks.iter().flat_map(|tasks| tasks.open.iter().rev());
        open.find_map(|round| round.lane.word.clone()).or_else(|| site.word.clone())
    }

    fn output(
        &self,
        _cx: &DecisionCx<'_>,
        _site: &NodeSite<'_>,
        tasks: Option<&mut TaskRounds>,
    ) -> (String, Option<Value>) {
        let Some(tasks) = tasks else { return Default::default() };
        let reason = tasks.over.as_ref().map(|outcome| outcome.reason);
        let value = json!({
            "iteration": tasks.iterations(),
            "passed": tasks.passed,
            "all_tasks_complete": matches!(reason, Some(EndReason::AllDone)),
            "max_iterations_reached": matches!(reason, Some(EndReason::MaxIterations)),
        });
        (format!("{} of {} iterations passed", tasks.passed, tasks.iterations()), Some(value))
    }

    fn fixed(&self, tasks: &mut TaskRounds) -> Option<Outcome> {
        tasks.fixed.values().next().cloned()
    }
}

impl TaskLoopNode {
    /// Returns the number of tasks that may run at once. With more than one, each has its own worktree.
    fn at_once(&self) -> u32 {
        self.jobs.max(1)
    }

    /// Decides whether the loop has started its last iteration.
    fn is_last(&self, tasks: &TaskRounds) -> bool {
        let max = tasks.max.unwrap_or(self.max);
        max > 0 && tasks.iterations() >= max
    }

    /// Claims a task if there is room for one. Returns the outcome if nothing is left to do.
    fn go_on(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, tasks: &mut TaskRounds) -> Option<Outcome> {
        self.wake(cx, site, tasks);
        if tasks.over.is_some() {
            return tasks.over.clone().filter(|_| tasks.are_still());
        }
        let busy = u32::try_from(tasks.open.len()).unwrap_or(u32::MAX);
        let is_last = self.is_last(tasks);
        // The claim after the last iteration only checks whether any task is left. It takes none.
        let has_room = if is_last {
            tasks.open.is_empty()
        } else {
            busy < site.number(NodeNumber::Jobs, self.jobs).max(1)
        };
        if has_room && !tasks.asking && !tasks.idle {
            tasks.asking = true;
            tasks.claims += 1;
            let node = site.instance.clone();
            let id = EffectId { node, iteration: tasks.claims, attempt: 1, verb: Verb::Claim };
            let effect = Effect::ClaimTask {
                path: tasks.path.clone(),
                select: self.select.clone(),
                busy: tasks.open.iter().map(|round| round.id.clone()).collect(),
                attempts: if is_last { Attempts::of(0) } else { tasks.attempts.clone() },
            };
            cx.plan(id, effect);
        }
        None
    }

    /// Handles the result of a claim.
    fn claimed(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, tasks: &mut TaskRounds, claim: &Claim) {
        let is_stale = std::mem::take(&mut tasks.stale);
        if tasks.over.is_some() {
            // The loop is being ended, so a task claimed in the meantime is returned.
            if let Claim::Task { id, task } = claim {
                self.give_back(cx, site, tasks, id, task);
            }
            return;
        }
        match claim {
            // An error in the file or in the remaining tasks no longer matters.
            claim if self.is_last(tasks) && !is_over(claim) => {
                let rounds = match tasks.max.unwrap_or(self.max) {
                    1 => "its only iteration".to_owned(),
                    max => format!("all {max} iterations"),
                };
                let id = &site.node.id;
                let why = format!("`{id}` used {rounds}, and tasks are left; run again to continue");
                tasks.over =
                    Some(Outcome::new(FinalStatus::Exhausted, EndReason::MaxIterations).because(why));
            }
            // No task runs twice at the same time, whatever its file says.
            Claim::Task { id, .. } if tasks.open.iter().any(|round| round.id == *id) => tasks.idle = true,
            Claim::Task { id, task } => self.open(cx, site, tasks, id, task),
            // A task was settled since the claim, so the loop claims again.
            Claim::Working if is_stale => {}
            _ if !tasks.open.is_empty() => tasks.idle = true,
            claim => tasks.over = Some(ending(tasks, claim)),
        }
    }

    /// Starts the iteration of a task, in its own worktree if there are several jobs.
    fn open(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        tasks: &mut TaskRounds,
        id: &TaskId,
        task: &Value,
    ) {
        tasks.attempts.count(id);
        let mut round = tasks.next_round(id, task);
        let (number, about) = (round.round, Some(id.to_string()));
        let node = site.instance.clone();
        cx.decision.news.push(News::Round { node, round: number, task: about, item: None });
        let inside = site.inside();
        let rounds = RoundContext::of(self, site, &inside);
        let (mut all, open) = tasks.split();
        rounds.begin(cx, &mut all, &mut round);
        open.push(round);
    }

    /// Returns a task that was claimed too late.
    fn give_back(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        tasks: &mut TaskRounds,
        id: &TaskId,
        task: &Value,
    ) {
        if tasks.open.iter().any(|round| round.id == *id) {
            return;
        }
        let mut round = tasks.next_round(id, task);
        let inside = site.inside();
        let (all, open) = tasks.split();
        RoundContext::of(self, site, &inside).release(cx, &all, &mut round);
        open.push(round);
    }

    /// Ends an iteration once the result of its task is in the file.
    #[expect(clippy::too_many_arguments, reason = "one fact, and where it belongs")]
    fn settled(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        inside: &Frame<'_>,
        tasks: &mut TaskRounds,
        round: &Round,
        status: TaskStatus,
        why: Option<&str>,
        error: Option<&str>,
    ) {
        if round.lane.said.is_some() {
            site.last_message.clone_from(&round.lane.said);
        }
        if round.lane.word.is_some() {
            site.word.clone_from(&round.lane.word);
        }
        tasks.resolving.take_if(|task| *task == round.id);
        tasks.idle = false;
        tasks.stale = tasks.asking;
        let why = why.map(str::to_owned).or(round.wrong.clone());
        let told = why.clone().filter(|_| status != TaskStatus::Passing);
        let (node, task) = (site.instance.clone(), round.id.to_string());
        cx.decision.news.push(News::Task { node, task, status, why: told });
        match status {
            TaskStatus::Passing => {
                tasks.passed += 1;
                self.keep_branch(cx, tasks.path.as_ref(), round);
                tasks.wrong.remove(&round.id);
            }
            // No agent has worked on it, so the next one gets the problem of the attempt before.
            TaskStatus::Pending if round.turns == 0 => {}
            _ => drop(tasks.wrong.insert(round.id.clone(), why.unwrap_or_default())),
        }
        if let Some(error) = error {
            let (id, word) = (&round.id, status.word());
            let result = format!("task `{id}` is {word}, but that could not be written to its file");
            tasks.over = Some(unwritten(tasks.over.take(), result, error));
        }
        if let Some(until) = self.until.as_ref().filter(|_| tasks.over.is_none()) {
            let frame = round_frame(inside, round.round, "", None);
            tasks.over = match (Frame { task: Some(&round.task), ..frame }).is_true(cx, until) {
                Ok(true) => Some(done(EndReason::Until).because(format!("`{}` is true", until.0.trim()))),
                Ok(false) => None,
                Err(outcome) => Some(outcome),
            };
        }
    }
}

/// Returns the outcome of a loop that has no task in progress and found none to claim.
fn ending(tasks: &TaskRounds, claim: &Claim) -> Outcome {
    let blocked = |reason: EndReason, why: String| Outcome::new(FinalStatus::Blocked, reason).because(why);
    match claim {
        Claim::Working | Claim::Task { .. } => {
            blocked(EndReason::Deadlock, "tasks are in progress, but not in this run".to_owned())
        }
        Claim::NoneSelected { open } if tasks.rounds == 0 => {
            let open =
                if *open == 1 { "the one open task".to_owned() } else { format!("any of {open} open tasks") };
            done(EndReason::NoneSelected).because(format!("`select` did not match {open}"))
        }
        Claim::AllDone if tasks.rounds == 0 => {
            done(EndReason::AllDone).because("there were no tasks to do".to_owned())
        }
        // `select` may have matched only tasks that are done by now.
        Claim::AllDone | Claim::NoneSelected { .. } => done(EndReason::AllDone),
        Claim::Failed { ids } => {
            let failed =
                Outcome::new(FinalStatus::Failed, EndReason::TasksFailed).because(failed(tasks, ids));
            tasks.blocked.clone().unwrap_or(failed)
        }
        Claim::Deadlock(deadlock) => {
            blocked(EndReason::Deadlock, format!("{deadlock}\n  hint: {}", deadlock.way_out()))
        }
        Claim::Unproven { why } => blocked(EndReason::TasksUnproven, why.clone()),
        Claim::Unreadable { why } => blocked(EndReason::TasksUnreadable, why.clone()),
    }
}

/// Decides whether no task is left to claim.
fn is_over(claim: &Claim) -> bool {
    matches!(claim, Claim::AllDone | Claim::NoneSelected { .. })
}

/// Lists the tasks that failed for good, and the reason if they had attempts left.
fn failed(tasks: &TaskRounds, ids: &[TaskId]) -> String {
    let (fixed, tried): (Vec<_>, Vec<_>) = ids.iter().partition(|id| tasks.fixed.contains_key(id));
    let mut told = Vec::new();
    if !tried.is_empty() {
        let names: Vec<&str> = tried.iter().map(|id| id.as_str()).collect();
        let tries = if tasks.attempts.allowed == 1 { "try" } else { "tries" };
        told.push(format!("tasks failed after {} {tries}: {}", tasks.attempts.allowed, names.join(", ")));
    }
    if !fixed.is_empty() {
        let why = |id: &TaskId| tasks.fixed.get(id).and_then(|outcome| outcome.detail.clone());
        let names: Vec<String> =
            fixed.into_iter().map(|id| format!("{id} ({})", why(id).unwrap_or_default())).collect();
        told.push(format!("tasks failed, and another try cannot help: {}", names.join(", ")));
    }
    told.join("; ")
}

/// Returns the outcome of a loop that could not write down a result. It names every such result,
/// because no other place mentions them.
fn unwritten(over: Option<Outcome>, result: String, error: &str) -> Outcome {
    let why = format!("{result}: {error}");
    let Some(over) = over else {
        return Outcome::new(FinalStatus::Blocked, EndReason::TasksUnreadable).because(why);
    };
    let detail = match over.detail.as_deref().filter(|before| !before.is_empty()) {
        // The problem with the file is mentioned only once.
        Some(before) if before.contains(error) => format!("{result}\n{before}"),
        Some(before) => format!("{before}\n{why}"),
        None => why,
    };
    over.because(detail)
}
