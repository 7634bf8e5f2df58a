//! The socket of a run, for hooks and people: one line of JSON each way.
//!
//! The server forwards each request and sends the reply back; the engine decides the reply. The other
//! end is `pawl::hook`, and [`request`] for people. The kernel identifies the process that asks.

mod serve;
mod socket_path;

pub use serve::{HookRequest, HookServer, IncomingLine, NoReply, PersonRequest, bind, request};
pub use socket_path::{MAX_PATH, SocketError, path_for};
