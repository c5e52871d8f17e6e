//! The clients that were registered dynamically: one for each issuer and callback, kept for the next sign-in.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::client::Registered;
use super::disk::{Disk, Kind};

/// All registered clients.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<String, Registered>>);

impl Clients {
    /// The clients that were kept.
    pub(crate) fn kept(disk: &Disk) -> Self {
        let (kept, _closed) = disk.kept(Kind::Client);
        Self(Mutex::new(kept.into_iter().collect()))
    }

    /// The client for an issuer and a callback, while it is good.
    pub(crate) fn get(&self, issuer: &str, callback: &str) -> Option<Registered> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let client = self.lock().get(&name(issuer, callback)).cloned();
        client.filter(|client| client.is_good(now))
    }

    /// Keeps a client.
    pub(crate) async fn keep(&self, issuer: &str, callback: &str, client: Registered, disk: &Disk) {
        let name = name(issuer, callback);
        disk.keep(Kind::Client, &name, &client).await;
        self.lock().insert(name, client);
    }

    /// Forgets a client that its issuer knows no longer; the next sign-in registers another.
    pub(crate) async fn forget(&self, issuer: &str, client_id: &str, disk: &Disk) {
        let beginning = beginning(issuer);
        let gone: Vec<String> = {
            let mut all = self.lock();
            let names: Vec<String> = all
                .iter()
                .filter(|(name, client)| name.starts_with(&beginning) && client.id == client_id)
                .map(|(name, _)| name.clone())
                .collect();
            for name in &names {
                all.remove(name);
            }
            names
        };
        for name in gone {
            disk.forget(Kind::Client, &name).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Registered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn beginning(issuer: &str) -> String {
    format!("{}:{issuer}/", issuer.len())
}

fn name(issuer: &str, callback: &str) -> String {
    format!("{}{callback}", beginning(issuer))
}
