//! Deaths of Windlass, for sweeps: at its own crash points, and before or after each of its calls of git.
//!
//! A `git` before the real one on the `PATH` counts the calls of Windlass itself and kills it. So Windlass also
//! dies between two steps that only git makes durable.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::place::Place;

/// The moment at which Windlass dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    /// At its n-th crash point.
    Point(u64),
    /// Before its n-th call of git does anything.
    BeforeGit(u64),
    /// After its n-th call of git has done its work.
    AfterGit(u64),
}

impl Death {
    /// Makes a command die at this moment.
    pub(crate) fn strikes(self, place: &Place, command: &mut Command) {
        let (at, body) = match self {
            Death::Point(point) => {
                command.env("WINDLASS_CRASH_AT", format!("windlass:{point}"));
                return;
            }
            Death::BeforeGit(at) => (at, "kill -9 $PPID\n    exit 1"),
            Death::AfterGit(at) => (at, "REAL \"$@\" >/dev/null 2>&1\n    kill -9 $PPID\n    exit 1"),
        };
        let path = std::env::var("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file());
        let bin = place.sealed.root().join("deadly");
        fs::create_dir_all(&bin).unwrap();
        // An agent has a run. A line number cannot be given twice, also not to two calls at once.
        let text = format!(
            "#!/bin/sh\nif [ -z \"$WINDLASS_RUN\" ]; then\n  echo $$ >> CALLS\n  n=$(grep -n -x $$ CALLS)\n  \
             if [ \"${{n%%:*}}\" = {at} ]; then\n    {body}\n  fi\nfi\nexec REAL \"$@\"\n"
        );
        let text = text.replace("CALLS", &bin.join("calls").display().to_string());
        let text = text.replace("REAL", &real.unwrap().display().to_string());
        fs::write(bin.join("git"), text).unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        command.env("PATH", format!("{}:{path}", bin.display()));
    }
}

/// Plays every death, three at a time because each waits a lot, until one does not happen. `play` returns whether it did. Returns how many
/// did.
pub(crate) fn sweep(
    death: impl Fn(u64) -> Death + Sync,
    step: u64,
    play: impl Fn(Death) -> Result<bool, String> + Sync,
) -> u64 {
    let (next, last, died) = (AtomicU64::new(0), AtomicU64::new(u64::MAX), AtomicU64::new(0));
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let at = 1 + step * next.fetch_add(1, Ordering::SeqCst);
                    if at > last.load(Ordering::SeqCst) {
                        return;
                    }
                    let death = death(at);
                    match play(death) {
                        Ok(true) => drop(died.fetch_add(1, Ordering::SeqCst)),
                        Ok(false) => drop(last.fetch_min(at, Ordering::SeqCst)),
                        Err(problem) => problems.lock().unwrap().push(format!("{death:?}: {problem}")),
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().unwrap();
    assert!(problems.is_empty(), "{} deaths:\n{}", problems.len(), problems.join("\n\n"));
    died.into_inner()
}

/// Returns the distance of the points that a sweep tries: every one with `WINDLASS_SWEEP=full`.
pub(crate) fn step(usual: u64) -> u64 {
    if std::env::var("WINDLASS_SWEEP").is_ok_and(|value| value == "full") { 1 } else { usual }
}
