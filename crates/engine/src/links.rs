//! Links by which people sign in to servers: for one principal, used once, good for ten minutes.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use countersign_core::exact::Digest;
use countersign_core::names::ServerName;
use countersign_core::principal::{Principal, PrincipalKey};
use countersign_core::secret::Secret;

/// How long a link is good for, and how long its person has at the server's own pages.
pub(crate) const LIFETIME: Duration = Duration::from_secs(600);

/// A link that was given out is given out again while it is good for at least this long.
const FRESH: Duration = Duration::from_secs(300);

/// How many links and sign-ins under way are kept; the oldest give way.
const MOST: usize = 10_000;

/// For whom and where somebody signs in.
#[derive(Debug, Clone)]
pub(crate) struct Purpose {
    pub(crate) principal: Arc<Principal>,
    pub(crate) server: ServerName,
}

#[derive(Debug)]
struct Link {
    purpose: Purpose,
    ticket: Secret,
    made: Instant,
}

#[derive(Debug)]
struct Flow {
    purpose: Purpose,
    browser: Digest,
    made: Instant,
}

/// Why a link or a callback leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Unknown, used or too old; which of them is nobody's business.
    Expired,
    /// It was begun in another browser.
    WrongBrowser,
}

/// All links and sign-ins under way. Tickets and states are found by their digests, so that how long a look
/// takes says nothing of them.
#[derive(Debug, Default)]
pub(crate) struct Links {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    links: HashMap<Digest, Link>,
    latest: HashMap<(PrincipalKey, ServerName), Digest>,
    flows: HashMap<Digest, Flow>,
}

impl Links {
    /// The ticket of a link: the last one while it is good for long enough, else a new one. `None` when the
    /// system gives no random numbers.
    pub(crate) fn ticket(&self, purpose: Purpose) -> Option<Secret> {
        let now = Instant::now();
        let mut open = self.open(now);
        let whose = (purpose.principal.key().clone(), purpose.server.clone());
        let latest = open.latest.get(&whose).and_then(|digest| open.links.get(digest));
        if let Some(link) = latest.filter(|link| now.duration_since(link.made) < LIFETIME.saturating_sub(FRESH)) {
            return Some(link.ticket.clone());
        }
        let ticket = fresh()?;
        let digest = Digest::of(ticket.reveal().as_bytes());
        open.make_room();
        open.latest.insert(whose, digest);
        open.links.insert(
            digest,
            Link {
                purpose,
                ticket: ticket.clone(),
                made: now,
            },
        );
        Some(ticket)
    }

    /// What a link is for; it stays as it is.
    pub(crate) fn purpose(&self, ticket: &str) -> Option<Purpose> {
        let open = self.open(Instant::now());
        let link = open.links.get(&Digest::of(ticket.as_bytes()))?;
        Some(link.purpose.clone())
    }

    /// Uses a link up.
    pub(crate) fn take(&self, ticket: &str) -> Option<Taken> {
        let mut open = self.open(Instant::now());
        let digest = Digest::of(ticket.as_bytes());
        let link = open.links.remove(&digest)?;
        let whose = (link.purpose.principal.key().clone(), link.purpose.server.clone());
        if open.latest.get(&whose) == Some(&digest) {
            open.latest.remove(&whose);
        }
        Some(Taken(link))
    }

    /// Gives a link back whose sign-in could not be begun.
    pub(crate) fn give_back(&self, taken: Taken) {
        let mut open = self.open(Instant::now());
        let Taken(link) = taken;
        open.links.insert(Digest::of(link.ticket.reveal().as_bytes()), link);
    }

    /// A sign-in is under way: only the browser that began it can end it.
    pub(crate) fn began(&self, purpose: Purpose, state: &str, browser: &Secret) {
        let mut open = self.open(Instant::now());
        open.make_room();
        open.flows.insert(
            Digest::of(state.as_bytes()),
            Flow {
                purpose,
                browser: Digest::of(browser.reveal().as_bytes()),
                made: Instant::now(),
            },
        );
    }

