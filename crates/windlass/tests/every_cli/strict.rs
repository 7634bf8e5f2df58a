//! `strict`: a shell command reaches neither files outside nor the network where the driver claims to enforce it,
//! and the session works, resumes and commits all the same.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use windlass_testkit::{Model, Request, Turn, reply, say, shell};

use crate::stage::assert_nobody_left;
use crate::subject::{Subject, tracker_of};

/// What `windlass doctor` says that a driver enforces.
fn claims(subject: &Subject, model: &Model) -> [bool; 2] {
    let doctor = subject.windlass(model, &["doctor", "--json"]).output().unwrap();
    let text = String::from_utf8(doctor.stdout).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let driver = lines.find(|line| line["data"]["name"] == subject.driver.name).unwrap();
    ["shell-writes", "shell-network"].map(|limit| driver["data"]["enforcement"][limit] == "enforced")
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

/// The model says in the tracker that everything is done.
fn completes() -> Turn {
    reply(|request: &Request| {
        shell(format!("echo '<!-- WORKFLOW_COMPLETE -->' >> '{}'; echo more >> in.txt", tracker_of(request)))
    })
}

pub(crate) fn play(subject: &Subject, python: &Path) {
    if subject.driver.name == "acp" {
        return is_refused(subject);
    }
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let kept = outside.path().join("kept");
    fs::write(&kept, "kept").unwrap();
    let (port, knocks) = door();
    let tries = format!(
        "echo in > in.txt; cd {outside}; echo x > made; echo x > kept; rm kept; mkdir folder; \
         mv {repo}/in.txt moved; ln -s x link; \
         {python} -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))' 2>/dev/null; echo tried",
        outside = outside.path().display(),
        repo = subject.stage.sealed.repo().display(),
        python = python.display(),
    );
    let script = [shell(tries), say("tried it"), completes(), say("done")];
    let model = Model::script(script).start();
    let [holds_writes, holds_network] = claims(subject, &model);
    let words = ["loop", "build it", "--mode", "resume", "--max-iterations", "3", "--isolation", "strict"];
    let ended = subject.start(&model, &words).end();

    ended.assert_ended(0, "completed", "marker", 2);
    assert!(model.requests()[2].mentions("tried it"), "it remembers: {}", ended.story());
    let names = fs::read_dir(outside.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    if holds_writes {
        let told = model.requests()[1].last_user_text();
        assert_eq!(
            (names, fs::read_to_string(&kept).unwrap()),
            (vec!["kept".to_owned()], "kept".to_owned()),
            "{told}"
        );
        assert_eq!(fs::read_to_string(subject.repo("in.txt")).unwrap(), "in\nmore\n", "{told}");
    } else {
        // So that the table tells the truth where it says `no`.
        assert_eq!(names, ["folder", "link", "made", "moved"], "{}", ended.story());
    }
    let reached = knocks.load(Ordering::SeqCst) > 0;
    assert_eq!(reached, !holds_network, "the network: {}", ended.story());
    assert_nobody_left(&subject.stage);
}

/// A driver that cannot enforce `strict` does not start a run.
fn is_refused(subject: &Subject) {
    let model = Model::script([]).start();
    let ended = subject.start(&model, &["run", "build it", "--isolation", "strict"]).end();
    assert_eq!(ended.code, Some(5), "{}", ended.story());
    assert!(ended.stderr.contains("cannot enforce `strict`"), "{}", ended.story());
    assert!(model.everything().is_empty());
}
