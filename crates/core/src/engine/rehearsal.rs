//! Rehearses a run without agents: stubs answer every node with success, so that people see what a
//! run would do, and in which order.
//!
//! The engine is the real one. A loop ends after one iteration, and both branches of an `if` are walked
//! ([`ways`]).

mod ways;

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{Decision, apply, given_by, start};
use crate::effect::{Effect, Planned};
use crate::entity::EntityKind;
use crate::event::{
    EntityTexts, Event, LandingEnd, PersonReply, PrepareEnd, RunEnd, SessionEnd, SessionVerdict, ShellEnd,
    WorktreeEnd,
};
use crate::graph::schema;
use crate::graph::walk::{depth_of, find, ids_in};
use crate::graph::workflow::{NodeKind, ShellNode};
use crate::hook::{HookAnswer, HookCall, HookKind};
use crate::id::{EffectId, HookId, InboxId, NodeId, RunId, Verb};
use crate::looping::LoopMode;
use crate::looping::completion::asked_for;
use crate::looping::verdict::{CheckResult, Inspection, TrackerInspection};
use crate::registry::expand;
use crate::run::{
    Activity, EndReason, FinalStatus, Lifecycle, ListenState, News, Outcome, RunState, SessionPhase,
};
use crate::spec::Spec;
use crate::tasks::{Claim, TaskId, TaskStatus};
use crate::time::Moment;
use crate::usage::Usage;

/// The number of events after which an endless rehearsal stops.
const MOST_EVENTS: usize = 20_000;
/// The maximum length of a shown text, in characters.
const SHOWN: usize = 300;
/// The number of branches after which no further one is walked.
const MOST_BRANCHES: u32 = 64;

/// The result of a rehearsal.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsal {
    /// The actions that the run would take, in order.
    pub acts: Vec<RehearsedEffect>,
    pub outcome: Outcome,
    /// The number of turns started.
    pub turns: u32,
}

/// One action that the run would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RehearsedEffect {
    /// The node instance.
    pub node: NodeId,
    /// The number of blocks around the node.
    pub depth: usize,
    /// `begins`, `skipped`, `round`, `asks`, `runs`, `told`, `loops`, `otherwise`, ...
    pub what: &'static str,
    pub text: String,
}

/// The tasks that a task loop finds.
#[derive(Clone)]
struct StubTasks {
    ready: Vec<Value>,
    /// The result of a claim after the last task.
    left: Claim,
}

/// A rehearsal of one workflow, before its steps lose their owners.
struct Walk {
    /// Each step with the node of this workflow that takes it. A run that the node starts takes steps, too.
    acts: Vec<(NodeId, RehearsedEffect)>,
    outcome: Outcome,
    state: RunState,
}

/// Plays a run with stubs. A task loop finds each of `tasks` once, and then `left`.
pub fn rehearse(spec: &Spec, tasks: &[Value], left: &Claim) -> Rehearsal {
    let mut tasks = StubTasks { ready: tasks.to_vec(), left: left.clone() };
    if tasks.ready.is_empty() {
        tasks.ready.push(invented_task());
    }
    let mut branches = MOST_BRANCHES;
    let Walk { acts, outcome, state } = walk(spec, &tasks, &mut branches);
    let acts = acts.into_iter().map(|(_, act)| act).collect();
    Rehearsal { acts, outcome, turns: state.spent.turns }
}

/// Returns a task with all fields that templates may name.
fn invented_task() -> Value {
    json!({
        "id": "1", "name": "a task from the file", "description": "its description", "status": "pending",
        "priority": null, "dependencies": [], "metadata": {},
    })
}

/// Walks through a run, and then into the branches that the run does not take.
fn walk(spec: &Spec, tasks: &StubTasks, branches: &mut u32) -> Walk {
    let mut walk = play(spec, tasks, branches);
    let others = ways::not_taken(&spec.body, &walk.acts);
    add_branches(spec, tasks, branches, &mut walk.acts, others);
    walk
}

