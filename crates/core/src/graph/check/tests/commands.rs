//! Command lines: the words of agents and people in them, and what `sh` does not understand.

use serde_json::json;

use super::*;
use crate::graph::builder::{
    LoopRounds, NodeBuilder, ask, check_all, each, kind::ShellMarker, shell, task_loop, wait, wait_for,
    workflow,
};
use crate::graph::workflow::{InputKind, WorkflowInput};

fn nothing() -> Vec<String> {
    Vec::new()
}

fn with_choices(name: &str) -> WorkflowInput {
    WorkflowInput { choices: vec![json!("low"), json!("high")], ..WorkflowInput::new(name, InputKind::Text) }
}

/// A workflow with everything whose text may be part of a command, and a last node with this command.
fn running(command: &str) -> Builder {
    let schema = json!({
        "type": "object",
        "properties": {
            "free": { "type": "string" },
            "n": { "type": "integer" },
            "ok": { "type": ["boolean", "null"] },
            "kind": { "enum": ["bug", "feature"] },
            "one": { "const": "x" },
            "maybe": { "anyOf": [{ "enum": ["a"] }, { "type": "number" }] },
            "either": { "oneOf": [{ "type": "string" }, { "type": "number" }] },
            "numbers": { "type": "array", "items": { "type": "integer" } },
            "names": { "type": "array", "items": { "type": "string" } },
            "issues": { "type": "array", "items": {
                "type": "object",
                "properties": { "number": { "type": "integer" }, "title": { "type": "string" } },
            } },
            "closed": {
                "type": "object",
                "properties": { "n": { "type": "integer" } },
                "additionalProperties": false,
            },
            "referred": { "$ref": "#/$defs/level" },
        },
        "$defs": { "level": { "enum": [1, 2] } },
    });
    Builder::new("w")
        .optional("area", InputKind::Text, "core")
        .optional("most", InputKind::Integer, 3)
        .input(with_choices("level"))
        .input(WorkflowInput::new("names", InputKind::List))
        .start(prompt("{{ inputs }}").schema(schema).id("v"))
        .then(prompt("x").id("said"))
        .then(prompt("x").schema(json!({ "enum": ["yes", "no"] })).id("word"))
        .then(ask("Name?").id("free"))
        .then(ask("Go?").choices(["yes", "no"]).id("go"))
        .then(wait_for("pushed", None).id("event"))
        .then(wait(std::time::Duration::from_secs(1)).id("pause"))
        .then(shell("git rev-parse HEAD").id("sh"))
        .then(check_all().id("gate"))
        .loop_(LoopRounds::times(2), |b| b.then(prompt("x")))
        .id("rounds")
        .then(shell(command).id("end"))
}

fn about(command: &str) -> Vec<String> {
    let lines = said(running(command));
    lines.into_iter().filter(|line| line.contains("the shell would run")).collect()
}

const HINT: &str = "pass it with `env: { NAME: … }` and write `\"$NAME\"`, or pass it with `stdin`";

