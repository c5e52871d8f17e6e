//! `explain` and `access` with the real binary and real servers.

use std::fs;
use std::process::Output;

use expect_test::expect;
use serde_json::{Value, json};

use crate::running::{Folder, assert_code, err, out};

const GATEWAY: &str = r#"listen: 127.0.0.1:0
metrics: {listen: "127.0.0.1:0"}
toolsetPresets:
  times:
    description: Everything that tells the time
    include:
      - label: kind=time
  safe:
    include:
      - preset: times
      - pattern: x_notes_*
    exclude:
      - pattern: "*_delete_note"
  broken:
    include:
      - pattern: mcp__*
"#;

const IDENTITIES: &str = r#"keys:
  - name: ci
    key_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    subject: builder
    roles: [ops]
    toolset: [preset:safe]
  - name: odd
    key_sha256: 60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752
    subject: twice
  - name: lost
    key_sha256: fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13
    subject: twice
issuers:
  - {issuer: "https://idp.example.com", audience: countersign}
"#;

/// Notes, whose hints are not trusted; a family of two clocks, whose hints are; one that waits for a sign-in.
fn folder() -> Folder {
    let program = json!(env!("CARGO_BIN_EXE_countersign"));
    let folder = Folder::new("{}");
    let notes = json!(folder.dir.join("notes.json"));
    let clock = |name: &str| {
        format!(
            "    \"{name}\": {{\n      \"command\": {program}, \"args\": [\"sample\", \"clock\"],\n      \
             \"family\": {{\"name\": \"clocks\", \"instanceArg\": \"city\"}},\n      \
             \"labels\": {{\"kind\": \"time\"}},\n      \"trustAnnotations\": true\n    }}"
        )
    };
    let catalogue = format!(
        "{{\n  \"mcpServers\": {{\n    \"notes\": {{\n      \"command\": {program},\n      \
         \"args\": [\"sample\", \"notes\", \"--file\", {notes}],\n      \"env\": {{\"KEY\": \"${{NOTES_KEY:-s3cret-value}}\"}}\n    }},\n\
         {},\n{},\n    \"chat\": {{\"url\": \"http://127.0.0.1:9/mcp\", \"auth\": \"oauth\"}},\n    \
         \"off\": {{\"command\": {program}, \"suspended\": true}}\n  }}\n}}\n",
        clock("berlin"),
        clock("tokyo"),
    );
    folder.write("mcp.json", &catalogue);
    folder.write("countersign.yaml", GATEWAY);
    folder.write("identities.yaml", IDENTITIES);
    folder
}

fn explain(folder: &Folder, args: &[&str]) -> Output {
    let args = [&["explain", "--config", folder.path()], args].concat();
    folder.run(&args)
}

/// What is said on stderr, without the line ends that fit it to a terminal.
fn unwrapped(output: &Output) -> String {
    err(output).split_whitespace().collect()
}

fn report(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
}

/// `stage answer (place)` of every stage, and of the toolsets what each says.
fn stages(report: &Value) -> String {
    let place = |at: &Value| {
        if at.is_null() {
            return String::new();
        }
        format!(
            " ({}:{} {})",
            at["file"].as_str().expect("a file"),
            at["line"],
            at["path"].as_str().expect("a path")
        )
    };
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut lines = Vec::new();
    for stage in report["stages"].as_array().expect("stages") {
        lines.push(format!(
            "{} {}{}",
            text(&stage["stage"]),
            text(&stage["answer"]),
            place(&stage["from"])
        ));
        for layer in stage["toolsets"].as_array().into_iter().flatten() {
            lines.push(format!(
                "  {} {}: {} {}{}",
                text(&layer["origin"]),
                layer["toolset"],
                text(&layer["answer"]),
                text(&layer["selector"]),
                place(&layer["from"])
            ));
            for rule in layer["rules"].as_array().expect("rules") {
                lines.push(format!(
                    "    {} {}{}",
                    text(&rule["preset"]),
                    text(&rule["rule"]),
                    place(&rule["from"])
                ));
            }
        }
    }
    let refusal = &report["refusal"];
    if refusal.is_null() {
        lines.push(format!("runs: {}", report["sends"]));
    } else {
        lines.push(format!("{}: {}", text(&refusal["code"]), text(&refusal["sentence"])));
    }
    lines.join("\n")
}

