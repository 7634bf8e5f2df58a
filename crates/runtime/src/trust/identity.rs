//! Identifies the project that a settings file belongs to.
//!
//! All worktrees of a repository share one identity: the git folder that they share. A folder could claim to be
//! the worktree of a repository that a person trusts, so both ends of that link must agree. Nothing here
//! starts git, because the repository may be a stranger's.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use windlass_peers::files::read_bounded;

/// The longest file that names another folder.
const MAX_NAME: u64 = 16 * 1024;

/// The identity of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectIdentity(Vec<u8>);

impl ProjectIdentity {
    /// Identifies the project of `…/.windlass/config.toml`: by its repository and its folder there, or by its
    /// folder if it is in none.
    pub(super) fn of(file: &Path) -> ProjectIdentity {
        let folder = folder_of(file);
        let root = folder.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
        let root = root.unwrap_or(&folder);
        let inner = folder.strip_prefix(root).unwrap_or(&folder);
        let shared = shared_git_folder(root).unwrap_or_else(|| root.to_owned());
        let [shared, inner] = [shared.as_path(), inner].map(|path| path.as_os_str().as_bytes());
        // No path contains a NUL.
        ProjectIdentity([shared, inner].join(&0))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Returns the real folder that contains the project's `.windlass`.
pub(super) fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().and_then(Path::parent).unwrap_or(file);
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Returns the git folder that all worktrees of a repository share. Follows no link, and no claim that the
/// repository does not confirm.
fn shared_git_folder(root: &Path) -> Option<PathBuf> {
    let own = root.join(".git");
    let kind = own.symlink_metadata().ok()?.file_type();
    if kind.is_dir() {
        return Some(own);
    }
    let git_dir = root.join(line(&own)?.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let shared = git_dir.join(line(&git_dir.join("commondir"))?).canonicalize().ok()?;
    let back = git_dir.join(line(&git_dir.join("gitdir"))?).canonicalize().ok()?;
    let is_confirmed = git_dir.parent()? == shared.join("worktrees") && back == own;
    is_confirmed.then_some(shared)
}

/// Returns the only line of a file.
fn line(file: &Path) -> Option<String> {
    let text = String::from_utf8(read_bounded(file, MAX_NAME).ok()?).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use windlass_peers::git::git;

    use super::*;

    fn settings(folder: &Path) -> PathBuf {
        fs::create_dir_all(folder.join(".windlass")).unwrap();
        fs::write(folder.join(".windlass/config.toml"), "").unwrap();
        folder.join(".windlass/config.toml")
    }

    fn repository(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        let who = ["-c", "user.name=t", "-c", "user.email=t@t"];
        git(folder, &["init", "--quiet"]).unwrap();
        git(folder, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "x"]].concat()).unwrap();
    }

    #[test]
    fn a_worktree_shares_the_identity_of_its_repository_and_other_folders_do_not() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let of = |name: &str| ProjectIdentity::of(&settings(&base.join(name)));
        repository(&base.join("main"));
        repository(&base.join("other"));
        git(&base.join("main"), &["worktree", "add", "--quiet", "../tree"]).unwrap();
        assert_eq!(of("tree"), of("main"));
        assert_eq!(of("tree/deep"), of("main/deep"));
        assert_ne!(of("main/deep"), of("main"));
        assert_ne!(of("other"), of("main"));
        assert_ne!(of("plain"), of("main"));
        symlink(base.join("main"), base.join("link")).unwrap();
        assert_eq!(of("link"), of("main"));
    }

    #[test]
    fn a_folder_that_claims_to_be_a_worktree_is_not_one() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let of = |name: &str| ProjectIdentity::of(&settings(&base.join(name)));
        repository(&base.join("main"));
        git(&base.join("main"), &["worktree", "add", "--quiet", "../tree"]).unwrap();
        for name in ["copy", "forged", "linked"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        fs::copy(base.join("tree/.git"), base.join("copy/.git")).unwrap();
        symlink(base.join("main/.git"), base.join("linked/.git")).unwrap();
        let forged = base.join("forged");
        fs::create_dir_all(forged.join("g/worktrees/w")).unwrap();
        fs::write(forged.join(".git"), "gitdir: g/worktrees/w\n").unwrap();
        fs::write(forged.join("g/worktrees/w/commondir"), base.join("main/.git").to_str().unwrap()).unwrap();
        fs::write(forged.join("g/worktrees/w/gitdir"), forged.join(".git").to_str().unwrap()).unwrap();
        for name in ["copy", "forged", "linked"] {
            assert_ne!(of(name), of("main"), "{name}");
        }
    }
}
