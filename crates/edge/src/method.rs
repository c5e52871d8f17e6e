//! The requests that the gateway answers, and in which era each exists.

use countersign_wire::bridge::Kind;
use countersign_wire::version::Era;

/// A request that the gateway answers. `initialize` is not among them: it opens what the others need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Method {
    Ping,
    SetLevel,
    Discover,
    Listen,
    ListTools,
    CallTool,
    ListResources,
    ListTemplates,
    ReadResource,
    Subscribe,
    Unsubscribe,
    ListPrompts,
    GetPrompt,
    Complete,
    GetTask,
    AwaitTask,
    UpdateTask,
    CancelTask,
    ListTasks,
}

impl Method {
    const ALL: &[Self] = &[
        Self::CallTool,
        Self::ListTools,
        Self::ReadResource,
        Self::GetPrompt,
        Self::ListResources,
        Self::ListTemplates,
        Self::ListPrompts,
        Self::Complete,
        Self::Subscribe,
        Self::Unsubscribe,
        Self::Ping,
        Self::SetLevel,
        Self::Discover,
        Self::Listen,
        Self::GetTask,
        Self::AwaitTask,
        Self::UpdateTask,
        Self::CancelTask,
        Self::ListTasks,
    ];

    /// The request of that name, where its era has it.
    pub(crate) fn find(name: &str, era: Era) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|method| method.word() == name && method.exists_in(era))
    }

    /// The names of all of them in the protocol, those that are asked for most first.
    pub(crate) fn words() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|method| method.word())
    }

    fn exists_in(self, era: Era) -> bool {
        match self {
            Self::Ping | Self::SetLevel | Self::Subscribe | Self::Unsubscribe => era == Era::Legacy,
            Self::AwaitTask | Self::ListTasks => era == Era::Legacy,
            Self::Discover | Self::Listen | Self::UpdateTask => era == Era::Modern,
            Self::ListTools
            | Self::CallTool
            | Self::ListResources
            | Self::ListTemplates
            | Self::ReadResource
            | Self::ListPrompts
            | Self::GetPrompt
            | Self::Complete
            | Self::GetTask
            | Self::CancelTask => true,
        }
    }

    /// Whether only callers of 2026-07-28 know the request, so that one without metadata is theirs too.
    pub(crate) fn is_modern_only(name: &str) -> bool {
        Self::find(name, Era::Modern).is_some_and(|method| !method.exists_in(Era::Legacy))
    }

    /// The name in the protocol.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::SetLevel => "logging/setLevel",
            Self::Discover => "server/discover",
            Self::Listen => "subscriptions/listen",
            Self::ListTools => "tools/list",
            Self::CallTool => "tools/call",
            Self::ListResources => "resources/list",
            Self::ListTemplates => "resources/templates/list",
            Self::ReadResource => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::GetTask => "tasks/get",
            Self::AwaitTask => "tasks/result",
            Self::UpdateTask => "tasks/update",
            Self::CancelTask => "tasks/cancel",
            Self::ListTasks => "tasks/list",
        }
    }

    /// Whether answering it may wait for servers that are listed for the first time.
    pub(crate) fn may_wait(name: &str) -> bool {
        [
            Self::ListTools,
            Self::ListPrompts,
            Self::ListResources,
            Self::ListTemplates,
            Self::ListTasks,
        ]
        .iter()
        .any(|list| list.word() == name)
    }

    /// Whether its result may ask for input first (SEP-2322).
    pub(crate) fn may_ask(self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt | Self::ReadResource)
    }

    /// Whether its results carry cache hints in 2026-07-28.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Discover
            | Self::ListTools
            | Self::ListResources
            | Self::ListTemplates
            | Self::ListPrompts
            | Self::ReadResource => Kind::Cacheable,
            Self::Ping
            | Self::SetLevel
            | Self::Listen
            | Self::CallTool
            | Self::Subscribe
            | Self::Unsubscribe
            | Self::GetPrompt
            | Self::Complete
            | Self::GetTask
            | Self::AwaitTask
            | Self::UpdateTask
            | Self::CancelTask
            | Self::ListTasks => Kind::Plain,
        }
    }

    /// The members of `params` that the gateway reads and judges; all others pass as they are.
    pub(crate) fn judged_members(self) -> &'static [&'static str] {
        match self {
            Self::CallTool | Self::GetPrompt => &["name", "arguments", "_meta"],
            Self::ReadResource | Self::Subscribe | Self::Unsubscribe => &["uri", "_meta"],
            Self::Complete => &["ref", "argument", "context", "_meta"],
            Self::GetTask | Self::AwaitTask | Self::UpdateTask | Self::CancelTask => &["taskId", "_meta"],
            Self::Ping
            | Self::SetLevel
            | Self::Discover
            | Self::Listen
            | Self::ListTools
            | Self::ListResources
            | Self::ListTemplates
            | Self::ListPrompts
            | Self::ListTasks => &["_meta"],
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_wire::version::Era;

    use super::Method;

    #[test]
    fn removed_methods_are_unknown_in_the_modern_era() {
        for name in [
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "tasks/result",
            "tasks/list",
            "nonsense",
        ] {
            assert_eq!(Method::find(name, Era::Modern), None, "{name}");
        }
        assert_eq!(Method::find("ping", Era::Legacy), Some(Method::Ping));
        assert_eq!(Method::find("server/discover", Era::Legacy), None);
        assert!(Method::is_modern_only("subscriptions/listen") && !Method::is_modern_only("tools/list"));
    }
}
