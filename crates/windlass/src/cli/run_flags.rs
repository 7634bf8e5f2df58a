//! The flags that `run`, `loop` and `tasks run` share, and how they become a plan and a run.

mod planned;

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use windlass_core::engine::rehearsal::{Rehearsal, RehearsalOptions, RehearsedLoops, WaysWalked};
use windlass_core::graph::workflow::Budget;
use windlass_core::hook::permission::Isolation;
use windlass_core::id::RunId;
use windlass_core::looping::LoopMode;
use windlass_core::spec::{OnPermission, OnQuestion};
use windlass_runtime::catalog::Diagnostic;
use windlass_runtime::handle::{Beside, Handle, StartRequest};
use windlass_runtime::plan::{Plan, PlanFlags, RunRequest, WantedBranch, WantedWorkflow, give_up, plan};
use windlass_runtime::rehearse::{begin_stubs, rehearse, stubs_in, stubs_text};
use windlass_runtime::user_error::ProblemPart;

use super::budget;
use super::command::{Audience, TRUST};
use super::drive::RunSignals;
use super::entities::announce_lines;
use super::feed::{envelope, words};
use super::invocation::{Invocation, block_on, print, wait_for, waiting_runtime};
use super::report::{Report, note, warn};
use super::sanitize::{plain_line, plain_short};
use super::sim_script;
use super::stray;
use super::trust::trust_now;
use super::watch::WatchFlags;
use crate::exit::Exit;

// Headings in the help.
pub(super) const WORK: &str = "What to run";
pub(super) const LIMITS: &str = "Loop and limits";
pub(super) const OUTPUT: &str = "Output";
const DRY_RUN: &str = "Dry run";
const AGENT: &str = "Agent CLI";
pub(super) const REQUESTS: &str = "Questions and permissions";

/// The largest input, in bytes. No prompt may be larger.
const INPUT_MAX: u64 = 1 << 20;
/// The number of uncommitted files that are named.
const UNCOMMITTED: usize = 3;
/// The time after which Windlass tells a person why planning takes long.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time in which a background process must become the owner of its run.
const OWNER_PATIENCE: Duration = Duration::from_secs(10);

