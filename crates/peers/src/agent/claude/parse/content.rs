//! Parts that several kinds of messages share: blocks and token counts.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use windlass_core::usage::Usage;

/// The maximum length of a list. No CLI sends longer ones, and each entry takes more memory than its
/// bytes.
const LIST_MAX: usize = 10_000;

/// A list of blocks. Empty if the content is a text or of an unknown form.
pub(super) struct Blocks<T>(pub(super) Vec<T>);

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Blocks(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Blocks<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(BlocksVisitor(PhantomData))
    }
}

struct BlocksVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BlocksVisitor<T> {
    type Value = Blocks<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a content")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element()? {
            if blocks.len() >= LIST_MAX {
                return Err(A::Error::custom("a list is too long"));
            }
            blocks.push(block);
        }
        Ok(Blocks(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        IgnoredAny.visit_map(map).map(|_| Blocks::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Blocks::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Blocks::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Blocks::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Blocks::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Blocks::default())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Blocks::default())
    }
}

#[derive(serde::Deserialize, Default, Clone, Copy)]
#[serde(default)]
pub(super) struct ClaudeTokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl ClaudeTokens {
    pub(super) fn usage(self) -> Usage {
        Usage {
            input_tokens: self.input_tokens.unwrap_or_default(),
            output_tokens: self.output_tokens.unwrap_or_default(),
            cache_read_tokens: self.cache_read_input_tokens.unwrap_or_default(),
            cache_write_tokens: self.cache_creation_input_tokens.unwrap_or_default(),
            cost_usd: None,
            ..Usage::default()
        }
    }
}
