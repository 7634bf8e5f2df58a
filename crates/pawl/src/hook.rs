//! `windlass hook EVENT --closed|--open`: carries one hook call of an agent to the run's socket and the
//! answer back.
//!
//! The forwarder decides nothing itself and knows no agent's events. The flag says what a missing answer
//! means: a closed hook refuses, an open hook lets the agent continue silently. A hook with neither flag is
//! closed. If there is no answer, the forwarder leaves a note in the session's folder. A turn with such a
//! note was cut off, and the next owner of the run never counts it as finished.
//!
//! An agent waits for this program at every tool call, so it must start as fast as `/bin/true`: it builds the
//! request by hand around the unparsed payload, and formats or prints nothing through the standard streams.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use rustix::buffer::spare_capacity;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, SocketAddrUnix, sockopt};
use windlass_core::hook::wire::{HookReply, WIRE_VERSION, env};
use windlass_core::launch::files::UNANSWERED;

use crate::os;

/// The total time for retrying a missing connection.
const PATIENCE: Duration = Duration::from_secs(30);
/// Overrides [`PATIENCE`], in milliseconds.
const PATIENCE_VARIABLE: &str = "WINDLASS_HOOK_PATIENCE_MS";
/// The pause between two attempts: starts at this value, grows by it, and ends at five times it.
const NAP: Duration = Duration::from_millis(50);
/// The size limit of a request or an answer, larger than any real one.
const LARGEST_LINE: usize = 64 << 20;
const FIRST_READ: usize = 16 << 10;

/// Denies the tool and shows the agent the reason. Exit code 1 would let the tool run.
const DENIED: u8 = 2;

/// Runs the forwarder with the arguments after `hook`.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(socket) = std::env::var_os(env::SOCKET).filter(|path| !path.is_empty()) else {
        return ExitCode::SUCCESS;
    };
    let Some(call) = ForwardedCall::from_args(args) else {
        say(rustix::stdio::stderr(), b"usage: windlass hook EVENT --closed|--open [--limit SECONDS]\n");
        return ExitCode::from(DENIED);
    };
    match call.forward(&socket) {
        Ok(exit) => ExitCode::from(exit),
        Err(why) => call.give_up(why),
    }
}

/// The reason why there is no answer.
#[derive(Debug, Clone, Copy)]
enum NoAnswer {
    /// The payload could not be read.
    Payload,
    /// The path of the socket is not valid.
    Address,
    /// No answer came before the time limit.
    Silence,
    /// The answer could not be written.
    Output,
}

impl NoAnswer {
    fn text(self) -> &'static [u8] {
        match self {
            NoAnswer::Payload => b"windlass: denied, the hook's input could not be read\n",
            NoAnswer::Address => b"windlass: denied, WINDLASS_SOCKET is not the path of a socket\n",
            NoAnswer::Silence => b"windlass: denied, the run does not answer (its Windlass is gone)\n",
            NoAnswer::Output => b"windlass: denied, the answer could not be written\n",
        }
    }
}

/// One call of a hook.
struct ForwardedCall {
    event: OsString,
    /// Without an answer, the agent continues as if there were no hook.
    is_open: bool,
    until: Option<Instant>,
}

impl ForwardedCall {
    fn from_args(mut args: impl Iterator<Item = OsString>) -> Option<ForwardedCall> {
        let event = args.next().filter(|name| is_plain(name))?;
        let (mut is_open, mut until) = (false, None);
        while let Some(arg) = args.next() {
            match arg.as_bytes() {
                b"--open" => is_open = true,
                b"--closed" => is_open = false,
                b"--limit" => {
                    let seconds = args.next()?.to_str()?.parse().ok()?;
                    until = Instant::now().checked_add(Duration::from_secs(seconds));
                }
                _ => return None,
            }
        }
        Some(ForwardedCall { event, is_open, until })
    }

    fn forward(&self, socket: &OsStr) -> Result<u8, NoAnswer> {
        let id = new_id();
        let line = self.request(&id).ok_or(NoAnswer::Payload)?;
        let address = SocketAddrUnix::new(socket.as_bytes()).map_err(|_| NoAnswer::Address)?;
        let reply = self.ask(&address, &line, &id).ok_or(NoAnswer::Silence)?;
        let printed = say(rustix::stdio::stdout(), reply.stdout.as_bytes())
            && say(rustix::stdio::stderr(), reply.stderr.as_bytes());
        if printed { Ok(reply.exit) } else { Err(NoAnswer::Output) }
    }

