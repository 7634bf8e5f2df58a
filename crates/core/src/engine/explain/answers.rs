//! Finds the answers of people in a log: to which request, when, and by whom.
//!
//! A feed gives each record to [`AskTracker::see`]; [`answers`] does that with a whole log.

use crate::event::{AnswerOrigin, Event, PersonReply, Record};
use crate::graph::walk::find;
use crate::graph::workflow::{AskNode, Node, NodeKind};
use crate::id::{HookId, NodeId};
use crate::run::{Ask, FinalStatus, News, Waiting};
use crate::time::Moment;

/// The open requests of a run, as its records show them.
#[derive(Debug, Clone, Default)]
pub struct AskTracker {
    open: Vec<Ask>,
}

/// An answer to a request of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenAnswer {
    pub at: Moment,
    /// The request, as it was before the answer.
    pub ask: Ask,
    pub reply: PersonReply,
    pub by: AnsweredBy,
}

/// The author of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnsweredBy {
    /// A person. Older logs do not say who.
    Person(Option<AnswerOrigin>),
    /// Nobody: an `ask` node took its default.
    Default {
        /// The reason, for people.
        why: String,
    },
}

impl AskTracker {
    /// Returns the open requests, oldest first.
    pub fn open(&self) -> &[Ask] {
        &self.open
    }

    /// Adds an open request, or replaces it.
    pub fn add(&mut self, ask: &Ask) {
        self.open.retain(|known| known.hook != ask.hook);
        self.open.push(ask.clone());
    }

    /// Applies a record. Returns the answer in it, if it answers an open request.
    pub fn see(&mut self, record: &Record) -> Option<GivenAnswer> {
        let given = self.given(record);
        if let Event::SessionEnded { effect, .. } = &record.event {
            self.open.retain(|ask| ask.node != effect.node);
        }
        for news in &record.news {
            match news {
                News::Waiting(Waiting::Person(ask)) => self.add(ask),
                News::HookDecided { hook, .. } => self.open.retain(|ask| ask.hook != *hook),
                News::NodeFinished { node, .. } => self.open.retain(|ask| ask.node != *node),
                _ => {}
            }
        }
        given
    }

    fn given(&mut self, record: &Record) -> Option<GivenAnswer> {
        let Event::PersonAnswered { hook, reply, origin, .. } = &record.event else { return None };
        let ask = self.open.iter_mut().find(|ask| hook.as_ref().is_none_or(|hook| ask.hook == *hook))?;
        let before = ask.clone();
        if let PersonReply::Answers { answers } = reply {
            ask.answers.extend(answers.iter().filter(|(question, _)| !question.is_empty()).cloned());
        }
        // Of several questions some may stay open. A text that is no choice of an `ask` node has no effect.
        let is_taken = ask.questions.len() > 1 || settles(&record.news, &ask.node, &ask.hook);
        let by = AnsweredBy::Person(origin.clone());
        is_taken.then(|| GivenAnswer { at: record.at, ask: before, reply: reply.clone(), by })
    }
}

/// Decides whether news settle a request.
fn settles(news: &[News], node: &NodeId, hook: &HookId) -> bool {
    news.iter().any(|news| match news {
        News::HookDecided { hook: decided, .. } => decided == hook,
        News::NodeFinished { node: finished, .. } => finished == node,
        _ => false,
    })
}

/// Returns the answers in a log, in order, with the defaults that `ask` nodes took.
pub fn answers(records: &[Record]) -> Vec<GivenAnswer> {
    let body: &[Node] = match records.first().map(|record| &record.event) {
        Some(Event::RunStarted { spec }) => &spec.body,
        _ => &[],
    };
    let mut tracker = AskTracker::default();
    let mut found = Vec::new();
    for record in records {
        let asked = tracker.open.clone();
        match tracker.see(record) {
            Some(given) => found.push(given),
            None => found.extend(record.news.iter().filter_map(|news| default(body, &asked, record, news))),
        }
    }
    found
}

/// Returns the default that an `ask` node took.
fn default(body: &[Node], asked: &[Ask], record: &Record, news: &News) -> Option<GivenAnswer> {
    let News::NodeFinished { node, outcome, .. } = news else { return None };
    let why = outcome.detail.clone().filter(|_| outcome.status == FinalStatus::Completed)?;
    let NodeKind::Ask(AskNode { question, choices, default }) = &find(body, &node.in_workflow())?.kind else {
        return None;
    };
    let text = default.clone().unwrap_or_default();
    let ask = asked.iter().find(|ask| ask.node == *node).cloned().unwrap_or_else(|| {
        let question = crate::hook::Question::of_workflow(&question.0, choices);
        Ask::question(node.clone(), HookId::new(format!("ask/{node}")), vec![question])
    });
    let reply = PersonReply::Answers { answers: vec![(String::new(), text)] };
    Some(GivenAnswer { at: record.at, ask, reply, by: AnsweredBy::Default { why } })
}
