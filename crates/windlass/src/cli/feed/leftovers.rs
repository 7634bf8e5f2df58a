//! The lines at the end of parallel tasks: what is left behind, why, and how to look at it, land it or
//! remove it.

use windlass_core::tasks::TaskStatus;
use windlass_runtime::view::{LeftBranch, TaskFileTally};

use crate::cli::sanitize::{plain_line, plain_short};

/// The most branches and tasks that are listed.
const BRANCHES: usize = 10;
const TASKS: usize = 12;
/// The longest reason and the longest name of a task.
const WHY: usize = 160;
const NAME: usize = 30;

/// Lists the tasks that are not done.
pub(crate) fn open_tasks(tally: &TaskFileTally) -> Vec<String> {
    if tally.open.is_empty() {
        return Vec::new();
    }
    let task = |(id, name, status): &(String, String, TaskStatus)| {
        format!("    {} {} ({})", plain_short(id, NAME), plain_short(name, NAME), status.word())
    };
    let mut lines = vec![format!("  tasks left open: {} of {}", tally.open.len(), tally.all)];
    lines.extend(tally.open.iter().take(TASKS).map(task));
    let hidden = tally.open.len().saturating_sub(TASKS);
    lines.extend((hidden > 0).then(|| format!("    ... ({hidden} more: windlass tasks list)")));
    lines
}

/// Lists the branches of a run that still exist and have work that no branch of a person has.
pub(crate) fn left_branches(left: &[LeftBranch]) -> Vec<String> {
    let left: Vec<&LeftBranch> = left.iter().filter(|left| !left.has_landed).collect();
    if left.is_empty() {
        return Vec::new();
    }
    let (items, tasks): (Vec<&LeftBranch>, Vec<&LeftBranch>) =
        left.into_iter().partition(|left| left.item.is_some());
    let (kept, behind): (Vec<&LeftBranch>, Vec<&LeftBranch>) =
        tasks.into_iter().partition(|left| left.is_kept);
    let mut lines = listed("  branches of the tasks that passed; the workflow lands none of them:", &kept);
    lines.extend(listed("  branches and worktrees of items, which `each` does not land:", &items));
    lines.extend(listed("  left behind, because their work did not land:", &behind));
    lines.push("    `windlass gc` removes them once another branch has their work".to_owned());
    lines
}

fn listed(heading: &str, left: &[&LeftBranch]) -> Vec<String> {
    if left.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading.to_owned()];
    lines.extend(left.iter().take(BRANCHES).flat_map(|left| branch(left)));
    let hidden = left.len().saturating_sub(BRANCHES);
    lines.extend((hidden > 0).then(|| format!("    ... ({hidden} more: git branch --list 'windlass/*')")));
    lines
}

/// Lists the branches that a run continues with.
pub(crate) fn kept_branches(left: &[LeftBranch]) -> Vec<String> {
    if left.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["  kept for the tasks that are not finished; they continue there:".to_owned()];
    lines.extend(left.iter().take(BRANCHES).map(|left| format!("    {}", plain_line(&left.branch))));
    let hidden = left.len().saturating_sub(BRANCHES);
    lines.extend((hidden > 0).then(|| format!("    ... ({hidden} more)")));
    lines
}

fn branch(left: &LeftBranch) -> Vec<String> {
    let name = plain_line(&left.branch);
    let mut lines = vec![format!("    {name}{}", purpose(left))];
    lines.extend(left.why.as_ref().map(|why| format!("      why:    {}", reason(why, &left.branch))));
    let target = left.target.as_deref().map_or_else(|| "HEAD".to_owned(), plain_line);
    if left.has_commits {
        lines.push(format!("      look:   git log -p {target}..{name}"));
    }
    let unsaved = left.worktree.as_ref().filter(|_| left.has_uncommitted_files);
    if let Some(path) = unsaved {
        let path = plain_line(&path.display().to_string());
        lines.push(format!("      files:  in no commit: git -C '{path}' status"));
    }
    lines.extend(
        (left.is_hindered && !left.is_redone).then(|| format!("      land:   {}", landing(left, &name))),
    );
    let folder = left.worktree.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    // Git finds a worktree by the end of its path.
    let folder = folder.map(|folder| format!("{}/worktrees/{}", left.run, plain_line(&folder)));
    // Without `--force`, git refuses to delete files that are in no commit.
    let (force, first) = match unsaved {
        Some(_) => ("", "    # after you committed or copied these files"),
        None => ("--force ", ""),
    };
    lines.extend(folder.iter().map(|path| format!("      remove: git worktree remove {force}{path}{first}")));
    let before = if folder.is_some() { "             " } else { "      remove:" };
    lines.push(format!("{before} git branch -D {name}"));
    lines
}

