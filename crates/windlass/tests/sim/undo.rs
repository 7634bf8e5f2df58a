//! Snapshots: what a turn changed, and the files as they were before.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};
use windlass_testkit::wait::until;

use crate::place::{LIMIT, Place, Ran, busy_turn, done, last_turn, say};

fn write(path: &str, text: &str) -> Value {
    json!({"write": {"path": path, "content": text}})
}

/// Two turns that change a dirty file and an untracked one, remove one, make one, and commit.
fn two_turns() -> Value {
    json!([
        {"steps": [write("README.md", "by turn 1\n"), write("made/one", "1\n"),
            {"tracker": {"append": "- one"}}, say("More.")]},
        {"steps": [write("notes", "by turn 2\n"), write("made/two", "2\n"), {"bash": "rm gone && rm link"},
            {"commit": "the agent's"}, done(), say("Done.")]},
    ])
}

/// A place with a dirty file, untracked files, a program, a link and an ignored file.
pub(crate) fn place() -> Place {
    let place = Place::playing(two_turns());
    let repo = place.repo();
    fs::write(repo.join("README.md"), "mine, dirty\n").unwrap();
    fs::write(repo.join("notes"), b"mine, \xff\0 untracked\r\n").unwrap();
    fs::write(repo.join("gone"), "to be removed\n").unwrap();
    fs::set_permissions(repo.join("gone"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("notes", repo.join("link")).unwrap();
    fs::write(repo.join(".git/info/exclude"), "ignored\n").unwrap();
    fs::write(repo.join("ignored"), "ignored\n").unwrap();
    place
}

/// Every file of a folder but git's and Windlass's: its content or the target of the link, and whether it
/// can be run.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, (Vec<u8>, bool)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if [".git", ".windlass"].iter().any(|own| name == *own) {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                waiting.push(path);
                continue;
            }
            let content = match meta.is_symlink() {
                true => fs::read_link(&path).unwrap().to_string_lossy().as_bytes().to_owned(),
                false => fs::read(&path).unwrap(),
            };
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            found.insert(name, (content, meta.is_file() && meta.permissions().mode() & 0o100 != 0));
        }
    }
    found
}

/// The index, HEAD and the branches.
pub(crate) fn of_git(place: &Place) -> [String; 3] {
    [
        place.sealed.git(["ls-files", "--stage"]),
        place.sealed.git(["rev-parse", "HEAD"]),
        place.sealed.git(["for-each-ref", "refs/heads", "refs/tags"]),
    ]
}

fn data(ran: &Ran, kind: &str) -> Value {
    assert_eq!(ran.code, 0, "{ran}");
    ran.all(kind)[0].clone()
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|file| file["path"].as_str().or(file.as_str()).unwrap()).collect()
}

#[test]
fn an_undo_brings_every_file_back_byte_for_byte_and_can_be_undone() {
    let place = place();
    let before = files(&place.repo());
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 2);
    let after = files(&place.repo());
    let git = of_git(&place);
    let planned = place.go(&["undo", ran.run(), "--dry-run", "--json"]);
    let plan = data(&planned, "undo");
    assert_eq!(
        (paths(&plan["restored"]), paths(&plan["removed"])),
        (vec!["README.md", "gone", "link", "notes"], vec!["made/one", "made/two"])
    );
    assert_eq!(
        (files(&place.repo()), plan["saved"].is_null()),
        (after.clone(), true),
        "a plan changes nothing"
    );
    let undone = place.go(&["undo", ran.run()]);
    assert_eq!(undone.code, 0, "{undone}");
    let words = [
        "brought the files back as they were before the run",
        "1 commit since then stays on main",
        "git commit -a",
        &format!("windlass undo {} --to undo-1", ran.run()),
        &format!("refs/windlass/{}/undo/1", ran.run()),
    ];
    assert!(words.iter().all(|words| undone.stdout.contains(words)), "{undone}");
    assert!(undone.stdout.lines().all(|line| line.len() <= 80 || line.contains('/')), "{undone}");
    assert_eq!(files(&place.repo()), before);
    assert_eq!(of_git(&place), git, "index, HEAD and branches stay");
    let again = place.go(&["undo", ran.run()]);
    assert!(again.stdout.starts_with("nothing to undo"), "{again}");
    let back = place.go(&["undo", ran.run(), "--to", "undo-1", "--json"]);
    assert_eq!(data(&back, "undo")["saved"]["name"], "undo-2");
    assert_eq!(files(&place.repo()), after);
    assert_eq!(of_git(&place), git);
    let one = place.go(&["undo", ran.run(), "--to", "1"]);
    assert_eq!(one.code, 0, "{one}");
    let text = |name: &str| fs::read(place.repo().join(name)).unwrap();
    assert_eq!(
        (text("README.md"), text("notes")),
        (b"by turn 1\n".to_vec(), b"mine, \xff\0 untracked\r\n".to_vec())
    );
    assert!(place.repo().join("made/one").exists() && !place.repo().join("made/two").exists());
}

