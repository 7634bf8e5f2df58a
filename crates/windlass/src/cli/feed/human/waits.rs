//! Lines about waits: for a person, an event, a time or a retry.

use windlass_core::effect::{Effect, Planned};
use windlass_core::event::{Event, Record};
use windlass_core::id::{NodeId, Verb};
use windlass_core::run::{News, Waiting};

use super::{Human, WORKING};
use crate::cli::feed::ask::{self, OtherRequests};
use crate::cli::feed::words::{self, span};
use crate::cli::feed::wrap::fold;
use crate::cli::sanitize::{plain_line, plain_short};
use crate::cli::terminal::TextTone;

impl Human {
    pub(super) fn waiting(&mut self, waiting: &Waiting, record: &Record) -> Vec<String> {
        let at = record.at;
        self.phase = "waiting";
        let text = match waiting {
            Waiting::RateLimit { until } => {
                let (clock, wait) = (words::clock(*until), span(until.since(at)));
                vec![format!("usage limit reached: waiting until {clock} (in {wait})")]
            }
            Waiting::Retry { until, what } => {
                let attempt = match &record.event {
                    Event::SessionEnded { effect, .. } => effect.attempt + 1,
                    _ => return self.again(what, "trying again", Some(until.since(at))),
                };
                return self.retrying(what, attempt, None, Some(until.since(at)));
            }
            Waiting::Person(ask) => {
                self.phase = "waiting for you";
                let beside = OtherRequests::of(self.asks.open().len());
                let default = self.spec.as_ref().and_then(|spec| ask::default_of(spec, ask));
                if self.answers_here {
                    Vec::new()
                } else {
                    ask::describe(&self.run, ask, self.whose(), beside, default)
                }
            }
            Waiting::Time { until } => {
                vec![format!("waiting until {} (in {})", words::clock(*until), span(until.since(at)))]
            }
            Waiting::Event { name } => {
                let (run, name) = (&self.run, plain_line(name));
                vec![format!("waiting for the event {name}: windlass send {run} --event {name}")]
            }
            Waiting::Paused => return self.paused(),
        };
        let width = if self.screen.redraws { self.screen.width.saturating_sub(1) } else { usize::MAX };
        let lines = text.iter().flat_map(|line| fold(&format!("  {line}"), width));
        lines.map(|line| self.screen.paint(TextTone::Careful, &line)).collect()
    }

    /// Says which try of a turn, a node or an answer comes next, when and why.
    pub(super) fn retrying(
        &mut self,
        what: &str,
        attempt: u32,
        of: Option<u32>,
        wait_ms: Option<u64>,
    ) -> Vec<String> {
        let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
        self.again(what, &format!("try {attempt}{of}"), wait_ms)
    }

    fn again(&mut self, what: &str, again: &str, wait_ms: Option<u64>) -> Vec<String> {
        let when = wait_ms.map(|ms| format!(" in {}", span(ms))).unwrap_or_default();
        if wait_ms.is_some() {
            self.phase = "waiting";
        }
        vec![self.screen.paint(TextTone::Careful, &format!("  {again}{when}: {}", plain_short(what, 200)))]
    }

    /// Says that a wait has ended. After a retry the heading of the node says so.
    pub(super) fn wait_over(&mut self, event: &Event, node: Option<&NodeId>) -> Vec<String> {
        self.phase = WORKING;
        // The line about an answer says that the wait is over.
        let is_said = match event {
            Event::WaitOver { effect } => effect.verb == Verb::Retry,
            Event::PersonAnswered { .. } => true,
            _ => false,
        };
        if is_said {
            return Vec::new();
        }
        let with = self.one_of_several(node).map(|name| format!(" with {name}")).unwrap_or_default();
        vec![self.screen.paint(TextTone::Careful, &format!("  continuing{with}"))]
    }

    /// Says which event arrived, and for which node.
    pub(super) fn lines(&self, name: &str, record: &Record) -> Vec<String> {
        let node = finished(record.news.iter());
        let to = self.one_of_several(node).map(|node| format!(" ({node})")).unwrap_or_default();
        vec![format!("  received event {}{to}", plain_short(name, 80))]
    }

    /// Returns the name of a node if other nodes are in progress and no label names it.
    fn one_of_several(&self, node: Option<&NodeId>) -> Option<String> {
        let node =
            node.filter(|node| self.nodes.only_open().is_none() && self.nodes.label(node).is_none())?;
        Some(self.nodes.name(node))
    }

    fn whose(&self) -> ask::Asker {
        if self.nodes.is_one() { ask::Asker::Only } else { ask::Asker::OneOfSeveral }
    }

    pub(super) fn paused(&mut self) -> Vec<String> {
        self.is_paused = true;
        let run = &self.run;
        self.unless_child(&format!(
            "paused: sessions in progress finish, nothing new starts; continue with `windlass resume {run}`"
        ))
    }

    /// Returns a line, but not in a sub-run: there the parent shows the same.
    pub(super) fn unless_child(&self, text: &str) -> Vec<String> {
        if self.is_child {
            Vec::new()
        } else {
            vec![self.screen.paint(TextTone::Careful, &format!("  {text}"))]
        }
    }
}

/// Finds the node that waits or waited: the node that has just started, or the one that the event is about.
pub(super) fn about<'a>(news: &'a News, record: &'a Record) -> Option<&'a NodeId> {
    if let News::Waiting(Waiting::Person(ask)) = news {
        return Some(&ask.node);
    }
    let before = record.news.iter().take_while(|other| !std::ptr::eq(*other, news));
    let begun = before.filter_map(|other| match other {
        News::NodeStarted { node, .. } => Some(node),
        _ => None,
    });
    begun.last().or(match &record.event {
        Event::SessionEnded { effect, .. } | Event::WaitOver { effect } => Some(&effect.node),
        // The event or answer ends its node, or answers the hook of an agent.
        Event::PersonAnswered { .. } | Event::EventReceived { .. } => {
            let after = record.news.iter().skip_while(|other| !std::ptr::eq(*other, news));
            finished(after).or_else(|| answered(record))
        }
        _ => None,
    })
}

/// Returns the first node that ended.
fn finished<'a>(mut news: impl Iterator<Item = &'a News>) -> Option<&'a NodeId> {
    news.find_map(|news| match news {
        News::NodeFinished { node, .. } => Some(node),
        _ => None,
    })
}

/// Returns the node whose agent gets the answer.
fn answered(record: &Record) -> Option<&NodeId> {
    let is_answer = |planned: &&Planned| matches!(planned.effect, Effect::AnswerHook { .. });
    record.effects.iter().find(is_answer).map(|planned| &planned.id.node)
}
