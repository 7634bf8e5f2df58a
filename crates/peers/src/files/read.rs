//! Reads a file that a walk found: bounded, and never a pipe or a device.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use super::stamp::Stamp;
use super::walk::FoundFile;
use super::{FileError, io_error};
use crate::os;

/// Reads a found file and returns its content and its state. With `inside`, a canonical path, the file
/// must still be below it.
pub fn read(found: &FoundFile, inside: Option<&Path>, max: u64) -> Result<(Vec<u8>, Stamp), FileError> {
    let path = Path::new(&found.path);
    let too_large = || FileError::TooLarge { path: path.to_owned(), max };
    if found.stamp.size > max {
        return Err(too_large());
    }
    // NONBLOCK and NOCTTY: a file that was replaced since must not block us or become our terminal.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = openat(CWD, path, flags, Mode::empty()).map_err(|e| io_error(path, e.into()))?;
    let stat = fstat(&fd).map_err(|e| io_error(path, e.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(FileError::NotPlain { path: path.to_owned() });
    }
    let stamp = Stamp::of(&stat);
    let file = File::from(fd);
    let is_the_same = stamp.inode == found.stamp.inode && stat.st_dev == found.device;
    if !is_the_same && let Some(root) = inside.filter(|root| !lies_in(&file, root)) {
        return Err(FileError::Outside { path: path.to_owned(), root: root.to_owned() });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size.min(max)).unwrap_or_default() + 1);
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| io_error(path, e))?;
    if bytes.len() as u64 > max {
        return Err(too_large());
    }
    Ok((bytes, stamp))
}

/// Decides whether an open file is below `root`, by its descriptor, because the path it was opened by
/// may have changed.
fn lies_in(file: &File, root: &Path) -> bool {
    os::path_of(file).is_ok_and(|real| real.starts_with(root))
}
