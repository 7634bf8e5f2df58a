//! The scripted model as a server: one thread per connection, and every request is kept.

use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::answer::ScriptedAnswer;
use super::conversation::RequestConversation;
use super::fault::{ApiRefusal, ServiceFault};
use super::http::{self, IncomingRequest};
use super::probes;
use super::stream::{Sent, stream};
use super::turn::{ModelTurn, StreamBreak, TurnContent};
use super::wire::{RequestReading, WireFormat};
use super::{ModelScript, RequestKind, WireApi, WireRequest};

/// Headers with keys. Nobody keeps them.
const SECRET_HEADERS: [&str; 5] = ["x-api-key", "api-key", "x-goog-api-key", "authorization", "cookie"];

/// A model that plays a script. Stops listening when dropped.
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
    closed: AtomicBool,
}

struct State {
    script: ModelScript,
    requests: Vec<WireRequest>,
    sessions: Vec<Option<String>>,
}

impl ScriptedModel {
    /// Makes a script of these turns, one per request, in order.
    pub fn script(turns: impl IntoIterator<Item = ModelTurn>) -> ModelScript {
        ModelScript::new(turns)
    }

    pub(super) fn serve(script: ModelScript) -> io::Result<ScriptedModel> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Mutex::new(State { script, requests: Vec::new(), sessions: Vec::new() });
        let shared = Arc::new(Shared { state, arrived: Condvar::new(), closed: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let listener = Some(thread::spawn(move || listen(&listener, &theirs)));
        Ok(ScriptedModel { address, shared, listener })
    }

    /// Returns the base URL, without a path: the value for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the turn requests so far, from the main conversation and subagents, in order of arrival.
    pub fn requests(&self) -> Vec<WireRequest> {
        let state = self.shared.lock();
        state.requests.iter().filter(|request| is_turn(request)).cloned().collect()
    }

    /// Returns every request so far, including side requests and probes.
    pub fn everything(&self) -> Vec<WireRequest> {
        self.shared.lock().requests.clone()
    }

    /// Returns the CLI's sessions that requested a turn, in order of their first request.
    pub fn sessions(&self) -> Vec<String> {
        let mut sessions: Vec<String> = Vec::new();
        for session in self.requests().into_iter().filter_map(|request| request.session) {
            if !sessions.contains(&session) {
                sessions.push(session);
            }
        }
        sessions
    }

    /// Returns the number of turns that were requested so far.
    pub fn asked(&self) -> usize {
        self.shared.lock().requests.iter().filter(|request| is_turn(request)).count()
    }

    /// Waits until `count` turns were requested, at most until the deadline, and returns the requests so far.
    pub fn requests_within(&self, count: usize, deadline: Duration) -> Vec<WireRequest> {
        let start = Instant::now();
        let mut state = self.shared.lock();
        loop {
            let turns: Vec<&WireRequest> = state.requests.iter().filter(|request| is_turn(request)).collect();
            let left = deadline.checked_sub(start.elapsed()).filter(|_| turns.len() < count);
            let Some(left) = left else { return turns.into_iter().cloned().collect() };
            state = self.shared.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // Wakes the listener from its accept.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A closure turn that panicked fails its own request, not every later one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

fn is_turn(request: &WireRequest) -> bool {
    matches!(request.kind, RequestKind::Main | RequestKind::Subagent)
}

/// Returns an id that is unique in this process.
pub(super) fn fresh_id(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}_{:08x}{number:012x}", std::process::id())
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.is_closed() {
            return;
        }
        let Ok(connection) = connection else { continue };
        let shared = Arc::clone(shared);
        // The thread ends with its connection. A client that disconnects is not an error.
        thread::spawn(move || drop(serve(connection, &shared)));
    }
}

fn serve(connection: TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut stream = BufReader::new(connection);
    while let Some(incoming) = http::read_request(&mut stream)? {
        match answer(stream.get_mut(), incoming, shared)? {
            Sent::Whole => {}
            Sent::Cut => return stream.get_ref().shutdown(Shutdown::Both),
            Sent::Stalled => return http::wait_for_close(stream.get_ref(), || shared.is_closed()),
        }
    }
    Ok(())
}

fn answer(out: &mut TcpStream, incoming: IncomingRequest, shared: &Shared) -> io::Result<Sent> {
    let size = incoming.body.len();
    let (request, turn) = take_turn(incoming, shared);
    let (Some(turn), Some(wire)) = (turn, request.wire) else {
        let path = request.path.split('?').next().unwrap_or_default();
        return match request.method.as_str() {
            "HEAD" => http::write_empty(out),
            _ => http::write_json(out, 200, &[], &probes::body(path, size)),
        }
        .map(|()| Sent::Whole);
    };
    if let Some(gate) = &turn.gate {
        gate.pass(|| shared.is_closed());
    }
    thread::sleep(turn.delay);
    send(out, &turn, &request, wire.format())
}

/// Keeps the request and chooses its turn under one lock, so that the script follows the order of arrival.
fn take_turn(incoming: IncomingRequest, shared: &Shared) -> (WireRequest, Option<ModelTurn>) {
    let mut state = shared.lock();
    let request = number(understand(incoming), &mut state);
    state.requests.push(request.clone());
    shared.arrived.notify_all();
    let turn = match (request.kind, request.wire) {
        (RequestKind::Main | RequestKind::Subagent, _) => Some(state.script.choose(&request)),
        // Without tokens: the CLI's sums are those of the script.
        (RequestKind::Side, Some(wire)) => Some(wire.format().aside(&request).tokens(0, 0)),
        (RequestKind::Side | RequestKind::Other, _) => None,
    };
    (request, turn)
}

/// Reads a request and forgets its secrets.
pub(super) fn understand(incoming: IncomingRequest) -> WireRequest {
    let body: Value = serde_json::from_slice(&incoming.body).unwrap_or(Value::Null);
    let wire = WireApi::of(&incoming.method, &incoming.path);
    let reading = wire.map(|wire| wire.format().read(&incoming, &body));
    let RequestReading { kind, model, session, agent, conversation } =
        reading.unwrap_or_else(|| RequestReading {
            kind: RequestKind::Other,
            model: String::new(),
            session: None,
            agent: None,
            conversation: RequestConversation::default(),
        });
    let is_secret = |name: &str| SECRET_HEADERS.contains(&name);
    let headers = incoming.headers.into_iter().filter(|(name, _)| !is_secret(name)).collect();
    WireRequest {
        kind,
        wire,
        method: incoming.method,
        path: without_key(&incoming.path),
        headers,
        body,
        model,
        session,
        agent,
        nth: 0,
        nth_in_session: 0,
        session_nth: 0,
        conversation,
    }
}

/// Removes the key from the query of a path.
fn without_key(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let rest: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("key=")).collect();
    if rest.is_empty() { path.to_owned() } else { format!("{path}?{}", rest.join("&")) }
}

fn number(mut request: WireRequest, state: &mut State) -> WireRequest {
    if !is_turn(&request) {
        return request;
    }
    let known = state.sessions.iter().position(|session| *session == request.session);
    request.session_nth = known.unwrap_or_else(|| {
        state.sessions.push(request.session.clone());
        state.sessions.len() - 1
    });
    let alike = state.requests.iter().filter(|earlier| earlier.kind == request.kind);
    request.nth = alike.clone().count();
    request.nth_in_session = alike.filter(|earlier| earlier.session == request.session).count();
    request
}

fn send(
    out: &mut TcpStream,
    turn: &ModelTurn,
    request: &WireRequest,
    format: &dyn WireFormat,
) -> io::Result<Sent> {
    if let TurnContent::Fault { fault, message, headers } = &turn.what {
        let mut refusal = format.refuse(fault, message.as_deref());
        refusal.headers.extend(headers.iter().cloned());
        return refuse(out, &refusal);
    }
    let answer = match ScriptedAnswer::new(turn, request) {
        Ok(answer) => answer,
        Err(why) => {
            let fault = ServiceFault::Status { status: 400, kind: "invalid_request_error".to_owned() };
            return refuse(out, &format.refuse(&fault, Some(&why)));
        }
    };
    if format.streams(request) {
        return stream(out, format, &format.events(&answer), turn.breaks);
    }
    match turn.breaks {
        None => http::write_json(out, 200, &[], &format.whole(&answer)).map(|()| Sent::Whole),
        Some(StreamBreak::Cut(_)) => Ok(Sent::Cut),
        Some(StreamBreak::Stall(_)) => Ok(Sent::Stalled),
    }
}

fn refuse(out: &mut TcpStream, refusal: &ApiRefusal) -> io::Result<Sent> {
    http::write_json(out, refusal.status, &refusal.headers, &refusal.body).map(|()| Sent::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_query_is_forgotten() {
        assert_eq!(without_key("/v1/m?alt=sse&key=abc"), "/v1/m?alt=sse");
        assert_eq!(without_key("/v1/m?key=abc"), "/v1/m");
        assert_eq!(without_key("/v1/m"), "/v1/m");
    }
}
