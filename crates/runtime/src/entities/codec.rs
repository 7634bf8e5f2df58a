//! Entities as bytes, for the cache alone.
//!
//! A format that can be read at the speed of memory: 10,000 prompts are as much text as a large
//! book, and JSON would take longer to read than the files do. Reading trusts nothing: lengths
//! are held against what is there, and what does not fit is `None`.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use windlass_core::entity::{Entity, Kind, Model, Source, Tier, Tool, ToolEffect, ToolRule};

/// How deep values may be nested.
const DEPTH: usize = 64;

pub(super) fn put_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// A text with its length. Nothing here comes near the four gigabytes that fit.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    put_u32(out, u32::try_from(count).unwrap_or(u32::MAX));
}

fn put_option(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(out, text);
    }
}

/// Writes an entity, all but where it comes from, which is known by its file.
pub(super) fn put_entity(out: &mut Vec<u8>, entity: &Entity) {
    let Entity {
        kind,
        name,
        description,
        aliases,
        prompt,
        tools,
        limits,
        agents,
        // Found when all files are read.
        roles: _,
        model,
        argument_hint,
        source,
        extra,
    } = entity;
    out.push(match kind {
        Kind::Command => 0,
        Kind::Skill => 1,
        Kind::Agent => 2,
    });
    put_u32(out, source.line);
    for text in [name, description, prompt] {
        put_text(out, text);
    }
    put_count(out, aliases.len());
    aliases.iter().for_each(|alias| put_text(out, alias));
    out.push(u8::from(tools.is_some()));
    if let Some(tools) = tools {
        put_count(out, tools.len());
        for Tool { name, pattern } in tools {
            put_text(out, name);
            put_option(out, pattern.as_deref());
        }
    }
    put_count(out, limits.len());
    for ToolRule { tool, pattern, effect } in limits {
        put_text(out, tool);
        put_option(out, pattern.as_deref());
        out.push(match effect {
            ToolEffect::Allow => 0,
            ToolEffect::Ask => 1,
            ToolEffect::Deny => 2,
        });
    }
    put_count(out, agents.len());
    agents.iter().for_each(|agent| put_text(out, agent));
    out.push(match model.as_ref().map(|model| model.tier) {
        None => 0,
        Some(Tier::Opus) => 1,
        Some(Tier::Sonnet) => 2,
        Some(Tier::Haiku) => 3,
        Some(Tier::Inherit) => 4,
    });
    if let Some(Model { original, .. }) = model {
        put_text(out, original);
    }
    put_option(out, argument_hint.as_deref());
    put_count(out, extra.len());
    for (key, value) in extra {
        put_text(out, key);
        put_value(out, value);
    }
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(0),
        Value::Bool(false) => out.push(1),
        Value::Bool(true) => out.push(2),
        Value::Number(number) => put_number(out, number),
        Value::String(text) => {
            out.push(6);
            put_text(out, text);
        }
        Value::Array(items) => {
            out.push(7);
            put_count(out, items.len());
            items.iter().for_each(|item| put_value(out, item));
        }
        Value::Object(members) => {
            out.push(8);
            put_count(out, members.len());
            for (key, value) in members {
                put_text(out, key);
                put_value(out, value);
            }
        }
    }
}

fn put_number(out: &mut Vec<u8>, number: &Number) {
    if let Some(number) = number.as_u64() {
        out.push(3);
        put_u64(out, number);
    } else if let Some(number) = number.as_i64() {
        out.push(4);
        out.extend_from_slice(&number.to_le_bytes());
    } else {
        out.push(5);
        put_u64(out, number.as_f64().unwrap_or_default().to_bits());
    }
}

