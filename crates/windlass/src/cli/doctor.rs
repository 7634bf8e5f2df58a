//! `windlass doctor`: checks which agent CLIs are installed and what each can do.

mod conformance;
mod suite_table;

use std::path::PathBuf;

use serde_json::json;
use windlass_pawl::host::{Grouping, clear_dead_groups, grouping};
use windlass_runtime::Durability;
use windlass_runtime::doctor::{
    Capability, DriverLimit, DriverReport, GitReport, LoginReport, doctor, git_report,
};
use windlass_runtime::error::RunError;
use windlass_runtime::handle::{Handle, StrayRun};
use windlass_runtime::without_log;

use super::feed::{envelope, words};
use super::fit;
use super::invocation::{Invocation, print};
use super::report::Report;
use super::sanitize::plain_line;
use super::stray::{self, LogState};
use super::terminal::{Terminal, TextTone};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass doctor
  windlass doctor --json
  windlass doctor --conformance                  test them on a scripted model
  windlass doctor --conformance --driver codex";

/// Check which agent CLIs are installed and what each can do
///
/// Also checks git, that Windlass can find every process that an agent leaves behind, and that the log knows every
/// run.
///
/// With `--conformance` it runs every installed agent CLI under Windlass on a scripted model of this machine, and shows
/// what works. It needs no network, no key and no login, and touches none of your settings. It takes some minutes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,

    /// Test the installed agent CLIs on a scripted model
    #[arg(long)]
    conformance: bool,

    /// Test only this driver (repeatable)
    #[arg(long, value_name = "NAME", requires = "conformance")]
    driver: Vec<String>,
}

/// Runs `windlass doctor`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    if args.conformance {
        return conformance::perform(&invocation, &args.driver, args.json);
    }
    clear_dead_groups();
    let drivers = doctor(&invocation.home);
    let git = git_report(&invocation.home, &invocation.cwd);
    let log = LogReport::of(&invocation);
    if args.json {
        let strays = log.strays.iter().map(stray::object);
        let lines = drivers
            .iter()
            .map(object)
            .chain([git_object(&git), keeping_object(&grouping()), log.object()])
            .chain(strays);
        print(&lines.collect::<Vec<_>>())?;
        return Ok(log.exit());
    }
    let mut lines: Vec<String> =
        drivers.iter().flat_map(|driver| describe(invocation.screen, driver)).collect();
    lines.extend(describe_git(invocation.screen, &git));
    lines.push(String::new());
    lines.extend(matrix(&drivers));
    lines.push(String::new());
    lines.extend(keeping(invocation.screen, &grouping()));
    lines.push(String::new());
    lines.extend(log.lines(invocation.screen));
    print(&fit::wrap_all(&lines, 2, invocation.screen.limit()))?;
    Ok(log.exit())
}

fn git_object(git: &GitReport) -> String {
    let data = json!({
        "ok": git.problem.is_none(),
        "program": git.program,
        "version": git.version,
        "problem": git.problem,
        "repository": git.is_repository,
    });
    envelope("git", words::now(), None, data)
}

fn describe_git(screen: Terminal, git: &GitReport) -> Vec<String> {
    if let Some(problem) = &git.problem {
        let why = screen.paint(TextTone::Careful, "cannot be used");
        return vec![
            format!("{} git: {why}: {}", screen.check(false), plain_line(problem)),
            "    hint: install git; without it there are no worktrees, and no list of changed files"
                .to_owned(),
        ];
    }
    let version = git.version.as_deref().map(plain_line).unwrap_or_default();
    let version = version.trim_start_matches("git version ");
    let place = match git.is_repository {
        true => "this folder is in a repository",
        false => "this folder is in no repository, and `--jobs` needs one: git init",
    };
    vec![format!("{} git: {version}", screen.check(true)), format!("    {place}")]
}

