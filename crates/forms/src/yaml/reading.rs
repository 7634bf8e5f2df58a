//! The differences between readers of YAML: limits, and the treatment of a few odd values.

use granit_parser::Tag;

/// Limits on the size of the parsed value. They stop a small text from expanding into a huge value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The most nesting levels.
    pub(crate) deepest: usize,
    /// The most values and keys, including those that aliases repeat.
    pub(crate) values: usize,
    /// The most values and keys that aliases may add.
    pub(crate) copied_values: usize,
    /// The most bytes of text that aliases may add.
    pub(crate) copied_bytes: usize,
}

/// The treatment of a value with a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tagged {
    /// Read as if it had no tag.
    AsWritten,
    /// Text, however it is written.
    Text,
    /// An error.
    Refused,
}

/// The choices of one reader of YAML.
pub(crate) trait YamlReading {
    fn bounds(&self) -> Bounds;

    fn tagged(&self, tag: &Tag) -> Tagged {
        if tag.is_yaml_core_schema_tag("str") { Tagged::Text } else { Tagged::AsWritten }
    }

    /// Returns the position of a block of text (`|`, `>`) whose first letter is at this byte.
    fn block_at(&self, _text: &str, at: usize) -> usize {
        at
    }

    /// Decides whether the author meant the mapping at this byte as one.
    fn is_mapping(&self, _text: &str, _at: usize) -> bool {
        true
    }
}
