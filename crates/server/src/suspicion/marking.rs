//! Marks the registration of a session whose process seems to be dead.

use std::time::Duration;

use kafka_assigner_core::record::{DeathSign, Extra, Suspicion};
use kafka_assigner_core::suspicion::{self, LifeSigns, MarkWithheld, is_mass_end};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::{LeaseId, Txn};
use kafka_assigner_types::moment::millis;
use tokio::time::Instant;

use super::ends::is_too_late;
use crate::group::ServedGroup;
use crate::instance::Instance;

/// The most times that a mark is tried anew when the registration changed under it (by a progress report, say).
const ATTEMPTS: usize = 3;

/// The reason of this instance to suspect a death.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SuspectedFor {
    /// The client closed its stream with this number at this time.
    Closed { number: u64, at: Instant },
    /// The session was heard here last, at this time.
    Unheard { since: Instant },
}

/// A session whose process may be dead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspect<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) group: &'a ServedGroup,
    pub(crate) member: &'a Member,
}

impl Suspect<'_> {
    /// Marks the session, unless it shows a sign of life or is not one to be marked. Cancel safe: at the worst the mark is
    /// written and not counted.
    ///
    /// # Errors
    /// The reason why it is not marked now.
    pub(crate) async fn suspect(&self, cause: SuspectedFor) -> Result<(), MarkWithheld> {
        let (group, metrics) = (self.group.name(), self.instance.metrics());
        match self.mark(cause).await {
            Ok(false) => Ok(()),
            Ok(true) => {
                let sign = cause.word();
                metrics.suspected(group, sign);
                tracing::info!(%group, consumer = %self.member, sign, "seems to be dead: suspected");
                Ok(())
            }
            Err(why) => {
                metrics.suspicion_withheld(group, why);
                tracing::debug!(%group, consumer = %self.member, why = why.label(), "not suspected");
                self.tell(cause, why);
                Err(why)
            }
        }
    }

    /// True once the mark is written; false where the session is over, or one that is not marked.
    async fn mark(&self, cause: SuspectedFor) -> Result<bool, MarkWithheld> {
        for _ in 0..ATTEMPTS {
            let Some((lease, ttl)) = self.lease() else { return Ok(false) };
            self.refute(cause)?;
            let since = cause.silence(ttl);
            let Some(rest) = self.rest(lease).await? else { return Ok(false) };
            if suspicion::is_renewed(ttl, rest, since, self.instance.store().lease_rounding()) {
                return Err(MarkWithheld::Renewed);
            }
            // It may have been heard while the store was asked.
            self.refute(cause)?;
            let Some(write) = self.write(cause, rest) else { return Ok(false) };
            if self.apply(write).await? {
                return Ok(true);
            }
        }
        Err(MarkWithheld::Undecided)
    }

    /// Finds the reason not to mark the session, as far as this instance knows.
    ///
    /// One that stood still, or has lost touch with its store, knows nothing: what it has not heard may have been said.
    fn refute(&self, cause: SuspectedFor) -> Result<(), MarkWithheld> {
        let is_late = cause.is_of_stream() && is_too_late(cause.at(), self.span());
        if is_late || self.group.touch().is_lost() {
            return Err(MarkWithheld::Undecided);
        }
        self.signs(cause).withhold().map_or(Ok(()), Err)
    }

    /// Writes the mark; false where the registration is not as the view showed it, which then shows it as it is.
    async fn apply(&self, write: Txn) -> Result<bool, MarkWithheld> {
        let undecided = |_| MarkWithheld::Undecided;
        let outcome = self.instance.store().txn(write).await.map_err(undecided)?;
        if !outcome.succeeded {
            let reached = self.instance.reach(self.group, outcome.revision).await;
            reached.map_err(|_| MarkWithheld::Undecided)?;
        }
        Ok(outcome.succeeded)
    }

    /// The lease of the session and its time to live, where it may be marked.
    fn lease(&self) -> Option<(LeaseId, Duration)> {
        self.group.read(|state| {
            let registered = suspicion::suspect(state, self.member)?;
            Some((registered.lease, Duration::from_millis(registered.ttl_ms)))
        })
    }

    fn signs(&self, cause: SuspectedFor) -> LifeSigns {
        let is_heard = self.group.sessions().is_heard_after(self.member, cause.at());
        match cause {
            SuspectedFor::Closed { at, .. } => {
                let (ended, processes) = self.instance.stream_ends().count(at, self.span(), is_mass_end);
                let is_heard = is_heard || self.group.hub().is_connected(self.member);
                LifeSigns { is_heard, ended, processes }
            }
            SuspectedFor::Unheard { .. } => LifeSigns { is_heard, ended: 0, processes: 0 },
        }
    }

    async fn rest(&self, lease: LeaseId) -> Result<Option<Duration>, MarkWithheld> {
        self.instance.store().time_to_live(lease).await.map_err(|_| MarkWithheld::Undecided)
    }

    fn write(&self, cause: SuspectedFor, rest: Duration) -> Option<Txn> {
        let options = self.instance.options();
        let suspicion = Suspicion {
            sign: cause.sign(),
            by: options.id.clone(),
            stream: cause.stream(),
            rest_ms: millis(rest),
            since: options.wall.now(),
            extra: Extra::new(),
        };
        let write = self.group.read(|state| suspicion::mark(state, self.member, suspicion));
        write.map(kafka_assigner_core::write::Write::unfenced)
    }

    /// Says once that nobody is suspected since too many streams ended.
    fn tell(&self, cause: SuspectedFor, why: MarkWithheld) {
        let ends = self.instance.stream_ends();
        if why == MarkWithheld::Mass && ends.tells_many(self.span() * 2) {
            let (ended, processes) = ends.count(cause.at(), self.span(), |_, _| false);
            tracing::warn!(
                ended,
                processes,
                "many streams ended at once: no consumer is suspected to be dead"
            );
        }
    }

    /// Ends so long before and after an end count with it.
    fn span(&self) -> Duration {
        self.instance.options().suspect_after
    }
}

impl SuspectedFor {
    const fn at(self) -> Instant {
        match self {
            Self::Closed { at, .. } | Self::Unheard { since: at } => at,
        }
    }

    /// The time up to now within which the session has shown no life, if it is dead. One that was not heard here may be
    /// heard elsewhere: it is renewed thrice in its time to live, so half of that tells.
    fn silence(self, ttl: Duration) -> Duration {
        match self {
            Self::Closed { at, .. } => at.elapsed(),
            Self::Unheard { .. } => ttl / 2,
        }
    }

    const fn is_of_stream(self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    const fn stream(self) -> u64 {
        match self {
            Self::Closed { number, .. } => number,
            Self::Unheard { .. } => 0,
        }
    }

    const fn sign(self) -> DeathSign {
        if self.is_of_stream() { DeathSign::Detached } else { DeathSign::Silent }
    }

    const fn word(self) -> &'static str {
        if self.is_of_stream() { "detached" } else { "silent" }
    }
}
