//! A person at a real terminal (tmux) takes a bad turn back: every file, its mode, the index and HEAD are as they were.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;
use windlass_testkit::require_program;

use crate::stage::{Stage, done};
use crate::terminal::Terminal;

/// Everything in a folder but git's and Windlass's own: the mode, and the bytes or the target of a link.
fn tree(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if [".git", ".windlass"].iter().any(|own| name == *own) {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let bytes = match (meta.is_dir(), meta.is_symlink()) {
                (true, _) => Vec::new(),
                (_, true) => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_owned(),
                (_, false) => fs::read(&path).unwrap(),
            };
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            found.insert(name, (meta.permissions().mode(), bytes));
            if meta.is_dir() {
                waiting.push(path);
            }
        }
    }
    found
}

/// The bytes of the index.
fn index(stage: &Stage) -> Vec<u8> {
    fs::read(stage.place.repo().join(".git/index")).unwrap()
}

/// The state of git: what differs, what is staged, and where HEAD is.
fn of_git(stage: &Stage) -> [String; 4] {
    [
        stage.place.git(["--no-optional-locks", "status", "--porcelain", "--untracked-files=all"]),
        stage.place.git(["ls-files", "--stage"]),
        stage.place.git(["rev-parse", "HEAD"]),
        stage.place.git(["symbolic-ref", "HEAD"]),
    ]
}

/// Files of every kind: changed, staged, executable, a link, untracked, and ignored.
fn fill(stage: &Stage) {
    let repo = stage.place.repo();
    let write = |name: &str, bytes: &[u8], mode: u32| {
        fs::write(repo.join(name), bytes).unwrap();
        fs::set_permissions(repo.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    write(".gitignore", b"*.log\n", 0o644);
    write("tracked", b"committed\n", 0o644);
    write("staged", b"committed\n", 0o644);
    write("prog", b"#!/bin/sh\n", 0o755);
    write("fine", b"untouched\n", 0o644);
    symlink("tracked", repo.join("link")).unwrap();
    stage.place.git(["add", "--all"]);
    stage.place.git(["commit", "--quiet", "--message", "files"]);
    write("tracked", b"mine, dirty\r\n", 0o644);
    write("staged", b"mine, staged\n", 0o644);
    stage.place.git(["add", "staged"]);
    write("staged", b"mine, staged and then changed\n", 0o644);
    write("notes", b"mine, \xff\0 untracked", 0o644);
    write("tool", b"mine, untracked and executable\n", 0o755);
    write("debug.log", b"ignored\n", 0o644);
}

/// Types a command and waits for its end. Returns its exit code.
fn enter(terminal: &Terminal<'_>, stage: &Stage, command: &str) -> String {
    let _ = fs::remove_file(stage.place.root().join("code"));
    terminal.types(&[&format!("clear; {command}; echo $? > ../code"), "Enter"]);
    terminal.code()
}

#[test]
fn a_bad_turn_is_undone_byte_for_byte_and_the_undo_is_undone() {
    require_program!("tmux");
    let first = json!([{ "write": { "path": "tracked", "content": "by turn 1\n" } },
        { "write": { "path": "made/by/one", "content": "1\n" } }, { "say": "more" }]);
    let bad = "rm notes staged link && ln -s /etc/passwd link && chmod -x prog tool && echo bad >> tracked && \
               mkdir -p made/two && echo 2 > made/two/file && chmod +x made/by/one && mv fine moved";
    let second = json!([{ "say": "turn two" }, { "wait_for": "../go" }, { "bash": bad }, done()]);
    let stage = Stage::scripted(json!({ "turns": [{ "steps": first }, { "steps": second }] }));
    fill(&stage);
    let repo = stage.place.repo();
    let (before, git) = (tree(&repo), of_git(&stage));
    let terminal = Terminal::open(&stage, "windlass loop x --driver sim; sh");
    terminal.shows("turn two");
    let middle = tree(&repo);
    fs::write(stage.place.root().join("go"), "").unwrap();
    terminal.shows("completed: ");
    let run = stage.newest("completed");
    let (after, of_index) = (tree(&repo), index(&stage));
    assert!(before != middle && middle != after && !after.contains_key("notes"), "{after:?}");

    assert_eq!(enter(&terminal, &stage, &format!("windlass undo {run}")), "0");
    terminal.shows("brought the files back as they were before the run");
    assert_eq!(index(&stage), of_index, "the index is not touched");
    assert_eq!((tree(&repo), of_git(&stage)), (before.clone(), git.clone()));

    let screen = terminal.shows(&format!("take this back: windlass undo {run} --to undo-1"));
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    assert_eq!(enter(&terminal, &stage, &format!("windlass undo {run} --to undo-1")), "0");
    terminal.shows("brought the files back as they were before undo 1");
    assert_eq!((tree(&repo), index(&stage)), (after, of_index.clone()));

    // Without RUN it is the newest run of this folder.
    assert_eq!(enter(&terminal, &stage, "windlass undo --to 1"), "0");
    terminal.shows("the newest of this folder");
    terminal.shows("brought the files back as they were after turn 1");
    assert_eq!((tree(&repo), index(&stage)), (middle, of_index.clone()));
    assert_eq!(enter(&terminal, &stage, "windlass undo --to start"), "0");
    assert_eq!((tree(&repo), of_git(&stage), index(&stage)), (before, git, of_index));
    let replayed = stage.run(&["replay", &run]);
    assert!(String::from_utf8_lossy(&replayed.stdout).contains("every decision is the same"));
}
