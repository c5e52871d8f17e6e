//! The clock: what time it is, and what a time is elsewhere.

use countersign_wire::codes;
use countersign_wire::rpc::Fault;
use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};
use serde_json::{Value, json};

use super::answer::{Arguments, Members, arguments, fault, no_such_method, structured, tool_error};
use super::server::Offer;

/// The longest text of an argument, in characters.
const TEXT: usize = 64;

/// The server.
#[derive(Debug)]
pub(super) struct Clock;

impl Offer for Clock {
    fn info(&self) -> Value {
        json!({"name": "countersign-sample-clock", "title": "Clock", "version": env!("CARGO_PKG_VERSION")})
    }

    fn instructions(&self) -> &'static str {
        "Tells the time in any time zone. Zones are IANA names (Europe/Vienna) or offsets (+05:30)."
    }

    fn capabilities(&self) -> Value {
        json!({"tools": {}})
    }

    fn answer(&mut self, method: &str, mut params: Members) -> Result<Value, Fault> {
        match method {
            "tools/list" => Ok(json!({"tools": tools()})),
            "tools/call" => {
                let arguments = arguments(&mut params)?;
                let answer = match params.get("name").and_then(Value::as_str) {
                    Some("now") => now(arguments),
                    Some("convert") => convert(arguments),
                    Some(name) => return Err(fault(codes::INVALID_PARAMS, format!("tool `{name}` is not known"))),
                    None => return Err(fault(codes::INVALID_PARAMS, "`name` must be a string")),
                };
                Ok(answer.map_or_else(|error| tool_error(&error), |value| structured(&value)))
            }
            _ => Err(no_such_method(method)),
        }
    }

    fn take_changed(&mut self) -> bool {
        false
    }
}

fn now(mut arguments: Arguments) -> Result<Value, String> {
    let zone = arguments.optional_text("timezone")?;
    arguments.end()?;
    Ok(shown(
        &Timestamp::now().to_zoned_datetime(zone_of(zone.as_deref().unwrap_or("UTC"))?),
    ))
}

fn convert(mut arguments: Arguments) -> Result<Value, String> {
    let time = arguments.text("time", TEXT)?;
    let to = zone_of(&arguments.text("to", TEXT)?)?;
    let from = arguments.optional_text("from")?;
    arguments.end()?;
    let from = match (time.parse::<Timestamp>(), from) {
        (Ok(instant), None) => instant.to_zoned_datetime(TimeZone::UTC),
        (Ok(_), Some(_)) => return Err("`time` names an instant by its offset; leave `from` out".to_owned()),
        (Err(_), Some(from)) => {
            let local = time.parse::<civil::DateTime>().ok().ok_or_else(|| wrong_time(&time))?;
            local
                .to_zoned_datetime(zone_of(&from)?)
                .map_err(|error| error.to_string())?
        }
        (Err(_), None) => return Err(format!("{}; without an offset it needs `from`", wrong_time(&time))),
    };
    let there = from.with_time_zone(to);
    Ok(json!({"from": shown(&from), "to": shown(&there)}))
}

fn wrong_time(time: &str) -> String {
    format!("`{time}` is not a time such as 2026-07-28T09:30 or 2026-07-28T09:30:00Z")
}

/// A zone by its IANA name or its offset from UTC.
fn zone_of(name: &str) -> Result<TimeZone, String> {
    if name.eq_ignore_ascii_case("utc") || name == "Z" {
        return Ok(TimeZone::UTC);
    }
    if name.starts_with(['+', '-']) {
        // A time with this offset lends its reader, which knows every form of offsets.
        let probe = format!("2000-01-01T00:00:00{name}[{name}]");
        let zoned: Result<ZonedDateTime, _> = probe.parse();
        return zoned
            .map(|zoned| zoned.time_zone().clone())
            .ok()
            .ok_or_else(|| wrong_zone(name));
    }
    TimeZone::get(name).ok().ok_or_else(|| wrong_zone(name))
}

fn wrong_zone(name: &str) -> String {
    format!("`{name}` is no time zone; use an IANA name such as Europe/Vienna, or an offset such as +05:30")
}

fn shown(time: &ZonedDateTime) -> Value {
    let zone = time
        .time_zone()
        .iana_name()
        .map_or_else(|| time.strftime("%:z").to_string(), str::to_owned);
    json!({
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        "timezone": zone,
        "weekday": time.strftime("%A").to_string(),
        "unix": time.timestamp().as_second(),
    })
}

fn tools() -> Value {
    let zone = "An IANA name such as Europe/Vienna, or an offset such as +05:30.";
    let time = json!({"type": "object", "required": ["time", "timezone", "weekday", "unix"], "properties": {
        "time": {"type": "string", "format": "date-time"}, "timezone": {"type": "string"},
        "weekday": {"type": "string"}, "unix": {"type": "integer"}}});
    let reads = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    json!([
        {"name": "now", "title": "Current time", "description": "The current time in a time zone; UTC when none is named.",
         "inputSchema": {"type": "object", "additionalProperties": false, "properties": {
            "timezone": {"type": "string", "description": zone}}},
         "outputSchema": time, "annotations": reads},
        {"name": "convert", "title": "Convert a time", "description": "What a time in one zone is in another.",
         "inputSchema": {"type": "object", "additionalProperties": false, "required": ["time", "to"], "properties": {
            "time": {"type": "string", "description": "2026-07-28T09:30, or with an offset 2026-07-28T09:30:00Z."},
            "from": {"type": "string", "description": format!("The zone of a time without an offset. {zone}")},
            "to": {"type": "string", "description": zone}}},
         "outputSchema": {"type": "object", "required": ["from", "to"], "properties": {"from": time, "to": time}},
         "annotations": reads},
    ])
}
