//! Where a test asks a process to die: the text of `WINDLASS_CRASH_AT`.
//!
//! `windlass:12` kills Windlass at its 12th point, `host:2` a host at its second, `all:12`
//! Windlass and every host and agent of its run. `effect:3` kills nobody: the task that performs an effect
//! panics, at the third point of such tasks. Reading the variable and dying is left to
//! the processes themselves.

/// Who is to die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// The engine alone; the agent goes on.
    Windlass,
    /// A host alone.
    Host,
    /// Engine, hosts and agents.
    Everything,
    /// The task that performs an effect.
    Effect,
}

/// Die at the `point`th crash point, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashPlan {
    /// Who dies.
    pub victim: Victim,
    /// At which point.
    pub point: u64,
}

impl CrashPlan {
    /// Reads `victim:point`; anything else is no plan.
    pub fn parse(text: &str) -> Option<CrashPlan> {
        let (victim, point) = text.split_once(':')?;
        let victim = match victim {
            "windlass" => Victim::Windlass,
            "host" => Victim::Host,
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
        assert_eq!(CrashPlan::parse("all:x"), None);
        assert_eq!(CrashPlan::parse("7"), None);
    }
}
