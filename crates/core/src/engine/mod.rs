//! The engine: `apply(state, event) -> Decision`, the only place where a run advances.
//!
//! Pure: the same events give the same state, effects and news. Recovery and replay rely on this.
//! The runtime commits a decision before it acts on it.
//!
//! - [`lane`]: runs the nodes of a sequence in order.
//! - [`mod@start`]: starts a node, defers it or skips it.
//! - [`node`]: every kind of node, each in its own file.
//! - [`cancel`]: ends nodes early.
//! - [`continuation`]: continues a run that has ended.
//! - [`finale`]: ends a run, with its `finally` block.
//! - [`work`]: the work of one node with an agent.
//! - [`allowance`]: what the run and each block may spend.
//! - [`day`]: the budgets of the day, which all runs share.
//! - [`ledger`]: shares a budget between the runs of a tree.
//! - [`frame`]: the values that templates see.
//! - [`numbers`]: the numbers of a node that a run computes.
//! - [`mod@output`]: the outputs of nodes and runs.
//! - [`explain`]: why a node ran or did not run.
//! - [`internal_error`]: an effect that failed because of a bug in Windlass.
//! - [`unstartable`]: a check whose command cannot start.
//! - [`divergence`]: compares a log with the decisions of this build.
//! - [`mod@replay`]: decides a log again, and finds the places where a run can be forked.

mod allowance;
mod cancel;
mod continuation;
mod day;
mod divergence;
pub mod explain;
mod finale;
mod frame;
mod from_inputs;
mod internal_error;
mod lane;
mod ledger;
pub mod node;
pub(crate) mod numbers;
mod output;
pub mod rehearsal;
mod replay;
mod start;
#[cfg(test)]
mod tests;
mod unstartable;
mod work;

use crate::effect::{Effect, Planned};
use crate::event::{Event, RECORD_VERSION, Record, SaveEnd};
use crate::graph::workflow::Node;
use crate::hook::HookCall;
use crate::id::{EffectId, HookId, NodeId, RunId, Verb};
use crate::run::{
    Activity, Bookkeeping, EndReason, FinalStatus, Lane, Lifecycle, ListenState, News, Outcome, ResultOrigin,
    RunState, SessionPhase, Spent, Turn, Waiting,
};
use crate::spec::Spec;
use crate::time::Moment;
use crate::usage::Usage;
use allowance::Allowance;
pub(crate) use allowance::tokens;
use continuation::Reopening;
pub use continuation::would_end;
pub use day::{day_news, day_spending};
pub use divergence::{Divergence, Followed, follow};
use frame::Frame;
pub use frame::scope;
pub use from_inputs::{InputError, settle_inputs};
pub use ledger::Ledger;
use node::pair::Delivered;
pub use output::given_by;
pub use replay::{Difference, ForkError, Replayed, WhatIf, fork_point, replay, what_if};

/// The number of hook answers kept for repeated calls.
const ANSWERS_KEPT: usize = 64;

/// The consequences of an event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    pub effects: Vec<Planned>,
    pub news: Vec<News>,
}

impl Decision {
    /// Decides whether the commit must be on disk before anyone acts on it.
    pub fn needs_disk(&self) -> bool {
        self.effects.iter().any(|planned| planned.effect.traits().needs_disk)
    }

    /// Returns the record to commit.
    pub fn record(&self, at: Moment, event: Event) -> Record {
        Record { v: RECORD_VERSION, at, event, effects: self.effects.clone(), news: self.news.clone() }
    }
}

/// Starts a run.
pub fn start(run: RunId, spec: Spec, at: Moment) -> (RunState, Decision) {
    start_with(run, spec, at, ResultOrigin::Real)
}

