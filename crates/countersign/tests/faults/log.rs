//! A log that nobody reads any more breaks nothing else (I12).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::gateway::{BOTH, Folder, JSON, catalogue, initialize, until};
use crate::http::{Wire, request};
use crate::upstream::{Era, Script};

/// A process that does not outlive its test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn i12_a_log_that_nobody_reads_stops_neither_answers_nor_the_end() {
    let upstream = Script::with_tools(Era::Legacy, &["t"]).streams().start();
    let folder = Folder::new("surface: direct", &catalogue(&[("u", upstream.address)])).env("RUST_LOG", "trace");
    let mut command = folder.command(Path::new(env!("CARGO_BIN_EXE_countersign")));
    command.args(["serve", "--config"]).arg(&folder.dir);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = Killed(command.spawn().expect("the binary starts"));
    let child = &mut child.0;
    let log = BufReader::new(child.stderr.take().expect("piped"));
    let lines = log.lines().map_while(Result::ok);
    let address = lines
        .filter_map(|line| {
            line.split("listening on http://")
                .nth(1)?
                .strip_suffix("/mcp")?
                .parse()
                .ok()
        })
        .next()
        .expect("an address");
    // The reader is gone now, so that every line of the log fails.
    let host = format!("Host: {address}");
    let ask = |lines: &[&str], body: &str| {
        let mut wire = Wire::open(address);
        wire.write(&request("POST /mcp", lines, body.as_bytes()));
        wire.response().expect("a response")
    };
    assert_eq!(ask(&[&host, JSON, BOTH], &initialize("2025-11-25")).status, 200);
    assert_eq!(
        ask(&["Host: evil.example", JSON, BOTH], "{}").status,
        403,
        "a refusal is logged"
    );
    assert_eq!(
        ask(&[&host, JSON, BOTH, "Mcp-Session-Id: none"], &initialize("2025-11-25")).status,
        200
    );
    let session = ask(&[&host, JSON, BOTH], &initialize("2025-11-25"));
    let session = format!("Mcp-Session-Id: {}", session.header("mcp-session-id").expect("an id"));
    let list = crate::gateway::rpc("1", "tools/list", "{}");
    assert!(
        ask(&[&host, JSON, BOTH, &session], &list)
            .result()
            .to_string()
            .contains("x_u_t"),
        "the server is listed"
    );
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    until("it ends", || child.try_wait().expect("waited").is_some());
    assert!(child.wait().expect("waited").success());
}
