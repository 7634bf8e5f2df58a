//! `task_loop`: a round for each task of a file as it becomes ready, several at once where there are jobs.
//!
//! A task is claimed in its file before its round begins, and settled there after it. With more
//! than one job each round has a worktree of its own, whose commits are brought back before the
//! task counts as passing. One round is [`round`]'s.

mod round;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{FieldKind, GivenValue, NodeShape, Structure, times};
use crate::effect::Effect;
use crate::engine::frame::Frame;
use crate::engine::{DecisionCx, done};
use crate::event::Event;
use crate::graph::check::outline::{EvaluationTime, Text};
use crate::graph::workflow::{Expression, Node, Template};
use crate::id::{EffectId, NodeId, Verb};
use crate::run::{Activity, EndReason, FinalStatus, News, Outcome, Round, SessionSignal, TaskRounds};
use crate::tasks::{Attempts, Claim, TaskId, TaskStatus};
use round::{RoundContext, round_frame};

/// What there is in the value of a task loop.
const TASKS: [(&str, FieldKind); 4] = [
    ("iteration", FieldKind::Number),
    ("passed", FieldKind::Number),
    ("all_tasks_complete", FieldKind::Truth),
    ("max_iterations_reached", FieldKind::Truth),
];

/// Once for each task of a file, as the tasks become ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskLoopNode {
    /// The file; the usual places where nothing is said, or it says nothing.
    pub path: Option<Template>,
    /// The loop is over when it holds, whatever tasks are left.
    pub until: Option<Expression>,
    /// Which of the ready tasks may be taken; `task` is each of them.
    pub select: Option<Expression>,
    /// Rounds at most; 0 is without bound.
    pub max: u32,
    /// How many tasks at once, each in a worktree of its own where there are several.
    pub jobs: u32,
    /// How often a task is tried before it counts as failed; each try is a round.
    pub attempts: u32,
    /// Done before each task.
    pub before_each: Vec<Node>,
    /// Done for each task.
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
        let mut tasks = TaskRounds::of(path, Attempts::of(self.attempts));
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

    /// What is being brought back is finished first; the other tasks are put back in their file, once
    /// nobody is at them any more.
    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        tasks: &mut TaskRounds,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        tasks.over = Some(outcome.clone());
        // A task that is being taken right now is put back when it is known which; one that a pause
        // holds back is never taken.
        if !tasks.asking || cx.is_deferred(site.instance) {
            tasks.asking = false;
            cx.forget(site.instance);
        }
        let inside = site.inside();
        let rounds = RoundContext::of(self, site, &inside);
        let (all, open) = tasks.split();
        let idle: Vec<bool> = open.iter_mut().map(|round| rounds.cancel(cx, &all, round, outcome)).collect();
        for (round, _) in open.iter_mut().zip(idle).filter(|(_, is_idle)| *is_idle) {
            rounds.release(cx, &all, round);
        }
        (tasks.open.is_empty() && !tasks.asking).then(|| outcome.clone())
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
            "iteration": tasks.rounds,
            "passed": tasks.passed,
            "all_tasks_complete": matches!(reason, Some(EndReason::AllDone)),
            "max_iterations_reached": matches!(reason, Some(EndReason::MaxIterations)),
        });
        (format!("{} of {} rounds passed", tasks.passed, tasks.rounds), Some(value))
    }

    fn fixed(&self, tasks: &mut TaskRounds) -> Option<Outcome> {
        tasks.fixed.values().next().cloned()
    }
}

impl TaskLoopNode {
    /// How many tasks at once.
    fn at_once(&self) -> u32 {
        self.jobs.max(1)
    }

    /// Whether the loop has begun its last round.
    fn is_last(&self, tasks: &TaskRounds) -> bool {
        self.max > 0 && tasks.rounds >= self.max
    }

    /// Asks for a task where there is room for one; how the loop ended, when nothing is left.
    fn go_on(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, tasks: &mut TaskRounds) -> Option<Outcome> {
        if tasks.over.is_some() {
            return tasks.over.clone().filter(|_| tasks.open.is_empty() && !tasks.asking);
        }
        let busy = u32::try_from(tasks.open.len()).unwrap_or(u32::MAX);
        let is_last = self.is_last(tasks);
        // After the last round somebody looks whether any task is left, and takes none.
        let has_room = if is_last { tasks.open.is_empty() } else { busy < self.at_once() };
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

    /// A task was chosen, or why none was.
    fn claimed(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, tasks: &mut TaskRounds, claim: &Claim) {
        let is_stale = std::mem::take(&mut tasks.stale);
        if tasks.over.is_some() {
            // It is being ended: a task that was taken meanwhile goes back.
            if let Claim::Task { id, task } = claim {
                self.give_back(cx, site, tasks, id, task);
            }
            return;
        }
        match claim {
            // What was wrong with the file, or with what is left, is no matter any more.
            claim if self.is_last(tasks) && !is_over(claim) => {
                let rounds =
                    if self.max == 1 { "one round".to_owned() } else { format!("{} rounds", self.max) };
                let id = &site.node.id;
                let why = format!("`{id}` has had its {rounds}, and tasks are left: run again to go on");
                tasks.over =
                    Some(Outcome::new(FinalStatus::Exhausted, EndReason::MaxIterations).because(why));
            }
            // No task is done twice at once, whatever its file says.
            Claim::Task { id, .. } if tasks.open.iter().any(|round| round.id == *id) => tasks.idle = true,
            Claim::Task { id, task } => self.open(cx, site, tasks, id, task),
            // A task was settled since somebody looked: it is looked again.
            Claim::Working if is_stale => {}
            _ if !tasks.open.is_empty() => tasks.idle = true,
            claim => tasks.over = Some(ending(tasks, claim)),
        }
    }

    /// A round begins for a task: in a worktree of its own where there are several.
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
        cx.decision.news.push(News::Round { node: site.instance.clone(), round: number, task: about });
        let inside = site.inside();
        let rounds = RoundContext::of(self, site, &inside);
        let (mut all, open) = tasks.split();
        rounds.begin(cx, &mut all, &mut round);
        open.push(round);
    }

