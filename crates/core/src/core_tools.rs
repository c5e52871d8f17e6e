//! The gateway's own tools: part of the catalogue, judged like any other.

use crate::definition::ToolDefinition;
use crate::effect::{Classified, Effect, Source};

mod texts;

use texts::Text;

/// One core tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoreTool {
    /// `core_server_list`
    ServerList,
    /// `core_server_get`
    ServerGet,
    /// `core_server_status`
    ServerStatus,
    /// `core_server_start`
    ServerStart,
    /// `core_server_stop`
    ServerStop,
    /// `core_server_restart`
    ServerRestart,
    /// `core_workflow_list`
    WorkflowList,
    /// `core_workflow_get`
    WorkflowGet,
    /// `core_workflow_validate`
    WorkflowValidate,
    /// `core_workflow_execution_list`
    ExecutionList,
    /// `core_workflow_execution_get`
    ExecutionGet,
    /// `core_config_get`
    ConfigGet,
    /// `core_events`
    Events,
    /// `core_auth_login`
    AuthLogin,
    /// `core_auth_logout`
    AuthLogout,
}

impl CoreTool {
    /// Every core tool, in listing order.
    pub const ALL: &[Self] = &[
        Self::ServerList,
        Self::ServerGet,
        Self::ServerStatus,
        Self::ServerStart,
        Self::ServerStop,
        Self::ServerRestart,
        Self::WorkflowList,
        Self::WorkflowGet,
        Self::WorkflowValidate,
        Self::ExecutionList,
        Self::ExecutionGet,
        Self::ConfigGet,
        Self::Events,
        Self::AuthLogin,
        Self::AuthLogout,
    ];

    /// The exposed name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerList => "core_server_list",
            Self::ServerGet => "core_server_get",
            Self::ServerStatus => "core_server_status",
            Self::ServerStart => "core_server_start",
            Self::ServerStop => "core_server_stop",
            Self::ServerRestart => "core_server_restart",
            Self::WorkflowList => "core_workflow_list",
            Self::WorkflowGet => "core_workflow_get",
            Self::WorkflowValidate => "core_workflow_validate",
            Self::ExecutionList => "core_workflow_execution_list",
            Self::ExecutionGet => "core_workflow_execution_get",
            Self::ConfigGet => "core_config_get",
            Self::Events => "core_events",
            Self::AuthLogin => "core_auth_login",
            Self::AuthLogout => "core_auth_logout",
        }
    }

    /// What a call of it may do; the gateway declares it.
    #[must_use]
    pub fn classified(self) -> Classified {
        let effect = match self {
            // A link changes nothing: its person does, at pages that no caller reaches.
            Self::ServerList
            | Self::ServerGet
            | Self::ServerStatus
            | Self::WorkflowList
            | Self::WorkflowGet
            | Self::WorkflowValidate
            | Self::ExecutionList
            | Self::ExecutionGet
            | Self::ConfigGet
            | Self::Events
            | Self::AuthLogin => Effect::ReadOnly,
            Self::ServerStart | Self::ServerStop | Self::ServerRestart | Self::AuthLogout => Effect::Mutating,
        };
        Classified {
            effect,
            source: Source::Gateway,
        }
    }

    /// The published definition, with all four hints set and an output schema.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "the texts are constants, and a test reads every one of them"
    )]
    pub fn definition(self) -> ToolDefinition {
        let Text {
            title,
            description,
            input,
            output,
            hints,
        } = texts::of(self);
        let raw = format!(
            r#"{{"name":"{}","title":"{title}","description":"{description}","inputSchema":{input},"outputSchema":{output},"annotations":{hints}}}"#,
            self.name()
        );
        ToolDefinition::parse(&raw).expect("a core tool's definition is valid")
    }
}

#[cfg(test)]
mod tests;
