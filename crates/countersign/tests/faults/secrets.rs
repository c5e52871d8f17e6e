//! What came from a reference appears nowhere (I10), however loud the log and however talkative the server.

use crate::gateway::{Folder, Gateway, call, rpc, until};
use crate::pipes::server;
use crate::upstream::{Era, Script};

const ENV: &str = "env-credential-4711";
const ARG: &str = "arg-credential-4712";
const HEADER: &str = "header-credential-4713";
const PATH: &str = "url-credential-4714";
const FILE: &str = "file-credential-4715";
const SECRETS: [&str; 5] = [ENV, ARG, HEADER, PATH, FILE];

/// Everything that the gateway says of itself, on every road.
fn all_said(gateway: &Gateway) -> Vec<(String, String)> {
    let session = gateway.session();
    let host = gateway.host();
    let mut said = vec![("log".to_owned(), gateway.log.all())];
    let asks = [
        ("core_config_get", "{}"),
        ("core_server_list", "{}"),
        ("core_events", r#"{"limit":200}"#),
        ("list_tools", "{}"),
        ("filter_tools", r#"{"include_schema":true}"#),
        ("core_server_get", r#"{"server":"pipe"}"#),
        ("core_server_get", r#"{"server":"web"}"#),
        ("core_server_get", r#"{"server":"gone"}"#),
        ("core_server_status", r#"{"server":"pipe"}"#),
        ("core_server_status", r#"{"server":"web"}"#),
        ("core_server_status", r#"{"server":"gone"}"#),
        ("core_server_status", r#"{"server":"angry"}"#),
        ("core_server_status", r#"{"server":"nowhere"}"#),
        ("core_server_start", r#"{"server":"angry"}"#),
        ("x_gone_t", "{}"),
        ("x_angry_t", "{}"),
        ("x_nope", "{}"),
    ];
    for (tool, arguments) in asks {
        let response = gateway.post(
            &[&session],
            &rpc("1", "tools/call", &format!("{{{}}}", call(tool, arguments))),
        );
        said.push((format!("{tool} {arguments}"), response.answer()));
    }
    for target in ["GET /health", "GET /ready"] {
        said.push((
            target.to_owned(),
            gateway.exchange(target, &[&host], b"").text().to_owned(),
        ));
    }
    let mut wire = crate::http::Wire::open(gateway.metrics);
    wire.write(format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", gateway.metrics).as_bytes());
    said.push((
        "metrics".to_owned(),
        wire.response().expect("a response").text().to_owned(),
    ));
    said
}

#[test]
fn i10_secrets_in_env_args_headers_and_urls_appear_nowhere() {
    let web = Script::with_tools(Era::Legacy, &["t"]).start();
    let refusal = format!(r#"!{{"code":-32001,"message":"bad credentials: Bearer {HEADER} at /{PATH}/mcp"}}"#);
    let angry = Script::new(Era::Legacy)
        .answer("initialize", &refusal)
        .answer("server/discover", &refusal)
        .start();
    let folder = Folder::new("surface: [meta, direct]", "{}")
        .env("RUST_LOG", "trace")
        .env("S_ENV", ENV)
        .env("S_ARG", ARG)
        .env("S_HEADER", HEADER)
        .env("S_PATH", PATH);
    std::fs::write(folder.home.join("token"), format!("{FILE}\n")).expect("written");
    let home = folder.home.to_str().expect("UTF-8").to_owned();
    let pipe = server(&folder.home, "s", r#", "--token=${S_ARG}""#);
    let headers = r#""headers": {"Authorization": "Bearer ${S_HEADER}", "X-Key": "${S_HEADER}"}"#;
    folder.write(
        "mcp.json",
        &format!(
            r#"{{"mcpServers": {{
  "pipe": {{{pipe}, "env": {{"LEAKED": "${{S_ENV}} and ${{file:{home}/token}}"}}}},
  "web": {{"url": "http://{}/${{S_PATH}}/mcp", {headers}}},
  "angry": {{"url": "http://{}/${{S_PATH}}/mcp", {headers}}},
  "gone": {{"url": "http://127.0.0.1:1/${{S_PATH}}/mcp", {headers}}},
  "nowhere": {{"command": "/nonexistent/${{S_ARG}}", "args": ["${{S_ARG}}"], "env": {{"T": "${{S_ENV}}"}}}}
}}}}"#,
            web.address, angry.address
        ),
    );
    for args in [&["check"][..], &["check", "--output", "json"]] {
        let checked = folder.run(args);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned() + &String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{said}");
        nowhere(&format!("{args:?}"), &said);
    }
    let gateway = folder.serve();
    gateway.listed(2);
    assert!(
        web.seen()
            .iter()
            .any(|seen| seen.head.contains(PATH) && seen.head.contains(HEADER)),
        "the server gets them"
    );
    until("the others have failed", || {
        let list = gateway.core("core_server_list", "{}").to_string();
        list.matches("\"unavailable\"").count() >= 3
    });
    let session = gateway.session();
    let leak = format!("{{{}}}", call("x_pipe_leak", &format!(r#"{{"text":"{ARG} again"}}"#)));
    assert_eq!(
        gateway.legacy(&session, "tools/call", &leak).result()["content"][0]["text"],
        "leaked"
    );
    gateway.log.with("stderr says [secret]");
    until("what it wrote is kept", || {
        let status = gateway.core("core_server_status", r#"{"server":"pipe"}"#);
        status["stderr"].to_string().contains("stderr says")
    });
    let died = gateway.legacy(&session, "tools/call", &format!("{{{}}}", call("x_pipe_die", "{}")));
    nowhere("a call whose server died", &died.answer());
    for (place, said) in all_said(&gateway) {
        nowhere(&place, &said);
    }
    let shown = gateway.core("core_config_get", "{}").to_string();
    assert!(shown.contains("[secret]"), "{shown}");

    // A broken edit shows the file as it was written.
    let broken = std::fs::read_to_string(gateway.folder.dir.join("mcp.json")).expect("read");
    gateway
        .folder
        .write("mcp.json", &broken.replacen("\"headers\"", "\"headrs\"", 1));
    gateway.log.with("configuration not applied");
    nowhere("log after a broken edit", &gateway.log.all());
}

#[track_caller]
fn nowhere(place: &str, said: &str) {
    for secret in SECRETS {
        if let Some(at) = said.find(secret) {
            let from = said[..at].rfind('\n').map_or(0, |at| at + 1);
            let to = said[at..].find('\n').map_or(said.len(), |end| at + end);
            panic!("{place} shows {secret}: {}", &said[from..to]);
        }
    }
}

#[test]
fn i10_no_credential_of_one_server_reaches_another() {
    let one = Script::with_tools(Era::Legacy, &["t"]).start();
    let two = Script::with_tools(Era::Modern, &["t"]).start();
    let mcp = format!(
        r#"{{"mcpServers": {{"one": {{"url": "http://{}/mcp", "headers": {{"Authorization": "Bearer ${{S}}"}}}}, "two": {{"url": "http://{}/mcp"}}}}}}"#,
        one.address, two.address
    );
    let gateway = Folder::new("surface: direct", &mcp).env("S", HEADER).serve();
    gateway.listed(2);
    let session = gateway.session();
    for tool in ["x_one_t", "x_two_t"] {
        let params = format!("{{{}}}", call(tool, "{}"));
        let response = gateway.post(
            &[&session, "Authorization: Bearer of-the-caller"],
            &rpc("1", "tools/call", &params),
        );
        assert_eq!(response.result()["content"][0]["text"], "done");
    }
    assert_eq!(
        one.last_of("tools/call").headers("authorization"),
        [format!("Bearer {HEADER}")]
    );
    for seen in two.seen() {
        assert!(
            !seen.head.contains(HEADER) && seen.headers("authorization").is_empty(),
            "{}",
            seen.head
        );
    }
}

#[test]
fn i10_redirects_do_not_carry_credentials_to_another_host() {
    use std::io::{Read, Write};
    let other = Script::with_tools(Era::Legacy, &["t"]).start();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = listener.local_addr().expect("bound");
    let target = other.address;
    std::thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            // Whatever was asked, and however much of it has come.
            if socket.read(&mut [0; 4096]).is_err() {
                continue;
            }
            let answer = format!(
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{target}/mcp\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            socket.write_all(answer.as_bytes()).ok();
        }
    });
    let mcp = format!(
        r#"{{"mcpServers": {{"r": {{"url": "http://{address}/mcp", "headers": {{"Authorization": "Bearer ${{S}}"}}}}}}}}"#
    );
    let gateway = Folder::new("", &mcp).env("S", HEADER).serve();
    until("it failed", || {
        gateway.core("core_server_list", "{}").to_string().contains("redirect")
    });
    assert!(other.seen().is_empty(), "nothing follows it");
}
