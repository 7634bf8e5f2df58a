//! Kills from outside: `strace` sends SIGKILL at the n-th rename, the n-th unlink, the n-th sync of
//! Windlass, whatever it is doing there. Then the run is resumed, and what is left is what an
//! undisturbed run leaves: the same end, nothing done twice, no file half written, and room for the
//! next run.
//!
//! Three ways after the kill: resumed at once, while the agents go on; resumed when the agents have
//! given up; and with all agents, hosts and gits killed as well. The gits of Windlass are killed
//! alone, too. `strace` counts for each thread, so that the n-th call is that of whichever thread gets
//! there first. A sample is tried, and all points with `WINDLASS_SWEEP=full`. Where there is no `strace`,
//! Windlass kills itself at its own crash points.

#![allow(clippy::print_stdout, reason = "says how many points there were")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::place::{LIMIT, Place, Ran, last_turn, say};
use crate::tasks;
use serde_json::{Value, json};
use windlass_testkit::Sealed;
use windlass_testkit::programs::note_skip;
use windlass_testkit::wait::until;

/// The groups of system calls at which the sweep kills Windlass.
const CALLS: [&str; 3] = ["rename,renameat,renameat2", "unlink,unlinkat,link,linkat", "fsync,fdatasync"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Story {
    Loop,
    Jobs,
}

impl Story {
    fn place(self) -> Place {
        let side = |place: &Place, what: &str| {
            let file = tasks::outside(place, "side");
            json!({"bash": format!("echo {what} >> {}", file.display())})
        };
        let work = |place: &Place, what: &str| {
            vec![
                side(place, what),
                json!({"write": {"path": what, "content": format!("{what}\n")}}),
                json!({"commit": what}),
            ]
        };
        match self {
            Story::Loop => {
                let place = Place::with_settings("");
                let last = [work(&place, "two"), last_turn()["steps"].as_array().unwrap().clone()].concat();
                let first = [work(&place, "one"), vec![say("More is left.")]].concat();
                place.script(json!({"turns": [{"steps": first}, {"steps": last}]}));
                place
            }
            Story::Jobs => {
                let place = tasks::place(tasks::tasks(3), json!([]));
                let turns = ["a", "b", "c"].map(|what| tasks::turn(&work(&place, what)));
                let done = json!({"steps": [say("Done.\n<status>passing</status>")]});
                place.script(json!({"nodes": {"implement": turns}, "default": done}));
                place
            }
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Story::Loop => &["loop", "work", "--json", "--check", "true"],
            Story::Jobs => &["tasks", "run", "--jobs", "3", "--json", "--check", "true"],
        }
    }

    /// Another run in the same place.
    fn next(self, place: &Place) -> Ran {
        if self == Story::Jobs {
            let added = place.go(&["tasks", "add", "one more"]);
            assert_eq!(added.code, 0, "{added}");
        }
        place.go(self.arguments())
    }
}

/// The continuation after a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// The run is resumed at once.
    Resume,
    /// Time passes: the agents end, or give up.
    Wait,
    /// Everything else is killed as well.
    KillTheRest,
}

/// The moment at which Windlass dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    /// Windlass alone, at its n-th of these calls.
    Call(&'static str, usize),
    /// Windlass alone, at its n-th crash point.
    Point(usize),
}

/// The results of a run, for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Left {
    ended: (Value, Value, Value),
    commits: Vec<String>,
    side: Vec<String>,
    status: String,
    branches: String,
    worktrees: usize,
    tasks: Vec<String>,
}

fn left(story: Story, place: &Place, finished: &Value) -> Left {
    let log = place.sealed.git(["log", "--format=%s", "main"]);
    let mut commits: Vec<String> = log.lines().map(str::to_owned).collect();
    let mut side = tasks::lines(&tasks::outside(place, "side"));
    commits.sort();
    side.sort();
    Left {
        ended: (finished["status"].clone(), finished["reason"].clone(), finished["iterations"].clone()),
        commits,
        side,
        status: place.sealed.git(["status", "--porcelain", "--untracked-files=all"]),
        branches: place.sealed.git(["branch", "--format=%(refname:short)"]),
        worktrees: place.sealed.git(["worktree", "list", "--porcelain"]).matches("worktree ").count(),
        tasks: if story == Story::Jobs { tasks::in_file(place) } else { Vec::new() },
    }
}

/// Every file that looks half written, in the checkout, in Windlass's folder of git, and among its state.
pub(crate) fn half_written(place: &Place) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![place.repo(), place.sealed.state()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let is_gits = folder.ends_with(".git") && !["windlass", "worktrees"].contains(&name.as_str());
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true if !is_gits => waiting.push(entry.path()),
                true => {}
                false
                    if name.ends_with(".tmp") || name.starts_with(".tasks.json") || name.contains(".new") =>
                {
                    found.push(entry.path());
                }
                false => {}
            }
        }
    }
    found
}

