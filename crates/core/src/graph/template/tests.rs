//! Tests for templates: rendering, errors and their positions, and the names that a template uses.

use proptest::prelude::*;
use serde_json::json;

use super::names::{UsedFunction, WordKind};
use super::*;
use crate::id::NodeId;

fn scope() -> Scope {
    let inputs = [("area".to_owned(), json!("core")), ("level".to_owned(), json!(3))].into();
    let mut scope = Scope::new("fix {{ it }}", &inputs);
    scope.set_run(&json!({ "id": "r1", "branch": "work" }));
    let plan = NodeOutput {
        text: "a plan".into(),
        value: Some(json!({ "steps": ["one", "two"] })),
        status: "completed".into(),
        ..NodeOutput::default()
    };
    scope.set_output(&NodeId::new("plan"), plan);
    let commit = NodeOutput { text: "done".into(), ..NodeOutput::default() };
    scope.set_output(&NodeId::new("skill-commit"), commit);
    scope
}

fn rendered(template: &str) -> Result<String, TemplateError> {
    render(&Template(template.into()), &scope())
}

fn value(expression: &str) -> Result<serde_json::Value, TemplateError> {
    evaluate(&Expression(expression.into()), &scope())
}

fn text_of(template: &str) -> String {
    rendered(template).unwrap_or_else(|error| panic!("{template}: {error}"))
}

fn complaint(template: &str) -> String {
    rendered(template).unwrap_err().to_string()
}

#[test]
fn values_are_put_in_once_and_never_read_as_templates() {
    assert_eq!(text_of("Do: {{ input }}"), "Do: fix {{ it }}");
    assert_eq!(text_of("{{ inputs.area }}/{{ run.branch }}"), "core/work");
    assert_eq!(text_of("<{{ '&' }}>"), "<&>");
    assert_eq!(text_of("{{ true }} {{ outputs.plan.failed }} {{ 1 == 2 }}"), "true false false");
    assert_eq!(text_of("plain {braces} stay\n"), "plain {braces} stay\n");
}

#[test]
fn what_is_none_is_written_as_nothing_and_does_not_hold() {
    let inputs = [("opt".to_owned(), json!(null))].into();
    let scope = Scope::new("", &inputs);
    let text = render(&Template("[{{ inputs.opt }}{% if inputs.opt %}x{% endif %}]".into()), &scope);
    assert_eq!(text, Ok("[]".into()));
    assert_eq!(is_true(&Expression("inputs.opt".into()), &scope), Ok(false));
    assert_eq!(is_true(&Expression("inputs.opt is none".into()), &scope), Ok(true));
}

#[test]
fn an_output_is_its_text_and_has_parts() {
    assert_eq!(text_of("{{ outputs.plan }}"), "a plan");
    assert_eq!(text_of("{{ outputs.plan.text }} {{ outputs.plan.status }}"), "a plan completed");
    assert_eq!(text_of("{{ outputs.plan.value.steps | join(', ') }}"), "one, two");
    assert_eq!(value("outputs.plan.value.steps | length > 1"), Ok(json!(true)));
    assert_eq!(value("outputs.plan.failed"), Ok(json!(false)));
    assert_eq!(value("outputs.plan.value"), Ok(json!({ "steps": ["one", "two"] })));
}

