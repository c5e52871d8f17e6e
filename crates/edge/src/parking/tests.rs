//! Parked calls: whom they are given to, how many there may be, and how they end.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::principal::{Authentication, Endpoint, Principal, PrincipalKey};
use countersign_core::stages::Toolset;
use countersign_engine::Reply;
use countersign_wire::questions::Question;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Asked, Bond, Limits, PREFIX, Parking, Unclaimed};
use crate::answer::Answer;
use crate::method::Method;
use crate::under_way::{Step, UnderWay};

const LIMITS: Limits = Limits {
    per_principal: 2,
    lifetime: Duration::from_secs(300),
};

fn bond(principal: PrincipalKey, request: &str) -> Bond {
    Bond {
        principal,
        endpoint: Endpoint::Main,
        toolset: Toolset::Unscoped { because: "a test" },
        asked: Asked {
            method: Method::CallTool,
            subject: request.into(),
            arguments: None,
        },
    }
}

fn local() -> PrincipalKey {
    Principal::local().key().clone()
}

fn other() -> PrincipalKey {
    Principal::of("other", "there", Authentication::LocalOnly).key().clone()
}

/// A call that asks one thing and ends when it is taken back.
fn asking(bond: &Bond) -> (Box<UnderWay>, oneshot::Receiver<Reply>, CancellationToken) {
    let (_, messages) = countersign_engine::way(1);
    let cancel = CancellationToken::new();
    let cancelled = cancel.clone();
    let work = Box::pin(async move {
        cancelled.cancelled().await;
        Some(Answer::result("1", "{}"))
    });
    let mut call = UnderWay::new("1", (messages, cancel.clone()), work);
    let (reply, answer) = oneshot::channel();
    let question = Question {
        id: "q".to_owned(),
        method: "elicitation/create".to_owned(),
        params: None,
    };
    call.open(question, reply);
    call.bond = Some(bond.clone());
    (Box::new(call), answer, cancel)
}

#[tokio::test]
async fn a_parked_call_is_given_once_to_its_own_caller_and_request_only() {
    let parking = Arc::new(Parking::default());
    let own = bond(local(), "a");
    let (call, _answer, cancel) = asking(&own);
    let state = parking.park(call, LIMITS).expect("parks");
    assert_eq!(state.len(), PREFIX.len() + 64);
    let foreign = parking.claim(&state, &bond(other(), "a")).expect_err("is foreign");
    assert_eq!(foreign, Unclaimed::Lapsed);
    let another = parking
        .claim(&state, &bond(local(), "b"))
        .expect_err("is another request");
    assert_eq!(another, Unclaimed::AnotherRequest);
    assert_eq!(parking.claim(PREFIX, &own).expect_err("is unknown"), Unclaimed::Lapsed);
    let mut call = parking.claim(&state, &own).expect("is its own");
    assert_eq!(parking.claim(&state, &own).expect_err("is taken"), Unclaimed::Lapsed);
    cancel.cancel();
    assert!(matches!(call.next().await, Step::Done(Some(_))));
}

#[tokio::test]
async fn a_principal_has_only_so_many_parked_calls() {
    let parking = Arc::new(Parking::default());
    let mut waiting = Vec::new();
    for _ in 0..LIMITS.per_principal {
        let (call, answer, _) = asking(&bond(local(), "a"));
        parking.park(call, LIMITS).expect("parks");
        waiting.push(answer);
    }
    let (call, mut answer, cancel) = asking(&bond(local(), "a"));
    let (mut call, reason) = parking.park(call, LIMITS).expect_err("is one too many");
    assert!(reason.contains("limits.parked_per_principal"), "{reason}");
    assert!(answer.try_recv().is_err() && !cancel.is_cancelled());
    call.refuse(1, reason);
    assert!(matches!(answer.await, Ok(Reply::Error(_))));
    let (theirs, _answer, _) = asking(&bond(other(), "a"));
    parking.park(theirs, LIMITS).expect("is another principal's");
}

#[tokio::test]
async fn a_question_that_is_not_answered_in_time_is_refused_and_its_call_taken_back() {
    let parking = Arc::new(Parking::default());
    let own = bond(local(), "a");
    let (call, answer, cancel) = asking(&own);
    let limits = Limits {
        lifetime: Duration::ZERO,
        ..LIMITS
    };
    let state = parking.park(call, limits).expect("parks");
    let Ok(Reply::Error(error)) = answer.await else {
        panic!("is refused")
    };
    assert!(error.get().contains("in time"), "{error}");
    cancel.cancelled().await;
    assert_eq!(parking.claim(&state, &own).expect_err("has lapsed"), Unclaimed::Lapsed);
    assert_eq!(parking.count(), 0);
}

#[tokio::test]
async fn the_end_takes_everything_back_and_waits_for_it() {
    let parking = Arc::new(Parking::default());
    let (call, answer, cancel) = asking(&bond(local(), "a"));
    parking.park(call, LIMITS).expect("parks");
    parking.end(Duration::from_secs(20)).await;
    assert!(cancel.is_cancelled() && matches!(answer.await, Ok(Reply::Error(_))));
    assert!(parking.tasks.is_empty() && parking.count() == 0);
}
