//! `core_auth_login` and `core_auth_logout`.

use std::sync::Arc;

use countersign_core::auth::Auth;
use countersign_core::principal::Caller;
use countersign_core::server::{ServerEntry, Start};
use serde_json::{Value, json};

use super::{Said, Trouble};
use crate::Engine;
use crate::sign_in::AskedBy;

/// `core_auth_login`: the link, unless the caller is signed in already.
pub(super) async fn login(engine: &Engine, caller: &Caller, server: &str) -> Result<Said, Trouble> {
    let entry = signs_in(engine, server)?;
    if engine.shared.is_signed_in(&entry.name, caller.principal.key()) {
        engine.listed_again(&caller.principal, &entry.name).await;
    }
    // A grant that its server no longer takes shows by the listing, or was not enough for a request of the caller's.
    let key = caller.principal.key();
    if engine.shared.is_signed_in(&entry.name, key) && !engine.shared.upstreams.lacks_scope(&entry.name, key) {
        return Ok(Said::Value(json!({"status": "signed_in", "server": entry.name})));
    }
    let required = engine.auth_required(&caller.principal, &entry, AskedBy::Login);
    Ok(Said::SignIn(required))
}

/// `core_auth_logout`
pub(super) async fn logout(engine: &Engine, caller: &Caller, server: &str) -> Result<Value, Trouble> {
    let entry = signs_in(engine, server)?;
    match entry.auth {
        Auth::None | Auth::OAuth(_) => {}
        Auth::ForwardToken | Auth::TokenExchange(_) => {
            return Err(Trouble {
                code: "sign_in_by_token",
                message: format!(
                    "server `{server}` is called with the token that this connection brings, and nothing of it is kept; \
                     disconnect to end its use"
                ),
            });
        }
    }
    let was = engine.sign_out(&caller.principal, &entry.name).await;
    let status = if was { "signed_out" } else { "not_signed_in" };
    Ok(json!({"status": status, "server": entry.name}))
}

/// The entry of a server that asks for a sign-in.
fn signs_in(engine: &Engine, server: &str) -> Result<Arc<ServerEntry>, Trouble> {
    let entry = engine.shared.base.with_book(|book| book.entry(server));
    let entry = entry.ok_or_else(|| Trouble::no_server(server))?;
    if entry.start == Start::Suspended {
        return Err(Trouble::suspended(server));
    }
    if entry.auth.is_on() {
        return Ok(entry);
    }
    Err(Trouble {
        code: "sign_in_not_needed",
        message: format!("server `{server}` asks for no sign-in: its tools are there for every caller"),
    })
}
