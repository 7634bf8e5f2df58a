//! The operating system: everything in this crate that only Linux offers.
//!
//! Detects network file systems, on which SQLite's locks and shared memory do not work; finds the
//! processes that have a file open; and pins a file without opening it. `ARCHITECTURE.md` lists the
//! substitutes on other systems. `open.rs` refuses network file systems.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, statfs};

/// The `statfs` magic numbers of network file systems.
const NETWORK: &[(u32, &str)] = &[
    (0x0000_6969, "nfs"),
    (0x0000_517B, "smb"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb2"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "ceph"),
    (0x0BD0_0BD0, "lustre"),
    (0x5346_414F, "afs"),
    (0x6B41_4653, "afs"),
    (0x7375_7245, "coda"),
    (0x0000_564C, "ncp"),
];

const FUSE: u32 = 0x6573_5546;

/// FUSE also carries local file systems, so only these names are refused.
const NETWORK_FUSE: &[&str] = &[
    "sshfs",
    "glusterfs",
    "rclone",
    "s3fs",
    "gcsfuse",
    "davfs",
    "davfs2",
    "curlftpfs",
    "ceph-fuse",
    "goofys",
    "juicefs",
    "moosefs",
];

/// Returns the name of the network file system that contains `dir`, if any.
pub(crate) fn network(dir: &Path) -> io::Result<Option<String>> {
    // `f_type` is signed on some machines; the magic numbers are the low 32 bits.
    let kind = (statfs(dir)?.f_type as u64 & 0xFFFF_FFFF) as u32;
    if kind == FUSE {
        return Ok(network_fuse(dir));
    }
    Ok(network_name(kind).map(str::to_owned))
}

fn network_name(kind: u32) -> Option<&'static str> {
    NETWORK.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name)
}

fn network_fuse(dir: &Path) -> Option<String> {
    let dir = dir.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind = mount_kind(&mounts, &dir)?;
    let name = kind.strip_prefix("fuse.").unwrap_or(kind);
    NETWORK_FUSE.contains(&name).then(|| name.to_owned())
}

/// Returns the type of the mount that contains `dir`: the longest mount point above it, and the last
/// such line.
fn mount_kind<'a>(mounts: &'a str, dir: &Path) -> Option<&'a str> {
    mounts
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let point = Path::new(left.split(' ').nth(4)?);
            dir.starts_with(point).then_some((point.components().count(), right.split(' ').next()?))
        })
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, kind)| kind)
}

/// Pins a file without opening it for reading or writing, so that its inode number cannot be reused.
pub(crate) fn pin(file: &Path) -> io::Result<OwnedFd> {
    Ok(open(file, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Returns the other visible processes that have a file open. `file` must be a canonical path.
pub(crate) fn others_with(file: &Path) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut pids: Vec<u32> = pids.filter(|pid| *pid != std::process::id() && has_open(*pid, file)).collect();
    pids.sort_unstable();
    pids
}

fn has_open(pid: u32, path: &Path) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_magic_and_local_ones_are_not() {
        assert_eq!(network_name(0x6969), Some("nfs"));
        assert_eq!(network_name(0xFF53_4D42), Some("cifs"));
        let local = [0xEF53, 0x0102_1994, 0x794C_7630, 0x9123_683E, 0x5846_5342, 0x2FC1_2FC1];
        assert!(local.iter().all(|kind| network_name(*kind).is_none()));
    }

    #[test]
    fn the_folder_of_the_tests_is_local() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(network(dir.path()).unwrap(), None);
    }

    #[test]
    fn the_innermost_mount_says_what_a_folder_is_on() {
        let mounts = "22 1 0:1 / / rw - ext4 /dev/sda rw\n\
                      30 22 0:9 / /home/u/far rw shared:1 - fuse.sshfs host:/x rw\n";
        assert_eq!(mount_kind(mounts, Path::new("/home/u/far/state")), Some("fuse.sshfs"));
        assert_eq!(mount_kind(mounts, Path::new("/home/u/farther")), Some("ext4"));
    }
}
