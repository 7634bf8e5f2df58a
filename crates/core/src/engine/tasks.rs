//! Task loops: a round for each task as it becomes ready, several at once where there are jobs.
//!
//! A task is claimed in its file before its round begins, and settled there after it. With more
//! than one job each round has a worktree of its own, whose commits are brought back before the
//! task counts as passing.

use super::begin::done;
use super::frame::Frame;
use super::{Cx, cut as cutting, lane};
use crate::effect::Effect;
use crate::event::Event;
use crate::graph::workflow::{Act, Step};
use crate::id::{EffectId, NodeId, Verb};
use crate::looping::verdict::red;
use crate::run::{Active, Doing, Lane, News, Outcome, Reason, Round, RoundPhase, Status, TaskRounds, Word};
use crate::tasks::{Attempts, Claim, Status as TaskStatus, TaskId};
use serde_json::Value;

/// What the workflow says of a task loop.
struct Plan<'a> {
    step: &'a Step,
    before: &'a [Step],
    body: &'a [Step],
    jobs: u32,
}

impl<'a> Plan<'a> {
    fn of(step: &'a Step) -> Option<Plan<'a>> {
        let Act::TaskLoop { before_each, body, jobs, .. } = &step.act else { return None };
        Some(Plan { step, before: before_each, body, jobs: (*jobs).max(1) })
    }

    /// Its last node runs all checks, so that they need not run again.
    fn ends_with_all_checks(&self) -> bool {
        matches!(self.body.last().map(|step| &step.act), Some(Act::Check { names }) if names.is_empty())
    }
}

/// The first task is asked for.
pub(super) fn begin(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
) -> Option<Outcome> {
    let Act::TaskLoop { path, attempts, .. } = &step.act else { return None };
    let path = match path.as_ref().map(|path| inside.render(cx, path)).transpose() {
        Ok(path) => path.map(|path| path.trim().to_owned()).filter(|path| !path.is_empty()),
        Err(outcome) => return Some(outcome),
    };
    active.doing = Doing::Tasks(Box::new(TaskRounds {
        path,
        rounds: 0,
        claims: 0,
        asking: false,
        idle: false,
        stale: false,
        attempts: Attempts::of(*attempts),
        wrong: Default::default(),
        target: None,
        open: Vec::new(),
        passed: 0,
        told: Default::default(),
        fixed: Default::default(),
        blocked: None,
        over: None,
    }));
    go_on(cx, step, active)
}

/// Asks for a task where there is room for one; how the loop ended, when nothing is left.
fn go_on(cx: &mut Cx<'_>, step: &Step, active: &mut Active) -> Option<Outcome> {
    let (Some(plan), Act::TaskLoop { select, max, .. }) = (Plan::of(step), &step.act) else { return None };
    let Doing::Tasks(tasks) = &mut active.doing else { return None };
    if tasks.over.is_some() {
        return tasks.over.clone().filter(|_| tasks.open.is_empty() && !tasks.asking);
    }
    let busy = u32::try_from(tasks.open.len()).unwrap_or(u32::MAX);
    let is_last = *max > 0 && tasks.rounds >= *max;
    // After the last round somebody looks whether any task is left, and takes none.
    let has_room = if is_last { tasks.open.is_empty() } else { busy < plan.jobs };
    if has_room && !tasks.asking && !tasks.idle {
        tasks.asking = true;
        tasks.claims += 1;
        let id = EffectId {
            node: active.instance.clone(),
            iteration: tasks.claims,
            attempt: 1,
            verb: Verb::Claim,
        };
        let effect = Effect::ClaimTask {
            path: tasks.path.clone(),
            select: select.clone(),
            busy: tasks.open.iter().map(|round| round.id.clone()).collect(),
            attempts: if is_last { Attempts::of(0) } else { tasks.attempts.clone() },
        };
        cx.plan(id, effect);
    }
    None
}

/// What is about the loop itself: a task was chosen, or why none was.
pub(super) fn apply(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    frame: &Frame<'_>,
    event: &Event,
) -> Option<Outcome> {
    let (Event::TaskClaimed { claim, odd, .. }, Act::TaskLoop { max, .. }) = (event, &step.act) else {
        return None;
    };
    let plan = Plan::of(step)?;
    let inside = frame.inside(step, active.tries, active.deadline);
    let Doing::Tasks(tasks) = &mut active.doing else { return None };
    tasks.asking = false;
    for what in odd {
        if tasks.told.insert(what.clone()) {
            cx.step.news.push(News::Odd { node: active.instance.clone(), what: what.clone() });
        }
    }
    let is_stale = std::mem::take(&mut tasks.stale);
    if tasks.over.is_some() {
        // It is being ended: a task that was taken meanwhile goes back.
        if let Claim::Task { id, task } = claim {
            give_back(cx, active, id, task);
        }
        return go_on(cx, step, active);
    }
    match claim {
        // What was wrong with the file, or with what is left, is no matter any more.
        claim if *max > 0 && tasks.rounds >= *max && !is_over(claim) => {
            let rounds = if *max == 1 { "one round".to_owned() } else { format!("{max} rounds") };
            let why = format!("`{}` has had its {rounds}, and tasks are left: run again to go on", step.id);
            tasks.over = Some(Outcome::new(Status::Exhausted, Reason::MaxIterations).because(why));
        }
        // No task is done twice at once, whatever its file says.
        Claim::Task { id, .. } if tasks.open.iter().any(|round| round.id == *id) => tasks.idle = true,
        Claim::Task { id, task } => {
            tasks.attempts.count(id);
            open(tasks, id, task);
            let (round, about) = (tasks.rounds, Some(id.to_string()));
            cx.step.news.push(News::Round { node: active.instance.clone(), round, task: about });
            begin_round(cx, &plan, active, &inside);
        }
        // A task was settled since somebody looked: it is looked again.
        Claim::Working if is_stale => {}
        Claim::Working if !tasks.open.is_empty() => tasks.idle = true,
        Claim::Working => {
            let why = "tasks are in progress, and not in this run".to_owned();
            tasks.over = Some(Outcome::new(Status::Blocked, Reason::Deadlock).because(why));
        }
        _ if !tasks.open.is_empty() => tasks.idle = true,
        Claim::NoneSelected { open } if tasks.rounds == 0 => {
            let open =
                if *open == 1 { "the one open task".to_owned() } else { format!("any of {open} open tasks") };
            tasks.over = Some(done(Reason::NoneSelected).because(format!("`select` did not match {open}")));
        }
        Claim::AllDone if tasks.rounds == 0 => {
            tasks.over = Some(done(Reason::AllDone).because("no task was there to be done".to_owned()));
        }
        // A task of the last rounds may have been what `select` matched.
        Claim::AllDone | Claim::NoneSelected { .. } => tasks.over = Some(done(Reason::AllDone)),
        Claim::Failed { ids } => {
            let failed = Outcome::new(Status::Failed, Reason::TasksFailed).because(failed(tasks, ids));
            tasks.over = Some(tasks.blocked.clone().unwrap_or(failed));
        }
        Claim::Deadlock(deadlock) => {
            let why = format!("{deadlock}\n  hint: {}", deadlock.way_out());
            tasks.over = Some(Outcome::new(Status::Blocked, Reason::Deadlock).because(why));
        }
        Claim::Unproven { why } => {
            tasks.over = Some(Outcome::new(Status::Blocked, Reason::TasksUnproven).because(why.clone()));
        }
        Claim::Unreadable { why } => {
            tasks.over = Some(Outcome::new(Status::Blocked, Reason::TasksUnreadable).because(why.clone()));
        }
    }
    go_on(cx, step, active)
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

/// A round for a task.
fn open(tasks: &mut TaskRounds, id: &TaskId, task: &Value) {
    tasks.rounds += 1;
    tasks.open.push(Round {
        round: tasks.rounds,
        id: id.clone(),
        task: task.clone(),
        workspace: None,
        branch: None,
        phase: RoundPhase::Leasing,
        lane: Lane::default(),
        wrong: None,
    });
}

/// A task that was taken too late is put back.
fn give_back(cx: &mut Cx<'_>, active: &mut Active, id: &TaskId, task: &Value) {
    let Doing::Tasks(tasks) = &mut active.doing else { return };
    if tasks.open.iter().any(|round| round.id == *id) {
        return;
    }
    open(tasks, id, task);
    let last = tasks.open.len().saturating_sub(1);
    release(cx, active, last);
}

/// The round that was just opened begins: in a worktree of its own where there are several.
fn begin_round(cx: &mut Cx<'_>, plan: &Plan<'_>, active: &mut Active, inside: &Frame<'_>) {
    let Doing::Tasks(tasks) = &mut active.doing else { return };
    let Some(place) = tasks.open.len().checked_sub(1) else { return };
    let Some(round) = tasks.open.get(place) else { return };
    if plan.jobs > 1 {
        let attempt = tasks.attempts.made.get(&round.id).copied().unwrap_or(1);
        let effect = Effect::MakeWorktree { task: round.id.clone(), attempt, target: tasks.target.clone() };
        cx.plan_once(&round_name(active, place), Verb::Worktree, effect);
        return;
    }
    start(cx, plan, active, inside, place);
}

/// The name under which the effects of a round stand.
fn round_name(active: &Active, place: usize) -> NodeId {
    let Doing::Tasks(tasks) = &active.doing else { return active.instance.clone() };
    let round = tasks.open.get(place).map_or(0, |round| round.round);
    NodeId::new(format!("{}@{round}", active.instance))
}

/// The nodes of a round begin, those before the task first.
fn start(cx: &mut Cx<'_>, plan: &Plan<'_>, active: &mut Active, inside: &Frame<'_>, place: usize) {
    let Doing::Tasks(tasks) = &mut active.doing else { return };
    let Some(round) = tasks.open.get_mut(place) else { return };
    round.phase = RoundPhase::Before;
    let feedback = tasks.wrong.get(&round.id).cloned().unwrap_or_default();
    let frame = round_frame(inside, round.round, &feedback, round.workspace.as_deref());
    let frame = Frame { task: Some(&round.task), ..frame };
    let over = lane::proceed(cx, plan.before, &mut round.lane, &frame);
    if let Some(outcome) = over {
        nodes_over(cx, plan, active, inside, place, outcome);
    }
}

fn round_frame<'a>(inside: &Frame<'a>, round: u32, feedback: &str, workspace: Option<&str>) -> Frame<'a> {
    let mut frame = inside.in_round(round, feedback);
    if let Some(workspace) = workspace {
        frame.workspace = workspace.to_owned();
    }
    frame
}

