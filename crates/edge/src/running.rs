//! One call under way and the request that waits for it: what is said to its caller, and what is asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::principal::PrincipalKey;
use countersign_engine::{Reply, ToCaller};
use countersign_wire::bridge;
use countersign_wire::codes;
use countersign_wire::object::{self, Edit};
use countersign_wire::questions::{self, InputRequired, Question};
use countersign_wire::rpc;
use countersign_wire::version::{Era, Version};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::abilities;
use crate::answer::Answer;
use crate::parking::Limits;
use crate::replay::{Priming, Stream};
use crate::sessions;
use crate::shared::Shared;
use crate::speaker::Speaker;
use crate::under_way::{self, UnderWay};

pub(crate) use crate::under_way::{Finished, Step};

/// One call under way and the request that waits for it.
pub(crate) struct Running {
    shared: Arc<Shared>,
    speaker: Speaker,
    /// Who asks.
    principal: PrincipalKey,
    /// The raw id of the request that waits.
    id: String,
    /// `None` once it is parked.
    call: Option<Box<UnderWay>>,
    token: Token,
    asked: Vec<String>,
}

/// The progress token that the waiting request gave.
#[derive(Debug)]
pub(crate) enum Token {
    /// The one that the upstream's messages bear already.
    Known,
    /// Another, since another request began the call; `None` where it wants no progress.
    Own(Option<Box<RawValue>>),
}

/// Whether messages can reach the caller before the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Road {
    /// They can.
    Open,
    /// Only the answer can: notifications are dropped and requests refused.
    Closed,
}

impl Running {
    /// The request that began the call waits for it.
    pub(crate) fn new(shared: &Arc<Shared>, speaker: &Speaker, principal: &PrincipalKey, call: UnderWay) -> Self {
        Self {
            shared: Arc::clone(shared),
            speaker: speaker.clone(),
            principal: principal.clone(),
            id: call.began_as.clone(),
            call: Some(Box::new(call)),
            token: Token::Known,
            asked: Vec::new(),
        }
    }

    /// Another request than the one that began the call waits for it.
    pub(crate) fn resumed(mut self, id: &str, token: Option<&RawValue>) -> Self {
        id.clone_into(&mut self.id);
        self.token = Token::Own(token.map(RawValue::to_owned));
        self
    }

    /// Waits for the next thing to happen. What was said before the answer comes before the answer.
    /// A question to a caller without a session is the end of this request, and the call is parked.
    pub(crate) async fn next(&mut self) -> Step {
        loop {
            if let Some(asking) = self.ask() {
                return Step::Done(Some(asking));
            }
            let Some(call) = &mut self.call else {
                return Step::Done(None);
            };
            match call.next().await {
                Step::Done(finished) => {
                    let began_as = &call.began_as;
                    return Step::Done(finished.map(|answer| answer.readdressed(began_as, &self.id)));
                }
                Step::Message(message) => {
                    if call.bond.is_none() {
                        return Step::Message(message);
                    }
                    match question(&self.shared, (&self.speaker, &self.principal), message) {
                        Ok((question, reply)) => call.open(question, reply),
                        Err(message) => return Step::Message(message),
                    }
                }
            }
        }
    }

    /// Parks the call where it has open questions; the answer asks them.
    fn ask(&mut self) -> Option<Answer> {
        let mut call = self.call.take_if(|call| !call.open.is_empty())?;
        if call.is_over() {
            call.refuse(codes::INTERNAL_ERROR, "its call has ended");
            self.call = Some(call);
            return None;
        }
        call.gather(|message| question(&self.shared, (&self.speaker, &self.principal), message));
        let questions = call.open.iter().map(|open| open.question.clone()).collect();
        let in_force = self.shared.in_force();
        let limits = Limits {
            per_principal: in_force.settings.parked_per_principal,
            lifetime: in_force.settings.question_lifetime,
        };
        // While it is parked no id takes it back, and the end of its pipe does.
        let calls = self.speaker.calls();
        call.ticket = calls.map(|calls| calls.enter("", call.cancel_token()));
        match self.shared.parking.park(call, limits) {
            Ok(state) => {
                let state = Some(object::quote(&state));
                let result = InputRequired { questions, state }.render();
                let result = bridge::result_for(
                    self.speaker.version(),
                    bridge::Kind::Plain,
                    &result,
                    &in_force.server_info,
                );
                Some(Answer::result(&self.id, &result))
            }
            Err((mut call, reason)) => {
                call.refuse(codes::INTERNAL_ERROR, reason);
                call.ticket = calls.map(|calls| calls.enter(&self.id, call.cancel_token()));
                self.call = Some(call);
                None
            }
        }
    }

