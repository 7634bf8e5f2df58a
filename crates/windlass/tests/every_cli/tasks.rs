//! Two tasks at once: each in a worktree and a conversation of its own, and both land.

use serde_json::json;
use windlass_testkit::{Gate, Model, Request, Turn, eventually, reply, say, shell};

use crate::stage::{MINUTE, assert_nobody_left};
use crate::subject::Subject;

const TASKS: [&str; 2] = ["alpha", "beta"];

/// Commits a file, and claims the task when both agents are in the middle of theirs.
fn works(both: Gate) -> Turn {
    reply(move |request: &Request| {
        let task = TASKS.into_iter().find(|task| request.mentions(&format!("write-{task}"))).unwrap();
        if request.last_user_text().contains(&format!("committed-{task}")) {
            return say("It is written.\n<status>passing</status>").behind(&both);
        }
        shell(format!(
            "echo {task} > {task}.txt && git add {task}.txt && git commit -qm 'add {task}' && echo committed-{task}"
        ))
    })
}

pub(crate) fn play(subject: &Subject) {
    let sealed = &subject.stage.sealed;
    let tasks = TASKS.map(|task| json!({ "id": task, "name": format!("write-{task}"), "status": "pending" }));
    let tasks = json!({ "version": "1.0", "tasks": tasks });
    sealed.write("repo/tasks.json", serde_json::to_string_pretty(&tasks).unwrap());
    sealed.git(["add", "."]);
    sealed.git(["commit", "--quiet", "--message", "tasks"]);
    let both = Gate::closed();
    let model = Model::script([]).default(works(both.clone())).start();
    let check = "test -e alpha.txt || test -e beta.txt";
    let isolation = subject.driver.tasks_in;
    let words = ["tasks", "run", "--jobs", "2", "--check", check, "--isolation", isolation];
    let started = subject.start(&model, &words);
    eventually(MINUTE, || (both.reached() == 2).then_some(()));
    both.open();
    let ended = started.end();

    ended.assert_ended(0, "completed", "all_done", 2);
    let mut landed: Vec<String> =
        sealed.git(["log", "--format=%s", "main", "-2"]).lines().map(str::to_owned).collect();
    landed.sort();
    assert_eq!(landed, ["add alpha", "add beta"], "{}", ended.story());
    for task in TASKS {
        assert!(subject.repo(&format!("{task}.txt")).exists(), "the checkout has {task}: {}", ended.story());
    }
    assert_eq!(sealed.git(["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    assert_eq!(sealed.git(["branch", "--format=%(refname:short)"]), "main");
    assert_nobody_left(&subject.stage);
}