/// Starts a run, or a rehearsal of one.
fn start_with(run: RunId, spec: Spec, at: Moment, results: ResultOrigin) -> (RunState, Decision) {
    let mut state = RunState {
        run,
        started: at,
        bookkeeping: Bookkeeping { seed: spec.seed.clone(), results, ..Bookkeeping::default() },
        spec,
        lifecycle: Lifecycle::Running,
        spent: Spent::default(),
        root: Lane::default(),
        aside: None,
    };
    let mut node = Decision::default();
    with(&mut state, &mut node, at, |cx, steps, root, frame| lane::proceed(cx, steps, root, frame).into());
    (state, node)
}

/// Applies an event to a run. A finished run no longer changes. An event that settles no open
/// effect is ignored.
pub fn apply(state: &mut RunState, at: Moment, event: &Event) -> Decision {
    let mut step = Decision::default();
    let is_heard = matches!(
        event,
        Event::HookAsked { .. }
            | Event::FolderSaved { .. }
            | Event::Continued { .. }
            | Event::CancelAsked { .. }
            | Event::DayAllowed { .. }
    );
    if state.is_done() && !is_heard {
        return step;
    }
    match event {
        Event::RunStarted { .. } => {}
        Event::Allowed { budget } => state.bookkeeping.allowed = state.bookkeeping.allowed.least(budget),
        Event::DayAllowed { budgets, .. } => state.bookkeeping.day.clone_from(budgets),
        Event::OwnerChanged => take_over(state, &mut step),
        Event::RequestRefused { why } => {
            step.news.push(News::Odd { node: root_node(), what: why.clone() });
        }
        Event::Forked { seed, policy, spent, .. } => {
            state.bookkeeping.seed.clone_from(seed);
            state.bookkeeping.inherited = *spent;
            state.bookkeeping.spent_on.clear();
            state.bookkeeping.day.clear();
            state.bookkeeping.leave_sessions();
            state.root.works_mut(&mut |work| work.is_forked = work.session.is_some());
            policy.iter().for_each(|policy| state.spec.follow(*policy));
        }
        Event::SessionStarted { effect, .. } | Event::RunSpent { effect, .. } => {
            if state.bookkeeping.open.iter().any(|planned| planned.id == *effect) {
                deliver(state, &mut step, at, &effect.node, event);
            }
        }
        Event::Prepared { effect, .. }
        | Event::SessionEnded { effect, .. }
        | Event::Inspected { effect, .. }
        | Event::ChecksFinished { effect, .. }
        | Event::ShellEnded { effect, .. }
        | Event::RunEnded { effect, .. }
        | Event::TaskClaimed { effect, .. }
        | Event::TaskSettled { effect, .. }
        | Event::WorktreeMade { effect, .. }
        | Event::Landed { effect, .. }
        | Event::WaitOver { effect }
        | Event::CleanedUp { effect } => {
            if settle(&mut state.bookkeeping, effect) {
                let is_over =
                    unstartable::note(state, event).map(|outcome| end(state, &mut step, at, outcome));
                // Whoever waits for checks is being cleaned up by now. Landings and child runs are heard to
                // their end.
                if is_over.is_none() || !matches!(event, Event::ChecksFinished { .. }) {
                    deliver(state, &mut step, at, &effect.node, event);
                }
            }
        }
        Event::FolderSaved { folder, end, .. } => folder_saved(state, &mut step, folder, end),
        Event::EffectBroken { effect, what } => internal_error::apply(state, &mut step, at, effect, what),
        Event::HookAsked { call } => hook(state, &mut step, at, call, event),
        Event::PersonAnswered { hook, reply, .. } => {
            person_answered(state, &mut step, at, hook.as_ref(), reply, event)
        }
        Event::EventReceived { name, text, .. } => receive_event(state, &mut step, at, name, text, event),
        Event::PauseAsked { .. } => {
            if !std::mem::replace(&mut state.bookkeeping.paused, true) {
                state.bookkeeping.paused_at = Some(at);
                step.news.push(News::Paused);
            }
        }
        Event::UnpauseAsked { .. } => go_on(state, &mut step, at),
        Event::RetryAsked { .. } => retry_now(state, &mut step, at),
        Event::RunTimedOut => {
            let outcome =
                Outcome::new(FinalStatus::Failed, EndReason::Timeout).because("the run ran out of time");
            let is_due = !state.bookkeeping.paused && !is_closing(state);
            if matches!(state.lifecycle, Lifecycle::Running) && is_due {
                end(state, &mut step, at, outcome);
            }
        }
        Event::ParentEnded { why, interrupted, failed, .. } => {
            let status = match (interrupted, failed) {
                (true, _) => FinalStatus::Interrupted,
                (false, true) => FinalStatus::Failed,
                (false, false) => FinalStatus::Cancelled,
            };
            let outcome = Outcome::new(status, EndReason::OuterRun).because(why.clone());
            match &state.lifecycle {
                Lifecycle::Running => end(state, &mut step, at, outcome),
                Lifecycle::Finally { .. } => finale::stop_with_outer(state, &mut step, at, outcome),
                Lifecycle::Ending { .. } | Lifecycle::Done { .. } => {}
            }
        }
        Event::InterruptAsked { .. } => {
            stop(state, &mut step, at, Outcome::new(FinalStatus::Interrupted, EndReason::User));
        }
        Event::CancelAsked { .. } => {
            stop(state, &mut step, at, Outcome::new(FinalStatus::Cancelled, EndReason::User));
        }
        Event::Continued { inbox, by, more } => {
            continuation::apply(state, &mut step, at, inbox, by, more);
        }
    }
    step
}

