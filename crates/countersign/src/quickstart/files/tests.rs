//! Which files are made, kept and followed.
use std::fs;

use super::{catalogue_text, free, prepare};

#[test]
fn edits_of_the_user_are_never_written_over() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("countersign.yaml"), "surface: meta\n").expect("written");
    fs::write(dir.path().join("mcp.json"), "{\"mcpServers\": {}}").expect("written");
    let notices = prepare(dir.path(), None).expect("prepared");
    assert!(notices.is_empty(), "{notices:?}");
    assert_eq!(
        fs::read_to_string(dir.path().join("countersign.yaml")).expect("read"),
        "surface: meta\n"
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("mcp.json")).expect("read"),
        "{\"mcpServers\": {}}"
    );
}

#[test]
fn untouched_catalogue_follows_the_program_to_its_new_place() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("mcp.json");
    fs::write(
        &file,
        catalogue_text("/gone/$build/countersign", dir.path()).expect("text"),
    )
    .expect("written");
    let notices = prepare(dir.path(), Some(([127, 0, 0, 1], 0).into())).expect("prepared");
    assert_eq!(notices.len(), 1, "{notices:?}");
    let now = fs::read_to_string(&file).expect("read");
    assert!(!now.contains("/gone/"), "{now}");

    fs::write(
        &file,
        now.replace("keeps short notes", "mine")
            .replace("sample", "/gone/sample"),
    )
    .expect("written");
    assert!(
        prepare(dir.path(), None).expect("prepared").is_empty(),
        "an edited file stays"
    );
}

#[test]
fn generated_folder_loads_without_a_warning() {
    let dir = tempfile::tempdir().expect("a folder");
    prepare(dir.path(), Some(([127, 0, 0, 1], 0).into())).expect("prepared");
    let config = countersign_config::load(
        dir.path(),
        &countersign_config::Environment::with_variables([("", ""); 0]),
    )
    .expect("loads");
    assert_eq!(config.servers.len(), 2);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

#[test]
fn taken_port_gives_way_to_the_next_free_one_and_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let mut notices = Vec::new();
    let chosen = free(port, "MCP", &mut notices).expect("another port is free");
    assert_ne!(chosen.port(), port);
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].contains(&port.to_string()) && notices[0].contains(&chosen.port().to_string()),
        "{notices:?}"
    );
}