/// The flags of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct RunFlags {
    /// Set an input that the workflow declares (may be repeated)
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = pair, help_heading = WORK)]
    inputs: Vec<(String, String)>,

    /// Also load the plugin in DIR (may be repeated)
    #[arg(long = "plugin", value_name = "DIR", help_heading = WORK)]
    plugins: Vec<PathBuf>,

    /// Use this agent CLI: `claude`, `codex`, `opencode`, `copilot`, `gemini`, `acp` for any that speaks the Agent Client Protocol, or `sim`, which plays a script [default: claude]
    #[arg(long, value_name = "NAME", value_parser = filled, help_heading = AGENT)]
    driver: Option<String>,

    /// Run this program as the agent CLI, with arguments if it has several words [default: the one on the PATH]
    #[arg(long, value_name = "PATH", help_heading = AGENT)]
    agent_bin: Option<PathBuf>,

    /// Use this model, as the agent CLI names it [default: the CLI chooses]
    #[arg(long, value_name = "NAME", value_parser = filled, help_heading = AGENT)]
    model: Option<String>,

    /// Let these drivers take the work over, in this order, when the agent's is at its usage limit or fails
    /// again and again: codex,opencode [default: none]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = filled, help_heading = AGENT)]
    fallback: Option<Vec<String>>,

    /// Return to an earlier driver when its limit has reset
    #[arg(long, help_heading = AGENT)]
    switch_back: bool,

    /// Limit what the agent may use: strict (files and shell), minimal (also the web, subagents, skills, MCP
    /// and the project's settings) or permissive (everything) [default: minimal]
    #[arg(long, value_name = "PRESET", value_parser = words_of(Isolation::WORDS), help_heading = AGENT)]
    isolation: Option<Isolation>,

    /// Run in `strict` also on a driver that cannot enforce all of it
    #[arg(long, help_heading = AGENT)]
    isolation_best_effort: bool,

    /// Stop each looping session after N turns or, if no session loops, each task loop after N iterations; 0
    /// means no limit [default: 15 turns, 100 iterations]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, help_heading = LIMITS)]
    max_iterations: Option<u32>,

    /// Loop mode: fresh (a new session for each iteration), in_session (one session that may not stop),
    /// resume (the same session, resumed) or plugin (the ralph-loop plugin) [default: fresh]
    #[arg(long, value_parser = words_of(LoopMode::WORDS), help_heading = LIMITS)]
    mode: Option<LoopMode>,

    /// Require this command to succeed before the work is done, as CMD or NAME=CMD (may be repeated)
    #[arg(long = "check", value_name = "CMD", help_heading = LIMITS)]
    checks: Vec<String>,

    /// End the run after this time: 90s, 30m, 2h, 1d; a bare number means seconds [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = milliseconds, help_heading = LIMITS)]
    timeout: Option<u64>,

    /// Limit what the run may spend: turns=20, tokens=500000, cost=5, time=2h, or several separated by commas
    #[arg(long, value_name = "LIMITS", value_parser = budget::limits, help_heading = LIMITS)]
    budget: Option<Budget>,

    /// Answer to permission requests that no rule decides: deny, allow, fail (block the run) or ask (wait for
    /// a person) [default: ask at a terminal, else deny]
    #[arg(long, value_name = "ANSWER", value_parser = words_of(OnPermission::WORDS), help_heading = REQUESTS)]
    on_permission: Option<OnPermission>,

    /// Answer to questions: fail (block the run), empty (the agent decides itself) or wait (for a person)
    /// [default: wait at a terminal and with --detach, else fail]
    #[arg(long, value_name = "ANSWER", value_parser = words_of(OnQuestion::WORDS), help_heading = REQUESTS)]
    on_question: Option<OnQuestion>,

    /// Trust the rights that the repository asks for; `windlass trust` shows them
    #[arg(long, help_heading = REQUESTS)]
    trust: bool,

    /// Run in the background and print the run's id
    #[arg(long, conflicts_with = "output_last_message")]
    detach: bool,

    /// Show what the run would do, and start nothing. Needs no agent CLI
    #[arg(long, help_heading = DRY_RUN)]
    dry_run: bool,

    /// With --dry-run: walk every branch, with and without each `when` and failure, until every node is
    /// reached, and list the nodes that are not
    #[arg(long, requires = "dry_run", help_heading = DRY_RUN)]
    all_ways: bool,

    /// With --dry-run: take the results of nodes from a YAML or JSON file, and let them decide loops and
    /// branches
    #[arg(long, value_name = "FILE", requires = "dry_run", value_hint = clap::ValueHint::FilePath,
        help_heading = DRY_RUN)]
    stubs: Option<PathBuf>,

    /// Write such a file for the workflow, with a fitting result for each node, or print it; never overwrites
    /// a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "",
        value_hint = clap::ValueHint::FilePath, help_heading = DRY_RUN)]
    stubs_init: Option<String>,

    /// Start even if another run writes in this folder
    #[arg(long)]
    beside: bool,

    #[arg(skip)]
    pub(super) worktree: Option<WantedBranch>,

    #[arg(skip)]
    pub(super) until_signal: Option<String>,

    #[arg(skip)]
    pub(super) jobs: Option<u32>,

    #[command(flatten)]
    watch: WatchFlags,

    /// Arguments for the agent CLI, after `--`
    #[arg(last = true, value_name = "AGENT ARGS")]
    pub(crate) agent_args: Vec<String>,
}

/// Returns a parser that accepts these words and gives the value of each.
pub(super) fn words_of<T: Clone + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let known = words.clone().map(|(word, _)| word);
    let meaning =
        move |word: String| words.iter().find(|(known, _)| *known == word).map(|(_, it)| it.clone());
    PossibleValuesParser::new(known).try_map(move |word| meaning(word).ok_or("not one of the words"))
}

/// Parses a number of iterations: zero or more.
fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "it must be a whole number, and 0 means no limit".to_owned())
}

/// Parses a number of jobs: one or more.
pub(super) fn jobs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("it must be 1 or more".to_owned()),
        Ok(jobs) => Ok(jobs),
        Err(_) => Err("it must be a whole number, 1 or more".to_owned()),
    }
}

/// Parses `NAME=VALUE`; the value may be empty.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it like NAME=VALUE".to_owned()),
    }
}

