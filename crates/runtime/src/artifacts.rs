//! The folder in which a run keeps its own files: `run.artifacts` in templates.
//!
//! Windlass makes the folder when a command, a check or a session that mentions it starts. It goes
//! with the folder of the run, which only `gc` removes.

use std::io;
use std::path::{Path, PathBuf};

use windlass_core::spec::Spec;
use windlass_peers::files;

/// The name of the folder in the folder of a run.
pub const ARTIFACTS: &str = "artifacts";
/// The most files that are listed.
const MOST: usize = 1_000;
/// The deepest folder that is searched.
const DEEPEST: usize = 8;

/// A file that a run keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The path below the folder.
    pub path: PathBuf,
    pub bytes: u64,
}

/// Makes the folders of runs that a text mentions, so that whoever gets the text can write there.
pub(crate) fn make_mentioned<'t>(spec: &Spec, texts: impl IntoIterator<Item = &'t str>) {
    if let Some(runs) = &spec.runs {
        make_below(runs, texts);
    }
}

fn make_below<'t>(runs: &str, texts: impl IntoIterator<Item = &'t str>) {
    for text in texts {
        for (at, _) in text.match_indices(runs) {
            let below = text.get(at + runs.len()..).and_then(|rest| rest.strip_prefix('/'));
            let Some((run, rest)) = below.and_then(|below| below.split_once('/')) else { continue };
            let dir = Path::new(runs).join(run);
            // Only a run that exists has such a folder.
            if rest.starts_with(ARTIFACTS) && !run.starts_with('.') && dir.is_dir() {
                // The command or the agent reports a folder that it cannot use.
                let _ = files::make_private_dir(&dir.join(ARTIFACTS));
            }
        }
    }
}

/// Lists the files that a run keeps, in the order of their paths.
pub fn list(run_dir: &Path) -> Vec<Artifact> {
    let mut found = Vec::new();
    let top = run_dir.join(ARTIFACTS);
    collect(&top, &top, 0, &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(top: &Path, dir: &Path, depth: usize, into: &mut Vec<Artifact>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if into.len() >= MOST || depth >= DEEPEST {
            return;
        }
        // The file itself: a link may lead anywhere.
        let Ok(meta) = entry.path().symlink_metadata() else { continue };
        if meta.is_dir() {
            collect(top, &entry.path(), depth + 1, into);
        } else if let Ok(path) = entry.path().strip_prefix(top) {
            into.push(Artifact { path: path.to_owned(), bytes: meta.len() });
        }
    }
}

/// Copies the files that a run keeps for another run. A link stays a link: nothing behind it is read.
pub(crate) fn copy(from_run: &Path, to_run: &Path) -> io::Result<()> {
    let from = from_run.join(ARTIFACTS);
    if from.is_dir() { copy_folder(&from, &to_run.join(ARTIFACTS)) } else { Ok(()) }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    files::make_private_dir(to).map_err(io::Error::other)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_runs_that_exist_are_made_and_their_files_listed() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("k3f9");
        std::fs::create_dir(&run).unwrap();
        let runs = dir.path().to_str().unwrap();
        let texts = [
            format!("jq . > {runs}/k3f9/artifacts/a"),
            format!("{runs}/none/artifacts {runs}/../x/artifacts"),
        ];
        make_below(runs, texts.iter().map(String::as_str));
        assert!(run.join(ARTIFACTS).is_dir());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        std::fs::create_dir(run.join("artifacts/sub")).unwrap();
        std::fs::write(run.join("artifacts/sub/b"), "12").unwrap();
        std::fs::write(run.join("artifacts/a"), "1").unwrap();
        std::os::unix::fs::symlink("/etc", run.join("artifacts/link")).unwrap();
        let listed: Vec<_> = list(&run).into_iter().map(|file| file.path.display().to_string()).collect();
        assert_eq!(listed, ["a", "link", "sub/b"]);
        let fork = dir.path().join("m7c2");
        copy(&run, &fork).unwrap();
        assert_eq!(list(&fork), list(&run));
        assert_eq!(std::fs::read_to_string(fork.join("artifacts/sub/b")).unwrap(), "12");
        assert!(fork.join("artifacts/link").is_symlink(), "nothing behind a link is copied");
        copy(&dir.path().join("none"), &dir.path().join("other")).unwrap();
        assert!(!dir.path().join("other").exists());
    }
}
