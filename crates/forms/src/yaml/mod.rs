//! YAML, and so JSON, as values that know where they stand.
//!
//! - [`read`]: a text to a tree as far as it goes, and every mistake with its byte; what to say
//!   about each is the asker's. A key that is there twice is in the tree twice.
//! - [`Manner`]: how much a text may mean, and what its askers see differently.
//! - [`plain`], [`whole`], [`to_json`]: what an unquoted word means.
//!
//! Through the event parser that serde-saphyr is built on and not through serde-saphyr itself:
//! every key and value needs its byte, and building the tree straight from events takes half the
//! time. What the keys mean is left to others.

mod reading;
mod scalar;
mod tree;

pub(crate) use granit_parser::Tag;
pub(crate) use reading::{Bounds, Tagged, YamlReading};
pub(crate) use scalar::{plain, to_json, whole};
pub(crate) use tree::{YamlError, YamlErrorKind, YamlTree, read};
