//! The two handshakes: `server/discover` of 2026-07-28, and `initialize` before it.

use std::sync::Arc;
use std::time::Duration;

use ::http::StatusCode;
use countersign_core::listing::Capabilities;
use countersign_wire::object::Object;
use countersign_wire::rpc;
use countersign_wire::version::{Era, Version};
use serde_json::value::RawValue;

use crate::connection::{Connection, Link};
use crate::exchange::{Announces, Facts, Failure, Outgoing, Unmade};
use crate::http;
use crate::params;
use crate::pending::Delivered;
use crate::text::{message_of, shown};

/// What a probe found out.
#[derive(Debug)]
pub(crate) enum Probed {
    /// The server speaks 2026-07-28.
    Modern(Facts),
    /// The server said no: it speaks an older version.
    Legacy,
    /// The server ended or said nothing; it may speak an older version.
    Silent(#[expect(dead_code, reason = "shown by Debug in the log")] String),
    /// The server cannot be used, whatever it speaks.
    Unusable(String),
    /// The server takes no credential that the principal has.
    SignIn(String),
}

/// Asks `server/discover`. A server that refuses the version and names it as its own is asked once more.
pub(crate) async fn probe(connection: &Arc<Connection>, limit: Duration) -> Probed {
    match probe_once(connection, limit).await {
        Verdict::Probed(probed) => probed,
        Verdict::Again => match probe_once(connection, limit).await {
            Verdict::Probed(probed) => probed,
            Verdict::Again => Probed::Unusable("it refuses the version that it names as its own".to_owned()),
        },
    }
}

enum Verdict {
    Probed(Probed),
    Again,
}

async fn probe_once(connection: &Arc<Connection>, limit: Duration) -> Verdict {
    let version = Version::V2026_07_28;
    let params = params::of_own("", Some(version));
    Verdict::Probed(
        match connection
            .ask_as("server/discover", Some(&params), Some(version), limit)
            .await
        {
            Ok(Delivered::Result(result)) => discovered(&result),
            Ok(Delivered::Error(error)) if http::is_modern_error(&error) => {
                let supported = supported(&error);
                if supported.contains(&version) {
                    return Verdict::Again;
                }
                if supported.iter().any(|version| version.era() == Era::Legacy) {
                    Probed::Legacy
                } else {
                    Probed::Unusable(format!("it refuses `server/discover`: {}", message_of(&error)))
                }
            }
            Ok(Delivered::Error(_)) | Err(Failure::SessionLost) => Probed::Legacy,
            Err(Failure::Refused { status, reason }) => match status {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Probed::Unusable(reason),
                _ => Probed::Legacy,
            },
            Err(Failure::SignIn(reason)) => Probed::SignIn(reason),
            Err(Failure::NotSent(reason)) if connection.is_http() => Probed::Unusable(reason),
            Err(Failure::NotSent(reason) | Failure::Lost(reason)) => Probed::Silent(reason),
        },
    )
}

/// A server that answers anything at all to an unknown method is no modern one.
fn discovered(result: &RawValue) -> Probed {
    let Ok(object) = Object::parse(result.get()) else {
        return Probed::Legacy;
    };
    let Some(supported) = object.get("supportedVersions").and_then(texts) else {
        return Probed::Legacy;
    };
    if !supported.iter().any(|version| version == Version::V2026_07_28.as_str()) {
        let legacy = supported
            .iter()
            .filter_map(|version| Version::parse(version))
            .any(|v| v.era() == Era::Legacy);
        if legacy {
            return Probed::Legacy;
        }
        return Probed::Unusable(format!("it speaks only protocol versions {}", supported.join(", ")));
    }
    let (capabilities, announces) = capabilities(object.get("capabilities"));
    let instructions = object.text("instructions").map(std::borrow::Cow::into_owned);
    Probed::Modern(Facts {
        version: Version::V2026_07_28,
        capabilities,
        announces,
        instructions,
    })
}

/// `data.supported` of a refused version (A.2 of the MCP notes), as far as it is known here.
fn supported(error: &RawValue) -> Vec<Version> {
    let supported = Object::parse(error.get()).ok().and_then(|error| {
        let data = Object::parse(error.get("data")?.get()).ok()?;
        data.get("supported").and_then(texts)
    });
    let supported = supported.unwrap_or_default();
    supported.iter().filter_map(|version| Version::parse(version)).collect()
}

fn texts(array: &RawValue) -> Option<Vec<String>> {
    serde_json::from_str(array.get()).ok()
}

/// The handshake is done and its facts are settled.
#[derive(Debug)]
pub(crate) struct Initialized;

/// Why a handshake failed.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The exchange failed.
    Failed(Failure),
    /// The server answered, and its answer cannot be used.
    Unusable(String),
}

