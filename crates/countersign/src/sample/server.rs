//! An MCP server over lines: both eras, one message at a time.

use std::io::{self, BufRead, Read, Write};

use countersign_wire::bridge::{self, Kind};
use countersign_wire::rpc::{self, Body, Fault, Message};
use countersign_wire::version::{Era, Version};
use countersign_wire::{codes, meta};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::{Members, fault};

/// The longest line that is read, in bytes.
const LINE: u64 = 1024 * 1024;

/// What one sample offers beyond the life cycle that all servers share.
pub(super) trait Offer {
    /// `serverInfo`.
    fn info(&self) -> Value;
    /// How to use it, for models.
    fn instructions(&self) -> &'static str;
    /// Capabilities.
    fn capabilities(&self) -> Value;
    /// Answers a request of a feature.
    fn answer(&mut self, method: &str, params: Members) -> Result<Value, Fault>;
    /// Whether the list of resources has changed since the last time this was asked.
    fn take_changed(&mut self) -> bool;
}

struct Session<'o, W> {
    offer: &'o mut dyn Offer,
    output: W,
    /// Whether a client of the older era has ended its handshake.
    initialized: bool,
    /// The ids of open `subscriptions/listen` requests that want changes of resources.
    listening: Vec<String>,
}

/// Answers until the input ends.
pub(super) fn serve(offer: &mut dyn Offer, mut input: impl BufRead, output: impl Write) -> io::Result<()> {
    let mut session = Session {
        offer,
        output,
        initialized: false,
        listening: Vec::new(),
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") && u64::try_from(read).is_ok_and(|read| read == LINE) {
            skip_line(&mut input)?;
            let message = format!("a message may have at most {LINE} bytes");
            session.write(&rpc::error(None, codes::INVALID_REQUEST, &message, None))?;
            continue;
        }
        if !line.trim_ascii().is_empty() {
            session.take(line.trim_ascii())?;
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (used, found) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(place) => (place.saturating_add(1), true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if found {
            return Ok(());
        }
    }
}

impl<W: Write> Session<'_, W> {
    fn write(&mut self, message: &str) -> io::Result<()> {
        self.output.write_all(message.as_bytes())?;
        self.output.write_all(b"\n")?;
        self.output.flush()
    }

    fn take(&mut self, line: &[u8]) -> io::Result<()> {
        match rpc::parse(line) {
            Ok(Body::One(Message::Request { id, method, params })) => {
                let answer = match self.answer(id.get(), &method, params) {
                    Ok(Some(result)) => rpc::result(id.get(), &result),
                    Ok(None) => return Ok(()),
                    Err(fault) => rpc::error(Some(id.get()), fault.code, &fault.message, fault.data.as_deref()),
                };
                self.write(&answer)?;
                self.tell_changes()
            }
            Ok(Body::One(Message::Notification { method, params })) => {
                self.notice(&method, params);
                Ok(())
            }
            // We ask nothing, so an answer is for nobody.
            Ok(Body::One(Message::Response { .. })) => Ok(()),
            Ok(Body::Batch(_)) => self.write(&rpc::error(
                None,
                codes::INVALID_REQUEST,
                "batches are not part of the versions served",
                None,
            )),
            Err(fault) => self.write(&rpc::error(
                fault.id.as_deref(),
                fault.code,
                &fault.message,
                fault.data.as_deref(),
            )),
        }
    }

    /// The result as raw JSON; nothing where the answer was written already.
    fn answer(&mut self, id: &str, method: &str, params: Option<&RawValue>) -> Result<Option<String>, Fault> {
        let meta = meta::read(params)?;
        let version = match &meta.version {
            Some(_) => meta::require_modern(&meta)?,
            None => Version::NEWEST_LEGACY,
        };
        let members: Members = match params {
            None => Members::new(),
            Some(params) => {
                serde_json::from_str(params.get()).map_err(|error| fault(codes::INVALID_PARAMS, error.to_string()))?
            }
        };
        let (kind, result) = match (method, version.era()) {
            ("initialize", Era::Legacy) => (Kind::Plain, self.initialize(&members)),
            ("ping", Era::Legacy) => (Kind::Plain, json!({})),
            ("server/discover", Era::Modern) => (Kind::Cacheable, self.discover()),
            ("subscriptions/listen", Era::Modern) => {
                self.listen(id, &members)
                    .map_err(|error| fault(codes::INTERNAL_ERROR, error.to_string()))?;
                return Ok(None);
            }
            _ => (kind(method), self.offer.answer(method, members)?),
        };
        Ok(Some(bridge::result_for(
            version,
            kind,
            &result.to_string(),
            &self.offer.info().to_string(),
        )))
    }

    fn initialize(&mut self, params: &Members) -> Value {
        // Batches of 2025-03-26 are not served here, so that version is answered with the newest.
        let asked = params
            .get("protocolVersion")
            .and_then(Value::as_str)
            .and_then(Version::parse);
        let version = match asked {
            Some(version @ (Version::V2025_06_18 | Version::V2025_11_25)) => version,
            Some(Version::V2024_11_05 | Version::V2025_03_26 | Version::V2026_07_28) | None => Version::NEWEST_LEGACY,
        };
        json!({
            "protocolVersion": version.as_str(),
            "capabilities": self.offer.capabilities(),
            "serverInfo": self.offer.info(),
            "instructions": self.offer.instructions(),
        })
    }

    fn discover(&self) -> Value {
        json!({
            "supportedVersions": [Version::V2026_07_28.as_str(), Version::V2025_11_25.as_str(), Version::V2025_06_18.as_str()],
            "capabilities": self.offer.capabilities(),
            "instructions": self.offer.instructions(),
        })
    }

    /// Opens a subscription; its answer comes when it is cancelled or never.
    fn listen(&mut self, id: &str, params: &Members) -> io::Result<()> {
        let wanted = params
            .get("notifications")
            .and_then(|filter| filter.get("resourcesListChanged"))
            == Some(&Value::Bool(true));
        let offered = self.offer.capabilities().pointer("/resources/listChanged") == Some(&Value::Bool(true));
        let accepted = if wanted && offered {
            json!({"resourcesListChanged": true})
        } else {
            json!({})
        };
        let message = about(
            id,
            "notifications/subscriptions/acknowledged",
            json!({"notifications": accepted}),
        );
        self.write(&message)?;
        if wanted && offered {
            self.listening.push(id.to_owned());
        }
        Ok(())
    }

    fn notice(&mut self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/initialized" => self.initialized = true,
            "notifications/cancelled" => {
                let cancelled = params.and_then(|params| serde_json::from_str::<Members>(params.get()).ok());
                if let Some(id) = cancelled.and_then(|members| members.get("requestId").map(Value::to_string)) {
                    self.listening.retain(|open| *open != id);
                }
            }
            _ => {}
        }
    }

    fn tell_changes(&mut self) -> io::Result<()> {
        if !self.offer.take_changed() {
            return Ok(());
        }
        const CHANGED: &str = "notifications/resources/list_changed";
        if self.initialized {
            self.write(&rpc::notification(CHANGED, None))?;
        }
        for id in self.listening.clone() {
            self.write(&about(&id, CHANGED, json!({})))?;
        }
        Ok(())
    }
}

/// A notification that belongs to one subscription.
fn about(id: &str, method: &str, mut params: Value) -> String {
    if let (Some(members), Ok(id)) = (params.as_object_mut(), serde_json::from_str::<Value>(id)) {
        members.insert("_meta".to_owned(), json!({meta::SUBSCRIPTION_ID: id}));
    }
    rpc::notification(method, Some(&params.to_string()))
}

fn kind(method: &str) -> Kind {
    match method {
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "resources/read" => {
            Kind::Cacheable
        }
        _ => Kind::Plain,
    }
}
