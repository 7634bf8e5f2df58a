//! Encodes entities as bytes, for the cache alone.
//!
//! It uses `postcard`, because JSON would take longer to read than the original files. The extra frontmatter
//! is JSON inside it, because `postcard` is not self-describing. Reading trusts nothing: broken bytes give
//! `None`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use windlass_core::entity::{
    Entity, EntityKind, EntitySource, EntityTool, Model, Tier, ToolEffect, ToolRule,
};

/// An entity without its source, which its file determines, and without its roles, which are found after all
/// files are read.
#[derive(Serialize, Deserialize)]
struct CachedEntity<'a> {
    kind: EntityKind,
    line: u32,
    name: &'a str,
    description: &'a str,
    prompt: &'a str,
    #[serde(borrow)]
    aliases: Vec<&'a str>,
    tools: Option<Vec<(&'a str, Option<&'a str>)>>,
    limits: Vec<(&'a str, Option<&'a str>, ToolEffect)>,
    agents: Vec<&'a str>,
    model: Option<(Tier, &'a str)>,
    argument_hint: Option<&'a str>,
    /// A JSON object, or empty.
    extra: Cow<'a, str>,
}

/// Appends the entities of a file to the bytes.
pub(super) fn put_entities(out: Vec<u8>, entities: &[Entity]) -> Option<Vec<u8>> {
    let rows: Option<Vec<CachedEntity<'_>>> = entities.iter().map(row).collect();
    postcard::to_extend(&rows?, out).ok()
}

fn row(entity: &Entity) -> Option<CachedEntity<'_>> {
    let Entity {
        kind,
        name,
        description,
        aliases,
        prompt,
        tools,
        limits,
        agents,
        roles: _,
        model,
        argument_hint,
        source,
        extra,
    } = entity;
    let tools = tools.as_ref();
    Some(CachedEntity {
        kind: *kind,
        line: source.line,
        name,
        description,
        prompt,
        aliases: texts(aliases),
        tools: tools
            .map(|tools| tools.iter().map(|tool| (tool.name.as_str(), tool.pattern.as_deref())).collect()),
        limits: limits
            .iter()
            .map(|rule| (rule.tool.as_str(), rule.pattern.as_deref(), rule.effect))
            .collect(),
        agents: texts(agents),
        model: model.as_ref().map(|model| (model.tier, model.original.as_str())),
        argument_hint: argument_hint.as_deref(),
        extra: if extra.is_empty() { "".into() } else { serde_json::to_string(extra).ok()?.into() },
    })
}

fn texts(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Reads the entities of a file. Only the line of `source` is replaced.
pub(super) fn take_entities(bytes: &[u8], source: &EntitySource, into: &mut Vec<Entity>) -> Option<()> {
    let (rows, rest) = postcard::take_from_bytes::<Vec<CachedEntity<'_>>>(bytes).ok()?;
    for row in rows {
        into.push(entity(&row, source)?);
    }
    rest.is_empty().then_some(())
}

fn entity(row: &CachedEntity<'_>, source: &EntitySource) -> Option<Entity> {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let tool = |(name, pattern): &(&str, Option<&str>)| EntityTool {
        name: (*name).to_owned(),
        pattern: pattern.map(str::to_owned),
    };
    let rule = |(tool, pattern, effect): &(&str, Option<&str>, ToolEffect)| ToolRule {
        tool: (*tool).to_owned(),
        pattern: pattern.map(str::to_owned),
        effect: *effect,
    };
    Some(Entity {
        kind: row.kind,
        name: row.name.to_owned(),
        description: row.description.to_owned(),
        aliases: owned(&row.aliases),
        prompt: row.prompt.to_owned(),
        tools: row.tools.as_ref().map(|tools| tools.iter().map(tool).collect()),
        limits: row.limits.iter().map(rule).collect(),
        agents: owned(&row.agents),
        roles: Vec::new(),
        model: row.model.map(|(tier, original)| Model { tier, original: original.to_owned() }),
        argument_hint: row.argument_hint.map(str::to_owned),
        source: EntitySource { line: row.line, ..source.clone() },
        extra: if row.extra.is_empty() {
            Default::default()
        } else {
            serde_json::from_str(&row.extra).ok()?
        },
    })
}

/// Computes a checksum that shows whether bytes have changed.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(MIX).rotate_left(29);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
    let (words, rest) = bytes.as_chunks::<32>();
    // Four independent sums, because a single one would wait for each multiplication.
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
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use windlass_core::entity::{Level, Provider};

    fn write(entities: &[Entity]) -> Vec<u8> {
        put_entities(Vec::new(), entities).unwrap()
    }

    fn read(bytes: &[u8], source: &EntitySource) -> Option<Vec<Entity>> {
        let mut found = Vec::new();
        take_entities(bytes, source, &mut found).map(|()| found)
    }

    fn source() -> EntitySource {
        EntitySource {
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
            kind: EntityKind::Agent,
            name: "n".into(),
            description: "d".into(),
            aliases: vec!["b".into(), "c".into()],
            prompt: "text\n".repeat(100),
            tools: Some(vec![EntityTool::named("bash"), EntityTool::named("Bash(git:*)")]),
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
            let bytes = write(std::slice::from_ref(&entity));
            assert_eq!(read(&bytes, &source()), Some(vec![entity]));
        }
    }

    #[test]
    fn broken_bytes_are_nothing_and_never_a_panic() {
        let bytes = write(&[entity()]);
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end], &source()), None, "{end}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut broken = bytes.clone();
                broken[at] = value;
                // Whatever it reads, it ends.
                let _ = read(&broken, &source());
            }
        }
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
