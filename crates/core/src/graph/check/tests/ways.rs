//! Ways through a workflow: what has run by then, what is never reached, what never ends, and
//! which gates hold.

use std::time::Duration;

use super::*;
use crate::graph::builder::{
    LoopRounds, ParallelBranches, Steps, agent, ask, check_all, criteria_loop, land, pull_request, shell,
    task_loop, turns, wait, workflow,
};
use crate::graph::workflow::{Budget, Join};

fn use_of(id: &str) -> crate::graph::builder::NodeBuilder<crate::graph::builder::kind::PromptMarker> {
    prompt(format!("{{{{ outputs.{id}.text }}}}")).id("use")
}

fn nothing() -> Vec<String> {
    Vec::new()
}

const LEFT_OUT: &str = "warning: the run may skip `a`, which then has no output → use.prompt (test it first: `outputs.a is defined`)";

#[test]
fn an_output_of_the_way_that_was_taken_is_there_sometimes() {
    let builder =
        |text: &str| work().if_("input", |b| b.then(prompt("x").id("a")), |b| b).then(prompt(text).id("use"));
    assert_eq!(said(builder("{{ outputs.a.text }}")), [LEFT_OUT]);
    assert_eq!(said(builder("{% if outputs.a is defined %}{{ outputs.a.text }}{% endif %}")), nothing());
    assert_eq!(said(builder("{{ outputs.a | default('none') }}")), nothing());
    assert_eq!(said(builder("{{ outputs.a.text | default('none') }}")), nothing());
    assert_eq!(said(builder("{{ outputs.a.text if outputs.a.text is defined }}")), nothing());
    assert_eq!(said(builder("{{ outputs.a.status if outputs.a.text is defined }}")), nothing());
    // The default of another part says nothing about this one.
    assert_eq!(said(builder("{{ outputs.a.status | default('') }} {{ outputs.a.text }}")), [LEFT_OUT]);
}

#[test]
fn a_condition_of_a_node_makes_sure_of_an_output() {
    let before = || work().then(prompt("x").id("a").when("input"));
    assert_eq!(said(before().then(use_of("a").when("outputs.a is defined"))), nothing());
    assert_eq!(said(before().then(use_of("a").when("outputs.a is defined and not input"))), nothing());
    assert_eq!(said(before().then(use_of("a").when("outputs.a is defined or input"))), [LEFT_OUT]);
    let tested = |then: fn(Steps) -> Steps, otherwise: fn(Steps) -> Steps| {
        said(before().if_("outputs.a is undefined", then, otherwise))
    };
    assert_eq!(tested(one, |b| b.then(use_of("a"))), nothing());
    assert_eq!(tested(|b| b.then(use_of("a")), one), [LEFT_OUT]);
    // It holds inside the `if` alone.
    let after = before().if_("outputs.a is defined", |b| b.then(prompt("b")), |b| b).then(use_of("a"));
    assert_eq!(said(after), [LEFT_OUT]);
}

#[test]
fn an_output_of_a_node_that_may_be_left_out_is_there_sometimes() {
    assert_eq!(said(work().then(prompt("x").id("a").when("input")).then(use_of("a"))), [LEFT_OUT]);
    let tasks = task_loop().each(|task| task.then(prompt("x").id("a")));
    assert_eq!(said(work().then(tasks).then(use_of("a"))), [LEFT_OUT]);
    let lanes = |join| {
        move |lanes: ParallelBranches| {
            lanes
                .join(join)
                .branch("x", |b| b.then(agent("reader").id("a")))
                .branch("y", |b| b.then(agent("reader")))
        }
    };
    assert_eq!(said(work().parallel(lanes(Join::Any)).then(use_of("a"))), [LEFT_OUT]);
    assert_eq!(said(work().parallel(lanes(Join::All)).then(use_of("a"))), nothing());
}

#[test]
fn an_output_of_the_other_way_is_never_there() {
    let builder = work().if_("input", |b| b.then(prompt("x").id("a")), |b| b.then(use_of("a")));
    assert_eq!(said(builder), ["error: `a` is in the other branch of the `if` → use.prompt"]);
    let builder = work().if_("input", |b| b.then(use_of("a")), |b| b.then(prompt("x").id("a")));
    assert_eq!(said(builder), ["error: `a` is in the other branch of the `if` → use.prompt"]);
}

#[test]
fn an_output_of_a_branch_beside_is_never_sure() {
    let builder = work().parallel(|lanes| {
        lanes
            .branch("x", |b| b.then(agent("reader").id("a")))
            .branch("y", |b| b.then(agent("reader").prompt("{{ outputs.a }}").id("use")))
    });
    assert_eq!(
        said(builder),
        [
            "error: `a` is in another branch, and a branch sees no outputs of the others → use.prompt (use its output after the `parallel` node, or run the nodes one after the other)"
        ]
    );
}