#[test]
fn unquoted_words_of_others_in_a_command_are_an_error() {
    let error = |name: &str, whose: &str| {
        format!(
            "error: `{name}` {whose}, and the shell would run it as part of the command → end.shell ({HINT})"
        )
    };
    for (command, name, whose) in [
        ("echo {{ outputs.said }}", "outputs.said", "is an agent's text"),
        ("echo {{ outputs.said.text | trim | upper }}", "outputs.said.text", "is an agent's text"),
        ("echo {{ outputs['said'].text[0] }}", "outputs.said.text[]", "is an agent's text"),
        ("echo {{ outputs.v.value.free }}", "outputs.v.value.free", "is an agent's text"),
        ("echo {{ outputs.v.value }}", "outputs.v.value", "is an agent's text"),
        ("echo {{ outputs.v.value | tojson }}", "outputs.v.value", "is an agent's text"),
        ("echo {{ outputs.v.value.either }}", "outputs.v.value.either", "is an agent's text"),
        ("echo {{ outputs.v.value.unknown }}", "outputs.v.value.unknown", "is an agent's text"),
        ("echo {{ outputs.v.value.names | join(' ') }}", "outputs.v.value.names[]", "is an agent's text"),
        (
            "{% for i in outputs.v.value.issues %}echo {{ i.title }}\n{% endfor %}",
            "outputs.v.value.issues[].title",
            "is an agent's text",
        ),
        (
            "echo {{ outputs.v.value.issues | map(attribute='title') | join(',') }}",
            "outputs.v.value.issues[].title",
            "is an agent's text",
        ),
        ("{% set x = outputs.said.text %}echo {{ x }}", "outputs.said.text", "is an agent's text"),
        ("{% set x %}a {{ outputs.said }}{% endset %}echo {{ x }}", "outputs.said", "is an agent's text"),
        (
            "{% set x = 1 %}{% if iteration is defined %}{% set x = outputs.said %}{% endif %}echo {{ x }}",
            "outputs.said",
            "is an agent's text",
        ),
        ("echo {{ 'a' ~ outputs.said }}", "outputs.said", "is an agent's text"),
        ("echo {{ outputs.said if input else 1 }}", "outputs.said", "is an agent's text"),
        ("echo {{ inputs.area or outputs.said }}", "outputs.said", "is an agent's text"),
        ("echo {{ inputs.area | default(outputs.said) }}", "outputs.said", "is an agent's text"),
        ("echo {{ outputs.free }}", "outputs.free", "is a person's text"),
        ("echo {{ outputs.event.text }}", "outputs.event.text", "is the text of an event"),
        ("echo {{ outputs.rounds }}", "outputs.rounds", "is an agent's text"),
        ("echo {{ feedback }}", "feedback", "may repeat an agent's text"),
        ("# {{ outputs.said }}\nls", "outputs.said", "is an agent's text"),
        ("echo \"a\" {{ outputs.said }} 'b'", "outputs.said", "is an agent's text"),
        ("echo \"$(echo {{ outputs.said }})\"", "outputs.said", "is an agent's text"),
        ("echo \"`echo {{ outputs.said }}`\"", "outputs.said", "is an agent's text"),
        ("echo 'it'\\''s' {{ outputs.said }}", "outputs.said", "is an agent's text"),
        ("echo \\\"{{ outputs.said }}\\\"", "outputs.said", "is an agent's text"),
        ("cat <<E\nx\nE\necho {{ outputs.said }}", "outputs.said", "is an agent's text"),
    ] {
        assert_eq!(about(command), [error(name, whose)], "{command}");
    }
}

#[test]
fn quotes_make_the_words_of_others_a_warning() {
    let warning =
        |why: &str| format!("warning: `outputs.said` is an agent's text, and {why} → end.shell ({HINT})");
    let single = "a `'` in it ends the quotes: the shell would run the rest";
    let double = "quotes do not help: the shell would run a `$(…)` in it";
    let document = "a line in it may end the here-document: the shell would run the rest";
    for (command, why) in [
        ("echo '{{ outputs.said }}'", single),
        ("echo 'a \" {{ outputs.said }}'", single),
        ("echo \"$(echo '{{ outputs.said }}')\"", single),
        ("echo \"{{ outputs.said }}\"", double),
        ("echo \"it's {{ outputs.said }}\"", double),
        ("echo \"{{ outputs.said | tojson }}\"", double),
        ("echo \"${x:-{{ outputs.said }}}\"", double),
        ("cat <<'E'\n{{ outputs.said }}\nE", document),
        ("cat <<-E\n\t{{ outputs.said }}\n\tE", document),
        ("cat <<'A' <<B\n'\nA\n{{ outputs.said }}\nB", document),
        ("cat <<'E'\n{% for x in [1] %}\n{{ outputs.said }}\n{% endfor %}\nE", document),
        ("echo '{{ outputs.said | replace(\"'\", \"'\\\\''\") | replace('a', 'b') }}'", single),
    ] {
        assert_eq!(about(command), [warning(why)], "{command}");
    }
}

#[test]
fn an_input_that_may_be_any_text_is_a_warning() {
    let warning =
        |name: &str, why: &str| format!("warning: `{name}` may be any text, and {why} → end.shell ({HINT})");
    let bare = "the shell would run it as part of the command";
    for (command, name, why) in [
        ("echo {{ input }}", "input", bare),
        ("git switch {{ inputs.area | lower }}", "inputs.area", bare),
        ("echo {{ inputs.names | join(' ') }}", "inputs.names[]", bare),
        ("{% for name in inputs.names %}echo {{ name }}\n{% endfor %}", "inputs.names[]", bare),
        ("echo {{ inputs }}", "inputs", bare),
        ("echo '{{ input }}'", "input", "a `'` in it ends the quotes: the shell would run the rest"),
        (
            "echo \"{{ inputs.area }}\"",
            "inputs.area",
            "quotes do not help: the shell would run a `$(…)` in it",
        ),
    ] {
        assert_eq!(about(command), [warning(name, why)], "{command}");
    }
    let item = each("name", "inputs.names").each(|b| b.then(shell("echo {{ name }}").id("end")));
    assert_eq!(
        said(Builder::new("w").required("names", InputKind::List).start(item)),
        [warning("name", bare)]
    );
}

