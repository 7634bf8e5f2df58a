//! `windlass resume`: continues a run whose owner is gone, a paused run, or a run that has ended.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::id::RunId;
use windlass_core::run::{BudgetRaise, Continuation, Raise};
use windlass_core::spec::{OnPermission, OnQuestion};
use windlass_runtime::handle::{Beside, Handle, ResumeAdditions};
use windlass_runtime::plan::checks;
use windlass_runtime::time_travel::WaitPolicy;
use windlass_runtime::view::{NewestRun, RunSummary, RunView};

use super::budget;
use super::cancel::close_run;
use super::complete::{self, OfferedRuns};
use super::feed::{Face, envelope, words};
use super::invocation::{Invocation, block_on, print, wait_for};
use super::pause::{PauseChange, wait};
use super::report::{Report, note};
use super::run_flags::{LIMITS, REQUESTS, wait_for_owner, words_of};
use super::sanitize::plain_short;
use super::sim_script;
use super::stray;
use super::watch::WatchFlags;
use crate::exit::Exit;

/// The time that a background process waits for the owner before it to end.
const OWNER_PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

const EXAMPLES: &str = "\
Examples:
  windlass resume                             the newest run of this folder
  windlass resume k3f9 --max-iterations +10   ten more iterations
  windlass resume k3f9 --budget cost=+5       five more dollars
  windlass resume k3f9 --now                  do not wait for a usage limit
  windlass resume k3f9 --message \"use the v2 API\"";

/// Continue a run that was interrupted, paused or not completed
///
/// The run continues after its last recorded step: Windlass repeats nothing that has finished. Completed and
/// cancelled runs cannot continue.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run's id, or a unique prefix of it [default: the newest run of this folder, or of a folder above
    /// it, that can continue]
    #[arg(value_name = "RUN", add = complete::runs(OfferedRuns::Unfinished))]
    run: Option<String>,

    /// Change the limit of the loop that ran out of iterations, or else of each loop in progress: +N adds N,
    /// N sets the total
    #[arg(long, value_name = "[+]N", value_parser = budget::iterations, help_heading = LIMITS)]
    max_iterations: Option<Raise<u32>>,

    /// Change what the run may spend: cost=+5 adds, cost=10 sets the total; also turns, tokens and time,
    /// separated by commas
    #[arg(long, value_name = "LIMITS", value_parser = budget::raises, help_heading = LIMITS)]
    budget: Option<BudgetRaise>,

    /// Require this command to succeed from now on, as CMD or NAME=CMD; a check with the same name is
    /// replaced (may be repeated)
    #[arg(long = "check", value_name = "CMD", help_heading = LIMITS)]
    checks: Vec<String>,

    /// Tell the agent this when it continues
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,

    /// Answer to permission requests that no rule decides, from now on
    #[arg(long, value_name = "ANSWER", value_parser = words_of(OnPermission::WORDS), help_heading = REQUESTS)]
    on_permission: Option<OnPermission>,

    /// Answer to questions, from now on
    #[arg(long, value_name = "ANSWER", value_parser = words_of(OnQuestion::WORDS), help_heading = REQUESTS)]
    on_question: Option<OnQuestion>,

    /// Try again now instead of waiting for the end of a usage limit
    #[arg(long)]
    now: bool,

    /// Run in the background and print the run's id
    #[arg(long, conflicts_with = "output_last_message")]
    detach: bool,

    /// Continue even if another run writes in the folder
    #[arg(long)]
    beside: bool,

    #[command(flatten)]
    watch: WatchFlags,

    /// Show nothing; for runs in the background
    #[arg(long, hide = true)]
    quiet: bool,

    /// Wait until the process that runs it has ended; for runs in the background
    #[arg(long, hide = true)]
    after_owner: bool,
}

/// Runs `windlass resume`.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    args.watch.check()?;
    let handle = invocation.open(invocation.durability())?;
    let run = match &args.run {
        Some(prefix) => handle.find(prefix)?,
        None => newest(&invocation, &handle)?,
    };
    if args.quiet {
        return args.take_up(&invocation, &handle, &run);
    }
    let additions = args.additions(&invocation)?;
    let view = handle.view(&run)?;
    if view.state.is_done() || view.status.is_crashed() {
        sim_script::check(&invocation, &view.state.spec)?;
    }
    if view.state.is_done() {
        return args.reopen(&invocation, &handle, &run, additions);
    }
    let is_changed = !additions.more.parts().is_empty() || args.has_policy();
    if is_changed && !view.status.is_crashed() {
        return Err(in_progress(&view));
    }
    if is_changed || (view.status.is_crashed() && view.state.is_interrupting()) {
        // Nobody runs it, so it is ended first and continues as asked.
        wait_for(handle.interrupt(&run))?;
        close_run(&handle, handle.family(&view))?;
        // The handle has watched files on an async runtime that has ended.
        let handle = invocation.open(invocation.durability())?;
        return args.reopen(&invocation, &handle, &run, additions);
    }
    let family = handle.family(&view);
    if args.now {
        if !view.status.is_crashed() && !family.waits_for_a_limit() {
            return Err(Report::usage(format!("run {run} does not wait for the end of a usage limit"))
                .hint(format!("`windlass show {run}` says what it does")));
        }
        wait_for(handle.retry_now(&run))?;
        if !view.status.is_crashed() && !view.state.bookkeeping.paused {
            return retried(&run, args.watch.json);
        }
    }
    if view.state.bookkeeping.paused {
        if view.status.is_crashed() {
            handle.check_folders(&family)?;
        }
        wait_for(handle.unpause(&run))?;
        if !view.status.is_crashed() {
            return let_go_on(&handle, &run, args.watch.json);
        }
    }
    if args.detach {
        wait_for(handle.resume_detached(family))?;
        return args.leave(&handle, &run);
    }
    block_on(async {
        let running = handle.resume(family).await?;
        args.watch.follow(&invocation, &handle, running).await
    })
}