#[test]
fn in_a_loop_a_later_output_is_that_of_the_round_before() {
    let builder = |text: &str| {
        work()
            .loop_(LoopRounds::times(3), |round| round.then(prompt(text).id("use")).then(prompt("x").id("a")))
    };
    assert_eq!(
        said(builder("{{ outputs.a.text }}")),
        [
            "warning: `a` has no output in the first iteration → use.prompt (test it first: `outputs.a is defined`)"
        ]
    );
    assert_eq!(said(builder("{{ outputs.a.text if outputs.a is defined else '' }}")), nothing());
}

const FIRST: &str =
    "warning: `a` has no output in the first iteration → use.prompt (test it first: `outputs.a is defined`)";

/// Returns the findings for a loop whose first node uses the output of its last, with this text and `when`.
fn second_round(text: &str, when: Option<&str>) -> Vec<String> {
    let node = prompt(text).id("use");
    let node = if let Some(when) = when { node.when(when) } else { node };
    said(work().loop_(LoopRounds::times(5), |round| round.then(node).then(prompt("x").id("a"))))
}

#[test]
fn the_second_round_has_the_outputs_of_the_first() {
    for condition in [
        "iteration > 1",
        "iteration >= 2",
        "iteration != 1",
        "1 < iteration",
        "2 <= iteration",
        "not iteration == 1",
        "not (iteration < 2)",
        "iteration == 3",
        "1 < iteration < 4",
        "iteration is gt 1",
        "iteration is ne(1)",
        "iteration > 1 and input",
        "input and iteration > 2",
        "iteration == 2 or iteration == 3",
    ] {
        let texts = [
            format!("{{% if {condition} %}}{{{{ outputs.a.text }}}}{{% endif %}}"),
            format!("{{{{ outputs.a.text if {condition} else '' }}}}"),
            format!("{{{{ ({condition}) and outputs.a.text == 'x' }}}}"),
            format!("{{% if not ({condition}) %}}first{{% else %}}{{{{ outputs.a }}}}{{% endif %}}"),
        ];
        for text in texts {
            assert_eq!(second_round(&text, None), nothing(), "{text}");
        }
        assert_eq!(second_round("{{ outputs.a.text }}", Some(condition)), nothing(), "{condition}");
        assert_eq!(second_round("x", Some(&format!("({condition}) and outputs.a == 'x'"))), nothing());
    }
    let own = "{% set n = iteration %}{% if n > 1 %}{{ outputs.a.text }}{% endif %}";
    assert_eq!(second_round(own, None), nothing());
    for condition in [
        "iteration > 0",
        "iteration >= 1",
        "iteration == 1",
        "iteration != 2",
        "iteration < 3",
        "iteration > 1 or input",
        "input",
        "iteration % 2 == 0",
        "iteration | string > '1'",
    ] {
        let text = format!("{{% if {condition} %}}{{{{ outputs.a.text }}}}{{% endif %}}");
        assert_eq!(second_round(&text, None), [FIRST], "{condition}");
        assert_eq!(second_round("{{ outputs.a.text }}", Some(condition)), [FIRST], "{condition}");
    }
}

#[test]
fn the_second_round_lacks_what_the_first_may_have_skipped() {
    let when = |condition: &'static str| {
        work().loop_(LoopRounds::times(5), move |round| {
            round.then(use_of("a").when("iteration > 1")).then(prompt("x").id("a").when(condition))
        })
    };
    assert_eq!(said(when("input")), [LEFT_OUT]);
    // It ran in the first iteration alone, and the run forgets the output when it skips the node.
    assert_eq!(said(when("iteration == 1")), [LEFT_OUT]);
    assert_eq!(said(when("iteration >= 1")), nothing());
    let in_block =
        |block: fn(Steps) -> Steps| {
            said(work().loop_(LoopRounds::times(5), move |round| {
                block(round.then(use_of("a").when("iteration > 1")))
            }))
        };
    assert_eq!(in_block(|b| b.if_("input", |b| b.then(prompt("x").id("a")), |b| b)), [LEFT_OUT]);
    let inner = |b: Steps| b.loop_(LoopRounds::times(2), |b| b.then(prompt("x").id("a")));
    assert_eq!(in_block(inner), nothing());
    let tasks = |b: Steps| b.then(task_loop().each(|task| task.then(prompt("x").id("a"))));
    assert_eq!(in_block(tasks), [LEFT_OUT]);
}

