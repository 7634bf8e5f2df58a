//! An engine that answers every hook call at once, to measure only `windlass hook`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

/// A socket, a payload of 2.4 KB, and a thread that answers. Dropping it deletes the folder.
pub(crate) struct Engine {
    folder: PathBuf,
}

impl Engine {
    /// The answer that every hook prints.
    pub(crate) const ANSWER: &str =
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#;

    /// The session that every hook belongs to.
    pub(crate) const COOKIE: &str = "k3f9x2.implement-task@2.1.1.session";

    pub(crate) fn start() -> Result<Engine, String> {
        let folder = std::env::temp_dir().join(format!("windlass-bench-{}", std::process::id()));
        let say = |error: std::io::Error| format!("{}: {error}", folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(say)?;
        fs::write(folder.join("payload"), payload()).map_err(say)?;
        let listener = UnixListener::bind(folder.join("s.sock")).map_err(say)?;
        // The thread lives as long as the process and waits for connections.
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                // A hook that exits before its answer shows up in the measurement.
                let _ = answer(&connection);
            }
        });
        Ok(Engine { folder })
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("s.sock")
    }

    /// Opens the payload that an agent CLI would write to the hook.
    pub(crate) fn payload(&self) -> Result<File, String> {
        open(&self.folder.join("payload"))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn payload() -> String {
    let content = "0123456789abcdef ".repeat(128);
    format!(
        r#"{{"session_id":"6f2d9a52-0d3c-4f7c-9d63-3f0e5b0a1c11","cwd":"/tmp","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{{"file_path":"/tmp/x","content":"{content}"}},"tool_use_id":"toolu_1"}}"#
    )
}

fn answer(connection: &UnixStream) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line)?;
    let id = line.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let text = Engine::ANSWER.replace('"', "\\\"");
    let reply = format!("{{\"v\":1,\"id\":\"{id}\",\"exit\":0,\"stdout\":\"{text}\",\"stderr\":\"\"}}\n");
    (&mut &*connection).write_all(reply.as_bytes())
}
