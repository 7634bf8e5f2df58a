//! Lists what an entity loses on an agent CLI: a model that the CLI does not know, tools that it does not have, and the parts
//! of the file that only the entity's own tool would use.
//!
//! Windlass gives an agent the text of an entity, and enforces its limits. Commands and files in the text are no loss,
//! because Windlass itself runs and attaches them.

use super::limits::{DriverTools, limits, limits_of_role};
use crate::entity::{Entity, EntityKind, Model, Provider, Tier};
use crate::hook::ToolName;

/// The facts about a driver that decide what an entity loses.
#[derive(Debug, Clone, Copy)]
pub struct EntityDriver<'a> {
    pub name: &'a str,
    /// The tools that a session can have.
    pub has: &'a [ToolName],
    /// A limit on tools holds, whatever the agent does.
    pub keeps_tools: bool,
    /// It asks about each call, so that a pattern can be enforced.
    pub keeps_patterns: bool,
    /// It knows `opus`, `sonnet` and `haiku`.
    pub model_tiers: bool,
    /// Its CLI reports what a session cost.
    pub reports_cost: bool,
    /// Its CLI reports the model that it uses.
    pub reports_model: bool,
    /// The names of models that its CLI knows. A `*` stands for any text.
    pub models: &'a [&'a str],
}

/// A part of an entity that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityLoss {
    pub part: LostPart,
    /// The key of the entity's file that has no effect, if it is a key.
    pub key: Option<&'static str>,
    /// The loss, for people: a clause that follows the name of the entity.
    pub what: String,
    pub hint: String,
}

/// The part of an entity that is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostPart {
    Model,
    Tool,
    /// A limit that nothing enforces.
    Limit,
    /// A key of the file that only the entity's own tool uses.
    Key,
    /// A placeholder in the text.
    Placeholder,
}

/// A key that Windlass does not use, in the spellings of all tools.
struct UnusedKey {
    spellings: &'static [&'static str],
    what: &'static str,
    hint: &'static str,
}

const UNUSED: &[UnusedKey] = &[
    UnusedKey {
        spellings: &["mcpServers", "mcp-servers", "mcp_servers"],
        what: "brings MCP servers, which Windlass does not start",
        hint: "add the servers to the settings of the agent CLI, or to a plugin for a driver that loads plugins",
    },
    UnusedKey {
        spellings: &["hooks"],
        what: "brings hooks, which do not run",
        hint: "add them to the settings of the agent CLI, or check the work with `checks`",
    },
    UnusedKey {
        spellings: &["skills"],
        what: "lists skills, which the agent does not get before it starts",
        hint: "name the skills in the prompt, or run them as nodes of a workflow",
    },
    UnusedKey {
        spellings: &["maxTurns", "max_turns", "max-turns", "steps", "maxSteps"],
        what: "limits its turns, which Windlass does not count for it",
        hint: "use `--budget turns=N`, or `budget` of the node",
    },
    UnusedKey {
        spellings: &["timeout_mins", "timeout"],
        what: "limits its time, which Windlass does not measure for it",
        hint: "use `--timeout`, or `timeout` of the node",
    },
    UnusedKey {
        spellings: &["effort", "reasoningEffort", "reasoning_effort", "model_reasoning_effort", "variant"],
        what: "asks for an effort, which Windlass does not pass on",
        hint: "use `effort` of a node",
    },
    UnusedKey {
        spellings: &["temperature", "top_p"],
        what: "sets how the model chooses words, which no agent CLI lets Windlass set",
        hint: "remove the key, or set it in the settings of the agent CLI",
    },
    UnusedKey {
        spellings: &["memory"],
        what: "has a memory, which the agent does not get",
        hint: "name its file in the prompt",
    },
    UnusedKey {
        spellings: &["isolation"],
        what: "asks for a place of its own, which it does not get",
        hint: "use `--worktree`",
    },
    UnusedKey {
        spellings: &["handoffs"],
        what: "names the agents that go on after it, which do not start",
        hint: "make them nodes of a workflow",
    },
];

/// Placeholders that Windlass leaves as they are, by the tool that would fill them in.
const PLACEHOLDERS: &[(Provider, &str, &str)] = &[
    (
        Provider::Claude,
        "${CLAUDE_SKILL_DIR}",
        "Windlass tells the agent the folder before the text: name the file alone",
    ),
    (Provider::Copilot, "${input:", "write `$ARGUMENTS` for the arguments"),
];

