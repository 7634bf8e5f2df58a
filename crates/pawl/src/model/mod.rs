//! A scripted model on 127.0.0.1, for the real agent CLIs.
//!
//! A script has the model's answers, turn by turn. Any CLI can play them. Afterwards one reads the requests:
//!
//! ```no_run
//! use windlass_pawl::model::{ScriptedModel, say, shell};
//!
//! let model = ScriptedModel::script([shell("ls"), say("done").tokens(900, 30).cached(100)])
//!     .when("Stop hook feedback", say("all done now"))
//!     .start()?;
//! assert!(model.url().starts_with("http://127.0.0.1:"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The path of a request chooses its API, see [`WireApi`]. [`turn`] has the turns, [`fault`] those that fail,
//! [`script`] assigns turns to requests, [`tools`] finds the tool that a request offers, and [`wire`] has a
//! file for each API.

mod answer;
mod conversation;
mod fault;
mod gate;
pub mod http;
mod probes;
mod request;
mod script;
mod server;
mod stream;
mod tools;
mod turn;
mod wire;

pub use fault::{cut, fail, hang, rate_limit, server_error, unauthorized, usage_limit};
pub use gate::ModelGate;
pub use request::{RequestKind, WireRequest};
pub use script::ModelScript;
pub use server::ScriptedModel;
pub use turn::{ModelTurn, read, reply, say, shell, tool, tools, write};
pub use wire::WireApi;
