//! Reads commands, skills and agents of every provider into one form, and writes our own.
//!
//! - [`parse`]: one file, or one document that holds several, to entities and diagnostics. A file
//!   with an error gives no entity, one with warnings does.
//! - [`print()`]: an entity in Windlass's own format.
//! - [`builtin`]: what comes with Windlass.
//!
//! One file a provider says which keys mean what; the rest is shared. Frontmatter is YAML, and
//! where it almost is, it is read as it was meant, with a warning. Which of two entities wins is
//! `core::registry`'s, where files lie and how they are read `peers`'.

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
