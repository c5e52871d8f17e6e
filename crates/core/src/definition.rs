//! What a server publishes, kept as its own bytes beside the few fields the gateway reads (I11).

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use crate::exact::Digest;
use crate::names::OriginalName;

mod fields;
mod instance;

use fields::{Fields, quoted};
pub use instance::Unfit;

/// The hints of a tool. Unknown members stay in the raw definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// `title`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `readOnlyHint`
    #[serde(rename = "readOnlyHint", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// `destructiveHint`
    #[serde(rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// `idempotentHint`
    #[serde(rename = "idempotentHint", skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    #[serde(rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// One tool as its server publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    raw: Arc<str>,
    name_at: Range<usize>,
    /// The server's own name for it.
    pub name: OriginalName,
    /// `title`, else `annotations.title`.
    pub title: Option<String>,
    /// `description`, empty when absent.
    pub description: String,
    /// `annotations`, when present.
    pub annotations: Option<Annotations>,
    /// `inputSchema` as written.
    pub input_schema: Arc<str>,
    /// `outputSchema` as written.
    pub output_schema: Option<Arc<str>>,
    /// Whether it runs as a task only (2025-11-25, `execution.taskSupport: required`).
    pub only_as_task: bool,
    /// Whether models may see it: `_meta.ui.visibility` of MCP Apps, when present, names `model`.
    pub for_models: bool,
    /// Whether a property may be mirrored into an HTTP header (`x-mcp-header`): read once, since every call asks.
    pub has_header_params: bool,
    /// The resource that shows its results (MCP Apps): `_meta.ui.resourceUri`, else the flat key of the same name.
    pub ui_resource: Option<Arc<str>>,
    /// Names of the top-level properties of the input schema, in order.
    pub parameters: Vec<String>,
    /// SHA-256 over canonical JSON of name, title, description, schemas and annotations (spec 6.4).
    pub digest: Digest,
}

/// What two definitions of one name do not agree on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Members that identify a definition (spec 6.4): they say how the tool is called and what it does.
    pub identity: Vec<String>,
    /// All other members, such as `_meta` and `icons`.
    pub others: Vec<String>,
}

/// A resource or a resource template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceDefinition {
    raw: Arc<str>,
    /// `uri`, or `uriTemplate` of a template.
    pub uri: String,
    /// `name`
    pub name: String,
    /// `title`
    pub title: Option<String>,
    /// `description`, empty when absent.
    pub description: String,
    /// `mimeType`
    pub mime_type: Option<String>,
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptDefinition {
    raw: Arc<str>,
    name_at: Range<usize>,
    /// The server's own name for it.
    pub name: OriginalName,
    /// `title`
    pub title: Option<String>,
    /// `description`, empty when absent.
    pub description: String,
    /// `arguments` as written, when present.
    pub arguments: Option<Arc<str>>,
}

/// Why one definition was set aside; its siblings stay (I12).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Problem {
    /// The name it claims, or its place in the list (`#3`); empty when neither is known.
    pub name: String,
    /// What is wrong, in one lower-case sentence that names the field.
    pub what: String,
}

impl Problem {
    /// The problem, named by its place in the list (`#3`) when the definition claims no name.
    #[must_use]
    pub fn at(mut self, place: usize) -> Self {
        if self.name.is_empty() {
            self.name = format!("#{place}");
        }
        self
    }
}

impl ToolDefinition {
    /// Reads one element of `tools`. The input schema must be an object whose `type` is `"object"`;
    /// a `$ref` that leaves the document sets the tool aside; nothing is ever fetched.
    ///
    /// # Errors
    /// [`Problem`], naming the tool and the field; [`Problem::at`] names one that claims no name.
    pub fn parse(raw: &str) -> Result<Self, Problem> {
        let fields = Fields::read(raw, &["name"])?;
        let (name, name_at) = fields.name()?;
        let annotations = fields.annotations();
        let hint = annotations.as_ref().and_then(|annotations| annotations.title.clone());
        let input_schema = fields.input_schema()?;
        let output_schema = fields.output_schema()?;
        Ok(Self {
            title: fields.text("title")?.or(hint),
            description: fields.text("description")?.unwrap_or_default(),
            only_as_task: fields.is_only_a_task(),
            parameters: fields.parameters(input_schema)?,
            for_models: fields.is_for_models(),
            ui_resource: fields.ui_resource().map(Into::into),
            digest: fields.digest()?,
            has_header_params: input_schema.contains("x-mcp-header"),
            raw: raw.into(),
            name: OriginalName::new(&name),
            name_at,
            annotations,
            input_schema: input_schema.into(),
            output_schema: output_schema.map(Into::into),
        })
    }

    /// The definition as published, byte for byte.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Writes the definition as published, with the value of `name` alone replaced.
    pub fn write_renamed(&self, name: &str, out: &mut String) {
        out.push_str(self.raw.get(..self.name_at.start).unwrap_or_default());
        out.push_str(&quoted(name));
        out.push_str(self.raw.get(self.name_at.end..).unwrap_or_default());
    }

    /// The definition as published, with the value of `name` alone replaced.
    #[must_use]
    pub fn renamed(&self, name: &str) -> String {
        let mut text = String::with_capacity(self.raw.len() + name.len());
        self.write_renamed(name, &mut text);
        text
    }

    /// Which members differ between this definition and another of the same name, in canonical order: first
    /// those that identify a definition, then the others; the way they are written does not count.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Differences {
        fields::differences(&self.raw, &other.raw)
    }
}

impl ResourceDefinition {
    /// Reads one element of `resources`.
    ///
    /// # Errors
    /// [`Problem`], naming the resource and the field.
    pub fn parse_resource(raw: &str) -> Result<Self, Problem> {
        Self::parse(raw, "uri")
    }

    /// Reads one element of `resourceTemplates`.
    ///
    /// # Errors
    /// [`Problem`], naming the template and the field.
    pub fn parse_template(raw: &str) -> Result<Self, Problem> {
        Self::parse(raw, "uriTemplate")
    }

    fn parse(raw: &str, address: &'static str) -> Result<Self, Problem> {
        let fields = Fields::read(raw, &[address, "name"])?;
        let uri = fields.text(address)?.filter(|uri| !uri.is_empty());
        Ok(Self {
            raw: raw.into(),
            uri: uri.ok_or_else(|| fields.problem(format!("`{address}` is missing or empty")))?,
            name: fields.name()?.0,
            title: fields.text("title")?,
            description: fields.text("description")?.unwrap_or_default(),
            mime_type: fields.text("mimeType")?,
        })
    }

    /// The definition as published, byte for byte.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }
}

impl PromptDefinition {
    /// Reads one element of `prompts`.
    ///
    /// # Errors
    /// [`Problem`], naming the prompt and the field.
    pub fn parse(raw: &str) -> Result<Self, Problem> {
        let fields = Fields::read(raw, &["name"])?;
        let (name, name_at) = fields.name()?;
        Ok(Self {
            raw: raw.into(),
            name: OriginalName::new(&name),
            name_at,
            title: fields.text("title")?,
            description: fields.text("description")?.unwrap_or_default(),
            arguments: fields.of_kind("arguments", "an array")?.map(Into::into),
        })
    }

    /// The definition as published, byte for byte.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The definition as published, with the value of `name` alone replaced.
    #[must_use]
    pub fn renamed(&self, name: &str) -> String {
        let before = self.raw.get(..self.name_at.start).unwrap_or_default();
        let after = self.raw.get(self.name_at.end..).unwrap_or_default();
        format!("{before}{}{after}", quoted(name))
    }
}

#[cfg(test)]
mod tests;
