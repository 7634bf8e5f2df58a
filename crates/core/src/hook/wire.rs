//! What `windlass hook` and the engine say to each other: one line of JSON each way.
//!
//! Only the shapes. The forwarder writes its line by hand, around the payload as it came.

use serde::{Deserialize, Serialize};

/// The version of the protocol, in every line.
pub const WIRE_VERSION: u32 = 1;

/// In the place of a hook's name: a person's request to the run. No agent has a hook of this name.
pub const REQUEST: &str = "request";

/// The forwarder's line. The payload stays as the CLI wrote it.
#[derive(Debug, Deserialize, Serialize)]
pub struct HookLine<'a> {
    /// [`WIRE_VERSION`].
    pub v: u32,
    /// The call's id.
    pub id: String,
    /// The hook's name, from the forwarder's arguments; [`REQUEST`] is what a person asks of the run.
    pub event: String,
    /// The session whose hook it is, by the cookie of its process; none where that is not plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the CLI wrote to the hook.
    #[serde(borrow, default)]
    pub payload: Option<&'a serde_json::value::RawValue>,
}

/// The engine's line: what the forwarder prints and how it exits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct HookReply {
    /// [`WIRE_VERSION`].
    pub v: u32,
    /// The call's id.
    pub id: String,
    /// The forwarder's exit code.
    pub exit: u8,
    /// For its standard output.
    #[serde(default)]
    pub stdout: String,
    /// For its standard error.
    #[serde(default)]
    pub stderr: String,
}

/// Environment variables every session and hook gets.
pub mod env {
    /// The run's id.
    pub const RUN: &str = "WINDLASS_RUN";
    /// The cookie of the child: host and sweep find descendants by it.
    pub const SESSION: &str = "WINDLASS_SESSION";
    /// The cookie again, in the environment of the host itself. Nothing below a host can change it, so it
    /// tells whose descendant a process is.
    pub const HOST: &str = "WINDLASS_HOST";
    /// What [`HOST`] says in a short program that Windlass runs for itself, such as git: a hook that an
    /// agent planted may run in it.
    pub const OWN_PROGRAM: &str = "windlass";
    /// The run's socket. Without it a hook is not ours.
    pub const SOCKET: &str = "WINDLASS_SOCKET";
    /// The session's folder: where a hook notes that no owner answers.
    pub const FOLDER: &str = "WINDLASS_FOLDER";
}
