//! Descriptions in, bindings or sentences out.

use super::read;

#[test]
fn a_binding_holds_what_its_writer_says() {
    let body = br#"{"subject":"carol@example.com","toolset":["preset:unknown","server:files"],"roles":["ops"],"plan":"pro","expires_at":"2026-07-28T12:00:00Z"}"#;
    let bind = read("s".to_owned(), body).unwrap();
    assert_eq!(
        (bind.session.as_str(), bind.subject.as_str()),
        ("s", "carol@example.com")
    );
    assert_eq!(bind.toolset.unwrap(), ["preset:unknown", "server:files"]);
    assert_eq!(
        (bind.roles, bind.plan.as_deref()),
        (vec!["ops".to_owned()], Some("pro"))
    );
    assert_eq!(bind.expires_at.unwrap().0, 1_785_240_000_000);
    let least = read("s".to_owned(), br#"{"subject":"carol","toolset":null}"#).unwrap();
    assert_eq!((least.toolset, least.expires_at), (None, None));
}

#[test]
fn what_is_wrong_is_said() {
    for (body, expected) in [
        ("", "not JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "`subject` is missing"),
        (r#"{"subject":""}"#, "`subject` must be 1 to 256 characters"),
        (r#"{"subject":7}"#, "`subject` must be text"),
        (r#"{"subject":"a\nb"}"#, "without blanks around them or line ends"),
        (r#"{"subject":"a","subject":"b"}"#, "one reading"),
        (r#"{"subject":"a","tools":[]}"#, "`tools` is not a member of a binding"),
        (
            r#"{"subject":"a","toolset":"preset:full"}"#,
            "`toolset` must be a list of selectors",
        ),
        (
            r#"{"subject":"a","toolset":[1]}"#,
            "`toolset` must be a list of selectors",
        ),
        (
            r#"{"subject":"a","toolset":[]}"#,
            r#"toolset [] is empty; use "preset:none" for an agent without tools"#,
        ),
        (
            r#"{"subject":"a","toolset":["label:a=b"]}"#,
            r#"toolset [label:a=b] selector "label:a=b" is allowed inside presets only"#,
        ),
        (
            r#"{"subject":"a","toolset":["toolset:x"]}"#,
            r#"toolset [toolset:x] selector "toolset:x" is reserved for shared toolsets"#,
        ),
        (
            r#"{"subject":"a","toolset":["files"]}"#,
            r#"toolset [files] selector "files" is malformed; expected preset:<name>, server:<name>, workflow:<name> or tool:<name>"#,
        ),
        (r#"{"subject":"a","roles":"ops"}"#, "`roles` must be a list"),
        (
            r#"{"subject":"a","expires_at":1785240000}"#,
            "`expires_at` must be a time such as",
        ),
        (
            r#"{"subject":"a","expires_at":"tomorrow"}"#,
            "`expires_at` must be a time such as",
        ),
    ] {
        let said = read("s".to_owned(), body.as_bytes()).unwrap_err();
        assert!(said.contains(expected), "{body}: {said}");
    }
}
