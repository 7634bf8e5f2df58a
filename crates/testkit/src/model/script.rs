//! Assigns turns to requests.
//!
//! Rules about the user's last message come first, then the list of the lane (the main conversation, or the
//! subagents), then the default. A side
//! request takes no turn.

use std::collections::HashMap;

use super::turn::{Turn, say};
use super::{Kind, Model, Request};

/// A script, from which a test starts a [`Model`].
pub struct Script {
    rules: Vec<Rule>,
    turns: Vec<Turn>,
    subagents: Vec<Turn>,
    default: Turn,
    restarts: bool,
    taken: HashMap<Lane, usize>,
}

/// The requests that share a list of turns.
#[derive(PartialEq, Eq, Hash)]
enum Lane {
    Everyone,
    Session(Option<String>),
    Subagents,
}

struct Rule {
    text: String,
    turn: Turn,
    left: Option<usize>,
}

impl Script {
    pub(super) fn new(turns: impl IntoIterator<Item = Turn>) -> Script {
        Script {
            rules: Vec::new(),
            turns: turns.into_iter().collect(),
            subagents: Vec::new(),
            default: say("done"),
            restarts: false,
            taken: HashMap::new(),
        }
    }

    /// Sets the turn for requests after the end of the list. The default is `done`.
    pub fn default(mut self, turn: Turn) -> Script {
        self.default = turn;
        self
    }

    /// Sets the turn for every request whose last user message contains this text. Takes nothing from the
    /// list.
    pub fn when(mut self, text: &str, turn: Turn) -> Script {
        self.rules.push(Rule { text: text.to_owned(), turn, left: None });
        self
    }

    /// Like [`Script::when`], but only for the first such request.
    pub fn once_when(mut self, text: &str, turn: Turn) -> Script {
        self.rules.push(Rule { text: text.to_owned(), turn, left: Some(1) });
        self
    }

    /// Sets the separate list of turns for subagents.
    pub fn subagents(mut self, turns: impl IntoIterator<Item = Turn>) -> Script {
        self.subagents = turns.into_iter().collect();
        self
    }

    /// Restarts the list for every session of the CLI. Gemini CLI does not name its sessions, so they share one.
    pub fn for_each_session(mut self) -> Script {
        self.restarts = true;
        self
    }

    /// Starts the model on a free port of 127.0.0.1.
    pub fn start(self) -> Model {
        Model::serve(self)
    }

    /// Chooses the turn of a request that is part of a conversation.
    pub(super) fn choose(&mut self, request: &Request) -> Turn {
        let last = request.last_user_text();
        if let Some(rule) = self.rules.iter_mut().find(|rule| rule.fits(&last)) {
            rule.left = rule.left.map(|left| left - 1);
            return rule.turn.settle(request);
        }
        let (list, lane) = match request.kind {
            Kind::Subagent => (&self.subagents, Lane::Subagents),
            _ if self.restarts => (&self.turns, Lane::Session(request.session.clone())),
            _ => (&self.turns, Lane::Everyone),
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
