//! Generations of members: the order of their deployments.

use std::cmp::Ordering;

/// Orders generation labels as people count: runs of digits by their value, the rest by letters, so
/// that `v9` comes before `v10`. Labels that differ only in leading zeros are ordered by bytes.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while !left.is_empty() && !right.is_empty() {
        let (piece, other) = (take_piece(&mut left), take_piece(&mut right));
        let ordering = compare_pieces(piece, other);
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Takes the run of digits, or of anything else, that `text` begins with.
fn take_piece<'a>(text: &mut &'a str) -> &'a str {
    let is_digit = |c: char| c.is_ascii_digit();
    let digits = text.starts_with(is_digit);
    let end = text.find(|c: char| is_digit(c) != digits).unwrap_or(text.len());
    let (piece, rest) = text.split_at(end);
    *text = rest;
    piece
}

fn compare_pieces(a: &str, b: &str) -> Ordering {
    let is_number = |piece: &str| piece.starts_with(|c: char| c.is_ascii_digit());
    if !(is_number(a) && is_number(b)) {
        return a.cmp(b);
    }
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_by_value_and_the_rest_by_letters() {
        let ascending = ["", "2", "2-a", "2-b", "10", "a", "v9", "v10", "v10.2", "v10.11", "w"];
        for (at, smaller) in ascending.iter().enumerate() {
            assert_eq!(compare(smaller, smaller), Ordering::Equal);
            for larger in &ascending[at + 1..] {
                assert_eq!(compare(smaller, larger), Ordering::Less, "{smaller} {larger}");
                assert_eq!(compare(larger, smaller), Ordering::Greater, "{larger} {smaller}");
            }
        }
        assert_ne!(compare("v1", "v01"), Ordering::Equal);
    }
}
