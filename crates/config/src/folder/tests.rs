//! What is in the folder: files of later versions, files that cannot be read, names that are nearly ours.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a table reads better without a reference at each row"
)]

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};

use super::default_dir;
use crate::environment::Environment;
use crate::load;
use crate::problem::Problem;

/// Loads a folder with these files; a name that ends in `/` is a folder.
fn complaints(files: &[(&str, &[u8])], expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
    let problems: Vec<Problem> = match load(folder.path(), &Environment::with_variables::<&str, &str>([])) {
        Ok(config) => config.warnings,
        Err(problems) => problems.iter().cloned().collect(),
    };
    let line = |problem: &Problem| {
        let help = problem
            .help
            .as_ref()
            .map_or(String::new(), |help| format!("    {help}\n"));
        format!("{problem}\n{help}").replace(&folder.path().display().to_string(), "conf")
    };
    expected.assert_eq(&problems.iter().map(line).collect::<String>());
}

#[test]
fn files_of_later_versions_are_refused() {
    complaints(
        &[
            ("mcp.json", b"{}"),
            ("authz.yaml", b""),
            ("tools.lock", b""),
            ("workflows/a.yaml", b""),
            ("workflows/README.md", b""),
            ("workloads/w/workload.yaml", b""),
            ("workloads/.git/", b""),
            ("policies/p.js", b""),
        ],
        expect![[r#"
            conf/authz.yaml: is not supported by this version of countersign
                remove it; it is refused rather than ignored because calls would be served without the rights it describes
            conf/policies/p.js: is not supported by this version of countersign
                remove it; it is refused rather than ignored because calls would be served without the checks it makes
            conf/tools.lock: is not supported by this version of countersign
                remove it; it is refused rather than ignored because tools would be served without being compared with what was reviewed
            conf/workflows/a.yaml:1:1: workflow `a`: `steps` is missing: it would do nothing
            conf/workloads/w: is not supported by this version of countersign
                remove it; it is refused rather than ignored because its agents would be served without the narrowing it describes
        "#]],
    );
}

#[test]
fn their_empty_folders_are_not() {
    complaints(
        &[
            ("mcp.json", b"{}"),
            ("workflows/", b""),
            ("workloads/", b""),
            ("policies/", b""),
        ],
        expect![],
    );
}

#[test]
fn names_that_are_nearly_ours_are_not_ignored() {
    complaints(
        &[("countersign.yml", b""), ("mcp.jsonc", b""), ("identities.yml", b"")],
        expect![[r#"
        conf/countersign.yml: is not a name that is read
            the file that is read is `countersign.yaml`; rename or remove this one
        conf/identities.yml: is not a name that is read
            the file that is read is `identities.yaml`; rename or remove this one
        conf/mcp.jsonc: is not a name that is read
            the file that is read is `mcp.json`; rename or remove this one
    "#]],
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    complaints(
        &[("mcp.json/", b"")],
        expect![[r#"
            conf/mcp.json: cannot be read: it is not a regular file
        "#]],
    );
    complaints(
        &[("mcp.json", b"{\n\"a\": \"\xff\"}")],
        expect![[r#"
        conf/mcp.json: is not UTF-8: the first bad byte is on line 2
            save the file as UTF-8
    "#]],
    );
    complaints(
        &[("mcp.json", &vec![b' '; 5 * 1024 * 1024])],
        expect![[r#"
        conf/mcp.json: cannot be read: it is larger than 4 MiB
    "#]],
    );
}

#[test]
fn a_byte_order_mark_stands_at_the_start_only() {
    complaints(
        &[
            ("mcp.json", b"\xef\xbb\xbf{}"),
            ("countersign.yaml", b"\xef\xbb\xbfsurface: meta"),
        ],
        expect![],
    );
    complaints(
        &[("mcp.json", b"\xef\xbb\xbf\xef\xbb\xbf{}")],
        expect![[r#"
        conf/mcp.json:1:1: expected a value, found `\u{feff}`
    "#]],
    );
}

#[test]
fn a_missing_folder_is_named() {
    let problems = load(Path::new("/nowhere/at/all"), &Environment::process()).unwrap_err();
    expect!["Problems([Error: /nowhere/at/all: cannot be read as the configuration folder: No such file or directory (os error 2) (help: make it, or name another one with `--config` or `$COUNTERSIGN_CONFIG`)])"].assert_eq(&format!("{problems:?}"));
}

#[test]
fn the_folder_is_the_flags_then_the_variables_then_the_users() {
    let (flag, variable, user) = (Some("flag".into()), Some("variable".into()), Some("user".into()));
    assert_eq!(default_dir(flag, variable.clone(), user.clone()), Path::new("flag"));
    assert_eq!(default_dir(None, variable, user.clone()), Path::new("variable"));
    assert_eq!(default_dir(None, Some("".into()), user), Path::new("user"));
    assert_eq!(default_dir(None, None, None), Path::new("countersign"));
}