/// Parses `90`, `90s`, `1500ms`, `30m`, `2h`, `2h30m`, `1d`.
pub(super) fn milliseconds(text: &str) -> Result<u64, String> {
    let unreadable = || "write it like 90s, 30m, 2h or 1d".to_owned();
    let (mut rest, mut all) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit = match unit {
            "ms" => 1,
            // A bare number means seconds.
            "" if number.len() == text.len() => 1_000,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(unreadable()),
        };
        let number: u64 = number.parse().map_err(|_| unreadable())?;
        let sum = number.checked_mul(unit).and_then(|ms| all.checked_add(ms));
        all = sum.ok_or_else(|| "it is too long".to_owned())?;
        rest = after;
    }
    if text.is_empty() {
        return Err(unreadable());
    }
    if all == 0 { Err("it must be more than 0".to_owned()) } else { Ok(all) }
}

/// Parses a name that is not empty.
fn filled(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}

impl RunFlags {
    /// Returns who may use the flags. An agent may not trust a repository. It may not detach a run either: its
    /// session ends everything that it left in the background.
    pub(super) fn audience(&self) -> Audience {
        match (self.trust, self.detach) {
            (true, _) => Audience::Person(TRUST),
            (false, true) => Audience::Person("leave a run in the background"),
            (false, false) => Audience::Anybody,
        }
    }

    /// Returns the request for a run of `want` on `input`.
    fn request(&self, invocation: &Invocation, want: WantedWorkflow, input: String) -> RunRequest {
        RunRequest {
            cwd: invocation.cwd.clone(),
            input,
            want,
            inputs: self.inputs.clone(),
            plugins: self.plugins.iter().map(|dir| invocation.cwd.join(dir)).collect(),
            flags: PlanFlags {
                driver: self.driver.clone(),
                agent_bin: self.agent_bin.clone(),
                model: self.model.clone(),
                fallback: self.fallback.clone(),
                switch_back: self.switch_back,
                isolation: self.isolation,
                isolation_best_effort: self.isolation_best_effort,
                max_iterations: self.max_iterations,
                mode: self.mode,
                checks: self.checks.clone(),
                until_signal: self.until_signal.clone(),
                jobs: self.jobs,
                timeout_ms: self.timeout,
                budget: self.budget.unwrap_or_default(),
                on_permission: self.on_permission,
                on_question: self.on_question,
                worktree: self.worktree.clone(),
            },
            agent_args: self.agent_args.clone(),
            interactive: !self.detach && !self.watch.json && invocation.has_person(),
            detached: self.detach,
            has_terminal: invocation.has_terminal(),
            dry_run: self.is_dry(),
        }
    }

    /// Plans a run on an input and starts it, or only shows the plan.
    pub(crate) fn carry_out(&self, want: WantedWorkflow, input: &str) -> Result<Exit, Report> {
        let is_file = |text: &str| [".yaml", ".yml", ".json"].iter().any(|end| text.ends_with(end));
        if self.stubs_init.as_deref() == Some("") && is_file(input) {
            let hint = format!("write `--stubs-init={}`", plain_line(input));
            return Err(Report::usage("the file of --stubs-init must follow a `=`").hint(hint));
        }
        let invocation = Invocation::look()?;
        let input = read_input(input)?;
        // An entity or a named workflow may work without input.
        if input.trim().is_empty()
            && !matches!(want, WantedWorkflow::Entity { .. } | WantedWorkflow::Workflow(Some(_)))
        {
            return Err(Report::usage("there is nothing to work on: the input is empty"));
        }
        self.begin(&invocation, self.request(&invocation, want, input), Vec::new())
    }

    /// Plans and starts a run of the tasks of a file. The input applies to every task and may be empty.
    /// The warnings about the file have been printed already.
    pub(crate) fn carry_out_tasks(
        &self,
        input: &str,
        file: Option<String>,
        warnings: Vec<Diagnostic>,
    ) -> Result<Exit, Report> {
        let invocation = Invocation::look()?;
        let mut request = self.request(&invocation, WantedWorkflow::Tasks, read_input(input)?);
        request.inputs.extend(file.map(|file| ("path".to_owned(), file)));
        self.begin(&invocation, request, warnings)
    }

