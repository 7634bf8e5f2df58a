//! Tasks taken from a real file and settled in it, with others at it meanwhile.

use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;

use super::*;

const NOW: Moment = Moment(1_770_292_800_000);

fn project(tasks: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(&dir, &format!("{{\n  \"version\": \"1.0\",\n  \"tasks\": [\n{tasks}\n  ]\n}}\n"));
    dir
}

fn write(dir: &TempDir, text: &str) {
    fs::write(dir.path().join("tasks.json"), text).unwrap();
}

fn text(dir: &TempDir) -> String {
    fs::read_to_string(dir.path().join("tasks.json")).unwrap()
}

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

fn ids(texts: &[&str]) -> Vec<TaskId> {
    texts.iter().map(|text| id(text)).collect()
}

fn query(busy: &[&str]) -> TaskQuery {
    TaskQuery { path: None, select: None, busy: ids(busy), attempts: Attempts::of(2) }
}

fn selecting(select: &str) -> TaskQuery {
    TaskQuery { select: Some(Expression(select.to_owned())), ..query(&[]) }
}

fn ask(dir: &TempDir, query: &TaskQuery) -> Result<Claim, String> {
    let scope = Scope::new("", &BTreeMap::new());
    in_run(dir.path(), |book| choose(book, dir.path(), scope, query, &mut Vec::new(), NOW))
}