pub(crate) fn finished(place: &Place, run: &str) -> Value {
    let told = place.go(&["logs", run, "--json"]);
    let end = told.lines.iter().rfind(|line| line["type"] == "run.finished" && line["run"] == run);
    end.unwrap_or_else(|| panic!("run {run} has not ended: {told}"))["data"].clone()
}

/// The one run of a place, once it is recorded.
pub(crate) fn run_of(place: &Place) -> Option<String> {
    place.ps().first().map(|run| run["run"].as_str().unwrap().to_owned())
}

/// Plays a story, with a death in it. Gives what is left, and whether anybody died.
fn play(story: Story, death: Option<(Death, After)>) -> Result<(Left, bool), String> {
    let place = story.place();
    let ran = first(story, &place, death);
    let died = ran.status.code().is_none();
    let mut said = ran.to_string();
    if died {
        match death.map(|(_, after)| after) {
            Some(After::KillTheRest) => {
                place.kill_hosts();
                place.sealed.processes().iter().for_each(|process| place.sealed.kill9(process.pid));
            }
            Some(After::Wait) => {
                until(LIMIT, || place.sealed.processes().is_empty() && place.hosts().is_empty())
            }
            Some(After::Resume) | None => {}
        }
        let again = match run_of(&place) {
            Some(run) => place.go(&["resume", &run, "--json"]),
            // It died before there was a run: nothing was begun.
            None => place.go(story.arguments()),
        };
        said.push_str(&format!("\n--- again\n{again}"));
        if again.code != 0 && !again.stderr.contains("already over") {
            return Err(format!("it does not complete: {said}"));
        }
    } else if ran.code != 0 {
        return Err(format!("it does not complete: {said}"));
    }
    let run = run_of(&place).expect("there is a run");
    let found = left(story, &place, &finished(&place, &run));
    let half = half_written(&place);
    if !half.is_empty() {
        return Err(format!("half written: {half:?}: {said}"));
    }
    place.assert_nothing_is_left();
    let next = story.next(&place);
    if next.code != 0 {
        return Err(format!("the next run fails: {next}\n--- before\n{said}"));
    }
    Ok((found, died))
}

