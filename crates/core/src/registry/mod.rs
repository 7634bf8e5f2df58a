//! Every entity that was found, by name: which of two wins, what a name means, what to type
//! after it, and what its text says once the arguments are in it.
//!
//! Pure: entities come in as values, in any order, and the answers do not depend on it.

mod counts;
mod entity_syntax;
mod expand;
mod hint;
mod known;
pub mod limits;
pub mod places;
pub mod roles;
mod search;
mod shell;
mod template;
pub mod tools;
mod unknown_name;
mod words;

pub use counts::ProviderCounts;
pub use expand::{Expanded, Piece, expand};
pub use hint::{Hint, SUGGESTION_COLUMNS, TypedInput, hint, parse_input, truncate};
pub use known::Registry;
pub use unknown_name::UnknownName;
pub use words::split;
