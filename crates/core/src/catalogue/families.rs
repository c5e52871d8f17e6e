//! Which tools of a family's members stand on its one surface, and which stay with their servers (spec 2.4).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Catalogue, Finding, FindingKind, Provider, Server};
use crate::definition::{ToolDefinition, Unfit};
use crate::effect::{Classified, Effect, Source};
use crate::names::{FamilyName, OriginalName, ServerName};
use crate::server::Membership;

/// A tool of a family: an argument of the call says which member runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyTool {
    /// The family.
    pub family: FamilyName,
    /// The name of the argument; it never reaches a server.
    pub instance_arg: Arc<str>,
    /// The members that run it. INVARIANT: never empty, and all publish equal definitions; `decide` sees to both.
    pub members: BTreeMap<ServerName, MemberTool>,
}

/// What one member of a family says of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberTool {
    /// The definition as this member publishes it.
    pub definition: Arc<ToolDefinition>,
    /// What a call that this member runs may do.
    pub classified: Classified,
}

/// One tool of one server, before it is known where it stands.
#[derive(Debug)]
pub(super) struct Candidate<'s> {
    pub(super) server: &'s Server,
    pub(super) definition: Arc<ToolDefinition>,
    pub(super) classified: Classified,
}

/// One tool on a family's surface.
#[derive(Debug)]
pub(super) struct Surface {
    /// One member's definition with the argument.
    pub(super) definition: Arc<ToolDefinition>,
    pub(super) tool: FamilyTool,
}

/// Splits the tools of all servers: surfaces in the order of families, and what stays with its server.
///
/// The candidates stand by server name, each server's in its own order; what stays keeps that order. The
/// surface of members that say what they said in the snapshot before is not written again.
pub(super) fn gather<'s>(
    candidates: Vec<Candidate<'s>>,
    before: Option<&Catalogue>,
    findings: &mut Vec<Finding>,
) -> (Vec<Surface>, Vec<Candidate<'s>>) {
    let mut families: BTreeMap<&FamilyName, Shelf<'_>> = BTreeMap::new();
    for (place, candidate) in candidates.iter().enumerate() {
        if let Some(membership) = &candidate.server.entry.family {
            let shelf = families.entry(&membership.name).or_default();
            shelf.add(&candidate.definition.name, place);
        }
    }
    let known = before.map(known).unwrap_or_default();
    let mut surfaces = Vec::new();
    let mut gathered = BTreeSet::new();
    for (family, shelf) in families {
        for places in shelf.in_order() {
            let members: Vec<Member<'_>> = places
                .iter()
                .filter_map(|at| member(*at, candidates.get(*at)?))
                .collect();
            if let Some((surface, kept)) = decide(family, &members, &known, findings) {
                surfaces.push(surface);
                gathered.extend(kept);
            }
        }
    }
    let mut place = 0..;
    let mut rest = candidates;
    rest.retain(|_| place.next().is_some_and(|place: usize| !gathered.contains(&place)));
    (surfaces, rest)
}

/// Tools of families by family and by the name that servers give them.
type Known<'k> = BTreeMap<(&'k FamilyName, &'k OriginalName), (&'k FamilyTool, &'k Arc<ToolDefinition>)>;

fn known(before: &Catalogue) -> Known<'_> {
    before
        .tools
        .iter()
        .filter_map(|tool| match &tool.provider {
            Provider::Family(family) => Some(((&family.family, &tool.definition.name), (&**family, &tool.definition))),
            Provider::Server(_) | Provider::Core(_) | Provider::Workflow(_) => None,
        })
        .collect()
}

/// The tools of one family, in the order in which its members first name them.
#[derive(Debug, Default)]
struct Shelf<'c> {
    by_tool: BTreeMap<&'c OriginalName, usize>,
    places: Vec<Vec<usize>>,
}

impl<'c> Shelf<'c> {
    fn add(&mut self, tool: &'c OriginalName, place: usize) {
        let at = *self.by_tool.entry(tool).or_insert(self.places.len());
        match self.places.get_mut(at) {
            Some(places) => places.push(place),
            None => self.places.push(vec![place]),
        }
    }

    fn in_order(self) -> Vec<Vec<usize>> {
        self.places
    }
}

/// One member that has the tool in question.
#[derive(Debug, Clone, Copy)]
struct Member<'c> {
    place: usize,
    name: &'c ServerName,
    membership: &'c Membership,
    definition: &'c Arc<ToolDefinition>,
    classified: Classified,
}

