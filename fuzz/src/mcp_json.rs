//! The catalogue file and imported files: no panic, every problem in its place, no secret in any text.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use countersign_config::{Environment, Problem, Severity, import, load};
use countersign_core::exact::{self, Exact};
use miette::{JSONReportHandler, NarratableReportHandler};

/// What references of the targets' files stand for; it must appear nowhere.
const CANARY: &str = "zqcanary7x";

/// The laws of one file.
pub fn check(data: &[u8]) {
    loads_or_says_why(data);
    if let Ok(text) = std::str::from_utf8(data) {
        imports_or_says_why(text);
    }
}

fn environment() -> Environment {
    Environment::with_variables([
        ("TOKEN", "zqCanary7x"),
        ("URL", "https://zqcanary7x.example.com/zqcanary7x?key=zqcanary7x"),
        ("SECONDS", "90"),
        ("LINES", "zqcanary7x\r\nzqcanary7x"),
        ("EMPTY", ""),
    ])
    .with_files([("/run/canary", " zqcanary7x\n")])
}

fn loads_or_says_why(data: &[u8]) {
    let dir = folder();
    fs::write(dir.join("mcp.json"), data).expect("the folder can be written");
    let loaded = load(dir, &environment());
    let mut texts = Vec::new();
    match &loaded {
        Ok(config) => {
            for problem in &config.warnings {
                assert_eq!(problem.severity, Severity::Warning, "{problem}");
                is_in_place(data, problem);
                texts.extend(shown(problem));
            }
            assert!(
                config.servers.windows(2).all(|pair| pair[0].name < pair[1].name),
                "sorted, each once"
            );
            texts.push(config.shown.to_string());
            texts.push(format!("{config:?}"));
            texts.push(format!("{:?}", config.servers));
            let again = load(dir, &environment()).expect("it loaded before");
            assert_eq!(again.hash, config.hash);
        }
        Err(problems) => {
            assert!(problems.errors() > 0);
            for problem in problems {
                is_in_place(data, problem);
                texts.extend(shown(problem));
            }
        }
    }
    let is_ours = |text: &[u8]| String::from_utf8_lossy(text).to_lowercase().contains(CANARY);
    if !is_ours(data) {
        for text in texts {
            assert!(!is_ours(text.as_bytes()), "a secret is shown: {text}");
        }
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Err(exact::Error::DuplicateKey { .. }) = Exact::parse(text)
    {
        assert!(loaded.is_err(), "a key stands twice");
    }
}

/// Every form in which an operator sees a problem.
fn shown(problem: &Problem) -> [String; 5] {
    let (mut told, mut json) = (String::new(), String::new());
    NarratableReportHandler::new()
        .render_report(&mut told, problem)
        .expect("it can be told");
    JSONReportHandler::new()
        .render_report(&mut json, problem)
        .expect("it can be written");
    let help = problem.help.clone().unwrap_or_default();
    [problem.to_string(), format!("{problem:?}"), help, told, json]
}

/// A problem's line, column and bytes are those of the file.
fn is_in_place(data: &[u8], problem: &Problem) {
    assert!(!problem.what.is_empty());
    let Some(place) = &problem.place else { return };
    let text = std::str::from_utf8(data).expect("only text has places");
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let before = text.get(..place.span.start).expect("a place begins at a character");
    assert!(
        text.get(place.span.clone()).is_some(),
        "a place ends at a character: {problem}"
    );
    assert_eq!(place.line, before.matches('\n').count() + 1, "{problem}");
    let line = before.rsplit('\n').next().unwrap_or_default();
    assert_eq!(place.column, line.chars().count() + 1, "{problem}");
}

fn imports_or_says_why(text: &str) {
    let imported = match import(text, "mcp.json") {
        Ok(imported) => imported,
        Err(problem) => {
            is_in_place(text.as_bytes(), &problem);
            let has_one_reading = Exact::parse(text).is_ok();
            assert!(
                !has_one_reading
                    || problem.what.contains("holds no list of servers")
                    || problem.what.contains("nested"),
                "plain JSON is refused: {problem}"
            );
            return;
        }
    };
    Exact::object(&imported.mcp_json).expect("what is written has one reading");
    let again = import(&imported.mcp_json, "mcp.json").expect("what is written is read");
    assert_eq!(again.servers, imported.servers);
}

/// A folder of this process.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("countersign-fuzz-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder for the target");
        dir
    })
}
