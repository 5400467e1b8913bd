//! The records that the shards of a partition have confirmed, each for its own.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_assigner_types::id::Offset;

use crate::confirmations::Confirm;
use crate::context::PartitionContext;

/// The words of the shards of one partition; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct ShardConfirmations(Arc<Mutex<ShardWords>>);

struct ShardWords {
    shards: Vec<ShardWord>,
    /// Takes what the words come to for the partition; `None` = no shard has had a context yet.
    partition: Option<Arc<dyn Confirm>>,
}

/// The records of one shard.
#[derive(Debug, Clone, Copy, Default)]
struct ShardWord {
    /// Those before it are confirmed.
    confirmed: Offset,
    /// The offset after the last one that it was given, and that was not passed over.
    given: Offset,
    /// The offset after the last one that it handled.
    handled: Offset,
}

impl ShardConfirmations {
    pub(crate) fn new(shards: usize) -> Self {
        let shards = vec![ShardWord::default(); shards];
        Self(Arc::new(Mutex::new(ShardWords { shards, partition: None })))
    }

    fn words(&self) -> MutexGuard<'_, ShardWords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shard is given records before `next`. To be called before any shard is given records behind them: what one of
    /// them confirms must not stand for what another one has not seen.
    pub(crate) fn give(&self, shard: usize, next: Offset) {
        let word = &mut self.words().shards[shard];
        word.given = word.given.max(next);
    }

    /// The shard has handled the record before `next`.
    pub(crate) fn handled(&self, shard: usize, next: Offset) {
        let word = &mut self.words().shards[shard];
        word.handled = word.handled.max(next);
    }

    /// The record at `offset` is no longer the shard's to confirm, if it was given to it: it was passed over. One behind which
    /// the shard has others holds nobody up longer than those do.
    pub(crate) fn pass_over(&self, shard: usize, offset: Offset) {
        let mut words = self.words();
        let word = &mut words.shards[shard];
        if word.given != offset.next() {
            return;
        }
        word.given = word.handled;
        let confirmed = confirmed_by_all(&words.shards);
        let partition = words.partition.clone();
        drop(words);
        partition.iter().for_each(|partition| partition.confirm(confirmed));
    }

    /// Takes the word of a shard. Returns what it comes to for the partition.
    fn confirm(&self, shard: usize, next: Offset) -> Offset {
        let shards = &mut self.words().shards;
        shards[shard].confirmed = shards[shard].confirmed.max(next);
        confirmed_by_all(shards)
    }

    /// The context of one shard, whose word counts for its own records only.
    pub(crate) fn context_of(&self, context: &PartitionContext, shard: usize) -> PartitionContext {
        context.confirming(|partition| {
            self.words().partition = Some(Arc::clone(&partition));
            Arc::new(ShardConfirm { words: self.clone(), shard, partition })
        })
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

impl fmt::Debug for ShardWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardWords").field("shards", &self.shards).finish_non_exhaustive()
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

    #[test]
    fn a_record_that_is_passed_over_is_waited_for_only_where_the_shard_has_others_behind_it() {
        let words = ShardConfirmations::new(2);
        words.give(0, offset(50));
        words.give(1, offset(46));
        words.handled(1, offset(43));
        assert_eq!(words.confirm(1, offset(43)), Offset::ZERO, "shard 0 has said nothing");
        assert_eq!(words.confirm(0, offset(50)), offset(43));
        words.pass_over(1, offset(44));
        assert_eq!(words.confirm(0, offset(50)), offset(43), "it has the one at 45 as well");
        words.pass_over(1, offset(45));
        assert_eq!(words.confirm(0, offset(50)), offset(50));
    }
}
