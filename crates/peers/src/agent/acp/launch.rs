//! The arguments and the input with which an agent starts, and the notes for its conversation.
//!
//! Pure: the caller writes the files. The agent reads its own settings, so nothing of the user's is touched.

use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_core::graph::workflow::Effort;
use windlass_core::hook::permission::Isolation;
use windlass_core::launch::LineMark;
use windlass_core::launch::files::{CONVERSATION, INPUT};

use super::super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::wire::{self, LAST};

/// The time for an agent to end after its conversation. Some never end by themselves.
const LINGER_MS: u64 = 10_000;

/// Variables with which an agent asks before each tool, by the name of its program. The rules of Windlass then apply
/// to all of them.
const ASKS: &[(&str, &str, &str)] = &[("opencode", "OPENCODE_PERMISSION", r#"{"*":"ask"}"#)];

/// The facts about a turn that its conversation needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Notes {
    /// The turn, unique in the run. The ids of the agent's requests begin with it.
    pub(super) turn: String,
    pub(super) cwd: String,
    /// The conversation to continue.
    pub(super) session: Option<String>,
    /// The role of the agent, for the first message of a conversation.
    pub(super) role: Option<String>,
    pub(super) prompt: String,
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
    /// Windlass may answer the end of a prompt with another prompt.
    pub(super) holds_stop: bool,
    /// The agent should ask before it changes anything.
    pub(super) asks: bool,
}

/// Prepares one turn.
pub(super) fn prepare(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Prepared {
    let [input, notes] = [INPUT, CONVERSATION].map(|name| paths.dir.join(name));
    let driver = &turn.settings.driver;
    let argv = driver.command().into_iter().chain(driver.args.iter().cloned()).collect();
    let mut launch = turn.launch(paths, outside, argv, Some(&input));
    launch.stdin_until = Some(LineMark { key: "id".to_owned(), value: LAST.to_owned() });
    launch.linger_ms = Some(LINGER_MS);
    let known = Path::new(&driver.program).file_name();
    let asks = ASKS.iter().filter(|(program, ..)| known.is_some_and(|name| name == *program));
    launch.env.extend(asks.map(|(_, name, value)| ((*name).to_owned(), (*value).to_owned())));
    let written = serde_json::to_vec(&notes_of(turn)).unwrap_or_default();
    Prepared { launch, files: vec![(input, wire::initialize()), (notes, written)], links: Vec::new() }
}

fn notes_of(turn: &TurnRequest<'_>) -> Notes {
    let plan = turn.plan;
    Notes {
        turn: turn.effect.to_string(),
        cwd: turn.workspace.to_owned(),
        session: plan.resume.then(|| plan.session.to_string()),
        role: turn.system.filter(|_| !plan.resume).map(str::to_owned),
        prompt: plan.prompt.clone(),
        model: turn.model().cloned(),
        effort: turn.settings.effort.map(|effort| Effort::word(effort).to_owned()),
        holds_stop: plan.holds_stop,
        asks: turn.settings.isolation != Isolation::Permissive,
    }
}
