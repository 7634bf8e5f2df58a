//! Loading 10,000 skills and agents of 2.2 KB: cold and warm, beside reading the bytes and gray-matter.
//!
//! `cargo run --release -p windlass-runtime --example bench_entities [FILES] [ROUNDS]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a measuring program, run by hand"
)]

use std::fs::{self, File, FileTimes};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use windlass_runtime::crash::CrashCounter;
use windlass_runtime::entities::{EntityKind, LoadedEntities, load};
use windlass_runtime::home::Home;

const GRAY_MATTER: &str = "4.0.3";

/// Microseconds.
#[derive(Clone, Copy)]
struct Took {
    wall: f64,
    cpu: f64,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, folder] = &args[..]
        && (mode == "floor" || mode == "load")
    {
        return one(mode, Path::new(folder));
    }
    let number = |at: usize, default: usize| args.get(at).map_or(default, |arg| arg.parse().unwrap());
    let (most, rounds) = (number(0, 10_000), number(1, 5));
    let peer = install_gray_matter();
    println!("{:>7} {:24} {:>9} {:>9} {:>8} {:>8}", "files", "", "wall us/f", "cpu us/f", "x wall", "x cpu");
    for count in [100, 1_000, 10_000].into_iter().filter(|count| *count <= most) {
        measure(count, rounds * (10_000 / count).min(10), peer.as_deref());
    }
}

fn measure(count: usize, rounds: usize, peer: Option<&Path>) {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), count);
    let cache = folder.path().join("state/cache");
    let (mut floor, mut cold, mut warm, mut gray) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        floor.push(apart("floor", folder.path(), count));
        // One that is there would be read and found wanting.
        let _ = fs::remove_dir_all(&cache);
        cold.push(apart("load", folder.path(), count));
        warm.push(apart("load", folder.path(), 0));
        if round < 3 {
            gray.extend(peer.and_then(|peer| run_gray_matter(peer, folder.path(), count)));
        }
    }
    let (floor, cold, warm) = (median(floor), median(cold), median(warm));
    let row = |name: &str, took: Took| {
        let each = count as f64;
        let (wall, cpu) = (took.wall / floor.wall, took.cpu / floor.cpu);
        println!(
            "{count:>7} {name:24} {:>9.1} {:>9.1} {wall:>8.2} {cpu:>8.2}",
            took.wall / each,
            took.cpu / each
        );
    };
    row("walk and read", floor);
    row("cold (goal: at most 5)", cold);
    row("warm (at most 1.5)", warm);
    if !gray.is_empty() {
        let gray = median(gray);
        row("gray-matter", gray);
        println!(
            "        cold beside gray-matter: {:.2} x its files/s by wall, {:.2} x by CPU (at least 1.3)",
            gray.wall / cold.wall,
            gray.cpu / cold.cpu
        );
    }
    let loaded = load(&home(folder.path()), &folder.path().join("repo"), &[]).unwrap();
    println!("        lookup: {:.0} ns (below 1,000)", lookup(&loaded, count));
}

/// Each in a process of its own, as people start it; its start is not counted.
fn apart(mode: &str, folder: &Path, read: usize) -> Took {
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own).arg(mode).arg(folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(numbers[0], read as f64, "{}", String::from_utf8_lossy(&output.stderr));
    Took { wall: numbers[1], cpu: numbers[2] }
}

fn one(mode: &str, folder: &Path) {
    let (repo, home) = (folder.join("repo"), home(folder));
    let (read, took) = timed(|| match mode {
        "floor" => read_all(&repo),
        _ => {
            let loaded = load(&home, &repo, &[]).unwrap();
            assert_eq!(loaded.diagnostics, []);
            let read = loaded.read;
            // What a process needs until its end is not cleared away.
            std::mem::forget(loaded);
            read
        }
    });
    println!("{read} {} {}", took.wall, took.cpu);
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let cpu = || {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
    };
    let (start, used) = (Instant::now(), cpu());
    let out = work();
    (out, Took { wall: start.elapsed().as_secs_f64() * 1e6, cpu: cpu() - used })
}

fn median(mut all: Vec<Took>) -> Took {
    let middle = all.len() / 2;
    all.sort_by(|a, b| a.wall.total_cmp(&b.wall));
    let wall = all[middle].wall;
    all.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    Took { wall, cpu: all[middle].cpu }
}

