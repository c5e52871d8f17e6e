//! How problems look to a person.

use expect_test::expect;
use miette::{GraphicalReportHandler, GraphicalTheme};

use super::{Problem, Problems, Source};
use crate::environment::Environment;
use crate::folder::Files;
use crate::load::evaluate;

#[test]
fn a_person_sees_the_file_with_a_marker() {
    let files = Files::of(
        "conf",
        &[
            ("countersign.yaml", "limits:\n  call_timout: 5s\n"),
            (
                "mcp.json",
                "{\n  \"mcpServers\": {\n    \"ü\": {\"command\": \"x\"},\n    \"gh\": {\"comand\": \"x\"}\n  }\n}",
            ),
        ],
    );
    let problems = evaluate(&files, &Environment::process()).result.unwrap_err();
    let mut shown = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(200);
    handler.render_report(&mut shown, &problems).unwrap();
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    expect![[r#"
          × the configuration has 4 errors

        Error:
          × conf/countersign.yaml:2:3: `limits.call_timout` is not a known key
           ╭─[conf/countersign.yaml:2:3]
         1 │ limits:
         2 │   call_timout: 5s
           ·   ─────┬─────
           ·        ╰── here
           ╰────
          help: did you mean `call_timeout`?

        Error:
          × conf/mcp.json:3:5: server `ü` has a name that is not allowed
           ╭─[conf/mcp.json:3:5]
         2 │   "mcpServers": {
         3 │     "ü": {"command": "x"},
           ·     ─┬─
           ·      ╰── here
         4 │     "gh": {"comand": "x"}
           ╰────
          help: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit

        Error:
          × conf/mcp.json:4:5: server `gh` has neither `command` nor `url`
           ╭─[conf/mcp.json:4:5]
         3 │     "ü": {"command": "x"},
         4 │     "gh": {"comand": "x"}
           ·     ──┬─
           ·       ╰── here
         5 │   }
           ╰────
          help: write `command` for a server that is started here, `url` for one that runs elsewhere

        Error:
          × conf/mcp.json:4:12: server `gh`: `comand` is not a known key
           ╭─[conf/mcp.json:4:12]
         3 │     "ü": {"command": "x"},
         4 │     "gh": {"comand": "x"}
           ·            ────┬───
           ·                ╰── here
         5 │   }
           ╰────
          help: did you mean `command`?"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn places_outside_the_text_are_its_end() {
    let source = Source {
        name: "f".to_owned(),
        text: "é\nb".into(),
    };
    for (span, line, column) in [
        (0..1, 1, 1),
        (1..2, 1, 1),
        (2..3, 1, 2),
        (3..3, 2, 1),
        (4..9, 2, 2),
        (99..100, 2, 2),
    ] {
        let place = source.place(span);
        assert_eq!((place.line, place.column), (line, column), "{place:?}");
        assert!(place.span.start <= place.span.end && place.span.end <= source.text.len());
    }
}

#[test]
fn warnings_alone_are_given_back() {
    let warning = || Problem::of_file("f", "w".to_owned()).into_warning();
    let error = Problem::of_file("a", "e".to_owned());
    assert_eq!(Problems::if_any_error(vec![warning()]).unwrap().len(), 1);
    let problems = Problems::if_any_error(vec![warning(), error]).unwrap_err();
    assert_eq!(
        (
            problems.iter().count(),
            problems.errors(),
            problems.to_string().as_str()
        ),
        (2, 1, "the configuration has an error")
    );
}

#[test]
fn of_a_long_line_only_what_stands_around_the_mark_is_shown() {
    let secret = "sk-none-of-its-business";
    let text = format!(
        r#"{{"mcpServers":{{"a":{{"command":"x","args":["--token","{secret}"],"description":"{}"}},"b":{{"comand":"ü"}},"c":{{"command":"x","env":{{"TOKEN":"{secret}","X":"{}"}}}}}}}}"#,
        "ä".repeat(100),
        "ö".repeat(100),
    );
    let files = Files::of("conf", &[("mcp.json", Box::leak(text.into_boxed_str()))]);
    let problems = evaluate(&files, &Environment::process()).result.unwrap_err();
    let mut shown = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(200);
    handler.render_report(&mut shown, &problems).unwrap();
    assert!(!shown.contains(secret), "{shown}");
    assert!(shown.contains("comand") && shown.contains("here"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() < 200), "{shown}");
}

#[test]
fn a_problem_in_a_line_of_any_length_and_text_can_be_shown() {
    for filler in ["", "ä", "🦀"] {
        for count in 0..100 {
            let text = format!(
                r#"{{"mcpServers":{{"{}":{{"comand":"{}"}}}}}}"#,
                filler.repeat(count),
                "ö".repeat(count)
            );
            let files = Files::of("conf", &[("mcp.json", Box::leak(text.into_boxed_str()))]);
            let Err(problems) = evaluate(&files, &Environment::process()).result else {
                continue;
            };
            let mut shown = String::new();
            let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(200);
            handler.render_report(&mut shown, &problems).unwrap();
            assert!(shown.contains("here"), "{shown}");
        }
    }
}
