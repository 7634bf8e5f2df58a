//! The output of `--dry-run`: the plan for people, or as JSON.

use serde_json::{Value, json};
use windlass_core::effect::Effect;
use windlass_core::engine;
use windlass_core::engine::rehearsal::Rehearsal;
use windlass_core::entity::{EntityKind, ToolEffect};
use windlass_core::graph::workflow::{Node, Session, SessionTools};
use windlass_core::hook::permission::PermissionRules;
use windlass_core::id::RunId;
use windlass_core::registry::expand;
use windlass_core::run::SessionWork;
use windlass_core::spec::{Check, SessionSettings, Spec};
use windlass_core::time::Moment;
use windlass_runtime::plan::Plan;

use super::super::feed::words;
use super::super::own_worktree;
use super::super::rehearsal;
use super::super::sanitize::{plain, plain_line};

/// Returns the stored spec, with the settings of the only session and the rehearsal, if there is one.
pub(super) fn object(plan: &Plan, rehearsed: Option<&Rehearsal>) -> Value {
    let mut data = serde_json::to_value(&plan.spec).unwrap_or_default();
    let Value::Object(map) = &mut data else { return data };
    map.remove("request");
    map.insert("worst".to_owned(), plan.worst.as_str().into());
    map.insert("warnings".to_owned(), json!(plan.warning_texts()));
    map.extend(plan.worktree.as_ref().map(|own| ("worktree".to_owned(), own_worktree::planned_object(own))));
    if let Some((_, session_settings)) = plan.spec.only_session() {
        map.insert("driver".to_owned(), json!(session_settings.driver));
        map.insert("isolation".to_owned(), session_settings.isolation.word().into());
        map.insert("permissions".to_owned(), json!(session_settings.permissions.flat()));
    }
    map.extend(rehearsed.map(|rehearsed| ("rehearsal".to_owned(), rehearsal::object(rehearsed))));
    data
}

/// Returns the plan for people.
pub(super) fn lines(plan: &Plan, rehearsed: Option<&Rehearsal>) -> Vec<String> {
    let spec = &plan.spec;
    let only = spec.only_session().map(|(_, session_settings)| session_settings);
    let mut lines = vec![format!("workflow    {}", plain_line(&spec.workflow))];
    lines.extend(only.into_iter().flat_map(driver));
    lines.push(format!("workspace   {}", plain_line(&spec.workspace)));
    lines.extend(plan.worktree.as_ref().map(|own| format!("worktree    {}", own_worktree::planned(own))));
    match only {
        Some(session_settings) => lines.extend(bounds(session_settings)),
        None => lines.push(format!("turns       {}", plain_line(&plan.worst))),
    }
    lines.extend(around(spec));
    match only {
        Some(session_settings) => lines.extend(prompt_lines(spec, session_settings)),
        None => {
            lines.push("nodes".to_owned());
            lines.extend(nodes(spec, &spec.body, 1));
        }
    }
    lines.extend(rehearsed.into_iter().flat_map(|rehearsed| walk(plan, rehearsed)));
    lines
}

fn driver(session_settings: &SessionSettings) -> Vec<String> {
    let driver = &session_settings.driver;
    let model = driver.model.as_deref().map_or("the CLI's own choice".to_owned(), plain_line);
    vec![
        format!("driver      {} ({})", plain_line(&driver.name), plain_line(&driver.command().join(" "))),
        format!("model       {model}"),
    ]
}

fn bounds(session_settings: &SessionSettings) -> Vec<String> {
    let mut lines = vec![format!("isolation   {}", session_settings.isolation.word())];
    let Some(rules) = &session_settings.rules else { return lines };
    let most =
        if rules.max_iterations == 0 { "no limit".to_owned() } else { rules.max_iterations.to_string() };
    lines.push(format!("mode        {}", rules.mode.word()));
    lines.push(format!("iterations  {most}"));
    let done = |what: &str, text: &String| format!("done when   {what} {}", plain_line(text));
    lines.extend(rules.signal.iter().map(|text| done("the agent ends a turn with", text)));
    lines.extend(rules.marker.iter().map(|text| done("the tracker contains", text)));
    lines.extend(rules.promise.iter().map(|text| done("the agent promises", text)));
    lines
}

fn around(spec: &Spec) -> Vec<String> {
    let check =
        |check: &Check| format!("check       {}: {}", plain_line(&check.name), plain_line(&check.command));
    let mut lines: Vec<String> = spec.checks.iter().map(check).collect();
    lines.extend(
        spec.plugins
            .iter()
            .map(|plugin| format!("plugin      {} ({})", plain_line(&plugin.name), plain_line(&plugin.dir))),
    );
    lines.extend(spec.limits.run_ms.map(|ms| format!("timeout     {}", words::span(ms))));
    lines
}

