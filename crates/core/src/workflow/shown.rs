//! A workflow as people are shown it: its steps and expressions as written, values under telling keys masked.

use std::sync::Arc;
use std::time::Duration;

use super::{Action, Call, Condition, Draft, Expectation, Expected, Shape, Step};
use crate::json::{Json, Number};
use crate::redact::redacted;

impl Draft {
    /// The workflow as JSON, without credentials that somebody wrote into it.
    #[must_use]
    pub fn shown(&self) -> Json {
        let mut members = vec![("steps", steps(&self.steps))];
        if !self.on_failure.is_empty() {
            members.push(("on_failure", steps(&self.on_failure)));
        }
        if let Some(output) = &self.output {
            members.push(("output", shape(output)));
        }
        members.push(("timeout", time(self.timeout)));
        redacted(&Json::object(members))
    }
}

fn steps(steps: &[Arc<Step>]) -> Json {
    Json::List(steps.iter().map(|it| step(it)).collect())
}

fn step(step: &Step) -> Json {
    let mut members = vec![("id", Json::Text(Arc::clone(&step.id)))];
    if let Some(condition) = &step.condition {
        members.push(("condition", self::condition(condition)));
    }
    if step.allow_failure {
        members.push(("allow_failure", Json::Bool(true)));
    }
    match &step.action {
        Action::Call(call) => members.extend(self::call(call)),
        Action::ForEach(each) => members.push((
            "for_each",
            Json::object([
                ("items", Json::text(each.items.source())),
                ("as", Json::Text(Arc::clone(&each.name))),
                ("max", count(each.max)),
                ("steps", steps(&each.steps)),
            ]),
        )),
        Action::Parallel(parallel) => members.push((
            "parallel",
            Json::object([("max", count(parallel.max)), ("steps", steps(&parallel.steps))]),
        )),
    }
    Json::object(members)
}

fn call(call: &Call) -> Vec<(&'static str, Json)> {
    let mut members = vec![
        ("tool", Json::text(call.tool.source())),
        ("args", shape(&call.arguments)),
    ];
    if let Some(timeout) = call.timeout {
        members.push(("timeout", time(timeout)));
    }
    if let Some(retry) = call.retry {
        let attempts = Json::Number(Number::from(i128::from(retry.attempts)));
        members.push(("retry", Json::object([("attempts", attempts)])));
    }
    members
}

fn condition(condition: &Condition) -> Json {
    match condition {
        Condition::When(template) => Json::object([("template", Json::text(template.source()))]),
        Condition::Call { call, expected } => {
            let members = self::call(call).into_iter().chain(self::expected(expected));
            Json::object(members)
        }
        Condition::Step { step, expected, .. } => {
            let from = ("from_step", Json::Text(Arc::clone(step)));
            Json::object(std::iter::once(from).chain(self::expected(expected)))
        }
    }
}

fn expected(expected: &Expected) -> Vec<(&'static str, Json)> {
    let both = [("expect", &expected.expect), ("expect_not", &expected.expect_not)];
    let given = both.into_iter().filter_map(|(name, it)| Some((name, it.as_ref()?)));
    given.map(|(name, it)| (name, expectation(it))).collect()
}

fn expectation(expectation: &Expectation) -> Json {
    let mut members = Vec::new();
    if let Some(success) = expectation.success {
        members.push(("success", Json::Bool(success)));
    }
    if !expectation.values.is_empty() {
        let values = expectation.values.iter();
        let values = values.map(|(pointer, wanted)| (Arc::clone(pointer), shape(wanted)));
        members.push(("json", Json::object(values)));
    }
    Json::object(members)
}

fn shape(shape: &Shape) -> Json {
    match shape {
        Shape::Constant(value) => value.clone(),
        Shape::Template(template) => Json::text(template.source()),
        Shape::List(items) => Json::List(items.iter().map(self::shape).collect()),
        Shape::Map(members) => {
            let members = members.iter();
            Json::object(members.map(|(name, value)| (Arc::clone(name), self::shape(value))))
        }
    }
}

fn count(count: usize) -> Json {
    Json::Number(Number::from(i128::try_from(count).unwrap_or(i128::MAX)))
}

fn time(time: Duration) -> Json {
    if time.subsec_millis() == 0 {
        Json::text(&format!("{}s", time.as_secs()))
    } else {
        Json::text(&format!("{}ms", time.as_millis()))
    }
}
