//! Which entries get the exposed names they claim: a name that two claim belongs to neither (I9).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use unicode_normalization::UnicodeNormalization;

use super::{Finding, FindingKind};
use crate::names::{ExposedName, FamilyName, ServerName};

/// One entry's claim to an exposed name.
#[derive(Debug)]
pub(super) struct Claim<E> {
    /// The name it would have.
    pub(super) name: ExposedName,
    /// The name before an alias stood in for it.
    pub(super) whole: String,
    /// Where it comes from.
    pub(super) origin: Origin,
    /// What its server calls it.
    pub(super) original: String,
    /// The entry.
    pub(super) entry: E,
}

/// Where an entry comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    Server(ServerName),
    Family(FamilyName, Vec<ServerName>),
}

impl Origin {
    fn text(&self) -> String {
        match self {
            Self::Server(server) => format!("server `{server}`"),
            Self::Family(family, _) => format!("family `{family}`"),
        }
    }

    /// What an operator gives it for other names.
    fn handle(&self) -> &'static str {
        match self {
            Self::Server(_) => "`toolPrefix`",
            Self::Family(..) => "name",
        }
    }

    pub(super) fn into_parts(self) -> (Vec<ServerName>, Option<FamilyName>) {
        match self {
            Self::Server(server) => (vec![server], None),
            Self::Family(family, servers) => (servers, Some(family)),
        }
    }
}

/// Why a claim is refused.
struct Conflict {
    kind: FindingKind,
    what: String,
    way_out: String,
}

/// The entries whose names are theirs alone, in the order of the claims; the others get a finding each.
pub(super) fn settle<E>(claims: Vec<Claim<E>>, findings: &mut Vec<Finding>) -> Vec<(ExposedName, E)> {
    let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, claim) in claims.iter().enumerate() {
        for key in keys(claim) {
            by_key.entry(key).or_default().push(place);
        }
    }
    let mut refused: BTreeMap<usize, Rc<Conflict>> = BTreeMap::new();
    for places in by_key.values().filter(|places| places.len() > 1) {
        let rivals: Vec<&Claim<E>> = places.iter().filter_map(|place| claims.get(*place)).collect();
        let conflict = Rc::new(conflict(&rivals));
        for place in places {
            refused.entry(*place).or_insert_with(|| Rc::clone(&conflict));
        }
    }
    let mut kept = Vec::with_capacity(claims.len());
    for (place, claim) in claims.into_iter().enumerate() {
        let Some(conflict) = refused.get(&place) else {
            kept.push((claim.name, claim.entry));
            continue;
        };
        let (servers, family) = claim.origin.into_parts();
        findings.push(Finding {
            servers,
            family,
            subject: Some(claim.original),
            kind: conflict.kind,
            what: format!("exposed name `{}` {}", claim.name, conflict.what),
            way_out: conflict.way_out.clone(),
        });
    }
    kept
}

/// What is said of claims that exclude each other.
fn conflict<E>(rivals: &[&Claim<E>]) -> Conflict {
    let origins: Vec<String> = rivals
        .iter()
        .map(|claim| format!("`{}` of {}", claim.original, claim.origin.text()))
        .collect();
    let names: BTreeSet<&ExposedName> = rivals.iter().map(|claim| &claim.name).collect();
    let owners: BTreeSet<&Origin> = rivals.iter().map(|claim| &claim.origin).collect();
    let (kind, what) = if names.len() == 1 {
        (FindingKind::NameConflict, "is claimed by")
    } else {
        (FindingKind::NameAlike, "reads like another one:")
    };
    let way_out = match owners.first() {
        // No prefix tells apart what one server itself calls alike.
        Some(only) if owners.len() == 1 => format!("rename one of them at {}", only.text()),
        Some(_) | None => {
            let ways: Vec<String> = owners
                .iter()
                .map(|owner| format!("{} another {}", owner.text(), owner.handle()))
                .collect();
            format!("give {}", ways.join(", or "))
        }
    };
    Conflict {
        kind,
        what: format!("{what} {}, so none of them is served", origins.join(" and ")),
        way_out,
    }
}

/// Two claims that share a key cannot be told apart by a reader: the names are equal after NFKC and
/// case folding.
fn keys<E>(claim: &Claim<E>) -> Vec<String> {
    let mut keys = vec![claim.name.as_str().to_ascii_lowercase()];
    // An alias hides a likeness, so what it stands for is compared as people see it.
    if claim.name.as_str() != claim.whole {
        let seen = as_seen(&claim.whole);
        keys.push(format!("{}\0{seen}", claim.origin.text()));
        if !claim.whole.is_ascii() {
            keys.push(seen);
        }
    }
    keys
}

/// NFKC and case folding; by way of capital letters, since some small ones share theirs.
fn as_seen(text: &str) -> String {
    let folded = text.nfkc().collect::<String>().to_uppercase().to_lowercase();
    folded.nfkc().collect()
}
