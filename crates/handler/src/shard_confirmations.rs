//! The records that the shards of a partition have confirmed, each for its own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use kafka_assigner_types::id::Offset;

use crate::confirmations::Confirm;
use crate::context::PartitionContext;

/// The words of the shards of one partition; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct ShardConfirmations(Arc<Mutex<Vec<ShardWord>>>);

/// The records of one shard.
#[derive(Debug, Clone, Copy, Default)]
struct ShardWord {
    /// Those before it are confirmed.
    confirmed: Offset,
    /// The offset after the last one that it was given.
    given: Offset,
}

impl ShardConfirmations {
    pub(crate) fn new(shards: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![ShardWord::default(); shards])))
    }

    /// The shard is given records before `next`. To be called before any shard is given records behind them: what one of
    /// them confirms must not stand for what another one has not seen.
    pub(crate) fn give(&self, shard: usize, next: Offset) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words[shard].given = words[shard].given.max(next);
    }

    /// Takes the word of a shard. Returns what it comes to for the partition.
    fn confirm(&self, shard: usize, next: Offset) -> Offset {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words[shard].confirmed = words[shard].confirmed.max(next);
        confirmed_by_all(&words)
    }

    /// The context of one shard, whose word counts for its own records only.
    pub(crate) fn context_of(&self, context: &PartitionContext, shard: usize) -> PartitionContext {
        context.confirming(|partition| Arc::new(ShardConfirm { words: self.clone(), shard, partition }))
    }
}

/// The offset before which every record is confirmed by its shard. A shard that has confirmed all that it was given holds
/// nobody up.
fn confirmed_by_all(words: &[ShardWord]) -> Offset {
    let waiting = words.iter().filter(|word| word.confirmed < word.given);
    let last_given = words.iter().map(|word| word.given).max();
    waiting.map(|word| word.confirmed).min().or(last_given).unwrap_or_default()
}

struct ShardConfirm {
    words: ShardConfirmations,
    shard: usize,
    partition: Arc<dyn Confirm>,
}

impl Confirm for ShardConfirm {
    fn confirm(&self, next: Offset) {
        self.partition.confirm(self.words.confirm(self.shard, next));
    }
}

impl fmt::Debug for ShardConfirm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardConfirm").field("shard", &self.shard).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(number: i64) -> Offset {
        Offset::new(number).unwrap()
    }

    #[test]
    fn the_word_of_a_shard_counts_as_far_as_every_other_shard_has_confirmed() {
        let words = ShardConfirmations::new(3);
        words.give(0, offset(50));
        words.give(1, offset(46));
        assert_eq!(words.confirm(0, offset(50)), Offset::ZERO, "shard 1 has said nothing");
        assert_eq!(words.confirm(1, offset(43)), offset(43));
        assert_eq!(words.confirm(1, offset(46)), offset(50), "nothing is left to confirm");
        words.give(2, offset(60));
        words.give(0, offset(59));
        assert_eq!(words.confirm(0, offset(55)), Offset::ZERO, "shard 2 has said nothing");
        words.confirm(2, offset(60));
        assert_eq!(words.confirm(0, offset(56)), offset(56));
    }
}
