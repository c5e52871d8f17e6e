//! Small readings of a server's words, and words of ours.

use std::borrow::Cow;
use std::time::Duration;

use countersign_wire::object::Object;
use serde_json::value::RawValue;

/// A time span for a person.
pub(crate) fn shown(span: Duration) -> String {
    if span.subsec_millis() == 0 {
        format!("{} s", span.as_secs())
    } else {
        format!("{} ms", span.as_millis())
    }
}

/// The code of an error object.
pub(crate) fn code_of(error: &RawValue) -> Option<i64> {
    let object = Object::parse(error.get()).ok()?;
    object.get("code")?.get().parse().ok()
}

/// The message of an error object, shortened: it is shown to callers.
pub(crate) fn message_of(error: &RawValue) -> String {
    let object = Object::parse(error.get()).ok();
    let message = object.and_then(|error| error.text("message").map(Cow::into_owned));
    message.map_or_else(
        || "it gives no reason".to_owned(),
        |message| message.chars().take(200).collect(),
    )
}