/// Ends everything in progress because someone asked for it.
fn stop(state: &mut RunState, step: &mut Decision, at: Moment, outcome: Outcome) {
    let is_cancel = outcome.status == FinalStatus::Cancelled;
    match &mut state.lifecycle {
        Lifecycle::Running => end(state, step, at, outcome),
        Lifecycle::Ending { outcome: before } => {
            // Whoever asks twice does not want to wait.
            let id = EffectId { node: root_node(), iteration: 1, attempt: 1, verb: Verb::Kill };
            step.effects.push(Planned { id, effect: Effect::KillChildren });
            if is_cancel && before.status == FinalStatus::Interrupted {
                *before = outcome;
            }
        }
        // Such a run has nothing left to end, but it could continue.
        Lifecycle::Done { outcome: before } if is_cancel && !before.status.is_final() => {
            finale::cancel_done(state, step, at, outcome);
        }
        Lifecycle::Finally { .. } => finale::stop(state, step, at, outcome),
        Lifecycle::Done { .. } => {}
    }
}

/// Warns about the first snapshot of a run that failed. The run continues without it.
fn folder_saved(state: &mut RunState, step: &mut Decision, folder: &str, end: &SaveEnd) {
    let SaveEnd::Failed { why } = end else { return };
    if !std::mem::replace(&mut state.bookkeeping.warned_of_snapshots, true) {
        let what = format!(
            "Windlass cannot save the state of {folder}, so `diff` and `undo` will lack turns of this run: {why}"
        );
        step.news.push(News::Odd { node: root_node(), what });
    }
}

/// Folds a whole log into the state that a crash left behind.
pub fn fold<'a>(run: RunId, records: impl IntoIterator<Item = &'a Record>) -> Option<RunState> {
    let mut state: Option<RunState> = None;
    for record in records {
        match (&mut state, &record.event) {
            (None, Event::RunStarted { spec }) => {
                state = Some(start(run.clone(), (**spec).clone(), record.at).0);
            }
            (None, _) => return None,
            (Some(state), event) => {
                apply(state, record.at, event);
            }
        }
    }
    state
}

