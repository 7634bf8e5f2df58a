//! What those who read YAML see differently: how much a text may mean, and a few odd values.

use granit_parser::Tag;

/// The most that a text may mean; a small text that means a large value is refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The most levels.
    pub(crate) deepest: usize,
    /// The most values and keys, those that aliases repeat among them.
    pub(crate) values: usize,
    /// The most values and keys that aliases may add.
    pub(crate) copied_values: usize,
    /// The most bytes of text that aliases may add.
    pub(crate) copied_bytes: usize,
}

/// What becomes of a value with a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tagged {
    /// What it would be without the tag.
    AsWritten,
    /// Text, however it is written.
    Text,
    /// It is a mistake.
    Refused,
}

/// How somebody reads YAML.
pub(crate) trait YamlReading {
    fn bounds(&self) -> Bounds;

    fn tagged(&self, tag: &Tag) -> Tagged {
        if tag.is_yaml_core_schema_tag("str") { Tagged::Text } else { Tagged::AsWritten }
    }

    /// The place of a block of text (`|`, `>`) whose first letter is at this byte.
    fn block_at(&self, _text: &str, at: usize) -> usize {
        at
    }

    /// Whether the mapping that begins at this byte was meant as one.
    fn is_mapping(&self, _text: &str, _at: usize) -> bool {
        true
    }
}
