//! Names: of inputs, nodes, entities, drivers, checks, workflows and words.

use super::*;
use crate::graph::builder::{
    LoopRounds, agent, check, check_all, command, review, shell, skill, task_loop, turns, workflow,
};
use crate::graph::workflow::{Effort, InputKind, SessionOptions, WorkflowInput};
use crate::looping::LoopMode;
use serde_json::json;

#[test]
fn an_unknown_name_in_a_template_is_found_with_what_was_meant() {
    let builder = || Builder::new("w").required("area", InputKind::Text);
    let first = |text: &str| said(builder().start(prompt(format!("{{{{ inputs.area }}}}{text}")).id("a")));
    assert_eq!(
        first("{{ inputs.aera }}"),
        ["error: there is no input `aera` → a.prompt (did you mean `area`?)"]
    );
    assert_eq!(first("{{ area }}"), ["error: `area` is undefined → a.prompt (did you mean `inputs.area`?)"]);
    assert_eq!(first("{{ inpt }}"), ["error: `inpt` is undefined → a.prompt (did you mean `input`?)"]);
    assert_eq!(
        first("{{ run.idd }}{{ run.id }}"),
        ["error: `run` has no `idd` → a.prompt (did you mean `id`?)"]
    );
    assert_eq!(first("{% if run.branch is defined %}{{ run.branch }}{% endif %}"), Vec::<String>::new());
    assert_eq!(first("{{ outputs.b.text }}"), ["error: there is no node `b` → a.prompt"]);
    assert_eq!(
        first("{{ input | uper }}"),
        ["error: there is no filter `uper` → a.prompt (did you mean `upper`?)"]
    );
    assert_eq!(
        first("{{ input is strin }}"),
        ["error: there is no test `strin` → a.prompt (did you mean `string`?)"]
    );
    assert_eq!(
        first("{{ input() }}"),
        ["error: there is no function `input` → a.prompt (write a value without parentheses)"]
    );
    assert_eq!(
        first("{{ task.name }}{{ iteration }}"),
        [
            "error: there is no `task` outside of a `task_loop` → a.prompt",
            "error: there is no `iteration` outside of a loop → a.prompt",
        ]
    );
}

#[test]
fn task_and_iteration_are_known_in_a_task_loop() {
    let task_loop = task_loop()
        .select("task.priority < 3")
        .until("iteration > 4")
        .each(|task| task.then(prompt("{{ task.name }} {{ iteration }}")));
    assert_eq!(said(Builder::new("w").start(task_loop)), Vec::<String>::new());
}

#[test]
fn only_what_an_output_has_may_be_used_of_it() {
    let schema = json!({ "type": "object", "properties": { "steps": { "type": "array" } } });
    let builder = |text: &str| {
        Builder::new("w")
            .start(prompt("a").id("plan").schema(schema.clone()))
            .then(prompt("b").id("plain"))
            .then(shell("ls").id("ls"))
            .then(prompt(text).id("use"))
    };
    assert_eq!(
        said(builder("{{ outputs.plan.value.steps }}{{ outputs['plan'].status }}")),
        Vec::<String>::new()
    );
    assert_eq!(
        said(builder("{{ outputs.plan.txt }}")),
        ["error: the output of `plan` has no `txt` → use.prompt (did you mean `text`?)"]
    );
    assert_eq!(
        said(builder("{{ outputs.plan.value.step }}")),
        ["warning: the schema of `plan` does not mention `step` → use.prompt (did you mean `steps`?)"]
    );
    assert_eq!(
        said(builder("{{ outputs.plain.value.x }}")),
        ["error: `plain` gives no value: it has no `schema` → use.prompt (describe the answer in `schema`)"]
    );
    assert_eq!(
        said(builder("{{ outputs.ls.value.x }}")),
        ["error: `ls` gives no value, only text → use.prompt"]
    );
}

