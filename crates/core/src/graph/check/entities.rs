//! Checks that entities, drivers and checks exist and support what a node needs.

use serde_json::Value;

use super::context::{Ability, CheckContext};
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode};
use super::suggest::{did_you_mean, shown};
use crate::entity::EntityKind;
use crate::graph::template::{is_plain, names_used};
use crate::graph::workflow::{CheckNode, NodeKind, PromptSource, ReviewNode, Session, Template, input_name};
use crate::looping::LoopMode;

pub(super) fn look(outline: &Outline<'_>, known: &CheckContext<'_>, found: &mut GraphDiagnostics) {
    if let Some(driver) = &outline.workflow.settings.driver {
        wrong_driver(outline, driver, known).into_iter().for_each(|finding| {
            found.whole(GraphDiagnostic { field: "settings.driver", ..finding });
        });
    }
    models(outline, found);
    for node in &outline.nodes {
        let word = node.node.kind.word();
        if known.is_run && !node.node.kind.can_run() {
            let text = format!("node `{}` cannot run yet: it is a `{word}` node", node.node.id);
            let finding = GraphDiagnostic::error(None, word, text);
            found.node(node, finding.hint("leave it out; `windlass workflow graph` can already draw it"));
        }
        if let Some(driver) = &node.node.settings.driver {
            wrong_driver(outline, driver, known).into_iter().for_each(|finding| found.node(node, finding));
        }
        check_node(outline, node, known, found);
    }
}

/// Checks the models of the workflow. Every session fills them in, so they can use nothing but inputs.
fn models(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    let inputs: Vec<&str> = outline.workflow.inputs.iter().map(|input| input.name.as_str()).collect();
    for model in outline.workflow.settings.models().filter(|model| !is_plain(model)) {
        let error = |text: String| GraphDiagnostic::error(None, "settings.model", text);
        let names = match names_used(&Template(model.clone())) {
            Ok(names) => names,
            Err(broken) => {
                found.whole(error(broken.to_string()));
                continue;
            }
        };
        for used in &names.uses {
            let name = used.name().unwrap_or_default();
            if used.root() == "inputs" && !inputs.contains(&name) {
                let near = found.guess(|| did_you_mean(name, inputs.iter().copied()));
                found.whole(error(format!("there is no input {}", shown(name))).maybe_hint(near));
            } else if !matches!(used.root(), "inputs" | "input" | "run") {
                let text = format!("the model of a workflow cannot use {}", shown(used.root()));
                found.whole(error(text).hint("use `inputs`, or set the `model` of a node"));
            }
        }
    }
}

fn check_node(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    known: &CheckContext<'_>,
    found: &mut GraphDiagnostics,
) {
    match &node.node.kind {
        NodeKind::Session(session) => {
            let (kind, field, name) = match &session.source {
                PromptSource::Prompt { .. } => return abilities(node, session, outline, known, found),
                PromptSource::Skill { name, .. } => (EntityKind::Skill, "skill", name),
                PromptSource::Command { name, .. } => (EntityKind::Command, "command", name),
                PromptSource::Agent { name, .. } => (EntityKind::Agent, "agent", name),
            };
            entity(node, kind, field, name, known, found);
            abilities(node, session, outline, known, found);
        }
        NodeKind::Review(ReviewNode { agent: Some(name), .. }) => {
            entity(node, EntityKind::Agent, "review.agent", name, known, found)
        }
        NodeKind::Check(CheckNode { names }) => checks(outline, node, names, known, found),
        _ => {}
    }
}

fn entity(
    node: &OutlineNode<'_>,
    kind: EntityKind,
    field: &'static str,
    name: &str,
    known: &CheckContext<'_>,
    found: &mut GraphDiagnostics,
) {
    if known.registry.get(kind, name).is_some() {
        return;
    }
    let last = name.rsplit([':', '/']).next().unwrap_or(name).to_lowercase();
    if let Some(why) = known.broken.get(&last) {
        let text = format!("{kind} {} cannot be used: {why}", shown(name));
        let hint = "`windlass entities check` shows the line";
        return found.node(node, GraphDiagnostic::error(None, field, text).hint(hint));
    }
    let text = format!("there is no {kind} {}", shown(name));
    let miss = found.guess(|| known.registry.lookup(kind, name).err());
    let hint = miss.and_then(|miss| match (miss.near, miss.elsewhere) {
        (Some(near), _) => Some(format!("did you mean {}?", shown(&near))),
        (None, Some(other)) => Some(format!("use `{other}` instead of `{kind}`")),
        (None, None) => None,
    });
    found.node(node, GraphDiagnostic::error(None, field, text).maybe_hint(hint));
}

/// Returns the drivers that `driver` of a workflow or node may mean: itself, or the choices of an input.
pub(super) fn drivers_of<'w>(outline: &Outline<'w>, driver: &'w str) -> Vec<&'w str> {
    let Some(name) = input_name(driver) else { return vec![driver] };
    let input = outline.workflow.inputs.iter().find(|input| input.name == name);
    input.into_iter().flat_map(|input| &input.choices).filter_map(Value::as_str).collect()
}

