//! Every entity that was found, by name.
//!
//! Decides which of two entities wins, finds the entity for a name, gives hints about its arguments, and
//! puts arguments into its text.
//!
//! Pure: entities come in as values. Their order does not affect the result.

mod counts;
mod entity_syntax;
mod expand;
mod hint;
mod known;
pub mod limits;
pub mod losses;
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