#[test]
fn iteration_is_that_of_the_innermost_loop() {
    let nested = |text: &'static str, when: &'static str| {
        said(work().loop_(LoopRounds::times(2), move |outer| {
            let inner = |inner: Steps| inner.then(prompt(text).id("use"));
            outer.if_(when, |then| then.loop_(LoopRounds::times(2), inner), |b| b).then(prompt("x").id("a"))
        }))
    };
    let guarded = "{% if iteration > 1 %}{{ outputs.a.text }}{% endif %}";
    assert_eq!(nested(guarded, "input"), [FIRST]);
    assert_eq!(nested("{{ outputs.a.text }}", "iteration > 1"), nothing());
    // A task loop starts a task while others are not done.
    let tasks = task_loop().each(|task| task.then(prompt(guarded).id("use")).then(prompt("x").id("a")));
    assert_eq!(said(work().then(tasks)), [FIRST]);
}

#[test]
fn a_node_of_the_same_iteration_has_run_under_the_same_condition() {
    let same = |when: &'static str| {
        said(work().loop_(LoopRounds::times(5), move |round| {
            round.then(prompt("x").id("a").when("iteration <= 2")).then(use_of("a").when(when))
        }))
    };
    assert_eq!(same("iteration == 1"), nothing());
    assert_eq!(same("iteration < 3 and input"), nothing());
    assert_eq!(same("iteration <= 3"), [LEFT_OUT]);
    assert_eq!(same("iteration > 1"), [LEFT_OUT]);
}

#[test]
fn in_a_loop_too_the_run_forgets_the_other_branch() {
    let builder = work().loop_(LoopRounds::times(5), |round| {
        round.if_("input", |b| b.then(prompt("x").id("a")), |b| b.then(use_of("a").when("iteration > 1")))
    });
    assert_eq!(said(builder), ["error: `a` is in the other branch of the `if` → use.prompt"]);
}

#[test]
fn a_loop_sees_its_round_and_not_itself() {
    let builder = |until: &str| {
        work().loop_(LoopRounds::until(until).max(3), |round| round.then(prompt("x").id("a"))).id("l")
    };
    assert_eq!(said(builder("outputs.a.failed")), nothing());
    assert_eq!(
        said(builder("outputs.l.failed")),
        ["error: `l` is still running, so it has no output yet → l.loop.until[0]"]
    );
    assert_eq!(
        said(Builder::new("w").start(use_of("use"))),
        ["error: `use` uses its own output → use.prompt"]
    );
}

#[test]
fn conditions_that_decide_nothing_are_said() {
    let builder = work()
        .then(prompt("x").id("a").when("false"))
        .then(prompt("x").id("b").when("1 < 2"))
        .if_("false", |b| b.then(prompt("x").id("c")), |b| b.then(prompt("y")))
        .loop_(LoopRounds::until("true").or("false").max(2), |b| b.then(prompt("z")));
    assert_eq!(
        said(builder),
        [
            "warning: this node never runs: `when` is never true → a.when",
            "warning: `when` is always true → b.when",
            "warning: the condition is never true → if.if",
            "warning: this node is never reached: it is in `then` of an `if` that is never true → c.prompt",
            "warning: `until` is always true: the loop runs once → loop.loop.until[0]",
            "warning: `until` is never true → loop.loop.until[1]",
        ]
    );
}

#[test]
fn an_if_that_is_always_true_may_be_meant_to_catch_a_failure() {
    let always = "warning: the condition is always true → if.if (to catch a failure, use `try` with `catch`)";
    for condition in ["true", "1", "not false", "1 == 1", "input or true"] {
        assert_eq!(said(work().if_(condition, one, |b| b)), [always], "{condition}");
    }
}

fn one(steps: Steps) -> Steps {
    steps.then(prompt("x"))
}

