//! A cgroup (v2) for the host and everything below it, if the system allows one.
//!
//! The host is forked directly into the cgroup, and its guard stays outside: moving a process into a cgroup
//! would block every fork on the machine for some milliseconds. A process cannot leave its cgroup by forking,
//! with another environment or in another session. So its processes can be found even after host and guard
//! are dead. Without a cgroup, descent and cookie have to suffice.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use windlass_core::launch::{cgroup_name, is_cgroup_name};

/// The number of tries to remove a cgroup: a process that just ended keeps it busy for a moment.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// A cgroup.
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Returns the cgroup for a child, below the one of this process. Does not create it.
    pub(crate) fn for_child(cookie: &str) -> Option<Cgroup> {
        Some(Cgroup { path: own_folder()?.join(cgroup_name(cookie)) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the cgroup and returns its folder, for forking a process into it.
    pub(crate) fn make(&self) -> io::Result<File> {
        match fs::create_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => File::open(&self.path),
        }
    }

    /// Returns all processes in the cgroup and in cgroups below it.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        let mut found = Vec::new();
        self.each(&mut |folder| {
            let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            found.extend(text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)));
        });
        found
    }

    /// Kills all processes at once, so that none can fork away. Has no effect on an old kernel.
    pub(crate) fn kill(&self) {
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Removes the cgroup and those below it, if they are empty.
    pub(crate) fn remove(&self) {
        for _ in 0..TRIES {
            if !self.path.exists() {
                return;
            }
            // Innermost first.
            let mut folders = Vec::new();
            self.each(&mut |folder| folders.push(folder.to_owned()));
            for folder in folders.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
            if self.path.exists() {
                thread::sleep(PAUSE);
            }
        }
    }

    /// Calls `look` for every folder of the cgroup, outermost first.
    fn each(&self, look: &mut dyn FnMut(&Path)) {
        let mut next = vec![self.path.clone()];
        while let Some(folder) = next.pop() {
            let inner = fs::read_dir(&folder).into_iter().flatten().flatten();
            let inner = inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            next.extend(inner.map(|entry| entry.path()));
            look(&folder);
        }
    }
}

/// The answer whether children get their own cgroups on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grouping {
    /// They do, below this folder.
    In(PathBuf),
    /// They do not, for this reason.
    None(String),
}

/// Tests whether children can get their own cgroups.
pub fn grouping() -> Grouping {
    let Some(group) = Cgroup::for_child(&format!("doctor {}", std::process::id())) else {
        return Grouping::None("no cgroup v2 is mounted for this process".to_owned());
    };
    let above = group.path.parent().unwrap_or(Path::new("/")).to_owned();
    // Forking into a cgroup needs write access to the parent cgroup as well.
    let may_enter = |folder: &Path| OpenOptions::new().write(true).open(folder.join("cgroup.procs"));
    let made = group.make().and_then(|_| may_enter(&group.path)).and_then(|_| may_enter(&above));
    group.remove();
    match made {
        Ok(_) => Grouping::In(above),
        Err(error) => Grouping::None(format!("{}: {error}", above.display())),
    }
}

/// The minimum age of an empty cgroup to remove. A new one is empty for a moment.
const YOUNG: Duration = Duration::from_secs(60);

/// Removes the empty cgroups beside this process's own children: their host and guard were killed.
pub fn clear_dead_groups() {
    let Some(folder) = own_folder() else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_cgroup_name);
        let made = entry.metadata().and_then(|meta| meta.modified());
        let is_old = made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age >= YOUNG));
        let group = Cgroup { path: entry.path() };
        // The kernel never removes a cgroup with processes, so a race between the two checks does no harm.
        if is_ours && is_old && group.processes().is_empty() {
            group.remove();
        }
    }
}

/// Returns the folder of the cgroup of this process.
fn own_folder() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    folder_of(&groups, &mounts)
}

/// Parses `0::/PATH` and `ID PARENT DEVICE ROOT MOUNT OPTIONS … - cgroup2 …`.
fn folder_of(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        if !kind.starts_with("cgroup2 ") || place.contains('\\') {
            return None;
        }
        // The path of a cgroup outside the mount starts with `/..`.
        let below = Path::new(group).strip_prefix(root).ok()?;
        let is_plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        is_plain.then(|| Path::new(place).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn found(groups: &str, mounts: &str) -> Option<String> {
        folder_of(groups, mounts).map(|path| path.display().to_string())
    }

    #[test]
    fn the_own_group_is_found_where_it_is_mounted() {
        let scope = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n";
        let expected = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope";
        assert_eq!(found(scope, PLAIN).as_deref(), Some(expected));
        let beside = "35 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found_beside = found("3:cpu:/a\n0::/\n", beside);
        assert_eq!(
            found_beside.as_deref().map(|path| path.trim_end_matches('/')),
            Some("/sys/fs/cgroup/unified")
        );
    }

    #[test]
    fn a_part_that_is_mounted_elsewhere_is_taken_into_account() {
        let bound = "41 31 0:38 /box /mnt/box rw - cgroup2 cgroup2 rw\n";
        assert_eq!(found("0::/box/inner\n", bound).as_deref(), Some("/mnt/box/inner"));
        assert_eq!(found("0::/other\n", bound), None);
        assert_eq!(found("0::/../outside\n", PLAIN), None);
    }

    #[test]
    fn without_groups_there_is_none() {
        assert_eq!(found("3:cpu:/a\n", PLAIN), None);
        assert_eq!(found("0::/a\n", "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n"), None);
    }
}
