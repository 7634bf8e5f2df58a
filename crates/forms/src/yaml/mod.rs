//! Reads YAML, and so JSON, into values that know their position in the text.
//!
//! - [`read`] builds a tree as far as the text allows and returns every mistake with its byte. The
//!   caller words the messages. A key that occurs twice is in the tree twice.
//! - [`YamlReading`] sets the limits of a text and how a few odd values are read.
//! - [`plain`], [`whole`] and [`to_json`] interpret unquoted words.
//!
//! Uses the event parser below serde-saphyr rather than serde-saphyr itself: every key and value
//! needs its byte, and building the tree straight from events takes half the time. Other modules
//! interpret the keys.

mod reading;
mod scalar;
mod tree;

pub(crate) use granit_parser::Tag;
pub(crate) use reading::{Bounds, Tagged, YamlReading};
pub(crate) use scalar::{plain, to_json, whole};
pub(crate) use tree::{YamlError, YamlErrorKind, YamlTree, read};