    /// Builds the request line. Reads the payload right after the head, so that a payload of several
    /// megabytes is never copied.
    fn request(&self, id: &[u8]) -> Option<Vec<u8>> {
        let mut line = self.head(id);
        let head = line.len();
        read_stdin(&mut line)?;
        finish(line, head)
    }

    /// Builds the part of the line before the payload.
    fn head(&self, id: &[u8]) -> Vec<u8> {
        let mut line = Vec::with_capacity(FIRST_READ);
        let session = std::env::var_os(env::SESSION).filter(|cookie| is_cookie(cookie));
        let (name, session) = match &session {
            Some(cookie) => (&b"\",\"session\":\""[..], cookie.as_bytes()),
            None => (&b""[..], &b""[..]),
        };
        let head: [&[u8]; 7] = [
            b"{\"v\":1,\"id\":\"",
            id,
            b"\",\"event\":\"",
            self.event.as_bytes(),
            name,
            session,
            b"\",\"payload\":",
        ];
        for part in head {
            line.extend_from_slice(part);
        }
        line
    }

    /// Asks until there is an answer. Sends the same line with the same id each time, because the engine
    /// decides each id once.
    fn ask(&self, address: &SocketAddrUnix, line: &[u8], id: &[u8]) -> Option<HookReply> {
        if let Some(reply) = self.exchange(address, line, id) {
            return Some(reply);
        }
        // Written now and not at the end, so that the note exists even if somebody kills this process.
        let note = leave_note(id);
        let mut patience = RetryPatience::from_env();
        while !self.is_over() && patience.nap() {
            if let Some(reply) = self.exchange(address, line, id) {
                if let Some(note) = note {
                    let _ = fs::unlink(&note);
                }
                return Some(reply);
            }
        }
        None
    }

    /// Sends one line and reads one line on a new connection. Any error counts as no answer.
    fn exchange(&self, address: &SocketAddrUnix, line: &[u8], id: &[u8]) -> Option<HookReply> {
        let socket = os::socket().ok()?;
        self.bound(&socket)?;
        net::connect(&socket, address).ok()?;
        if !write_all(&socket, line) {
            return None;
        }
        let answer = self.read_answer(&socket)?;
        let reply: HookReply = serde_json::from_slice(&answer).ok()?;
        (reply.v == WIRE_VERSION && reply.id.as_bytes() == id).then_some(reply)
    }

    fn read_answer(&self, socket: &OwnedFd) -> Option<Vec<u8>> {
        let mut answer = Vec::with_capacity(4 << 10);
        while answer.last() != Some(&b'\n') {
            if !read_more(socket, &mut answer)? {
                return None;
            }
            self.bound(socket)?;
        }
        Some(answer)
    }

    /// Applies the time limit, if any, to the operations on the socket.
    fn bound(&self, socket: &OwnedFd) -> Option<()> {
        let Some(until) = self.until else { return Some(()) };
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        sockopt::set_socket_timeout(socket, sockopt::Timeout::Send, Some(left)).ok()?;
        sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, Some(left)).ok()
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    fn give_up(&self, why: NoAnswer) -> ExitCode {
        if self.is_open {
            return ExitCode::SUCCESS;
        }
        say(rustix::stdio::stderr(), why.text());
        ExitCode::from(DENIED)
    }
}

/// The remaining time for pauses between attempts. Time on an open connection does not count, because a
/// person may be thinking. An engine that accepts calls and drops them uses it up, too.
struct RetryPatience {
    left: Duration,
    nap: Duration,
}

impl RetryPatience {
    fn from_env() -> RetryPatience {
        let set = std::env::var_os(PATIENCE_VARIABLE).and_then(|text| text.to_str()?.parse().ok());
        RetryPatience { left: set.map_or(PATIENCE, Duration::from_millis), nap: NAP }
    }

    /// Sleeps, or returns false if no time is left.
    fn nap(&mut self) -> bool {
        let nap = self.nap.min(self.left);
        if nap.is_zero() {
            return false;
        }
        std::thread::sleep(nap);
        self.left -= nap;
        self.nap = (self.nap + NAP).min(NAP * 5);
        true
    }
}

