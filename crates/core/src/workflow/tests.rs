//! Workflows for tests, said in JSON.
#![expect(clippy::wildcard_enum_match_arm, reason = "what is no workflow fails its test")]

use std::collections::BTreeMap;

use super::*;
use crate::exact::Digest;

fn place() -> Place {
    Place {
        file: "workflows/test.yaml".into(),
        line: 1,
        column: 1,
        bytes: (0, 0),
    }
}

fn template(text: &str) -> Template {
    Template::parse(text, &place()).unwrap()
}

fn text(value: &Json, name: &str) -> String {
    match value.member(name) {
        Some(Json::Text(text)) => text.to_string(),
        other => panic!("`{name}` is {other:?}"),
    }
}

fn list(value: &Json) -> Vec<Json> {
    match value {
        Json::List(items) => items.to_vec(),
        other => panic!("{other:?} is no list"),
    }
}

fn number(value: Option<&Json>, default: usize) -> usize {
    value.map_or(default, |value| value.to_text().parse().unwrap())
}

fn shape(value: &Json) -> Shape {
    match value {
        Json::Text(text) if text.contains("{{") => Shape::Template(template(text)),
        Json::List(items) => Shape::List(items.iter().map(shape).collect()),
        Json::Map(members) => Shape::Map(members.iter().map(|(k, v)| (k.clone(), shape(v))).collect()),
        other => Shape::Constant(other.clone()),
    }
}

fn call(value: &Json) -> Call {
    Call {
        tool: template(&text(value, "tool")),
        arguments: value.member("args").map_or(Shape::Map(Vec::new()), shape),
        timeout: None,
        retry: value.member("retry").map(|retry| Retry {
            attempts: number(Some(retry), 2).try_into().unwrap(),
        }),
    }
}

fn expected(value: &Json) -> Expected {
    let one = |name| {
        value.member(name).map(|said: &Json| Expectation {
            success: said.member("success").map(|it| *it == Json::Bool(true)),
            values: match said.member("json") {
                Some(Json::Map(values)) => values.iter().map(|(k, v)| (k.clone(), shape(v))).collect(),
                _ => Vec::new(),
            },
        })
    };
    Expected {
        expect: one("expect"),
        expect_not: one("expect_not"),
    }
}

fn steps(value: Option<&Json>) -> Steps {
    value
        .map(list)
        .unwrap_or_default()
        .iter()
        .map(|it| Arc::new(step(it)))
        .collect()
}

fn step(value: &Json) -> Step {
    let condition = value.member("condition").map(|it| match it {
        Json::Text(text) => Condition::When(template(text)),
        it if it.member("tool").is_some() => Condition::Call {
            call: call(it),
            expected: expected(it),
        },
        it => Condition::Step {
            step: text(it, "from_step").into(),
            at: place(),
            expected: expected(it),
        },
    });
    let action = if let Some(each) = value.member("for_each") {
        Action::ForEach(ForEach {
            items: template(&text(each, "items")),
            name: each.member("as").map_or("item".into(), |_| text(each, "as").into()),
            max: number(each.member("max"), ITEMS),
            steps: steps(each.member("steps")),
        })
    } else if let Some(parallel) = value.member("parallel") {
        Action::Parallel(Parallel {
            max: number(parallel.member("max"), PARALLEL.0),
            steps: steps(parallel.member("steps")),
        })
    } else {
        Action::Call(call(value))
    };
    Step {
        id: text(value, "id").into(),
        at: place(),
        condition,
        allow_failure: value.member("allow_failure") == Some(&Json::Bool(true)),
        action,
    }
}

