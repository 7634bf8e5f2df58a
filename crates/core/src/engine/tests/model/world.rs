//! A world around a run: it performs effects well or badly, interferes, and forgets everything but
//! the log now and then.

use super::super::NOW;
use super::draw::Case;
use super::laws::Laws;
use crate::effect::Planned;
use crate::engine::{Decision, apply, replay, start, would_end};
pub(super) use crate::event::Event;
use crate::event::Record;
use crate::hook::HookCall;
use crate::id::{EffectId, InboxId, NodeId, RunId, Verb};
use crate::run::{
    Activity, BudgetRaise, Continuation, FinalStatus, Lifecycle, ListenState, Raise, RunState, SessionPhase,
};
use crate::tasks::{TaskId, TaskStatus};
use crate::time::Moment;

pub(super) struct World {
    pub(super) state: RunState,
    /// The state that a process would have from the log alone. It lags behind until a crash.
    shadow: Option<RunState>,
    pub(super) records: Vec<Record>,
    shadowed: usize,
    pub(super) at: Moment,
    dice: std::vec::IntoIter<u16>,
    /// Everything that was ever handed out.
    pub(super) handed: Vec<Planned>,
    pub(super) tasks: Vec<(TaskId, TaskStatus)>,
    pub(super) calls: Vec<HookCall>,
    pub(super) laws: Laws,
}

impl World {
    pub(super) fn begin(case: Case) -> World {
        let Case { spec, dice } = case;
        let (state, step) = start(RunId::new("r"), spec.clone(), NOW);
        let mut laws = Laws::of(&spec);
        let event = Event::RunStarted { spec: Box::new(spec) };
        laws.hold(None, &event, &state, &step);
        let record = step.record(NOW, event);
        let mut dice = dice.into_iter();
        let tasks = usize::from(dice.next().unwrap_or(2)) % 4;
        let tasks = ["a", "b", "c"].iter().take(tasks);
        World {
            state,
            shadow: None,
            records: vec![record],
            shadowed: 0,
            at: NOW,
            dice,
            handed: step.effects,
            tasks: tasks.map(|id| (id.parse().expect("an id"), TaskStatus::Pending)).collect(),
            calls: Vec::new(),
            laws,
        }
    }

    pub(super) fn has_dice(&self) -> bool {
        !self.dice.as_slice().is_empty()
    }

