//! Asks the kernel whether it can hold a program to the folders in which it may write.

use std::ptr::null;

/// The first version of Landlock that also refuses to empty a file.
const NEEDED_VERSION: i64 = 3;
/// Asks for the version.
const VERSION_FLAG: u32 = 1;

/// Decides whether a host can start a program that writes only in some folders.
pub(crate) fn can_limit_writes() -> bool {
    // SAFETY: with this flag, the kernel reads no memory and makes nothing.
    #[expect(unsafe_code, reason = "no library in the tree has this system call")]
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, null::<u8>(), 0_usize, VERSION_FLAG) };
    version >= NEEDED_VERSION
}
