//! What a server says reaches the caller byte for byte where the gateway does not own the field (I11).

use std::sync::LazyLock;

use crate::gateway::{Folder, Gateway, call};
use crate::http::{at, elements, member};
use crate::pipes::Pipe;
use crate::upstream::{Era, Script, Upstream};

/// Values that typed models lose.
const ODD: &str = r#"{"zz":1,"big":9007199254740993,"bigger":123456789012345678901234567890,"neg":-9007199254740993,"huge":1e400,"exp":-2.50E+0007,"tiny":1e-999,"zero":-0,"float":1.0,"nul":"\u0000","esc":"\/\u00e9\u2028é","aa":{"unknown":{"deeper":[null,{"k":-0.0}]}},"":true,"m":[1.10,1E2,[],{}]}"#;

fn tools() -> String {
    let schema = format!(
        r#"{{"type":"object","properties":{{"n":{{"type":"integer","maximum":9007199254740993,"default":-0,"x-vendor":{ODD}}}}},"x-root":1e400,"$defs":{{}}}}"#
    );
    format!(
        r#"{{"x-list":{ODD},"tools":[
{{"vendor":{ODD},"name":"odd","title":"Ødd","description":"first line\nsecond \u0000","inputSchema":{schema},"outputSchema":{{"type":"object","x":{ODD}}},"annotations":{{"readOnlyHint":true,"vendor":{ODD}}},"icons":[{{"src":"data:,","vendor":{ODD}}}],"execution":{{"taskSupport":"optional"}},"_meta":{{"vendor/key":{ODD}}}}},
 {{ "inputSchema" : {{ "type" :	"object" }} ,
    "name" : "spaced" , "zz" : [ 1 , 2 ] }}
]}}"#
    )
}

fn result() -> String {
    format!(
        r#"{{"zz":{ODD},"content":[{{"type":"text","text":"a","vendor":{ODD},"annotations":{{"priority":1.0,"v":{ODD}}}}},{{"type":"hologram","data":{ODD}}},{{"type":"image","data":"AAAA","mimeType":"image/png","_meta":{{"k":{ODD}}}}}],"structuredContent":{ODD},"isError":false,"_meta":{{"vendor/a":{ODD}}},"aa":[]}}"#
    )
}

/// The same with blanks and line ends between the tokens.
fn spaced() -> String {
    "{\n\t\"content\" : [ ] ,\r\n  \"structuredContent\":{ \"a\" : 1e400 ,\"b\": [ ] } , \"x\" : { } \n}".to_owned()
}

const PROMPTS: &str =
    r#"{"prompts":[{"vendor":{"n":9007199254740993},"name":"p","arguments":[{"name":"a","v":1e400}]}]}"#;
const PROMPT: &str =
    r#"{"messages":[{"role":"user","content":{"type":"hologram","n":1e400,"z":-0},"v":1}],"n":9007199254740993,"a":1}"#;
const RESOURCES: &str = r#"{"resources":[{"vendor":{"n":9007199254740993},"uri":"test://r","name":"r","size":1.0}]}"#;
const RESOURCE: &str =
    r#"{"contents":[{"uri":"test://r","text":"\u0000é","v":{"n":-0,"m":1e400}}],"z":9007199254740993}"#;
const TEMPLATES: &str = r#"{"resourceTemplates":[{"v":1e400,"uriTemplate":"test://{a}","name":"t"}]}"#;
const ERROR: &str =
    r#"{"data":{"n":9007199254740993,"e":1e400,"z":-0},"code":-31999,"message":"no \u00e9","vendor":[1.0]}"#;

fn scripted(era: Era) -> Upstream {
    Script::new(era)
        .answer("tools/list", &tools())
        .answer("tools/call odd", &result())
        .answer("tools/call spaced", &spaced())
        .answer("prompts/list", PROMPTS)
        .answer("prompts/get", PROMPT)
        .answer("resources/list", RESOURCES)
        .answer("resources/templates/list", TEMPLATES)
        .answer("resources/read", RESOURCE)
        .start()
}

struct Side {
    upstream: Upstream,
    gateway: Gateway,
}

fn side(era: Era) -> Side {
    let upstream = scripted(era);
    let gateway = Gateway::over("surface: [meta, direct]", &[("u", upstream.address)]);
    Side { upstream, gateway }
}

static OLD: LazyLock<Side> = LazyLock::new(|| side(Era::Legacy));
static NEW: LazyLock<Side> = LazyLock::new(|| side(Era::Modern));

