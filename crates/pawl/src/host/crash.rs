//! The points at which a crash test kills the host: `WINDLASS_CRASH_AT=host:POINT`.
//!
//! With `WINDLASS_CRASH_MARK` set, all hosts count their points in that file, one byte each. So exactly one
//! host dies, whichever passes the point, and its replacement lives.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::process::{Signal, getpid, kill_process};
use windlass_core::crash::{CrashPlan, Victim};

const AT: &str = "WINDLASS_CRASH_AT";
const MARK: &str = "WINDLASS_CRASH_MARK";

/// The crash points. Between two of them, a host does something that cannot be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostCrashPoint {
    Locked = 1,
    Started = 2,
    Spawned = 3,
    Ended = 4,
    ExitWritten = 5,
    ExitRenamed = 6,
}

/// The crash point of this process, if any.
pub(super) struct CrashPoints {
    at: Option<u64>,
    mark: Option<PathBuf>,
}

impl CrashPoints {
    pub(super) fn from_env() -> CrashPoints {
        let plan = std::env::var(AT).ok().and_then(|text| CrashPlan::parse(&text));
        let at = plan.filter(|plan| plan.victim == Victim::Host).map(|plan| plan.point);
        CrashPoints { at, mark: std::env::var_os(MARK).map(PathBuf::from) }
    }

    /// Kills the process if this is the point.
    pub(super) fn pass(&self, point: HostCrashPoint) {
        let Some(at) = self.at else { return };
        let passed = match &self.mark {
            Some(mark) => count(mark).unwrap_or(0),
            None => point as u64,
        };
        if passed == at {
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }
}

/// Adds a byte to the file and returns its length, the number of points passed so far.
fn count(mark: &Path) -> std::io::Result<u64> {
    let mut file = OpenOptions::new().create(true).append(true).open(mark)?;
    file.write_all(b".")?;
    Ok(file.metadata()?.len())
}
