//! Tests for reading whole workflow documents.

use std::collections::BTreeSet;

use windlass_core::graph::template::TemplatePosition;
use windlass_core::graph::workflow::{
    Expression, InputKind, Node, NodeKind, PromptSource, RetryPolicy, Session, SessionOptions, TaskLoopNode,
    Template, TurnLoop, Workflow, WorkflowInput,
};
use windlass_core::looping::LoopMode;
use windlass_core::registry::Registry;

use super::*;

fn good(text: &str) -> WorkflowDocument {
    let (document, diagnostics) = read(text, "w.yaml");
    let said: Vec<String> = diagnostics.iter().map(Diagnostic::to_string).collect();
    assert_eq!(said, [""; 0]);
    document.unwrap()
}

const DOUBT: &str = "Windlass could not read all of this file; there may be more mistakes";

/// Returns the messages about a text, without the note that there may be more.
fn messages(text: &str) -> Vec<String> {
    let said = read(text, "w.yaml").1.into_iter().map(|diagnostic| diagnostic.message);
    said.filter(|message| message != DOUBT).collect()
}

fn ids(body: &[Node]) -> Vec<&str> {
    body.iter()
        .flat_map(|step| {
            let inner = step.kind.blocks().into_iter().flat_map(|block| ids(block.body));
            std::iter::once(step.id.as_str()).chain(inner)
        })
        .collect()
}

#[test]
fn a_document_is_the_workflow_it_says() {
    let text = r#"
name: fix-tests
inputs:
  level: { default: fast, choices: [fast, full] }
settings: { driver: claude, timeout: 2h }
plugins: [e2e@owner/repo]
checks: { test: cargo test }
nodes:
  - id: plan
    agent: planner
    prompt: "Plan {{ inputs.level }}"
    when: inputs.level == "full"
    retry: 3
"#;
    let step = Node {
        env: Default::default(),
        id: NodeId::new("plan"),
        kind: NodeKind::Session(Session {
            source: PromptSource::Agent {
                name: "planner".into(),
                prompt: Template("Plan {{ inputs.level }}".into()),
            },
            turns: None,
            schema: None,
            continues: None,
            tools: None,
        }),
        when: Some(Expression("inputs.level == \"full\"".into())),
        settings: SessionOptions::default(),
        retry: RetryPolicy { times: 3, delay_ms: 1_000 },
        budget: Default::default(),
        on_failure: Default::default(),
        computed: Default::default(),
    };
    let workflow = Workflow {
        env: Default::default(),
        gives: None,
        name: "fix-tests".into(),
        description: None,
        inputs: vec![WorkflowInput {
            name: "level".into(),
            description: None,
            kind: InputKind::Text,
            required: false,
            default: Some("fast".into()),
            choices: vec!["fast".into(), "full".into()],
            range: Default::default(),
        }],
        settings: SessionOptions {
            driver: Some("claude".into()),
            timeout_ms: Some(7_200_000),
            ..SessionOptions::default()
        },
        budget: Default::default(),
        plugins: vec!["e2e@owner/repo".into()],
        checks: [("test".to_owned(), "cargo test".to_owned())].into(),
        body: vec![step],
    };
    assert_eq!(good(text).workflow, workflow);
}

#[test]
fn json_is_read_as_yaml_is() {
    let json =
        "{\n\t\"name\": \"w\",\n\t\"nodes\": [\n\t\t{ \"prompt\": \"a\\/b \\ud83d\\ude00 \\u00e9\" }\n\t]\n}";
    let yaml = "name: w\nnodes:\n  - prompt: \"a/b 😀 é\"\n";
    assert_eq!(good(json).workflow, good(yaml).workflow);
}

#[test]
fn a_node_without_an_id_is_called_after_what_it_does() {
    let text = "
name: w
nodes:
  - prompt: a
  - if: inputs.a
    then:
      - prompt: b
      - skill: Commit
  - { prompt: c, id: prompt-3 }
  - prompt: d
  - skill: commit
";
    let document = good(text);
    let expected = ["prompt", "if", "prompt-2", "skill-commit", "prompt-3", "prompt-4", "skill-commit-2"];
    assert_eq!(ids(&document.workflow.body), expected);
}

#[test]
fn what_turns_and_task_loops_leave_out_is_left_to_others() {
    let text = "
name: w
nodes:
  - { prompt: a, turns: {} }
  - { prompt: b, turns: 0 }
  - { prompt: c, turns: { mode: resume, blocked: STUCK } }
  - { task_loop: true, do: [ { prompt: d } ] }
  - { task_loop: { jobs: 4, attempts: 1 }, do: [ { prompt: e } ] }
";
    let body = good(text).workflow.body;
    let turns: Vec<_> = body
        .iter()
        .filter_map(|step| match &step.kind {
            NodeKind::Session(session) => session.turns.clone(),
            _ => None,
        })
        .collect();
    let third =
        TurnLoop { mode: Some(LoopMode::Resume), blocked: Some("STUCK".to_owned()), ..TurnLoop::default() };
    assert_eq!(turns, [TurnLoop::default(), TurnLoop { max: Some(0), ..TurnLoop::default() }, third]);
    let tasks: Vec<_> = body
        .iter()
        .filter_map(|step| match &step.kind {
            NodeKind::TaskLoop(TaskLoopNode { max, jobs, attempts, .. }) => Some((*max, *jobs, *attempts)),
            _ => None,
        })
        .collect();
    assert_eq!(tasks, [(100, 1, 3), (100, 4, 1)]);
}

