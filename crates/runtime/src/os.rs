//! Everything in this crate that only Linux offers: access to the running program.
//!
//! The kernel keeps the program readable after its file was replaced or removed. `ARCHITECTURE.md` says what
//! another system would use instead.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

const OWN: &str = "/proc/self/exe";

/// Returns the path from which this program was started.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::fs::read_link(OWN)
}

/// Opens this program, even if its file was replaced or removed.
pub(crate) fn open_own_program() -> io::Result<File> {
    File::open(OWN)
}

/// Returns the metadata of this program, even if its file was replaced or removed.
pub(crate) fn own_program_metadata() -> io::Result<Metadata> {
    std::fs::metadata(OWN)
}

/// Returns true if the process exists.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
