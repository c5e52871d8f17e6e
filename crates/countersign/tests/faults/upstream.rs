//! A scripted MCP server over HTTP that keeps every byte it gets.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use serde_json::value::RawValue;

use crate::http::{PATIENCE, at, member};

/// Which era it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// What it does.
pub(crate) struct Script {
    era: Era,
    /// Results by method, and by `tools/call <name>`; a text that begins with `!` is an error.
    answers: BTreeMap<String, String>,
    streams: bool,
    exact_accept: bool,
    events: bool,
    dribbles: bool,
    head: &'static str,
    /// Tools whose calls the test answers itself.
    held: Vec<String>,
}

impl Script {
    pub(crate) fn new(era: Era) -> Self {
        Self {
            era,
            answers: BTreeMap::new(),
            streams: false,
            exact_accept: false,
            events: false,
            dribbles: false,
            head: "",
            held: Vec::new(),
        }
    }

    /// A server with some tools without parameters worth naming.
    pub(crate) fn with_tools(era: Era, names: &[&str]) -> Self {
        let tools: Vec<String> = names
            .iter()
            .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#))
            .collect();
        Self::new(era).answer("tools/list", &format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
    }

    /// Answers a method, or `tools/call <name>`, with a result; `!` before it makes it an error.
    pub(crate) fn answer(mut self, to: &str, result: &str) -> Self {
        self.answers.insert(to.to_owned(), result.to_owned());
        self
    }

    /// Offers a GET stream.
    pub(crate) fn streams(mut self) -> Self {
        self.streams = true;
        self
    }

    /// Refuses any `Accept` but the one of the protocol.
    pub(crate) fn exact_accept(mut self) -> Self {
        self.exact_accept = true;
        self
    }

    /// Answers with event streams.
    pub(crate) fn events(mut self) -> Self {
        self.events = true;
        self
    }

    /// Writes its answers byte by byte.
    pub(crate) fn dribbles(mut self) -> Self {
        self.dribbles = true;
        self
    }

    /// Sends some more header lines with every answer.
    pub(crate) fn head(mut self, lines: &'static str) -> Self {
        self.head = lines;
        self
    }

    /// Leaves the calls of a tool to the test, as streams of events.
    pub(crate) fn holds(mut self, tool: &str) -> Self {
        self.held.push(tool.to_owned());
        self
    }

    pub(crate) fn start(self) -> Upstream {
        self.start_at(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    pub(crate) fn start_at(self, address: SocketAddr) -> Upstream {
        let listener = TcpListener::bind(address).expect("binds");
        let address = listener.local_addr().expect("bound");
        let state = Arc::new(State {
            script: self,
            answers: Mutex::default(),
            seen: Mutex::default(),
            came: Condvar::new(),
            streams: Mutex::default(),
            held: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || state.serve(socket));
            }
        });
        Upstream { address, state }
    }
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The request line and header lines, byte for byte.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn http_method(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    /// All values of a header.
    pub(crate) fn headers(&self, name: &str) -> Vec<&str> {
        let pairs = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        pairs
            .filter(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    }

    /// The names of all headers, lower case.
    pub(crate) fn header_names(&self) -> Vec<String> {
        let pairs = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        pairs.map(|(name, _)| name.to_ascii_lowercase()).collect()
    }

    /// The JSON-RPC method.
    pub(crate) fn method(&self) -> String {
        let body: BTreeMap<String, &RawValue> = serde_json::from_str(&self.body).unwrap_or_default();
        body.get("method")
            .map_or("", |method| method.get().trim_matches('"'))
            .to_owned()
    }

    /// A member of `params`, byte for byte.
    pub(crate) fn param(&self, path: &[&str]) -> String {
        at(&member(&self.body, "params"), path)
    }
}

struct State {
    script: Script,
    answers: Mutex<BTreeMap<String, String>>,
    seen: Mutex<Vec<Seen>>,
    came: Condvar,
    streams: Mutex<Vec<TcpStream>>,
    held: Mutex<Vec<Held>>,
}

/// A call that waits for what the test says.
pub(crate) struct Held {
    pub(crate) seen: Seen,
    socket: TcpStream,
}

impl Held {
    /// The id that the gateway gave it, raw.
    pub(crate) fn id(&self) -> String {
        member(&self.seen.body, "id")
    }

    /// Writes one event; says whether anybody takes it.
    pub(crate) fn say(&mut self, message: &str) -> bool {
        write!(self.socket, "data: {message}\n\n").is_ok()
    }

    /// Says how far it is, with the token that it was given.
    pub(crate) fn progress(&mut self, done: usize) -> bool {
        let token = self.seen.param(&["_meta", "progressToken"]);
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{done}}}}}"#
        ))
    }

    /// Answers it with a result, and ends its stream.
    pub(crate) fn answer(mut self, result: &str) -> bool {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id());
        self.say(&answer)
    }
}

/// A server that runs as long as the test process.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

