//! Comparisons with what a value can never be.

use super::*;
use crate::graph::builder::{LoopRounds, ask, check, criteria_loop, shell, task_loop, workflow};
use crate::graph::workflow::{InputKind, WorkflowInput};
use serde_json::json;

fn input(name: &str, kind: InputKind, choices: &[&str]) -> WorkflowInput {
    WorkflowInput {
        name: name.into(),
        description: None,
        kind,
        required: true,
        default: None,
        choices: choices.iter().map(|choice| json!(choice)).collect(),
        range: Default::default(),
    }
}

/// A workflow of everything that can be compared, and a last node with this condition.
fn comparing(condition: &str) -> Builder {
    let schema = json!({
        "type": "object",
        "properties": {
            "t": { "enum": ["bug", "feature"] },
            "maybe": { "enum": ["bug", null] },
            "one": { "const": "only" },
            "either": { "anyOf": [{ "const": "a" }, { "enum": ["b", "c"] }] },
            "ok": { "type": "boolean" },
            "n": { "type": "integer", "maximum": 10 },
            "free": { "type": "string" },
            "tags": { "type": "array", "items": { "enum": ["red", "green"] } },
            "deep": { "type": "object", "properties": { "kind": { "$ref": "#/$defs/kind" } } },
            "any": {},
            "nullable": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/deep" }] },
            "two": { "oneOf": [
                { "type": "object", "properties": { "kind": { "const": "a" } } },
                { "type": "object", "properties": { "kind": { "const": "b" } } },
            ] },
            "open": { "anyOf": [{ "type": "object" }, { "properties": { "kind": { "const": "b" } } }] },
        },
        "$defs": {
            "kind": { "enum": ["small", "large"] },
            "deep": { "type": "object", "properties": { "kind": { "$ref": "#/$defs/kind" } } },
        },
    });
    let mut builder = Builder::new("w");
    for input in [
        input("level", InputKind::Text, &["fast", "full"]),
        input("flag", InputKind::Boolean, &[]),
        input("files", InputKind::List, &[]),
    ] {
        builder = builder.input(input);
    }
    builder
        .start(ask("Commit?").choices(["yes", "no"]).id("go"))
        .then(ask("Why?").id("why"))
        .then(prompt("{{ inputs.level }} {{ inputs.flag }} {{ inputs.files }}").schema(schema).id("c"))
        .then(shell("ls").id("ls"))
        .then(check(["test"]).id("gate"))
        .parallel(|lanes| lanes.branch("x", |x| x.then(shell("x"))).branch("y", |y| y.then(shell("y"))))
        .id("par")
        .then(criteria_loop("S").max(2).each(|round| round.then(prompt("r"))).id("rounds"))
        .then(prompt("end").when(condition).id("end"))
}

fn wrong(condition: &str) -> Vec<String> {
    said(comparing(condition)).into_iter().filter(|line| line.contains("never")).collect()
}

