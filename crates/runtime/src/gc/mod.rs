//! Cleans up what Windlass made and nobody needs any more, and nothing else.
//!
//! `plan` finds what can go and says why the rest stays; it changes nothing. `perform` removes the items of a
//! plan one by one, and checks each again under the locks of its run. It can be killed at any point: the next
//! call finishes the work. `branches` is about worktrees and branches, `families` about runs that only go
//! together, and `run_files` about the files of a run outside of the log.

mod branches;
mod families;
mod item;
mod perform;
mod plan;
mod run_files;

pub use item::{GcBranch, GcEnd, GcError, GcFile, GcItem, GcKept, GcPlan, GcRequest, GcRun, GcThing};
