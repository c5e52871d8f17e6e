//! The closed loops behind `call`, `list` and `init`.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
use bench_common::latency::{Recorder, Summary};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

use crate::{
    CallArgs, Expect, LoadArgs,
    client::{Session, Target, parse_page},
    cpu,
};

#[derive(Serialize)]
struct Report<'a> {
    mode: &'a str,
    url: &'a str,
    protocol: &'a str,
    concurrency: usize,
    warmup_s: f64,
    duration_s: f64,
    requests: u64,
    errors: u64,
    error_samples: BTreeMap<String, u64>,
    connects: u64,
    rps: f64,
    latency: Summary,
    /// HTTP body bytes of one good answer, on average.
    bytes_per_answer: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    /// Processor time of the processes of `--cpu-of`, from the end of the warm-up to the last answer.
    cpu_us: f64,
}

/// What one measured operation yields.
pub(crate) struct Op {
    latency: Duration,
    bytes: usize,
    pub(crate) tools: Option<usize>,
}

#[derive(Default)]
struct Tally {
    recorder: Recorder,
    errors: u64,
    samples: BTreeMap<String, u64>,
    bytes: u64,
    tools: Option<usize>,
    connects: u64,
    /// Good answers that arrived between the start and the end of the run,
    /// those asked for during the warm-up included.
    completed: u64,
    last_end: Option<Instant>,
}

impl Tally {
    fn error(&mut self, e: &anyhow::Error) {
        self.errors += 1;
        let text = format!("{e:#}");
        if self.samples.len() < 5 || self.samples.contains_key(&text) {
            *self.samples.entry(text).or_default() += 1;
        }
    }

    fn merge(&mut self, other: Tally) {
        self.recorder.merge(&other.recorder);
        self.errors += other.errors;
        for (k, v) in other.samples {
            *self.samples.entry(k).or_default() += v;
        }
        self.bytes += other.bytes;
        self.tools = other.tools.or(self.tools);
        self.connects += other.connects;
        self.completed += other.completed;
        self.last_end = self.last_end.max(other.last_end);
    }
}

/// Shared stop rule: a deadline, or a number of measured operations.
struct Limits {
    barrier: Barrier,
    warmup: Duration,
    duration: Duration,
    budget: Option<AtomicU64>,
}

impl Limits {
    fn new(load: &LoadArgs) -> Arc<Self> {
        Arc::new(Self {
            // One more than the sessions: who reads the processor time starts with them.
            barrier: Barrier::new(load.concurrency + 1),
            warmup: Duration::from_secs_f64(load.warmup),
            duration: Duration::from_secs_f64(load.duration),
            budget: (load.requests > 0).then(|| AtomicU64::new(load.requests)),
        })
    }

    fn take(&self) -> bool {
        self.budget.as_ref().is_none_or(|b| {
            b.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .is_ok()
        })
    }
}

/// Errors in a row after which a session gives up: the server is gone.
const MAX_ERRORS_IN_A_ROW: u32 = 50;

/// What every session repeats.
trait Operation: Send + Sync + 'static {
    /// Sends the first requests of a session, before anything is measured.
    fn prepare(&self, session: &mut Session) -> impl Future<Output = Result<()>> + Send;
    /// Does one measured operation; leaves the session usable after an error.
    fn run(&self, target: &Target, session: &mut Session) -> impl Future<Output = Result<Op>> + Send;
}

/// Opens `concurrency` sessions, runs the operation in each and reports.
async fn load<O: Operation>(mode: &str, args: &LoadArgs, operation: O) -> Result<()> {
    let target = Target::new(&args.target)?;
    let operation = Arc::new(operation);
    let limits = Limits::new(args);
    let tasks: Vec<_> = (0..args.concurrency)
        .map(|_| {
            let (target, operation, limits) = (target.clone(), operation.clone(), limits.clone());
            tokio::spawn(async move { drive(&target, &*operation, &limits).await })
        })
        .collect();
    limits.barrier.wait().await;
    tokio::time::sleep(limits.warmup).await;
    let before = cpu::micros(&args.cpu_of);
    let mut parts = Vec::with_capacity(tasks.len());
    for task in tasks {
        parts.push(task.await?);
    }
    report(mode, args, parts, cpu::micros(&args.cpu_of) - before)
}

