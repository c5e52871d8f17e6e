//! The server over stdio: one JSON-RPC message a line.

use std::sync::Arc;

use bench_common::proto::{self, Era, Message, code};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    sync::mpsc,
};

use crate::{
    CommonArgs,
    handler::{Handler, Parts, Reply},
};

pub(crate) async fn serve(args: CommonArgs) -> anyhow::Result<()> {
    let handler = Arc::new(args.handler(0));
    let (tx, mut rx) = mpsc::unbounded_channel::<Parts>();

    let writer = tokio::spawn(async move {
        let mut out = tokio::io::stdout();
        let mut buf = Vec::with_capacity(64 * 1024);
        while let Some(first) = rx.recv().await {
            buf.clear();
            let mut next = Some(first);
            // One write for everything that is ready.
            while let Some(parts) = next {
                for part in &parts.0 {
                    buf.extend_from_slice(part);
                }
                buf.push(b'\n');
                next = if buf.len() < 1 << 20 { rx.try_recv().ok() } else { None };
            }
            out.write_all(&buf).await?;
            out.flush().await?;
        }
        Ok::<_, std::io::Error>(())
    });

    let mut input = BufReader::with_capacity(64 * 1024, tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).await? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let reply = answer(&handler, &line);
        let Some(message) = reply.message else {
            continue;
        };
        if reply.delay.is_zero() {
            let _ = tx.send(message);
        } else {
            let tx = tx.clone();
            tokio::spawn(async move {
                tokio::time::sleep(reply.delay).await;
                let _ = tx.send(message);
            });
        }
    }
    drop(tx);
    writer.await??;
    Ok(())
}

fn answer(handler: &Handler, line: &[u8]) -> Reply {
    let Ok(msg) = serde_json::from_slice::<Message<'_>>(line) else {
        return Reply::error(400, None, code::PARSE, "Parse error");
    };
    // On stdio the version is only in the body. An `initialize` and everything
    // without a declared version belong to the handshake revisions.
    let era = match msg.method.as_deref() {
        Some("initialize") | None => Era::Legacy,
        Some(_) => Handler::era(proto::meta_version(msg.params).as_deref()),
    };
    handler.handle(&msg, era)
}
