//! Edits of the configuration under load: what runs goes on, what is broken changes nothing.

use crate::gateway::{Folder, Gateway, call, catalogue, rpc, until};
use crate::http::Wire;
use crate::upstream::{Era, Script, Upstream};

fn upstream() -> Upstream {
    Script::with_tools(Era::Legacy, &["t", "slow"]).holds("slow").start()
}

fn lists(gateway: &Gateway, session: &str, name: &str) -> bool {
    gateway.legacy(session, "tools/list", "{}").answer().contains(name)
}

fn serves(gateway: &Gateway, session: &str, server: &str) {
    let params = format!("{{{}}}", call(&format!("x_{server}_t"), "{}"));
    let response = gateway.post(&[session], &rpc("1", "tools/call", &params));
    assert_eq!(response.result()["content"][0]["text"], "done", "{server}");
}

#[test]
fn b055_edits_of_one_server_leave_the_calls_and_the_session_of_another_alone() {
    let (a, b) = (upstream(), upstream());
    let gateway = Gateway::over("surface: direct", &[("a", a.address), ("b", b.address)]);
    let session = gateway.session();
    let params = format!("{{{}}}", call("x_a_slow", r#"{"mark":"b055"}"#));
    let mut wire = Wire::open(gateway.address);
    wire.write(&gateway.posting(&[&session], rpc("1", "tools/call", &params).as_bytes()));
    let held = a.held("b055");

    // Fifty edits in a row, each of them whole; the last one counts.
    for number in 0..50 {
        let text = format!(
            r#"{{"mcpServers": {{"a": {{"url": "http://{}/mcp"}}, "b": {{"url": "http://{}/mcp", "description": "{number}"}}}}}}"#,
            a.address, b.address
        );
        gateway.folder.write("mcp.json", &text);
    }
    until("the last edit is in force", || {
        gateway
            .core("core_config_get", "{}")
            .to_string()
            .contains(r#""description":"49""#)
    });
    serves(&gateway, &session, "b");
    serves(&gateway, &session, "a");

    // A server that is gone takes no new call, at once.
    gateway.folder.write("mcp.json", &catalogue(&[("a", a.address)]));
    until("it is gone", || !lists(&gateway, &session, "x_b_t"));
    let params = format!("{{{}}}", call("x_b_t", "{}"));
    let calls = b.seen_of("tools/call").len();
    assert_eq!(
        gateway.post(&[&session], &rpc("1", "tools/call", &params)).code(),
        -32602
    );
    assert_eq!(b.seen_of("tools/call").len(), calls);

    assert!(held.answer(r#"{"content":[{"type":"text","text":"through all of it"}]}"#));
    let response = wire.response().expect("a response");
    assert_eq!(response.result()["content"][0]["text"], "through all of it");
    assert_eq!(a.seen_of("initialize").len(), 1, "its session was never touched");
    assert!(a.seen().iter().all(|seen| seen.http_method() != "DELETE"));
    assert!(
        gateway.legacy(&session, "ping", "").result().is_object(),
        "and neither was the caller's"
    );
}

#[test]
fn b055_what_is_broken_half_written_or_gone_changes_nothing_and_says_so() {
    let a = upstream();
    let gateway = Gateway::over("surface: direct", &[("a", a.address)]);
    let session = gateway.session();
    let good = catalogue(&[("a", a.address)]);
    let ready = || {
        let host = gateway.host();
        gateway.exchange("GET /ready", &[&host], b"").json()
    };
    let says = |what: &str| {
        until(what, || ready()["configuration_error"].to_string().contains(what));
        serves(&gateway, &session, "a");
        assert_eq!(ready()["ready"], true, "it still does its work");
    };
    let before = ready()["configuration"].clone();
    for (text, what) in [
        (&good[..good.len() / 2], "mcp.json:1"),
        ("", "mcp.json:1"),
        ("\0\0\0", "mcp.json:1"),
        ("[]", "mcp.json:1"),
        (r#"{"mcpServers": {"a": {"url": 1}}}"#, "url"),
        (
            r#"{"mcpServers": {"a": {"url": "${NOT_SET_ANYWHERE}"}}}"#,
            "NOT_SET_ANYWHERE",
        ),
    ] {
        gateway.folder.write("mcp.json", text);
        says(what);
        assert_eq!(ready()["configuration"], before);
        gateway.folder.write("mcp.json", &good);
        until("it is mended", || ready()["configuration_error"].is_null());
    }
    let file = gateway.folder.dir.join("mcp.json");
    std::fs::remove_file(&file).expect("removed");
    says("was there and is gone");
    std::fs::create_dir(&file).expect("made");
    says("not a regular file");
    std::fs::remove_dir(&file).expect("removed");
    gateway.folder.write("mcp.json", &good);
    until("it is mended", || ready()["configuration_error"].is_null());
    // A file that is replaced as editors do it was never gone.
    for number in 0..20 {
        let text = good.replace("\"a\":", &format!("\"s{number}\":"));
        gateway.folder.write("mcp.json.new", &text);
        std::fs::rename(gateway.folder.dir.join("mcp.json.new"), &file).expect("renamed");
    }
    until("the last one is in force", || lists(&gateway, &session, "x_s19_t"));
    assert!(a.seen_of("initialize").len() <= 22);
    let log = gateway.log.all();
    assert!(log.matches("configuration not applied").count() <= 10, "{log}");
    // None on purpose.
    gateway.folder.write("mcp.json", "{}");
    until("there are none", || !lists(&gateway, &session, "x_s19_t"));
}

#[test]
fn b057_files_of_any_bytes_are_refused_with_their_place_and_never_end_the_program() {
    let folder = Folder::new("", "{}");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let texts: [&[u8]; 12] = [
        b"",
        b" \n\t",
        b"\xff\xfe{\x00}\x00",
        b"{\"mcpServers\": {\"a\": {\"command\": \"\xc3\"}}}",
        b"{\"mcpServers\": {\"\\ud800\": {\"command\": \"x\"}}}",
        b"{\"mcpServers\": {\"a\": {\"command\": \"x\",,}}}",
        b"{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"a\": {\"command\": \"y\"}}}",
        b"{/* never closed",
        b"{\"mcpServers\": null}",
        b"{\"mcpServers\": {\"a\": null}}",
        b"{} {}",
        deep.as_bytes(),
    ];
    for text in texts {
        std::fs::write(folder.dir.join("mcp.json"), text).expect("written");
        let output = folder.run(&["check"]);
        let shown = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{:?}: {shown}",
            String::from_utf8_lossy(text)
        );
        assert!(shown.contains("mcp.json") && !shown.contains("panicked"), "{shown}");
    }
    std::fs::write(folder.dir.join("mcp.json"), "{}").expect("written");
    for text in [
        "a: &a [*a]",
        "limits: *nothing",
        "\t- x",
        "%YAML 9",
        "a: 1\na: 2",
        "--- \n--- \n",
        "{",
        "limits: [1",
    ] {
        folder.write("countersign.yaml", text);
        let output = folder.run(&["check"]);
        let shown = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}: {shown}");
        assert!(
            shown.contains("countersign.yaml") && !shown.contains("panicked"),
            "{text}: {shown}"
        );
    }
}