/// The floor: everything is found and read, and nothing is made of it.
fn read_all(folder: &Path) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files += read_all(&entry.path());
        } else {
            black_box(fs::read(entry.path()).unwrap());
            files += 1;
        }
    }
    files
}

fn lookup(loaded: &LoadedEntities, count: usize) -> f64 {
    let names: Vec<(EntityKind, String)> = (0..count)
        .map(|n| {
            if n % 2 == 0 {
                (EntityKind::Skill, format!("Skill-{n}"))
            } else {
                (EntityKind::Agent, format!("agent-{n}"))
            }
        })
        .collect();
    let rounds = 1_000_000 / count;
    let start = Instant::now();
    for _ in 0..rounds {
        for (kind, name) in &names {
            assert!(black_box(loaded.registry.get(*kind, name)).is_some());
        }
    }
    start.elapsed().as_secs_f64() * 1e9 / (rounds * count) as f64
}

/// A repository with so many files, which nobody changed for long.
fn make(root: &Path, count: usize) {
    let old = SystemTime::now() - Duration::from_secs(86_400);
    for n in 0..count {
        let (path, name) = match n % 2 {
            0 => (format!("repo/.claude/skills/skill-{n}/SKILL.md"), format!("skill-{n}")),
            _ => (format!("repo/.claude/agents/agent-{n}.md"), format!("agent-{n}")),
        };
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text(&name)).unwrap();
        let times = FileTimes::new().set_modified(old);
        File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
    }
    for part in ["repo/.git", "home", "config/windlass", "state"] {
        fs::create_dir_all(root.join(part)).unwrap();
    }
    // The system's own time of change cannot be set: it has to pass.
    std::thread::sleep(Duration::from_millis(200));
}

fn home(root: &Path) -> Home {
    Home {
        state: root.join("state"),
        config: root.join("config/windlass"),
        user: root.join("home"),
        temp: root.join("state"),
        env: Vec::new(),
        agents: Default::default(),
        binary: None,
        machine: "bench".to_owned(),
        crash: CrashCounter::default(),
    }
}

/// 2.2 KB, of which 0.57 KB are frontmatter: nested hooks, a list, a block scalar.
fn text(name: &str) -> String {
    let head = format!(
        "---
name: {name}
description: Use when the user asks for {name}, or when a task needs careful work on many files at once
model: sonnet
color: blue
allowed-tools:
  - Read
  - Grep
  - Bash(git:*)
  - Edit
disable-model-invocation: false
hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: ./scripts/check.sh --strict
          timeout: 30
  Stop:
    - hooks:
        - type: command
          command: ./scripts/done.sh
notes: |
  Keep the diff small.
  Run the tests before you say that it works.
---
"
    );
    let line = "Look at the code that is there before you write any, and follow what it does already.\n";
    let body = line.repeat((2_200 - head.len()) / line.len());
    format!("{head}# {name}\n\n{body}")
}

fn run_gray_matter(peer: &Path, folder: &Path, count: usize) -> Option<Took> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/gray_matter.js");
    let output = Command::new("node").arg(script).arg(peer).arg(folder.join("repo/.claude")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [files, wall, cpu] = numbers[..] else {
        println!("{}", String::from_utf8_lossy(&output.stderr));
        return None;
    };
    assert_eq!(files, count as f64);
    Some(Took { wall, cpu })
}

/// Outside the tree, where the tests keep the programs of others.
fn install_gray_matter() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("WINDLASS_TEST_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("windlass-tests")))
        .or_else(|| Some(set("HOME")?.join(".cache/windlass-tests")))?;
    let folder = cache.join(format!("gray-matter-{GRAY_MATTER}"));
    if folder.join("complete").is_file() {
        return Some(folder);
    }
    fs::create_dir_all(&folder).ok()?;
    let package = format!("gray-matter@{GRAY_MATTER}");
    let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "."];
    let output = Command::new("npm").args(words).arg(package).current_dir(&folder).output();
    let is_installed = output.is_ok_and(|output| output.status.success());
    if !is_installed || fs::write(folder.join("complete"), "").is_err() {
        println!("gray-matter cannot be installed: not compared with it");
        return None;
    }
    Some(folder)
}
