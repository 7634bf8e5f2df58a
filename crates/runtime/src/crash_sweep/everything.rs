//! A workflow with every kind of node that runs, and the script for everything in it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use windlass_core::event::{SessionFailure, SessionVerdict};
use windlass_core::graph::builder::{
    Builder, LoopRounds, agent, ask, check, clear_context, command, criteria_loop, each, each_of, fail,
    prompt, shell, skill, task_loop, turns, wait, wait_for, workflow,
};
use windlass_core::graph::workflow::{Budget, Join, NodeNumber, Template, TurnLoop, Workflow};
use windlass_core::id::NodeId;
use windlass_core::looping::LoopMode;
use windlass_core::spec::Spec;
use windlass_core::tasks::Task;

use super::executor::NEVER_TOLD;
use super::story::{Line, Pace, Script, Story, spec_of};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Builds the story of everything, with pauses after the given numbers of turns.
pub(super) fn story(pauses: &[u32]) -> Story {
    let mut story = Story::new(format!("everything, pauses {pauses:?}"), spec(), Script::Lines(lines()));
    story.pauses = pauses.to_vec();
    story.tasks = BTreeMap::from([
        ("one.json".to_owned(), vec![task("a", &[])]),
        ("two.json".to_owned(), vec![task("a", &[]), task("b", &[]), task("c", &["a", "b"])]),
    ]);
    story
}

/// Builds a story of a command line that must not run twice and whose outcome a crash loses.
pub(super) fn lost_shell() -> Story {
    let workflow = Builder::new("lost")
        .start(shell("make").id("make"))
        .then(shell("touch x").idempotent().id("touch"))
        .then(shell("deploy {{ outputs.make.text }}").id("deploy"))
        .then(prompt("Look at {{ outputs.deploy.text }}").id("look"))
        .end();
    let mut story = Story::new("a lost shell", spec_of(&workflow.unwrap()), Script::Lines(BTreeMap::new()));
    story.loses_shells = true;
    story
}

/// Builds a story in which an effect of one branch breaks while the agent of the other branch works.
pub(super) fn broken() -> Story {
    let workflow = Builder::new("broken")
        .start(prompt("Look").id("look"))
        .parallel(|lanes| {
            lanes
                .branch("slow", |lane| lane.then(prompt("Think").id("slow")).then(shell("late").id("late")))
                .branch("bad", |lane| lane.then(shell("make").id("make")).then(shell("next").id("next")))
        })
        .id("both")
        .then(prompt("Never").id("never"))
        .end();
    let lines = [("slow.1.1.session", Line::paced(Pace::Never)), ("make", Line::breaks())];
    let lines = lines.map(|(node, line)| (node.to_owned(), line));
    Story::new("a broken effect", spec_of(&workflow.unwrap()), Script::Lines(BTreeMap::from(lines)))
}

fn task(id: &str, after: &[&str]) -> Task {
    let id_of = |id: &str| id.parse().unwrap();
    let dependencies = after.iter().map(|id| id_of(id)).collect();
    Task { dependencies, ..Task::named(id_of(id), format!("task {id}")) }
}

fn in_mode(mode: LoopMode, max: u32) -> TurnLoop {
    TurnLoop { mode: Some(mode), ..turns(max) }
}

fn few_turns(most: u32) -> Budget {
    Budget { turns: Some(most), ..Budget::default() }
}

fn spec() -> Spec {
    let mut spec = spec_of(&whole());
    if let Some(look) = spec.sessions.get_mut(&NodeId::new("look")) {
        look.models = ["opus", "{{ input }}"].map(|model| Template(model.into())).to_vec();
    }
    let child = spec_of(&child());
    spec.others = BTreeMap::from([
        ("child".to_owned(), Spec { inputs: BTreeMap::from([("what".to_owned(), json!(""))]), ..child }),
        ("endless".to_owned(), spec_of(&endless())),
    ]);
    spec
}

