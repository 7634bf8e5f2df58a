//! Nodes without others in them: command lines, checks, questions, waits, other runs, schemas.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::graph::builder::{
    agent, ask, check, check_all, clear_context, land, prompt, pull_request, review, shell, skill, wait,
    wait_for, workflow,
};
use crate::run::Spent;
use crate::spec::{MAX_DEPTH, Parent};

#[test]
fn a_command_line_that_fails_says_how() {
    let mut story = Story::drawn(Builder::new("w").start(shell("make").id("x")));
    story.shell("x", false, "no rule");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
    assert_eq!(story.detail(), "the command of `x` failed: exit code 1");
    assert_eq!(story.state.bookkeeping.outputs[&NodeId::new("x")].text, "no rule");
}

#[test]
fn a_command_line_of_which_nobody_knows_the_end_needs_a_person() {
    let mut story = Story::drawn(Builder::new("w").start(shell("make").id("x")));
    let effect = story.open(Verb::Shell);
    story.tell(Event::ShellEnded { effect, end: ShellEnd::Unknown });
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::ShellUnknown));
}

#[test]
fn checks_that_are_green_let_through_and_red_ones_do_not() {
    let spec = || {
        let mut spec =
            drawn(Builder::new("w").start(check(["test"]).id("gate")).then(shell("x").id("after")));
        spec.checks = vec![test_check()];
        spec
    };
    let mut story = Story::of(spec());
    let Some(Effect::RunChecks { names, workspace, .. }) =
        story.step.effects.first().map(|planned| planned.effect.clone())
    else {
        panic!("checks are run")
    };
    assert_eq!((names, workspace.as_str()), (vec!["test".to_owned()], "/w"));
    assert_eq!(story.checks("gate", true).wanted(), ["after.1.1.shell"]);
    assert_eq!(story.state.bookkeeping.outputs[&NodeId::new("gate")].value, Some(json!({"test": true})));
    let mut story = Story::of(spec());
    assert_eq!(story.checks("gate", false).ended(), (FinalStatus::Failed, EndReason::ChecksFailed));
}

#[test]
fn all_checks_where_there_are_none_let_through() {
    let story = Story::drawn(Builder::new("w").start(check_all().id("gate")));
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_check_that_nobody_defines_lets_nothing_through() {
    let story = Story::drawn(Builder::new("w").start(check(["lint"]).id("gate")));
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ChecksFailed));
    assert!(story.detail().contains("lint"), "{}", story.detail());
}

#[test]
fn a_check_without_results_lets_nothing_through() {
    let mut spec = drawn(Builder::new("w").start(check_all().id("gate")));
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    let effect = story.open(Verb::Checks);
    story.tell(Event::ChecksFinished { effect, results: vec![] });
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ChecksFailed));
}

#[test]
fn an_entity_is_told_its_arguments_and_then_says_its_text() {
    let workflow = Builder::new("w")
        .start(skill("commit").args("all of {{ input }}").id("s"))
        .then(agent("reader").prompt("read {{ outputs.s.text }}").id("r"));
    let mut story = Story::drawn(workflow);
    assert_eq!(
        story.step.effects[0].effect,
        Effect::Prepare { args: Some("all of do it".into()), hand_over: false }
    );
    let effect = story.open(Verb::Prepare);
    let texts = crate::event::EntityTexts {
        prompt: "You commit.".into(),
        system: Some("a committer".into()),
        odd: Vec::new(),
    };
    story.tell(Event::Prepared {
        effect,
        end: crate::event::PrepareEnd::Ready { texts: Some(texts), fingerprint: String::new(), work: None },
        base: Some("abc".into()),
        odd: Vec::new(),
    });
    assert_eq!(story.plan().prompt, "You commit.");
    assert_eq!(story.state.works()[0].node.system.as_deref(), Some("a committer"));
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("s");
    assert_eq!(
        story.step.effects[0].effect,
        Effect::Prepare { args: Some("read words".into()), hand_over: false }
    );
    assert_eq!(story.state.bookkeeping.base.as_deref(), Some("abc"));
}

