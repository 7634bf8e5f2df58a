//! The operating system: everything in this crate that only Linux offers.
//!
//! The own program as the kernel holds it: it can be read although its file was replaced or removed. `ARCHITECTURE.md`
//! says what another system would answer with.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

const OWN: &str = "/proc/self/exe";

/// Returns where the own program was started from.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::fs::read_link(OWN)
}

/// Opens the own program, wherever it is now.
pub(crate) fn open_own_program() -> io::Result<File> {
    File::open(OWN)
}

/// Describes the own program, wherever it is now.
pub(crate) fn own_program_metadata() -> io::Result<Metadata> {
    std::fs::metadata(OWN)
}

/// Whether there is such a process.
pub(crate) fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
