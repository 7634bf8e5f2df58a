//! Finds live processes in `/proc`, by parent or by a variable in their environment.
//!
//! A zombie counts as gone. [`crate::Sealed::kill9`] ends processes, because it knows which ones belong to
//! the test.

use std::collections::HashSet;
use std::fs;

/// A live process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proc {
    pub pid: i32,
    /// The parent's id.
    pub parent: i32,
    pub session: i32,
    /// Program and arguments, separated by spaces.
    pub command: String,
}

/// Returns every live process that can be read.
pub fn all() -> Vec<Proc> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).filter_map(read).collect()
}

/// Returns one process, if it is alive.
pub fn read(pid: i32) -> Option<Proc> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may contain spaces and brackets, so the fields start after the last bracket.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&raw).replace('\0', " ").trim_end().to_owned();
    Some(Proc { pid, parent: number(1)?, session: number(3)?, command })
}

/// Returns true if a process is alive and not a zombie.
pub fn is_alive(pid: i32) -> bool {
    read(pid).is_some()
}

/// Returns all descendants of a process, children before grandchildren.
pub fn descendants(pid: i32) -> Vec<Proc> {
    let everyone = all();
    let mut above = HashSet::from([pid]);
    let mut below = Vec::new();
    loop {
        let next: Vec<Proc> = everyone
            .iter()
            .filter(|p| above.contains(&p.parent) && !above.contains(&p.pid))
            .cloned()
            .collect();
        if next.is_empty() {
            return below;
        }
        above.extend(next.iter().map(|p| p.pid));
        below.extend(next);
    }
}

/// Returns every live process whose environment contains `key=value` and can be read.
pub fn with_variable(key: &str, value: &str) -> Vec<Proc> {
    let wanted = format!("{key}={value}");
    let has = |entries: Vec<Vec<u8>>| entries.iter().any(|entry| entry == wanted.as_bytes());
    all().into_iter().filter(|p| environment(p.pid).is_some_and(has)).collect()
}

/// Returns every process of one long child of Windlass, wherever it was reparented to.
pub fn with_cookie(cookie: &str) -> Vec<Proc> {
    with_variable("WINDLASS_SESSION", cookie)
}

/// The most looks at a process without an environment. A millisecond passes between two.
const LOOKS: u32 = 20;

/// The parent of the kernel's own threads, which have no environment.
const KERNEL: i32 = 2;

/// Returns the environment of a process, or nothing if it has none or is gone. A process that replaces its
/// program has none for a moment, so this looks more than once.
pub(crate) fn environment(pid: i32) -> Option<Vec<Vec<u8>>> {
    for _ in 0..LOOKS {
        let raw = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let entries: Vec<Vec<u8>> =
            raw.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(<[u8]>::to_vec).collect();
        if !entries.is_empty() {
            return Some(entries);
        }
        let is_of_kernel = |process: Proc| process.pid == KERNEL || process.parent == KERNEL;
        if read(pid).is_none_or(is_of_kernel) {
            return None;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    None
}

pub(crate) fn kill(pid: i32) {
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { return };
    // A process that is already gone needs no signal.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_is_found_by_parent_and_by_cookie_until_it_is_gone() {
        let cookie = format!("testkit-{}", std::process::id());
        let mut child = Command::new("cat")
            .env("WINDLASS_SESSION", &cookie)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        crate::wait::until(crate::soon(), || with_cookie(&cookie).iter().any(|p| p.pid == pid));
        assert!(descendants(me).iter().any(|p| p.pid == pid));
        kill(pid);
        child.wait().unwrap();
        assert!(!is_alive(pid));
        assert_eq!(with_cookie(&cookie), []);
    }
}
