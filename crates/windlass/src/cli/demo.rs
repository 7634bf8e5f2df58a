//! `windlass demo`: plays a whole loop in a temporary repository, with nothing installed.
//!
//! The agent is `sim`, which plays a script. Sessions, hooks, checks and the log are real. The repository and
//! the state are in one temporary folder. The demo removes it at the end; if the demo is killed, the next
//! demo removes it.

use serde_json::Value;
use windlass_pawl::sim::DEMO_SCRIPT;
use windlass_runtime::demo::{PREFIX, make_repository};
use windlass_runtime::plan::{PlanFlags, RunRequest, WantedWorkflow, plan};

use super::invocation::{Invocation, block_on};
use super::report::{Report, note};
use super::temporary_folder::{TemporaryFolder, make_private};
use super::watch::WatchFlags;
use crate::exit::Exit;

const PROMPT: &str =
    "Write greet.sh, which greets whoever is named and the world otherwise, and a test for it.";

const EXAMPLES: &str = "\
Examples:
  windlass demo
  windlass demo --fast
  windlass demo --keep         keep the repository and the state";

/// The lines at the end.
const NEXT: [&str; 6] = [
    "",
    "A script played the agent: you paid nothing, and the cost above is made up.",
    "Try next, in a repository of yours:",
    "  windlass doctor                                     find your agents",
    "  windlass loop \"fix the tests\" --check \"make test\"   work until it passes",
    "  windlass --help                                     list all commands",
];

/// Play a whole loop in a temporary repository; needs no agent
///
/// The demo also needs no network and no key: a script plays the agent. Everything else is real.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Keep the repository and the state [default: remove them at the end]
    #[arg(long)]
    keep: bool,

    /// Play without pauses
    #[arg(long)]
    fast: bool,

    /// Print JSON, one object per line, instead of the feed
    #[arg(long)]
    json: bool,
}

/// Runs `windlass demo`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let temp = &invocation.home.temp;
    let stage = match args.keep {
        true => TemporaryFolder::build_to_keep(temp, PREFIX),
        false => TemporaryFolder::build(temp, PREFIX),
    };
    let stage = DemoFolder(stage?);
    let played = stage.play(invocation, args);
    if played.is_ok() && !args.json {
        NEXT.iter().for_each(|line| note(line));
    }
    if args.keep {
        let dir = stage.0.path();
        note(&format!("kept in {}", dir.display()));
        note(&format!("look at it with XDG_STATE_HOME={} windlass ps", dir.join("state").display()));
        return played;
    }
    stage.0.remove();
    played
}

/// The temporary folder of a demo.
struct DemoFolder(TemporaryFolder);

impl DemoFolder {
    fn play(&self, mut invocation: Invocation, args: &Args) -> Result<Exit, Report> {
        let script = self.0.path().join("demo.json");
        std::fs::write(&script, script_text(args.fast)).map_err(|error| {
            Report::new(Exit::Configuration, format!("cannot write {}", script.display())).caused_by(&error)
        })?;
        invocation.home.state = self.0.path().join("state/windlass");
        invocation.home.config = self.0.path().join("config/windlass");
        // The user's own settings must not change the demo.
        invocation.home.env.retain(|(name, _)| !name.starts_with("WINDLASS_"));
        invocation.home.env.push(("WINDLASS_SIM_SCRIPT".to_owned(), script.display().to_string()));
        invocation.cwd = self.0.path().join("repository");
        make_private(&invocation.cwd)?;
        make_repository(&invocation.cwd).map_err(|error| {
            let report = Report::new(Exit::Agent, "cannot create a repository").caused_by(&error);
            report.hint("the demo needs git")
        })?;
        let plan = plan(&invocation.home, &request(&invocation))?;
        let handle = invocation.open(plan.durability)?;
        let watch = WatchFlags { json: args.json, stays: args.keep, ..WatchFlags::default() };
        block_on(async {
            let running = handle.start(plan.spec).await?;
            watch.follow(&invocation, &handle, running).await
        })
    }
}

fn request(invocation: &Invocation) -> RunRequest {
    RunRequest {
        cwd: invocation.cwd.clone(),
        input: PROMPT.to_owned(),
        want: WantedWorkflow::Loop,
        plugins: Vec::new(),
        flags: PlanFlags {
            driver: Some("sim".to_owned()),
            max_iterations: Some(5),
            checks: vec!["test=sh test.sh".to_owned()],
            ..PlanFlags::default()
        },
        agent_args: Vec::new(),
        interactive: false,
        detached: false,
        has_terminal: false,
        dry_run: false,
        inputs: Vec::new(),
    }
}

/// Returns the script, with or without its pauses.
fn script_text(fast: bool) -> String {
    let mut script: Value = serde_json::from_str(DEMO_SCRIPT).unwrap_or_default();
    if fast && let Value::Object(map) = &mut script {
        map.remove("delay_ms");
    }
    script.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_whole_and_fast_has_no_pauses() {
        assert!(script_text(false).contains("\"delay_ms\""));
        let fast = script_text(true);
        assert!(fast.contains("WORKFLOW_COMPLETE") && !fast.contains("\"delay_ms\""));
    }
}
