//! `cargo xtask test`: installs the dependencies, builds and runs the tests, and prints the totals.
//!
//! The binary and the tests use the same profile, so that cargo builds nothing twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{self, Profile, Watch, cargo};
use crate::tally::Tally;
use crate::{Outcome, Verdict, agents, callgrind, install, say};

/// The options of `cargo xtask test`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    extent: Extent,
    filter: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Everything,
    Quick,
}

impl Options {
    /// Returns the options that run all tests.
    pub(crate) fn everything() -> Options {
        Options { extent: Extent::Everything, filter: None }
    }

    pub(crate) fn read(words: &[&str]) -> Result<Options, String> {
        let mut options = Options::everything();
        for word in words {
            match *word {
                "--quick" => options.extent = Extent::Quick,
                flag if flag.starts_with('-') => return Err(format!("`test` has no flag `{flag}`")),
                filter if options.filter.is_none() => options.filter = Some(filter.to_owned()),
                more => return Err(format!("`test` takes only one filter; `{more}` is a second one")),
            }
        }
        Ok(options)
    }

    fn profile(&self) -> Profile {
        match self.extent {
            Extent::Everything => Profile::Release,
            Extent::Quick => Profile::Dev,
        }
    }
}

/// Runs the tests and prints the totals.
pub(crate) fn run(options: &Options) -> Outcome {
    let world = World::prepare(options);
    let runner = Runner::find();
    if !say::timed("building", || cargo::succeeds(&mut runner.command(options, Stage::Build)))? {
        return Err("the tests do not build".to_owned());
    }
    let (mut tally, mut verdict) = say::timed(runner.name(), || run_tests(&runner, options, &world))?;
    for check in [documentation, instructions] {
        let (more, outcome) = check(options, &world)?;
        tally += more;
        verdict = if outcome == Verdict::Bad { Verdict::Bad } else { verdict };
    }
    let skips = world.skips();
    tally.move_to_skipped(skips.len());
    let ignored = if options.filter.is_none() { ignored(&cargo::root().join("crates")) } else { Vec::new() };
    for line in skips.iter().chain(&ignored) {
        say::note(line);
    }
    world.tables().lines().for_each(say::note);
    say::step(&tally.to_string());
    if tally.passed + tally.failed == 0 && options.filter.is_none() {
        return Err("no test ran".to_owned());
    }
    Ok(if tally.failed > 0 { Verdict::Bad } else { verdict })
}

type Counted = Result<(Tally, Verdict), String>;

fn run_tests(runner: &Runner, options: &Options, world: &World) -> Counted {
    let mut tally = Tally::default();
    let mut command = runner.command(options, Stage::Run);
    let status = cargo::watched(world.equip(&mut command), runner.watch(), |line| {
        tally += Tally::read(line).unwrap_or_default();
    })?;
    // Tests that the filter left out do not count as skipped.
    if options.filter.is_some() {
        tally.skipped = 0;
    }
    Ok((tally, if status.success() { Verdict::Good } else { Verdict::Bad }))
}

/// Runs the examples in the documentation, if there are any. nextest does not run them.
fn documentation(options: &Options, world: &World) -> Counted {
    let needed = Runner::find() == Runner::Nextest
        && options.filter.is_none()
        && has_doc_tests(&cargo::root().join("crates"));
    if !needed {
        return Ok((Tally::default(), Verdict::Good));
    }
    let words = [&["test", "--quiet", "--workspace", "--doc"], options.profile().flags()].concat();
    let mut command = cargo(&words);
    let output = say::timed("examples in the documentation", || world.equip(&mut command).output());
    let output = output.map_err(|error| cargo::could_not_start(&command, &error))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut tally = Tally::default();
    said.lines().filter_map(Tally::read).for_each(|more| tally += more);
    if output.status.success() {
        return Ok((tally, Verdict::Good));
    }
    say::note(&format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)));
    Ok((tally, Verdict::Bad))
}

fn has_doc_tests(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return has_doc_tests(&path);
        }
        let is_source = path.extension().is_some_and(|kind| kind == "rs");
        is_source && fs::read_to_string(&path).unwrap_or_default().lines().any(opens_example)
    })
}

/// Finds the tests with an `ignore` attribute and returns their names and reasons.
fn ignored(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(ignored(&path));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.extend(ignored_in(&fs::read_to_string(&path).unwrap_or_default()));
        }
    }
    found
}

fn ignored_in(source: &str) -> Vec<String> {
    let mut reason = None;
    let mut found = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("#[ignore = \"") {
            reason = rest.split('"').next();
        } else if let (Some(why), Some(rest)) = (reason, line.strip_prefix("fn ")) {
            let name = rest.split('(').next().unwrap_or(rest);
            found.push(format!("SKIPPED: {name}: {why}"));
            reason = None;
        }
    }
    found
}

fn opens_example(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//! ```") || line.starts_with("/// ```")
}

