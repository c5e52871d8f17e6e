//! HTTP as bytes: requests exactly as written, responses by their framing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

/// How long a condition may take on a busy machine; it is no measure of anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A request with exactly these header lines, and `Content-Length` where there is a body.
pub(crate) fn request(target: &str, lines: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{target} HTTP/1.1\r\n").into_bytes();
    for line in lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    if !body.is_empty() || target.starts_with("POST") {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// One connection, read response by response.
pub(crate) struct Wire {
    socket: TcpStream,
    seen: Vec<u8>,
}

impl Wire {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).expect("connects");
        socket.set_nodelay(true).expect("set");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        Self {
            socket,
            seen: Vec::new(),
        }
    }

    /// Writes bytes. A request that is refused early may not be read to its end.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).ok();
    }

    /// Writes bytes one by one.
    pub(crate) fn dribble(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write(&[*byte]);
        }
    }

    fn more(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        match self.socket.read(&mut buffer) {
            Ok(0) => false,
            Ok(length) => {
                self.seen.extend_from_slice(&buffer[..length]);
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing came: {error}; so far: {}", String::from_utf8_lossy(&self.seen)),
        }
    }

    fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.seen.windows(end.len()).position(|window| window == end) {
                let rest = self.seen.split_off(at + end.len());
                return Some(std::mem::replace(&mut self.seen, rest));
            }
            if !self.more() {
                return None;
            }
        }
    }

    fn exactly(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.seen.len() < length {
            if !self.more() {
                return None;
            }
        }
        let rest = self.seen.split_off(length);
        Some(std::mem::replace(&mut self.seen, rest))
    }

    /// The head of the next response; its body is still to come.
    pub(crate) fn head(&mut self) -> Option<Response> {
        let head = self.until(b"\r\n\r\n")?;
        let head = String::from_utf8(head).expect("a head is text");
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let pairs = lines.filter_map(|line| line.split_once(": "));
        Some(Response {
            status: status.expect("a status"),
            headers: pairs
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect(),
            body: Vec::new(),
        })
    }

    /// The next chunk of a chunked body; nothing at its end.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = self.until(b"\r\n")?;
        let length = String::from_utf8(length).expect("a length is text");
        let length = usize::from_str_radix(length.trim(), 16).expect("a length");
        let mut chunk = self.exactly(length + 2)?;
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// The next response, whole; nothing when the connection has ended.
    pub(crate) fn response(&mut self) -> Option<Response> {
        let mut response = self.head()?;
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                response.body.extend(chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            response.body = self.exactly(length.parse().expect("a length")).expect("the whole body");
        }
        Some(response)
    }

    /// The next event of a stream that was opened: its id and its data, either may be empty. Comments are skipped.
    pub(crate) fn raw_event(&mut self) -> Option<(String, String)> {
        loop {
            let chunk = String::from_utf8(self.chunk()?).expect("events are text");
            let field = |name: &str| {
                let line = chunk.lines().find_map(|line| line.strip_prefix(name));
                line.map(|line| line.trim_start().to_owned())
            };
            if let Some(data) = field("data:") {
                return Some((field("id:").unwrap_or_default(), data));
            }
        }
    }

    /// Closes the sending side alone.
    pub(crate) fn close_sending(&self) {
        self.socket.shutdown(std::net::Shutdown::Write).expect("shut");
    }

    /// Ends the connection with a reset, as a system does where a peer's bytes are left unread.
    pub(crate) fn reset(self) {
        self.socket.peek(&mut [0]).expect("something is left unread");
    }

    /// The next message of an event stream that was opened; nothing at its end.
    pub(crate) fn event(&mut self) -> Option<Value> {
        loop {
            let chunk = String::from_utf8(self.chunk()?).expect("events are text");
            if let Some(message) = events(&chunk).pop() {
                return Some(message);
            }
        }
    }
}

/// One response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }

    /// The answer: the body, or the last event of a stream.
    pub(crate) fn answer(&self) -> String {
        if self.header("content-type") != Some("text/event-stream") {
            return self.text().to_owned();
        }
        data(self.text()).pop().expect("an event")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.answer()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error: {}", self.answer()))
    }

    pub(crate) fn message(&self) -> String {
        let json = self.json();
        json["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("no error: {json}"))
            .to_owned()
    }

    pub(crate) fn result(&self) -> Value {
        let json = self.json();
        json.get("result")
            .cloned()
            .unwrap_or_else(|| panic!("no result: {json}"))
    }

    /// The result, byte for byte.
    pub(crate) fn raw_result(&self) -> String {
        member(&self.answer(), "result")
    }
}

/// A member of a JSON object, byte for byte.
#[track_caller]
pub(crate) fn member(object: &str, name: &str) -> String {
    let members: std::collections::HashMap<String, &RawValue> =
        serde_json::from_str(object).unwrap_or_else(|error| panic!("{error}: {object}"));
    let raw = members.get(name).unwrap_or_else(|| panic!("no `{name}` in {object}"));
    raw.get().to_owned()
}

/// A member of a member, byte for byte.
#[track_caller]
pub(crate) fn at(object: &str, path: &[&str]) -> String {
    path.iter()
        .fold(object.to_owned(), |object, name| member(&object, name))
}

/// The elements of a JSON array, byte for byte.
pub(crate) fn elements(array: &str) -> Vec<String> {
    let items: Vec<&RawValue> = serde_json::from_str(array).expect("an array");
    items.into_iter().map(|item| item.get().to_owned()).collect()
}

/// The data of the events in a text.
fn data(text: &str) -> Vec<String> {
    let data_of = |event: &str| {
        let lines: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        let lines: Vec<&str> = lines
            .into_iter()
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        // The first event of a stream that can be taken up again has an id and no data.
        lines.iter().any(|line| !line.is_empty()).then(|| lines.join("\n"))
    };
    text.split("\n\n").filter_map(data_of).collect()
}

/// The messages of the events in a text.
fn events(text: &str) -> Vec<Value> {
    let data = data(text);
    data.iter()
        .map(|data| serde_json::from_str(data).expect("a message"))
        .collect()
}