#[test]
fn a_value_has_only_what_its_node_gives() {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": { "good": { "type": "boolean" }, "by": { "$ref": "#/$defs/by" } },
        "$defs": { "by": { "type": "object", "additionalProperties": false, "properties": { "name": {} } } },
    });
    let says = |text: &str| {
        let found = said(
            Builder::new("w")
                .required("n", InputKind::Integer)
                .start(prompt("{{ inputs.n }}").id("judge").schema(schema.clone()))
                .then(shell("ls").id("ls"))
                .then(check(["lint"]).id("gate"))
                .then(check_all().id("all"))
                .loop_(LoopRounds::times(2), |round| round.then(prompt("x")))
                .id("rounds")
                .parallel(|lanes| {
                    lanes.limit(1).branch("a", |b| b.then(prompt("x"))).branch("b", |b| b.then(prompt("y")))
                })
                .id("par")
                .then(prompt(format!("{{{{ {text} }}}}")).id("use")),
        );
        found.into_iter().map(|line| line.replace(" → use.prompt", "")).collect::<Vec<_>>()
    };
    for fine in [
        "outputs.gate.value.lint",
        "outputs.all.value.test",
        "outputs.rounds.value.iteration",
        "outputs.par.value.branches.a",
        "outputs.par.value.branches.c | default('x')",
        "outputs.judge.value.by.name",
        "outputs.judge.value.by.name.anything",
        "outputs.judge.value.bad is defined and outputs.judge.value.bad",
        "outputs.judge.value.bad | default('x')",
        "outputs.ls.value.x | default('x')",
        "outputs.ls.value is defined",
        "outputs.rounds.value.rounds | default(0)",
        "input.x | default('x')",
        "input | upper",
    ] {
        assert_eq!(says(fine), Vec::<String>::new(), "{fine}");
    }
    for (wrong, text) in [
        ("outputs.gate.value.lnt", "error: the value of `gate` has no `lnt` (did you mean `lint`?)"),
        ("outputs.gate.value.test", "error: the value of `gate` has no `test` (it has lint)"),
        ("outputs.all.value.tset", "error: the value of `all` has no `tset` (did you mean `test`?)"),
        ("outputs.rounds.value.rounds", "error: the value of `rounds` has no `rounds` (it has iteration)"),
        (
            "outputs.par.value.brnches",
            "error: the value of `par` has no `brnches` (did you mean `branches`?)",
        ),
        ("outputs.par.value.branches.c", "error: the value `branches` of `par` has no `c` (it has a, b)"),
        ("outputs.par.value.branches.a.x", "error: `outputs.par.value.branches.a` has no `x`: it is a word"),
        (
            "outputs.judge.value.goood",
            "error: the schema of `judge` does not allow `goood` (did you mean `good`?)",
        ),
        ("outputs.judge.value.good.x", "error: the schema of `judge` does not allow `good.x`"),
        (
            "outputs.judge.value.by.nam",
            "error: the schema of `judge` does not allow `by.nam` (did you mean `name`?)",
        ),
        ("outputs.ls.value", "error: `ls` gives no value, only text"),
        ("outputs.ls is defined and outputs.ls.value.x", "error: `ls` gives no value, only text"),
        ("outputs.ls.text.x", "error: `outputs.ls.text` has no `x`: it is text"),
        ("outputs.ls.status.x", "error: `outputs.ls.status` has no `x`: it is a word"),
        ("outputs.ls.failed.x", "error: `outputs.ls.failed` has no `x`: it is true or false"),
        ("input.foo", "error: `input` has no `foo`: it is text"),
        ("inputs.n.x", "error: `inputs.n` has no `x`: it is a whole number"),
    ] {
        assert_eq!(says(wrong), [text], "{wrong}");
    }
}

#[test]
fn a_model_is_a_template_over_names_that_exist() {
    let model = |model: &str| SessionOptions { model: Some(model.into()), ..SessionOptions::default() };
    let builder = |all: &str, one: &str| {
        Builder::new("w")
            .optional("model", InputKind::Text, "opus")
            .settings(model(all))
            .start(prompt("a").id("a").model(one).fallback("sonnet"))
    };
    assert_eq!(said(builder("{{ inputs.model }}", "{{ inputs.model }}")), Vec::<String>::new());
    assert_eq!(
        said(builder("{{ inputs.modle }} {{ outputs.a.text }}", "{{ inputs.model }} {{ nobody }}")),
        [
            "error: there is no input `modle` → settings.model (did you mean `model`?)",
            "error: the model of a workflow cannot use `outputs` → settings.model (use `inputs`, or set the `model` of a node)",
            "error: `nobody` is undefined → a.model[0] (the names are input, inputs, outputs, run, task, iteration, feedback)",
        ]
    );
}

