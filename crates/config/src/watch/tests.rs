//! Edits of real files, waited for by what they lead to.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::{follow, watch};
use crate::environment::Environment;
use crate::folder::Files;
use crate::load::{Config, Loaded, Loader, evaluate, load};
use crate::problem::Problems;

const ONE: &str = r#"{"mcpServers": {"one": {"command": "a"}}}"#;
const TWO: &str = r#"{"mcpServers": {"one": {"command": "a"}, "two": {"command": "b"}}}"#;
const BROKEN: &str = r#"{"mcpServers": {"one": "#;

struct Watched {
    folder: TempDir,
    news: Receiver<Result<Config, Problems>>,
}

impl Watched {
    fn start(catalogue: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mcp.json"), catalogue).unwrap();
        let environment = Environment::with_variables::<&str, &str>([]);
        let applied = load(folder.path(), &environment).unwrap().hash;
        let news = watch(folder.path().to_owned(), environment, applied);
        Self { folder, news }
    }

    fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("mcp.json")
    }

    /// The next news; the time is a ceiling, not a measure.
    async fn next(&mut self) -> Result<Config, Problems> {
        timeout(Duration::from_secs(30), self.news.recv())
            .await
            .expect("news in time")
            .expect("a running watch")
    }
}

fn names(config: &Config) -> Vec<&str> {
    config.servers.iter().map(|server| server.name.as_str()).collect()
}

#[tokio::test]
async fn a_good_edit_is_sent_once() {
    let mut watched = Watched::start(ONE);
    watched.write(TWO);
    assert_eq!(names(&watched.next().await.unwrap()), ["one", "two"]);
    // The same bytes again are no news: the next that comes is the edit after them.
    watched.write(TWO);
    watched.write(ONE);
    assert_eq!(names(&watched.next().await.unwrap()), ["one"]);
}

#[tokio::test]
async fn a_broken_edit_is_sent_and_so_is_its_undoing() {
    let mut watched = Watched::start(ONE);
    watched.write(BROKEN);
    let problems = watched.next().await.unwrap_err();
    assert_eq!(problems.errors(), 1);
    watched.write(ONE);
    assert_eq!(names(&watched.next().await.unwrap()), ["one"]);
}

#[tokio::test]
async fn an_edit_that_keeps_size_and_time_is_found() {
    let mut watched = Watched::start(ONE);
    let before = fs::metadata(watched.path()).unwrap().modified().unwrap();
    let edited = ONE.replace("\"a\"", "\"z\"");
    watched.write(&edited);
    fs::File::options()
        .write(true)
        .open(watched.path())
        .unwrap()
        .set_modified(before)
        .unwrap();
    let config = watched.next().await.unwrap();
    assert!(format!("{config:?}").contains("String(\"z\")"), "{config:?}");
}

#[tokio::test]
async fn a_file_that_is_replaced_by_renaming_is_followed() {
    let mut watched = Watched::start(ONE);
    for (text, expected) in [(TWO, vec!["one", "two"]), (ONE, vec!["one"])] {
        let beside = watched.folder.path().join(".mcp.json.new");
        fs::write(&beside, text).unwrap();
        fs::rename(&beside, watched.path()).unwrap();
        assert_eq!(names(&watched.next().await.unwrap()), expected);
    }
}

#[tokio::test]
async fn a_referenced_file_that_changes_is_an_edit_of_its_server_only() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "first\n").unwrap();
    let catalogue = format!(
        r#"{{"mcpServers": {{"one": {{"command": "a"}}, "two": {{"command": "b", "env": {{"T": "${{file:{}}}"}}}}}}}}"#,
        token.display()
    );
    fs::write(folder.path().join("mcp.json"), catalogue).unwrap();
    let environment = Environment::process();
    let before = load(folder.path(), &environment).unwrap();
    let news = watch(folder.path().to_owned(), environment, before.hash);
    let mut watched = Watched { folder, news };
    fs::write(&token, "second\n").unwrap();
    let after = watched.next().await.unwrap();
    assert_eq!(before.servers[0].digest, after.servers[0].digest);
    assert_ne!(before.servers[1].digest, after.servers[1].digest);
    assert_ne!(before.hash, after.hash);
}

