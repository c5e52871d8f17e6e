//! Tests of `way`.

use serde_json::value::RawValue;

use super::way;
use crate::passage::ToCaller;

fn note(method: &str) -> ToCaller {
    ToCaller::Notification {
        method: method.to_owned(),
        params: RawValue::from_string("{}".to_owned()).expect("JSON"),
    }
}

fn method(message: &ToCaller) -> &str {
    match message {
        ToCaller::Notification { method, .. } | ToCaller::Request { method, .. } => method,
    }
}

#[tokio::test]
async fn messages_come_in_order_and_end_with_the_last_speaker() {
    let (way, mut messages) = way(4);
    let other = way.clone();
    let listening = tokio::spawn(async move {
        let mut heard = Vec::new();
        while let Some(message) = messages.recv().await {
            heard.push(method(&message).to_owned());
        }
        heard
    });
    way.send(note("a")).await.expect("somebody listens");
    tokio::task::yield_now().await;
    other.try_send(note("b")).expect("there is room");
    drop(way);
    other.try_send(note("c")).expect("there is room");
    drop(other);
    assert_eq!(listening.await.expect("ends"), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_full_way_holds_up_who_waits_and_refuses_who_does_not() {
    let (way, mut messages) = way(1);
    way.try_send(note("a")).expect("there is room");
    assert!(way.try_send(note("x")).is_err(), "it is full");
    let speaking = {
        let way = way.clone();
        tokio::spawn(async move { way.send(note("b")).await.is_ok() })
    };
    tokio::task::yield_now().await;
    assert_eq!(messages.recv().await.as_ref().map(method), Some("a"));
    assert!(speaking.await.expect("ends"));
    assert_eq!(messages.try_recv().as_ref().map(method), Some("b"));
    assert!(messages.try_recv().is_none());
}

#[tokio::test]
async fn a_way_without_a_listener_takes_nothing() {
    let (way, messages) = way(1);
    way.try_send(note("a")).expect("there is room");
    let speaking = {
        let way = way.clone();
        tokio::spawn(async move { way.send(note("b")).await.is_err() })
    };
    tokio::task::yield_now().await;
    drop(messages);
    assert!(speaking.await.expect("ends"));
    assert!(way.try_send(note("c")).is_err());
}
