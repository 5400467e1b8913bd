//! Until when the session lets its owner act.

use std::time::Duration;

use kafka_assigner_core::claim;

use crate::moment::Moment;

/// The claim of one session in the mode `overlap`.
///
/// Valid for two thirds of the granted time to live, counted from the *sending* of the last call that was
/// confirmed: the service may have looked at any moment after that. The last third is the margin within which
/// nobody else is given anything. While instances answer that the store can't be reached, nobody can be given
/// anything either, so the claim goes on, for at most the outage grace; but only one that has not lapsed: what
/// lapsed may have been given away before the store went.
#[derive(Debug, Clone)]
pub(crate) struct ClaimClock {
    ttl: Duration,
    outage_grace: Duration,
    confirmed: Moment,
    until: Moment,
}

impl ClaimClock {
    pub(crate) fn granted(sent: Moment, ttl: Duration, outage_grace: Duration) -> Self {
        Self { ttl, outage_grace, confirmed: sent, until: sent + claim::span(ttl) }
    }

    pub(crate) const fn until(&self) -> Moment {
        self.until
    }

    /// A heartbeat that was sent at `sent` was confirmed.
    pub(crate) fn confirmed(&mut self, sent: Moment) {
        self.confirmed = self.confirmed.max(sent);
        self.until = self.until_now();
    }

    /// A heartbeat that was sent at `sent` was answered with "the store can't be reached".
    pub(crate) fn outage(&mut self, now: Moment, sent: Moment) {
        if now < self.until {
            let grace_over = self.confirmed + self.outage_grace;
            self.until = self.until.max((sent + claim::span(self.ttl)).min(grace_over));
        }
    }

    fn until_now(&self) -> Moment {
        self.until.max(self.confirmed + claim::span(self.ttl))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::after_start(Duration::from_secs(seconds))
    }

    fn clock() -> ClaimClock {
        ClaimClock::granted(at(0), Duration::from_secs(30), Duration::from_secs(600))
    }

    #[test]
    fn two_thirds_count_from_the_sending() {
        let mut clock = clock();
        assert_eq!(clock.until(), at(20));
        clock.confirmed(at(10));
        assert_eq!(clock.until(), at(30));
    }

    #[test]
    fn an_outage_extends_a_valid_claim_for_the_grace_at_most() {
        let mut clock = clock();
        for sent in (10..=900).step_by(10) {
            clock.outage(at(sent), at(sent));
        }
        assert_eq!(clock.until(), at(600));
    }

    #[test]
    fn an_outage_never_revives_a_lapsed_claim() {
        let mut clock = clock();
        clock.outage(at(20), at(15));
        assert_eq!(clock.until(), at(20));
        clock.confirmed(at(40));
        assert_eq!(clock.until(), at(60));
    }
}