#[test]
fn a_diff_shows_a_turn_several_turns_or_the_whole_run() {
    let place = place();
    let ran = place.go(&["loop", "work", "--json"]);
    let run = ran.run();
    let diff = |arguments: &[&str]| place.go(&[&["diff", run], arguments].concat());
    let of = |arguments: &[&str]| data(&diff(&[arguments, &["--json"]].concat()), "diff");
    let changed = |arguments: &[&str]| {
        let data = of(arguments);
        paths(&data["files"]).iter().map(|path| (*path).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(changed(&["1"]), ["README.md", "made/one"]);
    assert_eq!(changed(&["2"]), ["gone", "link", "made/two", "notes"]);
    assert_eq!(changed(&["1..2"]), changed(&["2"]));
    assert_eq!(changed(&["start..1"]), changed(&["loop:1"]));
    assert_eq!(changed(&["..end"]), changed(&[]));
    assert_eq!(changed(&[]), ["README.md", "gone", "link", "made/one", "made/two", "notes"]);
    // Of the dirty file, only what the run changed.
    let patch = diff(&["1"]).stdout;
    assert!(patch.contains("-mine, dirty") && patch.contains("+by turn 1"), "{patch}");
    let stat = diff(&["1", "--stat"]).stdout;
    assert!(stat.contains("README.md | 2 +-") && stat.contains("2 files changed"), "{stat}");
    let all = of(&[]);
    assert_eq!((&all["from"]["name"], &all["to"]["name"]), (&json!("start"), &json!("end")));
    let reference = format!("refs/windlass/{run}/loop/2");
    assert_eq!(place.sealed.git(["rev-parse", &reference]), of(&["2"])["to"]["commit"].as_str().unwrap());
    assert!(diff(&["loop:0"]).stderr.contains("nothing changed between start and loop:0"));
    // The exact patch takes the run back.
    let exact = diff(&["--patch"]).stdout;
    assert!(exact.contains("diff --git"), "{exact}");
    // What somebody changes later is no change of the run.
    fs::write(place.repo().join("later"), "x").unwrap();
    assert!(!changed(&[]).contains(&"later".to_owned()));
    let shown = place.go(&["show", run]).stdout;
    assert!(shown.contains("6 files changed") && !shown.contains("later"), "{shown}");
    let shown = place.go(&["show", run, "--json"]);
    let names: Vec<Value> =
        shown.all("run")[0]["snapshots"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["start", "loop:0", "loop:1", "loop:2", "end"]);
}

#[test]
fn what_a_person_changed_after_the_run_is_saved_or_left_alone() {
    let place = place();
    let ran = place.go(&["loop", "work", "--json"]);
    fs::write(place.repo().join("README.md"), "a person's, after the run\n").unwrap();
    fs::write(place.repo().join("new"), "a person's\n").unwrap();
    let undone = place.go(&["undo", ran.run()]);
    assert_eq!(undone.code, 0, "{undone}");
    let told =
        ["changed since the run, and saved in undo-1\n    README.md\n", "new (you changed it after the run)"];
    assert!(told.iter().all(|told| undone.stdout.contains(told)), "{undone}");
    let saved = format!("refs/windlass/{}/undo/1:README.md", ran.run());
    assert_eq!(place.sealed.git(["show", &saved]), "a person's, after the run");
    let text = |name: &str| fs::read_to_string(place.repo().join(name)).unwrap();
    assert_eq!((text("README.md").as_str(), text("new").as_str()), ("mine, dirty\n", "a person's\n"));
    // Neither another undo nor its undo touches the new file.
    for to in ["start", "undo-1", "2", "start"] {
        fs::write(place.repo().join("new"), to).unwrap();
        assert_eq!(place.go(&["undo", ran.run(), "--to", to]).code, 0);
        assert_eq!(text("new"), to);
    }
    assert_eq!(text("README.md"), "mine, dirty\n");
}

/// A turn that runs a command.
fn turn_of(command: &str) -> Value {
    json!([{"steps": [{"bash": command}, done(), say("Done.")]}])
}

#[test]
fn a_folder_in_the_place_of_a_file_is_saved_with_everything_in_it() {
    let place = Place::playing(turn_of("rm -r dir; echo f > dir"));
    let dir = place.repo().join("dir");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("one"), "1\n").unwrap();
    let ran = place.go(&["loop", "work", "--json"]);
    fs::remove_file(&dir).unwrap();
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("one"), "1\n").unwrap();
    fs::write(dir.join("mine"), "mine\n").unwrap();
    let before = files(&place.repo());
    let undone = data(&place.go(&["undo", ran.run(), "--to", "1", "--json"]), "undo");
    assert!(!paths(&undone["restored"]).contains(&"dir"), "{undone}");
    assert_eq!(fs::read_to_string(dir.join("mine")).unwrap(), "mine\n", "a person's file stays");
    let saved = format!("refs/windlass/{}/undo/1", ran.run());
    let saved = place.sealed.git(["ls-tree", "-r", "--name-only", &saved]);
    assert!(saved.contains("dir/mine") && saved.contains("dir/one"), "{saved}");
    assert_eq!(place.go(&["undo", ran.run(), "--to", "undo-1"]).code, 0);
    assert_eq!(files(&place.repo()), before);
}

