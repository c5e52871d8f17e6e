//! The gateway's own client.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::running::{Folder, Running, assert_code, clocks, err, out, run, until};

#[test]
fn tools_are_listed_described_and_called_in_every_format() {
    let folder = Folder::new(&clocks(&["clock"]));
    let gateway = Running::start(folder.home.path(), &["serve", "--config", folder.path()]);
    let tool = |args: &[&str]| folder.run(&[&["tools"], args, &["--url", &gateway.url]].concat());
    until("the server is listed", || out(&tool(&["list"])).contains("x_clock_now"));

    let list: serde_json::Value = serde_json::from_str(&out(&tool(&["list", "--output", "json"]))).expect("JSON");
    assert!(
        list.as_array()
            .expect("a list")
            .iter()
            .any(|tool| tool["name"] == "x_clock_convert"),
        "{list}"
    );
    let described = tool(&["describe", "x_clock_convert"]);
    assert_code(&described, 0);
    assert!(
        out(&described).contains("time") && out(&described).contains("required"),
        "{}",
        out(&described)
    );

    let args = r#"{"time": "2026-07-28T09:30:00Z", "to": "UTC"}"#;
    let called = tool(&["call", "x_clock_convert", "--args", args]);
    assert_code(&called, 0);
    assert!(out(&called).contains("2026-07-28T09:30:00+00:00"), "{}", out(&called));
    let yaml = tool(&["call", "x_clock_convert", "--args", args, "--output", "yaml"]);
    assert!(out(&yaml).contains("structuredContent:\n"), "{}", out(&yaml));

    let failed = tool(&["call", "x_clock_convert", "--args", r#"{"time": "soon", "to": "UTC"}"#]);
    assert_code(&failed, 1);
    assert!(out(&failed).contains("`soon`"), "{}", out(&failed));
    for args in [&["call", "x_clock_nwo"][..], &["describe", "x_clock_nwo"]] {
        let unknown = tool(args);
        assert_code(&unknown, 1);
        assert!(err(&unknown).contains("x_clock_nwo"), "{}", err(&unknown));
    }
}

#[test]
fn gateway_that_is_not_there_is_named_with_the_way_out() {
    let home = tempfile::tempdir().expect("a folder");
    let port = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound")
        .port();
    let output = run(
        home.path(),
        &["tools", "list", "--url", &format!("http://127.0.0.1:{port}/mcp")],
    );
    assert_code(&output, 1);
    assert!(
        err(&output).contains("no gateway answers") && err(&output).contains("countersign serve"),
        "{}",
        err(&output)
    );
}

#[test]
fn refusal_to_let_the_client_in_exits_with_3() {
    let home = tempfile::tempdir().expect("a folder");
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("bound"));
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).expect("a request") > 0);
            write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno"
            )
            .expect("written");
        });
        let output = run(home.path(), &["tools", "list", "--url", &url]);
        assert_code(&output, 3);
        server.join().expect("served");
    }
}
