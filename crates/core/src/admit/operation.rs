//! What is done, and where, in the upstream's own names.

use std::sync::Arc;

use super::ask::TaskVerb;
use crate::core_tools::CoreTool;
use crate::definition::ToolDefinition;
use crate::exact::Exact;
use crate::names::{OriginalName, ServerName};
use crate::workflow::Workflow;

/// Where a call goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An upstream server.
    Server(ServerName),
    /// The gateway itself.
    Gateway,
}

/// What is done there, in the upstream's own names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// `tools/call`
    CallTool {
        /// The definition that was judged; its name is the upstream's.
        definition: Arc<ToolDefinition>,
        /// The arguments.
        arguments: Exact,
    },
    /// A core tool.
    RunCore {
        /// Which.
        tool: CoreTool,
        /// The arguments.
        arguments: Exact,
    },
    /// A workflow.
    RunWorkflow {
        /// Which.
        workflow: Arc<Workflow>,
        /// The arguments.
        arguments: Exact,
    },
    /// `resources/read`
    ReadResource {
        /// The URI.
        uri: String,
    },
    /// `prompts/get`
    GetPrompt {
        /// The upstream's own name.
        name: OriginalName,
        /// The arguments.
        arguments: Exact,
    },
    /// `completion/complete`
    Complete {
        /// Of what, in the upstream's own names.
        reference: UpstreamReference,
        /// `argument` of the request.
        argument: Exact,
        /// `context` of the request.
        context: Option<Exact>,
    },
    /// `resources/subscribe`
    Subscribe {
        /// The URI.
        uri: String,
    },
    /// `resources/unsubscribe`
    Unsubscribe {
        /// The URI.
        uri: String,
    },
    /// `tasks/…`
    Task {
        /// The server's own id of it.
        task: String,
        /// What is done with it.
        verb: TaskVerb,
    },
}

/// What a completion is asked for, in the upstream's own names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamReference {
    /// A prompt.
    Prompt(OriginalName),
    /// A URI template.
    Resource(String),
}

impl Operation {
    /// The method of the protocol, `core` for the gateway's own tools, or `workflow`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::CallTool { .. } => "tools/call",
            Self::RunCore { .. } => "core",
            Self::RunWorkflow { .. } => "workflow",
            Self::ReadResource { .. } => "resources/read",
            Self::GetPrompt { .. } => "prompts/get",
            Self::Complete { .. } => "completion/complete",
            Self::Subscribe { .. } => "resources/subscribe",
            Self::Unsubscribe { .. } => "resources/unsubscribe",
            Self::Task { verb, .. } => verb.method(),
        }
    }

    /// What it acts on: the upstream's tool or prompt name, the URI, or the task.
    #[must_use]
    pub fn subject(&self) -> &str {
        match self {
            Self::CallTool { definition, .. } => definition.name.as_str(),
            Self::RunCore { tool, .. } => tool.name(),
            Self::RunWorkflow { workflow, .. } => workflow.exposed(),
            Self::ReadResource { uri } | Self::Subscribe { uri } | Self::Unsubscribe { uri } => uri,
            Self::GetPrompt { name, .. }
            | Self::Complete {
                reference: UpstreamReference::Prompt(name),
                ..
            } => name.as_str(),
            Self::Complete {
                reference: UpstreamReference::Resource(uri),
                ..
            } => uri,
            Self::Task { task, .. } => task,
        }
    }

    /// The arguments that were judged, where the operation has some.
    #[must_use]
    pub fn arguments(&self) -> Option<&Exact> {
        match self {
            Self::CallTool { arguments, .. }
            | Self::RunCore { arguments, .. }
            | Self::RunWorkflow { arguments, .. }
            | Self::GetPrompt { arguments, .. } => Some(arguments),
            Self::Complete { argument, .. } => Some(argument),
            Self::ReadResource { .. } | Self::Subscribe { .. } | Self::Unsubscribe { .. } | Self::Task { .. } => None,
        }
    }
}