#[test]
fn files_that_git_ignored_before_the_run_are_not_removed() {
    let place = Place::playing(turn_of("rm .gitignore; echo x >> a; rm -rf nest/.git; echo new > made"));
    let repo = place.repo();
    fs::write(repo.join(".gitignore"), ".env\nbuild/\n").unwrap();
    fs::write(repo.join(".env"), "secret\n").unwrap();
    for folder in ["build", "nest"] {
        fs::create_dir(repo.join(folder)).unwrap();
    }
    fs::write(repo.join("build/o"), "o\n").unwrap();
    fs::write(repo.join("nest/n"), "n\n").unwrap();
    place.sealed.git(["init", "--quiet", "nest"]);
    let before = files(&repo);
    let ran = place.go(&["loop", "work", "--json"]);
    let undone = data(&place.go(&["undo", ran.run(), "--json"]), "undo");
    assert_eq!(files(&repo), before, "{undone}");
    assert_eq!(paths(&undone["removed"]), ["a", "made"], "{undone}");
}

#[test]
fn what_cannot_be_restored_is_named() {
    let place = Place::playing(turn_of(
        "truncate -s 60M data; rm pipe; mkfifo pipe; echo x >> big; echo changed > hidden; echo a > assumed",
    ));
    let repo = place.repo();
    for name in ["data", "pipe", "hidden", "assumed"] {
        fs::write(repo.join(name), "small\n").unwrap();
    }
    fs::File::create(repo.join("big")).unwrap().set_len(60 << 20).unwrap();
    place.sealed.git(["add", "hidden", "assumed"]);
    place.sealed.git(["commit", "--quiet", "--message", "hidden"]);
    place.sealed.git(["update-index", "--skip-worktree", "hidden"]);
    place.sealed.git(["update-index", "--assume-unchanged", "assumed"]);
    let ran = place.go(&["loop", "work", "--json"]);
    let undone = data(&place.go(&["undo", ran.run(), "--json"]), "undo");
    let left = undone["left_alone"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap());
    assert_eq!(left.collect::<Vec<_>>(), ["big", "data", "pipe"], "{undone}");
    let text = |name: &str| fs::read_to_string(repo.join(name)).unwrap();
    assert_eq!((text("hidden").as_str(), text("assumed").as_str()), ("small\n", "small\n"));
}

