//! The feed of a run: turns records and agent events, live or replayed, into lines for people or JSON.
//!
//! Rendering is pure: items in, lines out. `drive.rs` and `logs.rs` supply the items.

mod agent;
mod answers;
mod ask;
mod face;
mod header;
mod human;
mod json;
mod leftovers;
mod line_prefix;
mod line_times;
mod nodes;
mod person_prompt;
mod status_line;
mod steps;
mod summary;
mod tasks;
mod wants;
pub(crate) mod words;
mod wrap;

pub(crate) use answers::{answered, object as answer_object};
pub(crate) use ask::{
    Asker, OtherRequests, choice, choices, default_of, describe as describe_ask, gist, is_of_workflow, naming,
};
pub(crate) use face::{Face, Style};
pub(crate) use json::{add_output, envelope, rfc3339};
pub(crate) use leftovers::{kept_branches, left_branches, open_tasks};
pub(crate) use nodes::named;
pub(crate) use person_prompt::{PersonPrompt, TypedAnswer, chosen, none_of};
pub(crate) use summary::{Changes, RunEnding, TurnCount, summary};
pub(crate) use wrap::fold;
