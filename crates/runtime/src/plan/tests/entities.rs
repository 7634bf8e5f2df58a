//! Entities as one node, and what their texts are looked at for.

use windlass_core::graph::workflow::{NodeKind, PromptSource, Session, Template};

use super::*;

fn place() -> Place {
    let place = Place::new();
    place.write(
        "repo/.claude/agents/looker.md",
        "---\ndescription: d\nmodel: opus\ntools: Read\n---\nYou look.",
    );
    place.write("repo/.claude/commands/say.md", "Say $ARGUMENTS !`touch pwned`");
    place.write("repo/.claude/skills/tidy/SKILL.md", "---\ndescription: d\nmodel: haiku\n---\nTidy up.");
    place
}

fn entity(place: &Place, kind: EntityKind, name: &str) -> RunRequest {
    place.request(WantedWorkflow::Entity { kind, name: name.to_owned() })
}

#[test]
fn an_entity_is_a_workflow_of_one_session() {
    let place = place();
    let plan = place.plan(&entity(&place, EntityKind::Agent, "looker"));
    let (step, session_settings) = plan.spec.only_session().unwrap();
    assert_eq!((plan.spec.workflow.as_str(), step.id.as_str()), ("agent looker", "agent-looker"));
    let prompt = Template("{{ input }}".to_owned());
    let source = PromptSource::Agent { name: "looker".to_owned(), prompt };
    assert_eq!(step.kind, NodeKind::Session(Session::new(source)));
    assert_eq!(session_settings.entity.as_ref().unwrap().prompt, "You look.");
    assert_eq!(session_settings.driver.model.as_deref(), Some("opus"));
    assert_eq!(session_settings.permissions.flat().only, Some(vec!["Read".to_owned()]));
    assert_eq!(plan.warning_texts(), Vec::<String>::new());
    assert_eq!(plan.notes[1], "[entities] 3 from claude (1 command, 1 skill, 1 agent)");
    assert_eq!(plan.worst, "at most 1 turn");
}

#[test]
fn nodes_of_entities_are_as_narrow_as_they() {
    let place = place();
    let text = "settings: { model: sonnet }\nnodes:\n  - { id: a, agent: looker, prompt: x }\n  - { id: b, agent: looker, prompt: y }\n  - { id: c, prompt: '{{ input }}' }\n";
    place.document("w", text);
    let plan = place.plan(&place.run("w"));
    for node in ["a", "b"] {
        let session_settings = session_settings(&plan.spec, node);
        assert_eq!(session_settings.permissions.flat().only, Some(vec!["Read".to_owned()]), "{node}");
        assert_eq!(session_settings.entity.as_ref().unwrap().name, "looker");
        // The workflow counts for more than the entity.
        assert_eq!(session_settings.driver.model.as_deref(), Some("sonnet"));
    }
    let plain = session_settings(&plan.spec, "c");
    assert_eq!((&plain.permissions, &plain.entity), (&Default::default(), &None));
}

#[test]
fn a_model_of_an_entity_counts_for_more_than_the_settings() {
    let place = place();
    place.settings("model = \"of-settings\"\n");
    place.document("w", "nodes:\n  - { id: a, skill: tidy }\n  - { id: b, prompt: x }\n");
    let spec = place.plan(&place.run("w")).spec;
    assert_eq!(session_settings(&spec, "a").driver.model.as_deref(), Some("haiku"));
    assert_eq!(session_settings(&spec, "b").driver.model.as_deref(), Some("of-settings"));
}

