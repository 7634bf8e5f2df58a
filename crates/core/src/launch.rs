//! What the host is told to run, and what it says when the child has ended.
//!
//! `launch.json` and `exit.json` in a child's folder. Only the shapes: writing the one and
//! reading the other is `peers::process`, the other way round is `pawl::host`.

use serde::{Deserialize, Serialize};

/// The version of both files.
pub const LAUNCH_VERSION: u32 = 1;

/// `launch.json`: one child, complete. Nothing of the engine's environment reaches it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// [`LAUNCH_VERSION`].
    pub v: u32,
    /// The cookie put into the child's environment as `WINDLASS_SESSION`, by which its
    /// descendants are found.
    pub cookie: String,
    /// Program and arguments, never a shell string.
    pub argv: Vec<String>,
    /// The whole environment of the child.
    pub env: Vec<(String, String)>,
    /// Where it works.
    pub cwd: String,
    /// A file to read standard input from; without one it is `/dev/null`.
    #[serde(default)]
    pub stdin: Option<String>,
    /// Milliseconds after which the child is ended.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
    /// Milliseconds between terminate and kill.
    pub grace_ms: u64,
    /// Standard error into the same file as standard output (checks), or its own.
    #[serde(default)]
    pub merge_stderr: bool,
    /// Bytes on standard output after which the child is killed; without one it may print for
    /// ever.
    #[serde(default)]
    pub output_max: Option<u64>,
}

/// `exit.json`: renamed into place once nothing is left below the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitFile {
    /// [`LAUNCH_VERSION`].
    pub v: u32,
    /// The exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal, when one ended it.
    pub signal: Option<i32>,
    /// Why the host ended it, if it did.
    pub ended_by: Option<EndedBy>,
    /// Why the child could not be started, if so.
    #[serde(default)]
    pub spawn_error: Option<String>,
    /// The child printed more than it may and was killed; what is kept of it is cut there.
    #[serde(default)]
    pub too_much_output: bool,
}

/// Why a host ended its child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The deadline passed.
    Deadline,
    /// Somebody sent the host SIGTERM.
    Request,
}

const CGROUP: &str = "windlass.session.";

/// The name of the group of processes that a host makes for its child, where the system has such groups.
pub fn cgroup_name(cookie: &str) -> String {
    format!("{CGROUP}{:016x}", crate::digest::fnv(cookie.as_bytes()))
}

/// Whether a group of processes was made by a host, by its name.
pub fn is_cgroup_name(name: &str) -> bool {
    let digits = name.strip_prefix(CGROUP).unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// What a host sets a limit to that nobody uses (of time under real-time scheduling), so that what is left of its child
/// can be found. An agent can lower it, never raise it.
pub fn limit_tag(cookie: &str) -> u64 {
    TAG | (crate::digest::fnv(cookie.as_bytes()) & (u64::MAX >> 16))
}

/// So long that nothing ever meets it.
const TAG: u64 = 1 << 62;

/// File names in a child's folder.
pub mod files {
    /// What to run, 0600.
    pub const LAUNCH: &str = "launch.json";
    /// Held by the host as long as it or its guard lives; holds the host's process id.
    pub const LOCK: &str = "host.lock";
    /// Made just before the child is born: from then on it may have done something.
    pub const STARTED: &str = "started";
    /// Standard output, append-only.
    pub const STDOUT: &str = "stdout";
    /// Standard error.
    pub const STDERR: &str = "stderr";
    /// Where the child's group of processes is; there only where it has one.
    pub const CGROUP: &str = "cgroup";
    /// How it ended.
    pub const EXIT: &str = "exit.json";
    /// The same before it is whole.
    pub const EXIT_DRAFT: &str = "exit.json.tmp";
    /// How the name of a note begins that a hook leaves while no owner answers it; its call's id follows.
    pub const UNANSWERED: &str = "unanswered.";
}