fn member<'c>(place: usize, candidate: &'c Candidate<'_>) -> Option<Member<'c>> {
    Some(Member {
        place,
        name: &candidate.server.entry.name,
        membership: candidate.server.entry.family.as_ref()?,
        definition: &candidate.definition,
        classified: candidate.classified,
    })
}

/// Where one tool of a family stands: on the surface for the largest group of members that agree on it (of
/// equal groups the one with the first server by name), and the places of those members; nothing when the
/// tool falls back to its servers.
fn decide(
    family: &FamilyName,
    members: &[Member<'_>],
    known: &Known<'_>,
    findings: &mut Vec<Finding>,
) -> Option<(Surface, Vec<usize>)> {
    let first = members.first()?;
    let report = Report {
        family,
        tool: &first.definition.name,
    };
    if let Some(finding) = report.arguments(members) {
        findings.push(finding);
        return None;
    }
    let groups = groups(members);
    // `max_by_key` takes the last of equal ones, so the first group by name must come last.
    let kept = groups.iter().rev().max_by_key(|group| group.len())?;
    let shown = kept.first()?;
    let tool = FamilyTool {
        family: family.clone(),
        instance_arg: Arc::clone(&first.membership.instance_arg),
        members: kept
            .iter()
            .map(|member| (member.name.clone(), member_tool(member)))
            .collect(),
    };
    let written = known.get(&(family, &first.definition.name));
    let definition = match written.filter(|(before, _)| tool.is_written_as(before)) {
        Some((_, definition)) => Ok(Arc::clone(definition)),
        None => tool.surface(shown.definition).map(Arc::new),
    };
    let definition = match definition {
        Ok(definition) => definition,
        Err(unfit) => {
            findings.push(report.unfit(members, &unfit));
            return None;
        }
    };
    for group in groups
        .iter()
        .filter(|group| group.first().map(|it| it.place) != Some(shown.place))
    {
        findings.extend(report.differs(group, kept));
    }
    findings.extend(report.details(kept));
    Some((
        Surface { definition, tool },
        kept.iter().map(|member| member.place).collect(),
    ))
}

fn member_tool(member: &Member<'_>) -> MemberTool {
    MemberTool {
        definition: Arc::clone(member.definition),
        classified: member.classified,
    }
}

/// The members by what they publish, in the order of each group's first.
fn groups<'m>(members: &[Member<'m>]) -> Vec<Vec<Member<'m>>> {
    let mut groups: Vec<Vec<Member<'_>>> = Vec::new();
    for member in members {
        let same = |group: &&mut Vec<Member<'_>>| {
            group
                .first()
                .is_some_and(|other| agree(other.definition, member.definition))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(*member),
            None => groups.push(vec![*member]),
        }
    }
    groups
}

/// Whether two definitions say the same of how a tool is called, what it does and who may see it.
fn agree(one: &ToolDefinition, other: &ToolDefinition) -> bool {
    let said = |definition: &ToolDefinition| (definition.digest, definition.only_as_task, definition.for_models);
    said(one) == said(other)
}

impl FamilyTool {
    /// One member's definition with the argument that names the member.
    pub(crate) fn surface(&self, definition: &ToolDefinition) -> Result<ToolDefinition, Unfit> {
        let members: Vec<&str> = self.members.keys().map(ServerName::as_str).collect();
        let about = format!("The server of family `{}` that runs the call.", self.family);
        definition.with_argument(&self.instance_arg, &about, &members)
    }

    /// Whether its surface is written as that of another, since all that it is made of is the same.
    fn is_written_as(&self, other: &Self) -> bool {
        let same = |(one, other): ((&ServerName, &MemberTool), (&ServerName, &MemberTool))| {
            one.0 == other.0 && Arc::ptr_eq(&one.1.definition, &other.1.definition)
        };
        self.instance_arg == other.instance_arg
            && self.members.len() == other.members.len()
            && self.members.iter().zip(&other.members).all(same)
    }

    /// What a call may do, whichever member runs it: read-only when every member's declaration says so.
    #[must_use]
    pub fn classified(&self) -> Classified {
        let mut all = self.members.values().map(|member| member.classified);
        all.find(|classified| classified.effect != Effect::ReadOnly)
            .or_else(|| self.members.values().next().map(|member| member.classified))
            .unwrap_or(Classified {
                effect: Effect::Mutating,
                source: Source::Undeclared,
            })
    }
}

