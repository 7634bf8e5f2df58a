//! One of the ways to look at a run: lines for people, JSON for programs, or nothing.

use windlass_core::agent::AgentEvent;
use windlass_core::event::Record;
use windlass_core::id::{EffectId, RunId};
use windlass_core::run::RunState;
use windlass_core::time::Moment;

use super::human::Human;
use super::json::JsonFeed;
use crate::cli::output::OutputWriter;
use crate::cli::terminal::Terminal;

/// How much of it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    /// What the agent thinks, too.
    pub(crate) thinking: bool,
    /// Long texts to their end.
    pub(crate) whole: bool,
}

/// Who looks.
pub(crate) enum Face {
    /// A person.
    Human(Box<Human>),
    /// A program.
    Json(JsonFeed),
    /// Nobody.
    Quiet,
}

impl Face {
    /// Lines for people.
    pub(crate) fn human(screen: Terminal, style: Style, run: &RunId) -> Face {
        Face::Human(Box::new(Human::new(screen, style, run.clone())))
    }

    /// JSON, a line an object.
    pub(crate) fn json(run: &RunId, style: Style) -> Face {
        Face::Json(JsonFeed::new(run.clone(), style))
    }

    /// What is under way when a run is looked at from its middle on.
    pub(crate) fn see(&mut self, state: &RunState) {
        if let Face::Human(human) = self {
            human.see(state);
        }
    }

    /// The same of a run that was started from it, or from one below.
    pub(crate) fn see_below(&mut self, state: &RunState) {
        if let Face::Human(human) = self {
            human.see_below(state);
        }
    }

    /// Shows a record of the log, or of that of a run that was started from it, by the way to it.
    pub(crate) fn record(&mut self, out: &mut OutputWriter, from: &[RunId], record: &Record) {
        let lines = match self {
            Face::Human(human) => human.record(from, record),
            Face::Json(json) => json.record(from, record),
            Face::Quiet => return,
        };
        self.write(out, &lines);
    }

    /// Shows what the agent said or did.
    pub(crate) fn agent(
        &mut self,
        out: &mut OutputWriter,
        from: &[RunId],
        effect: &EffectId,
        event: &AgentEvent,
        at: Moment,
    ) {
        let lines = match self {
            Face::Human(human) => human.agent(from, effect, event),
            Face::Json(json) => json.agent(from, effect, event, at).into_iter().collect(),
            Face::Quiet => return,
        };
        self.write(out, &lines);
    }

    /// Says that so much of what agents said is missing here, because nobody read in time.
    pub(crate) fn left_out(&mut self, out: &mut OutputWriter, from: &[RunId], count: u64, at: Moment) {
        let lines = match self {
            Face::Human(human) => human.left_out(from, count),
            Face::Json(json) => vec![json.left_out(from, count, at)],
            Face::Quiet => return,
        };
        self.write(out, &lines);
    }

    /// Says something beside the feed.
    pub(crate) fn remark(&mut self, out: &mut OutputWriter, text: &str) {
        match self {
            Face::Human(_) => self.write(out, &[text.to_owned()]),
            Face::Json(_) => crate::cli::report::note(text),
            Face::Quiet => {}
        }
    }

    /// Draws the progress line again, on a terminal.
    pub(crate) fn tick(&mut self, out: &mut OutputWriter, now: Moment) {
        if let Face::Human(human) = self
            && let Some(line) = human.progress(now)
        {
            out.text(&line);
        }
    }

    /// Takes the progress line away.
    pub(crate) fn settle(&mut self, out: &mut OutputWriter) {
        if let Face::Human(human) = self {
            out.text(human.bottom.clear());
        }
    }

    /// Leaves questions to whoever asks them at the terminal.
    pub(crate) fn answer_here(&mut self) {
        if let Face::Human(human) = self {
            human.answer_here();
        }
    }

    /// Gives a person a line to type on.
    pub(crate) fn open_input(&mut self, out: &mut OutputWriter) {
        self.settle(out);
        if let Face::Human(human) = self {
            human.bottom.open_input();
        }
    }

    /// Takes that line away.
    pub(crate) fn close_input(&mut self, out: &mut OutputWriter) {
        if let Face::Human(human) = self {
            out.text(human.bottom.close_input());
        }
    }

    /// Shows what was typed on it so far.
    pub(crate) fn type_in(&mut self, text: &str) {
        if let Face::Human(human) = self {
            human.bottom.type_in(text);
        }
    }

    /// A line was typed on it to its end.
    pub(crate) fn input_entered(&mut self, out: &mut OutputWriter, line: &str) {
        if let Face::Human(human) = self {
            out.text(&human.input_entered(line));
        }
    }

    /// How many lines were written since a person was given a line to type on.
    pub(crate) fn lines_since_input(&self) -> usize {
        match self {
            Face::Human(human) => human.bottom.lines(),
            Face::Json(_) | Face::Quiet => 0,
        }
    }

    /// Lines about a run that was started from this one, below the nodes that started it.
    pub(crate) fn labelled(&self, run: &RunId, lines: Vec<String>) -> Vec<String> {
        match self {
            Face::Human(human) => human.labelled(run, lines),
            Face::Json(_) | Face::Quiet => lines,
        }
    }

    /// Writes lines above the progress line.
    pub(crate) fn write(&mut self, out: &mut OutputWriter, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        self.settle(out);
        for line in lines {
            out.line(line);
        }
        if let Face::Human(human) = self {
            human.bottom.wrote(lines.len());
        }
    }
}
