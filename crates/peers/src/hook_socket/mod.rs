//! The run's socket, where its hooks ask, and people: one line of JSON each way.
//!
//! A request is given on and its reply sent back when it comes; what to reply is the engine's.
//! The other end is `pawl::hook`, and [`request`] for people. Who asks is looked up by the kernel's word.

mod place;
mod serve;

pub use place::{MAX_PATH, SocketError, path_for};
pub use serve::{HookRequest, HookServer, IncomingLine, NoReply, PersonRequest, bind, request};