#[test]
fn what_cannot_be_prepared_fails() {
    let mut story = Story::drawn(Builder::new("w").start(prompt("x").id("a")).then(shell("y").id("b")));
    let effect = story.open(Verb::Prepare);
    story.tell(Event::Prepared {
        effect,
        end: crate::event::PrepareEnd::Failed { why: "no space".into() },
        base: None,
        odd: Vec::new(),
    });
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Failed, EndReason::PrepareFailed));
}

#[test]
fn between_other_nodes_a_single_turn_is_not_checked_but_a_loop_of_turns_is() {
    let turns = crate::graph::builder::turns(3);
    let mut spec =
        drawn(Builder::new("w").start(prompt("x").id("one")).then(prompt("y").turns(turns).id("many")));
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    story.says("one", "hi").prepared("many").session_ends(SessionVerdict::Completed).seen(true);
    assert_eq!(story.wanted(), ["many.1.1.checks"]);
    assert_eq!(
        story.checks("many", true).cleaned("many").ended(),
        (FinalStatus::Completed, EndReason::AllDone)
    );
}

#[test]
fn loops_of_turns_keep_trackers_of_their_own() {
    let many = || prompt("y").turns(crate::graph::builder::turns(3));
    let story = Story::drawn(Builder::new("w").start(many().id("a")).then(many().id("b")));
    let tracker = |story: &Story| {
        let works = story.state.works();
        works[0].node.rules().and_then(|rules| rules.tracker_path.clone()).expect("a tracker")
    };
    assert_eq!(tracker(&story), "/w/.windlass/runs/r/a-tracker.md");
    let alone = Story::drawn(Builder::new("w").start(many().id("a")));
    assert_eq!(tracker(&alone), "/w/.windlass/runs/r/loop-tracker.md");
}

#[test]
fn a_wait_for_time_is_over_when_the_time_has_come() {
    let mut story = Story::drawn(Builder::new("w").start(wait(Duration::from_secs(5)).id("x")));
    let until = Moment(NOW.0 + 5_000);
    assert_eq!(story.step.effects[0].effect, Effect::WaitUntil { until });
    assert_eq!(story.state.progress(), Progress::Waiting(Waiting::Time { until }));
    assert_eq!(story.wait_over("x", Verb::Wait).ended(), (FinalStatus::Completed, EndReason::AllDone));
}

fn listening() -> Builder {
    Builder::new("w")
        .start(shell("x").id("before"))
        .then(wait_for("deployed", Some(Duration::from_secs(9))).id("x"))
        .then(shell("echo {{ outputs.x.text }}").id("after"))
}

#[test]
fn a_wait_for_an_event_is_over_when_it_is_told() {
    let mut story = Story::drawn(listening());
    story.shell("before", true, "");
    assert_eq!(story.state.progress(), Progress::Waiting(Waiting::Event { name: "deployed".into() }));
    story.told("other", "no");
    assert_eq!(story.state.progress().word(), "waiting");
    story.told("deployed", "v2");
    assert_eq!(story.command("after"), "echo v2");
    assert_eq!(story.shell("after", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn what_was_told_before_somebody_waited_for_it_is_kept_for_one_who_does() {
    let mut story = Story::drawn(listening());
    story.told("deployed", "v1").told("deployed", "v2").shell("before", true, "");
    assert_eq!(story.command("after"), "echo v1", "what came first is told first");
    assert_eq!(story.state.bookkeeping.take_received("deployed").as_deref(), Some("v2"), "each is told once");
    assert!(story.state.bookkeeping.received.is_empty());
}

#[test]
fn a_wait_for_an_event_that_does_not_come_fails() {
    let mut story = Story::drawn(listening());
    story.shell("before", true, "").wait_over("x", Verb::Timeout);
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Timeout));
}

#[test]
fn who_waits_for_the_same_event_is_told_one_after_the_other() {
    let workflow = Builder::new("w").start(shell("x").id("x")).parallel(|lanes| {
        let lanes = lanes.branch("a", |a| a.then(wait_for("e", None).id("a")));
        lanes.branch("b", |b| b.then(wait_for("e", None).id("b")))
    });
    let mut story = Story::drawn(workflow);
    story.shell("x", true, "").told("e", "1");
    assert!(!story.state.is_done());
    assert_eq!(story.told("e", "2").ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story.state.bookkeeping.outputs[&NodeId::new("b")].text, "2");
}

#[test]
fn what_cannot_be_run_yet_fails_and_says_so() {
    for node in [review(None, 1).id("x"), land(None).id("x"), pull_request("t", None).id("x")] {
        let story = Story::drawn(Builder::new("w").start(node));
        assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::NotYet));
        assert!(story.detail().contains("cannot be run yet"), "{}", story.detail());
    }
}

