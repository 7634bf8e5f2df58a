//! The scripted model of `windlass-pawl`, for tests: it panics where a test cannot continue.
//!
//! ```no_run
//! use windlass_testkit::{Model, say, shell};
//!
//! let model = Model::script([shell("ls"), say("done").tokens(900, 30).cached(100)])
//!     .when("Stop hook feedback", say("all done now"))
//!     .start();
//! println!("{}", model.url());
//! ```

use std::ops::Deref;
use std::time::Duration;

use windlass_pawl::model::{ModelGate, ModelScript, ScriptedModel};
pub use windlass_pawl::model::{
    ModelTurn as Turn, RequestKind as Kind, WireApi as Wire, WireRequest as Request, cut, fail, hang,
    rate_limit, read, reply, say, server_error, shell, tool, tools, unauthorized, usage_limit, write,
};

/// A model that plays a script. Stops listening when dropped.
pub struct Model(ScriptedModel);

impl Model {
    /// Makes a script of these turns, one per request, in order.
    pub fn script(turns: impl IntoIterator<Item = Turn>) -> Script {
        Script(ScriptedModel::script(turns))
    }

    /// Waits until `count` turns were requested. Panics after the deadline.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize, deadline: Duration) -> Vec<Request> {
        let seen = self.requests_within(count, deadline);
        assert!(seen.len() >= count, "{} of {count} requests within {deadline:?}", seen.len());
        seen
    }
}

impl Deref for Model {
    type Target = ScriptedModel;

    fn deref(&self) -> &ScriptedModel {
        &self.0
    }
}

/// A script, from which a test starts a [`Model`].
pub struct Script(ModelScript);

impl Script {
    /// See [`ModelScript::default`].
    pub fn default(self, turn: Turn) -> Script {
        Script(self.0.default(turn))
    }

    /// See [`ModelScript::when`].
    pub fn when(self, text: &str, turn: Turn) -> Script {
        Script(self.0.when(text, turn))
    }

    /// See [`ModelScript::once_when`].
    pub fn once_when(self, text: &str, turn: Turn) -> Script {
        Script(self.0.once_when(text, turn))
    }

    /// See [`ModelScript::subagents`].
    pub fn subagents(self, turns: impl IntoIterator<Item = Turn>) -> Script {
        Script(self.0.subagents(turns))
    }

    /// See [`ModelScript::for_each_session`].
    pub fn for_each_session(self) -> Script {
        Script(self.0.for_each_session())
    }

    /// Starts the model on a free port of 127.0.0.1.
    #[track_caller]
    pub fn start(self) -> Model {
        Model(self.0.start().expect("a free port on 127.0.0.1"))
    }
}

/// A gate in the script: a turn behind it waits until the test opens it.
#[derive(Clone)]
pub struct Gate(ModelGate);

impl Gate {
    /// Makes a closed gate.
    pub fn closed() -> Gate {
        Gate(ModelGate::closed())
    }

    /// Waits until a turn has reached the gate, or panics.
    #[track_caller]
    pub fn wait_reached(&self, deadline: Duration) {
        assert!(self.is_reached_within(deadline), "no turn reached the gate within {deadline:?}");
    }
}

impl Deref for Gate {
    type Target = ModelGate;

    fn deref(&self) -> &ModelGate {
        &self.0
    }
}
