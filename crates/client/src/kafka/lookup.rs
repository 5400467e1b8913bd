//! Questions to brokers that many partitions ask at the same moment: [`Lookup`].

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kafka_assigner_types::id::TopicPartition;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::oneshot;

use super::blocking::blocking;

/// The answer about one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundOffset {
    pub(super) offset: Offset,
    /// The text that was committed beside it; empty where there is none.
    pub(super) metadata: String,
}

/// The callers that wait, by partition; those that gave up stay until the next request.
type Waiting = BTreeMap<TopicPartition, Vec<oneshot::Sender<KafkaResult<FoundOffset>>>>;

/// One kind of question. Questions that come while a request is under way go out together in the next one: a member that
/// gets a hundred partitions at once asks twice. So a caller waits for two requests at most, and one more for each caller
/// that gives up while it asks; such a request ends by itself, beside the next one.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    waiting: Mutex<Waiting>,
    /// Held by the caller that asks, until its request has ended.
    turn: tokio::sync::Mutex<()>,
}

impl Lookup {
    /// The answer for `partition`. `request` is given all partitions that wait, and answers with a list of the same.
    ///
    /// Cancel safe: whoever waited for the same request asks again.
    ///
    /// # Errors
    ///
    /// That of the request, or of this partition in it.
    pub(super) async fn of<R>(&self, partition: &TopicPartition, request: R) -> KafkaResult<FoundOffset>
    where
        R: Fn(&[TopicPartition]) -> KafkaResult<TopicPartitionList> + Clone + Send + 'static,
    {
        loop {
            let mut answer = self.enlist(partition);
            let answered = tokio::select! {
                biased;
                // A request that another caller made had this partition in it.
                answered = &mut answer => answered,
                // Nobody asks. This partition still waits, or was answered just now.
                _turn = self.turn.lock() => {
                    self.ask(request.clone()).await;
                    answer.await
                }
            };
            if let Ok(answer) = answered {
                return answer;
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enlist(&self, partition: &TopicPartition) -> oneshot::Receiver<KafkaResult<FoundOffset>> {
        let (answer, answered) = oneshot::channel();
        self.waiting().entry(partition.clone()).or_default().push(answer);
        answered
    }

    /// Asks for all that wait, and answers them.
    async fn ask<R>(&self, request: R)
    where
        R: FnOnce(&[TopicPartition]) -> KafkaResult<TopicPartitionList> + Send + 'static,
    {
        let mut asked = std::mem::take(&mut *self.waiting());
        asked.retain(|_, callers| callers.iter().any(|caller| !caller.is_closed()));
        if asked.is_empty() {
            return;
        }
        let partitions: Vec<_> = asked.keys().cloned().collect();
        let failed = match blocking(move || request(&partitions)).await {
            Ok(answers) => {
                answer_each(&mut asked, &answers);
                KafkaError::OffsetFetch(RDKafkaErrorCode::UnknownPartition)
            }
            Err(error) => error,
        };
        asked.into_values().for_each(|callers| answer(callers, &Err(failed.clone())));
    }
}

/// Answers those that are in `answers`.
fn answer_each(asked: &mut Waiting, answers: &TopicPartitionList) {
    for element in answers.elements() {
        let Ok(partition) = TopicPartition::from_kafka(element.topic(), element.partition()) else {
            continue;
        };
        let callers = asked.remove(&partition).unwrap_or_default();
        let found = || FoundOffset { offset: element.offset(), metadata: readable(|| element.metadata()) };
        answer(callers, &element.error().map(|()| found()));
    }
}

/// The text that `read` gives, or none where it panics: rdkafka does so at bytes that are no UTF-8, and any tool may have
/// committed them. Such an offset counts as one without a text.
fn readable<'a>(read: impl FnOnce() -> &'a str) -> String {
    catch_unwind(AssertUnwindSafe(read)).map_or_else(|_| String::new(), str::to_owned)
}

fn answer(callers: Vec<oneshot::Sender<KafkaResult<FoundOffset>>>, with: &KafkaResult<FoundOffset>) {
    for caller in callers {
        // It may have been cancelled.
        let _ = caller.send(with.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use futures::future::join_all;

    use super::*;

    fn partition(number: u32) -> TopicPartition {
        TopicPartition::try_from(("t", number)).expect("a valid name")
    }

    fn found(offset: i64) -> FoundOffset {
        FoundOffset { offset: Offset::Offset(offset), metadata: String::new() }
    }

    /// Each partition's offset is ten times its number; number 7 is missing.
    fn tenfold(partitions: &[TopicPartition]) -> KafkaResult<TopicPartitionList> {
        let mut list = TopicPartitionList::new();
        for at in partitions.iter().filter(|at| at.partition != 7) {
            let offset = Offset::Offset(i64::from(at.partition) * 10);
            list.add_partition_offset(at.topic.as_str(), at.kafka_number(), offset)?;
        }
        Ok(list)
    }

    // rdkafka can't commit such a text, so the panic stands for its own.
    #[test]
    fn a_text_that_can_not_be_read_is_none() {
        assert_eq!(readable(|| "epoch=5"), "epoch=5");
        assert_eq!(readable(|| panic!("Metadata is not UTF-8")), "");
    }

    #[tokio::test]
    async fn what_is_asked_meanwhile_goes_out_together() {
        let (lookup, requests) = (Lookup::default(), Arc::new(AtomicUsize::new(0)));
        let numbers: Vec<_> = (0..20).chain(0..20).collect();
        let answers = join_all(numbers.iter().map(|number| {
            let requests = requests.clone();
            let request = move |partitions: &[TopicPartition]| {
                requests.fetch_add(1, Ordering::Relaxed);
                tenfold(partitions)
            };
            let (lookup, at) = (&lookup, partition(*number));
            async move { lookup.of(&at, request).await }
        }));
        for (number, answer) in numbers.iter().zip(answers.await) {
            let missing = KafkaError::OffsetFetch(RDKafkaErrorCode::UnknownPartition);
            let expected = if *number == 7 { Err(missing) } else { Ok(found(i64::from(*number) * 10)) };
            assert_eq!(answer, expected, "{number}");
        }
        assert_eq!(requests.load(Ordering::Relaxed), 2, "the first by itself, then all others");
    }

    #[tokio::test]
    async fn a_request_that_fails_fails_for_all_in_it_and_for_nobody_else() {
        let lookup = Lookup::default();
        let failed = KafkaError::OffsetFetch(RDKafkaErrorCode::OperationTimedOut);
        let error = failed.clone();
        let request = move |_: &[TopicPartition]| Err(error.clone());
        let (one, other) = (partition(1), partition(2));
        let both = tokio::join!(lookup.of(&one, request.clone()), lookup.of(&other, request));
        assert_eq!(both, (Err(failed.clone()), Err(failed)));
        assert_eq!(lookup.of(&one, tenfold).await, Ok(found(10)));
    }

    #[tokio::test]
    async fn who_waits_for_the_request_of_a_caller_that_gives_up_asks_again() {
        let (lookup, mut calls) = (Arc::new(Lookup::default()), Vec::new());
        let (begun, has_begun) = mpsc::channel();
        let (go_on, held_up) = mpsc::channel::<()>();
        let held_up = Arc::new(Mutex::new(held_up));
        for number in 0..3 {
            let (lookup, begun, held_up) = (lookup.clone(), begun.clone(), held_up.clone());
            let request = move |partitions: &[TopicPartition]| {
                let _ = begun.send(number);
                let is_held_up = number < 2;
                is_held_up.then(|| held_up.lock().expect("no panic").recv());
                tenfold(partitions)
            };
            calls.push(tokio::spawn(async move { lookup.of(&partition(number), request).await }));
        }
        while lookup.waiting().len() < 2 {
            tokio::task::yield_now().await;
        }
        go_on.send(()).expect("the first request waits");
        assert_eq!(calls.remove(0).await.expect("no panic"), Ok(found(0)));
        let second = move || [has_begun.recv(), has_begun.recv()];
        assert_eq!(blocking(second).await, [Ok(0), Ok(1)]);
        calls[0].abort();
        assert_eq!(calls.remove(1).await.expect("no panic"), Ok(found(20)));
        drop(go_on);
    }
}
