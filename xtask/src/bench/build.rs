//! Measures how long a new user waits for the first output of the README's first command.
//!
//! The clone has its own target folder, so cargo compiles everything. The bench fetches the dependencies
//! before it starts the clock. It also prints CPU time, which you can compare even on a busy machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{cargo, say};

/// The goal on two idle cores.
const GOAL: Duration = Duration::from_secs(120);

/// Clones the last commit, runs the README's first command there and prints the times.
pub(crate) fn run() -> Result<(), String> {
    let clone = FreshClone::make()?;
    let readme =
        fs::read_to_string(clone.0.join("README.md")).map_err(|error| format!("README.md: {error}"))?;
    let line = first_command(&readme).ok_or("the README has no command in a `sh` block")?;
    succeed(clone.command(&["cargo", "fetch", "--quiet", "--locked"]))?;
    say::note(&format!("`{}` in a fresh clone of the last commit", line.join(" ")));
    let cpu = cpu_of_children()?;
    let start = Instant::now();
    let mut command = clone.command(&line);
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| cargo::could_not_start(&command, &error))?;
    let first = first_output(&mut child, start)?;
    let status = child.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("`{}` ended with {status}", line.join(" ")));
    }
    println!("first output   {:>6.1} s (goal: {} s on two idle cores)", first.as_secs_f64(), GOAL.as_secs());
    println!("end            {:>6.1} s", start.elapsed().as_secs_f64());
    println!("CPU            {:>6.1} s (user and system)", (cpu_of_children()? - cpu).as_secs_f64());
    Ok(())
}

/// Returns the time until the command prints its first line. Cargo's output goes to the terminal.
fn first_output(child: &mut Child, start: Instant) -> Result<Duration, String> {
    let mut lines = child.stdout.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines());
    let first = lines.next().map(|_| start.elapsed()).ok_or("the command printed nothing")?;
    lines.map_while(Result::ok).for_each(drop);
    Ok(first)
}

/// Returns the words of the first line in the first `sh` block, without the comment.
fn first_command(readme: &str) -> Option<Vec<&str>> {
    let line = readme.lines().skip_while(|line| *line != "```sh").nth(1)?;
    let words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
    Some(words.collect()).filter(|words: &Vec<&str>| !words.is_empty())
}

/// A clone in a temporary folder, deleted on drop.
struct FreshClone(PathBuf);

impl FreshClone {
    fn make() -> Result<FreshClone, String> {
        let clone =
            FreshClone(std::env::temp_dir().join(format!("windlass-bench-build-{}", std::process::id())));
        let mut git = Command::new("git");
        git.args(["clone", "--quiet"]).arg(cargo::root()).arg(&clone.0);
        succeed(git)?;
        Ok(clone)
    }

    /// Returns a command in the clone, without the build variables of this process.
    fn command(&self, words: &[&str]) -> Command {
        let (program, rest) = words.split_first().unwrap_or((&"true", &[]));
        let mut command = Command::new(program);
        command.args(rest).current_dir(&self.0).stdin(Stdio::null());
        for name in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for FreshClone {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn succeed(mut command: Command) -> Result<(), String> {
    match cargo::succeeds(&mut command)? {
        true => Ok(()),
        false => Err(format!("{command:?} failed")),
    }
}

/// Returns the CPU time of the finished children of this process, including their own children.
fn cpu_of_children() -> Result<Duration, String> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc/self/stat: {error}"))?;
    cpu_in(&stat).ok_or_else(|| "could not read CPU times from /proc/self/stat".to_owned())
}

/// Reads fields 16 and 17 of `PID (NAME) STATE …`. Linux gives them in hundredths of a second.
fn cpu_in(stat: &str) -> Option<Duration> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks()? + ticks()?) * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_command_of_the_readme_is_read_without_its_comment() {
        let readme =
            "# X\n\n```json\n{}\n```\n\n```sh\ncargo run -- demo   # a whole loop\ncargo xtask test\n```\n";
        assert_eq!(first_command(readme), Some(vec!["cargo", "run", "--", "demo"]));
        assert_eq!(first_command("no block"), None);
    }

    #[test]
    fn the_readme_of_this_tree_begins_with_the_demo_in_the_fast_profile() {
        let readme = fs::read_to_string(cargo::root().join("README.md")).unwrap();
        assert_eq!(first_command(&readme), Some(vec!["cargo", "run", "--", "demo"]));
    }

    #[test]
    fn the_time_of_children_is_two_fields_after_the_name() {
        let stat = "42 (a) b) S 1 1 1 0 -1 0 0 0 0 0 7 8 150 25 20 0 1 0 12345 0 0";
        assert_eq!(cpu_in(stat), Some(Duration::from_millis(1750)));
    }
}