/// Says what a branch was made for.
fn purpose(left: &LeftBranch) -> String {
    let again = if left.is_redone { "; a later try landed" } else { "" };
    match (&left.task, &left.item) {
        (_, Some((block, number))) => {
            format!(" (item {number} of {}{again})", plain_short(block.as_str(), NAME))
        }
        (Some(task), None) => format!(" (task {}{again})", plain_short(task, NAME)),
        (None, None) => String::new(),
    }
}

/// Returns the commands that land a branch by hand.
fn landing(left: &LeftBranch, name: &str) -> String {
    let is_plain = |id: &&String| id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match left.task.as_ref().filter(is_plain) {
        Some(task) => format!("git merge {name} && windlass tasks set {task} done"),
        None => format!("git merge {name}"),
    }
}

/// Shortens a reason to its first part, without the name of the branch.
fn reason(why: &str, branch: &str) -> String {
    let line = plain_line(why);
    let first = line.split("; ").next().unwrap_or_default();
    let named = format!("branch `{}` is ", plain_line(branch));
    plain_short(first.strip_prefix(&named).unwrap_or(first), WHY)
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{NodeId, RunId};

    use super::*;

    #[test]
    fn each_branch_says_why_it_is_there_and_how_to_look_at_it_and_remove_it() {
        let branch = "windlass/k3f9/task-4-1".to_owned();
        let why = format!("branch `{branch}` is in conflict with `main` in a.md; the branch is unchanged");
        let left = LeftBranch {
            run: RunId::new("k3f9"),
            branch,
            worktree: Some("/state/windlass/runs/k3f9/worktrees/task-4-1".into()),
            target: Some("main".to_owned()),
            task: Some("4".to_owned()),
            item: None,
            why: Some(why),
            is_hindered: false,
            is_redone: false,
            is_kept: false,
            has_commits: true,
            has_uncommitted_files: false,
            has_landed: false,
        };
        let lines = left_branches(std::slice::from_ref(&left));
        let expected = [
            "  left behind, because their work did not land:",
            "    windlass/k3f9/task-4-1 (task 4)",
            "      why:    in conflict with `main` in a.md",
            "      look:   git log -p main..windlass/k3f9/task-4-1",
            "      remove: git worktree remove --force k3f9/worktrees/task-4-1",
            "              git branch -D windlass/k3f9/task-4-1",
            "    `windlass gc` removes them once another branch has their work",
        ];
        assert_eq!(lines, expected);
        let hindered = LeftBranch { is_hindered: true, ..left.clone() };
        assert_eq!(
            left_branches(&[hindered])[4],
            "      land:   git merge windlass/k3f9/task-4-1 && windlass tasks set 4 done"
        );
        let kept = LeftBranch { is_kept: true, why: None, ..left.clone() };
        assert_eq!(
            left_branches(&[kept])[0],
            "  branches of the tasks that passed; the workflow lands none of them:"
        );
        let item = LeftBranch { task: None, item: Some((NodeId::new("board"), 3)), ..left.clone() };
        let lines = left_branches(&[item]);
        let expected_item = [
            "  branches and worktrees of items, which `each` does not land:",
            "    windlass/k3f9/task-4-1 (item 3 of board)",
        ];
        assert_eq!(lines[..2], expected_item);
        let unsaved = LeftBranch { has_uncommitted_files: true, has_commits: false, ..left.clone() };
        let expected_unsaved = [
            "      files:  in no commit: git -C '/state/windlass/runs/k3f9/worktrees/task-4-1' status",
            "      remove: git worktree remove k3f9/worktrees/task-4-1    # after you committed or copied these files",
            "              git branch -D windlass/k3f9/task-4-1",
        ];
        assert_eq!(left_branches(&[unsaved])[3..6], expected_unsaved);
        let landed = LeftBranch { has_landed: true, ..left.clone() };
        assert_eq!(left_branches(&[landed.clone(), left.clone()]), expected);
        assert!(left_branches(&[landed]).is_empty());
        let bare = LeftBranch { worktree: None, why: None, is_redone: true, ..left };
        assert_eq!(
            left_branches(&[bare])[1..4],
            [
                "    windlass/k3f9/task-4-1 (task 4; a later try landed)",
                "      look:   git log -p main..windlass/k3f9/task-4-1",
                "      remove: git branch -D windlass/k3f9/task-4-1"
            ]
        );
    }

    #[test]
    fn tasks_that_are_not_done_are_listed() {
        let open = vec![("7".to_owned(), "Write\u{1b}[2J docs".to_owned(), TaskStatus::Failing)];
        let tally = TaskFileTally { done: 2, all: 3, open };
        assert_eq!(open_tasks(&tally), ["  tasks left open: 1 of 3", "    7 Write^[[2J docs (failing)"]);
        assert!(open_tasks(&TaskFileTally { done: 3, all: 3, open: Vec::new() }).is_empty());
    }
}
