//! Tests of `intent`.

use countersign_core::exact::Exact;

use super::{Arguments, KEPT};

#[test]
fn arguments_are_never_shown_and_long_ones_are_not_kept() {
    for length in [1, KEPT, KEPT * 4] {
        let text = format!(r#"{{"password":"{}"}}"#, "s".repeat(length));
        let exact = Exact::object(&text).unwrap();
        let arguments = Arguments::of(&exact);
        assert_eq!(arguments.digest(), exact.digest());
        assert_eq!(format!("{arguments:?}"), exact.digest().hex());
        assert_eq!(matches!(arguments, Arguments::Kept(_)), text.len() <= KEPT, "{length}");
    }
}