/// The context in which the engine decides about one event.
pub(crate) struct DecisionCx<'a> {
    run: &'a RunId,
    spec: &'a Spec,
    at: Moment,
    bookkeeping: &'a mut Bookkeeping,
    decision: &'a mut Decision,
    /// The allowances of the run and of each block around the node.
    allowances: Vec<Allowance>,
    /// The number of loop iterations started by this decision.
    rounds: u32,
    /// The outcome to end the run with if its state contradicts itself.
    broken: Option<Outcome>,
    /// The additions, if a person continues the run right now.
    more: Option<Box<Reopening>>,
    /// The outcome of the run, while its `finally` runs.
    ending: Option<&'a Outcome>,
}

impl DecisionCx<'_> {
    /// Plans an effect. While the run is paused, effects that start work are deferred.
    fn plan(&mut self, id: EffectId, effect: Effect) -> EffectId {
        let planned = Planned { id: id.clone(), effect };
        let is_held = self.bookkeeping.paused && planned.effect.begins_work();
        if planned.effect.is_settled_by_an_event() {
            self.bookkeeping.open.push(planned.clone());
        }
        if is_held {
            self.bookkeeping.deferred.push(id.clone());
        } else {
            self.decision.effects.push(planned);
        }
        id
    }

    /// Plans an effect that its node has only once.
    fn plan_once(&mut self, node: &NodeId, verb: Verb, effect: Effect) {
        // A node may do it once more after a person continued the run.
        let attempt = self.bookkeeping.continued.saturating_add(1);
        self.plan(EffectId { node: node.clone(), iteration: 1, attempt, verb }, effect);
    }

    /// Ends the run because its state contradicts itself and it would wait forever.
    fn break_off(&mut self, why: String) {
        let why = format!("{why}: this is a bug in Windlass");
        self.broken.get_or_insert(Outcome::new(FinalStatus::Failed, EndReason::InternalError).because(why));
    }

    /// Defers the start of a node until the pause ends. The node starts when the planned wait is
    /// over.
    fn defer(&mut self, node: &NodeId) {
        self.bookkeeping.deferrals = self.bookkeeping.deferrals.saturating_add(1);
        let id = EffectId {
            node: node.clone(),
            iteration: 1,
            attempt: self.bookkeeping.deferrals,
            verb: Verb::Defer,
        };
        self.bookkeeping.deferred.push(id.clone());
        self.bookkeeping.open.push(Planned { id, effect: Effect::WaitUntil { until: self.at } });
        self.tell(News::NodeHeld { node: node.clone() });
    }

    /// Decides whether a pause defers something of this node.
    fn is_deferred(&self, node: &NodeId) -> bool {
        self.bookkeeping.deferred.iter().any(|id| id.node == *node)
    }

    /// Forgets everything that a node waits for.
    fn forget(&mut self, node: &NodeId) {
        self.bookkeeping.open.retain(|planned| planned.id.node != *node);
        self.bookkeeping.deferred.retain(|id| id.node != *node);
        self.bookkeeping.asks.retain(|ask| ask.node != *node);
        self.bookkeeping.replies.retain(|reply| reply.ask.node != *node);
        self.bookkeeping.permitted.retain(|ask| ask.node != *node);
    }

    /// Adds news, if the run is more than one session.
    fn tell(&mut self, news: News) {
        if self.spec.only_session().is_none() {
            self.decision.news.push(news);
        }
    }

    /// Reports the end of a wait. While the run is paused, nothing follows from it yet.
    fn wait_is_over(&mut self) {
        if !self.bookkeeping.paused {
            self.decision.news.push(News::WaitOver);
        }
    }

    fn spend(&mut self, usage: &Usage) {
        self.spend_all(&Spent { usage: *usage, ..Spent::default() });
    }

    fn spend_all(&mut self, spent: &Spent) {
        for purse in &mut self.allowances {
            purse.spent.add(spent);
        }
    }

    /// Counts turns that start or are known to have started.
    fn count_turns(&mut self, turns: u32) {
        self.spend_all(&Spent { turns, ..Spent::default() });
    }

    /// Returns the number of turns of the run so far.
    fn turns(&self) -> u32 {
        self.allowances.first().map_or(0, |purse| purse.spent.turns)
    }

    /// Returns a turn that was reserved but did not start.
    fn give_back_turn(&mut self) {
        for purse in &mut self.allowances {
            purse.spent.turns = purse.spent.turns.saturating_sub(1);
        }
    }

    /// Returns the outcome if the budget allows no further turn.
    fn cannot_afford(&self) -> Option<Outcome> {
        let what = self.allowances.iter().find_map(Allowance::is_spent)?;
        Some(Outcome::new(FinalStatus::Exhausted, EndReason::Budget).because(what))
    }

    /// Decides whether a node ended because the budget of the run, of a block around it or of the day
    /// is spent.
    fn has_run_dry(&self, outcome: &Outcome) -> bool {
        outcome.reason == EndReason::Budget && (self.cannot_afford().is_some() || self.is_day_over())
    }

    /// Returns the outcome if the budget does not allow repeating a turn. A repeated turn is not a
    /// new turn, but it costs tokens and money.
    fn cannot_afford_again(&self) -> Option<Outcome> {
        let what = self.allowances.iter().find_map(Allowance::is_empty)?;
        Some(Outcome::new(FinalStatus::Exhausted, EndReason::Budget).because(what))
    }
}

