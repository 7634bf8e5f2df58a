//! A repository of Windlass's own over the files and objects of a checkout.
//!
//! It has a copy of the checkout's index, so that git need not read files that did not change. Its settings
//! and attributes are fixed: no program that the checkout's configuration names runs, and git converts no
//! content. Everything in it can be made again.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::checkout::{Checkout, CheckoutPlace};
use super::kept::KeptFiles;
use super::{SnapshotError, SnapshotFolder, io_error};
use crate::files::{FileMode, make_private_dir, write_spare};
use crate::git::command::{GitCall, GitError, git, line};

/// Overrides every attribute that changes content. This file has precedence over those of the checkout.
const ATTRIBUTES: &str = "* -text -crlf -eol -ident -filter -working-tree-encoding\n";

const HEAD: &str = "ref: refs/heads/none\n";
/// A second git folder, with the refs and objects of the checkout, as a worktree has it. What git leaves
/// behind when it fails is there and not in the checkout.
const WITH_REFS: &str = "with-refs";

/// The settings of the checkout that say how its files are on the disk.
const CARRIED: [&str; 8] = [
    "core.checkstat",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.sparsecheckout",
    "core.symlinks",
    "core.trustctime",
];
/// All settings to read: those, and others that only say whether git converts content.
const ASKED: &str = r"^(core\.(checkstat|excludesfile|filemode|ignorecase|precomposeunicode|sparsecheckout|symlinks|trustctime|autocrlf|attributesfile)|filter\..*\.(clean|process))$";

/// The filters that keep the content of a file outside of git's objects.
const ELSEWHERE: [&[u8]; 2] = [b"lfs", b"annex"];

/// The refs that a call of git sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refs {
    Own,
    OfCheckout,
}

/// The own repository of a folder.
#[derive(Debug)]
pub(super) struct OwnRepository {
    pub(super) dir: PathBuf,
    pub(super) place: CheckoutPlace,
    env: [String; 4],
    /// The pattern that leaves out Windlass's state folder, where it is in the checkout.
    pub(super) without: Option<String>,
    /// The disk keeps the executable bit.
    pub(super) trusts_mode: bool,
}

impl OwnRepository {
    /// Opens the repository that an earlier snapshot of a checkout made.
    pub(super) fn open(
        folder: SnapshotFolder<'_>,
        place: CheckoutPlace,
    ) -> Result<OwnRepository, SnapshotError> {
        let config = fs::read_to_string(folder.own.join("config")).unwrap_or_default();
        let text = |path: &Path| Checkout::text(path).map(str::to_owned);
        Ok(OwnRepository {
            dir: folder.own.to_owned(),
            env: [
                text(folder.own)?,
                text(&place.top)?,
                text(&place.objects)?,
                text(&folder.own.join(WITH_REFS))?,
            ],
            without: without(&place.top, folder.state),
            trusts_mode: !config.contains("filemode = \"false\""),
            place,
        })
    }

    /// Makes the repository of a checkout. Also returns the content of the index as a first state, and the
    /// files whose content there is not that on the disk.
    pub(super) fn make(
        folder: SnapshotFolder<'_>,
        checkout: &Checkout,
    ) -> Result<(OwnRepository, KeptFiles, Vec<Vec<u8>>), SnapshotError> {
        let settings = CheckoutSettings::of(&checkout.place.top)?;
        let own = OwnRepository::open(folder, checkout.place.clone())?;
        own.write_files(checkout, &settings)?;
        // With the settings that are written now.
        let own = OwnRepository::open(folder, checkout.place.clone())?;
        let tree = own.tree_of_index()?;
        let kept = KeptFiles { tree, ..KeptFiles::default() };
        let converted = match (&kept.tree, settings.may_convert(&own)?) {
            (Some(tree), true) => own.converted(tree)?,
            _ => Vec::new(),
        };
        Ok((own, kept, converted))
    }

    /// Returns the environment of a call of git.
    pub(super) fn env(&self, refs: Refs) -> Vec<(&str, &str)> {
        let [git_dir, top, objects, with_refs] = &self.env;
        match refs {
            Refs::Own => {
                vec![("GIT_DIR", git_dir), ("GIT_WORK_TREE", top), ("GIT_OBJECT_DIRECTORY", objects)]
            }
            Refs::OfCheckout => vec![("GIT_DIR", with_refs), ("GIT_WORK_TREE", top)],
        }
    }