#[test]
fn the_driver_accepts_the_effort() {
    let builder = |driver: &str| work().then(prompt("x").id("x").driver(driver).effort(Effort::High));
    assert_eq!(said(builder("claude")), Vec::<String>::new());
    assert_eq!(
        said(builder("codex")),
        ["error: driver `codex` cannot do what `effort` needs → x.effort (it works with claude)"]
    );
}

#[test]
fn a_schema_says_nothing_that_is_passed_over() {
    let builder = |schema| Builder::new("w").start(prompt("a").id("plan").schema(schema));
    let good =
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": true } });
    assert_eq!(said(builder(good)), Vec::<String>::new());
    assert_eq!(said(builder(json!(true))), Vec::<String>::new());
    assert_eq!(
        said(builder(json!("object"))),
        ["error: the value must be a schema: a mapping, true or false → plan.schema"]
    );
    let bad = json!({
        "type": "objekt",
        "reqired": ["a"],
        "properties": { "a": { "pattern": "^x" }, "b": "string" },
        "items": { "$ref": "other.json" },
    });
    assert_eq!(
        said(builder(bad)),
        [
            "error: the schema keyword `$ref` at `$.items` must be `#/$defs/NAME` of a schema that is there → plan.schema[items/$ref]",
            "error: Windlass does not support the schema keyword `pattern` at `$.properties.a` → plan.schema[properties/a/pattern] (put it in the prompt or in `description` instead)",
            "error: the value at `$.properties.b` must be a schema: a mapping, true or false → plan.schema[properties/b]",
            "error: Windlass does not support the schema keyword `reqired` → plan.schema[reqired] (did you mean `required`?)",
            "error: the schema keyword `type` must be object, array, string, number, integer, boolean or null, or a list of these → plan.schema[type]",
        ]
    );
}

#[test]
fn entities_are_looked_up_before_a_run() {
    let builder = Builder::new("w")
        .start(skill("comit").id("a"))
        .then(agent("commit").id("b"))
        .then(command("Research").id("c"))
        .then(review(Some("debuger"), 3).id("d"));
    assert_eq!(
        said(builder),
        [
            "error: there is no skill `comit` → a.skill (did you mean `commit`?)",
            "error: there is no agent `commit` → b.agent (use `skill` instead of `agent`)",
            "error: there is no agent `debuger` → d.review.agent (did you mean `debugger`?)",
        ]
    );
}

#[test]
fn a_driver_must_exist_and_be_able() {
    let in_session = crate::graph::workflow::TurnLoop { mode: Some(LoopMode::InSession), ..turns(3) };
    let resume = crate::graph::workflow::TurnLoop { mode: Some(LoopMode::Resume), ..turns(3) };
    let plugin = crate::graph::workflow::TurnLoop {
        mode: Some(LoopMode::Plugin),
        promise: Some("DONE".into()),
        ..turns(3)
    };
    let builder = Builder::new("w")
        .settings(SessionOptions { driver: Some("codx".into()), ..SessionOptions::default() })
        .start(prompt("a").id("a").driver("nobody"))
        .then(prompt("b").id("b").driver("codex").turns(in_session))
        .then(prompt("c").id("c").driver("codex").turns(resume))
        .then(prompt("d").id("d").driver("codex").schema(json!({})))
        .then(prompt("e").id("e").driver("codex").turns(plugin));
    assert_eq!(
        said(builder),
        [
            "error: there is no driver `codx` → settings.driver (did you mean `codex`?)",
            "error: there is no driver `nobody` → a.driver (the drivers are claude, codex)",
            "error: driver `codex` cannot do what `mode: plugin` needs → e.turns.mode (it works with claude)",
        ]
    );
}

#[test]
fn the_driver_of_a_block_holds_in_it() {
    let builder = Builder::new("w").start(
        task_loop().id("t").driver("codex").each(|task| task.then(prompt("a").id("a").effort(Effort::High))),
    );
    assert_eq!(said(builder).len(), 1);
}

