//! How a server is signed in to: every form of `auth`, and what is refused.

use countersign_core::auth::{Auth, ExchangedAt};
use countersign_core::server::{PrivateNetwork, Sharing};
use expect_test::expect;

use super::one;
use crate::Config;
use crate::load::tests::{read, written};

fn good(text: &str) -> Config {
    read(&[("mcp.json", text)]).unwrap_or_else(|problems| panic!("{}", written(&problems)))
}

fn auth(value: &str) -> Auth {
    let config = good(&one(&format!(r#"{{"url": "https://x/mcp", "auth": {value}}}"#)));
    config.servers[0].auth.clone()
}

#[test]
fn every_way_to_sign_in_is_read() {
    assert_eq!(auth(r#""none""#), Auth::None);
    for forward in [
        r#""forwardToken""#,
        r#"{"forwardToken": true}"#,
        r#"{"forwardToken": {}}"#,
        r#"{"type": "forwardToken"}"#,
    ] {
        assert_eq!(auth(forward), Auth::ForwardToken, "{forward}");
    }
    for bare in [
        r#""oauth""#,
        r#"{"oauth": {}}"#,
        r#"{"oauth": true}"#,
        r#"{"type": "oauth"}"#,
    ] {
        assert_eq!(auth(bare), Auth::OAuth(Box::default()), "{bare}");
    }
    let members = r#""issuer": "https://as/t", "clientId": "c", "clientSecret": "plain", "scopes": ["a", "b", "a"], "redirect": "https://gw/cb", "allowedHosts": ["AS:8443", "127.0.0.1"]"#;
    let Auth::OAuth(nested) = auth(&format!(r#"{{"oauth": {{{members}}}}}"#)) else {
        panic!("no sign-in");
    };
    assert_eq!(
        auth(&format!(r#"{{"type": "oauth", {members}}}"#)),
        Auth::OAuth(nested.clone())
    );
    let client = nested.client.clone().unwrap();
    assert_eq!(nested.issuer.as_ref().unwrap().reveal(), "https://as/t");
    assert_eq!(
        (client.id.shown(), client.secret.as_ref().unwrap().shown()),
        ("c", "[secret]")
    );
    assert_eq!(nested.scopes, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(nested.allowed_hosts, ["as:8443", "127.0.0.1"]);
    // Another client's spelling.
    let Auth::OAuth(foreign) = auth(r#"{"CLIENT_ID": "c", "CLIENT_SECRET": "s", "scopes": "a b"}"#) else {
        panic!("no sign-in");
    };
    assert_eq!(foreign.client.unwrap().id.reveal(), "c");
    assert_eq!(foreign.scopes, Some(vec!["a".to_owned(), "b".to_owned()]));

    let Auth::TokenExchange(exchange) = auth(
        r#"{"tokenExchange": {"tokenEndpoint": "https://as/token", "clientId": "c", "audience": "a", "resource": "https://r", "scopes": "s"}}"#,
    ) else {
        panic!("no exchange");
    };
    assert_eq!(exchange.at.address().reveal(), "https://as/token");
    assert_eq!(
        (exchange.audience.unwrap().reveal(), &*exchange.scopes),
        ("a", &["s".to_owned()][..])
    );
    let Auth::TokenExchange(exchange) = auth(r#"{"type": "tokenExchange", "issuer": "https://as"}"#) else {
        panic!("no exchange");
    };
    assert!(matches!(exchange.at, ExchangedAt::Issuer(_)));
}

#[test]
fn a_sign_in_is_of_each_principal_alone_and_part_of_the_digest() {
    let of = |members: &str| good(&one(&format!(r#"{{"url": "https://x/mcp"{members}}}"#))).servers[0].clone();
    let shared = of(r#", "auth": "oauth", "shared": true"#);
    assert_eq!(shared.sharing, Sharing::PerPrincipal);
    assert!(shared.is_per_principal());
    let screened = of(r#", "allowPrivateNetwork": false"#);
    assert_eq!(screened.private_network, PrivateNetwork::Screened);
    let entries = [
        of(""),
        screened,
        of(r#", "auth": "oauth""#),
        of(r#", "auth": "forwardToken""#),
        of(r#", "auth": {"oauth": {"issuer": "https://a"}}"#),
        of(r#", "auth": {"oauth": {"issuer": "https://b"}}"#),
        of(r#", "auth": {"oauth": {"clientId": "a"}}"#),
        of(r#", "auth": {"oauth": {"clientId": "a", "clientSecret": "b"}}"#),
        of(r#", "auth": {"oauth": {"scopes": []}}"#),
        of(r#", "auth": {"oauth": {"allowedHosts": ["a"]}}"#),
        of(r#", "auth": {"tokenExchange": {"issuer": "https://a"}}"#),
        of(r#", "auth": {"tokenExchange": {"tokenEndpoint": "https://a"}}"#),
    ];
    let digests: std::collections::BTreeSet<_> = entries.iter().map(|entry| entry.digest.hex()).collect();
    assert_eq!(digests.len(), entries.len());
    assert_eq!(of(r#", "auth": "none""#).digest, entries[0].digest);
}

#[test]
fn what_cannot_be_signed_in_with_is_refused() {
    let mut said = String::new();
    for entry in [
        r#"{"url": "https://x", "auth": "OAuth"}"#,
        r#"{"url": "https://x", "auth": 1}"#,
        r#"{"url": "https://x", "auth": {}}"#,
        r#"{"url": "https://x", "auth": {"oauth": {}, "forwardToken": true}}"#,
        r#"{"url": "https://x", "auth": {"oauth": false}}"#,
        r#"{"url": "https://x", "auth": "tokenExchange"}"#,
        r#"{"url": "https://x", "auth": {"tokenExchange": {"audience": "a"}}}"#,
        r#"{"url": "https://x", "auth": {"tokenExchange": {"issuer": "https://a", "tokenEndpoint": "https://a"}}}"#,
        r#"{"url": "https://x", "auth": {"oauth": {"issuer": "as.example", "clientSecret": "s", "scopes": ["a b"], "allowedHosts": ["http://a"], "client": "c"}}}"#,
        r#"{"url": "https://x", "auth": {"oauth": {"issuer": "https://as?x=1", "clientId": " "}}}"#,
        r#"{"url": "https://x", "auth": "oauth", "headers": {"authorization": "Bearer x"}, "shared": true}"#,
        r#"{"command": "x", "auth": "oauth"}"#,
        r#"{"url": "https://x", "auth": {"oauth": {"clientId": "${NOT_SET}"}}}"#,
    ] {
        let problems = read(&[("mcp.json", &one(entry))]).expect_err(entry);
        said.push_str(&format!("{entry}\n{}", written(&problems)));
    }
    expect![[r#"
        {"url": "https://x", "auth": "OAuth"}
        conf/mcp.json:2:35: server `s`: `auth` must be `none`, `forwardToken`, `oauth` or `tokenExchange`, not `OAuth`
            did you mean `oauth`?
        {"url": "https://x", "auth": 1}
        conf/mcp.json:2:35: server `s`: `auth` must be a string, not a number
            put the value in double quotes
        {"url": "https://x", "auth": {}}
        conf/mcp.json:2:35: server `s`: `auth` must say how the server is signed in to
            write `"oauth"`, `"forwardToken"`, `{"oauth": {…}}` or `{"tokenExchange": {…}}`
        {"url": "https://x", "auth": {"oauth": {}, "forwardToken": true}}
        conf/mcp.json:2:35: server `s`: `auth` names more than one way to sign in
            keep one of them
        {"url": "https://x", "auth": {"oauth": false}}
        conf/mcp.json:2:45: server `s`: `auth.oauth` must be `true`
        {"url": "https://x", "auth": "tokenExchange"}
        conf/mcp.json:2:35: server `s`: `auth` does not say where tokens are exchanged
            write `{"tokenExchange": {"tokenEndpoint": "https://…"}}`, or `issuer` in place of `tokenEndpoint`
        {"url": "https://x", "auth": {"tokenExchange": {"audience": "a"}}}
        conf/mcp.json:2:53: server `s`: `auth.tokenExchange` does not say where tokens are exchanged
            write `{"tokenExchange": {"tokenEndpoint": "https://…"}}`, or `issuer` in place of `tokenEndpoint`
        {"url": "https://x", "auth": {"tokenExchange": {"issuer": "https://a", "tokenEndpoint": "https://a"}}}
        conf/mcp.json:2:54: server `s`: `auth.tokenExchange.issuer` says the same as `tokenEndpoint`
            keep one of the two
        {"url": "https://x", "auth": {"oauth": {"issuer": "as.example", "clientSecret": "s", "scopes": ["a b"], "allowedHosts": ["http://a"], "client": "c"}}}
        conf/mcp.json:2:56: server `s`: `auth.oauth.issuer` must be a URL that begins with `http://` or `https://`
        conf/mcp.json:2:70: server `s`: `auth.oauth.clientSecret` has no `clientId` beside it
            write both, or neither
        conf/mcp.json:2:102: server `s`: `auth.oauth.scopes[0]` is not a scope
        conf/mcp.json:2:127: server `s`: `auth.oauth.allowedHosts[0]` must be a host or a host and a port, such as `gateway.example.com` or `gateway:8090`
        conf/mcp.json:2:140: server `s`: `auth.oauth.client` is not a known key
            did you mean `clientId`?
        {"url": "https://x", "auth": {"oauth": {"issuer": "https://as?x=1", "clientId": " "}}}
        conf/mcp.json:2:56: server `s`: `auth.oauth.issuer` must be a URL without a query
        conf/mcp.json:2:86: server `s`: `auth.oauth.clientId` must not be empty
        {"url": "https://x", "auth": "oauth", "headers": {"authorization": "Bearer x"}, "shared": true}
        conf/mcp.json:2:44: server `s`: `headers` holds an `Authorization` header, which contradicts `auth: oauth`
            keep one of the two
        warning: conf/mcp.json:2:86: server `s`: `shared` is not used beside `auth: oauth`, with which every principal has a session of its own
        {"command": "x", "auth": "oauth"}
        conf/mcp.json:2:23: server `s`: `auth` has no meaning for a server of type `stdio`
            remove it
        {"url": "https://x", "auth": {"oauth": {"clientId": "${NOT_SET}"}}}
        conf/mcp.json:2:58: server `s`: `auth.oauth.clientId` names the variable `NOT_SET`, which is not set
            set it, or give a default: `${NOT_SET:-value}`
    "#]].assert_eq(&said);
}
