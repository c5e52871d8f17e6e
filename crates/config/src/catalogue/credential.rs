//! Telling what is probably a credential, so that one written as it is does not show either.

use countersign_core::secret::Secret;

const WORDS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "auth",
    "cookie",
    "apikey",
    "bearer",
];

/// Whether something of that name is probably a credential.
pub(crate) fn is_name_of_one(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase();
    let ends_so = ["key", "pat", "pwd", "pass"].iter().any(|end| plain.ends_with(end));
    ends_so || WORDS.iter().any(|word| plain.contains(word))
}

/// The value of a variable or header, hidden when its name or its form says that it is a credential.
pub(super) fn hidden_by_name(name: &str, value: Secret) -> Secret {
    if is_name_of_one(name) || has_user_in_url(value.reveal()) {
        hidden(&value)
    } else {
        value
    }
}

/// The arguments of a command, those that carry a credential hidden: `--token=…`, `--token …`,
/// `Authorization: …`, `scheme://user:password@…`.
pub(super) fn hidden_arguments(args: Vec<Secret>) -> Vec<Secret> {
    let mut follows_flag = false;
    let mut checked = Vec::with_capacity(args.len());
    for arg in args {
        let text = arg.reveal();
        let flag = text.starts_with('-');
        let named = text
            .split_once(['=', ':'])
            .is_some_and(|(name, _)| is_name_of_one(name));
        let carries = named || (follows_flag && !flag) || has_user_in_url(text) || has_credential_in_query(text);
        follows_flag = flag && !text.contains('=') && is_name_of_one(text);
        checked.push(if carries { hidden(&arg) } else { arg });
    }
    checked
}

/// A URL, hidden when it carries a credential.
pub(super) fn hidden_url(url: Secret) -> Secret {
    if has_user_in_url(url.reveal()) || has_credential_in_query(url.reveal()) {
        hidden(&url)
    } else {
        url
    }
}

fn hidden(secret: &Secret) -> Secret {
    Secret::hidden(secret.reveal())
}

fn has_user_in_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(_, rest)| {
        rest.split(['/', '?', '#'])
            .next()
            .is_some_and(|authority| authority.contains('@'))
    })
}

fn has_credential_in_query(text: &str) -> bool {
    text.contains("://")
        && text.split_once('?').is_some_and(|(_, query)| {
            query
                .split('&')
                .any(|pair| pair.split_once('=').is_some_and(|(name, _)| is_name_of_one(name)))
        })
}

#[cfg(test)]
mod tests {
    use super::{Secret, hidden_arguments, hidden_url, is_name_of_one};

    #[test]
    fn names_of_credentials_are_known() {
        for name in [
            "GITHUB_TOKEN",
            "Authorization",
            "X-API-Key",
            "api_key",
            "DB_PASSWORD",
            "GH_PAT",
            "Cookie",
            "clientSecret",
        ] {
            assert!(is_name_of_one(name), "{name}");
        }
        for name in [
            "LANG",
            "LOG_LEVEL",
            "X-Request-Source",
            "PATH",
            "root",
            "--stdio",
            "http",
            "keyboard-layout",
        ] {
            assert!(!is_name_of_one(name), "{name}");
        }
    }

    #[test]
    fn arguments_that_carry_credentials_do_not_show() {
        let args = [
            "-y",
            "mcp-remote",
            "https://a/mcp",
            "--header",
            "Authorization: Bearer s",
            "--token",
            "s",
            "--api-key=s",
            "--verbose",
            "postgres://u:s@h/db",
            "https://a/?api_key=s",
            "x",
        ];
        let shown: Vec<String> = hidden_arguments(args.iter().map(|arg| Secret::plain(*arg)).collect())
            .iter()
            .map(|arg| arg.shown().to_owned())
            .collect();
        let hidden = "[secret]";
        assert_eq!(
            shown,
            [
                "-y",
                "mcp-remote",
                "https://a/mcp",
                "--header",
                hidden,
                "--token",
                hidden,
                hidden,
                "--verbose",
                hidden,
                hidden,
                "x"
            ]
        );
        assert_eq!(
            hidden_url(Secret::plain("https://a/mcp?x=1")).shown(),
            "https://a/mcp?x=1"
        );
        assert!(hidden_url(Secret::plain("https://u:p@a/mcp")).is_hidden());
    }
}