/// Runs one session; returns its tally and when measuring started.
async fn drive<O: Operation>(target: &Target, operation: &O, limits: &Limits) -> (Tally, Instant) {
    let opened = async {
        let mut session = Session::open(target).await?;
        operation.prepare(&mut session).await?;
        Ok::<_, anyhow::Error>(session)
    }
    .await;
    limits.barrier.wait().await;
    let start = Instant::now() + limits.warmup;
    let end = start + limits.duration;
    let mut tally = Tally::default();
    let mut session = match opened {
        Ok(s) => s,
        Err(e) => {
            tally.error(&e.context("session set-up"));
            return (tally, start);
        }
    };
    let mut errors_in_a_row = 0;
    loop {
        let now = Instant::now();
        // Even when one answer takes longer than the run, count one.
        if now >= end && tally.last_end.is_some() {
            break;
        }
        let measured = now >= start;
        if measured && !limits.take() {
            break;
        }
        let outcome = operation.run(target, &mut session).await;
        errors_in_a_row = if outcome.is_ok() { 0 } else { errors_in_a_row + 1 };
        let done = Instant::now();
        if outcome.is_ok() && done >= start && done <= end {
            tally.completed += 1;
        }
        if measured {
            match outcome {
                Ok(op) => {
                    tally.recorder.record(op.latency);
                    tally.bytes += op.bytes as u64;
                    tally.tools = op.tools.or(tally.tools);
                }
                Err(e) => tally.error(&e),
            }
            tally.last_end = Some(done);
        }
        if errors_in_a_row >= MAX_ERRORS_IN_A_ROW {
            tally.error(&anyhow!("gave up after {errors_in_a_row} errors in a row"));
            break;
        }
    }
    tally.connects = session.connects;
    session.close().await;
    (tally, start)
}

fn report(mode: &str, load: &LoadArgs, parts: Vec<(Tally, Instant)>, cpu_us: f64) -> Result<()> {
    let mut total = Tally::default();
    let mut start: Option<Instant> = None;
    for (tally, s) in parts {
        start = Some(start.map_or(s, |t| t.min(s)));
        total.merge(tally);
    }
    let elapsed = match (start, total.last_end) {
        (Some(s), Some(e)) => e.saturating_duration_since(s).as_secs_f64(),
        _ => 0.0,
    };
    let latency = total.recorder.summary();
    // Answers within the window, unless the run ended early or none fell in it.
    let rps = if elapsed >= load.duration && total.completed > 0 {
        total.completed as f64 / load.duration
    } else {
        latency.count as f64 / elapsed.max(1e-9)
    };
    let round = |x: f64| (x * 1000.0).round() / 1000.0;
    let report = Report {
        mode,
        url: &load.target.url,
        protocol: &load.target.protocol,
        concurrency: load.concurrency,
        warmup_s: load.warmup,
        duration_s: round(elapsed),
        requests: latency.count,
        errors: total.errors,
        error_samples: total.samples,
        connects: total.connects,
        rps: round(rps),
        latency,
        bytes_per_answer: round(total.bytes as f64 / latency.count.max(1) as f64),
        tools: total.tools,
        cpu_us,
    };
    println!("{}", serde_json::to_string(&report)?);
    if report.requests == 0 {
        bail!("no request succeeded");
    }
    Ok(())
}

/// A prepared tools/call.
struct Call {
    name: String,
    params: String,
    message: Option<String>,
    expect: Expect,
}

impl Call {
    fn new(args: &CallArgs) -> Result<Self> {
        let mut inner: serde_json::Value = serde_json::from_str(&args.args).context("--args is not JSON")?;
        let message: String = ('a'..='z').cycle().take(args.payload).collect();
        let replaced = replace(&mut inner, &message);
        let (name, arguments) = match &args.meta_tool {
            None => (args.tool.clone(), inner),
            Some(meta) => {
                let mut outer: serde_json::Map<String, serde_json::Value> = match &args.meta_extra {
                    Some(extra) => serde_json::from_str(extra).context("--meta-extra is not a JSON object")?,
                    None => Default::default(),
                };
                outer.insert(args.meta_name.clone(), args.tool.clone().into());
                outer.insert(args.meta_args.clone(), inner);
                (meta.clone(), outer.into())
            }
        };
        Ok(Self {
            params: serde_json::json!({ "name": name, "arguments": arguments }).to_string(),
            name,
            message: replaced.then_some(message),
            expect: args.expect,
        })
    }

