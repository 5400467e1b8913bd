//! The text of an error with all of its causes.

use std::error::Error;

use tonic::Status;

/// The text of `error`, then those of its causes, from the outermost on. A text that the one before it ends with is left out:
/// some errors repeat their cause.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    followed(error.to_string(), error.source())
}

/// The code and the message of a status, then the causes that the transport gives.
#[must_use]
pub fn of_status(status: &Status) -> String {
    followed(format!("{:?}: {}", status.code(), status.message()), status.source())
}

fn followed(mut text: String, mut cause: Option<&(dyn Error + 'static)>) -> String {
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn layers(texts: &[&'static str]) -> Layer {
        let (text, rest) = texts.split_first().expect("one at least");
        let source = (!rest.is_empty()).then(|| Box::new(layers(rest)));
        Layer { text, source }
    }

    #[test]
    fn all_causes_are_named_once() {
        assert_eq!(with_causes(&layers(&["a failed"])), "a failed");
        assert_eq!(
            with_causes(&layers(&["a failed", "b failed", "disk full"])),
            "a failed: b failed: disk full"
        );
        assert_eq!(with_causes(&layers(&["a failed: b", "b", "c"])), "a failed: b: c");
    }

    #[test]
    fn a_status_names_its_code_first() {
        assert_eq!(of_status(&Status::unavailable("down")), "Unavailable: down");
        let mut caused = Status::unavailable("transport error");
        caused.set_source(std::sync::Arc::new(layers(&["tcp connect error", "refused"])));
        assert_eq!(of_status(&caused), "Unavailable: transport error: tcp connect error: refused");
    }
}