fn whole() -> Workflow {
    let budget = Budget {
        turns: Some(500),
        tokens: Some(100_000),
        cost_usd: Some(500.0),
        time_ms: Some(1_000_000_000),
    };
    let plan = json!({
        "type": "object",
        "properties": {"big": {"type": "boolean"}},
        "required": ["big"],
    });
    Builder::new("everything")
        .budget(budget)
        .check("test", "make test")
        .check("lint", "make lint")
        .start(prompt("Look at {{ input }}").id("look").timeout(HOUR))
        .then(skill("research").args("{{ outputs.look.text }}").id("research"))
        .then(command("count").args("{{ outputs.research.text }}").continues("research").id("count"))
        .then(agent("planner").prompt("Plan {{ outputs.count.text }}").schema(plan).id("plan"))
        .then(clear_context())
        .then(prompt("Turn by turn").turns(in_mode(LoopMode::Fresh, 4)).id("fresh"))
        .then(prompt("Turn by turn").turns(in_mode(LoopMode::Resume, 4)).id("resume"))
        .then(prompt("Turn by turn").turns(in_mode(LoopMode::InSession, 4)).id("inside"))
        .then(prompt("Turn by turn").turns(in_mode(LoopMode::Plugin, 4)).id("plugin"))
        .then(prompt("A bad day").id("rough"))
        .then(shell("make {{ outputs.plan.value.big }}").id("make"))
        .then(shell("touch x").idempotent().id("touch"))
        .then(check(["test"]).id("gate"))
        .if_(
            "outputs.plan.value.big",
            |big| big.then(prompt("Big: {{ outputs.make.text }}").id("big")),
            |small| small.then(prompt("Small").id("small")),
        )
        .if_(
            "outputs.gate.failed",
            |red| red.then(prompt("Red").id("red")),
            |green| green.then(shell("echo green").id("green")),
        )
        .loop_(LoopRounds::until("not outputs.tests.failed").max(4), |round| {
            round
                .then(prompt("Make it green. {{ feedback }}").continues("fix").id("fix"))
                .then(check(["test"]).id("tests").continue_on_failure())
        })
        .computed(NodeNumber::Max, "outputs.gate.failed | int + 3", 4)
        .then(ask("Shall it go on?").choices(["yes", "no"]).id("ask"))
        .then(prompt("They said {{ outputs.ask.text }}").when("outputs.ask.text == 'no'").id("left-out"))
        .then(
            criteria_loop("ALL CLEAR")
                .max(4)
                .id("criteria")
                .each(|round| round.then(prompt("Round {{ iteration }}").id("clear"))),
        )
        .then(
            task_loop()
                .path("one.json")
                .id("one")
                .before_each(|before| before.then(shell("git status").id("before")))
                .each(|task| task.then(prompt("Do {{ task.name }}. {{ feedback }}").id("do"))),
        )
        .then(task_loop().path("two.json").jobs(2).id("two").each(|task| {
            task.then(prompt("Do {{ task.name }}. {{ feedback }}").id("both"))
                .then(shell("commit").id("commit"))
        }))
        .parallel(|lanes| {
            lanes
                .limit(2)
                .branch("talk", |lane| lane.then(prompt("A").id("talk")).then(shell("a").id("talk-shell")))
                .branch("asks", |lane| lane.then(ask("B?").id("asks")).then(prompt("B").id("asked")))
                .branch("tries", |lane| {
                    lane.then(shell("c").retry(1, SECOND).id("tries")).then(wait(SECOND).id("nap"))
                })
        })
        .id("all")
        .parallel(|lanes| {
            lanes
                .join(Join::Any)
                .branch("first", |lane| lane.then(shell("quick").id("first")))
                .branch("shell", |lane| lane.then(shell("sleep inf").id("hung-shell")))
                .branch("session", |lane| lane.then(prompt("Think").id("hung-session")))
                .branch("turns", |lane| {
                    lane.then(prompt("Think").turns(in_mode(LoopMode::InSession, 4)).id("hung-inside"))
                })
                .branch("event", |lane| lane.then(wait_for(NEVER_TOLD, Some(HOUR)).id("hung-event")))
        })
        .id("any")
        .parallel(|lanes| {
            lanes
                .join(Join::FirstSuccess)
                .branch("fails", |lane| lane.then(shell("false").id("loses")))
                .branch("run", |lane| lane.then(workflow("endless").id("hung-run")))
                .branch("asks", |lane| {
                    lane.then(prompt("Ask").id("asks-itself")).then(wait_for(NEVER_TOLD, None).id("hung"))
                })
                .branch("wins", |lane| lane.then(prompt("Win").id("wins")))
        })
        .id("success")
        .then(
            workflow("child").with_input("what", "{{ outputs.wins.text }}").budget(few_turns(20)).id("call"),
        )
        .then(wait(SECOND).id("sleep"))
        .then(wait_for("deployed", Some(HOUR)).id("event"))
        .then(prompt("Flaky").retry(2, SECOND).computed(NodeNumber::Times, "1 + 1", 3).id("flaky"))
        .then(shell("false").continue_on_failure().id("bad"))
        .then(
            prompt("Poor")
                .turns(in_mode(LoopMode::Fresh, 9))
                .budget(few_turns(1))
                .continue_on_failure()
                .id("poor"),
        )
        .then(
            each_of("item", vec![json!("a"), json!({"b": 1}), json!("a")])
                .jobs(2)
                .worktree()
                .join(Join::Some)
                .id("items")
                .each(|item| {
                    item.then(prompt("Item {{ iteration }}: {{ item | tojson }}").id("item-talk"))
                        .then(prompt("Go on.").continues("item-talk").id("item-more"))
                        .then(shell("use").stdin("{{ outputs.item_more.text }}").id("item-use"))
                }),
        )
        .then(
            each("n", "range(outputs.items.value.completed)")
                .computed(NodeNumber::Max, "outputs.items.value.completed", 9)
                .id("numbers")
                .each(|item| item.then(shell("count {{ n }}").env("N", "{{ n }}").id("count-item"))),
        )
        .try_(
            |body| body.then(shell("false").id("tried")).then(prompt("Never").id("never-tried")),
            |catch| catch.then(prompt("Mend it: {{ feedback }}").id("caught")),
        )
        .try_(
            |body| body.then(fail("It is {{ outputs.caught.text }}").id("given-up")),
            |catch| catch.then(clear_context()),
        )
        .then(prompt("{{ outputs.event.text }} {{ outputs.bad.failed }} {{ outputs.call.text }}").id("sum"))
        .finally(|last| {
            last.then(shell("notify").stdin("{{ run.status }} {{ run.reason }}").id("notify"))
                .then(prompt("Last of all").id("last-of-all"))
        })
        .end()
        .unwrap()
}

