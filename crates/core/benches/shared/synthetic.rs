//! Synthetic tools for benchmarks and tests: realistic names, descriptions and schemas of about 600 bytes.

use std::sync::Arc;

use countersign_core::catalogue::{Availability, Naming, Parts, Server};
use countersign_core::definition::ToolDefinition;
use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::Digest;
use countersign_core::listing::{Capabilities, Listing};
use countersign_core::names::ServerName;
use countersign_core::secret::Secret;
use countersign_core::server::{ServerEntry, Sharing, Start, Transport};

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

/// One tool as its server publishes it, about 860 bytes.
pub(crate) fn tool(number: usize) -> String {
    let (domain, system) = DOMAINS[number % 10];
    let (verb, verbs) = VERBS[(number / 10) % 10];
    let (noun, a_noun) = NOUNS[(number / 100) % 10];
    format!(
        concat!(
            r#"{{"name":"{domain}_{verb}_{noun}_{number:04}","title":"{verb} {noun} ({domain})","#,
            r#""description":"{verbs} {a_noun} in {system}. Requires the {domain}:{verb} permission and returns "#,
            r#"the affected {noun} with its audit reference. Variant {number}.","#,
            r#""inputSchema":{{"type":"object","properties":{{"#,
            r#""{noun}_id":{{"type":"string","description":"Identifier of the {noun} in {system}.","minLength":1,"maxLength":64}},"#,
            r#""fields":{{"type":"array","items":{{"type":"string"}},"description":"Names of the fields to include in the answer."}},"#,
            r#""limit":{{"type":"integer","minimum":1,"maximum":500,"default":50,"description":"Most rows to return."}},"#,
            r#""status":{{"type":"string","enum":["open","pending","closed","archived"]}},"#,
            r#""since":{{"type":"string","format":"date-time","description":"Only changes after this moment."}}"#,
            r#"}},"required":["{noun}_id"]}}}}"#
        ),
        domain = domain,
        system = system,
        verb = verb,
        verbs = verbs,
        noun = noun,
        a_noun = a_noun,
        number = number,
    )
}

/// So many tools, spread evenly over so many servers.
pub(crate) fn parts(tools: usize, servers: usize) -> Parts {
    let of_server = |place: usize| place * tools / servers..(place + 1) * tools / servers;
    Parts {
        workflows: Arc::default(),
        version: 1,
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        servers: (0..servers).map(|place| server(place, of_server(place))).collect(),
    }
}

fn server(place: usize, tools: std::ops::Range<usize>) -> Server {
    let name = format!("server{place:02}");
    let definition = |number| Arc::new(ToolDefinition::parse(&tool(number)).expect("a valid tool"));
    let listing = Listing {
        protocol: "2025-11-25".to_owned(),
        capabilities: Capabilities {
            tools: true,
            ..Capabilities::default()
        },
        tools: tools.map(definition).collect(),
        ..Listing::default()
    };
    let entry = ServerEntry {
        name: ServerName::parse(&name).expect("a valid name"),
        labels: [("team".to_owned(), "platform".to_owned())].into(),
        tool_prefix: None,
        description: None,
        timeout: None,
        start: Start::Boot,
        trust: AnnotationTrust::Ignored,
        sharing: Sharing::Shared,
        auth: countersign_core::server::Auth::None,
        access: Vec::new(),
        family: None,
        private_network: countersign_core::server::PrivateNetwork::Allowed,
        transport: Transport::Http {
            url: Secret::plain("http://127.0.0.1:1/mcp"),
            headers: std::collections::BTreeMap::new(),
        },
        digest: Digest::of(name.as_bytes()),
    };
    Server {
        entry: Arc::new(entry),
        listing: Arc::new(listing),
        availability: Availability::Ready,
    }
}
