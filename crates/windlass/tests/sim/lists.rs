//! What people read about lists: the feed, `show` and the end of a run with `each`.

use serde_json::json;

use crate::place::Place;

const BOARD: &str = r#"
name: board
nodes:
  - id: board
    each: { in: [ { id: cart }, { id: till }, { size: 3 } ], as: ticket, jobs: 3, worktree: true }
    do:
      - id: commit
        shell: "echo x > file-$NAME && git add . && git commit --quiet -m work"
        env: { NAME: "{{ ticket.id | default('other') }}" }
  - id: queue
    each: { in: outputs.board.value.items, as: done, join: some }
    do:
      - id: merge
        shell: '[ "$PLACE" = 2 ] && exit 1; git merge --quiet --no-edit "$BRANCH"'
        env: { PLACE: "{{ done.index }}", BRANCH: "{{ done.branch }}" }
"#;

fn place() -> Place {
    let place = Place::playing(json!([]));
    place.sealed.write("repo/.windlass/workflows/board.yaml", BOARD);
    place
}

#[test]
fn only_the_branches_whose_work_no_other_branch_has_are_left_behind() {
    let place = place();
    let ran = place.go(&["run", "--workflow", "board", "x"]);
    let run = place.ps()[0]["run"].as_str().unwrap().to_owned();
    let about = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("    windlass/")).map(str::to_owned).collect()
    };
    assert_eq!(about(&ran.stdout), [format!("    windlass/{run}/task-board-3-1 (item 3 of board)")], "{ran}");
    place.sealed.git(["merge", "--quiet", "--no-edit", &format!("windlass/{run}/task-board-3-1")]);
    let logs = place.go(&["logs", &run]);
    assert!(!logs.stdout.contains("left behind"), "{logs}");
    // Work that nobody has committed is in no other branch.
    let worktrees = place.sealed.git(["worktree", "list", "--porcelain"]);
    let second = worktrees.lines().find(|line| line.ends_with("/task-board-2-1")).expect("it is kept");
    std::fs::write(format!("{}/more", second.trim_start_matches("worktree ")), "").unwrap();
    let logs = place.go(&["logs", &run]);
    assert_eq!(
        about(&logs.stdout),
        [format!("    windlass/{run}/task-board-2-1 (item 2 of board)")],
        "{logs}"
    );
}

#[test]
fn the_items_of_a_list_have_labels_that_tell_them_apart() {
    let place = place();
    let ran = place.go(&["run", "--workflow", "board", "x"]);
    for line in [
        "  item 1 of 3: cart",
        "  item 3 of 3 (board 3): {\"size\":3}",
        "[till] ▸ commit (shell)",
        "[board 3] ▸ commit (shell)",
        "completed: all 2 steps ran",
    ] {
        assert!(ran.stdout.lines().any(|told| told == line), "{line}: {ran}");
    }
    let ran = place.go(&["run", "--workflow", "board", "x", "--json"]);
    let rounds = ran.all("round.started");
    assert_eq!(rounds[0]["item"], json!({"place": 1, "of": 3, "label": "cart"}), "{ran}");
    assert_eq!(rounds[2]["task"], "{\"size\":3}");
}

#[test]
fn a_node_that_ran_several_times_says_how_often_it_failed() {
    let place = place();
    place.go(&["run", "--workflow", "board", "x"]);
    let shown = place.go(&["show"]);
    let row = |node: &str| shown.stdout.lines().find(|line| line.contains(node)).unwrap_or_default();
    assert!(row("merge (shell)").contains("ran 3 times, 1 failed"), "{shown}");
    assert!(row("commit (shell)").contains("ran 3 times  "), "{shown}");
    let shown = place.go(&["show", "--json"]);
    let nodes = shown.lines[0]["data"]["nodes"].as_array().unwrap();
    let failed = |id: &str| nodes.iter().find(|node| node["id"] == id).unwrap()["failed"].clone();
    assert_eq!((failed("merge"), failed("commit")), (json!(1), json!(0)));
}

#[test]
fn the_reason_of_a_fail_is_told_by_its_node_and_at_the_end() {
    let place = Place::playing(json!([]));
    let document = r#"
name: fails
nodes:
  - each: { in: [a], as: letter }
    do:
      - try:
          - fail: "no luck with {{ letter }}"
"#;
    place.sealed.write("repo/.windlass/workflows/fails.yaml", document);
    let ran = place.go(&["run", "--workflow", "fails", "x"]);
    assert_eq!(ran.stdout.matches("no luck with a").count(), 2, "{ran}");
}
