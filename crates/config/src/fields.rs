//! Strict reading of typed values out of a tree: every key known, every complaint with its place.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::secret::Secret;
use countersign_core::workflow::Place;

use crate::environment::Environment;
use crate::expand::{self, Trace};
use crate::nearest;
use crate::problem::{Problem, Source};
use crate::tree::{MAX_PROBLEMS, Member, Node, Value};
use crate::units;

/// The reading of one file: what it complains of and what its references stood for.
pub(crate) struct Reader<'a> {
    source: &'a Source,
    environment: &'a Environment,
    /// Errors found so far.
    pub(crate) errors: Vec<Problem>,
    /// Warnings found so far. Counted apart, so that many of them cannot crowd out an error.
    pub(crate) warnings: Vec<Problem>,
    /// What references stood for.
    pub(crate) trace: Trace,
    /// Paths of keys whose value came from a reference.
    pub(crate) hidden: BTreeSet<String>,
}

/// One value under its key.
#[derive(Clone)]
pub(crate) struct Field<'t> {
    /// What stands before the key in messages, such as ``server `github`: ``.
    owner: String,
    /// The way to it, such as `limits.call_timeout` or `args[1]`.
    pub(crate) path: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: &'t Node,
}

/// The members of one map, each to be taken once.
pub(crate) struct Fields<'t> {
    owner: String,
    path: String,
    members: &'t [Member],
    taken: BTreeSet<usize>,
    known: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a Source, environment: &'a Environment) -> Self {
        let (errors, warnings) = (Vec::new(), Vec::new());
        Self {
            source,
            environment,
            errors,
            warnings,
            trace: Trace::new(),
            hidden: BTreeSet::new(),
        }
    }

    /// A complaint about a value, `what` being the rest of a sentence that begins with its key.
    pub(crate) fn wrong(&mut self, field: &Field<'_>, what: &str) {
        self.add(field, field.node.span.clone(), what, None);
    }

    /// The same with a way out.
    pub(crate) fn wrong_with_help(&mut self, field: &Field<'_>, what: &str, help: impl Into<String>) {
        self.add(field, field.node.span.clone(), what, Some(help.into()));
    }

    /// A complaint about a key itself.
    pub(crate) fn wrong_key(&mut self, field: &Field<'_>, what: &str, help: impl Into<String>) {
        self.add(field, field.key_span.clone(), what, Some(help.into()));
    }

    fn add(&mut self, field: &Field<'_>, span: Range<usize>, what: &str, help: Option<String>) {
        if self.errors.len() < MAX_PROBLEMS {
            let mut problem = self.source.problem(span, field.sentence(what));
            problem.help = help;
            self.errors.push(problem);
        }
    }

    /// A complaint about what is not there, at the bytes where it should be.
    pub(crate) fn missing(&mut self, (start, end): (usize, usize), what: String) {
        if self.errors.len() < MAX_PROBLEMS {
            self.errors.push(self.source.problem(start..end, what));
        }
    }

    /// Where a value stands, for what is made of it.
    pub(crate) fn place(&self, field: &Field<'_>, file: &Arc<str>) -> Place {
        self.place_of(&field.node.span, file)
    }

    /// The beginning of the file.
    pub(crate) fn start(&self, file: &Arc<str>) -> Place {
        self.place_of(&(0..0), file)
    }

    fn place_of(&self, span: &Range<usize>, file: &Arc<str>) -> Place {
        let place = self.source.place(span.clone());
        Place {
            file: Arc::clone(file),
            line: place.line,
            column: place.column,
            bytes: (place.span.start, place.span.end),
        }
    }

    /// The bytes of the file as written.
    pub(crate) fn written(&self, span: &Range<usize>) -> Option<&str> {
        self.source.text.get(span.clone())
    }

    /// The whole text of the file.
    pub(crate) fn source_text(&self) -> &str {
        &self.source.text
    }

    /// A place of this file as messages name a second one.
    pub(crate) fn shown_place(&self, span: &Range<usize>) -> String {
        let place = self.source.place(span.clone());
        format!("line {}, column {}", place.line, place.column)
    }

    /// What the operator should look at, about a key.
    pub(crate) fn warn(&mut self, field: &Field<'_>, what: &str) {
        if self.warnings.len() < MAX_PROBLEMS {
            let problem = self.source.problem(field.key_span.clone(), field.sentence(what));
            self.warnings.push(problem.into_warning());
        }
    }

    fn mismatch(&mut self, field: &Field<'_>, wanted: &str) {
        let found = field.node.kind();
        self.wrong(field, &format!("must be {wanted}, not {found}"));
    }

    /// The text as written.
    pub(crate) fn text<'t>(&mut self, field: &Field<'t>) -> Option<&'t str> {
        let text = field.node.text();
        if text.is_none() {
            let found = field.node.kind();
            let what = format!("must be a string, not {found}");
            match field.node.value {
                Value::Number(_) | Value::Boolean(_) => {
                    self.wrong_with_help(field, &what, "put the value in double quotes");
                }
                Value::Null | Value::Text(_) | Value::List(_) | Value::Map(_) => self.wrong(field, &what),
            }
        }
        text
    }

    /// The text with its references replaced.
    pub(crate) fn secret(&mut self, field: &Field<'_>) -> Option<Secret> {
        let text = self.text(field)?;
        self.expanded(field, text)
    }

    /// As [`Reader::secret`]; a number counts as the text it is written as.
    pub(crate) fn secret_or_number(&mut self, field: &Field<'_>) -> Option<Secret> {
        match &field.node.value {
            Value::Number(token) => Some(Secret::plain(token)),
            Value::Null | Value::Boolean(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => self.secret(field),
        }
    }

    fn expanded(&mut self, field: &Field<'_>, text: &str) -> Option<Secret> {
        match expand::expand(text, self.environment, &mut self.trace) {
            Ok(secret) => {
                if secret.is_hidden() {
                    self.hidden.insert(field.path.clone());
                }
                Some(secret)
            }
            Err(fault) => {
                self.fault(field, fault);
                None
            }
        }
    }

    /// The text of a value that is shown to callers, so that it holds no reference.
    pub(crate) fn literal(&mut self, field: &Field<'_>) -> Option<String> {
        let text = self.text(field)?;
        match expand::literal(text) {
            Ok(text) => Some(text),
            Err(fault) => {
                self.fault(field, fault);
                None
            }
        }
    }

    fn fault(&mut self, field: &Field<'_>, fault: expand::Fault) {
        self.add(field, field.node.span.clone(), &fault.what, fault.help);
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, field: &Field<'_>) -> Option<bool> {
        match field.node.value {
            Value::Boolean(value) => Some(value),
            Value::Null | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
                self.mismatch(field, "`true` or `false`");
                None
            }
        }
    }

    /// A whole number of at least one.
    pub(crate) fn count(&mut self, field: &Field<'_>) -> Option<usize> {
        let token = match &field.node.value {
            Value::Number(token) => token.clone(),
            Value::Text(text) => self.expanded(field, text)?.reveal().to_owned(),
            Value::Null | Value::Boolean(_) | Value::List(_) | Value::Map(_) => {
                self.mismatch(field, "a whole number");
                return None;
            }
        };
        let count = token.parse().ok().filter(|count| (1..=1_000_000_000).contains(count));
        if count.is_none() {
            self.wrong(field, "must be a whole number from 1 to 1000000000");
        }
        count
    }

    /// A size such as `10MiB`; a plain number counts bytes.
    pub(crate) fn size(&mut self, field: &Field<'_>) -> Option<usize> {
        let size = match &field.node.value {
            Value::Number(token) => token.parse().ok(),
            Value::Text(text) => {
                let text = self.expanded(field, text)?;
                units::size(text.reveal()).or_else(|| text.reveal().parse().ok())
            }
            Value::Null | Value::Boolean(_) | Value::List(_) | Value::Map(_) => {
                self.mismatch(field, "a size such as `10MiB`");
                return None;
            }
        };
        let size = size.filter(|size| (1024..=1 << 31).contains(size));
        if size.is_none() {
            self.wrong(field, "must be a size from `1KiB` to `2GiB`, such as `10MiB`");
        }
        size
    }

    /// A duration such as `90s`. What a plain number means differs between files, so the caller says.
    pub(crate) fn duration(&mut self, field: &Field<'_>, numbers: Numbers) -> Option<Duration> {
        let duration = match &field.node.value {
            Value::Number(token) => match numbers {
                Numbers::Seconds => token
                    .parse()
                    .ok()
                    .and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok()),
                Numbers::Refused => None,
            },
            Value::Text(text) => units::duration(self.expanded(field, text)?.reveal()),
            Value::Null | Value::Boolean(_) | Value::List(_) | Value::Map(_) => {
                self.mismatch(field, "a duration such as `90s`");
                return None;
            }
        };
        let longest = Duration::from_hours(24 * 30);
        let duration = duration.filter(|duration| !duration.is_zero() && *duration <= longest);
        if duration.is_none() {
            self.wrong(
                field,
                "must be a duration from `1ms` to `30d` with its unit, such as `90s`, `10m` or `1h30m`",
            );
        }
        duration
    }

    /// The items of a list.
    pub(crate) fn list<'t>(&mut self, field: &Field<'t>) -> Option<Vec<Field<'t>>> {
        match &field.node.value {
            Value::List(items) => {
                let item = |(index, node): (usize, &'t Node)| Field {
                    owner: field.owner.clone(),
                    path: format!("{}[{index}]", field.path),
                    key_span: node.span.clone(),
                    node,
                };
                Some(items.iter().enumerate().map(item).collect())
            }
            Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
                self.mismatch(field, "a list");
                None
            }
        }
    }

    /// The members of a map whose keys are the operator's own.
    pub(crate) fn entries<'t>(&mut self, field: &Field<'t>) -> Option<Vec<(&'t str, Field<'t>)>> {
        let Value::Map(members) = &field.node.value else {
            self.mismatch(field, "a map");
            return None;
        };
        let entry = |member: &'t Member| {
            let path = join(&field.path, &member.key);
            let (owner, key_span) = (field.owner.clone(), member.key_span.clone());
            (
                member.key.as_str(),
                Field {
                    owner,
                    path,
                    key_span,
                    node: &member.node,
                },
            )
        };
        Some(members.iter().map(entry).collect())
    }

    /// The members of a map whose keys are ours.
    pub(crate) fn fields<'t>(&mut self, field: &Field<'t>) -> Option<Fields<'t>> {
        let Value::Map(members) = &field.node.value else {
            self.mismatch(field, "a map");
            return None;
        };
        let (owner, path) = (field.owner.clone(), field.path.clone());
        Some(Fields {
            owner,
            path,
            members,
            taken: BTreeSet::new(),
            known: Vec::new(),
        })
    }

    /// The members of the file's own map; null stands for none.
    pub(crate) fn root<'t>(&mut self, node: &'t Node) -> Option<Fields<'t>> {
        let members = match &node.value {
            Value::Map(members) => members.as_slice(),
            Value::Null => &[],
            Value::Boolean(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                let what = format!("the file must hold a map, not {}", node.kind());
                self.errors.push(self.source.problem(node.span.clone(), what));
                return None;
            }
        };
        let (taken, known) = (BTreeSet::new(), Vec::new());
        Some(Fields {
            owner: String::new(),
            path: String::new(),
            members,
            taken,
            known,
        })
    }
}

