//! What a person should mend: a stable kind, what it is about, what was done, and the way out.

use serde::Serialize;

use crate::names::{FamilyName, ServerName};

/// What kind of thing is wrong. The words are contract: alerts are written against them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A definition that cannot be served was set aside.
    BadDefinition,
    /// A server lists one name more than once; the first one is served.
    ListedTwice,
    /// A name mixes scripts whose letters look alike, and was set aside.
    MixedScripts,
    /// An exposed name would be one of the gateway's own, and was set aside.
    ReservedName,
    /// Two entries claim one exposed name, and neither is served (I9).
    NameConflict,
    /// Two names are equal after NFKC and case folding, and neither is served.
    NameAlike,
    /// Members of a family publish a tool differently: the largest group that agrees keeps it.
    FamilyDiffers,
    /// A family's tool cannot take the argument that names the member, so its servers serve it.
    FamilyArgumentTaken,
    /// Members that have a tool call that argument differently, so they serve it themselves.
    FamilyArgumentDiffers,
    /// Members differ in what does not identify a definition; one of them is shown.
    FamilyDetailDiffers,
    /// Several servers publish one app (`ui://`), and a host that shows it names no server.
    AppShared,
    /// A workflow calls a tool that nothing in the catalogue bears, so it is not offered.
    WorkflowUnavailable,
    /// A rule of a preset selects nothing of what listed servers publish.
    PresetRuleIdle,
    /// A glob of a server's `access` rules fits none of its tools.
    AccessRuleIdle,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::BadDefinition,
        Self::ListedTwice,
        Self::MixedScripts,
        Self::ReservedName,
        Self::NameConflict,
        Self::NameAlike,
        Self::FamilyDiffers,
        Self::FamilyArgumentTaken,
        Self::FamilyArgumentDiffers,
        Self::FamilyDetailDiffers,
        Self::AppShared,
        Self::WorkflowUnavailable,
        Self::PresetRuleIdle,
        Self::AccessRuleIdle,
    ];

    /// The kind as text.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::BadDefinition => "bad_definition",
            Self::ListedTwice => "listed_twice",
            Self::MixedScripts => "mixed_scripts",
            Self::ReservedName => "reserved_name",
            Self::NameConflict => "name_conflict",
            Self::NameAlike => "name_alike",
            Self::FamilyDiffers => "family_differs",
            Self::FamilyArgumentTaken => "family_argument_taken",
            Self::FamilyArgumentDiffers => "family_argument_differs",
            Self::FamilyDetailDiffers => "family_detail_differs",
            Self::AppShared => "app_shared",
            Self::WorkflowUnavailable => "workflow_unavailable",
            Self::PresetRuleIdle => "preset_rule_idle",
            Self::AccessRuleIdle => "access_rule_idle",
        }
    }
}

/// Something in the catalogue that a person should mend; the rest works (I12).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The servers it is about, sorted.
    pub servers: Vec<ServerName>,
    /// The family it is about, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<FamilyName>,
    /// The tool, prompt or resource it is about, when it is about one, as its servers call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What kind of thing is wrong.
    pub kind: FindingKind,
    /// What is wrong and what was done about it, in one sentence.
    pub what: String,
    /// What a person can do about it.
    pub way_out: String,
}

impl Finding {
    /// Whether a server is among those that it is about.
    #[must_use]
    pub fn is_about(&self, server: &str) -> bool {
        self.servers.iter().any(|about| about.as_str() == server)
    }
}
