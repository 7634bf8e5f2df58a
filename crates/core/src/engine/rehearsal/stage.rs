//! Plays one run: answers every effect of the engine with a stub, until the run ends.
//!
//! A new effect needs one arm in [`Stage::perform`].

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::stub::{StubBook, whole_task};
use super::ways::{NodeOf, Steering};
use super::{
    RehearsalOptions, RehearsedEffect, RehearsedLoops, Stub, Walk, WaysWalked, invented, stand_in, walk, ways,
};
use crate::effect::{Effect, Planned};
use crate::engine::{Decision, apply, given_by, start_with};
use crate::entity::EntityKind;
use crate::event::{
    EntityTexts, Event, LandingEnd, PersonReply, PrepareEnd, RunEnd, SessionEnd, SessionFailure,
    SessionVerdict, ShellEnd, WorktreeEnd,
};
use crate::graph::schema;
use crate::graph::walk::{depth_of, find};
use crate::graph::workflow::{Node, NodeKind, ShellNode};
use crate::hook::{HookAnswer, HookCall, HookKind};
use crate::id::{EffectId, HookId, InboxId, NodeId, RunId, Verb};
use crate::looping::LoopMode;
use crate::looping::completion::asked_for;
use crate::looping::verdict::{CheckResult, Inspection, TrackerInspection};
use crate::registry::expand;
use crate::run::{
    Activity, EndReason, FinalStatus, Lifecycle, ListenState, News, Outcome, ResultOrigin, RunState,
    SessionPhase, Spent,
};
use crate::spec::{Check, OnQuestion, Spec};
use crate::tasks::{Claim, TaskId, TaskStatus};
use crate::time::Moment;
use crate::usage::Usage;

/// The number of events after which an endless rehearsal stops.
const MOST_EVENTS: usize = 20_000;
/// The maximum length of a shown text, in characters.
const SHOWN: usize = 300;
/// The check that a `check` node with a stub has, if the project has none.
const STUB_CHECK: &str = "stub";
/// The line with which an agent reports that its task is not done.
const NOT_DONE: &str = "<status>failing</status>";

/// The tasks that a task loop finds.
#[derive(Clone)]
pub(super) struct StubTasks {
    ready: Vec<Value>,
    /// The result of a claim after the last task.
    left: Claim,
}

impl StubTasks {
    pub(super) fn of(options: &RehearsalOptions) -> StubTasks {
        let mut ready = options.tasks.clone();
        if options.ways == WaysWalked::All {
            // A file whose tasks are all done must not hide the nodes for a task.
            ready.retain(Value::is_object);
        }
        if ready.is_empty() {
            ready.push(whole_task(Value::Null));
        }
        StubTasks { ready, left: options.left.clone() }
    }
}

/// The things that all runs of a rehearsal share.
pub(super) struct Props<'a> {
    pub(super) options: &'a RehearsalOptions,
    steering: &'a Steering,
    book: StubBook<'a>,
    /// The number of branches that may still be walked.
    pub(super) branches: u32,
    /// The number of events that may still happen.
    events: usize,
}

impl Props<'_> {
    pub(super) fn new<'a>(options: &'a RehearsalOptions, steering: &'a Steering, branches: u32) -> Props<'a> {
        Props { options, steering, book: StubBook::of(&options.stubs), branches, events: MOST_EVENTS }
    }
}

