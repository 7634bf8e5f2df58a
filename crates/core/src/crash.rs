//! Crash points for tests, read from `WINDLASS_CRASH_AT`.
//!
//! - `windlass:12` kills Windlass at its 12th crash point.
//! - `host:2` kills a host at its second.
//! - `background:3` kills the process that a run was left to, at its third.
//! - `all:12` kills Windlass and every host and agent of its run.
//! - `effect:3` kills no process: the task that performs an effect panics at the third crash point
//!   of such tasks.
//!
//! The processes themselves read the variable and exit.

/// The processes to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// The engine alone. The agent keeps working.
    Windlass,
    Host,
    /// The engine that took a run over in the background, and not the one that a person watches.
    Background,
    Everything,
    Effect,
}

/// An order to crash at the `point`th crash point, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashPlan {
    pub victim: Victim,
    pub point: u64,
}

impl CrashPlan {
    /// Reads `victim:point`. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<CrashPlan> {
        let (victim, point) = text.split_once(':')?;
        let victim = match victim {
            "windlass" => Victim::Windlass,
            "host" => Victim::Host,
            "background" => Victim::Background,
            "all" => Victim::Everything,
            "effect" => Victim::Effect,
            _ => return None,
        };
        Some(CrashPlan { victim, point: point.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_victim_and_a_point() {
        assert_eq!(CrashPlan::parse("host:2"), Some(CrashPlan { victim: Victim::Host, point: 2 }));
        let background = CrashPlan { victim: Victim::Background, point: 3 };
        assert_eq!(CrashPlan::parse("background:3"), Some(background));
        assert_eq!(CrashPlan::parse("all:x"), None);
        assert_eq!(CrashPlan::parse("7"), None);
    }
}
