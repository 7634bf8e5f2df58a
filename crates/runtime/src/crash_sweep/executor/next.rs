//! Chooses what happens next: waiting events, agents in their hooks, time, and people.

use windlass_core::event::{Event, PersonReply, SessionVerdict};
use windlass_core::hook::{HookCall, HookKind};
use windlass_core::id::{HookId, InboxId, NodeId, RunId};
use windlass_core::looping::LoopMode;
use windlass_core::run::{Activity, ListenState, SessionPhase, SessionWork};
use windlass_store::PutResult;

use super::super::story::{Pace, dice};
use super::super::world::name;
use super::{Dropped, ECHO_EVERY, Executor, NEVER_TOLD, Order, Owned, actives, effect_of, ended, node_of};
use crate::inbox::{InboxMessage, event_of};

impl Executor<'_> {
    /// Takes the next waiting event: the first one of any node.
    pub(super) fn next_quick(&mut self) -> Option<(RunId, Event)> {
        let mut heads: Vec<(RunId, usize)> = Vec::new();
        for run in self.living() {
            let mut seen: Vec<Option<&NodeId>> = Vec::new();
            for (place, event) in self.runs[&run].quick.iter().enumerate() {
                let node = node_of(event);
                if !seen.contains(&node) {
                    heads.push((run.clone(), place));
                    seen.push(node);
                }
            }
        }
        let chosen = match self.order {
            Order::Oldest => 0,
            Order::Dice(seed) => dice(seed, self.taken, heads.len().max(1) as u64) as usize,
        };
        let (run, place) = heads.into_iter().nth(chosen)?;
        let event = self.owned(&run).quick.remove(place)?;
        Some((run, event))
    }

    /// Repeats an outcome now and then, too late: it must change nothing.
    pub(super) fn echo(&mut self, run: &RunId, event: &Event) {
        let Order::Dice(seed) = self.order else { return };
        let is_outcome = !matches!(event, Event::RunSpent { .. } | Event::SessionStarted { .. });
        if is_outcome && effect_of(event).is_some() && dice(seed, self.taken, ECHO_EVERY) == 0 {
            self.owned(run).quick.push_back(event.clone());
        }
    }

    /// Takes an event that is slower than everything quick: slow effects first, then timers.
    pub(super) fn later(&mut self) -> Option<(RunId, Event)> {
        for of in [|owned: &mut Owned| owned.slow.pop_front(), |owned: &mut Owned| owned.timers.pop_front()] {
            for run in self.living() {
                if let Some(event) = of(self.owned(&run)) {
                    return Some((run, event));
                }
            }
        }
        None
    }

    /// Returns the next event of an agent that waits in its hooks.
    pub(super) fn agent(&mut self) -> Option<(RunId, Event)> {
        for run in self.living() {
            let works = self.state(&run).works().into_iter().cloned().collect::<Vec<_>>();
            if let Some(event) = works.iter().find_map(|work| self.agent_of(&run, work)) {
                return Some((run, event));
            }
        }
        None
    }

    /// Asks to stop, with an id that a repeated call shares, or ends because it may.
    fn agent_of(&mut self, run: &RunId, work: &SessionWork) -> Option<Event> {
        let turn = work.turn.as_ref()?;
        let line = self.story.line(&turn.effect);
        let is_here = self.world.has_begun(&name(run, &turn.effect)) && line.pace == Pace::Quick;
        if !is_here || line.verdict != SessionVerdict::Completed {
            return None;
        }
        let (count, is_done) = match (work.node.rules()?.mode, &work.phase) {
            (LoopMode::InSession, SessionPhase::InTurn) => (work.turns, false),
            (LoopMode::InSession, SessionPhase::Closing { .. }) => (work.turns, true),
            (LoopMode::Plugin, SessionPhase::InTurn) => (turn.stops, turn.stops >= line.done_on),
            _ => return None,
        };
        let effect = turn.effect.clone();
        if is_done {
            return Some(ended(effect.clone(), self.story.line(&effect), SessionVerdict::Completed));
        }
        let id = HookId::new(format!("{effect}/{count}"));
        self.world.begin(format!("{run}/hook {id}"), "");
        let kind = HookKind::Stop { last_message: None, background: false };
        Some(Event::HookAsked {
            call: HookCall { id, from: Some(effect), kind, unanswered: Vec::new(), real: None },
        })
    }

    /// Puts a request of a person into the inbox of a run, once, and takes it if it was not taken yet.
    fn ask(&mut self, run: &RunId, id: &str, message: &InboxMessage) -> Result<bool, Dropped> {
        let id = InboxId::new(id);
        if !self.put.insert((run.clone(), id.clone())) {
            return Ok(false);
        }
        let body = serde_json::to_vec(message).unwrap();
        let put = self.store.put(run, &id, &body).unwrap();
        // Pauses are left out, because their time depends on the order of parallel events.
        if put == PutResult::Fresh
            && matches!(message, InboxMessage::Reply { .. } | InboxMessage::Tell { .. })
        {
            self.world.begin(format!("{run}/request {}", id.as_str()), "");
        }
        let waiting = self.store.pending(run).unwrap().into_iter().find(|request| request.id == id);
        let Some(request) = waiting else { return Ok(false) };
        let message = serde_json::from_slice(&request.body).unwrap();
        self.tell(run, event_of(id.clone(), message), vec![id])?;
        Ok(true)
    }

    pub(super) fn pause(&mut self) -> Result<bool, Dropped> {
        let pauses = &self.story.pauses;
        for run in self.living() {
            let had = self.state(&run).turns();
            for turns in pauses.iter().filter(|turns| had >= **turns) {
                if self.ask(&run, &format!("pause/{turns}"), &InboxMessage::Pause)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    pub(super) fn go_on(&mut self) -> Result<bool, Dropped> {
        let paused = self.living().into_iter().find(|run| self.state(run).bookkeeping.paused);
        let Some(run) = paused else { return Ok(false) };
        let pauses = &self.story.pauses;
        let turns = pauses.iter().filter(|turns| self.state(&run).turns() >= **turns).max().copied();
        self.ask(&run, &format!("go-on/{}", turns.unwrap_or(0)), &InboxMessage::GoOn)
    }

    /// Answers a question or sends an awaited event, when nothing else happens.
    pub(super) fn person(&mut self) -> Result<bool, Dropped> {
        for run in self.living() {
            let state = self.state(&run);
            if let Some(ask) = state.bookkeeping.asks.first().cloned() {
                let reply = PersonReply::Answers { answers: vec![(String::new(), "yes".into())] };
                let id = format!("reply/{}", ask.hook);
                let message = InboxMessage::Reply { hook: Some(ask.hook), reply, origin: None };
                return self.ask(&run, &id, &message);
            }
            let listens = actives(state).into_iter().find_map(|active| match &active.activity {
                Activity::Listen(ListenState { name }) if name != NEVER_TOLD => {
                    Some((active.instance.clone(), name.clone()))
                }
                _ => None,
            });
            if let Some((node, name)) = listens {
                let text = format!("{name} happened");
                return self.ask(&run, &format!("tell/{node}"), &InboxMessage::Tell { name, text });
            }
        }
        Ok(false)
    }
}