/// Findings about one tool of one family.
struct Report<'c> {
    family: &'c FamilyName,
    tool: &'c OriginalName,
}

impl Report<'_> {
    fn finding(&self, kind: FindingKind, members: &[Member<'_>], what: String, way_out: String) -> Finding {
        Finding {
            servers: members.iter().map(|member| member.name.clone()).collect(),
            family: Some(self.family.clone()),
            subject: Some(self.tool.to_string()),
            kind,
            what,
            way_out,
        }
    }

    /// Whether the members call the argument differently.
    fn arguments(&self, members: &[Member<'_>]) -> Option<Finding> {
        let mut spoken: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for member in members {
            let servers = spoken.entry(&member.membership.instance_arg).or_default();
            servers.push(member.name.as_str());
        }
        if spoken.len() < 2 {
            return None;
        }
        let said: Vec<String> = spoken
            .iter()
            .map(|(argument, servers)| format!("`{argument}` on {}", listed(servers)))
            .collect();
        let what = format!(
            "members of family `{}` do not agree on `instanceArg`: {}; the tool is served under the names of its servers",
            self.family,
            said.join(", ")
        );
        let way_out = format!("give every member of family `{}` the same `instanceArg`", self.family);
        Some(self.finding(FindingKind::FamilyArgumentDiffers, members, what, way_out))
    }

    fn unfit(&self, members: &[Member<'_>], unfit: &Unfit) -> Finding {
        let what = format!(
            "the tool cannot stand on the surface of family `{}`: {unfit}; it is served under the names of its servers",
            self.family
        );
        let way_out = match unfit {
            Unfit::Taken(_) => format!("give family `{}` another `instanceArg`", self.family),
            Unfit::Closed(_) => "change the tool's input schema at its servers, or leave it as it is".to_owned(),
        };
        self.finding(FindingKind::FamilyArgumentTaken, members, what, way_out)
    }

    /// What a group that lost its place on the surface publishes differently.
    fn differs(&self, group: &[Member<'_>], kept: &[Member<'_>]) -> Option<Finding> {
        let difference = group.first()?.definition.differences(kept.first()?.definition);
        // Who may see a tool and whether it is a task stand beside what identifies it.
        let fields = if difference.identity.is_empty() {
            &difference.others
        } else {
            &difference.identity
        };
        let (verb, whose) = if group.len() == 1 {
            ("serves", "its own name")
        } else {
            ("serve", "their own names")
        };
        let what = format!(
            "{} in {}: family `{}` keeps the tool for {}, while {} {verb} it under {whose}",
            differ(group, &servers(kept)),
            quoted(fields),
            self.family,
            servers(kept),
            servers(group),
        );
        let way_out = "run the same version of the server everywhere, or take the server out of the family".to_owned();
        Some(self.finding(FindingKind::FamilyDiffers, group, what, way_out))
    }

    /// What members that agree on the tool itself publish differently beside it.
    fn details(&self, kept: &[Member<'_>]) -> Option<Finding> {
        let shown = kept.first()?;
        let mut fields = BTreeSet::new();
        let mut others = Vec::new();
        for member in kept.iter().skip(1) {
            let differences = member.definition.differences(shown.definition).others;
            if !differences.is_empty() {
                fields.extend(differences);
                others.push(*member);
            }
        }
        if others.is_empty() {
            return None;
        }
        let fields: Vec<String> = fields.into_iter().collect();
        let what = format!(
            "{} in {}: family `{}` shows what server {} publishes",
            differ(&others, &format!("server {}", shown.name)),
            quoted(&fields),
            self.family,
            shown.name
        );
        let way_out = "nothing, when the difference does not matter to callers; else run the same version everywhere";
        Some(self.finding(FindingKind::FamilyDetailDiffers, &others, what, way_out.to_owned()))
    }
}

fn servers(members: &[Member<'_>]) -> String {
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    listed(&names)
}

/// `server a`, or `servers a, b`.
fn listed(names: &[&str]) -> String {
    let word = if names.len() == 1 { "server" } else { "servers" };
    format!("{word} {}", names.join(", "))
}

fn differ(members: &[Member<'_>], from: &str) -> String {
    let verb = if members.len() == 1 { "differs" } else { "differ" };
    format!("{} {verb} from {from}", servers(members))
}

fn quoted(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    fields.join(", ")
}
