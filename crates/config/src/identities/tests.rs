//! Whole files in, identities or problems out. The texts are what operators see.

use expect_test::{Expect, expect};

use crate::load::tests::{read, written};

const DIGEST: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

fn files(identities: &str) -> [(&'static str, &str); 2] {
    [("identities.yaml", identities), ("mcp.json", "{}")]
}

fn broken(identities: &str, expected: &Expect) {
    match read(&files(identities)) {
        Ok(config) => panic!("was accepted: {config:?}"),
        Err(problems) => expected.assert_eq(&written(&problems)),
    }
}

#[test]
fn every_key_of_identities_is_read() {
    let text = format!(
        "keys:
  - name: claude-code
    key_sha256: {DIGEST}
    subject: carol@example.com
    caller_id: code
    roles: [ops, dev]
    plan: pro
    toolset: [preset:read-only]
  - {{name: plain, key_sha256: '{other}', subject: dave}}
issuers:
  - issuer: https://idp.example.com
    audience: https://gateway.example.com/mcp
    jwks_url: null
    subject_claim: email
    roles_claim: groups
    client_claims: [azp]
    leeway: 30s
  - {{issuer: 'https://other.example.com/', audience: x, jwks_url: 'https://other.example.com/keys'}}
",
        other = "0".repeat(64)
    );
    let config = read(&files(&text)).unwrap();
    assert_eq!(config.warnings.len(), 0);
    let identities = config.identities.unwrap();
    let [code, plain] = identities.keys.as_slice() else {
        panic!("two keys")
    };
    assert_eq!((&*code.name, &*code.subject), ("claude-code", "carol@example.com"));
    assert_eq!(code.sha256.hex(), DIGEST);
    assert_eq!(code.caller_id.as_deref(), Some("code"));
    assert_eq!(*code.standing.roles, ["ops".into(), "dev".into()]);
    assert_eq!(code.standing.plan.as_deref(), Some("pro"));
    assert_eq!(code.toolset, Some(vec!["preset:read-only".to_owned()]));
    assert_eq!((plain.caller_id.as_ref(), plain.toolset.as_ref()), (None, None));
    let [idp, other] = identities.issuers.as_slice() else {
        panic!("two issuers")
    };
    assert_eq!(
        (&*idp.subject_claim, idp.roles_claim.as_deref()),
        ("email", Some("groups"))
    );
    assert_eq!(idp.leeway.as_secs(), 30);
    assert_eq!(
        (&*other.issuer, other.leeway.as_secs()),
        ("https://other.example.com/", 60)
    );
    assert_eq!((&*other.subject_claim, other.client_claims.len()), ("sub", 2));
    assert_eq!(config.shown["identities"], serde_json::json!({"keys": 2, "issuers": 2}));
    assert!(!format!("{:?}", identities.keys).contains(DIGEST));
}

#[test]
fn an_empty_file_lets_nobody_in_and_says_so() {
    for text in ["", "{}", "keys: []"] {
        let config = read(&files(text)).unwrap();
        assert_eq!(
            config.identities,
            Some(countersign_core::identity::Identities::default())
        );
        let told = written(&config.warnings);
        assert!(
            told.contains("names no key and no issuer, so nobody can connect over HTTP"),
            "{told}"
        );
    }
    assert_eq!(read(&[]).unwrap().identities, None);
}

#[test]
fn keys_that_cannot_be_told_apart_or_checked_are_refused() {
    broken(
        &format!(
            "keys:
  - {{name: a, key_sha256: {DIGEST}, subject: s}}
  - {{name: a, key_sha256: {DIGEST}, subject: s}}
  - {{name: b, key_sha256: hello, subject: s}}
  - {{name: c, subject: s}}
  - {{key_sha256: '{zero}', subject: ''}}
  - {{name: d, key_hash: '$2b$10$x', subject: s}}
  - {{name: e, key_sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, subject: s}}
  - {{name: f, key_sha256: '{one}', subject: s, specialist: a/b, rolls: [x]}}
",
            zero = "0".repeat(64),
            one = "1".repeat(64),
        ),
        &expect![[r#"
            conf/identities.yaml:3:12: `keys[1].name` is the name of the key on line 2, column 12 already; a name stands for one key
            conf/identities.yaml:3:27: `keys[1].key_sha256` is the digest of the key `a` too; whose key it is must be clear
            conf/identities.yaml:4:27: `keys[2].key_sha256` must be 64 hex digits
                they are the SHA-256 of the key, never the key itself: `printf %s "$KEY" | sha256sum`
            conf/identities.yaml:5:5: `keys[3]` has no `key_sha256`
                write the SHA-256 of the key as 64 hex digits: `printf %s "$KEY" | sha256sum`
            conf/identities.yaml:6:5: `keys[4]` has no `name`
            conf/identities.yaml:6:95: `keys[4].subject` must be 1 to 256 characters, without blanks around them or line ends
            conf/identities.yaml:7:15: `keys[5].key_hash` is not supported by this version of countersign
                write `key_sha256`, and a key of at least 128 random bits: `openssl rand -hex 32`; a slow hash protects only keys that people make up
            conf/identities.yaml:8:27: `keys[6].key_sha256` is the digest of an empty key
            conf/identities.yaml:9:107: `keys[7].specialist` is not supported by this version of countersign
                remove it; it is refused rather than ignored because the key would be served without the narrowing that it asks for
            conf/identities.yaml:9:124: `keys[7].rolls` is not a known key
                did you mean `roles`?
        "#]],
    );
}

#[test]
fn a_toolset_of_a_key_that_could_never_be_used_is_refused() {
    for (toolset, expected) in [
        (
            "[]",
            r#"`keys[0].toolset` cannot be used: toolset [] is empty; use "preset:none" for an agent without tools"#,
        ),
        ("[files]", r#"selector "files" is malformed"#),
        (
            "['preset:nobody']",
            r#"names unknown preset "nobody"; known presets: read-only, none, full"#,
        ),
        ("preset:full", "`keys[0].toolset` must be a list, not a string"),
    ] {
        let text = format!("keys: [{{name: a, key_sha256: {DIGEST}, subject: s, toolset: {toolset}}}]");
        let told = written(&read(&files(&text)).unwrap_err());
        assert!(told.contains(expected), "{told}");
    }
    let presets = "toolsetPresets: {mine: {include: [{tool: x_a_b}]}}";
    let text = format!("keys: [{{name: a, key_sha256: {DIGEST}, subject: s, toolset: ['preset:mine']}}]");
    let all = [
        ("countersign.yaml", presets),
        ("identities.yaml", text.as_str()),
        ("mcp.json", "{}"),
    ];
    assert!(read(&all).is_ok());
}

#[test]
fn issuers_that_would_let_others_in_are_refused() {
    broken(
        "issuers:
  - {issuer: 'https://idp.example', audience: a, leeway: 5m}
  - {issuer: idp.example, audience: a}
  - {issuer: 'https://u:p@idp.example', audience: a}
  - {issuer: 'https://idp.example', jwks_url: 'ftp://idp.example/keys'}
  - {issuer: 'https://two.example', audience: a}
  - {issuer: 'https://two.example', audience: a}
",
        &expect![[r#"
            conf/identities.yaml:2:58: `issuers[0].leeway` must be at most `60s`
                a token would be good for longer than its issuer says; set the clocks instead
            conf/identities.yaml:3:14: `issuers[1].issuer` must be a URL that begins with `http://` or `https://`
                write it like `https://idp.example.com`
            conf/identities.yaml:4:14: `issuers[2].issuer` must be a URL without a user name
            conf/identities.yaml:5:5: `issuers[3]` has no `audience`
            conf/identities.yaml:5:47: `issuers[3].jwks_url` must be a URL that begins with `http://` or `https://`
                write it like `https://idp.example.com`
            conf/identities.yaml:7:14: `issuers[5].issuer` stands on line 6, column 14 already with the same audience; one entry decides what its tokens mean
        "#]],
    );
}

#[test]
fn an_issuer_in_plain_http_warns_unless_it_is_on_this_machine() {
    let text = "issuers: [{issuer: 'http://idp.example', audience: a}, {issuer: 'http://127.0.0.1:9', audience: a}]";
    let config = read(&files(text)).unwrap();
    expect![[r#"
        warning: conf/identities.yaml:1:12: `issuers[0].issuer` is plain http: whoever is on the way can sign tokens of their own; use https
    "#]].assert_eq(&written(&config.warnings));
}

#[test]
fn identities_make_other_addresses_legal() {
    let all = [
        (
            "countersign.yaml",
            "{listen: '0.0.0.0:8090', public_url: 'https://gw.example/tools/mcp/'}",
        ),
        ("identities.yaml", "keys: []"),
        ("mcp.json", "{}"),
    ];
    let config = read(&all).unwrap();
    assert_eq!(config.gateway.listen.to_string(), "0.0.0.0:8090");
    assert_eq!(config.gateway.public_url.as_deref(), Some("https://gw.example/tools"));
    assert!(read(&[("countersign.yaml", "{listen: '0.0.0.0:8090'}"), ("mcp.json", "{}")]).is_err());
}

#[test]
fn bindings_are_read_and_actors_are_told_from_people() {
    let yaml = "bindings:
  writers: [session-starter, ops@example.com]
  actor_tokens: {issuer: 'https://substrate.example', jwks: 'https://substrate.example/keys', audience: countersign}
trusted_proxies: [10.0.0.0/8, '2001:db8::1']
";
    let config = read(&[("countersign.yaml", yaml), ("mcp.json", "{}")]).unwrap();
    let bindings = &config.gateway.bindings;
    assert_eq!(bindings.writers, ["session-starter".into(), "ops@example.com".into()]);
    let actors = bindings.actor_tokens.as_ref().unwrap();
    assert_eq!((&*actors.audience, &*actors.session_claim), ("countersign", "sid"));
    assert_eq!(config.gateway.trusted_proxies.len(), 2);

    let people = "issuers: [{issuer: 'https://substrate.example', audience: countersign}]";
    let both = [
        ("countersign.yaml", yaml),
        ("identities.yaml", people),
        ("mcp.json", "{}"),
    ];
    expect![[r#"
        conf/identities.yaml: has an issuer with the same audience as `bindings.actor_tokens` of countersign.yaml
            give actor tokens an audience of their own; an actor would be served as a person whom nothing bounds
    "#]]
    .assert_eq(&written(&read(&both).unwrap_err()));
}

#[test]
fn bindings_that_nobody_could_check_are_refused() {
    let yaml = "bindings: {writers: [''], actor_tokens: {issuer: nowhere, audiences: x}}\ntrusted_proxies: [all, 10.0.0.0/40]\n";
    let problems = read(&[("countersign.yaml", yaml), ("mcp.json", "{}")]).unwrap_err();
    expect![[r#"
        conf/countersign.yaml:1:22: `bindings.writers[0]` must be 1 to 256 characters, without blanks around them or line ends
        conf/countersign.yaml:1:41: `bindings.actor_tokens` has no `audience`
        conf/countersign.yaml:1:50: `bindings.actor_tokens.issuer` must be a URL that begins with `http://` or `https://`
            write it like `https://idp.example.com`
        conf/countersign.yaml:1:59: `bindings.actor_tokens.audiences` is not a known key
            did you mean `audience`?
        conf/countersign.yaml:2:19: `trusted_proxies[0]` must be an address or a block of addresses, such as `10.0.0.7` or `10.0.0.0/8`
        conf/countersign.yaml:2:24: `trusted_proxies[1]` must be an address or a block of addresses, such as `10.0.0.7` or `10.0.0.0/8`
    "#]].assert_eq(&written(&problems));
}
