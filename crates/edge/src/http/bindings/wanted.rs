//! The binding that a writer describes: every member checked, none ignored.

#[cfg(test)]
mod tests;

use countersign_core::exact::Exact;
use countersign_core::time::Millis;
use countersign_core::toolset::Selectors;
use countersign_engine::Bind;
use serde_json::{Map, Value};

/// How many roles a binding may give.
const ROLES: usize = 100;

/// Reads the description. What is wrong with it is a sentence for its writer.
pub(super) fn read(session: String, body: &[u8]) -> Result<Bind, String> {
    let text = str::from_utf8(body).map_err(|_error| "the body is not UTF-8".to_owned())?;
    let exact = Exact::parse(text).map_err(|error| format!("the body is not JSON with one reading: {error}"))?;
    let members: Map<String, Value> =
        serde_json::from_str(exact.as_str()).map_err(|_error| "the body must be a JSON object".to_owned())?;
    let known = ["subject", "toolset", "roles", "plan", "expires_at"];
    if let Some(name) = members.keys().find(|name| !known.contains(&name.as_str())) {
        let name: String = name.chars().take(100).collect();
        return Err(format!(
            "`{name}` is not a member of a binding; known are `{}`",
            known.join("`, `")
        ));
    }
    let member = |name: &str| members.get(name).filter(|value| !value.is_null());
    let subject = member("subject").ok_or("`subject` is missing: whom is the session served as?")?;
    let plan = member("plan").map(|plan| word("plan", plan)).transpose()?;
    let roles = member("roles")
        .map(|roles| words("roles", roles))
        .transpose()?
        .unwrap_or_default();
    if roles.len() > ROLES {
        return Err(format!("`roles` may hold at most {ROLES} roles"));
    }
    let toolset = member("toolset").map(toolset).transpose()?;
    let expires_at = member("expires_at").map(time).transpose()?;
    Ok(Bind {
        session,
        subject: word("subject", subject)?,
        toolset,
        roles,
        plan,
        expires_at,
    })
}

/// Selectors, checked as in a header. A preset that nobody knows is kept: it may be known when it is used, and until
/// then each call is answered with its name.
fn toolset(value: &Value) -> Result<Vec<String>, String> {
    let not_a_list = || "`toolset` must be a list of selectors".to_owned();
    let items = value.as_array().ok_or_else(not_a_list)?;
    let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    let texts = texts.ok_or_else(not_a_list)?;
    Selectors::parse_list(&texts).map_err(|error| error.to_string())?;
    Ok(texts)
}

fn time(value: &Value) -> Result<Millis, String> {
    let time = value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let time = time.ok_or("`expires_at` must be a time such as `2026-07-28T12:00:00Z`")?;
    Ok(Millis(time.as_millisecond()))
}

fn words(name: &str, value: &Value) -> Result<Vec<String>, String> {
    let items = value.as_array().ok_or_else(|| format!("`{name}` must be a list"))?;
    items.iter().map(|item| word(name, item)).collect()
}

fn word(name: &str, value: &Value) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| format!("`{name}` must be text"))?;
    let fits = !text.is_empty() && text.trim() == text && text.chars().count() <= 256;
    if !fits || text.chars().any(char::is_control) {
        return Err(format!(
            "`{name}` must be 1 to 256 characters, without blanks around them or line ends"
        ));
    }
    Ok(text.to_owned())
}
