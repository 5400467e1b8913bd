//! The stream of a member as its confirmed heartbeat tells it: behind, or not there.

use std::time::Duration;

use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::state::Concern;
use kafka_assigner_proto::v1::StreamState;
use kafka_assigner_types::id::Member;

use crate::group::{ServedGroup, UnattachedSessions};
use crate::metrics::Metrics;
use crate::session::Confirmation;

/// True if a stream that stands so has not told all that concerned its member by now. It may be on its way.
pub(crate) fn is_behind(stream: &StreamState, concern: &Concern) -> bool {
    let is_same = || concern.digest.is_some_and(|digest| stream.digest == Some(digest.0));
    stream.revision > 0 && stream.revision < concern.revision.0 && !is_same()
}

/// A member whose heartbeat was confirmed, as the instance that heard it sees it.
#[derive(Debug)]
pub(crate) struct HeardMember<'a> {
    pub(crate) group: &'a ServedGroup,
    pub(crate) member: &'a Member,
    pub(crate) stream: Option<&'a StreamState>,
    pub(crate) ttl: Duration,
}

impl HeardMember<'_> {
    /// Counts a heartbeat whose stream is behind `concern`.
    pub(crate) fn measure(&self, metrics: &Metrics, concern: Option<Concern>) {
        let behind = self.stream.zip(concern).filter(|(stream, concern)| is_behind(stream, concern));
        if let Some((stream, concern)) = behind {
            metrics.behind_heartbeat(self.group.name());
            tracing::debug!(member = %self.member, told = stream.revision, concerned = %concern.revision,
                "a stream has not told all yet");
        }
    }

    /// The end of a session that is renewed and can be told nothing; else `confirmation`.
    pub(crate) fn unless_unattached(
        &self,
        metrics: &Metrics,
        sessions: &UnattachedSessions,
        confirmation: Confirmation,
    ) -> Confirmation {
        if !sessions.is_overdue(self.member, self.stream, self.ttl) {
            return confirmation;
        }
        metrics.unattached(self.group.name());
        tracing::warn!(group = %self.group.name(), member = %self.member,
            "renewed without a stream for too long: its session is over");
        Confirmation::Over(FenceReason::Unattached)
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_types::digest::Digest;
    use kafka_assigner_types::kv::Revision;

    use super::*;

    #[test]
    fn behind_is_who_has_not_come_so_far_and_knows_something_else() {
        let concern = Concern { revision: Revision(7), digest: Some(Digest(1)) };
        let stream = |revision, digest| StreamState { revision, digest };
        assert!(is_behind(&stream(6, Some(2)), &concern));
        assert!(is_behind(&stream(6, None), &concern), "no digest tells nothing");
        assert!(!is_behind(&stream(6, Some(1)), &concern), "it missed nothing");
        assert!(!is_behind(&stream(7, Some(2)), &concern), "it has come so far");
        assert!(!is_behind(&stream(0, None), &concern), "there is none");
        let uncertain = Concern { digest: None, ..concern };
        assert!(is_behind(&stream(6, Some(1)), &uncertain));
    }
}
