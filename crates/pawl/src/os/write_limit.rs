//! Holds a child and all its descendants to some folders, with Landlock.
//!
//! The kernel refuses to create, change, rename and remove files anywhere else. It limits neither reading nor
//! starting programs nor the network, nor changes of a file's mode and times.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::thread::set_no_new_privs;

/// The first version that also refuses to empty a file.
const NEEDED_VERSION: i64 = 3;
const VERSION_FLAG: u32 = 1;
const PATH_BENEATH: u32 = 1;

/// Rights that a file can have: to write it and to cut it.
const OF_FILES: u64 = 1 << 1 | 1 << 14;
/// Rights that only a folder can have: to remove folders and files, to make each kind of file, and to move files to
/// another folder.
const OF_FOLDERS: u64 = 0b11_1111_1111 << 4;

#[repr(C)]
struct RulesetAttribute {
    handled_access_fs: u64,
}

#[repr(C, packed)]
struct PathRule {
    allowed_access: u64,
    parent_fd: i32,
}

/// A limit that a child applies to itself before it starts its program.
pub(crate) struct WriteLimit {
    rules: OwnedFd,
}

impl WriteLimit {
    /// Makes the limit. A place that does not exist cannot be written.
    pub(crate) fn new<'a>(places: impl IntoIterator<Item = &'a str>) -> io::Result<WriteLimit> {
        let attribute = RulesetAttribute { handled_access_fs: OF_FILES | OF_FOLDERS };
        let size = std::mem::size_of::<RulesetAttribute>();
        let rules = create_ruleset(&raw const attribute, size, 0)?;
        // SAFETY: the kernel just made this descriptor, and nothing else owns it.
        #[expect(unsafe_code, reason = "the system call returns a plain number")]
        let rules = unsafe { OwnedFd::from_raw_fd(i32::try_from(rules).map_err(io::Error::other)?) };
        let limit = WriteLimit { rules };
        for place in places {
            limit.allow(Path::new(place))?;
        }
        Ok(limit)
    }

    fn allow(&self, place: &Path) -> io::Result<()> {
        let Ok(name) = CString::new(place.as_os_str().as_encoded_bytes()) else { return Ok(()) };
        let place = match open(&name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(place) => place,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let is_folder = FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Directory;
        let rule = PathRule {
            allowed_access: if is_folder { OF_FILES | OF_FOLDERS } else { OF_FILES },
            parent_fd: place.as_raw_fd(),
        };
        // SAFETY: the kernel reads the rule during the call, and the descriptors are open.
        #[expect(unsafe_code, reason = "no library in the tree has this system call")]
        let result = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.rules.as_raw_fd(),
                PATH_BENEATH,
                &raw const rule,
                0_u32,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Applies the limit to this process, for ever. Makes system calls only, so that it may run between fork and exec.
    pub(crate) fn apply(&self) -> io::Result<()> {
        // Without it, a program with the rights of another user could get out.
        set_no_new_privs(true)?;
        // SAFETY: the call takes a descriptor and a number, and touches no memory.
        #[expect(unsafe_code, reason = "no library in the tree has this system call")]
        let result =
            unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0_u32) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Makes a ruleset, or returns the version of Landlock.
fn create_ruleset(attribute: *const RulesetAttribute, size: usize, flags: u32) -> io::Result<i64> {
    // SAFETY: the kernel reads `size` bytes of the attribute, or none.
    #[expect(unsafe_code, reason = "no library in the tree has this system call")]
    let result = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, attribute, size, flags) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Decides whether the kernel can hold a child to its folders.
pub(crate) fn can_limit_writes() -> bool {
    create_ruleset(std::ptr::null(), 0, VERSION_FLAG).is_ok_and(|version| version >= NEEDED_VERSION)
}