    fn check(&self, result: &str) -> Result<()> {
        #[derive(Deserialize)]
        struct CallResult<'a> {
            #[serde(borrow, default)]
            content: Vec<Content<'a>>,
            #[serde(default, rename = "isError")]
            is_error: bool,
        }
        #[derive(Deserialize)]
        struct Content<'a> {
            #[serde(borrow, default)]
            text: Option<Cow<'a, str>>,
        }
        let parsed: CallResult<'_> = serde_json::from_str(result).context("not a tools/call result")?;
        let text = parsed.content.first().and_then(|c| c.text.as_deref());
        if parsed.is_error {
            bail!("tool error {}", crate::client::clip(text.unwrap_or_default()));
        }
        let good = match (&self.message, self.expect) {
            (None, _) | (_, Expect::Any) => true,
            (Some(m), Expect::Equal) => text == Some(m),
            (Some(m), Expect::Contain) => result.contains(m.as_str()),
        };
        if !good {
            bail!("unexpected result {}", crate::client::clip(result));
        }
        Ok(())
    }
}

/// Puts the payload where "$MESSAGE" stands; tells whether it stood anywhere.
fn replace(value: &mut serde_json::Value, message: &str) -> bool {
    match value {
        serde_json::Value::String(s) if s == "$MESSAGE" => {
            *s = message.to_owned();
            true
        }
        serde_json::Value::Array(a) => a.iter_mut().fold(false, |f, v| replace(v, message) | f),
        serde_json::Value::Object(o) => o.values_mut().fold(false, |f, v| replace(v, message) | f),
        _ => false,
    }
}

/// Every page of tools/list as one operation.
pub(crate) async fn list_all(session: &mut Session) -> Result<Op> {
    let mut total = Op {
        latency: Duration::ZERO,
        bytes: 0,
        tools: Some(0),
    };
    let mut params = "{}".to_owned();
    loop {
        let answer = session.rpc("tools/list", None, &params).await?;
        total.latency += answer.latency;
        total.bytes += answer.wire_bytes;
        let page = parse_page(answer.result()?)?;
        total.tools = total.tools.map(|t| t + page.tools);
        match page.next {
            Some(cursor) => params = serde_json::json!({ "cursor": cursor }).to_string(),
            None => return Ok(total),
        }
    }
}

struct CallOperation {
    call: Call,
    list_first: bool,
}

impl Operation for CallOperation {
    async fn prepare(&self, session: &mut Session) -> Result<()> {
        if self.list_first {
            list_all(session).await.context("tools/list")?;
        }
        Ok(())
    }

    async fn run(&self, _: &Target, session: &mut Session) -> Result<Op> {
        let call = &self.call;
        let answer = session.rpc("tools/call", Some(&call.name), &call.params).await?;
        call.check(answer.result()?)?;
        Ok(Op {
            latency: answer.latency,
            bytes: answer.wire_bytes,
            tools: None,
        })
    }
}

struct ListOperation;

impl Operation for ListOperation {
    async fn prepare(&self, _: &mut Session) -> Result<()> {
        Ok(())
    }

    async fn run(&self, _: &Target, session: &mut Session) -> Result<Op> {
        list_all(session).await
    }
}

struct InitOperation;

impl Operation for InitOperation {
    async fn prepare(&self, _: &mut Session) -> Result<()> {
        Ok(())
    }

    async fn run(&self, target: &Target, _: &mut Session) -> Result<Op> {
        let start = Instant::now();
        let mut session = Session::open(target).await?;
        let op = list_all(&mut session).await?;
        let latency = start.elapsed();
        session.close().await;
        Ok(Op { latency, ..op })
    }
}

pub(crate) async fn call(args: CallArgs) -> Result<()> {
    let mode = if args.meta_tool.is_some() { "meta" } else { "call" };
    let operation = CallOperation {
        call: Call::new(&args)?,
        list_first: !args.no_list,
    };
    load(mode, &args.load, operation).await
}

pub(crate) async fn list(args: LoadArgs) -> Result<()> {
    load("list", &args, ListOperation).await
}

pub(crate) async fn init(args: LoadArgs) -> Result<()> {
    load("init", &args, InitOperation).await
}
