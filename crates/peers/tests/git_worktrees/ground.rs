//! A repository in a temporary folder, and the few things every test does with it.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_peers::git::{self, Landing, Worktree, git};

pub(crate) struct Ground {
    pub(crate) temp: tempfile::TempDir,
    pub(crate) repo: PathBuf,
}

impl Ground {
    /// A repository with one commit on `main`, checked out.
    pub(crate) fn new() -> Ground {
        Ground::within(std::env::temp_dir().as_path(), "repo")
    }

    pub(crate) fn within(folder: &Path, name: &str) -> Ground {
        let temp = tempfile::Builder::new().prefix("wl").tempdir_in(folder).unwrap();
        let repo = temp.path().canonicalize().unwrap().join(name);
        fs::create_dir(&repo).unwrap();
        run(&repo, &["init", "--quiet", "--initial-branch=main"]);
        for (name, value) in
            [("user.name", "Committer"), ("user.email", "c@example.invalid"), ("gc.auto", "0")]
        {
            run(&repo, &["config", name, value]);
        }
        commit(&repo, "a.txt", "one\n");
        Ground { temp, repo }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join(name)
    }

    /// A worktree named after its branch.
    pub(crate) fn worktree(&self, branch: &str) -> Worktree {
        git::create(&self.repo, &self.path(&format!("trees/{branch}")), branch, "main").unwrap()
    }

    /// `main` is nobody's checkout any more.
    pub(crate) fn leave_main(&self) {
        run(&self.repo, &["checkout", "--quiet", "-b", "elsewhere"]);
    }
}

pub(crate) fn run(dir: &Path, args: &[&str]) -> String {
    let said = git(dir, args).unwrap_or_else(|e| panic!("{args:?}: {e}"));
    String::from_utf8(said).unwrap().trim_end().to_owned()
}

/// Writes a file and commits it alone, under a name of its own.
pub(crate) fn commit(dir: &Path, name: &str, text: &str) -> String {
    write(dir, name, text);
    run(dir, &["add", "--", name]);
    let author = format!("--author=Author of {name} <a@example.invalid>");
    run(dir, &["commit", "--quiet", &author, "-m", &format!("Write {name}\n\nand say why")]);
    head(dir)
}

pub(crate) fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

pub(crate) fn head(dir: &Path) -> String {
    run(dir, &["rev-parse", "HEAD"])
}

pub(crate) fn at(dir: &Path, name: &str) -> String {
    run(dir, &["rev-parse", name])
}

/// The commits of a branch, newest first: author and subject.
pub(crate) fn history(dir: &Path, branch: &str) -> Vec<String> {
    run(dir, &["log", "--format=%an: %s", branch, "--"]).lines().map(str::to_owned).collect()
}

pub(crate) fn green(_: &Path) -> Result<bool, Infallible> {
    Ok(true)
}

pub(crate) fn landed(landing: &Landing) -> &str {
    match landing {
        Landing::Landed { commit } => commit,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Every file below a folder but git's own, with its content.
pub(crate) fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                _ if entry.file_name() == ".git" => {}
                kind if kind.is_dir() => waiting.push(entry.path()),
                _ => found.push((entry.path(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    found.sort();
    found
}
