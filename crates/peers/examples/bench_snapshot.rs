//! A snapshot of 20,000 files of which 10 changed, compared with `git add -A` with a private index.
//!
//! `cargo run --release -p windlass-peers --example bench_snapshot [FILES] [ROUNDS]`
//!
//! Every round changes other content, so both write the same number of new objects; they take turns in being
//! first. Prints medians, their ratio, and the same where nothing changed.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measuring program, run by hand"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use windlass_peers::git::{SnapshotFolder, SnapshotRequest, take_snapshot};

const CHANGED: usize = 10;

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<usize>().unwrap());
    let (files, rounds) = (args.next().unwrap_or(20_000), args.next().unwrap_or(31));
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    make(&repo, files);
    let bench = Bench { repo, own: dir.path().join("own"), index: dir.path().join("index") };
    fs::copy(bench.repo.join(".git/index"), &bench.index).unwrap();
    let begin = Instant::now();
    bench.snapshot();
    let first = begin.elapsed().as_secs_f64() * 1000.0;
    bench.add();
    let (mut add, mut snapshot, mut add_again, mut snapshot_again) = (vec![], vec![], vec![], vec![]);
    for round in 0..rounds {
        let timed = |act: &dyn Fn(), into: &mut Vec<f64>| {
            let begin = Instant::now();
            act();
            into.push(begin.elapsed().as_secs_f64() * 1000.0);
        };
        // Each meets contents that the other has not written yet.
        for ours in [round % 2 == 0, round % 2 == 1] {
            bench.change(files, round, ours);
            match ours {
                true => timed(&|| bench.snapshot(), &mut snapshot),
                false => timed(&|| bench.add(), &mut add),
            }
            // The other one catches up, outside of the measurement.
            if ours {
                bench.add()
            } else {
                bench.snapshot()
            };
        }
        timed(&|| bench.add(), &mut add_again);
        timed(&|| bench.snapshot(), &mut snapshot_again);
    }
    let (add, snapshot) = (median(add), median(snapshot));
    let (add_again, snapshot_again) = (median(add_again), median(snapshot_again));
    println!("{files} files, medians of {rounds} rounds; the first snapshot took {first:.1} ms");
    println!("{CHANGED} files changed: git add -A {add:.1} ms, snapshot {snapshot:.1} ms");
    println!("ratio {:.2} (goal: at most 1.20)", snapshot / add);
    println!("nothing changed: git add -A {add_again:.1} ms, snapshot {snapshot_again:.1} ms");
    println!("ratio {:.2}, no new commit and no new object", snapshot_again / add_again);
}

struct Bench {
    repo: PathBuf,
    own: PathBuf,
    index: PathBuf,
}

impl Bench {
    fn snapshot(&self) {
        let folder = SnapshotFolder { path: &self.repo, own: &self.own, state: Path::new("/none") };
        let request =
            SnapshotRequest { reference: Some("refs/windlass/bench/loop/1"), title: "bench", also: &[] };
        take_snapshot(folder, request).unwrap().unwrap();
    }

    fn add(&self) {
        let mut git = git(&self.repo, &["add", "-A"]);
        assert!(git.env("GIT_INDEX_FILE", &self.index).status().unwrap().success());
    }

    fn change(&self, files: usize, round: usize, ours: bool) {
        for number in 0..CHANGED {
            let text = format!("round {round} of {ours}: {number}\n").repeat(20);
            // Two in each of five folders.
            let file = (number / 2) * (files / 5) + number % 2;
            fs::write(self.repo.join(name(file)), text).unwrap();
        }
    }
}

fn name(number: usize) -> String {
    format!("d{}/s{}/f{number}.txt", number / 2_000, number / 100)
}

fn make(repo: &Path, files: usize) {
    fs::create_dir(repo).unwrap();
    for number in 0..files {
        let path = repo.join(name(number));
        if number % 100 == 0 {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(path, format!("file {number}\n").repeat(20)).unwrap();
    }
    for args in [&["init", "--quiet"][..], &["add", "-A"], &["commit", "--quiet", "-m", "start"]] {
        assert!(git(repo, args).status().unwrap().success());
    }
}

fn git(repo: &Path, args: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(args).current_dir(repo);
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        git.env(name, "bench");
    }
    git
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
