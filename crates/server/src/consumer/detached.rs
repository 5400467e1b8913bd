//! A session after its client closed its stream: it lives on, or it is marked as one that seems to be dead.

use std::time::Duration;

use kafka_assigner_core::suspicion::MarkWithheld;
use kafka_assigner_types::id::Member;
use tokio::time::{Instant, sleep_until};

use crate::connection_end::ConnectionEnd;
use crate::group::ServedGroup;
use crate::instance::Instance;
use crate::suspicion::{AttachedStream, Suspect, SuspectedFor};

/// The number of times that it is tried to find out if a client lives. Past that its lease decides.
const MOST_LOOKS: u32 = 5;

/// The time between two tries.
const LOOK_EVERY: Duration = Duration::from_secs(1);

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
        self.stream.note_closed(after);
        let Self { instance, group, member, stream, connection } = self;
        // From here on it is no stream of its process any more.
        drop(stream);
        let suspect = Suspect { instance: &instance, group: &group, member: &member };
        let looks = async {
            for look in 0..MOST_LOOKS {
                sleep_until(at + after + LOOK_EVERY * look).await;
                // By now it is over, where it is.
                let is_decided = connection.is_cut_off()
                    || suspect.suspect(SuspectedFor::Closed { number, at }).await
                        != Err(MarkWithheld::Undecided);
                if is_decided {
                    return;
                }
            }
            tracing::info!(group = %group.name(), consumer = %member,
                "its client closed its stream, and it was not found out if it lives: its lease decides");
        };
        // An instance that leaves sends its clients away, so the end of their streams is no sign of anything.
        let _left = instance.leaving().run_until_cancelled(looks).await;
    }
}
