//! Tasks on a real disk, with somebody else at them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::tasks::{TaskId, TaskStatus};
use windlass_core::time::Moment;

use super::lock::{TaskFileLock, path_for};
use super::*;
use crate::user_error::UserError;

const NOW: Moment = Moment(1_770_292_800_000);
const FILE: &str = r#"{
  "version": "1.0",
  "tasks": [
    { "id": "1", "name": "Parse", "status": "in_progress", "owner": "me" },
    { "id": "2", "name": "Print", "status": "pending", "dependencies": ["1"] }
  ]
}
"#;

fn project() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    fs::write(dir.path().join("tasks.json"), FILE).unwrap();
    dir
}

fn loaded(dir: &Path) -> LoadedTasks {
    load(&locate(dir, None).unwrap()).unwrap()
}

fn text(dir: &Path) -> String {
    fs::read_to_string(dir.join("tasks.json")).unwrap()
}

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

fn to(status: TaskStatus, task: &str) -> TaskChange {
    TaskChange::Status { id: id(task), from: None, to: status }
}

/// Returns the message and the hint that the user sees.
fn told(error: TasksError) -> String {
    let problem = UserError::from(error);
    format!("{}|{}", problem.text(), problem.hint.unwrap_or_default())
}

#[test]
fn a_change_is_written_with_its_time_and_leaves_nothing_beside_the_file() {
    let dir = project();
    let seen = loaded(dir.path());
    let changed = change(&seen, &to(TaskStatus::Passing, "#1"), NOW).unwrap();
    assert_eq!((changed.before, changed.picked_up), (Some(TaskStatus::InProgress), false));
    assert_eq!(text(dir.path()), changed.document.text());
    assert!(text(dir.path()).contains("\"status\": \"passing\", \"owner\": \"me\""));
    assert!(text(dir.path()).contains("\"updatedAt\": \"2026-02-05T12:00:00Z\""));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn text_around_the_tasks_is_kept_in_a_file_beside_them() {
    let dir = project();
    let kept = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    for (count, name) in ["tasks.json.before", "tasks.json.before-2"].into_iter().enumerate() {
        let prose = format!("Plan {count}, precious:\n{FILE}");
        fs::write(dir.path().join("tasks.json"), &prose).unwrap();
        change(&loaded(dir.path()), &to(TaskStatus::Passing, "1"), NOW).unwrap();
        change(&loaded(dir.path()), &to(TaskStatus::Failing, "1"), NOW).unwrap();
        assert_eq!(kept(name), prose);
        assert!(text(dir.path()).starts_with("{\n"), "{}", text(dir.path()));
    }
    assert_eq!(kept("tasks.json.before"), format!("Plan 0, precious:\n{FILE}"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
}

#[test]
fn what_is_missing_is_said_with_the_command_that_begins_it() {
    let dir = project();
    let at = |path: &str| locate(dir.path(), Some(Path::new(path)));
    let missing = load(&at("plan.json").unwrap()).unwrap_err();
    assert_eq!(told(missing), "there is no plan.json|`windlass tasks init --file plan.json` creates one");
    let folder = at("deep/er/x.json").unwrap_err();
    assert_eq!(told(folder), "there is no folder deep/er for deep/er/x.json|make it: `mkdir -p deep/er`");
}

#[test]
fn nothing_is_written_when_nothing_changes() {
    let dir = project();
    let changed = change(&loaded(dir.path()), &to(TaskStatus::Pending, "2"), NOW).unwrap();
    assert_eq!((text(dir.path()).as_str(), changed.before), (FILE, Some(TaskStatus::Pending)));
}

#[test]
fn what_somebody_wrote_meanwhile_is_picked_up() {
    let dir = project();
    let seen = loaded(dir.path());
    let edited =
        FILE.replace("Print", "Print it all").replace("\"dependencies\"", "\"note\": 1.10, \"dependencies\"");
    fs::write(dir.path().join("tasks.json"), &edited).unwrap();
    let changed = change(&seen, &to(TaskStatus::Passing, "1"), NOW).unwrap();
    assert!(changed.picked_up);
    let now = text(dir.path());
    assert!(
        now.contains("Print it all") && now.contains("\"note\": 1.10") && now.contains("passing"),
        "{now}"
    );
}

#[test]
fn a_file_that_is_half_written_for_a_moment_is_read_when_it_is_whole() {
    let dir = project();
    let path = dir.path().join("tasks.json");
    let seen = loaded(dir.path());
    for half in [&FILE[..FILE.len() / 2], ""] {
        fs::write(&path, half).unwrap();
        let writer = {
            let path = path.clone();
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(200));
                fs::write(&path, FILE).unwrap();
            })
        };
        assert_eq!(loaded(dir.path()).document.tasks(), seen.document.tasks(), "{half:?}");
        writer.join().unwrap();
    }
    fs::write(&path, &FILE[..FILE.len() / 2]).unwrap();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        fs::write(&path, FILE).unwrap();
    });
    change(&seen, &to(TaskStatus::Passing, "1"), NOW).unwrap();
    writer.join().unwrap();
}

