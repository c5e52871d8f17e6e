//! The notes store: tools that read, write and destroy, resources and a prompt.

use std::path::PathBuf;

use countersign_wire::codes;
use countersign_wire::rpc::Fault;
use serde_json::{Value, json};

use super::answer::{Arguments, Members, fault, no_such_method, structured, tool_error};
use super::server::Offer;
use super::shelf::{Held, Note};

/// Longest title, in characters.
const TITLE: usize = 200;
/// Longest text, in characters.
const TEXT: usize = 64 * 1024;
/// Most notes that one file keeps.
const MOST: usize = 10_000;

/// The server.
#[derive(Debug)]
pub(super) struct Notes {
    file: PathBuf,
    changed: bool,
}

impl Notes {
    /// Keeps its notes in `file`, which need not exist.
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file, changed: false }
    }

    fn all(&self) -> Result<Vec<Note>, String> {
        let shelf = Held::lock(&self.file).and_then(|held| held.read());
        shelf.map(|shelf| shelf.notes).map_err(|error| error.to_string())
    }

    fn call(&mut self, tool: &str, mut arguments: Arguments) -> Result<Value, String> {
        match tool {
            "add_note" => {
                let (title, text) = (arguments.text("title", TITLE)?, arguments.text("text", TEXT)?);
                arguments.end()?;
                self.add(title, text)
            }
            "list_notes" => {
                arguments.end()?;
                Ok(listed(&self.all()?))
            }
            "search_notes" => {
                let query = arguments.text("query", TITLE)?;
                arguments.end()?;
                Ok(listed(&matching(self.all()?, &query)))
            }
            "read_note" => {
                let id = arguments.text("id", TITLE)?;
                arguments.end()?;
                let found = self
                    .all()?
                    .into_iter()
                    .find(|note| note.id == id)
                    .ok_or_else(|| unknown(&id))?;
                Ok(whole(&found))
            }
            // The only one left: `answer` has looked the name up among the definitions.
            _ => {
                let id = arguments.text("id", TITLE)?;
                arguments.end()?;
                self.delete(&id)
            }
        }
    }

    fn add(&mut self, title: String, text: String) -> Result<Value, String> {
        let held = Held::lock(&self.file).map_err(|error| error.to_string())?;
        let mut shelf = held.read().map_err(|error| error.to_string())?;
        if shelf.notes.len() >= MOST {
            return Err(format!("the store is full ({MOST} notes); delete some first"));
        }
        let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let note = Note {
            id: shelf.next.to_string(),
            title,
            text,
            created,
        };
        shelf.next = shelf.next.saturating_add(1);
        shelf.notes.push(note.clone());
        held.write(&shelf).map_err(|error| error.to_string())?;
        self.changed = true;
        Ok(summary(&note))
    }

    fn delete(&mut self, id: &str) -> Result<Value, String> {
        let held = Held::lock(&self.file).map_err(|error| error.to_string())?;
        let mut shelf = held.read().map_err(|error| error.to_string())?;
        let place = shelf
            .notes
            .iter()
            .position(|note| note.id == id)
            .ok_or_else(|| unknown(id))?;
        let note = shelf.notes.remove(place);
        held.write(&shelf).map_err(|error| error.to_string())?;
        self.changed = true;
        Ok(json!({"deleted": note.id, "title": note.title}))
    }

    fn resource(&self, uri: &str) -> Result<Value, Fault> {
        let notes = self.all().map_err(|error| fault(codes::INTERNAL_ERROR, error))?;
        let note = notes
            .into_iter()
            .find(|note| address(note) == uri)
            .ok_or_else(|| Fault {
                data: Some(json!({"uri": uri}).to_string()),
                ..fault(codes::RESOURCE_NOT_FOUND, format!("resource `{uri}` is not known"))
            })?;
        Ok(json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": note.text}]}))
    }

    fn prompt(&self, name: &str, mut arguments: Arguments) -> Result<Value, Fault> {
        let invalid = |message: String| fault(codes::INVALID_PARAMS, message);
        if name != "summarize_notes" {
            return Err(invalid(format!("prompt `{name}` is not known")));
        }
        let topic = arguments.optional_text("topic").map_err(invalid)?;
        arguments.end().map_err(invalid)?;
        let mut notes = self.all().map_err(|error| fault(codes::INTERNAL_ERROR, error))?;
        let task = match &topic {
            None => "Summarize these notes in at most five sentences.".to_owned(),
            Some(topic) => {
                notes = matching(notes, topic);
                format!("Summarize what these notes say about {topic}, in at most five sentences.")
            }
        };
        let mut messages = vec![json!({"role": "user", "content": {"type": "text", "text": task}})];
        messages.extend(notes.iter().map(|note| {
            json!({"role": "user", "content": {"type": "resource",
                "resource": {"uri": address(note), "mimeType": "text/plain", "text": format!("{}\n\n{}", note.title, note.text)}}})
        }));
        Ok(json!({"description": "A short summary of the notes", "messages": messages}))
    }
}

impl Offer for Notes {
    fn info(&self) -> Value {
        json!({"name": "countersign-sample-notes", "title": "Notes", "version": env!("CARGO_PKG_VERSION")})
    }

