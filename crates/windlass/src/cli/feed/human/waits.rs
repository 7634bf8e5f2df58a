//! What a run waits for, and what ends it.

use windlass_core::run::Waiting;
use windlass_core::time::Moment;

use super::Human;
use crate::cli::feed::ask;
use crate::cli::feed::words::{self, span};
use crate::cli::plain::{plain_line, plain_short};
use crate::cli::screen::Tone;

impl Human {
    pub(super) fn waiting(&mut self, waiting: &Waiting, at: Moment) -> Vec<String> {
        self.phase = "waiting";
        let text = match waiting {
            Waiting::RateLimit { until } => {
                let (clock, wait) = (words::clock(*until), span(until.since(at)));
                vec![format!("usage limit reached: waiting until {clock} (in {wait})")]
            }
            Waiting::Retry { until, what } => {
                vec![format!("{}: trying again in {}", plain_short(what, 200), span(until.since(at)))]
            }
            Waiting::Person(ask) => {
                self.phase = "waiting for you";
                if self.answers_here { Vec::new() } else { ask::describe(&self.run, ask, self.whose()) }
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
        text.iter().map(|line| self.screen.paint(Tone::Careful, &format!("  {line}"))).collect()
    }

    fn whose(&self) -> ask::Whose {
        if self.nodes.is_one() { ask::Whose::Only } else { ask::Whose::OneOfSeveral }
    }

    pub(super) fn paused(&mut self) -> Vec<String> {
        self.phase = "paused";
        let run = &self.run;
        self.unless_child(&format!(
            "paused: what is under way goes on, nothing new begins; windlass resume {run}"
        ))
    }

    /// What the run around it says already.
    pub(super) fn unless_child(&self, text: &str) -> Vec<String> {
        if self.is_child { Vec::new() } else { vec![self.screen.paint(Tone::Careful, &format!("  {text}"))] }
    }
}
