//! Processes under test: started with an environment of their own, watched by what they say, ended by signals.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a condition may take on a busy machine; it is no measure of anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A command in an environment where nothing of the developer's own is found.
pub(crate) fn countersign(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("NO_COLOR", "1")
        .current_dir(home);
    command
}

pub(crate) fn run(home: &Path, args: &[&str]) -> Output {
    countersign(home)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is UTF-8")
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("stderr is UTF-8")
}

#[track_caller]
pub(crate) fn assert_code(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "stdout: {}\nstderr: {}",
        out(output),
        err(output)
    );
}

/// A gateway that runs, with what it writes.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
    pub(crate) url: String,
}

impl Running {
    pub(crate) fn start(home: &Path, args: &[&str]) -> Self {
        let mut child = countersign(home)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let (sender, lines) = channel();
        let streams: [Box<dyn std::io::Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("piped")),
            Box::new(child.stderr.take().expect("piped")),
        ];
        for stream in streams {
            let sender = sender.clone();
            std::thread::spawn(move || {
                BufReader::new(stream)
                    .lines()
                    .map_while(Result::ok)
                    .try_for_each(|line| sender.send(line))
            });
        }
        let mut running = Self {
            child,
            lines,
            seen: Vec::new(),
            url: String::new(),
        };
        let line = running.line_with("countersign: listening on ");
        running.url = line.trim_start_matches("countersign: listening on ").to_owned();
        running
    }

    /// The first line, not yet taken, that holds a text.
    #[track_caller]
    pub(crate) fn line_with(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(_) => panic!("no line with `{text}` among:\n{}", self.seen.join("\n")),
            }
        }
    }

    /// The processes that this one started and that live.
    pub(crate) fn children(&self) -> Vec<u32> {
        let own = self.child.id();
        let all = fs::read_dir("/proc")
            .expect("/proc")
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        all.filter(|pid: &u32| parent(*pid) == Some(own)).collect()
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end(mut self, signal: &str) -> ExitStatus {
        let kill = Command::new("kill")
            .args([&format!("-{signal}"), &self.child.id().to_string()])
            .status();
        assert!(kill.expect("kill runs").success());
        self.child.wait().expect("the process ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `end` there is nothing to kill any more, and that is fine.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The parent of a process that lives; a zombie does not.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.next()?.parse().ok())?
}

pub(crate) fn lives(pid: u32) -> bool {
    parent(pid).is_some()
}

/// Whether a process is the one that ends the servers of a killed gateway.
pub(crate) fn is_warden(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0warden\0"))
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// A configuration folder in a home of its own, served on free ports.
pub(crate) struct Folder {
    pub(crate) home: tempfile::TempDir,
    pub(crate) dir: PathBuf,
}

impl Folder {
    pub(crate) fn new(mcp_json: &str) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let dir = home.path().join("conf");
        fs::create_dir(&dir).expect("made");
        let folder = Self { home, dir };
        folder.write(
            "countersign.yaml",
            "listen: 127.0.0.1:0\nmetrics: {listen: \"127.0.0.1:0\"}\nsurface: direct\n",
        );
        folder.write("mcp.json", mcp_json);
        folder
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::write(self.dir.join(file), text).expect("written");
    }

    pub(crate) fn path(&self) -> &str {
        self.dir.to_str().expect("UTF-8")
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        run(self.home.path(), args)
    }
}

/// A catalogue with the clock under some names.
pub(crate) fn clocks(names: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_countersign");
    let entries: Vec<String> = names
        .iter()
        .map(|name| format!(r#""{name}": {{"command": "{program}", "args": ["sample", "clock"]}}"#))
        .collect();
    format!(r#"{{"mcpServers": {{{}}}}}"#, entries.join(", "))
}