    fn instructions(&self) -> &'static str {
        "Keeps short notes. Each note is a resource too, note://<id>."
    }

    fn capabilities(&self) -> Value {
        json!({"tools": {}, "resources": {"listChanged": true}, "prompts": {}})
    }

    fn answer(&mut self, method: &str, mut params: Members) -> Result<Value, Fault> {
        let text = |params: &Members, name: &str| {
            let value = params.get(name).and_then(Value::as_str).map(str::to_owned);
            value.ok_or_else(|| fault(codes::INVALID_PARAMS, format!("`{name}` must be a string")))
        };
        match method {
            "tools/list" => Ok(json!({"tools": tools()})),
            "tools/call" => {
                let name = text(&params, "name")?;
                let known = tools()
                    .as_array()
                    .is_some_and(|tools| tools.iter().any(|tool| tool["name"] == name.as_str()));
                if !known {
                    return Err(fault(codes::INVALID_PARAMS, format!("tool `{name}` is not known")));
                }
                let arguments = super::answer::arguments(&mut params)?;
                Ok(self
                    .call(&name, arguments)
                    .map_or_else(|error| tool_error(&error), |value| structured(&value)))
            }
            "resources/list" => {
                let notes = self.all().map_err(|error| fault(codes::INTERNAL_ERROR, error))?;
                Ok(json!({"resources": notes.iter().map(resource).collect::<Vec<_>>()}))
            }
            "resources/templates/list" => Ok(json!({"resourceTemplates": [
                {"uriTemplate": "note://{id}", "name": "note", "title": "A note by its id", "mimeType": "text/plain"}]})),
            "resources/read" => self.resource(&text(&params, "uri")?),
            "prompts/list" => Ok(
                json!({"prompts": [{"name": "summarize_notes", "title": "Summarize notes",
                "description": "A short summary of all notes, or of those about a topic.",
                "arguments": [{"name": "topic", "description": "Only notes that mention this.", "required": false}]}]}),
            ),
            "prompts/get" => {
                let name = text(&params, "name")?;
                let arguments = super::answer::arguments(&mut params)?;
                self.prompt(&name, arguments)
            }
            _ => Err(no_such_method(method)),
        }
    }

    fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }
}

fn address(note: &Note) -> String {
    format!("note://{}", note.id)
}

fn resource(note: &Note) -> Value {
    json!({"uri": address(note), "name": format!("note-{}", note.id), "title": note.title, "mimeType": "text/plain",
        "size": note.text.len()})
}

fn summary(note: &Note) -> Value {
    json!({"id": note.id, "title": note.title, "created": note.created, "uri": address(note)})
}

fn whole(note: &Note) -> Value {
    json!({"id": note.id, "title": note.title, "text": note.text, "created": note.created, "uri": address(note)})
}

fn listed(notes: &[Note]) -> Value {
    json!({"notes": notes.iter().map(summary).collect::<Vec<_>>()})
}

/// Notes whose title or text has every word of the query, in any case.
fn matching(notes: Vec<Note>, query: &str) -> Vec<Note> {
    let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut notes = notes;
    notes.retain(|note| {
        let text = format!("{}\n{}", note.title, note.text).to_lowercase();
        words.iter().all(|word| text.contains(word))
    });
    notes
}

fn unknown(id: &str) -> String {
    format!("note `{id}` is not known; list_notes shows all ids")
}

fn tools() -> Value {
    let id = json!({"type": "string", "description": "The note's id, as list_notes shows it."});
    let summary = note_schema(&["id", "title", "created", "uri"]);
    let whole = note_schema(&["id", "title", "text", "created", "uri"]);
    let list =
        json!({"type": "object", "required": ["notes"], "properties": {"notes": {"type": "array", "items": summary}}});
    let reads = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    let input = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    json!([
        {"name": "add_note", "title": "Add a note", "description": "Writes a new note and returns its id.",
         "inputSchema": input(json!({
            "title": {"type": "string", "minLength": 1, "maxLength": TITLE, "description": "One line."},
            "text": {"type": "string", "minLength": 1, "maxLength": TEXT, "description": "The whole text."}}), json!(["title", "text"])),
         "outputSchema": summary,
         "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false}},
        {"name": "list_notes", "title": "List notes", "description": "Lists all notes, oldest first, without their texts.",
         "inputSchema": input(json!({}), json!([])), "outputSchema": list, "annotations": reads},
        {"name": "search_notes", "title": "Search notes",
         "description": "Lists the notes whose title or text has every word of the query, in any case.",
         "inputSchema": input(json!({"query": {"type": "string", "minLength": 1, "maxLength": TITLE, "description": "Words to look for."}}), json!(["query"])),
         "outputSchema": list, "annotations": reads},
        {"name": "read_note", "title": "Read a note", "description": "Returns one note with its whole text.",
         "inputSchema": input(json!({"id": id}), json!(["id"])), "outputSchema": whole, "annotations": reads},
        {"name": "delete_note", "title": "Delete a note", "description": "Deletes one note for good.",
         "inputSchema": input(json!({"id": id}), json!(["id"])),
         "outputSchema": {"type": "object", "required": ["deleted", "title"],
            "properties": {"deleted": {"type": "string"}, "title": {"type": "string"}}},
         "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}},
    ])
}

/// The schema of a note with these members, all of them required.
fn note_schema(members: &[&str]) -> Value {
    let schema = |name: &str| match name {
        "created" => json!({"type": "string", "format": "date-time"}),
        _ => json!({"type": "string"}),
    };
    let properties: Members = members.iter().map(|name| ((*name).to_owned(), schema(name))).collect();
    json!({"type": "object", "required": members, "properties": properties})
}
