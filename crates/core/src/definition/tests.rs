//! Definitions pass unchanged, and bad ones are named.

use expect_test::expect;
use proptest::prelude::*;

use super::*;

fn problem(raw: &str) -> String {
    let problem = ToolDefinition::parse(raw).unwrap_err().at(3);
    format!("{}: {}", problem.name, problem.what)
}

#[test]
fn fields_are_read_and_the_bytes_are_kept() {
    let raw = r#"{ "title":"T","x-new":{"deep":[9007199254740993,1e400,-0,"\u0000"]},
        "inputSchema" : {"properties":{"b":{},"a\u0062":{"x-mcp-header":"H"}},"type":"object","x-vendor":1},
        "name" : "ge\u0074", "description":"Line\none.", "annotations":{"title":"A","readOnlyHint":true,"x":1},
        "outputSchema":{"type":"array"},"_meta":{"$ref":"http://example.com/is-no-schema"} }"#;
    let tool = ToolDefinition::parse(raw).unwrap();
    assert_eq!(tool.raw(), raw);
    assert_eq!(tool.name.as_str(), "get");
    assert_eq!(tool.title.as_deref(), Some("T"));
    assert_eq!(tool.description, "Line\none.");
    assert_eq!(tool.parameters, ["b", "ab"]);
    assert_eq!(
        &*tool.input_schema,
        r#"{"properties":{"b":{},"a\u0062":{"x-mcp-header":"H"}},"type":"object","x-vendor":1}"#
    );
    assert_eq!(tool.output_schema.as_deref(), Some(r#"{"type":"array"}"#));
    assert!(tool.has_header_params);
    let annotations = tool.annotations.clone().unwrap();
    assert_eq!((annotations.read_only, annotations.destructive), (Some(true), None));
    assert_eq!(
        tool.renamed("x_s_\"get\""),
        raw.replace(r#""ge\u0074""#, r#""x_s_\"get\"""#)
    );
}

#[test]
fn hints_of_a_wrong_type_count_as_absent() {
    let tool = |annotations: &str| {
        let raw = format!(r#"{{"name":"t","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#);
        ToolDefinition::parse(&raw).unwrap()
    };
    let hints =
        tool(r#"{"readOnlyHint":"true","destructiveHint":0,"idempotentHint":null,"title":5,"openWorldHint":false}"#);
    let wanted = Annotations {
        open_world: Some(false),
        ..Annotations::default()
    };
    assert_eq!(hints.annotations, Some(wanted));
    assert_eq!(tool("null").annotations, None);
    assert_eq!(tool(r#""readOnly""#).annotations, None);
    assert_eq!(tool(r#"{"title":"A"}"#).title.as_deref(), Some("A"));
}

#[test]
fn b027_bad_input_schemas_are_named() {
    let schema = |schema: &str| format!(r#"{{"name":"t","inputSchema":{schema}}}"#);
    let raws = [
        schema(r#"{"anyOf":[{"type":"object"}]}"#),
        schema("{}"),
        r#"{"name":"t"}"#.to_owned(),
        schema(r#"{"type":"string"}"#),
        schema(r#"{"type":["object","null"]}"#),
        schema("null"),
        schema("[]"),
        schema("true"),
        schema(r#"{"type":"object","properties":[]}"#),
        schema(r#"{"type":"object","type":"object"}"#),
        "null".to_owned(),
        "[1]".to_owned(),
        "{".to_owned(),
        r#"{"inputSchema":{"type":"object"}}"#.to_owned(),
        r#"{"name":7,"inputSchema":{"type":"object"}}"#.to_owned(),
        r#"{"name":"t","name":"u","inputSchema":{"type":"object"}}"#.to_owned(),
        r#"{"name":"t","description":["d"],"inputSchema":{"type":"object"}}"#.to_owned(),
        r#"{"name":"t","description":"\ud83d","inputSchema":{"type":"object"}}"#.to_owned(),
        r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":"any"}"#.to_owned(),
    ];
    let problems: Vec<String> = raws.iter().map(|raw| problem(raw)).collect();
    expect![[r#"
        t: `inputSchema.type` is missing; it must be "object"
        t: `inputSchema.type` is missing; it must be "object"
        t: `inputSchema` is missing
        t: `inputSchema.type` is "string", not exactly "object"
        t: `inputSchema.type` is ["object","null"], not exactly "object"
        t: `inputSchema` is missing
        t: `inputSchema` is an array, not an object
        t: `inputSchema` is a boolean, not an object
        t: `inputSchema.properties` is an array, not an object
        t: the definition has no single reading: duplicate key `type` at `/inputSchema`
        #3: the definition is null, not an object
        #3: the definition is an array, not an object
        #3: the definition has no single reading: not valid JSON at byte 1: expected a key in double quotes
        #3: `name` is missing
        #3: `name` is a number, not a string
        t: the definition has no single reading: duplicate key `name` at ``
        t: `description` is an array, not a string
        t: the definition has no single reading: lone surrogate in a string at byte 27
        t: `outputSchema` is a string, not an object"#]]
    .assert_eq(&problems.join("\n"));
}

#[test]
fn b028_local_references_pass_and_others_set_the_tool_aside() {
    let schema = |inner: &str| format!(r#"{{"name":"t","inputSchema":{{"type":"object",{inner}}}}}"#);
    let local = [
        r##""$ref":"#/components/schemas/X","components":{"schemas":{"X":{"type":"object"}}}"##,
        r##""$ref":"#/$defs/Node","$defs":{"Node":{"properties":{"next":{"$ref":"#/$defs/Node"}}}}"##,
        r##""properties":{"$ref":{"type":"string"},"d":{"$dynamicRef":"#node"}}"##,
    ];
    for inner in local {
        let raw = schema(inner);
        assert_eq!(ToolDefinition::parse(&raw).unwrap().raw(), raw);
    }
    let foreign = [
        schema(r#""$ref":"http://169.254.169.254/x""#),
        schema(r#""properties":{"a":{"items":[{"$ref":"file:///etc/passwd"}]}}"#),
        schema(r##""properties":{"a":{"\u0024ref":"other.json#/x"},"b":{"$ref":"#/ok"}}"##),
        schema(r#""allOf":[{"$dynamicRef":"https://example.com/s"}]"#),
        schema(r#""$ref":"""#),
        r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"$ref":"http://example.com"}}"#.to_owned(),
    ];
    let problems: Vec<String> = foreign.iter().map(|raw| problem(raw)).collect();
    expect![[r#"
        t: a schema refers to "http://169.254.169.254/x", which is outside the definition and is never fetched
        t: a schema refers to "file:///etc/passwd", which is outside the definition and is never fetched
        t: a schema refers to "other.json#/x", which is outside the definition and is never fetched
        t: a schema refers to "https://example.com/s", which is outside the definition and is never fetched
        t: a schema refers to "", which is outside the definition and is never fetched
        t: a schema refers to "http://example.com", which is outside the definition and is never fetched"#]]
    .assert_eq(&problems.join("\n"));
}

#[test]
fn the_digest_covers_what_a_reviewer_sees_and_nothing_else() {
    let digest = |raw: &str| ToolDefinition::parse(raw).unwrap().digest;
    let base = digest(r#"{"name":"t","description":"d","inputSchema":{"type":"object","a":1}}"#);
    assert_eq!(
        base,
        digest(r#"{"inputSchema":{"a":1,"type":"object"}, "description":"\u0064","name":"t","_meta":{}}"#)
    );
    assert_eq!(
        base,
        Digest::of(br#"{"description":"d","inputSchema":{"a":1,"type":"object"},"name":"t"}"#)
    );
    for changed in [
        r#"{"name":"u","description":"d","inputSchema":{"type":"object","a":1}}"#,
        r#"{"name":"t","description":"D","inputSchema":{"type":"object","a":1}}"#,
        r#"{"name":"t","description":"d","inputSchema":{"type":"object","a":1.0}}"#,
        r#"{"name":"t","description":"d","inputSchema":{"type":"object","a":1},"title":"t"}"#,
        r#"{"name":"t","description":"d","inputSchema":{"type":"object","a":1},"outputSchema":{}}"#,
        r#"{"name":"t","description":"d","inputSchema":{"type":"object","a":1},"annotations":{"x":1}}"#,
    ] {
        assert_ne!(base, digest(changed), "{changed}");
    }
}

#[test]
fn resources_templates_and_prompts_are_read() {
    let raw = r#"{"uri":"file:///a","name":"a","title":"A","mimeType":"text/plain","size":3}"#;
    let resource = ResourceDefinition::parse_resource(raw).unwrap();
    assert_eq!(
        (resource.uri.as_str(), resource.name.as_str(), resource.raw()),
        ("file:///a", "a", raw)
    );
    assert_eq!(
        (resource.title.as_deref(), resource.mime_type.as_deref()),
        (Some("A"), Some("text/plain"))
    );
    let template =
        ResourceDefinition::parse_template(r#"{"uriTemplate":"f://{p}","name":"t","description":"d"}"#).unwrap();
    assert_eq!((template.uri.as_str(), template.description.as_str()), ("f://{p}", "d"));
    let prompt = PromptDefinition::parse(r#"{"name":"p","arguments":[{"name":"x"}]}"#).unwrap();
    assert_eq!(prompt.arguments.as_deref(), Some(r#"[{"name":"x"}]"#));
    assert_eq!(
        prompt.renamed("x_s_p"),
        r#"{"name":"x_s_p","arguments":[{"name":"x"}]}"#
    );
    let problems = [
        ResourceDefinition::parse_resource(r#"{"name":"a"}"#).unwrap_err(),
        ResourceDefinition::parse_resource(r#"{"uri":"file:///a"}"#).unwrap_err(),
        ResourceDefinition::parse_template(r#"{"uri":"file:///a","name":"n"}"#).unwrap_err(),
        PromptDefinition::parse(r#"{"name":"p","arguments":{}}"#).unwrap_err(),
        PromptDefinition::parse("17").unwrap_err().at(0),
    ];
    let problems: Vec<String> = problems
        .iter()
        .map(|problem| format!("{}: {}", problem.name, problem.what))
        .collect();
    expect![[r#"
        a: `uri` is missing or empty
        file:///a: `name` is missing
        n: `uriTemplate` is missing or empty
        p: `arguments` is an object, not an array
        #0: the definition is a number, not an object"#]]
    .assert_eq(&problems.join("\n"));
}

proptest! {
    #[test]
    fn i11_only_the_name_changes(name in any::<String>(), other in any::<String>(), around in "[ \\n]{0,3}") {
        let quoted = serde_json::to_string(&name).unwrap();
        let head = format!(r#"{{{around}"_meta":{{"name":"inner"}},"name"{around}:{around}"#);
        let tail = format!(r#"{around},"inputSchema":{{"type":"object","name":"{around}"}}}}"#).replace('\n', " ");
        let tool = ToolDefinition::parse(&format!("{head}{quoted}{tail}")).unwrap();
        prop_assert_eq!(tool.name.as_str(), &name);
        prop_assert_eq!(tool.renamed(&other), format!("{head}{}{tail}", serde_json::to_string(&other).unwrap()));
    }

    #[test]
    fn no_definition_makes_the_reader_panic(raw in any::<String>(), schema in any::<String>()) {
        drop(ToolDefinition::parse(&raw));
        drop(ToolDefinition::parse(&format!(r#"{{"name":"t","inputSchema":{schema}}}"#)));
        drop(PromptDefinition::parse(&raw));
        drop(ResourceDefinition::parse_resource(&raw));
    }
}
