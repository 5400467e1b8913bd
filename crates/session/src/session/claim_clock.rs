//! The end of the time for which the session lets its owner act.

use std::time::Duration;

use kafka_assigner_types::claim;

use kafka_assigner_types::moment::Moment;

/// The end of the time for which a session's member may act. In the stricter modes never longer than in `overlap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimTerm {
    /// For what is owned in the mode `overlap`.
    pub overlap: Moment,
    /// For what is owned in a mode that promises one owner at a time.
    pub strict: Moment,
}

/// The claim of one session.
///
/// Valid for two thirds of the granted time to live, counted from the *sending* of the last call that was
/// confirmed: the service may have looked at any moment after that. The last third is the margin within which
/// nobody else is given anything. While instances answer that the store can't be reached, nobody can be given
/// anything either, so in `overlap` the claim goes on, for at most the outage grace; but only one that has not lapsed:
/// what lapsed may have been given away before the store went. The stricter modes have no grace: an instance that can't
/// reach the store knows nothing of what another one may write there.
#[derive(Debug, Clone)]
pub(crate) struct ClaimClock {
    ttl: Duration,
    outage_grace: Duration,
    confirmed: Moment,
    overlap_until: Moment,
}

impl ClaimClock {
    pub(crate) fn granted(sent: Moment, ttl: Duration, outage_grace: Duration) -> Self {
        let outage_grace = outage_grace.min(claim::LONGEST_OUTAGE_GRACE);
        Self { ttl, outage_grace, confirmed: sent, overlap_until: sent + claim::span(ttl) }
    }

    pub(crate) fn term(&self) -> ClaimTerm {
        ClaimTerm { overlap: self.overlap_until, strict: self.confirmed + claim::span(self.ttl) }
    }

    /// A heartbeat that was sent at `sent` was confirmed.
    pub(crate) fn confirmed(&mut self, sent: Moment) {
        self.confirmed = self.confirmed.max(sent);
        self.overlap_until = self.overlap_until.max(self.term().strict);
    }

    /// A heartbeat that was sent at `sent` was answered with "the store can't be reached".
    pub(crate) fn outage(&mut self, now: Moment, sent: Moment) {
        if now < self.overlap_until {
            let grace_over = self.confirmed + self.outage_grace;
            self.overlap_until = self.overlap_until.max((sent + claim::span(self.ttl)).min(grace_over));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    fn clock() -> ClaimClock {
        ClaimClock::granted(at(0), Duration::from_secs(30), Duration::from_secs(600))
    }

    #[test]
    fn two_thirds_count_from_the_sending() {
        let mut clock = clock();
        assert_eq!(clock.term().overlap, at(20));
        clock.confirmed(at(10));
        assert_eq!(clock.term().overlap, at(30));
    }

    #[test]
    fn an_outage_extends_a_valid_claim_for_the_grace_at_most() {
        let mut clock = clock();
        for sent in (10..=900).step_by(10) {
            clock.outage(at(sent), at(sent));
        }
        assert_eq!(clock.term(), ClaimTerm { overlap: at(600), strict: at(20) });
    }

    #[test]
    fn no_grace_is_longer_than_others_wait_for() {
        let mut clock = ClaimClock::granted(at(0), Duration::from_secs(30), Duration::MAX);
        for sent in (10..=900).step_by(10) {
            clock.outage(at(sent), at(sent));
        }
        assert_eq!(clock.term().overlap, at(600));
    }

    #[test]
    fn an_outage_never_revives_a_lapsed_claim() {
        let mut clock = clock();
        clock.outage(at(20), at(15));
        assert_eq!(clock.term().overlap, at(20));
        clock.confirmed(at(40));
        assert_eq!(clock.term().overlap, at(60));
    }
}