#[test]
fn a_status_that_somebody_changed_meanwhile_is_refused_when_it_matters() {
    let dir = project();
    let seen = loaded(dir.path());
    let edited = FILE.replace("\"pending\"", "\"skip\"");
    fs::write(dir.path().join("tasks.json"), &edited).unwrap();
    let claim =
        TaskChange::Status { id: id("2"), from: Some(TaskStatus::Pending), to: TaskStatus::InProgress };
    let error = change(&seen, &claim, NOW).unwrap_err();
    assert!(matches!(error, TasksError::StatusChanged { found: TaskStatus::Skipped, .. }));
    assert!(
        told(error)
            .starts_with("task `2` in tasks.json is skipped now, no longer pending: nothing was written|")
    );
    assert_eq!(text(dir.path()), edited);
    assert_eq!(change(&seen, &to(TaskStatus::Failing, "2"), NOW).unwrap().before, Some(TaskStatus::Skipped));
}

#[test]
fn a_file_that_was_broken_meanwhile_is_left_alone_and_said() {
    let dir = project();
    let seen = loaded(dir.path());
    fs::write(dir.path().join("tasks.json"), "{\"tasks\": [").unwrap();
    let said = told(change(&seen, &to(TaskStatus::Passing, "1"), NOW).unwrap_err());
    assert!(said.starts_with(
        "tasks.json was changed meanwhile and cannot be read as tasks now: nothing was written"
    ));
    assert!(said.contains("tasks.json:1:12") && said.ends_with("fix it, then try again"), "{said}");
    assert_eq!(text(dir.path()), "{\"tasks\": [");
}

#[test]
fn a_file_or_task_that_was_removed_meanwhile_is_said() {
    let dir = project();
    let seen = loaded(dir.path());
    fs::write(dir.path().join("tasks.json"), "{\"version\": \"1.0\", \"tasks\": []}").unwrap();
    let error = change(&seen, &to(TaskStatus::Passing, "1"), NOW).unwrap_err();
    assert_eq!(error.to_string(), "task `1` was removed from tasks.json meanwhile: nothing was written");
    fs::remove_file(dir.path().join("tasks.json")).unwrap();
    let error = change(&seen, &to(TaskStatus::Passing, "1"), NOW).unwrap_err();
    assert_eq!(error.to_string(), "tasks.json was removed meanwhile: nothing was written");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn an_unknown_task_is_answered_with_those_there_are() {
    let dir = project();
    let seen = loaded(dir.path());
    let said = told(change(&seen, &to(TaskStatus::Passing, "9"), NOW).unwrap_err());
    assert_eq!(said, "there is no task `9` in tasks.json|there are: 1, 2");
    let new = NewTask { name: "x".to_owned(), dependencies: vec![id("7")], ..NewTask::default() };
    assert!(matches!(change(&seen, &TaskChange::Add(new), NOW), Err(TasksError::NoSuchTask { .. })));
}

#[test]
fn tasks_that_are_added_at_once_are_all_there() {
    let dir = project();
    let place = locate(dir.path(), None).unwrap();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let place = &place;
            scope.spawn(move || {
                let new = NewTask { name: format!("new {number}"), ..NewTask::default() };
                change(&load(place).unwrap(), &TaskChange::Add(new), NOW).unwrap();
            });
        }
    });
    let now = loaded(dir.path());
    let mut ids: Vec<u32> =
        now.document.tasks().tasks.iter().map(|task| task.id.as_str().parse().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=18).collect::<Vec<u32>>());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn what_a_crash_left_in_progress_is_pending_again() {
    let dir = project();
    let seen = loaded(dir.path());
    assert_eq!(change(&seen, &TaskChange::Recover { held: vec![id("1")] }, NOW).unwrap().ids, []);
    assert_eq!(change(&seen, &TaskChange::Recover { held: vec![] }, NOW).unwrap().ids, [id("1")]);
    assert!(!text(dir.path()).contains("in_progress"));
}

