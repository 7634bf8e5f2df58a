//! Listens, reads requests and sends replies.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use windlass_core::hook::wire::{HookLine, HookReply, REQUEST, WIRE_VERSION};
use windlass_core::id::HookId;

use super::SocketError;
use crate::descent::{Descent, descent};

/// The maximum length of a line. No model calls a tool with a longer input.
const MAX_LINE: u64 = 8 * 1024 * 1024;
const WAITING: usize = 64;

/// A hook that waits for its reply. Dropping `reply` closes the connection, and the hook asks again.
#[derive(Debug)]
pub struct HookRequest {
    /// Chosen by the forwarder. A repeated request has the same id.
    pub id: HookId,
    /// The name of the hook.
    pub event: String,
    /// The cookie of the session, as the process itself claims.
    pub session: Option<String>,
    /// The origin of the process, from the kernel.
    pub from: Descent,
    /// The data that the CLI sent to the hook.
    pub payload: Vec<u8>,
    /// The channel for the reply. A forwarder that is gone is not an error.
    pub reply: oneshot::Sender<HookReply>,
}

/// A request to the run from a person who waits for the result.
#[derive(Debug)]
pub struct PersonRequest {
    pub payload: Vec<u8>,
    /// The origin of the process, from the kernel.
    pub from: Descent,
    /// The channel for the reply. A requester that is gone is not an error.
    pub reply: oneshot::Sender<HookReply>,
}

/// A request that arrived at the socket.
#[derive(Debug)]
pub enum IncomingLine {
    Hook(HookRequest),
    /// A person, or a process that claims to act for one.
    Person(PersonRequest),
}

/// A bound socket. Dropping it removes the socket file.
#[derive(Debug)]
pub struct HookServer {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for HookServer {
    fn drop(&mut self) {
        // A missing file is not an error.
        let _ = fs::remove_file(&self.path);
    }
}

/// Binds the run's socket. Replaces the file of a dead owner, but not that of a live one.
pub fn bind(path: &Path) -> Result<HookServer, SocketError> {
    let io_error = |source| SocketError::Io { path: path.to_owned(), source };
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => return Err(SocketError::Busy { path: path.to_owned() }),
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(io_error)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(io_error(e)),
    }
    // Only we can enter the folder, so nobody connects before the mode is set.
    let listener = UnixListener::bind(path).map_err(io_error)?;
    let server = HookServer { listener, path: path.to_owned() };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(io_error)?;
    Ok(server)
}

impl HookServer {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Accepts connections until the receiver is gone. Run it as its own task.
    pub async fn serve(self, requests: mpsc::Sender<IncomingLine>) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(converse(stream, requests.clone()));
                    }
                    // Usually out of descriptors: other connections close soon.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                },
                Some(_) = connections.join_next() => {}
                () = requests.closed() => return,
            }
        }
    }

    /// Creates a channel of the usual size for [`HookServer::serve`].
    pub fn channel() -> (mpsc::Sender<IncomingLine>, mpsc::Receiver<IncomingLine>) {
        mpsc::channel(WAITING)
    }
}

/// Handles one connection: a line in, a line out. Closes the connection on any error.
async fn converse(stream: UnixStream, requests: mpsc::Sender<IncomingLine>) -> Option<()> {
    let ours = rustix::process::getuid().as_raw();
    let peer = stream.peer_cred().ok()?;
    if peer.uid() != ours {
        return None;
    }
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    let asked = read_ask(&mut reading).await?;
    // Determined while the process waits for the reply: afterwards it may be gone.
    let from = descent(peer.pid().unwrap_or_default());
    let (reply, replied) = oneshot::channel();
    let ParsedLine { id, event, session, payload } = asked;
    let request = match event.as_str() {
        REQUEST => IncomingLine::Person(PersonRequest { payload, from, reply }),
        _ => IncomingLine::Hook(HookRequest { id, event, session, from, payload, reply }),
    };
    requests.send(request).await.ok()?;
    let mut more = [0_u8; 1];
    tokio::select! {
        reply = replied => write_reply(&mut writing, &reply.ok()?).await,
        // The forwarder sends nothing more; the end of the stream means that it is gone.
        _ = reading.read(&mut more) => None,
    }
}

/// A line that could be parsed.
struct ParsedLine {
    id: HookId,
    event: String,
    session: Option<String>,
    payload: Vec<u8>,
}

async fn read_ask(from: &mut (impl AsyncBufReadExt + Unpin)) -> Option<ParsedLine> {
    let mut line = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut line).await.ok()?;
    if line.last() != Some(&b'\n') {
        skip_line(from).await?;
        line = without_payload(&line)?;
    }
    let ask: HookLine<'_> = serde_json::from_slice(&line).ok()?;
    if ask.v != WIRE_VERSION || ask.id.is_empty() {
        return None;
    }
    let payload = ask.payload.map(|raw| raw.get().as_bytes().to_vec()).unwrap_or_default();
    Some(ParsedLine { id: HookId::new(ask.id), event: ask.event, session: ask.session, payload })
}

