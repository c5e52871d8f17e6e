//! Whose a message was that could not be kept.

use super::{Cut, Whose};

fn whose(text: &str) -> Whose {
    // In pieces of an odd size, as they come off a pipe.
    let mut cut = Cut::default();
    text.as_bytes().chunks(1000).for_each(|piece| cut.push(piece));
    cut.whose()
}

#[test]
fn b017_the_ends_of_a_message_over_the_limit_say_whose_answer_it_was() {
    let long = "y".repeat(20_000);
    let answer = |id: &str| Whose::Answer(id.to_owned());
    let cases = [
        (
            format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"id":1,"text":"{long}"}}}}"#),
            answer("7"),
        ),
        (
            format!("\u{feff} {{\"id\" : \"7\", \"result\":\"{long}\"}}"),
            answer("\"7\""),
        ),
        (format!(r#"{{"result":{{"text":"{long}"}},"id":7}}"#), answer("7")),
        (
            format!(r#"{{"result":{{"text":"{long}"}}, "id" : 7 , "jsonrpc" : "2.0" }} "#),
            answer("7"),
        ),
        (
            format!(r#"{{"result":{{"text":"{long}","id":9}},"jsonrpc":"2.0"}}"#),
            Whose::Unknown,
        ),
        (
            format!(r#"{{"result":{{"text":"{long},\"id\":9}}"}}}}"#),
            Whose::Unknown,
        ),
        (format!(r#"{{"result":{{"text":"{long}","id":9}}}}"#), Whose::Unknown),
        (format!(r#"{{"result":{{"method":"{long}"}},"id":9}}"#), answer("9")),
        (
            format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"id":9,"text":"{long}"}}}}"#),
            Whose::Said,
        ),
        (
            format!(r#"{{"id":3,"method":"m","params":{{"text":"{long}"}}}}"#),
            Whose::Said,
        ),
        (format!(r#"[{{"id":3,"result":"{long}"}}]"#), Whose::Unknown),
        (format!("Loading {long}"), Whose::Garbage),
        (String::new(), Whose::Garbage),
    ];
    for (text, wanted) in cases {
        assert_eq!(whose(&text), wanted, "{}", text.replace(&long, "…"));
    }
}
