//! The points at which a crash test can kill this process: before a commit, after it, and between an effect
//! and the record of its outcome.
//!
//! Always compiled in, so that the tested program is the shipped one. The face reads `WINDLASS_CRASH_AT`
//! once. The process dies by a real SIGKILL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use windlass_core::crash::{CrashPlan, Victim};

/// A counter of the crash points that this process has passed.
#[derive(Debug, Clone, Default)]
pub struct CrashCounter {
    plan: Option<CrashPlan>,
    passed: Arc<AtomicU64>,
    is_background: Arc<AtomicBool>,
    /// The crash points passed by tasks that perform effects.
    in_effects: Arc<AtomicU64>,
}

impl CrashCounter {
    /// Reads the value of `WINDLASS_CRASH_AT`.
    pub fn from_text(text: Option<&str>) -> CrashCounter {
        CrashCounter { plan: text.and_then(CrashPlan::parse), ..CrashCounter::default() }
    }

    /// Notes that this process runs in the background.
    pub(crate) fn in_background(&self) {
        self.is_background.store(true, Ordering::Relaxed);
    }

    /// Passes a point, or kills the process there. `kin` ends the hosts and agents of the run.
    pub(crate) fn point(&self, kin: impl FnOnce()) {
        let here = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(plan) = self.plan.filter(|plan| plan.point == here) else { return };
        match plan.victim {
            Victim::Host | Victim::Effect => return,
            Victim::Background if !self.is_background.load(Ordering::Relaxed) => return,
            Victim::Everything => kin(),
            Victim::Windlass | Victim::Background => {}
        }
        windlass_peers::process::kill_self();
    }

    /// Passes a point of a task that performs an effect, or panics there.
    #[expect(clippy::panic, reason = "a crash test requests this panic")]
    pub(crate) fn point_in_effect(&self) {
        let here = self.in_effects.fetch_add(1, Ordering::Relaxed) + 1;
        if self.plan.is_some_and(|plan| plan.victim == Victim::Effect && plan.point == here) {
            panic!("requested by WINDLASS_CRASH_AT");
        }
    }
}
