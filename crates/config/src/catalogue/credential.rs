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

/// How the credentials of widely used services begin.
const BEGINNINGS: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "ntn_",
    "lin_api_",
];

/// Whether a text is probably a credential by its form: no word has such a beginning, or so many digits among letters.
fn is_form_of_one(text: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'%' | b'=' | b'+');
    if !text.bytes().all(allowed) {
        return false;
    }
    let begins_so = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
    let count = |is: fn(&u8) -> bool| text.bytes().filter(is).count();
    let is_mixed = count(u8::is_ascii_digit) >= 4 && count(u8::is_ascii_alphabetic) >= 4;
    (begins_so && text.len() >= 12) || (is_mixed && text.len() >= 20)
}

/// The value of a variable or header, hidden when its name or its form says that it is a credential.
pub(super) fn hidden_by_name(name: &str, value: Secret) -> Secret {
    let text = value.reveal();
    if is_name_of_one(name) || has_user_in_url(text) || has_beginning_of_one(text) || has_credential_in_url(text) {
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
        let carries = named
            || (follows_flag && !flag)
            || has_user_in_url(text)
            || has_beginning_of_one(text)
            || has_credential_in_url(text);
        follows_flag = flag && !text.contains('=') && is_name_of_one(text);
        checked.push(if carries { hidden(&arg) } else { arg });
    }
    checked
}

/// A URL, hidden when it carries a credential.
pub(super) fn hidden_url(url: Secret) -> Secret {
    if has_user_in_url(url.reveal()) || has_credential_in_url(url.reveal()) {
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

fn has_beginning_of_one(text: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) && is_form_of_one(text)
}

/// In the query by name or form; in the path by form, or behind a segment that names one.
fn has_credential_in_url(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else {
        return false;
    };
    let (path, query) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
    let in_query = query.split(['&', ';', '#']).any(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        is_name_of_one(name) || is_form_of_one(value)
    });
    let mut follows_name = false;
    let in_path = path.split('/').skip(1).any(|segment| {
        let is_one = is_form_of_one(segment) || (follows_name && segment.len() >= 12);
        follows_name = is_name_of_one(segment);
        is_one
    });
    in_query || in_path
}

#[cfg(test)]
mod tests {
    use super::{Secret, hidden_arguments, hidden_by_name, hidden_url, is_name_of_one};

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
        for url in [
            "https://u:p@a/mcp",
            "https://mcp.zap.example/api/mcp/s/ZDk4MmQ3YTItMzQ1Ni00/mcp",
            "https://a/2f1d7c0e-9f6b-4c57-8a63-0a5b2f0b9b11/sse",
            "https://a/t/sk-abcdefghijkl/mcp",
            "https://a/token/abcdefabcdefabc",
            "https://a/mcp?profile=x&k=0123456789abcdef0123",
            "https://a/mcp?sk-abcdefghijkl",
            "https://a/mcp#access_token=x",
        ] {
            assert!(hidden_url(Secret::plain(url)).is_hidden(), "{url}");
        }
        for url in [
            "http://127.0.0.1:43211/mcp",
            "https://mcp.example.com/v1/organizations/acme-corp/mcp?region=eu-central-1",
            "https://api.example.com/2026-07-28/streamable-http-endpoint",
            "https://server-0123456789.example.com/mcp",
        ] {
            assert!(!hidden_url(Secret::plain(url)).is_hidden(), "{url}");
        }
        assert!(hidden_by_name("X", Secret::plain("ghp_0123456789abcdef")).is_hidden());
        assert!(!hidden_by_name("REGION", Secret::plain("eu-central-1")).is_hidden());
    }
}