#[test]
fn a_comparison_with_what_a_value_can_never_be_is_an_error() {
    let cases = [
        ("outputs.go == 'yse'", "`outputs.go` is never `yse`", "did you mean `yes`?"),
        ("outputs.go.text == 'Yes'", "`outputs.go.text` is never `Yes`", "did you mean `yes`?"),
        ("'Yes' == outputs['go'].text", "`outputs.go.text` is never `Yes`", "did you mean `yes`?"),
        ("outputs.go != 'commit'", "`outputs.go` is never `commit`", "it is one of `yes`, `no`"),
        ("outputs.go in ['yes', 'nope']", "`outputs.go` is never `nope`", "it is one of `yes`, `no`"),
        ("outputs.go not in ('y', 'no')", "`outputs.go` is never `y`", "it is one of `yes`, `no`"),
        ("outputs.go is eq 'y'", "`outputs.go` is never `y`", "it is one of `yes`, `no`"),
        ("outputs.go is in ['Y']", "`outputs.go` is never `Y`", "it is one of `yes`, `no`"),
        ("'yess' in outputs.go", "`outputs.go` never contains `yess`", "did you mean `yes`?"),
        ("outputs.go | lower == 'Yes'", "`outputs.go | lower` is never `Yes`", "did you mean `yes`?"),
        (
            "outputs.go | trim | upper == 'yes'",
            "`outputs.go | trim | upper` is never `yes`",
            "did you mean `YES`?",
        ),
        (
            "outputs.go | default('later') == 'latr'",
            "`outputs.go | default` is never `latr`",
            "did you mean `later`?",
        ),
        ("outputs.go == 1", "`outputs.go` is never 1", "it is one of `yes`, `no`"),
        ("outputs.ls == 3", "`outputs.ls` is never 3", "did you mean `\"3\"`, in quotes?"),
        ("input == true", "`input` is never true", "did you mean `\"true\"`, in quotes?"),
        ("outputs.c.value.t == 'bugg'", "`outputs.c.value.t` is never `bugg`", "did you mean `bug`?"),
        ("'bugg' == outputs.c.value.t", "`outputs.c.value.t` is never `bugg`", "did you mean `bug`?"),
        (
            "outputs.c.value.t in ['bug', 'featur']",
            "`outputs.c.value.t` is never `featur`",
            "did you mean `feature`?",
        ),
        (
            "outputs.c.value['maybe'] == 'none'",
            "`outputs.c.value.maybe` is never `none`",
            "it is one of `bug`",
        ),
        ("outputs.c.value.one == 'other'", "`outputs.c.value.one` is never `other`", "it is one of `only`"),
        (
            "outputs.c.value.either == 'd'",
            "`outputs.c.value.either` is never `d`",
            "it is one of `a`, `b`, `c`",
        ),
        (
            "outputs.c.value.ok == 'true'",
            "`outputs.c.value.ok` is never `true`",
            "did you mean `true`, without quotes?",
        ),
        ("outputs.c.value.n == '3'", "`outputs.c.value.n` is never `3`", "did you mean `3`, without quotes?"),
        (
            "outputs.c.value.deep.kind == 'smal'",
            "`outputs.c.value.deep.kind` is never `smal`",
            "did you mean `small`?",
        ),
        (
            "'gren' in outputs.c.value.tags",
            "`outputs.c.value.tags` never contains `gren`",
            "did you mean `green`?",
        ),
        (
            "'gren' not in outputs.c.value.tags",
            "`outputs.c.value.tags` never contains `gren`",
            "did you mean `green`?",
        ),
        ("inputs.level == 'fulll'", "`inputs.level` is never `fulll`", "did you mean `full`?"),
        (
            "inputs.level == ''",
            "`inputs.level` is never an empty text",
            "to ask whether it has a value, write `not inputs.level`",
        ),
        ("inputs.flag == 'true'", "`inputs.flag` is never `true`", "did you mean `true`, without quotes?"),
        ("3 in inputs.files", "`inputs.files` never contains 3", "did you mean `\"3\"`, in quotes?"),
        (
            "outputs.ls.status == 'complete'",
            "`outputs.ls.status` is never `complete`",
            "did you mean `completed`?",
        ),
        ("outputs.ls.failed == 'yes'", "`outputs.ls.failed` is never `yes`", ""),
        ("outputs.gate.value.test == 'green'", "`outputs.gate.value.test` is never `green`", ""),
        (
            "outputs.par.value.branches.x == 'complete'",
            "`outputs.par.value.branches.x` is never `complete`",
            "did you mean `completed`?",
        ),
        (
            "outputs.rounds.value.iteration == '2'",
            "`outputs.rounds.value.iteration` is never `2`",
            "did you mean `2`, without quotes?",
        ),
        (
            "outputs.go | capitalize == 'yes'",
            "`outputs.go | capitalize` is never `yes`",
            "did you mean `Yes`?",
        ),
        (
            "outputs.c.value.one in 'ony'",
            "`outputs.c.value.one` is never part of `ony`",
            "did you mean `only`?",
        ),
        ("outputs.c.value.n == -11.5", "`outputs.c.value.n` is never -11.5", ""),
        (
            "outputs.c.value.tags | first == 'gren'",
            "`outputs.c.value.tags[]` is never `gren`",
            "did you mean `green`?",
        ),
        (
            "outputs.c.value.nullable.kind == 'smal'",
            "`outputs.c.value.nullable.kind` is never `smal`",
            "did you mean `small`?",
        ),
        (
            "outputs.c.value.two.kind == 'c'",
            "`outputs.c.value.two.kind` is never `c`",
            "it is one of `a`, `b`",
        ),
        ("true and (outputs.go == 'x' or false)", "`outputs.go` is never `x`", "it is one of `yes`, `no`"),
    ];
    for (condition, text, hint) in cases {
        let hint = if hint.is_empty() { String::new() } else { format!(" ({hint})") };
        assert_eq!(wrong(condition), [format!("error: {text} → end.when{hint}")], "{condition}");
    }
}

