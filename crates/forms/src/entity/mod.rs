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
mod draft;
mod frontmatter;
mod gemini;
mod loose;
mod loose_value;
mod markdown;
mod modes;
mod name;
mod opencode;
mod print;
mod read;
mod sentence;
mod shared;
mod subset;
mod toml_file;
mod tools;
mod windlass;
mod yaml;

pub use builtin::builtin;
pub use print::print;
pub use read::{DefaultLimits, Origin, ReadEntities, parse};
