//! Runs that somebody ends: nothing of them is left.

use windlass_testkit::{Gate, Model, hang, say, shell};

use super::Behaviour;
use crate::cells::SceneCells;
use crate::stage::{MINUTE, assert_nobody_left};
use crate::subject::Subject;

/// A command that leaves a process in its group, and one that leaves the group.
const LEAVES_TWO: &str = "sleep 600 > /dev/null 2>&1 & setsid sleep 600 > /dev/null 2>&1 & echo marked";

pub(super) fn cancel(subject: &Subject, cells: &mut SceneCells) {
    let model = Model::script([shell(LEAVES_TWO), hang()]).start();
    let started = subject.start_nodes(&model, "  - prompt: go\n");
    cells.check(Behaviour::Cancel, || {
        let run = started.wait_for("run.started")["run"].as_str().unwrap().to_owned();
        model.wait_for_requests(2, MINUTE);
        let cancel = subject.stage.windlass(&["cancel", &run]);
        assert_eq!(cancel.code, Some(0), "{}", cancel.story());
        let ended = started.end();
        let finished = ended.of("run.finished");
        assert_eq!(finished.last().unwrap()["status"], "cancelled", "{}", ended.story());
        assert_nobody_left(&subject.stage);
    });
}

pub(super) fn kill(subject: &Subject, cells: &mut SceneCells) {
    let gate = Gate::closed();
    let model =
        Model::script([shell(LEAVES_TWO), say("never heard").behind(&gate)]).default(say("again")).start();
    let started = subject.start_nodes(&model, "  - prompt: go\n");
    cells.check(Behaviour::Kill, || {
        gate.wait_reached(MINUTE);
        started.kill9();
        gate.open();
        let ended = subject.stage.start(subject.windlass(&model, &["resume", "--json"])).end();
        ended.assert_ended(0, "completed", "turn_done", 1);
        assert!(
            model.requests().last().unwrap().mentions("marked"),
            "it does not remember: {}",
            ended.story()
        );
        assert_nobody_left(&subject.stage);
    });
}
