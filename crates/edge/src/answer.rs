//! One finished answer: the JSON-RPC text and the HTTP status that goes with it.

use countersign_wire::codes;
use countersign_wire::object::Object;
use countersign_wire::rpc::{self, Fault};
use countersign_wire::version::{Era, Version};
use http::StatusCode;

/// One finished answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The JSON-RPC response.
    pub(crate) text: String,
    /// The status, where the answer is sent alone.
    pub(crate) status: StatusCode,
}

impl Answer {
    /// A result, given raw.
    pub(crate) fn result(id: &str, result: &str) -> Self {
        Self {
            text: rpc::result(id, result),
            status: StatusCode::OK,
        }
    }

    /// A fault of the request with this id.
    pub(crate) fn fault(version: Version, id: &str, fault: Fault) -> Self {
        let status = status_of(version, fault.code);
        Self {
            text: fault.of(id).render(),
            status,
        }
    }

    /// An error object of an upstream, given raw.
    pub(crate) fn raw_error(version: Version, id: &str, error: &str) -> Self {
        let code = match version.era() {
            Era::Legacy => 0,
            Era::Modern => code_of(error),
        };
        Self {
            text: rpc::raw_error(id, error),
            status: status_of(version, code),
        }
    }

    /// The same answer to the request `id`; it was written for the request `written_for`.
    pub(crate) fn readdressed(self, written_for: &str, id: &str) -> Self {
        if written_for == id {
            return self;
        }
        let head = [r#"{"jsonrpc":"2.0","id":"#, written_for].concat();
        match self.text.strip_prefix(&head) {
            Some(rest) => Self {
                text: [r#"{"jsonrpc":"2.0","id":"#, id, rest].concat(),
                status: self.status,
            },
            None => self,
        }
    }

    /// What is left to say when answering went wrong: this one request fails, and no other.
    pub(crate) fn broken(id: &str) -> Self {
        let text = rpc::error(
            Some(id),
            codes::INTERNAL_ERROR,
            "the gateway failed to answer this request",
            None,
        );
        Self {
            text,
            status: StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// The status of an error: 2026-07-28 says which errors are refusals of HTTP too; before, a
/// request that was understood is answered with 200 whatever the answer is.
fn status_of(version: Version, code: i64) -> StatusCode {
    match (version.era(), code) {
        (Era::Modern, codes::HEADER_MISMATCH | codes::MISSING_CAPABILITY | codes::UNSUPPORTED_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        (Era::Modern, codes::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

fn code_of(error: &str) -> i64 {
    let error = Object::parse(error).unwrap_or_default();
    error
        .get("code")
        .and_then(|code| code.get().parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use countersign_wire::rpc::Fault;
    use countersign_wire::version::Version;

    use super::Answer;

    #[test]
    fn status_follows_the_era() {
        let cases = [
            (-32020, 400),
            (-32021, 400),
            (-32022, 400),
            (-32601, 404),
            (-32602, 200),
            (-32603, 200),
            (7, 200),
        ];
        for (code, status) in cases {
            let modern = Answer::fault(Version::V2026_07_28, "1", Fault::new(code, "no"));
            assert_eq!(modern.status.as_u16(), status, "{code}");
            let raw = format!(r#"{{"message":"no","code":{code}}}"#);
            assert_eq!(
                Answer::raw_error(Version::V2026_07_28, "1", &raw).status.as_u16(),
                status,
                "{code}"
            );
            assert_eq!(
                Answer::raw_error(Version::V2025_11_25, "1", &raw).status.as_u16(),
                200,
                "{code}"
            );
        }
    }
}
