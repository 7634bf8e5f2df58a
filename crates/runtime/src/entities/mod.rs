//! Every command, skill and agent there is for a person at work in a folder.
//!
//! [`load`](load()) walks the places of all providers, takes from the cache what has not
//! changed, reads the rest, and makes the registry. Where the places are is `core`'s table,
//! walking them `peers::files`', reading the formats `forms::entity`'s.

mod cache;
mod codec;
mod eject;
mod load;
mod read;
mod roots;
mod watch;

pub use eject::eject;
pub(crate) use load::load_with;
pub use load::{LoadedEntities, load, why};
pub(crate) use watch::subscribe;
pub use windlass_core::entity::{Entity, EntityKind, Level, Provider};
pub use windlass_core::registry::Registry;

#[cfg(test)]
mod tests;