/// Reads a line to its end and discards it.
async fn skip_line(from: &mut (impl AsyncBufReadExt + Unpin)) -> Option<()> {
    loop {
        let some = from.fill_buf().await.ok()?;
        if some.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', some);
        let read = end.map_or(some.len(), |end| end + 1);
        from.consume(read);
        if end.is_some() {
            return Some(());
        }
    }
}

/// Returns the part of an overlong line before its payload. The engine then answers a call that it
/// cannot read, which is better than no answer.
fn without_payload(line: &[u8]) -> Option<Vec<u8>> {
    const PAYLOAD: &[u8] = b",\"payload\":";
    let at = memchr::memmem::find(line, PAYLOAD)?;
    Some([line.get(..at)?, b"}"].concat())
}

async fn write_reply(to: &mut (impl AsyncWriteExt + Unpin), reply: &HookReply) -> Option<()> {
    let mut line = serde_json::to_vec(reply).ok()?;
    line.push(b'\n');
    to.write_all(&line).await.ok()?;
    to.shutdown().await.ok()
}

/// Time for an owner to answer: it may be busy with other requests.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum length of a reply.
const MAX_REPLY: u64 = 64 * 1024;

/// The reason that a request got no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoReply {
    /// No process listens.
    Nobody,
    /// A process listens but does not answer.
    Silence,
}

/// Sends a request to the owner of a run and waits for the reply.
pub fn request(path: &Path, payload: &str) -> Result<HookReply, NoReply> {
    let Ok(mut stream) = std::os::unix::net::UnixStream::connect(path) else { return Err(NoReply::Nobody) };
    converse_with_owner(&mut stream, payload).ok_or(NoReply::Silence)
}

fn converse_with_owner(stream: &mut std::os::unix::net::UnixStream, payload: &str) -> Option<HookReply> {
    use std::io::{Read, Write};
    // An owner that hangs must not block us.
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let payload = serde_json::value::RawValue::from_string(payload.to_owned()).ok()?;
    let ask = HookLine {
        v: WIRE_VERSION,
        id: REQUEST.to_owned(),
        event: REQUEST.to_owned(),
        session: None,
        payload: Some(&payload),
    };
    let mut line = serde_json::to_vec(&ask).ok()?;
    line.push(b'\n');
    stream.write_all(&line).ok()?;
    let mut answer = Vec::new();
    stream.take(MAX_REPLY).read_to_end(&mut answer).ok()?;
    serde_json::from_slice(&answer).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Listening {
        _dir: tempfile::TempDir,
        path: PathBuf,
        requests: mpsc::Receiver<IncomingLine>,
    }

    fn listening() -> Listening {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.sock");
        let server = bind(&path).unwrap();
        let (sender, requests) = HookServer::channel();
        tokio::spawn(server.serve(sender));
        Listening { _dir: dir, path, requests }
    }

    async fn next(requests: &mut mpsc::Receiver<IncomingLine>) -> IncomingLine {
        tokio::time::timeout(Duration::from_secs(20), requests.recv()).await.unwrap().unwrap()
    }

    async fn ask(path: &Path, line: &[u8]) -> UnixStream {
        let mut stream = UnixStream::connect(path).await.unwrap();
        stream.write_all(line).await.unwrap();
        stream
    }

    async fn read_all(mut stream: UnixStream) -> String {
        let mut text = String::new();
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut text));
        let _ = read.await.unwrap();
        text
    }

    const ASK: &[u8] = br#"{"v":1,"id":"h1","event":"Stop","payload":{"a":[1, 2]}}
