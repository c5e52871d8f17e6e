//! A small server over pipes in Python, and the gateway over pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::gateway::{Folder, Lines, initialize};

/// Writes its environment, arguments and every line that it gets into files beside itself; what it answers
/// depends on the tool.
const SERVER: &str = r#"
import json, os, sys
place = os.path.dirname(os.path.abspath(__file__))
name = sys.argv[1]
with open(os.path.join(place, name + ".start.json.new"), "w", encoding="utf-8") as start:
    json.dump({"args": sys.argv[2:], "env": dict(os.environ), "cwd": os.getcwd()}, start)
os.rename(os.path.join(place, name + ".start.json.new"), os.path.join(place, name + ".start.json"))
lines = open(os.path.join(place, name + ".lines"), "ab", 0)
out = sys.stdout.buffer

def say(data):
    for at in range(len(data)):
        out.write(data[at:at + 1])
        out.flush()
    out.write(b"\n")
    out.flush()

def answer(id, result):
    say(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}, ensure_ascii=False).encode("utf-8", "surrogatepass"))

tools = [{"name": name, "inputSchema": {"type": "object"}} for name in
         ("echo", "latin", "broken", "cut", "surrogate", "leak", "die")]
for line in sys.stdin.buffer:
    lines.write(line)
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if id is None:
        continue
    if method == "initialize":
        answer(id, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
    elif method == "tools/list":
        answer(id, {"tools": tools})
    elif method == "tools/call":
        tool, arguments = message["params"]["name"], message["params"]["arguments"]
        if tool == "echo":
            answer(id, {"content": [], "structuredContent": arguments})
        elif tool == "latin":
            say(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xe9\xff"}]}}' % id)
        elif tool == "broken":
            say(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a"}],"n":1e}}' % id)
        elif tool == "cut":
            say(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[' % id)
        elif tool == "surrogate":
            say(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"t":"\\ud800"}}}' % id)
        elif tool == "leak":
            for text in (os.environ.get("LEAKED", ""), arguments.get("text", "")):
                sys.stderr.write("stderr says " + text + "\n")
                sys.stderr.flush()
                say(("stdout says " + text).encode())
            answer(id, {"content": [{"type": "text", "text": "leaked"}]})
        elif tool == "die":
            sys.stderr.write("dying with " + os.environ.get("LEAKED", "") + "\n")
            sys.exit(3)
    else:
        say(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}).encode())
"#;

/// The interpreter itself: a wrapper by its name may add to the environment.
pub(crate) static PYTHON: LazyLock<String> = LazyLock::new(|| {
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable, end='')"])
        .output();
    String::from_utf8(output.expect("python3 runs").stdout).expect("UTF-8")
});

/// Writes the server into a folder; the text is the entry's command and arguments.
pub(crate) fn server(folder: &Path, name: &str, more: &str) -> String {
    std::fs::write(folder.join("server.py"), SERVER).expect("written");
    let script = folder.join("server.py");
    let script = script.to_str().expect("UTF-8");
    let python = &*PYTHON;
    format!(r#""command": "{python}", "args": ["-I", "{script}", "{name}"{more}]"#)
}

/// What the server was started with, once it was.
pub(crate) fn start_of(folder: &Path, name: &str) -> Value {
    let path = folder.join(format!("{name}.start.json"));
    let text = std::fs::read_to_string(path).expect("the server wrote it");
    serde_json::from_str(&text).expect("JSON")
}

/// The lines that the server got.
pub(crate) fn lines_of(folder: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(format!("{name}.lines"))).expect("the server wrote it");
    text.lines().map(str::to_owned).collect()
}

/// `countersign stdio` with a session.
pub(crate) struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    pub(crate) log: Arc<Lines>,
}

impl Pipe {
    pub(crate) fn open(folder: &Folder) -> Self {
        let mut command = folder.command(Path::new(env!("CARGO_BIN_EXE_countersign")));
        command.args(["stdio", "--config"]).arg(&folder.dir);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let log = Arc::<Lines>::default();
        log.follow(child.stderr.take().expect("piped"));
        let mut pipe = Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().expect("piped")),
            child,
            log,
        };
        assert_eq!(
            pipe.ask(initialize("2025-11-25").as_bytes())["result"]["protocolVersion"],
            "2025-11-25"
        );
        pipe
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(bytes).expect("written");
        stdin.flush().expect("flushed");
    }

    /// Sends one line, one byte at a time, and reads the next answer.
    pub(crate) fn ask(&mut self, line: &[u8]) -> Value {
        for byte in line {
            self.write(&[*byte]);
        }
        self.write(b"\n");
        self.answer()
    }

    /// The next message that is an answer.
    pub(crate) fn answer(&mut self) -> Value {
        let text = self.answer_text();
        serde_json::from_str(&text).expect("a message")
    }

    /// Waits for a notification.
    pub(crate) fn said(&mut self, method: &str) {
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).expect("UTF-8");
            assert!(read > 0, "the output ended: {}", self.log.all());
            if line.contains(method) {
                return;
            }
        }
    }

    /// The next answer as it was written.
    pub(crate) fn answer_text(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.stdout.read_line(&mut line).expect("UTF-8") > 0,
                "the output ended: {}",
                self.log.all()
            );
            if line.contains("\"id\"") {
                return line.trim_end().to_owned();
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.child.wait().ok();
    }
}
