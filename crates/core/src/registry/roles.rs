//! The agents that commands and skills run as. Their limits apply in addition to the entity's own.
//!
//! `forms::entity` reads the agent's name from the file. This module finds that agent among all entities, or
//! among the agents built into the CLI.

use super::Registry;
use crate::entity::{Entity, EntityKind, EntityRole, EntityTool, Provider, ToolEffect, ToolRule};

/// A function that returns the limits that documents set for a built-in agent; `None` if it cannot read
/// them.
pub type BuiltinAgentLimits<'a> = dyn Fn(Provider, &str) -> Option<Vec<ToolRule>> + 'a;

/// A command or skill whose agent cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleError {
    pub entity: Entity,
    /// The agent that the entity names.
    pub agent: String,
    /// The most similar agent name.
    pub near: Option<String>,
}

/// Gives every command and skill the limits of its agents. Removes an entity whose agent does not exist,
/// because its limits are unknown.
pub fn cast(entities: &mut Vec<Entity>, said: &BuiltinAgentLimits<'_>) -> Vec<RoleError> {
    let needs = |entity: &Entity| entity.kind != EntityKind::Agent && !names(entity).is_empty();
    if !entities.iter().any(needs) {
        return Vec::new();
    }
    let agents = KnownAgents::new(entities);
    let mut lost = Vec::new();
    entities.retain_mut(|entity| {
        if !needs(entity) {
            return true;
        }
        let roles = names(entity).into_iter().map(|name| agents.role(entity, &name, said).ok_or(name));
        match roles.collect::<Result<Vec<EntityRole>, String>>() {
            Ok(roles) => {
                entity.roles = roles.into_iter().filter(EntityRole::is_limited).collect();
                true
            }
            Err(agent) => {
                let near = agents.all.suggest(EntityKind::Agent, &agent).map(str::to_owned);
                lost.push(RoleError { entity: entity.clone(), agent, near });
                false
            }
        }
    });
    lost
}

impl EntityRole {
    fn is_limited(&self) -> bool {
        self.tools.is_some() || !self.limits.is_empty()
    }
}

/// Returns the agents that an entity runs as. For OpenCode the default is `build`.
fn names(entity: &Entity) -> Vec<String> {
    let is_default = entity.agents.is_empty()
        && entity.kind != EntityKind::Agent
        && entity.source.provider == Provider::Opencode;
    if is_default { vec!["build".to_owned()] } else { entity.agents.clone() }
}

/// All agents that were found.
struct KnownAgents {
    all: Registry,
    by_provider: Vec<(Provider, Registry)>,
}

impl KnownAgents {
    fn new(entities: &[Entity]) -> KnownAgents {
        let of = |is_meant: &dyn Fn(&Entity) -> bool| {
            let agents =
                entities.iter().filter(|entity| entity.kind == EntityKind::Agent && is_meant(entity));
            Registry::new(agents.cloned().collect())
        };
        let by_provider = Provider::ALL
            .into_iter()
            .map(|provider| (provider, of(&|entity: &Entity| entity.source.provider == provider)));
        KnownAgents { by_provider: by_provider.collect(), all: of(&|_| true) }
    }

    /// Finds an agent by name: first one of the same provider, then one built into its CLI, then one of any
    /// provider.
    fn role(&self, entity: &Entity, name: &str, said: &BuiltinAgentLimits<'_>) -> Option<EntityRole> {
        let provider = entity.source.provider;
        let plugin = entity.source.plugin.as_ref().map(|plugin| format!("{}:{name}", plugin.name));
        let full = plugin.as_deref().unwrap_or(name);
        let find = |registry: &Registry| {
            let found =
                registry.get(EntityKind::Agent, full).or_else(|| registry.get(EntityKind::Agent, name));
            found.map(of_file)
        };
        let own = self.by_provider.iter().find(|(other, _)| *other == provider);
        if let Some(role) = own.and_then(|(_, registry)| find(registry)) {
            return Some(role);
        }
        match builtin(provider, name) {
            Some(role) => {
                let more = said(provider, &role.name)?;
                Some(EntityRole { limits: role.limits.into_iter().chain(more).collect(), ..role })
            }
            None => find(&self.all),
        }
    }
}

fn of_file(agent: &Entity) -> EntityRole {
    EntityRole {
        name: agent.name.clone(),
        provider: agent.source.provider,
        path: Some(agent.source.path.clone()),
        tools: agent.tools.clone(),
        limits: agent.limits.clone(),
    }
}