    /// Returns the environment of a call of git over other files.
    pub(super) fn env_over<'a>(&'a self, top: &'a str) -> [(&'a str, &'a str); 3] {
        let [git_dir, _, objects, _] = &self.env;
        [("GIT_DIR", git_dir), ("GIT_WORK_TREE", top), ("GIT_OBJECT_DIRECTORY", objects)]
    }

    /// Starts a call of git in this repository.
    pub(super) fn call<'a>(&'a self, env: &'a [(&'a str, &'a str)]) -> GitCall<'a> {
        GitCall::at(&self.place.top).with(env).without_hooks().whole()
    }

    fn run(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        self.call(&self.env(Refs::Own)).run(args)
    }

    /// Returns the tree without files.
    pub(super) fn empty_tree(&self) -> Result<String, SnapshotError> {
        Ok(line(&self.run(&["hash-object", "-w", "-t", "tree", "/dev/null"])?))
    }

    /// Writes a list for git to read, each entry ended by NUL.
    pub(super) fn list<'p>(&self, paths: impl Iterator<Item = &'p [u8]>) -> Result<PathBuf, SnapshotError> {
        let file = self.dir.join("list");
        write_spare(&self.dir, &file, FileMode::Private, |out| {
            use std::io::Write as _;
            for path in paths {
                out.write_all(path)?;
                out.write_all(b"\0")?;
            }
            Ok(())
        })?;
        Ok(file)
    }

    fn write_files(&self, checkout: &Checkout, settings: &CheckoutSettings) -> Result<(), SnapshotError> {
        for folder in ["info", "objects", "refs", WITH_REFS] {
            make_private_dir(&self.dir.join(folder))?;
        }
        let write = |name: &str, text: &str| {
            let path = self.dir.join(name);
            fs::write(&path, text).map_err(|error| io_error(&path, error))
        };
        write("HEAD", HEAD)?;
        write(&format!("{WITH_REFS}/HEAD"), HEAD)?;
        write(&format!("{WITH_REFS}/commondir"), &format!("{}\n", Checkout::text(&self.place.common)?))?;
        write("info/attributes", ATTRIBUTES)?;
        write("config", &settings.config(&checkout.format))?;
        let exclude = self.dir.join("info/exclude");
        remove(&exclude)?;
        symlink(&checkout.exclude, &exclude).map_err(|error| io_error(&exclude, error))?;
        // What a killed git left behind. Nobody else uses this folder.
        remove(&self.dir.join("index.lock"))?;
        self.copy_index(&checkout.index)
    }

    fn copy_index(&self, index: &Path) -> Result<(), SnapshotError> {
        let copy = self.dir.join("index");
        remove(&copy)?;
        let Some(git_dir) = index.parent() else { return Ok(()) };
        // An index can be split in two files.
        for entry in fs::read_dir(git_dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b"sharedindex.") {
                let to = self.dir.join(name);
                fs::copy(entry.path(), &to).map_err(|error| io_error(&to, error))?;
            }
        }
        let copied = fs::File::open(index).and_then(|mut from| {
            let meta = from.metadata()?;
            let mut to = fs::File::create(&copy)?;
            io::copy(&mut from, &mut to)?;
            // git compares the time of the index with the times of the files: a file that changed in the
            // same moment may have changed again.
            to.set_modified(meta.modified()?)
        });
        match copied {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            copied => copied.map_err(|error| io_error(index, error))?,
        }
        self.clear_marks()?;
        match self.run(&["update-index", "-q", "--refresh"]) {
            // Some files differ, as expected.
            Ok(_) | Err(GitError::Failed { code: Some(1), .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the marks of files that git should not compare (`--assume-unchanged`, `--skip-worktree`): an agent
    /// can change them as well. A file that a sparse checkout left out keeps its mark.
    fn clear_marks(&self) -> Result<(), SnapshotError> {
        let said = self.run(&["ls-files", "-z", "-v"])?;
        let marked = said.split(|byte| *byte == 0).filter_map(|entry| match entry {
            [b'S' | b's' | b'h' | b'm' | b'r' | b'c' | b'k', b' ', path @ ..] => Some(path),
            _ => None,
        });
        let is_there = |path: &&[u8]| at(&self.place.top, path).symlink_metadata().is_ok();
        let marked: Vec<&[u8]> = marked.filter(is_there).collect();
        if marked.is_empty() {
            return Ok(());
        }
        let list = self.list(marked.into_iter())?;
        let env = self.env(Refs::Own);
        for clear in ["--no-assume-unchanged", "--no-skip-worktree"] {
            self.call(&env).reading(&list).run(&["update-index", clear, "-z", "--stdin"])?;
        }
        Ok(())
    }

    /// Returns the tree of the folder as it is in the index.
    fn tree_of_index(&self) -> Result<Option<String>, SnapshotError> {
        let unmerged = self.run(&["ls-files", "-z", "--unmerged"])?;
        if !unmerged.is_empty() {
            let paths = unmerged.split(|byte| *byte == 0).filter_map(|entry| {
                let tab = entry.iter().position(|byte| *byte == b'\t')?;
                entry.get(tab + 1..)
            });
            let list = self.list(paths)?;
            let env = self.env(Refs::Own);
            self.call(&env).reading(&list).run(&["update-index", "-z", "--force-remove", "--stdin"])?;
        }
        let prefix = format!("--prefix={}", self.place.prefix);
        let mut args = vec!["write-tree", "--missing-ok"];
        if !self.place.prefix.is_empty() {
            args.push(&prefix);
        }
        match self.run(&args) {
            Ok(said) => Ok(Some(line(&said))),
            Err(GitError::Failed { said, .. }) if said.contains("not found") => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the unchanged files that git converts when it reads or writes them: line endings, encodings,
    /// filters. Every such conversion changes the size. Files with their content elsewhere are left out.
    fn converted(&self, tree: &str) -> Result<Vec<Vec<u8>>, SnapshotError> {
        let said = self.run(&["ls-tree", "-r", "-l", "-z", "--full-tree", tree])?;
        let mut found: Vec<Vec<u8>> = Vec::new();
        for entry in said.split(|byte| *byte == 0) {
            let Some((size, path)) = sized(entry) else { continue };
            let path = [self.place.prefix.as_bytes(), path].concat();
            let meta = fs::symlink_metadata(at(&self.place.top, &path));
            if meta.is_ok_and(|meta| meta.is_file() && meta.len() != size) {
                found.push(path);
            }
        }
        if found.is_empty() {
            return Ok(found);
        }
        let list = self.list(found.iter().map(Vec::as_slice))?;
        let call = GitCall::at(&self.place.top).reading(&list).whole();
        let said = call.run(&["check-attr", "-z", "--stdin", "filter"])?;
        let mut parts = said.split(|byte| *byte == 0);
        let mut elsewhere = Vec::new();
        while let (Some(path), Some(_), Some(value)) = (parts.next(), parts.next(), parts.next()) {
            if ELSEWHERE.contains(&value) {
                elsewhere.push(path.to_owned());
            }
        }
        elsewhere.sort();
        found.retain(|path| elsewhere.binary_search(path).is_err());
        Ok(found)
    }
}

/// Returns the place of a path from the top of the checkout.
pub(super) fn at(top: &Path, path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    top.join(std::ffi::OsStr::from_bytes(path))
}

/// Reads `MODE TYPE OBJECT SIZE\tPATH` of a plain file.
fn sized(entry: &[u8]) -> Option<(u64, &[u8])> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let (facts, path) = (std::str::from_utf8(entry.get(..tab)?).ok()?, entry.get(tab + 1..)?);
    let mut words = facts.split_whitespace();
    let is_file = words.next()?.starts_with("100");
    let size = words.nth(2)?.parse().ok()?;
    is_file.then_some((size, path))
}

fn remove(path: &Path) -> Result<(), SnapshotError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(path, error)),
        _ => Ok(()),
    }
}