#[test]
fn what_an_agent_did_before_a_crash_is_undone() {
    let place = Place::playing(json!([
        {"steps": [write("one", "1\n"), {"tracker": {"append": "- one"}}, say("More.")]},
        {"steps": [write("README.md", "half\n"), write("two", "2\n"), {"wait_for": "never"}]},
    ]));
    let before = files(&place.repo());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file_exists("two");
    place.kill_everything(going);
    // A killed process holds its locks until it is gone.
    until(LIMIT, || place.go(&["undo", &run, "--json"]).code == 0);
    assert_eq!(files(&place.repo()), before);
}

#[test]
fn a_turn_that_was_interrupted_and_continued_shows_all_its_changes() {
    let place = Place::playing(json!([
        {"steps": [write("one", "1\n"), {"tracker": {"append": "- one"}}, say("More.")]},
        {"steps": [write("two", "2\n"), {"wait_for": "go"}, write("three", "3\n"), done(), say("Done.")]},
    ]));
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file_exists("two");
    going.signal(rustix::process::Signal::INT);
    going.end();
    fs::write(place.repo().join("go"), "").unwrap();
    assert_eq!(place.go(&["resume", &run, "--json"]).code, 0);
    let diff = place.go(&["diff", &run, "2", "--stat"]);
    assert!(diff.stdout.contains("two") && diff.stdout.contains("three"), "{diff}");
    assert!(!diff.stdout.contains("one"), "{diff}");
}

#[test]
fn a_run_is_not_said_to_have_changed_what_changed_after_it() {
    let place = place();
    let ran = place.go(&["loop", "work", "--json"]);
    let looks = [&["logs", ran.run()][..], &["show", ran.run()]];
    let before: Vec<String> = looks.iter().map(|look| place.go(look).stdout).collect();
    assert!(before.iter().all(|shown| shown.contains("changed")), "{before:?}");
    fs::write(place.repo().join("README.md"), "a person's, after the run\n").unwrap();
    fs::write(place.repo().join("new"), "a person's\n").unwrap();
    place.sealed.git(["add", "--all"]);
    place.sealed.git(["commit", "--quiet", "--message", "later"]);
    let after: Vec<String> = looks.iter().map(|look| place.go(look).stdout).collect();
    assert_eq!(after, before);
}