/// A workflow that runs another one, which has one session.
fn with_other(workflow: Builder) -> Spec {
    let mut spec = drawn(workflow);
    let mut other = spec_of(vec![prompt("x").id("p").into()]);
    other.workflow = "other".into();
    other.inputs = BTreeMap::from([("n".to_owned(), json!(1)), ("t".to_owned(), json!("text"))]);
    spec.others.insert("other".to_owned(), other);
    spec
}

fn started_run(story: &Story) -> (RunId, Spec) {
    let found = story.state.bookkeeping.open.iter().find_map(|planned| match &planned.effect {
        Effect::StartRun { run, spec, .. } => Some((run.clone(), (**spec).clone())),
        _ => None,
    });
    found.expect("a run is started")
}

fn run_end(status: FinalStatus, turns: u32, tokens: u64) -> Box<RunEnd> {
    let outcome = Outcome::new(status, EndReason::TurnDone);
    Box::new(RunEnd { outcome, spent: spent(turns, tokens), text: "said".into(), value: None })
}

fn spent(turns: u32, tokens: u64) -> Spent {
    Spent { turns, usage: Usage { output_tokens: tokens, ..Usage::default() }, ..Spent::default() }
}

impl Story {
    fn run_ends(&mut self, status: FinalStatus, turns: u32, tokens: u64) -> &mut Story {
        let effect = self.open(Verb::Run);
        self.tell(Event::RunEnded { effect, end: run_end(status, turns, tokens) })
    }
}

#[test]
fn another_workflow_is_a_run_of_its_own_told_what_it_needs() {
    let node = workflow("other").with_input("n", "{{ 1 + 1 }}").with_input("t", "5").id("sub");
    let mut story = Story::of(with_other(
        Builder::new("w").start(node).then(shell("{{ outputs.sub.text }}").id("after")),
    ));
    let (run, child) = started_run(&story);
    assert_eq!(child.inputs, BTreeMap::from([("n".to_owned(), json!(2)), ("t".to_owned(), json!("5"))]));
    assert_eq!(child.input, "do it");
    assert_eq!(child.seed, "seed/sub");
    assert_eq!(child.parent, Some(Parent { run: RunId::new("r"), node: NodeId::new("sub"), depth: 1 }));
    assert_eq!(child.others.keys().collect::<Vec<_>>(), ["other"]);
    let again = fold(RunId::new("r"), &story.records).expect("a run");
    assert_eq!(again.to_perform(), story.state.to_perform(), "its id is derived, and the same in a replay");
    assert!(!run.as_str().is_empty());
    story.run_ends(FinalStatus::Completed, 1, 1);
    assert_eq!(story.command("after"), "said");
}

#[test]
fn a_run_that_is_blocked_is_not_started_again() {
    let node = workflow("other").retry(3, std::time::Duration::ZERO).id("sub");
    let mut story = Story::of(with_other(Builder::new("w").start(node)));
    assert_eq!(
        story.run_ends(FinalStatus::Blocked, 0, 0).ended(),
        (FinalStatus::Blocked, EndReason::ChildFailed)
    );
}

#[test]
fn each_round_starts_another_run() {
    let mut spec = with_other(
        Builder::new("w")
            .start(shell("x").id("x"))
            .loop_(crate::graph::builder::LoopRounds::times(2), |round| {
                round.then(workflow("other").id("sub"))
            }),
    );
    spec.body.remove(0);
    let mut story = Story::of(spec);
    let (first, _) = started_run(&story);
    story.run_ends(FinalStatus::Completed, 1, 1);
    assert_ne!(started_run(&story).0, first);
}

