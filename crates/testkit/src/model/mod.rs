//! A scripted model: the Messages API of Anthropic on 127.0.0.1, as far as Claude Code uses it.
//!
//! A test writes down what the model says, turn by turn, and reads afterwards what it was asked:
//!
//! ```no_run
//! use serde_json::json;
//! use windlass_testkit::{Model, say, tool};
//!
//! let model = Model::script([tool("Bash", json!({"command": "ls"})), say("done")])
//!     .when("Stop hook feedback", say("all done now"))
//!     .start();
//! println!("{}", model.url());
//! ```
//!
//! The wire is in [`http`] and [`sse`], what a turn is in [`turn`], who gets which in [`script`].

mod gate;
pub(crate) mod http;
mod request;
mod script;
mod server;
mod sse;
mod turn;

pub use gate::Gate;
pub use request::{Kind, Request};
pub use script::Script;
pub use server::Model;
pub use turn::{Turn, cut, fail, reply, say, tool, tools};
