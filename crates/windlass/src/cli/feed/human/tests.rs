//! Tests for the feed of a run as a person reads it.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::event::{AnswerOrigin, PersonReply, RECORD_VERSION, WorktreeEnd};
use windlass_core::graph::workflow::{
    AskNode, EachNode, Expression, FailNode, IfNode, Join, ListSource, ListenNode, LoopNode, Node, NodeKind,
    OnFailure, ParallelBranch, ParallelNode, PromptSource, Session, ShellNode, TaskLoopNode, Template,
    TryNode, WaitUntil, WorkflowNode,
};
use windlass_core::hook::permission::Isolation;
use windlass_core::id::{HookId, InboxId, NodeId, SessionId, Verb};
use windlass_core::run::{ConflictStep, EndReason, FinalStatus, ListItem, Outcome, Spent, Waiting};
use windlass_core::spec::{AgentCommand, OnPermission, OnQuestion, Policy, SessionSettings, TimeLimits};
use windlass_core::tasks::{Claim, TaskStatus};

use super::super::status_line::CLEAR;

use windlass_core::effect::{Effect, Planned};

use super::*;

fn feed() -> Human {
    Human::new(Terminal::plain(), Style::default(), RunId::new("k3f9"))
}

fn told(human: &mut Human, news: News) -> Vec<String> {
    happened(human, Event::OwnerChanged, vec![news])
}

fn happened(human: &mut Human, event: Event, news: Vec<News>) -> Vec<String> {
    human.record(&[], &Record { v: RECORD_VERSION, at: Moment(1_000), event, effects: Vec::new(), news })
}

fn turn(node: &str) -> EffectId {
    EffectId { node: NodeId::new(node), iteration: 1, attempt: 1, verb: Verb::Session }
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { text: text.to_owned(), message_id: "m".to_owned(), side: false }
}

fn session(iteration: u32, attempt: u32) -> News {
    let (node, session) = (NodeId::new("loop"), SessionId::new("s"));
    News::SessionStarted { node, session, iteration, attempt, resumed: attempt > 1 }
}

#[test]
fn an_iteration_has_one_heading_however_often_it_is_tried() {
    let mut human = feed();
    assert_eq!(told(&mut human, session(1, 1)), ["", "iteration 1"]);
    assert_eq!(told(&mut human, session(1, 2)), ["  continuing the session (try 2)"]);
    assert_eq!(told(&mut human, session(2, 1)), ["", "iteration 2"]);
}

#[test]
fn a_warning_that_comes_thirty_times_is_shown_once_and_counted() {
    let mut human = feed();
    told(&mut human, session(1, 1));
    let odd = |what: &str| News::Odd { node: NodeId::new("loop"), what: what.to_owned() };
    let warning = |what: &str| AgentEvent::Warning { what: what.to_owned() };
    let mut shown = Vec::new();
    for _ in 0..30 {
        shown.extend(human.agent(&[], &turn("loop"), &warning("a line is too long")));
        shown.extend(human.agent(&[], &turn("loop"), &text("Working.")));
        shown.extend(told(&mut human, odd("a hook was refused")));
    }
    shown.extend(human.agent(&[], &turn("loop"), &warning("something else")));
    let count = |shown: &[String], what: &str| shown.iter().filter(|line| line.contains(what)).count();
    let warnings = ["warning: a line is too long", "warning: a hook was refused", "warning: something else"];
    assert_eq!(warnings.map(|what| count(&shown, what)), [1, 1, 1], "{shown:#?}");
    assert_eq!(count(&shown, "Working."), 30);
    let (node, checks) = (NodeId::new("loop"), Vec::new());
    let finished = News::IterationFinished { node, iteration: 1, checks, goes_on: true, feedback: None };
    let expected = ["  warning: a hook was refused (30 times)", "  warning: a line is too long (30 times)"];
    assert_eq!(told(&mut human, finished.clone()), expected);
    assert_eq!(told(&mut human, finished), Vec::<String>::new());
    assert_eq!(told(&mut human, odd("a hook was refused")), ["  warning: a hook was refused"]);
}

#[test]
fn within_one_session_the_next_iteration_begins_with_the_next_words() {
    let mut human = feed();
    told(&mut human, session(1, 1));
    let (node, checks) = (NodeId::new("loop"), Vec::new());
    let finished = News::IterationFinished { node, iteration: 1, checks, goes_on: true, feedback: None };
    assert!(told(&mut human, finished).is_empty());
    assert_eq!(human.agent(&[], &turn("loop"), &text("on it")), ["", "iteration 2", "  on it"]);
}

