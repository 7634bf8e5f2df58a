//! Finds the files that changed since the last snapshot and writes them as a stream for `git fast-import`.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags, fstat, lstat};
use windlass_core::snapshot::{LeftOutFile, LeftOutReason};

use super::kept::{KeptFile, KeptFiles, ReadFile};
use super::own::{OwnRepository, Refs, at};
use super::{IDENTITY, MAX_FILE, SnapshotError, SnapshotRequest, io_error, now};
use crate::files::stamp::Stamp;
use crate::git::fingerprint::digest;

const PLAIN: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;
const SUBMODULE: &str = "160000";
/// The ref of a snapshot that nobody names, in the own repository.
const UNNAMED: &str = "refs/snapshot";

/// The paths that may have changed, each with the mode that git last recorded for it.
pub(super) type Candidates = BTreeMap<Vec<u8>, Option<u32>>;

/// Lists the paths that may have changed since the last snapshot, from the top of the checkout. A path with a
/// slash at its end is a repository of its own.
pub(super) fn candidates(
    own: &OwnRepository,
    also: &[Vec<u8>],
    kept: &KeptFiles,
    converted: Vec<Vec<u8>>,
) -> Result<Candidates, SnapshotError> {
    let env = own.env(Refs::Own);
    let prefix = own.place.prefix.as_str();
    let ask = |args: &[&str]| {
        let mut args: Vec<&str> = [&["--literal-pathspecs"], args].concat();
        if !prefix.is_empty() {
            args.extend(["--", prefix]);
        }
        own.call(&env).run(&args)
    };
    let without: Vec<&str> = own.without.iter().flat_map(|pattern| ["--exclude", pattern.as_str()]).collect();
    let list = [&["ls-files", "-z", "--others", "--exclude-standard"], &without[..]].concat();
    let (changed, others) = std::thread::scope(|scope| {
        let others = scope.spawn(|| ask(&list));
        let changed = ask(&["diff-files", "-z", "--raw", "--no-renames", "--ignore-submodules=all"]);
        (changed, others.join())
    });
    let unreadable = SnapshotError::Unreadable { verb: "ls-files" };
    let (changed, others) = (changed?, others.map_err(|_| unreadable)??);
    let mut found: Candidates = kept.files.keys().map(|path| (path.clone(), None)).collect();
    found.extend(converted.into_iter().map(|path| (path, None)));
    found.extend(also.iter().map(|path| ([prefix.as_bytes(), path].concat(), None)));
    let names = others.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    found.extend(names.map(|name| (name.to_owned(), None)));
    let mut parts = changed.split(|byte| *byte == 0);
    while let (Some(facts), Some(path)) = (parts.next(), parts.next()) {
        let facts = String::from_utf8_lossy(facts);
        let mode = facts.trim_start_matches(':').split(' ').next().unwrap_or_default();
        if mode != SUBMODULE {
            found.insert(path.to_owned(), u32::from_str_radix(mode, 8).ok());
        }
    }
    Ok(found)
}

/// The changed files, written as a stream.
pub(super) struct ImportStream {
    top: PathBuf,
    prefix: Vec<u8>,
    trusts_mode: bool,
    path: PathBuf,
    out: BufWriter<File>,
    /// The number of files that changed.
    pub(super) changes: u64,
    /// The folders of the checkout that are real folders, or not.
    folders: HashMap<PathBuf, bool>,
}

/// A path as it is now.
enum Found {
    Gone,
    Same,
    LeftOut(LeftOutReason),
    Read(ReadFile, Vec<u8>),
}

impl ImportStream {
    /// Starts the stream with a commit that has the content of the last snapshot.
    pub(super) fn create(
        own: &OwnRepository,
        head: Option<&str>,
        kept: &KeptFiles,
        request: SnapshotRequest<'_>,
    ) -> Result<ImportStream, SnapshotError> {
        let path = own.dir.join("stream");
        let file = File::create(&path).map_err(|error| io_error(&path, error))?;
        let mut stream = ImportStream {
            top: own.place.top.clone(),
            prefix: own.place.prefix.as_bytes().to_owned(),
            trusts_mode: own.trusts_mode,
            path,
            out: BufWriter::with_capacity(1 << 18, file),
            changes: 0,
            folders: HashMap::new(),
        };
        let seconds = now() / 1_000_000_000;
        let who = format!("committer {IDENTITY} {seconds} +0000");
        let parent = kept.commit.as_deref().or(head);
        let parent = parent.map(|parent| format!("from {parent}\n")).unwrap_or_default();
        let base = match &kept.tree {
            Some(tree) => format!("M 040000 {tree} \"\""),
            None => "deleteall".to_owned(),
        };
        let (title, reference) = (request.title, request.reference.unwrap_or(UNNAMED));
        let message = format!("data {}\n{title}\n", title.len() + 1);
        let start = format!("commit {reference}\nmark :1\n{who}\n{message}\n{parent}{base}\n");
        stream.put(&[start.as_bytes()])?;
        Ok(stream)
    }

    fn put(&mut self, parts: &[&[u8]]) -> Result<(), SnapshotError> {
        let put = parts.iter().try_for_each(|part| self.out.write_all(part));
        put.map_err(|error| io_error(&self.path, error))
    }

    /// Completes the stream: git prints the commit and its tree. Returns the file.
    pub(super) fn finish(mut self) -> Result<PathBuf, SnapshotError> {
        self.put(&[b"\nget-mark :1\nls :1 \"\"\n"])?;
        self.out.flush().map_err(|error| io_error(&self.path, error))?;
        Ok(self.path)
    }

