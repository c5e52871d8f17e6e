//! What the gateway publishes of its own tools: words, schemas and hints, as one table.

use super::CoreTool;

/// The published parts of one core tool; schemas are JSON texts.
pub(super) struct Text {
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) input: &'static str,
    pub(super) output: &'static str,
    pub(super) hints: &'static str,
}

/// It changes nothing.
const READS: &str = r#"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#;
/// It changes the state of one server and ends nothing.
const STARTS: &str = r#"{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#;
/// It ends connections, and calls that run on them.
const STOPS: &str = r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}"#;
/// As stopping, and a second time does it again.
const RESTARTS: &str = r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}"#;

/// It gives back what lets the gateway act for its caller; a second time there is nothing to give back.
const SIGNS_OUT: &str = r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}"#;

const NOTHING: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

const SERVER: &str = concat!(
    r#"{"type":"object","properties":{"server":{"type":"string","minLength":1,"#,
    r#""description":"Name of the server, as core_server_list shows it."}},"#,
    r#""required":["server"],"additionalProperties":false}"#
);

const LIMIT: &str = concat!(
    r#"{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":200,"default":50,"#,
    r#""description":"How many of the latest entries to return."}},"additionalProperties":false}"#
);

/// The members of one server, as the list and the single view show it.
macro_rules! server_members {
    () => {
        concat!(
            r#""name":{"type":"string"},"transport":{"type":"string","enum":["stdio","http","sse"]},"#,
            r#""state":{"type":"string"},"reason":{"type":"string"},"#,
            r#""tools":{"type":"integer","minimum":0},"resources":{"type":"integer","minimum":0},"#,
            r#""prompts":{"type":"integer","minimum":0},"#,
            r#""labels":{"type":"object","additionalProperties":{"type":"string"}},"#,
            r#""description":{"type":"string"},"shared":{"type":"boolean"},"protocol":{"type":"string"},"#,
            r#""family":{"type":"object","properties":{"name":{"type":"string"},"instance_arg":{"type":"string"}},"#,
            r#""required":["name","instance_arg"]}"#
        )
    };
}

macro_rules! server_required {
    () => {
        r#""required":["name","transport","state","tools","resources","prompts","shared"]"#
    };
}

/// The schema of one finding, without its braces.
macro_rules! finding_members {
    () => {
        concat!(
            r#""type":"object","properties":{"servers":{"type":"array","items":{"type":"string"}},"#,
            r#""family":{"type":"string"},"subject":{"type":"string"},"kind":{"type":"string"},"#,
            r#""what":{"type":"string"},"way_out":{"type":"string"}},"#,
            r#""required":["servers","kind","what","way_out"]"#
        )
    };
}

const SERVER_LIST: &str = concat!(
    r#"{"type":"object","properties":{"servers":{"type":"array","items":{"type":"object","properties":{"#,
    server_members!(),
    "},",
    server_required!(),
    r#"}},"findings":{"type":"array","items":{"#,
    finding_members!(),
    r#"}}},"required":["servers","findings"]}"#
);

const SERVER_VIEW: &str = concat!(
    r#"{"type":"object","properties":{"#,
    server_members!(),
    r#","findings":{"type":"array","items":{"#,
    finding_members!(),
    "}}},",
    server_required!(),
    "}"
);

const STATUS: &str = concat!(
    r#"{"type":"object","properties":{"name":{"type":"string"},"state":{"type":"string"},"#,
    r#""reason":{"type":"string"},"connections":{"type":"integer","minimum":0},"#,
    r#""last_error":{"type":"string"},"stderr":{"type":"array","items":{"type":"string"}},"#,
    r#""findings":{"type":"array","items":{"#,
    finding_members!(),
    r#"}}},"#,
    r#""required":["name","state","connections","stderr"]}"#
);

const STATE: &str = concat!(
    r#"{"type":"object","properties":{"name":{"type":"string"},"state":{"type":"string"}},"#,
    r#""required":["name","state"]}"#
);

const PAGE: &str = concat!(
    r#"{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":200,"default":50,"#,
    r#""description":"How many to return."},"offset":{"type":"integer","minimum":0,"default":0,"#,
    r#""description":"How many to pass over."}},"additionalProperties":false}"#
);

const WORKFLOW: &str = concat!(
    r#"{"type":"object","properties":{"workflow":{"type":"string","minLength":1,"#,
    r#""description":"Name of the workflow, as core_workflow_list shows it."}},"#,
    r#""required":["workflow"],"additionalProperties":false}"#
);

