//! Pages of listed origins, and all others.

use std::sync::LazyLock;

use crate::gateway::{BOTH, Folder, Gateway, JSON, initialize, rpc};
use crate::http::Response;

static GATEWAY: LazyLock<Gateway> = LazyLock::new(|| {
    let yaml = "allowed_origins: [\"https://app.example.com\", \"http://localhost:6274\"]";
    Folder::new(yaml, "{}").serve()
});

const LISTED: &str = "Origin: https://app.example.com";

fn cors_headers(response: &Response) -> Vec<String> {
    let mut names: Vec<String> = response
        .headers
        .iter()
        .map(|(name, _)| name.clone())
        .filter(|name| name.starts_with("access-control-"))
        .collect();
    names.sort();
    names
}

#[test]
fn cors_a_listed_page_gets_what_a_browser_needs_for_every_method_and_header() {
    let host = GATEWAY.host();
    let wanted = [
        "content-type",
        "accept",
        "authorization",
        "last-event-id",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-param-region",
        "mcp-param-x-1",
    ];
    let asked = format!("Access-Control-Request-Headers: {}", wanted.join(","));
    for method in ["POST", "GET", "DELETE"] {
        let method_line = format!("Access-Control-Request-Method: {method}");
        let preflight = GATEWAY.exchange("OPTIONS /mcp", &[&host, LISTED, &method_line, &asked], b"");
        assert_eq!((preflight.status, preflight.body.len()), (204, 0));
        assert_eq!(
            preflight.header("access-control-allow-origin"),
            Some("https://app.example.com")
        );
        let list = |name: &str| -> Vec<String> {
            let value = preflight.header(name).unwrap_or_else(|| panic!("no {name}"));
            value.split(',').map(|item| item.trim().to_ascii_lowercase()).collect()
        };
        assert!(list("access-control-allow-methods").contains(&method.to_ascii_lowercase()));
        for header in wanted {
            assert!(
                list("access-control-allow-headers").contains(&header.to_owned()),
                "{header}"
            );
        }
        assert!(list("vary").contains(&"origin".to_owned()));
        assert_eq!(preflight.header("access-control-allow-credentials"), None);
        assert_eq!(preflight.header("access-control-allow-private-network"), None);
    }
    let private = [
        host.as_str(),
        LISTED,
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Private-Network: true",
    ];
    let preflight = GATEWAY.exchange("OPTIONS /mcp", &private, b"");
    assert_eq!(preflight.header("access-control-allow-private-network"), Some("true"));
}

#[test]
fn cors_a_listed_page_may_read_answers_errors_and_the_session_id() {
    let host = GATEWAY.host();
    let lines = [host.as_str(), JSON, BOTH, LISTED];
    let session = GATEWAY.exchange("POST /mcp", &lines, initialize("2025-11-25").as_bytes());
    let exposed = session
        .header("access-control-expose-headers")
        .expect("what it may read");
    assert!(exposed.to_ascii_lowercase().contains("mcp-session-id"), "{exposed}");
    let unknown = [host.as_str(), JSON, BOTH, LISTED, "Mcp-Session-Id: nobody"];
    let list = rpc("1", "tools/list", "{}");
    for response in [
        session,
        GATEWAY.exchange("POST /mcp", &unknown, list.as_bytes()),
        GATEWAY.exchange("POST /mcp", &lines, b"{"),
        GATEWAY.exchange("GET /mcp", &[&host, LISTED], b""),
        GATEWAY.exchange("GET /nothing", &[&host, LISTED], b""),
        GATEWAY.exchange("DELETE /mcp", &[&host, LISTED], b""),
    ] {
        assert_eq!(
            response.header("access-control-allow-origin"),
            Some("https://app.example.com"),
            "{response:?}"
        );
        assert_eq!(response.header("vary"), Some("origin"));
    }
}

#[test]
fn cors_no_other_page_gets_a_header_or_an_answer() {
    let host = GATEWAY.host();
    let own = format!("Origin: http://{}", GATEWAY.address);
    for origin in [
        "Origin: https://app.example.com.evil.example",
        "Origin: https://evil.example",
        "Origin: http://app.example.com",
        "Origin: https://app.example.com:8443",
        "Origin: https://app.example.com@evil.example",
        "Origin: https://sub.app.example.com",
        "Origin: https://app.example.com/",
        "Origin: https://app.example.com, https://evil.example",
        "Origin: null",
        "Origin: *",
        "Origin: ",
        "Origin: file://",
        "Origin: http://localhost:62740",
    ] {
        let method = "Access-Control-Request-Method: POST";
        let preflight = GATEWAY.exchange("OPTIONS /mcp", &[&host, origin, method], b"");
        assert_eq!(
            (preflight.status, cors_headers(&preflight)),
            (403, Vec::new()),
            "{origin}"
        );
        let body = initialize("2025-11-25");
        let response = GATEWAY.exchange("POST /mcp", &[&host, origin, JSON, BOTH], body.as_bytes());
        assert_eq!(
            (response.status, cors_headers(&response)),
            (403, Vec::new()),
            "{origin}"
        );
        assert!(response.header("mcp-session-id").is_none());
    }
    // The gateway's own pages and callers that are no pages need none.
    for lines in [vec![host.as_str()], vec![host.as_str(), own.as_str()]] {
        let response = GATEWAY.exchange("GET /health", &lines, b"");
        assert_eq!((response.status, cors_headers(&response)), (200, Vec::new()));
    }
    let plain = Folder::new("", "{}").serve();
    let response = plain.exchange(
        "OPTIONS /mcp",
        &[&plain.host(), LISTED, "Access-Control-Request-Method: POST"],
        b"",
    );
    assert_eq!(
        (response.status, cors_headers(&response)),
        (403, Vec::new()),
        "nothing is listed there"
    );
}
