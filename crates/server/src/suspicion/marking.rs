//! Marks the registration of a session whose process seems to be dead.

use std::time::Duration;

use kafka_assigner_core::record::{DeathSign, Extra, Suspicion};
use kafka_assigner_core::suspicion::{self, LifeSigns, MarkWithheld};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::{LeaseId, Txn};
use kafka_assigner_types::moment::millis;
use tokio::time::Instant;

use crate::group::ServedGroup;
use crate::instance::Instance;

/// How often a mark is tried anew when the registration changed under it (by a progress report, say).
const ATTEMPTS: usize = 3;

/// The evidence that this instance has for a death.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DeathEvidence {
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
    /// Marks the session by `evidence`, unless it shows a sign of life or is not one to be marked, and says what became
    /// of it; false where that could not be decided now. Cancel safe: at the worst the mark is written and not counted.
    pub(crate) async fn judge(&self, evidence: DeathEvidence) -> bool {
        let (group, metrics) = (self.group.name(), self.instance.metrics());
        let judged = self.mark(evidence).await;
        match judged {
            Ok(false) => {}
            Ok(true) => {
                let sign = evidence.word();
                metrics.suspected(group, sign);
                tracing::info!(%group, consumer = %self.member, sign, "seems to be dead: suspected");
            }
            Err(why) => {
                metrics.suspicion_withheld(group, why);
                tracing::debug!(%group, consumer = %self.member, why = why.label(), "not suspected");
                self.tell(why);
            }
        }
        judged != Err(MarkWithheld::Undecided)
    }

    /// True once the mark is written; false where the session is over, or one that is not marked.
    async fn mark(&self, evidence: DeathEvidence) -> Result<bool, MarkWithheld> {
        for _ in 0..ATTEMPTS {
            let Some((lease, ttl)) = self.lease() else { return Ok(false) };
            if let Some(why) = self.signs(evidence).withhold() {
                return Err(why);
            }
            let since = evidence.at().elapsed();
            let Some(rest) = self.rest(lease).await? else { return Ok(false) };
            if evidence.is_of_stream() && suspicion::is_renewed(ttl, rest, since) {
                return Err(MarkWithheld::Renewed);
            }
            let Some(write) = self.write(evidence, rest) else { return Ok(false) };
            let written = self.instance.change(self.group, write).await;
            if written.map_err(|_| MarkWithheld::Undecided)? {
                return Ok(true);
            }
        }
        Err(MarkWithheld::Undecided)
    }

    /// The lease of the session and its time to live, where it may be marked.
    fn lease(&self) -> Option<(LeaseId, Duration)> {
        self.group.read(|state| {
            let registered = suspicion::suspect(state, self.member)?;
            Some((registered.lease, Duration::from_millis(registered.ttl_ms)))
        })
    }

    fn signs(&self, evidence: DeathEvidence) -> LifeSigns {
        let is_heard = self.group.sessions().is_heard_after(self.member, evidence.at());
        match evidence {
            DeathEvidence::Closed { .. } => {
                let (ended, processes) = self.instance.stream_ends().count(self.window());
                let is_heard = is_heard || self.group.hub().is_connected(self.member);
                LifeSigns { is_heard, ended, processes }
            }
            DeathEvidence::Unheard { .. } => LifeSigns { is_heard, ended: 0, processes: 0 },
        }
    }

    async fn rest(&self, lease: LeaseId) -> Result<Option<Duration>, MarkWithheld> {
        self.instance.store().time_to_live(lease).await.map_err(|_| MarkWithheld::Undecided)
    }

    fn write(&self, evidence: DeathEvidence, rest: Duration) -> Option<Txn> {
        let options = self.instance.options();
        let suspicion = Suspicion {
            sign: evidence.sign(),
            by: options.id.clone(),
            stream: evidence.stream(),
            rest_ms: millis(rest),
            since: options.wall.now(),
            extra: Extra::new(),
        };
        let write = self.group.read(|state| suspicion::mark(state, self.member, suspicion));
        write.map(kafka_assigner_core::write::Write::unfenced)
    }

    /// Says once that nobody is suspected since too many streams ended.
    fn tell(&self, why: MarkWithheld) {
        if why == MarkWithheld::Mass && self.instance.stream_ends().is_news(self.window()) {
            let (ended, processes) = self.instance.stream_ends().count(self.window());
            tracing::warn!(
                ended,
                processes,
                "many streams ended at once: no consumer is suspected to be dead"
            );
        }
    }

    /// Ends from `suspect_after` before an end until as long after it are judged together with it.
    fn window(&self) -> Duration {
        self.instance.options().suspect_after * 2
    }
}

impl DeathEvidence {
    const fn at(self) -> Instant {
        match self {
            Self::Closed { at, .. } | Self::Unheard { since: at } => at,
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