#[test]
fn what_another_run_is_told_is_of_the_kind_it_wants() {
    use crate::graph::workflow::InputKind;
    let told = |kind, text: &str| {
        let node = workflow("other").with_input("it", text).id("sub");
        let mut spec = with_other(Builder::new("w").start(node));
        spec.others.get_mut("other").expect("it").kinds.insert("it".to_owned(), kind);
        Story::of(spec)
    };
    let fits = |kind, text: &str| started_run(&told(kind, text)).1.inputs["it"].clone();
    assert_eq!(fits(InputKind::List, "{{ ['a', 'b'] }}"), json!(["a", "b"]), "of an expression");
    assert_eq!(fits(InputKind::List, " [\"a\", 2]\n"), json!(["a", "2"]), "of text");
    assert_eq!(fits(InputKind::Integer, "{{ 1 + 1 }}"), json!(2));
    assert_eq!(fits(InputKind::Number, "1.5"), json!(1.5));
    assert_eq!(fits(InputKind::Boolean, "{{ 1 == 1 }}"), json!(true));
    assert_eq!(fits(InputKind::Boolean, "Yes"), json!(true), "as `workflow check` and `--input` read it");
    assert_eq!(fits(InputKind::Text, "[1]"), json!("[1]"));
    for (kind, text) in [
        (InputKind::List, "a, b"),
        (InputKind::List, "[[1]]"),
        (InputKind::Integer, "1.5"),
        (InputKind::Number, "many"),
        (InputKind::Boolean, "perhaps"),
    ] {
        assert_eq!(told(kind, text).ended(), (FinalStatus::Failed, EndReason::Template), "{text}");
    }
    assert_eq!(
        told(InputKind::Integer, "many").detail(),
        "`sub` gives `many` to the input `it` of workflow `other`, but the input must be of kind integer"
    );
}

#[test]
fn what_another_run_spends_is_counted_once() {
    let mut story = Story::of(with_other(Builder::new("w").start(workflow("other").id("sub"))));
    let effect = story.open(Verb::Run);
    let so_far = |turns, tokens| Event::RunSpent { effect: effect.clone(), spent: spent(turns, tokens) };
    story.tell(so_far(1, 10)).tell(so_far(1, 10)).tell(so_far(2, 25));
    assert_eq!(story.state.spent, spent(2, 25));
    story.run_ends(FinalStatus::Completed, 3, 40).tell(so_far(9, 99));
    assert_eq!(story.state.spent, spent(3, 40));
    assert_eq!(story.state.bookkeeping.nodes[&NodeId::new("sub")].spent, spent(3, 40));
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn another_run_may_spend_what_is_left() {
    let mut spec = with_other(
        Builder::new("w")
            .start(prompt("x").id("a"))
            .then(workflow("other").id("sub").budget(Budget { turns: Some(3), ..Budget::default() }))
            .budget(Budget {
                turns: Some(10),
                tokens: Some(100),
                cost_usd: Some(2.0),
                time_ms: Some(60_000),
            }),
    );
    spec.others.get_mut("other").expect("it").budget.tokens = Some(95);
    let mut story = Story::of(spec);
    story.later(10_000).says("a", "hi");
    let (_, child) = started_run(&story);
    let left = Budget { turns: Some(3), tokens: Some(90), cost_usd: Some(2.0), time_ms: Some(50_000) };
    assert_eq!(child.budget, left);
}

/// Returns the remaining budgets of the started runs that may spend less than their own budget.
fn allowances(story: &Story) -> Vec<(NodeId, Budget)> {
    let mut ledger = Ledger::default();
    ledger.note(&story.state);
    let open = story.state.bookkeeping.open.iter();
    let left = open.filter_map(|planned| match &planned.effect {
        Effect::StartRun { run, spec, .. } => {
            let left = ledger.left_to_call(&story.state.run, run)?;
            (left != spec.budget).then(|| (planned.id.node.clone(), left))
        }
        _ => None,
    });
    left.collect()
}

#[test]
fn runs_side_by_side_are_told_what_the_others_leave_them() {
    let budget = Budget { turns: Some(5), cost_usd: Some(1.0), ..Budget::default() };
    let lanes = Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("x", |x| x.then(workflow("other").id("x")));
        let lanes = lanes.branch("y", |y| y.then(workflow("other").id("y")));
        lanes.branch("z", |z| z.then(prompt("z").id("z")))
    });
    let mut story = Story::of(with_other(lanes.budget(budget)));
    let left = |turns, cost| Budget { turns: Some(turns), cost_usd: Some(cost), ..Budget::default() };
    let first = [(NodeId::new("x"), left(4, 1.0))];
    assert_eq!(allowances(&story), first, "the first turn of each is counted when it begins");
    let spends = |node: &str, turns, cost| {
        let effect = EffectId { node: NodeId::new(node), iteration: 1, attempt: 1, verb: Verb::Run };
        let usage = Usage { cost_usd: Some(cost), ..Usage::default() };
        Event::RunSpent { effect, spent: Spent { turns, usage, ..Spent::default() } }
    };
    story.tell(spends("x", 2, 0.25));
    let told = [(NodeId::new("x"), left(4, 1.0)), (NodeId::new("y"), left(3, 0.75))];
    assert_eq!(allowances(&story), told);
    story.prepared("z").tell(spends("y", 1, 0.25));
    let told = [(NodeId::new("x"), left(3, 0.75)), (NodeId::new("y"), left(2, 0.75))];
    assert_eq!(allowances(&story), told, "a turn of its own counts, and nobody's twice");

    // Who is told so begins no other turn.
    let mut child = Story::drawn(
        Builder::new("w").start(prompt("a").id("a")).then(prompt("b").id("b")).budget(left(5, 1.0)),
    );
    child.tell(Event::Allowed { budget: left(1, 0.75) }).tell(Event::Allowed { budget: left(4, 0.75) });
    child.says("a", "").prepared("b").cleaned("b");
    assert_eq!(child.ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(child.detail(), "the budget of 1 turn is spent");
}