#[test]
fn a_comparison_that_may_hold_is_left_alone() {
    let cases = [
        "outputs.go == 'yes'",
        "outputs.go == ''",
        "outputs.go | lower == 'yes'",
        "outputs.go | upper == 'YES'",
        "outputs.go | trim | lower in ['yes', 'no']",
        "outputs.go | default('later') == 'later'",
        "outputs.go | replace('y', 'Y') == 'Yes'",
        "outputs.go | length == 3",
        "outputs.go[0] == 'y'",
        "outputs.go ~ '!' == 'yes!'",
        "'ye' in outputs.go",
        "outputs.go == outputs.why",
        "outputs.go == input",
        "outputs.go in inputs.files",
        "outputs.go < 'z'",
        "outputs.why == 'because'",
        "'x' in outputs.why",
        "outputs.c == 'anything'",
        "outputs.c.value.t == 'bug'",
        "outputs.c.value.maybe == none",
        "outputs.c.value.free == 'anything'",
        "outputs.c.value.any == 'anything'",
        "outputs.c.value.ok == true and outputs.c.value.ok == 1",
        "outputs.c.value.n == 3 and outputs.c.value.n == 3.0",
        "outputs.c.value.unknown is defined and outputs.c.value.unknown == 'x'",
        "'red' in outputs.c.value.tags",
        "outputs.c.value.tags | length == 2",
        "'t' in outputs.c.value",
        "inputs.level == 'full' and inputs.flag == false and 'a' in inputs.files",
        "outputs.ls.status in ['completed', 'failed']",
        "outputs.gate.value.test == true",
        "outputs.par.value.branches.x != 'cancelled'",
        "outputs.rounds.value.iteration == 2",
        "outputs.go | capitalize == 'Yes'",
        "outputs.c.value.t in 'bugs and features'",
        "outputs.why in 'any text'",
        "outputs.c.value.n == -1",
        "outputs.c.value.tags | first == 'green'",
        "outputs.c.value.nullable.kind == 'small'",
        "outputs.c.value.two.kind in ['a', 'b']",
        "outputs.c.value.open.kind == 'else'",
    ];
    for condition in cases {
        assert_eq!(wrong(condition), Vec::<String>::new(), "{condition}");
    }
}