#[test]
fn whoever_comes_second_waits_and_then_gives_up_with_a_text() {
    let dir = project();
    let place = locate(dir.path(), None).unwrap();
    let held = TaskFileLock::take(&place).unwrap();
    let error = TaskFileLock::take_within(&place, Duration::from_millis(20)).unwrap_err();
    assert_eq!(error.to_string(), "somebody else is writing tasks.json");
    drop(held);
    assert!(!path_for(place.path()).exists());
    // One that a crash left behind is free.
    fs::write(path_for(place.path()), "").unwrap();
    assert!(TaskFileLock::take_within(&place, Duration::ZERO).is_ok());
}

#[test]
fn a_link_stays_a_link_and_its_file_keeps_its_mode() {
    let dir = project();
    fs::create_dir(dir.path().join("docs")).unwrap();
    let real = dir.path().join("docs/all.json");
    fs::rename(dir.path().join("tasks.json"), &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("docs/all.json", dir.path().join("tasks.json")).unwrap();
    change(&loaded(dir.path()), &to(TaskStatus::Passing, "1"), NOW).unwrap();
    assert!(dir.path().join("tasks.json").symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("passing"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_link_out_of_the_project_is_refused() {
    let (dir, elsewhere) = (project(), project());
    fs::remove_file(dir.path().join("tasks.json")).unwrap();
    symlink(elsewhere.path().join("tasks.json"), dir.path().join("tasks.json")).unwrap();
    assert!(matches!(locate(dir.path(), None), Err(TasksError::Outside { .. })));
    let inside = |path: &str| locate_inside(dir.path(), Path::new(path));
    for path in ["tasks.json", "../tasks.json", "/etc/passwd", "a/../../x.json", ""] {
        assert!(matches!(inside(path), Err(TasksError::Outside { .. })), "{path}");
    }
    symlink("nowhere.json", dir.path().join("dangling.json")).unwrap();
    assert!(matches!(inside("dangling.json"), Err(TasksError::Dangling { .. })));
    assert!(inside("new.json").is_ok());
    // A person may name any file, as long as it is what it seems to be.
    assert!(locate(dir.path(), Some(&elsewhere.path().join("tasks.json"))).is_ok());
}

#[test]
fn the_file_is_found_here_or_above_or_in_research() {
    let dir = project();
    let deep = dir.path().join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir(dir.path().join("research")).unwrap();
    fs::write(dir.path().join("research/tasks.json"), FILE).unwrap();
    let root = dir.path().canonicalize().unwrap();
    let found = |cwd: &Path| locate(cwd, None).unwrap().path().strip_prefix(&root).unwrap().to_owned();
    assert_eq!(found(dir.path()), Path::new("tasks.json"));
    assert_eq!(found(&deep), Path::new("tasks.json"));
    fs::remove_file(dir.path().join("tasks.json")).unwrap();
    assert_eq!(found(dir.path()), Path::new("research/tasks.json"));
    assert_eq!(locate(dir.path(), None).unwrap().shown(), "research/tasks.json");
    fs::remove_file(dir.path().join("research/tasks.json")).unwrap();
    assert_eq!(found(&deep), Path::new("src/deep/tasks.json"));
}

#[test]
fn a_new_file_is_never_written_over_another() {
    let dir = project();
    let place = locate(dir.path(), None).unwrap();
    assert!(matches!(create(&place, &starter(NOW, "manual")), Err(TasksError::Exists { .. })));
    assert_eq!(text(dir.path()), FILE);
    let place = locate(dir.path(), Some(Path::new("more.json"))).unwrap();
    create(&place, &starter(NOW, "manual")).unwrap();
    assert_eq!(load(&place).unwrap().document.tasks().tasks, []);
}

#[test]
fn what_is_no_file_of_tasks_says_so() {
    let dir = project();
    let load_named = |name: &str| locate(dir.path(), Some(Path::new(name))).and_then(|place| load(&place));
    assert_eq!(
        told(load_named("no.json").unwrap_err()),
        "there is no no.json|`windlass tasks init --file no.json` creates one"
    );
    assert!(matches!(load_named("no/such/folder.json"), Err(TasksError::NoFolder { .. })));
    assert!(matches!(load_named(".git"), Err(TasksError::File { .. })));
    fs::write(dir.path().join("b.json"), b"\xff\xfe").unwrap();
    assert!(matches!(load_named("b.json"), Err(TasksError::NotText { .. })));
    fs::write(dir.path().join("c.json"), "{\"version\": 7, \"tasks\": []}").unwrap();
    assert!(told(load_named("c.json").unwrap_err()).contains("c.json:1:13"));
    fs::write(dir.path().join("d.json"), " ".repeat(5 << 20)).unwrap();
    assert!(matches!(load_named("d.json"), Err(TasksError::File { .. })));
}
