//! Compiles a `workflow.json` to a graph: one session, with or without turns.
//!
//! A value that the file leaves out stays unset in the graph, so that the settings can fill it in.

use windlass_core::graph::template::literal;
use windlass_core::graph::workflow::{
    Budget, Node, NodeKind, OnFailure, PromptSource, RetryPolicy, Session, SessionOptions, Template,
    TurnLoop, Workflow,
};
use windlass_core::id::NodeId;
use windlass_core::spec::Check;

use super::json::{LoopPart, WorkflowFile};
use super::template::PLACEHOLDER;

/// Appends the input after a blank line, for a prompt without `{input}`.
const APPENDED: &str = r#"{{ "\n\n" ~ input if input else "" }}"#;

/// Builds the graph of a `workflow.json`.
pub fn compile(file: &WorkflowFile) -> Workflow {
    let check = |check: &Check| (check.name.clone(), check.command.clone());
    Workflow {
        name: file.name.clone(),
        description: file.description.clone(),
        inputs: Vec::new(),
        settings: SessionOptions {
            model: file.model.clone(),
            isolation: file.isolation,
            ..SessionOptions::default()
        },
        budget: Budget::default(),
        plugins: file.plugins.iter().map(ToString::to_string).collect(),
        checks: file.checks.iter().map(check).collect(),
        env: Default::default(),
        gives: None,
        body: vec![step(file)],
    }
}

fn step(file: &WorkflowFile) -> Node {
    Node {
        id: NodeId::new(if file.looping.is_some() { "loop" } else { "turn" }),
        kind: NodeKind::Session(Session {
            source: PromptSource::Prompt { prompt: prompt(&file.prompt_template) },
            turns: file.looping.as_ref().map(turns),
            schema: None,
            continues: None,
            tools: None,
        }),
        when: None,
        settings: SessionOptions::default(),
        retry: RetryPolicy::default(),
        budget: Budget::default(),
        on_failure: OnFailure::default(),
        env: Default::default(),
        computed: Default::default(),
    }
}

/// Translates a prompt so that it renders as [`apply_template`](super::apply_template) would.
fn prompt(template: &str) -> Template {
    if template.contains(PLACEHOLDER) {
        let pieces: Vec<String> = template.split(PLACEHOLDER).map(literal).collect();
        return Template(pieces.join("{{ input }}"));
    }
    match template.trim_end_matches(['\n', '\r']) {
        "" => Template("{{ input }}".to_owned()),
        template => Template(literal(template) + APPENDED),
    }
}

fn turns(part: &LoopPart) -> TurnLoop {
    TurnLoop {
        max: part.max_iterations,
        mode: part.mode,
        marker: part.completion_marker.clone(),
        marker_match: part.marker_match,
        promise: part.completion_promise.clone(),
        blocked: part.blocked_marker.clone(),
        continue_message: part.continue_message.clone(),
        tracker: part.tracker_template.clone(),
        stuck_after: part.stuck_after,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::graph::check::{CheckContext, check};
    use windlass_core::graph::template::{Scope, render};
    use windlass_core::hook::permission::Isolation;
    use windlass_core::looping::{LoopMode, MarkerMatch};
    use windlass_core::registry::Registry;

    use super::*;
    use crate::workflow::{apply_template, parse_workflow_json};

    fn compiled(text: &str) -> Workflow {
        compile(&parse_workflow_json(text, "workflow.json").0.unwrap())
    }

    #[test]
    fn a_file_with_a_loop_is_one_node_with_turns() {
        let text = r#"{
            "name": "e2e", "description": "Tests", "promptTemplate": "Use /e2e {input} {{now}}",
            "loop": {
                "enabled": true, "completionMarker": "DONE", "completionPromise": "KEPT", "maxIterations": 7,
                "continueMessage": "Go on", "trackerTemplate": "_T_", "mode": "resume",
                "markerMatch": "last_line", "blockedMarker": "STUCK", "stuckAfter": 2
            },
            "isolation": "permissive", "model": "opus", "plugins": ["e2e@owner/repo"],
            "checks": { "test": "make test" }
        }"#;
        let turns = TurnLoop {
            max: Some(7),
            mode: Some(LoopMode::Resume),
            marker: Some("DONE".to_owned()),
            marker_match: MarkerMatch::LastLine,
            promise: Some("KEPT".to_owned()),
            blocked: Some("STUCK".to_owned()),
            continue_message: Some("Go on".to_owned()),
            tracker: Some("_T_".to_owned()),
            stuck_after: Some(2),
        };
        let source =
            PromptSource::Prompt { prompt: Template("Use /e2e {{ input }} {{ \"{{\" }}now}}".to_owned()) };
        let workflow = Workflow {
            name: "e2e".to_owned(),
            description: Some("Tests".to_owned()),
            inputs: Vec::new(),
            settings: SessionOptions {
                model: Some("opus".to_owned()),
                isolation: Some(Isolation::Permissive),
                ..SessionOptions::default()
            },
            budget: Budget::default(),
            plugins: vec!["e2e@owner/repo".to_owned()],
            checks: [("test".to_owned(), "make test".to_owned())].into(),
            env: Default::default(),
            gives: None,
            body: vec![Node {
                env: Default::default(),
                id: NodeId::new("loop"),
                kind: NodeKind::Session(Session { turns: Some(turns), ..Session::new(source) }),
                when: None,
                settings: SessionOptions::default(),
                retry: RetryPolicy::default(),
                budget: Budget::default(),
                on_failure: OnFailure::Fail,
                computed: Default::default(),
            }],
        };
        assert_eq!(compiled(text), workflow);
    }

    #[test]
    fn what_a_file_leaves_out_stays_open() {
        let once = compiled(r#"{ "name": "w", "promptTemplate": "{input}" }"#);
        let [Node { id, kind: NodeKind::Session(Session { turns: None, .. }), .. }] = once.body.as_slice()
        else {
            panic!("{once:?}")
        };
        assert_eq!((id.as_str(), &once.settings), ("turn", &SessionOptions::default()));
        let looping = compiled(r#"{ "name": "w", "promptTemplate": "x", "loop": { "enabled": true } }"#);
        let NodeKind::Session(Session { turns, .. }) = &looping.body[0].kind else { panic!("{looping:?}") };
        assert_eq!(turns, &Some(TurnLoop::default()));
    }

    #[test]
    fn a_compiled_file_passes_the_checks() {
        let registry = Registry::new(Vec::new());
        for template in ["Do {input} {% if %} {{ x }} {#", "Do it {{ outputs.x }}", "{{input}}"] {
            let workflow = compiled(
                &serde_json::json!({ "name": "w", "promptTemplate": template, "loop": { "enabled": true } })
                    .to_string(),
            );
            assert_eq!(check(&workflow, &CheckContext::new(&registry)), Vec::new(), "{template}");
        }
    }

    /// Text full of what means something in either kind of template.
    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            8 => prop::sample::select(vec![
                "{input}", "{", "}", "{{", "}}", "{%", "%}", "{#", "#}", "input", " ", "\n", "\r\n", "\r", "\"",
                "\\", "{{ input }}", "{% if input %}", "a", "é",
            ])
            .prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        // A failure is kept as a test with a name, not as a seed in a file.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_compiled_prompt_says_what_the_template_does(template in any_text(), input in any_text()) {
            let scope = Scope::new(&input, &Default::default());
            prop_assert_eq!(render(&prompt(&template), &scope), Ok(apply_template(&template, &input)));
        }
    }
}
