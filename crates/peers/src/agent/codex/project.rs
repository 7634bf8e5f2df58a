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

/// The decision whether Codex loads the project's own settings and instructions.
pub(super) enum ProjectSettings {
    /// Codex loads them. With the names of the MCP servers in them.
    Loaded {
        servers: Vec<String>,
    },
    LeftOut,
}

/// Decides whether Codex loads the project's own settings and instructions.
pub(super) fn settings(workspace: &Path, run_folder: &Path, user: &Table) -> ProjectSettings {
    match is_trusted(workspace, run_folder, user) {
        true => ProjectSettings::Loaded { servers: servers(workspace) },
        false => ProjectSettings::LeftOut,
    }
}

/// Codex runs the hooks of a trusted project, so a project with settings of its own needs the user's trust.
/// A project without any has only instructions and skills, which need none.
fn is_trusted(workspace: &Path, run_folder: &Path, user: &Table) -> bool {
    let word = |folder: &Path| user.get("projects")?.get(folder.to_str()?)?.get("trust_level")?.as_str();
    let said = workspace.ancestors().chain(run_folder.ancestors()).find_map(word);
    said.map_or_else(|| !has_settings(workspace), |word| word == "trusted")
}

fn has_settings(workspace: &Path) -> bool {
    settings_folders(workspace).any(|folder| folder.symlink_metadata().is_ok())
}

/// Returns the folders in which a project may keep its settings.
fn settings_folders(workspace: &Path) -> impl Iterator<Item = PathBuf> {
    let top = top(workspace).unwrap_or(workspace);
    let inside = workspace.ancestors().take_while(move |folder| folder.starts_with(top));
    inside.map(|folder| folder.join(".codex"))
}

/// Returns the names of the MCP servers in the project's settings.
fn servers(workspace: &Path) -> Vec<String> {
    let text = |folder: PathBuf| std::fs::read_to_string(folder.join("config.toml")).ok();
    let tables = settings_folders(workspace).filter_map(|folder| text(folder)?.parse::<Table>().ok());
    let named =
        |table: Table| Some(table.get("mcp_servers")?.as_table()?.keys().cloned().collect::<Vec<_>>());
    tables.filter_map(named).flatten().collect()
}

fn top(workspace: &Path) -> Option<&Path> {
    workspace.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())
}