    /// A task that was taken too late is put back.
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

    /// Ends a round once the result of its task is in the file.
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
        tasks.idle = false;
        tasks.stale = tasks.asking;
        let why = why.map(str::to_owned).or(round.wrong.clone());
        let told = why.clone().filter(|_| status != TaskStatus::Passing);
        let (node, task) = (site.instance.clone(), round.id.to_string());
        cx.decision.news.push(News::Task { node, task, status, why: told });
        match status {
            TaskStatus::Passing => {
                tasks.passed += 1;
                tasks.wrong.remove(&round.id);
            }
            _ => drop(tasks.wrong.insert(round.id.clone(), why.unwrap_or_default())),
        }
        if let Some(error) = error {
            let (id, word) = (&round.id, status.word());
            let result = format!("task `{id}` is {word}, which could not be written down");
            tasks.over = Some(unwritten(tasks.over.take(), result, error));
        }
        if let Some(until) = self.until.as_ref().filter(|_| tasks.over.is_none()) {
            let frame = round_frame(inside, round.round, "", None);
            tasks.over = match (Frame { task: Some(&round.task), ..frame }).is_true(cx, until) {
                Ok(true) => Some(done(EndReason::Until).because(format!("`{}` holds", until.0.trim()))),
                Ok(false) => None,
                Err(outcome) => Some(outcome),
            };
        }
    }
}

/// How the loop ends when no task is under way and none was taken.
fn ending(tasks: &TaskRounds, claim: &Claim) -> Outcome {
    let blocked = |reason: EndReason, why: String| Outcome::new(FinalStatus::Blocked, reason).because(why);
    match claim {
        Claim::Working | Claim::Task { .. } => {
            blocked(EndReason::Deadlock, "tasks are in progress, and not in this run".to_owned())
        }
        Claim::NoneSelected { open } if tasks.rounds == 0 => {
            let open =
                if *open == 1 { "the one open task".to_owned() } else { format!("any of {open} open tasks") };
            done(EndReason::NoneSelected).because(format!("`select` did not match {open}"))
        }
        Claim::AllDone if tasks.rounds == 0 => {
            done(EndReason::AllDone).because("no task was there to be done".to_owned())
        }
        // A task of the last rounds may have been what `select` matched.
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

/// Whether no task is left that may be taken.
fn is_over(claim: &Claim) -> bool {
    matches!(claim, Claim::AllDone | Claim::NoneSelected { .. })
}

/// Which tasks have failed for good, and why they were not tried again where tries were left.
fn failed(tasks: &TaskRounds, ids: &[TaskId]) -> String {
    let (fixed, tried): (Vec<_>, Vec<_>) = ids.iter().partition(|id| tasks.fixed.contains_key(id));
    let mut told = Vec::new();
    if !tried.is_empty() {
        let names: Vec<&str> = tried.iter().map(|id| id.as_str()).collect();
        let tries = if tasks.attempts.allowed == 1 { "try" } else { "tries" };
        told.push(format!("failed after {} {tries}: {}", tasks.attempts.allowed, names.join(", ")));
    }
    if !fixed.is_empty() {
        let why = |id: &TaskId| tasks.fixed.get(id).and_then(|outcome| outcome.detail.clone());
        let names: Vec<String> =
            fixed.into_iter().map(|id| format!("{id} ({})", why(id).unwrap_or_default())).collect();
        told.push(format!("failed, and no other try can help: {}", names.join(", ")));
    }
    told.join("; ")
}

/// How the loop ends where a result could not be written down: every one of them is named, since
/// only there it is said.
fn unwritten(over: Option<Outcome>, result: String, error: &str) -> Outcome {
    let why = format!("{result}: {error}");
    let Some(over) = over else {
        return Outcome::new(FinalStatus::Blocked, EndReason::TasksUnreadable).because(why);
    };
    let detail = match over.detail.as_deref().filter(|before| !before.is_empty()) {
        // What is wrong with the file is said once.
        Some(before) if before.contains(error) => format!("{result}\n{before}"),
        Some(before) => format!("{before}\n{why}"),
        None => why,
    };
    over.because(detail)
}
