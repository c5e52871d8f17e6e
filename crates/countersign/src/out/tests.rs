//! What people and programs read of our output.
use expect_test::expect;

use super::{harmless, table, yaml};

#[test]
fn yaml_keeps_order_number_tokens_and_quotes_what_has_two_readings() {
    let json = r#"{"b":1.0,"a":[{"x":123456789012345678901234567890,"y":[]},"no","plain text","3"],"empty":{},"nested":{"deep":{"k":null}},"list":[[1,2],[true]]}"#;
    expect![[r#"
        b: 1.0
        a:
          - x: 123456789012345678901234567890
            "y": []
          - "no"
          - plain text
          - "3"
        empty: {}
        nested:
          deep:
            k: null
        list:
          - - 1
            - 2
          - - true
    "#]]
    .assert_eq(&yaml(json));
}

#[test]
fn yaml_of_a_scalar_is_the_scalar() {
    assert_eq!(yaml("\"a: b\""), "\"a: b\"\n");
    assert_eq!(yaml("[]"), "[]\n");
}

#[test]
fn table_aligns_all_columns_but_the_last() {
    let rows = [
        vec!["a".to_owned(), "long cell".to_owned(), "x".to_owned()],
        vec!["bcd".to_owned(), "e".to_owned(), String::new()],
    ];
    expect![[r#"
        N    CELL       LAST
        a    long cell  x
        bcd  e          
    "#]]
    .assert_eq(&table(&["N", "CELL", "LAST"], &rows));
}

#[test]
fn text_of_a_server_cannot_command_the_terminal() {
    assert_eq!(
        harmless("a\u{1b}[2Jb\u{7}\r\n\tc\u{202e}d"),
        "a\u{fffd}[2Jb\u{fffd}\u{fffd}\n\tc\u{fffd}d"
    );
}