/// Adds the steps of branches that were not taken, each below its `if` node.
fn add_branches(
    spec: &Spec,
    tasks: &StubTasks,
    branches: &mut u32,
    acts: &mut Vec<(NodeId, RehearsedEffect)>,
    others: Vec<ways::OtherBranch>,
) {
    for other in others {
        let Some(left) = branches.checked_sub(1) else { return };
        *branches = left;
        let mut chosen = spec.clone();
        ways::choose(&mut chosen, &other);
        let is_its = |owner: &NodeId| other.ids.contains(&owner.in_workflow());
        let mut steps = play(&chosen, tasks, branches).acts;
        steps.retain(|(owner, _)| is_its(owner));
        let inner = ways::not_taken(&spec.body, &steps);
        add_branches(&chosen, tasks, branches, &mut steps, inner);
        let text = format!("otherwise, if the condition is {}:", other.condition);
        let depth = depth_of(&spec.body, &other.node).unwrap_or(0);
        let heading = RehearsedEffect { node: other.node.clone(), depth, what: "otherwise", text };
        let below = crate::graph::walk::find(&spec.body, &other.node).map(std::slice::from_ref);
        let below = ids_in(below.unwrap_or_default());
        let last = acts.iter().rposition(|(owner, _)| below.contains(&owner.in_workflow()));
        let place = last.map_or(acts.len(), |last| last + 1);
        acts.splice(place..place, std::iter::once((other.node.clone(), heading)).chain(steps));
    }
}

/// Plays a run with stubs, on the way that its conditions choose.
fn play(spec: &Spec, tasks: &StubTasks, branches: &mut u32) -> Walk {
    let mut played = spec.clone();
    // The rehearsal shows every question and answers it, as if a person were there.
    played.policy.on_question = crate::spec::OnQuestion::Wait;
    // The text of a stub is not a number, so inputs of other workflows have no kind here.
    played.others.values_mut().for_each(|other| other.kinds.clear());
    ways::go_round_once(&mut played);
    let (state, node) = start(RunId::new("rehearsal"), played, Moment(0));
    let mut stage = RehearsalStage {
        state,
        spec,
        acts: Vec::new(),
        queue: VecDeque::new(),
        tasks: tasks.clone(),
        failed: Vec::new(),
        mistake: None,
        branches,
        at: 0,
    };
    stage.take(node);
    for _ in 0..MOST_EVENTS {
        if stage.state.is_done() {
            break;
        }
        let Some(event) = stage.queue.pop_front().or_else(|| stage.somebody()) else { break };
        stage.at += 1;
        let node = apply(&mut stage.state, Moment(stage.at), &event);
        stage.take(node);
    }
    let unfinished =
        || Outcome::new(FinalStatus::Blocked, EndReason::Stuck).because("the rehearsal does not end");
    let outcome = match &stage.state.lifecycle {
        Lifecycle::Done { outcome } => outcome.clone(),
        Lifecycle::Running | Lifecycle::Ending { .. } | Lifecycle::Finally { .. } => unfinished(),
    };
    // A template that cannot be rendered is a mistake, even if the workflow continues after it.
    let outcome = match stage.mistake.take() {
        Some(mistake) if outcome.status == FinalStatus::Completed => mistake,
        _ => outcome,
    };
    Walk { acts: stage.acts, outcome, state: stage.state }
}

struct RehearsalStage<'a> {
    state: RunState,
    /// The spec as a real run has it, with the conditions of its loops.
    spec: &'a Spec,
    acts: Vec<(NodeId, RehearsedEffect)>,
    queue: VecDeque<Event>,
    tasks: StubTasks,
    /// The tasks that failed.
    failed: Vec<TaskId>,
    /// The first template that could not be rendered.
    mistake: Option<Outcome>,
    /// The number of branches that may still be walked.
    branches: &'a mut u32,
    at: i64,
}

