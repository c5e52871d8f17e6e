//! Which tools a workflow may call: what decides who sees it, and whether it only reads (spec 7, the seed).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Action, Call, Condition, Draft, Place, Step};

/// How a tool is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Only when a condition holds, or when something failed.
    Perhaps,
    /// Whenever a run comes that far.
    Always,
}

/// The tools of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    tools: BTreeMap<Arc<str>, (Use, Place)>,
    retried: BTreeMap<Arc<str>, Place>,
    is_templated: bool,
}

impl Uses {
    pub(super) fn of(draft: &Draft) -> Self {
        let mut uses = Self::default();
        uses.add(&draft.steps, Use::Always);
        uses.add(&draft.on_failure, Use::Perhaps);
        uses
    }

    /// The tools by exposed name, how each is used, and where it is named first.
    pub fn tools(&self) -> impl Iterator<Item = (&Arc<str>, Use, &Place)> {
        self.tools.iter().map(|(name, (how, at))| (name, *how, at))
    }

    /// The tools that are called again when their server is unavailable, which is for tools that only read.
    pub fn retried(&self) -> impl Iterator<Item = (&Arc<str>, &Place)> {
        self.retried.iter()
    }

    /// Whether a tool is named by an expression, so that which one it is shows when it runs.
    #[must_use]
    pub fn is_templated(&self) -> bool {
        self.is_templated
    }

    fn add(&mut self, steps: &[Arc<Step>], how: Use) {
        for step in steps {
            let inner = match &step.condition {
                None => how,
                Some(condition) => {
                    if let Condition::Call { call, .. } = condition {
                        self.call(call, how);
                    }
                    Use::Perhaps
                }
            };
            match &step.action {
                Action::Call(call) => self.call(call, inner),
                Action::ForEach(each) => self.add(&each.steps, inner),
                Action::Parallel(parallel) => self.add(&parallel.steps, inner),
            }
        }
    }

    fn call(&mut self, call: &Call, how: Use) {
        let Some(name) = call.tool.literal() else {
            self.is_templated = true;
            return;
        };
        let name: Arc<str> = name.into();
        if call.retry.is_some() {
            self.retried
                .entry(Arc::clone(&name))
                .or_insert_with(|| call.tool.at().clone());
        }
        let known = self.tools.entry(name).or_insert_with(|| (how, call.tool.at().clone()));
        known.0 = known.0.max(how);
    }
}
