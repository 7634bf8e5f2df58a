//! Loads every command, skill and agent for a person who works in a folder.
//!
//! [`load`](load()) walks the places of all providers, takes unchanged files from the cache, reads the rest,
//! and builds the registry. `core` has the table of places, `peers::files` walks them, and `forms::entity`
//! parses the formats.

mod cache;
mod codec;
mod eject;
mod load;
mod read;
mod roots;
mod watch;

pub use eject::eject;
pub(crate) use load::load_with;
pub use load::{LoadedEntities, load, start_up_lines, why};
pub(crate) use watch::subscribe;
pub use windlass_core::entity::{Entity, EntityKind, Level, Provider};
pub use windlass_core::registry::Registry;

#[cfg(test)]
mod tests;
