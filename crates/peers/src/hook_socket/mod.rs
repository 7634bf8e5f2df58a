//! The run's socket, where its hooks ask, and people: one line of JSON each way.
//!
//! A request is given on and its reply sent back when it comes; what to reply is the engine's.
//! The other end is `pawl::hook`, and [`request`] for people. Who asks is looked up by the kernel's word.

mod serve;
mod socket_path;

pub use serve::{HookRequest, HookServer, IncomingLine, NoReply, PersonRequest, bind, request};
pub use socket_path::{MAX_PATH, SocketError, path_for};
