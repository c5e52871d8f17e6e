//! Requests signed with a principal's credential: one that is refused is renewed once, and the request sent again.

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};

use super::origin::Body;
use super::{ERROR_BODY, Link};
use crate::auth::{Challenge, Credential, Refusal};
use crate::exchange::Failure;

/// A request without its credential.
pub(super) struct Unsigned {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Signs and sends a request.
///
/// INVARIANT: it is sent again only after a 401, by which the server says that it did not run it (I5).
pub(super) async fn send(link: &Link, credential: &Credential, request: Unsigned) -> Result<Response<Body>, Failure> {
    let Unsigned {
        method,
        uri,
        mut headers,
        body,
    } = request;
    let mut token = credential.token().await.map_err(no_token)?;
    let mut again = true;
    loop {
        headers.insert(AUTHORIZATION, token.header.clone());
        let response = link
            .send_unsigned(method.clone(), uri.clone(), headers.clone(), body.clone())
            .await?;
        match response.status() {
            StatusCode::UNAUTHORIZED => {
                // A short body is read to the end, so that the connection can be used again.
                Limited::new(response.into_body(), ERROR_BODY).collect().await.ok();
                if !std::mem::take(&mut again) {
                    return Err(Failure::SignIn(
                        "its server does not take the tokens that it is given".to_owned(),
                    ));
                }
                token = credential.after(&token).await.map_err(no_token)?;
            }
            StatusCode::FORBIDDEN => {
                token.accept();
                let challenge = Challenge::of(response.headers()).filter(Challenge::lacks_scope);
                return match challenge {
                    Some(challenge) if credential.lacks(&challenge) => Err(Failure::SignIn(
                        "the sign-in did not grant what this request needs".to_owned(),
                    )),
                    Some(_) | None => Ok(response),
                };
            }
            _ => {
                token.accept();
                return Ok(response);
            }
        }
    }
}

/// What it means for a request that there is no token for it: it was not sent, or not run.
fn no_token(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Final(reason) => Failure::SignIn(reason),
        Refusal::Later(reason) => Failure::Refused {
            status: StatusCode::UNAUTHORIZED,
            reason,
        },
    }
}