#[test]
fn what_a_run_within_a_run_lacks_is_lacking_around_it_too() {
    let budget = Budget { turns: Some(1), ..Budget::default() };
    let calls = |times| {
        let call = workflow("other").id("k").retry(times, Duration::ZERO).continue_on_failure();
        Builder::new("w").start(call).then(shell("x").id("after"))
    };
    let spent_by = |turns| spent(turns, 0);
    let end = |spent: u32| {
        let outcome = Outcome::new(FinalStatus::Exhausted, EndReason::Budget).because("spent");
        let effect = EffectId { node: NodeId::new("k"), iteration: 1, attempt: 1, verb: Verb::Run };
        Event::RunEnded {
            effect,
            end: Box::new(RunEnd { outcome, spent: spent_by(spent), text: String::new(), value: None }),
        }
    };
    let mut story = Story::of(with_other(calls(2).budget(budget)));
    story.tell(end(1));
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget), "no retry and no going on helps");
    // Where only its own budget is spent, the run around it can live with that.
    let mut story = Story::of(with_other(calls(0)));
    story.tell(end(1));
    assert_eq!(story.command("after"), "x");
}

#[test]
fn runs_that_begin_at_the_same_moment_do_not_all_take_the_last_turn() {
    let budget = Budget { turns: Some(2), ..Budget::default() };
    let lanes = Builder::new("w").start(clear_context()).parallel(|lanes| {
        (0..4).fold(lanes, |lanes, n| {
            let id = format!("r{n}");
            lanes.branch(id.clone(), |lane| lane.then(workflow("other").id(id)))
        })
    });
    let mut story = Story::of(with_other(lanes.budget(budget)));
    let started = |story: &Story| {
        let open = story.state.bookkeeping.open.iter();
        open.filter(|planned| matches!(planned.effect, Effect::StartRun { .. })).count()
    };
    assert_eq!(started(&story), 2);
    assert_eq!(story.state.spent.turns, 2);
    // One that ends without a turn gives its turn back.
    story.run_ends(FinalStatus::Completed, 0, 0);
    assert_eq!(story.state.spent.turns, 1);
}