#[test]
fn a_value_that_cannot_be_any_text_is_left_alone() {
    for command in [
        "echo {{ outputs.v.value.n }} {{ outputs.v.value.ok }} {{ outputs.v.value.kind }}",
        "echo {{ outputs.v.value.one }} {{ outputs.v.value.maybe }} {{ outputs.v.value.referred }}",
        "echo {{ outputs.v.value.numbers | join(' ') }} {{ outputs.v.value.numbers[0] }}",
        "echo {{ outputs.v.value.numbers }} {{ outputs.v.value.closed }} {{ outputs.v.value.closed.n }}",
        "{% for i in outputs.v.value.issues %}gh issue view {{ i.number }} {{ loop.index }}\n{% endfor %}",
        "echo {{ outputs.v.value.issues | map(attribute='number') | join(' ') }}",
        "echo {{ (outputs.v.value.issues | first).number }} {{ outputs.v.value.issues | length }}",
        "echo {{ outputs.said | int }} {{ outputs.said | length }} {{ outputs.said == 'x' }}",
        "echo {{ outputs.said is defined }} {{ 'a' in outputs.said }} {{ not outputs.said }}",
        "echo {{ 'yes' if outputs.said else 'no' }} {{ outputs.v.value.n + 1 }} {{ outputs.said | int + 2 }}",
        "{% if outputs.said == 'x' %}echo x{% endif %}",
        "echo {{ outputs.said.status }} {{ outputs.said.failed }}",
        "echo {{ outputs.go }} {{ outputs.go.text | upper }}",
        "echo {{ outputs.sh }} {{ outputs.gate }} {{ outputs.pause }} {{ outputs.gate.value }}",
        "echo {{ outputs.rounds.value.iteration }}",
        "echo {{ inputs.level }} {{ inputs.most }} {{ run.id }} {{ input | length }}",
        "echo '{{ outputs.said | tojson }}' '{{ outputs.v.value | tojson(indent=2) }}'",
        "echo '{{ outputs.said | replace(\"'\", \"'\\\\''\") }}' '{{ outputs.said | replace(\"'\", '') | trim }}'",
        "{% set x = outputs.said %}{% set x = 1 %}echo {{ x }}",
        "{% raw %}echo {{ outputs.said }}{% endraw %}",
        "{# {{ outputs.said }} #}ls",
    ] {
        assert_eq!(about(command), nothing(), "{command}");
    }
}

#[test]
fn the_answer_of_one_word_is_left_alone_while_no_failure_is_passed_over() {
    let build = |continues: bool| {
        let node = prompt("x").schema(json!({ "enum": ["yes", "no"] })).id("word");
        let node = if continues { node.continue_on_failure() } else { node };
        said(Builder::new("w").start(node).then(shell("echo {{ outputs.word }}").id("end")))
    };
    assert_eq!(build(false), nothing());
    assert_eq!(build(true).len(), 1);
}

#[test]
fn a_workflow_may_give_the_words_of_its_nodes() {
    let registry = registry();
    let mut known = known(&registry);
    for builder in [
        Builder::new("commands").start(shell("ls")).then(shell("pwd")),
        Builder::new("talks").start(prompt("x")).then(shell("ls").id("ls")),
        Builder::new("deep").start(workflow("talks")),
        Builder::new("counts").start(prompt("x").schema(json!({ "type": "integer" })).id("n")),
    ] {
        let workflow = builder.end().expect("a workflow in form");
        known.workflows.insert(workflow.name.clone(), Some(workflow));
    }
    known.workflows.insert("unread".into(), None);
    let found = |name: &str, command: &str| {
        said_by(Builder::new("w").start(workflow(name).id("sub")).then(shell(command).id("end")), &known)
    };
    assert_eq!(found("commands", "echo {{ outputs.sub }}"), nothing());
    assert_eq!(found("counts", "echo {{ outputs.sub.value }}"), nothing());
    for name in ["talks", "deep", "counts", "unread"] {
        assert_eq!(
            found(name, "echo {{ outputs.sub.text }}"),
            [format!(
                "error: `outputs.sub.text` is the text of another workflow, and the shell would run it as \
                 part of the command → end.shell ({HINT})"
            )],
            "{name}"
        );
    }
}