/// The nodes of a round, or those before them, are over.
fn nodes_over(
    cx: &mut Cx<'_>,
    plan: &Plan<'_>,
    active: &mut Active,
    inside: &Frame<'_>,
    place: usize,
    outcome: Outcome,
) {
    let mut outcome = outcome;
    loop {
        let Doing::Tasks(tasks) = &mut active.doing else { return };
        let Some(round) = tasks.open.get_mut(place) else { return };
        if round.lane.cut.is_some() {
            return release(cx, active, place);
        }
        if outcome.status != Status::Completed {
            let detail = outcome.detail.clone().unwrap_or_else(|| outcome.reason.word().to_owned());
            let wrong = std::mem::take(&mut round.lane.wrong);
            round.wrong = Some(if wrong.is_empty() { detail } else { wrong });
            if outcome.status == Status::Blocked {
                tasks.attempts.spend(&round.id);
                tasks.blocked.get_or_insert(outcome);
            } else if outcome.fixed().is_some() {
                tasks.attempts.spend(&round.id);
                tasks.fixed.insert(round.id.clone(), outcome);
            } else if cx.has_run_dry(&outcome) {
                tasks.over.get_or_insert(outcome);
            }
            return settle(cx, active, place);
        }
        if round.phase == RoundPhase::Before {
            round.phase = RoundPhase::Working;
            round.lane = Lane::default();
            let feedback = tasks.wrong.get(&round.id).cloned().unwrap_or_default();
            let frame = round_frame(inside, round.round, &feedback, round.workspace.as_deref());
            let frame = Frame { task: Some(&round.task), ..frame };
            match lane::proceed(cx, plan.body, &mut round.lane, &frame) {
                Some(next) => outcome = next,
                None => return,
            }
            continue;
        }
        if let Some(Word::Broken { broken, .. }) = &round.lane.word {
            round.wrong = Some(match round.lane.wrong.as_str() {
                "" => broken.clone(),
                wrong => wrong.to_owned(),
            });
            return settle(cx, active, place);
        }
        return gate(cx, plan, active, inside, place);
    }
}

