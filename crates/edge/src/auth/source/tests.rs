//! Keys over HTTP from a server of the test, which counts how often it is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::token::tests::Signer;
use super::*;

/// Serves documents by their path, and counts what is asked for.
#[derive(Debug)]
pub(crate) struct Issuer {
    pub(crate) url: String,
    pub(crate) documents: Mutex<Vec<(String, Value)>>,
    pub(crate) asked: AtomicUsize,
}

impl Issuer {
    pub(crate) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            documents: Mutex::default(),
            asked: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&issuer);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_gone) => break,
                    }
                }
                let head = String::from_utf8(head).unwrap();
                let path = head.split(' ').nth(1).unwrap_or_default();
                serving.asked.fetch_add(1, Ordering::SeqCst);
                let document = serving
                    .documents
                    .lock()
                    .unwrap()
                    .iter()
                    .find(|(at, _)| at == path)
                    .cloned();
                let (status, body) = document.map_or(("404 Not Found", String::new()), |(_, body)| {
                    ("200 OK", body.to_string())
                });
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes()).await.ok();
                stream.write_all(body.as_bytes()).await.ok();
            }
        });
        issuer
    }

    /// Serves these and nothing else.
    pub(crate) fn serve(&self, documents: &[(&str, Value)]) {
        *self.documents.lock().unwrap() = documents
            .iter()
            .map(|(path, body)| ((*path).to_owned(), body.clone()))
            .collect();
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn source(&self, jwks: Option<&str>) -> Arc<Source> {
        let whose = Whose {
            issuer: self.url.as_str().into(),
            jwks_url: jwks.map(|path| format!("{}{path}", self.url).into()),
        };
        Arc::new(Source::new(whose, Fetcher::new(countersign_fetch::Limits::default())))
    }
}

pub(crate) fn keys(signers: &[(&str, &Signer)]) -> Value {
    json!({"keys": signers.iter().map(|(kid, signer)| signer.jwk(kid)).collect::<Vec<_>>()})
}

#[tokio::test]
async fn keys_are_fetched_once_and_an_unknown_one_is_asked_for_once() {
    let issuer = Issuer::start().await;
    let (old, new) = (Signer::es256(), Signer::es256());
    issuer.serve(&[("/keys", keys(&[("old", &old)]))]);
    let source = issuer.source(Some("/keys"));
    let first = source.key(Some("old"), Algorithm::Es256).await.unwrap();
    for _ in 0..10 {
        source.key(Some("old"), Algorithm::Es256).await.unwrap();
    }
    assert_eq!(issuer.asked(), 1);
    assert!(source.is_current(first.number));

    issuer.serve(&[("/keys", keys(&[("new", &new)]))]);
    let wanted = (0..20).map(|_| source.key(Some("new"), Algorithm::Es256));
    assert!(futures_util::future::join_all(wanted).await.iter().all(Result::is_ok));
    assert_eq!(issuer.asked(), 2, "all who wait share one fetch");
    assert_eq!(
        source.key(Some("old"), Algorithm::Es256).await.unwrap_err(),
        Unfound::Unknown
    );
    assert!(
        !source.is_current(first.number),
        "what the key that is gone signed is judged anew"
    );
}

#[tokio::test]
async fn unknown_keys_do_not_make_the_gateway_hammer_an_issuer() {
    let issuer = Issuer::start().await;
    issuer.serve(&[("/keys", keys(&[("a", &Signer::es256())]))]);
    let source = issuer.source(Some("/keys"));
    for number in 0..50 {
        let found = source.key(Some(&number.to_string()), Algorithm::Es256).await;
        assert_eq!(found.unwrap_err(), Unfound::Unknown);
    }
    assert!(
        issuer.asked() <= usize::try_from(BURST).unwrap() + 1,
        "{}",
        issuer.asked()
    );
}

#[tokio::test]
async fn keys_are_found_by_the_metadata_of_the_issuer_itself_only() {
    let issuer = Issuer::start().await;
    let signer = Signer::ed_dsa();
    let keys_of = keys(&[("a", &signer)]);
    for (place, is_own) in [
        ("/.well-known/openid-configuration", true),
        ("/.well-known/oauth-authorization-server", true),
        ("/.well-known/openid-configuration", false),
    ] {
        let named = if is_own {
            issuer.url.clone()
        } else {
            "https://other.example".to_owned()
        };
        let metadata = json!({"issuer": named, "jwks_uri": format!("{}/k", issuer.url)});
        issuer.serve(&[(place, metadata), ("/k", keys_of.clone())]);
        let found = issuer.source(None).key(Some("a"), Algorithm::EdDsa).await;
        assert_eq!(found.is_ok(), is_own, "{place}: {found:?}");
    }
}

#[tokio::test]
async fn keys_that_metadata_puts_inside_are_not_fetched() {
    let (issuer, inside) = (Issuer::start().await, Issuer::start().await);
    inside.serve(&[("/k", keys(&[("a", &Signer::es256())]))]);
    let metadata = json!({"issuer": issuer.url, "jwks_uri": format!("{}/k", inside.url)});
    issuer.serve(&[("/.well-known/openid-configuration", metadata)]);
    let found = issuer.source(None).key(Some("a"), Algorithm::Es256).await;
    assert!(matches!(found, Err(Unfound::Unavailable(_))), "{found:?}");
    assert_eq!(inside.asked(), 0);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_unavailable_and_named() {
    let issuer = Issuer::start().await;
    let found = issuer.source(Some("/keys")).key(None, Algorithm::Es256).await;
    let Err(Unfound::Unavailable(reason)) = found else {
        panic!("{found:?}")
    };
    assert!(reason.contains("/keys answered 404"), "{reason}");
}

#[test]
fn fetches_come_back_one_by_one() {
    let mut state = State {
        under_way: None,
        left: BURST,
        refilled: Instant::now(),
        error: String::new(),
    };
    let start = state.refilled;
    assert_eq!((0..20).filter(|_| state.spend(start)).count(), 5);
    assert!(!state.spend(start + REFILL - Duration::from_millis(1)));
    assert!(state.spend(start + REFILL));
    assert!(!state.spend(start + REFILL));
}
