//! The displays of a run: lines for people, JSON for programs, or nothing.

use windlass_core::agent::AgentEvent;
use windlass_core::event::Record;
use windlass_core::id::{EffectId, RunId};
use windlass_core::run::RunState;
use windlass_core::time::Moment;

use super::human::Human;
use super::json::JsonFeed;
use super::line_times::{self, LineTimes};
use crate::cli::fit;
use crate::cli::output::OutputWriter;
use crate::cli::terminal::Terminal;

/// The amount of detail that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    /// Also show what the agent thinks.
    pub(crate) thinking: bool,
    /// Show long texts in full.
    pub(crate) whole: bool,
}

/// A display of a run.
pub(crate) enum Face {
    /// Lines for people.
    Human(Box<Human>),
    /// Lines for people, each with its time.
    Timed(Box<Human>, LineTimes),
    /// JSON for programs.
    Json(JsonFeed),
    /// No display.
    Quiet,
}

impl Face {
    /// Creates a display with lines for people.
    pub(crate) fn human(screen: Terminal, style: Style, run: &RunId) -> Face {
        Face::Human(Box::new(Human::new(screen, style, run.clone())))
    }

    /// Creates a display with lines for people, each with its time.
    pub(crate) fn timed(screen: Terminal, style: Style, run: &RunId) -> Face {
        let screen = Terminal { width: screen.width.saturating_sub(line_times::WIDTH), ..screen };
        Face::Timed(Box::new(Human::new(screen, style, run.clone())), LineTimes::default())
    }

    /// Creates a display with one JSON object per line.
    pub(crate) fn json(run: &RunId, style: Style) -> Face {
        Face::Json(JsonFeed::new(run.clone(), style))
    }

    /// Takes in the state of a run that is shown from the middle on.
    pub(crate) fn see(&mut self, state: &RunState) {
        match self {
            Face::Human(human) | Face::Timed(human, _) => human.see(state),
            Face::Json(json) => json.see(state),
            Face::Quiet => {}
        }
    }

    /// Takes in the state of a run below it.
    pub(crate) fn see_below(&mut self, state: &RunState) {
        match self {
            Face::Human(human) | Face::Timed(human, _) => human.see_below(state),
            Face::Json(json) => json.see(state),
            Face::Quiet => {}
        }
    }

    /// Sets how many tasks of the run's task file are done, and how many there are.
    pub(crate) fn count_tasks(&mut self, done: usize, all: usize) {
        if let Face::Human(human) = self {
            human.nodes.tasks.count(done, all);
        }
    }

    /// Shows a record of the run, or of a run below it; `from` is the path to that run.
    pub(crate) fn record(&mut self, out: &mut OutputWriter, from: &[RunId], record: &Record) {
        let lines = match self {
            Face::Human(human) => human.record(from, record),
            Face::Timed(human, times) => {
                times.stamp(human.screen, record.at, fitted(human.screen, &human.record(from, record)))
            }
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
            Face::Timed(human, times) => {
                times.stamp(human.screen, at, fitted(human.screen, &human.agent(from, effect, event)))
            }
            Face::Json(json) => json.agent(from, effect, event, at).into_iter().collect(),
            Face::Quiet => return,
        };
        self.write(out, &lines);
    }

    /// Says that `count` agent events are left out, because the reader was too slow.
    pub(crate) fn left_out(&mut self, out: &mut OutputWriter, from: &[RunId], count: u64, at: Moment) {
        let lines = match self {
            Face::Human(human) => human.left_out(from, count),
            Face::Timed(human, times) => {
                times.stamp(human.screen, at, fitted(human.screen, &human.left_out(from, count)))
            }
            Face::Json(json) => vec![json.left_out(from, count, at)],
            Face::Quiet => return,
        };
        self.write(out, &lines);
    }

    /// Shows a message that is not part of the feed.
    pub(crate) fn remark(&mut self, out: &mut OutputWriter, text: &str) {
        match self {
            Face::Human(_) | Face::Timed(..) => self.write(out, &[text.to_owned()]),
            Face::Json(_) => crate::cli::report::note(text),
            Face::Quiet => {}
        }
    }

    /// Redraws the progress line on a terminal.
    pub(crate) fn tick(&mut self, out: &mut OutputWriter, now: Moment) {
        if let Face::Human(human) = self
            && let Some(line) = human.progress(now)
        {
            out.text(&line);
        }
    }

    /// Decides whether the display shows the time that passes.
    pub(crate) fn has_clock(&self) -> bool {
        matches!(self, Face::Human(human) if human.screen.redraws && !human.bottom.is_input())
    }

    /// Removes the progress line.
    pub(crate) fn settle(&mut self, out: &mut OutputWriter) {
        if let Face::Human(human) = self {
            out.text(human.bottom.clear());
        }
    }

    /// Leaves questions to the terminal prompt.
    pub(crate) fn answer_here(&mut self) {
        if let Face::Human(human) = self {
            human.answer_here();
        }
    }

    /// Shows these keys at the end of the progress line.
    pub(crate) fn show_keys(&mut self, keys: &'static str) {
        if let Face::Human(human) = self {
            human.show_keys(keys);
        }
    }

    /// Opens the line for a person to type on.
    pub(crate) fn open_input(&mut self, out: &mut OutputWriter) {
        self.settle(out);
        if let Face::Human(human) = self {
            human.bottom.open_input();
        }
    }

    /// Removes the input line.
    pub(crate) fn close_input(&mut self, out: &mut OutputWriter) {
        if let Face::Human(human) = self {
            out.text(human.bottom.close_input());
        }
    }

    /// Shows the typed text on the input line.
    pub(crate) fn type_in(&mut self, text: &str) {
        if let Face::Human(human) = self {
            human.bottom.type_in(text);
        }
    }

    /// Keeps the entered line and closes the input line.
    pub(crate) fn input_entered(&mut self, out: &mut OutputWriter, line: &str) {
        if let Face::Human(human) = self {
            out.text(&human.input_entered(line));
        }
    }

    /// Returns how many lines were written since the input line was opened.
    pub(crate) fn lines_since_input(&self) -> usize {
        match self {
            Face::Human(human) => human.bottom.lines(),
            Face::Timed(..) | Face::Json(_) | Face::Quiet => 0,
        }
    }

    /// Labels lines about a run below with the nodes that started it.
    pub(crate) fn labelled(&self, run: &RunId, lines: Vec<String>) -> Vec<String> {
        match self {
            Face::Human(human) | Face::Timed(human, _) => human.labelled(run, lines),
            Face::Json(_) | Face::Quiet => lines,
        }
    }

    /// Writes lines above the progress line.
    pub(crate) fn write(&mut self, out: &mut OutputWriter, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        self.settle(out);
        let fitting = match self {
            Face::Human(human) => fitted(human.screen, lines),
            Face::Timed(human, _) => {
                let width = human.screen.width.saturating_add(line_times::WIDTH);
                fitted(Terminal { width, ..human.screen }, lines)
            }
            Face::Json(_) | Face::Quiet => lines.to_vec(),
        };
        for line in &fitting {
            out.line(line);
        }
        if let Face::Human(human) = self {
            human.bottom.wrote(fitting.len());
        }
    }
}

/// Wraps lines that are too wide for the terminal.
fn fitted(screen: Terminal, lines: &[String]) -> Vec<String> {
    fit::wrap_all(lines, 2, screen.limit())
}
