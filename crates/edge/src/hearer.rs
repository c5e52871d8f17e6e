//! What one standing stream is told: what the toolset of the request that opened it shows, and nothing else.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use countersign_core::admit::World;
use countersign_core::principal::Caller;
use countersign_core::stages::Toolset;
use countersign_engine::{Engine, Kept};

use crate::cursor::List;

/// Who hears a standing stream.
#[derive(Debug)]
pub(crate) struct Hearer {
    caller: Caller,
    /// The lists as the stream was told of them last. A change that the toolset hides is none.
    told: Mutex<Told>,
    /// What the caller has of its own is kept current as long as somebody listens.
    _kept: Option<Kept>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Told {
    tools: u64,
    prompts: u64,
    resources: u64,
}

impl Hearer {
    /// A stream that this caller opens now.
    pub(crate) fn new(engine: &Engine, caller: Caller) -> Self {
        let mut told = Told::default();
        if is_narrowed(&caller) {
            let world = engine.world(&caller);
            told = Told {
                tools: digest(&world, List::Tools),
                prompts: digest(&world, List::Prompts),
                resources: digest(&world, List::Resources),
            };
        }
        Self {
            _kept: engine.keep(&caller.principal),
            caller,
            told: Mutex::new(told),
        }
    }

    /// A stream that nothing narrows.
    #[cfg(test)]
    pub(crate) fn of_all(caller: Caller) -> Self {
        Self {
            caller,
            told: Mutex::default(),
            _kept: None,
        }
    }

    /// Whose stream it is.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Whether a list differs, as this stream sees it, from what it was told of last.
    pub(crate) fn sees_change(&self, engine: &Engine, list: List) -> bool {
        if !is_narrowed(&self.caller) {
            return true;
        }
        let now = digest(&engine.world(&self.caller), list);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match list {
            List::Tools => &mut told.tools,
            List::Prompts => &mut told.prompts,
            List::Resources | List::Templates => &mut told.resources,
        };
        std::mem::replace(before, now) != now
    }

    /// Whether this stream may hear what a server says of its own accord.
    pub(crate) fn sees_server(&self, engine: &Engine, server: &str) -> bool {
        !is_narrowed(&self.caller) || engine.world(&self.caller).shows_server(server)
    }
}

fn is_narrowed(caller: &Caller) -> bool {
    match caller.toolset {
        Toolset::Unscoped { because: _ } => false,
        Toolset::Within(_) | Toolset::Bad(_) => true,
    }
}

/// Stands for a list as a view shows it; the templates belong to the resources, whose change tells of both.
fn digest(world: &World, list: List) -> u64 {
    let mut hasher = DefaultHasher::new();
    match list {
        List::Tools => {
            for tool in world.tools() {
                (tool.name.as_str(), tool.definition.raw()).hash(&mut hasher);
            }
        }
        List::Prompts => world.prompts().for_each(|prompt| prompt.rendered.hash(&mut hasher)),
        List::Resources | List::Templates => {
            for resource in world.resources().chain(world.templates()) {
                (resource.server.as_str(), resource.definition.raw()).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}
