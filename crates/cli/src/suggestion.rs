//! "Did you mean": the known word that a mistyped one is most like.

/// Letters wrong or swapped, as a part of all, up to which a word looks like a slip and not like another word.
const ALIKE: f64 = 0.66;

/// The end of a message that names the known word most like `typed`, or nothing where none is.
pub(crate) fn did_you_mean<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    known
        .into_iter()
        .map(|word| (strsim::normalized_damerau_levenshtein(typed, word), word))
        .filter(|(likeness, word)| *likeness >= ALIKE || is_swapped(typed, word))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map_or_else(String::new, |(_, word)| format!("; did you mean {word:?}?"))
}

/// One slip in a short word is more than a third of it.
fn is_swapped(typed: &str, word: &str) -> bool {
    typed.len() >= 3 && strsim::damerau_levenshtein(typed, word) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_word_is_named_and_no_other_word() {
        let known = ["error", "warn", "info"];
        assert_eq!(did_you_mean("wran", known), "; did you mean \"warn\"?");
        assert_eq!(did_you_mean("inf", known), "; did you mean \"info\"?");
        assert_eq!(did_you_mean("chatty", known), "");
        assert_eq!(did_you_mean("cache-z", ["cache-a", "cache-b"]), "; did you mean \"cache-a\"?");
    }
}
