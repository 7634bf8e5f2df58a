//! Finds the files of a place: a folder of prompts that an agent CLI reads.
//!
//! Links are followed, because people link their skills. In a folder of untrusted origin, links may not
//! lead out of it. The walk never opens a pipe or a device, leaves loops of links, and bounds
//! everything. It reports an unreadable path and continues with the rest. [`read`](super::read::read)
//! reads the files.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use windlass_core::registry::places::PlaceShape;

use super::stamp::Stamp;
use super::walk_error::{UnreadablePath, WalkError};
use crate::os::FolderReader;

/// The maximum depth of folders in a place.
const DEPTH: usize = 8;
/// The maximum number of names and of folders in a place.
const NAMES: usize = 200_000;
const FOLDERS: usize = 10_000;
const SKILL: &str = "SKILL.md";

/// A file of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Absolute, with links unresolved.
    pub path: String,
    /// The name from its file or its folder.
    pub name: String,
    /// The state of the file during the walk.
    pub stamp: Stamp,
    /// The file system; together with the inode it identifies the file.
    pub device: u64,
}

/// The contents of a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundFiles {
    /// Sorted by name within each folder.
    pub files: Vec<FoundFile>,
    /// The paths that could not be read.
    pub findings: Vec<UnreadablePath>,
}

/// Returns the files of a place. A missing place is empty. With `inside`, a canonical path, no link may
/// lead out of that folder.
pub fn walk(folder: &Path, shape: PlaceShape, inside: Option<&Path>) -> FoundFiles {
    FolderWalk::default().all(folder, shape, inside)
}

/// Walks like [`walk`] and also returns the paths to watch for changes: the visited folders and the
/// links to files.
pub fn walk_to_watch(folder: &Path, shape: PlaceShape, inside: Option<&Path>) -> (FoundFiles, Vec<PathBuf>) {
    let mut watched = Vec::new();
    let walk = FolderWalk { watched: Some(&mut watched), ..FolderWalk::default() };
    (walk.all(folder, shape, inside), watched)
}

#[derive(Default)]
struct FolderWalk<'a> {
    inside: Option<&'a Path>,
    watched: Option<&'a mut Vec<PathBuf>>,
    names: usize,
    folders: usize,
    /// The parent folders by device and inode. A repeated one is a loop.
    way: Vec<(u64, u64)>,
    out: FoundFiles,
}

struct OpenFolder<'a> {
    fd: &'a OwnedFd,
    path: &'a str,
    /// The prefix of its names: the parent folders, joined.
    prefix: &'a str,
}

struct FolderEntry {
    name: CString,
    kind: FileType,
}

impl<'a> FolderWalk<'a> {
    fn all(mut self, folder: &Path, shape: PlaceShape, inside: Option<&'a Path>) -> FoundFiles {
        self.inside = inside;
        match shape {
            PlaceShape::Document => self.document(folder),
            PlaceShape::Files(_) | PlaceShape::Tree(..) | PlaceShape::Skills | PlaceShape::SkillTree => {
                self.place(folder, shape)
            }
        }
        self.out
    }

    fn watch(&mut self, path: &str) {
        if let Some(watched) = &mut self.watched {
            watched.push(path.into());
        }
    }

    fn tell(&mut self, path: impl Into<PathBuf>, what: WalkError) {
        self.out.findings.push(UnreadablePath { path: path.into(), what });
    }

    /// Reports why a path is unreadable. A missing path is not reported.
    fn tell_errno(&mut self, path: &str, errno: Errno) {
        match errno {
            Errno::NOENT | Errno::NOTDIR => {}
            Errno::ACCESS | Errno::PERM => self.tell(path, WalkError::NoPermission),
            Errno::LOOP => self.tell(path, WalkError::Loop),
            errno => self.tell(path, WalkError::Io(errno.kind())),
        }
    }

    fn document(&mut self, file: &Path) {
        let Some(path) = file.to_str() else { return self.odd_place(file) };
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if self.leads_out(file) {
            return self.tell(file, WalkError::LeadsOut);
        }
        self.file(CWD, path, path.to_owned(), name.to_owned());
    }

