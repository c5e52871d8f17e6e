//! Which entries get the exposed names they claim: a name that two claim belongs to neither (I9).

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use super::Finding;
use crate::names::ExposedName;

/// One entry's claim to an exposed name.
#[derive(Debug)]
pub(super) struct Claim<E> {
    /// The name it would have.
    pub(super) name: ExposedName,
    /// The name before an alias stood in for it.
    pub(super) whole: String,
    /// The server it comes from.
    pub(super) server: String,
    /// What its server calls it.
    pub(super) original: String,
    /// The entry.
    pub(super) entry: E,
}

/// The entries whose names are theirs alone, in the order of the claims; the others get a finding each.
pub(super) fn settle<E>(claims: Vec<Claim<E>>, findings: &mut Vec<Finding>) -> Vec<(ExposedName, E)> {
    let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, claim) in claims.iter().enumerate() {
        for key in keys(claim) {
            by_key.entry(key).or_default().push(place);
        }
    }
    let mut refused: BTreeMap<usize, String> = BTreeMap::new();
    for places in by_key.values().filter(|places| places.len() > 1) {
        let origins: Vec<String> = places
            .iter()
            .filter_map(|place| claims.get(*place))
            .map(origin)
            .collect();
        for place in places {
            refused.entry(*place).or_insert_with(|| origins.join(" and "));
        }
    }
    let mut kept = Vec::with_capacity(claims.len());
    for (place, claim) in claims.into_iter().enumerate() {
        match refused.get(&place) {
            None => kept.push((claim.name, claim.entry)),
            Some(origins) => findings.push(Finding {
                what: format!(
                    "exposed name `{}` is claimed by {origins}, so none of them is served; give one server another `toolPrefix`",
                    claim.name
                ),
                server: claim.server,
                subject: Some(claim.original),
            }),
        }
    }
    kept
}

fn origin<E>(claim: &Claim<E>) -> String {
    format!("`{}` of server `{}`", claim.original, claim.server)
}

/// Two claims that share a key cannot be told apart by a reader: the names are equal after NFKC and
/// case folding.
fn keys<E>(claim: &Claim<E>) -> Vec<String> {
    let folded = claim.name.as_str().to_lowercase();
    // A text that is not ASCII is compared as people see it, since its alias hides a likeness.
    if claim.whole.is_ascii() {
        vec![folded]
    } else {
        vec![folded, claim.whole.nfkc().collect::<String>().to_lowercase()]
    }
}
