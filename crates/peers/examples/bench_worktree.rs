//! Making and taking away worktrees of 5,000 files, beside bare `git worktree add` and `remove` in
//! the same run: one at a time, eight at once, and 200 small ones at once. Prints ratios.
//!
//! `cargo run --release -p windlass-peers --example bench_worktree [FILES] [ROUNDS] [FOLDER]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measuring program, run by hand"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_peers::git::{Removal, create, git, is_clean, list, refresh, remove};

const AT_ONCE: usize = 8;
const SMALL: usize = 200;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let files = args.first().map_or(5_000, |n| n.parse().unwrap());
    let rounds = args.get(1).map_or(7, |n| n.parse().unwrap());
    let folder = args.get(2).map_or_else(std::env::temp_dir, PathBuf::from);
    let ground = Ground::new(&folder, files);
    println!("{files} files, {rounds} rounds, in {}", folder.display());
    one_at_a_time(&ground, rounds);
    at_once(&ground, rounds);
    polls(&ground);
    small_ones(&folder);
    removals(&ground, rounds);
}

struct Ground {
    temp: tempfile::TempDir,
    repo: PathBuf,
    files: usize,
}

impl Ground {
    /// Files of 3.7 KB that do not compress to nothing, packed.
    fn new(folder: &Path, files: usize) -> Ground {
        let temp = tempfile::tempdir_in(folder).unwrap();
        let repo = temp.path().join("repo");
        let mut seed = 1_u64;
        for n in 0..files {
            let dir = repo.join(format!("d{}", n / 100));
            fs::create_dir_all(&dir).unwrap();
            let mut text = String::new();
            while text.len() < 3_700 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text += &format!("{:x}\n", seed >> 40);
            }
            fs::write(dir.join(format!("f{n}.txt")), text).unwrap();
        }
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "t"],
            &["config", "user.email", "t@example.invalid"],
            &["config", "gc.auto", "0"],
            &["add", "--all"],
            &["commit", "--quiet", "-m", "all"],
            &["repack", "--quiet", "-a", "-d"],
        ] {
            git(&repo, args).unwrap();
        }
        Ground { temp, repo, files }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// The files alone, without git: what the file system and the machine have to give right now.
    fn write(&self, name: &str) {
        for n in 0..self.files {
            let dir = self.path(name).join(format!("d{}", n / 100));
            if n % 100 == 0 {
                fs::create_dir_all(&dir).unwrap();
            }
            fs::write(dir.join(format!("f{n}.txt")), [b'x'; 3_700]).unwrap();
        }
    }

    fn bare_add(&self, name: &str) {
        let path = self.path(name);
        git(&self.repo, &["worktree", "add", "--quiet", "-b", name, path.to_str().unwrap(), "main"]).unwrap();
    }

    fn ours(&self, name: &str) -> windlass_peers::git::Worktree {
        create(&self.repo, &self.path(name), name, "main").unwrap()
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

fn one_at_a_time(ground: &Ground, rounds: usize) {
    let (mut bare, mut ours, mut spawn) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..rounds {
        bare.push(timed(|| ground.bare_add(&format!("bare{n}"))));
        ours.push(timed(|| drop(ground.ours(&format!("ours{n}")))));
        spawn.push(timed(|| drop(git(&ground.repo, &["rev-parse", "HEAD"]).unwrap())));
    }
    let (bare, ours, spawn) = (median(bare), median(ours), median(spawn));
    println!(
        "create: {ours:.1} ms, bare git {bare:.1} ms: {:.2} x, {:+.1} ms; one call of git is {spawn:.1} ms",
        ours / bare,
        ours - bare
    );
}

/// Last of all: on ext4 deletions make what is created after them slow.
fn removals(ground: &Ground, rounds: usize) {
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    let all = list(&ground.repo).unwrap();
    for n in 0..rounds {
        let worktree = all.iter().find(|one| one.branch == format!("ours{n}")).unwrap();
        let path = ground.path(&format!("bare{n}"));
        bare.push(timed(|| {
            git(&ground.repo, &["worktree", "remove", path.to_str().unwrap()]).unwrap();
        }));
        ours.push(timed(|| assert_eq!(remove(worktree, "main").unwrap(), Removal::Removed)));
    }
    let (bare, ours) = (median(bare), median(ours));
    println!("remove, branch too: {ours:.1} ms, bare git, branch kept: {bare:.1} ms: {:.2} x", ours / bare);
}

fn at_once(ground: &Ground, rounds: usize) {
    let (mut row, mut together, mut floor_row, mut floor) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds.min(3) {
        row.push(timed(|| (0..AT_ONCE).for_each(|n| drop(ground.ours(&format!("row{round}-{n}"))))));
        floor_row.push(timed(|| (0..AT_ONCE).for_each(|n| ground.write(&format!("files{round}-{n}")))));
        together.push(timed(|| {
            std::thread::scope(|scope| {
                for n in 0..AT_ONCE {
                    scope.spawn(move || ground.ours(&format!("together{round}-{n}")));
                }
            });
        }));
        floor.push(timed(|| {
            std::thread::scope(|scope| {
                for n in 0..AT_ONCE {
                    scope.spawn(move || ground.write(&format!("more{round}-{n}")));
                }
            });
        }));
    }
    let (row, together) = (median(row), median(together));
    println!(
        "{AT_ONCE} at once: {together:.0} ms, in a row {row:.0} ms: {:.2} x; \
         only writing the files: {:.2} x; on {} cores",
        row / together,
        median(floor_row) / median(floor),
        std::thread::available_parallelism().unwrap()
    );
}

fn polls(ground: &Ground) {
    let worktree = ground.ours("polled");
    let look = || timed(|| assert!(is_clean(&worktree).unwrap()));
    let before = median((0..5).map(|_| look()).collect());
    while !refresh(&worktree).unwrap() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = median((0..5).map(|_| look()).collect());
    println!("a look at it: {before:.1} ms when new, {after:.1} ms after a refresh");
}

fn small_ones(folder: &Path) {
    let ground = Ground::new(folder, 20);
    let failed = std::sync::atomic::AtomicUsize::new(0);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let took = timed(|| {
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    loop {
                        let n = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if n >= SMALL {
                            return;
                        }
                        let name = format!("small{n}");
                        if create(&ground.repo, &ground.path(&name), &name, "main").is_err() {
                            failed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        }
                    }
                });
            }
        });
    });
    println!(
        "{SMALL} small ones, {AT_ONCE} at once: {} failed, {:.0} ms",
        failed.into_inner(),
        took.as_secs_f64() * 1000.0
    );
}
