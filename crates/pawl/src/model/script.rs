//! Assigns turns to requests.
//!
//! Rules about the user's last message come first, then the list of the lane (the main conversation, or the
//! subagents), then the default. A side
//! request takes no turn.

use std::collections::HashMap;
use std::io;

use super::turn::{ModelTurn, say};
use super::{RequestKind, ScriptedModel, WireRequest};

/// A script, which starts a [`ScriptedModel`].
pub struct ModelScript {
    rules: Vec<Rule>,
    turns: Vec<ModelTurn>,
    subagents: Vec<ModelTurn>,
    default: ModelTurn,
    restarts: bool,
    taken: HashMap<ScriptLane, usize>,
}

/// The requests that share a list of turns.
#[derive(PartialEq, Eq, Hash)]
enum ScriptLane {
    Everyone,
    Session(Option<String>),
    Subagents,
}

struct Rule {
    text: String,
    turn: ModelTurn,
    left: Option<usize>,
}

impl ModelScript {
    pub(super) fn new(turns: impl IntoIterator<Item = ModelTurn>) -> ModelScript {
        ModelScript {
            rules: Vec::new(),
            turns: turns.into_iter().collect(),
            subagents: Vec::new(),
            default: say("done"),
            restarts: false,
            taken: HashMap::new(),
        }
    }

    /// Sets the turn for requests after the end of the list. The default is `done`.
    pub fn default(mut self, turn: ModelTurn) -> ModelScript {
        self.default = turn;
        self
    }

    /// Sets the turn for every request whose last user message contains this text. Takes nothing from the
    /// list.
    pub fn when(mut self, text: &str, turn: ModelTurn) -> ModelScript {
        self.rules.push(Rule { text: text.to_owned(), turn, left: None });
        self
    }

    /// Like [`ModelScript::when`], but only for the first such request.
    pub fn once_when(mut self, text: &str, turn: ModelTurn) -> ModelScript {
        self.rules.push(Rule { text: text.to_owned(), turn, left: Some(1) });
        self
    }

    /// Sets the separate list of turns for subagents.
    pub fn subagents(mut self, turns: impl IntoIterator<Item = ModelTurn>) -> ModelScript {
        self.subagents = turns.into_iter().collect();
        self
    }

    /// Restarts the list for every session of the CLI. Gemini CLI does not name its sessions, so they share one.
    pub fn for_each_session(mut self) -> ModelScript {
        self.restarts = true;
        self
    }

    /// Starts the model on a free port of 127.0.0.1.
    pub fn start(self) -> io::Result<ScriptedModel> {
        ScriptedModel::serve(self)
    }

    /// Chooses the turn of a request that is part of a conversation.
    pub(super) fn choose(&mut self, request: &WireRequest) -> ModelTurn {
        let last = request.last_user_text();
        if let Some(rule) = self.rules.iter_mut().find(|rule| rule.fits(&last)) {
            rule.left = rule.left.map(|left| left.saturating_sub(1));
            return rule.turn.settle(request);
        }
        let (list, lane) = match request.kind {
            RequestKind::Subagent => (&self.subagents, ScriptLane::Subagents),
            _ if self.restarts => (&self.turns, ScriptLane::Session(request.session.clone())),
            _ => (&self.turns, ScriptLane::Everyone),
        };
        let taken = self.taken.entry(lane).or_default();
        let turn = list.get(*taken).unwrap_or(&self.default);
        *taken += 1;
        turn.settle(request)
    }
}

impl Rule {
    fn fits(&self, last: &str) -> bool {
        self.left != Some(0) && last.contains(&self.text)
    }
}