#[test]
fn another_run_that_fails_fails_its_node() {
    let mut story = Story::of(with_other(Builder::new("w").start(workflow("other").id("sub"))));
    assert_eq!(
        story.run_ends(FinalStatus::Blocked, 1, 1).ended(),
        (FinalStatus::Blocked, EndReason::ChildFailed)
    );
}

#[test]
fn another_run_that_somebody_cancelled_is_not_tried_again() {
    let node = || workflow("other").id("sub").retry(2, Duration::ZERO);
    let mut story = Story::of(with_other(Builder::new("w").start(node())));
    assert_eq!(
        story.run_ends(FinalStatus::Cancelled, 1, 1).ended(),
        (FinalStatus::Cancelled, EndReason::ChildFailed)
    );
    // Who can live with its failure can live with that.
    let mut story = Story::of(with_other(Builder::new("w").start(node().continue_on_failure())));
    assert_eq!(
        story.run_ends(FinalStatus::Cancelled, 1, 1).ended(),
        (FinalStatus::Completed, EndReason::AllDone)
    );
}

#[test]
fn another_run_that_failed_by_a_template_is_not_tried_again() {
    let node = || workflow("other").id("sub").retry(2, Duration::ZERO);
    let ends = |outcome: Outcome| {
        let mut story = Story::of(with_other(Builder::new("w").start(node())));
        let effect = story.open(Verb::Run);
        let end = Box::new(RunEnd { outcome, ..*run_end(FinalStatus::Failed, 1, 1) });
        story.tell(Event::RunEnded { effect, end });
        story
    };
    let odd = Outcome::new(FinalStatus::Failed, EndReason::Template).because("`n` is undefined");
    let story = ends(odd.clone());
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ChildFailed));
    assert!(
        story.detail().ends_with("not tried again: another try would end the same way"),
        "{}",
        story.detail()
    );
    // So it is however deep the template stands.
    let again = ends(story.state.outcome().cloned().expect("it is over"));
    assert_eq!(again.ended(), (FinalStatus::Failed, EndReason::ChildFailed));
    assert_eq!(again.detail().matches("not tried again").count(), 1, "{}", again.detail());
    let red = ends(Outcome::new(FinalStatus::Failed, EndReason::ShellFailed));
    assert!(red.wanted()[0].ends_with(".retry"), "what a command did it may do otherwise");
}

#[test]
fn runs_start_runs_only_so_deep() {
    let deep = |depth| {
        let mut spec = with_other(Builder::new("w").start(workflow("other").id("sub")));
        spec.parent = Some(Parent { run: RunId::new("p"), node: NodeId::new("n"), depth });
        Story::of(spec)
    };
    assert_eq!(started_run(&deep(MAX_DEPTH - 1)).1.parent.map(|parent| parent.depth), Some(MAX_DEPTH));
    assert_eq!(deep(MAX_DEPTH).ended(), (FinalStatus::Failed, EndReason::TooDeep));
}

#[test]
fn a_workflow_that_is_not_there_fails_its_node() {
    let story = Story::drawn(Builder::new("w").start(workflow("nobody").id("sub")));
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::NotYet));
}

#[test]
fn a_question_waits_for_a_person_and_gives_the_answer() {
    let mut spec = drawn(
        Builder::new("w")
            .start(ask("Ship {{ input }}?").choices(["Yes", "No"]).id("gate"))
            .then(shell("{{ outputs.gate.text }}").id("after")),
    );
    spec.policy.on_question = OnQuestion::Wait;
    let mut story = Story::of(spec);
    let Progress::Waiting(Waiting::Person(asked)) = story.state.progress() else { panic!("it waits") };
    let choices = ["Yes".to_owned(), "No".to_owned()];
    assert_eq!(asked.questions, [Question::of_workflow("Ship do it?", &choices)]);
    assert!(!asked.questions[0].free_text, "only its choices are answers");
    story.answers(None, "perhaps");
    assert_eq!(story.state.progress().word(), "waiting", "that is none of the choices");
    story.answers(Some("ask/gate"), " yes");
    assert_eq!(story.command("after"), "Yes");
    assert!(story.state.bookkeeping.asks.is_empty());
}

