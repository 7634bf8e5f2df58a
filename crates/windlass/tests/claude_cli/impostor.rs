//! Must show 2: an agent that tries to answer for the person fails, in every way that it tries.

#[path = "../common/ways.rs"]
mod ways;

use std::fs;

use windlass_testkit::{Model, procs, require_claude, require_program, say, wait, windlass_bin};

use crate::stage::{MINUTE, Stage, Started, assert_nobody_left, bash, path};

/// Starts the gates and waits until the agent is through; with the id of the run.
fn work(stage: &Stage, model: &Model) -> (Started, String) {
    let flags = ["--workflow", "gates", "--on-question", "wait", "--isolation", "minimal"];
    let started = stage.start(stage.command(model, "it", &flags));
    let run = started.wait_for("run.started")["run"].as_str().unwrap().to_owned();
    let is_over =
        |line: &serde_json::Value| line["type"] == "node.finished" && line["data"]["node"] == "work";
    wait::until(MINUTE, || started.so_far().iter().any(is_over));
    (started, run)
}

#[test]
fn an_agent_answers_neither_the_workflow_nor_itself_and_a_person_does() {
    let claude = require_claude!();
    for program in ways::PROGRAMS {
        require_program!(program);
    }
    let stage = Stage::new(claude);
    let repo = stage.sealed.repo();
    for (path, text) in ways::FILES {
        stage.sealed.write(format!("repo/{path}"), text);
    }
    let printed = stage.sealed.root().join("out-0.txt");
    let script = ways::shell(&windlass_bin(), &printed, "Ship it?", &ways::all());
    stage.sealed.write("repo/ways.sh", script);
    // One more waits until the turn is over.
    let later = format!(
        "nohup env -i HOME=$HOME XDG_STATE_HOME=$XDG_STATE_HOME PATH=$PATH setsid sh -c 'while :; do {} answer \
         '$WINDLASS_RUN' yes; sleep 0.2; done' >/dev/null 2>&1 & echo $! >later.pid",
        path(&windlass_bin())
    );
    let model = Model::script([bash("sh ways.sh"), bash(&later), say("I could not")]).start();
    let (started, run) = work(&stage, &model);

    let wrong = ways::not_refused(&repo);
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), started.said());
    let later = fs::read_to_string(repo.join("later.pid")).unwrap().trim().parse().unwrap();
    assert!(!procs::is_alive(later), "what waited for the end of the turn lives");
    let asks = stage.windlass(&["show", &run, "--json"]).lines[0]["data"]["asks"].clone();
    assert_eq!(asks.as_array().map(Vec::len), Some(1), "{asks}");
    assert!(!repo.join("DEPLOYED").exists() && !repo.join("PUBLISHED").exists());

    for word in [&["answer", &run, "yes"][..], &["send", &run, "--event", "reviewed"]] {
        let said = stage.windlass(word);
        assert_eq!(said.code, Some(0), "{}", said.story());
    }
    let ended = started.end();
    assert_eq!(ended.code, Some(0), "{}", ended.story());
    assert!(repo.join("DEPLOYED").exists() && repo.join("PUBLISHED").exists());
    assert_nobody_left(&stage);
}

#[test]
fn an_agent_that_kills_its_host_and_the_guard_is_no_person_and_does_not_stay() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let repo = stage.sealed.repo();
    for (path, text) in ways::FILES {
        stage.sealed.write(format!("repo/{path}"), text);
    }
    let printed = stage.sealed.root().join("out-0.txt");
    let script = ways::shell(&windlass_bin(), &printed, "Ship it?", &ways::orphan(ways::Killed::Host));
    stage.sealed.write("repo/ways.sh", script);
    let model = Model::script([bash("sh ways.sh"), say("I could not")]).start();
    let (started, run) = work(&stage, &model);
    let orphan = fs::read_to_string(repo.join("orphan.pid")).unwrap().trim().parse().unwrap();
    assert!(!procs::is_alive(orphan), "what killed its host lives");
    let wrong = ways::not_refused_of(&repo, &ways::orphaned(&repo));
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), started.said());
    assert!(!repo.join("DEPLOYED").exists() && !repo.join("PUBLISHED").exists());
    assert_eq!(stage.windlass(&["cancel", &run]).code, Some(0));
    started.end();
    assert_nobody_left(&stage);
}
