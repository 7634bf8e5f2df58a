//! The built-in loop: the agent marks its work as done, a check fails once, and the second turn completes it.

use std::fs;

use windlass_testkit::{Model, Request, Turn, reply, say, shell};

use crate::drivers::Mode;
use crate::stage::assert_nobody_left;
use crate::subject::{Subject, tracker_of};

/// Fails after the first turn, and passes after the second.
const CHECK: &str = "grep -q second work.txt || { echo only-half-is-there; false; }";

/// The model adds a line to the work, and marks it as done in the tracker.
fn works(line: &'static str) -> Turn {
    reply(move |request: &Request| {
        let tracker = tracker_of(request);
        shell(format!("echo {line} >> work.txt; echo '<!-- WORKFLOW_COMPLETE -->' >> '{tracker}'"))
    })
}

pub(crate) fn play(subject: &Subject, mode: Mode) {
    let script = [works("first"), say("half of it"), works("second"), say("all of it")];
    let model = Model::script(script).default(say("too much")).start();
    let words = ["loop", "build it", "--mode", mode.flag(), "--check", CHECK, "--max-iterations", "4"];
    let ended = subject.start(&model, &words).end();

    ended.assert_ended(0, "completed", "marker", 2);
    let work = fs::read_to_string(subject.repo("work.txt")).unwrap();
    assert_eq!(work, "first\nsecond\n", "{mode:?}: {}", ended.story());
    let requests = model.requests();
    assert_eq!(requests.len(), 4, "{mode:?}: {}", ended.story());
    let next = &requests[2];
    assert!(next.last_user_text().contains("only-half-is-there"), "{mode:?}: {}", next.last_user_text());
    assert_eq!(next.mentions("half of it"), mode != Mode::Fresh, "{mode:?}: what it remembers");
    let started = ended.of("session.started");
    let expected = if mode == Mode::InSession { 1 } else { 2 };
    assert_eq!(started.len(), expected, "{mode:?}: {}", ended.story());
    let is_resumed = started.last().unwrap()["resumed"] == true;
    assert_eq!(is_resumed, mode == Mode::Resume, "{mode:?}: {}", ended.story());
    assert_nobody_left(&subject.stage);
}