    fn begin(
        &self,
        invocation: &Invocation,
        request: RunRequest,
        told: Vec<Diagnostic>,
    ) -> Result<Exit, Report> {
        if self.trust {
            trust_now(invocation)?;
        }
        let mut plan = prepare(invocation, request)?;
        announce_lines(&plan.notes);
        for warning in &plan.warning_texts() {
            warn(warning);
        }
        plan.warnings.extend(told.into_iter().map(ProblemPart::from));
        if let Some(file) = &self.stubs_init {
            return self.begin_stubs(invocation, &plan, file);
        }
        if self.dry_run {
            return self.show_plan(invocation, &plan);
        }
        sim_script::check(invocation, &plan.spec)?;
        if self.detach {
            return self.leave(invocation, plan);
        }
        self.watch.check()?;
        let handle = invocation.open(plan.durability)?;
        self.warn_of_strays(&handle, &mut plan);
        block_on(async {
            make_way(&handle, &mut plan).await?;
            let warnings = plan.warning_texts();
            tell_uncommitted(&handle, &plan);
            let running = handle.start(self.start_request(plan)).await?;
            self.watch.follow_warned(invocation, &handle, running, &warnings).await
        })
    }

    /// Starts the run in the background.
    fn leave(&self, invocation: &Invocation, mut plan: Plan) -> Result<Exit, Report> {
        let handle = invocation.open(plan.durability)?;
        block_on(make_way(&handle, &mut plan))?;
        self.warn_of_strays(&handle, &mut plan);
        let warnings = plan.warning_texts();
        tell_uncommitted(&handle, &plan);
        let run = wait_for(handle.start_detached(self.start_request(plan)))?;
        wait_for_owner(&handle, &run)?;
        if self.watch.json {
            let data = json!({"warnings": warnings});
            return print(&[envelope("run.detached", words::now(), Some(&run), data)]);
        }
        note(&format!(
            "running in the background; `windlass attach {run}` follows it and answers its questions"
        ));
        print(&[run.to_string()])
    }

    fn start_request(&self, plan: Plan) -> StartRequest {
        let beside = if self.beside { Beside::Allowed } else { Beside::Refused };
        StartRequest { spec: plan.spec, worktree: plan.worktree, beside }
    }

    /// Warns of agents whose run is not in the log, where they do not prevent the start.
    fn warn_of_strays(&self, handle: &Handle, plan: &mut Plan) {
        if plan.worktree.is_none() && (self.beside || !plan.spec.may_write()) {
            let texts = stray::warn_of(handle, &plan.spec.workspace);
            plan.warnings.extend(texts.into_iter().map(ProblemPart::from));
        }
    }

    /// Decides whether nothing starts.
    fn is_dry(&self) -> bool {
        self.dry_run || self.stubs_init.is_some()
    }

    fn show_plan(&self, invocation: &Invocation, plan: &Plan) -> Result<Exit, Report> {
        let rehearsed = self.rehearsed(invocation, plan)?;
        if self.watch.json {
            let object = planned::object(plan, rehearsed.as_ref());
            return print(&[envelope("run.planned", words::now(), None, object)]);
        }
        let mut lines = planned::lines(plan, rehearsed.as_ref());
        if let Some(rehearsed) = rehearsed.filter(|_| self.all_ways) {
            lines.extend(planned::ways(plan, &rehearsed));
        }
        print(&lines)
    }

    /// Rehearses the plan. A single session has no order of nodes to show, unless somebody asks for it.
    fn rehearsed(&self, invocation: &Invocation, plan: &Plan) -> Result<Option<Rehearsal>, Report> {
        let is_wanted = self.all_ways || self.stubs.is_some() || plan.spec.only_session().is_none();
        if !is_wanted {
            return Ok(None);
        }
        let mut options = RehearsalOptions::default();
        if let Some(file) = &self.stubs {
            options.stubs = stubs_in(&plan.spec, &invocation.cwd.join(file))?;
            options.loops = RehearsedLoops::AsWritten;
            options.ways = WaysWalked::Taken;
        }
        if self.all_ways {
            options.ways = WaysWalked::All;
        }
        Ok(Some(rehearse(&plan.spec, &options)))
    }

    /// Writes stub results to fill in, or prints them.
    fn begin_stubs(&self, invocation: &Invocation, plan: &Plan, file: &str) -> Result<Exit, Report> {
        if file.is_empty() {
            return print(&stubs_text(&plan.spec).lines().map(str::to_owned).collect::<Vec<_>>());
        }
        begin_stubs(&plan.spec, &invocation.cwd.join(file))?;
        let shown = plain_line(file);
        note(&format!("fill it in, and use it: --dry-run --stubs {shown}"));
        print(&[shown])
    }
}

