//! Sockets that no child inherits, and random bytes.

use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, socketpair};
use rustix::rand::{GetRandomFlags, getrandom};

/// Creates a local stream socket with the close-on-exec flag.
#[inline]
pub(crate) fn socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// Creates two connected stream sockets with the close-on-exec flag.
pub(crate) fn socket_pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// Fills the slice with random bytes. If the system refuses, the bytes do not change.
#[inline]
pub(crate) fn fill_random(bytes: &mut [u8]) {
    let _ = getrandom(bytes, GetRandomFlags::empty());
}