#[test]
fn every_node_and_field_has_its_place() {
    let text = "name: w
inputs: { a: { default: x } }
nodes:
  - prompt: a
    timeout: 5m
  - loop: { max: 3, until: [b, c] }
    do:
      - id: inner
        prompt: |
          one
          two {{ x }}
";
    let document = good(text);
    let at = |node: &str, field: &str| {
        let node = (!node.is_empty()).then(|| NodeId::new(node));
        &text[document.place(node.as_ref(), field)..]
    };
    assert!(at("", "inputs.a.default").starts_with("x }"));
    assert!(at("", "nonsense").starts_with("name"));
    assert!(at("prompt", "timeout").starts_with("5m"));
    assert!(at("prompt", "model").starts_with("prompt: a"));
    assert!(at("loop", "until.1").starts_with("c]"));
    assert!(at("loop", "max").starts_with("3,"));
    assert_eq!(at("inner", "prompt").lines().next(), Some("|"));
    let place = GraphDiagnostic::error(Some(&NodeId::new("inner")), "prompt", "unknown name `x`");
    let said =
        document.diagnose(&place.hint("a hint").at(Some(TemplatePosition { offset: 8, line: 2, column: 5 })));
    let expected = "error: unknown name `x`
  at w.yaml:11:15
    11 |           two {{ x }}
       |               ^
  hint: a hint";
    assert_eq!(said.to_string(), expected);
}

#[test]
fn what_is_misspelled_leaves_the_graph_known_where_there_is_no_doubt_about_it() {
    let text = "name: w\nnodes:\n  - { id: a, prompt: x, modle: y }\n  - { id: b, loop: { max: -1 }, do: [ { wait: 1s } ] }\n";
    assert!(read(text, "w").0.is_none());
    let (document, said) = read_for_check(text, "w");
    let document = document.unwrap();
    assert_eq!(ids(&document.workflow.body), ["a", "b", "wait"]);
    let finding = |node: &str, field| {
        GraphDiagnostic::error(Some(&NodeId::new(node)), field, format!("{node} {field}"))
    };
    let found = [finding("a", "prompt"), finding("b", "loop.until"), finding("wait", "wait")];
    let all: Vec<String> = document.report(said, &found).into_iter().map(|d| d.message).collect();
    let expected =
        ["a prompt", "unknown key `modle`", "`loop.max` must not be negative, found `-1`", "wait wait"];
    assert_eq!(all, expected);
}

#[test]
fn what_is_sure_is_found_beside_a_node_that_cannot_be_read() {
    let registry = Registry::new(Vec::new());
    // With the outputs that are surely not there: none where the part may have been their node.
    let all: &[&str] = &["there is no node `a`", "there is no node `gone`"];
    let parts = [
        ("{ id: a }", &all[1..]),
        ("{ id: A, prompt: x }", &[]),
        ("{ prompt: x, schema: 3 }", all),
        ("{ prompt: x, skill: y }", all),
        ("{ wait: 0s }", all),
        ("{ check: [] }", all),
        ("{ foo: bar }", all),
        ("{ foo: [ { id: a, prompt: x } ] }", &[]),
        ("{ if: input, then: [ { wait: 1s } ], or: [ { id: a, prompt: x } ] }", &[]),
        ("{ parallel: {}, branches: { c: { prompt: x } } }", &[]),
        ("{ criteria_loop: { signal: '', max: 2 }, do: [ { prompt: y } ] }", all),
        ("{ if: 3, then: [ { wait: 1s } ], else: 4 }", &[]),
        ("7", &[]),
    ];
    for (part, outputs) in parts {
        let ask = "{ id: z, prompt: '{{ inputs.zz }} {{ outputs.a.text }} {{ outputs.gone.value.x }}' }";
        let text = format!("name: w\nnodes: [ {part}, {ask} ]\n");
        let (document, said) = read_for_check(&text, "w");
        let all = document.unwrap().check(said.clone(), &CheckContext::new(&registry));
        let news: Vec<&Diagnostic> = all.iter().filter(|one| !said.contains(one)).collect();
        let messages: Vec<&str> = news.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(messages, [&["there is no input `zz`"], outputs].concat(), "{part}");
        assert!(news.iter().all(|one| one.place.as_ref().is_some_and(|place| place.line == 2)), "{part}");
        assert_eq!(all.last().unwrap().message, DOUBT, "{part}");
    }
    let (document, said) =
        read_for_check("name: w\ninputs: 3\nnodes: [ { prompt: '{{ inputs.a }}' } ]\n", "w");
    assert!(document.is_none());
    assert_eq!(said.last().unwrap().message, DOUBT);
}