#[test]
fn only_refusals_are_told() {
    let mut human = feed();
    let decided = |answer| News::HookDecided {
        hook: windlass_core::id::HookId::new("h"),
        asked: "tool".to_owned(),
        tool: Some("WebFetch".to_owned()),
        answer,
    };
    assert!(told(&mut human, decided(HookAnswer::Allow)).is_empty());
    let denied = told(&mut human, decided(HookAnswer::Deny { reason: "not in\n\u{1b}[1mstrict".to_owned() }));
    assert_eq!(denied, ["  denied WebFetch: not in ^[[1mstrict"]);
}

#[test]
fn a_refusal_is_told_once() {
    let mut human = feed();
    let reason = "not in strict".to_owned();
    let (hook, tool) = (windlass_core::id::HookId::new("h"), Some("WebFetch".to_owned()));
    let answer = HookAnswer::Deny { reason };
    assert_eq!(told(&mut human, News::HookDecided { hook, asked: "tool".to_owned(), tool, answer }).len(), 1);
    let result = |text: &str| AgentEvent::ToolResult {
        id: "t".to_owned(),
        is_error: true,
        text: text.to_owned(),
        was_decided: true,
        side: false,
    };
    assert_eq!(human.agent(&[], &turn("loop"), &result("no such file")).len(), 1);
    assert!(human.agent(&[], &turn("loop"), &result("Hook said: not in strict")).is_empty());
    assert_eq!(human.agent(&[], &turn("loop"), &result("Hook said: not in strict")).len(), 1);
}

#[test]
fn a_wait_says_how_long() {
    let waiting = Waiting::Retry { until: Moment(5_000), what: "overloaded".to_owned() };
    assert_eq!(told(&mut feed(), News::Waiting(waiting)), ["  trying again in 4 s: overloaded"]);
}

#[test]
fn without_a_terminal_there_is_no_progress_line() {
    let mut human = feed();
    assert_eq!((human.progress(Moment(0)), human.bottom.clear()), (None, ""));
    human.screen.redraws = true;
    assert_eq!(human.progress(Moment(0)).as_deref(), Some("\r\u{1b}[Kpreparing, 0 s"));
    assert_eq!((human.bottom.clear(), human.bottom.clear()), (CLEAR, ""));
}

fn step(id: &str, act: NodeKind) -> Node {
    Node {
        env: Default::default(),
        id: NodeId::new(id),
        kind: act,
        when: None,
        settings: Default::default(),
        retry: Default::default(),
        budget: Default::default(),
        on_failure: OnFailure::Fail,
        computed: Default::default(),
    }
}

fn prompt(id: &str) -> Node {
    let source = PromptSource::Prompt { prompt: Template("x".to_owned()) };
    step(id, NodeKind::Session(Session::new(source)))
}

fn spec(workflow: &str, body: Vec<Node>) -> Spec {
    let driver = AgentCommand {
        name: "sim".to_owned(),
        program: "/sim".to_owned(),
        words: vec![],
        model: None,
        args: Vec::new(),
    };
    let session_settings = SessionSettings {
        driver,
        models: Vec::new(),
        effort: None,
        isolation: Isolation::Strict,
        permissions: Default::default(),
        entity: None,
        rules: None,
        choice: None,
        fallback: Vec::new(),
        switch_back: false,
    };
    let ids = windlass_core::graph::walk::ids_in(&body);
    Spec {
        workflow: workflow.to_owned(),
        description: None,
        seed: "s".to_owned(),
        input: "x".to_owned(),
        inputs: BTreeMap::new(),
        kinds: BTreeMap::new(),
        ranges: BTreeMap::new(),
        body,
        sessions: ids.into_iter().map(|id| (id, session_settings.clone())).collect(),
        workspace: "/w".to_owned(),
        machine: "m".to_owned(),
        plugins: Vec::new(),
        checks: Vec::new(),
        env: Default::default(),
        parent_env: Default::default(),
        shell: Default::default(),
        gives: None,
        runs: None,
        policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
        limits: TimeLimits::default(),
        timeout_from: None,
        budget: Default::default(),
        prices: Default::default(),
        others: BTreeMap::new(),
        parent: None,
        notify: Default::default(),
        worktree: None,
        fork_of: None,
        request: None,
    }
}

