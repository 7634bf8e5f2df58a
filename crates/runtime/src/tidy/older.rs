//! Removes the half-written files that an older Windlass left beside their target: `.tasks.json.PID.new`,
//! `..tasks.json.PID.new.PID.N.tmp`, `.tasks.json.PID.N.tmp`, and the same for a plugin's state file.
//!
//! Other programs may have files with such names. So a file is removed only if its name matches exactly, the
//! process in its name is gone, and its content is what Windlass would have written.

use std::fs;
use std::path::Path;

use windlass_peers::files::read_bounded;

/// The size limit of files to check.
const MAX: u64 = 16 * 1024 * 1024;
/// The state file of a looping plugin.
const LOOP_FILE: &str = "ralph-loop.local.md";

/// Removes these files from a folder.
pub(super) fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(old) = name.to_str().and_then(Old::of) else { continue };
        let is_plain = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_plain && !crate::os::exists(old.pid) && old.is_ours(folder, &entry.path()) {
            // Another process may have removed it already.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The parts of such a file name.
#[derive(Debug, PartialEq, Eq)]
struct Old<'n> {
    /// The file that the draft was for.
    target: &'n str,
    pid: u32,
    /// The draft was complete when it got this name.
    is_whole: bool,
}

impl Old<'_> {
    fn of(name: &str) -> Option<Old<'_>> {
        let rest = name.strip_prefix('.')?;
        if let Some(rest) = rest.strip_suffix(".new") {
            let (target, pid) = rest.rsplit_once('.')?;
            return Some(Old { target, pid: number(pid)?, is_whole: true }).filter(Old::is_named_well);
        }
        let (rest, _count) =
            rest.strip_suffix(".tmp")?.rsplit_once('.').filter(|(_, count)| number(count).is_some())?;
        let (target, pid) = rest.rsplit_once('.')?;
        let pid = number(pid)?;
        let old = match Old::of(target) {
            // A draft of a draft, by the same process.
            Some(inner) if inner.is_whole && inner.pid == pid => Old { is_whole: false, ..inner },
            _ => Old { target, pid, is_whole: false },
        };
        Some(old).filter(Old::is_named_well)
    }

    fn is_named_well(&self) -> bool {
        !self.target.starts_with('.') && (self.target.ends_with(".json") || self.target == LOOP_FILE)
    }

    /// Returns true if the content is that of the target file, or the beginning of it.
    fn is_ours(&self, folder: &Path, path: &Path) -> bool {
        let Ok(bytes) = read_bounded(path, MAX) else { return false };
        if self.target == LOOP_FILE {
            return folder.ends_with(".claude") && (bytes.is_empty() || bytes.starts_with(b"---"));
        }
        let tasks = read_bounded(&folder.join(self.target), MAX).ok();
        let is_beside_tasks = self.target == "tasks.json" || tasks.is_some_and(|bytes| is_tasks(&bytes));
        let begins = bytes.is_empty() || bytes.trim_ascii_start().starts_with(b"{");
        is_beside_tasks && if self.is_whole { is_tasks(&bytes) } else { begins }
    }
}

fn is_tasks(bytes: &[u8]) -> bool {
    let read = serde_json::from_slice::<serde_json::Value>(bytes);
    read.is_ok_and(|value| value.get("tasks").is_some_and(serde_json::Value::is_array))
}

/// Parses a number without sign, spaces or leading zeros.
fn number(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_older_windlass_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let tasks = r#"{"tasks": []}"#;
        write("tasks.json", tasks);
        write("plan.json", tasks);
        write("notes.json", "{}");
        let living = format!(".tasks.json.{}.new", std::process::id());
        let gone = [
            (".tasks.json.999999999.new", tasks),
            (".plan.json.999999999.new", tasks),
            ("..tasks.json.999999999.new.999999999.3.tmp", r#"{"tas"#),
            (".tasks.json.999999999.0.tmp", ""),
        ];
        let kept = [
            (living.as_str(), tasks),
            (".tasks.json.999999999.new.bak", tasks),
            ("tasks.json.999999999.new", tasks),
            (".tasks.json.0999999999.new", tasks),
            (".tasks.json.mine.new", tasks),
            (".tasks.json.999999998.new", "what I noted"),
            (".notes.json.999999999.new", tasks),
            (".other.json.999999999.new", tasks),
            ("..tasks.json.999999999.new.999999998.3.tmp", "{"),
            (".tasks.json.999999999.1.tmp", "what I noted"),
            (".ralph-loop.local.md.999999999.1.tmp", "---\n"),
        ];
        for (name, text) in gone.iter().chain(&kept) {
            write(name, text);
        }
        fs::create_dir(dir.path().join(".tasks.json.999999997.new")).unwrap();
        clear(dir.path());
        for (name, _) in gone {
            assert!(!dir.path().join(name).exists(), "{name}");
        }
        for (name, text) in kept {
            assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), text, "{name}");
        }
        assert!(dir.path().join(".tasks.json.999999997.new").is_dir());
    }
}
