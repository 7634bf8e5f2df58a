//! The files between Windlass and a host: the child to run, and its end.
//!
//! The shapes of `launch.json` and `exit.json` in a child's folder. `peers::process` writes the
//! first and reads the second; `pawl::host` does the opposite.

use serde::{Deserialize, Serialize};

/// The version of both files.
pub const LAUNCH_VERSION: u32 = 1;

/// Ends an input that stays open. The host does not pass it on. No line of JSON contains this byte.
pub const END_OF_INPUT: u8 = 0x04;

/// `launch.json`: the complete description of one child. The child inherits nothing from the
/// engine's environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub v: u32,
    /// The value of `WINDLASS_SESSION` in the child's environment. The host finds the child's
    /// descendants by it.
    pub cookie: String,
    /// Program and arguments, never a shell string.
    pub argv: Vec<String>,
    /// The whole environment of the child.
    pub env: Vec<(String, String)>,
    pub cwd: String,
    /// The file for standard input. `None` means `/dev/null`.
    #[serde(default)]
    pub stdin: Option<String>,
    /// Keeps standard input open after the file's end: the host passes on what is appended to the file, until
    /// the child prints a line with this mark or the file has an [`END_OF_INPUT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin_until: Option<LineMark>,
    /// The time between the end of an open input and the end of the child. `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linger_ms: Option<u64>,
    /// The time after which the host ends the child.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// The time between terminate and kill.
    pub grace_ms: u64,
    /// Write standard error into the same file as standard output, for checks.
    #[serde(default)]
    pub merge_stderr: bool,
    /// The number of bytes on standard output after which the host kills the child. `None` means no
    /// limit.
    #[serde(default)]
    pub output_max: Option<u64>,
    /// The files, and the folders with all that is in them, in which the child and its descendants may write. The
    /// host starts no child that the kernel does not hold to it. `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_in: Option<Vec<String>>,
}

/// A field that identifies a line of JSON, such as `"type": "result"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineMark {
    pub key: String,
    pub value: String,
}

/// `exit.json`: renamed into place once no process is left below the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitFile {
    pub v: u32,
    /// The exit code, if the child ended by itself.
    pub code: Option<i32>,
    /// The signal, if one ended the child.
    pub signal: Option<i32>,
    /// The reason, if the host ended the child.
    pub ended_by: Option<EndedBy>,
    /// The error, if the child could not be started.
    #[serde(default)]
    pub spawn_error: Option<String>,
    /// The host killed the child because it printed too much. The kept output ends at the limit.
    #[serde(default)]
    pub too_much_output: bool,
}

/// The reason for which a host ended its child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    Deadline,
    /// Someone sent SIGTERM to the host.
    Request,
    /// The child did not end after the end of its input.
    Linger,
}

const CGROUP: &str = "windlass.session.";

/// Returns the name of the cgroup that a host makes for its child.
pub fn cgroup_name(cookie: &str) -> String {
    format!("{CGROUP}{:016x}", crate::digest::fnv(cookie.as_bytes()))
}

/// Decides by its name whether a host made a cgroup.
pub fn is_cgroup_name(name: &str) -> bool {
    let digits = name.strip_prefix(CGROUP).unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns the value that a host gives to an otherwise unused resource limit (`RLIMIT_RTTIME`) of
/// its child, to find the child's remaining processes. An agent can lower the limit but never raise
/// it.
pub fn limit_tag(cookie: &str) -> u64 {
    TAG | (crate::digest::fnv(cookie.as_bytes()) & (u64::MAX >> 16))
}

/// Large enough that no process ever reaches the limit.
const TAG: u64 = 1 << 62;

/// File names in a child's folder.
pub mod files {
    /// The command to run. Mode 0600.
    pub const LAUNCH: &str = "launch.json";
    /// Locked while the host or its guard lives. Contains the host's process id.
    pub const LOCK: &str = "host.lock";
    /// Created just before the child starts. Once it exists, the child may have done something.
    pub const STARTED: &str = "started";
    /// The standard input of a child that Windlass can talk to while it runs. Append-only.
    pub const INPUT: &str = "input";
    /// The notes with which a dialect continues a conversation that another owner began.
    pub const CONVERSATION: &str = "conversation.json";
    pub const STDOUT: &str = "stdout";
    pub const STDERR: &str = "stderr";
    /// The path of the child's cgroup, if it has one.
    pub const CGROUP: &str = "cgroup";
    /// The end of the child.
    pub const EXIT: &str = "exit.json";
    /// The incomplete `exit.json`, before its rename.
    pub const EXIT_DRAFT: &str = "exit.json.tmp";
    /// The prefix of a note that a hook leaves while no owner answers it. The id of the hook call
    /// follows.
    pub const UNANSWERED: &str = "unanswered.";
}