/// A feed of a run of several nodes, with its header told.
fn of(body: Vec<Node>) -> Human {
    let mut human = feed();
    let header = happened(&mut human, Event::RunStarted { spec: Box::new(spec("ship", body)) }, vec![]);
    assert_eq!(header[0], "ship on sim, run k3f9");
    human
}

fn begins(node: &str, kind: &str) -> News {
    News::NodeStarted { node: NodeId::new(node), kind: kind.to_owned(), about: None }
}

fn ends(node: &str) -> News {
    let outcome = Outcome::new(FinalStatus::Completed, EndReason::AllDone);
    News::NodeFinished { node: NodeId::new(node), outcome, spent: Spent::default(), took_ms: 3_000 }
}

#[test]
fn one_session_has_its_bounds_in_the_header_and_several_nodes_their_number() {
    let run = |body| {
        let spec = Box::new(spec("ship", body));
        happened(&mut feed(), Event::RunStarted { spec }, vec![])
    };
    assert_eq!(run(vec![prompt("a")]), ["ship on sim, run k3f9", "  in /w", "  isolation strict"]);
    let several = run(vec![prompt("a"), prompt("b")]);
    assert_eq!(several, ["ship on sim, run k3f9", "  in /w", "  2 steps, isolation strict"]);
}

#[test]
fn nodes_have_headings_by_their_depth_and_an_end() {
    let again = NodeKind::Loop(LoopNode {
        until: vec![Expression("true".to_owned())],
        max: 3,
        forever: false,
        body: vec![prompt("fix")],
    });
    let mut human = of(vec![step("again", again), prompt("b")]);
    assert_eq!(told(&mut human, begins("again", "loop")), ["", "> again (loop)"]);
    let round = News::Round { node: NodeId::new("again"), round: 2, task: None, item: None };
    assert_eq!(told(&mut human, round), ["  iteration 2"]);
    assert_eq!(told(&mut human, begins("fix@2", "prompt")), ["  > fix (prompt)"]);
    assert!(told(&mut human, session(1, 1)).is_empty(), "one turn is no iteration");
    assert_eq!(human.agent(&[], &turn("fix@2"), &text("on it")), ["    on it"]);
    assert_eq!(told(&mut human, ends("fix@2")), ["  ok fix completed, 3 s"]);
    let skipped = News::NodeSkipped { node: NodeId::new("b"), why: "`x` is false".to_owned() };
    assert_eq!(told(&mut human, skipped), ["- b skipped: `x` is false"]);
}

#[test]
fn words_of_several_agents_at_once_say_whose_they_are() {
    let branch = |name: &str, body: Node| ParallelBranch { name: name.to_owned(), body: vec![body] };
    let beside = |id: &str, branches| {
        step(id, NodeKind::Parallel(ParallelNode { limit: 0, join: Join::All, branches }))
    };
    let inner = beside("inner", vec![branch("old", prompt("history")), branch("new", prompt("news"))]);
    let mut human =
        of(vec![beside("both", vec![branch("left", inner), branch("right", prompt("style"))]), prompt("c")]);
    assert_eq!(told(&mut human, begins("both", "parallel")), ["", "> both (parallel)"]);
    assert_eq!(told(&mut human, begins("history", "prompt")), ["[left/old] > history (prompt)"]);
    assert_eq!(human.agent(&[], &turn("history"), &text("alone")), ["[left/old] alone"]);
    assert_eq!(told(&mut human, begins("style", "prompt")), ["[right] > style (prompt)"]);
    assert_eq!(human.agent(&[], &turn("history"), &text("looking")), ["[left/old] looking"]);
    human.screen.redraws = true;
    assert_eq!(human.progress(Moment(1_000)).as_deref(), Some("\r\u{1b}[K2 nodes, working, 0 s"));
    assert_eq!(told(&mut human, ends("style")), ["[right] ok style completed, 3 s"]);
    assert_eq!(human.agent(&[], &turn("history"), &text("alone")), ["[left/old] alone"], "to the end");
    assert_eq!(human.progress(Moment(1_000)).as_deref(), Some("\r\u{1b}[Khistory, working, 0 s"));
}