    /// A number below `sides`; 0 is the plain one, and what is left when the dice are used up.
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.dice.next().unwrap_or(0)) % sides
    }

    /// Often the first, seldom another.
    pub(super) fn seldom(&mut self, sides: usize) -> usize {
        let first = self.roll(sides + 4);
        first.saturating_sub(4).min(sides - 1)
    }

    pub(super) fn open_names(&self) -> Vec<String> {
        self.state.to_perform().iter().map(|planned| planned.id.to_string()).collect()
    }

    /// The facts so far, for who reads a failure.
    pub(super) fn told_so_far(&self) -> String {
        self.laws.told()
    }

    /// Tells the run a fact; the laws must hold after it.
    pub(super) fn tell(&mut self, event: Event) -> Decision {
        self.at = self.at.plus_ms(10);
        let before = self.laws.look(&self.state);
        let step = apply(&mut self.state, self.at, &event);
        self.laws.hold(Some(&before), &event, &self.state, &step);
        self.laws.a_hand_over_goes_to_a_free_driver(self.at, &self.state, &step);
        self.records.push(step.record(self.at, event));
        self.handed.extend(step.effects.iter().cloned());
        step
    }

    /// A fact that comes too late: nothing follows from it.
    pub(super) fn tell_late(&mut self, event: Event) {
        let what = format!("{event:?}");
        let step = self.tell(event);
        assert_eq!(step, Decision::default(), "a late outcome changes nothing: {what}");
    }

    /// One random thing happens.
    pub(super) fn anything(&mut self) {
        match self.roll(25) {
            0..=16 => self.some_effect(),
            17 => self.some_hook(),
            18 => self.some_answer(),
            19 => self.something_late(),
            20 => drop(self.tell(Event::EventReceived {
                inbox: InboxId::new("i"),
                name: "e".into(),
                text: "told".into(),
            })),
            21 => drop(self.tell(Event::OwnerChanged)),
            22 => self.crash(),
            23 if self.state.bookkeeping.paused => drop(self.tell(Event::UnpauseAsked { inbox: None })),
            23 if self.seldom(4) == 3 => drop(self.tell(Event::RetryAsked { inbox: None })),
            23 => drop(self.tell(Event::PauseAsked { inbox: None })),
            _ => match self.seldom(8) {
                5 => drop(self.tell(Event::InterruptAsked { inbox: None })),
                6 => drop(self.tell(Event::CancelAsked { inbox: None })),
                7 => drop(self.tell(Event::RunTimedOut)),
                _ => self.some_effect(),
            },
        }
    }

    fn some_effect(&mut self) {
        let mut open = self.state.to_perform();
        // Time is seldom up before the work is done.
        if self.roll(10) < 9 {
            open.retain(|planned| planned.id.verb != Verb::Timeout);
        }
        if open.is_empty() {
            return self.unstick();
        }
        let which = self.roll(open.len());
        self.perform(&open[which]);
    }

    /// Takes the next step of a world in which nothing goes wrong.
    pub(super) fn plainly(&mut self) {
        let is_due = |world: &World, planned: &Planned| match planned.id.verb {
            Verb::Timeout => false,
            // Its turn is looked at: the agent waits for the answer.
            Verb::Session => !matches!(world.phase(&planned.id.node), Some(SessionPhase::Judging { .. })),
            _ => true,
        };
        let next = self.state.to_perform().into_iter().find(|planned| is_due(self, planned));
        match next {
            Some(planned) => self.perform(&planned),
            None => self.unstick(),
        }
    }

    /// Nothing can be performed: somebody else has to move.
    pub(super) fn unstick(&mut self) {
        let mut actives = Vec::new();
        self.state.root.actives(&mut actives);
        let listened = actives.iter().find_map(|active| match &active.activity {
            Activity::Listen(ListenState { name }) => Some(name.clone()),
            _ => None,
        });
        if self.state.bookkeeping.paused {
            // Whatever was held back: now and then it never begins.
            if self.seldom(4) == 3 {
                self.tell(Event::CancelAsked { inbox: None });
            }
            self.tell(Event::UnpauseAsked { inbox: None });
        } else if let Some(ask) = self.state.bookkeeping.asks.first().cloned() {
            self.answer(&ask);
        } else if let Some(name) = listened {
            self.tell(Event::EventReceived { inbox: InboxId::new("i"), name, text: "told".into() });
        } else if self.has_dice() {
            let _ = self.roll(2);
        } else {
            panic!("nothing is open, and it is not over: {:?}; {}", self.state.root, self.told_so_far());
        }
    }

    pub(super) fn phase(&self, node: &NodeId) -> Option<SessionPhase> {
        self.state.work(node).map(|work| work.phase.clone())
    }

    /// The process dies: whoever comes next has only the log, and finds the same.
    fn crash(&mut self) {
        for record in self.records.iter().skip(self.shadowed) {
            let text = serde_json::to_string(record).expect("it can be written");
            let read: Record = serde_json::from_str(&text).expect("it can be read");
            assert_eq!(&read, record, "a record is read as it was written");
            match (&mut self.shadow, &read.event) {
                (None, Event::RunStarted { spec }) => {
                    self.shadow = Some(start(RunId::new("r"), (**spec).clone(), read.at).0);
                }
                (Some(shadow), event) => drop(apply(shadow, read.at, event)),
                (None, other) => panic!("a log begins with {other:?}"),
            }
        }
        self.shadowed = self.records.len();
        assert_eq!(self.shadow.as_ref(), Some(&self.state), "the log folds to the state it left");
        if self.roll(2) == 1 {
            let text = serde_json::to_string(&self.state).expect("it can be written");
            let read: RunState = serde_json::from_str(&text).expect("it can be read");
            assert_eq!(read, self.state, "a state is read as it was written");
        }
        self.tell(Event::OwnerChanged);
    }

    /// Continues the run with more of everything. Returns whether it could.
    pub(super) fn goes_on(&mut self) -> bool {
        let more = Continuation {
            iterations: Some(Raise::Add(2)),
            budget: BudgetRaise {
                turns: Some(Raise::Add(4)),
                tokens: Some(Raise::Add(400)),
                cost_usd: Some(Raise::Add(3.0)),
                time_ms: Some(Raise::Add(3_600_000)),
            },
            message: Some("go on".into()),
            ..Continuation::default()
        };
        let would_end = would_end(&self.state, self.at.plus_ms(10), &more);
        let is_final = self.state.outcome().is_none_or(|outcome| outcome.status.is_final());
        let inbox = InboxId::new(format!("again{}", self.records.len()));
        self.tell(Event::Continued { inbox, by: "me".into(), more: Box::new(more) });
        if is_final {
            assert!(self.state.is_done(), "it was final");
            return false;
        }
        let ended = match &self.state.lifecycle {
            Lifecycle::Finally { outcome } if outcome.status == FinalStatus::Completed => None,
            Lifecycle::Finally { outcome } | Lifecycle::Done { outcome } => Some(outcome),
            Lifecycle::Running | Lifecycle::Ending { .. } => None,
        };
        assert_eq!(would_end.as_ref(), ended, "it was foreseen; {}", self.told_so_far());
        true
    }

    /// The run is over: the log says so too, and nothing changes it.
    pub(super) fn after_the_end(&mut self) {
        self.laws.at_the_end(&self.state);
        let replayed = replay(RunId::new("r"), &self.records);
        assert_eq!(replayed.differences, [], "it is decided again as it was; {}", self.told_so_far());
        assert_eq!(
            replayed.state.as_ref(),
            Some(&self.state),
            "the log folds to the end; {}",
            self.told_so_far()
        );
        let before = self.state.clone();
        let mut late: Vec<Event> =
            self.records.iter().rev().take(12).map(|record| record.event.clone()).collect();
        let can_continue =
            |state: &RunState| state.outcome().is_some_and(|outcome| !outcome.status.is_final());
        late.retain(|event| !matches!(event, Event::Continued { .. }));
        late.extend([
            Event::CancelAsked { inbox: None },
            Event::InterruptAsked { inbox: None },
            Event::PauseAsked { inbox: None },
            Event::UnpauseAsked { inbox: None },
            Event::RunTimedOut,
            Event::OwnerChanged,
            Event::EventReceived { inbox: InboxId::new("i"), name: "e".into(), text: String::new() },
        ]);
        late.retain(|event| !can_continue(&before) || !matches!(event, Event::CancelAsked { .. }));
        for event in late {
            apply(&mut self.state, self.at, &event);
            assert_eq!(self.state, before, "a run that is over does not change by {event:?}");
        }
    }
}

/// The effect that a fact is the outcome of.
pub(super) fn settles(event: &Event) -> Option<&EffectId> {
    match event {
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
        | Event::CleanedUp { effect }
        | Event::EffectBroken { effect, .. } => Some(effect),
        _ => None,
    }
}
