//! Kills at every point: the process kills itself with SIGKILL at point k, the run is resumed,
//! and what is left in the end is what an uncrashed run leaves.
//!
//! Three victims: Windlass alone (the agent goes on and is adopted: even what the agent was asked
//! is equal), a host alone, and everything at once (an interrupted turn is repeated at most
//! once). Windlass alone is swept a second time with a long night between kill and resume: the agent
//! finds nobody, gives up and is gone, and its turn is repeated all the same. `WINDLASS_SWEEP=full`
//! also sweeps the longer stories and prints a table.

#![allow(clippy::print_stdout, reason = "says how many points there were")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use windlass_testkit::env::Sealed;
use windlass_testkit::wait::until;
use windlass_testkit::{procs, soon};

/// One story: a script for sim and how the loop is started.
struct Story {
    name: &'static str,
    mode: &'static str,
    script: Value,
    checks: &'static [&'static str],
}

/// The length of the gap between a kill and the next owner.
#[derive(Clone, Copy, PartialEq)]
enum Night {
    /// It is resumed at once.
    Short,
    /// Hooks give up, and the agent with them, before it is resumed.
    Long,
}

/// The results of a run, without the parts that differ between runs.
#[derive(Debug, Clone, PartialEq)]
struct Left {
    finished: (String, String, u64),
    tracker: String,
    tree: String,
    commits: String,
    asked: Vec<String>,
}

fn turn(steps: Value) -> Value {
    json!({ "steps": steps })
}

fn fresh(turns: usize) -> Story {
    let mut script = Vec::new();
    for number in 1..=turns {
        let done = if number == turns { "\n<!-- WORKFLOW_COMPLETE -->\n" } else { "" };
        script.push(turn(json!([
            { "write": { "path": "work.txt", "content": format!("state {number}\n") } },
            { "commit": format!("turn {number}") },
            { "tracker": { "write": format!("# Progress\nturn {number}\n{done}") } },
            { "say": format!("turn {number} done") },
        ])));
    }
    Story { name: "fresh", mode: "fresh", script: json!({ "turns": script }), checks: &["test -s work.txt"] }
}

fn in_session(turns: usize) -> Story {
    Story { name: "in_session", mode: "in_session", checks: &[], ..fresh(turns) }
}

/// A sealed place in which one run of a story is played.
struct Stage {
    sealed: Sealed,
    log: PathBuf,
    script: PathBuf,
}

impl Stage {
    fn new(story: &Story) -> Stage {
        let sealed = Sealed::in_memory();
        let script = sealed.write("script.json", story.script.to_string());
        let log = sealed.root().join("asked.jsonl");
        Stage { sealed, log, script }
    }

    fn windlass(&self, out: &str) -> Command {
        let mut command = self.sealed.command(env!("CARGO_BIN_EXE_windlass"));
        command.current_dir(self.sealed.repo()).stdin(Stdio::null());
        command.env("WINDLASS_SIM_SCRIPT", &self.script).env("WINDLASS_SIM_LOG", &self.log);
        let file = std::fs::File::create(self.sealed.root().join(out)).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        command
    }

    fn start(&self, story: &Story, crash: Option<&str>, night: Night) -> Option<i32> {
        let mut command = self.windlass("out.first");
        command.args(["loop", "do the work", "--driver", "sim", "--mode", story.mode, "--json"]);
        command.args(story.checks.iter().flat_map(|check| ["--check", check]));
        if night == Night::Long {
            command.env("WINDLASS_HOOK_PATIENCE_MS", "20");
        }
        if let Some(crash) = crash {
            command.env("WINDLASS_CRASH_AT", crash);
            command.env("WINDLASS_CRASH_MARK", self.sealed.root().join("mark"));
        }
        command.status().unwrap().code()
    }

    fn run(&self) -> Option<String> {
        let entries = std::fs::read_dir(self.sealed.state().join("windlass/runs")).ok()?;
        entries.flatten().next().map(|entry| entry.file_name().to_string_lossy().into_owned())
    }

    /// Plays the story, dying where asked, and resumes once: what is left, and whether Windlass
    /// died.
    fn play(&self, story: &Story, crash: Option<&str>, night: Night) -> (Left, bool) {
        let code = self.start(story, crash, night);
        if code.is_some() {
            assert_eq!(code, Some(0), "{}", self.output());
            return (self.left("out.first"), false);
        }
        let Some(run) = self.run() else {
            // It died before the run existed: nothing was begun, nothing is lost.
            assert_eq!(self.start(story, None, night), Some(0), "{}", self.output());
            return (self.left("out.first"), true);
        };
        if night == Night::Long {
            until(soon(), || self.is_quiet());
        }
        let status = self.windlass("out.second").args(["resume", &run, "--json"]).status().unwrap();
        if self.is_over(&run) && !status.success() {
            return (self.left_of_finished(&run), true);
        }
        assert_eq!(status.code(), Some(0), "{}", self.output());
        (self.left("out.second"), true)
    }

    /// Decides whether all processes of this test have ended.
    fn is_quiet(&self) -> bool {
        let host = format!(" host {}/", self.sealed.root().display());
        let is_host = |process: procs::Proc| process.command.contains(&host);
        self.sealed.processes().is_empty() && !procs::all().into_iter().any(is_host)
    }

    /// A kill after the last commit leaves a finished run, which cannot be resumed.
    fn is_over(&self, run: &str) -> bool {
        let text = std::fs::read_to_string(self.sealed.root().join("out.second")).unwrap();
        text.contains("already over") && text.contains(run)
    }

