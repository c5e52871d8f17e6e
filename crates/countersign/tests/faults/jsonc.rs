//! Configuration files with comments, trailing commas, and keys that stand twice.

use crate::gateway::{Folder, until};

const GOOD: &str = r#"// the servers of this machine
{
  /* both kinds
     of comment */
  "mcpServers": { // here too
    "one": {"command": "true", "args": ["// no comment", "/* nor this */", "a,]",], "autoStart": false,},
    "two": {"url": "http://127.0.0.1:1/mcp", "autoStart": false}, // "two": {"url": "evil"}
  },
}
// the end"#;

fn checked(files: &[(&str, &str)]) -> (Option<i32>, String) {
    let folder = Folder::new("", "{}");
    for (file, text) in files {
        folder.write(file, text);
    }
    let output = folder.run(&["check"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said)
}

#[test]
fn b057_comments_and_trailing_commas_are_accepted() {
    for text in [GOOD, &GOOD.replace('\n', "\r\n"), &format!("\u{feff}{GOOD}")] {
        let (code, said) = checked(&[("mcp.json", text)]);
        assert_eq!(code, Some(0), "{said}");
    }
    let gateway = Folder::new("", GOOD).serve();
    let args = gateway.core("core_server_get", r#"{"server":"one"}"#)["connection"]["args"].clone();
    assert_eq!(args, serde_json::json!(["// no comment", "/* nor this */", "a,]"]));
}

#[test]
fn b057_a_key_that_stands_twice_is_refused_with_both_its_place_and_its_name() {
    let entry = r#"{"command": "true"}"#;
    let cases = [
        format!("{{\"mcpServers\": {{\"one\": {entry},\n\"one\": {entry}}}}}"),
        format!("{{\"mcpServers\": {{\"one\": {entry}, // first\n\"o\\u006ee\": {entry},}}}}"),
        "{\"mcpServers\": {\"one\": {\"command\": \"true\",\n\"command\": \"false\"}}}".to_owned(),
        "{\"mcpServers\": {\"one\": {\"command\": \"true\", /* x */\n\"comm\\u0061nd\": \"false\"}}}".to_owned(),
        "{\"mcpServers\": {\"one\": {\"command\": \"true\", \"env\": {\"A\": \"1\",\n\"A\": \"2\"}}}}".to_owned(),
        "{\"mcpServers\": {\"one\": {\"url\": \"http://h/mcp\", \"headers\": {\"A\": \"1\",\n\"A\": \"2\"}}}}".to_owned(),
        format!("{{\"mcpServers\": {{\"one\": {entry}}},\n\"mcpServers\": {{}}}}"),
        "{\"mcpServers\": {\"one\": {\"command\": \"true\", \"gallery\": {\"a\": 1,\n\"a\": 2}}}}".to_owned(),
        "{\"mcpServers\": {\"one\": {\"command\": \"true\", \"access\": [{\"class\": \"read\",\n\"class\": \"write\", \"tools\": [\"*\"]}]}}}".to_owned(),
    ];
    for text in &cases {
        let (code, said) = checked(&[("mcp.json", text)]);
        assert_eq!(code, Some(2), "{text}: {said}");
        assert!(said.contains("mcp.json") && said.contains(":2:"), "{text}: {said}");
        let said = said.to_lowercase();
        assert!(
            said.contains("twice") || said.contains("duplicate") || said.contains("again"),
            "{text}: {said}"
        );
    }
    let both = format!("{{\"mcpServers\": {{\"one\": {entry}}},\n\"servers\": {{\"one\": {entry}}}}}");
    assert_eq!(
        checked(&[("mcp.json", &both)]).0,
        Some(2),
        "the two spellings of one key"
    );
    let spellings =
        "{\"mcpServers\": {\"one\": {\"command\": \"true\", \"envMode\": \"clean\",\n\"env_mode\": \"inherit\"}}}";
    assert_eq!(
        checked(&[("mcp.json", spellings)]).0,
        Some(2),
        "the two spellings of one key"
    );
    let headers =
        "{\"mcpServers\": {\"one\": {\"url\": \"http://h/mcp\", \"headers\": {\"X-Key\": \"1\",\n\"x-key\": \"2\"}}}}";
    assert_eq!(checked(&[("mcp.json", headers)]).0, Some(2), "one header in two cases");
}

#[test]
fn b057_keys_of_yaml_may_not_stand_twice_either() {
    for text in [
        "surface: meta\nsurface: direct\n",
        "surface: meta\n\"surface\": direct\n",
        "limits: {sessions: 1, sessions: 2}\n",
        "limits:\n  sessions: 1\n  \"sess\\x69ons\": 2\n",
        "listen: 127.0.0.1:0\n? listen\n: 127.0.0.1:1\n",
    ] {
        let (code, said) = checked(&[("countersign.yaml", text)]);
        assert_eq!(code, Some(2), "{text}: {said}");
        assert!(said.contains("countersign.yaml"), "{said}");
    }
}

#[test]
fn b057_what_is_no_json_with_comments_is_refused_with_its_place() {
    for text in [
        "{\"mcpServers\": {}} {}",
        "{\"mcpServers\": {} /* open",
        "{\"mcpServers\": {\"a\": {\"command\": 'x'}}}",
        "{mcpServers: {}}",
        "{\"mcpServers\": {,}}",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\",, \"args\": []}}}",
        "# no comment\n{}",
        "[]",
        "\"x\"",
        "",
        "{\"mcpServers\": {\"a\": {\"command\": \"\\ud800\"}}}",
        "{\"mcpServers\": {\"a\": {\"command\": \"a\nb\"}}}",
        "{\"mcpServers\": null}",
        "{\"mcpServers\": []}",
    ] {
        let (code, said) = checked(&[("mcp.json", text)]);
        assert_eq!(code, Some(2), "{text}: {said}");
        assert!(said.contains("mcp.json"), "{text}: {said}");
    }
}

#[test]
fn b057_an_edit_that_doubles_a_key_leaves_what_was_in_force_and_says_so() {
    let gateway = Folder::new("", GOOD).serve();
    let before = gateway.core("core_config_get", "{}")["hash"].clone();
    gateway
        .folder
        .write("mcp.json", &GOOD.replacen("\"two\":", "\"one\":", 1));
    let line = gateway.log.with("configuration not applied");
    assert!(line.contains("one"), "{line}");
    assert_eq!(gateway.core("core_config_get", "{}")["hash"], before);
    let names = gateway.core("core_server_list", "{}").to_string();
    assert!(names.contains("\"two\""), "{names}");
    let host = gateway.host();
    let ready = gateway.exchange("GET /ready", &[&host], b"");
    assert_eq!(ready.status, 200, "what was in force goes on: {}", ready.text());
    // A good edit afterwards is read again and reported as what it is.
    gateway.folder.write("mcp.json", "{ // all gone\n}");
    until("it applies", || gateway.core("core_config_get", "{}")["hash"] != before);
    assert_eq!(
        gateway.core("core_server_list", "{}")["servers"]
            .as_array()
            .map(Vec::len),
        Some(0)
    );
}

#[test]
fn b057_settings_with_a_doubled_key_are_not_imported_and_nothing_is_written() {
    let folder = Folder::new("", "{}");
    let import = |text: &str, target: &str| {
        let settings = folder.home.join("settings.json");
        std::fs::write(&settings, text).expect("written");
        let mut command = folder.command(std::path::Path::new(env!("CARGO_BIN_EXE_countersign")));
        command
            .arg("import")
            .arg(&settings)
            .arg("--dir")
            .arg(folder.home.join(target));
        command.output().expect("the binary runs").status.code()
    };
    let doubled =
        "{ // mine\n\"mcpServers\": {\"one\": {\"command\": \"true\"}, \"o\\u006ee\": {\"command\": \"false\"}}}";
    assert_eq!(import(doubled, "doubled"), Some(2));
    assert!(!folder.home.join("doubled/mcp.json").exists());
    assert_eq!(import(GOOD, "good"), Some(0));
    let written = std::fs::read_to_string(folder.home.join("good/mcp.json")).expect("written");
    folder.write("mcp.json", &written);
    assert_eq!(
        folder.run(&["check"]).status.code(),
        Some(0),
        "what was written is read again: {written}"
    );
    assert_eq!(import(GOOD, "good"), Some(2), "what is there is kept");
}
