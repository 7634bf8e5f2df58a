//! The group of processes (cgroup v2) that a host made for its child, as a folder.

use std::fs;
use std::path::{Path, PathBuf};

const MEMBERS: &str = "cgroup.procs";

/// Whether a folder is a group of processes.
pub(crate) fn is_group(path: &Path) -> bool {
    path.join(MEMBERS).exists()
}

/// Lists the group and those made in it, from the outside in.
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

/// Lists the processes of one of its folders.
pub(crate) fn members(folder: &Path) -> Vec<i32> {
    let text = fs::read_to_string(folder.join(MEMBERS)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Kills everybody in the group at one stroke, so that none can fork away. Whether the kernel can: an old one cannot.
pub(crate) fn kill_group(group: &Path) -> bool {
    fs::write(group.join("cgroup.kill"), "1").is_ok()
}
