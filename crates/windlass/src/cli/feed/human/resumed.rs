//! The feed of a run that is shown from the middle on: takes in its state, and says what happened before.

use windlass_core::effect::Planned;
use windlass_core::id::Verb;
use windlass_core::run::{Activity, Progress, RunState, SessionPhase, SubRunState, Waiting};

use super::{Human, WORKING};
use crate::cli::feed::words;
use crate::cli::terminal::TextTone;

impl Human {
    /// Takes in the state of a run that is shown from the middle on.
    pub(crate) fn see(&mut self, state: &RunState) {
        self.nodes.see(state);
        self.started = Some(state.working_since());
        self.is_paused = state.bookkeeping.paused;
        state.bookkeeping.asks.iter().for_each(|ask| self.asks.add(ask));
        for planned in &state.bookkeeping.open {
            self.know_child(planned);
        }
        self.phase = phase(state);
        self.usage = state.spent.usage;
        // The sub-runs in progress report their spending again, as a total.
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        for active in actives {
            let Activity::Run(SubRunState { spent, .. }) = &active.activity else { continue };
            let is_its =
                |planned: &&Planned| planned.id.node == active.instance && planned.id.verb == Verb::Run;
            if let Some(planned) = state.bookkeeping.open.iter().find(is_its) {
                self.usage = self.usage.since(&spent.usage);
                self.below.insert(planned.id.node.clone(), spent.usage);
            }
        }
        for work in state.works() {
            let turns = self.turns.entry(work.node.id.clone()).or_default();
            turns.heading = Some(work.current_turn());
        }
    }

    /// Says that the run continues, and what happened before.
    pub(super) fn resuming(&self) -> Vec<String> {
        let mut facts = self.nodes.tasks.left_off();
        // The tasks or items in progress say more than the number of nodes.
        if !self.nodes.tasks.is_busy() {
            facts.extend(self.far());
        }
        let mut usage = self.usage;
        self.below.values().for_each(|below| usage.add(below));
        facts.extend(words::known_cost(usage.cost()).map(|cost| format!("{cost} so far")));
        let before = if facts.is_empty() { String::new() } else { format!(": {}", facts.join(", ")) };
        vec![self.screen.paint(TextTone::Strong, &format!("  resuming where it left off{before}"))]
    }
}

/// Returns the phase of a run, for the progress line.
fn phase(state: &RunState) -> &'static str {
    match state.progress() {
        Progress::Waiting(Waiting::Person(_)) => return "waiting for you",
        Progress::Waiting(_) => return "waiting",
        Progress::Running | Progress::Finished(_) => {}
    }
    let works = state.works();
    let is =
        |wanted: fn(&SessionPhase) -> bool| !works.is_empty() && works.iter().all(|work| wanted(&work.phase));
    if is(|phase| matches!(phase, SessionPhase::Preparing)) {
        return "preparing";
    }
    let is_judged = |phase: &SessionPhase| {
        matches!(
            phase,
            SessionPhase::Judging { .. } | SessionPhase::Closing { .. } | SessionPhase::Ending { .. }
        )
    };
    if is(is_judged) { "checking" } else { WORKING }
}
