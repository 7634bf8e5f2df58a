//! The repository around a workspace: the folders that git needs, and whether Codex loads its settings.
//!
//! Only reads. A workspace outside every repository has no folders of git and no project settings.

use std::path::{Path, PathBuf};

use toml::Table;

/// Returns the folders that git needs to commit in a workspace: those of the repository, and for a linked
/// worktree also its own.
pub(super) fn git_folders(workspace: &Path) -> Vec<PathBuf> {
    let Some(top) = top(workspace) else { return Vec::new() };
    let git = top.join(".git");
    if git.is_dir() {
        return vec![git];
    }
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let Some(own) = read(&git).and_then(|text| Some(top.join(text.strip_prefix("gitdir:")?.trim()))) else {
        return Vec::new();
    };
    let common = read(&own.join("commondir")).map(|text| own.join(text.trim()));
    let real = |folder: PathBuf| folder.canonicalize().ok();
    common.into_iter().chain([own]).filter_map(real).collect()
}

/// Decides whether Codex loads the project's own settings and instructions.
///
/// Codex runs the hooks of a trusted project, so a project with settings of its own needs the user's trust.
/// A project without any has only instructions and skills, which need none.
pub(super) fn is_trusted(workspace: &Path, run_folder: &Path, user: &Table) -> bool {
    let word = |folder: &Path| user.get("projects")?.get(folder.to_str()?)?.get("trust_level")?.as_str();
    let said = workspace.ancestors().chain(run_folder.ancestors()).find_map(word);
    said.map_or_else(|| !has_settings(workspace), |word| word == "trusted")
}

fn has_settings(workspace: &Path) -> bool {
    let top = top(workspace).unwrap_or(workspace);
    let inside = workspace.ancestors().take_while(|folder| folder.starts_with(top));
    inside.map(|folder| folder.join(".codex")).any(|settings| settings.symlink_metadata().is_ok())
}

fn top(workspace: &Path) -> Option<&Path> {
    workspace.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())
}
