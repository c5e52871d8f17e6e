//! What becomes of a server whose connection is interrupted while it is made.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::effect::AnnotationTrust;
use countersign_core::exact::Digest;
use countersign_core::names::ServerName;
use countersign_core::principal::Principal;
use countersign_core::secret::Secret;
use countersign_core::server::{ServerEntry, Sharing, Start, Transport};
use tokio::sync::mpsc;

use super::{Place, Purpose, Server};
use crate::Settings;
use crate::ending::Ending;
use crate::http::Client;

#[tokio::test]
async fn a_panic_while_a_connection_is_made_is_not_waited_for_for_ever() {
    let entry = ServerEntry {
        name: ServerName::parse("fake").unwrap(),
        labels: std::collections::BTreeMap::new(),
        family: None,
        private_network: countersign_core::server::PrivateNetwork::Allowed,
        tool_prefix: None,
        description: None,
        timeout: None,
        start: Start::Boot,
        trust: AnnotationTrust::Ignored,
        sharing: Sharing::Shared,
        auth: countersign_core::server::Auth::None,
        access: Vec::new(),
        transport: Transport::Http {
            url: Secret::plain("no address"),
            headers: std::collections::BTreeMap::new(),
        },
        digest: Digest::of(b"1"),
    };
    let settings = Settings {
        connect_timeout: Duration::from_secs(1),
        call_timeout: Duration::from_secs(1),
        response_bytes: 1,
        idle: Duration::from_secs(1),
        warden: None,
        vault_key: None,
    };
    let (ending, _guard) = Ending::new(None);
    let client = Client::new(settings.connect_timeout);
    let common = super::Common {
        settings: Arc::new(settings),
        events: mpsc::channel(8).0,
        client,
        keeper: Arc::new(super::Keeper::new(
            countersign_store::Ledger::memory(),
            None,
            ending.clone(),
        )),
        ending,
    };
    let server = Server::new(Arc::new(entry), common);
    let server = Arc::new(server);
    let task = tokio::spawn(async { std::panic::panic_any("on purpose") });
    let connecting = server.connecting(None, task);
    server.lock().slots.entry(None).or_default().place = Place::Connecting(connecting);
    let local = Principal::local();

    let why = server
        .checkout(local.key(), Purpose::Call)
        .await
        .unwrap_err()
        .to_string();
    assert!(why.contains("interrupted by a fault of the gateway"), "{why}");
    // The next use tries again, after a pause.
    server.start();
    let why = server
        .checkout(local.key(), Purpose::Call)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(why, "server fake is unavailable: `url` is not an address");
}