/// Plays a run with stubs, on the way that its conditions choose.
pub(super) fn play(
    spec: &Spec,
    tasks: &StubTasks,
    props: &mut Props<'_>,
    calls: &str,
    callers: &str,
) -> Walk {
    let played = prepared(spec, props, callers);
    let only = played.only_session().map(|(node, _)| node.clone());
    let results = match props.options.loops {
        RehearsedLoops::Once => ResultOrigin::Invented,
        RehearsedLoops::AsWritten => ResultOrigin::Chosen,
    };
    let (state, decision) = start_with(RunId::new("rehearsal"), played, Moment(0), results);
    let mut stage = Stage {
        state,
        spec,
        acts: Vec::new(),
        queue: VecDeque::new(),
        tasks: tasks.clone(),
        own_tasks: BTreeMap::new(),
        failed: Vec::new(),
        mistake: None,
        props,
        calls,
        callers,
        at: 0,
    };
    only.iter().for_each(|node| stage.show_only(node, decision.effects.is_empty()));
    stage.take(decision);
    while !stage.state.is_done() && stage.props.events > 0 {
        let Some(event) = stage.queue.pop_front().or_else(|| stage.somebody()) else { break };
        stage.props.events -= 1;
        stage.at += 1;
        let decision = apply(&mut stage.state, Moment(stage.at), &event);
        stage.take(decision);
    }
    stage.end()
}

/// Returns the spec as the rehearsal plays it.
fn prepared(spec: &Spec, props: &Props<'_>, callers: &str) -> Spec {
    // The ids of runs within the run follow from the seed, and people see them: the same each time.
    let mut played = Spec { seed: "rehearsal".to_owned(), ..spec.clone() };
    // The rehearsal shows every question and answers it, as if a person were there.
    played.policy.on_question = OnQuestion::Wait;
    if props.options.loops == RehearsedLoops::Once {
        ways::go_round_once(&mut played.body);
    }
    stand_in::replace(&mut played);
    props.steering.steer(&mut played);
    if played.checks.is_empty() && has_failing_check(&played.body, props, callers) {
        played.checks.push(Check { name: STUB_CHECK.to_owned(), command: String::new() });
    }
    played
}

/// Decides whether a `check` node fails by its stub.
fn has_failing_check(body: &[Node], props: &Props<'_>, callers: &str) -> bool {
    body.iter().any(|node| {
        let fails = || props.book.fails(&format!("{callers}{}", node.id));
        matches!(node.kind, NodeKind::Check(_)) && fails()
            || node.kind.blocks().iter().any(|block| has_failing_check(block.body, props, callers))
    })
}

struct Stage<'a, 'p> {
    state: RunState,
    /// The spec as a real run has it, with the conditions of its loops.
    spec: &'a Spec,
    acts: Vec<(NodeId, RehearsedEffect)>,
    queue: VecDeque<Event>,
    tasks: StubTasks,
    /// The tasks that stubs give to a task loop.
    own_tasks: BTreeMap<NodeId, VecDeque<Value>>,
    /// The tasks that failed.
    failed: Vec<TaskId>,
    /// The first template that could not be rendered, here or in a run that this one starts.
    mistake: Option<Outcome>,
    props: &'a mut Props<'p>,
    /// The instances that call this workflow, as the start of a path.
    calls: &'a str,
    /// The nodes that call this workflow, as the start of a path.
    callers: &'a str,
    at: i64,
}

impl Stage<'_, '_> {
    /// Returns the acts and the outcome once nothing is left to do.
    fn end(self) -> Walk {
        let outcome = match &self.state.lifecycle {
            Lifecycle::Done { outcome } => outcome.clone(),
            Lifecycle::Running | Lifecycle::Ending { .. } | Lifecycle::Finally { .. } => {
                Outcome::new(FinalStatus::Blocked, EndReason::Stuck).because("the rehearsal does not end")
            }
        };
        Walk { acts: self.acts, outcome, mistake: self.mistake, state: self.state }
    }

    fn take(&mut self, decision: Decision) {
        for news in &decision.news {
            self.show(news);
        }
        for planned in decision.effects {
            self.perform(planned);
        }
    }

    /// Returns the result that people, or the chosen way, give for a node.
    fn stub(&mut self, instance: &NodeId) -> Option<Stub> {
        let node = instance.in_workflow();
        let of = NodeOf { workflow: self.spec.workflow.clone(), node: node.clone() };
        if self.props.steering.fails.contains(&of) {
            return Some(Stub::failing());
        }
        self.props.book.result(&format!("{}{node}", self.callers), &format!("{}{instance}", self.calls))
    }

