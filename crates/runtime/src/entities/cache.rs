//! Remembers the entities of each file, so that an unchanged file is not read again.
//!
//! There is one cache file per set of roots, in the state folder. It is only ever replaced as a whole, so
//! that no process sees a half-written one; a broken cache is made again. It leaves out files with
//! diagnostics. It also leaves out files that changed a moment before they were read, because the next change
//! might not change their times.
//!
//! It is read entry by entry, in the order in which files are found. Loading all of it into memory would cost
//! more than reading the files.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::entity::{Entity, EntitySource};
use windlass_peers::files::stamp::Stamp;
use windlass_peers::files::{self, FileMode};

use super::codec::{checksum, put_entities, take_entities};
use super::load::PlaceFile;

const MAGIC: &[u8] = b"windlass entities 3\n";
/// The maximum size of an entry.
const ENTRY: usize = 16 << 20;
/// The maximum number of cache files.
const KEPT: usize = 50;
const BUFFER: usize = 256 * 1024;

/// The cache for a set of roots.
#[derive(Debug)]
pub(super) struct Cache {
    path: PathBuf,
    /// The build that wrote it and the roots. Both must match.
    label: String,
    /// The unread part of the file.
    file: Option<BufReader<File>>,
    /// The number of entries in the file, and the number of those that were used.
    count: u32,
    used: u32,
    /// The next entry; empty if it is still to be read.
    entry: Vec<u8>,
}

/// A file to remember, and the range of its entities among all.
#[derive(Debug)]
pub(super) struct CachedFile {
    pub(super) item: usize,
    pub(super) entities: Range<usize>,
}

/// The start of an entry.
#[derive(Serialize, Deserialize)]
struct EntryHead<'a> {
    root: u16,
    place: u16,
    path: &'a str,
    /// Size, modification time, change time and inode.
    stamp: (u64, i64, i64, u64),
}

impl Cache {
    /// Opens the cache for these roots.
    pub(super) fn open(state: &Path, roots: &str) -> Cache {
        let name = format!("entities-{:016x}", checksum(roots.as_bytes()));
        let path = state.join("cache").join(name);
        let label = format!("{} {roots}", build());
        let mut cache = Cache { path, label, file: None, count: 0, used: 0, entry: Vec::new() };
        if let Some((file, count)) = cache.begin() {
            cache.file = Some(file);
            cache.count = count;
        }
        cache
    }

    fn begin(&self) -> Option<(BufReader<File>, u32)> {
        let mut file = BufReader::with_capacity(BUFFER, files::open_plain(&self.path).ok()?);
        let wanted = header(&self.label, 0);
        let mut found = vec![0; wanted.len()];
        file.read_exact(&mut found).ok()?;
        let (wanted, _) = wanted.split_last_chunk::<4>()?;
        let (found, count) = found.split_last_chunk::<4>()?;
        (found == wanted).then_some((file, u32::from_le_bytes(*count)))
    }

    /// Adds the entities of a file if it has not changed since it was read. Files must be asked for in the
    /// order in which they are found.
    pub(super) fn take(&mut self, item: &PlaceFile<'_>, entities: &mut Vec<Entity>) -> bool {
        while let Some((head, bytes)) = self.peek() {
            match head.compare(item) {
                Ordering::Less => self.entry.clear(),
                Ordering::Greater => return false,
                Ordering::Equal => {
                    let before = entities.len();
                    let is_known = head.stamp == numbers(item.found.stamp)
                        && take_entities(bytes, &source(item), entities).is_some();
                    if !is_known {
                        entities.truncate(before);
                    }
                    self.used += u32::from(is_known);
                    self.entry.clear();
                    return is_known;
                }
            }
        }
        false
    }

    /// Returns the next entry. Returns nothing at the end, and after the first broken entry.
    fn peek(&mut self) -> Option<(EntryHead<'_>, &[u8])> {
        if self.entry.is_empty() && self.read().is_none() {
            self.file = None;
            self.entry.clear();
        }
        postcard::take_from_bytes(&self.entry).ok()
    }