/// Describes as JSON how Windlass finds the processes that an agent leaves behind.
fn keeping_object(grouping: &Grouping) -> String {
    let (folder, why_not) = match grouping {
        Grouping::In(folder) => (Some(folder), None),
        Grouping::None(why) => (None, Some(why)),
    };
    let data = json!({"guard": true, "cgroup": folder, "cgroup_missing": why_not});
    envelope("keeping", words::now(), None, data)
}

/// Describes the same for people.
fn keeping(screen: Terminal, grouping: &Grouping) -> Vec<String> {
    match grouping {
        Grouping::In(folder) => {
            let folder = plain_line(&folder.display().to_string());
            vec![
                format!("{} no process is left behind: each session has a guard and a cgroup", screen.check(true)),
                format!("    {folder}"),
            ]
        }
        Grouping::None(why) => vec![
            format!("{} no process is left behind: each session has a guard, but no cgroup", screen.check(true)),
            format!("    {}", plain_line(why)),
            "    hint: Windlass can miss a process only if it hides while the host, its guard and Windlass are all \
             killed; to find that one too, allow cgroups: `systemd-run --user --scope windlass …`"
                .to_owned(),
        ],
    }
}

/// The state of the log, and the runs that are not in it.
struct LogReport {
    path: PathBuf,
    error: Option<RunError>,
    strays: Vec<StrayRun>,
    kept: Vec<PathBuf>,
}

impl LogReport {
    /// Checks the log. Without a state folder there is nothing to check.
    fn of(invocation: &Invocation) -> LogReport {
        let (path, kept) =
            (invocation.home.state.join("windlass.db"), without_log::kept_aside(&invocation.home));
        let strays = match invocation.home.state.exists() {
            true => {
                Handle::open(invocation.home.clone(), Durability::Full).and_then(|handle| handle.strays())
            }
            false => Ok(Vec::new()),
        };
        match strays {
            Ok(strays) => LogReport { path, error: None, strays, kept },
            Err(error) => {
                LogReport { path, error: Some(error), strays: without_log::alive(&invocation.home), kept }
            }
        }
    }

    fn is_sound(&self) -> bool {
        self.error.is_none() && self.strays.is_empty()
    }

    fn exit(&self) -> Exit {
        if self.is_sound() { Exit::Completed } else { Exit::Configuration }
    }

    fn object(&self) -> String {
        let error = self.error.as_ref().map(|error| Report::from_error(error).one_line());
        let data = json!({"ok": self.is_sound(), "path": self.path, "error": error, "kept_aside": self.kept});
        envelope("log", words::now(), None, data)
    }

    fn lines(&self, screen: Terminal) -> Vec<String> {
        let (bad, path) = (screen.check(false), plain_line(&self.path.display().to_string()));
        let mut lines = match &self.error {
            None if self.strays.is_empty() => {
                vec![format!("{} the log has every run: {path}", screen.check(true))]
            }
            None => vec![format!(
                "{bad} some runs are not in the log: somebody emptied, deleted or replaced {path}"
            )],
            Some(error) => {
                let report = Report::from_error(error);
                let hint = report.advice().map(|hint| format!("    hint: {}", plain_line(hint)));
                [format!("{bad} {}", plain_line(&report.one_line()))].into_iter().chain(hint).collect()
            }
        };
        let log = if self.error.is_some() { LogState::Unreadable } else { LogState::Silent };
        lines.extend(stray::lines(&self.strays, log).iter().map(|line| format!("{bad} {line}")));
        let kept = |path: &PathBuf| plain_line(&path.display().to_string());
        lines.extend(
            self.kept
                .iter()
                .map(|path| format!("    Windlass kept what was left of a lost log: {}", kept(path))),
        );
        lines
    }
}

