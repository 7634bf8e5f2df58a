//! Translates the limits of an entity into rules for a session.
//!
//! `forms::entity` reads the limits. [`permission`](crate::hook::permission) checks calls against them.

use super::tools::{self, Named};
use crate::entity::{Entity, EntityRole, EntityTool, Level, Provider, ToolEffect, ToolRule};
use crate::graph::workflow::SessionTools;
use crate::hook::ToolName;
use crate::hook::permission::LimitRule;

/// The limits of an entity. A call must satisfy all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntityLimits {
    /// If set, only these tools are allowed.
    pub only: Option<Vec<String>>,
    /// Tools that are forbidden.
    pub deny: Vec<String>,
    /// Tools that a person or the policy decides on.
    pub ask: Vec<String>,
    /// Rules with exceptions, in order: the last matching rule applies.
    pub ordered: Vec<LimitRule>,
    /// Listed tools that the driver does not have.
    pub missing: Vec<String>,
    /// Listed patterns that the driver cannot enforce.
    pub wider: Vec<String>,
}

/// The tools of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverTools<'a> {
    pub has: &'a [ToolName],
    /// True if the driver asks about each call, so that Windlass can enforce a pattern.
    pub keeps_patterns: bool,
}

impl DriverTools<'static> {
    /// A driver that has all tools and asks about each call.
    pub const ALL: DriverTools<'static> = DriverTools { has: &ToolName::ALL, keeps_patterns: true };
}

impl DriverTools<'_> {
    /// Returns the spelling of a tool in rules, if the driver has the tool.
    fn spelling(self, name: &'static str) -> Option<&'static str> {
        let has = tools::kind(name).is_some_and(|kind| self.has.contains(&kind));
        has.then(|| tools::spelling(name))
    }
}

/// Returns an entity's own limits for a driver.
pub fn limits(entity: &Entity, driver: DriverTools<'_>) -> EntityLimits {
    of(entity.tools.as_deref(), &entity.limits, entity.source.provider, driver)
}

/// Returns the limits of an agent that an entity runs as.
pub fn limits_of_role(role: &EntityRole, driver: DriverTools<'_>) -> EntityLimits {
    of(role.tools.as_deref(), &role.limits, role.provider, driver)
}

/// Returns the limits of a node for a driver.
pub fn limits_of_node(tools: &SessionTools, driver: DriverTools<'_>) -> EntityLimits {
    of(Some(&tools.listed()), &[], Provider::Windlass, driver)
}

fn of(
    tools: Option<&[EntityTool]>,
    rules: &[ToolRule],
    provider: Provider,
    driver: DriverTools<'_>,
) -> EntityLimits {
    let mut limits = EntityLimits::default();
    if let Some(tools) = tools {
        limits.list(tools, provider, driver);
    }
    let rules = in_names(rules, driver);
    for (at, (name, rule)) in rules.iter().enumerate() {
        let is_contested = rules.iter().enumerate().any(|(other, (name_of_other, other_rule))| {
            other != at && other_rule.effect != rule.effect && may_overlap(name, name_of_other)
        });
        match rule.effect {
            _ if is_contested || name == EXTERNAL => limits.ordered.push(rule.clone()),
            ToolEffect::Deny => push(&mut limits.deny, rule.rule.clone()),
            ToolEffect::Ask => push(&mut limits.ask, rule.rule.clone()),
            // The rules of the run decide on tools that the entity does not forbid.
            ToolEffect::Allow => {}
        }
    }
    limits
}

/// The name in rules about files outside the workspace, for any tool.
pub const EXTERNAL: &str = "external_directory";