#[test]
fn a_loop_needs_an_end() {
    assert_eq!(
        said(
            Builder::new("w").start(prompt("a")).loop_(LoopRounds::default(), one).then(prompt("b").id("b"))
        ),
        [
            "error: nothing ends this loop → loop.loop.max (set `max: 10`)",
            "error: this node is never reached: the loop `loop` before it never ends → b.prompt",
        ]
    );
    let never = LoopRounds::until("false").or("1 > 2");
    assert_eq!(
        said(work().loop_(never, one)),
        ["error: nothing ends this loop → loop.loop.max (set `max: 10`)"],
        "one mistake, one report"
    );
    let money = Budget { cost_usd: Some(5.0), ..Budget::default() };
    assert_eq!(
        said(work().loop_(LoopRounds::default(), one).budget(money)),
        ["warning: only the budget ends this loop → loop.loop.max (set `max: 10`)"]
    );
    assert_eq!(
        said(work().loop_(LoopRounds::until("input"), one)),
        [
            "warning: this loop has no limit: it runs until its condition is true → loop.loop.max (set `max: 10`)"
        ]
    );
    assert_eq!(
        said(work().then(criteria_loop("DONE").each(one))),
        [
            "error: only the signal ends this loop, and an agent may never give it → criteria_loop.criteria_loop.max (max: 20)"
        ]
    );
    assert_eq!(said(work().then(criteria_loop("DONE").max(3).each(one))), nothing());
    assert_eq!(
        said(work().then(task_loop().max(0).each(one))),
        ["warning: only the tasks end this loop → task_loop.task_loop.max (max: 100)"]
    );
    assert_eq!(
        said(Builder::new("w").start(prompt("x").turns(turns(0)).id("t"))),
        ["error: nothing ends these turns → t.turns.max (max: 10, or a `marker`)"]
    );
    let marked = crate::graph::workflow::TurnLoop { marker: Some("DONE".into()), ..turns(0) };
    assert_eq!(said(Builder::new("w").start(prompt("x").turns(marked))), nothing());
    let as_the_settings_say = crate::graph::workflow::TurnLoop::default();
    assert_eq!(said(Builder::new("w").start(prompt("x").turns(as_the_settings_say))), nothing());
}

#[test]
fn a_task_loop_does_and_tries_something() {
    assert_eq!(
        said(work().then(task_loop().jobs(0).attempts(0).each(one))),
        [
            "error: 0 jobs run no task → task_loop.task_loop.jobs (jobs: 1)",
            "error: 0 attempts run no task → task_loop.task_loop.attempts (attempts: 3)",
        ]
    );
    assert_eq!(said(work().then(task_loop().jobs(4).attempts(1).each(one))), nothing());
}

#[test]
fn what_an_agent_says_says_something() {
    let blank = crate::graph::workflow::TurnLoop {
        marker: Some(" ".into()),
        promise: Some(String::new()),
        blocked: Some("\n".into()),
        ..turns(3)
    };
    assert_eq!(
        said(Builder::new("w").start(prompt("x").turns(blank).id("t"))),
        [
            "error: the marker is empty → t.turns.marker",
            "error: the promise is empty → t.turns.promise",
            "error: the marker is empty → t.turns.blocked",
        ]
    );
}

#[test]
fn what_ends_a_loop_can_be_read() {
    let lost = |signal: &str| said(work().then(criteria_loop(signal).max(3).each(one)));
    for signal in ["> DONE", "`DONE`", "```\nDONE\n```", "    DONE"] {
        let found = lost(signal);
        assert!(found[0].starts_with("error: no agent can say this signal"), "{signal:?}: {found:?}");
        assert!(found[0].contains("criteria_loop.criteria_loop.signal (use plain words"), "{found:?}");
    }
    for max in [0, 3] {
        for promise in ["`a`", "a</promise>", "<promise>a", "<!-- a -->"] {
            let turns = crate::graph::workflow::TurnLoop { promise: Some(promise.into()), ..turns(max) };
            let found = said(Builder::new("w").start(prompt("x").turns(turns).id("t")));
            assert!(found[0].starts_with("error: no agent can keep this promise"), "{promise}: {found:?}");
            assert!(found[0].contains("t.turns.promise (use plain words"), "{found:?}");
        }
        let turns = crate::graph::workflow::TurnLoop {
            marker: Some("> DONE".into()),
            blocked: Some("`STUCK`".into()),
            ..turns(max)
        };
        let found = said(Builder::new("w").start(prompt("x").turns(turns).id("t")));
        assert!(found[0].contains("t.turns.marker (") && found[1].contains("t.turns.blocked ("), "{found:?}");
    }
}

#[test]
fn answers_of_a_question_are_taken_as_they_are() {
    let hint = "write the answer itself";
    assert_eq!(
        said(work().then(ask("Which?").default("{{ input }}").id("q"))),
        [format!("error: the default cannot be a template → q.default ({hint})")]
    );
    assert_eq!(
        said(work().then(ask("Which?").choices(["{{ input }}", "b"]).default("b").id("q"))),
        [format!("error: a choice cannot be a template → q.choices ({hint})")]
    );
    assert_eq!(said(work().then(ask("Which?").default("{ } 5 %").id("q"))), nothing());
}

#[test]
fn a_budget_is_enough_for_the_workflows_that_are_run() {
    let registry = registry();
    let mut known = known(&registry);
    let three = Builder::new("three").start(prompt("a")).then(prompt("b")).then(prompt("c"));
    known.workflows.insert("three".into(), Some(three.end().unwrap()));
    let six = Builder::new("six").start(workflow("three")).then(workflow("three"));
    known.workflows.insert("six".into(), Some(six.end().unwrap()));
    let budget = Budget { turns: Some(5), ..Budget::default() };
    let builder = |name| Builder::new("w").start(workflow(name).id("a").budget(budget)).budget(budget);
    assert_eq!(said_by(builder("three"), &known), Vec::<String>::new());
    let too_few = "error: the budget allows 5 turns, but at least 6 are needed";
    assert_eq!(
        said_by(builder("six"), &known),
        [format!("{too_few} → budget"), format!("{too_few} → a.budget")]
    );
}

