//! Where a test asks the host to die: `WINDLASS_CRASH_AT=host:POINT`.
//!
//! With `WINDLASS_CRASH_MARK` set, only the host that can create that file dies, so that the one
//! started in its place lives.

use std::fs::File;
use std::path::PathBuf;

use rustix::process::{Signal, getpid, kill_process};
use windlass_core::crash::{CrashPlan, Victim};

const AT: &str = "WINDLASS_CRASH_AT";
const MARK: &str = "WINDLASS_CRASH_MARK";

/// The moments between which a host has done something that cannot be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    Locked = 1,
    Started = 2,
    Spawned = 3,
    Ended = 4,
    ExitWritten = 5,
    ExitRenamed = 6,
}

/// At which point to die, if at all.
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

    /// Dies if this is the point and nobody died for the mark before.
    pub(super) fn pass(&self, point: Point) {
        if self.at != Some(point as u64) {
            return;
        }
        if self.mark.as_ref().is_some_and(|mark| File::create_new(mark).is_err()) {
            return;
        }
        let _ = kill_process(getpid(), Signal::KILL);
    }
}
