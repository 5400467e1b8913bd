//! The spans of a claim: the time for which an owner may act without a new confirmation.
//!
//! ```text
//!  sent a confirmed heartbeat                 lease runs out
//!  │◄───────────── claim: 2/3 ─────────────►│◄── margin: 1/3 ──►│
//! ```
//!
//! The owner stops by its own clock at two thirds; the store's clock, which started later, ends the lease after
//! the whole. The two clocks may differ by a third of the time to live before both sides could act.

use std::time::Duration;

/// The time for which an owner may act, counted from the sending of its last confirmed heartbeat.
#[must_use]
pub const fn span(ttl: Duration) -> Duration {
    Duration::from_nanos(ttl.as_nanos() as u64 / 3 * 2)
}

/// The longest time for which an owner in `overlap` may act after its last confirmed heartbeat, while instances answer that
/// the store can't be reached.
pub const LONGEST_OUTAGE_GRACE: Duration = Duration::from_secs(600);

/// The interval between two renewals of a session: two fit into a claim, so that one lost answer costs nothing.
#[must_use]
pub const fn renewal_interval(ttl: Duration) -> Duration {
    Duration::from_nanos(ttl.as_nanos() as u64 / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_leaves_a_third_of_the_lease_as_its_margin() {
        let ttl = Duration::from_secs(30);
        assert_eq!(span(ttl), Duration::from_secs(20));
        assert_eq!(renewal_interval(ttl), Duration::from_secs(10));
    }
}
