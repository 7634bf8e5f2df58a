//! A workflow document as a run: its inputs, its checks, and the one session it has.
//!
//! Carrying out a graph of several nodes is not there yet; such a document is refused by name
//! before anything is done.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use windlass_core::entity::Kind;
use windlass_core::graph::template::{Scope, render};
use windlass_core::graph::workflow::{Act, Budget, Input, InputKind, Session, Source, Step, Turns, Workflow};
use windlass_core::spec::Check;
use windlass_forms::settings::Resolved;
use windlass_forms::workflow::document::Document;
use windlass_forms::workflow::{LoopPart, PluginRef, WorkflowFile};

use super::choose::{Chosen, Told};
use super::{Request, entity};
use crate::catalog::{Catalog, World};
use crate::home::Home;
use crate::problem::{Class, Problem};

/// What a run of this document is. Everything its checks find is said; an error is refused.
pub(super) fn choose(
    home: &Home,
    cwd: &Path,
    request: &Request,
    resolved: &Resolved,
    catalog: &Catalog,
    document: &Document,
) -> Result<Chosen, Problem> {
    let world = World::look(home, cwd, &request.plugins, resolved, catalog)?;
    let found = world.check(document, Vec::new());
    if let Some(problem) = Problem::of(&found) {
        return Err(problem);
    }
    let warnings = found.iter().map(|warning| super::strip(&warning.to_string())).collect();
    let workflow = &document.workflow;
    let (step, session) = only_session(workflow)?;
    let scope = Scope::new(&request.input, &inputs(workflow, &request.inputs)?);
    let text = |template| {
        render(template, &scope).map_err(|error| {
            let text = format!("workflow `{}`, node `{}`: {error}", workflow.name, step.id);
            Problem::new(Class::Configuration, text)
        })
    };
    let settings = |pick: fn(&windlass_core::graph::workflow::Settings) -> Option<String>| {
        pick(&step.settings).or_else(|| pick(&workflow.settings))
    };
    let driver = settings(|settings| settings.driver.clone());
    let mut model = settings(|settings| settings.model.clone());
    let told = match &session.source {
        Source::Prompt { prompt } => Told::Text(text(prompt)?),
        Source::Skill { name, args } | Source::Command { name, args } => {
            let kind =
                if matches!(session.source, Source::Skill { .. }) { Kind::Skill } else { Kind::Command };
            let args = args.as_ref().map(text).transpose()?.unwrap_or_default();
            world.told(kind, name, args)?
        }
        Source::Agent { name, prompt } => world.told(Kind::Agent, name, text(prompt)?)?,
    };
    if let (Told::Entity { entity, .. }, None) = (&told, &model) {
        let on = request.flags.driver.as_ref().or(driver.as_ref()).unwrap_or(&resolved.settings.driver);
        let wanted = entity.model.as_ref();
        model = wanted.and_then(|model| entity::model_for(model, entity.source.provider, on));
    }
    let file = WorkflowFile {
        name: workflow.name.clone(),
        description: workflow.description.clone(),
        prompt_template: "{input}".to_owned(),
        looping: session.turns.as_ref().map(looping),
        isolation: step.settings.isolation.or(workflow.settings.isolation),
        plugins: workflow.plugins.iter().map(|name| PluginRef { name: name.clone(), source: None }).collect(),
        model,
        checks: checks(workflow),
    };
    Ok(Chosen {
        file,
        told,
        node: Some(step.id.clone()),
        driver,
        timeout_ms: step.settings.timeout_ms.or(workflow.settings.timeout_ms),
        lowers_isolation: true,
        warnings,
        notes: Vec::new(),
    })
}

impl World {
    fn told(&self, kind: Kind, name: &str, args: String) -> Result<Told, Problem> {
        let found = self.registry.lookup(kind, name);
        let entity = found.map_err(|miss| Problem::new(Class::Configuration, miss.to_string()))?;
        Ok(Told::Entity { entity: Box::new(entity.clone()), args })
    }
}