fn done(reason: EndReason) -> Outcome {
    Outcome::new(FinalStatus::Completed, reason)
}

/// Sets the answer as the node's output and completes the node.
fn answered(cx: &mut DecisionCx<'_>, node: &NodeId, answer: &str) -> Outcome {
    output::give(cx, node, answer);
    done(EndReason::AllDone)
}

/// Returns the outcome of a kind of node that runs do not support yet.
fn not_yet(kind: &str) -> Outcome {
    let why = format!("a `{kind}` node cannot be run yet");
    Outcome::new(FinalStatus::Failed, EndReason::NotYet).because(why)
}

fn root_node() -> NodeId {
    NodeId::new("run")
}

/// Advances the nodes of a run. Returns false if this concerned none of them.
fn with(
    state: &mut RunState,
    step: &mut Decision,
    at: Moment,
    act: impl FnOnce(&mut DecisionCx<'_>, &[Node], &mut Lane, &Frame<'_>) -> Delivered,
) -> bool {
    let deadline = state.deadline();
    let (budget, counted) = state.counted();
    let others = state.spent.since(&counted);
    let RunState { run, spec, root, bookkeeping: book, spent, lifecycle, .. } = state;
    let ending = if let Lifecycle::Finally { outcome } = lifecycle { Some(&*outcome) } else { None };
    let purse = Allowance { budget, spent: counted };
    let mut cx = DecisionCx {
        run,
        spec,
        at,
        bookkeeping: book,
        decision: step,
        allowances: vec![purse],
        rounds: 0,
        broken: None,
        more: None,
        ending,
    };
    let spec = cx.spec;
    let (steps, frame) = match ending {
        Some(_) => (
            spec.finally().map(std::slice::from_ref).unwrap_or_default(),
            Frame::of_finally(spec, cx.bookkeeping.ends),
        ),
        None => (spec.main_nodes(), Frame::of(spec, deadline)),
    };
    let delivered = act(&mut cx, steps, root, &frame);
    let broken = cx.broken.take();
    if let Some(purse) = cx.allowances.pop() {
        *spent = purse.spent;
        spent.add(&others);
    }
    match (delivered, broken) {
        (Delivered::Over(outcome), _) => finale::finish(state, step, at, outcome),
        (Delivered::NotMine | Delivered::UnderWay, Some(outcome)) => match state.lifecycle {
            Lifecycle::Running => end(state, step, at, outcome),
            Lifecycle::Finally { .. } => finale::finish(state, step, at, outcome),
            Lifecycle::Ending { .. } | Lifecycle::Done { .. } => {}
        },
        (Delivered::UnderWay, None) => {}
        (Delivered::NotMine, None) => return false,
    }
    true
}

