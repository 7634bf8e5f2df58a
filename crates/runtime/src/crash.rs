//! Where this process may be asked to die: before a commit, after it, after an effect and
//! before its outcome is recorded.
//!
//! Compiled in always, so that what is tested is what is shipped. `WINDLASS_CRASH_AT` is read
//! once, by the face; dying is a real SIGKILL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::crash::{CrashPlan, Victim};

/// The points of one process, counted as they are passed.
#[derive(Debug, Clone, Default)]
pub struct CrashCounter {
    plan: Option<CrashPlan>,
    passed: Arc<AtomicU64>,
    /// The same, of the tasks that perform effects.
    in_effects: Arc<AtomicU64>,
}

impl CrashCounter {
    /// Dies as the text of `WINDLASS_CRASH_AT` says.
    pub fn from_text(text: Option<&str>) -> CrashCounter {
        CrashCounter { plan: text.and_then(CrashPlan::parse), ..CrashCounter::default() }
    }

    /// Passes a point, or dies at it. `kin` ends the hosts and agents of the run.
    pub(crate) fn point(&self, kin: impl FnOnce()) {
        let here = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(plan) = self.plan.filter(|plan| plan.point == here) else { return };
        match plan.victim {
            Victim::Host | Victim::Effect => return,
            Victim::Everything => kin(),
            Victim::Windlass => {}
        }
        windlass_peers::process::kill_self();
    }

    /// Passes a point of a task that performs an effect, or panics at it.
    #[expect(clippy::panic, reason = "a test wants to see what becomes of it")]
    pub(crate) fn point_in_effect(&self) {
        let here = self.in_effects.fetch_add(1, Ordering::Relaxed) + 1;
        if self.plan.is_some_and(|plan| plan.victim == Victim::Effect && plan.point == here) {
            panic!("WINDLASS_CRASH_AT says so");
        }
    }
}
