//! Places in YAML, and the values it has.

use std::sync::Arc;

use proptest::prelude::{any, proptest};

use super::parse;
use crate::problem::Source;
use crate::tree::Value;

fn source(text: &str) -> Source {
    Source {
        name: "countersign.yaml".to_owned(),
        text: Arc::from(text),
    }
}

#[test]
fn values_know_their_bytes() {
    let text = "# é\na: {ü: 'x'}\nb:\n  - 1.5\n  - off\n  - true\n  - ~\n";
    let (node, problems) = parse(&source(text));
    assert!(problems.is_empty(), "{problems:?}");
    let node = node.unwrap();
    let inner = node.member("a").unwrap().node.member("ü").unwrap();
    assert_eq!(text.get(inner.key_span.clone()).unwrap(), "ü");
    assert_eq!(text.get(inner.node.span.clone()).unwrap(), "'x'");
    let Value::List(items) = &node.member("b").unwrap().node.value else {
        panic!("a list")
    };
    assert!(matches!(&items[0].value, Value::Number(token) if token == "1.5"));
    assert!(matches!(&items[1].value, Value::Text(text) if text == "off"));
    assert!(matches!(items[2].value, Value::Boolean(true)));
    assert!(matches!(items[3].value, Value::Null));
}

#[test]
fn an_empty_file_is_null() {
    for text in ["", "\n", "# only a comment\n", "---\n"] {
        let (node, problems) = parse(&source(text));
        assert!(problems.is_empty(), "{text:?}: {problems:?}");
        assert!(matches!(node.unwrap().value, Value::Null), "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_complained_of(text in any::<String>()) {
        let (node, problems) = parse(&source(&text));
        assert!(node.is_some() || !problems.is_empty());
    }

    #[test]
    fn what_is_nearly_yaml_is_read_or_complained_of(text in "[a-c:\\-\\[\\]{}&*<!|>'\" \n,#?é]{0,30}") {
        let (node, problems) = parse(&source(&text));
        assert!(node.is_some() || !problems.is_empty());
    }
}