#[test]
fn a_task_is_told_by_its_number_and_name_and_how_it_went() {
    let each = NodeKind::TaskLoop(TaskLoopNode {
        path: None,
        until: None,
        select: None,
        max: 0,
        jobs: 2,
        attempts: 1,
        keeps_branches: false,
        before_each: vec![step("clear", NodeKind::ClearContext)],
        body: vec![prompt("do")],
    });
    let mut human = of(vec![step("tasks", each)]);
    let claimed = |id: &str, name: &str| {
        let claim = Claim::Task { id: id.parse().unwrap(), task: json!({"id": id, "name": name}) };
        Event::TaskClaimed { effect: turn("tasks"), claim, odd: Vec::new() }
    };
    let node = NodeId::new("tasks");
    let round =
        |round, id: &str| News::Round { node: node.clone(), round, task: Some(id.to_owned()), item: None };
    let lines = happened(&mut human, claimed("3", "Write the\u{1b}[2J parser"), vec![round(1, "3")]);
    assert_eq!(lines, ["  task 3: Write the^[[2J parser"]);
    let (effect, branch) = (turn("tasks@1"), "b".to_owned());
    let end = WorktreeEnd::Made { workspace: "/tree".to_owned(), branch, target: None, commit: None };
    happened(&mut human, Event::WorktreeMade { effect, end }, Vec::new());
    happened(&mut human, claimed("4", "Docs"), vec![round(2, "4")]);
    assert!(told(&mut human, begins("clear@1", "clear_context")).is_empty(), "it does nothing to see");
    assert!(told(&mut human, ends("clear@1")).is_empty());
    assert_eq!(told(&mut human, begins("do@1", "prompt")), ["[3 Write the^[[2J...] > do (prompt)"]);
    assert_eq!(told(&mut human, begins("do@2", "prompt")), ["[4 Docs] > do (prompt)"]);
    let writes = AgentEvent::ToolUse {
        id: "t".to_owned(),
        tool: windlass_core::hook::ToolName::Write,
        name: "Write".to_owned(),
        asks: false,
        summary: "/tree/a.md".to_owned(),
        side: false,
    };
    let lines = human.agent(&[], &turn("do@1"), &writes);
    assert_eq!(lines, ["[3 Write the^[[2J...] Write  a.md"], "as seen from its worktree");
    human.screen.redraws = true;
    human.nodes.tasks.count(5, 8);
    assert_eq!(human.progress(Moment(10_000)).as_deref(), Some("\r\u{1b}[K5 of 8 done, running 3, 4, 9 s"));
    human.screen.redraws = false;
    let conflict = |files: &[&str], next| News::Conflict {
        node: NodeId::new("tasks"),
        task: "3".to_owned(),
        target: Some("main".to_owned()),
        files: files.iter().map(|&name| name.to_owned()).collect(),
        next,
    };
    let by_agent = conflict(&["CHANGELOG.md"], ConflictStep::Agent { time: 1, of: 3 });
    let line = "  task 3 conflicts with main in CHANGELOG.md: its agent resolves it (1 of 3)";
    assert_eq!(told(&mut human, by_agent), [line]);
    let alone = conflict(&["a", "b\u{1b}[2J", "c", "d"], ConflictStep::Alone);
    let line =
        "  task 3 conflicts with main in a, b^[[2J, c and 1 more: it is done again while no other task lands";
    assert_eq!(told(&mut human, alone), [line]);
    let why = Some("the checks are red".to_owned());
    let failing = News::Task { node, task: "3".to_owned(), status: TaskStatus::Failing, why };
    assert_eq!(told(&mut human, failing), ["  task 3 is failing: the checks are red"]);
    human.screen.redraws = true;
    assert!(human.progress(Moment(10_000)).unwrap().contains("5 of 8 done, running 4, 9 s"));
}

fn list(jobs: u32, body: Vec<Node>) -> NodeKind {
    NodeKind::Each(EachNode {
        items: ListSource::Literal(Vec::new()),
        name: "issue".to_owned(),
        jobs,
        join: Join::All,
        worktree: false,
        max: 50,
        body,
    })
}