/// What is left of the bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(count)?;
        self.0 = left;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(super) fn i64(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let count = self.count()?;
        std::str::from_utf8(self.take(count)?).ok()
    }

    fn owned(&mut self) -> Option<String> {
        self.text().map(str::to_owned)
    }

    /// How many follow: each takes at least a byte, so no more than are left.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.u32()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    fn is_there(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn option(&mut self) -> Option<Option<String>> {
        if self.is_there()? { self.owned().map(Some) } else { Some(None) }
    }

    /// An entity from this source; only the line is its own.
    pub(super) fn entity(&mut self, mut source: Source) -> Option<Entity> {
        let kind = Kind::ALL.get(usize::from(self.byte()?)).copied()?;
        source.line = self.u32()?;
        let (name, description, prompt) = (self.owned()?, self.owned()?, self.owned()?);
        let aliases = (0..self.count()?).map(|_| self.owned()).collect::<Option<_>>()?;
        let tools = if self.is_there()? {
            Some((0..self.count()?).map(|_| self.tool()).collect::<Option<_>>()?)
        } else {
            None
        };
        let limits = (0..self.count()?).map(|_| self.rule()).collect::<Option<_>>()?;
        let agents = (0..self.count()?).map(|_| self.owned()).collect::<Option<_>>()?;
        let model = self.model()?;
        let argument_hint = self.option()?;
        let mut extra = BTreeMap::new();
        for _ in 0..self.count()? {
            extra.insert(self.owned()?, self.value(DEPTH)?);
        }
        Some(Entity {
            kind,
            name,
            description,
            aliases,
            prompt,
            tools,
            limits,
            agents,
            roles: Vec::new(),
            model,
            argument_hint,
            source,
            extra,
        })
    }

    fn tool(&mut self) -> Option<Tool> {
        Some(Tool { name: self.owned()?, pattern: self.option()? })
    }

    fn rule(&mut self) -> Option<ToolRule> {
        let (tool, pattern) = (self.owned()?, self.option()?);
        let effect = match self.byte()? {
            0 => ToolEffect::Allow,
            1 => ToolEffect::Ask,
            2 => ToolEffect::Deny,
            _ => return None,
        };
        Some(ToolRule { tool, pattern, effect })
    }

    fn model(&mut self) -> Option<Option<Model>> {
        let tier = match self.byte()? {
            0 => return Some(None),
            1 => Tier::Opus,
            2 => Tier::Sonnet,
            3 => Tier::Haiku,
            4 => Tier::Inherit,
            _ => return None,
        };
        Some(Some(Model { tier, original: self.owned()? }))
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        Some(match self.byte()? {
            0 => Value::Null,
            1 => Value::Bool(false),
            2 => Value::Bool(true),
            3 => self.u64()?.into(),
            4 => self.i64()?.into(),
            5 => Number::from_f64(f64::from_bits(self.u64()?))?.into(),
            6 => Value::String(self.owned()?),
            7 => (0..self.count()?).map(|_| self.value(depth)).collect::<Option<Vec<_>>>()?.into(),
            8 => {
                let mut members = Map::new();
                for _ in 0..self.count()? {
                    members.insert(self.owned()?, self.value(depth)?);
                }
                Value::Object(members)
            }
            _ => return None,
        })
    }
}

/// Tells whether bytes are still those that were written.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(MIX).rotate_left(29);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
    let (words, rest) = bytes.as_chunks::<32>();
    // Four sums side by side: one alone would wait for each multiplication.
    let mut sums = [1, 2, 3, 4];
    for words in words {
        let (words, _) = words.as_chunks::<8>();
        for (sum, bytes) in sums.iter_mut().zip(words) {
            *sum = mix(*sum, u64::from_le_bytes(*bytes));
        }
    }
    let whole = sums.into_iter().fold(bytes.len() as u64, mix);
    let end = rest.chunks(8).fold(whole, |sum, bytes| mix(sum, word(bytes)));
    end ^ (end >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use windlass_core::entity::{Level, Provider};

    fn source() -> Source {
        Source {
            provider: Provider::Claude,
            level: Level::Project,
            distance: 0,
            path: "a".into(),
            line: 3,
            plugin: None,
        }
    }

    fn entity() -> Entity {
        let extra =
            json!({"hooks": {"Stop": [{"n": 1, "m": -2, "f": 1.5, "no": null, "t": true}]}, "x": "é"});
        let Value::Object(extra) = extra else { unreachable!() };
        Entity {
            kind: Kind::Agent,
            name: "n".into(),
            description: "d".into(),
            aliases: vec!["b".into(), "c".into()],
            prompt: "text\n".repeat(100),
            tools: Some(vec![Tool::named("bash"), Tool::named("Bash(git:*)")]),
            limits: vec![
                ToolRule { tool: "bash".into(), pattern: None, effect: ToolEffect::Ask },
                ToolRule { tool: "bash".into(), pattern: Some("git *".into()), effect: ToolEffect::Allow },
                ToolRule { tool: "edit".into(), pattern: None, effect: ToolEffect::Deny },
            ],
            agents: vec!["plan".into()],
            roles: vec![],
            model: Some(Model::named("claude-opus-4-5")),
            argument_hint: Some("[x]".into()),
            source: source(),
            extra: extra.into_iter().collect(),
        }
    }

    #[test]
    fn an_entity_is_read_as_it_was_written() {
        let bare = Entity {
            aliases: vec![],
            tools: None,
            limits: vec![],
            agents: vec![],
            model: None,
            argument_hint: None,
            extra: BTreeMap::new(),
            ..entity()
        };
        for entity in [entity(), bare] {
            let mut bytes = Vec::new();
            put_entity(&mut bytes, &entity);
            let mut read = Bytes(&bytes);
            assert_eq!(read.entity(source()), Some(entity));
            assert!(read.0.is_empty());
        }
    }

    #[test]
    fn broken_bytes_are_nothing_and_never_a_panic() {
        let mut bytes = Vec::new();
        put_entity(&mut bytes, &entity());
        for end in 0..bytes.len() {
            assert_eq!(Bytes(&bytes[..end]).entity(source()), None, "{end}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut broken = bytes.clone();
                broken[at] = value;
                // Whatever it reads, it ends.
                let _ = Bytes(&broken).entity(source());
            }
        }
        let deep: Vec<u8> = [7, 1, 0, 0, 0].repeat(100_000);
        assert_eq!(Bytes(&deep).value(DEPTH), None);
    }

    #[test]
    fn every_byte_counts_for_the_checksum() {
        let bytes: Vec<u8> = (0..101).collect();
        let whole = checksum(&bytes);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(checksum(&other), whole, "{at}");
            assert_ne!(checksum(&bytes[..at]), whole, "{at}");
        }
    }
}
