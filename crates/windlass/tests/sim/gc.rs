//! Cleaning up: what has landed and what is old goes, and all work that is nowhere else stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::place::{Place, Ran, busy_turn, done, last_turn, say};
use crate::tasks::{place as tasks_place, run as run_tasks, tasks, turn};
use serde_json::{Value, json};

const ALL: [&str; 4] = ["gc", "--yes", "--older-than", "1ms"];

/// Everything below a folder: the content of files and the targets of links. Leaves out the files that
/// SQLite changes when somebody reads.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                found.insert(path.clone(), Vec::new());
                waiting.push(path);
            } else if kind.is_symlink() {
                found.insert(
                    path.clone(),
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                );
            } else if !entry.file_name().to_string_lossy().starts_with("windlass.db") {
                found.insert(path.clone(), fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

fn both(place: &Place) -> [BTreeMap<PathBuf, Vec<u8>>; 2] {
    [tree(&place.sealed.state()), tree(&place.repo())]
}

/// Runs `gc` with `--json`; the items by kind and name, whether each went, and the reasons of what stayed.
#[track_caller]
fn gc(place: &Place, arguments: &[&str]) -> (Ran, Vec<String>, Vec<String>) {
    let ran = place.go(&[&["gc", "--json"], arguments].concat());
    assert_eq!(ran.code, 0, "{ran}");
    let named = |line: &Value| {
        let data = &line["data"];
        let what = data["what"].as_str().unwrap();
        let name = match what {
            "branch" => data["branch"].as_str(),
            "run" => line["run"].as_str(),
            _ => data["path"].as_str(),
        };
        format!("{what} {}", name.unwrap())
    };
    let items = ran.lines.iter().filter(|line| line["type"] == "gc.item").map(named).collect();
    let kept = ran.all("gc.kept");
    let kept = kept
        .iter()
        .map(|data| format!("{}: {}", data["name"].as_str().unwrap(), data["why"].as_str().unwrap()));
    let kept = kept.collect();
    (ran, items, kept)
}

#[track_caller]
fn completed(place: &Place) -> String {
    place.script(json!({"turns": [last_turn()]}));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    ran.run().to_owned()
}

fn run_dir(place: &Place, run: &str) -> PathBuf {
    place.sealed.state().join("windlass/runs").join(run)
}

fn refs(place: &Place, run: &str) -> String {
    place.sealed.git(["for-each-ref", &format!("refs/windlass/{run}/")])
}

/// That nothing of a run is left, and that no command stumbles over it.
#[track_caller]
fn assert_gone(place: &Place, run: &str) {
    assert!(!run_dir(place, run).exists(), "its folder");
    assert_eq!(refs(place, run), "");
    assert!(!place.tracker(run).parent().unwrap().exists(), "its trackers");
    assert!(place.ps().iter().all(|line| line["run"] != run));
    place.go(&["show", run]).assert_refused(2, &[run]);
    let listed = place.go(&["ps"]);
    assert!(!listed.stderr.contains("warning"), "{listed}");
    let aside = place.sealed.state().join("windlass/gc");
    assert!(!aside.exists(), "{:?}", fs::read_dir(aside).map(|entries| entries.count()));
}

fn committing(name: &str, last: &str) -> Value {
    let write = json!({"write": {"path": name, "content": format!("{name}\n")}});
    json!({"steps": [write, {"commit": name}, say(last)]})
}

#[test]
fn a_worktree_whose_work_is_nowhere_else_stays_and_goes_once_it_is_merged() {
    let half = "Half of it.\n<status>failing</status>";
    let whole = turn(&[json!({"write": {"path": "whole", "content": "x"}}), json!({"commit": "whole"})]);
    let place = tasks_place(tasks(1), json!([committing("half", half), {"steps": [say("Nothing.")]}, whole]));
    let ran = run_tasks(&place, &["--jobs", "2"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    let branch = format!("windlass/{}/task-1-1", ran.run());
    let worktree = run_dir(&place, ran.run()).join("worktrees/task-1-1");
    let stays = |why: &str, arguments: &[&str]| {
        let trees = || {
            let mut trees = both(&place);
            trees[0].remove(&place.sealed.state().join("windlass/gc.lock"));
            (trees, place.sealed.git(["rev-parse", &branch]))
        };
        let before = trees();
        let (ran, items, kept) = gc(&place, arguments);
        assert_eq!(items, [""; 0], "{ran}");
        assert!(kept[0].starts_with(&format!("{branch}: ")) && kept[0].contains(why), "{why}: {ran}");
        assert!(before == trees(), "{why}: {ran}");
    };
    stays("it has 1 commit that main does not have", &["--dry-run"]);
    stays("it has 1 commit that main does not have", &["--yes"]);
    stays("it has 1 commit that main does not have", &["--yes", "--older-than", "1ms"]);
    place.sealed.git(["merge", "--quiet", "--no-edit", &branch]);
    fs::write(worktree.join("mine.txt"), "precious").unwrap();
    stays("mine.txt in its worktree is not committed", &["--yes", "--older-than", "1ms"]);
    fs::remove_file(worktree.join("mine.txt")).unwrap();
    place.sealed.git(["worktree", "lock", worktree.to_str().unwrap()]);
    stays("its worktree is locked", &["--yes"]);
    place.sealed.git(["worktree", "unlock", worktree.to_str().unwrap()]);
    let mut there = place.sealed.command("sleep");
    let mut there = there.arg("600").current_dir(&worktree).spawn().unwrap();
    stays(&format!("process {} works in its worktree", there.id()), &["--yes"]);
    there.kill().unwrap();
    there.wait().unwrap();

    let before = both(&place);
    let planned = place.go(&["gc", "--dry-run"]);
    assert!(planned.stdout.contains(&branch) && planned.stdout.contains("main has its work"), "{planned}");
    assert!(planned.stdout.contains("1 run that ended less than 30d ago"), "{planned}");
    let headless = place.go(&["gc"]);
    assert!(headless.stderr.contains("`windlass gc --yes` removes this"), "{headless}");
    assert!(both(&place) == before, "{planned}");
    let (_, items, kept) = gc(&place, &["--yes"]);
    assert_eq!((items, kept), (vec![format!("branch {branch}")], Vec::new()));
    assert!(!worktree.exists());
    assert_eq!(place.sealed.git(["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(place.sealed.git(["worktree", "list"]).lines().count(), 1);
    let (_, items, _) = gc(&place, &["--yes"]);
    assert_eq!(items, [""; 0], "the run is young");
    let (_, items, _) = gc(&place, &ALL[1..]);
    assert_eq!(items, [format!("run {}", ran.run())]);
    assert_gone(&place, ran.run());
}

#[test]
fn the_worktree_of_a_run_goes_once_its_work_is_merged() {
    // Another file in each session: equal commits of one second would be one commit.
    let place = Place::playing(json!([{"steps": [
        {"write": {"path": "made.txt", "content": "x"}}, {"write": {"path": "${SESSION}.txt", "content": "x"}},
        {"commit": "made"}, done(), say("Done.")
    ]}]));
    let ran = place.go(&["loop", "work", "--worktree", "--json"]);
    let (run, branch) = (ran.run().to_owned(), format!("windlass/{}", ran.run()));
    let named = place.go(&["loop", "work", "--worktree=mine", "--json"]).run().to_owned();
    // A person made this branch, though it has a name like those of Windlass.
    place.sealed.git(["branch", "windlass/mine"]);
    assert_eq!(place.go(&["loop", "work", "--worktree=windlass/mine"]).code, 0);
    let (_, items, kept) = gc(&place, &ALL[1..]);
    assert!(items.is_empty(), "{items:?}");
    assert!(kept.contains(&format!("{branch}: it has 1 commit that main does not have")), "{kept:?}");
    assert!(run_dir(&place, &run).join("worktrees/run/made.txt").exists());
    place.sealed.git(["merge", "-q", &branch]);
    place.sealed.git(["merge", "-q", "-m", "both", "windlass/mine"]);
    let (_, items, kept) = gc(&place, &ALL[1..]);
    assert_eq!(items, [format!("branch {branch}"), format!("run {run}")]);
    for name in ["mine", "windlass/mine"] {
        let start = format!("{name}: somebody named it; ");
        assert!(kept.iter().any(|kept| kept.starts_with(&start)), "{kept:?}");
    }
    assert_gone(&place, &run);
    assert_eq!(place.sealed.git(["branch", "--format=%(refname:short)"]), "main\nmine\nwindlass/mine");
    assert_eq!(place.file("made.txt"), "x");
    assert!(run_dir(&place, &named).join("worktrees/run/made.txt").exists());
}

#[test]
fn the_worktree_of_a_run_that_can_be_continued_stays() {
    let place = Place::playing(json!([busy_turn()]));
    let ran = place.go(&["loop", "work", "--worktree", "--json", "--max-iterations", "1"]);
    assert_eq!(ran.code, 9, "{ran}");
    let (_, items, kept) = gc(&place, &ALL[1..]);
    assert!(items.is_empty(), "{items:?}");
    assert!(kept.iter().any(|kept| kept.ends_with("its run can be continued and works there")), "{kept:?}");
    assert!(run_dir(&place, ran.run()).join("worktrees/run").exists());
    assert_eq!(place.go(&["resume", ran.run(), "--max-iterations", "+1"]).code, 9);
}

#[test]
fn a_run_that_can_be_continued_loses_only_branches_that_have_landed() {
    let failing = |name: &str| committing(name, "Not yet.\n<status>failing</status>");
    let place = tasks_place(tasks(1), json!([failing("a"), failing("b"), failing("c")]));
    let ran = run_tasks(&place, &["--jobs", "2"]);
    assert_ne!(ran.code, 0, "{ran}");
    let run = ran.run();
    let branch = |count: u32| format!("windlass/{run}/task-1-{count}");
    let told = place.go(&["show", run]);
    assert_eq!(told.code, 0, "{told}");
    place.sealed.git(["merge", "--quiet", "--no-edit", &branch(1)]);
    let (all, items, kept) = gc(&place, &ALL[1..]);
    assert_eq!(items, [format!("branch {}", branch(1))], "{all}");
    assert_eq!(kept.len(), 2, "{all}");
    assert_eq!(all.all("gc")[0]["open"], json!([run]), "{all}");
    let left = place.sealed.git(["branch", "--format=%(refname:short)"]);
    assert_eq!(left.lines().collect::<Vec<_>>(), ["main", &branch(2), &branch(3)]);
    // Cancelled, it is over for good, but its work is nowhere else.
    assert_eq!(place.go(&["cancel", run]).code, 0);
    let (all, items, kept) = gc(&place, &ALL[1..]);
    assert_eq!(items, [""; 0], "{all}");
    assert!(kept.contains(&format!("{run}: a branch of it is kept")), "{kept:?}");
    for count in [2, 3] {
        place.sealed.git(["merge", "--quiet", "--no-edit", &branch(count)]);
    }
    let (all, items, kept) = gc(&place, &ALL[1..]);
    assert_eq!((items.len(), kept.len()), (3, 0), "{all}");
    assert_gone(&place, run);
}

#[test]
fn an_old_run_goes_everywhere_and_young_and_open_ones_stay() {
    let place = Place::playing(json!([]));
    let old = completed(&place);
    place.script(json!({"turns": [busy_turn()]}));
    let exhausted = place.go(&["loop", "work", "--max-iterations", "1", "--json"]);
    let open = exhausted.run().to_owned();
    assert!(!refs(&place, &old).is_empty() && place.tracker(&old).exists() && run_dir(&place, &old).exists());
    let before = both(&place);
    let (ran, items, _) = gc(&place, &[]);
    assert_eq!(items, [""; 0], "{ran}");
    assert_eq!((&ran.all("gc")[0]["young"], &ran.all("gc")[0]["open"]), (&json!([old]), &json!([open])));
    let (ran, items, _) = gc(&place, &["--dry-run", "--older-than", "1ms"]);
    assert_eq!((items, &ran.all("gc.item")[0]["removed"]), (vec![format!("run {old}")], &json!(false)));
    assert!(both(&place) == before, "a plan changes nothing");
    let kept = (tree(&run_dir(&place, &open)), refs(&place, &open), place.tracker_text(&open));
    let removed = place.go(&ALL);
    assert_eq!(removed.code, 0, "{removed}");
    let words =
        [old.as_str(), "you cannot show, diff, undo", "1 run that can be continued", "windlass cancel RUN"];
    assert!(words.iter().all(|words| removed.stdout.contains(words)), "{removed}");
    assert!(removed.stderr.contains("removed 1 of 1"), "{removed}");
    assert_gone(&place, &old);
    assert_eq!((tree(&run_dir(&place, &open)), refs(&place, &open), place.tracker_text(&open)), kept);
    place.script(json!({"turns": [last_turn()]}));
    let resumed = place.go(&["resume", &open, "--max-iterations", "+1", "--json"]);
    resumed.assert_ended(0, "completed", "marker", 2);
    assert_eq!(place.go(&["replay", &open]).code, 0);
    // Numbers of runs are not used again, and the store is sound.
    let next = completed(&place);
    assert_eq!(
        place.ps().iter().map(|line| line["run"].as_str().unwrap()).collect::<Vec<_>>(),
        [&next, &open]
    );
    let (_, items, _) = gc(&place, &ALL[1..]);
    assert_eq!(items.len(), 2);
    assert_eq!(place.ps(), Vec::<Value>::new());
    assert!(fs::read_dir(place.sealed.state().join("windlass/runs")).unwrap().next().is_none());
}

#[test]
fn files_that_windlass_did_not_make_stay_in_the_folder_of_the_trackers() {
    let place = Place::playing(json!([]));
    let run = completed(&place);
    let folder = place.tracker(&run).parent().unwrap().to_owned();
    fs::write(folder.join("notes.md"), "mine").unwrap();
    let before = tree(&folder);
    let (_, items, kept) = gc(&place, &ALL[1..]);
    assert_eq!(items, [format!("run {run}")]);
    assert_eq!(kept, [format!("{}: Windlass did not make notes.md", folder.display())]);
    assert_eq!(tree(&folder), before);
    assert!(place.ps().is_empty() && !run_dir(&place, &run).exists());
}

#[test]
fn a_run_stays_as_long_as_its_fork_or_its_parent_needs_it() {
    let place = Place::with_settings("");
    let nodes = "name: two\nnodes:\n  - { id: one, shell: 'true' }\n  - { id: sub, workflow: inner }\n";
    place.sealed.write("repo/.windlass/workflows/two.yaml", nodes);
    let inner = "name: inner\nnodes:\n  - { id: work, prompt: go }\n";
    place.sealed.write("repo/.windlass/workflows/inner.yaml", inner);
    place.script(json!({"default": {"steps": [say("Fine.")]}}));
    let ran = place.go(&["run", "--workflow", "two", "x", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let run = ran.run();
    place.script(json!({"default": {"steps": [{"crash": 3}]}}));
    let forked = place.go(&["fork", run, "--at", "sub", "--json"]);
    let fork = forked.all("run.forked");
    assert_eq!(fork.len(), 1, "{forked}");
    let listed = place.ps();
    assert_eq!(listed[0]["data"]["status"], "failed", "{forked}");
    let fork = listed[0]["run"].as_str().unwrap();
    let (all, items, kept) = gc(&place, &ALL[1..]);
    assert_eq!(items, [""; 0], "{all}");
    assert_eq!(kept, [format!("{run}: run {fork} is a fork of it")], "{all}");
    assert_eq!(place.go(&["cancel", fork]).code, 0);
    let (all, items, kept) = gc(&place, &ALL[1..]);
    assert_eq!((items.len(), kept.len()), (4, 0), "both, and the runs that they started: {all}");
    let root = items.iter().position(|item| *item == format!("run {run}")).unwrap();
    assert!(root > 0, "the runs below go first: {items:?}");
    assert!(place.ps().is_empty());
}

#[test]
fn a_kill_at_any_point_is_finished_by_the_next_call() {
    let place = Place::playing(json!([]));
    let mut killed = 0;
    for point in 1..30 {
        let runs = [completed(&place), completed(&place)];
        let mut command = place.windlass(&ALL);
        command.env("WINDLASS_CRASH_AT", format!("windlass:{point}"));
        let ran = place.spawn(command).end();
        if ran.code == 0 {
            runs.iter().for_each(|run| assert_gone(&place, run));
            break;
        }
        killed += 1;
        // In between, everything can be listed.
        let listed = place.go(&["ps", "--all"]);
        assert!(listed.code == 0 && !listed.stderr.contains("warning"), "point {point}: {listed}");
        let (again, _, kept) = gc(&place, &ALL[1..]);
        assert!(kept.is_empty(), "point {point}: {again}");
        runs.iter().for_each(|run| assert_gone(&place, run));
    }
    assert!((8..30).contains(&killed), "killed {killed} times");
}

#[test]
fn a_kill_while_a_worktree_goes_loses_nothing() {
    for point in [1, 2] {
        let failing = committing("a", "Not yet.\n<status>failing</status>");
        let whole = turn(&[json!({"write": {"path": "b", "content": "x"}}), json!({"commit": "b"})]);
        let place = tasks_place(tasks(1), json!([failing, whole]));
        let ran = run_tasks(&place, &["--jobs", "2"]);
        ran.assert_ended(0, "completed", "all_done", 2);
        place.sealed.git(["merge", "--quiet", "--no-edit", &format!("windlass/{}/task-1-1", ran.run())]);
        let mut command = place.windlass(&ALL);
        command.env("WINDLASS_CRASH_AT", format!("windlass:{point}"));
        assert_ne!(place.spawn(command).end().code, 0);
        gc(&place, &ALL[1..]);
        assert_gone(&place, ran.run());
        assert_eq!(place.sealed.git(["branch", "--format=%(refname:short)"]), "main");
        assert!(place.repo().join("a").exists() && place.repo().join("b").exists());
    }
}

#[test]
fn only_one_process_cleans_up_and_no_agent_does() {
    let place = Place::playing(json!([]));
    let old = completed(&place);
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let mut command = place.sealed.command("flock");
    command.arg(place.sealed.state().join("windlass/gc.lock")).arg(windlass).args(ALL);
    let busy = place.spawn(command).end();
    assert_eq!(busy.code, 1, "{busy}");
    assert!(busy.stderr.contains("another `windlass gc` is running"), "{busy}");
    let tries = format!("{windlass} gc --yes --older-than 1ms >told 2>&1; echo $? >code");
    place.script(json!({"turns": [{"steps": [{"bash": tries}, done()]}]}));
    place.go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("code").trim(), "5");
    assert!(place.file("told").contains("only a person may remove runs"));
    assert!(run_dir(&place, &old).exists());
}

#[test]
fn files_of_dead_processes_go_and_those_of_live_ones_stay() {
    let place = Place::playing(json!([]));
    completed(&place);
    let drafts = place.repo().join(".git/windlass/tmp");
    fs::create_dir_all(&drafts).unwrap();
    let [dead, other] = [".windlass-999999999-1-1.tmp", "mine.tmp"].map(|name| drafts.join(name));
    fs::write(&dead, "half").unwrap();
    fs::write(&other, "mine").unwrap();
    let (_, items, _) = gc(&place, &["--yes"]);
    assert_eq!(items, [format!("file {}", dead.display())]);
    assert!(!dead.exists() && other.exists());
    for wrong in [&["--older-than", "30"][..], &["--older-than", "soon"], &["--yes", "--dry-run"]] {
        let refused = place.go(&[&["gc"], wrong].concat());
        assert_eq!(refused.code, 2, "{refused}");
    }
    assert_eq!(place.go(&["gc", "--here"]).stdout.lines().next(), Some("nothing to remove"));
}
