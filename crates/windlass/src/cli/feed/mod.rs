//! The feed of a run: turns records and agent events, live or replayed, into lines for people or JSON.
//!
//! Rendering is pure: items in, lines out. `drive.rs` and `logs.rs` supply the items.

mod agent;
mod ask;
mod face;
mod header;
mod human;
mod json;
mod line_prefix;
mod nodes;
mod person_prompt;
mod status_line;
mod steps;
mod summary;
pub(crate) mod words;
mod wrap;

pub(crate) use ask::{
    Asker, OtherRequests, choice, choices, describe as describe_ask, gist, is_of_workflow, naming,
};
pub(crate) use face::{Face, Style};
pub(crate) use json::{envelope, rfc3339};
pub(crate) use nodes::named;
pub(crate) use person_prompt::{PersonPrompt, TypedAnswer, none_of};
pub(crate) use summary::{Changes, RunEnding, TurnCount, summary};
