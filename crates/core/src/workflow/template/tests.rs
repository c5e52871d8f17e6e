//! Expressions keep the types of what they name, and bad ones say where.

use std::fmt::Write as _;

use expect_test::expect;
use proptest::prelude::*;

use super::*;

fn place() -> Place {
    Place {
        file: "workflows/a.yaml".into(),
        line: 3,
        column: 7,
        bytes: (0, 0),
    }
}

fn names() -> Names {
    Names {
        input: Json::parse(
            r#"{"n":7,"f":1.50,"one":1.0,"big":123456789012345678901234567890123456789012,"wide":18446744073709551615,"fine":0.12345678901234567890123,"text":"a \"b\"","none":null,"deep":[[{"x":1e3}]],"yes":true}"#,
        )
        .unwrap(),
        results: Json::parse(r#"{"pods":{"items":[{"name":"a","cpu":0.10},{"name":"b","cpu":2}]},"my-step":[1,2,3]}"#)
            .unwrap(),
        vars: Json::parse(r#"{"pod":{"name":"p"}}"#).unwrap(),
    }
}

fn worked_out(text: &str) -> String {
    match Template::parse(text, &place()) {
        Err(fault) => format!(
            "bad: {fault}{}",
            fault.help.map_or(String::new(), |help| format!(" ({help})"))
        ),
        Ok(template) => match template.evaluate(&names()) {
            Ok(value) => value.to_text(),
            Err(fault) => format!("fault: {fault}"),
        },
    }
}

fn table(texts: &[&str]) -> String {
    let mut out = String::new();
    for text in texts {
        writeln!(out, "{text}\n    {}", worked_out(text)).unwrap();
    }
    out
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn i11_a_value_that_is_one_expression_keeps_its_type_and_every_digit() {
    expect![[r#"
        {{ input.n }}
            7
        {{ input.f }}
            1.50
        {{ input.one }}
            1.0
        {{ input.big }}
            123456789012345678901234567890123456789012
        {{ input.wide }}
            18446744073709551615
        {{ input.fine }}
            0.12345678901234567890123
        {{input.none}}
            null
          {{ input.yes }}

            true
        {{ input.deep }}
            [[{"x":1e3}]]
        {{ input.deep[0][0].x }}
            1e3
        {{ results['my-step'][-1] }}
            3
        {{ [input.big, input.fine, input.one] }}
            [123456789012345678901234567890123456789012,0.12345678901234567890123,1.0]
        {{ {'a': input.deep, 'b': {'c': input.wide}} }}
            {"a":[[{"x":1e3}]],"b":{"c":18446744073709551615}}
        {{ results.pods.items | first }}
            {"cpu":0.10,"name":"a"}
        {{ results.pods.items | map(attribute='cpu') | list }}
            [0.1,2]
        {{ input.n + 1 }}
            8
        {{ input.wide + 1 }}
            18446744073709551616
        {{ input.n / 2 }}
            3.5
        {{ input.big if input.yes else 0 }}
            123456789012345678901234567890123456789012
    "#]]
    .assert_eq(&table(&[
        "{{ input.n }}",
        "{{ input.f }}",
        "{{ input.one }}",
        "{{ input.big }}",
        "{{ input.wide }}",
        "{{ input.fine }}",
        "{{input.none}}",
        "  {{ input.yes }}\n",
        "{{ input.deep }}",
        "{{ input.deep[0][0].x }}",
        "{{ results['my-step'][-1] }}",
        "{{ [input.big, input.fine, input.one] }}",
        "{{ {'a': input.deep, 'b': {'c': input.wide}} }}",
        "{{ results.pods.items | first }}",
        "{{ results.pods.items | map(attribute='cpu') | list }}",
        "{{ input.n + 1 }}",
        "{{ input.wide + 1 }}",
        "{{ input.n / 2 }}",
        "{{ input.big if input.yes else 0 }}",
    ]));
}

#[test]
fn text_around_expressions_makes_a_string() {
    expect![[r#"

            ""
        plain } }} text
            "plain } }} text"
        n={{ input.n }}, big={{ input.big }}
            "n=7, big=123456789012345678901234567890123456789012"
        {{ input.n }}{{ input.n }}
            "77"
        {{ input.deep }}: {{ input.text }}
            "[[{\"x\":1e3}]]: a \"b\""
        a   {{- input.n -}}   b
            "a7b"
        {{ '}}' }} and {{ '{%' }}
            "}} and {%"
        {{ input | tojson | length }} characters
            "197 characters"
    "#]]
    .assert_eq(&table(&[
        "",
        "plain } }} text",
        "n={{ input.n }}, big={{ input.big }}",
        "{{ input.n }}{{ input.n }}",
        "{{ input.deep }}: {{ input.text }}",
        "a   {{- input.n -}}   b",
        "{{ '}}' }} and {{ '{%' }}",
        "{{ input | tojson | length }} characters",
    ]));
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_a_way_out() {
    expect![[r#"
        {{ input.n
            bad: template (workflows/a.yaml:3:7): a `{{` has no `}}` (close the expression; for the text itself write `{{ '{{' }}`)
        {{ }}
            bad: template (workflows/a.yaml:3:7): an expression is empty
        {% if input.n %}x{% endif %}
            bad: template (workflows/a.yaml:3:7): it holds `{%` or `{#`, and only `{{ expressions }}` are worked out (for the text itself write `{{ '{%' }}`)
        {{ .input.n }}
            bad: expression `.input.n` (workflows/a.yaml:3:7): syntax error: unexpected `.` (write names without the dot in front, as in `{{ input.name }}`)
        {{ input.n + }}
            bad: expression `input.n +` (workflows/a.yaml:3:7): syntax error: unexpected end of input, expected expression
        {{ input.m }}
            fault: expression `input.m` (workflows/a.yaml:3:7): `input` has no member `m`; it has big, deep, f, fine, n, none, one, text, wide, yes
        {{ results.pods.items[5].name }}
            fault: expression `results.pods.items[5].name` (workflows/a.yaml:3:7): `results.pods.items` has no element 5; it has 2
        {{ results.pods.items.name }}
            fault: expression `results.pods.items.name` (workflows/a.yaml:3:7): `results.pods.items` is an array, which has no member `name`
        {{ input.m is defined }}
            false
        {{ input.m | default(3) }}
            3
        {{ input.n + input.m }}
            fault: expression `input.n + input.m` (workflows/a.yaml:3:7): invalid operation: tried to use + operator on unsupported types number and undefined
        {{ [input.m] }}
            fault: expression `[input.m]` (workflows/a.yaml:3:7): its value is undefined
        {{ env('HOME') }}
            fault: expression `env('HOME')` (workflows/a.yaml:3:7): unknown function: env is unknown
        {{ input.n | nosuch }}
            bad: expression `input.n | nosuch` (workflows/a.yaml:3:7): unknown filter: filter nosuch is unknown
        {{ range(100) | map('upper') }}
            ["0","1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17","18","19","20","21","22","23","24","25","26","27","28","29","30","31","32","33","34","35","36","37","38","39","40","41","42","43","44","45","46","47","48","49","50","51","52","53","54","55","56","57","58","59","60","61","62","63","64","65","66","67","68","69","70","71","72","73","74","75","76","77","78","79","80","81","82","83","84","85","86","87","88","89","90","91","92","93","94","95","96","97","98","99"]
        {{ debug() }}
            fault: expression `debug()` (workflows/a.yaml:3:7): unknown function: debug is unknown
        {{ 'x' * 100000000 }}
            fault: expression `'x' * 100000000` (workflows/a.yaml:3:7): engine ran out of fuel
        {{ [1] * 100000000 }}
            fault: expression `[1] * 100000000` (workflows/a.yaml:3:7): its value is larger than 4 MiB
        {{ 1.5e300 * 1.5e300 }}
            fault: expression `1.5e300 * 1.5e300` (workflows/a.yaml:3:7): its value is a number that JSON cannot say
    "#]].assert_eq(&table(&[
        "{{ input.n",
        "{{ }}",
        "{% if input.n %}x{% endif %}",
        "{{ .input.n }}",
        "{{ input.n + }}",
        "{{ input.m }}",
        "{{ results.pods.items[5].name }}",
        "{{ results.pods.items.name }}",
        "{{ input.m is defined }}",
        "{{ input.m | default(3) }}",
        "{{ input.n + input.m }}",
        "{{ [input.m] }}",
        "{{ env('HOME') }}",
        "{{ input.n | nosuch }}",
        "{{ range(100) | map('upper') }}",
        "{{ debug() }}",
        "{{ 'x' * 100000000 }}",
        "{{ [1] * 100000000 }}",
        "{{ 1.5e300 * 1.5e300 }}",
    ]));
}

#[test]
fn no_expression_reaches_out_or_runs_away() {
    for name in [
        "env", "getenv", "open", "read", "include", "import", "fetch", "http", "now", "debug", "lipsum",
    ] {
        let told = worked_out(&format!("{{{{ {name}('x') }}}}"));
        assert!(told.contains("unknown function"), "{name}: {told}");
    }
    let endless = format!("{{{{ {} }}}}", vec!["range(90000)|list|length"; 60].join(" + "));
    let told = worked_out(&endless);
    assert!(told.starts_with("fault") || told.starts_with("5400000"), "{told}");
    let long = format!("{{{{ '{}' }}}}", "x".repeat(5_000));
    assert!(worked_out(&long).contains("longer than 4096 bytes"));
}

#[test]
fn references_are_read_from_the_text() {
    let of = |text: &str| format!("{:?}", Template::parse(text, &place()).unwrap().references());
    expect![[r#"
        {Member(Input, Some("a")), Member(Vars, Some("x"))}
        {Member(Input, Some("n")), Member(Results, Some("pods"))}
        {Unknown("other")}
        {Member(Input, None)}
        {}"#]]
    .assert_eq(
        &[
            "{{ input.a.b }} {{ vars['x'] }}",
            "{{ results.pods.items | length > input.n }}",
            "{{ other.x + range(3)[0] }}",
            "{{ input }}",
            "no expression",
        ]
        .map(of)
        .join("\n"),
    );
}

fn number() -> impl Strategy<Value = String> {
    "-?(0|[1-9][0-9]{0,45})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?"
}

proptest! {
    /// Whatever way a value takes through an expression, no digit of it is lost.
    #[test]
    fn i11_numbers_pass_whole(token in number()) {
        let value = Json::parse(&format!(r#"{{"v":{token},"l":[{token}],"m":{{"k":{token}}}}}"#)).unwrap();
        let names = Names { input: value.clone(), results: Json::Null, vars: Json::Null };
        for (text, wanted) in [
            ("{{ input.v }}", value.member("v").unwrap().clone()),
            ("{{ input.l }}", value.member("l").unwrap().clone()),
            ("{{ [input.m] }}", Json::List([value.member("m").unwrap().clone()].into())),
            ("{{ input }}", value.clone()),
        ] {
            let found = Template::parse(text, &place()).unwrap().evaluate(&names).unwrap();
            prop_assert_eq!(found.to_text(), wanted.to_text());
        }
        // A scalar that the machine takes apart is the same number at least.
        let found = Template::parse("{{ [input.v] | first }}", &place()).unwrap().evaluate(&names).unwrap();
        prop_assert!(found.is_same_as(value.member("v").unwrap()), "{} {}", found.to_text(), token);
        let text = Template::parse("<{{ input.v }}>", &place()).unwrap().evaluate(&names).unwrap();
        prop_assert_eq!(text, Json::text(&format!("<{token}>")));
    }

    #[test]
    fn any_text_is_a_template_or_a_fault(text in ".{0,80}") {
        if let Ok(template) = Template::parse(&text, &place()) {
            drop(template.evaluate(&names()));
        }
    }

    #[test]
    fn what_holds_no_brace_stands_for_itself(text in "[^{]{0,80}") {
        let template = Template::parse(&text, &place()).unwrap();
        prop_assert_eq!(template.literal(), Some(&*text));
        prop_assert_eq!(template.evaluate(&names()).unwrap(), Json::text(&text));
    }
}
