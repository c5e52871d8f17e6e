//! Families: one server's membership, and what holds for all members together (spec 2.4).

use std::collections::BTreeMap;
use std::ops::Range;

use countersign_core::names::FamilyName;
use countersign_core::server::Membership;

use crate::fields::{Field, Reader};

/// The longest argument name that every client and every model's API takes.
const ARGUMENT_LENGTH: usize = 64;

/// Reads `family` of one server.
pub(super) fn read(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Membership> {
    let mut fields = reader.fields(field)?;
    let name = fields.take(reader, &["name"]);
    let argument = fields.take(reader, &["instanceArg", "instance_arg"]);
    fields.finish(reader);
    let (Some(name), Some(argument)) = (name, argument) else {
        reader.wrong_with_help(
            field,
            "needs a `name` and an `instanceArg`",
            "write `{\"name\": \"clusters\", \"instanceArg\": \"cluster\"}`",
        );
        return None;
    };
    let (name, argument) = (family_name(reader, &name), instance_arg(reader, &argument));
    Some(Membership {
        name: name?,
        instance_arg: argument?.into(),
    })
}

fn family_name(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<FamilyName> {
    let text = reader.literal(field)?;
    let name = FamilyName::parse(&text);
    if name.is_err() {
        reader.wrong_with_help(
            field,
            "is a name that is not allowed",
            "use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit",
        );
    }
    name.ok()
}

fn instance_arg(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<String> {
    let text = reader.literal(field)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if (1..=ARGUMENT_LENGTH).contains(&text.len()) && text.bytes().all(allowed) {
        return Some(text);
    }
    reader.wrong_with_help(
        field,
        "cannot be the name of an argument",
        "use 1 to 64 letters, digits, `_`, `-` or `.`",
    );
    None
}

/// One server that declares a family.
struct Declared<'t> {
    server: &'t str,
    field: Field<'t>,
    membership: Membership,
}

/// What all entries of the file say of families.
#[derive(Default)]
pub(super) struct Families<'t> {
    declared: Vec<Declared<'t>>,
    /// Where each server stands.
    servers: BTreeMap<&'t str, Range<usize>>,
}

impl<'t> Families<'t> {
    /// Notes a server; `entry` is the value under its name.
    pub(super) fn note(&mut self, server: &'t str, entry: &Field<'t>, membership: Option<&Membership>) {
        self.servers.insert(server, entry.key_span.clone());
        if let Some(membership) = membership {
            self.declared.push(Declared {
                server,
                field: entry.member_of_server("family").unwrap_or_else(|| entry.clone()),
                membership: membership.clone(),
            });
        }
    }

    /// Checks what no entry shows alone.
    pub(super) fn check(&self, reader: &mut Reader<'_>) {
        let mut first: BTreeMap<String, &Declared<'_>> = BTreeMap::new();
        for declared in &self.declared {
            self.check_name(reader, declared);
            let Some(other) = first.get(&declared.membership.name.as_str().to_ascii_lowercase()) else {
                first.insert(declared.membership.name.as_str().to_ascii_lowercase(), declared);
                continue;
            };
            let (ours, theirs) = (&declared.membership, &other.membership);
            if ours.name != theirs.name {
                let what = format!(
                    "names family `{}`, which differs from family `{}` of server `{}` only in upper and lower case",
                    ours.name, theirs.name, other.server
                );
                reader.warn(&declared.field, &what);
            } else if ours.instance_arg != theirs.instance_arg {
                let what = format!(
                    "calls the argument `{}`, while server `{}` ({}) calls it `{}`; tools that both have stay under \
                     the names of their servers",
                    ours.instance_arg,
                    other.server,
                    reader.shown_place(&other.field.key_span),
                    theirs.instance_arg
                );
                reader.warn(&declared.field, &what);
            }
        }
    }

    /// A family and a server may not share a name: neither callers nor rules could tell which is meant.
    fn check_name(&self, reader: &mut Reader<'_>, declared: &Declared<'_>) {
        let family = declared.membership.name.as_str();
        if let Some(place) = self.servers.get(family) {
            let what = format!(
                "names family `{family}`, and a server has that name ({})",
                reader.shown_place(place)
            );
            reader.wrong_with_help(&declared.field, &what, "give the family or the server another name");
            return;
        }
        let alike = |server: &&&str| server.eq_ignore_ascii_case(family);
        if let Some(server) = self.servers.keys().find(alike) {
            let what =
                format!("names family `{family}`, which differs from server `{server}` only in upper and lower case");
            reader.warn(&declared.field, &what);
        }
    }
}
