//! Log levels of the protocol, and which messages a caller wants.

use countersign_wire::meta::LOG_LEVELS;
use countersign_wire::object::Object;

/// A log level by its place, most talkative first (RFC 5424).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(usize);

impl Level {
    /// The level of that name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        LOG_LEVELS.iter().position(|level| *level == name).map(Self)
    }

    /// Its name.
    pub(crate) fn word(self) -> &'static str {
        LOG_LEVELS.get(self.0).copied().unwrap_or("info")
    }

    /// Whether a log message with these parameters is at least as severe. A level that nobody
    /// knows passes: dropping it would hide it from everyone.
    pub(crate) fn wants(self, params: &str) -> bool {
        let level = Object::parse(params)
            .ok()
            .and_then(|params| params.text("level").and_then(|name| Self::parse(&name)));
        level.is_none_or(|level| level >= self)
    }
}

#[cfg(test)]
mod tests {
    use super::Level;

    #[test]
    fn messages_below_the_level_are_not_wanted() {
        let warning = Level::parse("warning").expect("a level");
        assert!(!warning.wants(r#"{"level":"info","data":1}"#));
        assert!(warning.wants(r#"{"level":"warning","data":1}"#));
        assert!(warning.wants(r#"{"level":"emergency","data":1}"#));
        assert!(warning.wants(r#"{"level":"odd","data":1}"#));
        assert_eq!(Level::parse("verbose"), None);
    }
}