/// Checks the instruction count of the hook. It is the only measurement that the load does not affect.
fn instructions(options: &Options, world: &World) -> Counted {
    if options.extent == Extent::Quick || options.filter.is_some() {
        return Ok((Tally::default(), Verdict::Good));
    }
    say::step("instructions of `windlass hook`");
    let one = |passed, failed| Tally { passed, failed, skipped: 0 };
    if !cargo::is_on_path("valgrind") {
        world.note_skip("hook_instructions", "`valgrind` is not installed");
        return Ok((one(1, 0), Verdict::Good));
    }
    // The test build made this binary. A separate build might choose other features and compile it again.
    let bin = cargo::built(options.profile())?.join("windlass");
    match callgrind::check(&bin) {
        Ok(count) => {
            say::note(&format!("{count} of {} allowed", callgrind::LIMIT));
            Ok((one(1, 0), Verdict::Good))
        }
        Err(why) => {
            say::wrong(&why);
            Ok((one(0, 1), Verdict::Bad))
        }
    }
}

/// The environment of the tests.
struct World {
    /// The variable and the path of each available agent CLI.
    agents: Vec<(String, PathBuf)>,
    /// The file to which tests write why they did not run.
    skips: PathBuf,
    /// The file to which tests write their tables.
    tables: PathBuf,
    extent: Extent,
}

impl World {
    fn prepare(options: &Options) -> World {
        let file = |kind: &str| std::env::temp_dir().join(format!("windlass-{kind}-{}", std::process::id()));
        let (skips, tables) = (file("skips"), file("tables"));
        let agents = match options.extent {
            Extent::Quick => Vec::new(),
            Extent::Everything => install_all(),
        };
        World { agents, skips, tables, extent: options.extent }
    }

    fn equip<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("WINDLASS_TEST_SKIPS", &self.skips).env("WINDLASS_TEST_TABLES", &self.tables);
        command.envs(self.agents.iter().map(|(name, path)| (name, path)));
        if self.extent == Extent::Quick {
            command.env("WINDLASS_TEST_QUICK", "1");
        }
        command
    }

    /// Returns the lines that skipped tests wrote, sorted.
    fn skips(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.skips).unwrap_or_default();
        let mut lines: Vec<String> =
            text.lines().filter(|line| line.starts_with("SKIPPED: ")).map(str::to_owned).collect();
        lines.sort();
        lines.dedup();
        lines
    }

    /// Returns the tables that tests wrote.
    fn tables(&self) -> String {
        fs::read_to_string(&self.tables).unwrap_or_default()
    }

    fn note_skip(&self, test: &str, why: &str) {
        let text = fs::read_to_string(&self.skips).unwrap_or_default();
        // If the write fails, the totals are off by one, which is no reason to fail.
        let _ = fs::write(&self.skips, format!("{text}SKIPPED: {test}: {why}\n"));
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.skips);
        let _ = fs::remove_file(&self.tables);
    }
}

/// Installs the tests' dependencies. Returns the variable and the path of each available agent CLI.
pub(crate) fn install_all() -> Vec<(String, PathBuf)> {
    install::packages();
    agents::install()
}

/// The test runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Nextest,
    Standard,
}

/// A stage of the test run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Build,
    Run,
}

impl Runner {
    fn find() -> Runner {
        if cargo::is_on_path("cargo-nextest") { Runner::Nextest } else { Runner::Standard }
    }

    fn name(self) -> &'static str {
        match self {
            Runner::Nextest => "running (nextest)",
            Runner::Standard => "running (cargo test)",
        }
    }

    /// Returns the output that the runner prints its summary to.
    fn watch(self) -> Watch {
        match self {
            Runner::Nextest => Watch::Stderr,
            Runner::Standard => Watch::Stdout,
        }
    }

    fn command(self, options: &Options, stage: Stage) -> Command {
        let words: &[&str] = match self {
            Runner::Nextest => &["nextest", "run", "--workspace", "--config-file", "xtask/nextest.toml"],
            Runner::Standard => &["test", "--workspace", "--no-fail-fast"],
        };
        let mut command = cargo(&[words, options.profile().flags()].concat());
        if stage == Stage::Build {
            command.arg("--no-run");
        }
        command.args(&options.filter);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_a_flag_and_a_filter() {
        let quick = Options { extent: Extent::Quick, filter: Some("loop".into()) };
        assert_eq!(Options::read(&["--quick", "loop"]), Ok(quick));
        assert_eq!(Options::read(&[]), Ok(Options::everything()));
        assert!(Options::read(&["--slow"]).is_err());
        assert!(Options::read(&["a", "b"]).is_err());
    }

    #[test]
    fn an_ignored_test_is_named_with_its_reason() {
        // In pieces, so that this test is not taken for one itself.
        let source =
            ["#[test]\n#[ignore = ", "\"needs a moon\"]\nfn tide_comes() {}\nfn other() {}"].concat();
        assert_eq!(ignored_in(&source), ["SKIPPED: tide_comes: needs a moon"]);
    }

    #[test]
    fn an_example_is_a_fence_in_a_doc_comment() {
        assert!(opens_example("    /// ```no_run"));
        assert!(!opens_example("// ```"));
    }
}
