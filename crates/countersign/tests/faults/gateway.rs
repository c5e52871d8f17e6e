//! The real binary as a gateway over HTTP, and everything that it writes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use serde_json::Value;

use crate::http::{PATIENCE, Response, Wire, request};

/// Ends the gateway and removes its folder when the test process closes its end of the pipe, however it ends: gateways
/// that a whole module shares are never dropped.
const WATCH: &str = r#"
"$@" & child=$!
cat > /dev/null
exec > /dev/null 2>&1
kill -TERM $child
tries=0
while kill -0 $child && [ $tries -lt 300 ]; do tries=$((tries + 1)); sleep 0.1; done
kill -KILL $child
wait $child
rm -rf "$FOLDER"
"#;

pub(crate) const JSON: &str = "Content-Type: application/json";
pub(crate) const BOTH: &str = "Accept: application/json, text/event-stream";
pub(crate) const MODERN: &str = "MCP-Protocol-Version: 2026-07-28";

/// A configuration folder in a home of its own.
pub(crate) struct Folder {
    pub(crate) home: PathBuf,
    pub(crate) dir: PathBuf,
    pub(crate) env: Vec<(String, String)>,
    metrics: u16,
}

impl Folder {
    /// A folder whose `countersign.yaml` has some more keys.
    pub(crate) fn new(yaml: &str, mcp: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("countersign-faults-{}-{number}", std::process::id()));
        let dir = home.join("conf");
        fs::create_dir_all(&dir).expect("made");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let metrics = free.local_addr().expect("bound").port();
        let folder = Self {
            home,
            dir,
            env: Vec::new(),
            metrics,
        };
        let mut keys = format!("store: {{type: memory}}\nmetrics: {{listen: \"127.0.0.1:{metrics}\"}}\n{yaml}\n");
        if !yaml.contains("listen: ") {
            keys.push_str("listen: 127.0.0.1:0\n");
        }
        folder.write("countersign.yaml", &keys);
        folder.write("mcp.json", mcp);
        folder
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::write(self.dir.join(file), text).expect("written");
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The binary in an environment where nothing of the developer's own is found.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("NO_COLOR", "1")
            .env("FOLDER", &self.home)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.home);
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_countersign")));
        command.args(args).arg("--config").arg(&self.dir).stdin(Stdio::null());
        command.output().expect("the binary runs")
    }

    /// Serves it over HTTP.
    pub(crate) fn serve(self) -> Gateway {
        Gateway::start(self)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.home).ok();
    }
}

/// What a process wrote, line by line.
#[derive(Default)]
pub(crate) struct Lines {
    lines: Mutex<Vec<String>>,
    came: Condvar,
}

impl Lines {
    /// Reads a stream to its end in a thread of its own.
    pub(crate) fn follow(self: &Arc<Self>, stream: impl std::io::Read + Send + 'static) {
        let lines = Arc::clone(self);
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                lines.lines.lock().expect("no panic").push(line);
                lines.came.notify_all();
            }
        });
    }

    /// Waits for the first line that holds a text.
    #[track_caller]
    pub(crate) fn with(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut lines = self.lines.lock().expect("no panic");
        loop {
            if let Some(line) = lines.iter().find(|line| line.contains(text)) {
                return line.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no line with `{text}` among:\n{}", lines.join("\n"));
            lines = self.came.wait_timeout(lines, left).expect("no panic").0;
        }
    }

    pub(crate) fn all(&self) -> String {
        self.lines.lock().expect("no panic").join("\n")
    }
}

/// A gateway that runs.
pub(crate) struct Gateway {
    watch: Child,
    pub(crate) folder: Folder,
    pub(crate) address: SocketAddr,
    pub(crate) metrics: SocketAddr,
    pub(crate) log: Arc<Lines>,
}

impl Gateway {
    fn start(folder: Folder) -> Self {
        let mut watch = folder.command(Path::new("/bin/sh"));
        watch.args([
            "-c",
            WATCH,
            "sh",
            env!("CARGO_BIN_EXE_countersign"),
            "serve",
            "--config",
        ]);
        watch
            .arg(&folder.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut watch = watch.spawn().expect("the shell starts");
        let log = Arc::<Lines>::default();
        log.follow(watch.stdout.take().expect("piped"));
        log.follow(watch.stderr.take().expect("piped"));
        let line = log.with("countersign: listening on ");
        let address = line.split("http://").nth(1).and_then(|rest| rest.strip_suffix("/mcp"));
        let metrics = SocketAddr::from(([127, 0, 0, 1], folder.metrics));
        Self {
            watch,
            address: address.and_then(|address| address.parse().ok()).expect("an address"),
            metrics,
            folder,
            log,
        }
    }

    /// A gateway that has listed these HTTP servers.
    pub(crate) fn over(yaml: &str, servers: &[(&str, SocketAddr)]) -> Self {
        let gateway = Folder::new(yaml, &catalogue(servers)).serve();
        gateway.listed(servers.len());
        gateway
    }

    /// Waits until so many servers are connected and listed.
    pub(crate) fn listed(&self, servers: usize) {
        until("the servers are listed", || {
            let listed = self.core("core_server_list", "{}");
            let servers_listed = listed["servers"].as_array().expect("servers");
            servers_listed
                .iter()
                .filter(|server| server["state"] == "ready")
                .count()
                >= servers
        });
    }

    pub(crate) fn host(&self) -> String {
        format!("Host: {}", self.address)
    }

    /// One request, exactly these bytes, on a connection of its own.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Response {
        let mut wire = Wire::open(self.address);
        wire.write(bytes);
        wire.response()
            .unwrap_or_else(|| panic!("no response to {}", String::from_utf8_lossy(bytes)))
    }