    /// How long its caller may be left without a word.
    pub(crate) fn heartbeat(&self) -> Duration {
        self.shared.in_force().settings.heartbeat
    }

    /// A stream for what is said to its caller; one with a session can take it up again.
    pub(crate) fn stream(&self) -> Arc<Stream> {
        let Speaker::Session(session) = &self.speaker else {
            return Stream::once();
        };
        let Some(id) = sessions::fresh_bits::<8>() else {
            return Stream::once();
        };
        let priming = if session.version >= Version::V2025_11_25 {
            Priming::Yes
        } else {
            Priming::No
        };
        let stream = Stream::named(id, priming);
        session.add_stream(&stream);
        stream
    }

    /// Nothing more is said; the stream is kept for a while.
    pub(crate) fn end_stream(&self, stream: &Arc<Stream>) {
        match stream.end() {
            Some(bytes) => self.shared.kept.keep(stream, bytes),
            None => {
                if let Speaker::Session(session) = &self.speaker {
                    session.drop_stream(stream);
                }
            }
        }
    }

    /// The caller is gone for good.
    pub(crate) fn abandon(&self) {
        if let Some(call) = &self.call
            && self.speaker.era() == Era::Modern
            && !call.is_over()
        {
            call.cancel();
        }
    }

    /// The message as the caller gets it; `None` when it gets none.
    pub(crate) fn render(&mut self, message: ToCaller, road: Road) -> Option<String> {
        match message {
            ToCaller::Notification { method, params } => {
                let wanted = method != "notifications/message" || self.speaker.wants_log(params.get());
                if road == Road::Closed || !wanted {
                    return None;
                }
                let own = match &self.token {
                    Token::Own(token) if method == "notifications/progress" => {
                        let token = token.as_ref()?.get();
                        Some(object::edit(params.get(), &[Edit::Set("progressToken", token)]).ok()?)
                    }
                    Token::Own(_) | Token::Known => None,
                };
                let params = own.as_deref().unwrap_or_else(|| params.get());
                Some(rpc::notification(&method, Some(params)))
            }
            ToCaller::Request { method, params, reply } => {
                let params = params.as_deref().map(RawValue::get);
                let refusal = self.refusal(&method, params, road);
                let (None, Speaker::Session(session)) = (refusal, &self.speaker) else {
                    let reason = refusal.unwrap_or("the caller has no session");
                    under_way::refuse(reply, codes::METHOD_NOT_FOUND, &method, reason);
                    return None;
                };
                let id = self.shared.next_request_id();
                session.await_reply(id.clone(), reply);
                let params = params.map(|params| self.shared.tasks.related(params, &session.principal));
                let text = rpc::request(&id, &method, params.as_deref());
                self.asked.push(id);
                Some(text)
            }
        }
    }

    /// Why the caller cannot be asked this.
    fn refusal(&self, method: &str, params: Option<&str>, road: Road) -> Option<&'static str> {
        let is_able = abilities::can_answer(self.speaker.abilities(), method, params);
        match &self.speaker {
            Speaker::Session(_) if road == Road::Closed => Some("the caller has no stream open for this call"),
            Speaker::Session(_) | Speaker::Stateless(_) if !is_able => {
                Some("the caller's client did not declare that it answers this")
            }
            Speaker::Stateless(_) => Some("in 2026-07-28 nothing can be asked for this method"),
            Speaker::Session(_) => None,
        }
    }
}

/// A request of an upstream that this caller can be asked; everything else is given back.
fn question(
    shared: &Shared,
    (speaker, principal): (&Speaker, &PrincipalKey),
    message: ToCaller,
) -> Result<(Question, oneshot::Sender<Reply>), ToCaller> {
    let ToCaller::Request { method, params, reply } = message else {
        return Err(message);
    };
    let text = params.as_deref().map(RawValue::get);
    if !abilities::can_answer(speaker.abilities(), &method, text) {
        return Err(ToCaller::Request { method, params, reply });
    }
    let id = shared.next_request_id().trim_matches('"').to_owned();
    let params = text.map(|params| {
        let params = shared.tasks.related(params, principal);
        questions::params_for(speaker.era(), &method, &params, &id)
    });
    Ok((Question { id, method, params }, reply))
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Speaker::Session(session) = &self.speaker {
            for id in &self.asked {
                session.forget(id);
            }
        }
        self.abandon();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("speaker", &self.speaker)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
