//! `windlass logs`: a run told again, with those that were started from it, by the same path and through the
//! same rendering as live.

use std::time::Duration;

use windlass_core::id::RunId;
use windlass_core::time::Moment;
use windlass_runtime::handle::Handle;
use windlass_runtime::view::{AgentWords, FeedScope, FeedStart, RunChange, RunUpdate, Subscription};

use super::feed::{Face, Style};
use super::invocation::{Invocation, block_on};
use super::output::OutputWriter;
use super::report::{Report, note};
use super::watch::ending_lines;
use crate::exit::Exit;

/// How often it is looked whether anybody still runs it.
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
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let run = handle.find(&args.run)?;
    let style = Style { thinking: args.show_thinking, whole: true };
    let face = if args.json { Face::json(&run, style) } else { Face::human(invocation.screen, style, &run) };
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

/// A run being told, with those that were started from it.
struct FollowedRun<'a> {
    handle: &'a Handle,
    run: &'a RunId,
    face: Face,
    out: OutputWriter,
    /// When the last record was made.
    at: Moment,
}

impl FollowedRun<'_> {
    /// Tells what is there now.
    async fn tell(&mut self, feed: &mut Subscription) -> Result<(), Report> {
        while self.out.is_read()
            && let Some(update) = feed.next_now().await
        {
            self.show(&update?);
        }
        Ok(())
    }

    /// Goes on until the run ends, nobody runs it, or nobody reads.
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
            RunChange::Agent { effect, event, .. } => {
                out.wait_for_room();
                face.agent(out, &update.path, effect, event, *at);
            }
            RunChange::LeftOut { count, .. } => face.left_out(out, &update.path, *count, *at),
            RunChange::Appeared | RunChange::Ended { .. } => {}
        }
    }

    /// The summary of a run that is over, or what to do with one that is not.
    fn end(mut self, invocation: &Invocation) -> Result<Exit, Report> {
        let view = self.handle.view(self.run)?;
        if let Face::Human(_) = self.face {
            let lines = ending_lines(invocation, self.handle, &view.state, self.at.since(view.state.started));
            self.face.write(&mut self.out, &lines);
        }
        if view.status.is_crashed() {
            note(&format!("nobody runs it: `windlass resume {}` goes on with it", self.run));
        }
        self.out.end(Exit::Completed)
    }
}
