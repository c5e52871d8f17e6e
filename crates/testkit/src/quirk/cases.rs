//! What the quirk server publishes and answers, written out byte for byte: never reformat these texts.

/// A tool: its definition as listed and the result of a call.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) definition: &'static str,
    pub(super) answer: Answer,
}

/// How a call of a tool ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// Members of a complete result; the era decides whether `resultType` precedes them.
    Members(&'static str),
    /// A whole result, of the modern era only.
    Modern(&'static str),
    /// A whole error object.
    Error(&'static str),
    /// `structuredContent` is the `params` of the request, as received.
    Echo,
    /// `structuredContent` holds the MCP headers of the request.
    Headers,
    /// Never answers.
    Hang,
    /// `structuredContent` counts the calls that were given up by the client.
    Cancels,
}

use Answer::{Cancels, Echo, Error, Hang, Headers, Members, Modern};

pub(super) const TOOLS: &[Case] = &[
    Case {
        definition: r#"{"zFirst":[3,2,1],"name":"unknown_keys","title":"Unknown keys","description":"Keys that no revision knows\nSecond line","icons":[{"src":"https://example.org/i.png","mimeType":"image/png","sizes":["48x48"],"theme":"dark","futureIcon":{"b":1,"a":2}}],"inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"object","x-out":1.50},"annotations":{"title":"Shown","readOnlyHint":true,"futureHint":"later"},"execution":{"taskSupport":"optional","futureExecution":1},"_meta":{"vendor.example/z":1,"vendor.example/a":{"n":9007199254740993}},"futureTool":{"b":1,"a":2}}"#,
        answer: Members(
            r#""zFuture":{"b":1,"a":2},"content":[{"type":"text","text":"x","futureBlock":1,"annotations":{"audience":["user"],"priority":0.70,"futureNote":null}},{"type":"resource_link","uri":"quirk://link","name":"l","futureLink":[],"size":9007199254740993}],"structuredContent":{"ok":true},"_meta":{"vendor.example/z":1,"vendor.example/a":2}"#,
        ),
    },
    Case {
        definition: r#"{"name":"schema_keywords","description":"Keywords inside schemas","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","x-vendor":{"z":1,"a":2},"$defs":{"zeta":{"type":"integer","maximum":12345678901234567890123},"alpha":{"enum":["z","a",1.0,1e2,-0]}},"properties":{"zeta":{"$ref":"\u0023/$defs/zeta"},"alpha":{"$ref":"\u0023/$defs/alpha","x-order":2}},"allOf":[{"if":{"required":["zeta"]},"then":{"required":["alpha"]}}],"additionalProperties":false}}"#,
        answer: Members(r#""content":[]"#),
    },
    Case {
        definition: r#"{"name":"unknown_content","inputSchema":{"type":"object"}}"#,
        answer: Members(
            r#""content":[{"type":"hologram","z":{"deep":[1,{"b":1,"a":2}]},"a":"x"},{"type":"text","text":"after"}]"#,
        ),
    },
    Case {
        definition: r#"{"name":"structured_array","inputSchema":{"type":"object"}}"#,
        answer: Members(r#""content":[{"type":"text","text":"[1]"}],"structuredContent":[1,{"b":1,"a":2},null]"#),
    },
    Case {
        definition: r#"{"name":"structured_null","inputSchema":{"type":"object"}}"#,
        answer: Members(r#""content":[{"type":"text","text":"null"}],"structuredContent":null"#),
    },
    Case {
        definition: r#"{"name":"numbers","inputSchema":{"type":"object"}}"#,
        answer: Members(
            r#""content":[],"structuredContent":{"big":9007199254740993,"huge":12345678901234567890123,"over":1e400,"tiny":1E-400,"negativeZero":-0,"one":1.0,"exponent":1E+2,"long":0.1000000000000000055511151231257827}"#,
        ),
    },
    Case {
        definition: r#"{"name":"order_and_space","inputSchema":{"type":"object"}}"#,
        answer: Members(
            "\"structuredContent\":{ \"z\" : 1,\t\"a\":{\"y\":1 , \"b\":2}, \"m\":[ 1,2 ] } , \"content\":[ ]",
        ),
    },
    Case {
        definition: r#"{"name":"escapes","inputSchema":{"type":"object"}}"#,
        answer: Members(
            r#""content":[{"type":"text","text":"\u0000\u001f\u007f \ud83d\ude00 😀 \/ \u00e9 é \u2028 \\u0041"}],"structuredContent":{"\u0061":"\u0041","k\u0000":1}"#,
        ),
    },
    Case {
        definition: r#"{"name":"lone_surrogate","inputSchema":{"type":"object"}}"#,
        answer: Members(r#""content":[{"type":"text","text":"\ud800 alone"}]"#),
    },
    Case {
        definition: r#"{"name":"embedded_annotations","inputSchema":{"type":"object"}}"#,
        answer: Members(
            r#""content":[{"type":"resource","resource":{"uri":"quirk://r","mimeType":"text/plain","text":"t","annotations":{"priority":0.7,"audience":["user","assistant"]},"futureContents":1},"futureBlock":2},{"type":"image","data":"AA==","mimeType":"image/png","futureImage":3},{"type":"audio","data":"AA==","mimeType":"audio/wav","futureAudio":4}]"#,
        ),
    },
    Case {
        definition: r#"{"name":"is_error","inputSchema":{"type":"object"}}"#,
        answer: Members(
            r#""isError":true,"content":[{"type":"text","text":"failed"}],"structuredContent":{"reason":{"z":1,"a":2}}"#,
        ),
    },
    Case {
        definition: r#"{"name":"no_content","inputSchema":{"type":"object"}}"#,
        answer: Members(r#""structuredContent":{"only":"this"}"#),
    },
    Case {
        definition: r#"{"name":"error_data","inputSchema":{"type":"object"}}"#,
        answer: Error(
            r#"{"code":-31999,"message":"quirk \u0041","data":{"z":1,"a":9007199254740993},"futureErrorMember":{"b":1,"a":2}}"#,
        ),
    },
    Case {
        definition: r#"{"name":"unknown_result_type","inputSchema":{"type":"object"}}"#,
        answer: Modern(r#"{"resultType":"deferred","z":1,"a":{"b":1,"a":2}}"#),
    },
    Case {
        definition: r#"{"name":"task_extra","inputSchema":{"type":"object"}}"#,
        answer: Modern(
            r#"{"resultType":"task","taskId":"quirk \u0041","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":null,"zFuture":{"b":1,"a":9007199254740993}}"#,
        ),
    },
    Case {
        definition: r#"{"name":"input_required_unknown","inputSchema":{"type":"object"}}"#,
        answer: Modern(
            r#"{"resultType":"input_required","inputRequests":{"z":{"method":"hologram/create","params":{"b":1,"a":2}}},"requestState":"opaque \u0041","futureMember":1}"#,
        ),
    },
    Case {
        definition: r#"{"name":"echo","description":"Shows what the server received","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
        answer: Echo,
    },
    Case {
        definition: r#"{"name":"headers","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}},"annotations":{"readOnlyHint":true}}"#,
        answer: Headers,
    },
    Case {
        definition: r#"{"name":"hang","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
        answer: Hang,
    },
    Case {
        definition: r#"{"name":"cancels","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
        answer: Cancels,
    },
];

pub(super) const RESOURCES: &str = r#""resources":[{"zFuture":1,"uri":"quirk://text","name":"text","title":"T","size":9007199254740993,"annotations":{"priority":1.0,"future":1},"icons":[{"src":"data:,","future":1}],"_meta":{"vendor.example/z":1,"vendor.example/a":2}},{"uri":"quirk://blob","name":"blob","mimeType":"application/octet-stream"}]"#;
pub(super) const TEMPLATES: &str =
    r#""resourceTemplates":[{"uriTemplate":"quirk://item/{id}","name":"item","zFuture":{"b":1,"a":2}}]"#;
pub(super) const PROMPTS: &str = r#""prompts":[{"zFuture":{"b":1,"a":2},"name":"quirky","title":"P","description":"d","arguments":[{"name":"z","required":false,"futureArgument":1}],"icons":[{"src":"data:,","future":1}],"_meta":{"vendor.example/a":1}}]"#;
pub(super) const PROMPT: &str = r#""zFuture":1,"description":"d","messages":[{"role":"user","content":{"type":"text","text":"\u0041","future":1.0},"futureMessage":2},{"role":"assistant","content":{"type":"hologram","b":1,"a":2}}]"#;

/// The contents of a resource; `None`: there is none at this URI.
pub(super) fn contents(uri: &str) -> Option<&'static str> {
    match uri {
        "quirk://text" => Some(
            r#""zFuture":1,"contents":[{"uri":"quirk://text","text":"\u0041 😀","future":{"b":1,"a":2},"annotations":{"priority":0.10}}]"#,
        ),
        "quirk://blob" => Some(
            r#""contents":[{"blob":"AAEC","uri":"quirk://blob","mimeType":"application/octet-stream","_meta":{"z":1,"a":2}}]"#,
        ),
        "quirk://item/7" => Some(r#""contents":[{"uri":"quirk://item/7","text":"seven","future":7.0}]"#),
        _ => None,
    }
}