    fn place(&mut self, folder: &Path, shape: PlaceShape) {
        let Some(path) = folder.to_str() else { return self.odd_place(folder) };
        match open_folder(CWD, path, OFlags::empty()) {
            Ok(fd) if self.leads_out(folder) => {
                drop(fd);
                self.tell(folder, WalkError::LeadsOut);
            }
            Ok(fd) => self.look_into(&OpenFolder { fd: &fd, path, prefix: "" }, shape),
            Err(errno) => self.tell_errno(path, errno),
        }
    }

    fn odd_place(&mut self, path: &Path) {
        if path.exists() {
            self.tell(path, WalkError::OddName);
        }
    }

    fn look_into(&mut self, open: &OpenFolder<'_>, shape: PlaceShape) {
        let Ok(stat) = fstat(open.fd) else { return };
        let id = (stat.st_dev, stat.st_ino);
        if self.way.contains(&id) {
            return self.tell(open.path, WalkError::Loop);
        }
        if self.way.len() >= DEPTH {
            return self.tell(open.path, WalkError::TooDeep(DEPTH));
        }
        self.folders += 1;
        if self.folders > FOLDERS {
            return self.tell_once(open.path, WalkError::TooMany(FOLDERS));
        }
        self.watch(open.path);
        self.way.push(id);
        for entry in self.entries(open) {
            let Ok(name) = entry.name.to_str() else {
                let odd = String::from_utf8_lossy(entry.name.to_bytes()).into_owned();
                self.tell(format!("{}/{odd}", open.path), WalkError::OddName);
                continue;
            };
            match shape {
                PlaceShape::Files(endings) => self.look_for(open, &entry, name, endings),
                PlaceShape::Tree(endings, _)
                    if ends_with(name, endings) && entry.kind != FileType::Directory =>
                {
                    self.look_for(open, &entry, name, endings);
                }
                PlaceShape::Tree(..) => self.go_below(open, &entry, name, shape),
                PlaceShape::Skills | PlaceShape::SkillTree => self.skill(open, &entry, name, shape),
                PlaceShape::Document => {}
            }
        }
        self.way.pop();
    }

