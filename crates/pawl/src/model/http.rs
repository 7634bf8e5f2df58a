//! As much HTTP/1.1 as a scripted server needs, with persistent connections.
//!
//! Written by hand, because a script must be able to cut a connection in the middle of an event.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const BODY_LIMIT: usize = 64 << 20;
const LINE_LIMIT: u64 = 64 << 10;

/// A received request.
pub struct IncomingRequest {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl IncomingRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the next request of a connection, or returns `None` if the client is gone.
pub fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<IncomingRequest>> {
    let Some(first) = read_line(stream)? else { return Ok(None) };
    let mut words = first.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut headers = Vec::new();
    while let Some(line) = read_line(stream)?.filter(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
        }
    }
    let mut incoming = IncomingRequest { method, path, headers, body: Vec::new() };
    if incoming.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    incoming.body = read_body(stream, &incoming)?;
    Ok(Some(incoming))
}

fn read_body(stream: &mut impl BufRead, incoming: &IncomingRequest) -> io::Result<Vec<u8>> {
    if incoming.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        return read_chunks(stream);
    }
    let length = incoming.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    read_exactly(stream, length)
}

fn read_chunks(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(stream)?.unwrap_or_default();
        let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
        let size = size.map_err(|_| io::ErrorKind::InvalidData)?;
        body.extend(read_exactly(stream, size)?);
        read_line(stream)?;
        if size == 0 || body.len() > BODY_LIMIT {
            return Ok(body);
        }
    }
}

fn read_exactly(stream: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    if length > BODY_LIMIT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_line(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if stream.by_ref().take(LINE_LIMIT).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Writes a whole JSON response.
pub fn write_json(
    out: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
    body: &serde_json::Value,
) -> io::Result<()> {
    let body = body.to_string();
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n");
    head.push_str(&format!("request-id: {}\r\n", super::server::fresh_id("req")));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    out.write_all(head.as_bytes())?;
    out.write_all(body.as_bytes())
}

/// Writes a response without a body, for `HEAD`.
pub fn write_empty(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
}

/// Writes the head of an event stream. The events follow as chunks.
pub fn write_stream_head(out: &mut impl Write) -> io::Result<()> {
    let id = super::server::fresh_id("req");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n\
         request-id: {id}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    out.write_all(head.as_bytes())
}

/// Writes one chunk of a streamed body. An empty one writes nothing.
pub fn write_chunk(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    out.write_all(&chunk)
}

/// Ends a streamed body.
pub fn end_chunks(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"0\r\n\r\n")
}

/// Waits until the client closes its side, or until `given_up` returns true.
pub fn wait_for_close(stream: &TcpStream, given_up: impl Fn() -> bool) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    while !given_up() {
        match stream.peek(&mut [0]) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            _ => return Ok(()),
        }
    }
    Ok(())
}