fn item(number: u32, label: &str, is_named: bool) -> News {
    let item = ListItem { place: number, of: 7, label: label.to_owned(), is_named };
    let (node, task) = (NodeId::new("probes"), Some(r#"{"kind":"bug"}"#.to_owned()));
    News::Round { node, round: number, task, item: Some(item) }
}

#[test]
fn the_lines_of_an_item_have_its_label_and_it_is_no_task() {
    let mut human = of(vec![step("probes", list(2, vec![prompt("look")]))]);
    told(&mut human, begins("probes", "each"));
    assert_eq!(told(&mut human, item(1, "parser", true)), ["  item 1 of 7: parser"]);
    let unnamed = told(&mut human, item(2, "probes 2", false));
    assert_eq!(unnamed, [r#"  item 2 of 7 (probes 2): {"kind":"bug"}"#]);
    assert_eq!(told(&mut human, begins("look@1", "prompt")), ["[parser] > look (prompt)"]);
    assert_eq!(told(&mut human, begins("look@2", "prompt")), ["[probes 2] > look (prompt)"]);
    assert_eq!(human.agent(&[], &turn("look@2"), &text("hm")), ["[probes 2] hm"]);
    assert_eq!(told(&mut human, ends("look@1")), ["[parser] ok look completed, 3 s"]);
    human.screen.redraws = true;
    let progress = human.progress(Moment(1_000)).unwrap();
    assert!(progress.contains("running parser, probes 2"), "{progress}");
    let resumed = told(&mut human, News::TakenOver);
    assert_eq!(resumed, ["  resuming where it left off: items parser, probes 2 in progress"]);
}

#[test]
fn the_lines_of_an_item_have_its_label_in_every_try_of_the_block() {
    let mut human = of(vec![step("probes", list(2, vec![prompt("look")]))]);
    told(&mut human, begins("probes", "each"));
    told(&mut human, item(1, "parser", true));
    told(&mut human, item(2, "printer", true));
    assert_eq!(told(&mut human, begins("look~1@2", "prompt")), ["[printer] > look (prompt)"]);
    assert_eq!(human.agent(&[], &turn("look~1@1"), &text("hm")), ["[parser] hm"]);
}

#[test]
fn items_one_after_the_other_need_no_label() {
    let mut human = of(vec![step("probes", list(1, vec![prompt("look")]))]);
    assert_eq!(told(&mut human, item(1, "parser", true)), ["  item 1 of 7: parser"]);
    assert_eq!(told(&mut human, begins("look@1", "prompt")), ["  > look (prompt)"]);
}

#[test]
fn the_lines_of_a_run_that_an_item_starts_have_its_label() {
    let call = NodeKind::Workflow(WorkflowNode { name: "release".to_owned(), inputs: BTreeMap::new() });
    let mut human = of(vec![step("probes", list(2, vec![step("call", call)]))]);
    told(&mut human, item(2, "probes 2", false));
    let child = RunId::new("c1");
    let spec = Box::new(spec("release", vec![prompt("go"), prompt("on")]));
    let effect = Effect::StartRun { run: child.clone(), spec, more: None };
    human.know_child(&Planned { id: EffectId { verb: Verb::Run, ..turn("call@2") }, effect });
    let begun = Record {
        v: RECORD_VERSION,
        at: Moment(0),
        event: Event::OwnerChanged,
        effects: vec![],
        news: vec![begins("go", "prompt")],
    };
    assert_eq!(human.record(std::slice::from_ref(&child), &begun), ["[probes 2] > go (prompt)"]);
}

#[test]
fn the_reason_of_a_failure_is_shown_at_the_node_that_failed_and_not_at_the_blocks_around_it() {
    let fail = NodeKind::Fail(FailNode { reason: Template("no luck".to_owned()) });
    let guard = NodeKind::Try(TryNode { body: vec![step("stop", fail)], catch: Vec::new() });
    let mut human = of(vec![step("probes", list(1, vec![step("guard", guard)]))]);
    let failed = |node: &str, why: &str| News::NodeFinished {
        node: NodeId::new(node),
        outcome: Outcome::new(FinalStatus::Failed, EndReason::FailNode).because(why),
        spent: Spent::default(),
        took_ms: 3_000,
    };
    assert_eq!(told(&mut human, failed("stop@1", "no luck")), ["    FAILED stop failed, 3 s: no luck"]);
    assert_eq!(told(&mut human, failed("guard@1", "no luck")), ["  FAILED guard failed, 3 s"]);
    let all = told(&mut human, failed("probes", "no item succeeded: no luck"));
    assert_eq!(all, ["FAILED probes failed, 3 s: no item succeeded"]);
    let own = told(&mut human, failed("probes", "the list has 60 items"));
    assert_eq!(own, ["FAILED probes failed, 3 s: the list has 60 items"]);
    // A block of another item may fail for a reason of its own that reads the same.
    let other = told(&mut human, failed("guard@2", "no luck"));
    assert_eq!(other, ["  FAILED guard failed, 3 s: no luck"]);
}

#[test]
fn the_reason_of_a_sub_run_is_shown_at_its_node_that_failed() {
    let call = NodeKind::Workflow(WorkflowNode { name: "release".to_owned(), inputs: BTreeMap::new() });
    let mut human = of(vec![step("call", call), prompt("b")]);
    let child = RunId::new("c1");
    let effect = Effect::StartRun {
        run: child.clone(),
        spec: Box::new(spec("release", vec![prompt("go"), prompt("on")])),
        more: None,
    };
    human.know_child(&Planned { id: EffectId { verb: Verb::Run, ..turn("call") }, effect });
    let failed = |node: &str| News::NodeFinished {
        node: NodeId::new(node),
        outcome: Outcome::new(FinalStatus::Failed, EndReason::AgentFailed).because("no luck"),
        spent: Spent::default(),
        took_ms: 3_000,
    };
    let (event, news) = (Event::OwnerChanged, vec![failed("go")]);
    let record = Record { v: RECORD_VERSION, at: Moment(0), event, effects: Vec::new(), news };
    let lines = human.record(std::slice::from_ref(&child), &record);
    assert_eq!(lines, ["  [call] FAILED go failed, 3 s: no luck"]);
    assert_eq!(told(&mut human, failed("call")), ["FAILED call failed, 3 s"]);
}

#[test]
fn the_value_of_a_command_with_a_schema_takes_one_line() {
    let shell = |schema| {
        let command = Template("make".to_owned());
        NodeKind::Shell(ShellNode { command, idempotent: false, stdin: None, schema })
    };
    let mut human = of(vec![step("find", shell(Some(json!({})))), step("list", shell(None))]);
    let mut ended = |node: &str| {
        let end = windlass_core::event::ShellEnd::exited(true, "exit code 0", "[\n  7,\n  9\n]\n");
        happened(&mut human, Event::ShellEnded { effect: turn(node), end }, Vec::new())
    };
    assert_eq!(ended("find"), ["  [ 7, 9 ]"]);
    assert_eq!(ended("list").len(), 4);
}

#[test]
fn a_run_within_a_run_is_told_below_the_node_that_started_it() {
    let call = NodeKind::Workflow(WorkflowNode { name: "release".to_owned(), inputs: BTreeMap::new() });
    let mut human = of(vec![step("call", call), prompt("b")]);
    let child = RunId::new("c1");
    let effect = Effect::StartRun {
        run: child.clone(),
        spec: Box::new(spec("release", vec![prompt("go")])),
        more: None,
    };
    let id = EffectId { verb: Verb::Run, ..turn("call") };
    let effects = vec![Planned { id, effect }];
    let news = vec![begins("call", "workflow")];
    let record = Record { v: RECORD_VERSION, at: Moment(0), event: Event::OwnerChanged, effects, news };
    let lines = human.record(&[], &record);
    assert_eq!(lines, ["", "> call (workflow)", "  started run c1 of `release`: windlass logs c1"]);
    let from = std::slice::from_ref(&child);
    assert_eq!(human.agent(from, &turn("go"), &text("hello")), ["  [call]   hello"]);
    let started = Event::RunStarted { spec: Box::new(spec("release", vec![prompt("go")])) };
    let record = Record { v: RECORD_VERSION, at: Moment(0), event: started, effects: vec![], news: vec![] };
    assert!(human.record(from, &record).is_empty(), "the run around it has said what it is");
}

#[test]
fn a_wait_says_what_ends_it() {
    let mut human = feed();
    let event = Waiting::Event { name: "deployed".to_owned() };
    assert_eq!(
        told(&mut human, News::Waiting(event)),
        ["  waiting for the event deployed: windlass send k3f9 --event deployed"]
    );
    let paused = told(&mut human, News::Paused);
    assert!(paused[0].ends_with("nothing new starts; continue with `windlass resume k3f9`"), "{paused:?}");
    assert_eq!(told(&mut human, News::GoesOn), ["  resumed"]);
}

#[test]
fn what_a_pause_holds_back_is_not_said_to_go_on() {
    let mut human = of(vec![
        prompt("a"),
        step(
            "b",
            NodeKind::Shell(ShellNode {
                command: Template("make".to_owned()),
                idempotent: false,
                stdin: None,
                schema: None,
            }),
        ),
    ]);
    told(&mut human, begins("a", "prompt"));
    told(&mut human, News::Paused);
    let held = told(&mut human, News::NodeHeld { node: NodeId::new("b") });
    assert_eq!(held, ["b will start when the run continues"]);
    human.screen.redraws = true;
    assert_eq!(human.progress(Moment(1_000)).as_deref(), Some("\r\u{1b}[Ka, paused, 0 s"));
    human.screen.redraws = false;
    assert_eq!(told(&mut human, News::GoesOn), ["  resumed"]);
    assert_eq!(told(&mut human, begins("b", "shell")), ["", "> b (shell)"]);
}

#[test]
fn another_try_says_which_of_how_many_when_and_why_below_its_node() {
    let again =
        NodeKind::Loop(LoopNode { until: Vec::new(), max: 3, forever: false, body: vec![prompt("fix")] });
    let mut human = of(vec![step("again", again), prompt("b")]);
    told(&mut human, begins("again", "loop"));
    told(&mut human, begins("fix@1", "prompt"));
    let node = NodeId::new("fix@1");
    let until = Some(Moment(3_000));
    let retrying =
        News::Retrying { node: node.clone(), what: "no JSON".into(), attempt: 2, of: Some(3), until };
    assert_eq!(told(&mut human, retrying), ["    try 2 of 3 in 2 s: no JSON"]);
    let effect = EffectId { verb: Verb::Retry, ..turn("fix@1") };
    let news = vec![News::WaitOver, begins("fix@1~2", "prompt")];
    assert_eq!(happened(&mut human, Event::WaitOver { effect }, news), ["  > fix~2 (prompt)"]);
    for over in ["fix@1", "fix@1~2"] {
        told(&mut human, ends(over));
    }
    let waiting = News::Waiting(Waiting::Time { until: Moment(0) });
    let lines = happened(&mut human, Event::OwnerChanged, vec![begins("fix@2", "prompt"), waiting]);
    assert!(lines[1].starts_with("    waiting until"), "{lines:?}");
}

#[test]
fn where_several_nodes_are_under_way_it_is_said_which_goes_on() {
    let wait = |id: &str| {
        let until = WaitUntil::Event(ListenNode { name: "z".to_owned(), timeout_ms: None });
        step(id, NodeKind::Wait(until))
    };
    let mut human = of(vec![wait("w"), wait("v")]);
    let sent =
        || Event::EventReceived { inbox: InboxId::new("i"), name: "z".to_owned(), text: String::new() };
    told(&mut human, begins("v", "wait"));
    told(&mut human, begins("w", "wait"));
    let lines = happened(&mut human, sent(), vec![News::WaitOver, ends("w")]);
    assert_eq!(lines[..2], ["  received event z (w)", "  continuing with w"]);
    let lines = happened(&mut human, sent(), vec![News::WaitOver, ends("v")]);
    assert_eq!(lines[..2], ["  received event z", "  continuing"], "it is the only one");
}

#[test]
fn what_a_run_within_runs_asks_is_labelled_with_the_way_to_it() {
    let mut human = of(vec![prompt("a")]);
    let (one, two) = (RunId::new("one"), RunId::new("two"));
    let start = |node: &str, run: &RunId| {
        let id = EffectId { verb: Verb::Run, ..turn(node) };
        let spec = Box::new(spec("inner", vec![prompt("a2")]));
        Planned { id, effect: Effect::StartRun { run: run.clone(), spec, more: None } }
    };
    human.know_child(&start("a", &one));
    human.in_child(&one, |child| child.know_child(&start("a2", &two)));
    let asked = || vec!["  `kq` asks: which?".to_owned()];
    assert_eq!(human.labelled(&RunId::new("k3f9"), asked()), asked());
    assert_eq!(human.labelled(&two, asked()), ["  [a]   [a2]   `kq` asks: which?"]);
}

fn asked(human: &mut Human) {
    let question =
        windlass_core::hook::Question::of_workflow("Ship it?", &["yes".to_owned(), "no".to_owned()]);
    let (node, hook) = (NodeId::new("b"), HookId::new("ask/b"));
    let ask = windlass_core::run::Ask::question(node, hook, vec![question]);
    let lines =
        happened(human, Event::OwnerChanged, vec![begins("b", "ask"), News::Waiting(Waiting::Person(ask))]);
    assert_eq!(lines[2..5], ["  `b` asks: Ship it?", "    - yes", "    - no (default)"]);
}

fn answers(text: &str) -> Event {
    let origin = Some(AnswerOrigin {
        user: "anna".to_owned(),
        way: "windlass answer".to_owned(),
        pid: 1,
        tty: Some("pts/3".to_owned()),
    });
    let reply = PersonReply::Answers { answers: vec![(String::new(), text.to_owned())] };
    Event::PersonAnswered { inbox: InboxId::new("i"), hook: Some(HookId::new("ask/b")), reply, origin }
}

fn asking() -> Human {
    let question = Template("Ship it?".to_owned());
    let choices = vec!["yes".to_owned(), "no".to_owned()];
    let ask = NodeKind::Ask(AskNode { question, choices, default: Some("no".to_owned()) });
    of(vec![prompt("a"), step("b", ask)])
}

#[test]
fn an_answer_from_elsewhere_is_told_with_who_gave_it() {
    let mut human = asking();
    asked(&mut human);
    let lines = happened(&mut human, answers("yes"), vec![News::WaitOver, ends("b")]);
    assert_eq!(lines, ["  answered by anna (windlass answer, pts/3): yes", "ok b completed, 3 s"]);
    assert!(happened(&mut human, answers("no"), Vec::new()).is_empty(), "nothing is asked any more");
}

#[test]
fn a_text_that_is_no_choice_is_no_answer() {
    let mut human = asking();
    asked(&mut human);
    assert!(happened(&mut human, answers("maybe"), Vec::new()).is_empty());
    assert_eq!(happened(&mut human, answers("no"), vec![News::WaitOver, ends("b")]).len(), 2);
}

#[test]
fn an_if_says_which_branch_it_takes_and_why() {
    let shell = |id: &str| {
        step(
            id,
            NodeKind::Shell(ShellNode {
                command: Template("make".to_owned()),
                idempotent: false,
                stdin: None,
                schema: None,
            }),
        )
    };
    let decide = |id: &str, otherwise| {
        let condition = Expression(" outputs.ok.text == \"commit\" ".to_owned());
        step(id, NodeKind::If(IfNode { condition, then: vec![shell(&format!("{id}-then"))], otherwise }))
    };
    let mut human = of(vec![decide("one", vec![shell("other")]), decide("two", Vec::new())]);
    let taken = |human: &mut Human, news: Vec<News>| happened(human, Event::OwnerChanged, news)[2].clone();
    let then = vec![begins("one", "if"), begins("one-then", "shell")];
    assert_eq!(taken(&mut human, then), "  if: outputs.ok.text == \"commit\" -> then");
    let other = vec![begins("one", "if"), begins("other", "shell")];
    assert_eq!(taken(&mut human, other), "  if: outputs.ok.text == \"commit\" -> else");
    let neither = vec![begins("two", "if"), ends("two")];
    assert_eq!(taken(&mut human, neither), "  if: outputs.ok.text == \"commit\" -> else, which is empty");
}

#[test]
fn a_run_that_is_resumed_says_what_happened_before_and_shows_its_phase() {
    let (mut state, _) =
        windlass_core::engine::start(RunId::new("k3f9"), spec("ship", vec![prompt("a")]), Moment(0));
    state.spent.usage.cost_usd = Some(0.21);
    let now = state.root.now.as_mut().map(|active| &mut active.activity);
    let Some(windlass_core::run::Activity::Session(work)) = now else { panic!("{state:?}") };
    (work.phase, work.turns) = (windlass_core::run::SessionPhase::InTurn, 2);
    let mut human = of(vec![prompt("a")]);
    human.see(&state);
    assert_eq!(
        told(&mut human, News::TakenOver),
        ["  resuming where it left off: iteration 3, $0.21 so far"]
    );
    human.screen.redraws = true;
    let line = human.progress(Moment(14_000)).unwrap();
    assert_eq!(line, "\r\u{1b}[Kiteration 3, working, 14 s, $0.21");
}
