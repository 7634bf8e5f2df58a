//! Shares budgets between the runs of one tree.
//!
//! Each run has its own log and learns about the spending of another run only later. So before a
//! run decides, it first records what its log does not contain yet: the spending of its child runs,
//! and the share of the budget that other runs leave to it. Pure; the runtime makes sure that no
//! other run decides at the same time.

use std::collections::HashMap;

use super::allowance::{Allowance, tokens};
use crate::effect::Effect;
use crate::event::Event;
use crate::graph::walk::find;
use crate::graph::workflow::Budget;
use crate::id::{EffectId, RunId};
use crate::run::{ActiveNode, Activity, Lane, Lifecycle, RunState, Spent, SubRunState};

/// Smaller amounts are rounding errors.
const CENT_OF_A_CENT: f64 = 0.000_1;

/// The spending of every known run.
#[derive(Debug, Default)]
pub struct Ledger {
    runs: HashMap<RunId, RunAccount>,
}

/// One run, as of its last decision.
#[derive(Debug)]
struct RunAccount {
    outer: Option<RunId>,
    /// The run is in its `finally`, to which no budget of the run or of an outer run applies.
    is_last: bool,
    /// The spending that the run knows of.
    spent: Spent,
    /// The allowance of the run, then those of the blocks around its child runs.
    allowances: Vec<Allowance>,
    calls: Vec<StartedRun>,
}

/// A child run of another run.
#[derive(Debug)]
struct StartedRun {
    effect: EffectId,
    run: RunId,
    given: Budget,
    reported: Spent,
    /// The parent has reserved the first turn, and the child run has reported none.
    is_ahead: bool,
    /// The indexes of the allowances from which it spends.
    allowances: Vec<usize>,
}

impl StartedRun {
    /// Returns the amount that its allowances count when the child run has spent this much.
    fn counted(&self, spent: &Spent) -> Spent {
        Spent { turns: spent.turns.max(self.reported.turns + u32::from(self.is_ahead)), ..*spent }
    }
}

impl Ledger {
    /// Records the state of a run. Forgets child runs that it no longer waits for.
    pub fn note(&mut self, state: &RunState) {
        let outer = state.spec.parent.as_ref().map(|parent| parent.run.clone());
        if state.is_done() && outer.as_ref().is_none_or(|outer| !self.runs.contains_key(outer)) {
            self.runs.remove(&state.run);
        } else {
            self.runs.insert(state.run.clone(), page(state, outer));
        }
        let calls = self.runs.get(&state.run).map(|page| page.calls.iter().map(|call| call.run.clone()));
        let waited_for: Vec<RunId> = calls.into_iter().flatten().collect();
        let run = &state.run;
        self.runs.retain(|id, page| page.outer.as_ref() != Some(run) || waited_for.contains(id));
    }

    pub fn has(&self, run: &RunId) -> bool {
        self.runs.contains_key(run)
    }

    /// Returns the events that a run must apply before it decides anything else.
    pub fn news_for(&self, state: &RunState) -> Vec<Event> {
        let page = self.runs.get(&state.run);
        let calls = page.into_iter().flat_map(|page| &page.calls);
        let mut news: Vec<Event> = calls
            .filter_map(|call| {
                let spent = self.spent_by(&call.run)?;
                let is_news = is_something(&spent.since(&call.reported));
                is_news.then(|| Event::RunSpent { effect: call.effect.clone(), spent })
            })
            .collect();
        let known = state.spec.budget.least(&state.bookkeeping.allowed);
        let left = self.left_to(&state.run).filter(|left| is_less(left, &known));
        news.extend(left.map(|budget| Event::Allowed { budget }));
        news
    }

    /// Returns the most that a run may spend in total, given the spending of other runs. `None` for
    /// a run without a parent.
    fn left_to(&self, run: &RunId) -> Option<Budget> {
        let outer = self.runs.get(run)?.outer.as_ref()?;
        self.left_to_call(outer, run)
    }

