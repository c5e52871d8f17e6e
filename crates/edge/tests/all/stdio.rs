//! One client over a pair of pipes.

use countersign_core::toolset::Selectors;
use countersign_edge::{Edge, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::gateway::{LIMIT, call, direct, engine, initialize, modern};
use super::upstream::{ODD, Upstream};

pub(crate) struct Client {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    serving: JoinHandle<()>,
}

impl Client {
    pub(crate) async fn start(settings: Settings, upstream: Option<&Upstream>) -> Self {
        Self::within(None, settings, upstream).await
    }

    pub(crate) async fn within(toolset: Option<&str>, settings: Settings, upstream: Option<&Upstream>) -> Self {
        let declared = toolset.map(|text| Selectors::parse_header([text]).expect("selectors"));
        let entries: Vec<_> = upstream.iter().map(|upstream| upstream.entry("s")).collect();
        let (engine, _) = engine(&entries).await;
        let ((input, stdin), (stdout, output)) = (duplex(1 << 20), duplex(1 << 20));
        let edge = Edge::new(engine, settings).with_toolset(declared);
        let serving = tokio::spawn(async move {
            edge.serve_stdio(stdin, stdout, CancellationToken::new())
                .await
                .expect("serves");
        });
        Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
            serving,
        }
    }

    pub(crate) async fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        input.write_all(format!("{line}\n").as_bytes()).await.expect("is read");
    }

    /// The next message that does not tell of a list: servers are listed while the pipe is open.
    pub(crate) async fn hear(&mut self) -> Value {
        loop {
            let line = tokio::time::timeout(LIMIT, self.output.next_line())
                .await
                .expect("in time")
                .expect("reads");
            let message: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            if !is_list_change(&message) {
                return message;
            }
        }
    }

    pub(crate) async fn ask(&mut self, line: &str) -> Value {
        self.say(line).await;
        self.hear().await
    }

    pub(crate) async fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = Vec::new();
        while let Some(line) = tokio::time::timeout(LIMIT, self.output.next_line())
            .await
            .expect("in time")
            .expect("reads")
        {
            rest.push(serde_json::from_str(&line).expect("JSON"));
        }
        rest.retain(|message| !is_list_change(message));
        tokio::time::timeout(LIMIT, self.serving)
            .await
            .expect("ends in time")
            .expect("ends well");
        rest
    }
}

#[tokio::test]
async fn both_eras_share_one_pipe() {
    let mut client = Client::start(direct(), None).await;
    let modern_list = client.ask(&modern("tools/list", "")).await;
    assert_eq!(
        (&modern_list["id"], &modern_list["result"]["resultType"]),
        (&json!("m-1"), &json!("complete"))
    );
    let early = client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(early["error"]["code"], -32600);
    let opened = client.ask(&initialize("2025-06-18", "{}")).await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    client
        .say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let list = client.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
    assert!(list["result"]["tools"].is_array() && list["result"].get("resultType").is_none());
    assert_eq!(client.ask(&modern("ping", "")).await["error"]["code"], -32601);
    assert_eq!(
        client.ask(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#).await["result"],
        json!({})
    );
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn garbage_is_answered_and_breaks_nothing() {
    let mut client = Client::start(
        Settings {
            request_bytes: 1000,
            ..direct()
        },
        None,
    )
    .await;
    for garbage in ["hello", "{", r#"{"jsonrpc":"2.0","id":1,"method":"ping","id":2}"#, "[]"] {
        let answer = client.ask(garbage).await;
        assert!(answer["error"]["code"].is_i64(), "{garbage} {answer}");
    }
    assert_eq!(
        client.ask("nonsense").await,
        json!({"jsonrpc":"2.0","id":null,"error":client_error(&client.ask("nonsense").await)})
    );
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"{}"}}}}"#,
        "a".repeat(100_000)
    );
    assert!(
        client.ask(&long).await["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("request_bytes"))
    );
    client.say("").await;
    assert!(client.ask(&initialize("2025-11-25", "{}")).await["result"].is_object());
    assert!(client.end().await.is_empty());
}

async fn line_of(client: &mut Client, part: &str) -> String {
    loop {
        let line = client.output.next_line().await.expect("reads").expect("a line");
        if line.contains(part) {
            return line;
        }
    }
}

fn is_list_change(message: &Value) -> bool {
    message["method"]
        .as_str()
        .is_some_and(|method| method.ends_with("/list_changed"))
}

fn client_error(answer: &Value) -> Value {
    assert_eq!(answer["error"]["code"], -32700);
    answer["error"].clone()
}

#[tokio::test]
async fn answers_under_way_are_given_before_the_end() {
    let upstream = Upstream::start().await;
    let mut client = Client::start(direct(), Some(&upstream)).await;
    client.ask(&initialize("2025-11-25", "{}")).await;
    client.say(&call("1", "x_s_echo", "{}")).await;
    let rest = client.end().await;
    assert!(
        rest.iter()
            .any(|answer| answer["id"] == 1 && answer["result"].is_object()),
        "{rest:?}"
    );
}

#[tokio::test]
async fn messages_are_one_line_each_and_come_before_the_answer() {
    let upstream = Upstream::start().await;
    let mut client = Client::start(direct(), Some(&upstream)).await;
    client.ask(&initialize("2025-11-25", r#"{"sampling":{}}"#)).await;
    client.say(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x_s_progress","_meta":{"progressToken":"p"}}}"#).await;
    assert_eq!(client.hear().await["params"]["progressToken"], "p");
    assert_eq!(client.hear().await["id"], 4);
    client.say(&call("5", "x_s_ask", "{}")).await;
    let asked = client.hear().await;
    client
        .say(&json!({"jsonrpc":"2.0","id":asked["id"],"result":{"role":"assistant"}}).to_string())
        .await;
    assert_eq!(client.hear().await["id"], 5);
    // The upstream writes line ends between its tokens here.
    client.say(&call("6", "x_s_odd", "{}")).await;
    let line = tokio::time::timeout(LIMIT, line_of(&mut client, "novel"))
        .await
        .expect("in time");
    assert_eq!(
        line,
        format!(r#"{{"jsonrpc":"2.0","id":6,"result":{}}}"#, ODD.replace('\n', " "))
    );
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn b020_cancel_is_not_queued_behind_the_call() {
    let upstream = Upstream::start().await;
    for body in [
        call("101", "x_s_wait", "{}"),
        modern("tools/call", r#""name":"x_s_wait""#).replace("\"m-1\"", "101"),
    ] {
        let mut client = Client::start(direct(), Some(&upstream)).await;
        client.ask(&initialize("2025-11-25", "{}")).await;
        client.say(&body).await;
        upstream.received(|message| message["params"]["name"] == "wait").await;
        client
            .say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":101}}"#)
            .await;
        upstream
            .received(|message| message["method"] == "notifications/cancelled")
            .await;
        assert_eq!(client.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).await["id"], 7);
        assert!(client.end().await.is_empty());
    }
}