#[test]
fn the_place_of_a_value_is_that_in_the_template() {
    let command = "ls\n{% if input %}\necho {{ outputs.said }}\n{% endif %}";
    let workflow = running(command).end().expect("a workflow in form");
    let registry = registry();
    let findings = check(&workflow, &known(&registry));
    let at = findings.iter().find(|finding| finding.field == "shell").and_then(|finding| finding.at);
    assert_eq!(at.map(|at| (at.line, at.column)), Some((3, 9)));
}

fn bash(command: &str) -> Vec<String> {
    let lines = said(Builder::new("w").start(shell(command).id("end")));
    let only = lines.iter().filter_map(|line| {
        line.strip_prefix("warning: ")?
            .strip_suffix(
                " needs bash, but `sh` runs this command → end.shell (run it with bash: `settings: { shell: bash }`)",
            )
            .map(str::to_owned)
    });
    let only: Vec<String> = only.collect();
    assert_eq!(only.len(), lines.len(), "{lines:?}");
    only
}

#[test]
fn what_only_bash_understands_is_a_warning() {
    for (command, what) in [
        ("[[ -n $x ]] && ls", "`[[ … ]]`"),
        ("if [[ $x =~ ^(a|b)$ && -f y ]]; then ls; fi", "`[[ … ]]`"),
        ("files=(a b 'c d')", "`a=(…)`"),
        ("x=1 files+=(a)", "`a=(…)`"),
        ("a+=b", "`a+=b`"),
        ("a[0]=b", "`a[0]=b`"),
        ("set -o pipefail", "`set -o pipefail`"),
        ("set -euo pipefail\nls | wc", "`set -o pipefail`"),
        ("set -e -o pipefail", "`set -o pipefail`"),
        ("source ./env", "`source`"),
        ("cd a && source b", "`source`"),
        ("X=1 source b", "`source`"),
        ("cat <<< \"$x\"", "`<<<`"),
        ("diff <(ls a) <(ls b)", "`<(…)`"),
        ("ls > >(tee log)", "`<(…)`"),
        ("function f { ls; }", "`function`"),
        ("function f() { ls; }", "`function`"),
        ("x=$(<file)", "`$(<…)`"),
        ("echo \"$( < $file )\"", "`$(<…)`"),
        ("echo \"${a[@]}\"", "`${a[…]}`"),
        ("echo ${x,,}", "`${x,,}`"),
        ("echo \"${x^}\"", "`${x^^}`"),
        ("echo ${x/a/b}", "`${x/a/b}`"),
        ("echo ${x:0:3}", "`${x:0:1}`"),
        ("echo ${!name}", "`${!name}`"),
        ("cat <<E\n${x,,}\nE", "`${x,,}`"),
        ("make &> log", "`&>`"),
        ("make &>> log", "`&>`"),
        ("make |& tee log", "`|&`"),
        ("make >& log", "`>&` with a file"),
        ("printf $'a\\'b'", "`$'…'`"),
        ("let x=1", "`let`"),
        ("declare -A m", "`declare`"),
        ("[ \"$a\" == b ]", "`==` in `[ … ]`"),
        ("if test a == b; then ls; fi", "`==` in `[ … ]`"),
        ("mkdir -p src/{a,b}", "`{a,b}`"),
        ("for i in {1..5}; do ls; done", "`{a,b}`"),
        ("for ((i=0; i<3; i++)); do ls; done", "`((…))`"),
        ("((i++))", "`((…))`"),
        ("if (( n > 3 )); then ls; fi", "`((…))`"),
        ("x=$((i++))", "`$((i++))`"),
        ("x=$((2 ** 3))", "`$((a ** b))`"),
        ("read -a parts", "this option of `read`"),
        ("echo -e 'a\\nb'", "`echo -e`"),
        ("sleep $((RANDOM % 5)) $RANDOM", "`$RANDOM`"),
        ("x=\"$(source y)\"", "`source`"),
        ("f() { source y; }", "`source`"),
        ("case $x in a) source y ;; esac", "`source`"),
        ("trap 'echo no' ERR", "`trap … ERR`"),
        ("{% if input %}source a{% endif %}", "`source`"),
    ] {
        assert_eq!(bash(command), [what], "{command}");
    }
    let all = "set -euo pipefail\nsource a\nsource b\n[[ -f x ]]";
    assert_eq!(bash(all), ["`set -o pipefail`", "`source`", "`[[ … ]]`"]);
}

