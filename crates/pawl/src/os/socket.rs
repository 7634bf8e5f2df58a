//! What the hook asks for: a socket that no child inherits, and chance.

use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::rand::{GetRandomFlags, getrandom};

/// Makes a local stream socket that is closed when another program takes over.
#[inline]
pub(crate) fn socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// Fills the bytes by chance. Where the system refuses, they stay as they are.
#[inline]
pub(crate) fn fill_random(bytes: &mut [u8]) {
    let _ = getrandom(bytes, GetRandomFlags::empty());
}
