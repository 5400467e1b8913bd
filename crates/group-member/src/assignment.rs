//! The positions of what is owned: wanted, looked up, read.
//!
//! ```text
//!  wanted ──► committed offset asked for ──► reading
//!     │               │ none                   ▲  │ out of range
//!     │               ▼                        │  ▼
//!     └── seek ──► beginning or end asked for ─┘  (the policy)
//! ```
//!
//! Every change calls [`AssignmentReader::serve`], which looks at what there is and says what is to be done. One question of
//! each kind is under way, and only partitions that still wait for its answer take it: each position has a version, and a
//! seek, a loss or a return makes another one.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::moment::Moment;

use crate::membership::RequestNumbers;
use crate::{AnswerFailure, KafkaError, RequestNumber, RetryWait};

/// The answer to a partition for which no offset was committed, or whose offset the log does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetPolicy {
    /// It is read from its first record on.
    Earliest,
    /// It is read from its end on.
    Latest,
    /// It is not read; the application is told.
    Refuse,
}

/// The source of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OffsetSource {
    /// The offset that the group committed.
    Committed,
    /// The first one of the log.
    Earliest,
    /// The end of the log.
    Latest,
}

/// A position with its version: records and errors of another version are of no interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadPosition {
    /// The next offset.
    pub offset: Offset,
    /// Its version, unique within one reader.
    pub version: u64,
}

