//! What a caller's client can answer, read from the capabilities that it declared.

use countersign_engine::{Abilities, Tasks};
use countersign_wire::object::{self, Edit, Object};
use serde_json::value::RawValue;

/// The extension by which a client of 2026-07-28 says that it follows tasks (SEP-2663).
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Capabilities whose messages the gateway relays; what it does not know it cannot promise to a server.
const RELAYED: &[&str] = &["sampling", "elicitation", "roots", "extensions"];

/// Extensions whose messages the gateway relays.
const RELAYED_EXTENSIONS: &[&str] = &[TASKS, APPS];

/// The extension by which a client says that it shows apps.
const APPS: &str = "io.modelcontextprotocol/ui";

/// Reads a client's `capabilities`; what the gateway cannot relay is left out of them.
pub(crate) fn of(capabilities: Option<&RawValue>) -> Abilities {
    let Some(raw) = capabilities else {
        return Abilities::default();
    };
    let members = Object::parse(raw.get()).unwrap_or_default();
    let elicitation = members
        .get("elicitation")
        .map(|raw| Object::parse(raw.get()).unwrap_or_default());
    let url = elicitation.as_ref().is_some_and(|modes| modes.get("url").is_some());
    let extensions = members
        .get("extensions")
        .map(|raw| Object::parse(raw.get()).unwrap_or_default());
    let follows = extensions.as_ref().is_some_and(|all| all.get(TASKS).is_some());
    Abilities {
        apps: extensions.as_ref().is_some_and(|all| all.get(APPS).is_some()),
        raw: relayed(raw, &members, extensions.as_ref()),
        tasks: if follows { Tasks::Extension } else { Tasks::Undeclared },
        sampling: members.get("sampling").is_some(),
        // `{}` is form mode: it is what clients declared before there were modes.
        elicit_form: elicitation.is_some_and(|modes| modes.get("form").is_some() || !url),
        elicit_url: url,
        roots: members.get("roots").is_some(),
    }
}

/// The capabilities without those that cannot be relayed.
fn relayed(raw: &RawValue, members: &Object<'_>, extensions: Option<&Object<'_>>) -> Option<Box<RawValue>> {
    let mut left_out = without(members, RELAYED);
    let fewer = extensions.map(|extensions| without(extensions, RELAYED_EXTENSIONS));
    let fewer = fewer.filter(|fewer| !fewer.is_empty());
    if left_out.is_empty() && fewer.is_none() {
        return Some(raw.to_owned());
    }
    let kept = match (members.get("extensions"), fewer) {
        (Some(extensions), Some(fewer)) => object::edit(extensions.get(), &fewer).ok(),
        (_, _) => None,
    };
    left_out.extend(kept.iter().map(|kept| Edit::Set("extensions", kept)));
    let edited = object::edit(raw.get(), &left_out).ok()?;
    RawValue::from_string(edited).ok()
}

fn without<'o>(members: &'o Object<'_>, known: &[&str]) -> Vec<Edit<'o>> {
    let names = members.iter().map(|(name, _)| name);
    names.filter(|name| !known.contains(name)).map(Edit::Remove).collect()
}

