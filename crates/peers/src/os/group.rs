//! The cgroup (v2) that a host creates for its child, as a folder.

use std::fs;
use std::path::{Path, PathBuf};

const MEMBERS: &str = "cgroup.procs";

/// Decides whether a folder is a cgroup.
pub(crate) fn is_group(path: &Path) -> bool {
    path.join(MEMBERS).exists()
}

/// Returns the cgroup and its descendants, parents before children.
pub(crate) fn group_folders(group: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![group.to_owned()];
    while let Some(folder) = next.pop() {
        let inner = fs::read_dir(&folder).into_iter().flatten().flatten();
        next.extend(inner.map(|entry| entry.path()).filter(|path| path.is_dir()));
        found.push(folder);
    }
    found
}

/// Returns the processes in one of the folders.
pub(crate) fn members(folder: &Path) -> Vec<i32> {
    let text = fs::read_to_string(folder.join(MEMBERS)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Kills every process in the cgroup at once, so that none can fork away. Returns false if the kernel is
/// too old for that.
pub(crate) fn kill_group(group: &Path) -> bool {
    fs::write(group.join("cgroup.kill"), "1").is_ok()
}
