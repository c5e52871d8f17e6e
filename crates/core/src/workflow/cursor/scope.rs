//! What a step sees: the answers of steps before it, and the items of the loops around it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Known;
use crate::json::Json;
use crate::workflow::Names;

/// What a step sees.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    results: Arc<BTreeMap<Arc<str>, Json>>,
    successes: Arc<BTreeMap<Arc<str>, bool>>,
    vars: Arc<BTreeMap<Arc<str>, Json>>,
}

impl Scope {
    /// Adds what a step came to. A step that was skipped has no success, and null for an answer.
    pub(super) fn put(&mut self, id: &Arc<str>, known: Known) {
        Arc::make_mut(&mut self.results).insert(Arc::clone(id), known.value);
        Arc::make_mut(&mut self.successes).insert(Arc::clone(id), known.success);
    }

    pub(super) fn set_var(&mut self, name: &Arc<str>, value: Json) {
        Arc::make_mut(&mut self.vars).insert(Arc::clone(name), value);
    }

    /// What a step came to.
    pub(super) fn known(&self, id: &str) -> Option<Known> {
        Some(Known {
            success: *self.successes.get(id)?,
            value: self.results.get(id)?.clone(),
        })
    }

    pub(super) fn names(&self, input: &Json) -> Names {
        Names {
            input: input.clone(),
            results: Json::Map(Arc::clone(&self.results)),
            vars: Json::Map(Arc::clone(&self.vars)),
        }
    }
}