/// Describes the arguments, permissions and prompt of the only session.
fn prompt_lines(spec: &Spec, session_settings: &SessionSettings) -> Vec<String> {
    let mut lines = Vec::new();
    if !session_settings.driver.args.is_empty() {
        lines.push(format!("arguments   {}", plain_line(&session_settings.driver.args.join(" "))));
    }
    lines.extend(permissions(&session_settings.permissions.flat()));
    let (prompt, arguments) = opening(spec);
    match session_settings.entity.as_deref() {
        None => lines.extend(text("prompt", &prompt)),
        Some(entity) if entity.kind == EntityKind::Agent => {
            lines.extend(text("system prompt", &entity.prompt));
            lines.extend(text("prompt", &arguments));
        }
        Some(entity) => lines.extend(text("prompt", &expand(entity, &arguments).text())),
    }
    lines
}

/// Describes the tools that the agent may use.
fn permissions(rules: &PermissionRules) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(only) = &rules.only {
        let only = if only.is_empty() { "none".to_owned() } else { only.join(", ") };
        lines.push(format!("tools       {}", plain_line(&only)));
    }
    for (effect, plain) in
        [(ToolEffect::Allow, &rules.allow), (ToolEffect::Deny, &rules.deny), (ToolEffect::Ask, &rules.ask)]
    {
        let ordered = rules.limits.iter().filter(|limit| limit.effect == effect).map(|limit| &limit.rule);
        let all: Vec<&str> = plain.iter().chain(ordered).map(String::as_str).collect();
        if !all.is_empty() {
            lines.push(format!("{:<11} {}", effect.word(), plain_line(&all.join(", "))));
        }
    }
    lines
}

/// Returns the prompt of the first turn and the arguments of its entity, as the engine would use them.
fn opening(spec: &Spec) -> (String, String) {
    let (state, decision) = engine::start(RunId::new("plan"), spec.clone(), Moment(0));
    let prompt = state.works().first().map(|work: &&SessionWork| work.node.prompt().to_owned());
    let arguments = decision.effects.into_iter().find_map(|planned| match planned.effect {
        Effect::Prepare { args, .. } => args,
        _ => None,
    });
    (prompt.unwrap_or_default(), arguments.unwrap_or_default())
}

fn text(title: &str, text: &str) -> Vec<String> {
    let mut lines = vec![title.to_owned()];
    lines.extend(plain(text).lines().map(|line| format!("  {line}")));
    lines
}

/// Lists the nodes in the order of the workflow, with the agent of each.
fn nodes(spec: &Spec, body: &[Node], depth: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for node in body {
        let who = spec.sessions.get(&node.id).map(|session_settings| {
            let mut facts = vec![session_settings.driver.name.clone()];
            facts.extend(models(session_settings));
            facts.push(session_settings.isolation.word().to_owned());
            facts.extend(session_settings.effort.map(|effort| format!("effort {}", effort.word())));
            facts.extend(node.kind.session().into_iter().flat_map(limits));
            format!(": {}", facts.join(", "))
        });
        let line = format!("{} ({}){}", node.id, node.kind.word(), who.unwrap_or_default());
        lines.push(format!("{}{}", "  ".repeat(depth), plain_line(&line)));
        for block in node.kind.blocks() {
            lines.extend(nodes(spec, block.body, depth + 1));
        }
    }
    lines
}

/// Names the models of a session, unless the agent CLI chooses one.
fn models(session_settings: &SessionSettings) -> Option<String> {
    let several: Vec<&str> = session_settings.models.iter().map(|model| model.0.as_str()).collect();
    let models =
        if several.is_empty() { session_settings.driver.model.clone()? } else { several.join(", else ") };
    Some(format!("model {models}"))
}

/// Describes the tools of a session and the session that it continues, if its node names them.
fn limits(session: &Session) -> Vec<String> {
    let tools = session.tools.as_ref().map(|tools| match tools {
        SessionTools::Read => format!("tools {}", SessionTools::READ),
        SessionTools::These(tools) if tools.is_empty() => "no tools".to_owned(),
        SessionTools::These(tools) => format!("tools {}", tools.join(" ")),
    });
    let continues = session.continues.as_ref().map(|node| format!("continues {node}"));
    tools.into_iter().chain(continues).collect()
}

/// Describes the path through the workflow, with stubs for everything that it would start.
fn walk(plan: &Plan, rehearsed: &Rehearsal) -> Vec<String> {
    let mut lines = vec!["rehearsal with stub results".to_owned()];
    lines.extend(rehearsal::step_lines(&rehearsed.acts));
    let turns = words::count(rehearsed.turns.into(), "turn");
    let ends = rehearsal::end_words(&rehearsed.outcome);
    let worst = plain_line(&plan.worst);
    let past = rehearsed.run_outcome.as_ref().map(|outcome| {
        format!(" (a run would continue past that, and end as {})", rehearsal::end_words(outcome))
    });
    let past = past.unwrap_or_default();
    lines.push(format!("the rehearsal ends as {ends}{past} after {turns}; in a real run: {worst}"));
    lines
}

/// Describes the further ways, and the nodes to which none leads.
pub(super) fn ways(plan: &Plan, rehearsed: &Rehearsal) -> Vec<String> {
    let mut lines: Vec<String> = rehearsed.ways.iter().flat_map(rehearsal::way_lines).collect();
    lines.extend(rehearsal::missed_lines(&rehearsed.missed, &plan.spec.workflow));
    lines
}
