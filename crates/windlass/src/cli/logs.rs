//! `windlass logs`: shows the feed of a run again, with the runs that it started. It uses the same rendering
//! as a live run.

use std::time::Duration;

use windlass_core::id::RunId;
use windlass_core::time::Moment;
use windlass_runtime::handle::Handle;
use windlass_runtime::view::{AgentWords, FeedScope, FeedStart, RunChange, RunUpdate, Subscription};

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::drive::RunKeeping;
use super::feed::{Face, Style};
use super::invocation::{Invocation, block_on};
use super::output::OutputWriter;
use super::report::{Report, note};
use super::watch::ending_lines;
use crate::exit::Exit;

/// The time between two checks whether the run still has a live process.
const POLL: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  windlass logs                         the newest run of this folder
  windlass logs -f k3f9                 follow a run until it ends
  windlass logs k3f9 --json | jq .type";

/// Show what happened in a run
///
/// Also shows what happened in the runs that it started.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST, add = complete::runs(OfferedRuns::All))]
    run: Option<String>,

    /// Follow the run until it ends
    #[arg(short, long)]
    follow: bool,

    /// Also show what the agent thinks
    #[arg(long)]
    show_thinking: bool,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Runs `windlass logs`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let run = default_run::choose(&invocation, &handle, args.run.as_deref(), DefaultRun::Newest)?;
    let style = Style { thinking: args.show_thinking, whole: true };
    let face = if args.json { Face::json(&run, style) } else { Face::timed(invocation.screen, style, &run) };
    let mut telling =
        FollowedRun { handle: &handle, run: &run, face, out: OutputWriter::stdout(), at: Moment(0) };
    block_on(async {
        let scope = FeedScope::Family(run.clone());
        let mut feed = handle.subscribe(scope, FeedStart::Beginning, AgentWords::Included)?;
        if args.follow {
            telling.follow(&mut feed).await?;
        }
        telling.tell(&mut feed).await
    })?;
    telling.end(&invocation)
}

/// A run being shown, with the runs that it started.
struct FollowedRun<'a> {
    handle: &'a Handle,
    run: &'a RunId,
    face: Face,
    out: OutputWriter,
    /// The time of the last record.
    at: Moment,
}

impl FollowedRun<'_> {
    /// Shows everything that is there now.
    async fn tell(&mut self, feed: &mut Subscription) -> Result<(), Report> {
        while self.out.is_read()
            && let Some(update) = feed.next_now().await
        {
            self.show(&update?);
        }
        Ok(())
    }

    /// Shows updates until the run ends, its process is gone, or nobody reads the output.
    async fn follow(&mut self, feed: &mut Subscription) -> Result<(), Report> {
        while self.out.is_read() {
            match tokio::time::timeout(POLL, feed.next()).await {
                Ok(Some(update)) => self.show(&update?),
                Ok(None) => return Ok(()),
                Err(_) if self.handle.view(self.run)?.status.is_crashed() => return Ok(()),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn show(&mut self, update: &RunUpdate) {
        let FollowedRun { face, out, at, .. } = self;
        match &update.change {
            RunChange::Record { record, .. } => {
                *at = record.at;
                face.record(out, &update.path, record);
            }
            RunChange::Agent { effect, event, at: said, .. } => {
                out.wait_for_room();
                face.agent(out, &update.path, effect, event, said.unwrap_or(*at));
            }
            RunChange::LeftOut { count, .. } => face.left_out(out, &update.path, *count, *at),
            RunChange::Appeared | RunChange::Ended { .. } => {}
        }
    }

    /// Shows the summary of a run that ended, or how to continue one whose process is gone.
    fn end(mut self, invocation: &Invocation) -> Result<Exit, Report> {
        let view = self.handle.view(self.run)?;
        if let Face::Timed(..) = self.face {
            let lines = ending_lines(invocation, self.handle, &view.state, self.at, RunKeeping::Kept);
            self.face.write(&mut self.out, &lines);
        }
        if view.status.is_crashed() {
            note(&format!("its process is gone: `windlass resume {}` continues it", self.run));
        }
        self.out.end(Exit::Completed)
    }
}