#[test]
fn checks_are_those_of_the_settings_and_of_the_workflow() {
    let builder =
        work().check("e2e", "./e2e").then(check(["test", "e2e"])).then(check(["test", "tset"]).id("c"));
    assert_eq!(said(builder), ["error: there is no check `tset` → c.check[1] (did you mean `test`?)"]);
    let registry = registry();
    let none = CheckContext::new(&registry);
    assert_eq!(
        said_by(work().then(crate::graph::builder::check_all()), &none),
        [
            "warning: there are no checks, so this node always passes → check.check (define some under `checks`)"
        ]
    );
}

#[test]
fn nodes_that_do_not_run_yet_are_said() {
    let registry = registry();
    let mut known = known(&registry);
    known.is_run = true;
    let builder = work().then(review(None, 3).id("r"));
    let text = "error: node `r` cannot run yet: it is a `review` node → r.review (leave it out; `windlass workflow graph` can already draw it)";
    assert_eq!(said_by(builder, &known), [text]);
}

#[test]
fn a_sub_workflow_must_exist_and_be_told_what_it_needs() {
    let registry = registry();
    let mut known = known(&registry);
    let inner =
        Builder::new("inner").required("branch", InputKind::Text).start(prompt("{{ inputs.branch }}"));
    known.workflows.insert("inner".into(), Some(inner.end().unwrap()));
    known.workflows.insert("opaque".into(), None);
    let builder = Builder::new("w")
        .start(workflow("iner").id("a"))
        .then(workflow("inner").id("b").with_input("brnch", "x"))
        .then(workflow("opaque").id("c").with_input("any", "x"))
        .then(workflow("w").id("d"));
    assert_eq!(
        said_by(builder, &known),
        [
            "error: there is no workflow `iner` → a.workflow (did you mean `inner`?)",
            "error: workflow `inner` has no input `brnch` → b.with[brnch] (did you mean `branch`?)",
            "error: workflow `inner` needs input `branch` → b.with (with: { branch: … })",
            "error: `w` runs itself → d.workflow",
        ]
    );
}

#[test]
fn what_is_written_out_for_another_workflow_must_fit_it() {
    let registry = registry();
    let mut known = known(&registry);
    let kinds = [
        ("t", InputKind::Text),
        ("n", InputKind::Integer),
        ("b", InputKind::Boolean),
        ("l", InputKind::List),
    ];
    let mut inner = Builder::new("inner").start(prompt("{{ inputs }}"));
    for (name, kind) in kinds {
        let choices = if name == "t" { vec![json!("cat"), json!("dog")] } else { Vec::new() };
        let (name, description) = (name.to_owned(), None);
        inner = inner.input(WorkflowInput {
            name,
            description,
            kind,
            required: false,
            default: None,
            choices,
            range: Default::default(),
        });
    }
    known.workflows.insert("inner".into(), Some(inner.end().unwrap()));
    let told = |given: [(&str, &str); 4]| {
        let call = given
            .into_iter()
            .fold(workflow("inner").id("a"), |call, (name, value)| call.with_input(name, value));
        said_by(Builder::new("w").start(call), &known)
    };
    assert_eq!(told([("t", "dog"), ("n", "3"), ("b", "yes"), ("l", "[\"a\", 2]")]), Vec::<String>::new());
    let made = [
        ("t", "{{ input }}"),
        ("n", "{{ input }}"),
        ("b", "{% if input %}true{% endif %}"),
        ("l", "{{ input }}"),
    ];
    assert_eq!(told(made), Vec::<String>::new());
    assert_eq!(
        told([("t", "zebra"), ("n", "many"), ("b", "perhaps"), ("l", "3")]),
        [
            "error: input `t` of workflow `inner` must be one of \"cat\", \"dog\", and is `zebra` → a.with[t]",
            "error: input `n` of workflow `inner` must be a whole number, and is `many` → a.with[n]",
            "error: input `b` of workflow `inner` must be true or false, and is `perhaps` → a.with[b]",
            "error: input `l` of workflow `inner` must be a list of texts, and is `3` → a.with[l]",
        ]
    );
}