    /// One request with exactly these header lines.
    pub(crate) fn exchange(&self, target: &str, lines: &[&str], body: &[u8]) -> Response {
        self.raw(&request(target, lines, body))
    }

    /// The bytes of `POST /mcp` with the usual headers and some more.
    pub(crate) fn posting(&self, more: &[&str], body: &[u8]) -> Vec<u8> {
        let host = self.host();
        let mut lines = vec![host.as_str(), JSON, BOTH];
        lines.extend(more);
        request("POST /mcp", &lines, body)
    }

    /// `POST /mcp` with the usual headers and some more.
    pub(crate) fn post(&self, more: &[&str], body: &str) -> Response {
        self.raw(&self.posting(more, body.as_bytes()))
    }

    /// A session of the newest version that has them, as its header line.
    pub(crate) fn session(&self) -> String {
        self.session_of("2025-11-25")
    }

    pub(crate) fn session_of(&self, version: &str) -> String {
        let response = self.post(&[], &initialize(version));
        assert_eq!(response.status, 200, "{response:?}");
        format!(
            "Mcp-Session-Id: {}",
            response.header("mcp-session-id").expect("a session id")
        )
    }

    /// One request in a session.
    pub(crate) fn legacy(&self, session: &str, method: &str, params: &str) -> Response {
        self.post(&[session], &rpc("7", method, params))
    }

    /// One modern request; `params` are the members besides `_meta`.
    pub(crate) fn modern(&self, method: &str, name: Option<&str>, params: &str) -> Response {
        let mut lines = vec![MODERN.to_owned(), format!("Mcp-Method: {method}")];
        lines.extend(name.map(|name| format!("Mcp-Name: {name}")));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.post(&lines, &modern(method, params))
    }

    /// The structured content of a core tool's answer.
    #[track_caller]
    pub(crate) fn core(&self, tool: &str, arguments: &str) -> Value {
        let response = self.modern("tools/call", Some(tool), &call(tool, arguments));
        let result = response.result();
        assert!(result.get("isError").is_none(), "{result}");
        result["structuredContent"].clone()
    }

    /// How much memory its process holds, in bytes.
    pub(crate) fn resident(&self) -> usize {
        let of = |id: u32, file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
        let shell = self.watch.id();
        let children = of(shell, &format!("task/{shell}/children"));
        let gateway = children
            .split_whitespace()
            .filter_map(|id| id.parse().ok())
            .find(|id| of(*id, "cmdline").contains("countersign"));
        let status = of(gateway.expect("the gateway runs"), "status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: Option<usize> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        kib.expect("a size") * 1024
    }

    /// The newest entries of the trail, newest first or not as the gateway has it.
    pub(crate) fn trail(&self) -> Vec<Value> {
        self.core("core_events", r#"{"limit":200}"#)["events"]
            .as_array()
            .cloned()
            .expect("events")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        self.watch.wait().ok();
    }
}

/// `mcp.json` with some HTTP servers.
pub(crate) fn catalogue(servers: &[(&str, SocketAddr)]) -> String {
    let entries: Vec<String> = servers
        .iter()
        .map(|(name, address)| format!(r#""{name}": {{"url": "http://{address}/mcp"}}"#))
        .collect();
    format!(r#"{{"mcpServers": {{{}}}}}"#, entries.join(", "))
}

pub(crate) fn initialize(version: &str) -> String {
    let params =
        format!(r#"{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}"#);
    rpc("0", "initialize", &params)
}

/// A request; `params` is an object, or empty for none.
pub(crate) fn rpc(id: &str, method: &str, params: &str) -> String {
    if params.is_empty() {
        return format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A modern request; `params` are the members besides `_meta`.
pub(crate) fn modern(method: &str, params: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let comma = if params.is_empty() { "" } else { "," };
    rpc("\"m-1\"", method, &format!("{{{params}{comma}{meta}}}"))
}

/// The members `name` and `arguments`.
pub(crate) fn call(name: &str, arguments: &str) -> String {
    format!(r#""name":"{name}","arguments":{arguments}"#)
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
}
