//! The pages by which a person signs in to a server: the link, the way to the server's own pages, and back.

use std::sync::Arc;

use countersign_core::principal::PrincipalKey;
use countersign_core::secret::Secret;
use countersign_engine::{CALLBACK, CLIENT, Callback, Invitation, START, Stuck};
use http::header::{AUTHORIZATION, COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::body::{Body, Waits};
use super::form::Form;
use super::page::Page;
use super::{Connection, admission, body, reply};
use crate::sessions;
use crate::settings::InForce;

/// Whom everyone is served as where nobody is asked who they are.
const LOCAL: &str = "local";

/// The field that holds a link's ticket.
const TICKET: &str = "ticket";

/// How large the form of the page may be, in bytes.
const FORM_BYTES: usize = 4096;

/// How long a browser keeps what binds it to a sign-in, in seconds.
const COOKIE_AGE: u32 = 1800;

/// Whether a path is one of these pages.
pub(super) fn is_at(path: &str) -> bool {
    path == START || path == CALLBACK || path == CLIENT
}

/// Answers a request for one of these pages.
pub(super) async fn answer(
    connection: &Arc<Connection>,
    in_force: &InForce,
    request: Request<Incoming>,
) -> Response<Body> {
    let is_start = request.uri().path() == START;
    if request.uri().path() == CLIENT {
        return client(connection, request.method());
    }
    match *request.method() {
        Method::GET if is_start => start(connection, in_force, &request).await,
        Method::POST if is_start => go(connection, in_force, request).await,
        Method::GET => callback(connection, in_force, &request).await,
        _ if is_start => reply::not_allowed("GET, POST"),
        _ => reply::not_allowed("GET"),
    }
}

/// Who the gateway is, for authorization servers that read it where it serves it.
fn client(connection: &Connection, method: &Method) -> Response<Body> {
    match (method, connection.shared.engine.client_document()) {
        (&Method::GET, Some(document)) => reply::json(StatusCode::OK, document),
        (&Method::GET, None) => reply::not_found(),
        (_, _) => reply::not_allowed("GET"),
    }
}

/// Whose request it is, where it says so: a browser does not, unless what stands between adds it.
async fn opened_by(
    connection: &Connection,
    in_force: &InForce,
    (method, headers): (&Method, &HeaderMap),
) -> Result<Option<PrincipalKey>, Box<Response<Body>>> {
    if !headers.contains_key(AUTHORIZATION) {
        return Ok(None);
    }
    let admitted = admission::admit(connection, in_force, method, headers).await?;
    Ok(Some(admitted.principal.key().clone()))
}

/// Shows what the link is for. Looking at it uses nothing up: programs look at links, too.
async fn start(connection: &Connection, in_force: &InForce, request: &Request<Incoming>) -> Response<Body> {
    let form = Form::read(request.uri().query().unwrap_or_default());
    let ticket = form.as_ref().and_then(|form| form.get(TICKET)).unwrap_or_default();
    let opened_by = match opened_by(connection, in_force, (&Method::GET, request.headers())).await {
        Ok(key) => key,
        Err(refused) => return *refused,
    };
    let invitation = match connection.shared.engine.invitation(ticket, opened_by.as_ref()) {
        Ok(invitation) => invitation,
        Err(stuck) => return stuck_at(&stuck),
    };
    let mut response = invite(&invitation, ticket).answer(StatusCode::OK);
    if browser(in_force, request.headers()).is_none() {
        let Some(fresh) = sessions::fresh_bits::<32>() else {
            return reply::error(StatusCode::INTERNAL_SERVER_ERROR, "the system gives no random numbers");
        };
        let cookie = HeaderValue::from_str(&set_cookie(in_force, &fresh));
        if let Ok(mut cookie) = cookie {
            cookie.set_sensitive(true);
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
    response
}

fn invite(invitation: &Invitation, ticket: &str) -> Page {
    let Invitation {
        server,
        description,
        subject,
        connection,
    } = invitation;
    let server = server.as_str();
    let is_here = subject == LOCAL && connection.is_none();
    let whose = if is_here { "this machine" } else { subject };
    let mut page = Page::new(&format!("Sign in to “{server}”")).names(
        "An agent of ",
        whose,
        " wants to use this server, and the server asks who it acts for.",
    );
    if let Some(description) = description {
        page = page.quotes(description);
    }
    if let Some(connection) = connection {
        page = page.names("It is connected as ", connection, ".");
    }
    let not_you = if is_here {
        "Did you come here although ".to_owned()
    } else {
        format!("You are not {subject}, or ")
    };
    page.says("You will go to the server’s own sign-in page. What you allow there is used for this agent’s calls alone.")
        .button("Go on to sign in", START, (TICKET, ticket))
        .notes(&format!(
            "{not_you}you asked for nothing of the kind? Then close this page: whoever sent you the link would act with your account."
        ))
}

/// Uses the link up and sends the browser to the server's own page.
async fn go(connection: &Connection, in_force: &InForce, request: Request<Incoming>) -> Response<Body> {
    let (parts, incoming) = request.into_parts();
    // The body of a form is small, and who waits for a word before sending it is no browser.
    let Ok(bytes) = body::read(incoming, (FORM_BYTES, Waits::No), &connection.alarm).await else {
        return stuck_at(&Stuck::Expired);
    };
    let form = std::str::from_utf8(&bytes).ok().and_then(Form::read);
    let ticket = form.as_ref().and_then(|form| form.get(TICKET)).unwrap_or_default();
    let Some(browser) = browser(in_force, &parts.headers) else {
        return no_cookie();
    };
    let opened_by = match opened_by(connection, in_force, (&Method::POST, &parts.headers)).await {
        Ok(key) => key,
        Err(refused) => return *refused,
    };
    match connection.shared.engine.go(ticket, opened_by.as_ref(), &browser).await {
        Ok(url) => match HeaderValue::from_str(url.reveal()) {
            Ok(mut location) => {
                location.set_sensitive(true);
                let mut response = reply::bare(StatusCode::SEE_OTHER, "");
                response.headers_mut().insert(LOCATION, location);
                response
            }
            Err(_unprintable) => reply::error(StatusCode::BAD_GATEWAY, "the server names no address to sign in at"),
        },
        Err(stuck) => stuck_at(&stuck),
    }
}

/// The browser is back.
async fn callback(connection: &Connection, in_force: &InForce, request: &Request<Incoming>) -> Response<Body> {
    let Some(callback) = Form::read(request.uri().query().unwrap_or_default()).and_then(|form| read_callback(&form))
    else {
        return stuck_at(&Stuck::Expired);
    };
    let browser = browser(in_force, request.headers());
    match connection.shared.engine.come_back(callback, browser.as_ref()).await {
        Ok(done) => Page::new(&format!("You are signed in to “{}”", done.server))
            .names("Its tools are now there for ", &done.subject, "’s agent.")
            .says("You can close this page and go back to your client.")
            .answer(StatusCode::OK),
        Err(stuck) => stuck_at(&stuck),
    }
}

fn read_callback(form: &Form) -> Option<Callback> {
    let state = form.get("state").filter(|state| !state.is_empty())?.to_owned();
    let answer = match (form.get("error"), form.get("code")) {
        (Some(error), _) => {
            let why = form.get("error_description").map(|why| format!(": {why}"));
            Err(shown(&format!("{error}{}", why.unwrap_or_default())))
        }
        (None, Some(code)) if !code.is_empty() => Ok(Secret::hidden(code)),
        (None, _) => return None,
    };
    Some(Callback {
        state,
        answer,
        iss: form.get("iss").map(str::to_owned),
    })
}

/// At most 300 characters of a stranger's text.
fn shown(text: &str) -> String {
    text.chars().take(300).collect()
}

fn stuck_at(stuck: &Stuck) -> Response<Body> {
    const NEW_LINK: &str =
        "Ask your agent for a new link: it gets one with core_auth_login, or by calling the tool again.";
    match stuck {
        Stuck::Expired => Page::new("This link is no longer good")
            .says("A link for signing in works once, within ten minutes. This one was used, is too old, or never was one.")
            .says(NEW_LINK)
            .answer(StatusCode::GONE),
        Stuck::NotYours => Page::new("This link is not yours")
            .says("It was made for somebody else, so nothing was done.")
            .says(NEW_LINK)
            .answer(StatusCode::FORBIDDEN),
        Stuck::WrongBrowser => Page::new("This sign-in was begun in another browser")
            .says("So that nobody can end a sign-in that is not theirs, it has to end in the browser that opened the link. Nothing was done.")
            .says("Go on in the other browser, or ask your agent for a new link.")
            .answer(StatusCode::FORBIDDEN),
        Stuck::Refused { server, reason } => Page::new(&format!("Not signed in to “{server}”"))
            .says("The sign-in did not work out. What was said of it:")
            .quotes(reason)
            .says(NEW_LINK)
            .answer(StatusCode::BAD_GATEWAY),
    }
}

fn no_cookie() -> Response<Body> {
    Page::new("This browser keeps no cookie")
        .says("A cookie binds the sign-in to this browser, and none came back. Allow cookies for this address, then open the link again.")
        .answer(StatusCode::FORBIDDEN)
}

/// The name of the cookie: over https one that no other host and no other path can set.
fn cookie_name(in_force: &InForce) -> &'static str {
    if is_https(in_force) {
        "__Host-countersign-sign-in"
    } else {
        "countersign-sign-in"
    }
}

fn is_https(in_force: &InForce) -> bool {
    let public = in_force.settings.public_url.as_deref().unwrap_or_default();
    public.to_ascii_lowercase().starts_with("https://")
}

// `Lax`: the browser comes back from another site, by a link.
fn set_cookie(in_force: &InForce, value: &str) -> String {
    let secure = if is_https(in_force) { "; Secure" } else { "" };
    format!(
        "{}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={COOKIE_AGE}{secure}",
        cookie_name(in_force)
    )
}

/// What binds this browser, when it has exactly one such cookie of our form.
fn browser(in_force: &InForce, headers: &HeaderMap) -> Option<Secret> {
    let name = cookie_name(in_force);
    let mut found = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| value);
    let value = found.next()?;
    let is_ours = value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_ours && found.next().is_none()).then(|| Secret::hidden(value))
}
