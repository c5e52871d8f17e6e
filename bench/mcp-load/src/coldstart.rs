//! Time from starting a process to its first whole tools/list.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;

use crate::{
    ColdstartArgs,
    client::{Session, Target},
    run::list_all,
};

const POLL: Duration = Duration::from_millis(2);

#[derive(Serialize)]
struct Report<'a> {
    mode: &'a str,
    url: &'a str,
    runs_ms: Vec<f64>,
    median_ms: f64,
    tools: usize,
}

pub(crate) async fn run(args: ColdstartArgs) -> Result<()> {
    let target = Target::new(&args.target)?;
    if Session::open(&target).await.is_ok() {
        bail!("something already answers at {}", args.target.url);
    }
    let mut runs_ms = Vec::new();
    let mut tools = 0;
    for _ in 0..args.runs {
        let (elapsed, n) = once(&args, &target).await?;
        runs_ms.push((elapsed.as_secs_f64() * 1e5).round() / 100.0);
        tools = n;
    }
    let mut sorted = runs_ms.clone();
    sorted.sort_by(f64::total_cmp);
    let report = Report {
        mode: "coldstart",
        url: &args.target.url,
        median_ms: sorted[sorted.len() / 2],
        runs_ms,
        tools,
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

async fn once(args: &ColdstartArgs, target: &Target) -> Result<(Duration, usize)> {
    let output = || -> Result<Stdio> {
        Ok(match &args.log {
            Some(path) => std::fs::OpenOptions::new().create(true).append(true).open(path)?.into(),
            None => Stdio::null(),
        })
    };
    let start = Instant::now();
    let child = Command::new(&args.command[0])
        .args(&args.command[1..])
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(output()?)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", args.command[0]))?;
    let mut group = Group(child);
    let give_up = start + Duration::from_secs_f64(args.give_up);
    loop {
        let last = match attempt(target, args.min_tools).await {
            Ok(tools) => return Ok((start.elapsed(), tools)),
            Err(e) => e,
        };
        if let Some(status) = group.0.try_wait()? {
            return Err(last.context(format!("the server stopped: {status}")));
        }
        if Instant::now() >= give_up {
            return Err(last.context("not ready in time"));
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn attempt(target: &Target, min_tools: usize) -> Result<usize> {
    let mut session = Session::open(target).await?;
    let tools = list_all(&mut session).await?.tools.unwrap_or_default();
    if tools < min_tools {
        bail!("only {tools} tools");
    }
    Ok(tools)
}

/// A child that leads its own process group; the group ends with this value.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) else {
            return;
        };
        // The child has not been reaped, so its id cannot have been reused. A group that is gone needs no signal.
        let _ = kill_process_group(group, Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(3);
        while Instant::now() < deadline {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
}