/// With what is written down of a run in this project.
fn in_run<T>(workspace: &Path, act: impl FnOnce(VouchedTasks<'_>) -> T) -> T {
    let run = windlass_core::id::RunId::new("r");
    act(VouchedTasks { state: &workspace.join("state"), run: &run })
}

fn write_end(workspace: &Path, end: TaskEnd, now: Moment) -> (TaskStatus, Option<String>, Option<String>) {
    in_run(workspace, |book| super::write_end(book, workspace, end, now))
}

fn withheld(workspace: &Path, end: &TaskEnd) -> Option<String> {
    in_run(workspace, |book| super::withheld(book, workspace, end))
}

fn put_back(workspace: &Path, id: &TaskId) -> Result<TaskStatus, TasksError> {
    in_run(workspace, |book| super::put_back(book, workspace, None, id, NOW))
}

/// A person says how far a task is.
fn decides(dir: &TempDir, task: &str, status: TaskStatus) {
    let place = place(dir.path(), None).unwrap();
    let seen = load(&place).unwrap();
    in_run(dir.path(), |book| book.vouch(&place, &id(task), status)).unwrap();
    change(&seen, &TaskChange::Status { id: id(task), from: None, to: status }, NOW).unwrap();
}

/// The id of the task that was taken.
fn taken(dir: &TempDir, query: &TaskQuery) -> String {
    match ask(dir, query) {
        Ok(Claim::Task { id, .. }) => id.to_string(),
        other => panic!("{other:?}"),
    }
}

fn status(dir: &TempDir, task: &str) -> TaskStatus {
    let loaded = load(&place(dir.path(), None).unwrap()).unwrap();
    loaded.document.tasks().get(&id(task)).unwrap().status
}

fn end(task: &str, ok: bool, said: Option<&str>) -> TaskEnd {
    TaskEnd {
        path: None,
        task: id(task),
        ok,
        said: said.map(str::to_owned),
        why: None,
        file: StatusClaim::Claim,
    }
}

const CHAIN: &str = r##"    { "id": "#1", "name": "Parse", "priority": 2, "owner": "me" },
    { "id": "2", "name": "Print", "dependencies": ["1"] },
    { "id": "3", "name": "Draw", "priority": 1, "status": "failed", "description": "with lines" }"##;

#[test]
fn the_first_ready_task_is_marked_and_told_with_all_its_fields() {
    let dir = project(CHAIN);
    let claim = ask(&dir, &query(&[])).unwrap();
    let task = json!({
        "id": "3", "name": "Draw", "priority": 1, "status": "in_progress", "description": "with lines",
        "dependencies": [], "metadata": {}
    });
    assert_eq!(claim, Claim::Task { id: id("3"), task });
    assert_eq!(status(&dir, "3"), TaskStatus::InProgress);
    let task = json!({
        "id": "1", "name": "Parse", "priority": 2, "status": "in_progress", "owner": "me", "description": "",
        "dependencies": [], "metadata": {}
    });
    assert_eq!(ask(&dir, &query(&["3"])), Ok(Claim::Task { id: id("1"), task }));
    assert!(text(&dir).contains("\"#1\"") && text(&dir).contains("\"owner\": \"me\""));
}

#[test]
fn asked_twice_after_a_crash_it_takes_the_same_task() {
    let dir = project(CHAIN);
    assert_eq!(taken(&dir, &query(&[])), "3");
    assert_eq!(taken(&dir, &query(&[])), "3");
}

#[test]
fn what_a_dead_run_left_in_progress_goes_back_and_what_is_held_does_not() {
    let dir = project(
        r#"{ "id": "1", "name": "a", "status": "wip" }, { "id": "2", "name": "b", "status": "in_progress" }"#,
    );
    assert_eq!(ask(&dir, &query(&["1", "2"])), Ok(Claim::Working));
    assert_eq!(taken(&dir, &query(&["1"])), "2");
    assert_eq!(taken(&dir, &query(&["2"])), "1");
}

#[test]
fn a_held_task_stays_held_whatever_is_written_in_the_file() {
    for written in ["pending", "failing", "passing"] {
        let dir = project(&format!(
            r#"{{ "id": "1", "name": "a", "status": "{written}" }}, {{ "id": "2", "name": "b", "dependencies": ["1"] }}"#
        ));
        assert_eq!(ask(&dir, &query(&["1"])), Ok(Claim::Working), "{written}");
        assert!(text(&dir).contains(written), "only settling it decides");
    }
}

#[test]
fn when_nothing_can_be_taken_it_is_said_why() {
    let none = |tasks: &str, query: &TaskQuery| ask(&project(tasks), query).unwrap();
    assert_eq!(none("", &query(&[])), Claim::AllDone);
    assert_eq!(none(r#"{ "id": "1", "name": "a", "status": "skip" }"#, &query(&[])), Claim::AllDone);
    let mut tried = query(&[]);
    tried.attempts.count(&id("1"));
    tried.attempts.count(&id("1"));
    let failing = r#"{ "id": "1", "name": "a", "status": "failing" }"#;
    assert_eq!(none(failing, &tried), Claim::Failed { ids: ids(&["1"]) });
    let ring = r#"{ "id": "1", "name": "a", "dependencies": ["2"] }, { "id": "2", "name": "b", "dependencies": ["1"] }"#;
    assert_eq!(none(ring, &query(&[])), Claim::Deadlock(Deadlock::Cycle(ids(&["1", "2"]))));
    let missing = Deadlock::Missing { task: id("1"), dependency: id("9") };
    let waits = r#"{ "id": "1", "name": "a", "dependencies": ["9"] }"#;
    assert_eq!(none(waits, &query(&[])), Claim::Deadlock(missing));
}

const AREAS: &str = r#"    { "id": "1", "name": "a", "metadata": { "area": "docs" } },
    { "id": "2", "name": "b", "metadata": { "area": "code" } },
    { "id": "3", "name": "c", "metadata": { "area": "code" }, "dependencies": ["2"] }"#;

#[test]
fn only_what_select_takes_is_taken_and_the_rest_is_left() {
    // A task may lack what others have.
    let dir = project(&format!("{AREAS}, {{ \"id\": \"4\", \"name\": \"d\" }}"));
    let code = selecting("task.metadata.area is defined and task.metadata.area == 'code'");
    assert_eq!(taken(&dir, &code), "2");
    assert_eq!(ask(&dir, &TaskQuery { busy: ids(&["2"]), ..code.clone() }), Ok(Claim::Working));
    write_end(dir.path(), end("2", true, None), NOW);
    assert_eq!(taken(&dir, &code), "3");
    write_end(dir.path(), end("3", true, None), NOW);
    assert_eq!(ask(&dir, &code), Ok(Claim::AllDone));
    assert_eq!(status(&dir, "1"), TaskStatus::Pending);
}

#[test]
fn a_task_that_waits_for_one_that_is_left_out_is_not_done() {
    let dir = project(AREAS);
    let left_out = Deadlock::LeftOut { task: id("3"), dependency: id("2") };
    assert_eq!(ask(&dir, &selecting("task.id == '3'")), Ok(Claim::Deadlock(left_out)));
    assert_eq!(ask(&dir, &selecting("task.id == '9'")), Ok(Claim::NoneSelected { open: 3 }));
}

#[test]
fn what_failed_for_good_is_said_though_others_are_left_out() {
    let dir = project(r#"{ "id": "1", "name": "a", "status": "failing" }, { "id": "2", "name": "b" }"#);
    let mut query = selecting("task.id == '1'");
    query.attempts = Attempts::of(1);
    query.attempts.count(&id("1"));
    assert_eq!(ask(&dir, &query), Ok(Claim::Failed { ids: ids(&["1"]) }));
}

#[test]
fn when_no_round_is_left_it_is_only_said_whether_any_task_is() {
    let dir = project(r#"{ "id": "1", "name": "a" }, { "id": "2", "name": "b", "status": "passing" }"#);
    for (select, claim) in [("true", Claim::Working), ("task.id == '2'", Claim::AllDone)] {
        let query = TaskQuery { attempts: Attempts::of(0), ..selecting(select) };
        assert_eq!(ask(&dir, &query), Ok(claim), "{select}");
    }
    assert_eq!(status(&dir, "1"), TaskStatus::Pending, "none is taken");
}

#[test]
fn a_select_without_a_value_names_the_task_and_the_mistake() {
    let dir = project(AREAS);
    let why = ask(&dir, &selecting("tusk.id == '1'")).unwrap_err();
    assert!(why.starts_with("`select` cannot be evaluated for task `1`: "), "{why}");
    assert!(why.contains(", in: tusk.id == '1'\n  hint: not every task has this field"), "{why}");
    let why = ask(&dir, &selecting("1 +")).unwrap_err();
    assert!(why.ends_with(", in: 1 +"), "{why}");
}

#[test]
fn a_file_that_cannot_be_used_says_where_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let why = ask(&dir, &query(&[])).unwrap_err();
    assert_eq!(why, "there is no tasks.json\n  hint: `windlass tasks init` creates one");
    write(&dir, "{\"tasks\": [");
    let why = ask(&dir, &query(&["1"])).unwrap_err();
    assert!(why.contains("tasks.json:1:12"), "{why}");
    write(&dir, r##"{"tasks": [{"id": "1", "name": "a"}, {"id": "#1", "name": "b"}]}"##);
    let why = ask(&dir, &query(&[])).unwrap_err();
    assert!(why.contains("two tasks have the id `1`") && why.contains("tasks.json:1:"), "{why}");
}

#[test]
fn a_path_is_one_below_the_workspace_however_it_is_written() {
    let dir = project(CHAIN);
    let whole = dir.path().join("tasks.json").display().to_string();
    for path in ["tasks.json", "./tasks.json", &whole] {
        assert_eq!(taken(&dir, &TaskQuery { path: Some(path.to_owned()), ..query(&[]) }), "3", "{path}");
    }
    for path in ["../tasks.json", "/etc/passwd"] {
        let why = ask(&dir, &TaskQuery { path: Some(path.to_owned()), ..query(&[]) }).unwrap_err();
        assert!(why.contains("leads out of the project"), "{why}");
    }
}

const BEGUN: &str = r#"    // by hand
    { "id": "1", "name": "a", "status": "in_progress", "note": 1.10 }"#;

#[test]
fn only_what_succeeded_and_was_claimed_is_passing() {
    let far = |ok, said| write_end(project(BEGUN).path(), end("1", ok, said), NOW);
    let passing = (TaskStatus::Passing, None, None);
    assert_eq!(far(true, Some("done\n<status>passing</status>")), passing);
    assert_eq!(far(true, None), passing, "no agent was there to say so");
    let silent = "the agent did not say that the task is done".to_owned();
    assert_eq!(far(true, Some("I think it is done")), (TaskStatus::Failing, Some(silent), None));
    assert_eq!(far(false, Some("<status>passing</status>")), (TaskStatus::Failing, None, None));
}

#[test]
fn what_was_wrong_is_handed_on() {
    let dir = project(BEGUN);
    let red = TaskEnd { why: Some("checks are red".into()), ..end("1", false, Some("")) };
    let told = (TaskStatus::Failing, Some("checks are red".to_owned()), None);
    assert_eq!(write_end(dir.path(), red.clone(), NOW), told);
    assert_eq!(write_end(dir.path(), red, NOW), told, "and the same the second time");
    assert_eq!(status(&dir, "1"), TaskStatus::Failing);
    let dir = project(BEGUN);
    let once = write_end(dir.path(), end("1", true, Some("I am done.")), NOW);
    let written = text(&dir);
    assert_eq!(write_end(dir.path(), end("1", true, Some("I am done.")), NOW.plus_ms(9_000)), once);
    assert_eq!(text(&dir), written, "it is settled once");
}

#[test]
fn what_nobody_is_at_any_more_is_put_back_once_and_what_others_wrote_stays() {
    let dir = project(BEGUN);
    let back = |dir: &TempDir, task: &str| put_back(dir.path(), &id(task)).unwrap();
    assert_eq!(back(&dir, "1"), TaskStatus::Pending);
    let written = text(&dir);
    assert!(written.contains("// by hand") && written.contains("pending"), "{written}");
    assert_eq!((back(&dir, "1"), text(&dir)), (TaskStatus::Pending, written.clone()), "the second time");
    assert_eq!((back(&dir, "gone"), text(&dir)), (TaskStatus::Pending, written));
    for wrote in [TaskStatus::Skipped, TaskStatus::Passing, TaskStatus::Failing] {
        let dir = project(BEGUN);
        decides(&dir, "1", wrote);
        assert_eq!((back(&dir, "1"), status(&dir, "1")), (wrote, wrote));
        let dir = project(&BEGUN.replace("in_progress", wrote.word()));
        let after = if wrote.is_met() { TaskStatus::Pending } else { wrote };
        assert_eq!(
            (back(&dir, "1"), status(&dir, "1")),
            (after, after),
            "what its agent wrote is not proven"
        );
    }
    write(&dir, "oops");
    assert!(put_back(dir.path(), &id("1")).is_err());
    assert_eq!(text(&dir), "oops");
}

#[test]
fn an_edit_of_the_file_is_a_claim_and_every_other_edit_stays() {
    let dir = project(&BEGUN.replace("in_progress", "done"));
    assert_eq!(write_end(dir.path(), end("1", true, Some("")), NOW).0, TaskStatus::Passing);
    let skipped = project(BEGUN);
    decides(&skipped, "1", TaskStatus::Skipped);
    assert_eq!(write_end(skipped.path(), end("1", false, Some("")), NOW).0, TaskStatus::Skipped);
    let skipped = project(&BEGUN.replace("in_progress", "skipped"));
    let (far, why, error) = write_end(skipped.path(), end("1", true, Some("")), NOW);
    assert_eq!((far, status(&skipped, "1"), error), (TaskStatus::Failing, TaskStatus::Failing, None));
    assert!(why.as_deref().unwrap().contains("only a person may do"), "{why:?}");
    let again = write_end(skipped.path(), end("1", true, Some("")), NOW);
    assert_eq!(again, (far, why, None), "and the same the second time");
    let dir = project(BEGUN);
    write_end(dir.path(), end("1", true, None), NOW);
    assert!(text(&dir).contains("// by hand") && text(&dir).contains("\"note\": 1.10"), "{}", text(&dir));
}

#[test]
fn what_another_run_wrote_meanwhile_stands_and_nothing_is_brought_back() {
    let claims = Some("<status>passing</status>");
    for (word, written) in [("passing", TaskStatus::Passing), ("pending", TaskStatus::Pending)] {
        let dir = project(&BEGUN.replace("in_progress", word));
        let before = text(&dir);
        let ended = |ok| TaskEnd { file: StatusClaim::Unchanged, ..end("1", ok, claims) };
        assert_eq!(withheld(dir.path(), &ended(true)), Some(SUPERSEDED.to_owned()));
        let (status, why, error) = write_end(dir.path(), ended(false), NOW);
        assert_eq!((status, why.as_deref(), error), (written, Some(SUPERSEDED), None));
        assert_eq!(text(&dir), before);
    }
    let dir = project(BEGUN);
    let ended = TaskEnd { file: StatusClaim::Unchanged, ..end("1", true, claims) };
    assert_eq!(write_end(dir.path(), ended, NOW).0, TaskStatus::Passing, "nobody settled it");
}

#[test]
fn a_task_that_is_gone_ends_the_run_no_more_than_a_broken_file_is_hidden() {
    let dir = project(BEGUN);
    let gone = Some("the task was removed from the file meanwhile".to_owned());
    assert_eq!(write_end(dir.path(), end("7", true, None), NOW), (TaskStatus::Skipped, gone.clone(), None));
    assert_eq!(withheld(dir.path(), &end("7", true, None)), gone, "nothing is brought back for it");
    write(&dir, "oops");
    let (status, _, error) = write_end(dir.path(), end("1", true, None), NOW);
    let error = error.unwrap();
    assert!(status == TaskStatus::Passing && error.contains("tasks.json:1:1"), "{error}");
    assert_eq!(text(&dir), "oops");
}

#[test]
fn what_would_not_be_passing_is_withheld() {
    let why = |file: &str, said: Option<&str>| {
        withheld(project(&BEGUN.replace("in_progress", file)).path(), &end("1", true, said))
    };
    assert_eq!(why("in_progress", Some("<status>passing</status>")), None);
    assert_eq!(why("passing", Some("")), None, "an edit of the file is a claim");
    assert_eq!(why("in_progress", None), None, "nobody could say so");
    assert!(why("in_progress", Some("")).unwrap().contains("did not say"));
    assert!(why("passing", Some("<status>failing</status>")).unwrap().contains("not done"));
    assert!(why("skipped", Some("")).unwrap().contains("only a person may do"));
    let skipped = project(BEGUN);
    decides(&skipped, "1", TaskStatus::Skipped);
    let claims = end("1", true, Some("<status>passing</status>"));
    assert!(withheld(skipped.path(), &claims).unwrap().contains("skipped"));
    let broken = project("oops");
    assert_eq!(withheld(broken.path(), &end("1", true, Some("<status>passing</status>"))), None);
}

#[test]
fn what_somebody_wrote_of_other_tasks_is_not_believed() {
    let dir = project(
        r#"    { "id": "1", "name": "a", "status": "pending" },
    { "id": "2", "name": "b", "status": "pending" },
    { "id": "3", "name": "c", "status": "pending" },
    { "id": "4", "name": "d", "status": "pending", "dependencies": ["3"] },
    { "id": "5", "name": "e", "status": "skipped" }"#,
    );
    assert_eq!(taken(&dir, &query(&[])), "1");
    // The agent of the first task ends the list, and adds a task that is done.
    write(
        &dir,
        r#"{ "version": "1.0", "tasks": [
    { "id": "1", "name": "a", "status": "passing" },
    { "id": "2", "name": "b", "status": "passing" },
    { "id": "3", "name": "c", "status": "cancelled" },
    { "id": "4", "name": "d", "status": "pending", "dependencies": ["3"] },
    { "id": "5", "name": "e", "status": "skipped" },
    { "id": "6", "name": "f", "status": "done" }
  ] }"#,
    );
    assert_eq!(write_end(dir.path(), end("1", true, Some("")), NOW).0, TaskStatus::Passing);
    for other in ["2", "6"] {
        assert_eq!(taken(&dir, &query(&[])), other, "it is done before it counts");
        let said = end(other, true, Some("<status>passing</status>"));
        assert_eq!(write_end(dir.path(), said, NOW).0, TaskStatus::Passing);
    }
    let Ok(Claim::Unproven { why }) = ask(&dir, &query(&[])) else { panic!("{:?}", ask(&dir, &query(&[]))) };
    assert!(why.contains("task `3` is `skipped`") && why.contains("windlass tasks set 3 skip"), "{why}");
    decides(&dir, "3", TaskStatus::Skipped);
    assert_eq!(taken(&dir, &query(&[])), "4");
    let said = end("4", true, Some("<status>passing</status>"));
    assert_eq!(write_end(dir.path(), said, NOW).0, TaskStatus::Passing);
    assert_eq!(ask(&dir, &query(&[])), Ok(Claim::AllDone));
}

#[test]
fn a_list_that_lost_its_tasks_is_not_done() {
    let dir = project(BEGUN);
    assert_eq!(taken(&dir, &query(&[])), "1");
    write(&dir, r#"{ "version": "1.0", "tasks": [] }"#);
    write_end(dir.path(), end("1", true, Some("<status>passing</status>")), NOW);
    let Ok(Claim::Unproven { why }) = ask(&dir, &query(&[])) else { panic!("{:?}", ask(&dir, &query(&[]))) };
    assert!(why.starts_with("task `1` was removed from tasks.json"), "{why}");
    let spent = TaskQuery { attempts: Attempts::of(0), ..query(&[]) };
    assert_eq!(ask(&dir, &spent), Ok(Claim::Working), "nor when no round is left");
}