/// Returns the ignore pattern of a folder in the checkout.
fn without(top: &Path, state: &Path) -> Option<String> {
    let state = state.canonicalize().ok()?;
    let below = state.strip_prefix(top).ok()?.to_str().filter(|below| !below.is_empty())?;
    let escaped: String =
        below.chars().flat_map(|c| if "\\*?[".contains(c) { vec!['\\', c] } else { vec![c] }).collect();
    Some(format!("/{escaped}/"))
}

/// The git settings of a checkout.
struct CheckoutSettings(Vec<(String, String)>);

impl CheckoutSettings {
    fn of(top: &Path) -> Result<CheckoutSettings, SnapshotError> {
        let said = match git(top, &["config", "-z", "--get-regexp", ASKED]) {
            Ok(said) => String::from_utf8_lossy(&said).into_owned(),
            Err(GitError::Failed { code: Some(1), .. }) => String::new(),
            Err(error) => return Err(error.into()),
        };
        let pair = |entry: &str| {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            (key.to_owned(), value.to_owned())
        };
        Ok(CheckoutSettings(said.split('\0').filter(|entry| !entry.is_empty()).map(pair).collect()))
    }

    /// Returns the value that applies, which is the last one.
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Decides whether git may convert the content of files.
    fn may_convert(&self, own: &OwnRepository) -> Result<bool, SnapshotError> {
        let converts =
            self.get("core.autocrlf").is_some_and(|value| !["false", "no", "0", "off"].contains(&value))
                || self.get("core.attributesfile").is_some()
                || self.0.iter().any(|(key, _)| key.starts_with("filter."))
                || own.place.common.join("info/attributes").exists();
        if converts {
            return Ok(true);
        }
        let names = [":(glob)**/.gitattributes"];
        let tracked = own.run(&[&["ls-files", "-z", "--cached", "--others", "--"], &names[..]].concat())?;
        Ok(!tracked.is_empty())
    }

    /// Writes the configuration of the own repository.
    fn config(&self, format: &str) -> String {
        let mut text =
            "[core]\n\tbare = false\n\tautocrlf = false\n\tsafecrlf = false\n\tsplitIndex = false\n\
                        \tprotectNTFS = false\n\tprotectHFS = false\n"
                .to_owned();
        for key in CARRIED {
            let name = key.strip_prefix("core.").unwrap_or(key);
            if let Some(value) = self.get(key).filter(|value| !value.contains(['\n', '\0'])) {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"");
                text.push_str(&format!("\t{name} = \"{value}\"\n"));
            }
        }
        match format {
            "sha1" => text.push_str("\trepositoryFormatVersion = 0\n"),
            other => text.push_str(&format!(
                "\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = {other}\n"
            )),
        }
        text.push_str("[index]\n\tskipHash = true\n\tsparse = false\n[fastimport]\n\tunpackLimit = 100\n");
        text
    }
}
