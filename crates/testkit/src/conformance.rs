//! The upstream that the official conformance suite is run against, on `rmcp`: names and answers are those the suite asks for.

mod asking;
mod changes;
mod content;
mod handler;
mod prompts;
mod resources;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use rmcp::model::{Prompt, ProtocolVersion, RequestStateCodec, Resource, ResourceTemplate, Tool};
use serde::Deserialize;

use changes::Changes;

/// Which protocol family the fixture speaks; it refuses the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: `initialize`, sessions, requests of the server to the client.
    Legacy,
    /// 2026-07-28: per-request metadata, `input_required` results.
    Modern,
    /// Both, as the client chooses.
    Both,
}

impl Era {
    /// The era of a command-line word: `legacy`, `modern` or `both`.
    ///
    /// # Errors
    /// For any other word.
    pub fn from_word(word: &str) -> anyhow::Result<Self> {
        match word {
            "legacy" => Ok(Self::Legacy),
            "modern" => Ok(Self::Modern),
            "both" => Ok(Self::Both),
            other => anyhow::bail!("`{other}` is no era; use legacy, modern or both"),
        }
    }

    fn versions(self) -> Cow<'static, [ProtocolVersion]> {
        match self {
            Self::Legacy => Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25)),
            Self::Modern => Cow::Owned(vec![ProtocolVersion::V_2026_07_28]),
            Self::Both => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
        }
    }
}

/// What the fixture publishes, read from `definitions.json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Definitions {
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    resource_templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
}

/// The server; cheap to clone, all clones share what changes.
#[derive(Debug, Clone)]
pub struct Fixture(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    era: Era,
    definitions: Definitions,
    states: RequestStateCodec,
    changes: Changes,
    logs_off: AtomicBool,
}

impl Fixture {
    /// A fixture of one era.
    ///
    /// # Errors
    /// When the embedded definitions do not parse, which the tests exclude.
    pub fn new(era: Era) -> anyhow::Result<Self> {
        let definitions =
            serde_json::from_str(include_str!("conformance/definitions.json")).context("definitions.json")?;
        // The key protects nothing: it only has to differ from what the suite's tampering yields.
        let states = RequestStateCodec::try_new(*b"countersign conformance fixture key")?;
        Ok(Self(Arc::new(Shared {
            era,
            definitions,
            states,
            changes: Changes::new(),
            logs_off: AtomicBool::new(false),
        })))
    }
}