#[test]
fn a_document_that_is_too_large_is_refused() {
    let large = format!("name: w\n# {}\n", "x".repeat(MOST_BYTES));
    assert_eq!(messages(&large), ["the document has 1048587 bytes; at most 1048576 are allowed"]);
    let many = format!("name: w\nnodes:\n{}", "- wait: 1s\n".repeat(20_002));
    assert_eq!(messages(&many), ["a workflow has at most 20000 nodes"]);
    assert_eq!(
        messages(&format!("a: {}", "[".repeat(60_000))).last().unwrap(),
        "nested more than 160 levels deep"
    );
    let deep: String = (0..500).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert!(messages(&deep).contains(&"nested more than 160 levels deep".to_owned()));
}

#[test]
fn notes_and_anchors_are_allowed() {
    let text = "
name: w
x-usual: &usual { turns: 3 }
nodes:
  - { prompt: a, budget: *usual, x-why: because }
  - { prompt: b, budget: *usual }
";
    let document = good(text);
    assert!(document.workflow.body.iter().all(|step| step.budget.turns == Some(3)));
}

#[test]
fn the_starter_has_no_mistake_whatever_it_is_called() {
    for name in ["fix-tests", "Two Words", "a: b", "# x", "\"", "12", "true", "{{ x }}", "é"] {
        assert_eq!(good(&starter(name)).workflow.name, name);
    }
}

/// The keys below a place of the schema.
fn published(schema: &serde_json::Value, pointer: &str) -> BTreeSet<String> {
    let found = schema.pointer(&format!("{pointer}/properties")).and_then(serde_json::Value::as_object);
    found.unwrap_or_else(|| panic!("{pointer}")).keys().cloned().collect()
}

fn known(keys: &[&str]) -> BTreeSet<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

#[test]
fn the_schema_has_every_key_the_reader_knows_and_no_other() {
    let schema: serde_json::Value = serde_json::from_str(&schema(&[])).unwrap();
    for (name, keys) in keys::MAPPINGS {
        let pointer = if *name == "workflow" { String::new() } else { format!("/$defs/{name}") };
        assert_eq!(published(&schema, &pointer), known(keys), "{name}");
    }
    let acts = keys::KIND_KEYS.iter().flat_map(|(act, own)| std::iter::once(act).chain(*own)).copied();
    assert_eq!(published(&schema, "/$defs/node"), known(&acts.collect::<Vec<_>>()));
    for (act, _) in keys::KIND_KEYS {
        let is_way = |way: &serde_json::Value| way["required"][0] == **act;
        assert!(schema["$defs"]["node"]["oneOf"].as_array().unwrap().iter().any(is_way), "{act}");
    }
    let owned = schema["$defs"]["node"]["dependentSchemas"].as_object().unwrap();
    for (key, owners) in owned {
        let listed: Vec<&str> = owners["anyOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|way| way["required"][0].as_str().unwrap())
            .collect();
        assert_eq!(listed, keys::owners(key), "{key}");
    }
}

#[test]
fn the_schema_offers_the_drivers_there_are() {
    let schema: serde_json::Value = serde_json::from_str(&schema(&["claude", "sim"])).unwrap();
    for place in ["/$defs/settings/properties/driver", "/$defs/common/properties/driver"] {
        let offered = schema.pointer(&format!("{place}/anyOf/0/enum"));
        assert_eq!(offered, Some(&serde_json::json!(["claude", "sim"])), "{place}");
    }
    assert!(!schema.to_string().contains("DRIVER"));
}

#[test]
fn the_schema_has_every_word_the_reader_knows() {
    fn words<T>(words: &crate::words::WordTable<T>) -> Vec<&'static str> {
        words.0.iter().map(|(word, _)| *word).collect()
    }
    let schema: serde_json::Value = serde_json::from_str(&schema(&[])).unwrap();
    let rows = [
        ("input/properties/type", words(&top::INPUT_KINDS)),
        ("settings/properties/isolation", words(&crate::settings::words::ISOLATIONS)),
        ("turns/properties/mode", words(&crate::settings::words::MODES)),
        ("turns/properties/match", words(&kinds::MATCHES)),
        ("parallel/properties/join", words(&kinds::JOINS)),
        ("common/properties/on_failure", words(&node::ON_FAILURE)),
    ];
    for (pointer, words) in rows {
        assert_eq!(schema.pointer(&format!("/$defs/{pointer}/enum")), Some(&words.into()), "{pointer}");
    }
}

#[test]
fn the_name_of_a_broken_document_is_known_if_it_can_be_read() {
    let known = [
        ("name: w\nchekcs: {}\nnodes: []\n", Some("w")),
        ("name: w\n", Some("w")),
        ("name: w\nnodes:\n  - { id: a, prompt: 'open\n", Some("w")),
        ("{\"name\": \"w\", \"nodes\": 1}", Some("w")),
        ("nodes: []\n", None),
        ("name: [w]\nnodes: []\n", None),
        ("name: a/b\nnodes: []\n", None),
        ("- name: w\n", None),
        ("", None),
    ];
    for (text, name) in known {
        assert_eq!(said_name(text).as_deref(), name, "{text}");
    }
}
