//! The numbers of partitions of topics, by which keys are assigned to partitions.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use kafka_assigner_types::name::TopicName;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaErrorCode;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};

use super::client::WeakClient;
use super::known_sizes::{KnownSizes, SizeAnswer, SizeLookup};

/// The most questions under way at once: each holds a thread for up to a second.
const MOST_QUESTIONS: usize = 32;

/// The most topics that are asked about or wait for it: as many as a group may have, since names come from callers.
const MOST_WAITING: usize = 2_000;

/// Asks brokers how many partitions a topic has.
type AskSize = Arc<dyn Fn(TopicName) -> BoxFuture<'static, SizeAnswer> + Send + Sync>;

/// The answer to a question; `None` = it is under way.
type Question = watch::Receiver<Option<SizeAnswer>>;

#[derive(Default)]
struct SharedSizes {
    known: KnownSizes,
    /// One question for each topic, for all who wait for it.
    questions: BTreeMap<TopicName, Question>,
}

/// Asks the brokers of a runner for numbers of partitions, and remembers the answers; cheap to clone. A question goes on where its
/// caller gives up, so that the next one finds the answer, and no topic waits for another one's.
#[derive(Clone)]
pub(super) struct TopicSizes {
    ask: AskSize,
    shared: Arc<Mutex<SharedSizes>>,
    permits: Arc<Semaphore>,
}

impl TopicSizes {
    pub(super) fn new(client: WeakClient) -> Self {
        Self::asking(Arc::new(move |topic| Box::pin(ask(client.clone(), topic))))
    }

    fn asking(ask: AskSize) -> Self {
        Self { ask, shared: Arc::default(), permits: Arc::new(Semaphore::new(MOST_QUESTIONS)) }
    }

    fn shared(&self) -> MutexGuard<'_, SharedSizes> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lookup(&self, topic: &TopicName) -> SizeLookup {
        self.shared().known.lookup(topic, Instant::now())
    }

    /// The number of partitions of a topic, or why it is not known.
    ///
    /// Cancel safe.
    pub(super) async fn of(&self, topic: &TopicName) -> Result<NonZeroU32, String> {
        match self.lookup(topic) {
            SizeLookup::Known(known) => known,
            SizeLookup::Ask => self.answer(topic).await,
            SizeLookup::AskWithin(patience, last) => {
                let answer = timeout(patience, self.answer(topic)).await;
                answer.unwrap_or(Ok(last))
            }
        }
    }

    /// The number that is known once the topic's question has ended, or why none is.
    async fn answer(&self, topic: &TopicName) -> Result<NonZeroU32, String> {
        let mut question = self.question(topic)?;
        let answer = question.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
        // A number that was known before may still count.
        match (self.lookup(topic), answer) {
            (SizeLookup::Known(known), _) => known,
            (_, Some(SizeAnswer::Size(size))) => Ok(size),
            (_, Some(SizeAnswer::NoTopic(error) | SizeAnswer::NoAnswer(error))) => Err(error),
            (_, None) => Err("the question was cancelled; ask again".to_owned()),
        }
    }

    /// The question about a topic that is under way, or a new one.
    fn question(&self, topic: &TopicName) -> Result<Question, String> {
        let mut shared = self.shared();
        // One whose runtime has ended is never answered.
        shared.questions.retain(|_, question| question.has_changed().is_ok());
        if let Some(question) = shared.questions.get(topic) {
            return Ok(question.clone());
        }
        if shared.questions.len() >= MOST_WAITING {
            return Err(format!("{MOST_WAITING} topics are asked about already; try again"));
        }
        let (answer, question) = watch::channel(None);
        shared.questions.insert(topic.clone(), question.clone());
        tokio::spawn(self.clone().ask_for(topic.clone(), answer));
        Ok(question)
    }

    async fn ask_for(self, topic: TopicName, answer: watch::Sender<Option<SizeAnswer>>) {
        let permit = self.permits.acquire().await;
        let answered = (self.ask)(topic.clone()).await;
        drop(permit);
        let mut shared = self.shared();
        shared.known.note(&topic, answered.clone(), Instant::now());
        shared.questions.remove(&topic);
        answer.send_replace(Some(answered));
    }
}

async fn ask(client: WeakClient, topic: TopicName) -> SizeAnswer {
    match client.upgrade() {
        Some(client) => size_answer(client.partitions_of(&topic).await),
        None => SizeAnswer::NoAnswer("the runner has ended".to_owned()),
    }
}