    /// Ends a sign-in that is under way.
    ///
    /// # Errors
    /// [`Lost`]
    pub(crate) fn end(&self, state: &str, browser: Option<&Secret>) -> Result<Purpose, Lost> {
        let mut open = self.open(Instant::now());
        let digest = Digest::of(state.as_bytes());
        let flow = open.flows.get(&digest).ok_or(Lost::Expired)?;
        let browser = browser.map(|browser| Digest::of(browser.reveal().as_bytes()));
        if browser != Some(flow.browser) {
            return Err(Lost::WrongBrowser);
        }
        let flow = open.flows.remove(&digest).ok_or(Lost::Expired)?;
        Ok(flow.purpose)
    }

    fn open(&self, now: Instant) -> MutexGuard<'_, Open> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.links.retain(|_, link| now.duration_since(link.made) < LIFETIME);
        open.flows.retain(|_, flow| now.duration_since(flow.made) < LIFETIME);
        let Open { links, latest, .. } = &mut *open;
        latest.retain(|_, digest| links.contains_key(digest));
        open
    }
}

/// A link that was taken out.
#[derive(Debug)]
pub(crate) struct Taken(Link);

impl Taken {
    pub(crate) fn purpose(&self) -> &Purpose {
        &self.0.purpose
    }
}

impl Open {
    fn make_room(&mut self) {
        if self.links.len() >= MOST
            && let Some(oldest) = self
                .links
                .iter()
                .min_by_key(|(_, link)| link.made)
                .map(|(digest, _)| *digest)
        {
            self.links.remove(&oldest);
        }
        if self.flows.len() >= MOST
            && let Some(oldest) = self
                .flows
                .iter()
                .min_by_key(|(_, flow)| flow.made)
                .map(|(digest, _)| *digest)
        {
            self.flows.remove(&oldest);
        }
    }
}

/// 256 random bits as hex digits.
pub(crate) fn fresh() -> Option<Secret> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits).ok()?;
    let text = bits.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    });
    Some(Secret::hidden(text))
}

#[cfg(test)]
mod tests {
    use countersign_core::principal::Authentication;

    use super::*;

    fn purpose(who: &str, server: &str) -> Purpose {
        Purpose {
            principal: Arc::new(Principal::of(who, who, Authentication::LocalOnly)),
            server: ServerName::parse(server).unwrap(),
        }
    }

    #[test]
    fn a_link_is_given_out_again_until_it_is_used_and_serves_once() {
        let links = Links::default();
        let first = links.ticket(purpose("ada", "files")).unwrap();
        assert_eq!(links.ticket(purpose("ada", "files")).unwrap(), first);
        assert_ne!(
            links.ticket(purpose("ben", "files")).unwrap(),
            first,
            "another person's"
        );
        assert_ne!(links.ticket(purpose("ada", "mail")).unwrap(), first, "another server's");
        assert_eq!(links.purpose(first.reveal()).unwrap().principal.subject(), "ada");
        assert!(links.take(first.reveal()).is_some());
        assert!(links.take(first.reveal()).is_none());
        assert!(links.purpose(first.reveal()).is_none());
        assert_ne!(links.ticket(purpose("ada", "files")).unwrap(), first);
    }

    #[test]
    fn a_link_whose_sign_in_could_not_begin_can_be_used_again() {
        let links = Links::default();
        let ticket = links.ticket(purpose("ada", "files")).unwrap();
        let taken = links.take(ticket.reveal()).unwrap();
        links.give_back(taken);
        assert!(links.take(ticket.reveal()).is_some());
    }

    #[test]
    fn a_sign_in_ends_once_in_the_browser_that_began_it() {
        let links = Links::default();
        let (mine, other) = (fresh().unwrap(), fresh().unwrap());
        links.began(purpose("ada", "files"), "state", &mine);
        assert_eq!(links.end("state", None).unwrap_err(), Lost::WrongBrowser);
        assert_eq!(links.end("state", Some(&other)).unwrap_err(), Lost::WrongBrowser);
        assert_eq!(links.end("other", Some(&mine)).unwrap_err(), Lost::Expired);
        assert_eq!(links.end("state", Some(&mine)).unwrap().server.as_str(), "files");
        assert_eq!(links.end("state", Some(&mine)).unwrap_err(), Lost::Expired);
    }

    #[test]
    fn i10_a_ticket_is_not_printed() {
        let links = Links::default();
        let ticket = links.ticket(purpose("ada", "files")).unwrap();
        assert!(!format!("{links:?}").contains(ticket.reveal()));
    }
}