#[test]
fn a_budget_is_enough_for_the_least_it_takes() {
    let budget = Budget { turns: Some(2), time_ms: Some(60_000), ..Budget::default() };
    let builder = work()
        .budget(budget)
        .if_("input", |b| b.then(prompt("x")).then(prompt("y")), one)
        .loop_(LoopRounds::times(4), one)
        .then(prompt("z").when("input"))
        .then(wait(Duration::from_secs(90)));
    assert_eq!(
        said(builder),
        [
            "error: the budget allows 2 turns, but at least 6 are needed → budget",
            "error: the budget allows 1m, but the waits take at least 90s → budget",
        ]
    );
    let none = Budget { turns: Some(0), ..Budget::default() };
    assert_eq!(
        said(Builder::new("w").start(prompt("x").id("a").budget(none))),
        ["error: the budget allows 0 turns, but at least 1 is needed → a.budget"]
    );
}

#[test]
fn a_loop_that_no_condition_ends_has_all_of_its_rounds() {
    let one_turn = Budget { turns: Some(1), ..Budget::default() };
    let looping = |rounds| {
        let workflow = Builder::new("w").budget(one_turn).start(prompt("a").id("a").when("input"));
        said(workflow.loop_(rounds, one))
    };
    let too_few = ["error: the budget allows 1 turn, but at least 10 are needed → budget"];
    assert_eq!(looping(LoopRounds::times(10)), too_few);
    assert_eq!(looping(LoopRounds::until("iteration > 3").max(10)), nothing());
}

#[test]
fn a_question_needs_an_answer_where_nobody_is() {
    let registry = registry();
    let mut known = known(&registry);
    known.is_headless = true;
    let builder =
        work().then(ask("Ship?").choices(["yes", "no"]).id("a")).then(ask("?").default("x").id("b"));
    assert_eq!(
        said_by(builder, &known),
        [
            "error: no one can answer, and there is no default → a.default (add an answer for this case: `default: …`)"
        ]
    );
    assert_eq!(
        said(work().then(ask("Ship?").choices(["yes", "no"]).default("nope").id("a"))),
        ["error: the default `nope` is not among the choices → a.default (choices are yes, no)"]
    );
}

const UNGATED: &str = "error: `land` can be reached without passing a check, a review or a person → land.land (put `check: all` before it)";

#[test]
fn a_landing_needs_a_gate_on_every_way() {
    assert_eq!(said(work().then(check_all()).then(land(None))), nothing());
    assert_eq!(said(work().then(land(None))), [UNGATED]);
    assert_eq!(said(work().then(pull_request("t", None).id("pr"))).len(), 1);
    let one_way = work().if_("input", |b| b.then(check_all()), |b| b).then(land(None));
    assert_eq!(said(one_way), [UNGATED]);
    let both = work().if_("input", |b| b.then(check_all()), |b| b.then(check_all())).then(land(None));
    assert_eq!(said(both), nothing());
    let in_a_loop =
        work().loop_(LoopRounds::until("input").max(3), |b| one(b).then(check_all())).then(land(None));
    assert_eq!(said(in_a_loop), nothing());
    let perhaps = work().then(task_loop().each(|b| one(b).then(check_all()))).then(land(None));
    assert_eq!(said(perhaps), [UNGATED]);
    let beside = work()
        .parallel(|lanes| {
            lanes.branch("x", |b| b.then(check_all())).branch("y", |b| b.then(wait(Duration::ZERO)))
        })
        .then(land(None));
    assert_eq!(said(beside), nothing());
}

#[test]
fn a_gate_that_can_be_bypassed_is_no_gate_unless_one_asks_for_it() {
    let weak = |land| work().then(check_all().id("tests").continue_on_failure()).then(land);
    assert_eq!(
        said(weak(land(None))),
        [
            "warning: this gate can be bypassed on the way to `land`: the run continues when it fails → tests.on_failure (test `outputs.tests` in a condition before `land`)",
            UNGATED,
        ]
    );
    assert_eq!(said(weak(land(None).when("not outputs.tests.failed"))), nothing());
    let asked = work().then(check_all().id("tests").continue_on_failure()).if_(
        "not outputs.tests.failed",
        |b| b.then(land(None)),
        |b| b,
    );
    assert_eq!(said(asked), nothing());
    let left_out = work().then(check_all().id("tests").when("input")).then(land(None));
    assert_eq!(said(left_out).len(), 2);
}

