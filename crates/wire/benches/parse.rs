//! Parsing: the envelope of a request, and an answer of an upstream.

use countersign_wire::object::Object;
use countersign_wire::rpc;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"x_billing_echo","arguments":{"message":"hello"},"_meta":{"progressToken":3}}}"#;

#[divan::bench]
fn envelope_of_a_call() -> bool {
    rpc::parse(black_box(CALL.as_bytes())).is_ok()
}

#[divan::bench]
fn envelope_of_a_call_with_64_kib(bencher: Bencher<'_, '_>) {
    let text = "lorem ipsum ".repeat(5461);
    let call = CALL.replace("hello", &text);
    bencher.bench(|| rpc::parse(black_box(call.as_bytes())).is_ok());
}

fn answer(text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":17,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#)
}

#[divan::bench]
fn answer_of_an_upstream(bencher: Bencher<'_, '_>) {
    let answer = answer("hello");
    bencher.bench(|| rpc::parse(black_box(answer.as_bytes())).is_ok());
}

#[divan::bench]
fn answer_of_an_upstream_with_64_kib(bencher: Bencher<'_, '_>) {
    let answer = answer(&"lorem ipsum ".repeat(5461));
    bencher.bench(|| rpc::parse(black_box(answer.as_bytes())).is_ok());
}

#[divan::bench]
fn members_of_a_result(bencher: Bencher<'_, '_>) {
    let answer = answer("hello");
    bencher.bench(|| Object::parse(black_box(&answer)).is_ok());
}
