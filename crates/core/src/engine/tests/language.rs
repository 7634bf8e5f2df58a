//! Values, lists and guaranteed ends.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::effect::ShellPlan;
use crate::engine::{given_by, would_end};
use crate::graph::builder::{clear_context, each, each_of, fail, prompt, shell};
use crate::graph::workflow::{Join, ShellProgram};
use crate::run::{Activity, Continuation, News};

impl Story {
    fn shell_plan(&self, node: &str) -> ShellPlan {
        match self.effect_of(node, Verb::Shell) {
            Effect::RunShell(plan) => plan,
            other => panic!("{other:?}"),
        }
    }

    fn output(&self, node: &str) -> serde_json::Value {
        self.state.bookkeeping.outputs[&NodeId::new(node)].value.clone().unwrap_or_default()
    }

    fn continues(&mut self) -> &mut Story {
        let inbox = InboxId::new(format!("c{}", self.records.len()));
        self.tell(Event::Continued { inbox, by: "me".into(), more: Box::new(Continuation::default()) })
    }
}

/// A list of three items, each in one command.
fn three_items(jobs: u32, join: Join) -> Builder {
    let items = each_of("item", vec![json!("a"), json!({"n": 2}), json!("c")]).jobs(jobs).join(join);
    let items = items.each(|one| one.then(shell("do {{ item | tojson }} {{ iteration }}").id("do")));
    Builder::new("w").start(items.id("all"))
}