pub(crate) fn draft(json: &str) -> Draft {
    let value = Json::parse(json).unwrap();
    let arguments = match value.member("args") {
        Some(Json::Map(members)) => members
            .iter()
            .map(|(name, said)| Argument {
                name: name.clone(),
                kind: said.member("type").map(|_| {
                    let word = text(said, "type");
                    Kind::ALL.into_iter().find(|kind| kind.word() == word).unwrap()
                }),
                required: said.member("required") == Some(&Json::Bool(true)),
                description: None,
                default: said.member("default").cloned(),
            })
            .collect(),
        _ => Vec::new(),
    };
    Draft {
        name: value
            .member("name")
            .map_or("test".into(), |_| text(&value, "name").into()),
        at: place(),
        description: "A test".to_owned(),
        labels: BTreeMap::new(),
        arguments,
        steps: steps(value.member("steps")),
        on_failure: steps(value.member("on_failure")),
        output: value.member("output").map(shape),
        timeout: WALL_CLOCK,
        digest: Digest::of(json.as_bytes()),
    }
}

pub(crate) fn workflow(json: &str) -> Arc<Workflow> {
    let draft = draft(json);
    assert_eq!(check(&draft), [], "{json}");
    Arc::new(Workflow::new(draft))
}

#[test]
fn arguments_are_checked_and_defaults_filled_in() {
    let workflow = workflow(
        r#"{"args":{"s":{"type":"string","required":true},"n":{"type":"integer","default":10},"any":{},"b":{"type":"boolean"}},"steps":[{"id":"a","tool":"x_a"}]}"#,
    );
    let read = |text: &str| match workflow.input(&Json::parse(text).unwrap()) {
        Ok(input) => input.to_text(),
        Err(sentence) => sentence,
    };
    assert_eq!(read(r#"{"s":"x"}"#), r#"{"any":null,"b":null,"n":10,"s":"x"}"#);
    assert_eq!(
        read(r#"{"s":"x","n":12345678901234567890123,"any":{"deep":[1.0]}}"#),
        r#"{"any":{"deep":[1.0]},"b":null,"n":12345678901234567890123,"s":"x"}"#
    );
    assert_eq!(read(r#"{"s":"x","n":3.0}"#), r#"{"any":null,"b":null,"n":3.0,"s":"x"}"#);
    assert_eq!(
        read(r#"{"n":3.5,"b":"true","other":1}"#),
        "unknown argument `other`; it takes `any`, `b`, `n`, `s`; `b` must be of type boolean, not a string; `n` must be of type integer, not a number; `s` is required"
    );
    assert_eq!(read("[]"), "the arguments must be an object, not an array");
}

#[test]
fn a_result_is_structured_content_else_json_else_text() {
    for (result, wanted) in [
        (
            r#"{"content":[],"structuredContent":{"a":1.0}}"#,
            r#"true {"a":1.0} None"#,
        ),
        (
            r#"{"content":[{"type":"text","text":" {\"b\": [1e2]} "}]}"#,
            r#"true {"b":[1e2]} None"#,
        ),
        (
            r#"{"content":[{"type":"text","text":"7"}],"structuredContent":null}"#,
            "true 7 None",
        ),
        (
            r#"{"content":[{"type":"text","text":"{a"},{"type":"image","data":"x"},{"type":"text","text":"b"}]}"#,
            r#"true "{a\nb" None"#,
        ),
        (
            r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#,
            r#"false "no" Some("no")"#,
        ),
        (
            r#"{"isError":true,"structuredContent":{"code":"x"}}"#,
            r#"false {"code":"x"} Some("{\"code\":\"x\"}")"#,
        ),
        ("{}", r#"true "" None"#),
    ] {
        let read = read_result(result).unwrap();
        assert_eq!(
            format!("{} {:?} {:?}", read.success, read.value, read.error),
            wanted,
            "{result}"
        );
    }
    for bad in [
        r#"{"structuredContent":{"a":1,"a":2}}"#,
        r#"{"isError":true,"isError":false}"#,
        "[]",
    ] {
        assert!(
            read_result(bad).unwrap_err().contains("no single reading") || bad == "[]",
            "{bad}"
        );
    }
}
