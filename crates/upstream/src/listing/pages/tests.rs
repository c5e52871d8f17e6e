//! Tests of `pages`.

use super::{Page, Pages};

fn turned(cursors: &[Option<&str>]) -> Vec<Result<Option<String>, String>> {
    let mut pages = Pages::new(1_000_000);
    cursors
        .iter()
        .map(|cursor| {
            let next = cursor.map_or_else(String::new, |cursor| format!(r#","nextCursor":"{cursor}""#));
            let text = format!(r#"{{"tools":[]{next}}}"#);
            let page = Page::read(&text, "tools").unwrap();
            pages.after(&page)
        })
        .collect()
}

#[test]
fn b031_a_repeated_cursor_ends_the_list() {
    assert_eq!(
        turned(&[Some("x"), Some("x")]),
        [
            Ok(Some("x".to_owned())),
            Err("the list stops at page 2: its cursor repeats".to_owned())
        ]
    );
}

#[test]
fn an_empty_cursor_is_a_cursor() {
    assert_eq!(turned(&[Some(""), None]), [Ok(Some(String::new())), Ok(None)]);
}

#[test]
fn a_list_without_end_stops() {
    let cursors: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let cursors: Vec<Option<&str>> = cursors.iter().map(|cursor| Some(cursor.as_str())).collect();
    let last = turned(&cursors).pop().unwrap();
    assert_eq!(last, Err("the list stops at page 1000: it has more".to_owned()));
}

#[test]
fn a_list_larger_than_the_limit_stops() {
    let mut pages = Pages::new(20);
    let page = Page::read(r#"{"tools":[1,2,3],"nextCursor":"a"}"#, "tools").unwrap();
    let stopped = pages.after(&page).unwrap_err();
    assert!(stopped.contains("larger than 20 bytes"), "{stopped}");
}

#[test]
fn a_page_without_its_list_is_an_error() {
    assert_eq!(Page::read("{}", "tools").unwrap_err(), "its list has no `tools`");
    assert_eq!(
        Page::read(r#"{"tools":{}}"#, "tools").unwrap_err(),
        "its list has `tools` that is no array"
    );
}
