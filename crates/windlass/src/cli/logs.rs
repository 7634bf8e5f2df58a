//! `windlass logs`: a run told again, with those that were started from it, through the same
//! rendering as live.

mod log;

use std::cmp::Reverse;
use std::time::Duration;

use windlass_core::effect::Effect;
use windlass_core::event::Record;
use windlass_core::id::RunId;
use windlass_core::time::Moment;
use windlass_runtime::handle::Handle;

use super::feed::{Face, Style};
use super::here::Here;
use super::output::Out;
use super::report::{Report, note};
use super::watch::ending_lines;
use crate::exit::Exit;
use log::{Log, Voice};

/// How often a run that goes on is looked at.
const POLL: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  windlass logs k3f9
  windlass logs -f k3f9                 follow it until it ends
  windlass logs k3f9 --json | jq .type";

/// Show what happened in a run
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// Go on until the run ends
    #[arg(short, long)]
    follow: bool,

    /// Show what the agent thinks, too
    #[arg(long)]
    show_thinking: bool,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Tells it.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let here = Here::look()?;
    let handle = here.open_to_ask()?;
    let run = handle.find(&args.run)?;
    let style = Style { thinking: args.show_thinking, whole: true };
    let face = if args.json { Face::json(&run, style) } else { Face::human(here.screen, style, &run) };
    let mut telling =
        Telling { handle: &handle, run: &run, face, out: Out::stdout(), at: Moment(0), logs: Vec::new() };
    telling.find(Log::of(run.clone(), Vec::new()))?;
    telling.tell()?;
    if args.follow {
        telling.follow()?;
    }
    telling.end(&here)
}

/// A run being told, with those that were started from it.
struct Telling<'a> {
    handle: &'a Handle,
    run: &'a RunId,
    face: Face,
    out: Out,
    /// When the last record was made.
    at: Moment,
    /// The run, and those below it in the order in which they began.
    logs: Vec<Log>,
}

impl Telling<'_> {
    /// Tells what is there now, the records of all logs in the order of their times.
    fn tell(&mut self) -> Result<(), Report> {
        for log in &mut self.logs {
            log.look_again();
        }
        while let Some((place, record)) = self.next()? {
            self.tell_record(place, &record);
            if !self.out.is_read() {
                return Ok(());
            }
            for planned in &record.effects {
                let Effect::StartRun { run, .. } = &planned.effect else { continue };
                let Some(log) = self.logs.get(place) else { continue };
                let from = log.from.iter().chain([run]).cloned().collect();
                self.find(Log::of(run.clone(), from))?;
            }
        }
        Ok(())
    }

    /// A log that is told from now on, once.
    fn find(&mut self, mut log: Log) -> Result<(), Report> {
        if self.logs.iter().all(|known| known.run != log.run) {
            log.read(self.handle)?;
            self.logs.push(log);
        }
        Ok(())
    }

    /// The oldest record that was not told, and whose log it is. Of two of one moment it is the
    /// one of the run that was started: that it is over is told by the other.
    fn next(&mut self) -> Result<Option<(usize, Record)>, Report> {
        for log in &mut self.logs {
            log.read(self.handle)?;
        }
        let first =
            |(place, log): (usize, &Log)| Some((log.records.front()?.at, Reverse(log.from.len()), place));
        let oldest = self.logs.iter().enumerate().filter_map(first).min();
        let Some((_, _, place)) = oldest else { return Ok(None) };
        let record = self.logs.get_mut(place).and_then(|log| log.records.pop_front());
        Ok(record.map(|record| (place, record)))
    }

    fn tell_record(&mut self, place: usize, record: &Record) {
        let Telling { handle, face, out, at, logs, .. } = self;
        let Some(log) = logs.get_mut(place) else { return };
        log.before(handle, record, &mut Voice { face, out, at: *at });
        *at = record.at;
        face.record(out, &log.from, record);
        log.after(handle, record);
    }

    /// What agents have said since, whatever was decided.
    fn tell_all(&mut self) {
        let Telling { face, out, at, logs, .. } = self;
        for log in logs {
            log.rest_of_all(&mut Voice { face, out, at: *at });
        }
    }

    /// Goes on until the run ends, nobody runs it, or nobody reads.
    fn follow(&mut self) -> Result<(), Report> {
        let mut seen = None;
        loop {
            let version = self.handle.data_version()?;
            if seen != Some(version) {
                seen = Some(version);
                self.tell()?;
            }
            self.tell_all();
            let view = self.handle.view(self.run)?;
            if view.state.is_done() {
                return self.tell();
            }
            if view.status == "crashed" || !self.out.is_read() {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
    }

    /// The summary of a run that is over, or what to do with one that is not.
    fn end(mut self, here: &Here) -> Result<Exit, Report> {
        self.tell_all();
        let view = self.handle.view(self.run)?;
        if let Face::Human(_) = self.face {
            let lines = ending_lines(here, self.handle, &view.state, self.at.since(view.state.started));
            self.face.write(&mut self.out, &lines);
        }
        if view.status == "crashed" {
            note(&format!("nobody runs it: `windlass resume {}` goes on with it", self.run));
        }
        self.out.end(Exit::Completed)
    }
}
