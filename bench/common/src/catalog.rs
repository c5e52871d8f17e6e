//! A deterministic catalogue of tools with realistic names, descriptions and input schemas.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;

/// How the benchmark server answers a call of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Returns its `message` argument (or, without one, all its arguments).
    Echo,
    /// Returns `kib` KiB of text.
    Blob,
    /// Answers after `ms` milliseconds.
    Sleep,
    /// Answers with `isError: true`.
    Fail,
    /// Over HTTP in the handshake revisions: asks the caller a question first, and waits for the answer.
    Ask,
}

/// What a tool that only reads declares.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Annotations {
    /// The hint of that name.
    #[serde(rename = "readOnlyHint")]
    pub read_only: bool,
}

/// A tool as `tools/list` shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Tool {
    /// Its name, unique in the catalogue.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// About 150 bytes of text.
    pub description: String,
    /// About 600 bytes of JSON Schema.
    #[serde(rename = "inputSchema")]
    pub input_schema: Box<RawValue>,
    /// What it declares about itself: that it only reads, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// What a call of it does.
    #[serde(skip)]
    pub kind: Kind,
}

const DOMAINS: [(&str, &str); 10] = [
    ("crm", "the customer relationship system"),
    ("billing", "the billing and invoicing ledger"),
    ("tickets", "the support ticket queue"),
    ("repo", "the source code hosting service"),
    ("calendar", "the shared team calendar"),
    ("storage", "the object storage buckets"),
    ("deploy", "the deployment pipeline"),
    ("metrics", "the time series metrics store"),
    ("hr", "the people and leave directory"),
    ("inventory", "the warehouse stock database"),
];

const VERBS: [(&str, &str); 10] = [
    ("create", "Creates"),
    ("get", "Fetches"),
    ("update", "Updates"),
    ("delete", "Permanently deletes"),
    ("list", "Lists"),
    ("search", "Searches"),
    ("export", "Exports"),
    ("approve", "Approves"),
    ("assign", "Assigns an owner to"),
    ("archive", "Archives"),
];

const NOUNS: [(&str, &str); 10] = [
    ("record", "a record"),
    ("invoice", "an invoice"),
    ("issue", "an issue"),
    ("branch", "a branch"),
    ("event", "an event"),
    ("object", "an object"),
    ("release", "a release"),
    ("alert", "an alert rule"),
    ("employee", "an employee entry"),
    ("shipment", "a shipment"),
];

const ECHO_SCHEMA: &str = r#"{"type":"object","properties":{"message":{"type":"string","description":"Text to return unchanged in the first content block of the result."},"locale":{"type":"string","description":"Accepted for realism and ignored. A BCP 47 language tag such as en-GB.","pattern":"^[a-z]{2}(-[A-Z]{2})?$"},"priority":{"type":"string","enum":["low","normal","high","urgent"],"default":"normal","description":"Accepted for realism and ignored by the server."},"tags":{"type":"array","items":{"type":"string","maxLength":64},"maxItems":16,"description":"Accepted for realism and ignored by the server."}},"required":["message"]}"#;
const BLOB_SCHEMA: &str = r#"{"type":"object","properties":{"kib":{"type":"integer","minimum":0,"maximum":65536,"default":1,"description":"Size of the returned text in kibibytes."}},"required":[]}"#;
const SLEEP_SCHEMA: &str = r#"{"type":"object","properties":{"ms":{"type":"integer","minimum":0,"maximum":600000,"default":100,"description":"How long to wait before answering, in milliseconds."},"message":{"type":"string","description":"Text to return after the wait."}},"required":[]}"#;
const FAIL_SCHEMA: &str = r#"{"type":"object","properties":{"message":{"type":"string","description":"Text of the error that the tool reports."}},"required":[]}"#;

fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).expect("catalogue schemas are valid JSON")
}

fn builtin(name: &str, title: &str, description: &str, schema: &str, kind: Kind) -> Tool {
    Tool {
        name: name.into(),
        title: title.into(),
        description: description.into(),
        input_schema: raw(schema.into()),
        annotations: (kind != Kind::Ask).then_some(Annotations { read_only: true }),
        kind,
    }
}