fn child() -> Workflow {
    Builder::new("child")
        .start(prompt("Child: {{ inputs.what }}").id("child-talk"))
        .then(ask("May the child go on?").id("child-ask"))
        .parallel(|lanes| {
            lanes
                .branch("one", |lane| lane.then(shell("one").id("child-one")))
                .branch("two", |lane| lane.then(shell("two").id("child-two")))
        })
        .then(prompt("Last words").id("child-last"))
        .end()
        .unwrap()
}

/// Builds a run that never ends by itself.
fn endless() -> Workflow {
    let first = prompt("Begin").id("endless-begin");
    Builder::new("endless").start(first).then(prompt("For ever").id("endless-talk")).end().unwrap()
}

fn lines() -> BTreeMap<String, Line> {
    let fails = |what: &str| SessionVerdict::Transient { what: what.to_owned() };
    let no_model = SessionVerdict::Failed { cause: SessionFailure::Model, what: "404".into() };
    let cut_off = SessionVerdict::Interrupted { what: "killed".into() };
    let mut lines = vec![
        // The first answer does not match the schema, the second does.
        ("plan.1.1.session", Line::says("{\"big\": 3}")),
        ("plan.2.1.session", Line { value: Some(json!({"big": true})), ..Line::default() }),
        ("look.1.1.session", Line::verdict(no_model)),
        ("fresh", Line::done_on(1)),
        ("fresh.1.1.checks", Line::bad()),
        ("resume", Line::done_on(2)),
        ("inside", Line::done_on(2)),
        ("plugin", Line::done_on(2)),
        ("rough.1.1.session", Line::verdict(SessionVerdict::RateLimited { resets_at: None })),
        ("rough.1.2.session", Line::verdict(fails("529"))),
        ("rough.1.3.session", Line::verdict(cut_off)),
        ("tests@1", Line::bad()),
        ("clear@2", Line::says("It is done.\nALL CLEAR")),
        // The first task: its checks fail, then its agent says no, then it is done.
        ("one@1.1.1.checks", Line::bad()),
        ("do@2", Line::says("<status>failing</status>")),
        // One landing has a conflict, which its agent resolves. The other task has begun by then.
        ("two@1.1.1.land", Line { pace: Pace::Slow, ..Line::bad() }),
        ("tries", Line::bad()),
        ("first", Line::paced(Pace::Slow)),
        ("loses", Line::bad()),
        ("wins", Line::paced(Pace::Slow)),
        ("flaky", Line::bad()),
        ("bad", Line::bad()),
        ("item-use@2", Line::bad()),
        ("tried", Line::bad()),
        ("poor", Line::done_on(9)),
    ];
    for hung in ["hung-shell", "hung-session", "hung-inside", "endless-talk"] {
        lines.push((hung, Line::paced(Pace::Never)));
    }
    lines.into_iter().map(|(name, line)| (name.to_owned(), line)).collect()
}