#[test]
fn an_answer_is_a_gate_where_it_is_asked_for() {
    let question = || ask("Ship it?").choices(["yes", "no"]).id("ship");
    assert_eq!(
        said(work().then(question()).then(land(None))),
        [
            "warning: this gate can be bypassed on the way to `land`: its answer decides nothing → ship.ask (test `outputs.ship` in a condition before `land`)",
            UNGATED,
        ]
    );
    assert_eq!(said(work().then(question()).then(land(None).when("outputs.ship.text == 'yes'"))), nothing());
}

#[test]
fn what_changes_after_the_gate_was_not_seen() {
    let builder = work().then(check_all()).then(shell("sed -i s/a/b/ x")).then(land(None));
    assert_eq!(
        said(builder),
        ["warning: the work changes after the last gate → land.land (put another check before it)"]
    );
    // The second round begins with what the first one left.
    let rounds =
        work().then(check_all()).loop_(LoopRounds::times(2), |b| b.then(land(None)).then(prompt("x")));
    assert_eq!(said(rounds).len(), 1);
}

#[test]
fn branches_that_make_no_sense_are_said() {
    let builder = |limit| {
        work().parallel(move |lanes| {
            lanes.limit(limit).branch("a", |b| b.then(prompt("a"))).branch("b", |b| b.then(agent("debugger")))
        })
    };
    assert_eq!(
        said(builder(0)),
        [
            "warning: `a` and `b` both have sessions that may change files, in one workspace → parallel.branches[b] (run them one after the other with `limit: 1`, or give sessions that only look `tools: read`)"
        ]
    );
    // What is advised there is not complained about here.
    assert_eq!(said(builder(1)), nothing());
    let readers =
        work().parallel(|lanes| lanes.limit(1).branch("a", one).branch("b", |b| b.then(agent("reader"))));
    assert_eq!(
        said(readers),
        [
            "warning: the branches run one after the other → parallel.parallel.limit (leave `limit` out to run all of them at once)"
        ]
    );
    assert_eq!(
        said(work().parallel(|lanes| lanes.branch("a", one))),
        ["warning: there is only one branch → parallel.branches (take its nodes out of `parallel`)"]
    );
    let readers = work().parallel(|lanes| lanes.branch("a", one).branch("b", |b| b.then(agent("reader"))));
    assert_eq!(said(readers), nothing());
}

#[test]
fn branches_that_run_workflows_with_writers_are_said() {
    let registry = registry();
    let mut known = known(&registry);
    let nested = |b: Steps| b.if_("input", |b| b.then(prompt("x")), |b| b);
    for builder in [
        Builder::new("writes").start(prompt("x")),
        Builder::new("nested").start(shell("ls")).loop_(LoopRounds::times(2), nested),
        Builder::new("calls").start(workflow("writes")),
        Builder::new("reads").start(agent("reader")),
        Builder::new("commands").start(shell("ls")),
        Builder::new("ring").start(workflow("gnir")),
        Builder::new("gnir").start(workflow("ring")),
    ] {
        let workflow = builder.end().unwrap();
        known.workflows.insert(workflow.name.clone(), Some(workflow));
    }
    known.workflows.insert("unread".into(), None);
    let branches = |one: &'static str, other: &'static str, limit: u32| {
        let both = |lanes: ParallelBranches| {
            let lanes = lanes.limit(limit).branch("a", |b| b.then(workflow(one)));
            lanes.branch("b", |b| b.then(workflow(other)))
        };
        said_by(work().parallel(both), &known)
    };
    let is_said = |lines: &[String]| {
        lines.len() == 1
            && lines[0].starts_with("warning: `a` and `b` both have sessions that may change files")
    };
    for (one, other) in [("writes", "writes"), ("writes", "nested"), ("calls", "nested")] {
        assert!(is_said(&branches(one, other, 0)), "{one}, {other}: {:?}", branches(one, other, 0));
        assert_eq!(branches(one, other, 1), nothing());
    }
    for other in ["reads", "commands", "unread"] {
        assert_eq!(branches("writes", other, 0), nothing(), "{other}");
    }
    let rings = branches("ring", "gnir", 0);
    assert!(rings.iter().all(|line| line.contains("without end")), "{rings:?}");
}

#[test]
fn blocks_without_anything_in_them_are_said() {
    let builder = work().if_("input", |b| b, |b| b).if_("input", |b| b, one);
    assert_eq!(
        said(builder),
        [
            "warning: both branches of the `if` are empty → if.then",
            "warning: `then` is empty → if-2.then (negate the condition and use `then`)",
        ]
    );
}

