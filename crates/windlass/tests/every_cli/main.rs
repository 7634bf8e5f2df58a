//! The whole of a run on every real agent CLI, on a scripted model: loops, tasks in worktrees, ends, `strict`.
//!
//! A file for each kind of run, written once. `drivers` has the CLIs with what differs, as data. Each pair is
//! a test of its own, so that the runner plays them beside each other and names the one that fails.

#![cfg(test)]

mod drivers;
mod ends;
mod loops;
#[path = "../claude_cli/stage.rs"]
#[expect(dead_code, reason = "the stage of another target, of which a part is used")]
mod stage;
mod strict;
mod subject;
mod tasks;

/// Makes the tests of every driver: a module for each, with a function for each kind of run.
macro_rules! on_every_driver {
    ($($driver:ident),* $(,)?) => {$(
        mod $driver {
            use crate::drivers::$driver as driver;
            use crate::subject::Subject;
            use windlass_testkit::{require_agent, require_program};

            #[test]
            fn plays_the_loop_in_every_mode() {
                let bin = require_agent!(driver().cli);
                for mode in driver().modes {
                    crate::loops::play(&Subject::new(driver(), bin.clone()), *mode);
                }
            }

            #[test]
            fn does_two_tasks_at_once() {
                let bin = require_agent!(driver().cli);
                crate::tasks::play(&Subject::outside_temporary(driver(), bin));
            }

            #[test]
            fn is_held_to_what_strict_enforces() {
                let bin = require_agent!(driver().cli);
                let python = require_program!("python3");
                crate::strict::play(&Subject::outside_temporary(driver(), bin), &python);
            }

            #[test]
            fn leaves_the_users_files_as_they_were_when_cancelled_and_killed() {
                let bin = require_agent!(driver().cli);
                crate::ends::cancel(&Subject::new(driver(), bin.clone()));
                crate::ends::kill(&Subject::new(driver(), bin));
            }
        }
    )*};
}

on_every_driver!(claude, codex, opencode, copilot, gemini, acp_opencode, acp_copilot, acp_gemini);
