//! The pages that people see: our own words and theirs escaped, no script, nothing from elsewhere.

use std::fmt::Write as _;

use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderName, HeaderValue, Response, StatusCode};

use super::body::Body;
use super::reply;

/// The style of every page. Its digest stands in [`STYLE_DIGEST`]; a test compares the two.
const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5b6570;--paper:#fff;--ground:#f3f4f6;--line:#d5d9de;--go:#0b57d0;--on:#fff}\
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a6adb5;--paper:#1b1e22;--ground:#101215;--line:#363b41;--go:#a8c7fa;--on:#062e6f}}\
*{box-sizing:border-box}\
body{margin:0;min-height:100vh;display:flex;align-items:center;justify-content:center;padding:1.5rem;background:var(--ground);\
color:var(--ink);font:1rem/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,sans-serif}\
main{width:100%;max-width:34rem;background:var(--paper);border:1px solid var(--line);border-radius:.75rem;padding:2rem}\
h1{font-size:1.4rem;line-height:1.3;margin:0 0 1rem}\
p{margin:0 0 1rem;overflow-wrap:anywhere}\
p:last-child{margin-bottom:0}\
.by{color:var(--soft);font-size:.875rem;margin:0 0 .5rem}\
.note{color:var(--soft);font-size:.9375rem}\
blockquote{margin:0 0 1rem;padding:.5rem 1rem;border-left:3px solid var(--line);color:var(--soft);overflow-wrap:anywhere}\
button{font:inherit;font-weight:600;border:0;border-radius:.5rem;padding:.75rem 1.25rem;background:var(--go);color:var(--on);cursor:pointer}\
button:focus-visible{outline:3px solid var(--go);outline-offset:3px}\
form{margin:0 0 1rem}";

/// Nothing but the style above. A form goes back to us, and from there to the page that the server names: a
/// browser holds the whole way against this list.
const FORM_POLICY: &str = "default-src 'none'; style-src 'sha256-STYLE'; base-uri 'none'; frame-ancestors 'none'; \
                           form-action 'self' https: http://127.0.0.1:* http://localhost:*";

/// Nothing but the style above.
const POLICY: &str =
    "default-src 'none'; style-src 'sha256-STYLE'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

/// SHA-256 of the style, as policies name it.
const STYLE_DIGEST: &str = "GNh2RC5KQ7s338a/cyQPBytTlvbgaQOA463uyKPQJrs=";

/// One page.
#[derive(Debug)]
pub(super) struct Page {
    title: String,
    body: String,
    has_form: bool,
}

impl Page {
    /// A page with a heading.
    pub(super) fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            body: String::new(),
            has_form: false,
        }
    }

    /// A paragraph.
    pub(super) fn says(mut self, text: &str) -> Self {
        write!(self.body, "<p>{}</p>", escaped(text)).ok();
        self
    }

    /// A paragraph of which some part matters most: `before`, the part, `after`.
    pub(super) fn names(mut self, before: &str, what: &str, after: &str) -> Self {
        write!(
            self.body,
            "<p>{}<strong>{}</strong>{}</p>",
            escaped(before),
            escaped(what),
            escaped(after)
        )
        .ok();
        self
    }

    /// Somebody else's words.
    pub(super) fn quotes(mut self, text: &str) -> Self {
        write!(self.body, "<blockquote>{}</blockquote>", escaped(text)).ok();
        self
    }

    /// A paragraph that is less important.
    pub(super) fn notes(mut self, text: &str) -> Self {
        write!(self.body, r#"<p class="note">{}</p>"#, escaped(text)).ok();
        self
    }

    /// A button that sends one hidden field to a path of ours.
    pub(super) fn button(mut self, label: &str, path: &str, (name, value): (&str, &str)) -> Self {
        self.has_form = true;
        write!(
            self.body,
            r#"<form method="post" action="{}"><input type="hidden" name="{}" value="{}"><button type="submit">{}</button></form>"#,
            escaped(path),
            escaped(name),
            escaped(value),
            escaped(label)
        )
        .ok();
        self
    }

    /// The response that shows it.
    pub(super) fn answer(self, status: StatusCode) -> Response<Body> {
        let html = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width,initial-scale=1\"><meta name=\"robots\" content=\"noindex\">\
             <title>{title} · Countersign</title><style>{STYLE}</style></head>\
             <body><main><p class=\"by\">Countersign</p><h1>{title}</h1>{body}</main></body></html>",
            title = escaped(&self.title),
            body = self.body
        );
        let mut response = reply::bare(status, html);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        let opener = HeaderName::from_static("cross-origin-opener-policy");
        headers.insert(opener, HeaderValue::from_static("same-origin"));
        let (policy, referrer) = if self.has_form {
            // Without a referrer a browser sends a form with the origin `null`, which is refused.
            (FORM_POLICY, "same-origin")
        } else {
            (POLICY, "no-referrer")
        };
        headers.insert(REFERRER_POLICY, HeaderValue::from_static(referrer));
        if let Ok(policy) = HeaderValue::from_str(&policy.replace("STYLE", STYLE_DIGEST)) {
            headers.insert(CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

/// A text as it stands between tags and in quoted attributes. Characters that change how others are shown are
/// written out: a name must not be able to pass for another.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_hidden(c) => {
                write!(out, "\\u{{{:x}}}", u32::from(c)).ok();
            }
            c => out.push(c),
        }
    }
    out
}

/// Control characters, and those that are not seen or turn the order of what is around them.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::*;

    #[test]
    fn the_policy_allows_the_style_and_nothing_else() {
        let hex = countersign_core::exact::Digest::of(STYLE.as_bytes()).hex();
        let bytes: Vec<u8> = (0..32)
            .map(|place| u8::from_str_radix(hex.get(2 * place..2 * place + 2).unwrap(), 16).unwrap())
            .collect();
        let digest = base64::engine::general_purpose::STANDARD.encode(bytes);
        assert_eq!(STYLE_DIGEST, digest);
    }

    #[test]
    fn what_others_wrote_is_shown_and_never_read_as_markup() {
        let page = Page::new("<b>&")
            .quotes("\u{202e}evil\"'</p><script>")
            .answer(StatusCode::OK);
        assert_eq!(page.headers()[X_FRAME_OPTIONS], "DENY");
        assert_eq!(escaped("\u{202e}a\"'</p>"), "\\u{202e}a&quot;&#39;&lt;/p&gt;");
        assert_eq!(escaped("Zoë 日本 👍"), "Zoë 日本 👍");
    }
}
