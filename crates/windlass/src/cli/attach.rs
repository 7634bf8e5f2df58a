//! `windlass attach`: returns to the feed and the questions of a run that another process runs.

use std::time::{Duration, Instant};

use windlass_runtime::handle::Handle;
use windlass_runtime::view::{RunStatus, RunView};

use super::alert::Alert;
use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::drive::{DisplayReader, KEYS, REDRAW, RunKeeping, RunSignals, SignalRequest, Viewer, remark};
use super::feed::words;
use super::invocation::{Invocation, block_on};
use super::next_command;
use super::output::OutputWriter;
use super::report::Report;
use super::task_watch::TaskWatch;
use super::terminal_prompt::FeedKey;
use super::watch::{WatchFlags, ending_lines, exit_of, left_running};
use crate::exit::Exit;

/// The interval at which Windlass checks that the process of the run is alive.
const LOOK_EVERY: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  windlass attach              the newest run of this folder that is in progress
  windlass attach k3f9         this run

Keys: `d` leaves the run in the background again (at a question: Ctrl-D),
Ctrl-C interrupts it.";

/// Return to the feed and the questions of a run in the background
///
/// Shows what happens from now on; `windlass logs RUN` shows everything before.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST_OPEN, add = complete::runs(OfferedRuns::Open))]
    run: Option<String>,

    #[command(flatten)]
    watch: WatchFlags,
}

/// Runs `windlass attach`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    args.watch.check()?;
    let handle = invocation.open_to_ask()?;
    let run = default_run::choose(&invocation, &handle, args.run.as_deref(), DefaultRun::NewestOwned)?;
    let view = handle.view(&run)?;
    match view.status {
        RunStatus::Running | RunStatus::Waiting | RunStatus::Paused => {}
        RunStatus::Crashed => {
            return Err(Report::usage(format!("no process runs {run}"))
                .hint(format!("`windlass resume {run}` continues it")));
        }
        RunStatus::Ended(_) | RunStatus::Unknown => return Err(is_over(&view)),
    }
    block_on(follow(args, &invocation, &handle, view))
}

fn is_over(view: &RunView) -> Report {
    let run = &view.run;
    let next = view.state.outcome().and_then(|outcome| next_command::command(run, outcome));
    let report = Report::usage(format!("run {run} is over: {}", view.status.word()));
    report.hint(next.unwrap_or_else(|| format!("`windlass show {run}` shows how it ended")))
}

/// The reason why following ended.
enum AttachEnd {
    Over,
    /// A person left.
    Left,
    /// The process of the run is gone.
    Lost,
}

async fn follow(
    args: &Args,
    invocation: &Invocation,
    handle: &Handle,
    view: RunView,
) -> Result<Exit, Report> {
    let run = view.run.clone();
    let mut face = args.watch.face(invocation, &run);
    let mut out = OutputWriter::stdout();
    let family = handle.family(&view);
    let mut feed = args.watch.feed(&face, handle, &family)?;
    let inline = args.watch.inline(&mut face, invocation, handle, family.clone());
    if inline.is_some() {
        face.show_keys(KEYS);
    }
    face.record(&mut out, &[], &handle.opening(&family)?);
    if !args.watch.json {
        face.remark(&mut out, &format!("earlier lines: windlass logs {run}"));
    }
    face.see(family.root());
    family.below().for_each(|state| face.see_below(state));
    let mut signals = RunSignals::listen()?;
    let mut redraw = tokio::time::interval(REDRAW);
    let mut reader = DisplayReader::of(&out);
    let (mut asked, mut looked) = (0_u32, Instant::now());
    let mut alert = Alert::of(family.root(), &face, invocation);
    if let Some(alert) = &mut alert {
        alert.skip(&family);
    }
    let mut tasks = TaskWatch::new(handle, family.root());
    tasks.count(&mut face);
    let mut viewer = Viewer { face: &mut face, out: &mut out, inline, alert, tasks: Some(&mut tasks) };
    viewer.ask();
    let end = loop {
        tokio::select! {
            update = reader.next(&mut feed, true) => match update {
                Some(Ok(update)) => viewer.show(update),
                // The store may be busy for a moment.
                Some(Err(_)) => {}
                None => break AttachEnd::Over,
            },
            keys = viewer.keys() => if viewer.take(&keys).await == Some(FeedKey::Leave) {
                break AttachEnd::Left;
            },
            wish = signals.next() => match wish {
                SignalRequest::Leave => break AttachEnd::Left,
                SignalRequest::Stop => {
                    asked += 1;
                    handle.interrupt(&run).await?;
                    viewer.face.remark(viewer.out, remark(asked));
                }
            },
            _ = redraw.tick() => {
                viewer.tick();
                if looked.elapsed() >= LOOK_EVERY {
                    looked = Instant::now();
                    if handle.view(&run)?.status.is_crashed() {
                        break AttachEnd::Lost;
                    }
                }
            }
        }
    };
    viewer.face.settle(viewer.out);
    drop(viewer);
    match end {
        AttachEnd::Over => {
            let state = handle.view(&run)?.state;
            if !args.watch.json {
                let mut lines = ending_lines(invocation, handle, &state, words::now(), RunKeeping::Kept);
                lines.extend(next_command::lines(&state));
                face.write(&mut out, &lines);
            }
            out.end(exit_of(&state))
        }
        AttachEnd::Left => {
            // The feed has left the screen before the note comes.
            let ended = out.end(Exit::Completed);
            left_running(&run);
            ended
        }
        AttachEnd::Lost => Err(Report::new(Exit::Agent, format!("the process that ran {run} is gone"))
            .hint(format!("no step is lost: `windlass resume {run}` continues it"))),
    }
}
