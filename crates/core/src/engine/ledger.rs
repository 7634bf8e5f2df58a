//! What the runs of one tree spend of each other's budgets, as all of them stand at one moment.
//!
//! Each run has a log of its own, and hears of what another spends only later. So who is about to decide looks
//! here first, and is told what its log does not say yet: what the runs that it started have spent, and what
//! the others leave to it. Pure; that nobody else decides meanwhile is the runtime's duty.

use std::collections::HashMap;

use super::allowance::{Allowance, tokens};
use crate::effect::Effect;
use crate::event::Event;
use crate::graph::walk::find;
use crate::graph::workflow::Budget;
use crate::id::{EffectId, RunId};
use crate::run::{ActiveNode, Activity, Lane, RunState, Spent, SubRunState};

/// Less money than this is a matter of rounding.
const CENT_OF_A_CENT: f64 = 0.000_1;

/// What is known of each run.
#[derive(Debug, Default)]
pub struct Ledger {
    runs: HashMap<RunId, RunAccount>,
}

/// One run, as it last decided.
#[derive(Debug)]
struct RunAccount {
    outer: Option<RunId>,
    /// What it knows to be spent.
    spent: Spent,
    /// That of the run, then those of the blocks around the runs that it started.
    purses: Vec<Allowance>,
    calls: Vec<StartedRun>,
}

/// A run that another one started.
#[derive(Debug)]
struct StartedRun {
    effect: EffectId,
    run: RunId,
    given: Budget,
    reported: Spent,
    /// Its first turn is counted though it has told of none.
    is_ahead: bool,
    /// The purses that it spends of.
    purses: Vec<usize>,
}

impl StartedRun {
    /// What is counted for it in its purses when it has spent so much.
    fn counted(&self, spent: &Spent) -> Spent {
        Spent { turns: spent.turns.max(self.reported.turns + u32::from(self.is_ahead)), usage: spent.usage }
    }
}

impl Ledger {
    /// Writes down where a run stands. Runs that it no longer waits for are forgotten.
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

    /// Whether anything is known of a run.
    pub fn has(&self, run: &RunId) -> bool {
        self.runs.contains_key(run)
    }

    /// What a run must hear before it decides anything, because its log does not say it yet.
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

    /// The most that a run may spend in all, by what the others spent; nothing where none is around it.
    fn left_to(&self, run: &RunId) -> Option<Budget> {
        let outer = self.runs.get(run)?.outer.as_ref()?;
        self.left_to_call(outer, run)
    }

    /// The same for one that is about to begin.
    pub fn left_to_call(&self, outer: &RunId, run: &RunId) -> Option<Budget> {
        let page = self.runs.get(outer)?;
        let call = page.calls.iter().find(|call| call.run == *run)?;
        let own = call.counted(&self.spent_by(run).unwrap_or(call.reported));
        let purses =
            call.purses.iter().filter_map(|at| Some(self.allowance(outer, page, *at)?.left_to(&own)));
        let mut left = purses.fold(call.given, |left, purse| left.least(&purse));
        left.cost_usd = left.cost_usd.map(|cost| (cost / CENT_OF_A_CENT).round() * CENT_OF_A_CENT);
        Some(left)
    }

    /// A purse of a run with what is spent of it by now.
    fn allowance(&self, run: &RunId, page: &RunAccount, at: usize) -> Option<Allowance> {
        let known = page.purses.get(at)?;
        let around = if at == 0 { self.left_to(run) } else { None };
        let mut spent = known.spent;
        for call in page.calls.iter().filter(|call| call.purses.contains(&at)) {
            spent.add(&self.untold(call));
        }
        Some(Allowance { budget: around.map_or(known.budget, |around| known.budget.least(&around)), spent })
    }

    /// What a run and those it started have spent by now.
    fn spent_by(&self, run: &RunId) -> Option<Spent> {
        let page = self.runs.get(run)?;
        let mut spent = page.spent;
        for call in &page.calls {
            let told = self.spent_by(&call.run).map(|now| now.since(&call.reported));
            spent.add(&told.unwrap_or_default());
        }
        Some(spent)
    }

    /// What is not counted yet of what a run has spent.
    fn untold(&self, call: &StartedRun) -> Spent {
        let spent = self.spent_by(&call.run).unwrap_or(call.reported);
        call.counted(&spent).since(&call.counted(&call.reported))
    }
}

fn page(state: &RunState, outer: Option<RunId>) -> RunAccount {
    let budget = state.spec.budget.least(&state.bookkeeping.allowed);
    let mut page = RunAccount {
        outer,
        spent: state.known_spent(),
        purses: vec![Allowance { budget, spent: state.spent }],
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
    around.push(page.purses.len());
    page.purses.push(Allowance { budget, spent: active.spent });
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
            purses: purses.to_vec(),
        })
    })
}

fn is_something(spent: &Spent) -> bool {
    let usage = &spent.usage;
    let all = [tokens(usage), usage.cache_read_tokens, usage.cache_write_tokens];
    spent.turns > 0 || all.iter().any(|tokens| *tokens > 0) || usage.cost_usd.is_some_and(|cost| cost > 0.0)
}

/// Whether a budget leaves less than another one, in anything.
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