/// Returns every kind of expression that uses a text, with `X` in its place.
fn all_that_is_done_with_a_text() -> Vec<String> {
    let mut forms: Vec<String> = [
        "X",
        "X == 'a plan'",
        "'a plan' == X",
        "X == 'a pla'",
        "X != 'a plan'",
        "X == X",
        "X < 'b'",
        "X <= 'a plan'",
        "'a' > X",
        "X >= 'a plan '",
        "X in ['a plan', 'b']",
        "X not in ['a plan']",
        "X in 'all of a plan'",
        "'plan' in X",
        "'plans' not in X",
        "X in {'a plan': 1}",
        "{'a plan': 1}[X]",
        "X ~ '!'",
        "'<' ~ X",
        "X + '!'",
        "'<' + X",
        "X * 2",
        "X[0]",
        "X[-1]",
        "X[99] is defined",
        "X[:3]",
        "X[2:]",
        "X[::-1]",
        "not X",
        "X and true",
        "X or 'b'",
        "'yes' if X else 'no'",
        "'yes' if X == 'a plan' else 'no'",
        "[X] == ['a plan']",
        "{'k': X} == {'k': 'a plan'}",
        "[X, 'b'] | join('+')",
        "[X, 'b'] | sort",
        "['a plan', 'b'] | select('==', X) | list",
        "X | default('none')",
        "X | d('none') == 'a plan'",
        "X | replace('plan', 'map') == 'a map'",
        "X | trim | upper == 'A PLAN'",
        "X | length == 6",
        "X | int(default=3)",
        "'a plan, b' | replace(X, 'x')",
        "X is eq 'a plan'",
        "X is in ['a plan']",
        "X is startingwith 'a p'",
        "'a plan b' is startingwith X",
        "X is sameas X",
        "X is not none and X is defined and X is string and X is not mapping",
    ]
    .map(str::to_owned)
    .into();
    forms.extend(WordKind::Filter.known().iter().map(|filter| format!("X | {filter}")));
    forms.extend(WordKind::Filter.known().iter().map(|filter| format!("X | {filter}('a')")));
    forms.extend(
        WordKind::Test.known().iter().filter(|test| is_word(test)).map(|test| format!("X is {test}")),
    );
    forms.extend(
        WordKind::Test.known().iter().filter(|test| is_word(test)).map(|test| format!("X is {test}('a')")),
    );
    forms
}

fn is_word(test: &str) -> bool {
    test.starts_with(char::is_alphabetic)
}

#[test]
fn an_output_behaves_as_its_text_whatever_is_done_with_it() {
    for form in all_that_is_done_with_a_text() {
        // Beside it, what is a text and nothing else.
        let at = |name: &str| {
            let mut scope = scope();
            scope.set_task(Some(&json!({ "plan": "a plan" })));
            let source = form.replace('X', name);
            let expression = evaluate(&Expression(source.clone()), &scope);
            let held = is_true(&Expression(source.clone()), &scope);
            let text = render(&Template(format!("{{{{ {source} }}}}")), &scope);
            let iterated =
                render(&Template(format!("{{% for x in {name} %}}{{{{ x }}}},{{% endfor %}}")), &scope);
            (
                expression.map_err(|error| error.message().replace(name, "X")),
                held.is_ok_and(|held| held),
                text.map_err(|error| error.message().replace(name, "X")),
                iterated,
            )
        };
        let expected = at("task.plan");
        for name in [
            "outputs.plan",
            "outputs['plan']",
            "outputs[('pl' ~ 'an')]",
            "(outputs.plan)",
            "outputs.plan.text",
        ] {
            assert_eq!(at(name), expected, "{form} of {name}");
        }
    }
}

