//! Tests of `log`.

use super::{Cutter, LINE, Masks};

fn cut(masks: &Masks, pieces: &[&str]) -> Vec<String> {
    let mut cutter = Cutter::default();
    let mut lines = Vec::new();
    for piece in pieces {
        cutter.push(piece.as_bytes(), masks, &mut |line| lines.push(line));
    }
    cutter.finish(masks, &mut |line| lines.push(line));
    lines
}

#[test]
fn i10_a_secret_is_masked_whole_by_part_and_over_pieces() {
    let masks = Masks::of(vec!["Bearer tok-12345678"]);
    assert_eq!(
        cut(&masks, &["Authorization: Bearer tok-12345678\n"]),
        ["Authorization: [secret]"]
    );
    assert_eq!(
        cut(&masks, &["token=tok-1234", "5678 used\r\n"]),
        ["token=[secret] used"]
    );
}

#[test]
fn i10_a_secret_of_several_lines_is_masked_line_by_line() {
    let masks = Masks::of(vec!["-----BEGIN-----\nshort\n-----END-----"]);
    assert_eq!(
        cut(&masks, &["key:\n-----BEGIN-----\nshort\n"]),
        ["key:", "[secret]", "[secret]"]
    );
}

#[test]
fn i10_b048_a_flood_without_line_feeds_is_cut_and_masked() {
    let masks = Masks::of(vec!["swordfish"]);
    let flood = "x".repeat(997) + "swordfish";
    let pieces: Vec<String> = flood
        .repeat(50)
        .as_bytes()
        .chunks(613)
        .map(|c| String::from_utf8(c.to_vec()).unwrap())
        .collect();
    let lines = cut(&masks, &pieces.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(lines.iter().all(|line| line.len() <= LINE));
    let all = lines.concat();
    assert!(!all.contains("swordfish"));
    assert_eq!(all.matches("[secret]").count(), 50);
    assert_eq!(all.matches('x').count(), 997 * 50);
}

#[test]
fn empty_secrets_mask_nothing() {
    assert_eq!(cut(&Masks::of(vec![""]), &["a b\n\n"]), ["a b"]);
}