/// Returns an agent that is built into a CLI, with the limits that Windlass can enforce.
pub fn builtin(provider: Provider, name: &str) -> Option<EntityRole> {
    use ToolEffect::{Allow, Deny};
    let rule = |tool: &str, pattern: Option<&str>, effect| ToolRule {
        tool: tool.to_owned(),
        pattern: pattern.map(str::to_owned),
        effect,
    };
    let deny = |tools: &[&str]| tools.iter().map(|tool| rule(tool, None, Deny)).collect::<Vec<_>>();
    let only = |tools: &[&str]| Some(tools.iter().map(|tool| EntityTool::named(tool)).collect::<Vec<_>>());
    let lower = name.to_lowercase();
    let (tools, limits) = match (provider, lower.as_str()) {
        (Provider::Opencode, "build") => (None, Vec::new()),
        (Provider::Opencode, "plan") => {
            let plans = Some(".opencode/plans/*.md");
            let changing = ["edit", "write"].into_iter();
            (None, changing.flat_map(|tool| [rule(tool, None, Deny), rule(tool, plans, Allow)]).collect())
        }
        (Provider::Opencode, "general") => (None, deny(&["todowrite"])),
        (Provider::Opencode, "explore") => {
            let allowed = ["grep", "glob", "list", "bash", "webfetch", "websearch", "read"];
            (None, deny(&["*"]).into_iter().chain(allowed.map(|tool| rule(tool, None, Allow))).collect())
        }
        (Provider::Opencode, "title" | "summary" | "compaction") => (None, deny(&["*"])),
        (Provider::Copilot, "agent") => (None, Vec::new()),
        (Provider::Copilot, "ask" | "plan") => (None, deny(&["edit", "write", "bash"])),
        (Provider::Copilot, "edit") => (None, deny(&["bash"])),
        (Provider::Opencode | Provider::Copilot, _) => return None,
        (_, "general-purpose") => (None, Vec::new()),
        (_, "explore" | "plan") => (None, deny(&["edit", "write", "task"])),
        (_, "statusline-setup") => (only(&["Read", "Edit"]), Vec::new()),
        (_, "claude-code-guide") => (only(&["Glob", "Grep", "Read", "WebFetch", "WebSearch"]), Vec::new()),
        _ => return None,
    };
    Some(EntityRole { name: lower, provider, path: None, tools, limits })
}

#[cfg(test)]
mod tests {
    use super::super::known::tests::found;
    use super::*;

    fn done_by(agents: &[&str], provider: Provider) -> Entity {
        let mut entity = found(EntityKind::Command, "c");
        entity.source.provider = provider;
        entity.agents = agents.iter().map(|agent| (*agent).to_owned()).collect();
        entity
    }

    fn agent(name: &str, provider: Provider, tool: &str) -> Entity {
        let mut entity = found(EntityKind::Agent, name);
        entity.source.provider = provider;
        entity.tools = Some(vec![EntityTool::named(tool)]);
        entity
    }

    fn cast_with(entities: &[Entity]) -> (Vec<EntityRole>, Vec<(String, Option<String>)>) {
        let mut entities = entities.to_vec();
        let lost = cast(&mut entities, &|_, _| Some(Vec::new()));
        let roles = entities.into_iter().flat_map(|entity| entity.roles).collect();
        (roles, lost.into_iter().map(|lost| (lost.agent, lost.near)).collect())
    }

    #[test]
    fn a_command_has_the_limits_of_its_agent_the_one_of_its_own_cli_first() {
        let both = [
            done_by(&["Looker"], Provider::Opencode),
            agent("looker", Provider::Claude, "Bash"),
            agent("looker", Provider::Opencode, "Read"),
        ];
        let (roles, lost) = cast_with(&both);
        assert_eq!((roles.len(), lost), (1, vec![]));
        assert_eq!((roles[0].provider, roles[0].tools.clone()), (Provider::Opencode, both[2].tools.clone()));
        let (roles, _) = cast_with(&both[..2]);
        assert_eq!(roles[0].provider, Provider::Claude, "anybody's, where its own CLI has none");
    }

    #[test]
    fn what_names_an_agent_that_is_not_there_cannot_be_used() {
        let entities = [done_by(&["loker"], Provider::Copilot), agent("looker", Provider::Copilot, "Read")];
        assert_eq!(cast_with(&entities), (vec![], vec![("loker".to_owned(), Some("looker".to_owned()))]));
    }

    #[test]
    fn agents_that_come_with_a_cli_have_their_limits() {
        for (provider, name, denied) in [
            (Provider::Opencode, "plan", vec!["edit", "write"]),
            (Provider::Opencode, "build", vec![]),
            (Provider::Copilot, "ask", vec!["edit", "write", "bash"]),
            (Provider::Copilot, "edit", vec!["bash"]),
            (Provider::Copilot, "agent", vec![]),
            (Provider::Claude, "Explore", vec!["edit", "write", "task"]),
            (Provider::Claude, "general-purpose", vec![]),
        ] {
            let role = builtin(provider, name).unwrap();
            let is_denied = |rule: &&ToolRule| rule.effect == ToolEffect::Deny;
            let tools: Vec<&str> =
                role.limits.iter().filter(is_denied).map(|rule| rule.tool.as_str()).collect();
            assert_eq!(tools, denied, "{provider} {name}");
        }
        assert_eq!(builtin(Provider::Copilot, "explore"), None);
    }
}