#[test]
fn workflows_that_run_each_other_are_found() {
    let registry = registry();
    let mut known = known(&registry);
    let run = |name: &str, other: &str| Some(Builder::new(name).start(workflow(other)).end().unwrap());
    known.workflows.insert("a".into(), run("a", "b"));
    known.workflows.insert("b".into(), run("b", "w"));
    known.workflows.insert("c".into(), run("c", "d"));
    known.workflows.insert("d".into(), run("d", "c"));
    let builder = Builder::new("w").start(workflow("a").id("x")).then(workflow("c").id("y"));
    assert_eq!(
        said_by(builder, &known),
        [
            "error: workflows run each other without end: w → a → b → w → x.workflow",
            "error: workflows run each other without end: c → d → c → y.workflow",
        ]
    );
}

#[test]
fn workflows_may_not_run_too_deep_inside_each_other() {
    let registry = registry();
    let mut known = known(&registry);
    for deep in 0..12 {
        let inner = Builder::new(format!("d{deep}")).start(workflow(format!("d{}", deep + 1)));
        known.workflows.insert(format!("d{deep}"), Some(inner.end().unwrap()));
    }
    known.workflows.insert("d12".into(), None);
    let at = |name: &str| said_by(Builder::new("w").start(workflow(name).id("x")), &known);
    assert_eq!(at("d5"), Vec::<String>::new());
    assert_eq!(at("d4"), ["error: workflows run each other 9 levels deep; the limit is 8 → x.workflow"]);
    assert_eq!(at("d0").len(), 1);
}

#[test]
fn inputs_agree_with_themselves() {
    let input = |name: &str, kind, default, choices: &[serde_json::Value]| WorkflowInput {
        name: name.into(),
        description: None,
        kind,
        required: false,
        default: Some(default),
        choices: choices.to_vec(),
        range: Default::default(),
    };
    let builder = Builder::new("w")
        .input(input("a", InputKind::Text, json!("fast"), &[json!("slow"), json!("full")]))
        .input(input("b", InputKind::Integer, json!(1.5), &[]))
        .input(input("c", InputKind::Boolean, json!(true), &[json!("yes")]))
        .input(input("c", InputKind::List, json!(["x"]), &[]))
        .input(WorkflowInput { required: true, ..input("d", InputKind::Number, json!(2), &[]) })
        .start(prompt("{{ inputs | tojson }}"));
    assert_eq!(
        said(builder),
        [
            "error: the default \"fast\" of `a` is not among its choices → inputs[a] (choices are \"slow\", \"full\")",
            "error: the default 1.5 of `b` is not of type integer → inputs[b]",
            "error: choice \"yes\" of `c` is not of type boolean → inputs[c]",
            "error: the default true of `c` is not among its choices → inputs[c] (choices are \"yes\")",
            "error: two inputs are called `c` → inputs[c]",
            "warning: `d` is required, so its default is never used → inputs[d]",
        ]
    );
}

#[test]
fn the_tools_of_a_session_exist_and_their_patterns_can_match() {
    let with = |tools: &[&str]| said(work().then(prompt("x").tools(tools.iter().copied()).id("look")));
    let sound = ["Read", "read_file", "Bash(git diff:*)", "mcp__docs__*", "LSP"];
    assert_eq!(with(&sound), Vec::<String>::new());
    assert_eq!(
        with(&["Raed", "Bash(git", "Bash(a && b)", "sing"]),
        [
            "error: there is no tool `Raed` → look.tools[0] (did you mean `Read`?)",
            "error: the brackets in `Bash(git` are empty or do not match → look.tools[1] (write `NAME` or `NAME(PATTERN)`: `Bash(git diff:*)`)",
            "error: `Bash(a && b)`: Windlass checks each command of a line separately, so no command can match this → look.tools[2] (write one rule for each command)",
            "error: there is no tool `sing` → look.tools[3]",
        ]
    );
    assert_eq!(
        said(work().then(prompt("x").driver("codex").reads_only().id("look"))),
        ["error: driver `codex` cannot do what `tools` needs → look.tools (it works with claude)"]
    );
}

