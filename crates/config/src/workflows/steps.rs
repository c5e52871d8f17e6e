//! The steps of a workflow, with their conditions; both spellings of every key.

use std::sync::Arc;

use countersign_core::json::Json;
use countersign_core::workflow::{
    self, Action, Call, Condition, Expectation, Expected, ForEach, ITEMS, PARALLEL, Parallel, Retry, STEPS, Shape,
    Step, Steps,
};

use super::{owner, values};
use crate::fields::{Field, Fields, Numbers, Reader};
use crate::nearest;
use crate::tree::Value;

/// How often a call may be made altogether.
const ATTEMPTS: usize = 10;

/// The workflow that steps belong to.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    pub(super) workflow: &'c str,
    pub(super) file: &'c Arc<str>,
}

/// Reads a list of steps. One that is bad is complained of and left out, so that the others are read too.
pub(super) fn read(reader: &mut Reader<'_>, field: &Field<'_>, context: Context<'_>) -> Steps {
    let items = reader.list(field).unwrap_or_default();
    if items.is_empty() && matches!(field.node.value, Value::List(_)) {
        reader.wrong(field, "holds no step");
    }
    let steps: Vec<Arc<Step>> = items
        .iter()
        .filter_map(|item| step(reader, item, context).map(Arc::new))
        .collect();
    steps.into()
}

fn step(reader: &mut Reader<'_>, field: &Field<'_>, context: Context<'_>) -> Option<Step> {
    let id = field.node.member("id").and_then(|member| member.node.text());
    let field = &field.owned_by(owner(context.workflow, id));
    let mut fields = reader.fields(field)?;
    let id = match fields.take(reader, &["id"]) {
        Some(id) => {
            let text = reader.text(&id);
            if text.is_some_and(|text| !workflow::is_id(text)) {
                let help = "begin with a letter and use letters, digits, `_` and `-`";
                reader.wrong_with_help(&id, "is no name for a step", help);
            }
            text
        }
        None => {
            reader.wrong_with_help(
                field,
                "has no `id`",
                "give the step an `id`, by which later ones name its result",
            );
            None
        }
    };
    // Written for people.
    if let Some(description) = fields.take(reader, &["description"]) {
        reader.text(&description);
    }
    let condition = fields.take(reader, &["condition"]);
    let condition = condition.map(|field| self::condition(reader, &field, context));
    let allow_failure = fields.take(reader, &["allow_failure", "allowFailure"]);
    let allow_failure = allow_failure.and_then(|field| reader.flag(&field)).unwrap_or_default();
    let action = action(reader, field, &mut fields, context);
    fields.finish(reader);
    Some(Step {
        id: id?.into(),
        at: reader.place(field, context.file),
        // Where something of it is bad an error is told, and the file is set aside; its id is known all the same.
        condition: condition.flatten(),
        allow_failure,
        action: action.unwrap_or_else(|| {
            Action::Parallel(Parallel {
                max: 1,
                steps: Steps::from([]),
            })
        }),
    })
}

fn action(reader: &mut Reader<'_>, step: &Field<'_>, fields: &mut Fields<'_>, context: Context<'_>) -> Option<Action> {
    let tool = fields.take(reader, &["tool"]);
    let each = fields.take(reader, &["for_each", "forEach"]);
    let parallel = fields.take(reader, &["parallel"]);
    let only_with_tool = [
        fields.take(reader, &["args"]),
        fields.take(reader, &["timeout"]),
        fields.take(reader, &["retry"]),
    ];
    let given = [&tool, &each, &parallel].into_iter().flatten().count();
    if given != 1 {
        let what = if given == 0 {
            "does nothing"
        } else {
            "does more than one thing"
        };
        reader.wrong_with_help(step, what, "give it one of `tool`, `for_each` and `parallel`");
    }
    let [args, timeout, retry] = only_with_tool;
    if let Some(tool) = tool {
        let call = call(reader, &tool, args.as_ref(), context);
        let timeout = timeout.map(|field| reader.duration(&field, Numbers::Refused));
        let retry = retry.map(|field| self::retry(reader, &field));
        return Some(Action::Call(Call {
            timeout: timeout.flatten(),
            retry: retry.flatten(),
            ..call?
        }));
    }
    for field in [args, timeout, retry].into_iter().flatten() {
        reader.wrong_key(&field, "goes with `tool` only", "put it at the steps inside");
    }
    if let Some(each) = each {
        return for_each(reader, &each, context).map(Action::ForEach);
    }
    self::parallel(reader, &parallel?, context).map(Action::Parallel)
}

