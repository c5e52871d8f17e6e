//! Questions of a modern server, put to the caller on behalf of a call that the gateway makes itself.

use countersign_core::names::ServerName;
use countersign_wire::questions::{self, InputRequired, Question};
use countersign_wire::version::Era;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::passage::{Passage, Reply, ToCaller};

/// Members of `params` that carry answers, as written.
pub type Carried = Vec<(String, Box<RawValue>)>;

/// What the repetition of a call has to carry, when its result asks for input; `None` when it does not ask.
///
/// Everything is asked at once, of the caller that the passage leads to, as a legacy server would ask it.
///
/// # Errors
/// Why there is no answer, in lower case.
pub async fn answers(server: &ServerName, result: &RawValue, passage: &Passage) -> Option<Result<Carried, String>> {
    let required = InputRequired::read(result.get())?;
    Some(match required {
        Ok(required) => Box::pin(asked(server, required, passage)).await,
        Err(error) => Err(error.to_string()),
    })
}

async fn asked(server: &ServerName, required: InputRequired, passage: &Passage) -> Result<Carried, String> {
    if required.questions.len() > questions::MOST {
        return Err(format!("it asked more than {} things at once", questions::MOST));
    }
    // What the client cannot answer is known before anything is asked.
    for question in &required.questions {
        able(question, passage)?;
    }
    let mut awaited = Vec::with_capacity(required.questions.len());
    for question in &required.questions {
        awaited.push((question.id.as_str(), ask(server, question, passage).await?));
    }
    let mut answered = Vec::with_capacity(awaited.len());
    for (id, answer) in awaited {
        let reply = tokio::select! {
            reply = answer => reply,
            () = passage.cancel.cancelled() => return Err("the call was taken back before the client answered".to_owned()),
        };
        match reply {
            Ok(Reply::Result(answer)) => answered.push((id, answer)),
            Ok(Reply::Error(_)) => return Err("the client answered its question with an error".to_owned()),
            Err(_gone) => return Err("the client went away before it answered".to_owned()),
        }
    }
    let mut carried = Carried::new();
    let mut carry = |name: &str, value: String| {
        let value = RawValue::from_string(value).map_err(|error| error.to_string())?;
        carried.push((name.to_owned(), value));
        Ok::<(), String>(())
    };
    if !answered.is_empty() {
        let responses = questions::responses(answered.iter().map(|(id, answer)| (*id, &**answer)));
        carry("inputResponses", responses)?;
    }
    if let Some(state) = required.state {
        carry("requestState", state)?;
    }
    Ok(carried)
}

fn able(question: &Question, passage: &Passage) -> Result<(), String> {
    let is_url = question.params.as_deref().is_some_and(|params| {
        countersign_wire::object::Object::parse(params)
            .is_ok_and(|it| it.text("mode").is_some_and(|mode| mode == "url"))
    });
    let abilities = &passage.abilities;
    let (able, what) = match (question.method.as_str(), is_url) {
        ("sampling/createMessage", _) => (abilities.sampling, "sampling"),
        ("roots/list", _) => (abilities.roots, "roots"),
        ("elicitation/create", true) => (abilities.elicit_url, "elicitation by URL"),
        ("elicitation/create", false) => (abilities.elicit_form, "elicitation"),
        (other, _) => return Err(format!("it asked for `{other}`, which no client answers")),
    };
    if able {
        Ok(())
    } else {
        Err(format!("it needs {what}, which the client did not declare"))
    }
}

async fn ask(server: &ServerName, question: &Question, passage: &Passage) -> Result<oneshot::Receiver<Reply>, String> {
    let params = match &question.params {
        None => None,
        Some(params) => {
            let named = questions::named(server.as_str(), &question.method, params);
            let named = named.map_err(|error| format!("its question has no single reading: {error}"))?;
            let id = format!("{server}-{}", question.id);
            let params = questions::params_for(Era::Legacy, &question.method, &named, &id);
            Some(RawValue::from_string(params).map_err(|error| error.to_string())?)
        }
    };
    let (reply, answer) = oneshot::channel();
    let message = ToCaller::Request {
        method: question.method.clone(),
        params,
        reply,
    };
    let sent = passage.to_caller.send(message).await;
    sent.map_err(|_gone| "the client went away before it could be asked".to_owned())?;
    Ok(answer)
}
