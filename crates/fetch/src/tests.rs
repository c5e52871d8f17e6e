//! Documents are fetched within limits, and each redirect is screened again.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;

/// A server that gives one answer to every request, and what it was sent.
async fn server(answer: impl Into<String>) -> (String, mpsc::UnboundedReceiver<String>) {
    let answer = answer.into();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (heard, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 16 * 1024];
            let read = stream.read(&mut request).await.unwrap();
            request.truncate(read);
            heard.send(String::from_utf8(request).unwrap()).ok();
            stream.write_all(answer.as_bytes()).await.ok();
        }
    });
    (address, receiver)
}

fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn to(location: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

fn fetcher() -> Fetcher {
    Fetcher::new(Limits::default())
}

fn trust(url: &str) -> Trust {
    Trust::nobody().and_origin_of(url)
}

#[tokio::test]
async fn what_the_operator_wrote_is_fetched_and_shows_no_secret() {
    let (url, mut heard) = server(ok(r#"{"keys":[]}"#)).await;
    let document = fetcher()
        .get(&format!("{url}/jwks?x=1#part"), &trust(&url))
        .await
        .unwrap();
    assert_eq!(
        (document.status.as_u16(), &*document.body),
        (200, &br#"{"keys":[]}"#[..])
    );
    let request = heard.recv().await.unwrap();
    assert!(request.starts_with("GET /jwks?x=1 HTTP/1.1\r\n"), "{request}");
    assert!(
        request.contains(&format!("host: {}", url.trim_start_matches("http://"))),
        "{request}"
    );
}

#[tokio::test]
async fn b075_what_others_name_must_be_https_and_public() {
    let (url, mut heard) = server(ok("{}")).await;
    for (named, words) in [
        (url.as_str(), "is not https"),
        ("http://169.254.169.254/latest", "is not https"),
        ("https://169.254.169.254/latest", "a link-local address"),
        ("https://[::ffff:10.0.0.1]/", "an IPv4-mapped address"),
        ("ftp://example.com/", "not an http or https address"),
        ("https://user:secret@example.com/", "not an http or https address"),
        ("file:///etc/passwd", "not an http or https address"),
        ("/relative", "not an http or https address"),
    ] {
        let error = fetcher().get(named, &Trust::nobody()).await.unwrap_err().to_string();
        assert!(error.contains(words), "{named}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
    assert!(heard.try_recv().is_err(), "nothing was sent");
}

#[tokio::test]
async fn b075_every_hop_of_a_redirect_is_checked_again() {
    let (inside, mut heard) = server(ok("{}")).await;
    for target in [
        inside.clone(),
        "https://127.0.0.1/x".to_owned(),
        "//169.254.169.254/latest".to_owned(),
        "https://[::1]/".to_owned(),
    ] {
        let (named, _) = server(to(&target)).await;
        let error = fetcher().get(&named, &trust(&named)).await.unwrap_err();
        assert!(
            matches!(error, Error::NotSecure { .. } | Error::Screened { .. }),
            "{target}: {error}"
        );
    }
    assert!(heard.try_recv().is_err(), "nothing was sent");
    let (named, _) = server(to(&format!("{inside}/there"))).await;
    let both = trust(&named).and_host(inside.trim_start_matches("http://"));
    assert_eq!(fetcher().get(&named, &both).await.unwrap().status, 200);
    assert!(heard.recv().await.unwrap().starts_with("GET /there "));
}

#[tokio::test]
async fn redirects_end_and_a_post_is_never_redirected() {
    let (url, mut heard) = server(to("/again")).await;
    let error = fetcher().get(&url, &trust(&url)).await.unwrap_err();
    assert!(matches!(error, Error::TooManyRedirects { .. }), "{error}");
    while heard.try_recv().is_ok() {}
    let secret = Secret::hidden("Basic c2VjcmV0");
    let fields = [("refresh_token", "secret&1"), ("scope", "a b")];
    let posted = fetcher()
        .post(&url, Post::Form(&fields), Some(&secret), &trust(&url))
        .await;
    let error = posted.unwrap_err();
    assert!(matches!(error, Error::Redirected { .. }), "{error}");
    let request = heard.recv().await.unwrap();
    assert!(request.contains("authorization: Basic c2VjcmV0\r\n"), "{request}");
    assert!(request.ends_with("refresh_token=secret%261&scope=a%20b"), "{request}");
    assert!(heard.try_recv().is_err(), "sent once");
}

#[tokio::test]
async fn a_document_has_a_largest_size_and_a_longest_time() {
    let limits = Limits {
        bytes: 1000,
        ..Limits::default()
    };
    let (url, _) = server(ok(&"x".repeat(1001))).await;
    let error = Fetcher::new(limits).get(&url, &trust(&url)).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 1000, .. }), "{error}");

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/?secret=1", silent.local_addr().unwrap());
    let limits = Limits {
        time: Duration::from_millis(50),
        ..Limits::default()
    };
    let error = Fetcher::new(limits).get(&url, &trust(&url)).await.unwrap_err();
    assert!(matches!(error, Error::TooSlow { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_document() {
    let (url, _) = server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
    // Dropping the listener's stream ends the connection in the middle of the body.
    let error = fetcher().get(&url, &trust(&url)).await.unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error}");
}