/// What was done must be green: here, or where it is brought back to.
fn gate(cx: &mut Cx<'_>, plan: &Plan<'_>, active: &mut Active, inside: &Frame<'_>, place: usize) {
    let name = round_name(active, place);
    let Doing::Tasks(tasks) = &mut active.doing else { return };
    let Some(round) = tasks.open.get_mut(place) else { return };
    if let (Some(workspace), Some(branch)) = (&round.workspace, &round.branch) {
        round.phase = RoundPhase::Landing;
        let effect = Effect::Land {
            workspace: workspace.clone(),
            branch: branch.clone(),
            target: tasks.target.clone(),
            path: tasks.path.clone(),
            task: round.id.clone(),
            said: round.lane.word.as_ref().map(|word| word.text().to_owned()),
        };
        cx.plan_once(&name, Verb::Land, effect);
        return;
    }
    if cx.spec.checks.is_empty() || plan.ends_with_all_checks() {
        return settle(cx, active, place);
    }
    round.phase = RoundPhase::Checking;
    let effect = Effect::RunChecks { names: Vec::new(), workspace: inside.workspace.clone() };
    cx.plan_once(&name, Verb::Checks, effect);
}

/// The file is told how the task went.
fn settle(cx: &mut Cx<'_>, active: &mut Active, place: usize) {
    let name = round_name(active, place);
    let Doing::Tasks(tasks) = &mut active.doing else { return };
    let Some(round) = tasks.open.get_mut(place) else { return };
    // The next try begins elsewhere. A landing has looked after the worktree itself.
    let branch = round.branch.clone().filter(|_| round.phase != RoundPhase::Landing);
    round.phase = RoundPhase::Settling;
    let effect = Effect::SettleTask {
        path: tasks.path.clone(),
        task: round.id.clone(),
        ok: round.wrong.is_none(),
        said: round.lane.word.as_ref().map(|word| word.text().to_owned()),
        why: round.wrong.clone(),
        branch,
    };
    cx.plan_once(&name, Verb::Settle, effect);
}

