//! Messages about the worktree that a run has for itself.

use serde_json::{Value, json};
use windlass_runtime::own_worktree::WorktreeReport;
use windlass_runtime::plan::{PlannedWorktree, WantedBranch};

use super::feed::words;
use super::sanitize::plain_line;

/// The number of characters of a commit that people see.
const SHORT: usize = 12;

/// Reads the value of `--worktree`, which may be empty.
pub(super) fn wanted(text: String) -> WantedBranch {
    if text.is_empty() { WantedBranch::OfTheRun } else { WantedBranch::Named(text) }
}

/// Describes a worktree that a run would get.
pub(super) fn planned(plan: &PlannedWorktree) -> String {
    let branch = plain_line(&plan.branch);
    let commit: String = plan.base.chars().take(SHORT).collect();
    match (plan.is_new, &plan.target) {
        (true, Some(target)) => {
            format!("a new one, on the new branch {branch} from {} ({commit})", plain_line(target))
        }
        (true, None) => format!("a new one, on the new branch {branch} from {commit}"),
        (false, _) => format!("a new one, on the branch {branch} ({commit})"),
    }
}

/// Returns a worktree that a run would get as JSON.
pub(super) fn planned_object(plan: &PlannedWorktree) -> Value {
    json!({"branch": plan.branch, "new_branch": plan.is_new, "base": plan.base, "target": plan.target})
}

/// Says where the work of a run is, and how to see and merge it.
pub(super) fn lines(report: &WorktreeReport) -> Vec<String> {
    let own = &report.worktree;
    let branch = plain_line(&own.branch);
    let Some(commits) = report.commits else {
        return vec![format!("the worktree and the branch {branch} are removed: they had no changes")];
    };
    if !report.is_there && !report.has_work() {
        return vec![format!("the worktree is removed: it had no changes; branch {branch} is as it was")];
    }
    let mut parts = Vec::new();
    parts.extend((commits > 0).then(|| words::count(commits, "commit")));
    let files = u64::try_from(report.files.len()).unwrap_or(u64::MAX);
    parts.extend((files > 0).then(|| words::count(files, "uncommitted file")));
    let work = if parts.is_empty() { "no changes now".to_owned() } else { parts.join(", ") };
    let mut lines = vec![format!("the work is on branch {branch}: {work}")];
    if report.is_there {
        lines.push(format!("  in {}", plain_line(&own.top)));
    }
    if files > 0 {
        let there = shell_word(&plain_line(&own.top));
        lines.push(format!("  commit them:     (cd {there} && git add -A && git commit)"));
    }
    if commits > 0 {
        let target = own.target.as_deref().unwrap_or(&own.base);
        lines.push(format!("  see the commits: git diff {}...{branch}", plain_line(target)));
        lines.push(format!("  merge them:      git merge {branch}"));
    } else if files > 0 {
        lines.push(format!("  then merge them: git merge {branch}"));
    }
    lines
}

/// Returns the worktree of a run as JSON.
pub(super) fn object(report: &WorktreeReport) -> Value {
    let own = &report.worktree;
    json!({"branch": own.branch, "path": own.top, "base": own.base, "target": own.target,
        "checkout": own.checkout, "exists": report.is_there, "branch_exists": report.commits.is_some(),
        "commits": report.commits.unwrap_or(0), "uncommitted": report.files})
}

/// Quotes a path for a shell, if it needs quotes.
fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}