impl EntityLimits {
    fn list(&mut self, listed: &[EntityTool], provider: Provider, driver: DriverTools<'_>) {
        let mut only = Vec::new();
        for tool in listed {
            let written = tool.pattern.as_ref().unwrap_or(&tool.name);
            let pattern = tools::pattern(written);
            match tools::named(&tool.name, provider) {
                Named::Everything => return,
                Named::Matching(_) if tool.name.starts_with("mcp__") => push(&mut only, written.clone()),
                Named::Matching(name) => push(&mut only, name),
                Named::Elsewhere => push(&mut only, written.clone()),
                Named::Unknown => self.missing.push(written.clone()),
                Named::These(names) => {
                    let on: Vec<&str> = names.iter().filter_map(|name| driver.spelling(name)).collect();
                    let Ok(pattern) = pattern else {
                        // A broken pattern removes the tool. Allowing it without its limit would be worse.
                        self.missing.push(written.clone());
                        continue;
                    };
                    if on.is_empty() {
                        self.missing.push(written.clone());
                    }
                    for name in on {
                        match pattern {
                            None => push(&mut only, name.to_owned()),
                            // For Gemini, a pattern is a prefix.
                            Some(pattern)
                                if driver.keeps_patterns
                                    && provider == Provider::Gemini
                                    && !pattern.contains('*') =>
                            {
                                push(&mut only, format!("{name}({pattern}:*)"));
                            }
                            Some(pattern) if driver.keeps_patterns => {
                                push(&mut only, format!("{name}({pattern})"));
                            }
                            Some(_) => {
                                push(&mut self.wider, written.clone());
                                push(&mut only, name.to_owned());
                            }
                        }
                    }
                }
            }
        }
        self.only = Some(only);
    }
}

/// Returns true if a session with an entity may change files of the workspace. Any access to the shell
/// counts, except for entities that come with Windlass: their texts allow only commands that change nothing.
pub fn may_change_files(entity: &Entity) -> bool {
    if entity.source.level == Level::Builtin {
        let EntityLimits { only, deny, .. } = limits(entity, DriverTools::ALL);
        return lets_use(&["edit", "write"], only.as_deref(), &deny);
    }
    let roles = entity.roles.iter().map(|role| limits_of_role(role, DriverTools::ALL));
    roles.chain([limits(entity, DriverTools::ALL)]).all(|limits| let_change_files(&limits))
}

/// Returns true if a node with these tools may change files of the workspace. Any access to the shell counts.
pub fn may_change_files_with(tools: &SessionTools) -> bool {
    let_change_files(&limits_of_node(tools, DriverTools::ALL))
}

fn let_change_files(EntityLimits { only, deny, .. }: &EntityLimits) -> bool {
    // A rule that forbids `edit` also forbids editing notebooks.
    lets_use(&["edit", "write", "bash"], only.as_deref(), deny)
}

/// Decides whether limits allow one of these tools.
fn lets_use(tools: &[&str], only: Option<&[String]>, deny: &[String]) -> bool {
    tools.iter().copied().any(|name| {
        let is_it = |rule: &String| {
            let tool = rule.split('(').next().unwrap_or(rule);
            tools::canonical(tool) == Some(name) || name == "bash" && tools::is_shell(tool)
        };
        let is_denied = deny.iter().any(|rule| tools::canonical(rule) == Some(name) || rule == "*");
        !is_denied && only.is_none_or(|only| only.iter().any(is_it))
    })
}

/// Translates rules into the driver's tool names. Returns each rule with its tool name.
fn in_names(rules: &[ToolRule], driver: DriverTools<'_>) -> Vec<(String, LimitRule)> {
    let mut all = Vec::new();
    for rule in rules {
        for name in names_of(&rule.tool, driver) {
            let text = match &rule.pattern {
                None => name.clone(),
                Some(pattern) => format!("{name}({pattern})"),
            };
            all.push((name, LimitRule { rule: text, effect: rule.effect }));
        }
    }
    all
}

fn names_of(tool: &str, driver: DriverTools<'_>) -> Vec<String> {
    if tool == EXTERNAL {
        return vec![tool.to_owned()];
    }
    let names = match tools::named(tool, Provider::Opencode) {
        Named::Everything => return vec!["*".to_owned()],
        Named::Matching(name) => return vec![name],
        Named::Elsewhere => return vec![tool.to_owned()],
        Named::Unknown => return Vec::new(),
        Named::These(names) => names,
    };
    names.into_iter().filter_map(|name| driver.spelling(name)).map(str::to_owned).collect()
}

fn may_overlap(one: &str, other: &str) -> bool {
    one == other || one.contains(['*', '?']) || other.contains(['*', '?'])
}

fn push(list: &mut Vec<String>, rule: String) {
    if !list.contains(&rule) {
        list.push(rule);
    }
}

#[cfg(test)]
mod tests;