#[tokio::test]
async fn what_changed_between_loading_and_watching_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mcp.json"), ONE).unwrap();
    let environment = Environment::process();
    let applied = load(folder.path(), &environment).unwrap().hash;
    fs::write(folder.path().join("mcp.json"), TWO).unwrap();
    let news = watch(folder.path().to_owned(), environment, applied);
    let mut watched = Watched { folder, news };
    assert_eq!(names(&watched.next().await.unwrap()), ["one", "two"]);
}

#[tokio::test]
async fn a_folder_that_goes_away_is_reported_and_its_return_is_seen() {
    let mut watched = Watched::start(ONE);
    let away = tempfile::tempdir().unwrap();
    let kept = away.path().join("kept");
    fs::rename(watched.folder.path(), &kept).unwrap();
    assert!(watched.next().await.is_err());
    fs::rename(&kept, watched.folder.path()).unwrap();
    assert_eq!(names(&watched.next().await.unwrap()), ["one"]);
}

#[tokio::test]
async fn a_file_that_is_gone_takes_nothing_with_it_and_its_return_is_seen() {
    let mut watched = Watched::start(TWO);
    watched.write(ONE);
    assert_eq!(names(&watched.next().await.unwrap()), ["one"]);
    fs::remove_file(watched.folder.path().join("mcp.json")).unwrap();
    let problems = watched.next().await.unwrap_err();
    let told = problems.iter().map(ToString::to_string).collect::<String>();
    assert!(told.contains("mcp.json: was there and is gone"), "{told}");
    fs::write(watched.folder.path().join("mcp.json"), "").unwrap();
    assert!(watched.next().await.is_err(), "an empty file is no catalogue");
    fs::write(watched.folder.path().join("mcp.json"), "{}").unwrap();
    assert_eq!(names(&watched.next().await.unwrap()), Vec::<String>::new());
    fs::write(watched.folder.path().join("mcp.json"), ONE).unwrap();
    assert_eq!(names(&watched.next().await.unwrap()), ["one"]);
}

/// A source that holds something else at each reading, and the last for ever.
#[derive(Debug)]
struct Script(Mutex<VecDeque<&'static str>>);

impl Loader for Script {
    fn load(&self) -> Loaded {
        let mut contents = self.0.lock().unwrap();
        let content = contents[0];
        if contents.len() > 1 {
            contents.pop_front();
        }
        let environment = Environment::with_variables::<&str, &str>([]);
        evaluate(&Files::of("conf", &[("mcp.json", content)]), &environment)
    }

    fn folder(&self) -> Option<&Path> {
        None
    }
}

#[tokio::test]
async fn content_that_does_not_stay_is_not_sent() {
    // Each of these is whole in itself, so only the second reading tells that it was on its way.
    let on_its_way = r#"{"mcpServers": {}}"#;
    let script = Script(Mutex::new(VecDeque::from([
        ONE, on_its_way, BROKEN, on_its_way, BROKEN, TWO,
    ])));
    let applied = script.load().hash;
    let mut news = follow(Arc::new(script), applied);
    let first = timeout(Duration::from_secs(30), news.recv()).await.unwrap().unwrap();
    assert_eq!(names(&first.unwrap()), ["one", "two"]);
}

#[tokio::test]
async fn content_that_returns_to_what_is_in_force_is_no_news() {
    let script = Script(Mutex::new(VecDeque::from([
        ONE, ONE, BROKEN, ONE, ONE, BROKEN, ONE, TWO,
    ])));
    let applied = script.load().hash;
    let mut news = follow(Arc::new(script), applied);
    let first = timeout(Duration::from_secs(30), news.recv()).await.unwrap().unwrap();
    assert_eq!(names(&first.unwrap()), ["one", "two"]);
}

#[tokio::test]
async fn the_watch_ends_with_its_receiver() {
    let script = Arc::new(Script(Mutex::new(VecDeque::from([ONE]))));
    let applied = script.load().hash;
    let loader: Arc<Script> = Arc::clone(&script);
    drop(follow(loader, applied));
    let ended = async {
        while Arc::strong_count(&script) > 1 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), ended).await.unwrap();
}
