//! Sessions and waiting calls that are opened and then left alone, so that their memory can be read.

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use tokio::io::AsyncReadExt as _;

use crate::{
    HoldArgs,
    client::{Session, Target, clip},
};

#[derive(Serialize)]
struct Report<'a> {
    mode: &'a str,
    held: usize,
}

/// Opens them, reports on one line, and holds them until standard input ends.
pub(crate) async fn run(args: HoldArgs) -> Result<()> {
    let held = match &args.ask {
        Some(tool) => ask(&args, tool).await?,
        None => open(&args).await?,
    };
    let report = Report {
        mode: "hold",
        held: args.count,
    };
    println!("{}", serde_json::to_string(&report)?);
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    drop(held);
    Ok(())
}

async fn open(args: &HoldArgs) -> Result<Vec<Session>> {
    let target = Target::new(&args.target)?;
    let mut held = Vec::new();
    for number in 0..args.count {
        let session = Session::open(&target)
            .await
            .with_context(|| format!("session {number}"))?;
        if args.connected {
            held.push(session);
        }
    }
    Ok(held)
}

async fn ask(args: &HoldArgs, tool: &str) -> Result<Vec<Session>> {
    let mut session = Session::open(&Target::with_elicitation(&args.target)?).await?;
    let params = serde_json::json!({ "name": tool, "arguments": {} }).to_string();
    for number in 0..args.count {
        let answer = session
            .rpc("tools/call", Some(tool), &params)
            .await
            .with_context(|| format!("call {number}"))?;
        let result = answer.result()?;
        if !result.contains("\"input_required\"") {
            bail!("call {number} does not wait: {}", clip(result));
        }
    }
    Ok(vec![session])
}
