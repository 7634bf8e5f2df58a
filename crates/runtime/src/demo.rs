//! A throw-away repository, so that a first look needs nothing but git.

use std::path::Path;

use windlass_peers::git::{GitError, git};

/// Makes a repository with one commit. Its identity is its own and touches no settings.
pub fn make_repository(dir: &Path) -> Result<(), GitError> {
    let readme = dir.join("README.md");
    if std::fs::write(&readme, "# A demonstration\n").is_err() {
        // git says better than we could what is wrong with the folder.
        git(dir, &["init", "--quiet"])?;
    }
    git(dir, &["init", "--quiet", "--initial-branch=main"])?;
    git(dir, &["config", "user.name", "Windlass demo"])?;
    git(dir, &["config", "user.email", "demo@windlass.invalid"])?;
    git(dir, &["add", "README.md"])?;
    git(dir, &["commit", "--quiet", "--message", "Begin"])?;
    Ok(())
}