/// The one session of a workflow, where that is all there is.
pub(crate) fn only_session(workflow: &Workflow) -> Result<(&Step, &Session), Problem> {
    let not_yet = |what: &str| {
        Problem::new(Class::Configuration, format!("workflow `{}` cannot be run yet: {what}", workflow.name))
            .hint("a document with one session (prompt, skill, command or agent) runs; see docs/workflows.md")
    };
    let [step] = workflow.body.as_slice() else {
        return Err(not_yet(&format!("it has {} nodes", workflow.body.len())));
    };
    let Act::Session(session) = &step.act else {
        return Err(not_yet(&format!("its node `{}` is no session", step.id)));
    };
    let held = [
        ("when", step.when.is_some()),
        ("retry", step.retry.times > 0),
        ("schema", session.schema.is_some()),
        ("budget", step.budget != Budget::default() || workflow.budget != Budget::default()),
    ];
    match held.iter().find(|(_, is_said)| *is_said) {
        Some((key, _)) => Err(not_yet(&format!("its `{key}` would not be kept to"))),
        None => Ok((step, session)),
    }
}

fn looping(turns: &Turns) -> LoopPart {
    LoopPart {
        completion_marker: turns.marker.clone(),
        completion_promise: turns.promise.clone(),
        max_iterations: Some(turns.max),
        continue_message: turns.continue_message.clone(),
        tracker_template: turns.tracker.clone(),
        mode: Some(turns.mode),
        marker_match: turns.marker_match,
        blocked_marker: None,
        stuck_after: turns.stuck_after,
    }
}

fn checks(workflow: &Workflow) -> Vec<Check> {
    let check = |(name, command): (&String, &String)| Check { name: name.clone(), command: command.clone() };
    workflow.checks.iter().map(check).collect()
}

/// What each input is: as given, else its default; nothing where neither is said.
fn inputs(workflow: &Workflow, given: &[(String, String)]) -> Result<BTreeMap<String, Value>, Problem> {
    let usage = |text: String| Problem::new(Class::Usage, text);
    let names = || workflow.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ");
    let unknown = |name: &String| !workflow.inputs.iter().any(|input| input.name == *name);
    if let Some((name, _)) = given.iter().find(|(name, _)| unknown(name)) {
        let text = format!("workflow `{}` has no input `{name}`", workflow.name);
        let there = if workflow.inputs.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has: {}", names())
        };
        return Err(usage(text).hint(there));
    }
    let mut values = BTreeMap::new();
    for input in &workflow.inputs {
        let mut said = given.iter().filter(|(name, _)| *name == input.name).map(|(_, text)| text);
        let value = match (said.next(), said.next()) {
            (Some(_), Some(_)) if input.kind != InputKind::List => {
                return Err(usage(format!("input `{}` is given twice", input.name)));
            }
            (Some(_), _) => value(input, given)?,
            (None, _) if input.required && input.default.is_none() => {
                let text = format!("workflow `{}` needs the input `{}`", workflow.name, input.name);
                return Err(usage(text).hint(format!("give it: --input {}=VALUE", input.name)));
            }
            (None, _) => input.default.clone().unwrap_or(Value::Null),
        };
        values.insert(input.name.clone(), value);
    }
    Ok(values)
}

/// What was typed, as what the input is. A list is given once an item.
fn value(input: &Input, given: &[(String, String)]) -> Result<Value, Problem> {
    let texts: Vec<&String> =
        given.iter().filter(|(name, _)| *name == input.name).map(|(_, text)| text).collect();
    let Some(text) = texts.first() else { return Ok(Value::Null) };
    let wrong = |what: &str| {
        Problem::new(Class::Usage, format!("input `{}` must be {what}, and is `{text}`", input.name))
    };
    let value = match input.kind {
        InputKind::Text => json!(text),
        InputKind::List => json!(texts),
        InputKind::Integer => json!(text.trim().parse::<i64>().map_err(|_| wrong("a whole number"))?),
        InputKind::Number => {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            json!(number.ok_or_else(|| wrong("a number"))?)
        }
        InputKind::Boolean => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => json!(true),
            "false" | "no" | "0" => json!(false),
            _ => return Err(wrong("true or false")),
        },
    };
    if input.choices.is_empty() || input.choices.contains(&value) {
        return Ok(value);
    }
    let words: Vec<String> = input
        .choices
        .iter()
        .map(|choice| choice.as_str().map_or(choice.to_string(), str::to_owned))
        .collect();
    Err(wrong(&format!("one of {}", words.join(", "))))
}