impl Refused {
    /// Whether the address takes no POST of this kind.
    pub(crate) fn is_no_such_endpoint(&self) -> bool {
        match self {
            Self::Failed(Failure::Refused { status, .. }) => {
                matches!(
                    *status,
                    StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
                )
            }
            Self::Failed(Failure::NotSent(_) | Failure::SignIn(_) | Failure::SessionLost | Failure::Lost(_))
            | Self::Unusable(_) => false,
        }
    }

    /// Why there is no connection.
    pub(crate) fn into_unmade(self) -> Unmade {
        match self {
            Self::Failed(failure) => failure.into(),
            Self::Unusable(reason) => reason.into(),
        }
    }

    /// Why, for a person.
    pub(crate) fn into_reason(self) -> String {
        match self {
            Self::Failed(failure) => failure.reason(),
            Self::Unusable(reason) => reason,
        }
    }
}

/// `initialize`, and `notifications/initialized` before any other message.
pub(crate) async fn initialize(connection: &Arc<Connection>, limit: Duration) -> Result<Initialized, Refused> {
    let params = format!(
        r#"{{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"countersign","version":"{}"}}}}"#,
        Version::NEWEST_LEGACY.as_str(),
        params::OFFERED,
        env!("CARGO_PKG_VERSION"),
    );
    let delivered = match &connection.link {
        Link::Duplex(_) => connection.ask_as("initialize", Some(&params), None, limit).await,
        Link::Http(link) => {
            let work = open_session(connection, link, &params);
            tokio::time::timeout(limit, work).await.unwrap_or_else(|_elapsed| {
                Err(Failure::Lost(format!(
                    "no answer to `initialize` within {}",
                    shown(limit)
                )))
            })
        }
    };
    let result = match delivered.map_err(Refused::Failed)? {
        Delivered::Result(result) => result,
        Delivered::Error(error) => {
            return Err(Refused::Unusable(format!(
                "it refuses `initialize`: {}",
                message_of(&error)
            )));
        }
    };
    connection.settle(initialized(&result).map_err(Refused::Unusable)?);
    let told = connection
        .tell(rpc::notification("notifications/initialized", None))
        .await;
    told.map_err(Refused::Failed)?;
    Ok(Initialized)
}

async fn open_session(connection: &Arc<Connection>, link: &http::Link, params: &str) -> Result<Delivered, Failure> {
    let id = connection.next_id();
    let out = Outgoing {
        id,
        method: "initialize",
        name: None,
        params: Some(params),
        headers: &[],
        version: None,
    };
    let response = http::post(link, &out).await?;
    if response.status().is_success()
        && let Some(session) = response.headers().get(http::SESSION)
    {
        link.open_session(session.clone());
    }
    http::answer(connection, link, &out, response, None).await
}

fn initialized(result: &RawValue) -> Result<Facts, String> {
    let object =
        Object::parse(result.get()).map_err(|error| format!("its answer to `initialize` is no result: {error}"))?;
    let named = object
        .text("protocolVersion")
        .ok_or_else(|| "its answer to `initialize` names no protocol version".to_owned())?;
    let version = Version::parse(&named)
        .filter(|version| version.era() == Era::Legacy)
        .ok_or_else(|| {
            format!("it answers `initialize` with protocol version `{named}`, which has no sessions known here")
        })?;
    let (capabilities, announces) = capabilities(object.get("capabilities"));
    let instructions = object.text("instructions").map(std::borrow::Cow::into_owned);
    Ok(Facts {
        version,
        capabilities,
        announces,
        instructions,
    })
}

fn capabilities(raw: Option<&RawValue>) -> (Capabilities, Announces) {
    let object = raw.and_then(|raw| Object::parse(raw.get()).ok()).unwrap_or_default();
    let on = |capability: &str, flag: &str| {
        let inner = object.get(capability).and_then(|raw| Object::parse(raw.get()).ok());
        inner
            .and_then(|inner| inner.get(flag))
            .is_some_and(|flag| flag.get() == "true")
    };
    let has = |capability: &str| object.get(capability).is_some_and(|raw| raw.get() != "null");
    let offered = Capabilities {
        tools: has("tools"),
        resources: has("resources"),
        subscribe: on("resources", "subscribe"),
        prompts: has("prompts"),
        completions: has("completions"),
        logging: has("logging"),
    };
    let announces = Announces {
        tools: on("tools", "listChanged"),
        prompts: on("prompts", "listChanged"),
        resources: on("resources", "listChanged"),
    };
    (offered, announces)
}