#[test]
fn contents_and_names_cannot_write_to_the_terminal() {
    let place = Place::playing(json!([{"steps": [
        write("evil", "\u{1b}[2J\u{1b}]0;owned\u{7}\n"), {"bash": "printf x > \"$(printf 'a\\033[31mb')\""}, done()]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    for arguments in [&["diff"][..], &["diff", "--stat"], &["diff", "--json"], &["undo", "--dry-run"]] {
        let (verb, flags) = arguments.split_first().unwrap();
        let shown = place.go(&[&[verb, ran.run()], flags].concat());
        assert_eq!(shown.code, 0, "{shown}");
        assert!(!shown.stdout.contains('\u{1b}') && !shown.stdout.contains('\u{7}'), "{shown}");
        assert!(shown.stdout.contains("evil"), "{shown}");
    }
}

#[test]
fn a_run_that_works_is_not_undone_and_a_paused_one_is() {
    let place = Place::playing(json!([
        {"steps": [write("one", "1\n"), {"wait_for": "go"}, {"tracker": {"append": "- one"}}, say("More.")]},
        last_turn(),
    ]));
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file_exists("one");
    let refused = place.go(&["undo", &run]);
    refused.assert_refused(2, &["is still working in", "windlass pause", "windlass cancel"]);
    assert_eq!(place.go(&["pause", &run]).code, 0);
    fs::write(place.repo().join("go"), "").unwrap();
    until(LIMIT, || {
        let shown = place.go(&["show", &run]).stdout;
        shown.contains("paused") && !shown.contains("no new nodes")
    });
    let undone = place.go(&["undo", &run]);
    assert_eq!(undone.code, 0, "{undone}");
    assert!(!place.repo().join("one").exists());
    assert_eq!(place.go(&["resume", &run]).code, 0);
    going.end().assert_ended(0, "completed", "marker", 2);
}

#[test]
fn another_run_in_the_folder_is_not_disturbed() {
    let place = Place::playing(json!([{"steps": [write("one", "1\n"), done()]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    place.script(json!({"turns": [{"steps": [{"bash": "touch started"}, {"wait_for": "go"}, done()]}]}));
    let mut going = place.start(&["loop", "more work", "--json"]);
    let other = going.run();
    place.file_exists("started");
    place.go(&["undo", ran.run()]).assert_refused(2, &[&format!("run {other} is still working")]);
    assert!(place.repo().join("one").exists());
    fs::write(place.repo().join("go"), "").unwrap();
    going.end().assert_ended(0, "completed", "marker", 1);
}

#[test]
fn a_turn_that_is_cut_off_is_kept_too() {
    let place = Place::playing(json!([
        {"steps": [write("one", "1\n"), {"tracker": {"append": "- one"}}, say("More.")]},
        {"steps": [write("two", "2\n"), {"wait_for": "never"}]},
    ]));
    for mode in ["fresh", "in_session"] {
        let mut going = place.start(&["loop", "work", "--json", "--mode", mode]);
        let run = going.run();
        place.file_exists("two");
        assert_eq!(place.go(&["cancel", &run]).code, 0);
        going.end();
        let diff = place.go(&["diff", &run, "2", "--stat"]);
        assert!(diff.stdout.contains("two") && !diff.stdout.contains("one"), "{mode}: {diff}");
        assert_eq!(place.go(&["undo", &run]).code, 0);
        assert!(!place.repo().join("one").exists() && !place.repo().join("two").exists(), "{mode}");
        // The agent waits for it to appear.
        fs::remove_file(place.sealed.root().join("requests.jsonl")).unwrap();
    }
}

#[test]
fn a_workflow_has_snapshots_of_each_node_and_of_its_commands() {
    let place = Place::with_settings("");
    let turns = |name: &str| json!([{"steps": [write(name, "x\n"), say("Done.")]}]);
    place.script(json!({"nodes": {"a": turns("by-a"), "b": turns("by-b")}}));
    let document = "name: two\nnodes:\n  - { id: before, shell: touch by-shell }\n  - { id: a, prompt: x }\n  \
                    - { id: b, prompt: y }\n  - { id: after, shell: touch by-end }\n";
    place.sealed.write("repo/.windlass/workflows/two.yaml", document);
    let ran = place.go(&["run", "--workflow", "two", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let diff = |turn: &[&str]| place.go(&[&["diff", ran.run(), "--stat"], turn].concat());
    assert!(diff(&["a:1"]).stdout.contains("by-a") && !diff(&["a:1"]).stdout.contains("by-b"));
    let whole = diff(&[]).stdout;
    assert!(["by-shell", "by-a", "by-b", "by-end"].iter().all(|name| whole.contains(name)), "{whole}");
    diff(&["1"]).assert_refused(2, &["several nodes", "a:1", "b:1"]);
    diff(&["c:1"]).assert_refused(2, &["has no turn `c:1`", "it has start, a:0, a:1, b:0, b:1, end"]);
    place.go(&["undo", ran.run(), "--to", "9"]).assert_refused(2, &["has no turn `9`", "a:1"]);
    let wrong = place.go(&["undo", ran.run(), "--to", "x"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("expected a turn"), "{wrong}");
    assert_eq!(place.go(&["undo", ran.run()]).code, 0);
    assert!(["by-shell", "by-a", "by-b", "by-end"].iter().all(|name| !place.repo().join(name).exists()));
}

#[test]
fn outside_of_git_a_run_goes_on_and_diff_and_undo_say_why_there_is_nothing() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    fs::remove_dir_all(place.repo().join(".git")).unwrap();
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 2);
    assert!(!ran.stdout.contains("warning") && ran.stderr.is_empty(), "{ran}");
    for verb in ["diff", "undo"] {
        place
            .go(&[verb, ran.run()])
            .assert_refused(2, &["has no snapshots", "is not in a git repository", "git init"]);
    }
    place.go(&["undo", "nobody"]).assert_refused(2, &["nobody"]);
}

#[test]
fn a_snapshot_that_fails_is_one_warning_and_the_run_goes_on() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    // A file in the place of the folder of our refs.
    place.sealed.write("repo/.git/refs/windlass", "x");
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 2);
    let warnings: Vec<String> = ran.all("warning").iter().map(|warning| warning.to_string()).collect();
    let warnings = warnings.iter().filter(|text| text.contains("cannot save the state"));
    assert_eq!(warnings.count(), 1, "{ran}");
    place.go(&["undo", ran.run()]).assert_refused(2, &["has no snapshots", "could not take them"]);
}

#[test]
fn a_deleted_snapshot_is_named() {
    let place = place();
    let ran = place.go(&["loop", "work", "--json"]);
    let refs = place.sealed.git(["for-each-ref", "--format=%(refname)", "refs/windlass"]);
    refs.lines().for_each(|name| drop(place.sealed.git(["update-ref", "-d", name])));
    place.sealed.git(["prune", "--expire=now"]);
    place.go(&["undo", ran.run()]).assert_refused(3, &["is gone", "/run/start no longer exists"]);
}

#[test]
fn tasks_in_worktrees_have_snapshots_and_the_run_shows_what_landed() {
    let turn = crate::tasks::turn(&[write("a", "x\n"), json!({"commit": "a"})]);
    let place = crate::tasks::place(crate::tasks::tasks(1), json!([turn]));
    let ran = place.go(&["tasks", "run", "--json", "--jobs", "2"]);
    assert_eq!(ran.code, 0, "{ran}");
    let whole = data(&place.go(&["diff", ran.run(), "--json"]), "diff");
    assert_eq!(paths(&whole["files"]), ["a", "tasks.json"]);
    let shown = place.go(&["show", ran.run()]).stdout;
    assert_eq!(shown.matches("tasks.json |").count(), 1, "{shown}");
    let state = place.go(&["show", ran.run(), "--json"]).all("run")[0]["snapshots"].clone();
    let of_tree: Vec<&Value> = state
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["folder"].as_str().unwrap().contains("/worktrees/"))
        .collect();
    let name = of_tree.last().unwrap()["name"].as_str().unwrap();
    let of_turn = data(&place.go(&["diff", ran.run(), name, "--json"]), "diff");
    assert_eq!(paths(&of_turn["files"]), ["a"], "{name}");
    place.go(&["undo", ran.run(), "--to", name]).assert_refused(3, &["is missing"]);
    assert_eq!(place.go(&["undo", ran.run()]).code, 0);
    assert!(!place.repo().join("a").exists());
}
