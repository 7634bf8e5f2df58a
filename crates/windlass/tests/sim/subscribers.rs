//! Listeners in other processes follow a run through the death of its owner and of their own.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_runtime::Durability;
use windlass_runtime::crash::CrashCounter;
use windlass_runtime::handle::Handle;
use windlass_runtime::home::Home;
use windlass_runtime::view::{AgentWords, FeedScope, FeedStart, RunChange, RunUpdate, Subscription};
use windlass_testkit::wait::until;

use crate::place::{Going, LIMIT, Place, busy_turn, done, say};

/// The run that a listener follows, and from where: `beginning`, `now` or a cursor.
const RUN: &str = "FOLLOWED_RUN";
const FROM: &str = "FOLLOWED_FROM";

/// Two turns; the second waits for the file `go` before it completes.
fn turns() -> Value {
    json!([
        busy_turn(),
        {"steps": [
            say("Waiting."),
            {"write": {"path": "sign", "content": "x"}},
            {"wait_for": "go"},
            {"bash": "echo x >> worked"},
            done(),
            say("The last words."),
        ]},
    ])
}

fn open(state: PathBuf) -> Handle {
    let home = Home {
        config: state.join("config"),
        user: state.join("user"),
        temp: std::env::temp_dir(),
        env: Vec::new(),
        binary: None,
        agents: windlass_runtime::Agents::default(),
        machine: "here".to_owned(),
        crash: CrashCounter::from_text(None),
        state,
    };
    Handle::open(home, Durability::Normal).unwrap()
}

/// An update as it is compared: a record by its number, an agent's words by their place.
fn short(update: &RunUpdate) -> Option<String> {
    match &update.change {
        RunChange::Appeared => None,
        RunChange::Record { seq, .. } => Some(format!("record {seq}")),
        RunChange::Agent { effect, offset, event, .. } => Some(format!("{effect} {offset} {event:?}")),
        RunChange::LeftOut { .. } => Some("left out".to_owned()),
        RunChange::Ended { outcome } => Some(format!("ended {}", outcome.status.word())),
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
#[ignore = "played by another process"]
fn play_a_listener() {
    let run = std::env::var(RUN).unwrap();
    let handle = open(PathBuf::from(std::env::var("XDG_STATE_HOME").unwrap()).join("windlass"));
    let run = handle.find(&run).unwrap();
    let mut family = handle.family(&handle.view(&run).unwrap());
    let start = match std::env::var(FROM).unwrap().as_str() {
        "beginning" => FeedStart::Beginning,
        "now" => FeedStart::After(family.cursor(&handle)),
        cursor => FeedStart::After(serde_json::from_str(cursor).unwrap()),
    };
    let mut feed = handle.subscribe(FeedScope::Family(run.clone()), start, AgentWords::Included).unwrap();
    wait(async {
        while let Some(update) = feed.next().await {
            let update = update.unwrap();
            if let RunChange::Record { seq, record } = &update.change {
                family.see(&update.run, *seq, record);
            }
            let line = json!({"told": short(&update), "cursor": feed.cursor()});
            let mut out = std::io::stdout().lock();
            // Behind a newline: the test program has printed the name of this test.
            write!(out, "\n{line}\n").unwrap();
            out.flush().unwrap();
        }
    });
    assert_eq!(*family.root(), handle.view(&run).unwrap().state, "the listener's own fold");
}

/// A listener in a process of its own.
fn listen(place: &Place, run: &str, from: &str) -> Going {
    let mut command = place.sealed.command(std::env::current_exe().unwrap());
    command.args(["--exact", "subscribers::play_a_listener", "--ignored", "--nocapture"]);
    command.env(RUN, run).env(FROM, from);
    place.spawn(command)
}

fn told(lines: &[Value]) -> Vec<String> {
    lines.iter().filter_map(|line| line["told"].as_str()).map(str::to_owned).collect()
}

/// Everything that a listener has been told by now.
fn all(feed: &mut Subscription) -> Vec<String> {
    wait(async {
        let mut all = Vec::new();
        while let Some(update) = feed.next_now().await {
            all.extend(short(&update.unwrap()));
        }
        all
    })
}

#[test]
fn listeners_in_two_processes_see_everything_once_and_in_order_through_crash_and_resume() {
    let place = Place::playing(turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    let first = listen(&place, &run, "beginning");
    place.file("sign");
    let handle = open(place.sealed.state().join("windlass"));
    let id = handle.find(&run).unwrap();
    let subscribe =
        |start| handle.subscribe(FeedScope::Run(id.clone()), start, AgentWords::Included).unwrap();
    let mut middle = subscribe(FeedStart::Beginning);
    let before = wait(async {
        let mut before = Vec::new();
        while before.len() < 5 {
            before.extend(short(&middle.next().await.unwrap().unwrap()));
        }
        before
    });
    let second = listen(&place, &run, &serde_json::to_string(&middle.cursor()).unwrap());
    let third = listen(&place, &run, "now");
    let is_here = |going: &Going| told(&going.lines()).iter().any(|line| line.contains("Waiting."));
    until(LIMIT, || is_here(&first) && is_here(&second));

    place.sealed.kill9(going.pid());
    going.end();
    // A listener dies, too. It goes on after what it last wrote down.
    place.sealed.kill9(first.pid());
    let early = first.end().lines;
    let cursor = early.last().unwrap()["cursor"].to_string();
    let first = listen(&place, &run, &cursor);
    std::fs::write(place.repo().join("go"), "x").unwrap();
    place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "marker", 2);

    let ends = [first, second, third].map(|listener| listener.end());
    assert!(ends.iter().all(|end| end.code == 0), "{}\n{}\n{}", ends[0], ends[1], ends[2]);
    let whole = all(&mut subscribe(FeedStart::Beginning));
    let records: Vec<&String> = whole.iter().filter(|line| line.starts_with("record ")).collect();
    let numbers: Vec<String> = (1..=records.len()).map(|seq| format!("record {seq}")).collect();
    assert_eq!(records, numbers.iter().collect::<Vec<_>>());
    assert_eq!(whole.last().map(String::as_str), Some("ended completed"));
    assert_same([told(&early), told(&ends[0].lines)].concat(), &whole);
    assert_same([before, told(&ends[1].lines)].concat(), &whole);
    place.assert_nothing_is_left();
}

/// That a listener saw each record once and in order, and each word of an agent once and in order. A word and a record may
/// have come in another order than they are read in later.
#[track_caller]
fn assert_same(seen: Vec<String>, whole: &[String]) {
    let is_record = |line: &&String| line.starts_with("record ") || line.starts_with("ended ");
    let split = |lines: &[String]| -> (Vec<String>, Vec<String>) {
        lines.iter().cloned().partition(|line| is_record(&line))
    };
    assert_eq!(split(&seen), split(whole));
}