impl RehearsalStage<'_> {
    fn take(&mut self, step: Decision) {
        for news in &step.news {
            self.show(news);
        }
        for planned in step.effects {
            self.perform(planned);
        }
    }

    fn record(&mut self, node: &NodeId, what: &'static str, text: String) {
        let depth = depth_of(&self.state.spec.body, &node.in_workflow()).unwrap_or(0);
        let place = self.place(node, depth, what);
        let act = RehearsedEffect { node: node.clone(), depth, what, text: shorten(&text) };
        self.acts.insert(place, (node.clone(), act));
    }

    /// Returns the position of an action. An action of a node follows the earlier actions of the
    /// same node, even if another node started in between.
    fn place(&self, node: &NodeId, depth: usize, what: &str) -> usize {
        let end = self.acts.len();
        if matches!(what, "begins" | "skipped" | "round" | "lands" | "ends" | "loops") {
            return end;
        }
        // A child run may have nodes with the same ids, but they are nested deeper.
        let is_its = |act: &RehearsedEffect| act.node == *node && act.depth == depth;
        self.acts.iter().rposition(|(_, act)| is_its(act)).map_or(end, |place| place + 1)
    }

    fn show(&mut self, news: &News) {
        match news {
            News::NodeStarted { node, kind, about } => {
                self.record(node, "begins", about.clone().unwrap_or_else(|| kind.clone()));
            }
            News::NodeSkipped { node, why } => self.record(node, "skipped", why.clone()),
            News::Round { node, round, task } => {
                let task = task.as_ref().map(|task| format!(", task {task}")).unwrap_or_default();
                self.record(node, "round", format!("iteration {round}{task}"));
            }
            News::NodeFinished { node, outcome, .. } if outcome.status == FinalStatus::Completed => {
                if let Some(end) = ways::end_of_loop(self.spec, &node.in_workflow()) {
                    self.record(node, "loops", end);
                }
            }
            News::NodeFinished { node, outcome, .. } => {
                if outcome.reason == EndReason::Template {
                    self.mistake.get_or_insert_with(|| outcome.clone());
                }
                let detail = outcome.detail.clone().unwrap_or_else(|| outcome.reason.word().to_owned());
                self.record(node, "ends", format!("{}: {detail}", outcome.status.word()));
            }
            _ => {}
        }
    }

    fn perform(&mut self, planned: Planned) {
        let Planned { id, effect } = planned;
        let node = id.node.clone();
        match effect {
            Effect::Prepare { args } => {
                let texts = args.map(|args| EntityTexts {
                    prompt: self.entity_says(&node, &args),
                    system: None,
                    odd: Vec::new(),
                });
                self.queue.push_back(Event::Prepared {
                    effect: id,
                    end: PrepareEnd::Ready { texts, fingerprint: String::new() },
                    base: None,
                    odd: Vec::new(),
                });
            }
            Effect::StartSession(plan) => {
                self.record(&node, "told", plan.prompt.clone());
                let value = plan.schema.as_ref().map(schema::example);
                self.session(id, value, &plan.prompt);
            }
            Effect::Inspect { .. } => {
                let has_tracker = self
                    .state
                    .work(&node)
                    .and_then(|work| work.node.rules())
                    .is_some_and(|rules| rules.tracker_path.is_some() || rules.signal.is_some());
                let tracker = match has_tracker {
                    true => TrackerInspection::Read { complete: true, blocked: None },
                    false => TrackerInspection::None,
                };
                let sight =
                    Inspection { tracker, promised: true, signalled: true, fingerprint: self.at.to_string() };
                self.queue.push_back(Event::Inspected { effect: id, sight });
            }
            Effect::RunChecks { names, .. } => self.checks(id, &names),
            Effect::RunShell(plan) => {
                self.record(&node, "runs", plan.command);
                let end = ShellEnd::exited(true, "exit code 0", self.printed(&node));
                self.queue.push_back(Event::ShellEnded { effect: id, end });
            }
            Effect::StartRun { spec, .. } => self.run(id, &spec),
            Effect::ClaimTask { .. } => self.claim(id),
            Effect::SettleTask { task, ok, why, .. } => {
                if !ok {
                    self.failed.push(task);
                }
                let status = if ok { TaskStatus::Passing } else { TaskStatus::Failing };
                self.queue.push_back(Event::TaskSettled { effect: id, status, why, error: None });
            }
            Effect::ReleaseTask { .. } => {
                let status = TaskStatus::Pending;
                self.queue.push_back(Event::TaskSettled { effect: id, status, why: None, error: None });
            }
            Effect::MakeWorktree { task, .. } => {
                let workspace = format!("{}-task-{task}", self.state.spec.workspace);
                let end =
                    WorktreeEnd::Made { workspace, branch: "a branch".into(), target: None, commit: None };
                self.queue.push_back(Event::WorktreeMade { effect: id, end });
            }
            Effect::LeaveWorktree { .. } => {
                let end = WorktreeEnd::Left { kept: true };
                self.queue.push_back(Event::WorktreeMade { effect: id, end });
            }
            Effect::RenewWorktree { .. } => {
                let end = WorktreeEnd::Renewed { commit: String::new(), files: Vec::new() };
                self.queue.push_back(Event::WorktreeMade { effect: id, end });
            }
            Effect::Land { .. } => {
                self.record(&node, "lands", "the commits of the task, once the checks pass there".into());
                let end = LandingEnd::Landed { what: String::new(), is_empty: false };
                self.queue.push_back(Event::Landed { effect: id, end });
            }
            // A rehearsal never runs out of time.
            Effect::WaitUntil { .. } if id.verb == Verb::Timeout => {}
            Effect::WaitUntil { .. } => self.queue.push_back(Event::WaitOver { effect: id }),
            Effect::CleanUp { .. } => self.queue.push_back(Event::CleanedUp { effect: id }),
            Effect::AnswerHook { answer: HookAnswer::Pass, .. } => self.stopped(&node),
            Effect::AnswerHook { .. } | Effect::KillChildren | Effect::MarkTracker { .. } => {}
        }
    }

    /// Returns the standard output of a command: JSON if its node has a schema.
    fn printed(&self, node: &NodeId) -> String {
        let node = find(&self.state.spec.body, &node.in_workflow());
        match node.map(|node| &node.kind) {
            Some(NodeKind::Shell(ShellNode { schema: Some(schema), .. })) => {
                schema::example(schema).to_string()
            }
            _ => String::new(),
        }
    }

    fn entity_says(&self, node: &NodeId, args: &str) -> String {
        let session_settings = self.state.work(node).and_then(|work| self.state.session_settings(work));
        match session_settings.and_then(|session_settings| session_settings.entity.as_ref()) {
            Some(entity) if entity.kind != EntityKind::Agent => expand(entity, args).text(),
            Some(_) | None => args.to_owned(),
        }
    }

    /// Plays an agent that finishes its work at once, and says so as its prompt asks for.
    fn session(&mut self, id: EffectId, value: Option<Value>, prompt: &str) {
        let rules = self.state.work(&id.node).and_then(|work| work.node.rules());
        if rules.is_some_and(|rules| rules.mode == LoopMode::InSession) {
            let call = HookCall {
                id: HookId::new(format!("{id}/stop/{}", self.at)),
                from: Some(id),
                kind: HookKind::Stop { last_message: None, background: false },
                unanswered: Vec::new(),
                real: None,
            };
            return self.queue.push_back(Event::HookAsked { call });
        }
        let mut said = vec!["(the agent's answer)".to_owned()];
        said.extend(asked_for(prompt).lines);
        let end = SessionEnd {
            verdict: SessionVerdict::Completed,
            last_message: Some(said.join("\n")),
            usage: Usage::default(),
            tool_calls: 0,
            spoke: true,
            offset: 0,
            value,
            unanswered: Vec::new(),
        };
        self.queue.push_back(Event::SessionEnded { effect: id, end });
    }

    /// Ends the turn of an agent that is allowed to stop.
    fn stopped(&mut self, node: &NodeId) {
        let Some(work) = self.state.work(node) else { return };
        let (SessionPhase::Closing { .. }, Some(turn)) = (&work.phase, &work.turn) else { return };
        let effect = turn.effect.clone();
        let end = SessionEnd {
            verdict: SessionVerdict::Completed,
            last_message: None,
            usage: Usage::default(),
            tool_calls: 0,
            spoke: true,
            offset: 0,
            value: None,
            unanswered: Vec::new(),
        };
        self.queue.push_front(Event::SessionEnded { effect, end });
    }

    fn checks(&mut self, id: EffectId, names: &[String]) {
        let checks = self.state.spec.checks.clone();
        let named = checks.iter().filter(|check| names.is_empty() || names.contains(&check.name));
        let results: Vec<CheckResult> = named
            .map(|check| CheckResult { name: check.name.clone(), passed: true, ..CheckResult::default() })
            .collect();
        let list: Vec<&str> = results.iter().map(|check| check.name.as_str()).collect();
        self.record(&id.node.clone(), "checks", list.join(", "));
        self.queue.push_back(Event::ChecksFinished { effect: id, results });
    }

    fn run(&mut self, id: EffectId, spec: &Spec) {
        self.record(&id.node.clone(), "starts", format!("a run of `{}`", spec.workflow));
        // The planned spec has the inputs, and the one before the run the conditions of the loops.
        let own = self.spec.others.get(&spec.workflow).map_or(&spec.body, |other| &other.body);
        let spec = Spec { body: own.clone(), others: self.spec.others.clone(), ..spec.clone() };
        let Walk { acts, outcome, state } = walk(&spec, &self.tasks, self.branches);
        let is_its = |act: &RehearsedEffect| act.node == id.node && act.what == "starts";
        let last = self.acts.iter().rposition(|(_, act)| is_its(act));
        let place = last.map_or(self.acts.len(), |place| place + 1);
        let above = place.checked_sub(1).and_then(|at| self.acts.get(at));
        let depth = above.map_or(0, |(_, act)| act.depth + 1);
        let owned = |(_, act): (NodeId, RehearsedEffect)| {
            (id.node.clone(), RehearsedEffect { depth: act.depth + depth, ..act })
        };
        self.acts.splice(place..place, acts.into_iter().map(owned));
        let spent = crate::run::Spent { turns: state.spent.turns, usage: Usage::default() };
        let end = RunEnd { outcome, spent, text: "(its agent's answer)".into(), value: given_by(&state).1 };
        self.queue.push_back(Event::RunEnded { effect: id, end: Box::new(end) });
    }

    fn claim(&mut self, id: EffectId) {
        let claim = loop {
            if self.tasks.ready.is_empty() && !self.failed.is_empty() {
                break Claim::Failed { ids: std::mem::take(&mut self.failed) };
            }
            if self.tasks.ready.is_empty() {
                break self.tasks.left.clone();
            }
            let task = self.tasks.ready.remove(0);
            let name = task.get("id").and_then(Value::as_str).and_then(|id| id.parse::<TaskId>().ok());
            if let Some(id) = name {
                break Claim::Task { id, task };
            }
        };
        self.queue.push_back(Event::TaskClaimed { effect: id, claim, odd: Vec::new() });
    }

    /// Answers a question or sends an awaited event, because nothing else is in progress.
    fn somebody(&mut self) -> Option<Event> {
        let inbox = InboxId::new(format!("stub/{}", self.at));
        if let Some(ask) = self.state.bookkeeping.asks.first().cloned() {
            let question = ask.questions.first().cloned().unwrap_or_default();
            let first = question.options.into_iter().next();
            let answer = first.map_or_else(|| "yes".to_owned(), |option| option.label);
            self.record(&ask.node, "asks", format!("{} (stub answer: {answer})", question.text));
            let reply = PersonReply::Answers { answers: vec![(String::new(), answer)] };
            return Some(Event::PersonAnswered { inbox, hook: Some(ask.hook), reply, origin: None });
        }
        let mut actives = Vec::new();
        self.state.root.actives(&mut actives);
        let waited_for = actives.iter().find_map(|active| match &active.activity {
            Activity::Listen(ListenState { name }) => Some((active.instance.clone(), name.clone())),
            _ => None,
        });
        let (node, name) = waited_for?;
        self.record(&node, "waits", format!("for the event `{name}`"));
        Some(Event::EventReceived { inbox, name, text: String::new() })
    }
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::drawn;
    use super::*;
    use crate::graph::builder::{Builder, shell};

    #[test]
    fn what_branches_do_stands_below_the_node_that_does_it() {
        let both = Builder::new("w").start(shell("x").id("first")).parallel(|lanes| {
            let lanes = lanes.branch("one", |one| one.then(shell("echo 1").id("a")));
            lanes.branch("two", |two| two.then(shell("echo 2").id("b")))
        });
        let acts = rehearse(&drawn(both.id("both")), &[], &Claim::AllDone).acts;
        let acts: Vec<(&str, &str)> = acts.iter().skip(2).map(|act| (act.node.as_str(), act.what)).collect();
        assert_eq!(
            acts,
            [("both", "begins"), ("a", "begins"), ("a", "runs"), ("b", "begins"), ("b", "runs")]
        );
    }
}
