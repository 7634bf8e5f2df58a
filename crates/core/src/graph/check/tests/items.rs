//! The items of a list and their results: who wrote them, and what they can be.

use serde_json::json;

use super::*;
use crate::graph::builder::{
    NodeBuilder, Steps, each, each_of, kind::PromptMarker, kind::ShellMarker, shell,
};
use crate::graph::workflow::{Expression, InputKind, Join, ListSource};

fn nothing() -> Vec<String> {
    Vec::new()
}

/// A command that lists numbers and titles.
fn find() -> NodeBuilder<ShellMarker> {
    let issue = json!({
        "type": "object",
        "properties": { "number": { "type": "integer" }, "title": { "type": "string" } },
    });
    shell("gh issue list").output_schema(json!({ "type": "array", "items": issue })).id("find")
}

/// An agent that answers with a kind and a reason.
fn judge() -> NodeBuilder<PromptMarker> {
    let properties = json!({ "kind": { "enum": ["bug", "feature"] }, "why": { "type": "string" } });
    prompt("Judge {{ p.title }}.").schema(json!({ "type": "object", "properties": properties })).id("judge")
}

/// A workflow that judges each issue of a command, then runs this command for each result.
fn about_results(list: &str, command: &str) -> Vec<String> {
    let probes = each("p", "outputs.find.value").each(|b| b.then(judge())).id("probes");
    let results = each("probe", list).each(|b| b.then(shell(command).id("end"))).id("results");
    said(Builder::new("w").start(find()).then(probes).then(results))
}

#[test]
fn an_item_of_a_command_stays_its_item_among_the_results() {
    for list in [
        "outputs.probes.value.items",
        "outputs.probes.value.items | selectattr('status', 'eq', 'completed') | list",
        "(outputs.probes.value.items | sort(attribute='index'))[:3]",
    ] {
        for command in [
            "gh issue edit {{ probe.item.number }}",
            "echo {{ probe.index }} {{ probe.status }} {{ probe.value.kind }}",
        ] {
            assert_eq!(about_results(list, command), nothing(), "{list}: {command}");
        }
        let found = about_results(list, "gh issue edit --title {{ probe.item.title }}");
        let start = "warning: `probe.item.title` is the output of a command";
        assert!(found.len() == 1 && found[0].starts_with(start), "{list}: {found:?}");
    }
    let only_items = "outputs.probes.value.items | map(attribute='item') | list";
    assert_eq!(about_results(only_items, "gh issue edit {{ probe.number }}"), nothing());
    let done = "echo {{ outputs.probes.value.completed }} {{ outputs.probes.value.items[0].item.number }} {{ outputs.probes }}";
    assert_eq!(about_results("outputs.find.value", done), nothing());
}

#[test]
fn the_words_of_an_agent_stay_its_words_among_the_results() {
    let list = "outputs.probes.value.items";
    for (command, name) in [
        ("echo {{ probe.text }}", "probe.text"),
        ("echo {{ probe.value.why }}", "probe.value.why"),
        ("echo {{ probe.value }}", "probe.value"),
        ("echo {{ probe }}", "probe"),
        ("echo {{ outputs.probes.value.items[0].text }}", "outputs.probes.value.items[].text"),
        ("echo {{ outputs.probes.value }}", "outputs.probes.value"),
    ] {
        let found = about_results(list, command);
        let start = format!("error: `{name}` is an agent's text");
        assert!(found.len() == 1 && found[0].starts_with(&start), "{command}: {found:?}");
    }
}

