//! References: what they become, and what is said when they cannot.

#![expect(clippy::too_many_lines, reason = "tables of texts are long")]

use std::fmt::Write as _;

use expect_test::expect;
use proptest::prelude::{any, prop, proptest};

use super::{expand, literal};
use crate::environment::Environment;

fn environment() -> Environment {
    Environment::with_variables([
        ("A", "alpha"),
        ("B", "beta"),
        ("EMPTY", ""),
        ("_x1", "under"),
        ("NEST", "${A}$$"),
    ])
    .with_files([("/run/token", " \n s3cret\n\n")])
}

#[test]
fn b054_env_expansion() {
    let mut table = String::new();
    for text in [
        "plain",
        "${A}",
        "${A}${B}",
        "-${A}-${B}-",
        "$$HOME",
        "$$${A}",
        "$${A}",
        "$A",
        "$",
        "a$",
        "$5.00",
        "${UNSET:-d}",
        "${UNSET:-}",
        "${UNSET:-a$$b}",
        "${EMPTY}",
        "${EMPTY:-d}",
        "${A:-d}",
        "${_x1}",
        "${NEST}",
        "${file:/run/token}",
        "Bearer ${file:/run/token}",
        "${UNSET}",
        "${UNSET:-${A}}",
        "${",
        "${A",
        "${}",
        "${ A }",
        "${1A}",
        "${A-B}",
        "${:-d}",
        "${env:A}",
        "${input:key}",
        "${workspaceFolder}",
        "${userHome}",
        "${file:relative}",
        "${file:/missing}",
        "${file:}",
    ] {
        let mut trace = Vec::new();
        match expand(text, &environment(), &mut trace) {
            Ok(secret) => {
                let hidden = if secret.is_hidden() { " (hidden)" } else { "" };
                writeln!(table, "{text:26} {:?}{hidden}", secret.reveal()).unwrap();
                let debug = format!("{secret:?}");
                assert_eq!(secret.is_hidden(), debug == "[secret]", "{text}");
                assert_eq!(secret.is_hidden(), !trace.is_empty(), "{text}");
            }
            Err(fault) => {
                writeln!(table, "{text:26} {}", fault.what).unwrap();
                if let Some(help) = fault.help {
                    writeln!(table, "{:26}     {help}", "").unwrap();
                }
            }
        }
    }
    expect![[r#"
        plain                      "plain"
        ${A}                       "alpha" (hidden)
        ${A}${B}                   "alphabeta" (hidden)
        -${A}-${B}-                "-alpha-beta-" (hidden)
        $$HOME                     "$HOME"
        $$${A}                     "$alpha" (hidden)
        $${A}                      "${A}"
        $A                         "$A"
        $                          "$"
        a$                         "a$"
        $5.00                      "$5.00"
        ${UNSET:-d}                "d" (hidden)
        ${UNSET:-}                 "" (hidden)
        ${UNSET:-a$$b}             "a$b" (hidden)
        ${EMPTY}                   "" (hidden)
        ${EMPTY:-d}                "d" (hidden)
        ${A:-d}                    "alpha" (hidden)
        ${_x1}                     "under" (hidden)
        ${NEST}                    "${A}$$" (hidden)
        ${file:/run/token}         "s3cret" (hidden)
        Bearer ${file:/run/token}  "Bearer s3cret" (hidden)
        ${UNSET}                   names the variable `UNSET`, which is not set
                                       set it, or give a default: `${UNSET:-value}`
        ${UNSET:-${A}}             has the reference `UNSET` with another reference as its default
                                       references do not nest; write the default itself
        ${                         has a `${` without a `}`
                                       close the reference, or write `$${` for the text `${`
        ${A                        has a `${` without a `}`
                                       close the reference, or write `$${` for the text `${`
        ${}                        has `${}`, which is not a reference
                                       write `${VARIABLE}`, `${VARIABLE:-default}` or `${file:/path}`, and `$${` for the text `${`
        ${ A }                     has `${ A }`, which is not a reference
                                       write `${VARIABLE}`, `${VARIABLE:-default}` or `${file:/path}`, and `$${` for the text `${`
        ${1A}                      has `${1A}`, which is not a reference
                                       write `${VARIABLE}`, `${VARIABLE:-default}` or `${file:/path}`, and `$${` for the text `${`
        ${A-B}                     has `${A-B}`, which is not a reference
                                       write `${VARIABLE}`, `${VARIABLE:-default}` or `${file:/path}`, and `$${` for the text `${`
        ${:-d}                     has `${:-d}`, which is not a reference
                                       write `${VARIABLE}`, `${VARIABLE:-default}` or `${file:/path}`, and `$${` for the text `${`
        ${env:A}                   has `${env:A}`, which is not a reference
                                       write `${A}`
        ${input:key}               has `${input:key}`, which is not a reference
                                       VS Code asks the user for it; put the value into a variable and write `${VARIABLE}`
        ${workspaceFolder}         names the variable `workspaceFolder`, which is not set
                                       VS Code fills in `${workspaceFolder}`; write the folder itself
        ${userHome}                names the variable `userHome`, which is not set
                                       Cursor fills in `${userHome}`; write `${HOME}`
        ${file:relative}           names the file `relative`, which is not an absolute path
                                       write `${file:/path/to/file}`
        ${file:/missing}           names the file `/missing`, which cannot be read: entity not found
        ${file:}                   names the file ``, which is not an absolute path
                                       write `${file:/path/to/file}`
    "#]].assert_eq(&table);
}

#[test]
fn a_value_that_is_shown_takes_no_reference() {
    assert_eq!(literal("a $$ b $5").as_deref(), Ok("a $ b $5"));
    assert!(literal("${A}").is_err());
    assert!(literal("${A").is_err());
}

proptest! {
    #[test]
    fn expansion_of_any_text_ends_without_panic(text in any::<String>()) {
        let _either = expand(&text, &environment(), &mut Vec::new());
    }

    #[test]
    fn expansion_of_nearly_references_ends_without_panic(text in "[$A{}:a/é-]{0,24}") {
        let _either = expand(&text, &environment(), &mut Vec::new());
    }

    #[test]
    fn a_text_with_its_dollars_doubled_is_itself(text in any::<String>()) {
        let secret = expand(&text.replace('$', "$$"), &environment(), &mut Vec::new()).unwrap();
        assert_eq!(secret.reveal(), text);
        assert!(!secret.is_hidden());
    }

    #[test]
    fn a_value_is_put_in_as_it_is(value in any::<String>(), around in prop::collection::vec("[a-z ]{0,5}", 2)) {
        let environment = Environment::with_variables([("V", value.as_str())]);
        let text = format!("{}${{V}}{}", around[0], around[1]);
        let secret = expand(&text, &environment, &mut Vec::new()).unwrap();
        assert_eq!(secret.reveal(), format!("{}{value}{}", around[0], around[1]));
        assert!(secret.is_hidden());
    }
}