/// What a plain number means where a duration is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Seconds.
    Seconds,
    /// Nothing: the unit must be written.
    Refused,
}

impl<'t> Field<'t> {
    /// A member of the map that this server's entry is, by its key.
    pub(crate) fn member_of_server(&self, key: &str) -> Option<Field<'t>> {
        let member = self.node.member(key)?;
        Some(Field {
            owner: format!("server `{}`: ", self.path),
            path: member.key.clone(),
            key_span: member.key_span.clone(),
            node: &member.node,
        })
    }
}

impl Field<'_> {
    fn sentence(&self, what: &str) -> String {
        format!("{}`{}` {what}", self.owner, self.path)
    }

    /// The same value, owned by something with a name of its own that messages begin with.
    pub(crate) fn owned_by(&self, owner: String) -> Self {
        Self { owner, ..self.clone() }
    }

    /// The same value under a shorter path.
    pub(crate) fn under(&self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..self.clone()
        }
    }
}

impl<'t> Fields<'t> {
    /// Says what owns the members that are taken from now on.
    pub(crate) fn set_owner(&mut self, owner: String) {
        self.owner = owner;
    }

    /// The value of a key that has one or more spellings, of which only one may be used.
    pub(crate) fn take(&mut self, reader: &mut Reader<'_>, spellings: &[&'static str]) -> Option<Field<'t>> {
        self.known.extend_from_slice(spellings);
        let mut found: Option<Field<'t>> = None;
        for (index, member) in self.members.iter().enumerate() {
            if !spellings.contains(&member.key.as_str()) {
                continue;
            }
            self.taken.insert(index);
            let field = self.field(member);
            match &found {
                None => found = Some(field),
                Some(first) => {
                    let what = format!("says the same as `{}`", first.path);
                    reader.wrong_key(&field, &what, "keep one of the two");
                }
            }
        }
        found
    }

    /// The members that nobody took.
    pub(crate) fn rest(&self) -> Vec<(&'t str, Field<'t>)> {
        let left = self
            .members
            .iter()
            .enumerate()
            .filter(|(index, _)| !self.taken.contains(index));
        left.map(|(_, member)| (member.key.as_str(), self.field(member)))
            .collect()
    }

    /// Refuses a key that nobody knows.
    pub(crate) fn refuse_unknown(&self, reader: &mut Reader<'_>, key: &str, field: &Field<'_>) {
        reader.wrong_key(field, "is not a known key", nearest::help(key, &self.known));
    }

    /// Refuses every key that nobody took.
    pub(crate) fn finish(self, reader: &mut Reader<'_>) {
        for (key, field) in self.rest() {
            self.refuse_unknown(reader, key, &field);
        }
    }

    fn field(&self, member: &'t Member) -> Field<'t> {
        Field {
            owner: self.owner.clone(),
            path: join(&self.path, &member.key),
            key_span: member.key_span.clone(),
            node: &member.node,
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