/// Delivers an event to a node. Returns false if it concerns no node.
fn deliver(state: &mut RunState, node: &mut Decision, at: Moment, to: &NodeId, event: &Event) -> bool {
    with(state, node, at, |cx, steps, root, frame| lane::deliver(cx, steps, root, frame, to, event))
}

/// Ends everything in progress.
fn end(state: &mut RunState, node: &mut Decision, at: Moment, outcome: Outcome) {
    state.lifecycle = Lifecycle::Ending { outcome: outcome.clone() };
    with(state, node, at, |cx, steps, root, frame| cancel::lane(cx, steps, root, frame, &outcome).into());
}

/// Returns the outcome of a run in which everything has ended.
fn end_kept(state: &RunState, outcome: Outcome) -> Outcome {
    match (&state.lifecycle, state.spec.only_session()) {
        (Lifecycle::Ending { outcome }, _) => outcome.clone(),
        (_, Some((only, _))) => {
            state.bookkeeping.nodes.get(&only.id).and_then(|seen| seen.outcome.clone()).unwrap_or(outcome)
        }
        _ => outcome,
    }
}

/// Decides whether only the end of the last agent is left. Such a run does not time out.
fn is_closing(state: &RunState) -> bool {
    let works = state.works();
    state.spec.only_session().is_some()
        && !works.is_empty()
        && works
            .iter()
            .all(|work| matches!(work.phase, SessionPhase::Ending { .. } | SessionPhase::Closing { .. }))
}

fn take_over(state: &mut RunState, step: &mut Decision) {
    state.root.works_mut(&mut |work| {
        if let Some(turn) = &mut work.turn {
            turn.owner_changed = true;
        }
        // Whoever takes over wants the run to continue, however often it was interrupted before.
        work.interrupted = 0;
    });
    let works: Vec<NodeId> = state.works().iter().map(|work| work.node.id.clone()).collect();
    let asks = state.bookkeeping.asks.iter().filter(|ask| works.contains(&ask.node));
    state.bookkeeping.unheard = asks.map(|ask| ask.hook.clone()).collect();
    step.news.push(News::TakenOver);
    // Whoever follows the run from here on has not seen what it waits for. An agent's question is
    // repeated only when its hook calls again, because the agent may be gone.
    if state.lifecycle == Lifecycle::Running {
        let is_heard = |waiting: &Waiting| match waiting {
            Waiting::Person(ask) => !state.bookkeeping.unheard.contains(&ask.hook),
            _ => true,
        };
        step.news.extend(state.waits().into_iter().filter(is_heard).map(News::Waiting));
    }
}

/// Resumes a paused run and plans the deferred effects.
fn go_on(state: &mut RunState, step: &mut Decision, at: Moment) {
    if !std::mem::replace(&mut state.bookkeeping.paused, false) {
        return;
    }
    let stood_still = state.bookkeeping.paused_at.take().map_or(0, |paused| at.since(paused));
    state.bookkeeping.paused_ms = state.bookkeeping.paused_ms.saturating_add(stood_still);
    let held = std::mem::take(&mut state.bookkeeping.deferred);
    let now = state.bookkeeping.open.iter().filter(|planned| held.contains(&planned.id));
    step.effects.extend(now.cloned());
    step.news.push(News::GoesOn);
}

/// Ends the waits of all turns for the end of a usage limit or error. No driver counts as limited any more.
fn retry_now(state: &mut RunState, step: &mut Decision, at: Moment) {
    state.bookkeeping.limited.clear();
    let works = state.works();
    let waiting = works.iter().filter(|work| matches!(work.phase, SessionPhase::Pausing { .. }));
    let nodes: Vec<NodeId> = waiting.map(|work| work.node.id.clone()).collect();
    for node in nodes {
        let is_wait = |planned: &&Planned| planned.id.node == node && planned.id.verb == Verb::Wait;
        let wait = state.bookkeeping.open.iter().find(is_wait).map(|planned| planned.id.clone());
        if let Some(effect) = wait.filter(|effect| settle(&mut state.bookkeeping, effect)) {
            deliver(state, step, at, &node, &Event::WaitOver { effect });
        }
    }
}