#[test]
fn what_sh_understands_is_left_alone() {
    for command in [
        "echo '[[ a ]]' \"source x\" # source x [[",
        "cat <<'E'\nsource x\n${x,,} [[ $(( i++ ))\nE",
        "cat <<E\nsource x {a,b} <<< &> a=(b)\nE",
        "bash -c 'set -o pipefail; source x'",
        "bash <<'E'\nset -euo pipefail\n[[ -f x ]]\nE",
        "echo source let declare function",
        "git log --format='%h {a,b}'",
        "awk '{print $1,$2}' f",
        "find . -name x -exec rm {} +",
        "git show HEAD@{1} stash@{0}",
        "[ \"$a\" = b ] && [ \"$x\" = '==' ]",
        "set -eu; set -o errexit",
        "x=$(( a + 1 )) y=$((a--1)) z=$((a*b))",
        "echo ${x:-a} ${x:=b} ${x:+c} ${x:?d} ${x#a} ${x##a} ${x%b} ${x%%b} $# $! ${!}",
        "{% raw %}echo ${#x} ${#}{% endraw %}",
        "echo \"${x:-{a,b}}\"",
        "ls > log 2>&1 && ls >&2 2>&1 <&3",
        "sleep 1 & wait",
        "(cd a && ls) && ((cd b && ls) | wc)",
        "case $x in source) ls ;; a|let) ls ;; (*) ls ;; esac",
        "case $x in\n  declare)\n    ls\n    ;;\nesac\nls",
        "f() { local x; x=1; }",
        ". ./env",
        "read -r line",
        "x=$(<file sort) && ls $(cat <file) $(<a cat | wc)",
        "printf '%s' \"$x\" | while read -r a; do echo \"$a\"; done",
        "echo \"it's\" \\' 'a\"b'",
        "curl -d '{\"a\":1,\"b\":2}' -H {\"a\":1,\"b\":2}",
        "for f in *.rs; do wc \"$f\"; done",
        "test a -eq b || exit 1",
        "echo $",
        "x='a' ; echo \"$x\"'[['",
        "echo a#b {{ run.id }}",
        "trap 'rm x' EXIT INT",
        "echo 'never closed; source x",
        "time make",
    ] {
        assert_eq!(bash(command), nothing(), "{command}");
    }
}

#[test]
fn a_check_that_needs_bash_is_a_warning() {
    let builder = work().check("all", "set -o pipefail; make | tee log").then(check_all().id("gate"));
    assert_eq!(
        said(builder),
        ["warning: `set -o pipefail` needs bash, but `sh` runs this command → checks[all] \
          (call bash in it: `bash -c '…'`)"]
    );
}

proptest::proptest! {
    #[test]
    fn any_command_can_be_read(command in "[a-z '\"$(){}\\[\\]<>&|;`#=!,.\\\\\n{%}]{0,60}") {
        let _ = said(Builder::new("w").start(shell(command).id("end")));
    }
}

#[test]
fn a_check_is_no_template() {
    let said_of = |command: &str| said(work().check("all", command).then(check_all().id("gate")));
    assert_eq!(
        said_of("make {{ inputs.target }}"),
        ["error: a check is no template, so the shell gets `{{ inputs … }}` as it is → checks[all] \
          (set a variable in `env` of the workflow, and use it in the check: `\"$NAME\"`)"]
    );
    for sound in ["docker ps --format '{{.ID}}'", "echo '{{ input_file }}'", "make \"$TARGET\""] {
        assert_eq!(said_of(sound), Vec::<String>::new(), "{sound}");
    }
}

/// What the check says about the command `end` after `before`.
fn about_output_of(before: NodeBuilder<ShellMarker>, command: &str) -> Vec<String> {
    let plan = prompt("x").schema(json!({ "type": "object", "properties": {
        "why": { "type": "string" }, "n": { "type": "integer" },
    } }));
    said(Builder::new("w").start(plan.id("plan")).then(before.id("sh")).then(shell(command).id("end")))
}

