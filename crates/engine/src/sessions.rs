//! The bindings of Sessions, as the edge asks for them: the store's, with the clocks read here.

use std::sync::Arc;
use std::time::Instant;

use countersign_store::{Bind, Binding, Bound, Error, Unbound};

use crate::{Engine, clock};

impl Engine {
    /// Binds a Session; it is stored when this returns.
    ///
    /// # Errors
    /// Why it is not bound.
    pub async fn bind(&self, bind: Bind) -> Result<Bound, Unbound> {
        self.shared.ledger.bind(bind, clock::reading()).await
    }

    /// The binding of a Session while it lives, and when it ends by the clock that nobody sets.
    #[must_use]
    pub fn binding(&self, session: &str) -> Option<(Arc<Binding>, Instant)> {
        self.shared.ledger.binding(session, clock::reading())
    }

    /// Ends the binding of a Session; says whether there was one.
    ///
    /// # Errors
    /// When that cannot be stored.
    pub async fn unbind(&self, session: &str) -> Result<bool, Error> {
        self.shared.ledger.unbind(session, clock::reading()).await
    }
}
