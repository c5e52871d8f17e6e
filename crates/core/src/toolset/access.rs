//! The access class of a tool: what its server's entry says of its name, else what trusted hints say (spec 4.2).

use crate::definition::ToolDefinition;
use crate::effect::{AnnotationTrust, Classified, Effect};
use crate::glob::Glob;
use crate::server::ServerEntry;

/// The access rules of one server, ready to be asked.
pub(super) struct Classes<'e> {
    rules: Vec<(&'e str, Vec<Glob>)>,
    trust: AnnotationTrust,
}

/// What hints of a trusted server can say.
const HINTED: [&str; 3] = ["read", "dangerous", "write"];

impl<'e> Classes<'e> {
    pub(super) fn of(entry: &'e ServerEntry) -> Self {
        let rules = entry.access.iter().map(|rule| {
            let globs = rule.tools.iter().filter_map(|glob| Glob::parse(glob).ok());
            (rule.class.as_str(), globs.collect())
        });
        Self {
            rules: rules.collect(),
            trust: entry.trust,
        }
    }

    /// The class of a tool of this server, when it has one.
    pub(super) fn class(&self, definition: &ToolDefinition) -> Option<&str> {
        let name = definition.name.as_str();
        let fits = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(name));
        if let Some((class, _)) = self.rules.iter().find(|(_, globs)| fits(globs)) {
            return Some(class);
        }
        let [read, dangerous, write] = HINTED;
        match self.trust {
            AnnotationTrust::Ignored => None,
            AnnotationTrust::Trusted => {
                let hints = definition.annotations.as_ref();
                let says = |hint: Option<bool>| hint == Some(true);
                Some(if hints.is_some_and(|hints| says(hints.destructive)) {
                    dangerous
                } else if hints.is_some_and(|hints| says(hints.read_only)) {
                    read
                } else {
                    write
                })
            }
        }
    }

    /// Whether some tool of this server may have the class, whatever the server publishes.
    pub(super) fn may_give(&self, class: &str) -> bool {
        self.rules.iter().any(|(given, _)| *given == class)
            || (self.trust == AnnotationTrust::Trusted && HINTED.contains(&class))
    }
}

/// The class of one of the gateway's own tools.
pub(super) fn of_core(classified: Classified) -> &'static str {
    match classified.effect {
        Effect::ReadOnly => "read",
        Effect::Mutating | Effect::Spawning | Effect::Control => "admin",
    }
}
