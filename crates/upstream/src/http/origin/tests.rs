//! Connections to one origin over real sockets: reuse, loss, early answers, cancellation.

use std::time::Duration;

use bytes::Bytes;
use countersign_fetch::Screen;
use http::header::HOST;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Body, Origin, Outward};
use crate::exchange::Failure;
use crate::http::Client;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

async fn listening() -> (TcpListener, Origin) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let origin = Origin::new(
        &Client::new(Duration::from_secs(60)),
        uri.parse().unwrap(),
        Screen::Nothing,
    );
    (listener, origin)
}

fn post(body: impl Into<Bytes>) -> Outward {
    Request::builder()
        .method(Method::POST)
        .uri("/")
        .header(HOST, "peer")
        .body(Full::new(body.into()))
        .unwrap()
}

async fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().await.unwrap().0
}

/// Reads a request that ends with `{}`.
async fn taken(socket: &mut TcpStream) {
    let mut seen = Vec::new();
    while !seen.ends_with(b"{}") {
        assert_ne!(socket.read_buf(&mut seen).await.unwrap(), 0);
    }
}

/// Ends when the other side has closed.
async fn closed(mut socket: TcpStream) {
    let mut rest = Vec::new();
    while socket.read_buf(&mut rest).await.is_ok_and(|size| size > 0) {}
}

async fn text(answer: Result<Response<Body>, Failure>) -> Bytes {
    answer.unwrap().into_body().collect().await.unwrap().to_bytes()
}

/// Lets the runtime see what has happened to its sockets up to now.
async fn seen() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (made, _) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), accept(&listener));
    made.unwrap();
}

#[tokio::test]
async fn an_idle_connection_is_used_again_and_one_that_the_server_closed_takes_no_request() {
    let (listener, origin) = listening().await;
    let server = async {
        let mut first = accept(&listener).await;
        for _ in 0..3 {
            taken(&mut first).await;
            first.write_all(OK).await.unwrap();
        }
        drop(first);
        let mut second = accept(&listener).await;
        taken(&mut second).await;
        second.write_all(OK).await.unwrap();
    };
    let client = async {
        for _ in 0..3 {
            assert_eq!(text(origin.send(post("{}")).await).await, "ok");
        }
        seen().await;
        assert_eq!(text(origin.send(post("{}")).await).await, "ok");
    };
    tokio::join!(server, client);
}

#[tokio::test]
async fn i5_a_request_that_was_written_to_a_closing_connection_is_lost_and_not_sent_again() {
    let (listener, origin) = listening().await;
    let server = async {
        let mut first = accept(&listener).await;
        taken(&mut first).await;
        first.write_all(OK).await.unwrap();
        taken(&mut first).await;
        drop(first);
    };
    let client = async {
        assert_eq!(text(origin.send(post("{}")).await).await, "ok");
        assert!(matches!(origin.send(post("{}")).await, Err(Failure::Lost(_))));
    };
    tokio::join!(server, client);
    seen().await;
    let again = std::future::poll_fn(|cx| std::task::Poll::Ready(listener.poll_accept(cx).is_ready())).await;
    assert!(!again, "a second connection was made for it");
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_was_taken_is_read_and_its_connection_closed() {
    let (listener, origin) = listening().await;
    let server = async {
        let mut first = accept(&listener).await;
        first.write_all(OK).await.unwrap();
        let mut second = accept(&listener).await;
        taken(&mut second).await;
        second.write_all(OK).await.unwrap();
        closed(first).await;
    };
    let client = async {
        assert_eq!(text(origin.send(post(vec![b' '; 64 << 20])).await).await, "ok");
        assert_eq!(text(origin.send(post("{}")).await).await, "ok");
    };
    tokio::join!(server, client);
}

#[tokio::test]
async fn whoever_stops_waiting_or_reading_closes_the_connection() {
    let (listener, origin) = listening().await;
    let socket = {
        let mut sending = Box::pin(origin.send(post("{}")));
        tokio::select! {
            _answer = &mut sending => panic!("nobody answered"),
            socket = async {
                let mut socket = accept(&listener).await;
                taken(&mut socket).await;
                socket
            } => socket,
        }
    };
    closed(socket).await;
    let (answer, socket) = tokio::join!(origin.send(post("{}")), async {
        let mut socket = accept(&listener).await;
        taken(&mut socket).await;
        socket
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhal")
            .await
            .unwrap();
        socket
    });
    let mut body = answer.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "hal");
    drop(body);
    closed(socket).await;
}

#[tokio::test]
async fn an_answer_in_many_pieces_is_read_whole_and_its_connection_used_again() {
    let (listener, origin) = listening().await;
    let piece = "x".repeat(5000);
    let server = async {
        let mut socket = accept(&listener).await;
        taken(&mut socket).await;
        socket
            .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            .await
            .unwrap();
        for _ in 0..200 {
            socket
                .write_all(format!("1388\r\n{piece}\r\n").as_bytes())
                .await
                .unwrap();
            tokio::task::yield_now().await;
        }
        socket.write_all(b"0\r\n\r\n").await.unwrap();
        taken(&mut socket).await;
        socket.write_all(OK).await.unwrap();
    };
    let client = async {
        assert_eq!(text(origin.send(post("{}")).await).await, piece.repeat(200));
        assert_eq!(text(origin.send(post("{}")).await).await, "ok");
    };
    tokio::join!(server, client);
}