/// The file is told that nobody is at the task any more.
fn release(cx: &mut Cx<'_>, active: &mut Active, place: usize) {
    let name = round_name(active, place);
    let Doing::Tasks(tasks) = &mut active.doing else { return };
    let Some(round) = tasks.open.get_mut(place) else { return };
    round.phase = RoundPhase::Settling;
    let effect = Effect::ReleaseTask {
        path: tasks.path.clone(),
        task: round.id.clone(),
        // A landing has looked after the worktree itself.
        branch: round.branch.clone().filter(|_| round.wrong.is_none()),
        why: round.wrong.clone(),
    };
    cx.plan_once(&name, Verb::Settle, effect);
}

/// Tells the round it is about what happened; nothing when it is none of these.
pub(super) fn deliver(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
    to: &NodeId,
    event: &Event,
) -> Option<Option<Outcome>> {
    let plan = Plan::of(step)?;
    let Doing::Tasks(tasks) = &active.doing else { return None };
    let own = (0..tasks.open.len()).find(|place| round_name(active, *place) == *to);
    if let Some(place) = own {
        about_round(cx, &plan, active, inside, place, event);
        return Some(go_on(cx, step, active));
    }
    let Doing::Tasks(tasks) = &mut active.doing else { return None };
    let mut found = None;
    for (place, round) in tasks.open.iter_mut().enumerate() {
        let body = match round.phase {
            RoundPhase::Before => plan.before,
            RoundPhase::Working => plan.body,
            _ => continue,
        };
        let feedback = tasks.wrong.get(&round.id).cloned().unwrap_or_default();
        let frame = round_frame(inside, round.round, &feedback, round.workspace.as_deref());
        let frame = Frame { task: Some(&round.task), ..frame };
        if let Some(over) = lane::deliver(cx, body, &mut round.lane, &frame, to, event) {
            found = Some((place, over));
            break;
        }
    }
    let (place, over) = found?;
    if let Some(outcome) = over {
        nodes_over(cx, &plan, active, inside, place, outcome);
    }
    Some(go_on(cx, step, active))
}