fn size_answer(answer: KafkaResult<NonZeroU32>) -> SizeAnswer {
    match answer {
        Ok(size) => SizeAnswer::Size(size),
        Err(
            error @ KafkaError::MetadataFetch(
                RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic,
            ),
        ) => SizeAnswer::NoTopic(error.to_string()),
        Err(error) => SizeAnswer::NoAnswer(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;
    use rdkafka::mocking::MockCluster;
    use tokio::sync::mpsc::{self, UnboundedReceiver};
    use tokio::sync::oneshot;

    use super::*;
    use crate::kafka::KafkaOptions;
    use crate::kafka::client::Client;

    /// Longer than an answer counts.
    const A_WHILE: Duration = Duration::from_secs(11);

    /// Longer than an error keeps callers from a broker.
    const A_PAUSE: Duration = Duration::from_secs(3);

    /// The questions that reach a broker, with the place for its answer.
    type Asked = UnboundedReceiver<(TopicName, oneshot::Sender<SizeAnswer>)>;

    fn topic(name: &str) -> TopicName {
        name.parse().expect("a valid name")
    }

    const fn size(partitions: u32) -> NonZeroU32 {
        NonZeroU32::new(partitions).expect("not 0")
    }

    fn down() -> SizeAnswer {
        SizeAnswer::NoAnswer("down".to_owned())
    }

    fn with_broker() -> (TopicSizes, Asked) {
        let (asked, questions) = mpsc::unbounded_channel();
        let ask = move |topic| {
            let (answer, answered) = oneshot::channel();
            asked.send((topic, answer)).expect("the test listens");
            answered.map(|answer| answer.unwrap_or_else(|_| down())).boxed()
        };
        (TopicSizes::asking(Arc::new(ask)), questions)
    }

    /// The answer to a caller, with the broker's to its question.
    async fn answered(sizes: &TopicSizes, asked: &mut Asked, with: SizeAnswer) -> Result<NonZeroU32, String> {
        let (t, broker) = (topic("t"), async {
            let (_, answer) = asked.recv().await.expect("a question");
            answer.send(with).expect("somebody waits");
        });
        tokio::join!(sizes.of(&t), broker).0
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_gives_up_leaves_its_question_to_the_next_one() {
        let (sizes, mut asked) = with_broker();
        let (t, short) = (topic("t"), Duration::from_millis(100));
        assert!(timeout(short, sizes.of(&t)).await.is_err());
        let (_, answer) = asked.recv().await.expect("a question");
        assert!(timeout(short, sizes.of(&t)).await.is_err());
        assert!(asked.try_recv().is_err(), "it is asked once");
        answer.send(SizeAnswer::Size(size(3))).expect("it goes on");
        assert_eq!(sizes.of(&t).await, Ok(size(3)));
    }

    #[tokio::test(start_paused = true)]
    async fn no_caller_waits_out_an_outage_while_a_number_may_be_used() {
        let (sizes, mut asked) = with_broker();
        assert_eq!(answered(&sizes, &mut asked, SizeAnswer::Size(size(3))).await, Ok(size(3)));
        tokio::time::advance(A_WHILE).await;
        let before = Instant::now();
        assert_eq!(sizes.of(&topic("t")).await, Ok(size(3)));
        assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
        let (_, answer) = asked.recv().await.expect("a question");
        answer.send(down()).expect("it goes on");
        tokio::time::sleep(A_PAUSE).await;
        let before = Instant::now();
        assert_eq!(sizes.of(&topic("t")).await, Ok(size(3)));
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert!(asked.recv().await.is_some(), "it is asked again all the same");
    }

    #[tokio::test(start_paused = true)]
    async fn no_topic_waits_for_the_question_of_another() {
        let (sizes, mut asked) = with_broker();
        let invented = topic("invented");
        let waits = tokio::spawn({
            let sizes = sizes.clone();
            async move { sizes.of(&invented).await }
        });
        let (_, _kept) = asked.recv().await.expect("a question");
        assert_eq!(answered(&sizes, &mut asked, SizeAnswer::Size(size(3))).await, Ok(size(3)));
        assert!(!waits.is_finished());
    }

    #[tokio::test(start_paused = true)]
    async fn more_topics_than_a_group_has_are_not_asked_about_at_once() {
        let (sizes, mut asked) = with_broker();
        for number in 0..MOST_WAITING {
            assert!(sizes.question(&topic(&format!("t{number}"))).is_ok());
        }
        tokio::time::sleep(A_PAUSE).await;
        assert_eq!(std::iter::from_fn(|| asked.try_recv().ok()).count(), MOST_QUESTIONS);
        assert!(sizes.of(&topic("new")).await.is_err_and(|error| error.contains("try again")));
    }

    #[test]
    fn a_question_whose_runtime_has_ended_is_asked_anew() {
        let (sizes, mut asked) = with_broker();
        let runtime =
            || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let first = runtime();
        first.block_on(async { sizes.question(&topic("t")).expect("there is room") });
        drop(first);
        let answer = runtime().block_on(answered(&sizes, &mut asked, SizeAnswer::Size(size(3))));
        assert_eq!(answer, Ok(size(3)));
    }

    #[tokio::test]
    async fn brokers_are_asked_for_a_number_and_an_unknown_topic_is_an_error() {
        let cluster = MockCluster::new(1).expect("a cluster in this process");
        cluster.create_topic("t", 3, 1).expect("a new topic");
        let options = KafkaOptions::new(cluster.bootstrap_servers(), "g");
        let client = Client::new(&options).expect("valid options");
        let sizes = TopicSizes::new(client.downgrade());
        assert_eq!(sizes.of(&topic("t")).await, Ok(size(3)));
        let missing = size_answer(client.partitions_of(&topic("missing")).await);
        assert!(matches!(&missing, SizeAnswer::NoTopic(why) if why.contains("Unknown topic")), "{missing:?}");
        drop(client);
        assert_eq!(sizes.of(&topic("t")).await, Ok(size(3)), "it is remembered");
        assert_eq!(sizes.of(&topic("u")).await, Err("the runner has ended".to_owned()));
    }
}