#[test]
fn a_call_that_would_run_is_explained_to_the_line_and_nothing_is_done() {
    let folder = folder();
    let add = r#"{"title": "s3cret-value", "text": "b", "n": 1.0, "api_key": "k"}"#;
    let output = explain(
        &folder,
        &["--as", "ci", "x_notes_add_note", "--args", add, "--output", "json"],
    );
    assert_code(&output, 0);
    let told = report(&output);
    expect![[r#"
        view visible (mcp.json:3 mcpServers.notes)
        toolset within
          key ["preset:safe"]: selects preset:safe (identities.yaml:6 keys[0].toolset)
            safe pattern: x_notes_* (countersign.yaml:11 toolsetPresets.safe.include[1])
        rights allowed
        pin off
        effect mutating (mcp.json:3 mcpServers.notes)
        policies none
        gate runs
        runs: {"arguments":{"api_key":"[redacted]","n":1.0,"text":"b","title":"[secret]"},"server":"notes","tool":"add_note"}"#]]
    .assert_eq(&stages(&told));
    expect![[r#"{"authentication":"key","connection":"ci","from":{"column":5,"file":"identities.yaml","line":2,"path":"keys[0]"},"name":"ci","plan":null,"roles":["ops"],"subject":"builder"}"#]]
        .assert_eq(&told["as"].to_string());
    assert_eq!(told["runs"], true);

    // The member of a family, by subject, within a toolset of the request.
    let tokyo = explain(
        &folder,
        &[
            "--as",
            "builder",
            "--toolset",
            "preset:times, tool:x",
            "x_clocks_now",
            "--args",
            r#"{"city":"tokyo"}"#,
            "--output",
            "json",
        ],
    );
    assert_code(&tokyo, 0);
    expect![[r#"
        view visible (mcp.json:14 mcpServers.tokyo)
        toolset within
          key ["preset:safe"]: selects preset:safe (identities.yaml:6 keys[0].toolset)
            safe preset: times (countersign.yaml:10 toolsetPresets.safe.include[0])
            times label: kind=time (countersign.yaml:7 toolsetPresets.times.include[0])
          header ["preset:times","tool:x"]: selects preset:times
            times label: kind=time (countersign.yaml:7 toolsetPresets.times.include[0])
        rights allowed
        pin off
        effect read_only (mcp.json:18 mcpServers.tokyo.trustAnnotations)
        policies none
        gate runs
        runs: {"arguments":{},"server":"tokyo","tool":"now"}"#]]
    .assert_eq(&stages(&report(&tokyo)));

    let core = explain(&folder, &["--as", "local", "core_server_list"]);
    assert_code(&core, 0);
    let text = out(&core);
    assert!(text.contains("one of the gateway's own tools"), "{text}");
    assert!(
        text.contains("Would run: `core_server_list` in the gateway itself"),
        "{text}"
    );

    // No call was made, and nothing was written down.
    assert!(!folder.dir.join("notes.json").exists());
    assert!(!folder.dir.join("state.db").exists());
}

#[test]
fn every_refusal_of_the_toolset_stage_is_explained() {
    let folder = folder();
    let city = r#"{"city":"berlin"}"#;
    let cases: [&[&str]; 6] = [
        &["--as", "ci", "x_notes_delete_note"],
        &[
            "--as",
            "ci",
            "--toolset",
            "server:tokyo",
            "x_clocks_now",
            "--args",
            city,
        ],
        &["--as", "ci", "--toolset", "server:tokyo", "x_notes_add_note"],
        &["--as", "ci", "--toolset", "server:chat", "x_chat_post"],
        &["--as", "ci", "--toolset", "label:x", "x_notes_add_note"],
        &["--as", "local", "--toolset", "preset:nope", "x_nothing"],
    ];
    let told: Vec<String> = cases
        .iter()
        .map(|args| {
            let output = explain(&folder, &[args, &["--output", "json"][..]].concat());
            assert_code(&output, 1);
            let told = stages(&report(&output));
            let later =
                "\nrights not_reached\npin not_reached\neffect not_reached\npolicies not_reached\ngate not_reached";
            assert!(told.contains(later), "{told}");
            told.replace(later, "")
        })
        .collect();
    expect![[r#"
        view visible (mcp.json:3 mcpServers.notes)
        toolset outside_toolset
          key ["preset:safe"]: leaves_out preset:safe (identities.yaml:6 keys[0].toolset)
            safe pattern: *_delete_note (countersign.yaml:13 toolsetPresets.safe.exclude[0])
        outside_toolset: tool "x_notes_delete_note" is outside the toolset [preset:safe] bound to the session

        view visible (mcp.json:8 mcpServers.berlin)
        toolset outside_toolset
          key ["preset:safe"]: selects preset:safe (identities.yaml:6 keys[0].toolset)
            safe preset: times (countersign.yaml:10 toolsetPresets.safe.include[0])
            times label: kind=time (countersign.yaml:7 toolsetPresets.times.include[0])
          header ["server:tokyo"]: does_not_select -
        outside_toolset: tool "x_clocks_now" on server "berlin" is outside the toolset [server:tokyo]

        view visible (mcp.json:3 mcpServers.notes)
        toolset outside_toolset
          key ["preset:safe"]: selects preset:safe (identities.yaml:6 keys[0].toolset)
            safe pattern: x_notes_* (countersign.yaml:11 toolsetPresets.safe.include[1])
          header ["server:tokyo"]: does_not_select -
        outside_toolset: tool "x_notes_add_note" is outside the toolset [server:tokyo]

        view awaits_sign_in (mcp.json:20 mcpServers.chat.auth)
        toolset outside_toolset
          key ["preset:safe"]: does_not_select - (identities.yaml:6 keys[0].toolset)
          header ["server:chat"]: selects server:chat
        outside_toolset: tool "x_chat_post" is outside the toolset [preset:safe] bound to the session

        view visible (mcp.json:3 mcpServers.notes)
        toolset bad_toolset
        bad_toolset: toolset [label:x] selector "label:x" is allowed inside presets only

        view tool_not_found
        toolset bad_toolset
        bad_toolset: toolset [preset:nope] names unknown preset "nope"; known presets: read-only, none, full, broken, safe, times"#]]
    .assert_eq(&told.join("\n\n"));
}

#[test]
fn what_the_catalogue_does_not_have_is_explained() {
    let folder = folder();
    let cases: [&[&str]; 6] = [
        &["--as", "local", "x_chat_post"],
        &["--as", "local", "--toolset", "preset:read-only", "x_chat_post"],
        &["--as", "local", "x_off_tool"],
        &["--as", "local", "x_notes_ad_note"],
        &["--as", "local", "x_clocks_now"],
        &["--as", "local", "x_clocks_now", "--args", r#"{"city":"paris"}"#],
    ];
    let told: Vec<String> = cases
        .iter()
        .map(|args| {
            let output = explain(&folder, &[args, &["--output", "json"][..]].concat());
            assert_code(&output, 1);
            let report = report(&output);
            let two: Vec<String> = stages(&report)
                .lines()
                .filter(|line| !line.contains("not_reached"))
                .map(str::to_owned)
                .collect();
            format!(
                "{}\n{} {}",
                two.join("\n"),
                report["refusal"]["nearest"],
                report["notes"]
            )
        })
        .collect();
    expect![[r#"
        view auth_required (mcp.json:20 mcpServers.chat.auth)
        toolset unscoped
        auth_required: auth_required: server chat waits for your sign-in
        [] ["server chat waits for a sign-in"]

        view auth_required (mcp.json:20 mcpServers.chat.auth)
        toolset may_select
          header ["preset:read-only"]: may_select preset:read-only
            read-only readOnly: true
        auth_required: auth_required: server chat waits for your sign-in
        [] ["server chat waits for a sign-in"]

        view tool_not_found (mcp.json:21 mcpServers.off)
        tool_not_found: Tool not found: x_off_tool
        [] ["server off is suspended"]

        view tool_not_found (mcp.json:3 mcpServers.notes)
        tool_not_found: Tool not found: x_notes_ad_note
        ["x_notes_add_note","x_notes_read_note","x_notes_list_notes"] []

        view instance_required (mcp.json:10 mcpServers.berlin.family)
        instance_required: tool x_clocks_now is provided by a family on servers berlin, tokyo; the "city" parameter is required
        ["berlin","tokyo"] []

        view instance_not_available (mcp.json:10 mcpServers.berlin.family)
        instance_not_available: tool x_clocks_now is not available on server "paris" (available: berlin, tokyo)
        ["berlin","tokyo"] []"#]]
    .assert_eq(&told.join("\n\n"));
}

#[test]
fn who_asks_must_be_somebody() {
    let folder = folder();
    let nobody = explain(&folder, &["--as", "c1", "x_notes_add_note"]);
    assert_code(&nobody, 3);
    for expected in [
        "`c1`",
        "`local`",
        "`ci`(subject`builder`)",
        "`SUBJECT@https://idp.example.com`",
    ] {
        assert!(unwrapped(&nobody).contains(expected), "{expected}: {}", err(&nobody));
    }
    assert_eq!(out(&nobody), "");
    assert_code(&explain(&folder, &["--as", "session:s", "x_notes_add_note"]), 3);
    assert_code(&explain(&folder, &["--as", "@https://idp.example.com", "x"]), 3);

    let twice = explain(&folder, &["--as", "twice", "x_notes_add_note"]);
    assert_code(&twice, 2);
    assert!(err(&twice).contains("`odd`, `lost`"), "{}", err(&twice));
    let unnamed = explain(&folder, &["x_notes_add_note"]);
    assert_code(&unnamed, 2);
    assert!(err(&unnamed).contains("--as WHO"), "{}", err(&unnamed));

    let person = explain(
        &folder,
        &[
            "--as",
            "ada@x@https://idp.example.com",
            "core_server_list",
            "--output",
            "json",
        ],
    );
    assert_code(&person, 0);
    let told = report(&person);
    assert_eq!(
        (&told["as"]["subject"], &told["as"]["authentication"]),
        (&json!("ada@x"), &json!("token"))
    );

    // Where nobody is told apart there is one caller, named or not.
    fs::remove_file(folder.dir.join("identities.yaml")).expect("removed");
    assert_code(&explain(&folder, &["core_server_list"]), 0);
    assert_code(&explain(&folder, &["--as", "ci", "core_server_list"]), 3);
}

#[test]
fn wrong_usage_of_explain_exits_with_2() {
    let folder = folder();
    let cases: [(&[&str], &str); 7] = [
        (&["--as", "local"], "TOOL"),
        (&["--as", "local", "x", "--args", "[1]"], "--args is not usable"),
        (&["--as", "local", "x", "--args", r#"{"a":1,"a":2}"#], "duplicate key"),
        (&["--as", "local", "x", "--args", "{"], "--args is not usable"),
        (&["--preset", "nope"], "`read-only`"),
        (&["--preset", "safe", "--toolset", "server:a"], "--toolset"),
        (&["--preset", "safe", "x_notes_add_note"], "--preset"),
    ];
    for (args, expected) in cases {
        let output = explain(&folder, args);
        assert_code(&output, 2);
        assert!(err(&output).contains(expected), "{args:?}: {}", err(&output));
    }
    folder.write("countersign.yaml", "surfac: meta\n");
    for command in ["explain", "access"] {
        let output = folder.run(&[command, "--config", folder.path(), "--as", "local"]);
        assert_code(&output, 2);
    }
}

#[test]
fn b062_explain_shows_what_each_rule_of_a_preset_matches() {
    let folder = folder();
    let shown = explain(&folder, &["--preset", "safe"]);
    assert_code(&shown, 0);
    expect![[r#"
        safe  countersign.yaml:8 toolsetPresets.safe

        include[0] preset: times  countersign.yaml:10 toolsetPresets.safe.include[0]
          2 tools
            x_clocks_now on berlin, tokyo
            x_clocks_convert on berlin, tokyo

        include[1] pattern: x_notes_*  countersign.yaml:11 toolsetPresets.safe.include[1]
          5 tools
            x_notes_add_note
            x_notes_list_notes
            x_notes_search_notes
            x_notes_read_note
            x_notes_delete_note

        exclude[0] pattern: *_delete_note  countersign.yaml:13 toolsetPresets.safe.exclude[0]
          1 tool
            x_notes_delete_note
          server chat may have more, and waits for a sign-in

        selects
          6 tools
            x_notes_add_note
            x_notes_list_notes
            x_notes_search_notes
            x_notes_read_note
            x_clocks_now on berlin, tokyo
            x_clocks_convert on berlin, tokyo
    "#]]
    .assert_eq(&out(&shown));
    let none = explain(&folder, &["--preset", "broken", "--output", "json"]);
    assert_code(&none, 0);
    let told = report(&none);
    assert_eq!(told["rules"][0]["rule"], "pattern: mcp__*");
    assert_eq!(
        told["rules"][0]["matches"],
        json!({"tools": [], "servers": [], "awaiting_sign_in": []})
    );
}

#[test]
fn access_shows_everything_that_a_caller_has() {
    let folder = folder();
    let access = |args: &[&str]| folder.run(&[&["access", "--config", folder.path()], args].concat());
    let table = access(&["--as", "ci", "--toolset", "preset:read-only,server:chat"]);
    assert_code(&table, 0);
    expect![[r#"
        ci (a key of builder)
          within key [preset:safe]  identities.yaml:6 keys[0].toolset
          within header [preset:read-only,server:chat]  --toolset

        TOOL                  SERVER                  EFFECT     ON CALL  SELECTED BY
        x_notes_list_notes    notes                   mutating   runs     key preset:safe > safe include[1]; header preset:read-only > read-only include[0]
        x_notes_search_notes  notes                   mutating   runs     key preset:safe > safe include[1]; header preset:read-only > read-only include[0]
        x_notes_read_note     notes                   mutating   runs     key preset:safe > safe include[1]; header preset:read-only > read-only include[0]
        x_clocks_now          clocks (berlin, tokyo)  read_only  runs     key preset:safe > safe include[0] > times include[0]; header preset:read-only > read-only include[0]
        x_clocks_convert      clocks (berlin, tokyo)  read_only  runs     key preset:safe > safe include[0] > times include[0]; header preset:read-only > read-only include[0]
    "#]]
    .assert_eq(out(&table).split("\n\n5 tools").next().map(|head| format!("{head}\n")).expect("a head").as_str());
    let text = out(&table);
    for expected in [
        "2 read-only, 3 mutating",
        "selects nothing: server:chat",
        "chat    waits for a sign-in; the toolset selects nothing of it  0 of 0 tools  mcp.json:20 mcpServers.chat",
        "off     suspended",
        "berlin  ready                                                   2 of 2 tools  mcp.json:8 mcpServers.berlin",
        "notes   ready                                                   3 of 5 tools  mcp.json:3 mcpServers.notes",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }

    let json = access(&[
        "--as",
        "ci",
        "--toolset",
        "server:tokyo,tool:x_clocks_now",
        "--output",
        "json",
    ]);
    assert_code(&json, 0);
    let told = report(&json);
    expect![[r#"{"tool":"x_clocks_convert","kind":"tool","server":"clocks","effect":"read_only","effect_source":"annotation","on_call":"runs","members":[{"server":"tokyo","effect":"read_only","on_call":"runs","selected_by":[{"origin":"key","toolset":["preset:safe"],"from":{"file":"identities.yaml","line":6,"column":5,"path":"keys[0].toolset"},"answer":"selects","selector":"preset:safe","rules":[{"preset":"safe","place":"include[0]","rule":"preset: times","from":{"file":"countersign.yaml","line":10,"column":9,"path":"toolsetPresets.safe.include[0]"}},{"preset":"times","place":"include[0]","rule":"label: kind=time","from":{"file":"countersign.yaml","line":7,"column":9,"path":"toolsetPresets.times.include[0]"}}]},{"origin":"header","toolset":["server:tokyo","tool:x_clocks_now"],"from":null,"answer":"selects","selector":"server:tokyo","rules":[]}]}],"selected_by":[{"origin":"key","toolset":["preset:safe"],"from":{"file":"identities.yaml","line":6,"column":5,"path":"keys[0].toolset"},"answer":"selects","selector":"preset:safe","rules":[{"preset":"safe","place":"include[0]","rule":"preset: times","from":{"file":"countersign.yaml","line":10,"column":9,"path":"toolsetPresets.safe.include[0]"}},{"preset":"times","place":"include[0]","rule":"label: kind=time","from":{"file":"countersign.yaml","line":7,"column":9,"path":"toolsetPresets.times.include[0]"}}]},{"origin":"header","toolset":["server:tokyo","tool:x_clocks_now"],"from":null,"answer":"selects","selector":"server:tokyo","rules":[]}]}"#]].assert_eq(items(&member_of(&out(&json), "tools"))[1].get());
    assert_eq!(
        told["tools"][1]["members"].as_array().map(Vec::len),
        Some(1),
        "tokyo alone"
    );
    expect![[r#"[{"origin":"key","toolset":"preset:safe","from":{"file":"identities.yaml","line":6,"column":5,"path":"keys[0].toolset"}},{"origin":"header","toolset":"server:tokyo,tool:x_clocks_now","from":null}]"#]]
        .assert_eq(&member_of(&out(&json), "toolsets"));
    let names = |value: &Value| {
        value
            .as_object()
            .map(|it| it.keys().cloned().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        names(&told).expect("an object"),
        "as refusal servers tools toolsets totals unmatched"
    );
    assert_eq!(told["totals"]["tools"], 2);

    let refused = access(&["--as", "ci", "--toolset", "preset:gone"]);
    assert_code(&refused, 1);
    assert!(
        out(&refused).contains("Nothing is served: toolset [preset:gone]"),
        "{}",
        out(&refused)
    );
    let yaml = access(&["--as", "local", "--output", "yaml"]);
    assert_code(&yaml, 0);
    assert!(out(&yaml).contains("tool: core_server_list"), "{}", out(&yaml));

    // A server that should be there and is not: the table may lack its tools.
    folder.write(
        "mcp.json",
        r#"{"mcpServers": {"gone": {"command": "/nonexistent/program"}}}"#,
    );
    let gone = access(&["--as", "local"]);
    assert_code(&gone, 1);
    assert!(out(&gone).contains("unavailable: "), "{}", out(&gone));
}

/// A member of the output, byte for byte.
fn member_of(text: &str, name: &str) -> String {
    let object: std::collections::BTreeMap<String, Box<serde_json::value::RawValue>> =
        serde_json::from_str(text).expect("an object");
    object.get(name).expect("a member of that name").get().to_owned()
}

fn items(list: &str) -> Vec<Box<serde_json::value::RawValue>> {
    serde_json::from_str(list).expect("a list")
}

#[test]
fn a_bound_session_is_explained_beside_the_gateway_that_serves_it() {
    use countersign_store::{Bind, Ledger, Reading};

    let folder = folder();
    let unserved = explain(&folder, &["--as", "session:s1", "core_server_list"]);
    assert_code(&unserved, 3);
    assert!(err(&unserved).contains("bindings.actor_tokens"), "{}", err(&unserved));
    let actors =
        "bindings: {writers: [ci], actor_tokens: {issuer: \"https://actors.example.com\", audience: countersign}}\n";
    folder.write("countersign.yaml", &format!("{GATEWAY}{actors}"));
    let unbound = explain(&folder, &["--as", "session:s1", "core_server_list"]);
    assert_code(&unbound, 3);

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let ledger = Ledger::sqlite(&folder.dir.join("state.db")).expect("a store");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970");
    let bind = Bind {
        session: "s1".to_owned(),
        subject: "ada".to_owned(),
        toolset: Some(vec!["preset:times".to_owned()]),
        roles: vec!["ops".to_owned()],
        plan: None,
        expires_at: None,
    };
    let reading = Reading {
        wall: countersign_core::time::Millis(i64::try_from(now.as_millis()).expect("fits")),
        steady: std::time::Instant::now(),
    };
    runtime.block_on(ledger.bind(bind, reading)).expect("bound");

    let refused = explain(&folder, &["--as", "session:s1", "x_notes_add_note", "--output", "json"]);
    assert_code(&refused, 1);
    let told = report(&refused);
    expect![[r#"
        view visible (mcp.json:3 mcpServers.notes)
        toolset outside_toolset
          bound ["preset:times"]: does_not_select -
        rights not_reached
        pin not_reached
        effect not_reached
        policies not_reached
        gate not_reached
        outside_toolset: tool "x_notes_add_note" is outside the toolset [preset:times] bound to the session"#]]
    .assert_eq(&stages(&told));
    assert_eq!(
        (&told["as"]["subject"], &told["as"]["roles"]),
        (&json!("ada"), &json!(["ops"]))
    );
    let other = explain(&folder, &["--as", "session:s2", "core_server_list"]);
    assert_code(&other, 3);
    assert!(err(&other).contains("`s2` is not bound"), "{}", err(&other));

    folder.write(
        "countersign.yaml",
        &format!("{GATEWAY}store: {{type: memory}}\n{actors}"),
    );
    let memory = explain(&folder, &["--as", "session:s1", "core_server_list"]);
    assert_code(&memory, 3);
    assert!(err(&memory).contains("`store` is `memory`"), "{}", err(&memory));
}

#[test]
fn a_workflow_is_explained_by_the_first_step_that_may_change_something() {
    let folder = folder();
    fs::create_dir(folder.dir.join("workflows")).expect("made");
    let list = "steps:\n  - {id: one, tool: core_server_list}\n  - {id: two, tool: core_events}\n";
    folder.write("workflows/look.yaml", list);
    let add = "  - id: add\n    tool: x_notes_add_note\n    args: {title: a, text: b}\n";
    folder.write("workflows/note.yaml", &format!("{list}{add}"));
    folder.write("workflows/nested.yaml", "steps:\n  - {id: a, tool: workflow_note}\n");
    folder.write("workflows/lost.yaml", "steps:\n  - {id: a, tool: x_notes_none}\n");
    let told: Vec<String> = ["workflow_look", "workflow_note", "workflow_nested", "workflow_lost"]
        .iter()
        .map(|tool| {
            let output = explain(&folder, &["--as", "local", tool, "--output", "json"]);
            let report = report(&output);
            let because = |number: usize| report["stages"][number]["because"].as_str().unwrap_or("-").to_owned();
            format!(
                "{}\n{}\n{}\n{}",
                stages(&report),
                because(0),
                because(4),
                report["notes"]
            )
        })
        .collect();
    expect![[r#"
        view visible (workflows/look.yaml:1 )
        toolset unscoped
        rights allowed
        pin off
        effect read_only (workflows/look.yaml:1 )
        policies none
        gate runs
        runs: {"arguments":{},"server":null,"tool":"workflow_look"}
        a workflow; the tools that it always calls are there
        every tool that it may call only reads
        []

        view visible (workflows/note.yaml:1 )
        toolset unscoped
        rights allowed
        pin off
        effect mutating (workflows/note.yaml:5 )
        policies none
        gate runs
        runs: {"arguments":{},"server":null,"tool":"workflow_note"}
        a workflow; the tools that it always calls are there
        it may call `x_notes_add_note`, which may change something
        []

        view visible (workflows/nested.yaml:1 )
        toolset unscoped
        rights allowed
        pin off
        effect mutating (workflows/nested.yaml:2 )
        policies none
        gate runs
        runs: {"arguments":{},"server":null,"tool":"workflow_nested"}
        a workflow; the tools that it always calls are there
        it may call `workflow_note`, which may change something
        []

        view tool_not_found
        toolset not_reached
        rights not_reached
        pin not_reached
        effect not_reached
        policies not_reached
        gate not_reached
        tool_not_found: Tool not found: workflow_lost
        Tool not found: workflow_lost

        ["workflow lost is not offered: it calls `x_notes_none`, which is not there (workflows/lost.yaml:2)"]"#]]
    .assert_eq(&told.join("\n\n"));
    let dir = folder.path();
    let access = folder.run(&["access", "--config", dir, "--as", "local", "--toolset", "workflow:note"]);
    assert_code(&access, 0);
    assert!(
        out(&access).contains("workflow_note  -       mutating  runs     header workflow:note"),
        "{}",
        out(&access)
    );
}
