//! A run goes on step by step, and no step runs twice.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::workflow::tests::workflow;

/// What a tool answers in a test: its name says it.
fn answer(begin: &Begin) -> CallEnd {
    let error = format!("{} says no", begin.tool);
    match &*begin.tool {
        "x_fail" => CallEnd::Answered {
            success: false,
            value: Json::object([("code", Json::Number(7.into()))]),
            error: Some(error),
        },
        "x_lost" => CallEnd::Unknown { error },
        "x_down" => CallEnd::Failed { error },
        "x_list" => CallEnd::Answered {
            success: true,
            value: Json::parse(r#"{"items":[{"n":"a"},{"n":"b"},{"n":"c"}],"count":3.0}"#).unwrap(),
            error: None,
        },
        // Every other gives back its arguments.
        _ => CallEnd::Answered {
            success: true,
            value: Json::of(&begin.arguments),
            error: None,
        },
    }
}

/// Runs to the end; what is under way at the same time ends in the order in which it began.
fn run(json: &str, input: &str) -> (Vec<String>, Cursor) {
    let workflow = workflow(json);
    let input = workflow.input(&Json::parse(input).unwrap()).unwrap();
    let mut cursor = Cursor::new(workflow, input, BTreeMap::new());
    let (mut said, mut open, mut now) = (Vec::new(), VecDeque::new(), 0);
    loop {
        match cursor.next(Millis(now)) {
            Next::Call(begin) => {
                said.push(format!(
                    "call {} {} {}",
                    begin.path,
                    begin.tool,
                    begin.arguments.as_str()
                ));
                open.push_back(begin);
            }
            Next::Wait => {
                now += 5;
                let begin: Begin = open.pop_front().expect("it waits for nothing");
                let end = answer(&begin);
                cursor.ended(begin.key, end, Millis(now));
            }
            Next::Over(end) => {
                assert!(open.is_empty());
                said.push(match end.failure {
                    None => format!("completed {}", end.output.to_text()),
                    Some(failure) => format!("failed {failure}"),
                });
                return (said, cursor);
            }
        }
    }
}

fn check(json: &str, input: &str, expected: &Expect) {
    let (mut said, cursor) = run(json, input);
    for line in cursor.lines() {
        let tool = line.tool.as_deref().unwrap_or("-");
        let error = line
            .error
            .as_deref()
            .map_or(String::new(), |error| format!(": {error}"));
        said.push(format!(
            "- {} {tool} {} {} ms{error}",
            line.path,
            line.status.word(),
            line.duration_ms
        ));
    }
    expected.assert_eq(&said.join("\n"));
}

#[test]
fn steps_run_one_after_the_other_and_see_what_came_before() {
    check(
        r#"{"args":{"ns":{"type":"string"}},"steps":[
            {"id":"pods","tool":"x_list","args":{"ns":"{{ input.ns }}"}},
            {"id":"sum","tool":"x_sum","args":{"n":"{{ results.pods.count }}","first":"{{ results.pods.items[0] }}"}},
            {"id":"no","tool":"x_no","condition":"{{ results.sum.n > 5 }}"}],
            "output":{"all":"{{ results.sum }}","no":"{{ results.no }}","text":"{{ input.ns }}!"}}"#,
        r#"{"ns":"a"}"#,
        &expect![[r#"
            call pods x_list {"ns":"a"}
            call sum x_sum {"first":{"n":"a"},"n":3.0}
            completed {"all":{"first":{"n":"a"},"n":3.0},"no":null,"text":"a!"}
            - pods x_list completed 5 ms
            - sum x_sum completed 5 ms
            - no x_no skipped 0 ms"#]],
    );
}

#[test]
fn loops_and_lanes_see_their_own() {
    check(
        r#"{"steps":[
            {"id":"pods","tool":"x_list"},
            {"id":"each","for_each":{"items":"{{ results.pods.items }}","as":"pod","steps":[
                {"id":"logs","tool":"x_logs","args":{"n":"{{ vars.pod.n }}"}},
                {"id":"inner","for_each":{"items":"{{ [1, 2] }}","steps":[
                    {"id":"leaf","tool":"x_leaf","args":{"n":"{{ results.logs.n }}","i":"{{ vars.item }}"}}]},
                 "condition":"{{ vars.pod.n == 'b' }}"}]}},
            {"id":"both","parallel":{"max":2,"steps":[
                {"id":"a","tool":"x_a"},{"id":"b","tool":"x_b"},
                {"id":"c","parallel":{"steps":[{"id":"d","tool":"x_d"}]}}]}}],
            "output":["{{ results.each[1] }}","{{ results.both }}","{{ results.d }}"]}"#,
        "{}",
        &expect![[r#"
            call pods x_list {}
            call each[0].logs x_logs {"n":"a"}
            call each[1].logs x_logs {"n":"b"}
            call each[1].inner[0].leaf x_leaf {"i":1,"n":"b"}
            call each[1].inner[1].leaf x_leaf {"i":2,"n":"b"}
            call each[2].logs x_logs {"n":"c"}
            call both.a x_a {}
            call both.b x_b {}
            call both.c.d x_d {}
            completed [{"inner":[{"leaf":{"i":1,"n":"b"}},{"leaf":{"i":2,"n":"b"}}],"logs":{"n":"b"}},{"a":{},"b":{},"c":{"d":{}}},{}]
            - pods x_list completed 5 ms
            - each[0].logs x_logs completed 5 ms
            - each[0].inner - skipped 0 ms
            - each[1].logs x_logs completed 5 ms
            - each[1].inner[0].leaf x_leaf completed 5 ms
            - each[1].inner[1].leaf x_leaf completed 5 ms
            - each[2].logs x_logs completed 5 ms
            - each[2].inner - skipped 0 ms
            - both.a x_a completed 5 ms
            - both.b x_b completed 10 ms
            - both.c.d x_d completed 10 ms"#]],
    );
}

#[test]
fn conditions_ask_steps_and_tools() {
    check(
        r#"{"steps":[
            {"id":"list","tool":"x_list"},
            {"id":"bad","tool":"x_fail","allow_failure":true},
            {"id":"yes","tool":"x_yes","condition":{"from_step":"list","expect":{"success":true,"json":{"/count":3,"/items/1/n":"b"}}}},
            {"id":"no","tool":"x_no","condition":{"from_step":"list","expect_not":{"json":{"/count":3,"/none":1}}}},
            {"id":"after","tool":"x_after","condition":{"from_step":"bad","expect":{"success":false,"json":{"/code":7}}}},
            {"id":"skipped","tool":"x_skipped","condition":{"from_step":"no","expect":{"success":true}}},
            {"id":"asks","tool":"x_asks","condition":{"tool":"x_ready","args":{"r":1},"expect":{"success":true,"json":{"/r":1}}}},
            {"id":"asks_no","tool":"x_asks","condition":{"tool":"x_down","expect":{"success":true}}},
            {"id":"asks_lost","tool":"x_asks","condition":{"tool":"x_lost","expect_not":{"success":true}}}],
            "output":1}"#,
        "{}",
        &expect![[r#"
            call list x_list {}
            call bad x_fail {}
            call yes x_yes {}
            call after x_after {}
            call asks.condition x_ready {"r":1}
            call asks x_asks {}
            call asks_no.condition x_down {}
            call asks_lost.condition x_lost {}
            failed step `asks_lost`: x_lost says no
            - list x_list completed 5 ms
            - bad x_fail failed 5 ms: x_fail says no
            - yes x_yes completed 5 ms
            - no x_no skipped 0 ms
            - after x_after completed 5 ms
            - skipped x_skipped skipped 0 ms
            - asks.condition x_ready completed 5 ms
            - asks x_asks completed 5 ms
            - asks_no.condition x_down failed 5 ms: x_down says no
            - asks_no x_asks skipped 0 ms
            - asks_lost.condition x_lost outcome_unknown 5 ms: x_lost says no"#]],
    );
}

#[test]
fn a_failure_ends_the_run_and_cleans_up() {
    check(
        r#"{"steps":[
            {"id":"a","tool":"x_a","args":{"k":1}},
            {"id":"both","parallel":{"max":2,"steps":[{"id":"l","tool":"x_lost"},{"id":"r","tool":"x_r"},{"id":"never","tool":"x_never"}]}},
            {"id":"after","tool":"x_after"}],
            "on_failure":[
            {"id":"bad","tool":"x_fail"},
            {"id":"note","tool":"x_note","args":{"what":"{{ vars.failure }}","a":"{{ results.a.k }}"}}],
            "output":1}"#,
        "{}",
        &expect![[r#"
            call a x_a {"k":1}
            call both.l x_lost {}
            call both.r x_r {}
            call bad x_fail {}
            call note x_note {"a":1,"what":{"message":"x_lost says no","step":"both.l"}}
            failed step `both.l`: x_lost says no
            - a x_a completed 5 ms
            - both.l x_lost outcome_unknown 5 ms: x_lost says no
            - both.r x_r completed 10 ms
            - bad x_fail failed 5 ms: x_fail says no
            - note x_note completed 5 ms"#]],
    );
}

#[test]
fn what_cannot_be_worked_out_fails_its_step() {
    for steps in [
        r#"{"id":"a","tool":"x_a","args":{"n":"{{ input.n.deep }}"}}"#,
        r#"{"id":"a","tool":"x_a","args":"{{ input.n }}"}"#,
        r#"{"id":"a","tool":"{{ input.n }}"}"#,
        r#"{"id":"a","tool":"x_a","condition":"{{ input.n }}"}"#,
        r#"{"id":"a","for_each":{"items":"{{ input.n }}","steps":[{"id":"b","tool":"x_b"}]}}"#,
        r#"{"id":"a","for_each":{"items":"{{ [1,2,3] }}","max":2,"steps":[{"id":"b","tool":"x_b"}]}}"#,
    ] {
        let json = format!(r#"{{"args":{{"n":{{}}}},"steps":[{steps}]}}"#);
        let (said, cursor) = run(&json, r#"{"n":1}"#);
        assert!(said.len() == 1 && said[0].starts_with("failed step `a`: "), "{said:?}");
        assert_eq!(cursor.lines()[0].status, Status::Failed);
        // And with a failure that is allowed the run goes on.
        let json = json.replace(r#""id":"a","#, r#""id":"a","allow_failure":true,"#);
        assert_eq!(run(&json, r#"{"n":1}"#).0, ["completed null"]);
    }
    let (said, _) = run(
        r#"{"steps":[{"id":"a","tool":"x_list"}],"output":"{{ results.a.none }}"}"#,
        "{}",
    );
    assert!(
        said[1].starts_with(
            "failed its output cannot be worked out: expression `results.a.none` (workflows/test.yaml:1:1)"
        ),
        "{said:?}"
    );
}

#[test]
fn a_run_is_bounded_whatever_is_allowed_to_fail() {
    let json = r#"{"steps":[{"id":"a","allow_failure":true,"for_each":{"items":"{{ range(60)|list }}","steps":[
        {"id":"b","for_each":{"items":"{{ range(60)|list }}","as":"x","steps":[{"id":"c","tool":"x_c","condition":"{{ vars.x < 3 }}"}]}}]}}],
        "on_failure":[{"id":"note","tool":"x_note"}]}"#;
    let (said, cursor) = run(json, "{}");
    assert!(
        said.last().unwrap().contains("the run would take more than 1000 steps"),
        "{said:?}"
    );
    assert!(said.iter().any(|line| line.starts_with("call note")));
    assert!(cursor.lines().len() <= STEPS + 1);
}

#[test]
fn a_run_that_is_stopped_waits_for_what_runs_and_cleans_up() {
    let workflow = workflow(
        r#"{"steps":[{"id":"p","parallel":{"max":2,"steps":[{"id":"a","tool":"x_a"},{"id":"b","tool":"x_b"},{"id":"c","tool":"x_c"}]}}],
            "on_failure":[{"id":"note","tool":"x_note","args":{"m":"{{ vars.failure.message }}"}}]}"#,
    );
    let mut cursor = Cursor::new(workflow, Json::object::<Arc<str>>([]), BTreeMap::new());
    let Next::Call(a) = cursor.next(Millis(0)) else {
        panic!()
    };
    let Next::Call(b) = cursor.next(Millis(0)) else {
        panic!()
    };
    assert_eq!(cursor.next(Millis(0)), Next::Wait);
    cursor.stop("the caller took it back");
    assert_eq!(cursor.next(Millis(1)), Next::Wait);
    let unknown = CallEnd::Unknown {
        error: "lost".to_owned(),
    };
    cursor.ended(a.key, unknown, Millis(2));
    assert_eq!(cursor.next(Millis(2)), Next::Wait);
    cursor.ended(b.key, CallEnd::Cancelled, Millis(3));
    let Next::Call(note) = cursor.next(Millis(3)) else {
        panic!()
    };
    assert_eq!(note.arguments.as_str(), r#"{"m":"the caller took it back"}"#);
    assert!(cursor.is_cleaning_up());
    // A second stop gives the clean-up up; what ends afterwards changes nothing.
    cursor.stop("the gateway stops");
    let Next::Over(end) = cursor.next(Millis(4)) else {
        panic!()
    };
    assert_eq!(end.failure.unwrap().to_string(), "step `p.a`: the caller took it back");
    let words: Vec<_> = cursor
        .lines()
        .iter()
        .map(|line| (&*line.path, line.status.word()))
        .collect();
    assert_eq!(
        words,
        [("p.a", "outcome_unknown"), ("p.b", "cancelled"), ("note", "running")]
    );
}

/// Any sound workflow over a few tools, as JSON.
fn any_steps(depth: u32) -> BoxedStrategy<String> {
    let tool = prop_oneof![Just("x_ok"), Just("x_fail"), Just("x_lost"), Just("x_list")];
    let call = (tool, any::<bool>(), 0..4_u8).prop_map(|(tool, allowed, condition)| {
        let condition = match condition {
            0 => r#","condition":"{{ input.n > 2 }}""#,
            1 => r#","condition":{"tool":"x_ready","expect":{"success":true}}"#,
            _ => "",
        };
        format!(r#"{{"id":"ID","tool":"{tool}","allow_failure":{allowed}{condition}}}"#)
    });
    if depth == 0 {
        return call.boxed();
    }
    let inner = || proptest::collection::vec(any_steps(depth - 1), 1..4).prop_map(|steps| steps.join(","));
    prop_oneof![
        4 => call,
        1 => (inner(), 0..4_usize).prop_map(|(steps, items)| format!(
            r#"{{"id":"ID","for_each":{{"items":"{{{{ range({items})|list }}}}","as":"vID","steps":[{steps}]}}}}"#
        )),
        1 => (inner(), 1..4_usize, any::<bool>()).prop_map(|(steps, max, allowed)| format!(
            r#"{{"id":"ID","allow_failure":{allowed},"parallel":{{"max":{max},"steps":[{steps}]}}}}"#
        )),
    ]
    .boxed()
}

fn any_workflow() -> impl Strategy<Value = String> {
    let steps = || proptest::collection::vec(any_steps(2), 1..5).prop_map(|steps| steps.join(","));
    (steps(), steps()).prop_map(|(steps, cleanup)| {
        let json = format!(r#"{{"args":{{"n":{{"default":3}}}},"steps":[{steps}],"on_failure":[{cleanup}]}}"#);
        // Each step gets an id of its own.
        let mut parts = json.split("\"ID\"");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for (place, part) in parts.enumerate() {
            out += &format!("\"s{place}\"{}", part.replace("vID", &format!("v{place}")));
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever ends in whichever order: no step is called twice, never more run at once than allowed, every run ends.
    #[test]
    fn no_step_is_called_twice_and_every_run_ends(json in any_workflow(), order in proptest::collection::vec(any::<prop::sample::Index>(), 64), stop_at in 0..80_i64) {
        let workflow = workflow(&json);
        let input = workflow.input(&Json::parse("{}").unwrap()).unwrap();
        let mut cursor = Cursor::new(Arc::clone(&workflow), input.clone(), BTreeMap::new());
        let (mut open, mut called, mut done) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        let (mut order, mut turns) = (order.iter().cycle(), 0);
        let mut is_stopped = false;
        let end = loop {
            turns += 1;
            prop_assert!(turns < 5_000);
            if turns == stop_at {
                cursor.stop("stopped");
                is_stopped = true;
            }
            match cursor.next(Millis(turns)) {
                Next::Call(begin) => {
                    prop_assert!(called.insert(begin.path.clone()), "{} twice in {}", begin.path, json);
                    open.push(begin);
                }
                Next::Wait => {
                    prop_assert!(!open.is_empty());
                    let begin: Begin = open.remove(order.next().unwrap().index(open.len()));
                    let end = answer(&begin);
                    if let CallEnd::Answered { success: true, value, .. } = &end {
                        done.insert(begin.path.clone(), Known { success: true, value: value.clone() });
                    }
                    cursor.ended(begin.key, end, Millis(turns));
                }
                Next::Over(end) => break end,
            }
        };
        prop_assert!(open.is_empty() || is_stopped);
        prop_assert!(cursor.lines().len() <= STEPS + CLEANUP);

        // A run that is taken up again calls nothing that is known to have ended well.
        let mut again = Cursor::new(workflow, input, done.clone());
        let mut pending = VecDeque::new();
        let ended = loop {
            match again.next(Millis(0)) {
                Next::Call(begin) => {
                    prop_assert!(!done.contains_key(&begin.path), "{} again in {}", begin.path, json);
                    pending.push_back(begin);
                }
                Next::Wait => {
                    let begin = pending.pop_front().unwrap();
                    let end = answer(&begin);
                    again.ended(begin.key, end, Millis(1));
                }
                Next::Over(end) => break end,
            }
        };
        if !is_stopped {
            prop_assert_eq!(ended.failure.is_some(), end.failure.is_some());
        }
    }
}