fn object(driver: &DriverReport) -> String {
    let can: serde_json::Map<_, _> =
        driver.capabilities.iter().map(|can| (can.name.to_owned(), can.able.into())).collect();
    let limits: serde_json::Map<_, _> =
        driver.limits.iter().map(|limit| (limit.name.to_owned(), limit.word().into())).collect();
    let login = match &driver.login {
        LoginReport::Unknown => json!(null),
        LoginReport::Found(place) => json!({"found": true, "place": place}),
        LoginReport::NotFound => json!({"found": false}),
    };
    let data = json!({
        "name": driver.name,
        "ok": driver.ok,
        "program": driver.program,
        "version": driver.version,
        "login": login,
        "capabilities": can,
        "enforcement": limits,
        "problem": driver.problem,
        "advice": driver.advice,
    });
    envelope("driver", words::now(), None, data)
}

fn describe(screen: Terminal, driver: &DriverReport) -> Vec<String> {
    let state = match (&driver.version, driver.ok) {
        (Some(version), true) => plain_line(version),
        (_, true) => "found".to_owned(),
        (_, false) => {
            let why = driver.problem.as_deref().map(|why| format!(": {}", plain_line(why)));
            format!("{}{}", screen.paint(TextTone::Careful, "cannot be used"), why.unwrap_or_default())
        }
    };
    let mut lines = vec![format!("{} {}: {state}", screen.check(driver.ok), driver.name)];
    lines
        .extend(driver.program.iter().map(|path| format!("    {}", plain_line(&path.display().to_string()))));
    lines.extend(describe_login(driver));
    lines.extend(driver.advice.iter().map(|advice| format!("    hint: {}", plain_line(advice))));
    lines
}

/// Describes the login of a driver that can be used, if Windlass knows where the CLI keeps it.
fn describe_login(driver: &DriverReport) -> Option<String> {
    match &driver.login {
        _ if !driver.ok => None,
        LoginReport::Unknown => None,
        LoginReport::Found(place) => Some(format!("    login: {}", plain_line(place))),
        LoginReport::NotFound => Some("    login: none found in its files and variables".to_owned()),
    }
}

/// Returns a table with a column for each driver that can be used: its capabilities, then the limits that hold.
fn matrix(drivers: &[DriverReport]) -> Vec<String> {
    let usable: Vec<&DriverReport> = drivers.iter().filter(|driver| driver.ok).collect();
    let Some(first) = usable.first() else { return Vec::new() };
    let capabilities = (0..first.capabilities.len()).filter_map(|nth| {
        let can = first.capabilities.get(nth)?;
        let cells = usable.iter().filter_map(|driver| driver.capabilities.get(nth));
        Some((can.name, cells.map(|can| able(*can)).collect(), can.about))
    });
    let limits = (0..first.limits.len()).filter_map(|nth| {
        let limit = first.limits.get(nth)?;
        let cells = usable.iter().filter_map(|driver| driver.limits.get(nth));
        Some((limit.name, cells.map(DriverLimit::word).collect(), limit.about))
    });
    let heads: Vec<&str> = usable.iter().map(|driver| driver.name).collect();
    let mut lines = table(&heads, "the agent CLI", capabilities.collect());
    lines.push(String::new());
    lines.extend(table(&heads, "the limits of a session", limits.collect()));
    lines
}

/// Lays out rows of a name, a cell for each driver, and an explanation.
fn table(heads: &[&str], about: &str, rows: Vec<(&str, Vec<&str>, &str)>) -> Vec<String> {
    let name_width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|(_, cells, _)| cells.get(column));
            cells.chain(heads.get(column)).map(|cell| cell.len()).max().unwrap_or(0).max(6)
        })
        .collect();
    let line = |name: &str, cells: &[&str], about: &str| {
        let cells: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{name:name_width$}  {}  {about}", cells.join("  "))
    };
    let body = rows.iter().map(|(name, cells, about)| line(name, cells, about));
    std::iter::once(line("", heads, about)).chain(body).collect()
}

fn able(can: Capability) -> &'static str {
    if can.able { "yes" } else { "-" }
}
