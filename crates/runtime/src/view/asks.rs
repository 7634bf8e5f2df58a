//! Tracks the requests that the person at a face has still to answer, oldest first.
//!
//! The family says which requests are open. This module adds what the face did about them: a request that the
//! person left, or whose answer is on its way, is not shown again.

use windlass_core::event::Record;
use windlass_core::id::{HookId, RunId};
use windlass_core::run::Ask;
use windlass_core::spec::Spec;

use super::Family;

/// The requests that the person at a face has still to answer.
#[derive(Debug, Clone)]
pub struct OpenAsks {
    family: Family,
    shown: Vec<(RunId, Ask)>,
    hidden: Vec<HiddenAsk>,
}

/// A request that is open and not shown.
#[derive(Debug, Clone)]
enum HiddenAsk {
    /// The person left it to somebody else.
    Left(RunId, HookId),
    /// The person answered it in this form. A request with several questions changes with each answer.
    Answered(RunId, Ask),
}

impl HiddenAsk {
    fn hides(&self, run: &RunId, ask: &Ask) -> bool {
        match self {
            HiddenAsk::Left(of, hook) => of == run && *hook == ask.hook,
            HiddenAsk::Answered(of, answered) => of == run && answered == ask,
        }
    }
}

impl OpenAsks {
    /// Returns the open requests of a family.
    pub fn of(family: Family) -> OpenAsks {
        OpenAsks { shown: family.asks(), family, hidden: Vec::new() }
    }

    /// Returns the requests that the person can answer, oldest first.
    pub fn list(&self) -> &[(RunId, Ask)] {
        &self.shown
    }

    /// Returns the spec of a run of the family.
    pub fn spec_of(&self, run: &RunId) -> Option<&Spec> {
        let mut states = std::iter::once(self.family.root()).chain(self.family.below());
        states.find(|state| state.run == *run).map(|state| &state.spec)
    }

    /// Applies a record of a run of the family.
    pub fn see(&mut self, run: &RunId, seq: u64, record: &Record) {
        self.family.see(run, seq, record);
        self.refresh(self.family.asks());
    }

    /// Updates the shown requests. Keeps the order in which they were first seen.
    fn refresh(&mut self, open: Vec<(RunId, Ask)>) {
        self.hidden.retain(|hidden| open.iter().any(|(run, ask)| hidden.hides(run, ask)));
        let is_hidden = |run: &RunId, ask: &Ask| self.hidden.iter().any(|hidden| hidden.hides(run, ask));
        let is_same =
            |one: &(RunId, Ask), other: &(RunId, Ask)| one.0 == other.0 && one.1.hook == other.1.hook;
        let was = std::mem::take(&mut self.shown);
        let place =
            |ask: &(RunId, Ask)| was.iter().position(|known| is_same(known, ask)).unwrap_or(was.len());
        let mut shown: Vec<(RunId, Ask)> =
            open.into_iter().filter(|(run, ask)| !is_hidden(run, ask)).collect();
        shown.sort_by_key(place);
        self.shown = shown;
    }

    /// Hides a request that the person leaves to somebody else.
    pub fn leave(&mut self, run: &RunId, hook: &HookId) {
        self.hidden.push(HiddenAsk::Left(run.clone(), hook.clone()));
        self.shown.retain(|(of, ask)| of != run || ask.hook != *hook);
    }

    /// Hides a request until the run has received the person's answer.
    pub fn answered(&mut self, run: &RunId, hook: &HookId) {
        let is_meant = |(of, ask): &(RunId, Ask)| of == run && ask.hook == *hook;
        let (answered, others) = std::mem::take(&mut self.shown).into_iter().partition(is_meant);
        self.shown = others;
        let answered: Vec<(RunId, Ask)> = answered;
        self.hidden.extend(answered.into_iter().map(|(run, ask)| HiddenAsk::Answered(run, ask)));
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::engine;
    use windlass_core::event::{Event, PersonReply, RECORD_VERSION};
    use windlass_core::graph::builder::{Builder, ask};
    use windlass_core::id::InboxId;
    use windlass_core::time::Moment;

    use super::*;
    use crate::crash_sweep::story::spec_of;

    fn spec() -> Spec {
        let gate = ask("Ship it?").id("gate").choices(["yes", "no"]);
        spec_of(&Builder::new("ship").start(gate).end().unwrap())
    }

    /// Returns the open asks of a run that starts with a question.
    fn asking(run: &str) -> OpenAsks {
        let (state, _) = engine::start(RunId::new(run), spec(), Moment(0));
        OpenAsks::of(Family::of_one(state, 1))
    }

    fn record(event: Event) -> Record {
        Record { v: RECORD_VERSION, at: Moment(0), event, effects: Vec::new(), news: Vec::new() }
    }

    fn says(text: &str) -> Record {
        let reply = PersonReply::Answers { answers: vec![(String::new(), text.to_owned())] };
        let (inbox, hook) = (InboxId::new("i"), Some(HookId::new("ask/gate")));
        record(Event::PersonAnswered { inbox, hook, reply, origin: None })
    }

    fn runs(asks: &OpenAsks) -> Vec<&str> {
        asks.list().iter().map(|(run, _)| run.as_str()).collect()
    }

    #[test]
    fn a_question_of_the_workflow_stays_until_it_is_answered_with_a_choice() {
        let (mut asks, run) = (asking("one"), RunId::new("one"));
        asks.see(&run, 2, &says("perhaps"));
        assert_eq!(runs(&asks), ["one"]);
        asks.see(&run, 3, &says("Yes"));
        assert!(asks.list().is_empty());
    }

    #[test]
    fn what_the_run_decided_itself_is_asked_no_more() {
        let mut asks = asking("one");
        asks.see(&RunId::new("one"), 2, &record(Event::CancelAsked { inbox: None }));
        assert!(asks.list().is_empty());
    }

    #[test]
    fn a_record_that_is_in_the_state_changes_nothing() {
        let mut asks = asking("one");
        asks.see(&RunId::new("one"), 1, &says("yes"));
        assert_eq!(runs(&asks), ["one"]);
    }

    #[test]
    fn each_run_has_its_own_questions_and_the_oldest_comes_first() {
        let mut asks = asking("one");
        let begun = record(Event::RunStarted { spec: Box::new(spec()) });
        asks.see(&RunId::new("two"), 1, &begun);
        assert_eq!(runs(&asks), ["one", "two"]);
        asks.see(&RunId::new("one"), 2, &says("no"));
        assert_eq!(runs(&asks), ["two"]);
    }

    #[test]
    fn what_a_person_left_or_answered_is_not_shown_to_them_again() {
        let hook = HookId::new("ask/gate");
        for settle in [OpenAsks::leave, OpenAsks::answered] {
            let (mut asks, run) = (asking("one"), RunId::new("one"));
            settle(&mut asks, &run, &hook);
            assert!(asks.list().is_empty());
            asks.see(&run, 2, &record(Event::OwnerChanged));
            assert!(asks.list().is_empty());
        }
    }

    #[test]
    fn an_ask_with_several_questions_is_shown_again_after_an_answer() {
        let (mut asks, run, hook) = (asking("one"), RunId::new("one"), HookId::new("ask/gate"));
        let mut open = asks.list().to_vec();
        asks.answered(&run, &hook);
        open.iter_mut().for_each(|(_, ask)| ask.answers.push(("One?".to_owned(), "x".to_owned())));
        asks.refresh(open);
        assert_eq!(runs(&asks), ["one"]);
    }
}