    /// Decides whether the hosts reached this crash point, so that one of them died.
    fn hosts_passed(&self, point: u64) -> bool {
        std::fs::metadata(self.sealed.root().join("mark")).is_ok_and(|mark| mark.len() >= point)
    }

    fn output(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.sealed.root().join(name)).unwrap_or_default();
        format!("first:\n{}\nsecond:\n{}", read("out.first"), read("out.second"))
    }

    fn left_of_finished(&self, run: &str) -> Left {
        let mut command = self.windlass("out.show");
        assert!(command.args(["logs", run, "--json"]).status().unwrap().success());
        self.left("out.show")
    }

    fn left(&self, out: &str) -> Left {
        let text = std::fs::read_to_string(self.sealed.root().join(out)).unwrap();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let finished =
            lines.into_iter().rev_find_type("run.finished").unwrap_or_else(|| panic!("{}", self.output()));
        let run = self.run().unwrap();
        let tracker = self.sealed.repo().join(".windlass/runs").join(&run).join("loop-tracker.md");
        let tracker = std::fs::read_to_string(tracker).unwrap();
        let kept = |line: &&str| !line.starts_with("started_at:");
        Left {
            finished: (
                finished["status"].as_str().unwrap().to_owned(),
                finished["reason"].as_str().unwrap().to_owned(),
                finished["iterations"].as_u64().unwrap(),
            ),
            tracker: tracker.lines().filter(kept).collect::<Vec<_>>().join("\n").replace(&run, "RUN"),
            tree: self.sealed.git(["ls-files", "-s"]) + &self.sealed.git(["status", "--porcelain"]),
            commits: self.sealed.git(["log", "--format=%s"]),
            asked: asked(&self.log, &run, self.sealed.root()),
        }
    }
}

trait FindType {
    fn rev_find_type(self, kind: &str) -> Option<Value>;
}

impl<I: Iterator<Item = Value>> FindType for I {
    fn rev_find_type(self, kind: &str) -> Option<Value> {
        self.filter(|line| line["type"] == kind).last().map(|line| line["data"].clone())
    }
}

/// Returns the requests to the agent, with names that differ between runs made equal.
fn asked(log: &Path, run: &str, root: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let next = names.len();
        let session = *names.entry(value["session"].as_str().unwrap().to_owned()).or_insert(next);
        let prompt =
            value["prompt"].as_str().unwrap().replace(run, "RUN").replace(root.to_str().unwrap(), "ROOT");
        out.push(format!(
            "turn {} session {session} resumed {}: {prompt}",
            value["iteration"], value["resumed"]
        ));
    }
    out
}

/// The turn each request was for.
fn turns_of(asked: &[String]) -> Vec<&str> {
    asked.iter().map(|line| line.split(" session").next().unwrap()).collect()
}

/// Sweeps the points of one victim, two at a time, until a point is not reached any more.
fn sweep(story: &Story, victim: &str, night: Night, limit: u64) -> u64 {
    let (expected, _) = Stage::new(story).play(story, None, night);
    let next = AtomicU64::new(1);
    let last = AtomicU64::new(u64::MAX);
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let point = next.fetch_add(1, Ordering::SeqCst);
                    if point > limit || point > last.load(Ordering::SeqCst) {
                        return;
                    }
                    let stage = Stage::new(story);
                    let (left, died) = stage.play(story, Some(&format!("{victim}:{point}")), night);
                    if !died && !stage.hosts_passed(point) {
                        last.fetch_min(point, Ordering::SeqCst);
                    }
                    if let Some(problem) = compare(&expected, &left, victim, night) {
                        let text = format!("{} {victim}:{point}: {problem}\n{}", story.name, stage.output());
                        problems.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    last.load(Ordering::SeqCst).min(limit + 1) - 1
}

fn compare(expected: &Left, left: &Left, victim: &str, night: Night) -> Option<String> {
    let same_end =
        Left { asked: Vec::new(), ..expected.clone() } == Left { asked: Vec::new(), ..left.clone() };
    if !same_end {
        return Some(format!("the end differs: expected {expected:#?}, found {left:#?}"));
    }
    if victim == "windlass" && night == Night::Short {
        return (expected.asked != left.asked).then(|| {
            format!("what was asked differs: expected {:#?}, found {:#?}", expected.asked, left.asked)
        });
    }
    let mut once = turns_of(&left.asked);
    let all = once.len();
    once.dedup();
    let repeated = all - once.len();
    if once != turns_of(&expected.asked) || repeated > 1 {
        return Some(format!("turns were repeated: expected {:#?}, found {:#?}", expected.asked, left.asked));
    }
    None
}

fn is_full() -> bool {
    std::env::var("WINDLASS_SWEEP").is_ok_and(|value| value == "full")
}

fn sweep_all(victim: &str, night: Night) {
    let turns = if is_full() { 4 } else { 2 };
    for story in [fresh(turns), in_session(turns)] {
        let points = sweep(&story, victim, night, 10_000);
        assert!(points > 5, "only {points} points of {} were reached", story.name);
        let after = if night == Night::Long { ", resumed after a long night" } else { "" };
        println!("sweep: {:<10} {:<12} {points:>5} points{after}", victim, story.name);
    }
}

#[test]
fn windlass_alone_may_die_at_any_point() {
    sweep_all("windlass", Night::Short);
}

#[test]
fn windlass_alone_may_die_at_any_point_and_be_missed_for_a_night() {
    sweep_all("windlass", Night::Long);
}

#[test]
fn a_host_alone_may_die_at_any_point() {
    sweep_all("host", Night::Short);
}

#[test]
fn everything_may_die_at_any_point() {
    sweep_all("all", Night::Short);
}
