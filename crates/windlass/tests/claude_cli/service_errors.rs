//! An error of the model's service that the run did not cause costs a retry, not the run.

use windlass_testkit::{Model, fail, require_claude, say};

use crate::stage::{Stage, append};

#[test]
fn a_stray_400_costs_a_retry() {
    let stage = Stage::new(require_claude!());
    stage.sealed.write("config/windlass/config.toml", "retry_delay = \"20ms\"\n");
    // The CLI repeats the request with fewer beta headers before it gives up.
    let stray = (0..6).map(|_| fail(400, "invalid_request_error").message("scripted"));
    let work = [append("<!-- WORKFLOW_COMPLETE -->"), say("done")];
    let model = Model::script(stray.chain(work)).start();
    let ended = stage.start(stage.command(&model, "work", &["--workflow", "loop"])).end();
    ended.assert_ended(0, "completed", "marker", 1);
    assert_eq!(ended.of("run.waiting").len(), 1, "{}", ended.story());
}
