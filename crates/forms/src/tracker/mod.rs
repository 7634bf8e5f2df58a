//! The tracker: the Markdown file in which the agent of a loop keeps its progress.
//!
//! - frontmatter for people to read: [`render`], [`split`], [`set_frontmatter`];
//! - marks the agent leaves for us: [`scan`] in the body, [`find_promise`] in a message.
//!
//! The counters that decide are in the log, a mark is found and judged in `core`: here text
//! is only written and taken apart. The file itself is the runtime's.

mod frontmatter;
pub(crate) mod yaml;

pub(crate) use frontmatter::value;
pub use frontmatter::{TrackerFrontmatter, render, set_frontmatter, split};
pub use windlass_core::looping::marker::{Markers, Scan, scan};
pub use windlass_core::looping::promise::find_promise;
pub(crate) use windlass_core::looping::promise::fold;
