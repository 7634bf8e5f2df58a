//! Runs that start runs, as a process has them: each with its own state, decided in any order, with one ledger.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::engine::Ledger;
use crate::graph::builder::{clear_context, prompt, workflow};

struct Tree {
    ledger: Ledger,
    runs: BTreeMap<RunId, RunState>,
    /// The open effects, each with its run.
    open: Vec<(RunId, Planned)>,
    turns: u32,
    tokens: u64,
    /// Tokens of turns that are under way.
    under_way: u64,
}

const TURN_TOKENS: u64 = 10;

impl Tree {
    fn of(spec: Spec) -> Tree {
        let (runs, open) = (BTreeMap::new(), Vec::new());
        let mut tree = Tree { ledger: Ledger::default(), runs, open, turns: 0, tokens: 0, under_way: 0 };
        tree.begin(RunId::new("root"), spec);
        tree
    }

    fn begin(&mut self, run: RunId, mut spec: Spec) {
        let outer = spec.parent.as_ref().map(|parent| parent.run.clone());
        let left = outer.and_then(|outer| self.ledger.left_to_call(&outer, &run));
        spec.budget = left.map_or(spec.budget, |left| spec.budget.least(&left));
        let (state, step) = start(run.clone(), spec, NOW);
        self.ledger.note(&state);
        self.runs.insert(run.clone(), state);
        self.took(&run, step);
    }

    fn tell(&mut self, run: &RunId, event: Event) {
        let state = self.runs.get_mut(run).expect("a run");
        let mut events = self.ledger.news_for(state);
        events.push(event);
        let steps: Vec<Decision> = events.iter().map(|event| apply(state, NOW, event)).collect();
        self.ledger.note(state);
        assert_eq!(self.ledger.news_for(state), [], "what was told is known");
        for step in steps {
            self.took(run, step);
        }
    }

    fn took(&mut self, run: &RunId, step: Decision) {
        for planned in step.effects {
            if let Effect::StartRun { run: inner, spec, .. } = &planned.effect {
                self.begin(inner.clone(), (**spec).clone());
            }
            if matches!(planned.effect, Effect::StartSession(_)) {
                self.turns += 1;
                self.under_way += TURN_TOKENS;
            }
            self.open.push((run.clone(), planned));
        }
    }

    /// One thing that is open comes to its end.
    fn go_on(&mut self, which: usize) {
        let ready = |(_, planned): &&(RunId, Planned)| match &planned.effect {
            Effect::StartRun { run, .. } => self.runs[run].is_done(),
            effect => effect.is_settled_by_an_event(),
        };
        let ready: Vec<(RunId, Planned)> = self.open.iter().filter(ready).cloned().collect();
        let (run, planned) = ready[which % ready.len()].clone();
        self.open.retain(|(of, other)| *of != run || other.id != planned.id);
        let effect = planned.id;
        let event = match planned.effect {
            Effect::Prepare { .. } => Event::Prepared {
                effect,
                end: crate::event::PrepareEnd::Ready { texts: None, fingerprint: "0".into(), work: None },
                base: None,
                odd: Vec::new(),
            },
            Effect::StartSession(_) => {
                self.tokens += TURN_TOKENS;
                self.under_way -= TURN_TOKENS;
                Event::SessionEnded { effect, end: session_end(SessionVerdict::Completed) }
            }
            Effect::Inspect { .. } => {
                let tracker = TrackerInspection::None;
                let sight =
                    Inspection { tracker, promised: false, signalled: false, fingerprint: "1".into() };
                Event::Inspected { effect, sight }
            }
            Effect::StartRun { run, .. } => {
                let state = &self.runs[&run];
                let outcome = state.outcome().expect("it is over").clone();
                let end = Box::new(RunEnd { outcome, spent: state.spent, text: String::new(), value: None });
                Event::RunEnded { effect, end }
            }
            _ => Event::CleanedUp { effect },
        };
        self.tell(&run, event);
    }
}

/// A workflow of two turns, and one that runs it twice at once beside a turn of its own.
fn others() -> BTreeMap<String, Spec> {
    let pair = Builder::new("pair").start(prompt("x").id("x")).then(prompt("y").id("y"));
    let at_once = Builder::new("at_once").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("a", |lane| lane.then(prompt("a").id("a")));
        lanes.branch("b", |lane| lane.then(prompt("b").id("b")))
    });
    let nest = Builder::new("nest").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("p", |lane| lane.then(workflow("pair").id("p").continue_on_failure()));
        let lanes = lanes.branch("q", |lane| lane.then(workflow("at_once").id("q").continue_on_failure()));
        lanes.branch("r", |lane| lane.then(prompt("r").id("r")))
    });
    let named = [("pair", pair), ("at_once", at_once), ("nest", nest)];
    named.map(|(name, built)| (name.to_owned(), drawn(built))).into()
}

fn tree(calls: &[usize], budget: Budget) -> Tree {
    let outer = Builder::new("w").start(clear_context()).parallel(|lanes| {
        calls.iter().enumerate().fold(lanes, |lanes, (n, which)| {
            let (name, other) = (format!("c{n}"), ["pair", "at_once", "nest"][*which]);
            lanes.branch(name.clone(), |lane| lane.then(workflow(other).id(name).continue_on_failure()))
        })
    });
    let others = others();
    let mut spec = drawn(outer.budget(budget));
    spec.others = others;
    Tree::of(spec)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn runs_side_by_side_never_take_a_turn_that_is_not_left(
        calls in prop::collection::vec(0..3_usize, 1..6),
        most in 1..12_u32,
        of_tokens in any::<bool>(),
        dice in prop::collection::vec(any::<usize>(), 400),
    ) {
        let most_tokens = u64::from(most) * TURN_TOKENS;
        let budget = match of_tokens {
            true => Budget { tokens: Some(most_tokens), ..Budget::default() },
            false => Budget { turns: Some(most), ..Budget::default() },
        };
        let mut tree = tree(&calls, budget);
        let root = RunId::new("root");
        for which in dice {
            if tree.runs[&root].is_done() {
                break;
            }
            let (turns, tokens) = (tree.turns, tree.tokens);
            tree.go_on(which);
            if of_tokens {
                prop_assert!(tree.turns == turns || tokens < most_tokens, "a turn begins with all tokens used");
            } else {
                prop_assert!(tree.turns <= most, "turn {} of {most} begins", tree.turns);
            }
        }
        let state = &tree.runs[&root];
        prop_assert!(state.is_done(), "it comes to its end: {:?}", state.progress());
        prop_assert_eq!(state.spent.turns, tree.turns, "every turn is counted once");
        prop_assert_eq!(state.spent.usage.output_tokens, tree.tokens);
    }
}

#[test]
fn no_run_ends_for_want_of_turns_that_are_left() {
    // 2 + 2 + 5 turns are needed, and there.
    let mut tree = tree(&[0, 1, 2], Budget { turns: Some(9), ..Budget::default() });
    let root = RunId::new("root");
    while !tree.runs[&root].is_done() {
        tree.go_on(0);
    }
    let ends: Vec<FinalStatus> =
        tree.runs.values().filter_map(|run| run.outcome().map(|end| end.status)).collect();
    assert!(ends.iter().all(|status| *status == FinalStatus::Completed), "{ends:?}");
    assert_eq!(tree.turns, 9);
}
