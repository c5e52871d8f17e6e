//! What outlives the process: sealed values in the ledger's store, or nothing without a key.

use countersign_store::{Ledger, Sealed};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::seal::VaultKey;

/// Kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A principal's grant at a server.
    Grant,
    /// The gateway as a client of an issuer.
    Client,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Client => "client",
        }
    }
}

/// The store and its key.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    ledger: Ledger,
    key: Option<VaultKey>,
}

impl Disk {
    /// A store; without a key nothing is written and nothing is read.
    pub(crate) fn new(ledger: Ledger, key: Option<VaultKey>) -> Self {
        Self { ledger, key }
    }

    /// Whether what is kept outlives the process.
    pub(crate) fn keeps(&self) -> bool {
        self.key.is_some() && self.ledger.outlives_the_process()
    }

    /// What was kept of a kind before this process began, and how many values this key does not open.
    pub(crate) fn kept<T: DeserializeOwned>(&self, kind: Kind) -> (Vec<(String, T)>, usize) {
        let (mut opened, mut closed) = (Vec::new(), 0);
        let Some(key) = &self.key else {
            let kept = self.ledger.sealed().iter().filter(|sealed| sealed.kind == kind.word());
            return (opened, kept.count());
        };
        for sealed in self.ledger.sealed().iter().filter(|sealed| sealed.kind == kind.word()) {
            let text = key.open(&place(kind, &sealed.key), &sealed.bytes);
            match text.and_then(|text| serde_json::from_str(&text).ok()) {
                Some(value) => opened.push((sealed.key.clone(), value)),
                None => closed += 1,
            }
        }
        (opened, closed)
    }

    /// Keeps a value; it is on disk when this returns. A failure is logged: what is in memory is still good.
    pub(crate) async fn keep(&self, kind: Kind, name: &str, value: &impl Serialize) {
        let Some(key) = &self.key else { return };
        let text = serde_json::to_string(value).ok();
        let Some(bytes) = text.and_then(|text| key.seal(&place(kind, name), &text)) else {
            tracing::error!("a sign-in could not be sealed; it lives in memory only");
            return;
        };
        let sealed = Sealed {
            kind: kind.word().to_owned(),
            key: name.to_owned(),
            bytes,
        };
        if let Err(error) = self.ledger.keep_sealed(sealed).await {
            tracing::error!(%error, "a sign-in could not be kept; it lives in memory only");
        }
    }

    /// Forgets a value.
    pub(crate) async fn forget(&self, kind: Kind, name: &str) {
        if let Err(error) = self.ledger.drop_sealed(kind.word(), name).await {
            tracing::error!(%error, "a sign-in could not be deleted from the store");
        }
    }
}

/// What a value is bound to, so that no other can be put in its place.
fn place(kind: Kind, name: &str) -> String {
    format!("countersign/{}/{name}", kind.word())
}
