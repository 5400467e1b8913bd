//! Texts of clients, as they are kept.

/// The first `most` characters of `text` in one line: it becomes part of sentences, lines of logs and terminals, and comes from a
/// client.
pub(crate) fn in_one_line(text: &str, most: usize) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(most).map(plain).collect()
}