/// Starts the run of a story, to be killed.
fn first(story: Story, place: &Place, death: Option<(Death, After)>) -> Ran {
    let mut command = place.windlass(story.arguments());
    if death.is_some_and(|(_, after)| after == After::Wait) {
        // An agent waits no longer than this for an owner that is dead.
        command.env("WINDLASS_HOOK_PATIENCE_MS", "300");
    }
    match death.map(|(death, _)| death) {
        None => {}
        Some(Death::Point(point)) => {
            command.env("WINDLASS_CRASH_AT", format!("windlass:{point}"));
        }
        Some(Death::Call(calls, count)) => {
            let inject = format!("inject={calls}:signal=SIGKILL:when={count}");
            let mut traced = place.sealed.command("strace");
            // Children are let go where they become another program.
            traced.args(["-f", "-qq", "-b", "execve", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
            traced.args(["-e", &inject]).arg(command.get_program()).args(command.get_args());
            traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command = traced;
        }
    }
    command.stdin(Stdio::null());
    place.spawn(command).end()
}

/// Returns the difference between the expected and the actual results, if any.
fn compare(expected: &Left, found: &Left, after: After) -> Option<String> {
    let mut found = found.clone();
    if after != After::Resume {
        // A turn that was cut off is repeated, with what it does outside.
        found.side.dedup();
    }
    (*expected != found).then(|| format!("expected {expected:#?}, found {found:#?}"))
}

fn is_full() -> bool {
    std::env::var("WINDLASS_SWEEP").is_ok_and(|value| value == "full")
}

/// Decides whether `strace` works here: a container may forbid it.
pub(crate) fn can_trace() -> bool {
    let mut strace = Sealed::in_memory().command("strace");
    let tried = strace.current_dir("/").args(["-qq", "-o", "/dev/null", "-e", "trace=none", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Two at a time, every `step`-th point until one is not reached. Gives how many were.
fn sweep(story: Story, death: impl Fn(usize) -> Death + Sync, after: After, step: usize) -> usize {
    let (expected, _) = play(story, None).unwrap();
    let (next, last, reached) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let point = 1 + step * next.fetch_add(1, Ordering::SeqCst);
                    if point > last.load(Ordering::SeqCst) {
                        return;
                    }
                    let death = death(point);
                    let problem = match play(story, Some((death, after))) {
                        Ok((_, false)) => {
                            last.fetch_min(point, Ordering::SeqCst);
                            None
                        }
                        Ok((found, true)) => compare(&expected, &found, after),
                        Err(problem) => Some(problem),
                    };
                    if point < last.load(Ordering::SeqCst) {
                        reached.fetch_add(1, Ordering::SeqCst);
                    }
                    let told = problem.map(|problem| format!("{story:?} {death:?} {after:?}: {problem}"));
                    problems.lock().unwrap().extend(told);
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{} points:\n{}", problems.len(), problems.join("\n\n"));
    reached.into_inner()
}

fn sweep_all(story: Story, after: After, sample: usize) {
    let step = if is_full() { 1 } else { sample };
    if !can_trace() {
        let points = sweep(story, Death::Point, after, 4 * step);
        println!("kill sweep: no strace, own crash points instead: {story:?} {after:?} {points} points");
        assert!(points > 0);
        return;
    }
    for calls in CALLS {
        let points = sweep(story, |count| Death::Call(calls, count), after, step);
        println!("kill sweep: {story:?} {after:?} {calls} {points:>4} points");
        assert!(points > 0, "{calls} is never called");
    }
}

#[test]
fn a_loop_may_be_killed_at_any_change_of_a_file_and_resumed_at_once() {
    sweep_all(Story::Loop, After::Resume, 6);
}

#[test]
fn a_loop_may_be_killed_at_any_change_of_a_file_and_resumed_late() {
    sweep_all(Story::Loop, After::Wait, 12);
}

#[test]
fn a_loop_may_be_killed_with_everything_at_any_change_of_a_file() {
    sweep_all(Story::Loop, After::KillTheRest, 12);
}

#[test]
fn several_tasks_may_be_killed_at_any_change_of_a_file_and_resumed_at_once() {
    sweep_all(Story::Jobs, After::Resume, 7);
}

#[test]
fn several_tasks_may_be_killed_at_any_change_of_a_file_and_resumed_late() {
    sweep_all(Story::Jobs, After::Wait, 12);
}

#[test]
fn several_tasks_may_be_killed_with_everything_at_any_change_of_a_file() {
    sweep_all(Story::Jobs, After::KillTheRest, 12);
}

/// A `git` before the real one: the first such call by Windlass itself is killed at its n-th rename or unlink,
/// with its locks in place.
fn git_to_be_killed(place: &Place, call: &str, count: usize) -> (String, PathBuf) {
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let (bin, once) = (tasks::outside(place, "bin"), tasks::outside(place, "once"));
    let calls = format!("{},{}", CALLS[0], CALLS[1]);
    let text = format!(
        "#!/bin/sh\ncase \"$WINDLASS_RUN:$*\" in \":{call} \"*)\n  \
         if mkdir {once} 2>/dev/null; then\n    strace -f -qq -o /dev/null -e trace={calls} -e \
         inject={calls}:signal=SIGKILL:when={count} {real} \"$@\"\n    code=$?\n    [ $code -lt 128 ] || kill -9 $$\n    touch {once}/over\n    exit $code\n  fi;;\nesac\n\
         exec {real} \"$@\"\n",
        once = once.display(),
        real = real.display(),
    );
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("git"), text).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    (format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()), once.join("over"))
}

#[test]
fn a_git_of_windlass_may_be_killed_at_any_change_of_a_file() {
    if !can_trace() {
        note_skip("a_git_of_windlass_may_be_killed_at_any_change_of_a_file", "strace cannot trace here");
        return;
    }
    let (expected, _) = play(Story::Jobs, None).unwrap();
    let step = if is_full() { 1 } else { 5 };
    for call in ["worktree add", "worktree remove", "checkout", "rebase", "merge", "update-ref"] {
        let mut points = 0;
        for count in (1..200).step_by(step) {
            let place = Story::Jobs.place();
            let (path, over) = git_to_be_killed(&place, call, count);
            let mut command = place.windlass(Story::Jobs.arguments());
            command.env("PATH", path);
            let ran = place.spawn(command).end();
            if over.exists() {
                break;
            }
            points += 1;
            assert_eq!(ran.code, 0, "git {call} at {count}: {ran}");
            assert_eq!(left(Story::Jobs, &place, ran.finished()), expected, "git {call} at {count}: {ran}");
            assert_eq!(half_written(&place), Vec::<PathBuf>::new());
        }
        println!("kill sweep: git {call} {points:>4} points");
        assert!(points > 0, "git {call} changes no file");
    }
}