#[test]
fn an_item_of_an_agents_list_is_its_text_through_every_list() {
    let plan = || prompt("x").schema(json!({ "type": "array", "items": { "type": "string" } })).id("plan");
    let first = |steps: fn(Steps) -> Steps| each("p", "outputs.plan.value").each(steps).id("first");
    let again = |command: &str| {
        let second = each("q", "outputs.first.value.items").each(|b| b.then(shell(command).id("end")));
        let first = first(|b| b.then(shell("ls").id("ls")));
        said(Builder::new("w").start(plan()).then(first).then(second.id("second")))
    };
    let printed = again("echo {{ q.text }}");
    assert!(printed.len() == 1 && printed[0].starts_with("warning"), "it is what `ls` prints: {printed:?}");
    assert_eq!(again("echo {{ q.item }}").len(), 1);
    let nested =
        first(|b| b.then(each("q", "[p]").each(|b| b.then(shell("echo {{ q }}").id("end"))).id("inner")));
    assert_eq!(said(Builder::new("w").start(plan()).then(nested)).len(), 1);
}

#[test]
fn two_lists_with_the_same_name_for_an_item_are_not_mixed_up() {
    let item = json!({ "type": "object", "properties": { "title": { "type": "string" } } });
    let plan = prompt("x").schema(json!({ "type": "array", "items": item })).id("plan");
    let issues = each("p", "outputs.find.value").each(|b| b.then(shell("echo {{ p.title }}").id("a")));
    let words = each("p", "outputs.plan.value").each(|b| b.then(judge()));
    let builder = Builder::new("w").start(plan).then(find()).then(words.id("one")).then(issues.id("two"));
    let found = said(builder);
    assert!(found.len() == 1 && found[0].starts_with("warning"), "a title of a command: {found:?}");
}

#[test]
fn the_text_of_an_item_is_that_of_its_last_node() {
    let last = |join: Join| {
        let work = |b: Steps| b.then(judge()).then(shell("ls").id("ls"));
        let probes = each("p", "outputs.find.value").join(join).each(work).id("probes");
        let end = shell("echo {{ outputs.probes.value.items[0].text }}").id("end");
        said(Builder::new("w").start(find()).then(probes).then(end))
    };
    let starts = |join, start: &str| {
        let found = last(join);
        assert!(found.len() == 1 && found[0].starts_with(start), "{found:?}");
    };
    starts(Join::All, "warning");
    // An item that failed has the text of the agent.
    starts(Join::Some, "error");
}

#[test]
fn a_list_that_leads_to_itself_ends_the_search() {
    let ring =
        each("p", "outputs.ring.value.items").each(|b| b.then(shell("echo {{ p.item.value }}").id("end")));
    assert_eq!(said(Builder::new("w").start(ring.id("ring"))).len(), 1, "it is still running");
    let grows = "outputs.ring.value.items[0].item.x";
    let ring = each("p", grows).each(|b| b.then(shell("echo {{ p }}").id("end")));
    assert!(!said(Builder::new("w").start(ring.id("ring"))).is_empty());
}

#[test]
fn an_item_and_its_value_are_compared_with_what_they_can_be() {
    let wrong = |condition: &str| {
        let probes = each("p", "outputs.find.value").each(|b| b.then(judge())).id("probes");
        let end = prompt("end").when(condition).id("end");
        said(Builder::new("w").start(find()).then(probes).then(end))
    };
    assert_eq!(wrong("outputs.probes.value.items[0].value.kind == 'bug'"), nothing());
    assert_eq!(
        wrong("outputs.probes.value.items[0].value.kind == 'bgu'"),
        ["error: `outputs.probes.value.items[].value.kind` is never `bgu` → end.when (did you mean `bug`?)"]
    );
    assert_eq!(
        wrong("outputs.probes.value.items[0].item.number == '1'"),
        [
            "error: `outputs.probes.value.items[].item.number` is never `1` → end.when (did you mean `1`, without quotes?)"
        ]
    );
}

