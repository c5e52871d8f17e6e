//! Answers that cannot be read still end their calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_core::names::ServerName;
use countersign_core::secret::Secret;
use countersign_core::server::Transport;
use tokio::sync::mpsc;

use super::{Inbox, Outbox};
use crate::connection::{Connection, Link, Whose};
use crate::ending::Ending;
use crate::events::Events;
use crate::stdio::Log;

#[tokio::test]
async fn i10_a_secret_that_a_server_repeats_on_its_output_is_not_logged() {
    let name = ServerName::parse("fake").unwrap();
    let transport = Transport::Http {
        url: Secret::plain("http://x"),
        headers: BTreeMap::from([("X-Key".to_owned(), Secret::hidden("sesame-12345"))]),
    };
    let whose = Whose {
        server: name.clone(),
        principal: None,
        events: Events::new(name.clone(), mpsc::channel(1).0),
        log: Arc::new(Log::new(name, &transport)),
        wished: Arc::default(),
    };
    let (ending, _guard) = Ending::new(None);
    let inbox = Inbox::new(Connection::new(whose, Link::Duplex(Outbox::new().0), &ending));
    assert_eq!(inbox.shown("using key sesame-12345"), "using key [secret]");
    let late = format!("{}sesame-12345", "x".repeat(195));
    assert_eq!(inbox.shown(&late), format!("{}[secr", "x".repeat(195)));
}