/// The capabilities that a modern server is told of, of a client that declared its own in `initialize`: what
/// the gateway can ask it, in the words of 2026-07-28, and nothing that exists in one era only.
pub(crate) fn of_session(capabilities: Option<&RawValue>) -> Abilities {
    let mut abilities = of(capabilities);
    let members = capabilities
        .and_then(|raw| Object::parse(raw.get()).ok())
        .unwrap_or_default();
    let elicitation = match (abilities.elicit_form, abilities.elicit_url) {
        (true, true) => Some(r#"{"form":{},"url":{}}"#),
        (true, false) => Some(r#"{"form":{}}"#),
        (false, true) => Some(r#"{"url":{}}"#),
        (false, false) => None,
    };
    let apps = members
        .get("extensions")
        .and_then(|raw| Object::parse(raw.get()).ok()?.get(APPS))
        .map(|apps| format!(r#","{APPS}":{}"#, apps.get()));
    // A task that such a client cannot follow is run to its end in the gateway.
    let extensions = format!(r#"{{"{TASKS}":{{}}{}}}"#, apps.unwrap_or_default());
    let told = [
        (
            "sampling",
            members
                .get("sampling")
                .map(RawValue::get)
                .filter(|raw| raw.starts_with('{')),
        ),
        ("elicitation", elicitation),
        ("roots", abilities.roots.then_some("{}")),
        ("extensions", Some(&extensions)),
    ];
    abilities.tasks = Tasks::Parameter;
    let told: Vec<String> = told
        .into_iter()
        .filter_map(|(name, value)| Some(format!(r#""{name}":{}"#, value?)))
        .collect();
    abilities.raw = RawValue::from_string(format!("{{{}}}", told.join(","))).ok();
    abilities
}

/// The ability that a question needs, in words.
pub(crate) fn needed(method: &str, params: Option<&str>) -> String {
    match method {
        "sampling/createMessage" => "the capability `sampling`".to_owned(),
        "elicitation/create" => match mode(params) {
            Some(Mode::Form) => "the capability `elicitation`".to_owned(),
            Some(Mode::Url) => "the capability `elicitation.url`".to_owned(),
            None => "an answer to an elicitation of no known mode".to_owned(),
        },
        "roots/list" => "the capability `roots`".to_owned(),
        _ => format!("an answer to `{}`", crate::dispatch::shown(method)),
    }
}

/// The `requiredCapabilities` of 2026-07-28 that a question needs, raw; `None` for a question that no revision knows.
pub(crate) fn required(method: &str, params: Option<&str>) -> Option<&'static str> {
    match method {
        "sampling/createMessage" => Some(r#"{"sampling":{}}"#),
        "elicitation/create" => Some(match mode(params) {
            Some(Mode::Form) => r#"{"elicitation":{"form":{}}}"#,
            Some(Mode::Url) => r#"{"elicitation":{"url":{}}}"#,
            None => r#"{"elicitation":{}}"#,
        }),
        "roots/list" => Some(r#"{"roots":{}}"#),
        _ => None,
    }
}

/// How an elicitation asks its person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Form,
    Url,
}

/// The mode of an elicitation; `None` for one that no client can show. A mode that nobody knows is no form: the
/// client declared what it shows, and that is not among it.
fn mode(params: Option<&str>) -> Option<Mode> {
    let params = Object::parse(params?).ok()?;
    match params.get("mode") {
        None => Some(Mode::Form),
        Some(_) => match params.text("mode")?.as_ref() {
            "form" => Some(Mode::Form),
            "url" => Some(Mode::Url),
            _ => None,
        },
    }
}

/// Whether the client declared that it answers this request.
pub(crate) fn can_answer(abilities: &Abilities, method: &str, params: Option<&str>) -> bool {
    match method {
        "sampling/createMessage" => abilities.sampling,
        "elicitation/create" => match mode(params) {
            Some(Mode::Form) => abilities.elicit_form,
            Some(Mode::Url) => abilities.elicit_url,
            None => false,
        },
        "roots/list" => abilities.roots,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{can_answer, of};

    #[test]
    fn elicitation_without_modes_means_forms() {
        let cases = [
            (r"{}", false, false),
            (r#"{"elicitation":{}}"#, true, false),
            (r#"{"elicitation":{"form":{}}}"#, true, false),
            (r#"{"elicitation":{"url":{}}}"#, false, true),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
        ];
        for (text, form, url) in cases {
            let raw = RawValue::from_string(text.to_owned()).expect("JSON");
            let abilities = of(Some(&raw));
            assert_eq!((abilities.elicit_form, abilities.elicit_url), (form, url), "{text}");
            assert_eq!(can_answer(&abilities, "elicitation/create", Some("{}")), form, "{text}");
            assert_eq!(
                can_answer(&abilities, "elicitation/create", Some(r#"{"mode":"url"}"#)),
                url,
                "{text}"
            );
        }
    }

    #[test]
    fn an_elicitation_that_no_client_can_show_is_not_asked() {
        let raw = RawValue::from_string(r#"{"elicitation":{"form":{},"url":{}}}"#.to_owned()).expect("JSON");
        let abilities = of(Some(&raw));
        let can = |params| can_answer(&abilities, "elicitation/create", params);
        for good in ["{}", r#"{"mode":"form"}"#, r#"{"mode":"url"}"#] {
            assert!(can(Some(good)), "{good}");
        }
        let bad = [
            "7",
            "null",
            "[]",
            r#"{"mode":"telepathy"}"#,
            r#"{"mode":null}"#,
            r#"{"mode":"FORM"}"#,
        ];
        for bad in bad {
            assert!(!can(Some(bad)), "{bad}");
        }
        assert!(!can(None));
    }

    #[test]
    fn what_cannot_be_relayed_is_not_told_to_servers() {
        let cases = [
            (
                r#"{"sampling":{"tools":{}},"roots":{}}"#,
                r#"{"sampling":{"tools":{}},"roots":{}}"#,
            ),
            (r#"{"novel":{},"elicitation":{}}"#, r#"{"elicitation":{}}"#),
            (
                r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]},"com.example/x":{}}}"#,
                r#"{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[]}}}"#,
            ),
            (
                r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"tasks":{}}"#,
                r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
            ),
        ];
        for (declared, told) in cases {
            let raw = RawValue::from_string(declared.to_owned()).expect("JSON");
            let abilities = of(Some(&raw));
            assert_eq!(abilities.raw.as_deref().map(RawValue::get), Some(told), "{declared}");
        }
    }
}
