//! Everything in this crate that only Linux offers.
//!
//! The interface uses concepts that every Unix has; `ARCHITECTURE.md` says what another system would use.
//! `hook` starts thousands of times a day, so its functions are inlined.

mod cgroup;
mod changes;
mod child;
mod guard;
mod local;
mod process;
mod processes;
mod signals;
mod socket;
mod write_limit;

pub(crate) use cgroup::Cgroup;
pub use cgroup::{Grouping, clear_dead_groups, grouping};
pub(crate) use changes::FileChanges;
pub(crate) use child::{end_with_parent, mark};
pub(crate) use guard::{fork_into, show_as_guard};
pub(crate) use local::local_time;
pub(crate) use process::{adopt_orphans, close_inherited, memory_file};
pub(crate) use processes::{PidCount, Process, pin, processes};
pub(crate) use signals::{Signals, Wake, unblock_all};
pub(crate) use socket::{fill_random, socket, socket_pair};
pub(crate) use write_limit::{WriteLimit, can_limit_writes};