/// Tells a person which files of the folder are not committed.
fn tell_uncommitted(handle: &Handle, plan: &Plan) {
    let files = if plan.worktree.is_none() { handle.uncommitted(&plan.spec) } else { Vec::new() };
    if files.is_empty() {
        return;
    }
    let names: Vec<String> = files.iter().take(UNCOMMITTED).map(|name| plain_short(name, 30)).collect();
    let more = if files.len() > UNCOMMITTED { ", ..." } else { "" };
    let count = words::count(u64::try_from(files.len()).unwrap_or(u64::MAX), "uncommitted file");
    note(&format!("the folder has {count}: {}{more}", names.join(", ")));
}

/// Ends an unfinished run that would block the new one, and warns about it.
async fn make_way(handle: &Handle, plan: &mut Plan) -> Result<(), Report> {
    if plan.worktree.is_some() {
        return Ok(());
    }
    if let Some(run) = handle.make_way(&plan.spec).await? {
        let text = format!("run {run} was unfinished in this folder: the new prompt ends it");
        warn(&text);
        plan.warnings.push(text.into());
    }
    Ok(())
}

/// Plans a run. Commands in an entity's text may take long: then Windlass tells the person why, and a signal
/// ends the commands too.
fn prepare(invocation: &Invocation, request: RunRequest) -> Result<Plan, Report> {
    let home = invocation.home.clone();
    let runtime = waiting_runtime()?;
    let planned = runtime.block_on(async {
        let mut signals = RunSignals::listen()?;
        let mut work = tokio::task::spawn_blocking(move || plan(&home, &request));
        let mut patience = std::pin::pin!(tokio::time::sleep(PATIENCE));
        let mut has_spoken = false;
        loop {
            tokio::select! {
                done = &mut work => {
                    let done = done.map_err(|error| Report::new(Exit::Unexpected, "the plan failed").caused_by(&error))?;
                    return Ok(done?);
                }
                _ = signals.next() => {
                    give_up();
                    return Err(Report::new(Exit::Interrupted, "interrupted before the run started"));
                }
                () = &mut patience, if !has_spoken => {
                    has_spoken = true;
                    note("still preparing: a command in the prompt text is still running; Ctrl-C ends it");
                }
            }
        }
    });
    // Do not wait for work that is still going on.
    runtime.shutdown_background();
    planned
}

/// Waits until the run has an owner, so that the next command does not take it for a crashed run.
pub(super) fn wait_for_owner(handle: &Handle, run: &RunId) -> Result<(), Report> {
    let begun = Instant::now();
    loop {
        let view = handle.view(run)?;
        if !view.status.is_crashed() {
            return Ok(());
        }
        if begun.elapsed() > OWNER_PATIENCE {
            let log = view.dir.join("owner.log");
            let report =
                Report::new(Exit::Agent, format!("the background process did not take over run {run}"));
            return Err(report
                .hint(format!("{} may say why; `windlass resume {run}` continues it here", log.display())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads standard input if the text is `-`; any other text is the input itself, byte for byte.
fn read_input(typed: &str) -> Result<String, Report> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(INPUT_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Report::usage("cannot read standard input").caused_by(&error))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > INPUT_MAX {
        return Err(Report::usage("the input is larger than 1 MB")
            .hint("put the text in a file and name the file in the prompt"));
    }
    String::from_utf8(bytes)
        .map_err(|error| Report::usage("standard input is not UTF-8 text").caused_by(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_a_unit() {
        let read = |text| milliseconds(text).ok();
        assert_eq!(
            [read("90"), read("90s"), read("30m"), read("2h"), read("1500ms"), read("2h30m"), read("1d")],
            [90_000, 90_000, 1_800_000, 7_200_000, 1500, 9_000_000, 86_400_000].map(Some)
        );
        for wrong in
            ["", "0", "0s", "h", "3 weeks", "-1", "2h30", "99999999999999999999h", "9999999999999999d"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_typed_is_the_input() {
        for typed in ["{input}", "$ARGUMENTS", "{{x}}", "a \"b\" 'c'\nd", "--dashes", " blanks ", ""] {
            assert_eq!(read_input(typed).unwrap(), typed);
        }
    }
}