const ANY_WORKFLOW: &str = concat!(
    r#"{"type":"object","properties":{"workflow":{"type":"string","minLength":1,"#,
    r#""description":"Name of one workflow; without it all are validated."}},"additionalProperties":false}"#
);

const EXECUTIONS_ASKED: &str = concat!(
    r#"{"type":"object","properties":{"workflow":{"type":"string","minLength":1,"#,
    r#""description":"Only runs of this workflow."},"#,
    r#""status":{"type":"string","enum":["running","completed","failed","parked","interrupted"],"#,
    r#""description":"Only runs that stand so."},"#,
    r#""limit":{"type":"integer","minimum":1,"maximum":200,"default":50,"description":"How many to return."},"#,
    r#""offset":{"type":"integer","minimum":0,"default":0,"description":"How many to pass over."}},"#,
    r#""additionalProperties":false}"#
);

const EXECUTION_ASKED: &str = concat!(
    r#"{"type":"object","properties":{"execution_id":{"type":"string","minLength":1,"#,
    r#""description":"The id that the run answered with, or core_workflow_execution_list shows."}},"#,
    r#""required":["execution_id"],"additionalProperties":false}"#
);

/// The members of one workflow, as the list and the single view show it.
macro_rules! workflow_members {
    () => {
        concat!(
            r#""name":{"type":"string"},"tool":{"type":"string"},"description":{"type":"string"},"#,
            r#""labels":{"type":"object","additionalProperties":{"type":"string"}},"#,
            r#""effect":{"type":"string"},"read_only":{"type":"boolean"}"#
        )
    };
}

const WORKFLOW_LIST: &str = concat!(
    r#"{"type":"object","properties":{"total":{"type":"integer","minimum":0},"#,
    r#""workflows":{"type":"array","items":{"type":"object","properties":{"#,
    workflow_members!(),
    r#"},"required":["name","tool","effect","read_only"]}}},"required":["total","workflows"]}"#
);

const WORKFLOW_VIEW: &str = concat!(
    r#"{"type":"object","properties":{"#,
    workflow_members!(),
    r#","inputSchema":{"type":"object"},"steps":{"type":"array","items":{"type":"object"}},"#,
    r#""on_failure":{"type":"array","items":{"type":"object"}},"output":{},"timeout":{"type":"string"}},"#,
    r#""required":["name","tool","effect","read_only","steps"]}"#
);

const VALIDATION: &str = concat!(
    r#"{"type":"object","properties":{"valid":{"type":"boolean"},"#,
    r#""workflows":{"type":"array","items":{"type":"string"}},"#,
    r#""problems":{"type":"array","items":{"type":"object","properties":{"severity":{"type":"string"},"#,
    r#""workflow":{"type":"string"},"file":{"type":"string"},"line":{"type":"integer"},"column":{"type":"integer"},"#,
    r#""message":{"type":"string"},"help":{"type":"string"}},"required":["severity","message"]}}},"#,
    r#""required":["valid","workflows","problems"]}"#
);

/// The members of one run, as the list and the single view show it.
macro_rules! execution_members {
    () => {
        concat!(
            r#""execution_id":{"type":"string"},"workflow":{"type":"string"},"status":{"type":"string"},"#,
            r#""started_at":{"type":"integer"},"ended_at":{"type":"integer"},"error":{"type":"string"}"#
        )
    };
}

const EXECUTION_LIST: &str = concat!(
    r#"{"type":"object","properties":{"total":{"type":"integer","minimum":0},"#,
    r#""executions":{"type":"array","items":{"type":"object","properties":{"#,
    execution_members!(),
    r#"},"required":["execution_id","workflow","status","started_at"]}}},"required":["total","executions"]}"#
);

const EXECUTION_VIEW: &str = concat!(
    r#"{"type":"object","properties":{"#,
    execution_members!(),
    r#","input":{},"output":{},"steps":{"type":"array","items":{"type":"object"}}},"#,
    r#""required":["execution_id","workflow","status","started_at","steps"]}"#
);

const CONFIGURATION: &str = concat!(
    r#"{"type":"object","properties":{"hash":{"type":"string"},"configuration":{"type":"object"}},"#,
    r#""required":["hash","configuration"]}"#
);

const EVENTS: &str = concat!(
    r#"{"type":"object","properties":{"events":{"type":"array","items":{"type":"object"}}},"#,
    r#""required":["events"]}"#
);