    /// Adds the candidates that changed, in the order of their paths: where a folder replaces a file, the
    /// file goes first. Returns those that no snapshot contains.
    pub(super) fn add(
        &mut self,
        candidates: Candidates,
        kept: &mut KeptFiles,
    ) -> Result<Vec<LeftOutFile>, SnapshotError> {
        let mut left_out = Vec::new();
        for (path, recorded) in candidates {
            let Some(below) = path.strip_prefix(self.prefix.as_slice()).map(<[u8]>::to_owned) else {
                continue;
            };
            let known = kept.files.get(&path);
            match self.look(&path, recorded, known)? {
                Found::Same => {}
                Found::LeftOut(why) => {
                    let path = String::from_utf8_lossy(&below).trim_end_matches('/').to_owned();
                    left_out.push(LeftOutFile { path, why });
                }
                Found::Gone => {
                    if known != Some(&KeptFile::Gone) {
                        self.changes += 1;
                        self.put(&[b"D ", &quoted(&below), b"\n"])?;
                        kept.files.insert(path, KeptFile::Gone);
                    }
                }
                Found::Read(file, bytes) => {
                    let is_same = |known: &ReadFile| known.mode == file.mode && known.digest == file.digest;
                    if !matches!(known, Some(KeptFile::There(known)) if is_same(known)) {
                        self.write(&below, file.mode, &bytes)?;
                    }
                    kept.files.insert(path, KeptFile::There(file));
                }
            }
        }
        Ok(left_out)
    }

    fn look(
        &mut self,
        path: &[u8],
        recorded: Option<u32>,
        known: Option<&KeptFile>,
    ) -> Result<Found, SnapshotError> {
        if path.ends_with(b"/") {
            return Ok(Found::LeftOut(LeftOutReason::Repository));
        }
        let place = at(&self.top, path);
        if !self.is_in_real_folders(&place) {
            return Ok(Found::Gone);
        }
        let Ok(stat) = lstat(&place) else { return Ok(Found::Gone) };
        let known = match known {
            Some(KeptFile::There(known)) => Some(known),
            Some(KeptFile::Gone) | None => None,
        };
        let mode = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => LINK,
            FileType::RegularFile if !self.trusts_mode => {
                let recorded = known.map(|known| known.mode).or(recorded);
                recorded.filter(|mode| [PLAIN, PROGRAM].contains(mode)).unwrap_or(PLAIN)
            }
            FileType::RegularFile if stat.st_mode & 0o100 != 0 => PROGRAM,
            FileType::RegularFile => PLAIN,
            FileType::Directory => return Ok(Found::Gone),
            _ => return Ok(Found::LeftOut(LeftOutReason::Special)),
        };
        let stamp = Stamp::of(&stat);
        if stamp.size > MAX_FILE {
            return Ok(Found::LeftOut(LeftOutReason::TooLarge));
        }
        if known.is_some_and(|known| known.is_still(&stamp, mode)) {
            return Ok(Found::Same);
        }
        read(&place, mode)
    }

    /// Decides whether no folder above a path is a link. What a link leads to is not part of the checkout.
    fn is_in_real_folders(&mut self, place: &Path) -> bool {
        let Some(folder) = place.parent().filter(|folder| *folder != self.top) else { return true };
        if let Some(known) = self.folders.get(folder) {
            return *known;
        }
        let is_real =
            self.is_in_real_folders(folder) && fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_dir());
        self.folders.insert(folder.to_owned(), is_real);
        is_real
    }

    fn write(&mut self, path: &[u8], mode: u32, bytes: &[u8]) -> Result<(), SnapshotError> {
        self.changes += 1;
        let (mode, data) = (format!("M {mode:o} inline "), format!("\ndata {}\n", bytes.len()));
        self.put(&[mode.as_bytes(), &quoted(path), data.as_bytes(), bytes, b"\n"])
    }
}

/// Reads a file or a link. The stamp is that of the file that was read.
fn read(place: &Path, mode: u32) -> Result<Found, SnapshotError> {
    let read = now();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Found::Gone),
        io::ErrorKind::PermissionDenied => Ok(Found::LeftOut(LeftOutReason::Unreadable)),
        _ => Err(io_error(place, error)),
    };
    if mode == LINK {
        let stat = match lstat(place) {
            Ok(stat) => stat,
            Err(error) => return failed(error.into()),
        };
        return match fs::read_link(place) {
            Ok(target) => {
                let bytes = target.as_os_str().as_bytes().to_owned();
                let file = ReadFile { mode, stamp: Stamp::of(&stat), read, digest: digest(&bytes) };
                Ok(Found::Read(file, bytes))
            }
            Err(error) => failed(error),
        };
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(place) {
        Ok(file) => file,
        Err(error) => return failed(error),
    };
    let stat = fstat(&file).map_err(|error| io_error(place, error.into()))?;
    let stamp = Stamp::of(&stat);
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size.min(MAX_FILE)).unwrap_or_default() + 1);
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| io_error(place, error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Ok(Found::LeftOut(LeftOutReason::TooLarge));
    }
    Ok(Found::Read(ReadFile { mode, stamp, read, digest: digest(&bytes) }, bytes))
}

/// Quotes a path as `git fast-import` reads it.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(b"\\n"),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}