    /// Returns the same for a run that is about to start.
    pub fn left_to_call(&self, outer: &RunId, run: &RunId) -> Option<Budget> {
        let page = self.runs.get(outer)?;
        let call = page.calls.iter().find(|call| call.run == *run)?;
        let own = call.counted(&self.spent_by(run).unwrap_or(call.reported));
        let purses =
            call.allowances.iter().filter_map(|at| Some(self.allowance(outer, page, *at)?.left_to(&own)));
        let mut left = purses.fold(call.given, |left, purse| left.least(&purse));
        left.cost_usd = left.cost_usd.map(|cost| (cost / CENT_OF_A_CENT).round() * CENT_OF_A_CENT);
        Some(left)
    }

    /// Returns an allowance of a run with its current spending.
    fn allowance(&self, run: &RunId, page: &RunAccount, at: usize) -> Option<Allowance> {
        let known = page.allowances.get(at)?;
        let around = if at == 0 && !page.is_last { self.left_to(run) } else { None };
        let mut spent = known.spent;
        for call in page.calls.iter().filter(|call| call.allowances.contains(&at)) {
            spent.add(&self.untold(call));
        }
        Some(Allowance { budget: around.map_or(known.budget, |around| known.budget.least(&around)), spent })
    }

    /// Returns the current spending of a run and its child runs.
    fn spent_by(&self, run: &RunId) -> Option<Spent> {
        let page = self.runs.get(run)?;
        let mut spent = page.spent;
        for call in &page.calls {
            let told = self.spent_by(&call.run).map(|now| now.since(&call.reported));
            spent.add(&told.unwrap_or_default());
        }
        Some(spent)
    }

    /// Returns the spending of a child run that its parent does not count yet.
    fn untold(&self, call: &StartedRun) -> Spent {
        let spent = self.spent_by(&call.run).unwrap_or(call.reported);
        call.counted(&spent).since(&call.counted(&call.reported))
    }
}

fn page(state: &RunState, outer: Option<RunId>) -> RunAccount {
    let (budget, spent) = state.counted();
    let mut page = RunAccount {
        outer,
        is_last: matches!(state.lifecycle, Lifecycle::Finally { .. }),
        spent: state.known_spent(),
        allowances: vec![Allowance { budget, spent }],
        calls: Vec::new(),
    };
    if !state.spec.others.is_empty() {
        gather(state, &state.root, &mut vec![0], &mut page);
    }
    page
}

fn gather(state: &RunState, lane: &Lane, around: &mut Vec<usize>, page: &mut RunAccount) {
    let Some(active) = &lane.now else { return };
    let budget = find(&state.spec.body, &active.step).map(|node| node.budget).unwrap_or_default();
    around.push(page.allowances.len());
    page.allowances.push(Allowance { budget, spent: active.spent });
    page.calls.extend(call(state, active, around));
    for lane in active.activity.lanes() {
        gather(state, lane, around, page);
    }
    around.pop();
}

fn call(state: &RunState, active: &ActiveNode, purses: &[usize]) -> Option<StartedRun> {
    let Activity::Run(SubRunState { run, spent, is_ahead }) = &active.activity else { return None };
    state.bookkeeping.open.iter().filter(|planned| planned.id.node == active.instance).find_map(|planned| {
        let Effect::StartRun { spec, .. } = &planned.effect else { return None };
        Some(StartedRun {
            effect: planned.id.clone(),
            run: run.clone(),
            given: spec.budget,
            reported: *spent,
            is_ahead: *is_ahead,
            allowances: purses.to_vec(),
        })
    })
}

fn is_something(spent: &Spent) -> bool {
    let usage = &spent.usage;
    let all = [tokens(usage), usage.cache_read_tokens, usage.cache_write_tokens];
    spent.turns > 0 || all.iter().any(|tokens| *tokens > 0) || usage.cost_usd.is_some_and(|cost| cost > 0.0)
}

/// Decides whether a budget is smaller than another in any respect.
fn is_less(this: &Budget, other: &Budget) -> bool {
    let is_less_money = match (this.cost_usd, other.cost_usd) {
        (Some(this), Some(other)) => this < other - CENT_OF_A_CENT,
        (this, _) => this.is_some(),
    };
    let is_fewer = |this: Option<u64>, other: Option<u64>| match (this, other) {
        (Some(this), Some(other)) => this < other,
        (this, _) => this.is_some(),
    };
    is_less_money
        || is_fewer(this.turns.map(u64::from), other.turns.map(u64::from))
        || is_fewer(this.tokens, other.tokens)
}