const SIGN_IN: &str = concat!(
    r#"{"type":"object","properties":{"status":{"type":"string","enum":["auth_required","signed_in"]},"#,
    r#""server":{"type":"string"},"auth_url":{"type":"string","format":"uri","#,
    r#""description":"Where the person signs in; there while it is needed."}},"#,
    r#""required":["status","server"]}"#
);

const SIGN_OUT: &str = concat!(
    r#"{"type":"object","properties":{"status":{"type":"string","enum":["signed_out","not_signed_in"]},"#,
    r#""server":{"type":"string"}},"required":["status","server"]}"#
);

/// The texts of one core tool.
#[expect(clippy::too_many_lines, reason = "a table with a row for each tool")]
pub(super) fn of(tool: CoreTool) -> Text {
    match tool {
        CoreTool::ServerList => text(
            "List servers",
            "List the upstream servers of this gateway: transport, state, how many tools, resources and \
             prompts each offers, and what is wrong with their definitions.",
            (NOTHING, SERVER_LIST, READS),
        ),
        CoreTool::ServerGet => text(
            "Get a server",
            "Show one upstream server in detail. Values that came from a secret are masked.",
            (SERVER, SERVER_VIEW, READS),
        ),
        CoreTool::ServerStatus => text(
            "Server status",
            "Show whether one upstream server runs, its open connections, its last error and the end of \
             its error output.",
            (SERVER, STATUS, READS),
        ),
        CoreTool::ServerStart => text(
            "Start a server",
            "Start an upstream server that is stopped or has not started yet.",
            (SERVER, STATE, STARTS),
        ),
        CoreTool::ServerStop => text(
            "Stop a server",
            "Stop an upstream server. Its connections are closed and its tools are no longer offered \
             until it is started again.",
            (SERVER, STATE, STOPS),
        ),
        CoreTool::ServerRestart => text(
            "Restart a server",
            "Restart an upstream server. Its connections are closed and its tools are listed anew.",
            (SERVER, STATE, RESTARTS),
        ),
        CoreTool::WorkflowList => text(
            "List workflows",
            "List the workflows that can be run: chains of tools, each offered as a tool `workflow_<name>`.",
            (PAGE, WORKFLOW_LIST, READS),
        ),
        CoreTool::WorkflowGet => text(
            "Get a workflow",
            "Show one workflow: what it takes, its steps, conditions and expressions, and what it does after a \
             failure.",
            (WORKFLOW, WORKFLOW_VIEW, READS),
        ),
        CoreTool::WorkflowValidate => text(
            "Validate workflows",
            "Report everything that is wrong with the workflows at once: files that are set aside, and tools that \
             no server publishes now. Nothing is run.",
            (ANY_WORKFLOW, VALIDATION, READS),
        ),
        CoreTool::ExecutionList => text(
            "List runs of workflows",
            "List your own runs of workflows, the latest first. They are kept for 21 days.",
            (EXECUTIONS_ASKED, EXECUTION_LIST, READS),
        ),
        CoreTool::ExecutionGet => text(
            "Get a run of a workflow",
            "Show one of your own runs of a workflow: its input without credentials, its steps, and what it answered.",
            (EXECUTION_ASKED, EXECUTION_VIEW, READS),
        ),
        CoreTool::ConfigGet => text(
            "Get the configuration",
            "Show the configuration that is in force and its hash. Secrets are masked.",
            (NOTHING, CONFIGURATION, READS),
        ),
        CoreTool::Events => text(
            "Recent events",
            "Show the latest entries of the trail: what was asked, what was decided and what became of it.",
            (LIMIT, EVENTS, READS),
        ),
        CoreTool::AuthLogin => text(
            "Sign in to a server",
            "Get the link by which the person you act for signs in to an upstream server that asks for it. Show them the link as it is; it works once, within ten minutes. The server's tools are listed when they are done.",
            (SERVER, SIGN_IN, READS),
        ),
        CoreTool::AuthLogout => text(
            "Sign out of a server",
            "Give up the sign-in to an upstream server of the person you act for. Its tools are no longer listed for them until they sign in again.",
            (SERVER, SIGN_OUT, SIGNS_OUT),
        ),
    }
}

fn text(
    title: &'static str,
    description: &'static str,
    (input, output, hints): (&'static str, &'static str, &'static str),
) -> Text {
    Text {
        title,
        description,
        input,
        output,
        hints,
    }
}
