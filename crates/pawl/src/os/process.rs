//! Settings and resources of this process.

use std::fs::File;
use std::io;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{getpid, set_child_subreaper};

/// Makes this process the parent of every orphan below it.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Creates a file that exists only in memory.
pub(crate) fn memory_file(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// Closes inherited descriptors beyond the standard streams. Otherwise a reader of a pipe that Windlass
/// inherited would wait for the host and its child as well.
#[expect(unsafe_code, reason = "closes descriptors that no code in this process owns")]
pub(crate) fn close_inherited() {
    // SAFETY: called first thing in the program, so no descriptor above the standard streams
    // belongs to anybody here. An old kernel refuses, which loses nothing but the tidiness.
    unsafe {
        libc::close_range(3, libc::c_uint::MAX, 0);
    }
}