#[test]
fn comparisons_are_found_in_every_text_with_their_place() {
    let asks = || Builder::new("w").start(ask("Go?").choices(["yes", "no"]).id("go"));
    let found = |builder: Builder| {
        let workflow = builder.end().expect("a workflow in form");
        let registry = registry();
        let findings = crate::graph::check::check(&workflow, &known(&registry));
        let compared = findings.into_iter().filter(|finding| finding.text.contains("never `y`"));
        compared.map(|finding| (finding.field, finding.at.map(|at| at.column))).collect::<Vec<_>>()
    };
    let text = "a {% if outputs.go == 'y' %}b{% endif %}";
    assert_eq!(found(asks().then(prompt(text))), [("prompt", Some(23))]);
    assert_eq!(found(asks().then(shell("{{ outputs.go == 'y' }}"))), [("shell", Some(18))]);
    assert_eq!(found(asks().then(ask("{{ 1 if outputs.go == 'y' else 2 }}"))), [("ask", Some(23))]);
    let way = |steps: crate::graph::builder::Steps| steps.then(shell("x"));
    assert_eq!(found(asks().if_("outputs.go == 'y'", way, way)), [("if", Some(15))]);
    assert_eq!(
        found(asks().loop_(LoopRounds::until("outputs.go == 'y'").max(2), way)),
        [("loop.until", Some(15))]
    );
    let tasks = task_loop().select("outputs.go == 'y'").until("outputs.go == 'y'").each(way);
    assert_eq!(found(asks().then(tasks)), [("task_loop.until", Some(15)), ("task_loop.select", Some(15))]);
    // What the template names itself is its own.
    assert!(found(asks().then(prompt("{% set outputs = {} %}{{ outputs.go == 'y' }}"))).is_empty());
    let select = task_loop().select("task.status == 'pendng'").each(way).id("t");
    assert_eq!(
        said(Builder::new("w").start(select)),
        ["error: `task.status` is never `pendng` → t.task_loop.select (did you mean `pending`?)"]
    );
}

#[test]
fn the_first_iteration_is_one() {
    let builder = |condition: &str| {
        let rounds = crate::graph::builder::LoopRounds::times(3);
        said(work().loop_(rounds, |round| round.then(prompt("x").when(condition).id("a"))))
    };
    assert_eq!(
        builder("iteration == 0"),
        ["error: `iteration` is never 0 → a.when (the first iteration is 1)"]
    );
    assert_eq!(builder("iteration == 1"), Vec::<String>::new());
    assert_eq!(builder("iteration in [2, 3]"), Vec::<String>::new());
}

#[test]
fn the_value_of_another_workflow_is_that_of_its_last_node() {
    let registry = registry();
    let schema = json!({
        "type": "object",
        "properties": { "label": { "enum": ["bug", "feature"] } },
        "additionalProperties": false,
    });
    let judge = || prompt("{{ input }}").schema(schema.clone()).id("judge");
    let inner = Builder::new("inner").start(judge());
    let outer = Builder::new("middle").start(workflow("inner").id("sub"));
    let maybe = Builder::new("maybe").start(prompt("x").id("x")).then(judge().when("input != ''"));
    let plain = Builder::new("plain").start(judge()).then(shell("ls").id("ls"));
    let mut known = known(&registry);
    for builder in [inner, outer, maybe, plain] {
        let workflow = builder.end().expect("a workflow in form");
        known.workflows.insert(workflow.name.clone(), Some(workflow));
    }
    known.workflows.insert("unread".into(), None);
    let uses = |name: &str, text: &str| {
        let builder = Builder::new("w").start(workflow(name).id("sub")).then(prompt(text).id("use"));
        said_by(builder, &known)
    };
    for name in ["inner", "middle"] {
        assert_eq!(uses(name, "{{ outputs.sub.value.label == 'bug' }}"), Vec::<String>::new());
        assert_eq!(
            uses(name, "{{ outputs.sub.value.label == 'bugg' }}"),
            ["error: `outputs.sub.value.label` is never `bugg` → use.prompt (did you mean `bug`?)"]
        );
        assert_eq!(
            uses(name, "{{ outputs.sub.value.lable }}"),
            ["error: the schema of `sub` does not allow `lable` → use.prompt (did you mean `label`?)"]
        );
    }
    for name in ["maybe", "unread"] {
        assert_eq!(uses(name, "{{ outputs.sub.value.anything }}"), Vec::<String>::new(), "nobody knows");
    }
    assert_eq!(
        uses("plain", "{{ outputs.sub.value.label }}"),
        [
            "error: `sub` gives no value, only text → use.prompt (it comes from `ls`, the last node of workflow `plain`)"
        ]
    );
}

