//! Workflows as they are written, and everything that can be wrong with them.

use expect_test::{Expect, expect};

use super::*;

const TRIAGE: &str = r#"
name: triage
description: Find failing pods and their logs
labels: {team: sre}
args:
  namespace: {type: string, required: true, description: Where to look}
  limit: {type: integer, default: 10}
  anything:
steps:
  - id: pods
    tool: x_k8s_list
    args: {ns: "{{ input.namespace }}", limit: "{{ input.limit }}", exact: 1.0, big: 123456789012345678901234567890}
    condition: {template: "{{ input.namespace != 'kube-system' }}"}
    timeout: 30s
    retry: {attempts: 2, on: [unavailable]}
    allow_failure: false
  - id: each
    for_each: {items: "{{ results.pods.items }}", as: pod, max: 100, steps: [{id: logs, tool: x_k8s_logs, args: {pod: "{{ vars.pod.name }}"}}]}
  - id: both
    parallel: {max: 4, steps: [{id: a, tool: x_a}, {id: b, tool: "x_{{ input.namespace }}"}]}
on_failure: [{id: note, tool: x_chat_post, args: {text: "{{ vars.failure.message }}"}}]
output: {pods: "{{ results.pods.items }}", a: "{{ results.a }}"}
"#;

/// The same in the other spelling.
const CAMEL: &str = r#"
name: camel
steps:
  - id: first
    tool: x_a
    allowFailure: true
  - id: second
    tool: x_b
    condition: {fromStep: first, expect: {success: true, jsonPath: {status.phase: Ready, "/count": 2}}, expectNot: {jsonPath: {$.bad.0: true}}}
  - id: third
    forEach: {items: "{{ results.second }}", steps: [{id: fourth, tool: x_c, args: {i: "{{ vars.item }}"}}]}
  - id: fifth
    parallel: [{id: sixth, tool: x_d}]
    condition: {tool: x_ready, args: {a: 1}, expect: {success: true}}
onFailure:
  - {id: note, tool: x_e}
"#;

fn read_all(files: &[(&str, &str)]) -> Read {
    let files = Files::of("dir", &[]).with_workflows(files);
    read(&files, &Environment::with_variables([("a", "b")]), 64)
}

fn check(files: &[(&str, &str)], expected: &Expect) {
    let read = read_all(files);
    let mut text = String::new();
    for (word, problems) in [("error", &read.errors), ("warning", &read.warnings)] {
        let mut problems: Vec<&Problem> = problems.iter().collect();
        problems.sort_by_key(|problem| {
            (
                problem.file.to_string(),
                problem.place.as_ref().map(|place| place.span.start),
            )
        });
        for problem in problems {
            let help = problem.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
            text += &format!("{word} {problem}{help}\n");
        }
    }
    let names: Vec<&str> = read.workflows.iter().map(|workflow| workflow.name()).collect();
    text += &format!("served: {}\n", names.join(", "));
    expected.assert_eq(&text);
}