/// Something that is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadCommand {
    /// Offsets are to be asked for; the answer comes back with the number.
    Ask {
        /// The number.
        number: RequestNumber,
        /// The partitions, all of one source.
        partitions: BTreeSet<TopicPartition>,
        /// The source.
        source: OffsetSource,
    },
    /// The partition is to be read from here; a position that was given before counts no more.
    Read {
        /// The partition.
        partition: TopicPartition,
        /// The position.
        position: ReadPosition,
        /// True where the policy chose it, so that no commit says it: it is to be committed, or another owner would choose
        /// again, and skip or repeat records.
        is_chosen: bool,
    },
    /// Nothing more of the partition is to be read.
    Stop(TopicPartition),
    /// The partition can't be read; the application has to choose a position, or give it up.
    Refuse(TopicPartition, KafkaError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceState {
    /// The offset is to be asked for.
    Wanted(OffsetSource),
    /// It is asked for by this request.
    Asked(OffsetSource, RequestNumber),
    /// The position is known.
    At(Offset),
    /// The application has been told that it can't be read.
    Refused,
}

#[derive(Debug, Clone, Copy)]
struct PartitionPlace {
    state: PlaceState,
    version: u64,
    /// True where the policy chooses the position, and that was not told yet.
    is_chosen: bool,
    /// The pause belongs to the partition while it is owned, and ends with that.
    is_paused: bool,
    /// True where it was told to be read from its position.
    is_read: bool,
}

/// The positions of all partitions that a member owns.
#[derive(Debug, Clone)]
pub struct AssignmentReader {
    policy: ResetPolicy,
    places: BTreeMap<TopicPartition, PartitionPlace>,
    /// By source, the question that is under way.
    asked: BTreeMap<OffsetSource, RequestNumber>,
    /// Partitions that are to be stopped.
    stopped: BTreeSet<TopicPartition>,
    refused: Vec<(TopicPartition, KafkaError)>,
    versions: u64,
    not_before: Moment,
    wait: RetryWait,
    numbers: RequestNumbers,
}

impl AssignmentReader {
    /// A reader of nothing yet.
    #[must_use]
    pub fn new(policy: ResetPolicy) -> Self {
        Self {
            policy,
            places: BTreeMap::new(),
            asked: BTreeMap::new(),
            stopped: BTreeSet::new(),
            refused: Vec::new(),
            versions: 0,
            not_before: Moment::default(),
            wait: RetryWait::default(),
            numbers: RequestNumbers::default(),
        }
    }

    /// These partitions are owned. Those that are already stay as they are, with their pause.
    pub fn start(&mut self, partitions: impl IntoIterator<Item = TopicPartition>) {
        for partition in partitions {
            if !self.places.contains_key(&partition) {
                let state = PlaceState::Wanted(OffsetSource::Committed);
                let version = self.next_version();
                let (is_chosen, is_paused, is_read) = (false, false, false);
                self.places
                    .insert(partition, PartitionPlace { state, version, is_chosen, is_paused, is_read });
            }
        }
    }

    /// These partitions are owned no more.
    pub fn stop(&mut self, partitions: &BTreeSet<TopicPartition>) {
        for partition in partitions {
            if self.places.remove(partition).is_some_and(|place| place.is_read) {
                self.stopped.insert(partition.clone());
            }
        }
    }

    /// Reads on from `offset`. False where the partition is not owned.
    pub fn seek(&mut self, partition: &TopicPartition, offset: Offset) -> bool {
        self.seek_state(partition, PlaceState::At(offset))
    }

    /// Reads on from the beginning, the end, or what is committed. False where the partition is not owned.
    pub fn seek_to(&mut self, partition: &TopicPartition, source: OffsetSource) -> bool {
        self.seek_state(partition, PlaceState::Wanted(source))
    }

    /// The application chooses: that commits nothing.
    fn seek_state(&mut self, partition: &TopicPartition, state: PlaceState) -> bool {
        self.choose(partition, false);
        self.move_to(partition, state)
    }

    fn choose(&mut self, partition: &TopicPartition, is_chosen: bool) {
        if let Some(place) = self.places.get_mut(partition) {
            place.is_chosen = is_chosen;
        }
    }

    fn move_to(&mut self, partition: &TopicPartition, state: PlaceState) -> bool {
        let version = self.next_version();
        let Some(place) = self.places.get_mut(partition) else { return false };
        if std::mem::take(&mut place.is_read) {
            self.stopped.insert(partition.clone());
        }
        (place.state, place.version) = (state, version);
        true
    }

    /// Reads nothing of the partition until it is resumed. The position stays. False where it is not owned.
    pub fn pause(&mut self, partition: &TopicPartition) -> bool {
        let Some(place) = self.places.get_mut(partition) else { return false };
        place.is_paused = true;
        if std::mem::take(&mut place.is_read) {
            self.stopped.insert(partition.clone());
        }
        true
    }

    /// Reads on where the pause began; of a partition that is not paused it changes nothing. False where it is not owned.
    pub fn resume(&mut self, partition: &TopicPartition) -> bool {
        self.places.get_mut(partition).map(|place| place.is_paused = false).is_some()
    }

    /// The next offset that is to be handed out; `None` while it is not known.
    #[must_use]
    pub fn position(&self, partition: &TopicPartition) -> Option<Offset> {
        match self.places.get(partition)?.state {
            PlaceState::At(offset) => Some(offset),
            _ => None,
        }
    }

    /// Records up to `next` (excluded) were read from a position of `version`. False where they are of no interest any
    /// more, or not now, and must not be handed out.
    pub fn advance(&mut self, partition: &TopicPartition, version: u64, next: Offset) -> bool {
        let is_current = |place: &&mut PartitionPlace| place.version == version && !place.is_paused;
        let Some(place) = self.places.get_mut(partition).filter(is_current) else { return false };
        let PlaceState::At(offset) = place.state else { return false };
        place.state = PlaceState::At(offset.max(next));
        true
    }

    /// The log does not have the position of `version`: the one error of reading that the policy answers.
    pub fn out_of_range(&mut self, partition: &TopicPartition, version: u64) {
        if self.places.get(partition).is_some_and(|place| place.version == version) {
            self.reset(partition);
        }
    }

    fn reset(&mut self, partition: &TopicPartition) {
        let state = match self.policy {
            ResetPolicy::Earliest => PlaceState::Wanted(OffsetSource::Earliest),
            ResetPolicy::Latest => PlaceState::Wanted(OffsetSource::Latest),
            ResetPolicy::Refuse => return self.refuse(partition, KafkaError::OUT_OF_RANGE),
        };
        self.move_to(partition, state);
        self.choose(partition, true);
    }

    fn refuse(&mut self, partition: &TopicPartition, error: KafkaError) {
        if self.move_to(partition, PlaceState::Refused) {
            self.refused.push((partition.clone(), error));
        }
    }

    /// Takes the offsets of a question: by partition the offset, `None` where there is none, or an error. Partitions that
    /// are missing, and all of them where there is no answer, are asked for again.
    pub fn answered(
        &mut self,
        number: RequestNumber,
        answer: Result<&BTreeMap<TopicPartition, Result<Option<Offset>, KafkaError>>, AnswerFailure>,
        now: Moment,
    ) {
        self.asked.retain(|_, asked| *asked != number);
        let waiting: Vec<_> =
            self.places.iter().filter_map(|(partition, place)| place.waits(number, partition)).collect();
        let mut all_went_well = true;
        for (partition, source) in waiting {
            let word = answer.ok().and_then(|answer| answer.get(&partition)).copied();
            all_went_well &= self.take_word(&partition, source, word);
        }
        if all_went_well {
            self.wait.succeeded();
        } else {
            self.not_before = now + self.wait.failed();
        }
    }

    /// False where the partition has to be asked for again.
    fn take_word(
        &mut self,
        partition: &TopicPartition,
        source: OffsetSource,
        word: Option<Result<Option<Offset>, KafkaError>>,
    ) -> bool {
        match word {
            Some(Ok(Some(offset))) => self.move_to(partition, PlaceState::At(offset)),
            Some(Ok(None)) if source == OffsetSource::Committed => {
                self.reset(partition);
                true
            }
            Some(Err(error)) if !error.passes() => {
                self.refuse(partition, error);
                true
            }
            _ => {
                self.move_to(partition, PlaceState::Wanted(source));
                false
            }
        }
    }

    /// Says what is to be done now. What stops comes first.
    pub fn serve(&mut self, now: Moment) -> Vec<ReadCommand> {
        let mut commands: Vec<_> =
            std::mem::take(&mut self.stopped).into_iter().map(ReadCommand::Stop).collect();
        let refused = std::mem::take(&mut self.refused).into_iter();
        commands.extend(refused.map(|(partition, error)| ReadCommand::Refuse(partition, error)));
        if self.not_before <= now {
            for source in [OffsetSource::Committed, OffsetSource::Earliest, OffsetSource::Latest] {
                commands.extend(self.ask(source));
            }
        }
        for (partition, place) in &mut self.places {
            commands.extend(place.begin(partition));
        }
        commands
    }

    fn ask(&mut self, source: OffsetSource) -> Option<ReadCommand> {
        let wanted = |place: &PartitionPlace| place.state == PlaceState::Wanted(source);
        if self.asked.contains_key(&source) || !self.places.values().any(wanted) {
            return None;
        }
        let number = self.numbers.deal();
        self.asked.insert(source, number);
        let mut partitions = BTreeSet::new();
        for (partition, place) in self.places.iter_mut().filter(|(_, place)| wanted(place)) {
            place.state = PlaceState::Asked(source, number);
            partitions.insert(partition.clone());
        }
        Some(ReadCommand::Ask { number, partitions, source })
    }

    /// The time at which [`serve`](Self::serve) may have something to do; `None`: something else comes first.
    #[must_use]
    pub fn next_step(&self) -> Option<Moment> {
        let wants = |place: &PartitionPlace| matches!(place.state, PlaceState::Wanted(_));
        self.places.values().any(wants).then_some(self.not_before)
    }

    const fn next_version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }
}

impl PartitionPlace {
    /// The partition with the source of its offset, where it waits for the answer to `number`.
    fn waits(
        &self,
        number: RequestNumber,
        partition: &TopicPartition,
    ) -> Option<(TopicPartition, OffsetSource)> {
        match self.state {
            PlaceState::Asked(source, asked) if asked == number => Some((partition.clone(), source)),
            _ => None,
        }
    }

    /// The command to read it from its position, where that is known and was not given yet.
    fn begin(&mut self, partition: &TopicPartition) -> Option<ReadCommand> {
        let PlaceState::At(offset) = self.state else { return None };
        if self.is_paused || std::mem::replace(&mut self.is_read, true) {
            return None;
        }
        Some(ReadCommand::Read {
            partition: partition.clone(),
            position: ReadPosition { offset, version: self.version },
            is_chosen: std::mem::take(&mut self.is_chosen),
        })
    }
}

#[cfg(test)]
#[path = "assignment_test.rs"]
mod assignment_test;