fn by_plugin(promise: Option<&str>, marker: Option<&str>) -> crate::graph::workflow::TurnLoop {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let mode = Some(crate::looping::LoopMode::Plugin);
    crate::graph::workflow::TurnLoop { mode, promise: text(promise), marker: text(marker), ..turns(3) }
}

#[test]
fn a_plugins_loop_is_completed_by_a_promise_alone() {
    let one = |promise, marker| {
        said(Builder::new("w").start(prompt("x").turns(by_plugin(promise, marker)).id("t")))
    };
    let none = "error: in `plugin` mode only a promise completes the turns, and there is none → t.turns.mode \
                (add `promise: DONE`, or choose another mode)";
    assert_eq!(one(None, None), [none]);
    assert_eq!(one(None, Some("DONE")), [none]);
    assert_eq!(
        one(Some("DONE"), Some("DONE")),
        ["warning: `plugin` mode has no tracker, so this marker has no effect → t.turns.marker"]
    );
    assert_eq!(one(Some("DONE"), None), nothing());
}

#[test]
fn a_plugins_loop_has_no_other_session_beside_it() {
    let lanes = |limit: u32, other: fn(Steps) -> Steps| {
        said(Builder::new("w").start(shell("x").id("s")).parallel(move |lanes| {
            let lanes = lanes.limit(limit);
            let looping = |b: Steps| {
                b.if_("input", |b| b.then(prompt("x").turns(by_plugin(Some("P"), None)).id("t")), |b| b)
            };
            lanes.branch("a", looping).branch("b", other)
        }))
    };
    let is_refused =
        |said: &[String]| said.iter().any(|line| line.starts_with("error: `t` loops by a plugin"));
    let session = |b: Steps| b.then(prompt("y").id("y"));
    assert!(is_refused(&lanes(0, session)), "{:?}", lanes(0, session));
    assert!(!is_refused(&lanes(1, session)));
    assert!(!is_refused(&lanes(0, |b| b.then(shell("y").id("y")))));
}

#[test]
fn a_session_continues_one_that_is_there() {
    let next = |other: &str| prompt("x").continues(other).id("next");
    assert_eq!(said(work().then(next("work"))), nothing());
    assert_eq!(said(work().then(prompt("x").when("input").id("a")).then(next("a"))), nothing());
    assert_eq!(
        said(work().then(next("wrok"))),
        ["error: there is no node `wrok` → next.continue (did you mean `work`?)"]
    );
    assert_eq!(
        said(work().then(shell("x").id("a")).then(next("a"))),
        ["error: `a` has no session: its kind is `shell` → next.continue"]
    );
    assert_eq!(
        said(work().then(next("a")).then(prompt("x").id("a"))),
        ["error: `a` runs later, so it has no session yet → next.continue"]
    );
    let ways = |b: Steps| b.then(next("a"));
    assert_eq!(
        said(work().if_("input", |b| b.then(prompt("x").id("a")), ways)),
        ["error: `a` is in the other branch of the `if` → next.continue"]
    );
}

#[test]
fn a_session_continues_itself_only_if_it_runs_again() {
    let own = || prompt("x").continues("own").id("own");
    assert_eq!(
        said(work().then(own())),
        [
            "error: `own` continues its own session, but runs only once → own.continue (put it in a `loop`, or name a node before it)"
        ]
    );
    assert_eq!(said(work().then(own().retry(1, Duration::ZERO))), nothing());
    assert_eq!(said(work().loop_(LoopRounds::times(2), |b| b.then(own()))), nothing());
    let after = |b: Steps| b.then(prompt("x").continues("own").id("a")).then(own());
    assert_eq!(said(work().loop_(LoopRounds::times(2), after)), nothing());
}

#[test]
fn no_two_branches_continue_one_session_at_once() {
    let next = |id: &str, other: &str| prompt("x").continues(other).id(id);
    let lanes = |limit: u32, second: &'static str| {
        move |lanes: ParallelBranches| {
            lanes
                .limit(limit)
                .branch("x", move |b| b.then(agent("reader").prompt("x").continues("work").id("a")))
                .branch("y", move |b| b.then(agent("reader").prompt("x").continues(second).id("b")))
        }
    };
    let at_once = "error: `b` continues the same session as `a`, which runs at the same time → b.continue (continue it in one branch only, or run the branches in turn with `limit: 1`)";
    assert_eq!(said(work().parallel(lanes(0, "work"))), [at_once]);
    assert_eq!(said(work().then(next("more", "work")).parallel(lanes(0, "more"))), [at_once]);
    assert_eq!(said(work().then(prompt("x").id("other")).parallel(lanes(0, "other"))), nothing());
    assert_eq!(
        said(work().parallel(lanes(0, "a"))),
        ["error: `a` is in another branch, whose sessions this one cannot continue → b.continue"]
    );
    let in_turn = said(work().parallel(lanes(1, "work")));
    assert!(in_turn.iter().all(|text| text.starts_with("warning")), "{in_turn:?}");
}

