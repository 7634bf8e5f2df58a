//! A scripted model on 127.0.0.1, for the real agent CLIs.
//!
//! A test writes the model's answers once, turn by turn. Any CLI can play them. Afterwards the test reads
//! the requests:
//!
//! ```no_run
//! use windlass_testkit::{Model, say, shell};
//!
//! let model = Model::script([shell("ls"), say("done").tokens(900, 30).cached(100)])
//!     .when("Stop hook feedback", say("all done now"))
//!     .start();
//! println!("{}", model.url());
//! ```
//!
//! The path of a request chooses its API, see [`Wire`]. [`turn`] has the turns, [`fault`] those that fail,
//! [`script`] assigns turns to requests, [`tools`] finds the tool that a request offers, and [`wire`] has a
//! file for each API.

mod answer;
mod conversation;
mod fault;
mod gate;
pub(crate) mod http;
mod probes;
mod request;
mod script;
mod server;
mod stream;
mod tools;
mod turn;
mod wire;

pub use fault::{cut, fail, hang, rate_limit, server_error, unauthorized, usage_limit};
pub use gate::Gate;
pub use request::{Kind, Request};
pub use script::Script;
pub use server::Model;
pub use turn::{Turn, read, reply, say, shell, tool, tools, write};
pub use wire::Wire;