#[test]
fn a_plan_runs_no_command_of_a_text_but_says_which_may_not() {
    let place = place();
    let pwned = place.folder.path().join("repo/pwned");
    assert_eq!(place.plan(&entity(&place, EntityKind::Command, "say")).warning_texts(), Vec::<String>::new());
    assert!(!pwned.exists());
    place.settings("[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let mut request = entity(&place, EntityKind::Command, "say");
    for policy in [OnPermission::Deny, OnPermission::Fail, OnPermission::Allow] {
        request.flags.on_permission = Some(policy);
        let problem = place.refusal(&request);
        assert_eq!(problem.class, UserErrorKind::Refused);
        let start = "command `say` may not run `touch pwned` in its text: shell is denied by the rule `Bash(touch *)` of this run\n  at ";
        assert!(
            problem.text().starts_with(start) && problem.text().ends_with("say.md:1:16"),
            "{}",
            problem.text()
        );
    }
    place.settings("[permissions]\nask = [\"Bash(touch *)\"]\n");
    for (policy, is_refused) in
        [(OnPermission::Deny, true), (OnPermission::Fail, true), (OnPermission::Allow, false)]
    {
        request.flags.on_permission = Some(policy);
        assert_eq!(plan(&place.home, &request).is_err(), is_refused);
    }
    assert!(!pwned.exists());
}

#[test]
fn a_command_of_a_text_keeps_to_the_limits_of_its_own_file() {
    let place = place();
    for (name, head, text, is_refused) in [
        ("a", "allowed-tools: Bash(echo:*)", "!`echo hi`", false),
        ("b", "allowed-tools: Bash(echo:*)", "!`touch ran`", true),
        ("c", "allowed-tools: Bash(echo:*)", "!`echo hi; touch ran`", true),
        ("d", "allowed-tools: Bash(echo:*)", "!`echo hi > ran`", true),
        ("e", "allowed-tools: Read", "!`echo hi`", true),
        ("f", "allowed-tools: []", "!`echo hi`", true),
        (
            "g",
            "allowed-tools: Bash(git status:*), Bash(git diff:*)",
            "!`git status 2>/dev/null && git diff`",
            false,
        ),
        ("h", "disallowed-tools: Bash(touch:*)", "!`touch ran`", true),
        ("i", "disallowed-tools: Bash(touch:*)", "!`echo hi`", false),
    ] {
        let file = format!("repo/.claude/commands/{name}.md");
        place.write(&file, &format!("---\n{head}\n---\nSay {text} now"));
        let mut request = entity(&place, EntityKind::Command, name);
        // No policy widens what a file says of itself.
        request.flags.on_permission = Some(OnPermission::Allow);
        request.flags.isolation = Some(Isolation::Permissive);
        assert_eq!(plan(&place.home, &request).is_err(), is_refused, "{head}: {text}");
        if is_refused {
            let problem = place.refusal(&request);
            assert_eq!(problem.class, UserErrorKind::Refused);
            assert!(problem.text().ends_with(&format!("{name}.md:4:5")), "{}", problem.text());
            assert!(problem.hint.unwrap().contains("in the limits of that file"));
        }
    }
}

#[test]
fn every_kind_of_entity_has_limits_and_each_session_its_own() {
    let place = place();
    place.write("repo/.atomic/skills/s/SKILL.md", "---\ndescription: d\ntools: [read]\n---\nLook.");
    let tools = "Bash(git add:*), Bash(git commit:*), Read";
    place.write("repo/.claude/commands/c.md", &format!("---\nallowed-tools: {tools}\n---\nDo."));
    let permission = "permission:\n  edit: deny\n  bash:\n    \"*\": ask\n    \"git *\": allow";
    place.write("repo/.opencode/agent/o.md", &format!("---\ndescription: d\n{permission}\n---\nYou."));
    let text = "description = 'd'\nsandbox_mode = 'read-only'\ndeveloper_instructions = 'You.'\n";
    place.write("repo/.codex/agents/x.toml", text);
    place.write("repo/.github/agents/p.agent.md", "---\ndescription: d\ntools: [edit, search]\n---\nYou.");
    place.write("repo/.github/agents/none.agent.md", "---\ndescription: d\ntools: []\n---\nYou.");
    let mut text = "nodes:\n  - { id: s, skill: s }\n  - { id: c, command: c }\n".to_owned();
    for agent in ["o", "x", "p", "none"] {
        text.push_str(&format!("  - {{ id: {agent}, agent: {agent}, prompt: x }}\n"));
    }
    place.document("w", &format!("{text}  - {{ id: plain, prompt: '{{{{ input }}}}' }}\n"));
    let spec = place.plan(&place.run("w")).spec;
    let rules = |node: &str| session_settings(&spec, node).permissions.flat();
    let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(rules("s").only, some(&["Read"]));
    assert_eq!(rules("c").only, some(&["Bash(git add:*)", "Bash(git commit:*)", "Read"]));
    assert_eq!(rules("p").only, some(&["Edit", "Write", "NotebookEdit", "Grep", "Glob"]));
    assert_eq!(rules("none").only, some(&[]));
    assert_eq!(rules("o").deny, ["Edit", "Write"]);
    let ordered = rules("o").limits;
    let ordered: Vec<String> =
        ordered.iter().map(|limit| format!("{} {}", limit.effect.word(), limit.rule)).collect();
    assert_eq!(ordered, ["ask Bash", "allow Bash(git *)"]);
    assert_eq!(rules("x").deny, ["Edit", "Write", "Bash"]);
    assert_eq!(rules("plain"), Default::default());
}

#[test]
fn a_text_of_gemini_runs_its_commands_and_reads_its_files_under_the_same_rules() {
    let place = place();
    let write = |text: &str| place.write("repo/.gemini/commands/g.toml", &format!("prompt = \"{text}\"\n"));
    let request = entity(&place, EntityKind::Command, "g");
    place.write("repo/notes.txt", "noted");
    write("Look at !{git status} and @{notes.txt}");
    place.plan(&request);
    for (text, expected) in [
        ("Look at @{missing.txt}", "cannot read `@{missing.txt}` in its text: there is no such file"),
        ("Look at @{../../secret}", "cannot read `@{../../secret}` in its text: "),
        ("Look at !{git status", "has a `!{` that is never closed"),
        ("Look at @{notes.txt", "has a `@{` that is never closed"),
    ] {
        write(text);
        let problem = place.refusal(&request);
        assert_eq!(problem.class, UserErrorKind::Configuration, "{text}");
        assert!(problem.text().starts_with(&format!("command `g` {expected}")), "{}", problem.text());
        assert!(problem.text().ends_with("g.toml:1:19"), "{}", problem.text());
    }
    place.settings("[permissions]\ndeny = [\"Bash(git *)\"]\n");
    write("Look at !{git status}");
    assert_eq!(place.refusal(&request).class, UserErrorKind::Refused);
}

#[test]
fn an_agent_that_is_asked_nothing_is_found_before_the_run() {
    let place = place();
    let mut request = entity(&place, EntityKind::Agent, "looker");
    request.input = "  ".to_owned();
    let problem = place.refusal(&request);
    assert_eq!(
        (problem.class, problem.text().as_str()),
        (UserErrorKind::Usage, "agent `looker` needs a task")
    );
    place.document("w", "inputs:\n  q: { type: text, default: '' }\nnodes:\n  - { agent: looker, prompt: '{{ inputs.q }}' }\n");
    assert_eq!(place.refusal(&place.run("w")).text(), "agent `looker` needs a task");
}

#[test]
fn a_large_input_is_still_one() {
    let place = place();
    let mut request = entity(&place, EntityKind::Skill, "tidy");
    request.input = "{{ x }} ".repeat(100_000);
    assert_eq!(place.plan(&request).spec.input, request.input);
}