#[test]
fn an_output_keeps_its_text_under_another_name() {
    let text = "{% set o = outputs.plan %}{% with p = outputs['plan'] %}{{ o == 'a plan' and p == 'a plan' }}{% endwith %}";
    assert_eq!(text_of(text), "true");
    assert_eq!(text_of("{% set all = outputs %}{{ all.plan == 'a plan' }}"), "true");
    assert_eq!(text_of("{% for o in [outputs.plan] %}{{ o == 'a plan' }}{% endfor %}"), "true");
    assert_eq!(
        text_of("{% for id, o in outputs | items %}{{ id }}={{ o ~ '' == o }} {% endfor %}"),
        "plan=true skill-commit=true "
    );
    assert_eq!(text_of("{{ outputs | tojson }}"), r#"{"plan": "a plan", "skill-commit": "done"}"#);
    // It is a text, so that it has no parts: that is said, and not passed over.
    assert!(complaint("{% set o = outputs.plan %}{{ o.status }}").contains("`o.status` is undefined"));
}

#[test]
fn a_default_also_stands_for_an_output_that_is_missing() {
    for missing in [
        "outputs.none",
        "outputs.none.text",
        "outputs.none.value",
        "outputs.none.value.event",
        "outputs.none.value.list[0].name",
        "outputs['none'].value['a \"quoted\" {{ part }}'].x",
        "outputs.plan.value.more",
        "outputs.plan.value.more.still",
        "outputs.plan.value.steps[7]",
        "outputs.skill_commit.value.event",
        "outputs . none . value",
    ] {
        assert_eq!(text_of(&format!("{{{{ {missing} | default('-') }}}}")), "-", "{missing}");
        assert_eq!(text_of(&format!("{{{{ {missing} | d }}}}")), "", "{missing}");
        assert_eq!(text_of(&format!("{{{{ {missing} is defined }}}}")), "false", "{missing}");
        assert_eq!(value(&format!("{missing} is undefined")), Ok(json!(true)), "{missing}");
        assert_eq!(value(&format!("{missing} | default(2) > 1")), Ok(json!(true)), "{missing}");
    }
    for (there, text) in [
        ("outputs.plan", "a plan"),
        ("outputs.plan.status", "completed"),
        ("outputs.plan.value.steps[1]", "two"),
        ("outputs.plan.value['steps'][0]", "one"),
        ("outputs['skill-commit'].text", "done"),
        ("outputs.skill_commit.text", "done"),
    ] {
        assert_eq!(text_of(&format!("{{{{ {there} | default('-') }}}}")), text, "{there}");
        assert_eq!(text_of(&format!("{{{{ {there} is defined }}}}")), "true", "{there}");
    }
    // Without it, a missing output is an error as ever, at its own place.
    assert_eq!(
        complaint("{{ outputs.none.value | default('x') }}\n{{ outputs.none.value }}"),
        "`outputs.none` is undefined (line 2, column 11)"
    );
    assert!(complaint("{{ outputs.none.value.x }}").contains("outputs.none"));
}

#[test]
fn the_parts_of_an_output_are_found_however_they_are_written() {
    for name in ["outputs.plan", "outputs['plan']", "outputs[('pl' ~ 'an')]"] {
        assert_eq!(value(&format!("{name}.text")), Ok(json!("a plan")));
        assert_eq!(value(&format!("{name}['status'] == 'completed'")), Ok(json!(true)));
        assert_eq!(value(&format!("{name}.failed or {name}.value.steps[1] == 'two'")), Ok(json!(true)));
    }
    assert_eq!(text_of("{% for id in outputs %}{{ outputs[id].failed }} {% endfor %}"), "false false ");
    assert_eq!(value("outputs | length"), Ok(json!(2)));
    assert_eq!(value("'plan' in outputs and 'x' not in outputs"), Ok(json!(true)));
    // A name of the template's own is no output.
    assert_eq!(text_of("{% set outputs = {'plan': {'text': 'mine'}} %}{{ outputs.plan.text }}"), "mine");
}

#[test]
fn the_output_of_a_node_that_was_left_out_is_never_just_unequal() {
    for form in all_that_is_done_with_a_text() {
        if ["X | d", "X | default", "defined"].iter().any(|ask| form.contains(ask)) {
            continue;
        }
        let error = value(&form.replace('X', "outputs.x")).map_err(|error| error.message());
        assert!(error.as_ref().is_err_and(|what| what.contains("outputs")), "{form}: {error:?}");
    }
    assert_eq!(complaint("{{ outputs.x == 'y' }}"), "`outputs.x` is undefined (line 1, column 4)");
    assert_eq!(complaint("{{ 1 }} {{ outputs['x'] }}"), "`outputs.x` is undefined (line 1, column 12)");
    assert_eq!(value("outputs.x is undefined"), Ok(json!(true)));
    assert_eq!(value("outputs.x | default('none') == 'none'"), Ok(json!(true)));
    assert_eq!(value("outputs.x is defined and outputs.x == 'y'"), Ok(json!(false)));
}

#[test]
fn a_node_without_a_value_has_none_that_is_defined() {
    assert_eq!(value("outputs.skill_commit.value is defined"), Ok(json!(false)));
    assert_eq!(value("outputs.plan.value is defined"), Ok(json!(true)));
    assert_eq!(value("outputs.skill_commit.value | default('none')"), Ok(json!("none")));
    // A node that failed has no value, and who asks for it as a condition is not stopped by that.
    assert_eq!(
        text_of("[{{ outputs.skill_commit.value }}{% if outputs.skill_commit.value %}x{% endif %}]"),
        "[]"
    );
    assert!(complaint("{{ outputs.skill_commit.value.steps }}").contains("undefined"));
}

#[test]
fn an_id_with_dashes_is_found_both_ways() {
    assert_eq!(text_of("{{ outputs['skill-commit'].text }}"), "done");
    assert_eq!(text_of("{{ outputs.skill_commit.text }}"), "done");
    assert_eq!(text_of("{% for id in outputs %}{{ id }} {% endfor %}"), "plan skill-commit ");
}

#[test]
fn what_is_undefined_is_an_error_unless_one_asks() {
    assert_eq!(complaint("a\n{{ nobody }}"), "`nobody` is undefined (line 2, column 4)");
    assert_eq!(complaint("{{ outputs.x.text }}"), "`outputs.x` is undefined (line 1, column 11)");
    assert_eq!(value("nobody").unwrap_err().to_string(), "`nobody` is undefined (line 1, column 1)");
    assert_eq!(value("outputs.x is defined"), Ok(json!(false)));
    assert_eq!(text_of("{{ outputs.x | default('none') }}"), "none");
    assert!(complaint("{{ task.name }}").contains("`task` is undefined"));
    assert_eq!(text_of("{% if feedback %}no{% endif %}"), "");
}

#[test]
fn what_is_undefined_is_named_with_its_whole_expression() {
    for (source, named) in [
        ("outputs.skill_commit.value.x", "outputs.skill_commit.value.x"),
        ("1 + outputs['skill-commit'].value['x']", "outputs['skill-commit'].value['x']"),
        ("'x' ~ (outputs.skill_commit.value.x.y)", "outputs.skill_commit.value.x"),
        (
            "outputs.plan.value.steps | selectattr('a') | first",
            "outputs.plan.value.steps | selectattr('a') | first",
        ),
    ] {
        let wanted = format!("`{named}` is undefined (line ");
        for found in [complaint(&format!("é {{{{ {source} }}}}")), value(source).unwrap_err().to_string()] {
            assert!(found.starts_with(&wanted), "{source}: {found}");
        }
    }
    let not = "{{ not ([] | first) }}";
    assert!(complaint(not).starts_with("`([] | first)` is undefined"), "{}", complaint(not));
    let block = "{% if ([] | first).x %}{% endif %}";
    assert!(complaint(block).starts_with("`([] | first).x` is undefined"), "{}", complaint(block));
    let choice = "{{ 1 if [] | first else 2 }}";
    let whole = "`1 if [] | first else 2` is undefined";
    assert!(complaint(choice).starts_with(whole), "{}", complaint(choice));
}

#[test]
fn the_round_and_the_task_are_there_in_loops() {
    let mut scope = scope();
    scope.set_iteration(Some(2));
    scope.set_task(Some(&json!({ "name": "t", "priority": 1 })));
    scope.set_feedback("red");
    let text = render(&Template("{{ iteration }} {{ task.name }} {{ feedback }}".into()), &scope);
    assert_eq!(text, Ok("2 t red".into()));
    assert_eq!(is_true(&Expression("task.priority < 3".into()), &scope), Ok(true));
}

#[test]
fn a_mistake_in_a_template_says_where() {
    let error = rendered("one\ntwo {{ 1 + }}").unwrap_err();
    assert_eq!(error.at(), Some(TemplatePosition { offset: 15, line: 2, column: 12 }));
    assert_eq!(error.to_string(), "unexpected end of variable block (line 2, column 12)");
    assert!(complaint("{% include 'x' %}").contains("unknown statement include"));
    assert!(complaint("{{ 1 | nope }}").contains("filter nope is unknown"));
    assert!(complaint("{{ debug() }}").contains("unknown"));
}

#[test]
fn tags_alone_on_a_line_leave_no_line_behind() {
    assert_eq!(text_of("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc\n");
}

#[test]
fn a_line_with_anything_else_than_tags_keeps_its_newline() {
    for (template, text) in [
        ("{% if true %}echo one{% endif %}\ntouch two\n", "echo one\ntouch two\n"),
        ("{% if false %}echo one{% endif %}\ntouch two", "\ntouch two"),
        ("a {% if true %}{% if true %}b{% endif %}{% endif %}\nc", "a b\nc"),
        ("a{% if true %}\nb\n{% endif %}\nc", "a\nb\nc"),
        ("a{% if true %}b{% endif %}\r\nc\r\n", "ab\r\nc\r\n"),
        ("{% if true %}\r\na\r\n{% endif %}\r\nb", "a\r\nb"),
        ("a {# why #}\nb {#+ x +#}\nc", "a \nb \nc"),
        ("a\n  {# why #}\nb", "a\nb"),
        ("{{ 1 }}{% if true %}{% endif %}\nb", "1\nb"),
        ("{% if true %}{{ '%}' }}{% endif %}\nb", "%}\nb"),
        ("{% set a = '%}' %}\n{{ a }}\nb", "%}\nb"),
        ("{% set a = 1 %} {% set b = 2 %}  \n{{ a + b }}", "3"),
        ("{% if true %}a{% endif -%}\n  b", "ab"),
        ("a\n{%- if true %}b{% endif %}\nc", "ab\nc"),
        ("{% if true +%}\na{% endif %}", "\na"),
        ("{% raw %}{% if %}{% endraw %}\nb", "{% if %}\nb"),
        ("{% raw %}\n{{ x }}\n{% endraw %}\nb", "{{ x }}\nb"),
        ("{% for a in [1, 2] %}- {{ a }}{% if a < 2 %},{% endif %}\n{% endfor %}\nend", "- 1,\n- 2\nend"),
        ("{% set a = {\n'x': {'y': 1}} %}\n{{ a.x.y }}", "1"),
        ("é{% if true %}ü{% endif %}\nß", "éü\nß"),
    ] {
        assert_eq!(text_of(template), text, "{template:?}");
    }
}

#[test]
fn an_error_is_where_its_author_put_it_though_the_text_was_changed() {
    let error = rendered("a{% if 1 < 2 %}b{% endif %}\nc {{ outputs.plan | upper }} {{ nope }}").unwrap_err();
    assert_eq!(error.at().map(|at| (at.line, at.column)), Some((2, 33)), "{error}");
    let error = value("inputs.level < 4 and outputs.plan != '' and nope.x").unwrap_err();
    assert!(error.at().is_some_and(|at| (45..=50).contains(&at.column)), "{error}");
}

#[test]
fn values_of_different_kinds_have_no_order() {
    let inputs =
        [("n", json!(3)), ("z", json!(null)), ("t", json!("12")), ("l", json!(["1"])), ("b", json!(true))];
    let mut scope = Scope::new("", &inputs.map(|(name, value)| (name.to_owned(), value)).into());
    scope.set_output(&NodeId::new("n"), NodeOutput { text: "2".into(), ..NodeOutput::default() });
    let wrong = |text: &str| evaluate(&Expression(text.into()), &scope).unwrap_err().message();
    assert_eq!(
        wrong("outputs.n >= 5"),
        "`>=` cannot compare `outputs.n`, which is text, with `5`, which is a number: \
         write `outputs.n | int >= 5`"
    );
    for text in [
        "outputs.n < 1",
        "1 > outputs.n",
        "outputs.n.text <= inputs.n",
        "outputs.n | length > '0'",
        "inputs.z < 3",
        "3 > inputs.z",
        "inputs.z < inputs.z",
        "inputs.l > 'a'",
        "inputs.b < 2",
        "1 < inputs.n < inputs.t",
        "not (inputs.n + 1 > inputs.t) and true",
        "[1 < 2, inputs.t < 3][0]",
        "1 if inputs.t < 3 else 2",
        "outputs.n is lt 3",
        "outputs.n is ge(3)",
        "outputs.n is not greaterthan 3",
        "[1, '2'] | select('gt', 0) | list",
        "[1, '2'] | select('<=', 0) | list",
    ] {
        let what = wrong(text);
        assert!(what.contains("cannot compare"), "{text}: {what}");
    }
    assert!(wrong("inputs.z < 3").contains("is not none"), "{}", wrong("inputs.z < 3"));
    for text in
        ["{% if outputs.n > 1 %}x{% endif %}", "{% for a in [1] if a < 'x' %}{% endfor %}", "{{ 1 < '2' }}"]
    {
        assert!(
            render(&Template(text.into()), &scope).unwrap_err().message().contains("cannot compare"),
            "{text}"
        );
    }
    for (text, is) in [
        ("outputs.n | int >= 2", true),
        ("outputs.n|int<inputs.n", true),
        ("1 < inputs.n <= 3.0", true),
        ("1 < 5 < inputs.n", false),
        ("'a' < 'b' and not 2 < 1", true),
        ("-1 < 2 - 1 == true", true),
        ("(1 < 2) and (3 > (2 if 1 < 2 else 9))", true),
        ("{'a': 1 < 2, 'b': 2}.a", true),
        ("[1, 2] < [1, 3]", true),
        ("inputs.z is not none and inputs.z < 3", false),
        ("inputs.n is gt 2 and 2 is le 2", true),
        ("range(5) | select('lt', 2) | list | length < 3", true),
        ("inputs.t in ['12'] and 1 < 2 in [2]", true),
    ] {
        assert_eq!(
            evaluate(&Expression(text.into()), &scope).map(|value| value == json!(true)),
            Ok(is),
            "{text}"
        );
    }
}

#[test]
fn a_task_without_a_priority_goes_behind_any_number() {
    let mut scope = Scope::new("", &[].into());
    for (task, is_before) in
        [(json!({"priority": null}), false), (json!({}), false), (json!({"priority": 1}), true)]
    {
        scope.set_task(Some(&task));
        for (text, is) in [("task.priority < 3", is_before), ("3 <= task.priority", !is_before)] {
            assert_eq!(is_true(&Expression(text.into()), &scope), Ok(is), "{task} {text}");
        }
    }
}

#[test]
fn work_and_text_are_bounded() {
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    assert_eq!(rendered(endless), Err(TemplateError::TooMuchWork));
    let long = "{% for a in range(9999) %}{{ 'x' * 1000 }}{% endfor %}";
    assert_eq!(rendered(long), Err(TemplateError::TooMuchText { limit: MAX_OUTPUT }));
    let source = "x{{ 1 }}".repeat(MAX_SOURCE);
    assert!(matches!(rendered(&source), Err(TemplateError::TooLong { .. })));
    assert_eq!(text_of("{{ 'a\nb' | indent(99999999999) }}").len(), MAX_INDENT + 3);
}

#[test]
fn a_chain_without_end_is_refused_and_not_followed() {
    let chains = [
        format!("{{{{ a{} }}}}", ".b".repeat(60_000)),
        format!("{{{{ {} 1 }}}}", "not ".repeat(50_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(100_000)),
        format!("{{{{ 1{} }}}}", "+1".repeat(60_000)),
        format!("{{{{ {}1{} }}}}", "(".repeat(60_000), ")".repeat(60_000)),
        format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(20_000)),
        "{% if a %}".repeat(20_000),
        "{% for a in b %}".repeat(10_000),
        format!("{{{{ 1{} }}}}", " if 1 else 1".repeat(10_000)),
    ];
    for chain in &chains {
        assert!(rendered(chain).is_err());
        assert!(names_used(&Template(chain.clone())).is_err());
    }
    let just_allowed = format!("{{{{ a{} }}}}", ".b".repeat(MAX_TOKENS / 2 - 2));
    assert!(names_used(&Template(just_allowed)).is_ok());
}

fn paths(template: &str) -> Vec<(String, usize)> {
    let names = names_used(&Template(template.into())).unwrap();
    names
        .uses
        .into_iter()
        .map(|used| (used.path.join("."), used.guards.into_iter().min().unwrap_or(0)))
        .collect()
}

fn one(path: &str, guarded: usize) -> (String, usize) {
    (path.to_owned(), guarded)
}

#[test]
fn the_names_of_a_template_are_known_without_running_it() {
    assert_eq!(paths("{{ input }} {{ inputs.area|upper }}"), [one("input", 0), one("inputs.area", 0)]);
    assert_eq!(paths("{{ outputs['a-b'].value.x[0].y }}"), [one("outputs.a-b.value.x", 0)]);
    assert_eq!(paths("{{ outputs[input].text }}"), [one("outputs", 0), one("input", 0)]);
    assert_eq!(
        paths("{% for t in outputs.a.value %}{{ t.x }}{{ loop.index }}{% endfor %}"),
        [one("outputs.a.value", 0)]
    );
    assert_eq!(
        paths("{% set x = input %}{{ x }}{% raw %}{{ y }}{% endraw %}{# {{ z }} #}"),
        [one("input", 0)]
    );
}

#[test]
fn what_asks_first_guards_what_follows() {
    assert_eq!(
        paths("{% if outputs.a is defined %}{{ outputs.a.text }}{% endif %}"),
        [one("outputs.a", 2), one("outputs.a.text", 2)]
    );
    assert_eq!(
        paths("{% if outputs.a is undefined %}{% else %}{{ outputs.a.text }}{% endif %}"),
        [one("outputs.a", 2), one("outputs.a.text", 2)]
    );
    assert_eq!(
        paths("{{ outputs.a is defined and outputs['a'].failed }}"),
        [one("outputs.a", 2), one("outputs.a.failed", 2)]
    );
    assert_eq!(
        paths("{{ outputs.a is not defined or outputs.a.failed }}").last(),
        Some(&one("outputs.a.failed", 2))
    );
    assert_eq!(
        paths("{{ outputs.a is defined or outputs.a.failed }}").last(),
        Some(&one("outputs.a.failed", 0))
    );
    assert_eq!(paths("{{ outputs.a.text | default('') }}"), [one("outputs.a.text", 3)]);
    assert_eq!(
        paths("{{ outputs.a.text if outputs.a is defined else input }}"),
        [one("outputs.a", 2), one("outputs.a.text", 2), one("input", 0)]
    );
}

#[test]
fn the_words_of_a_template_are_known_too() {
    let names = names_in(&Expression("x | nope is odd and range(3)".into())).unwrap();
    let words: Vec<(WordKind, &str, usize)> =
        names.words.iter().map(|UsedFunction { kind, name, at }| (*kind, name.as_str(), at.offset)).collect();
    assert_eq!(
        words,
        [(WordKind::Test, "odd", 12), (WordKind::Filter, "nope", 4), (WordKind::Function, "range", 20)]
    );
}

#[test]
fn every_word_in_the_lists_exists_and_no_other() {
    let asks = |name: &str, kind: &str| value(&format!("'{name}' is {kind}"));
    for name in WordKind::Filter.known() {
        assert_eq!(asks(name, "filter"), Ok(json!(true)), "{name}");
    }
    for name in WordKind::Test.known() {
        assert_eq!(asks(name, "test"), Ok(json!(true)), "{name}");
    }
    for name in ["safe", "batch", "slice", "format", "pprint", "e"] {
        assert_eq!(asks(name, "filter"), Ok(json!(false)), "{name}");
    }
}

#[test]
fn what_a_condition_always_is_can_be_told() {
    let always = |text: &str| constant(&Expression(text.into()));
    for text in ["true", "1", "not false", "1 < 2", "'a' == 'a'", "input or true"] {
        assert_eq!(always(text), Some(true), "{text}");
    }
    for text in ["false", "0", "''", "false and input", "2 < 1", "none"] {
        assert_eq!(always(text), Some(false), "{text}");
    }
    for text in ["input", "input and true", "outputs.a.failed", "(("] {
        assert_eq!(always(text), None, "{text}");
    }
}

fn any_template() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{ ".to_owned()),
        Just(" }}".to_owned()),
        Just("{% if ".to_owned()),
        Just(" %}".to_owned()),
        Just("{% endif %}".to_owned()),
        Just("{% for x in ".to_owned()),
        Just("{% endfor %}".to_owned()),
        Just("{% set x = ".to_owned()),
        Just("{% raw %}".to_owned()),
        Just("outputs.plan".to_owned()),
        Just("inputs".to_owned()),
        Just("[1, 'é', {}]".to_owned()),
        Just("'\\u00".to_owned()),
        Just(" | ".to_owned()),
        Just(" ** 9999".to_owned()),
        Just("[-5:99:-1]".to_owned()),
        prop::sample::select([FILTERS_AND_SIGNS, &["tojson"]].concat()).prop_map(str::to_owned),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

const FILTERS_AND_SIGNS: &[&str] = &[
    "|join",
    "|indent(99)",
    "|replace('a','b')",
    "|map",
    "|sort",
    "|round(400)",
    "|zip(1)",
    "|sum",
    "(",
    ")",
    ".",
    "~",
    "*",
    "//0",
    "%0",
    " is ",
    " not ",
    " in ",
    ",",
    "=",
];

/// Text full of what means something in a template.
fn any_literal() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            "{", "}", "%", "#", "-", "+", "\"", "'", "\\", " ", "\t", "\n", "\r\n", "{{", "}}", "{%", "%}", "{#",
            "#}", "{%-", "-%}", "{{-", "-}}", "{% raw %}", "{% endraw %}", "{{ input }}", "{% if x %}", "é",
        ])
        .prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

#[test]
fn only_what_would_be_a_tag_is_written_otherwise() {
    let cases = [
        ("fn main() {}\n", "fn main() {}\n"),
        ("{input}", "{input}"),
        ("a {{ b }}", "a {{ \"{{\" }} b }}"),
        ("{{{%", "{{ \"{{{\" }}%"),
        ("  {% if %}\n", "  {{ \"{\" }}% if %}\n"),
        ("{# no", "{{ \"{\" }}# no"),
        ("ends {", "ends {{ \"{\" }}"),
    ];
    for (text, source) in cases {
        assert_eq!(literal(text), source);
        assert_eq!(rendered(source), Ok(text.to_owned()));
    }
}

proptest! {
    #[test]
    fn a_literal_says_what_it_was_made_of(text in any_literal(), other in any_literal()) {
        prop_assert_eq!(rendered(&literal(&text)), Ok(text.clone()));
        let around = format!("{}{{{{ input }}}}{}", literal(&text), literal(&other));
        prop_assert_eq!(rendered(&around), Ok(format!("{text}fix {{{{ it }}}}{other}")));
        prop_assert_eq!(names_used(&Template(literal(&text))).map(|names| names.uses), Ok(Vec::new()));
    }

    #[test]
    fn no_text_makes_a_template_panic(text in any_template()) {
        let _ = rendered(&text);
        let _ = value(&text);
        let _ = names_used(&Template(text.clone()));
        let _ = names_in(&Expression(text.clone()));
        let _ = constant(&Expression(text));
    }

    #[test]
    fn a_value_comes_out_as_it_went_in(text in any::<String>()) {
        let scope = Scope::new(&text, &Default::default());
        prop_assert_eq!(render(&Template("{{ input }}".into()), &scope), Ok(text));
    }

    #[test]
    fn what_is_rendered_was_found_to_be_well_formed(text in any_template()) {
        if rendered(&text).is_ok() {
            prop_assert!(names_used(&Template(text)).is_ok());
        }
    }
}

#[test]
fn what_the_template_engine_stumbles_over_is_an_error() {
    let scope = Scope::new("", &Default::default());
    // An overflow where arithmetic is checked, nothing at all where it is not.
    let backwards = evaluate(&Expression("[1, 2, 3][-5:99:-1]".into()), &scope);
    assert!(
        matches!(&backwards, Err(TemplateError::Failed { .. })) || backwards == Ok(serde_json::json!([]))
    );
}