#[test]
fn the_value_that_a_workflow_gives_by_a_path_is_known() {
    let registry = registry();
    let mut known = known(&registry);
    let properties = json!({ "label": { "enum": ["bug", "feature"] }, "why": { "$ref": "#/$defs/why" } });
    let label = json!({ "type": "object", "properties": properties });
    let schema = json!({
        "type": "object",
        "properties": { "first": label },
        "$defs": { "why": { "type": "object", "properties": { "short": { "type": "string" } } } },
    });
    let plan = || prompt("x").schema(schema.clone()).id("the-plan").when("input");
    let build = |name: &str, gives: &str| {
        Builder::new(name).start(prompt("x").id("x")).then(plan()).then(shell("ls").id("ls")).gives(gives)
    };
    for builder in [
        build("whole", "outputs.the_plan.value"),
        build("part", "outputs['the-plan'].value.first"),
        Builder::new("middle").start(workflow("whole").id("sub")).gives("outputs.sub.value.first"),
        build("computed", "outputs.the_plan.value.first | tojson"),
    ] {
        let workflow = builder.end().expect("a workflow in form");
        known.workflows.insert(workflow.name.clone(), Some(workflow));
    }
    let uses = |name: &str, node: crate::graph::workflow::Node| {
        said_by(Builder::new("w").start(workflow(name).id("sub")).then(node), &known)
    };
    for (name, first) in
        [("whole", "outputs.sub.value.first"), ("part", "outputs.sub.value"), ("middle", "outputs.sub.value")]
    {
        let text = |part: &str| prompt(format!("{{{{ {first}.{part} }}}}")).id("use").into();
        assert_eq!(uses(name, text("label == 'bug'")), Vec::<String>::new());
        let never = format!("error: `{first}.label` is never `bgu` → use.prompt (did you mean `bug`?)");
        assert_eq!(uses(name, text("label == 'bgu'")), [never]);
        let unknown = uses(name, text("lable"));
        assert!(
            unknown.len() == 1
                && unknown[0].starts_with("warning: the schema of `sub` does not mention")
                && unknown[0].ends_with("→ use.prompt (did you mean `label`?)"),
            "{unknown:?}"
        );
        assert!(uses(name, text("why.shrt"))[0].ends_with("(did you mean `short`?)"));
        let command = |part: &str| shell(format!("echo {{{{ {first}.{part} }}}}")).id("end").into();
        assert_eq!(uses(name, command("label")), Vec::<String>::new());
        let words = uses(name, command("why.short"));
        assert!(words.len() == 1 && words[0].contains("is the text of another workflow"), "{words:?}");
    }
    let anything = prompt("{{ outputs.sub.value.lable }}").id("use").into();
    assert_eq!(uses("computed", anything), Vec::<String>::new(), "nobody knows");
}

/// Returns the comparisons that can never be true when the last node has this text. In this workflow no
/// node runs after a failure.
fn sure(text: &str) -> Vec<String> {
    let list = json!({
        "type": "object",
        "properties": { "ks": { "type": "array", "items": {
            "type": "object", "properties": { "sev": { "enum": ["high", "low"] } } } } },
    });
    let builder = Builder::new("w")
        .start(prompt("Which?").schema(json!({"enum": ["bug", "feature"]})).id("q"))
        .then(ask("Go?").choices(["yes", "no"]).default("no").id("go"))
        .then(prompt("List.").schema(list).id("x"))
        .then(prompt(text).id("end"));
    said(builder).into_iter().filter(|line| line.contains("never") || line.contains("has no")).collect()
}

#[test]
fn a_text_that_is_an_answer_has_its_words_only() {
    assert_eq!(
        sure("{{ outputs.q == 'bgu' }}"),
        ["error: `outputs.q` is never `bgu` → end.prompt (did you mean `bug`?)"]
    );
    assert_eq!(
        sure("{{ outputs.go == '' }}"),
        ["error: `outputs.go` is never an empty text → end.prompt (it is one of `yes`, `no`)"],
        "each word once"
    );
    for text in ["outputs.q == 'bug'", "outputs.q | upper == 'BUG'", "outputs.go == 'no'"] {
        assert_eq!(sure(&format!("{{{{ {text} }}}}")), Vec::<String>::new());
    }
    let perhaps = Builder::new("w")
        .start(prompt("Which?").schema(json!({"enum": ["bug", null]})).id("q"))
        .then(prompt("{{ outputs.q == 'else' }}").id("end"));
    assert!(said(perhaps).iter().all(|line| !line.contains("never")), "without an answer it is any text");
    // A node that failed may have said anything, where the run goes on.
    let went_on = |act: fn(Builder) -> Builder| {
        let asked = prompt("Which?").schema(json!({"enum": ["bug"]})).continue_on_failure().id("q");
        said(act(Builder::new("w").start(asked).then(prompt("{{ outputs.q == 'else' }}").id("end"))))
    };
    assert!(went_on(|builder| builder).iter().all(|line| !line.contains("never")));
}

