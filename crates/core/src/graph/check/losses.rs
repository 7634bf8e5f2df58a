//! Lists what a session loses on its driver: models, tools and parts of entity files. Only `windlass workflow check`
//! asks for it; a run says the same about the driver that it really uses.

use super::context::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::entities::drivers_of;
use super::outline::{Outline, OutlineNode};
use crate::entity::EntityKind;
use crate::graph::template::is_plain;
use crate::graph::workflow::{PromptSource, Session, SessionTools};
use crate::registry::limits::{DriverTools, limits_of_node};
use crate::registry::losses::{
    EntityDriver, EntityLoss, LostPart, knows_name, limit_loss, losses, model_loss, tool_loss, whose,
};

pub(super) fn look(outline: &Outline<'_>, known: &CheckContext<'_>, found: &mut GraphDiagnostics) {
    for node in &outline.nodes {
        let Some(session) = node.node.kind.session() else { continue };
        let Some(driver) = node.surroundings.driver.or(known.driver.as_deref()) else { continue };
        for name in drivers_of(outline, driver) {
            let Some(driver) = known.entity_drivers.iter().find(|driver| driver.name == name) else {
                continue;
            };
            of_session(outline, node, session, (driver, known), found);
        }
    }
}

/// Reports a budget of money around a session whose cost nobody would know. A run refuses it, unless flags choose
/// another driver or model.
fn unknown_cost(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    models: &[&String],
    (driver, known): (&EntityDriver<'_>, &CheckContext<'_>),
    found: &mut GraphDiagnostics,
) {
    if driver.reports_cost {
        return;
    }
    let is_around = |other: &&OutlineNode<'_>| other.at <= node.at && node.at < other.end.max(other.at + 1);
    let mut around = outline.nodes.iter().filter(is_around).map(|other| &other.node.budget);
    let is_limited =
        outline.workflow.budget.cost_usd.is_some() || around.any(|budget| budget.cost_usd.is_some());
    if !is_limited {
        return;
    }
    let configured = known.driver_models.get(driver.name).filter(|_| models.is_empty());
    let mut named = models.iter().copied().filter(|model| is_plain(model)).chain(configured).peekable();
    let model = match named.peek() {
        Some(_) => named.find(|model| known.prices.of(Some(model)).is_none()).map(String::as_str),
        None if driver.reports_model && !known.prices.is_empty() => None,
        None => known.prices.of(None).is_none().then_some("*"),
    };
    let Some(model) = model else { return };
    let text = format!(
        "a budget does not count the cost of this session: driver `{}` reports no cost, and its model has no price",
        driver.name
    );
    let hint = format!(
        "set the price in the table `[prices.\"{model}\"]` of your settings, or limit tokens or turns"
    );
    found.node(node, GraphDiagnostic::warning(None, "budget", text).hint(hint));
}

fn of_session(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    session: &Session,
    (driver, known): (&EntityDriver<'_>, &CheckContext<'_>),
    found: &mut GraphDiagnostics,
) {
    let instead = known.driver_models.get(driver.name).map(String::as_str);
    let own: Vec<&String> = node.node.settings.models().collect();
    let models = if own.is_empty() { outline.workflow.settings.models().collect() } else { own };
    unknown_cost(outline, node, &models, (driver, known), found);
    let tell = |whose: &str, field: &'static str, loss: EntityLoss| {
        GraphDiagnostic::warning(None, field, format!("{whose} {}", loss.what)).hint(loss.hint)
    };
    let itself = format!("node `{}`", node.node.id);
    for model in models.iter().filter(|model| is_plain(model) && !knows_name(model, driver)) {
        found.node(node, tell(&itself, "model", model_loss(model, driver.name, instead)));
    }
    if let Some(tools) = &session.tools {
        let limits =
            limits_of_node(tools, DriverTools { has: driver.has, keeps_patterns: driver.keeps_patterns });
        // `tools: read` names no tool, so none can be missing.
        let missing = limits.missing.iter().filter(|_| matches!(tools, SessionTools::These(_)));
        missing.for_each(|written| found.node(node, tell(&itself, "tools", tool_loss(written, driver.name))));
        if limits.only.is_some() && !driver.keeps_tools {
            found.node(node, tell(&itself, "tools", limit_loss(driver.name)));
        }
    }
    let (kind, field, name) = match &session.source {
        PromptSource::Prompt { .. } => return,
        PromptSource::Skill { name, .. } => (EntityKind::Skill, "skill", name),
        PromptSource::Command { name, .. } => (EntityKind::Command, "command", name),
        PromptSource::Agent { name, .. } => (EntityKind::Agent, "agent", name),
    };
    let Some(entity) = known.registry.get(kind, name) else { return };
    for loss in losses(entity, driver, instead) {
        // The model of the node wins over that of the entity.
        if loss.part != LostPart::Model || models.is_empty() {
            let whose = format!("{} ({})", whose(entity), entity.source.path);
            found.node(node, tell(&whose, field, loss));
        }
    }
}
