//! Where this process may be asked to die: before a commit, after it, after an effect and
//! before its outcome is recorded.
//!
//! Compiled in always, so that what is tested is what is shipped. `WINDLASS_CRASH_AT` is read
//! once, by the face; dying is a real SIGKILL, or, for tests within one process, an error that
//! ends the owner as abruptly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::crash::{CrashPlan, Victim};

/// The points of one process, counted as they are passed.
#[derive(Debug, Clone, Default)]
pub struct Crash {
    plan: Option<CrashPlan>,
    how: How,
    passed: Arc<AtomicU64>,
}

#[derive(Debug, Clone, Copy, Default)]
enum How {
    #[default]
    Kill,
    Drop,
}

/// The owner was asked to die where it stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped at a crash point")]
pub struct Crashed;

impl Crash {
    /// Dies by SIGKILL as the text of `WINDLASS_CRASH_AT` says.
    pub fn from_text(text: Option<&str>) -> Crash {
        Crash { plan: text.and_then(CrashPlan::parse), ..Crash::default() }
    }

    /// Ends the owner with an error at the `point`th point, for tests in one process.
    pub fn drop_at(point: u64) -> Crash {
        let plan = Some(CrashPlan { victim: Victim::Windlass, point });
        Crash { plan, how: How::Drop, passed: Arc::default() }
    }

    /// How many points were passed so far.
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// Passes a point, or dies at it. `kin` ends the hosts and agents of the run.
    pub(crate) fn point(&self, kin: impl FnOnce()) -> Result<(), Crashed> {
        let here = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(plan) = self.plan.filter(|plan| plan.point == here) else { return Ok(()) };
        match plan.victim {
            Victim::Host => return Ok(()),
            Victim::Everything => kin(),
            Victim::Windlass => {}
        }
        if matches!(self.how, How::Kill) {
            windlass_peers::process::kill_self();
        }
        Err(Crashed)
    }
}