"#;

    #[tokio::test]
    async fn a_hook_asks_and_is_answered() {
        let mut listening = listening();
        let stream = ask(&listening.path, ASK).await;
        let IncomingLine::Hook(request) = next(&mut listening.requests).await else { panic!() };
        assert_eq!((request.id.as_str(), request.event.as_str()), ("h1", "Stop"));
        assert_eq!(request.payload, br#"{"a":[1, 2]}"#);
        assert_eq!(request.session, None);
        let reply = HookReply { v: 1, id: "h1".into(), exit: 0, stdout: "{}".into(), stderr: String::new() };
        request.reply.send(reply).unwrap();
        assert_eq!(
            read_all(stream).await,
            "{\"v\":1,\"id\":\"h1\",\"exit\":0,\"stdout\":\"{}\",\"stderr\":\"\"}\n"
        );
    }

    #[tokio::test]
    async fn a_hook_says_whose_it_is() {
        let mut listening = listening();
        let line = b"{\"v\":1,\"id\":\"h\",\"event\":\"Stop\",\"session\":\"r1.fix@2.1.1.session\",\"payload\":{}}\n";
        let _stream = ask(&listening.path, line).await;
        let IncomingLine::Hook(request) = next(&mut listening.requests).await else { panic!() };
        assert_eq!(request.session.as_deref(), Some("r1.fix@2.1.1.session"));
        // A payload cannot say it in its place.
        let twice = br#"{"v":1,"id":"h","event":"Stop","session":"a","payload":{},"session":"b"}
"#;
        assert_eq!(read_all(ask(&listening.path, twice).await).await, "");
    }

    #[tokio::test]
    async fn a_payload_of_five_megabytes_passes() {
        let mut listening = listening();
        let line = format!(
            "{{\"v\":1,\"id\":\"h\",\"event\":\"Stop\",\"payload\":\"{}\"}}\n",
            "x".repeat(5_000_000)
        );
        let path = listening.path.clone();
        let asking = tokio::spawn(async move { ask(&path, line.as_bytes()).await });
        let IncomingLine::Hook(request) = next(&mut listening.requests).await else { panic!() };
        assert_eq!(request.payload.len(), 5_000_002);
        drop(asking.await.unwrap());
    }

    #[tokio::test]
    async fn a_call_that_is_too_long_is_heard_without_its_payload() {
        let mut listening = listening();
        let payload = format!("{{\"x\":\"{}\"}}", "y".repeat(9 << 20));
        let line = format!("{{\"v\":1,\"id\":\"h1\",\"event\":\"Stop\",\"payload\":{payload}}}\n");
        let path = listening.path.clone();
        let asking = tokio::spawn(async move { ask(&path, line.as_bytes()).await });
        let IncomingLine::Hook(request) = next(&mut listening.requests).await else { panic!() };
        assert_eq!((request.id.as_str(), request.event.as_str(), request.payload.len()), ("h1", "Stop", 0));
        drop(asking.await.unwrap());
    }

    #[tokio::test]
    async fn what_is_malformed_is_closed_and_the_next_one_served() {
        let mut listening = listening();
        for line in
            [&b"garbage\n"[..], b"{\"v\":9,\"id\":\"x\",\"event\":\"Stop\"}\n", b"{\"v\":1}\n", b"\xff\n"]
        {
            assert_eq!(read_all(ask(&listening.path, line).await).await, "");
        }
        let _stream = ask(&listening.path, ASK).await;
        assert!(matches!(next(&mut listening.requests).await, IncomingLine::Hook(_)));
    }

    #[tokio::test]
    async fn a_forwarder_that_goes_away_is_noticed() {
        let mut listening = listening();
        drop(ask(&listening.path, ASK).await);
        let IncomingLine::Hook(mut request) = next(&mut listening.requests).await else { panic!() };
        tokio::time::timeout(Duration::from_secs(20), request.reply.closed()).await.unwrap();
    }

    #[tokio::test]
    async fn a_dropped_reply_closes_the_connection() {
        let mut listening = listening();
        let stream = ask(&listening.path, ASK).await;
        drop(next(&mut listening.requests).await);
        assert_eq!(read_all(stream).await, "");
    }

    #[tokio::test]
    async fn a_request_is_given_on_with_where_it_comes_from_and_answered() {
        let mut listening = listening();
        let path = listening.path.clone();
        let asking = tokio::task::spawn_blocking(move || request(&path, r#"{"ask":"pause"}"#));
        let IncomingLine::Person(asked) = next(&mut listening.requests).await else { panic!() };
        assert_eq!(asked.payload, br#"{"ask":"pause"}"#);
        assert_eq!(asked.from, crate::descent::own_descent());
        let reply = HookReply { v: 1, id: "x".into(), exit: 5, stdout: String::new(), stderr: "no".into() };
        asked.reply.send(reply.clone()).unwrap();
        assert_eq!(asking.await.unwrap(), Ok(reply));
        assert_eq!(request(Path::new("/nowhere.sock"), "{}"), Err(NoReply::Nobody));
    }

    #[tokio::test]
    async fn an_owner_that_says_nothing_is_told_from_none() {
        let mut listening = listening();
        let path = listening.path.clone();
        let asking = tokio::task::spawn_blocking(move || request(&path, "{}"));
        drop(next(&mut listening.requests).await);
        assert_eq!(asking.await.unwrap(), Err(NoReply::Silence));
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_living_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let server = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(bind(&path), Err(SocketError::Busy { .. })));
        drop(server);
        assert!(!path.exists());
    }
}
