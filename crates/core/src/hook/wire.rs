//! The protocol between `windlass hook` and the engine: one line of JSON in each direction.
//!
//! Only the types. The forwarder writes its line by hand and copies the payload unchanged.

use serde::{Deserialize, Serialize};

/// The protocol version in every line.
pub const WIRE_VERSION: u32 = 1;

/// The event name of a person's request to the run. No agent has a hook of this name.
pub const REQUEST: &str = "request";

/// The line that the forwarder sends. The payload is exactly what the CLI wrote.
#[derive(Debug, Deserialize, Serialize)]
pub struct HookLine<'a> {
    pub v: u32,
    /// The id of the call.
    pub id: String,
    /// The hook's name from the forwarder's arguments, or [`REQUEST`].
    pub event: String,
    /// The session whose hook this is, from the cookie of its process; `None` if that is not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The CLI's input to the hook.
    #[serde(borrow, default)]
    pub payload: Option<&'a serde_json::value::RawValue>,
}

/// The line that the engine sends: the forwarder's output and exit code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct HookReply {
    pub v: u32,
    /// The id of the call.
    pub id: String,
    pub exit: u8,
    #[serde(default)]
    pub stdout: String,
    #[serde(default)]
    pub stderr: String,
}

/// Environment variables that every session and hook gets.
pub mod env {
    /// The run's id.
    pub const RUN: &str = "WINDLASS_RUN";
    /// The cookie of the child process. Host and sweep use it to find descendants.
    pub const SESSION: &str = "WINDLASS_SESSION";
    /// The same cookie in the environment of the host itself. No process below a host can change it, so it
    /// proves whose descendant a process is.
    pub const HOST: &str = "WINDLASS_HOST";
    /// The value of [`HOST`] in a short program that Windlass runs for itself, such as git. Such a program
    /// may run a hook that an agent planted.
    pub const OWN_PROGRAM: &str = "windlass";
    /// The run's socket. Without it, `windlass hook` treats the call as unrelated to Windlass.
    pub const SOCKET: &str = "WINDLASS_SOCKET";
    /// The session's folder. A hook records there that no owner answers.
    pub const FOLDER: &str = "WINDLASS_FOLDER";
}
