//! A scripted model: Anthropic's Messages API on 127.0.0.1, as far as Claude Code uses it.
//!
//! A test writes the model's answers, turn by turn, and afterwards reads the requests:
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
//! [`http`] and [`sse`] implement the wire format, [`turn`] the turns, [`script`] assigns them to requests.

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
