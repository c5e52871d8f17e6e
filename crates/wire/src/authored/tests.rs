//! Tests of `authored`.

use super::{
    Capabilities, GATEWAY, Offer, discover_params, discover_result, initialize_params, initialize_result, initialized,
    tool_error, tool_json, tool_text,
};
use crate::version::Version;
use expect_test::expect;

#[test]
fn handshakes_are_written() {
    let abilities = Capabilities {
        tools: Offer::ListChanged,
        resources: Offer::Subscribe,
        prompts: Offer::Plain,
        logging: Offer::Plain,
        completions: Offer::Absent,
        tasks: false,
        extensions: Some("{}"),
    };
    let me = r#"{"name":"me","version":"1"}"#;
    let all = [
        initialize_result(Version::V2025_06_18, &abilities, me, Some("say \"hi\"")),
        initialize_result(Version::V2025_11_25, &Capabilities::default(), me, None),
        discover_result(&abilities, me, None),
        initialize_params(Version::V2025_11_25, r#"{"roots":{}}"#).replace(env!("CARGO_PKG_VERSION"), "V"),
        discover_params("{}").replace(env!("CARGO_PKG_VERSION"), "V"),
        initialized(),
    ];
    expect![[r#"
        {"protocolVersion":"2025-06-18","capabilities":{"logging":{},"prompts":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"extensions":{}},"serverInfo":{"name":"me","version":"1"},"instructions":"say \"hi\""}
        {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"me","version":"1"}}
        {"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"capabilities":{"logging":{},"prompts":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"extensions":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"me","version":"1"}}}
        {"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"countersign","title":"Countersign","version":"V"}}
        {"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"countersign","title":"Countersign","version":"V"},"io.modelcontextprotocol/clientCapabilities":{}}}
        {"jsonrpc":"2.0","method":"notifications/initialized"}"#]]
    .assert_eq(&all.join("\n"));
}

#[test]
fn results_of_own_tools_are_written() {
    let all = [
        tool_text("é\n"),
        tool_json(r#"{"a":1}"#),
        tool_error("no", None),
        tool_error("no", Some(r#"{"code":"x"}"#)),
    ];
    expect![[r#"
        {"content":[{"type":"text","text":"é\n"}]}
        {"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}
        {"content":[{"type":"text","text":"no"}],"isError":true}
        {"content":[{"type":"text","text":"no"}],"structuredContent":{"code":"x"},"isError":true}"#]]
    .assert_eq(&all.join("\n"));
    for text in all.iter().map(String::as_str).chain([GATEWAY]) {
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
    }
}
