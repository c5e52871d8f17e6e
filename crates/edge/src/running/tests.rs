//! Calls under way: panics, order, and what happens when nobody waits any more.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::catalogue::Naming;
use countersign_core::principal::Principal;
use countersign_engine::{Abilities, Engine, ToCaller, UpstreamSettings, Way, way};
use countersign_store::Ledger;
use countersign_wire::meta;
use countersign_wire::version::Version;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Finished, Running, Step};
use crate::answer::Answer;
use crate::session::Session;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::speaker::{Speaker, Stateless};
use crate::under_way::UnderWay;

fn shared() -> Arc<Shared> {
    let limit = Duration::from_secs(10);
    let settings = countersign_engine::Settings {
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        presets: Arc::default(),
        upstream: UpstreamSettings {
            connect_timeout: limit,
            call_timeout: limit,
            response_bytes: 1000,
            idle: Duration::from_secs(3600),
            warden: None,
            vault_key: None,
        },
        pages: None,
        listed_as: Principal::local().key().clone(),
        debounce: Duration::ZERO,
        shown: Arc::default(),
        workflows: countersign_engine::Workflows::default(),
        hash: String::new(),
    };
    Arc::new(Shared::new(
        Engine::start(settings, &[], Ledger::memory()),
        Settings::default(),
    ))
}

fn legacy(shared: &Shared) -> Speaker {
    let session = Session::new(
        "s".to_owned(),
        &shared.local_caller(),
        Version::NEWEST_LEGACY,
        Abilities::default(),
    );
    Speaker::Session(Arc::new(session))
}

fn modern() -> Speaker {
    let params = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
    let params = RawValue::from_string(params.to_owned()).expect("JSON");
    let meta = meta::read(Some(&params)).expect("metadata");
    Speaker::Stateless(Arc::new(Stateless::read(&meta, None).expect("modern")))
}

fn running(
    speaker: &Speaker,
    shared: &Arc<Shared>,
    work: impl Future<Output = Finished> + Send + 'static,
) -> (Running, Way, CancellationToken) {
    let (sender, messages) = way(4);
    let cancel = CancellationToken::new();
    (
        Running::new(
            shared,
            speaker,
            Principal::local().key(),
            UnderWay::new("1", (messages, cancel.clone()), Box::pin(work)),
        ),
        sender,
        cancel,
    )
}

#[tokio::test]
async fn a_panic_is_one_requests_failure() {
    let shared = shared();
    let (mut running, _sender, _) = running(&legacy(&shared), &shared, async { panic!("a bug") });
    let Step::Done(Some(answer)) = running.next().await else {
        panic!("is answered")
    };
    assert_eq!(answer.status.as_u16(), 500);
    assert!(
        answer.text.contains(r#""id":1"#) && !answer.text.contains("a bug"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn what_was_said_before_the_answer_comes_before_it() {
    let shared = shared();
    let (say, said) = oneshot::channel::<Way>();
    let work = async {
        let sender: Way = said.await.expect("a way to the caller");
        let params = RawValue::from_string("{}".to_owned()).expect("JSON");
        let notification = ToCaller::Notification {
            method: "notifications/progress".to_owned(),
            params,
        };
        sender.try_send(notification).expect("room");
        Some(Answer::result("1", "{}"))
    };
    let (mut running, sender, _) = running(&legacy(&shared), &shared, work);
    say.send(sender).expect("is awaited");
    assert!(matches!(running.next().await, Step::Message(_)));
    assert!(matches!(running.next().await, Step::Done(Some(_))));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_finished_and_cancelled_in_the_modern_era_only() {
    let shared = shared();
    for (speaker, is_cancelled) in [(legacy(&shared), false), (modern(), true)] {
        let (go, gone) = oneshot::channel::<()>();
        let (finish, finished) = oneshot::channel();
        let work = async move {
            gone.await.ok();
            finish.send(()).ok();
            None
        };
        let (mut running, _sender, cancel) = running(&speaker, &shared, work);
        // It has begun, and then its connection goes.
        tokio::select! { biased; _ = running.next() => panic!("has not ended"), () = std::future::ready(()) => {} }
        drop(running);
        assert_eq!(cancel.is_cancelled(), is_cancelled);
        go.send(()).expect("still runs");
        finished.await.expect("is finished");
    }
}
