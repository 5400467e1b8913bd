//! A session after its client closed its stream: it lives on, or it is marked as one that seems to be dead.

use kafka_assigner_types::id::Member;
use tokio::time::{Instant, sleep_until};

use crate::connection_end::ConnectionEnd;
use crate::group::ServedGroup;
use crate::instance::Instance;
use crate::suspicion::{AttachedStream, DeathEvidence, Suspect};

/// A stream that its client closed, at a time that nobody had asked it to.
///
/// The end of the connection, its reset and the end of the stream alone are alike: a client that lives on says so within a
/// second, whatever it was. A connection that was cut off here is another matter: its peer may be there, behind a network
/// that is not.
pub(super) struct DetachedStream {
    pub(super) instance: Instance,
    pub(super) group: ServedGroup,
    pub(super) member: Member,
    pub(super) stream: AttachedStream,
    pub(super) connection: ConnectionEnd,
}

impl DetachedStream {
    /// Marks the session unless its client is heard for `suspect_after`, or this instance leaves before.
    pub(super) async fn wait_for_life(self) {
        let (at, number) = (Instant::now(), self.stream.number());
        let after = self.instance.options().suspect_after;
        if after.is_zero() {
            return;
        }
        self.stream.note_closed(after * 2);
        // From here on it is no stream of its process any more.
        drop(self.stream);
        let suspect = Suspect { instance: &self.instance, group: &self.group, member: &self.member };
        let judging = async {
            sleep_until(at + after).await;
            // By now it is over, where it is.
            if !self.connection.is_cut_off() {
                suspect.judge(DeathEvidence::Closed { number, at }).await;
            }
        };
        // Whoever leaves is left: that many come to others now is no sign of anything.
        let _judged = self.instance.leaving().run_until_cancelled(judging).await;
    }
}
