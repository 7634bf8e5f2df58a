//! Tests for failures around git: killed processes, stale locks, an unknown committer. No work is lost,
//! and Windlass pays no agent for nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::place::{LIMIT, Place, last_turn, say};
use crate::tasks::{in_file, outside, place, run, tasks, turn};
use serde_json::{Value, json};
use windlass_testkit::wait::until;

/// A turn that commits a file and says that the task is done.
fn committing(file: &str) -> Value {
    turn(&[json!({"write": {"path": file, "content": format!("{file}\n")}}), json!({"commit": file})])
}

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The subjects of the commits of `main` in the order of the alphabet, the first one left out.
fn landed(place: &Place) -> Vec<String> {
    let log = place.sealed.git(["log", "--reverse", "--format=%s", "main"]);
    let mut subjects: Vec<String> = log.lines().skip(1).map(str::to_owned).collect();
    subjects.sort();
    subjects
}

/// Every lock of git's in the repository.
fn locks(place: &Place) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![place.repo().join(".git")];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => waiting.push(entry.path()),
                false if entry.path().extension() == Some("lock".as_ref()) => found.push(entry.path()),
                false => {}
            }
        }
    }
    found
}

/// A `git` before the real one, which dies at its `at`-th call for each verb. Only Windlass's own calls
/// count: those of agents have the run in their environment.
fn git_that_dies(place: &Place, at: &str) -> String {
    let bin = outside(place, "bin");
    let count = outside(place, "count");
    fs::create_dir_all(&count).unwrap();
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let text = format!(
        "#!/bin/sh\nif [ -z \"$WINDLASS_RUN\" ]; then\n  for verb; do case $verb in -*) ;; *) break;; esac; done\n  \
         echo x >> {count}/$verb\n  n=$(wc -l < {count}/$verb)\n  case \" {at} \" in *\" $n \"*) kill -9 $$;; esac\nfi\n\
         exec {real} \"$@\"\n",
        count = count.display(),
        real = real.display(),
    );
    executable(&bin.join("git"), &text);
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

#[test]
fn each_of_windlass_own_calls_of_git_may_die_and_all_tasks_are_done_once() {
    for at in ["1", "2", "3"] {
        let place = place(tasks(4), json!([]));
        let turns: Vec<Value> = ["a", "b", "c", "d"].map(committing).into();
        place.script(json!({"nodes": {"implement": turns}}));
        let path = git_that_dies(&place, at);
        // What a check changes is put aside before a rebase.
        let check = "echo checked >> README.md";
        let mut windlass = place.windlass(&["tasks", "run", "--json", "--jobs", "3", "--check", check]);
        windlass.env("PATH", path);
        let ran = place.spawn(windlass).end();
        ran.assert_ended(0, "completed", "all_done", 4);
        assert_eq!(landed(&place), ["a", "b", "c", "d"]);
        assert_eq!(place.requests().len(), 4, "no agent had to work again");
        assert_eq!(place.sealed.git(["branch", "--format=%(refname:short)"]), "main");
        let verbs: Vec<String> = fs::read_dir(outside(&place, "count"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        for verb in
            ["symbolic-ref", "rebase", "merge", "merge-base", "rev-list", "checkout", "stash", "worktree"]
        {
            assert!(verbs.iter().any(|other| other == verb), "{verb} was never called: {verbs:?}");
        }
    }
}

#[test]
fn a_git_that_dies_each_time_stops_the_run_which_can_be_resumed() {
    let place = place(tasks(2), json!([committing("a"), committing("b")]));
    let path = git_that_dies(&place, "none");
    let wrapper = outside(&place, "bin/git");
    let text = fs::read_to_string(&wrapper).unwrap();
    let dying = text.replacen("  echo x", "  [ $verb = rebase ] && kill -9 $$\n  echo x", 1);
    executable(&wrapper, &dying);
    let mut windlass = place.windlass(&["tasks", "run", "--json", "--jobs", "2"]);
    windlass.env("PATH", path);
    let ran = place.spawn(windlass).end();
    assert_eq!(ran.code, 3, "{ran}");
    assert!(
        ran.stderr.contains("`git rebase` was killed") && ran.stderr.contains("windlass resume"),
        "{ran}"
    );
    let id = ran.run().to_owned();
    let ran = place.go(&["resume", &id, "--json"]);
    assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{ran}");
    assert_eq!(landed(&place), ["a", "b"]);
    assert_eq!(place.requests().len(), 2, "no agent had to work again");
}

/// A hook in which the first commit waits, with its locks in place. It is over when nobody is left.
fn wait_in_the_first_commit(place: &Place, subject: &str) -> PathBuf {
    let ready = outside(place, "ready");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = prepared ] && grep -q {subject} || exit 0\n[ -e {ready} ] && exit 0\ntouch {ready}\n\
         exec sleep 1000\n",
        ready = ready.display()
    );
    executable(&place.repo().join(".git/hooks/reference-transaction"), &text);
    ready
}

/// Three turns, each with a commit.
fn three_commits() -> Place {
    let commit = |name: &str| {
        vec![json!({"write": {"path": name, "content": "x\n"}}), json!({"commit": name}), say("Committed.")]
    };
    let last = [commit("three"), last_turn()["steps"].as_array().unwrap().clone()].concat();
    Place::playing(json!([{"steps": commit("one")}, {"steps": commit("two")}, {"steps": last}]))
}

#[test]
fn a_commit_that_is_cut_off_with_its_host_leaves_no_lock_and_is_made_when_the_turn_is_repeated() {
    let place = three_commits();
    let ready = wait_in_the_first_commit(&place, "refs/heads/main");
    let going = place.start(&["loop", "work", "--json"]);
    until(LIMIT, || ready.exists());
    place.kill_hosts();
    going.end().assert_ended(0, "completed", "marker", 3);
    assert_eq!(locks(&place), Vec::<PathBuf>::new());
    assert_eq!(landed(&place), ["one", "three", "two"]);
    place.assert_nothing_is_left();
}

#[test]
fn locks_of_a_git_that_was_killed_with_everything_else_are_gone_before_the_turn_is_repeated() {
    let place = three_commits();
    let ready = wait_in_the_first_commit(&place, "refs/heads/main");
    let mut going = place.start(&["loop", "work", "--json"]);
    let id = going.run();
    until(LIMIT, || ready.exists());
    place.kill_everything(going);
    assert!(!locks(&place).is_empty(), "git was killed before it could take them away");
    let ran = place.go(&["resume", &id, "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(locks(&place), Vec::<PathBuf>::new());
    assert_eq!(landed(&place), ["one", "three", "two"]);
}

#[test]
fn a_lock_from_before_the_session_is_somebodys_and_is_warned_of() {
    let place = Place::playing(json!([{"attempts": [
        {"steps": [{"write": {"path": "sign", "content": "x"}}, {"hang": true}]},
        last_turn(),
    ]}]));
    let lock = place.repo().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let going = place.start(&["loop", "work", "--json"]);
    place.file("sign");
    place.kill_hosts();
    let ran = going.end();
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(lock.exists(), "it may be a person's");
    assert!(ran.stdout.contains("git is locked by"), "{ran}");
}

#[test]
fn a_commit_in_a_worktree_that_is_cut_off_costs_no_try() {
    let place = place(tasks(2), json!([committing("a"), committing("b")]));
    let ready = wait_in_the_first_commit(&place, "refs/heads/windlass/");
    // The branch of a worktree is made by a transaction as well; the commit comes after it.
    let hook = place.repo().join(".git/hooks/reference-transaction");
    let text = fs::read_to_string(&hook).unwrap();
    executable(&hook, &text.replacen("#!/bin/sh\n", "#!/bin/sh\n[ -n \"$WINDLASS_RUN\" ] || exit 0\n", 1));
    let mut going = place.start(&["tasks", "run", "--json", "--jobs", "2"]);
    let id = going.run();
    until(LIMIT, || ready.exists());
    place.kill_everything(going);
    let ran = place.go(&["resume", &id, "--json"]);
    assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{ran}");
    assert_eq!(ran.finished()["iterations"], 2, "{ran}");
    assert_eq!(landed(&place), ["a", "b"]);
    assert_eq!(locks(&place), Vec::<PathBuf>::new());
    assert_eq!(place.sealed.git(["branch", "--format=%(refname:short)"]), "main");
}

#[test]
fn a_lock_of_gits_is_found_before_any_agent_works_on_several_tasks() {
    let place = place(tasks(2), json!([committing("a"), committing("b")]));
    for name in ["index.lock", "HEAD.lock", "packed-refs.lock", "refs/heads/main.lock"] {
        let lock = place.repo().join(".git").join(name);
        fs::write(&lock, "").unwrap();
        run(&place, &["--jobs", "2"]).assert_refused(3, &[name, "remove the file"]);
        assert!(lock.exists(), "it may be a person's");
        fs::remove_file(lock).unwrap();
    }
    assert!(place.requests().is_empty());
    run(&place, &["--jobs", "2"]).assert_ended(0, "completed", "all_done", 2);
}

#[test]
fn a_lock_on_packed_refs_that_somebody_left_meanwhile_costs_no_try() {
    let lock = |place: &Place| place.repo().join(".git/packed-refs.lock");
    let place = place(tasks(3), json!([]));
    let leaving = |name: &str| {
        let mut steps = vec![json!({"bash": format!("touch {}", lock(&place).display())})];
        steps.extend([json!({"write": {"path": name, "content": "x"}}), json!({"commit": name})]);
        turn(&steps)
    };
    place.script(json!({"nodes": {"implement": [leaving("a"), leaving("b"), leaving("c")]}}));
    let ran = run(&place, &["--jobs", "3"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(landed(&place), ["a", "b", "c"]);
    assert_eq!(place.requests().len(), 3, "no agent had to work again");
}

#[test]
fn a_lock_on_packed_refs_that_may_be_a_persons_blocks_the_run_and_costs_no_try() {
    let place = place(tasks(2), json!([]));
    let lock = place.repo().join(".git/packed-refs.lock");
    let leaving = |name: &str| {
        // As if from yesterday.
        let old = json!({"bash": format!("touch -d yesterday {}", lock.display())});
        turn(&[json!({"write": {"path": name, "content": "x"}}), json!({"commit": name}), old])
    };
    place.script(json!({"nodes": {"implement": [leaving("a"), leaving("b")]}}));
    let ran = run(&place, &["--jobs", "2"]);
    assert_eq!((ran.code, &ran.finished()["reason"]), (8, &json!("git")), "{ran}");
    assert!(ran.finished()["detail"].as_str().unwrap().contains("packed-refs.lock"), "{ran}");
    assert_eq!(place.requests().len(), 2, "no agent had to work again");
    assert!(in_file(&place).iter().all(|task| task.ends_with("pending")), "{:?}", in_file(&place));
    assert!(lock.exists());
}

const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "A. Author"),
    ("GIT_AUTHOR_EMAIL", "author@example.invalid"),
    ("GIT_COMMITTER_NAME", "C. Committer"),
    ("GIT_COMMITTER_EMAIL", "committer@example.invalid"),
];

/// A place whose repository says nothing about who commits.
fn without_identity() -> Place {
    let place = place(tasks(3), json!([committing("a"), committing("b"), committing("c")]));
    for key in ["user.name", "user.email"] {
        place.sealed.git(["config", "--unset", key]);
    }
    place.sealed.git(["config", "user.useConfigOnly", "true"]);
    place
}

#[test]
fn who_commits_may_be_said_by_the_environment_alone() {
    let place = without_identity();
    let mut windlass = place.windlass(&["tasks", "run", "--json", "--jobs", "3"]);
    windlass.envs(IDENTITY);
    let ran = place.spawn(windlass).end();
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(landed(&place), ["a", "b", "c"]);
    let committers = place.sealed.git(["log", "--format=%cn", "main"]);
    assert!(committers.contains("C. Committer"), "a rebase makes new commits: {committers}");
}

#[test]
fn where_nobody_is_known_to_commit_several_tasks_at_once_are_refused_before_an_agent_works() {
    let place = without_identity();
    run(&place, &["--jobs", "3"]).assert_refused(3, &["who commits", "user.name", "GIT_COMMITTER_EMAIL"]);
    assert!(place.requests().is_empty());
    assert_eq!(in_file(&place), ["1 pending", "2 pending", "3 pending"]);
}

/// Returns the start time of a process, in clock ticks since boot.
fn start_of(pid: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    line.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned()
}

#[test]
fn what_dead_processes_left_half_written_is_removed_by_the_next_run_and_nothing_else_is() {
    let place = place(tasks(2), json!([committing("a"), committing("b")]));
    let own = std::process::id();
    let dead = [".windlass-999999999-1-1.tmp".to_owned(), format!(".windlass-{own}-1-1.tmp")];
    let folders = [".", ".git/windlass/tmp", ".windlass/runs"];
    for folder in folders {
        for name in &dead {
            place.sealed.write(format!("repo/{folder}/{name}"), "half");
        }
    }
    let kept = [
        format!(".git/windlass/tmp/.windlass-{own}-{}-7.tmp", start_of(own)),
        ".git/windlass/tmp/notes.tmp".to_owned(),
        ".tasks.json.999999999.new".to_owned(),
        ".windlass-notes.tmp".to_owned(),
    ];
    kept.iter().for_each(|name| drop(place.sealed.write(format!("repo/{name}"), "kept")));
    // As an older Windlass left it.
    let older = [
        (".tasks.json.999999998.new", "{\"tasks\": []}"),
        ("..tasks.json.999999998.new.999999998.0.tmp", "{\"ta"),
        (".claude/.ralph-loop.local.md.999999998.1.tmp", "---\n"),
    ];
    older.iter().for_each(|(name, text)| drop(place.sealed.write(format!("repo/{name}"), text)));
    place.sealed.write("repo/.git/windlass/adding/.windlass%2Fr%2Ftask-1-1.json.999999999.1.tmp", "{}");
    run(&place, &["--jobs", "2"]).assert_ended(0, "completed", "all_done", 2);
    for (folder, name) in folders.iter().flat_map(|folder| dead.iter().map(move |name| (folder, name))) {
        assert!(!place.repo().join(folder).join(name).exists(), "{folder}/{name}");
    }
    older.iter().for_each(|(name, _)| assert!(!place.repo().join(name).exists(), "{name}"));
    for name in &kept {
        assert_eq!(fs::read_to_string(place.repo().join(name)).unwrap(), "kept", "{name}");
    }
}
