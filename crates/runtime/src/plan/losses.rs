//! Tells people what an entity loses on the driver of a session, with the place in the entity's file.

use std::path::Path;

use windlass_core::entity::{Entity, Level};
use windlass_core::registry::losses::{EntityDriver, EntityLoss, whose};
use windlass_forms::diagnostic::{Diagnostic, Severity};
use windlass_peers::agent::{Agents, Hold};
use windlass_peers::files;

use crate::user_error::ProblemPart;

/// The largest file of an entity to look into for a place.
const LARGEST: u64 = 1 << 20;

/// Returns the facts about a driver that decide what an entity loses. An unknown driver has none.
pub(crate) fn entity_driver<'a>(agents: &Agents, name: &'a str) -> EntityDriver<'a> {
    let can = agents.capabilities(name);
    EntityDriver {
        name,
        has: can.tools,
        keeps_tools: can.enforcement.tools == Hold::Enforced,
        keeps_patterns: can.permissions,
        model_tiers: can.model_tiers,
        reports_cost: can.cost,
        reports_model: can.reports_model,
        models: can.model_names,
    }
}

/// Describes a loss as a warning about the entity's file.
pub(super) fn warning(entity: &Entity, loss: &EntityLoss) -> ProblemPart {
    let text = format!("{} {}", whose(entity), loss.what);
    if entity.source.level == Level::Builtin {
        return ProblemPart::Plain { text, hint: Some(loss.hint.clone()) };
    }
    let file = &entity.source.path;
    let diagnostic =
        Diagnostic::new(Severity::Warning, &text).in_file(Some(file)).hint(Some(loss.hint.clone()));
    let read = files::read_bounded(Path::new(file), LARGEST).ok();
    let content = read.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    match place(&content, entity, loss) {
        Some(at) => diagnostic.at(&content, at).into(),
        None => diagnostic.into(),
    }
}

/// Finds the key that is lost, or else the line where the entity begins.
fn place(content: &str, entity: &Entity, loss: &EntityLoss) -> Option<usize> {
    let mut offset = 0;
    let mut first = None;
    for (line, number) in content.split_inclusive('\n').zip(1_u32..) {
        let indent = line.len() - line.trim_start().len();
        if number >= entity.source.line {
            first = first.or(Some(offset));
            let rest = loss.key.and_then(|key| line.trim_start().trim_start_matches('"').strip_prefix(key));
            if rest.is_some_and(|rest| {
                rest.trim_start_matches('"').trim_start().starts_with([':', '=', '.', ']'])
            }) {
                return Some(offset + indent);
            }
        }
        offset += line.len();
    }
    first
}

#[cfg(test)]
mod tests;
