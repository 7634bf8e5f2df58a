//! `strict` holds: a shell command writes only in the workspace and reaches no network, and nothing of the
//! project or the user is loaded.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_testkit::{Model, require_agent, require_program, say, shell};

use crate::stage::{Stage, outside};

#[test]
fn in_strict_a_shell_command_writes_only_in_the_workspace_and_has_no_network() {
    let stage = Stage::new(require_agent!("codex"));
    let python = require_program!("python3");
    let (door, knocks) = door();
    let outside = outside();
    let home = outside.path();
    let command = format!(
        "echo in > made; echo out > {home}/made; echo hook > .git/hooks/post-commit; \
         {python} -c 'import socket; socket.create_connection((\"127.0.0.1\", {door}))'; echo connected=$?",
        home = home.display(),
        python = python.display(),
    );
    let model = Model::script([shell(command), say("tried")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &["--isolation", "strict"]);

    ended.assert_ended(0, "completed", "turn_done");
    let told = model.requests()[1].last_user_text();
    assert!(stage.repo("made").exists(), "{told}");
    assert!(!home.join("made").exists() && told.contains("Read-only file system"), "{told}");
    assert!(!stage.repo(".git/hooks/post-commit").exists(), "{told}");
    assert!(told.contains("connected=1") && told.contains("Operation not permitted"), "{told}");
    assert_eq!(knocks.load(Ordering::SeqCst), 0);
}

#[test]
fn in_minimal_a_shell_command_has_the_network_but_not_the_home() {
    let stage = Stage::new(require_agent!("codex"));
    let python = require_program!("python3");
    let (door, knocks) = door();
    let outside = outside();
    let home = outside.path();
    let command = format!(
        "echo out > {home}/made; \
         {python} -c 'import socket; socket.create_connection((\"127.0.0.1\", {door}))'; echo connected=$?",
        home = home.display(),
        python = python.display(),
    );
    let model = Model::script([shell(command), say("tried")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &["--isolation", "minimal"]);

    ended.assert_ended(0, "completed", "turn_done");
    let told = model.requests()[1].last_user_text();
    assert!(!home.join("made").exists(), "{told}");
    assert!(told.contains("connected=0"), "{told}");
    assert_eq!(knocks.load(Ordering::SeqCst), 1);
}

#[test]
fn in_permissive_a_shell_command_is_as_free_as_the_user() {
    let stage = Stage::new(require_agent!("codex"));
    let outside = outside();
    let home = outside.path();
    let model = Model::script([shell(format!("echo out > {}/made", home.display())), say("made")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &["--isolation", "permissive"]);

    ended.assert_ended(0, "completed", "turn_done");
    assert!(home.join("made").exists(), "{}", model.requests()[1].last_user_text());
}

#[test]
fn the_users_own_arguments_choose_the_sandbox_where_windlass_cannot() {
    let stage = Stage::new(require_agent!("codex"));
    let outside = outside();
    let file = outside.path().join("made");
    let model = Model::script([shell(format!("echo out > {}", file.display())), say("made")]).start();
    let own = ["--", "-c", "sandbox_mode=\"danger-full-access\""];
    let ended = stage.run(&model, "  - prompt: go\n", &own);

    ended.assert_ended(0, "completed", "turn_done");
    assert!(file.exists(), "{}", model.requests()[1].last_user_text());
}

/// Opens a port and counts who comes.
fn door() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let (port, knocks) = (listener.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
    let count = Arc::clone(&knocks);
    // Ends with the test's process.
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, knocks)
}