/// Every member of one object stands in the other, byte for byte, in the same order.
#[track_caller]
fn same_members(wanted: &str, found: &str, but: &[&str]) {
    let keys = |object: &str| -> Vec<String> {
        let mut left = object.trim().trim_start_matches('{').to_owned();
        let mut names = Vec::new();
        // Cut by hand, since a map would lose the order.
        while let Some(start) = left.find('"') {
            let rest = &left[start..];
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let Some(Ok(name)) = stream.next() else { break };
            let after = rest[stream.byte_offset()..]
                .trim_start()
                .trim_start_matches(':')
                .trim_start()
                .to_owned();
            let mut stream = serde_json::Deserializer::from_str(&after).into_iter::<Box<serde_json::value::RawValue>>();
            let Some(Ok(_)) = stream.next() else { break };
            left = after[stream.byte_offset()..]
                .trim_start()
                .trim_start_matches(',')
                .to_owned();
            names.push(name);
        }
        names
    };
    let names: Vec<String> = keys(wanted)
        .into_iter()
        .filter(|name| !but.contains(&name.as_str()))
        .collect();
    let found_names: Vec<String> = keys(found).into_iter().filter(|name| names.contains(name)).collect();
    assert_eq!(found_names, names, "the order of members in {found}");
    for name in names {
        assert_eq!(member(found, &name), member(wanted, &name), "{name}");
    }
}