/// Writes a note into the session's folder that no owner answers this call. The note is on disk before the
/// agent gets any answer.
fn leave_note(id: &[u8]) -> Option<PathBuf> {
    let folder = std::env::var_os(env::FOLDER).filter(|folder| !folder.is_empty())?;
    let mut name = OsString::from(UNANSWERED);
    name.push(OsStr::from_bytes(id));
    let note = Path::new(&folder).join(name);
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = fs::open(&note, flags, Mode::RUSR | Mode::WUSR).ok()?;
    let _ = fs::fsync(&file);
    if let Ok(folder) = fs::open(Path::new(&folder), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = fs::fsync(&folder);
    }
    Some(note)
}

/// Completes a line whose payload starts at `head`.
fn finish(mut line: Vec<u8>, head: usize) -> Option<Vec<u8>> {
    let payload = line.get_mut(head..)?;
    for byte in payload.iter_mut() {
        // Written back unconditionally: without a branch, the compiler handles many bytes at once.
        *byte = if matches!(*byte, b'\n' | b'\r') { b' ' } else { *byte };
    }
    if payload.trim_ascii().is_empty() {
        line.extend_from_slice(b"null");
    }
    line.extend_from_slice(b"}\n");
    Some(line)
}

/// Returns true for a name that needs no escaping in JSON.
fn is_plain(name: &OsStr) -> bool {
    !name.is_empty() && name.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Returns true for a cookie of our form, which needs no escaping either.
fn is_cookie(cookie: &OsStr) -> bool {
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@' | b'~' | b'-');
    !cookie.is_empty() && cookie.as_bytes().iter().all(is_plain)
}

const ID_BYTES: usize = 20;

/// Makes an id from process id, time and random bits: unique even if one of them fails.
fn new_id() -> [u8; 2 * ID_BYTES] {
    let mut chance = [0; 8];
    os::fill_random(&mut chance);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = now.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(now.subsec_nanos()));
    let (process, now) = (std::process::id().to_be_bytes(), now.to_be_bytes());
    let mut id = [b'0'; 2 * ID_BYTES];
    let bytes = process.into_iter().chain(now).chain(chance);
    for (pair, byte) in id.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[hex_digit(byte >> 4), hex_digit(byte & 15)]);
    }
    id
}

fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}

fn read_stdin(into: &mut Vec<u8>) -> Option<()> {
    while read_more(rustix::stdio::stdin(), into)? {}
    Some(())
}

/// Reads once. Returns false at the end of the input, or `None` on an error or beyond the size limit.
fn read_more(from: impl AsFd, into: &mut Vec<u8>) -> Option<bool> {
    if into.len() >= LARGEST_LINE {
        return None;
    }
    if into.len() == into.capacity() {
        into.reserve(into.len().max(FIRST_READ));
    }
    let count = retry_on_intr(|| rustix::io::read(&from, spare_capacity(into))).ok()?;
    Some(count > 0)
}

fn write_all(to: impl AsFd, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match rustix::io::write(&to, bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Writes without the buffered standard streams, which are slow to set up.
fn say(to: impl AsFd, text: &[u8]) -> bool {
    write_all(to, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_plain_and_never_the_same() {
        let (one, other) = (new_id(), new_id());
        assert_ne!(one, other);
        assert!(one.iter().all(u8::is_ascii_hexdigit));
    }

    #[test]
    fn arguments_are_an_event_and_perhaps_a_limit() {
        let args = |list: &[&str]| {
            ForwardedCall::from_args(list.iter().map(OsString::from).collect::<Vec<_>>().into_iter())
        };
        assert!(args(&["Stop"]).is_some_and(|call| call.until.is_none()));
        assert!(args(&["Stop", "--limit", "5"]).is_some_and(|call| call.until.is_some()));
        assert!(args(&[]).is_none());
        assert!(args(&["Stop\""]).is_none());
        assert!(args(&["Stop", "--limit", "soon"]).is_none());
        assert!(args(&["Stop", "--else"]).is_none());
    }

    #[test]
    fn patience_is_spent_by_naps() {
        let mut patience = RetryPatience { left: Duration::from_millis(3), nap: Duration::from_millis(2) };
        assert!(patience.nap());
        assert!(patience.nap());
        assert!(!patience.nap());
    }
}
