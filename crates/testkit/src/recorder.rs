//! A model server that keeps every request and refuses it, for any agent CLI.
//!
//! The first request of a CLI shows what it found on the machine. The refusal makes it stop there, so this
//! server needs no wire format. [`crate::model`] is the scripted server.

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};
use windlass_pawl::model::http;

/// A received request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub method: String,
    /// The path with its query.
    pub path: String,
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
    /// Starts to listen on a free port.
    pub fn start() -> Recorder {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port on 127.0.0.1");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let listener = Some(thread::spawn(move || listen(&listener, &theirs)));
        Recorder { address, shared, listener }
    }

    /// Returns the base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the bodies of all model requests so far, one after the other.
    pub fn asked(&self) -> String {
        let requests = self.requests().into_iter().filter(|request| request.method == "POST");
        requests.map(|request| request.body).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // Wakes the listener from its accept.
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
        // The thread ends with its connection. A client that disconnects is not an error of the test.
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

/// Builds an error that every API understands and no client retries.
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
