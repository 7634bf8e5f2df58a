//! The tracker: the Markdown file in which the agent of a loop records its progress.
//!
//! - Frontmatter for people to read: [`render`], [`split`], [`set_frontmatter`].
//! - Markers that the agent writes: [`scan`] finds them in the body, [`find_promise`] in a message.
//!
//! This module only renders and splits text. The log holds the counters that decide, `core` judges
//! the markers, and the runtime owns the file.

mod frontmatter;
pub(crate) mod yaml;

pub(crate) use frontmatter::value;
pub use frontmatter::{TrackerFrontmatter, render, set_frontmatter, split};
pub use windlass_core::looping::marker::{Markers, Scan, scan};
pub use windlass_core::looping::promise::find_promise;
pub(crate) use windlass_core::looping::promise::fold;
