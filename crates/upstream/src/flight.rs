//! Who uses a connection: leases that hold it open, and requests that tell when nobody waits any more.

use std::sync::Arc;

use crate::connection::Connection;

/// The right to use a connection; while one is held, a retired connection stays open.
#[derive(Debug)]
pub(crate) struct Lease(Arc<Connection>);

impl Lease {
    /// Holds a connection open.
    pub(crate) fn of(connection: &Arc<Connection>) -> Self {
        connection.hold();
        Self(Arc::clone(connection))
    }
}

impl std::ops::Deref for Lease {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

/// A request under way: dropped before it landed, the server is told that nobody waits.
#[derive(Debug)]
pub(crate) struct Flight {
    connection: Arc<Connection>,
    id: i64,
    landed: bool,
}

impl Flight {
    /// A request is about to be sent.
    pub(crate) fn new(connection: &Arc<Connection>, id: i64) -> Self {
        Self {
            connection: Arc::clone(connection),
            id,
            landed: false,
        }
    }

    /// Its answer came, or it never left.
    pub(crate) fn land(&mut self) {
        self.landed = true;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.connection.pending.remove(self.id);
        if !self.landed {
            self.connection.withdraw(self.id);
        }
    }
}