#[test]
fn a_session_continues_one_of_the_same_task_and_driver() {
    let next = |other: &str| prompt("x").continues(other).id("next");
    let tasks = || task_loop().each(|task| task.then(prompt("{{ task.id }}").id("a")));
    assert_eq!(
        said(work().then(tasks()).then(next("a"))),
        [
            "error: `a` is in a `task_loop`, where each task has its own sessions → next.continue (continue a session of the same task, or pass on `outputs`)"
        ]
    );
    let inside = task_loop().each(|task| task.then(next("work")));
    assert_eq!(
        said(work().then(inside)),
        [
            "error: `work` is outside of the `task_loop`, where each task has its own sessions → next.continue (continue a session of the same task, or pass on `outputs`)"
        ]
    );
    let both = task_loop().each(|task| task.then(prompt("{{ task.id }}").id("a")).then(next("a")));
    assert_eq!(said(work().then(both)), nothing());
    assert_eq!(
        said(work().then(next("work").driver("codex"))),
        [
            "error: the session of `work` is one of `claude`, not of `codex` → next.continue (give both nodes the same `driver`)"
        ]
    );
}

#[test]
fn branches_whose_sessions_only_read_do_not_collide() {
    let lanes = |second: &'static [&'static str]| {
        move |lanes: ParallelBranches| {
            lanes
                .branch("x", |b| b.then(prompt("x").id("a").reads_only()))
                .branch("y", |b| b.then(prompt("y").id("b").tools(second.iter().copied())))
                .branch("z", |b| b.then(prompt("z").id("c")))
        }
    };
    assert_eq!(said(work().parallel(lanes(&["Read", "WebFetch"]))), nothing());
    let both = said(work().parallel(lanes(&["Read", "Edit"])));
    assert_eq!(both.len(), 1, "{both:?}");
}

#[test]
fn a_computed_number_counts_as_its_bound_and_as_one() {
    let rounds = |most: u64| {
        Builder::new("w")
            .optional("n", crate::graph::workflow::InputKind::Integer, 5)
            .budget(Budget { turns: Some(3), ..Budget::default() })
            .start(prompt("{{ input }}").id("work"))
            .loop_(LoopRounds::times(1), |b| b.then(prompt("x").id("x")))
            .id("l")
            .computed(crate::graph::workflow::NodeNumber::Max, "inputs.n", most)
    };
    assert_eq!(said(rounds(9)), nothing(), "it may run only once");
    assert_eq!(said(rounds(4)), ["error: `inputs.n` must be at most 4, and its default is 5 → l.loop.max"]);
    let workflow = rounds(9).end().expect("a workflow");
    let worst = crate::graph::upper_bound::worst(
        &Workflow { budget: Budget::default(), ..workflow },
        &Default::default(),
    );
    assert_eq!(worst.turns, crate::graph::upper_bound::UpperBound::AtMost(10));
}

#[test]
fn a_loop_that_runs_forever_needs_a_budget_and_nothing_else() {
    let rounds = |rounds: LoopRounds| work().loop_(rounds, |b| b.then(prompt("x").id("x"))).id("l");
    let budget = Budget { turns: Some(9), ..Budget::default() };
    assert_eq!(said(rounds(LoopRounds::forever()).budget(budget)), nothing());
    assert_eq!(
        said(rounds(LoopRounds::forever())),
        [
            "error: nothing ends this loop: a loop that runs forever needs a budget → l.loop.forever (give it a budget: `budget: { turns: 50 }` or `budget: { time: 8h }`)"
        ]
    );
    assert_eq!(
        said(rounds(LoopRounds::forever().max(3)).budget(budget)),
        [
            "error: a loop with `forever` cannot have `until` or `max` → l.loop.forever (leave out one of them)"
        ]
    );
}

#[test]
fn only_parallel_tasks_have_branches_to_keep() {
    let tasks = |jobs: u32| {
        let tasks = task_loop().jobs(jobs).keeps_branches().id("t");
        said(work().then(tasks.each(|task| task.then(prompt("{{ task.id }}").id("a")))))
    };
    assert_eq!(
        tasks(1),
        [
            "error: with one job at a time the tasks have no branches of their own to keep → t.task_loop.land (set `jobs: 2`, or leave out `land`)"
        ]
    );
    assert!(!tasks(2).iter().any(|text| text.contains("land")), "{:?}", tasks(2));
}
