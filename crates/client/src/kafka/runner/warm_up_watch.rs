//! Watching over a preparation.

use std::time::Duration;

use kafka_assigner_types::id::Offset;
use tokio::time::timeout;

use super::interrupted::Interrupted;
use crate::context::WarmContext;
use crate::kafka::cursor::Ahead;
use crate::kafka::error::KafkaRunnerError;
use crate::kafka::reader::PartitionReader;

/// The wait of a preparation for a direct grant for its first record, or for the word that there is none, before it
/// gives its place to another one. It loses nothing by that, and is tried again with twice the wait. A fetch is answered
/// within half a second; and while partitions without a leader have all places, those that could be read wait so long.
const FIRST_FETCH_WAIT: Duration = Duration::from_secs(2);
/// The longest such wait: a broker that answers later than that is of no use.
const LONGEST_FIRST_FETCH_WAIT: Duration = Duration::from_secs(10);
/// The same for a handoff, which is declined then: there the present owner works meanwhile, and other members are asked.
const FIRST_FETCH_WAIT_OF_A_HANDOFF: Duration = Duration::from_secs(30);
/// The wait for each further one. All that was read so far is lost then, so this is as long as the service waits by
/// default for a preparation without progress: long against the restart of a broker.
const NEXT_FETCH_WAIT: Duration = Duration::from_secs(5 * 60);

/// Watches over a preparation: tells how far it is, and ends it when nothing comes.
pub(super) struct WarmUpWatch<'a> {
    context: &'a WarmContext,
    /// The first offset that was there; `None` = nothing has come yet. Retention may have removed those before it.
    first: Option<Offset>,
}

impl<'a> WarmUpWatch<'a> {
    pub(super) const fn new(context: &'a WarmContext) -> Self {
        Self { context, first: None }
    }

    /// Waits until there is a record or the end was reached, for a while.
    pub(super) async fn ahead(&mut self, reader: &mut PartitionReader) -> Result<Ahead, Interrupted> {
        // Without a timer where nothing has to be waited for.
        let ahead = match reader.ahead_now()? {
            Some(ahead) => ahead,
            None => self.awaited(reader).await?,
        };
        let at = match ahead {
            Ahead::Record(offset) => offset,
            Ahead::End => reader.next(),
        };
        self.first.get_or_insert(at);
        Ok(ahead)
    }

    async fn awaited(&self, reader: &mut PartitionReader) -> Result<Ahead, Interrupted> {
        let waited = self.patience();
        match timeout(waited, reader.ahead()).await {
            Ok(ahead) => Ok(ahead?),
            Err(_) => {
                let partition = self.context.partition().clone();
                Err(KafkaRunnerError::Stalled { partition, waited }.into())
            }
        }
    }

    fn patience(&self) -> Duration {
        if self.first.is_some() { NEXT_FETCH_WAIT } else { first_wait(self.context) }
    }

    /// Reports that everything before `next` is done, of all that is before `bound`.
    pub(super) fn report(&self, next: Offset, bound: Offset) {
        let Some(first) = self.first else { return };
        let [done, total] = [next, bound.max(next)].map(|to| to.since(first));
        self.context.report(done, Some(total));
    }
}

/// The wait of a preparation for the first that is heard of its partition: an answer about its log, or a record.
pub(super) fn first_wait(context: &WarmContext) -> Duration {
    match context.handoff {
        Some(_) => FIRST_FETCH_WAIT_OF_A_HANDOFF,
        None => first_fetch_wait(context.failures()),
    }
}

/// The wait of a preparation for a direct grant, of which so many have failed in a row.
fn first_fetch_wait(failures: u32) -> Duration {
    // 2^3 times the first one is beyond the longest.
    FIRST_FETCH_WAIT.saturating_mul(1 << failures.min(3)).min(LONGEST_FIRST_FETCH_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preparation_that_reads_nothing_gives_its_place_up_soon_and_each_time_later() {
        let waits = [0, 1, 2, 3, u32::MAX].map(|failures| first_fetch_wait(failures).as_secs());
        assert_eq!(waits, [2, 4, 8, 10, 10]);
    }
}
