//! What a server asks of a client, in the words of both eras: requests of their own before 2026-07-28, and
//! `input_required` results since (SEP-2322).

use serde_json::value::RawValue;

use crate::codes;
use crate::object::{self, Edit, Object, push_quoted, quote};
use crate::rpc;
use crate::version::Era;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its key in `inputRequests`.
    pub id: String,
    /// `sampling/createMessage`, `elicitation/create`, `roots/list`
    pub method: String,
    /// The parameters, raw.
    pub params: Option<String>,
}

/// A result that asks for input before there is an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRequired {
    /// `inputRequests`, in order.
    pub questions: Vec<Question>,
    /// `requestState`, raw.
    pub state: Option<String>,
}

/// How many questions are put to a caller at once.
pub const MOST: usize = 16;

/// Why an `input_required` result cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// `inputRequests` is no object of requests.
    #[error("`inputRequests` is not an object of requests with a `method` each")]
    Malformed,
    /// Neither a question nor a state, so that a retry would be the same request.
    #[error("the result asks for input and holds neither `inputRequests` nor `requestState`")]
    Empty,
}

impl InputRequired {
    /// Reads a result; `None` when it does not ask for input.
    ///
    /// # Errors
    /// [`Error`]
    pub fn read(result: &str) -> Option<Result<Self, Error>> {
        let object = Object::parse(result).ok()?;
        let asks = object.text("resultType").is_some_and(|kind| kind == "input_required");
        asks.then(|| Self::of(&object))
    }

    fn of(result: &Object<'_>) -> Result<Self, Error> {
        let requests = match result.get("inputRequests") {
            None => Object::default(),
            Some(raw) => Object::parse(raw.get()).map_err(|_error| Error::Malformed)?,
        };
        let questions = requests.iter().map(|(id, raw)| {
            let request = Object::parse(raw.get()).map_err(|_error| Error::Malformed)?;
            let method = request.text("method").ok_or(Error::Malformed)?;
            Ok(Question {
                id: id.to_owned(),
                method: method.into_owned(),
                params: request.get("params").map(|params| params.get().to_owned()),
            })
        });
        let questions: Vec<Question> = questions.collect::<Result<_, Error>>()?;
        let state = result.get("requestState").map(|state| state.get().to_owned());
        if questions.is_empty() && state.is_none() {
            return Err(Error::Empty);
        }
        Ok(Self { questions, state })
    }