#[test]
fn each_item_runs_once_and_the_results_are_in_the_order_of_the_list() {
    let mut story = Story::drawn(three_items(2, Join::All).then(shell("z").id("z")));
    assert_eq!(story.wanted(), ["do@1.1.1.shell", "do@2.1.1.shell"]);
    assert_eq!(story.command("do@2"), r#"do {"n": 2} 2"#);
    story.shell("do@2", true, "two").shell("do@3", true, "three").shell("do@1", true, "one");
    assert_eq!(story.wanted(), ["z.1.1.shell"]);
    let value = story.output("all");
    let texts: Vec<_> = value["items"].as_array().unwrap().iter().map(|item| item["text"].clone()).collect();
    assert_eq!(texts, [json!("one"), json!("two"), json!("three")]);
    assert_eq!(value["items"][1]["item"], json!({"n": 2}));
    assert_eq!(value["items"][1]["status"], "completed");
    assert_eq!(value["items"][2]["index"], 2);
    assert_eq!(value["completed"], 3);
    assert!(!story.state.bookkeeping.outputs.contains_key(&NodeId::new("do")), "they are private");
}

#[test]
fn the_nodes_of_an_item_see_only_their_own_outputs() {
    let items = each_of("n", vec![json!(1), json!(2)])
        .jobs(2)
        .each(|one| one.then(shell("a").id("a")).then(shell("{{ outputs.a.text }}").id("b")));
    let mut story = Story::drawn(Builder::new("w").start(items.id("all")));
    story.shell("a@1", true, "first").shell("a@2", true, "second");
    assert_eq!(story.command("b@1"), "first");
    assert_eq!(story.command("b@2"), "second");
    let cause = &story.state.bookkeeping.nodes[&NodeId::new("b")].cause;
    assert!(matches!(cause, crate::run::NodeCause::After { status, .. } if status == "completed"));
}

#[test]
fn a_list_joins_as_branches_do() {
    let ends = |join, results: [bool; 3]| {
        let mut story = Story::drawn(three_items(3, join));
        for (number, well) in (1..).zip(results) {
            if story.state.is_done() {
                break;
            }
            let name = format!("do@{number}");
            if story.wanted().iter().any(|wanted| wanted.starts_with(&name) && wanted.ends_with("shell")) {
                story.shell(&name, well, "");
            }
        }
        while let Some(planned) = story.state.to_perform().first().cloned() {
            story.cleaned(planned.id.node.as_str());
        }
        story.ended()
    };
    let well = (FinalStatus::Completed, EndReason::AllDone);
    assert_eq!(ends(Join::All, [true, true, true]), well);
    assert_eq!(ends(Join::All, [true, false, true]), (FinalStatus::Failed, EndReason::ShellFailed));
    assert_eq!(ends(Join::Some, [false, true, false]), well);
    assert_eq!(ends(Join::Some, [false, false, false]), (FinalStatus::Failed, EndReason::NoBranch));
    assert_eq!(ends(Join::FirstSuccess, [false, true, true]), well);
    assert_eq!(ends(Join::Any, [false, true, true]), (FinalStatus::Failed, EndReason::ShellFailed));
}

#[test]
fn an_item_in_which_the_run_skips_every_node_decides_nothing() {
    let ends = |join, well: [bool; 2]| {
        let items = each_of("n", vec![json!(0), json!(1), json!(2)]).join(join);
        let items = items.each(|one| one.then(shell("x").when("n > 0").id("x")));
        let mut story = Story::drawn(Builder::new("w").start(items.id("all")));
        for (name, well) in ["x@2", "x@3"].iter().zip(well) {
            if !story.state.is_done() {
                story.shell(name, well, "");
            }
        }
        story.ended()
    };
    let done = (FinalStatus::Completed, EndReason::AllDone);
    let no_item = (FinalStatus::Failed, EndReason::NoBranch);
    let failed = (FinalStatus::Failed, EndReason::ShellFailed);
    assert_eq!(ends(Join::Some, [false, false]), no_item);
    assert_eq!(ends(Join::Some, [false, true]), done);
    assert_eq!(ends(Join::FirstSuccess, [false, false]), no_item);
    assert_eq!(ends(Join::FirstSuccess, [false, true]), done);
    assert_eq!(ends(Join::Any, [false, true]), failed);
    assert_eq!(ends(Join::All, [true, true]), done);
}

#[test]
fn what_is_no_list_or_too_long_fails_before_any_item_runs() {
    let of = |list: &str| {
        let items = each("x", list).max(2).each(|one| one.then(shell("x").id("x"))).id("all");
        let story = Story::drawn(Builder::new("w").start(items));
        (story.ended(), story.state.outcome().unwrap().detail.clone().unwrap_or_default())
    };
    let (end, why) = of("'text'");
    assert_eq!(end, (FinalStatus::Failed, EndReason::Template));
    assert_eq!(why, "`all` needs a list, but `in` is a text");
    let (end, why) = of("[1, 2, 3]");
    assert_eq!(end, (FinalStatus::Failed, EndReason::TooManyItems));
    assert_eq!(why, "the list of `all` has 3 items, and `max` is 2; nothing of it ran");
    assert_eq!(of("[]").0, (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn items_that_are_complete_do_not_run_again_when_the_block_is_tried_again_or_continued() {
    let items = each("x", "['a', 'b', 'a']").jobs(3).each(|one| one.then(shell("{{ x }}").id("do")));
    let again = Builder::new("w").start(items.clone().retry(1, std::time::Duration::ZERO).id("all"));
    let mut story = Story::drawn(again);
    story.shell("do~1@1", true, "").shell("do~1@2", false, "").shell("do~1@3", true, "");
    let retry = story.open_of("all", Verb::Retry);
    story.tell(Event::WaitOver { effect: retry });
    assert_eq!(story.wanted(), ["do~2@2.1.1.shell"]);
    let mut story = Story::drawn(Builder::new("w").start(items.id("all")));
    story.shell("do@1", true, "").shell("do@2", false, "").shell("do@3", true, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
    story.continues();
    assert_eq!(story.wanted(), ["do@2~2.1.2.shell"]);
    story.shell("do@2~2", true, "");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_list_that_changed_is_matched_by_its_content() {
    // The list follows the output of a command that runs again in each round of the loop around it.
    let items = each("x", "outputs.find.value").each(|one| one.then(shell("{{ x }}").id("do"))).id("all");
    let find = shell("find").output_schema(json!({"type": "array"})).id("find");
    let mut story = Story::drawn(Builder::new("w").start(find).then(items));
    story.shell("find", true, r#"["a", "b"]"#).shell("do@1", true, "").shell("do@2", false, "");
    // As if somebody had put another item in front.
    let book = &mut story.state.bookkeeping;
    book.outputs.get_mut(&NodeId::new("find")).unwrap().value = Some(json!(["new", "b", "a"]));
    story.continues();
    assert_eq!(story.wanted(), ["do@3.1.2.shell"], "the new item has a number of its own");
    story.shell("do@3", true, "");
    assert_eq!(story.wanted(), ["do@2~2.1.2.shell"], "the other one is known");
    story.shell("do@2~2", true, "");
    assert_eq!(story.state.outcome().map(|outcome| outcome.status), Some(FinalStatus::Completed));
    assert_eq!(story.output("all")["items"][0]["item"], "new");
}

#[test]
fn a_paused_run_starts_no_further_item() {
    let mut story = Story::drawn(three_items(1, Join::All));
    story.tell(Event::PauseAsked { inbox: None }).shell("do@1", true, "");
    assert_eq!(story.wanted(), Vec::<String>::new());
    story.tell(Event::UnpauseAsked { inbox: None });
    let held = story.open_of("all", Verb::Defer);
    assert_eq!(story.tell(Event::WaitOver { effect: held }).wanted(), ["do@2.1.1.shell"]);
}

#[test]
fn the_output_of_a_command_is_a_value_if_it_fits_its_schema() {
    let form = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let workflow = || {
        Builder::new("w")
            .start(shell("x").output_schema(form.clone()).id("a"))
            .then(shell("{{ outputs.a.value.n + 1 }} {{ outputs.a.exit_code }}").id("b"))
    };
    let mut story = Story::drawn(workflow());
    assert!(story.shell_plan("a").json);
    assert_eq!(story.shell("a", true, "{\"n\": 41}\n").command("b"), "42 0");
    for (printed, why) in [
        ("", "it is empty, where JSON is wanted"),
        ("{", "it is not JSON: "),
        (r#"{"n": "1"}"#, "does not fit its schema: "),
    ] {
        let mut story = Story::drawn(workflow());
        assert_eq!(story.shell("a", true, printed).ended(), (FinalStatus::Failed, EndReason::Schema));
        let said = story.state.outcome().unwrap().detail.clone().unwrap();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn the_exit_code_of_a_command_and_its_standard_output_can_be_read() {
    let workflow = Builder::new("w")
        .start(shell("x").continue_on_failure().id("a"))
        .then(shell("{{ outputs.a.exit_code == 8 }} {{ outputs.a.stdout }}").id("b"));
    let mut story = Story::drawn(workflow);
    let effect = story.open_of("a", Verb::Shell);
    let end = ShellEnd::Exited {
        passed: false,
        how: "exit code 8".into(),
        output: "out\nerr".into(),
        stdout: Some("out".into()),
    };
    story.tell(Event::ShellEnded { effect, end });
    assert_eq!(story.command("b"), "true out");
}

#[test]
fn a_command_that_did_not_exit_by_itself_has_the_exit_code_that_a_shell_gives() {
    let workflow = || {
        let command = shell("x").continue_on_failure().timeout(Duration::from_secs(5)).id("a");
        Builder::new("w")
            .start(command)
            .then(shell("{{ outputs.a.exit_code }}{{ outputs.a.stdout }}").id("b"))
    };
    for (how, code) in [
        ("timed out", "124"),
        ("killed by signal 9", "137"),
        ("printed more than 64 MB and was ended", "125"),
    ] {
        let mut story = Story::drawn(workflow());
        let effect = story.open_of("a", Verb::Shell);
        story.tell(Event::ShellEnded { effect, end: ShellEnd::exited(false, how, "") });
        assert_eq!(story.command("b"), code, "{how}");
    }
    let mut story = Story::drawn(workflow());
    story.later(5_000).wait_over("a", Verb::Timeout).cleaned("a");
    assert_eq!(story.command("b"), "124");
}

#[test]
fn commands_sessions_checks_and_child_runs_get_the_environment() {
    let workflow = Builder::new("w")
        .env("BASE", "{{ inputs.base }}")
        .env("SAME", "outer")
        .shell_program(ShellProgram::Bash)
        .start(shell("x").env("SAME", "{{ input }}").stdin("{{ input }}!").id("a"))
        .try_(|body| body.then(prompt("p").env("OWN", "{{ outputs.a.text }}").id("p")), |catch| catch)
        .then(crate::graph::builder::workflow("child").env("KEY", "value").id("c"));
    let workflow = workflow.end().unwrap();
    let mut spec = spec_of(workflow.body.clone());
    spec.inputs.insert("base".into(), json!("main"));
    (spec.env, spec.shell) = (workflow.env.clone(), ShellProgram::Bash);
    spec.runs = Some("/state/runs".into());
    spec.others.insert("child".into(), spec_of(vec![shell("{{ run.artifacts }}").id("x").into()]));
    let mut story = Story::of(spec);
    let plan = story.shell_plan("a");
    let env: Vec<_> = plan.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["BASE=main", "SAME=do it"]);
    assert_eq!((plan.stdin.as_deref(), plan.shell), (Some("do it!"), ShellProgram::Bash));
    story.shell("a", true, "printed").prepared("p");
    assert_eq!(story.plan().env.get("OWN").map(String::as_str), Some("printed"));
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("p");
    let Effect::StartRun { spec, .. } = story.effect_of("c", Verb::Run) else { panic!("a run") };
    assert_eq!(spec.parent_env.get("KEY").map(String::as_str), Some("value"));
    assert_eq!(spec.parent_env.get("BASE").map(String::as_str), Some("main"));
    let child = Story::of(*spec);
    assert_eq!(child.command("x"), "/state/runs/r/artifacts");
}

#[test]
fn a_value_that_no_program_can_get_fails_its_node() {
    let mut spec = drawn(Builder::new("w").start(shell("x").env("BIG", "{{ input * 60000 }}").id("a")));
    spec.input = "ab".into();
    let story = Story::of(spec);
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Template));
    let said = story.state.outcome().unwrap().detail.clone().unwrap();
    assert!(said.contains("BIG is too long; pass it with `stdin`"), "{said}");
}

#[test]
fn a_workflow_gives_what_it_says() {
    let workflow = Builder::new("w").start(shell("x").output_schema(json!({"type": "object"})).id("a"));
    let mut spec = drawn(workflow.then(shell("y").id("b")));
    spec.gives = Some(crate::graph::workflow::Expression("outputs.a.value.label".into()));
    let mut story = Story::of(spec.clone());
    story.shell("a", true, r#"{"label": "bug"}"#).shell("b", true, "other");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(given_by(&story.state), ("bug".to_owned(), Some(json!("bug"))));
    spec.gives = Some(crate::graph::workflow::Expression("outputs.nobody.value.x".into()));
    let mut story = Story::of(spec);
    story.shell("a", true, "{}").shell("b", true, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Template));
}

fn with_finally() -> Builder {
    Builder::new("w")
        .start(shell("x").id("a"))
        .finally(|last| last.then(shell("tell {{ run.status }}: {{ run.reason }}").id("tell")))
}

#[test]
fn finally_runs_at_every_end_and_knows_which() {
    let mut story = Story::drawn(with_finally());
    story.shell("a", true, "");
    assert_eq!(story.command("tell"), "tell completed: everything is done");
    assert_eq!(story.shell("tell", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
    let mut story = Story::drawn(with_finally());
    story.shell("a", false, "");
    assert_eq!(story.command("tell"), "tell failed: the command of `a` failed: exit code 1");
    assert_eq!(story.shell("tell", true, "").ended(), (FinalStatus::Failed, EndReason::ShellFailed));
    for (event, words) in [
        (Event::CancelAsked { inbox: None }, "tell cancelled: by the user"),
        (Event::RunTimedOut, "tell failed: the run ran out of time"),
    ] {
        let mut story = Story::drawn(with_finally());
        story.tell(event).cleaned("a");
        assert_eq!(story.command("tell"), words);
        story.shell("tell", true, "");
        assert!(story.state.is_done());
    }
    let failing =
        Builder::new("w").start(fail("no").id("no")).finally(|last| last.then(shell("t").id("tell")));
    assert_eq!(Story::drawn(failing).wanted(), ["finally.1.1.timeout", "tell.1.1.shell"]);
}

#[test]
fn finally_does_not_run_when_a_run_is_interrupted_but_when_that_run_is_cancelled_later() {
    let mut story = Story::drawn(with_finally());
    story.tell(Event::InterruptAsked { inbox: None }).cleaned("a");
    assert_eq!(story.ended(), (FinalStatus::Interrupted, EndReason::User));
    story.tell(Event::CancelAsked { inbox: None });
    assert_eq!(story.command("tell"), "tell cancelled: by the user");
    assert_eq!(story.shell("tell", true, "").ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_run_that_is_continued_runs_finally_again_at_its_next_end() {
    let mut story = Story::drawn(with_finally());
    story.shell("a", false, "").shell("tell", true, "").continues();
    assert_eq!(story.wanted(), ["a~2.1.2.shell"]);
    story.shell("a~2", true, "");
    assert_eq!(story.command("tell@2"), "tell completed: everything is done");
    assert_eq!(story.shell("tell@2", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
    // A failed run had its end. Who cancels it gets no second one.
    let mut story = Story::drawn(with_finally());
    story.shell("a", false, "").shell("tell", true, "").tell(Event::CancelAsked { inbox: None });
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_failing_finally_fails_a_complete_run_and_changes_no_other_outcome() {
    let mut story = Story::drawn(with_finally());
    story.shell("a", true, "").shell("tell", false, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::FinallyFailed));
    let mut story = Story::drawn(with_finally());
    story.shell("a", false, "").shell("tell", false, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
}

#[test]
fn finally_is_bounded_in_time_and_can_be_cut_off() {
    let mut story = Story::drawn(with_finally());
    story.shell("a", true, "");
    let timeout = story.open_of("finally", Verb::Timeout);
    story.later(600_000).tell(Event::WaitOver { effect: timeout }).cleaned("tell");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::FinallyFailed));
    let cancel = || Event::CancelAsked { inbox: None };
    let mut story = Story::drawn(with_finally());
    story.shell("a", true, "").tell(cancel()).tell(cancel()).cleaned("tell");
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_run_that_is_cancelled_in_finally_still_completes_it() {
    for ok in [true, false] {
        let mut story = Story::drawn(with_finally());
        story.shell("a", ok, "").tell(Event::CancelAsked { inbox: None });
        assert!(!story.state.is_done());
        assert_eq!(story.shell("tell", true, "").ended(), (FinalStatus::Cancelled, EndReason::User));
    }
    // Also if someone paused it in the meantime.
    let two = Builder::new("w")
        .start(shell("x").id("a"))
        .finally(|last| last.then(shell("1").id("tell")).then(shell("2").id("tidy")));
    let mut story = Story::drawn(two);
    story.shell("a", true, "").tell(Event::PauseAsked { inbox: None }).shell("tell", true, "");
    story.tell(Event::CancelAsked { inbox: None });
    let held = story.open_of("tidy", Verb::Defer);
    story.tell(Event::WaitOver { effect: held });
    assert_eq!(story.shell("tidy", true, "").ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_run_that_is_interrupted_in_finally_runs_it_again_when_it_continues() {
    let mut story = Story::drawn(with_finally());
    story.shell("a", true, "").tell(Event::InterruptAsked { inbox: None });
    let said: Vec<_> = story.step.news.iter().filter(|news| matches!(news, News::Odd { .. })).collect();
    let text = "`finally` was stopped before it completed `tell`; `resume` runs `finally` again";
    assert!(matches!(&said[..], [News::Odd { what, .. }] if what == text), "{said:?}");
    assert_eq!(story.cleaned("tell").ended(), (FinalStatus::Interrupted, EndReason::User));
    assert_eq!(would_end(&story.state, story.at, &Continuation::default()), None);
    assert_eq!(story.continues().command("tell@2"), "tell completed: everything is done");
    assert_eq!(story.shell("tell@2", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
    // A run that failed also has its `finally` again, at its next end.
    let mut story = Story::drawn(with_finally());
    story.shell("a", false, "").tell(Event::InterruptAsked { inbox: None }).cleaned("tell");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
    story.continues().shell("a~2", true, "");
    assert_eq!(story.shell("tell@2", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn finally_of_a_run_inside_another_stops_only_if_the_outer_one_is_interrupted() {
    let ends = |interrupted, failed| {
        let mut story = Story::drawn(with_finally());
        story.shell("a", true, "");
        let ended = || Event::ParentEnded { inbox: None, why: "run o ended".into(), interrupted, failed };
        // The outer run may say it twice, and still nothing loses its grace.
        story.tell(ended()).tell(ended());
        assert!(!story.step.effects.iter().any(|planned| planned.effect == Effect::KillChildren));
        match interrupted {
            true => story.cleaned("tell"),
            false => story.shell("tell", true, ""),
        };
        story
    };
    let mut story = ends(true, false);
    assert_eq!(story.ended(), (FinalStatus::Interrupted, EndReason::OuterRun));
    assert_eq!(story.continues().command("tell@2"), "tell completed: everything is done");
    assert_eq!(ends(false, false).ended(), (FinalStatus::Cancelled, EndReason::OuterRun));
    assert_eq!(ends(false, true).ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_run_whose_finally_failed_can_continue_with_it() {
    let mut story = Story::drawn(with_finally());
    story.shell("a", true, "").shell("tell", false, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::FinallyFailed));
    assert_eq!(would_end(&story.state, story.at, &Continuation::default()), None);
    story.continues();
    assert_eq!(story.shell("tell@2", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_paused_run_that_is_cancelled_runs_finally_at_once() {
    let mut story = Story::drawn(with_finally());
    story.tell(Event::PauseAsked { inbox: None }).tell(Event::CancelAsked { inbox: None }).cleaned("a");
    assert_eq!(story.wanted(), ["finally.1.1.timeout", "tell.1.1.shell"]);
    // Or the pause came before the end.
    let mut story = Story::drawn(with_finally());
    story.tell(Event::PauseAsked { inbox: None }).shell("a", true, "");
    assert!(matches!(&story.state.root.now, Some(now) if matches!(now.activity, Activity::Deferred { .. })));
    let told = story.tell(Event::CancelAsked { inbox: None }).command("tell");
    assert_eq!(told, "tell cancelled: by the user");
}

#[test]
fn a_block_without_catch_only_groups_its_nodes() {
    let workflow = Builder::new("w")
        .start(clear_context())
        .try_(|body| body.then(shell("x").id("a")).then(shell("y").id("b")), |catch| catch);
    let mut story = Story::drawn(workflow);
    assert_eq!(story.shell("a", false, "").ended(), (FinalStatus::Failed, EndReason::ShellFailed));
}
