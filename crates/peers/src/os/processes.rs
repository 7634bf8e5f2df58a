//! Facts about the running processes, from `/proc`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A size above the kernel's limit for arguments and environment.
const LARGEST: u64 = 8 << 20;
/// Enough room for most files of a process.
const USUAL: usize = 4 << 10;

/// A process as the system describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStatus {
    /// A letter: `T` and `t` for stopped, `Z` and `X` for ended.
    pub(crate) state: char,
    pub(crate) parent: i32,
    /// The start time, in clock ticks of the kernel. It distinguishes a process from a later one with
    /// the same id.
    pub(crate) start: u64,
}

/// Returns the ids of all visible processes.
pub(crate) fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Decides whether a process exists. A zombie counts.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Decides whether the system hides the processes of other users.
pub(crate) fn others_are_hidden() -> bool {
    !fs::exists("/proc/1").unwrap_or_default()
}

/// Returns state, parent and start time, or `None` if the process is gone.
pub(crate) fn status(pid: i32) -> Option<ProcessStatus> {
    parse_status(&read(pid, "stat")?)
}

/// Returns the arguments of a process, each followed by a zero byte. A dead process has none.
pub(crate) fn arguments(pid: i32) -> Vec<u8> {
    read(pid, "cmdline").unwrap_or_default()
}

/// Returns the environment at the start of a process, each variable followed by a zero byte. The
/// environment of another user's process is not readable.
pub(crate) fn environment(pid: i32) -> Option<Vec<u8>> {
    read(pid, "environ")
}

/// Returns the program's name, truncated by the system, and a newline.
pub(crate) fn program_name(pid: i32) -> Vec<u8> {
    read(pid, "comm").unwrap_or_default()
}

pub(crate) fn working_folder(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

pub(crate) fn open_files(pid: i32) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| fs::read_link(file.path()).ok())
}

/// Returns the limits of a process as the kernel's table: `NAME  SOFT  HARD  UNIT`.
pub(super) fn limits(pid: i32) -> Vec<u8> {
    read(pid, "limits").unwrap_or_default()
}

/// Returns the names of the cgroups of a process and of their ancestors.
pub(crate) fn groups_around(pid: i32) -> Vec<String> {
    names_of_groups(&read(pid, "cgroup").unwrap_or_default())
}

fn names_of_groups(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().flat_map(|line| line.split('/')).map(str::to_owned).collect()
}

fn read(pid: i32, name: &str) -> Option<Vec<u8>> {
    // The kernel tells no size: with less room, reading takes many small steps.
    let mut bytes = Vec::with_capacity(USUAL);
    let file = File::open(format!("/proc/{pid}/{name}")).ok()?;
    // A process that just ended gives nothing more to read.
    let _ = file.take(LARGEST).read_to_end(&mut bytes);
    Some(bytes)
}

/// Parses `PID (NAME) STATE PARENT …`. The name may contain anything, brackets too.
fn parse_status(text: &[u8]) -> Option<ProcessStatus> {
    let end_of_name = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(end_of_name + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(ProcessStatus { state, parent, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_hides_no_parent() {
        let text = b"42 (evil) S 1) R 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n";
        assert_eq!(parse_status(text), Some(ProcessStatus { state: 'R', parent: 7, start: 12345 }));
        assert_eq!(parse_status(b"42 (sh) S 1 2 3"), None);
    }

    #[test]
    fn a_group_counts_by_its_whole_name() {
        use windlass_core::launch::{cgroup_name, is_cgroup_name};
        let is_grouped = |text: &[u8]| names_of_groups(text).iter().any(|name| is_cgroup_name(name));
        let name = cgroup_name("r1.fix.1.1.session");
        assert!(is_grouped(format!("1:cpu:/\n0::/user.slice/{name}/inner\n").as_bytes()));
        assert!(!is_grouped(b"0::/user.slice/windlass-nightly.service\n"));
        assert!(!is_grouped(format!("0::/{name}.service\n").as_bytes()));
    }
}