    /// The result that asks.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::from(r#"{"resultType":"input_required""#);
        if !self.questions.is_empty() {
            out.push_str(r#","inputRequests":{"#);
            for (index, question) in self.questions.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_quoted(&mut out, &question.id);
                out.push_str(r#":{"method":"#);
                push_quoted(&mut out, &question.method);
                if let Some(params) = &question.params {
                    out.push_str(r#","params":"#);
                    out.push_str(params);
                }
                out.push('}');
            }
            out.push('}');
        }
        if let Some(state) = &self.state {
            out.push_str(r#","requestState":"#);
            out.push_str(state);
        }
        out.push('}');
        out
    }
}

/// `inputResponses` of a retry; the answers are raw.
#[must_use]
pub fn responses<'a>(answers: impl Iterator<Item = (&'a str, &'a RawValue)>) -> String {
    let mut out = String::from("{");
    for (id, answer) in answers {
        if out.len() > 1 {
            out.push(',');
        }
        push_quoted(&mut out, id);
        out.push(':');
        out.push_str(answer.get());
    }
    out.push('}');
    out
}

/// The parameters of a question for a client of that era. An elicitation by URL has an `elicitationId`
/// before 2026-07-28 and none since; `id` is the one it gets where it has none.
#[must_use]
pub fn params_for(era: Era, method: &str, params: &str, id: &str) -> String {
    let is_url = || Object::parse(params).is_ok_and(|params| params.text("mode").is_some_and(|mode| mode == "url"));
    if method != "elicitation/create" || !is_url() {
        return params.to_owned();
    }
    let id = quote(id);
    let change = match era {
        Era::Legacy => Edit::Default("elicitationId", &id),
        Era::Modern => Edit::Remove("elicitationId"),
    };
    object::edit(params, &[change]).unwrap_or_else(|_error| params.to_owned())
}

/// What the keys of questions begin with that stand for an error `-32042` of a legacy server.
pub const URL_KEY: &str = "countersign-url-";

/// The error `-32042` of a legacy server as a result that asks a modern client to open the URLs; the server
/// is asked again by the retry, which tells it nothing. `None` for any other error, and for one that names no URL or
/// more than [`MOST`].
#[must_use]
pub fn of_url_error(server: &str, error: &str) -> Option<InputRequired> {
    let object = Object::parse(error).ok()?;
    let code: i64 = object.get("code")?.get().parse().ok()?;
    if code != codes::URL_ELICITATION_REQUIRED {
        return None;
    }
    let data = Object::parse(object.get("data")?.get()).ok()?;
    let asked: Vec<&RawValue> = serde_json::from_str(data.get("elicitations")?.get()).ok()?;
    if asked.len() > MOST {
        return None;
    }
    let method = "elicitation/create";
    let questions = asked.iter().enumerate().map(|(place, raw)| {
        let asked = Object::parse(raw.get()).ok()?;
        asked.text("url")?;
        let id = asked.text("elicitationId").unwrap_or_else(|| place.to_string().into());
        let params = object::apply(raw.get(), &asked, &[Edit::Default("mode", r#""url""#)]);
        let params = named(server, method, &params_for(Era::Modern, method, &params, "")).ok()?;
        Some(Question {
            id: format!("{URL_KEY}{id}"),
            method: method.to_owned(),
            params: Some(params),
        })
    });
    let questions: Vec<Question> = questions.collect::<Option<_>>()?;
    (!questions.is_empty()).then_some(InputRequired { questions, state: None })
}

/// The error `-32042` that sends a legacy client to the URLs of these parameters of elicitations, raw.
#[must_use]
pub fn url_error<'p>(message: &str, elicitations: impl Iterator<Item = &'p str>) -> String {
    let elicitations: Vec<&str> = elicitations.collect();
    let data = format!(r#"{{"elicitations":[{}]}}"#, elicitations.join(","));
    rpc::error_object(codes::URL_ELICITATION_REQUIRED, message, Some(&data))
}

/// The key in a question's `_meta` that says which server asks.
pub const SERVER_KEY: &str = "countersign/server";

/// A question's parameters with the name of the server that asks, since the client shows the gateway's only:
/// in `_meta`, and in front of the message that an elicitation shows to a person. The rest stays as it is.
///
/// # Errors
/// When the parameters are no object with one reading.
pub fn named(server: &str, method: &str, params: &str) -> Result<String, object::Error> {
    let object = Object::parse(params)?;
    let name = quote(server);
    let meta = object
        .get("_meta")
        .map(|raw| raw.get())
        .filter(|raw| raw.starts_with('{'));
    let meta = object::edit(meta.unwrap_or("{}"), &[Edit::Set(SERVER_KEY, &name)])?;
    let message = object
        .text("message")
        .filter(|_| method == "elicitation/create")
        .map(|message| quote(&format!("[{server}] {message}")));
    let mut edits = vec![Edit::Set("_meta", &meta)];
    edits.extend(message.iter().map(|message| Edit::Set("message", message)));
    Ok(object::apply(params, &object, &edits))
}

/// An `input_required` result whose questions name the server that asks; `None` when it asks nothing. Everything
/// else of it stays as it is.
#[must_use]
pub fn named_result(server: &str, result: &str) -> Option<String> {
    let object = Object::parse(result).ok()?;
    let requests = object.get("inputRequests")?.get();
    let asked = Object::parse(requests).ok()?;
    let renamed: Vec<(&str, String)> = asked
        .iter()
        .filter_map(|(id, raw)| Some((id, named_request(server, raw.get())?)))
        .collect();
    let edits: Vec<Edit<'_>> = renamed.iter().map(|(id, request)| Edit::Set(id, request)).collect();
    let requests = object::apply(requests, &asked, &edits);
    Some(object::apply(result, &object, &[Edit::Set("inputRequests", &requests)]))
}

fn named_request(server: &str, request: &str) -> Option<String> {
    let object = Object::parse(request).ok()?;
    let method = object.text("method")?;
    let params = named(server, &method, object.get("params")?.get()).ok()?;
    Some(object::apply(request, &object, &[Edit::Set("params", &params)]))
}

#[cfg(test)]
mod tests;
