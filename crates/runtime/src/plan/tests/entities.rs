//! Entities as one node, and what their texts are looked at for.

use windlass_core::graph::workflow::{Act, Session, Source, Template};

use super::*;

fn place() -> Place {
    let place = Place::new();
    place.write(
        "repo/.claude/agents/looker.md",
        "---\ndescription: d\nmodel: opus\ntools: Read, Wormhole\n---\nYou look.",
    );
    place.write("repo/.claude/commands/say.md", "Say $ARGUMENTS !`touch pwned`");
    place.write("repo/.claude/skills/tidy/SKILL.md", "---\ndescription: d\nmodel: haiku\n---\nTidy up.");
    place
}

fn entity(place: &Place, kind: Kind, name: &str) -> Request {
    place.request(Want::Entity { kind, name: name.to_owned() })
}

#[test]
fn an_entity_is_a_workflow_of_one_session() {
    let place = place();
    let plan = place.plan(&entity(&place, Kind::Agent, "looker"));
    let (step, orders) = plan.spec.only_session().unwrap();
    assert_eq!((plan.spec.workflow.as_str(), step.id.as_str()), ("agent looker", "agent-looker"));
    let prompt = Template("{{ input }}".to_owned());
    let source = Source::Agent { name: "looker".to_owned(), prompt };
    assert_eq!(step.act, Act::Session(Session { source, turns: None, schema: None }));
    assert_eq!(orders.entity.as_ref().unwrap().prompt, "You look.");
    assert_eq!(orders.driver.model.as_deref(), Some("opus"));
    assert_eq!(orders.permissions.only, Some(vec!["Read".to_owned()]));
    assert_eq!(plan.warnings, ["agent `looker` names the tool `Wormhole`, which `claude` does not have"]);
    assert_eq!(plan.notes[1], "[entities] 3 from claude (1 command, 1 skill, 1 agent)");
    assert_eq!(plan.worst, "at most 1 turn");
}

#[test]
fn nodes_of_entities_are_as_narrow_as_they_and_say_so_once() {
    let place = place();
    let text = "settings: { model: sonnet }\nnodes:\n  - { id: a, agent: looker, prompt: x }\n  - { id: b, agent: looker, prompt: y }\n  - { id: c, prompt: '{{ input }}' }\n";
    place.document("w", text);
    let plan = place.plan(&place.run("w"));
    for node in ["a", "b"] {
        let orders = orders(&plan.spec, node);
        assert_eq!(orders.permissions.only, Some(vec!["Read".to_owned()]), "{node}");
        assert_eq!(orders.entity.as_ref().unwrap().name, "looker");
        // The workflow counts for more than the entity.
        assert_eq!(orders.driver.model.as_deref(), Some("sonnet"));
    }
    let plain = orders(&plan.spec, "c");
    assert_eq!((&plain.permissions.only, &plain.entity), (&None, &None));
    assert_eq!(plan.warnings, ["agent `looker` names the tool `Wormhole`, which `claude` does not have"]);
}

#[test]
fn a_model_of_an_entity_counts_for_more_than_the_settings() {
    let place = place();
    place.settings("model = \"of-settings\"\n");
    place.document("w", "nodes:\n  - { id: a, skill: tidy }\n  - { id: b, prompt: x }\n");
    let spec = place.plan(&place.run("w")).spec;
    assert_eq!(orders(&spec, "a").driver.model.as_deref(), Some("haiku"));
    assert_eq!(orders(&spec, "b").driver.model.as_deref(), Some("of-settings"));
}

#[test]
fn a_plan_runs_no_command_of_a_text_but_says_which_may_not() {
    let place = place();
    let pwned = place.folder.path().join("repo/pwned");
    assert_eq!(place.plan(&entity(&place, Kind::Command, "say")).warnings, Vec::<String>::new());
    assert!(!pwned.exists());
    place.settings("[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let mut request = entity(&place, Kind::Command, "say");
    let warnings = place.plan(&request).warnings;
    assert!(warnings[0].contains("command `say`: `touch pwned` in its text was not run"), "{warnings:?}");
    request.flags.on_permission = Some(OnPermission::Fail);
    assert_eq!(place.refusal(&request).class, Class::Refused);
}

#[test]
fn an_agent_that_is_asked_nothing_is_found_before_the_run() {
    let place = place();
    let mut request = entity(&place, Kind::Agent, "looker");
    request.input = "  ".to_owned();
    let problem = place.refusal(&request);
    assert_eq!((problem.class, problem.text.as_str()), (Class::Usage, "agent `looker` is asked nothing"));
    place.document("w", "inputs:\n  q: { type: text, default: '' }\nnodes:\n  - { agent: looker, prompt: '{{ inputs.q }}' }\n");
    assert_eq!(place.refusal(&place.run("w")).text, "agent `looker` is asked nothing");
}

#[test]
fn a_large_input_is_still_one() {
    let place = place();
    let mut request = entity(&place, Kind::Skill, "tidy");
    request.input = "{{ x }} ".repeat(100_000);
    assert_eq!(place.plan(&request).spec.input, request.input);
}