fn synthetic(i: usize) -> Tool {
    let (domain, domain_text) = DOMAINS[i % 10];
    let (verb, verb_text) = VERBS[(i / 10) % 10];
    let (noun, noun_text) = NOUNS[(i / 100) % 10];
    let name = format!("{domain}_{verb}_{noun}_{i:04}");
    let mut schema = String::with_capacity(700);
    write!(
        schema,
        concat!(
            r#"{{"type":"object","properties":{{"#,
            r#""{noun}_id":{{"type":"string","description":"Identifier of the {noun} in {domain_text}.","minLength":1,"maxLength":64}},"#,
            r#""fields":{{"type":"array","items":{{"type":"string"}},"description":"Names of the fields to include in the answer."}},"#,
            r#""limit":{{"type":"integer","minimum":1,"maximum":500,"default":50,"description":"Most rows to return."}},"#,
            r#""status":{{"type":"string","enum":["open","pending","closed","archived"]}},"#,
            r#""since":{{"type":"string","format":"date-time","description":"Only changes after this moment."}}"#,
            r#"}},"required":["{noun}_id"]}}"#
        ),
        noun = noun,
        domain_text = domain_text,
    )
    .expect("writing to a String does not fail");
    Tool {
        title: format!("{verb} {noun} ({domain})"),
        description: format!(
            "{verb_text} {noun_text} in {domain_text}. Requires the {domain}:{verb} permission \
             and returns the affected {noun} with its audit reference. Variant {i}."
        ),
        name,
        input_schema: raw(schema),
        annotations: None,
        kind: Kind::Echo,
    }
}

/// `n` tools: `echo`, `blob`, `sleep`, `fail`, `ask`, then synthetic ones from number `first` on.
pub fn catalog(first: usize, n: usize) -> Vec<Tool> {
    let mut tools = vec![
        builtin(
            "echo",
            "Echo",
            "Returns the given message unchanged. Used to measure the round trip of a tool call.",
            ECHO_SCHEMA,
            Kind::Echo,
        ),
        builtin(
            "blob",
            "Blob",
            "Returns the requested number of kibibytes of text. Used to measure large results.",
            BLOB_SCHEMA,
            Kind::Blob,
        ),
        builtin(
            "sleep",
            "Sleep",
            "Waits for the given number of milliseconds and then answers. Used to measure concurrency and time limits.",
            SLEEP_SCHEMA,
            Kind::Sleep,
        ),
        builtin(
            "fail",
            "Fail",
            "Always reports a tool error. Used to measure error handling.",
            FAIL_SCHEMA,
            Kind::Fail,
        ),
        builtin(
            "ask",
            "Ask",
            "Asks the caller a question and answers when it is answered. Used to measure calls that wait for a person.",
            FAIL_SCHEMA,
            Kind::Ask,
        ),
    ];
    let synthetic_tools = n.saturating_sub(tools.len());
    tools.truncate(n);
    tools.extend((first..first + synthetic_tools).map(synthetic));
    tools
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_count_is_exact() {
        for n in [0, 1, 4, 5, 10, 5000] {
            let tools = catalog(0, n);
            assert_eq!(tools.len(), n);
            let names: HashSet<_> = tools.iter().map(|t| &t.name).collect();
            assert_eq!(names.len(), n);
        }
    }

    #[test]
    fn catalogues_that_begin_elsewhere_share_only_the_builtin_tools() {
        let names = |first| catalog(first, 20).into_iter().map(|t| t.name).collect::<HashSet<_>>();
        assert_eq!(names(0).intersection(&names(20)).count(), 5);
    }

    #[test]
    fn names_are_valid_and_schemas_are_about_600_bytes() {
        for tool in catalog(0, 1000).iter().skip(5) {
            assert!(tool.name.len() <= 64);
            assert!(tool.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
            let len = tool.input_schema.get().len();
            assert!((500..=700).contains(&len), "{len}");
        }
    }
}
