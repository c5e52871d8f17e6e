//! Two principals never share a key, and one keeps its key.

use std::collections::BTreeSet;

use super::{Authentication, Principal, Standing};

fn key_of(name: &str) -> Authentication {
    Authentication::Key { name: name.into() }
}

fn token_of(issuer: &str) -> Authentication {
    Authentication::Token { issuer: issuer.into() }
}

fn bound_to(session: &str) -> Authentication {
    Authentication::Bound {
        session: session.into(),
        issuer: "https://actors".into(),
    }
}

#[test]
fn principals_that_differ_in_subject_connection_way_or_issuer_have_keys_of_their_own() {
    let principals = [
        ("carol", "code", key_of("a")),
        ("carol", "desk", key_of("a")),
        ("carol/code", "", key_of("a")),
        ("carol", "code", token_of("https://one")),
        ("carol", "code", token_of("https://two")),
        ("carol", "code@https://one", token_of("https://two")),
        ("carol", "code", bound_to("s1")),
        ("carol", "code", Authentication::LocalOnly),
        ("key:5:carol/code", "key:5:carol/code", token_of("x")),
        ("local", "local", Authentication::LocalOnly),
        ("local", "local", key_of("local")),
    ];
    let keys: BTreeSet<String> = principals
        .iter()
        .map(|(subject, connection, way)| Principal::of(subject, connection, way.clone()).key().to_string())
        .collect();
    assert_eq!(keys.len(), principals.len(), "{keys:#?}");
}

#[test]
fn b009_a_principal_keeps_its_key_when_its_credential_roles_or_session_change() {
    let before = Principal::of("carol", "code", key_of("old"));
    let after = Principal::of("carol", "code", key_of("new")).with(Standing {
        roles: ["ops".into()].into(),
        plan: Some("pro".into()),
        groups: [].into(),
    });
    assert_eq!(before.key(), after.key());
    let (one, two) = (bound_to("s1"), bound_to("s2"));
    assert_eq!(
        Principal::of("carol", "a", one).key(),
        Principal::of("carol", "a", two).key()
    );
}