impl Args {
    fn has_policy(&self) -> bool {
        self.on_permission.is_some() || self.on_question.is_some()
    }

    /// Returns what the flags add to the run.
    fn additions(&self, invocation: &Invocation) -> Result<ResumeAdditions, Report> {
        let message = self.message.clone().filter(|message| !message.trim().is_empty());
        if self.message.is_some() && message.is_none() {
            return Err(Report::usage("--message is empty").hint("write the message, or leave --message out"));
        }
        let more = Continuation {
            iterations: self.max_iterations,
            budget: self.budget.unwrap_or_default(),
            checks: checks(&self.checks)?,
            message,
            policy: None,
            prices: None,
        };
        let is_watched = !self.detach && !self.watch.json && invocation.has_person();
        let asks = WaitPolicy {
            on_permission: self.on_permission,
            on_question: self.on_question,
            interactive: is_watched,
            detached: self.detach,
        };
        let beside = if self.beside { Beside::Allowed } else { Beside::Refused };
        Ok(ResumeAdditions { more, asks, beside })
    }

    /// Continues a run that has ended.
    fn reopen(
        &self,
        invocation: &Invocation,
        handle: &Handle,
        run: &RunId,
        with: ResumeAdditions,
    ) -> Result<Exit, Report> {
        if self.detach {
            wait_for(handle.reopen_detached(run, with))?;
            return self.leave(handle, run);
        }
        block_on(async {
            let running = handle.reopen(run, with).await?;
            self.watch.follow(invocation, handle, running).await
        })
    }

    /// Reports that the run continues in the background.
    fn leave(&self, handle: &Handle, run: &RunId) -> Result<Exit, Report> {
        wait_for_owner(handle, run)?;
        if self.watch.json {
            return print(&[envelope("run.detached", words::now(), Some(run), json!({"warnings": []}))]);
        }
        note(&format!(
            "running in the background; `windlass attach {run}` follows it and answers its questions"
        ));
        print(&[run.to_string()])
    }

    /// Runs a run that was left to this background process.
    fn take_up(&self, invocation: &Invocation, handle: &Handle, run: &RunId) -> Result<Exit, Report> {
        let until = Instant::now() + OWNER_PATIENCE;
        block_on(async {
            let running = loop {
                let family = handle.family(&handle.view(run)?);
                match handle.take_up(family).await {
                    Err(error) if self.after_owner && error.is_locked() && Instant::now() < until => {
                        tokio::time::sleep(POLL).await;
                    }
                    taken => break taken?,
                }
            };
            self.watch.follow_as(&mut Face::Quiet, invocation, handle, running).await
        })
    }
}

/// Reports that the limits of a run cannot change while a process runs it.
fn in_progress(view: &RunView) -> Report {
    let run = &view.run;
    Report::usage(format!("run {run} is in progress: its limits can change only after it has stopped"))
        .hint(format!("interrupt it first (Ctrl-C in `windlass attach {run}`), then repeat this command"))
}

/// Reports that a run which another process owns tries again.
fn retried(run: &RunId, json: bool) -> Result<Exit, Report> {
    if json {
        return print(&[envelope("run.retried", words::now(), Some(run), json!({}))]);
    }
    note(&format!("run {run} tries again now; `windlass attach {run}` follows it"));
    Ok(Exit::Completed)
}

/// Waits until the process that owns the run continues it.
fn let_go_on(handle: &Handle, run: &RunId, json: bool) -> Result<Exit, Report> {
    let view = wait(handle, run, PauseChange::GoesOn)?;
    if json {
        let data = json!({"paused": view.state.bookkeeping.paused, "status": view.status.word()});
        return print(&[envelope("run.goes_on", words::now(), Some(run), data)]);
    }
    match view.state.bookkeeping.paused {
        true => note(&format!("run {run} was asked to continue, but has not continued yet")),
        false => note(&format!("run {run} continues; `windlass attach {run}` follows it")),
    }
    Ok(Exit::Completed)
}

/// Finds the newest run of this folder, or of a folder above it, whose process is gone.
fn newest(invocation: &Invocation, handle: &Handle) -> Result<RunId, Report> {
    let cwd = invocation.cwd.canonicalize().unwrap_or_else(|_| invocation.cwd.clone());
    match wait_for(handle.newest_run(&cwd))? {
        NewestRun::Resumable(run) => Ok(run),
        NewestRun::Owned(run) => Err(Report::usage(format!("another process runs run {run} of this folder"))
            .hint(format!("`windlass attach {run}` follows it"))),
        NewestRun::OtherVersion(run) => Err(unreadable(handle, &run)),
        NewestRun::Elsewhere(runs) => Err(nothing(&runs)),
    }
}

/// Reports that another version recorded the only run of this folder.
fn unreadable(handle: &Handle, run: &RunId) -> Report {
    let report = Report::usage(format!(
        "this windlass can resume no run of this folder; another version recorded run {run}"
    ));
    match handle.other_version(run) {
        Ok(Some(other)) => report.hint(stray::binary_hint(run, &other)),
        _ => report.hint("`windlass ps` lists all runs"),
    }
}

fn nothing(elsewhere: &[RunSummary]) -> Report {
    let report = Report::usage("no run of this folder can be resumed");
    if elsewhere.is_empty() {
        return report.hint("`windlass ps` lists all runs");
    }
    let name = |run: &RunSummary| format!("{} in {}", run.run, plain_short(&run.workspace, 60));
    let names: Vec<String> = elsewhere.iter().take(5).map(name).collect();
    report.hint(format!("runs in other folders: {}", names.join("; ")))
}
