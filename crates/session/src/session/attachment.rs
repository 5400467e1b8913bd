//! The time for which a session is renewed while no instance takes its stream.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// A session without a stream is borne for its time to live, and for at least this long: an attempt may take 10 s, and
/// instances that restart one after the other refuse several. It is less than what the service bears, so that a client that
/// knows why ends its session itself.
const SHORTEST: Duration = Duration::from_secs(20);

/// The state of a session that is renewed and told nothing.
#[derive(Debug, Default)]
pub(super) struct Detachment {
    /// The time from which on it is renewed so.
    since: Option<Moment>,
    /// The instances that refused or ended its stream.
    refused_by: BTreeSet<String>,
}

impl Detachment {
    /// An instance refused the stream, ended it, or did not begin it.
    pub(super) fn refused(&mut self, endpoint: &str) {
        self.refused_by.insert(endpoint.to_owned());
    }

    /// There is a stream, or it is not known that the session is renewed.
    pub(super) fn over(&mut self) {
        *self = Self::default();
    }

    /// The session with the time to live `ttl` was renewed, and has no stream; true if that lasts for too long, and no
    /// instance of all that are `known` is left to be tried.
    pub(super) fn renewed<'a>(
        &mut self,
        now: Moment,
        ttl: Duration,
        mut known: impl Iterator<Item = &'a String>,
    ) -> bool {
        let since = *self.since.get_or_insert(now);
        now >= since + ttl.max(SHORTEST) && known.all(|endpoint| self.refused_by.contains(endpoint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn every_instance_must_have_refused_and_for_long_enough() {
        let (mut detachment, ttl) = (Detachment::default(), Duration::from_secs(10));
        let known = ["a".to_owned(), "b".to_owned()];
        detachment.refused("a");
        assert!(!detachment.renewed(at(5), ttl, known.iter()));
        assert!(!detachment.renewed(at(25), ttl, known.iter()), "b was not tried");
        detachment.refused("b");
        assert!(detachment.renewed(at(25), ttl, known.iter()));
        detachment.over();
        assert!(!detachment.renewed(at(60), ttl, known.iter()), "it begins anew");
    }

    #[test]
    fn a_long_session_is_borne_for_its_time_to_live() {
        let (mut detachment, ttl) = (Detachment::default(), Duration::from_secs(100));
        assert!(!detachment.renewed(at(0), ttl, [].iter()));
        assert!(!detachment.renewed(at(99), ttl, [].iter()));
        assert!(detachment.renewed(at(100), ttl, [].iter()));
    }
}
