//! Reads the commands, skills and agents of every provider into one form, and writes Windlass's
//! own.
//!
//! - [`parse`] reads one file, or one document with several entities. An entity with an error is
//!   left out; one with warnings is not.
//! - [`print()`] writes an entity in Windlass's own format.
//! - [`builtin`] returns the entities that come with Windlass.
//!
//! One file per provider defines the meaning of its keys; the rest is shared. Frontmatter that is
//! almost YAML is read leniently, with a warning. `core::registry` decides which of two entities
//! wins; `peers` finds and reads the files.

mod atomic;
mod builtin;
mod claude;
mod codex;
mod copilot;
mod document;
mod entity_draft;
mod fast_yaml;
mod frontmatter;
mod gemini;
mod lenient_value;
mod lenient_yaml;
mod markdown;
mod modes;
mod name;
mod opencode;
mod print;
mod read;
mod sentence;
mod shared;
mod toml_file;
mod tools;
mod windlass;
mod yaml;

pub use builtin::builtin;
pub use print::print;
pub use read::{DefaultLimits, Origin, ReadEntities, parse};
