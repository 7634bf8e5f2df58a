//! What a run shows of itself: the same records and agent events, live or replayed, as lines
//! for people or as JSON.
//!
//! Rendering is pure: items in, lines out. Where they come from is `drive.rs` and `logs.rs`.

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
