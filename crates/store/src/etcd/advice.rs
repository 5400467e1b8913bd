//! Answers of etcd that are good to have, and that a user with few rights is refused.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::fault::AttemptError;
use crate::error::Error;

/// The refusals that were told: each once for a connection, since only an administrator of etcd can change them.
#[derive(Debug, Default)]
pub(super) struct Advice(Mutex<BTreeSet<&'static str>>);

impl Advice {
    /// An answer that can be done without where etcd denies it; `missing` says for people what is missing then. A wrong
    /// password is no such denial: nothing else can be done either.
    pub(super) fn unless_denied<T>(
        &self,
        missing: &'static str,
        answer: Result<T, AttemptError>,
    ) -> Result<Option<T>, AttemptError> {
        match answer {
            Err(AttemptError::Refused(error @ Error::Denied(_))) => {
                if self.is_news(missing) {
                    tracing::warn!(%error, missing, "the user of etcd has too few rights for this: it is done without");
                }
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }

    fn is_news(&self, missing: &'static str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(missing)
    }
}

#[cfg(test)]
mod tests {
    use tonic::Status;

    use super::*;

    #[test]
    fn a_denial_is_no_failure_and_told_once() {
        let advice = Advice::default();
        let denied = || Err::<(), _>(AttemptError::Refused(Error::Denied("no".to_owned())));
        assert!(matches!(advice.unless_denied("the version", denied()), Ok(None)));
        assert!(!advice.is_news("the version") && advice.is_news("the alarms"));
        assert!(matches!(advice.unless_denied("the version", Ok(7)), Ok(Some(7))));
        let wrong =
            Err::<(), _>(AttemptError::WrongPassword(Status::invalid_argument("authentication failed")));
        assert!(matches!(advice.unless_denied("the size", wrong), Err(AttemptError::WrongPassword(_))));
        assert!(advice.is_news("the size"), "a true denial is still to be told");
        let lost = Err::<(), _>(AttemptError::Lost(None));
        assert!(matches!(advice.unless_denied("the version", lost), Err(AttemptError::Lost(None))));
    }
}