#[test]
fn a_question_where_nobody_is_asked_is_answered_by_its_default() {
    let story = |policy, default: Option<&str>| {
        let mut node = ask("Ship?").id("gate");
        if let Some(default) = default {
            node = node.default(default);
        }
        let mut spec = drawn(Builder::new("w").start(node));
        spec.policy.on_question = policy;
        Story::of(spec)
    };
    for policy in [OnQuestion::Empty, OnQuestion::Fail] {
        let story = story(policy, Some("no"));
        assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
        assert_eq!(story.state.bookkeeping.outputs[&NodeId::new("gate")].text, "no");
        let told = story.step.news.iter().find_map(|news| match news {
            News::NodeFinished { outcome, .. } => outcome.detail.clone(),
            _ => None,
        });
        let words = "nobody was there to answer `gate`: Ship? (used the default `no`)";
        assert_eq!(told.as_deref(), Some(words));
    }
    assert_eq!(story(OnQuestion::Empty, None).ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story(OnQuestion::Fail, None).ended(), (FinalStatus::Blocked, EndReason::Question));
    let why = story(OnQuestion::Fail, None).detail();
    assert!(why.starts_with("nobody was there to answer `gate`: Ship? (use `--on-question wait`"), "{why}");
    assert_eq!(story(OnQuestion::Wait, Some("no")).state.progress().word(), "waiting");
}

