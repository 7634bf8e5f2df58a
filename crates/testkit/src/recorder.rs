//! A model server that keeps every request and refuses all of them, for agent CLIs of any kind.
//!
//! What a CLI found on the machine stands in the first thing it asks its model. The refusal makes it
//! stop there, so no wire format is spoken here: the scripted one is [`crate::model`].

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::model::http;

/// One request, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// `POST`, …
    pub method: String,
    /// With its query.
    pub path: String,
    /// Its body, whatever bytes it has.
    pub body: String,
}

/// A server on 127.0.0.1. Stops listening when dropped.
pub struct Recorder {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Recorded>>,
    closed: AtomicBool,
}

impl Recorder {
    /// Listens from now on.
    pub fn start() -> Recorder {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port on 127.0.0.1");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let listener = Some(thread::spawn(move || listen(&listener, &theirs)));
        Recorder { address, shared, listener }
    }

    /// Its address as a base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in the order they came.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bodies sent to a model so far, one below the other; empty while there was none.
    pub fn asked(&self) -> String {
        let requests = self.requests().into_iter().filter(|request| request.method == "POST");
        requests.map(|request| request.body).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // Wakes the listener out of its accept.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.closed.load(Ordering::SeqCst) {
            return;
        }
        let Ok(connection) = connection else { continue };
        let shared = Arc::clone(shared);
        // Ends with its connection; a client that goes away is no error of the test.
        thread::spawn(move || drop(serve(connection, &shared)));
    }
}

fn serve(connection: TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut stream = BufReader::new(connection);
    while let Some(incoming) = http::read_request(&mut stream)? {
        let body = String::from_utf8_lossy(&incoming.body).into_owned();
        let request = Recorded { method: incoming.method, path: incoming.path, body };
        shared.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        http::write_json(stream.get_mut(), 400, &[], &refusal())?;
    }
    Ok(())
}

/// An error in the words of every API at once, of the kind that nobody tries again.
fn refusal() -> Value {
    let message = "recorded and refused";
    let error = json!({
        "message": message, "type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT",
    });
    json!({"type": "error", "error": error})
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_request_is_kept_and_refused() {
        let recorder = Recorder::start();
        let mut client = TcpStream::connect(recorder.address).unwrap();
        let request =
            "POST /v1/responses HTTP/1.1\r\nconnection: close\r\ncontent-length: 7\r\n\r\n{\"a\":1}";
        client.write_all(request.as_bytes()).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("invalid_request_error"), "{answer}");
        let (method, path, body) = ("POST".into(), "/v1/responses".into(), "{\"a\":1}".into());
        assert_eq!(recorder.requests(), [Recorded { method, path, body }]);
        assert_eq!(recorder.asked(), "{\"a\":1}");
    }
}