fn call(reader: &mut Reader<'_>, tool: &Field<'_>, args: Option<&Field<'_>>, context: Context<'_>) -> Option<Call> {
    let template = values::template(reader, tool, context.file);
    if template.as_ref().is_some_and(|tool| tool.source().trim().is_empty()) {
        reader.wrong(tool, "is empty");
    }
    let arguments = match args {
        None => Some(Shape::Map(Vec::new())),
        Some(args) => match args.node.value {
            Value::Map(_) | Value::Text(_) => values::shape(reader, args, context.file),
            Value::Null | Value::Boolean(_) | Value::Number(_) | Value::List(_) => {
                let what = format!("must be a map, not {}", args.node.kind());
                reader.wrong(args, &what);
                None
            }
        },
    };
    if let (Some(args), Some(Shape::Constant(constant))) = (args, &arguments)
        && !matches!(args.node.value, Value::Map(_))
        && *constant != Json::Null
    {
        let what = format!(
            "must be a map, or one expression that gives one, not {}",
            constant.kind()
        );
        reader.wrong(args, &what);
    }
    Some(Call {
        tool: template?,
        arguments: arguments?,
        timeout: None,
        retry: None,
    })
}

fn retry(reader: &mut Reader<'_>, field: &Field<'_>) -> Option<Retry> {
    let mut fields = reader.fields(field)?;
    let attempts = match fields.take(reader, &["attempts"]) {
        Some(attempts) => {
            let count = reader.count(&attempts).unwrap_or(1);
            if count > ATTEMPTS {
                reader.wrong(&attempts, "must be at most 10");
            }
            count
        }
        None => 2,
    };
    if let Some(on) = fields.take(reader, &["on"]) {
        for item in reader.list(&on).unwrap_or_default() {
            if let Some(word) = reader.text(&item).filter(|word| *word != "unavailable") {
                let what = format!("must be `unavailable`, not `{word}`");
                reader.wrong_with_help(&item, &what, nearest::help(word, &["unavailable"]));
            }
        }
    }
    fields.finish(reader);
    Some(Retry {
        attempts: u32::try_from(attempts).unwrap_or(1),
    })
}

fn for_each(reader: &mut Reader<'_>, field: &Field<'_>, context: Context<'_>) -> Option<ForEach> {
    let mut fields = reader.fields(field)?;
    let items = match fields.take(reader, &["items"]) {
        Some(items) => values::template(reader, &items, context.file),
        None => {
            reader.wrong_with_help(field, "has no `items`", "write `items: \"{{ results.pods.items }}\"`");
            None
        }
    };
    let name: Arc<str> = match fields.take(reader, &["as"]) {
        Some(name) => {
            let text = reader.text(&name).unwrap_or("item");
            if !workflow::is_id(text) {
                let help = "begin with a letter and use letters, digits, `_` and `-`";
                reader.wrong_with_help(&name, "is no name for an item", help);
            }
            text.into()
        }
        None => "item".into(),
    };
    let max = bounded(reader, &mut fields, (ITEMS, STEPS));
    let steps = inner(reader, field, &mut fields, context);
    fields.finish(reader);
    Some(ForEach {
        items: items?,
        name,
        max,
        steps: steps?,
    })
}

fn parallel(reader: &mut Reader<'_>, field: &Field<'_>, context: Context<'_>) -> Option<Parallel> {
    // A list alone is its steps.
    if matches!(field.node.value, Value::List(_)) {
        return Some(Parallel {
            max: PARALLEL.0,
            steps: read(reader, field, context),
        });
    }
    let mut fields = reader.fields(field)?;
    let max = bounded(reader, &mut fields, PARALLEL);
    let steps = inner(reader, field, &mut fields, context);
    fields.finish(reader);
    Some(Parallel { max, steps: steps? })
}

fn bounded(reader: &mut Reader<'_>, fields: &mut Fields<'_>, (default, most): (usize, usize)) -> usize {
    let Some(field) = fields.take(reader, &["max"]) else {
        return default;
    };
    let Some(max) = reader.count(&field) else {
        return default;
    };
    if max > most {
        reader.wrong(&field, &format!("must be at most {most}"));
    }
    max.min(most)
}