/// A round's own effects have an outcome.
fn about_round(
    cx: &mut Cx<'_>,
    plan: &Plan<'_>,
    active: &mut Active,
    inside: &Frame<'_>,
    place: usize,
    event: &Event,
) {
    let Doing::Tasks(tasks) = &mut active.doing else { return };
    let is_ending = tasks.over.is_some() && active.cut.is_some();
    let Some(round) = tasks.open.get_mut(place) else { return };
    match event {
        Event::WorktreeMade { workspace, branch, target, .. } => match workspace {
            workspace if is_ending => {
                round.branch = workspace.is_some().then(|| branch.clone());
                release(cx, active, place);
            }
            Some(workspace) => {
                tasks.target = tasks.target.take().or_else(|| target.clone());
                round.workspace = Some(workspace.clone());
                round.branch = Some(branch.clone());
                start(cx, plan, active, inside, place);
            }
            None => {
                round.wrong = Some(branch.clone());
                // It would be no other for the next task, nor for the next try.
                let outcome = Outcome::new(Status::Blocked, Reason::Git).because(branch.clone());
                tasks.over.get_or_insert(outcome);
                release(cx, active, place);
            }
        },
        Event::ChecksFinished { results, .. } => {
            round.wrong = red(results).map(|told| format!("checks are red:\n{told}"));
            settle(cx, active, place);
        }
        Event::Landed { landed: true, .. } => settle(cx, active, place),
        Event::Landed { hindered: true, what, .. } => {
            round.wrong = Some(what.clone());
            // The next task would be paid for as well, and come no further.
            let outcome = Outcome::new(Status::Blocked, Reason::Git).because(what.clone());
            tasks.over.get_or_insert(outcome);
            release(cx, active, place);
        }
        Event::Landed { what, .. } => {
            round.wrong = Some(what.clone());
            settle(cx, active, place);
        }
        Event::CleanedUp { .. } => release(cx, active, place),
        Event::TaskSettled { status, why, error, .. } => {
            settled(cx, plan, active, inside, place, *status, why.as_deref(), error.as_deref());
        }
        _ => {}
    }
}