#[test]
fn a_workflow_is_read_whole() {
    let read = read_all(&[("triage", TRIAGE)]);
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    let workflow = &read.workflows[0];
    let draft = workflow.draft();
    assert_eq!(
        (draft.labels["team"].as_str(), draft.steps.len(), draft.on_failure.len()),
        ("sre", 3, 1)
    );
    expect![[r#"{"name":"workflow_triage","description":"Find failing pods and their logs","inputSchema":{"additionalProperties":false,"properties":{"anything":{},"limit":{"default":10,"type":"integer"},"namespace":{"description":"Where to look","type":"string"}},"required":["namespace"],"type":"object"},"outputSchema":{"type":"object","properties":{"execution_id":{"type":"string"},"workflow":{"type":"string"},"status":{"type":"string","enum":["completed","failed","parked"]},"output":{},"steps":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"tool":{"type":"string"},"status":{"type":"string","enum":["completed","failed","skipped","outcome_unknown","cancelled","running"]},"duration_ms":{"type":"integer","minimum":0},"error":{"type":"string"}},"required":["id","status","duration_ms"]}},"error":{"type":"object","properties":{"step":{"type":"string"},"message":{"type":"string"}},"required":["message"]},"code":{"type":"string"},"message":{"type":"string"}},"required":["workflow","status","steps"]},"annotations":{"readOnlyHint":false}}"#]].assert_eq(workflow.definition(workflow::ReadOnly::No).raw());
    expect![[r#"Call(Call { tool: "x_k8s_list", arguments: {"ns": "{{ input.namespace }}", "limit": "{{ input.limit }}", "exact": 1.0, "big": 123456789012345678901234567890}, timeout: Some(30s), retry: Some(Retry { attempts: 2 }) })"#]].assert_eq(&format!("{:?}", draft.steps[0].action));
    expect![[r#"[("x_a", Always, workflows/triage.yaml:20:46), ("x_chat_post", Perhaps, workflows/triage.yaml:21:31), ("x_k8s_list", Perhaps, workflows/triage.yaml:11:11), ("x_k8s_logs", Always, workflows/triage.yaml:18:95)]"#]].assert_eq(&format!("{:?}", workflow.uses().tools().collect::<Vec<_>>()));
    assert!(workflow.uses().is_templated());
}

#[test]
fn both_spellings_load() {
    let read = read_all(&[("camel", CAMEL)]);
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    let draft = read.workflows[0].draft();
    expect![[r#"
        Some(
            Step {
                step: "first",
                at: workflows/camel.yaml:9:27,
                expected: Expected {
                    expect: Some(
                        Expectation {
                            success: Some(
                                true,
                            ),
                            values: [
                                (
                                    "/status/phase",
                                    "Ready",
                                ),
                                (
                                    "/count",
                                    2,
                                ),
                            ],
                        },
                    ),
                    expect_not: Some(
                        Expectation {
                            success: None,
                            values: [
                                (
                                    "/bad/0",
                                    true,
                                ),
                            ],
                        },
                    ),
                },
            },
        )"#]]
    .assert_eq(&format!("{:#?}", draft.steps[1].condition));
    assert!(draft.steps[0].allow_failure);
    assert_eq!(draft.on_failure.len(), 1);
}

#[test]
fn all_errors_of_all_files_are_told_at_once() {
    let bad = r#"
name: Bad Name
descripton: typo
args: {n: {type: int, default: 1}, m: {type: string, default: 4}, "1x": {}}
steps:
  - id: one
    tool: x_a
    args: {a: "{{ input.missing }}", b: "{{ results.later }}", c: "{{ vars.item }}", d: "{{ other }}", e: "{{ .input.n }}", f: "{{ input.n | nosuch }}"}
  - id: one
    tool: x_a
    for_each: {items: "{{ [1] }}", steps: []}
  - tool: x_b
  - id: two
  - id: three
    parallel: {max: 99, steps: [{id: s, tool: core_nothing, args: "{{ results.one", retry: {attempts: 50, on: [error]}}]}
    args: {}
  - id: four
    tool: x_a
    timeout: soon
    condition: {template: "yes", expect: {}}
  - id: five
    tool: x_a
    condition: {from_step: six, expect: {json: {"a b": 1}}}
  - id: six
    tool: x_a
    condition: {}
"#;
    let other = "name: other\nsteps:\n  - {id: a, tool: x_a, args: {x: \"{{ results.none }}\"}}\n  - {id: list-pods, tool: x_a}\n  - {id: b, tool: x_a, args: {x: \"{{ results.list }}\"}}\n";
    check(
        &[
            ("bad", bad),
            ("other", other),
            ("broken", "steps: [\n"),
            ("fine", "steps: [{id: a, tool: x_a}]"),
        ],
        &expect![[r#"
            error dir/workflows/bad.yaml:2:7: `name` must be small letters and digits in words joined by `-` or `_`, such as `incident-triage`: `Bad Name`
            error dir/workflows/bad.yaml:3:1: workflow `Bad Name`: `descripton` is not a known key (did you mean `description`?)
            error dir/workflows/bad.yaml:4:18: workflow `Bad Name`: `args.n.type` must be one of string, number, integer, boolean, object, array, not `int` (known here: `string`, `number`, `integer`, `boolean`, `object`, `array`)
            error dir/workflows/bad.yaml:4:63: workflow `Bad Name`: `args.m.default` is a number, not of type string
            error dir/workflows/bad.yaml:4:67: workflow `Bad Name`: `args.1x` is no name for an argument (begin with a letter and use letters, digits, `_` and `-`)
            error dir/workflows/bad.yaml:8:15: workflow `Bad Name`, step `one`: in `{{ input.missing }}`: `input.missing` is not there (args: `1x`, `m`, `n`)
            error dir/workflows/bad.yaml:8:41: workflow `Bad Name`, step `one`: in `{{ results.later }}`: `results.later` is not there (there are no steps before it)
            error dir/workflows/bad.yaml:8:67: workflow `Bad Name`, step `one`: in `{{ vars.item }}`: `vars.item` is not there (there are no names of loops around it)
            error dir/workflows/bad.yaml:8:89: workflow `Bad Name`, step `one`: in `{{ other }}`: `other` is not known to expressions (expressions know `input`, `results` and `vars`)
            error dir/workflows/bad.yaml:8:107: workflow `Bad Name`, step `one`: `steps[0].args.e` has an error in its template: expression `.input.n`: syntax error: unexpected `.` (write names without the dot in front, as in `{{ input.name }}`)
            error dir/workflows/bad.yaml:8:128: workflow `Bad Name`, step `one`: `steps[0].args.f` has an error in its template: expression `input.n | nosuch`: unknown filter: filter nosuch is unknown
            error dir/workflows/bad.yaml:9:5: workflow `Bad Name`, step `one`: `steps[1]` does more than one thing (give it one of `tool`, `for_each` and `parallel`)
            error dir/workflows/bad.yaml:9:5: workflow `Bad Name`, step `one`: its id is that of another step, on line 6 (give each step an id of its own)
            error dir/workflows/bad.yaml:12:5: workflow `Bad Name`: `steps[2]` has no `id` (give the step an `id`, by which later ones name its result)
            error dir/workflows/bad.yaml:13:5: workflow `Bad Name`, step `two`: `steps[3]` does nothing (give it one of `tool`, `for_each` and `parallel`)
            error dir/workflows/bad.yaml:15:21: workflow `Bad Name`, step `three`: `steps[4].parallel.max` must be at most 32
            error dir/workflows/bad.yaml:15:67: workflow `Bad Name`, step `s`: `steps[4].parallel.steps[0].args` has an error in its template: a `{{` has no `}}` (close the expression; for the text itself write `{{ '{{' }}`)
            error dir/workflows/bad.yaml:15:103: workflow `Bad Name`, step `s`: `steps[4].parallel.steps[0].retry.attempts` must be at most 10
            error dir/workflows/bad.yaml:15:112: workflow `Bad Name`, step `s`: `steps[4].parallel.steps[0].retry.on[0]` must be `unavailable`, not `error` (known here: `unavailable`)
            error dir/workflows/bad.yaml:16:5: workflow `Bad Name`, step `three`: `steps[4].args` goes with `tool` only (put it at the steps inside)
            error dir/workflows/bad.yaml:19:14: workflow `Bad Name`, step `four`: `steps[5].timeout` must be a duration from `1ms` to `30d` with its unit, such as `90s`, `10m` or `1h30m`
            error dir/workflows/bad.yaml:20:27: workflow `Bad Name`, step `four`: `condition.template` must be one expression, which is true or false (write it like `"{{ input.namespace != 'kube-system' }}"`)
            error dir/workflows/bad.yaml:20:34: workflow `Bad Name`, step `four`: `steps[5].condition.expect` goes with `tool` and `from_step` only (say it in the template)
            error dir/workflows/bad.yaml:20:42: workflow `Bad Name`, step `four`: `steps[5].condition.expect` says nothing (write `success: true`, or `json: {"/pointer": value}`)
            error dir/workflows/bad.yaml:23:49: workflow `Bad Name`, step `five`: `steps[6].condition.expect.json.a b` is no JSON pointer (write it like `/status/phase`)
            error dir/workflows/bad.yaml:26:16: workflow `Bad Name`, step `six`: `steps[7].condition` asks nothing (give it one of `template`, `tool` and `from_step`)
            error dir/workflows/broken.yaml:1:8: not valid YAML: unclosed bracket '['
            error dir/workflows/other.yaml:3:34: workflow `other`, step `a`: in `{{ results.none }}`: `results.none` is not there (there are no steps before it)
            error dir/workflows/other.yaml:5:34: workflow `other`, step `b`: in `{{ results.list }}`: `results.list` is not there (a name with `-` stands in brackets: `["list-pods"]`)
            warning dir/workflows/bad.yaml:2:1: `name` is not the name of its file, `bad.yaml`
            served: fine
        "#]],
    );
}

#[test]
fn names_are_slugs_of_their_own() {
    let steps = "steps: [{id: a, tool: x_a}]\n";
    let named = |name: &str| format!("name: {name}\n{steps}");
    check(
        &[
            ("one", &named("same")),
            ("two", &named("same")),
            ("list", &named("list")),
            ("execution-list", steps),
            ("UPPER", steps),
            ("a--b", steps),
            ("ok_name-2", &named("ok_name-2")),
            ("other", &named("named-otherwise")),
            ("l", &named(&"x".repeat(55))),
        ],
        &expect![[r#"
            error dir/workflows/UPPER.yaml:1:1: the file's name, which stands for `name`, must be small letters and digits in words joined by `-` or `_`, such as `incident-triage`: `UPPER`
            error dir/workflows/a--b.yaml:1:1: the file's name, which stands for `name`, must be small letters and digits in words joined by `-` or `_`, such as `incident-triage`: `a--b`
            error dir/workflows/execution-list.yaml:1:1: the file's name, which stands for `name`, is a verb of the gateway's own `core_workflow_*` tools: `execution-list`
            error dir/workflows/l.yaml:1:7: `name` must be at most 54 characters long: `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`
            error dir/workflows/list.yaml:1:7: `name` is a verb of the gateway's own `core_workflow_*` tools: `list`
            error dir/workflows/one.yaml:1:7: workflow `same` is defined in `workflows/two.yaml` too (give each workflow a name of its own)
            error dir/workflows/two.yaml:1:7: workflow `same` is defined in `workflows/one.yaml` too (give each workflow a name of its own)
            warning dir/workflows/l.yaml:1:1: `name` is not the name of its file, `l.yaml`
            warning dir/workflows/one.yaml:1:1: `name` is not the name of its file, `one.yaml`
            warning dir/workflows/other.yaml:1:1: `name` is not the name of its file, `other.yaml`
            warning dir/workflows/two.yaml:1:1: `name` is not the name of its file, `two.yaml`
            served: named-otherwise, ok_name-2
        "#]],
    );
}

#[test]
fn recursion_is_refused_also_through_others() {
    let calls = |tool: &str| format!("steps: [{{id: a, tool: x_a}}, {{id: b, tool: {tool}}}]\n");
    check(
        &[
            ("self", &calls("workflow_self")),
            ("a", &calls("workflow_b")),
            (
                "b",
                "steps: [{id: a, tool: x_a}]\non_failure: [{id: b, tool: workflow_c}]\n",
            ),
            (
                "c",
                "steps: [{id: l, for_each: {items: '{{ [1] }}', steps: [{id: p, parallel: {steps: [{id: q, tool: x_q, condition: {tool: workflow_a, expect: {success: true}}}]}}]}}]\n",
            ),
            ("leads-in", &calls("workflow_a")),
            ("nested", &calls("workflow_leaf")),
            ("leaf", &calls("x_b")),
            ("nowhere", &calls("workflow_none")),
        ],
        &expect![[r#"
            error dir/workflows/a.yaml:1:43: workflow `a`: it calls itself by way of `workflow_b` and `workflow_c`, and a run would not end (call another workflow here, or take the step out)
            error dir/workflows/b.yaml:2:28: workflow `b`: it calls itself by way of `workflow_c` and `workflow_a`, and a run would not end (call another workflow here, or take the step out)
            error dir/workflows/c.yaml:1:120: workflow `c`: it calls itself by way of `workflow_a` and `workflow_b`, and a run would not end (call another workflow here, or take the step out)
            error dir/workflows/self.yaml:1:43: workflow `self`, step `b`: it calls its own workflow, and a run would not end
            warning dir/workflows/leads-in.yaml:1:43: workflow `leads-in`: `workflow_a` is no workflow that is sound (until there is one, this workflow is offered only where a condition stands before the step)
            warning dir/workflows/nowhere.yaml:1:43: workflow `nowhere`: `workflow_none` is no workflow that is sound (until there is one, this workflow is offered only where a condition stands before the step)
            served: leads-in, leaf, nested, nowhere
        "#]],
    );
}

#[test]
fn templates_that_are_not_quoted_are_told_so() {
    check(
        &[(
            "a",
            "steps:\n  - id: a\n    tool: x_a\n    args: {ns: {{ input.ns }}}\n",
        )],
        &expect![[r#"
            error dir/workflows/a.yaml:4:17: a key must be a string (a text that begins with `{` stands in quotes, such as `"{{ input.name }}"`)
            served: 
        "#]],
    );
}

#[test]
fn numbers_keep_the_digits_of_the_file() {
    let text = "steps: [{id: a, tool: x_a, args: {a: [1.0, 1e3, 0.10, -0, 18446744073709551616, 12345678901234567890123.5, 0x10, 1_0]}}]\n";
    let read = read_all(&[("a", text)]);
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    expect![[r#"Call(Call { tool: "x_a", arguments: {"a":[1.0,1e3,0.10,-0,18446744073709551616,12345678901234567890123.5,16,10]}, timeout: None, retry: None })"#]].assert_eq(&format!("{:?}", read.workflows[0].draft().steps[0].action));
}