fn inner(reader: &mut Reader<'_>, field: &Field<'_>, fields: &mut Fields<'_>, context: Context<'_>) -> Option<Steps> {
    let Some(steps) = fields.take(reader, &["steps"]) else {
        reader.wrong_with_help(field, "has no `steps`", "list what is to be done");
        return None;
    };
    Some(read(reader, &steps, context))
}

fn condition(reader: &mut Reader<'_>, field: &Field<'_>, context: Context<'_>) -> Option<Condition> {
    let mut fields = reader.fields(field)?;
    let template = fields.take(reader, &["template"]);
    let tool = fields.take(reader, &["tool"]);
    let from_step = fields.take(reader, &["from_step", "fromStep"]);
    let args = fields.take(reader, &["args"]);
    let given = [&template, &tool, &from_step].into_iter().flatten().count();
    if given != 1 {
        let help = "give it one of `template`, `tool` and `from_step`";
        let what = if given == 0 {
            "asks nothing"
        } else {
            "asks in more than one way"
        };
        reader.wrong_with_help(field, what, help);
    }
    if let Some(args) = args.as_ref().filter(|_| tool.is_none()) {
        reader.wrong_key(args, "goes with `tool` only", "remove it");
    }
    let expect = fields.take(reader, &["expect"]);
    let expect_not = fields.take(reader, &["expect_not", "expectNot"]);
    if template.is_some() {
        for field in [&expect, &expect_not].into_iter().flatten() {
            reader.wrong_key(field, "goes with `tool` and `from_step` only", "say it in the template");
        }
    } else if given == 1 && expect.is_none() && expect_not.is_none() {
        let help = "write `expect: {success: true}`, or what its JSON should hold";
        reader.wrong_with_help(field, "does not say what is expected", help);
    }
    let mut expected = |field: Option<Field<'_>>| match field {
        None => Some(None),
        Some(field) => said(reader, &field, context).map(Some),
    };
    let (expect, expect_not) = (expected(expect), expected(expect_not));
    fields.finish(reader);
    if let Some(template) = template {
        return values::template(reader, &template, context.file).map(Condition::When);
    }
    if let Some(tool) = tool {
        let call = call(reader, &tool, args.as_ref(), context);
        return Some(Condition::Call {
            call: call?,
            expected: Expected {
                expect: expect?,
                expect_not: expect_not?,
            },
        });
    }
    let step = from_step?;
    Some(Condition::Step {
        step: reader.text(&step)?.into(),
        at: reader.place(&step, context.file),
        expected: Expected {
            expect: expect?,
            expect_not: expect_not?,
        },
    })
}

fn said(reader: &mut Reader<'_>, field: &Field<'_>, context: Context<'_>) -> Option<Expectation> {
    let mut fields = reader.fields(field)?;
    let success = fields.take(reader, &["success"]);
    let success = success.and_then(|field| reader.flag(&field));
    let values = fields.take(reader, &["json", "jsonPath", "json_path"]);
    let mut pairs = Vec::new();
    let mut is_sound = true;
    if let Some(values) = &values {
        for (key, value) in reader.entries(values).unwrap_or_default() {
            match (pointer(key), values::shape(reader, &value, context.file)) {
                (Some(pointer), Some(shape)) => pairs.push((pointer, shape)),
                (None, _) => {
                    reader.wrong_key(&value, "is no JSON pointer", "write it like `/status/phase`");
                    is_sound = false;
                }
                (Some(_), None) => is_sound = false,
            }
        }
    }
    if success.is_none() && values.is_none() {
        reader.wrong_with_help(
            field,
            "says nothing",
            "write `success: true`, or `json: {\"/pointer\": value}`",
        );
    }
    fields.finish(reader);
    is_sound.then_some(Expectation { success, values: pairs })
}

/// A JSON pointer; a dotted way such as `$.status.phase` or `items.0` is one in other words.
fn pointer(key: &str) -> Option<Arc<str>> {
    if key.is_empty() || key.starts_with('/') {
        let escapes = key.split('~').skip(1);
        let are_sound = escapes.into_iter().all(|rest| rest.starts_with(['0', '1']));
        return are_sound.then(|| key.into());
    }
    let way = key.strip_prefix("$.").unwrap_or(key);
    let is_step = |step: &str| !step.is_empty() && step.chars().all(|c| c == '_' || c == '-' || c.is_alphanumeric());
    way.split('.')
        .all(is_step)
        .then(|| format!("/{}", way.replace('.', "/")).into())
}
