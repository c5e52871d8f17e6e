//! `application/x-www-form-urlencoded`: the query of an address, or the body of a form.

/// The fields of a form, in order.
#[derive(Debug, Default)]
pub(super) struct Form {
    fields: Vec<(String, String)>,
}

/// How many fields are read.
const MOST: usize = 32;

impl Form {
    /// Reads a form; `None` for one that has no single reading: a name that is there twice, what is no UTF-8,
    /// or too many fields.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut fields: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if fields.len() >= MOST || fields.iter().any(|(known, _)| *known == name) {
                return None;
            }
            fields.push((name, value));
        }
        Some(Self { fields })
    }

    /// A field's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| value.as_str())
    }
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                high * 16 + low
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn fields_are_decoded() {
        let form = Form::read("a=1&b=x+y%2Fz%C3%BC&c&=d&&").unwrap();
        let got = ["a", "b", "c", ""].map(|name| form.get(name));
        assert_eq!(got, [Some("1"), Some("x y/zü"), Some(""), Some("d")]);
        assert_eq!(form.get("z"), None);
    }

    #[test]
    fn what_has_no_single_reading_is_no_form() {
        for bad in ["a=1&a=2", "a=%", "a=%4", "a=%zz", "%ff=1", "a=1&%61=2"] {
            assert!(Form::read(bad).is_none(), "{bad}");
        }
    }
}