    fn record(&mut self, node: &NodeId, what: &'static str, text: String) {
        let depth = depth_of(&self.state.spec.body, &node.in_workflow()).unwrap_or(0);
        let place = self.place(node, depth, what);
        let act = RehearsedEffect {
            node: node.clone(),
            path: format!("{}{node}", self.calls),
            workflow: self.spec.workflow.clone(),
            depth,
            what,
            text: shorten(&text),
        };
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

    /// Shows the start of the only session of a run, of which the engine sends no news.
    fn show_only(&mut self, node: &Node, does_nothing: bool) {
        let condition = node.when.as_ref().filter(|_| does_nothing);
        match condition {
            Some(_) => self.record(&node.id, "skipped", self.why_skipped(&node.id, String::new())),
            None => {
                let about = node.kind.shape().about().unwrap_or_else(|| node.kind.word().to_owned());
                self.record(&node.id, "begins", about);
            }
        }
    }

    /// Returns why a node is skipped, by its own condition and not by the one that the rehearsal set.
    fn why_skipped(&self, node: &NodeId, why: String) -> String {
        let condition = |body: &[Node]| find(body, &node.in_workflow()).and_then(|node| node.when.clone());
        let (own, played) = (condition(&self.spec.body), condition(&self.state.spec.body));
        match own {
            Some(own) if Some(&own) != played.as_ref() => format!("`{}` is taken as false", own.0.trim()),
            None if played.is_some() => "it is left out here".to_owned(),
            Some(own) if why.is_empty() => format!("`{}` is false", own.0.trim()),
            Some(_) | None => why,
        }
    }

    fn show(&mut self, news: &News) {
        match news {
            News::NodeStarted { node, kind, about } => {
                let own = find(&self.spec.body, &node.in_workflow()).map(|node| node.kind.word().to_owned());
                let kind = own.unwrap_or_else(|| kind.clone());
                self.record(node, "begins", about.clone().unwrap_or(kind));
            }
            News::NodeSkipped { node, why } => {
                self.record(node, "skipped", self.why_skipped(node, why.clone()));
            }
            News::Round { node, item: Some(item), .. } => {
                self.record(node, "round", format!("item {} of {}: {}", item.place, item.of, item.label));
            }
            News::Round { node, round, task, item: None } => {
                let task = task.as_ref().map(|task| format!(", task {task}")).unwrap_or_default();
                self.record(node, "round", format!("iteration {round}{task}"));
            }
            News::Retrying { node, attempt, of, .. } => {
                let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
                self.record(node, "retries", format!("attempt {attempt}{of} follows"));
            }
            News::NodeFinished { node, outcome, .. } if outcome.status == FinalStatus::Completed => {
                let is_once = self.props.options.loops == RehearsedLoops::Once;
                let end = ways::end_of_loop(self.spec, &node.in_workflow()).filter(|_| is_once);
                end.into_iter().for_each(|end| self.record(node, "loops", end));
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

    /// Returns the output of a command without a stub: JSON if its node has a schema.
    fn printed_example(&self, id: &NodeId) -> String {
        let node = find(&self.state.spec.body, &id.in_workflow());
        let schema = node.and_then(|node| match &node.kind {
            NodeKind::Shell(ShellNode { schema, .. }) => schema.as_ref(),
            _ => None,
        });
        match schema {
            Some(schema) => schema::example(schema).to_string(),
            None => invented::text(&self.spec.body, id, ""),
        }
    }

    fn perform(&mut self, planned: Planned) {
        let Planned { id, effect } = planned;
        let node = id.node.clone();
        match effect {
            Effect::Prepare { args, .. } => {
                let texts = args.map(|args| EntityTexts {
                    prompt: self.entity_says(&node, &args),
                    system: None,
                    odd: Vec::new(),
                });
                self.queue.push_back(Event::Prepared {
                    effect: id,
                    end: PrepareEnd::Ready { texts, fingerprint: String::new(), work: None },
                    base: None,
                    odd: Vec::new(),
                });
            }
            Effect::StartSession(plan) => {
                self.record(&node, "told", plan.prompt.clone());
                let example = plan.schema.as_ref().map(schema::example);
                self.session(id, example, &plan.prompt);
            }
            Effect::Inspect { .. } => self.inspect(id),
            Effect::RunChecks { names, .. } => self.checks(id, &names),
            Effect::RunShell(plan) => {
                self.record(&node, "runs", plan.command);
                let end = shell_end(&self.stub(&node).unwrap_or_default(), self.printed_example(&node));
                self.queue.push_back(Event::ShellEnded { effect: id, end });
            }
            Effect::StartRun { spec, .. } => self.run(id, &spec),
            Effect::ClaimTask { .. } => self.claim(id),
            Effect::SettleTask { task, ok, said, why, .. } => {
                let is_denied = said.is_some_and(|said| said.lines().any(|line| line.trim() == NOT_DONE));
                let is_done = ok && !is_denied;
                if !is_done {
                    self.failed.push(task);
                }
                let status = if is_done { TaskStatus::Passing } else { TaskStatus::Failing };
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

    fn entity_says(&self, node: &NodeId, args: &str) -> String {
        let session_settings = self.state.work(node).and_then(|work| self.state.session_settings(work));
        match session_settings.and_then(|session_settings| session_settings.entity.as_ref()) {
            Some(entity) if entity.kind != EntityKind::Agent => expand(entity, args).text(),
            Some(_) | None => args.to_owned(),
        }
    }

    /// Plays an agent that finishes its work at once. Without a stub it says so as its prompt asks for.
    fn session(&mut self, id: EffectId, example: Option<Value>, prompt: &str) {
        let stub = self.stub(&id.node).unwrap_or_default();
        let rules = self.state.work(&id.node).and_then(|work| work.node.rules());
        if rules.is_some_and(|rules| rules.mode == LoopMode::InSession) && !stub.is_failure() {
            let call = HookCall {
                id: HookId::new(format!("{id}/stop/{}", self.at)),
                from: Some(id),
                kind: HookKind::Stop { last_message: stub.text, background: false },
                unanswered: Vec::new(),
                real: None,
            };
            return self.queue.push_back(Event::HookAsked { call });
        }
        let asked = || {
            let mut said = vec![invented::text(&self.spec.body, &id.node, invented::AGENT_TEXT)];
            said.extend(asked_for(prompt).lines);
            said.join("\n")
        };
        let end = SessionEnd {
            last_message: Some(stub.text.clone().unwrap_or_else(asked)),
            value: stub.value.clone().or(example),
            ..session_end(&stub)
        };
        self.queue.push_back(Event::SessionEnded { effect: id, end });
    }

    /// Ends the turn of an agent that is allowed to stop.
    fn stopped(&mut self, node: &NodeId) {
        let Some(work) = self.state.work(node) else { return };
        let (SessionPhase::Closing { .. }, Some(turn)) = (&work.phase, &work.turn) else { return };
        let effect = turn.effect.clone();
        let stub = self.stub(node).unwrap_or_default();
        let end = SessionEnd { last_message: stub.text.clone(), ..session_end(&stub) };
        self.queue.push_front(Event::SessionEnded { effect, end });
    }

    /// Finds everything in the workspace that ends a loop of turns.
    fn inspect(&mut self, id: EffectId) {
        let has_tracker = self
            .state
            .work(&id.node)
            .and_then(|work| work.node.rules())
            .is_some_and(|rules| rules.tracker_path.is_some() || rules.signal.is_some());
        let tracker = match has_tracker {
            true => TrackerInspection::Read { complete: true, blocked: None },
            false => TrackerInspection::None,
        };
        let sight = Inspection { tracker, promised: true, signalled: true, fingerprint: self.at.to_string() };
        self.queue.push_back(Event::Inspected { effect: id, sight });
    }

    fn checks(&mut self, id: EffectId, names: &[String]) {
        let is_node = |node: &Node| matches!(node.kind, NodeKind::Check(_));
        let is_check = find(&self.spec.body, &id.node.in_workflow()).is_some_and(is_node);
        // After a turn of an agent, the checks pass: the stub is about the agent.
        let stub = self.stub(&id.node).filter(|_| is_check).unwrap_or_default();
        let by_name = |name: &str| stub.value.as_ref()?.get(name)?.as_bool();
        let result = |check: &Check| {
            let passed = by_name(&check.name).unwrap_or(!stub.is_failure());
            let output = stub.text.clone().filter(|_| !passed).unwrap_or_default();
            let how = if passed { "" } else { "exit code 1" };
            CheckResult {
                name: check.name.clone(),
                passed,
                how: how.into(),
                output,
                ..CheckResult::default()
            }
        };
        let checks = &self.state.spec.checks;
        let named = checks.iter().filter(|check| names.is_empty() || names.contains(&check.name));
        let results: Vec<CheckResult> = named.map(result).collect();
        let list: Vec<&str> = results.iter().map(|check| check.name.as_str()).collect();
        self.record(&id.node.clone(), "checks", list.join(", "));
        self.queue.push_back(Event::ChecksFinished { effect: id, results });
    }

    /// Plays a run within the run, or takes its result from a stub.
    fn run(&mut self, id: EffectId, spec: &Spec) {
        let end = match (self.stub(&id.node), stand_in::is_one(spec)) {
            (Some(stub), is_stand_in) => {
                self.show_stub(&id.node, spec, is_stand_in);
                let example = is_stand_in.then(|| self.stand_in_value(&id.node)).flatten();
                run_end(&stub, example)
            }
            (None, true) => {
                self.show_stub(&id.node, spec, true);
                run_end(&Stub::default(), self.stand_in_value(&id.node))
            }
            (None, false) => self.nested(&id.node, spec),
        };
        self.queue.push_back(Event::RunEnded { effect: id, end: Box::new(end) });
    }

    fn show_stub(&mut self, node: &NodeId, spec: &Spec, is_stand_in: bool) {
        if !is_stand_in {
            return self.record(node, "starts", format!("a run of `{}` (stub result)", spec.workflow));
        }
        let text = |(name, value): (&String, &Value)| {
            format!("{name}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        let texts: Vec<String> = spec.inputs.iter().map(text).collect();
        let what = if texts.is_empty() { "runs cannot do this yet".to_owned() } else { texts.join(", ") };
        self.record(node, "stub", what);
    }

    fn stand_in_value(&self, node: &NodeId) -> Option<Value> {
        find(&self.spec.body, &node.in_workflow())?.kind.shape().stand_in().value
    }

    fn nested(&mut self, node: &NodeId, spec: &Spec) -> RunEnd {
        self.record(node, "starts", format!("a run of `{}`", spec.workflow));
        // The planned spec has the inputs, and the one before the run the conditions of the loops.
        let own = self.spec.others.get(&spec.workflow).map_or(&spec.body, |other| &other.body);
        let spec = Spec { body: own.clone(), others: self.spec.others.clone(), ..spec.clone() };
        let (calls, callers) =
            (format!("{}{node}/", self.calls), format!("{}{}/", self.callers, node.in_workflow()));
        let Walk { acts, outcome, mistake, state } = walk(&spec, &self.tasks, self.props, &calls, &callers);
        self.mistake = self.mistake.take().or(mistake);
        let is_its = |act: &RehearsedEffect| act.node == *node && act.what == "starts";
        let last = self.acts.iter().rposition(|(_, act)| is_its(act));
        let place = last.map_or(self.acts.len(), |place| place + 1);
        let above = place.checked_sub(1).and_then(|at| self.acts.get(at));
        let depth = above.map_or(0, |(_, act)| act.depth + 1);
        let owned = |(_, act): (NodeId, RehearsedEffect)| {
            (node.clone(), RehearsedEffect { depth: act.depth + depth, ..act })
        };
        self.acts.splice(place..place, acts.into_iter().map(owned));
        let spent = Spent { turns: state.spent.turns, ..Spent::default() };
        let (said, value) = given_by(&state);
        let text = if said.is_empty() { invented::RUN_TEXT.to_owned() } else { said };
        RunEnd { outcome, spent, text, value }
    }

    fn claim(&mut self, id: EffectId) {
        let given = self.stub(&id.node).and_then(|stub| stub.tasks);
        if let Some(tasks) = given {
            let tasks = tasks.into_iter().map(whole_task).collect();
            self.own_tasks.entry(id.node.clone()).or_insert(tasks);
        }
        let own = self.own_tasks.get_mut(&id.node);
        let has_own = own.is_some();
        let mut ready: VecDeque<Value> = own.map(std::mem::take).unwrap_or_default();
        if !has_own {
            ready = std::mem::take(&mut self.tasks.ready).into();
        }
        let found = loop {
            let Some(task) = ready.pop_front() else { break None };
            let id = task.get("id").and_then(task_id);
            if let Some(id) = id {
                break Some(Claim::Task { id, task });
            }
        };
        let nothing = if has_own { Claim::AllDone } else { self.tasks.left.clone() };
        let claim = found.unwrap_or_else(|| match self.failed.is_empty() {
            true => nothing,
            false => Claim::Failed { ids: std::mem::take(&mut self.failed) },
        });
        match has_own {
            true => drop(self.own_tasks.insert(id.node.clone(), ready)),
            false => self.tasks.ready = ready.into(),
        }
        self.queue.push_back(Event::TaskClaimed { effect: id, claim, odd: Vec::new() });
    }

    /// Answers a question or sends an awaited event, because nothing else is in progress.
    fn somebody(&mut self) -> Option<Event> {
        let inbox = InboxId::new(format!("stub/{}", self.at));
        if let Some(ask) = self.state.bookkeeping.asks.first().cloned() {
            let question = ask.questions.first().cloned().unwrap_or_default();
            let first = question.options.into_iter().next();
            let first = first.map_or_else(|| "yes".to_owned(), |option| option.label);
            let answer = self.stub(&ask.node).and_then(|stub| stub.answer).unwrap_or(first);
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
        let text = self.stub(&node).and_then(|stub| stub.text).unwrap_or_default();
        Some(Event::EventReceived { inbox, name, text })
    }
}

/// Returns the end of a turn, without words.
fn session_end(stub: &Stub) -> SessionEnd {
    let failed =
        || SessionVerdict::Failed { cause: SessionFailure::Other, what: "the stub says so".to_owned() };
    SessionEnd {
        verdict: if stub.is_failure() { failed() } else { SessionVerdict::Completed },
        last_message: None,
        usage: Usage::default(),
        tool_calls: 0,
        spoke: true,
        offset: 0,
        value: None,
        unanswered: Vec::new(),
        session: None,
        usage_is_cumulative: false,
        models: Vec::new(),
        took_ms: 0,
    }
}

fn shell_end(stub: &Stub, example: String) -> ShellEnd {
    let code = stub.code();
    let printed = Some(stub.printed()).filter(|printed| !printed.is_empty());
    ShellEnd::exited(code == 0, format!("exit code {code}"), printed.unwrap_or(example))
}

/// Returns the end of a run within the run, as a stub gives it.
fn run_end(stub: &Stub, example: Option<Value>) -> RunEnd {
    let outcome = match stub.is_failure() {
        true => Outcome::new(FinalStatus::Failed, EndReason::AgentFailed).because("the stub says so"),
        false => Outcome::new(FinalStatus::Completed, EndReason::AllDone),
    };
    let text = stub.text.clone().unwrap_or_else(|| invented::RUN_TEXT.to_owned());
    RunEnd { outcome, spent: Spent::default(), text, value: stub.value.clone().or(example) }
}

/// Reads the id of a task, which people may write as a number.
fn task_id(value: &Value) -> Option<TaskId> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().ok().filter(|_| value.is_string() || value.is_number())
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