#[test]
fn items_and_names_of_a_templates_own_are_compared_with_what_they_stand_for() {
    for text in [
        "{{ outputs.x.value.ks[0].sev == 'hihg' }}",
        "{% set v = outputs.x.value.ks[1] %}{{ v.sev == 'hihg' }}",
        "{% set v = outputs.x.value %}{% set w = v.ks %}{{ w[0].sev in ['low', 'hihg'] }}",
        "{% with v = outputs.x.value.ks %}{{ v[0].sev | lower == 'hihg' }}{% endwith %}",
        "{% for k in outputs.x.value.ks %}{% if k.sev == 'hihg' %}x{% endif %}{% endfor %}",
        "{% set v = outputs.q %}{{ v == 'hihg' }}",
        "{% set v = outputs.q.text %}{{ v | trim == 'hihg' }}",
        "{% set v = outputs.q | lower %}{{ v == 'hihg' }}",
        "{% set v = outputs.x.value.ks | first %}{{ (outputs.x.value.ks | last).sev }}{{ v.sev }}{{ outputs.q == 'hihg' }}",
        "{% set want = 'hihg' %}{{ outputs.q == want }}",
        "{% set want = 'hihg' %}{{ want != outputs.q }}",
        "{% set all = ['bug', 'hihg'] %}{{ outputs.q in all }}",
        "{% set all = ['hihg'] %}{{ outputs.q | lower not in all }}",
        "{{ outputs.x.value.ks | selectattr('sev', 'eq', 'hihg') | list | length }}",
        "{{ outputs.x.value.ks | rejectattr('sev', 'in', ['low', 'hihg']) | list }}",
        "{% set ks = outputs.x.value.ks %}{{ ks | selectattr('sev', 'equalto', 'hihg') | list }}",
        "{% for k in outputs.x.value.ks if k.sev == 'hihg' %}x{% endfor %}",
    ] {
        let found = sure(text);
        assert!(found.len() == 1 && found[0].contains("is never `hihg`"), "{text}: {found:?}");
    }
    for text in [
        "{{ outputs.x.value.ks[0].sev == 'high' }}",
        "{% for k in outputs.x.value.ks %}{{ k.sev == 'low' }}{% endfor %}",
        "{% set v = outputs.q %}{% if input %}{% set v = input %}{% endif %}{{ v == 'else' }}",
        "{% for v in outputs.x.value.ks %}{{ v.sev }}{% endfor %}{% set v = input %}{{ v == 'else' }}",
        "{% set v = outputs.q ~ '' %}{{ v == 'else' }}",
        "{% set v %}else{% endset %}{{ v == 'else' }}",
        "{% set outputs = input %}{{ outputs == 'else' }}",
        "{% set v = outputs.go %}{{ v == 'yes' }} {{ v | length }} {{ v }}",
        "{% set v = outputs.q | upper %}{{ v == 'BUG' }}",
        "{% set v = outputs.q | lower %}{% if input %}{% set v = 'else' %}{% endif %}{{ v == 'else' }}",
        "{% set want = 'bug' %}{{ outputs.q == want }} {{ want == 'else' }}",
        "{% set all = ['bug', 'feature', input] %}{{ outputs.q in all }} {{ 'else' in all }}",
        "{{ outputs.x.value.ks | selectattr('sev', 'eq', 'high') | list | length }}",
        "{{ outputs.x.value.ks | selectattr('sev') | list }} {{ outputs.x.value.ks | map(attribute='sev') | list }}",
        "{{ inputs | items | selectattr(0, 'eq', 'else') | list }}",
    ] {
        assert_eq!(sure(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_name_for_an_output_is_a_name_for_its_text() {
    assert_eq!(
        sure("{% set v = outputs.q %}{{ v.status }}"),
        ["error: `outputs.q.text` has no `status`: it is text → end.prompt"]
    );
    for text in [
        "{% set v = outputs.q %}{% if v.status is defined %}{{ v.status }}{% endif %}",
        "{% set v = outputs.q %}{{ v.status | default('x') }}",
        "{% set v = outputs.q.status %}{{ v }}",
        "{% set v = outputs.x.value %}{{ v.ks }}",
        "{% set v = outputs.q %}{% set v = outputs.x.value %}{{ v.ks }}",
    ] {
        assert_eq!(sure(text), Vec::<String>::new(), "{text}");
    }
}

fn kinds(condition: &str) -> Vec<String> {
    let is_about_kinds = |line: &String| line.contains("cannot compare them") || line.contains("never");
    said(comparing(condition)).into_iter().filter(is_about_kinds).collect()
}

#[test]
fn values_of_different_kinds_are_not_compared() {
    let quoted = kinds("5 > \"a\"");
    assert!(quoted.iter().any(|line| line.contains("`5` is a number and `\"a\"` is text")), "{quoted:?}");
    assert_eq!(
        kinds("outputs.ls >= 5"),
        ["error: `outputs.ls` is text and `5` is a number: `>=` cannot compare them → end.when \
          (write `outputs.ls | int >= 5`)"]
    );
    for condition in [
        "1 > outputs.ls.text",
        "outputs.ls | trim < 3",
        "outputs.ls | length > '0'",
        "outputs.ls is lt 3",
        "outputs.c.value.n > 'x'",
        "outputs.c.value.free > 1",
        "outputs.c.value.free < outputs.c.value.n",
        "outputs.c.value.t < 2",
        "1 < outputs.rounds.value.iteration < '3'",
        "inputs.files > 2",
        "inputs.flag < 3",
        "outputs.ls == outputs.c.value.n",
        "outputs.c.value.n != outputs.ls",
        "outputs.ls == ['2']",
        "outputs.ls | length == '1'",
        "outputs.ls is eq(outputs.c.value.n)",
    ] {
        assert_eq!(kinds(condition).len(), 1, "{condition}: {:?}", kinds(condition));
    }
    for condition in [
        "outputs.ls | int >= 5",
        "outputs.ls < 'z'",
        "outputs.ls | length > 0",
        "outputs.c.value.n > 2.5",
        "outputs.c.value.any > 2",
        "outputs.c.value.maybe < 'x'",
        "outputs.ls == outputs.c.value.free",
        "outputs.c.value.ok == outputs.c.value.n",
        "outputs.ls | default(3) < 4",
        "inputs.files | length < 4",
        "outputs.c.value.n + 1 < 4",
    ] {
        assert_eq!(kinds(condition), Vec::<String>::new(), "{condition}");
    }
}

#[test]
fn select_compares_the_fields_of_a_task_with_what_they_can_be() {
    let said_of = |select: &str| {
        let tasks = task_loop().select(select).each(|round| round.then(shell("x"))).id("t");
        let mut lines = said(Builder::new("w").start(tasks));
        lines.retain(|line| line.contains("cannot compare them") || line.contains("never"));
        lines
    };
    assert_eq!(
        said_of("task.id == 1"),
        ["error: `task.id` is never 1 → t.task_loop.select (did you mean `\"1\"`, in quotes?)"]
    );
    for select in [
        "task.name in [1]",
        "task.priority == 'high'",
        "task.priority < '3'",
        "task.id > 3",
        "task.status < 1",
    ] {
        assert_eq!(said_of(select).len(), 1, "{select}");
    }
    for select in ["task.id == '1'", "task.priority < 3", "task.priority == none", "task.points > 3"] {
        assert_eq!(said_of(select), Vec::<String>::new(), "{select}");
    }
}
