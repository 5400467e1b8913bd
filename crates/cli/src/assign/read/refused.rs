//! The reason for which a line is refused: [`Refused`].

use std::fmt::Debug;

use kafka_assigner_strategies::InvalidProblem;
use serde_path_to_error::Error;

/// The fault of a line, and its place.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::assign) struct Refused {
    /// The place, such as `members[2].capacity`; `.` is the line itself.
    pub(in crate::assign) field: String,
    /// The value and the rule that it breaks.
    pub(in crate::assign) error: String,
}

impl Refused {
    /// Refuses `value`, since it `must` be otherwise.
    pub(in crate::assign) fn value(field: String, value: impl Debug, must: impl AsRef<str>) -> Self {
        Self { field, error: format!("{value:?} is refused: {}", must.as_ref()) }
    }

    /// Refuses the whole line.
    pub(in crate::assign) fn line(error: impl Into<String>) -> Self {
        Self { field: ".".to_owned(), error: error.into() }
    }
}

impl From<InvalidProblem> for Refused {
    fn from(error: InvalidProblem) -> Self {
        let field = match &error {
            InvalidProblem::TooManyStandbys { .. } => "standbys",
            _ => ".",
        };
        Self { field: field.to_owned(), error: error.to_string() }
    }
}

impl From<Error<serde_json::Error>> for Refused {
    fn from(error: Error<serde_json::Error>) -> Self {
        let field = error.path().to_string();
        let is_known = !field.contains('?');
        let whole = Self::from(error.into_inner());
        if is_known { Self { field, ..whole } } else { whole }
    }
}

impl From<serde_json::Error> for Refused {
    fn from(error: serde_json::Error) -> Self {
        let words = error.to_string();
        // Its lines would be taken for those of the input, and each of these has only one.
        let place = format!(" at line {} column {}", error.line(), error.column());
        match words.strip_suffix(&place) {
            Some(what) => Self::line(format!("{what}, at byte {}", error.column())),
            None => Self::line(words),
        }
    }
}
