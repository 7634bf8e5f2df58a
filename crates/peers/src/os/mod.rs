//! The operating system: everything in this crate that only Linux offers.
//!
//! The functions have names that make sense on any Unix; `ARCHITECTURE.md` lists the substitutes on
//! other systems. This module decides neither which processes to end nor what to watch.

mod file;
mod group;
mod held;
mod landlock;
mod limits;
mod notices;
mod orphans;
mod processes;
mod start;

pub(crate) use file::{FolderReader, clone_contents, leave_read_time, path_of, rename_new};
pub(crate) use group::{group_folders, is_group, kill_group, members};
pub(crate) use held::HeldProcess;
pub(crate) use landlock::can_limit_writes;
pub(crate) use limits::{is_marked, is_of};
pub(crate) use notices::{FolderNotices, NoticeKind, WantedNotices};
pub(crate) use orphans::{adopt_orphans, children};
pub(crate) use processes::{
    arguments, environment, exists, groups_around, open_files, others_are_hidden, processes, program_name,
    status, working_folder,
};
pub(crate) use start::{NewProgram, start};