#[test]
fn a_question_that_nobody_answers_in_time_is_answered_by_its_default() {
    let story = |default: Option<&str>| {
        let mut node = ask("Ship?").choices(["yes", "no"]).timeout(Duration::from_secs(3600)).id("gate");
        if let Some(default) = default {
            node = node.default(default);
        }
        let mut spec = drawn(Builder::new("w").start(node).then(shell("{{ outputs.gate }}").id("after")));
        spec.policy.on_question = OnQuestion::Wait;
        let mut story = Story::of(spec);
        story.later(3_600_000).wait_over("gate", Verb::Timeout);
        story
    };
    let mut late = story(Some("no"));
    assert_eq!(late.command("after"), "no");
    assert!(late.state.bookkeeping.asks.is_empty(), "nobody is asked any more");
    let told =
        late.state.bookkeeping.nodes[&NodeId::new("gate")].outcome.clone().and_then(|outcome| outcome.detail);
    assert_eq!(told.as_deref(), Some("no one answered within 1h: used the default `no`"));
    assert!(late.step.news.contains(&News::WaitOver));
    late.answers(Some("ask/gate"), "yes");
    assert_eq!(late.command("after"), "no", "an answer that comes later changes nothing");
    assert_eq!(late.shell("after", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story(None).ended(), (FinalStatus::Failed, EndReason::Timeout));
}

#[test]
fn a_session_that_only_gave_a_value_said_that_value() {
    let form = json!({"type": "object", "required": ["n"]});
    let turn = |story: &mut Story, words: Option<&str>, value: Option<serde_json::Value>| {
        let effect = story.open(Verb::Session);
        let last_message = words.map(str::to_owned);
        let end = SessionEnd { value, last_message, ..session_end(SessionVerdict::Completed) };
        story.tell(Event::SessionEnded { effect, end }).seen(false);
    };
    let begin = || {
        let mut story = Story::drawn(Builder::new("w").start(prompt("x").schema(form.clone()).id("x")));
        story.prepared("x");
        story
    };
    for unfit in [false, true] {
        let mut story = begin();
        if unfit {
            turn(&mut story, Some("three, I think"), None);
        }
        turn(&mut story, None, Some(json!({"n": 3})));
        story.cleaned("x");
        let output = &story.state.bookkeeping.outputs[&NodeId::new("x")];
        assert_eq!((output.text.as_str(), &output.value), (r#"{"n":3}"#, &Some(json!({"n": 3}))));
    }
    let mut story = begin();
    turn(&mut story, Some("Here you are."), Some(json!({"n": 3})));
    story.cleaned("x");
    assert_eq!(story.state.bookkeeping.outputs[&NodeId::new("x")].text, "Here you are.");
}

#[test]
fn another_run_gives_what_its_last_node_gave() {
    let form = json!({"type": "object", "required": ["n"]});
    let child = || {
        Builder::new("other")
            .start(prompt("y").id("y"))
            .then(prompt("x").schema(form.clone()).id("x"))
            .then(shell("z").id("z").when("input == 'other'"))
    };
    let mut inner = Story::drawn(child());
    inner.says("y", "first").prepared("x");
    inner.answers_with(Some(json!({"n": 3}))).cleaned("x");
    assert_eq!(inner.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(
        given_by(&inner.state),
        ("words".to_owned(), Some(json!({"n": 3}))),
        "what was left out gives nothing"
    );
    let mut quiet = Story::drawn(Builder::new("other").start(prompt("y").id("y")).then(shell("z").id("z")));
    quiet.says("y", "first").shell("z", true, "");
    assert_eq!(given_by(&quiet.state), ("first".to_owned(), None), "the last words of an agent");
    let node = workflow("other").id("sub");
    let mut story = Story::of(with_other(
        Builder::new("w").start(node).then(shell("{{ outputs.sub.value.n }} {{ outputs.sub }}").id("after")),
    ));
    let (text, value) = given_by(&inner.state);
    let effect = story.open(Verb::Run);
    let end = Box::new(RunEnd { text, value, ..*run_end(FinalStatus::Completed, 1, 1) });
    story.tell(Event::RunEnded { effect, end });
    assert_eq!(story.command("after"), "3 words");
}

fn answering() -> Story {
    let form = json!({"type": "object", "required": ["n"]});
    let mut story = Story::drawn(
        Builder::new("w")
            .start(prompt("count").schema(form).id("x"))
            .then(shell("{{ outputs.x.value.n }}").id("after")),
    );
    story.prepared("x");
    story
}

impl Story {
    fn answers_with(&mut self, value: Option<serde_json::Value>) -> &mut Story {
        let effect = self.open(Verb::Session);
        let end = SessionEnd { value, ..session_end(SessionVerdict::Completed) };
        self.tell(Event::SessionEnded { effect, end }).seen(false)
    }
}

#[test]
fn an_answer_that_fits_its_schema_is_the_value_of_the_node() {
    let mut story = answering();
    assert!(story.plan().schema.is_some());
    story.answers_with(Some(json!({"n": 3}))).cleaned("x");
    assert_eq!(story.command("after"), "3");
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_twice_in_the_same_conversation() {
    let mut story = answering();
    let first = story.plan();
    for attempt in 2..4 {
        let again = story.answers_with(None).plan();
        let told = story.records.last().map(|record| record.news.clone()).unwrap_or_default();
        let what = "the answer does not fit its schema: there is no JSON in it".to_owned();
        let again_told = News::Retrying { node: NodeId::new("x"), what, attempt, of: Some(3), until: None };
        assert!(told.contains(&again_told), "{told:?}");
        assert_eq!((&again.session, again.resume), (&first.session, true));
        assert!(
            again.prompt.contains("does not fit") && again.prompt.contains("required"),
            "{}",
            again.prompt
        );
    }
    assert_eq!(story.answers_with(None).cleaned("x").ended(), (FinalStatus::Failed, EndReason::Schema));
    let mut story = answering();
    story.answers_with(None).answers_with(Some(json!({"n": 1}))).cleaned("x");
    assert_eq!(story.command("after"), "1");
}

#[test]
fn a_loop_held_by_its_stop_hook_is_judged_by_the_words_it_stops_with() {
    let turns = crate::graph::workflow::TurnLoop { mode: Some(LoopMode::InSession), ..Default::default() };
    let mut story = Story::drawn(Builder::new("w").start(prompt("x").turns(turns).id("x")));
    story.prepared("x");
    let stop = HookKind::Stop { last_message: Some("the answer".into()), background: false };
    story.asks("h", stop);
    assert_eq!(story.state.works()[0].last_message.as_deref(), Some("the answer"));
}