/// Returns everything that an entity loses on a driver. `instead` is the model that the driver uses in place of one that
/// it does not know, if it is known.
pub fn losses(entity: &Entity, driver: &EntityDriver<'_>, instead: Option<&str>) -> Vec<EntityLoss> {
    let mut found: Vec<EntityLoss> = Vec::new();
    let wanted = entity.model.as_ref().filter(|model| model.original != Tier::Inherit.word());
    if let Some(model) = wanted.filter(|model| model_on(model, entity.source.provider, driver).is_none()) {
        found.push(model_loss(&model.original, driver.name, instead));
    }
    let tools = DriverTools { has: driver.has, keeps_patterns: driver.keeps_patterns };
    let roles = entity.roles.iter().map(|role| limits_of_role(role, tools));
    let mut is_limited = false;
    for limits in roles.chain([limits(entity, tools)]) {
        is_limited |= limits.only.is_some() || !limits.deny.is_empty() || !limits.ordered.is_empty();
        found.extend(limits.missing.iter().map(|written| tool_loss(written, driver.name)));
        found.extend(limits.wider.iter().map(|written| pattern_loss(written, driver.name)));
    }
    if is_limited && !driver.keeps_tools {
        found.push(limit_loss(driver.name));
    }
    let unused = |unused: &UnusedKey| {
        let key = unused.spellings.iter().find(|key| entity.extra.contains_key(**key))?;
        let (what, hint) = (format!("{} (`{key}`)", unused.what), unused.hint.to_owned());
        Some(EntityLoss { part: LostPart::Key, key: Some(key), what, hint })
    };
    found.extend(UNUSED.iter().filter_map(unused));
    let is_left = |(provider, placeholder, _): &&(Provider, &str, &str)| {
        *provider == entity.source.provider && entity.prompt.contains(placeholder)
    };
    found.extend(PLACEHOLDERS.iter().filter(is_left).map(|(_, placeholder, hint)| EntityLoss {
        part: LostPart::Placeholder,
        key: None,
        what: format!("has `{placeholder}` in its text, which stays as it is"),
        hint: (*hint).to_owned(),
    }));
    found
}

/// Describes a model that a driver does not know.
pub fn model_loss(model: &str, driver: &str, instead: Option<&str>) -> EntityLoss {
    let instead = instead.map_or_else(|| "its default".to_owned(), |model| format!("`{model}`"));
    EntityLoss {
        part: LostPart::Model,
        key: Some("model"),
        what: format!(
            "asks for model `{model}`, which `{driver}` does not know, so `{driver}` uses {instead}"
        ),
        hint: format!("set `agents.{driver}.model` in your settings, or `model` of the node"),
    }
}

/// Describes a tool that a driver does not have.
pub fn tool_loss(written: &str, driver: &str) -> EntityLoss {
    EntityLoss {
        part: LostPart::Tool,
        key: None,
        what: format!("names the tool `{written}`, which `{driver}` does not have"),
        hint: "remove the tool, or choose a driver that has it".to_owned(),
    }
}

/// Describes a pattern that a driver cannot enforce.
fn pattern_loss(written: &str, driver: &str) -> EntityLoss {
    let what = format!("limits a tool to `{written}`, which `{driver}` cannot enforce");
    EntityLoss { what, ..limit_loss(driver) }
}

/// Describes limits that a driver does not enforce.
pub fn limit_loss(driver: &str) -> EntityLoss {
    EntityLoss {
        part: LostPart::Limit,
        key: None,
        what: format!("limits its tools, which `{driver}` cannot enforce"),
        hint: "accept that with --isolation-best-effort, or choose another driver".to_owned(),
    }
}

/// Returns the name of an entity's model for a driver. `None` if the driver does not know the model, or if the entity
/// leaves the choice to it.
pub fn model_on(model: &Model, provider: Provider, driver: &EntityDriver<'_>) -> Option<String> {
    let name = model.original.as_str();
    if name == Tier::Inherit.word() {
        return None;
    }
    let is_tier = model.tier != Tier::Inherit;
    if driver.model_tiers && is_tier {
        // A full model name of Claude Code is more precise than the tier.
        let is_full = provider == Provider::Claude && is_plain_name(name);
        return Some(if is_full { name } else { model.tier.word() }.to_owned());
    }
    // The names in the files of a CLI are those that it knows.
    let is_own = is_own_cli(provider, driver.name);
    (is_own || driver.models.iter().any(|pattern| fits(pattern, name))).then(|| name.to_owned())
}

/// Decides whether a driver can use the name of a model that a document or a setting gives: it may be any name, but not
/// a tier of another CLI.
pub fn knows_name(model: &str, driver: &EntityDriver<'_>) -> bool {
    let is_tier = [Tier::Opus, Tier::Sonnet, Tier::Haiku].iter().any(|tier| tier.word() == model);
    driver.model_tiers || !is_tier || driver.models.iter().any(|pattern| fits(pattern, model))
}

/// Decides whether the model of one driver can be that of another.
pub fn shares_name(model: &str, driver: &EntityDriver<'_>) -> bool {
    let is_tier = driver.model_tiers && Model::named(model).tier != Tier::Inherit;
    is_tier || driver.models.iter().any(|pattern| fits(pattern, model))
}

fn is_own_cli(provider: Provider, driver: &str) -> bool {
    match provider {
        Provider::Claude | Provider::Opencode | Provider::Copilot | Provider::Codex | Provider::Gemini => {
            provider.word() == driver
        }
        Provider::Windlass | Provider::Shared | Provider::Atomic => false,
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() > start.len() + end.trim_end_matches('*').len()
                && name.strip_prefix(start).is_some_and(|rest| rest.contains(end.trim_end_matches('*')))
        }
        None => pattern == name,
    }
}

fn is_plain_name(model: &str) -> bool {
    let is_plain =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '[' | ']');
    model.starts_with("claude-") && model.chars().all(is_plain)
}

/// Names the kind and the place of an entity, for the beginning of a sentence about it.
pub fn whose(entity: &Entity) -> String {
    let kind: EntityKind = entity.kind;
    format!("{kind} `{}`", entity.name)
}