    /// Returns the names in a folder, sorted. Skips hidden names, which belong to editors and other
    /// programs.
    fn entries(&mut self, open: &OpenFolder<'_>) -> Vec<FolderEntry> {
        let mut entries = Vec::new();
        let mut space = [MaybeUninit::uninit(); 32 * 1024];
        let mut dir = FolderReader::new(open.fd, &mut space);
        while let Some(next) = dir.next() {
            let next = match next {
                Ok(next) => next,
                Err(errno) => {
                    self.tell_errno(open.path, errno);
                    break;
                }
            };
            self.names += 1;
            if self.names > NAMES {
                self.tell_once(open.path, WalkError::TooMany(NAMES));
                break;
            }
            if next.file_name().to_bytes().first() != Some(&b'.') {
                entries.push(FolderEntry { name: next.file_name().to_owned(), kind: next.file_type() });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries
    }

    fn tell_once(&mut self, path: &str, what: WalkError) {
        if !self.out.findings.iter().any(|finding| matches!(finding.what, WalkError::TooMany(_))) {
            self.tell(path, what);
        }
    }

    fn look_for(&mut self, open: &OpenFolder<'_>, entry: &FolderEntry, name: &str, endings: &[&str]) {
        let Some(stem) = stem(name, endings) else { return };
        if entry.kind == FileType::Directory {
            return;
        }
        let called = format!("{}{stem}", open.prefix);
        self.file(open.fd, entry.name.as_c_str(), format!("{}/{name}", open.path), called);
    }

    fn go_below(&mut self, open: &OpenFolder<'_>, entry: &FolderEntry, name: &str, shape: PlaceShape) {
        // With NOFOLLOW, nobody can swap a folder for a link unnoticed; only a real link is followed.
        let follow = match entry.kind {
            FileType::Directory => OFlags::NOFOLLOW,
            FileType::Symlink | FileType::Unknown => OFlags::empty(),
            _ => return,
        };
        let path = format!("{}/{name}", open.path);
        let fd = match open_folder(open.fd, entry.name.as_c_str(), follow) {
            Ok(fd) => fd,
            // A link to a file that does not belong to the place.
            Err(Errno::NOTDIR | Errno::NOENT) => return,
            Err(errno) => return self.tell_errno(&path, errno),
        };
        if follow.is_empty() && self.leads_out(Path::new(&path)) {
            return self.tell(path, WalkError::LeadsOut);
        }
        let prefix = match shape {
            PlaceShape::Tree(_, joint) => format!("{}{name}{joint}", open.prefix),
            PlaceShape::Files(_) | PlaceShape::Skills | PlaceShape::SkillTree | PlaceShape::Document => {
                String::new()
            }
        };
        self.look_into(&OpenFolder { fd: &fd, path: &path, prefix: &prefix }, shape);
    }

    fn skill(&mut self, open: &OpenFolder<'_>, entry: &FolderEntry, name: &str, shape: PlaceShape) {
        if !matches!(entry.kind, FileType::Directory | FileType::Symlink | FileType::Unknown) {
            return;
        }
        let folder = format!("{}/{name}", open.path);
        if entry.kind != FileType::Directory && self.leads_out(Path::new(&folder)) {
            return self.tell(folder, WalkError::LeadsOut);
        }
        let path = format!("{folder}/{SKILL}");
        // Relative to the parent folder: one call, and the folder itself is never opened.
        let relative = format!("{name}/{SKILL}");
        match statat(open.fd, relative.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.take(open.fd, relative.as_str(), path, name.to_owned(), &stat),
            Err(Errno::NOENT) if shape == PlaceShape::SkillTree => {
                return self.go_below(open, entry, name, shape);
            }
            Err(errno) => self.tell_errno(&folder, errno),
        }
        self.watch(&folder);
    }

    fn file(&mut self, dir: impl AsFd, name: impl rustix::path::Arg + Copy, path: String, called: String) {
        match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.take(dir, name, path, called, &stat),
            Err(errno) => self.tell_errno(&path, errno),
        }
    }

    /// Adds a plain file, or a link to one.
    fn take(
        &mut self,
        dir: impl AsFd,
        name: impl rustix::path::Arg,
        path: String,
        called: String,
        stat: &Stat,
    ) {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.keep(path, called, stat),
            FileType::Directory => {}
            FileType::Symlink => match statat(dir, name, AtFlags::empty()) {
                Ok(stat) => self.take_linked(path, called, &stat),
                Err(Errno::NOENT | Errno::NOTDIR) => self.tell(path, WalkError::LeadsNowhere),
                Err(errno) => self.tell_errno(&path, errno),
            },
            _ => self.tell(path, WalkError::NotPlain),
        }
    }

    fn take_linked(&mut self, path: String, called: String, stat: &Stat) {
        if self.leads_out(Path::new(&path)) {
            return self.tell(path, WalkError::LeadsOut);
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                self.watch(&path);
                self.keep(path, called, stat);
            }
            FileType::Directory => {}
            _ => self.tell(path, WalkError::NotPlain),
        }
    }

    fn keep(&mut self, path: String, name: String, stat: &Stat) {
        self.out.files.push(FoundFile { path, name, stamp: Stamp::of(stat), device: stat.st_dev });
    }

    /// Decides whether a path really leads out of the folder that it must stay in.
    fn leads_out(&self, path: &Path) -> bool {
        let Some(inside) = self.inside else { return false };
        // A path that cannot be resolved is reported where it is read.
        path.canonicalize().is_ok_and(|real| !real.starts_with(inside))
    }
}

fn open_folder(dir: impl AsFd, name: impl rustix::path::Arg, more: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK | more;
    openat(dir, name, flags, Mode::empty())
}

fn ends_with(name: &str, endings: &[&str]) -> bool {
    stem(name, endings).is_some()
}

/// Returns a name without the longest matching ending.
fn stem<'a>(name: &'a str, endings: &[&str]) -> Option<&'a str> {
    let stems = endings.iter().filter_map(|ending| name.strip_suffix(ending));
    stems.min_by_key(|stem| stem.len()).filter(|stem| !stem.is_empty())
}

#[cfg(test)]
mod tests;
