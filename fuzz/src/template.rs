//! A template is worked out the same way each time, within its bounds, and loses no digit of what it only passes on.

use countersign_core::exact::Error;
use countersign_core::json::Json;
use countersign_core::workflow::{LARGEST, Names, Place, Template};

/// The laws of one text; the first line is the input of the run, the rest the template.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (input, text) = text.split_once('\n').unwrap_or(("", text));
    let input = Json::parse(input).unwrap_or(Json::Null);
    let place = Place {
        file: "workflows/fuzz.yaml".into(),
        line: 1,
        column: 1,
        bytes: (0, 0),
    };
    let names = Names {
        input: input.clone(),
        results: Json::object([("a", input.clone())]),
        vars: Json::object([("i", Json::List([input.clone()].into()))]),
    };
    // Whatever was passed on is what was given.
    for (passes, wanted) in [
        ("{{ input }}", input.clone()),
        ("{{ results.a }}", input.clone()),
        ("{{ [vars] }}", Json::List([names.vars.clone()].into())),
    ] {
        let template = Template::parse(passes, &place).expect("a template");
        assert_eq!(template.evaluate(&names), Ok(wanted), "{passes}");
    }
    let Ok(template) = Template::parse(text, &place) else {
        return;
    };
    drop(template.references());
    let found = template.evaluate(&names);
    assert_eq!(template.evaluate(&names), found, "{text:?}");
    if let Ok(value) = found {
        // A value that only passes may be as large as what was given.
        assert!(value.to_text().len() <= 8 * LARGEST + 16 * data.len(), "{text:?}");
        // What was put together may be deeper than a text may be, and that is told when it is sent.
        assert!(matches!(value.to_exact(), Ok(_) | Err(Error::TooDeep)), "{text:?}");
    }
}
