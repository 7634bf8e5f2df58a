//! `windlass export`: writes everything that happened in a run into one file, for other programs or for people.
//!
//! [`page`] writes Markdown, [`trace`] an OpenTelemetry trace. JSON Lines are the feed of `windlass logs --json`.

mod page;
mod trace;

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use windlass_core::agent::AgentEvent;
use windlass_core::event::Record;
use windlass_core::id::{EffectId, RunId};
use windlass_core::time::Moment;
use windlass_core::words;
use windlass_runtime::view::{AgentWords, FeedScope, FeedStart, RunChange, RunUpdate};

use self::page::Page;
use self::trace::Trace;
use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::feed::{Face, Style};
use super::invocation::{Invocation, block_on};
use super::output::OutputWriter;
use super::report::Report;
use super::run_flags::words_of;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass export k3f9 -o run.md        a page to read or attach to an issue
  windlass export k3f9 -o run.jsonl     one JSON object per line
  windlass export k3f9 --format otel | curl --json @- localhost:4318/v1/traces";

words! {
    /// `--format`.
    pub(crate) enum ExportFormat {
        /// One JSON object per line, as in `windlass logs --json`.
        Jsonl = "jsonl",
        Markdown = "markdown",
        /// An OpenTelemetry trace as JSON.
        Otel = "otel",
    }
}

/// Write a run as JSON Lines, Markdown or an OpenTelemetry trace
///
/// The file also contains the runs that it started.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST, add = complete::runs(OfferedRuns::All))]
    run: Option<String>,

    /// Write jsonl, markdown or otel (an OpenTelemetry trace as JSON) [default: by the ending of FILE, else jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = words_of(ExportFormat::WORDS))]
    format: Option<ExportFormat>,

    /// Write to this file, which must not exist yet [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs `windlass export`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let run = default_run::choose(&invocation, &handle, args.run.as_deref(), DefaultRun::Newest)?;
    let mut out = match &args.output {
        Some(path) => create(&invocation.cwd.join(path))?,
        None => OutputWriter::stdout(),
    };
    let mut form = ExportForm::new(args.format(), &run);
    block_on(async {
        let scope = FeedScope::Family(run.clone());
        let mut feed = handle.subscribe(scope, FeedStart::Beginning, AgentWords::Included)?;
        let mut at = Moment(0);
        while out.is_read()
            && let Some(update) = feed.next_now().await
        {
            form.take(&mut out, &update?, &mut at);
        }
        Ok::<_, Report>(())
    })?;
    form.end(&mut out);
    out.end(Exit::Completed)
}

impl Args {
    /// Returns the wanted format, or the one that the ending of the file stands for.
    fn format(&self) -> ExportFormat {
        let ending = self.output.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
        self.format.unwrap_or(match ending {
            Some("md" | "markdown") => ExportFormat::Markdown,
            Some("json") => ExportFormat::Otel,
            _ => ExportFormat::Jsonl,
        })
    }
}

/// Creates the file. Never overwrites one.
fn create(path: &Path) -> Result<OutputWriter, Report> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => Ok(OutputWriter::to(Box::new(file))),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(Report::usage(format!("{} exists already", path.display()))
                .hint("name another file, or move that one away"))
        }
        Err(error) => {
            Err(Report::new(Exit::Output, format!("cannot create {}", path.display())).caused_by(&error))
        }
    }
}

/// A run as one of the formats.
enum ExportForm {
    Lines(Box<Face>),
    Page(Page),
    Trace(Box<Trace>),
}

impl ExportForm {
    fn new(format: ExportFormat, run: &RunId) -> ExportForm {
        match format {
            ExportFormat::Jsonl => {
                ExportForm::Lines(Box::new(Face::json(run, Style { thinking: true, whole: true })))
            }
            ExportFormat::Markdown => ExportForm::Page(Page::default()),
            ExportFormat::Otel => ExportForm::Trace(Box::new(Trace::new(run))),
        }
    }

    /// Takes the next update in. `at` is the time of the last record.
    fn take(&mut self, out: &mut OutputWriter, update: &RunUpdate, at: &mut Moment) {
        match &update.change {
            RunChange::Record { record, .. } => {
                *at = record.at;
                self.record(out, update, record);
            }
            RunChange::Agent { effect, event, at: said, .. } => {
                out.wait_for_room();
                self.agent(out, update, (effect, event), said.unwrap_or(*at));
            }
            RunChange::LeftOut { .. } | RunChange::Appeared | RunChange::Ended { .. } => {}
        }
    }

    fn record(&mut self, out: &mut OutputWriter, update: &RunUpdate, record: &Record) {
        match self {
            ExportForm::Lines(face) => face.record(out, &update.path, record),
            ExportForm::Page(page) => out.text(&page.record(&update.run, record)),
            ExportForm::Trace(trace) => trace.record(&update.run, record),
        }
    }

    fn agent(
        &mut self,
        out: &mut OutputWriter,
        update: &RunUpdate,
        (effect, event): (&EffectId, &AgentEvent),
        at: Moment,
    ) {
        match self {
            ExportForm::Lines(face) => face.agent(out, &update.path, effect, event, at),
            ExportForm::Page(page) => out.text(&page.agent(event)),
            ExportForm::Trace(trace) => trace.agent(&update.run, effect, event, at),
        }
    }

    fn end(self, out: &mut OutputWriter) {
        if let ExportForm::Trace(trace) = self {
            out.line(&trace.end().to_string());
        }
    }
}