#[test]
fn items_at_once_in_one_workspace_do_not_both_write() {
    let with = |jobs: u32, has_worktree: bool, session: NodeBuilder<PromptMarker>| {
        let probes = each("p", "inputs.areas").jobs(jobs).each(|b| b.then(session.id("fix"))).id("probes");
        let probes = if has_worktree { probes.worktree() } else { probes };
        said(Builder::new("w").required("areas", InputKind::List).start(probes))
    };
    let text =
        "items that run at once have sessions that may change files, in one workspace → probes.each.jobs";
    let hint = "give each item its own with `worktree: true`, or give sessions that only look `tools: read`";
    let writes = || prompt("Fix {{ p }}.");
    assert_eq!(with(3, false, writes()), [format!("warning: {text} ({hint})")]);
    assert_eq!(with(1, false, writes()), nothing());
    assert_eq!(with(3, true, writes()), nothing());
    assert_eq!(with(3, false, writes().reads_only()), nothing());
    let few = |items: Vec<serde_json::Value>| {
        said(
            Builder::new("w")
                .start(each_of("p", items).jobs(3).each(|b| b.then(writes().id("fix"))).id("few")),
        )
    };
    assert_eq!(few(vec![json!("a")]), nothing());
    assert_eq!(few(vec![json!("a"), json!("b")]).len(), 1);
    let called = shell("ls").id("ls");
    let calls = each_of("p", vec![json!(1), json!(2)]).jobs(2).each(|b| b.then(called));
    assert_eq!(said(Builder::new("w").start(calls)), nothing());
}

/// Everything that is said about a prompt and a condition for each item of a list.
fn about_items(list: ListSource, condition: &str, text: &str) -> Vec<String> {
    let closed = json!({
        "type": "object",
        "properties": { "kind": { "enum": ["bug", "feature"] }, "number": { "type": "integer" } },
        "additionalProperties": false,
    });
    let plan = prompt("x").schema(json!({ "type": "array", "items": closed })).id("plan");
    let one = prompt(text).when(condition).id("one");
    let block = match list {
        ListSource::Expression(list) => each("p", list.0),
        ListSource::Literal(items) => each_of("p", items),
    };
    let builder = Builder::new("w").required("names", InputKind::List).start(find()).then(plan);
    let uses = prompt("{{ inputs.names }}{{ outputs.find.value }}{{ outputs.plan.value }}");
    said(builder.then(uses).then(block.each(|b| b.then(one)).id("probes")))
}

fn named(list: &str) -> ListSource {
    ListSource::Expression(Expression(list.to_owned()))
}

#[test]
fn a_part_of_an_item_must_exist() {
    let written = || ListSource::Literal(vec![json!({ "id": "cart", "size": 2 }), json!({ "id": "till" })]);
    let words = || ListSource::Literal(vec![json!("parser"), json!("printer")]);
    for (list, text, expected) in [
        (
            named("outputs.plan.value"),
            "{{ p.kidn }}",
            "error: `p` has no `kidn` → one.prompt (did you mean `kind`?)",
        ),
        (
            named("outputs.plan.value[:2]"),
            "{{ p.x }}",
            "error: `p` has no `x` → one.prompt (it has kind, number)",
        ),
        (
            named("outputs.plan.value | sort"),
            "{{ p.number.x }}",
            "error: `p.number` has no `x`: it is a number → one.prompt",
        ),
        (
            named("outputs.find.value"),
            "{{ p.titel }}",
            "warning: the schema of `p` does not mention `titel` → one.prompt (did you mean `title`?)",
        ),
        (named("inputs.names"), "{{ p.foo }}", "error: `p` has no `foo`: it is text → one.prompt"),
        (
            named("outputs.plan.text | lines"),
            "{{ p.foo }}",
            "error: `p` has no `foo`: it is text → one.prompt",
        ),
        (words(), "{{ p.foo }}", "error: `p` has no `foo`: it is text → one.prompt"),
        (written(), "{{ p.name }}", "error: `p` has no `name` → one.prompt (it has id, size)"),
        (
            named("outputs.plan.value"),
            "{{ outputs.plan.value[0].kidn }}",
            "error: `outputs.plan.value[]` has no `kidn` → one.prompt (did you mean `kind`?)",
        ),
        (
            named("outputs.plan.value"),
            "{% for issue in outputs.plan.value %}{{ issue.kidn }}{% endfor %}",
            "error: `outputs.plan.value[]` has no `kidn` → one.prompt (did you mean `kind`?)",
        ),
        (
            named("outputs.plan.value"),
            "{{ inputs.names[0].x }}",
            "error: `inputs.names[]` has no `x`: it is text → one.prompt",
        ),
    ] {
        assert_eq!(about_items(list, "input", text), [expected], "{text}");
    }
    for (list, text) in [
        (named("outputs.plan.value"), "{{ p }} {{ p.kind }} {{ p.number }} {{ p['kind'] }}"),
        (named("outputs.plan.value"), "{{ p.x | default('') }} {% if p.y is defined %}{{ p.y }}{% endif %}"),
        (
            named("outputs.plan.value"),
            "{{ outputs.plan.value[0].x | default(1) }}{{ outputs.plan.value[0].kind }}",
        ),
        (named("outputs.plan.value"), "{% set p = 1 %}{{ p.x | default(1) }}"),
        (
            named("outputs.plan.value"),
            "{% for i in outputs.plan.value if i.x is defined %}{{ i.x }}{% endfor %}",
        ),
        (named("[outputs.plan.value]"), "{{ p.x }}"),
        (named("inputs.names"), "{{ p }} {{ p[0] }}"),
        (written(), "{{ p.id }} {{ p.size | default(1) }}"),
        (ListSource::Literal(vec![json!("a"), json!({ "id": 1 })]), "{{ p.x }}"),
    ] {
        assert_eq!(about_items(list, "input", text), nothing(), "{text}");
    }
}