impl Upstream {
    /// Everything that came so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("no panic").clone()
    }

    /// The requests of a method that came so far.
    pub(crate) fn seen_of(&self, method: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.method() == method).collect()
    }

    /// The last request of a method.
    #[track_caller]
    pub(crate) fn last_of(&self, method: &str) -> Seen {
        self.seen_of(method)
            .pop()
            .unwrap_or_else(|| panic!("no `{method}` came"))
    }

    /// Waits until a request has come.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is: impl Fn(&Seen) -> bool) -> Seen {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = self.state.seen.lock().expect("no panic");
        loop {
            if let Some(found) = seen.iter().find(|seen| is(seen)) {
                return found.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never came: {what}");
            seen = self.state.came.wait_timeout(seen, left).expect("no panic").0;
        }
    }

    /// Waits for a held call whose body holds a text, and takes it over.
    #[track_caller]
    pub(crate) fn held(&self, text: &str) -> Held {
        let deadline = Instant::now() + PATIENCE;
        let mut held = self.state.held.lock().expect("no panic");
        loop {
            if let Some(at) = held.iter().position(|held| held.seen.body.contains(text)) {
                return held.remove(at);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no call with `{text}` came");
            held = self.state.came.wait_timeout(held, left).expect("no panic").0;
        }
    }

    /// Answers otherwise from now on.
    pub(crate) fn change(&self, to: &str, result: &str) {
        self.state
            .answers
            .lock()
            .expect("no panic")
            .insert(to.to_owned(), result.to_owned());
    }

    /// Says something on every open GET stream.
    pub(crate) fn push(&self, message: &str) {
        for stream in self.state.streams.lock().expect("no panic").iter_mut() {
            write!(stream, "data: {message}\n\n").expect("written");
        }
    }
}

impl State {
    fn serve(&self, mut socket: TcpStream) {
        socket.set_nodelay(true).ok();
        let mut reader = BufReader::new(socket.try_clone().expect("cloned"));
        while let Some(seen) = read(&mut reader) {
            let is_get = seen.http_method() == "GET";
            let is_call = seen.method() == "tools/call";
            if is_call
                && self
                    .script
                    .held
                    .iter()
                    .any(|tool| seen.param(&["name"]).trim_matches('"') == tool)
            {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                socket.write_all(head.as_bytes()).ok();
                self.seen.lock().expect("no panic").push(seen.clone());
                self.held.lock().expect("no panic").push(Held { seen, socket });
                self.came.notify_all();
                return;
            }
            let answer = if is_get { None } else { self.answer(&seen) };
            // Before the answer, so that whoever has the answer finds it here.
            self.seen.lock().expect("no panic").push(seen);
            self.came.notify_all();
            if is_get && self.script.streams {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                socket.write_all(head.as_bytes()).ok();
                self.streams.lock().expect("no panic").push(socket);
                return;
            }
            let answer = answer.unwrap_or_else(|| {
                "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST, DELETE\r\nContent-Length: 0\r\n\r\n".to_owned()
            });
            let written = if self.script.dribbles {
                answer.as_bytes().iter().try_for_each(|byte| socket.write_all(&[*byte]))
            } else {
                socket.write_all(answer.as_bytes())
            };
            if written.is_err() {
                return;
            }
        }
    }

    fn answer(&self, seen: &Seen) -> Option<String> {
        let whole = |status: &str, more: &str, body: &str| {
            Some(format!(
                "HTTP/1.1 {status}\r\n{more}{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                self.script.head,
                body.len()
            ))
        };
        if seen.http_method() != "POST" {
            return whole("200 OK", "", "");
        }
        if self.script.exact_accept && seen.headers("accept") != ["application/json, text/event-stream"] {
            return whole("406 Not Acceptable", "", "");
        }
        let envelope: BTreeMap<String, &RawValue> = serde_json::from_str(&seen.body).expect("a message");
        let Some(id) = envelope.get("id") else {
            return whole("202 Accepted", "", "");
        };
        let method = seen.method();
        let result = self.result(&method, seen);
        let body = match result.strip_prefix('!') {
            Some(error) => format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.get()),
            None => format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get()),
        };
        if self.script.events {
            let lines: Vec<String> = body.split('\n').map(|line| format!("data: {line}\n")).collect();
            let body = format!("{}\n", lines.concat());
            return Some(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
        let session = if method == "initialize" {
            "Mcp-Session-Id: upstream-session-1\r\n"
        } else {
            ""
        };
        whole("200 OK", session, &body)
    }

    fn result(&self, method: &str, seen: &Seen) -> String {
        let key = match method {
            "tools/call" => format!("tools/call {}", seen.param(&["name"]).trim_matches('"')),
            _ => method.to_owned(),
        };
        let changed = self.answers.lock().expect("no panic").get(&key).cloned();
        if let Some(answer) = changed.or_else(|| self.script.answers.get(&key).cloned()) {
            return answer;
        }
        let capabilities = r#"{"tools":{},"prompts":{},"resources":{}}"#;
        match (method, self.script.era) {
            ("initialize", Era::Legacy) => {
                let capabilities = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{}}"#;
                format!(
                    r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"serverInfo":{{"name":"u","version":"1"}}}}"#
                )
            }
            ("server/discover", Era::Modern) => format!(
                r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"private"}}"#
            ),
            ("tools/list", _) => r#"{"tools":[]}"#.to_owned(),
            ("prompts/list", _) => r#"{"prompts":[]}"#.to_owned(),
            ("resources/list", _) => r#"{"resources":[]}"#.to_owned(),
            ("resources/templates/list", _) => r#"{"resourceTemplates":[]}"#.to_owned(),
            ("tools/call", _) => r#"{"content":[{"type":"text","text":"done"}]}"#.to_owned(),
            _ => r#"!{"code":-32601,"message":"no such method"}"#.to_owned(),
        }
    }
}

/// The next request of a connection.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head.get(before..) == Some("\r\n") {
            break;
        }
    }
    let seen = Seen {
        head,
        body: String::new(),
    };
    let length = seen
        .headers("content-length")
        .first()
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        body: String::from_utf8(body).expect("the gateway sends UTF-8"),
        ..seen
    })
}
