//! One of each thing that can be wrong, and what is said about it.

mod blocks;
mod commands;
mod compared;
mod items;
mod limits;
mod many;
mod names;
mod ways;

use std::collections::BTreeSet;

use super::*;
use crate::entity::{Entity, EntityKind, EntitySource, EntityTool, Level, Provider};
use crate::graph::builder::{Builder, prompt};
use crate::registry::Registry;

fn entity(kind: EntityKind, name: &str, tools: Option<&[&str]>) -> Entity {
    Entity {
        kind,
        name: name.into(),
        description: String::new(),
        aliases: Vec::new(),
        prompt: String::new(),
        tools: tools.map(|tools| tools.iter().map(|tool| EntityTool::named(tool)).collect()),
        limits: vec![],
        agents: vec![],
        roles: vec![],
        model: None,
        argument_hint: None,
        source: EntitySource {
            provider: Provider::Claude,
            level: Level::Project,
            distance: 0,
            path: format!("{name}.md"),
            line: 1,
            plugin: None,
        },
        extra: Default::default(),
    }
}

fn registry() -> Registry {
    Registry::new(vec![
        entity(EntityKind::Skill, "commit", None),
        entity(EntityKind::Agent, "debugger", None),
        entity(EntityKind::Agent, "reader", Some(&["read", "grep"])),
        entity(EntityKind::Command, "research", None),
    ])
}

fn known(registry: &Registry) -> CheckContext<'_> {
    let mut known = CheckContext::new(registry);
    known.checks = ["test".to_owned(), "lint".to_owned()].into();
    let all = [
        Ability::StopBlock,
        Ability::Resume,
        Ability::Plugins,
        Ability::Questions,
        Ability::Permissions,
        Ability::Effort,
    ];
    known.drivers.insert("claude".into(), all.into());
    known.drivers.insert("codex".into(), BTreeSet::from([Ability::Resume]));
    known.driver = Some("claude".into());
    known
}

/// Returns the findings of a check, one line each.
fn said_by(builder: Builder, known: &CheckContext<'_>) -> Vec<String> {
    let workflow = builder.end().expect("a workflow in form");
    check(&workflow, known).iter().map(ToString::to_string).collect()
}

fn said(builder: Builder) -> Vec<String> {
    said_by(builder, &known(&registry()))
}

fn work() -> Builder {
    Builder::new("w").start(prompt("{{ input }}").id("work"))
}

#[test]
fn a_sound_workflow_is_left_alone() {
    assert_eq!(said(work()), Vec::<String>::new());
}

#[test]
fn what_is_about_the_whole_comes_first_and_then_node_by_node() {
    let builder = Builder::new("w")
        .required("area", crate::graph::workflow::InputKind::Text)
        .start(prompt("{{ outputs.later.text }} {{ nobody }}").id("first"))
        .then(prompt("{{ oops( }}").id("later"));
    assert_eq!(
        said(builder),
        [
            "warning: input `area` is never used → inputs[area]",
            "error: `nobody` is undefined → first.prompt (the names are input, inputs, outputs, run, task, iteration, feedback)",
            "error: `later` runs later, so it has no output yet → first.prompt",
            "error: unexpected `}` → later.prompt",
        ]
    );
}