#[test]
fn b043_calls_pass_byte_for_byte_where_eras_agree_and_by_member_where_they_differ() {
    for (tool, wanted) in [("odd", result()), ("spaced", spaced())] {
        let name = format!("x_u_{tool}");
        for (what, side) in [("legacy", &*OLD), ("modern", &*NEW)] {
            let session = side.gateway.session();
            let legacy = side
                .gateway
                .legacy(&session, "tools/call", &format!("{{{}}}", call(&name, "{}")));
            assert_eq!(legacy.raw_result(), wanted, "legacy caller, {what} server");
            let modern = side
                .gateway
                .modern("tools/call", Some(&name), &call(&name, "{}"))
                .raw_result();
            same_members(&wanted, &modern, &["_meta"]);
            assert_eq!(member(&modern, "resultType"), "\"complete\"");
            if tool == "odd" {
                assert_eq!(at(&modern, &["_meta", "vendor/a"]), ODD, "modern caller, {what} server");
            }
            let inner = format!(r#"{{"name":"{name}"}}"#);
            let through = side
                .gateway
                .legacy(&session, "tools/call", &format!("{{{}}}", call("call_tool", &inner)));
            same_members(&wanted, &through.raw_result(), &["_meta"]);
            assert_eq!(
                at(&through.raw_result(), &["_meta", "countersign/tool", "server"]),
                "\"u\""
            );
            if tool == "odd" {
                assert_eq!(at(&through.raw_result(), &["_meta", "vendor/a"]), ODD);
            }
        }
    }
}

#[test]
fn b043_listed_tools_keep_every_byte_but_their_name() {
    let wanted = elements(&member(&tools(), "tools"));
    for side in [&*OLD, &*NEW] {
        let session = side.gateway.session();
        let legacy = side.gateway.legacy(&session, "tools/list", "{}").raw_result();
        let modern = side.gateway.modern("tools/list", None, "").raw_result();
        for list in [legacy, modern] {
            let listed: Vec<String> = elements(&member(&list, "tools"));
            let ours: Vec<&String> = listed.iter().filter(|tool| tool.contains("x_u_")).collect();
            assert_eq!(ours.len(), 2, "{list}");
            for (tool, wanted) in ours.into_iter().zip(&wanted) {
                let name = member(wanted, "name");
                let renamed = format!("\"x_u_{}\"", name.trim_matches('"'));
                assert_eq!(tool.as_str(), wanted.replacen(&name, &renamed, 1));
            }
        }
    }
}

#[test]
fn b043_schemas_shown_by_meta_tools_keep_every_byte() {
    let wanted = elements(&member(&tools(), "tools"));
    let session = OLD.gateway.session();
    let ask = |tool: &str, arguments: &str| {
        let response = OLD
            .gateway
            .legacy(&session, "tools/call", &format!("{{{}}}", call(tool, arguments)));
        response.raw_result()
    };
    let described = ask("describe_tool", r#"{"name":"x_u_odd"}"#);
    for field in ["inputSchema", "outputSchema"] {
        assert_eq!(
            at(&described, &["structuredContent", field]),
            member(&wanted[0], field),
            "{field}"
        );
    }
    let filtered = ask("filter_tools", r#"{"pattern":"x_u_odd","include_schema":true}"#);
    let found = elements(&at(&filtered, &["structuredContent", "tools"]));
    assert_eq!(member(&found[0], "inputSchema"), member(&wanted[0], "inputSchema"));
    // The text holds the same JSON as the structured content.
    for result in [described, filtered] {
        let text: String =
            serde_json::from_str(&at(&elements(&member(&result, "content"))[0], &["text"])).expect("a string");
        assert_eq!(text, member(&result, "structuredContent"));
    }
}

#[test]
fn b043_prompts_resources_and_errors_pass_byte_for_byte() {
    for side in [&*OLD, &*NEW] {
        let (gateway, session) = (&side.gateway, side.gateway.session());
        for (method, params, name, wanted) in [
            ("prompts/get", r#""name":"x_u_p""#, "x_u_p", PROMPT),
            ("resources/read", r#""uri":"test://r""#, "test://r", RESOURCE),
        ] {
            assert_eq!(
                gateway.legacy(&session, method, &format!("{{{params}}}")).raw_result(),
                wanted,
                "{method}"
            );
            same_members(wanted, &gateway.modern(method, Some(name), params).raw_result(), &[]);
        }
        for (method, list, wanted) in [
            ("resources/list", "resources", RESOURCES),
            ("resources/templates/list", "resourceTemplates", TEMPLATES),
        ] {
            let found = gateway.legacy(&session, method, "{}").raw_result();
            assert_eq!(
                elements(&member(&found, list)),
                elements(&member(wanted, list)),
                "{method}"
            );
        }
        let prompts = elements(&member(
            &gateway.legacy(&session, "prompts/list", "{}").raw_result(),
            "prompts",
        ));
        let wanted = elements(&member(PROMPTS, "prompts"));
        assert_eq!(prompts[0], wanted[0].replace("\"p\"", "\"x_u_p\""));
        let read = gateway.legacy(
            &session,
            "tools/call",
            &format!("{{{}}}", call("get_resource", r#"{"uri":"test://r"}"#)),
        );
        assert_eq!(
            at(&read.raw_result(), &["structuredContent", "contents"]),
            member(RESOURCE, "contents"),
            "get_resource"
        );
        let got = gateway.legacy(
            &session,
            "tools/call",
            &format!("{{{}}}", call("get_prompt", r#"{"name":"x_u_p"}"#)),
        );
        assert_eq!(
            at(&got.raw_result(), &["structuredContent", "messages"]),
            member(PROMPT, "messages"),
            "get_prompt"
        );
    }
}

#[test]
fn b043_errors_of_servers_pass_byte_for_byte() {
    for era in [Era::Legacy, Era::Modern] {
        let upstream = Script::with_tools(era, &["t"])
            .answer("tools/call t", &format!("!{ERROR}"))
            .start();
        let gateway = Gateway::over("surface: [meta, direct]", &[("u", upstream.address)]);
        let session = gateway.session();
        let direct = gateway.legacy(&session, "tools/call", &format!("{{{}}}", call("x_u_t", "{}")));
        assert_eq!(member(&direct.answer(), "error"), ERROR);
        let modern = gateway.modern("tools/call", Some("x_u_t"), &call("x_u_t", "{}"));
        assert_eq!(member(&modern.answer(), "error"), ERROR);
        let through = gateway.legacy(
            &session,
            "tools/call",
            &format!("{{{}}}", call("call_tool", r#"{"name":"x_u_t"}"#)),
        );
        assert_eq!(member(&through.answer(), "error"), ERROR);
    }
}

#[test]
fn i11_params_that_no_one_judges_reach_the_server_byte_for_byte() {
    let session = OLD.gateway.session();
    let (trace, span, state) = (
        "0af7651916cd43dd8448eb211c80319c",
        "b7ad6b7169203331",
        r#""a=1,\u0062=2""#,
    );
    let meta = format!(r#""vendor/key":{ODD},"traceparent":"00-{trace}-{span}-01","tracestate":{state}"#);
    let more = format!(r#""name":"x_u_odd","vendor":{ODD},"_meta":{{{meta}}}"#);
    OLD.gateway.legacy(&session, "tools/call", &format!("{{{more}}}"));
    let sent = OLD.upstream.wait("the call", |seen| {
        seen.method() == "tools/call" && seen.body.contains("vendor/key")
    });
    assert_eq!(sent.param(&["vendor"]), ODD);
    assert_eq!(sent.param(&["_meta", "vendor/key"]), ODD);
    assert_eq!(sent.param(&["_meta", "tracestate"]), state);
    // The gateway is a span of the caller's trace: of `traceparent` the parent alone is its own.
    let parent = sent.param(&["_meta", "traceparent"]);
    let own = parent
        .strip_prefix(&format!("\"00-{trace}-"))
        .and_then(|rest| rest.strip_suffix("-01\""))
        .unwrap_or_else(|| panic!("another trace: {parent}"));
    assert!(own.len() == 16 && own.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    assert_ne!(own, span);
}

#[test]
fn i11_pipes_carry_the_same_bytes_on_one_line() {
    let upstream = scripted(Era::Legacy);
    let folder = Folder::new(
        "surface: direct",
        &crate::gateway::catalogue(&[("u", upstream.address)]),
    );
    let mut pipe = Pipe::open(&folder);
    for (tool, wanted) in [("odd", result()), ("spaced", spaced())] {
        let line = crate::gateway::rpc(
            "5",
            "tools/call",
            &format!("{{{}}}", call(&format!("x_u_{tool}"), "{}")),
        );
        pipe.write(format!("{line}\n").as_bytes());
        let answer = pipe.answer_text();
        let flat = |text: &str| text.replace(['\n', '\r', '\t'], " ");
        assert_eq!(flat(&member(&answer, "result")), flat(&wanted));
    }
}