/// Reports a driver that does not exist, and an input that can name one.
fn wrong_driver(outline: &Outline<'_>, driver: &str, known: &CheckContext<'_>) -> Option<GraphDiagnostic> {
    let error = |text: String| GraphDiagnostic::error(None, "driver", text);
    let Some(name) = input_name(driver) else {
        let inner = driver.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
        let hint = input_name(inner).filter(|_| inner != driver).map(|_| format!("write `driver: {inner}`"));
        return unknown_driver(driver, known).map(|finding| match hint {
            Some(hint) => finding.hint(hint),
            None => finding,
        });
    };
    // An unknown input is reported with the templates.
    let input = outline.workflow.inputs.iter().find(|input| input.name == name)?;
    if input.choices.is_empty() || !input.choices.iter().all(Value::is_string) {
        let text =
            format!("`driver` comes from input {}, which does not say which drivers it allows", shown(name));
        let all: Vec<&str> = known.drivers.keys().map(String::as_str).collect();
        let names = if all.is_empty() { "claude".to_owned() } else { all.join(", ") };
        return Some(error(text).hint(format!("give the input its drivers: `choices: [{names}]`")));
    }
    if !input.required && input.default.is_none() {
        let text = format!("`driver` comes from input {}, which may be missing", shown(name));
        return Some(error(text).hint("give the input a `default`, or `required: true`"));
    }
    let mut choices = input.choices.iter().filter_map(Value::as_str);
    choices.find_map(|choice| unknown_driver(choice, known))
}

fn unknown_driver(driver: &str, known: &CheckContext<'_>) -> Option<GraphDiagnostic> {
    if known.drivers.is_empty() || known.drivers.contains_key(driver) {
        return None;
    }
    let names = || known.drivers.keys().map(String::as_str);
    let hint = did_you_mean(driver, names())
        .unwrap_or_else(|| format!("the drivers are {}", names().collect::<Vec<_>>().join(", ")));
    Some(GraphDiagnostic::error(None, "driver", format!("there is no driver {}", shown(driver))).hint(hint))
}

fn abilities(
    node: &OutlineNode<'_>,
    session: &Session,
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    found: &mut GraphDiagnostics,
) {
    let Some(driver) = node.surroundings.driver.or(known.driver.as_deref()) else { return };
    for driver in drivers_of(outline, driver) {
        abilities_of(driver, node, session, outline, known, found);
    }
}

fn abilities_of(
    driver: &str,
    node: &OutlineNode<'_>,
    session: &Session,
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    found: &mut GraphDiagnostics,
) {
    let Some(can) = known.drivers.get(driver) else { return };
    let mut need = |ability: Ability, field: &'static str, what: &str| {
        if can.contains(&ability) {
            return;
        }
        let able = known.drivers.iter().filter(|(_, can)| can.contains(&ability));
        let able: Vec<&str> = able.map(|(name, _)| name.as_str()).collect();
        let hint = (!able.is_empty()).then(|| format!("it works with {}", able.join(", ")));
        let text = format!("driver {} cannot do what {what} needs", shown(driver));
        found.node(node, GraphDiagnostic::error(None, field, text).maybe_hint(hint));
    };
    match session.turns.as_ref().and_then(|turns| turns.mode) {
        // Without a Stop hook, Windlass resumes the session instead.
        Some(LoopMode::InSession) if can.contains(&Ability::Resume) => {}
        Some(LoopMode::InSession) => need(Ability::StopBlock, "turns.mode", "`mode: in_session`"),
        Some(LoopMode::Resume) => need(Ability::Resume, "turns.mode", "`mode: resume`"),
        Some(LoopMode::Plugin) => need(Ability::Plugins, "turns.mode", "`mode: plugin`"),
        Some(LoopMode::Fresh) | None => {}
    }
    if node.surroundings.effort.is_some() {
        need(Ability::Effort, "effort", "`effort`");
    }
    if session.tools.is_some() {
        need(Ability::Permissions, "tools", "`tools`");
    }
    if session.continues.is_some() {
        need(Ability::Resume, "continue", "`continue`");
    }
    if !outline.workflow.plugins.is_empty() {
        need(Ability::Plugins, "driver", "`plugins`");
    }
}

fn checks(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    names: &[String],
    known: &CheckContext<'_>,
    found: &mut GraphDiagnostics,
) {
    let all = || known.checks.iter().chain(outline.workflow.checks.keys()).map(String::as_str);
    if names.is_empty() && all().next().is_none() {
        let finding =
            GraphDiagnostic::warning(None, "check", "there are no checks, so this node always passes");
        found.node(node, finding.hint("define some under `checks`"));
    }
    for (index, name) in names.iter().enumerate() {
        if all().any(|known| known == name) {
            continue;
        }
        let finding = GraphDiagnostic::error(None, "check", format!("there is no check {}", shown(name)));
        let hint = found
            .guess(|| did_you_mean(name, all()))
            .unwrap_or_else(|| "define it under `checks`".to_owned());
        found.node(node, finding.item(index).hint(hint));
    }
}