/// Handles a hook call. A repeated call gets the same answer.
fn hook(state: &mut RunState, step: &mut Decision, at: Moment, call: &HookCall, event: &Event) {
    let is_back = state.bookkeeping.reconnect(&call.id);
    if let Some(answer) = state.answer_to(&call.id).cloned() {
        let node = call.from.as_ref().map_or_else(root_node, |from| from.node.clone());
        let id = EffectId { node, iteration: 1, attempt: 1, verb: Verb::Answer };
        step.effects.push(Planned { id, effect: Effect::AnswerHook { hook: call.id.clone(), answer } });
        return;
    }
    if let Some(ask) = state.bookkeeping.asks.iter().find(|ask| ask.hook == call.id) {
        step.news.extend(is_back.then(|| News::Waiting(Waiting::Person(ask.clone()))));
        return;
    }
    let is_its_turn = |turn: &Turn| match &call.from {
        Some(from) => turn.effect == *from,
        // A forwarder that does not name its turn belongs to the only turn there is.
        None => true,
    };
    let works = state.works();
    let to = works.iter().find(|work| work.turn.as_ref().is_some_and(is_its_turn));
    let to = to.map(|work| work.node.id.clone());
    let is_told = to.is_some_and(|to| deliver(state, step, at, &to, event));
    if is_told {
        return;
    }
    // A finished run does not change, so the answer is not recorded.
    let answered = state.is_done().then(|| state.bookkeeping.answered.clone());
    with(state, step, at, |cx, _, _, _| {
        work::hooks::too_late(cx, call);
        Delivered::NotMine
    });
    if let Some(answered) = answered {
        state.bookkeeping.answered = answered;
    }
}

/// Handles a person's answer to the named question or the oldest open one.
fn person_answered(
    state: &mut RunState,
    step: &mut Decision,
    at: Moment,
    hook: Option<&HookId>,
    reply: &crate::event::PersonReply,
    event: &Event,
) {
    let found = state.bookkeeping.asks.iter().position(|ask| hook.is_none_or(|hook| ask.hook == *hook));
    let Some(place) = found else { return };
    let Some(node) = state.bookkeeping.asks.get(place).map(|ask| ask.node.clone()) else { return };
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let is_a_node =
        actives.iter().any(|active| active.instance == node && matches!(active.activity, Activity::Ask));
    if is_a_node {
        deliver(state, step, at, &node, event);
        return;
    }
    with(state, step, at, |cx, _, _, _| {
        work::hooks::person_answered(cx, place, reply);
        Delivered::NotMine
    });
}

/// Hands an event from outside to the node that waits for it, or keeps it for later.
fn receive_event(
    state: &mut RunState,
    step: &mut Decision,
    at: Moment,
    name: &str,
    text: &str,
    event: &Event,
) {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let listens = |activity: &Activity| matches!(activity, Activity::Listen(ListenState { name: other }) if other == name);
    let to = actives.iter().find(|active| listens(&active.activity)).map(|active| active.instance.clone());
    match to {
        Some(to) => drop(deliver(state, step, at, &to, event)),
        None => state.bookkeeping.received.entry(name.to_owned()).or_default().push_back(text.to_owned()),
    }
}

/// Closes an open effect. Returns false if it was not open, so that a late outcome changes nothing.
fn settle(bookkeeping: &mut Bookkeeping, effect: &EffectId) -> bool {
    let before = bookkeeping.open.len();
    bookkeeping.open.retain(|planned| planned.id != *effect);
    bookkeeping.deferred.retain(|id| id != effect);
    bookkeeping.open.len() < before
}