#[test]
fn an_input_that_names_a_driver_says_which_it_allows() {
    let input = |name: &str, choices: &[&str], default: Option<&str>| WorkflowInput {
        name: name.to_owned(),
        description: None,
        kind: InputKind::Text,
        required: false,
        default: default.map(|default| json!(default)),
        choices: choices.iter().map(|choice| json!(choice)).collect(),
        range: Default::default(),
    };
    let with = |input: WorkflowInput, driver: &str| {
        let node = prompt("x").driver(driver).effort(Effort::High).id("x");
        said(
            Builder::new("w").input(input).start(prompt("{{ input }} {{ inputs.agent }}").id("a")).then(node),
        )
    };
    assert_eq!(with(input("agent", &["claude"], Some("claude")), "inputs.agent"), Vec::<String>::new());
    assert_eq!(
        with(input("agent", &[], Some("claude")), "inputs.agent"),
        [
            "error: `driver` comes from input `agent`, which does not say which drivers it allows → x.driver (give the input its drivers: `choices: [claude, codex]`)"
        ]
    );
    assert_eq!(
        with(input("agent", &["claude", "cloude"], Some("claude")), "inputs.agent"),
        ["error: there is no driver `cloude` → x.driver (did you mean `claude`?)"]
    );
    assert_eq!(
        with(input("agent", &["claude"], None), "inputs.agent"),
        [
            "error: `driver` comes from input `agent`, which may be missing → x.driver (give the input a `default`, or `required: true`)"
        ]
    );
    assert_eq!(
        with(input("agent", &["codex"], Some("codex")), "inputs.agent"),
        ["error: driver `codex` cannot do what `effort` needs → x.effort (it works with claude)"]
    );
    assert_eq!(
        with(input("agent", &["claude"], Some("claude")), "{{ inputs.agent }}"),
        ["error: there is no driver `{{ inputs.agent }}` → x.driver (write `driver: inputs.agent`)"]
    );
    let unknown = with(input("agent", &["claude"], Some("claude")), "inputs.agnet");
    assert_eq!(unknown, ["error: there is no input `agnet` → x.driver (did you mean `agent`?)"]);
}

#[test]
fn the_time_of_a_run_uses_only_inputs() {
    let timed = |from: &str| {
        let workflow = Builder::new("w").optional("n", InputKind::Integer, 5).timeout_from(from, 60_000);
        said(workflow.start(prompt("{{ input }} {{ inputs.n }}").id("a")))
    };
    assert_eq!(timed("inputs.n * 60"), Vec::<String>::new());
    assert_eq!(
        timed("outputs.a.text"),
        [
            "error: the `timeout` of a run cannot use `outputs` → settings.timeout (use `inputs`, or set the `timeout` of a node)"
        ]
    );
    assert_eq!(
        timed("inputs.m"),
        ["error: there is no input `m` → settings.timeout (define it under `inputs`)"]
    );
}

#[test]
fn a_list_is_a_list_and_an_exit_code_is_a_number() {
    let items =
        |list: &str| {
            let inputs = Builder::new("w").optional("n", InputKind::Integer, 5).optional(
                "names",
                InputKind::List,
                json!(["a"]),
            );
            let begun = inputs.start(shell("ls {{ inputs.n }} {{ inputs.names | length }}").id("find"));
            said(begun.then(
                crate::graph::builder::each("x", list).each(|one| one.then(prompt("{{ x }}"))).id("all"),
            ))
        };
    assert_eq!(items("inputs.names"), Vec::<String>::new());
    assert_eq!(items("outputs.find.text | lines"), Vec::<String>::new());
    assert_eq!(
        items("inputs.n"),
        [
            "error: `in` needs a list, and `inputs.n` is a number → all.each.in (name a list, or write one out: `[a, b]`)"
        ]
    );
    assert_eq!(
        items("outputs.find.stdout"),
        [
            "error: `in` needs a list, and `outputs.find.stdout` is text → all.each.in (give the node before it a `schema`, or split the text: `NAME | lines`)"
        ]
    );
    let code =
        said(work().then(shell("x").id("s")).then(prompt("y").when("outputs.s.exit_code == '0'").id("p")));
    assert_eq!(code.len(), 1, "{code:?}");
    let kind = json!({"type": "list"});
    let schema = said(work().then(shell("x").output_schema(kind).id("s")));
    assert!(schema[0].contains("the schema keyword `type`"), "{schema:?}");
}
