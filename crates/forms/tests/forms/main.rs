//! Every form that is read: what is made of it, and what is said of what is wrong.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it stands")]

mod entity;
mod entity_formats;
mod entity_properties;
mod entity_real_world;
mod entity_values;
mod never_panics;
mod workflow_broken;
mod workflow_builder;
mod workflow_examples;
mod workflow_random;
mod workflow_reference;
mod workflow_sound;
