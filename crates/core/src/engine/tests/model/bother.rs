//! Events that reach a run unasked: hooks of its agents, people, and late outcomes.

use serde_json::json;

use super::super::session_end;
use super::world::{Event, World, settles};
use crate::effect::Planned;
use crate::event::{PersonReply, SessionVerdict, ShellEnd};
use crate::hook::{HookCall, HookKind, Question, ToolCall};
use crate::id::{EffectId, HookId, InboxId, NodeId, Verb};
use crate::run::Ask;
use crate::tasks::Claim;

impl World {
    /// A hook of a turn: 0 stops, others ask.
    pub(super) fn hook_of(&mut self, from: Option<EffectId>, kind: usize) {
        let kind = match kind {
            0 => {
                let background = self.seldom(8) == 7;
                HookKind::Stop { last_message: Some("SIGNAL".into()), background }
            }
            1 => HookKind::Tool(ToolCall::named("Read", json!({}))),
            2 if self.seldom(4) == 3 => HookKind::Permission(ToolCall::named("Write", json!({}))),
            2 => HookKind::Tool(ToolCall::named("Write", json!({}))),
            3 => HookKind::Question { questions: vec![Question::open("which?")] },
            _ => HookKind::Other { name: "SessionStart".into() },
        };
        let id = HookId::new(format!("h{}", self.calls.len()));
        let unanswered = match kind {
            HookKind::Stop { .. } => self.some_unanswered(),
            _ => Vec::new(),
        };
        let call = HookCall { id, from, kind, unanswered, real: None };
        self.calls.push(call.clone());
        self.tell(Event::HookAsked { call });
    }

    /// Calls that found no owner: one that was made and one that nobody ever saw.
    pub(super) fn some_unanswered(&mut self) -> Vec<HookId> {
        if self.seldom(12) != 11 {
            return Vec::new();
        }
        let fresh = HookId::new(format!("gone{}", self.records.len()));
        let seen = self.calls.last().map(|call| call.id.clone());
        seen.into_iter().chain([fresh]).collect()
    }

    /// A hook from anywhere: a turn that was, one that never was, nobody knows, or the same again.
    pub(super) fn some_hook(&mut self) {
        if self.seldom(4) == 3 && !self.calls.is_empty() {
            let which = self.roll(self.calls.len());
            self.tell(Event::HookAsked { call: self.calls[which].clone() });
            return;
        }
        let turns: Vec<EffectId> = self.handed.iter().map(|planned| planned.id.clone()).collect();
        let turns: Vec<EffectId> = turns.into_iter().filter(|id| id.verb == Verb::Session).collect();
        let from = match self.roll(turns.len() + 2) {
            0 => None,
            1 => {
                Some(EffectId { node: NodeId::new("nobody"), iteration: 1, attempt: 1, verb: Verb::Session })
            }
            which => Some(turns[which - 2].clone()),
        };
        let kind = self.roll(5);
        self.hook_of(from, kind);
    }

    pub(super) fn some_answer(&mut self) {
        let asks = self.state.bookkeeping.asks.clone();
        if asks.is_empty() {
            let hook = Some(HookId::new("nobody"));
            self.tell(Event::PersonAnswered {
                inbox: InboxId::new("i"),
                hook,
                reply: PersonReply::Approve,
                origin: None,
            });
            return;
        }
        let which = self.roll(asks.len());
        match self.roll(4) {
            0 | 1 => self.answer(&asks[which]),
            2 => {
                let reply = PersonReply::Reject { reason: "no".into() };
                self.tell(Event::PersonAnswered {
                    inbox: InboxId::new("i"),
                    hook: None,
                    reply,
                    origin: None,
                });
            }
            _ => {
                let answers = vec![("something else?".to_owned(), "x".to_owned())];
                let reply = PersonReply::Answers { answers };
                self.tell(Event::PersonAnswered {
                    inbox: InboxId::new("i"),
                    hook: None,
                    reply,
                    origin: None,
                });
            }
        }
    }

    pub(super) fn answer(&mut self, ask: &Ask) {
        let reply = PersonReply::Answers { answers: vec![(String::new(), "yes".into())] };
        let hook = Some(ask.hook.clone());
        self.tell(Event::PersonAnswered { inbox: InboxId::new("i"), hook, reply, origin: None });
    }

    /// An outcome that was told already, or of something that nobody waits for any more.
    pub(super) fn something_late(&mut self) {
        let which = self.roll(self.records.len());
        let again = self.records[which].event.clone();
        if settles(&again).is_some() {
            self.tell_late(again);
        }
        let is_stale = |planned: &&Planned| {
            planned.effect.is_settled_by_an_event()
                && !self.state.bookkeeping.open.iter().any(|open| open.id == planned.id)
        };
        let stale: Vec<EffectId> =
            self.handed.iter().filter(is_stale).map(|planned| planned.id.clone()).collect();
        if !stale.is_empty() {
            let effect = stale[self.roll(stale.len())].clone();
            let late = match effect.verb {
                Verb::Session => Event::SessionEnded { effect, end: session_end(SessionVerdict::Completed) },
                Verb::Shell => Event::ShellEnded { effect, end: ShellEnd::Unknown },
                Verb::CleanUp => Event::CleanedUp { effect },
                Verb::Claim => Event::TaskClaimed { effect, claim: Claim::AllDone, odd: Vec::new() },
                _ => Event::WaitOver { effect },
            };
            self.tell_late(late);
        }
    }
}