    fn read(&mut self) -> Option<()> {
        let file = self.file.as_mut()?;
        let (mut length, mut sum) = ([0; 4], [0; 8]);
        file.read_exact(&mut length).ok()?;
        file.read_exact(&mut sum).ok()?;
        let length = usize::try_from(u32::from_le_bytes(length)).ok().filter(|length| *length <= ENTRY)?;
        self.entry.resize(length, 0);
        file.read_exact(&mut self.entry).ok()?;
        (u64::from_le_bytes(sum) == checksum(&self.entry)).then_some(())
    }

    /// Writes the current entities if they differ from the cache. A failure only costs the next process time,
    /// so it is ignored.
    pub(super) fn renew(&self, items: &[PlaceFile<'_>], known: &[CachedFile], entities: &[Entity]) {
        if known.len() == self.used as usize && self.used == self.count {
            return;
        }
        let Some(folder) = self.path.parent() else { return };
        if files::make_private_dir(folder).is_err() {
            return;
        }
        files::clear_dead(folder);
        let written = files::write_spare(folder, &self.path, FileMode::Private, |out| {
            write(out, &self.label, items, known, entities)
        });
        if written.is_ok() {
            forget_the_oldest(folder);
        }
    }
}

fn header(label: &str, count: u32) -> Vec<u8> {
    let length = u32::try_from(label.len()).unwrap_or(u32::MAX).to_le_bytes();
    [MAGIC, &length, label.as_bytes(), &count.to_le_bytes()].concat()
}

/// Identifies the build, because another one may read the same files differently.
fn build() -> String {
    let own = crate::os::own_program_metadata();
    let own = own.map(|own| (own.len(), own.mtime(), own.mtime_nsec())).unwrap_or_default();
    format!("{} {own:?}", env!("CARGO_PKG_VERSION"))
}

fn numbers(stamp: Stamp) -> (u64, i64, i64, u64) {
    let Stamp { size, mtime, ctime, inode } = stamp;
    (size, mtime, ctime, inode)
}

impl EntryHead<'_> {
    /// Compares in the order of the walk: folder by folder, by name.
    fn compare(&self, item: &PlaceFile<'_>) -> Ordering {
        let place = (self.root, self.place).cmp(&(item.spot.root_number, item.spot.place_number));
        if place.is_ne() || self.path == item.found.path {
            return place;
        }
        self.path.split('/').cmp(item.found.path.split('/'))
    }
}

fn write(
    out: &mut impl Write,
    label: &str,
    items: &[PlaceFile<'_>],
    known: &[CachedFile],
    entities: &[Entity],
) -> io::Result<()> {
    let fitting = |known: &CachedFile| Some((items.get(known.item)?, entities.get(known.entities.clone())?));
    let entries: Vec<_> = known.iter().filter_map(fitting).collect();
    out.write_all(&header(label, u32::try_from(entries.len()).unwrap_or_default()))?;
    let mut entry = Vec::new();
    for (item, entities) in entries {
        entry.clear();
        entry = put_entry(entry, item, entities).unwrap_or_default();
        // A larger entry is left out, and its file is read again each time.
        if !entry.is_empty() && entry.len() <= ENTRY {
            out.write_all(&u32::try_from(entry.len()).unwrap_or_default().to_le_bytes())?;
            out.write_all(&checksum(&entry).to_le_bytes())?;
            out.write_all(&entry)?;
        }
    }
    Ok(())
}

fn put_entry(out: Vec<u8>, item: &PlaceFile<'_>, entities: &[Entity]) -> Option<Vec<u8>> {
    let (root, place) = (item.spot.root_number, item.spot.place_number);
    let head = EntryHead { root, place, path: &item.found.path, stamp: numbers(item.found.stamp) };
    put_entities(postcard::to_extend(&head, out).ok()?, entities)
}

/// Returns the source of a file's entities, except for the line.
pub(super) fn source(item: &PlaceFile<'_>) -> EntitySource {
    EntitySource {
        provider: item.spot.place.provider,
        level: item.spot.root.level,
        distance: item.spot.root.distance,
        path: item.found.path.clone(),
        line: 1,
        plugin: item.spot.root.plugin.clone(),
    }
}

/// Removes the caches that were written longest ago.
fn forget_the_oldest(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<_> =
        entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    all.sort();
    let surplus = all.len().saturating_sub(KEPT);
    for (_, path) in all.into_iter().take(surplus) {
        // Another process may have removed it already.
        let _ = fs::remove_file(path);
    }
}
