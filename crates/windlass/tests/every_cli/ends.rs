//! Runs that somebody ends in the middle of a tool: no process is left, and the user's files are as they were.

use std::collections::BTreeMap;
use std::path::PathBuf;

use windlass_testkit::{Gate, Model, say, shell};

use crate::stage::{Ended, MINUTE, Started, assert_nobody_left};
use crate::subject::Subject;

/// A command that leaves a process in its group and one that leaves the group.
const LEAVES_TWO: &str = "sleep 600 > /dev/null 2>&1 & setsid sleep 600 > /dev/null 2>&1 & echo marked";

/// A run in the middle of its turn, after the agent left processes behind.
struct InTheMiddle {
    model: Model,
    started: Started,
    run: String,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl InTheMiddle {
    fn reach(subject: &Subject) -> InTheMiddle {
        let gate = Gate::closed();
        let model = Model::script([shell(LEAVES_TWO), say("never heard").behind(&gate)]).start();
        // Writes the files with which the CLI uses the model.
        drop(subject.windlass(&model, &[]));
        let before = subject.users_files();
        let file = subject.stage.sealed.write("flow.yaml", "name: flow\nnodes:\n  - prompt: go\n");
        let started = subject.start(&model, &["run", "--workflow", file.to_str().unwrap()]);
        gate.wait_reached(MINUTE);
        let run = started.wait_for("run.started")["run"].as_str().unwrap().to_owned();
        InTheMiddle { model, started, run, before }
    }
}

fn cancel_it(subject: &Subject, model: &Model, run: &str) -> Ended {
    let cancelled = subject.stage.start(subject.windlass(model, &["cancel", run])).end();
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.story());
    cancelled
}

pub(crate) fn cancel(subject: &Subject) {
    let InTheMiddle { model, started, run, before } = InTheMiddle::reach(subject);
    cancel_it(subject, &model, &run);
    let ended = started.end();
    assert_eq!(ended.of("run.finished").last().unwrap()["status"], "cancelled", "{}", ended.story());
    assert_nobody_left(&subject.stage);
    subject.assert_users_files(&before, &ended.story());
}

/// The owner of the run is killed, and the person cancels the run that nobody owns.
pub(crate) fn kill(subject: &Subject) {
    let InTheMiddle { model, started, run, before } = InTheMiddle::reach(subject);
    let killed = started.kill9();
    cancel_it(subject, &model, &run);
    assert_nobody_left(&subject.stage);
    subject.assert_users_files(&before, &killed.story());
}
