//! The tracker: the Markdown file in which the agent of a loop keeps its progress.
//!
//! - frontmatter for people to read: [`render`], [`split`], [`set_frontmatter`];
//! - marks the agent leaves for us: [`scan`] in the body, [`find_promise`] in a message.
//!
//! The counters that decide are in the log, what a mark means is decided in `core`: here text
//! is only written and looked at. The file itself is the runtime's.

mod frontmatter;
mod marker;
mod promise;
pub(crate) mod yaml;

pub(crate) use frontmatter::value;
pub use frontmatter::{Frontmatter, render, set_frontmatter, split};
pub use marker::{Markers, Scan, scan};
pub use promise::find_promise;
pub(crate) use promise::fold;
