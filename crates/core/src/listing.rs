//! Everything one server published at one time.

use std::sync::Arc;

use crate::definition::{Problem, PromptDefinition, ResourceDefinition, ToolDefinition};

/// What a server offers besides its lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one flag per capability of the protocol")]
pub struct Capabilities {
    /// `tools`
    pub tools: bool,
    /// `resources`
    pub resources: bool,
    /// `resources.subscribe`
    pub subscribe: bool,
    /// `prompts`
    pub prompts: bool,
    /// `completions`
    pub completions: bool,
    /// `logging`
    pub logging: bool,
}

/// Everything one server published at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The protocol version that was negotiated.
    pub protocol: String,
    /// `instructions`
    pub instructions: Option<String>,
    /// What it offers.
    pub capabilities: Capabilities,
    /// Its tools, in its own order.
    pub tools: Vec<Arc<ToolDefinition>>,
    /// Its resources.
    pub resources: Vec<Arc<ResourceDefinition>>,
    /// Its resource templates.
    pub templates: Vec<Arc<ResourceDefinition>>,
    /// Its prompts.
    pub prompts: Vec<Arc<PromptDefinition>>,
    /// What was set aside, by name.
    pub problems: Vec<Problem>,
}