/// It stands in the file how a task went: the round is over.
#[expect(clippy::too_many_arguments, reason = "one fact, and where it belongs")]
fn settled(
    cx: &mut Cx<'_>,
    plan: &Plan<'_>,
    active: &mut Active,
    inside: &Frame<'_>,
    place: usize,
    status: TaskStatus,
    why: Option<&str>,
    error: Option<&str>,
) {
    let node = active.instance.clone();
    let Doing::Tasks(tasks) = &mut active.doing else { return };
    if tasks.open.len() <= place {
        return;
    }
    let round = tasks.open.remove(place);
    if round.lane.said.is_some() {
        active.said.clone_from(&round.lane.said);
    }
    if round.lane.word.is_some() {
        active.word.clone_from(&round.lane.word);
    }
    tasks.idle = false;
    tasks.stale = tasks.asking;
    let why = why.map(str::to_owned).or(round.wrong.clone());
    let task = round.id.to_string();
    cx.step.news.push(News::Task {
        node,
        task,
        status,
        why: why.clone().filter(|_| status != TaskStatus::Passing),
    });
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
    let Act::TaskLoop { until: Some(until), .. } = &plan.step.act else { return };
    if tasks.over.is_some() {
        return;
    }
    let frame = round_frame(inside, round.round, "", None);
    match (Frame { task: Some(&round.task), ..frame }).holds(cx, until) {
        Ok(true) => {
            tasks.over = Some(done(Reason::Until).because(format!("`{}` holds", until.0.trim())));
        }
        Ok(false) => {}
        Err(outcome) => tasks.over = Some(outcome),
    }
}

/// How the loop ends where a result could not be written down: every one of them is named, since
/// only there it is said.
fn unwritten(over: Option<Outcome>, result: String, error: &str) -> Outcome {
    let why = format!("{result}: {error}");
    let Some(over) = over else {
        return Outcome::new(Status::Blocked, Reason::TasksUnreadable).because(why);
    };
    let detail = match over.detail.as_deref().filter(|before| !before.is_empty()) {
        // What is wrong with the file is said once.
        Some(before) if before.contains(error) => format!("{result}\n{before}"),
        Some(before) => format!("{before}\n{why}"),
        None => why,
    };
    over.because(detail)
}

/// Ends a task loop. What is being brought back is finished first; the other tasks are put back in
/// their file, once nobody is at them any more.
pub(super) fn cut(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
    outcome: &Outcome,
) -> Option<Outcome> {
    let plan = Plan::of(step)?;
    let instance = active.instance.clone();
    let Doing::Tasks(tasks) = &mut active.doing else { return None };
    tasks.over = Some(outcome.clone());
    // A task that is being taken right now is put back when it is known which; one that a pause
    // holds back is never taken.
    if !tasks.asking || cx.is_held(&instance) {
        tasks.asking = false;
        cx.forget(&instance);
    }
    let mut idle = Vec::new();
    for (place, round) in tasks.open.iter_mut().enumerate() {
        let name = NodeId::new(format!("{instance}@{}", round.round));
        let feedback = tasks.wrong.get(&round.id).cloned().unwrap_or_default();
        let frame = round_frame(inside, round.round, &feedback, round.workspace.as_deref());
        let frame = Frame { task: Some(&round.task), ..frame };
        let is_idle = match round.phase {
            RoundPhase::Before => cutting::lane(cx, plan.before, &mut round.lane, &frame, outcome).is_some(),
            RoundPhase::Working => cutting::lane(cx, plan.body, &mut round.lane, &frame, outcome).is_some(),
            RoundPhase::Checking => {
                cx.forget(&name);
                cx.plan_once(&name, Verb::CleanUp, Effect::CleanUp { iteration: 0 });
                false
            }
            RoundPhase::Leasing | RoundPhase::Landing => {
                let is_held = cx.is_held(&name);
                if is_held {
                    cx.forget(&name);
                }
                is_held
            }
            RoundPhase::Settling => false,
        };
        if is_idle {
            idle.push(place);
        }
    }
    for place in idle {
        release(cx, active, place);
    }
    let Doing::Tasks(tasks) = &active.doing else { return None };
    (tasks.open.is_empty() && !tasks.asking).then(|| outcome.clone())
}
