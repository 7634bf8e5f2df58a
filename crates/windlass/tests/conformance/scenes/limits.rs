//! A limit of the service: the run waits until it resets, and the refused turn does not count.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use windlass_testkit::{Model, say};

use super::Behaviour;
use crate::cells::{Outcome, SceneCells};
use crate::drivers::LimitReset;
use crate::stage::assert_nobody_left;
use crate::subject::Subject;

/// The time until the reset. Longer than any CLI waits by itself.
const RESETS_IN: Duration = Duration::from_secs(90 * 60);

pub(super) fn quota(subject: &Subject, cells: &mut SceneCells) {
    if let LimitReset::Hidden(what) = subject.driver.reset {
        cells.check_with(Behaviour::Quota, || hidden(subject, what));
        return;
    }
    let model = Model::script([(subject.driver.limit)(RESETS_IN), say("the first part")])
        .default(say("too much"))
        .start();
    let words = ["loop", "build it", "--mode", "resume", "--max-iterations", "1"];
    let started = subject.start(&model, &words);
    cells.check_with(Behaviour::Quota, || {
        let waiting = started.wait_for("run.waiting");
        let run = waiting["run"].as_str().unwrap().to_owned();
        assert_eq!(waiting["data"]["on"], "rate_limit", "{waiting}");
        let outcome = assert_reset(subject.driver.reset, &waiting["data"]["until"]);
        assert_eq!(model.requests().len(), 1, "the CLI repeated the request");
        let now = subject.stage.start(subject.windlass(&model, &["resume", &run, "--now", "--json"])).end();
        let ended = started.end();
        ended.assert_ended(9, "exhausted", "max_iterations", 1);
        assert_eq!(
            model.requests().len(),
            2,
            "the refused turn was counted: {}\n{}",
            ended.story(),
            now.story()
        );
        assert_nobody_left(&subject.stage);
        outcome
    });
}

/// A limit that the CLI does not report: it waits itself, and the run does not count the turn twice.
fn hidden(subject: &Subject, what: &str) -> Outcome {
    let limit = (subject.driver.limit)(Duration::from_secs(1));
    let model = Model::script([limit, say("the first part")]).default(say("too much")).start();
    let words = ["loop", "build it", "--mode", "resume", "--max-iterations", "1"];
    let ended = subject.start(&model, &words).end();
    ended.assert_ended(9, "exhausted", "max_iterations", 1);
    assert_eq!(model.requests().len(), 2, "{}", ended.story());
    assert_eq!(ended.of("run.waiting").len(), 0, "{}", ended.story());
    Outcome::PassedBut(what.to_owned())
}

/// Checks the time until which a run waits.
fn assert_reset(reset: LimitReset, until: &Value) -> Outcome {
    let text = until.as_str().unwrap_or_else(|| panic!("no time: {until}"));
    let until: jiff::Timestamp = text.parse().unwrap();
    let left = SystemTime::from(until).duration_since(SystemTime::now()).unwrap().as_secs();
    let full = RESETS_IN.as_secs();
    match reset {
        LimitReset::ToTheSecond => {
            assert!((full - 60..=full + 1).contains(&left), "{left} s are left");
            Outcome::Passed
        }
        LimitReset::ToTheMinute => {
            assert!((full - 120..=full + 60).contains(&left), "{left} s are left");
            Outcome::PassedBut("the CLI reports the reset to the minute".to_owned())
        }
        LimitReset::Hidden(what) => panic!("the run waits, but {what}"),
        LimitReset::Unknown(why) => {
            assert!((1..=60).contains(&left), "{left} s are left");
            Outcome::PassedBut(why.to_owned())
        }
    }
}