#[test]
fn an_item_is_compared_with_what_it_can_be() {
    let words = || ListSource::Literal(vec![json!("parser"), json!("printer")]);
    let written = || ListSource::Literal(vec![json!({ "id": "cart", "size": 2 }), json!({ "id": "till" })]);
    for (list, condition, expected) in [
        (
            named("outputs.plan.value"),
            "p.kind == 'bgu'",
            "error: `p.kind` is never `bgu` → one.when (did you mean `bug`?)",
        ),
        (
            named("outputs.plan.value"),
            "p.number == '1'",
            "error: `p.number` is never `1` → one.when (did you mean `1`, without quotes?)",
        ),
        (
            named("inputs.names"),
            "p == 3",
            "error: `p` is never 3 → one.when (did you mean `\"3\"`, in quotes?)",
        ),
        (
            words(),
            "p in ['parser', 'lexer']",
            "error: `p` is never `lexer` → one.when (it is one of `parser`, `printer`)",
        ),
        (written(), "p.id == 'crat'", "error: `p.id` is never `crat` → one.when (did you mean `cart`?)"),
    ] {
        assert_eq!(about_items(list, condition, "x"), [expected], "{condition}");
    }
    for (list, condition) in [
        (named("outputs.plan.value"), "p.kind == 'bug' and p.number > 1"),
        (named("outputs.find.value"), "p.title == 'x'"),
        (named("inputs.names"), "p == 'x'"),
        (words(), "p == 'parser'"),
        (written(), "p.size == 2 or p.id == 'till'"),
    ] {
        assert_eq!(about_items(list, condition, "x"), nothing(), "{condition}");
    }
}

#[test]
fn a_result_has_only_the_parts_of_a_result() {
    let wrong = |text: &str| {
        let probes =
            each_of("p", vec![json!({ "id": 1 })]).each(|b| b.then(shell("ls").id("ls"))).id("probes");
        said(Builder::new("w").start(probes).then(prompt(text).id("end")))
    };
    for part in ["item.id", "index", "status", "text", "value", "branch"] {
        assert_eq!(wrong(&format!("{{{{ outputs.probes.value.items[0].{part} }}}}")), nothing(), "{part}");
    }
    let item = "outputs.probes.value.items[]";
    assert_eq!(
        wrong("{% for probe in outputs.probes.value.items %}{{ probe.statsu }}{% endfor %}"),
        [format!("error: `{item}` has no `statsu` → end.prompt (did you mean `status`?)")]
    );
    assert_eq!(
        wrong("{{ outputs.probes.value.items[0].item.name }}"),
        [format!("error: `{item}.item` has no `name` → end.prompt (it has id)")]
    );
}
