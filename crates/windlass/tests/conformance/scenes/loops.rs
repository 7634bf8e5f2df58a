//! Several turns of one conversation: resumed, or kept from stopping.

use windlass_testkit::{Model, say};

use super::Behaviour;
use super::turns::assert_spent;
use crate::cells::SceneCells;
use crate::subject::Subject;

const CONTINUE: &str = "Continue the task. Read the tracker at /";

pub(super) fn resume(subject: &Subject, cells: &mut SceneCells) {
    let model = Model::script([
        say("the first part").tokens(100, 10).cached(40),
        say("the second part").tokens(200, 20),
    ])
    .start();
    let words = ["loop", "build it", "--mode", "resume", "--max-iterations", "2"];
    let ended = subject.start(&model, &words).end();

    cells.check(Behaviour::Resume, || {
        ended.assert_ended(9, "exhausted", "max_iterations", 2);
        let requests = model.requests();
        assert_eq!(requests.len(), 2, "{}", ended.story());
        assert!(requests[1].mentions("the first part"), "it does not remember: {}", ended.story());
        assert!(requests[1].last_user_text().contains(CONTINUE), "{}", requests[1].last_user_text());
        assert_eq!(ended.of("session.started").len(), 2);
    });
    cells.check_with(Behaviour::UsageAfterResume, || assert_spent(subject, &ended, [300, 30, 40]));
}

pub(super) fn in_session(subject: &Subject, cells: &mut SceneCells) {
    let model =
        Model::script([say("the first part"), say("the second part")]).default(say("too much")).start();
    let words = ["loop", "build it", "--mode", "in_session", "--max-iterations", "2"];
    let ended = subject.start(&model, &words).end();

    cells.check(Behaviour::StopBlock, || {
        ended.assert_ended(9, "exhausted", "max_iterations", 2);
        assert_eq!(ended.decisions("stop"), ["block", "pass"], "{}", ended.story());
        assert_eq!(ended.of("session.started").len(), 1, "{}", ended.story());
        let requests = model.requests();
        assert_eq!(requests.len(), 2, "{}", ended.story());
        assert!(requests[1].last_user_text().contains(CONTINUE), "{}", requests[1].last_user_text());
    });
}