#[test]
fn what_a_command_prints_may_be_any_text() {
    for end in
        ["echo {{ outputs.sh.text }}", "echo {{ outputs.sh.stdout }}", "echo \"{{ outputs.sh.text }}\""]
    {
        let found = about_output_of(shell("gh issue view 1"), end);
        let start = format!(
            "warning: `outputs.sh.{}` is the output of a command",
            if end.contains("stdout") { "stdout" } else { "text" }
        );
        assert!(found.len() == 1 && found[0].starts_with(&start), "{end}: {found:?}");
    }
    for end in [
        "echo '{{ outputs.sh.text | replace(\"'\", \"'\\\\''\") }}'",
        "echo {{ outputs.sh.text | int }} {{ outputs.sh.exit_code }} {{ outputs.sh.text | length }}",
    ] {
        assert_eq!(about_output_of(shell("gh issue view 1"), end), nothing(), "{end}");
    }
    let passed = shell("echo \"$T\"").env("T", "{{ outputs.sh.text }}").stdin("{{ outputs.sh.text }}");
    let before = shell("gh issue view 1").id("sh");
    assert_eq!(said(Builder::new("w").start(before).then(passed.id("end"))), nothing());
}

#[test]
fn numbers_and_hashes_that_commands_print_are_safe() {
    for plain in [
        "git rev-parse HEAD",
        "git -C sub rev-parse --short HEAD",
        "git add -A\ngit commit -qm \"{{ run.id }}\" && git rev-parse HEAD",
        "cd sub && git log -1 --format=%H",
        "if test -f a; then echo yes; else echo no; fi",
        "git log --oneline | wc -l | tr -d ' '",
        "gh issue list --json number | jq length",
        "gh pr view --json number --jq .number",
        "cat a > b; date +%s",
        "N=3; mktemp -d > /dev/null; true",
    ] {
        let plain_command = shell(plain).stdin("{{ outputs.plan.value.why }}");
        assert_eq!(about_output_of(plain_command, "echo {{ outputs.sh.text }}"), nothing(), "{plain}");
    }
    for other in [
        "git log -1",
        "git branch --show-current",
        "git rev-parse --abbrev-ref HEAD",
        "echo \"$X\"",
        "cat a",
        "date; ls",
        "cat a 2> b",
    ] {
        assert_eq!(about_output_of(shell(other), "echo {{ outputs.sh.text }}").len(), 1, "{other}");
    }
    let schema =
        json!({ "type": "object", "properties": { "n": { "type": "integer" }, "t": { "type": "string" } } });
    let typed = || shell("gh x").output_schema(schema.clone());
    assert_eq!(about_output_of(typed(), "echo {{ outputs.sh.value.n }}"), nothing());
    assert_eq!(about_output_of(typed(), "echo {{ outputs.sh.value.t }}").len(), 1);
}

#[test]
fn the_words_of_an_agent_stay_its_words_behind_commands() {
    let relays = [
        shell("cat").stdin("{{ outputs.plan.value.why }}"),
        shell("printf %s \"$WHY\"").env("WHY", "{{ outputs.plan.value.why }}"),
    ];
    for relay in relays {
        let found = about_output_of(relay, "echo {{ outputs.sh.text }}");
        let start = "error: `outputs.sh.text` may repeat the text of an agent or a person";
        assert!(found.len() == 1 && found[0].starts_with(start), "{found:?}");
    }
    let number = shell("cat").stdin("{{ outputs.plan.value.n }}");
    assert!(about_output_of(number, "echo {{ outputs.sh.text }}")[0].starts_with("warning"));
    let chain = shell("cat").stdin("{{ outputs.first.text }}").id("second");
    let first = shell("cat").stdin("{{ outputs.plan.text }}").id("first");
    let end = shell("echo {{ outputs.second.text }}").id("end");
    let found = said(Builder::new("w").start(prompt("x").id("plan")).then(first).then(chain).then(end));
    assert!(found.len() == 1 && found[0].starts_with("error"), "{found:?}");
}

#[test]
fn the_words_of_a_task_may_be_any_text() {
    let all = |command: &str| {
        let body =
            |steps: crate::graph::builder::Steps| steps.then(shell(command).id("end")).then(prompt("x"));
        said(Builder::new("w").start(task_loop().each(body)))
    };
    let found = all("echo {{ task.name }}");
    assert!(found.len() == 1 && found[0].starts_with("warning: `task.name` may be any text"), "{found:?}");
    assert_eq!(all("echo {{ task.priority }}"), nothing());
}
