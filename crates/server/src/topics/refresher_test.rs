//! Looks under a clock that stands still until somebody waits.

use std::sync::Mutex;

use async_trait::async_trait;
use kafka_assigner_core::topics::{Found, TopicLook};
use prometheus_client::registry::Registry;

use super::*;
use crate::topics::TopicInterest;

/// A source that notes what it is asked, and fails as it is told.
#[derive(Debug, Default)]
struct Asked {
    looks: Mutex<Vec<(Instant, Vec<String>)>>,
    failing: Mutex<bool>,
}

impl Asked {
    fn fail(&self, failing: bool) {
        *self.failing.lock().unwrap() = failing;
    }

    fn names(&self) -> Vec<String> {
        self.looks.lock().unwrap().iter().map(|(_, names)| names.join(" ")).collect()
    }

    fn times(&self, since: Instant) -> Vec<f64> {
        self.looks.lock().unwrap().iter().map(|(at, _)| (*at - since).as_secs_f64()).collect()
    }
}

#[async_trait]
impl TopicSource for Asked {
    async fn find(&self, names: &BTreeSet<TopicName>) -> Result<Found, Error> {
        let asked = names.iter().map(ToString::to_string).collect();
        self.looks.lock().unwrap().push((Instant::now(), asked));
        if *self.failing.lock().unwrap() {
            return Err(Error { label: "no_answer", source: "nobody is there".into() });
        }
        Ok(names.iter().map(|name| (name.clone(), Some(TopicLook::new(1)))).collect())
    }
}

struct Stand {
    source: Arc<Asked>,
    board: TopicBoard,
    stop: CancellationToken,
    registry: Registry,
    since: Instant,
}

impl Stand {
    fn start() -> Self {
        let (source, board, stop) = (Arc::new(Asked::default()), TopicBoard::new(), CancellationToken::new());
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        let (clock, entropy) = (Monotonic::start(), Arc::new(Entropy::new(1)));
        let interval = Duration::from_secs(10);
        let asked = Arc::<Asked>::clone(&source);
        let refresher = TopicRefresher::new(asked, board.clone(), interval, clock, entropy, metrics);
        tokio::spawn(refresher.run(stop.clone()));
        Self { source, board, stop, registry, since: Instant::now() }
    }

    async fn wait(&self, seconds: u64) {
        sleep_until(self.since + Duration::from_secs(seconds)).await;
    }

    fn shown(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        text
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn names(names: &[&str]) -> BTreeSet<TopicName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn all_groups_are_asked_for_in_one_look() {
    let stand = Stand::start();
    let mut groups: Vec<_> = (0..1000).map(|_| stand.board.interest()).collect();
    for (number, group) in groups.iter_mut().enumerate() {
        group.want(names(&["all", &format!("of-{}", number % 10)]));
    }
    stand.wait(9).await;
    assert_eq!(stand.source.names().len(), 1, "new names are asked for at once, and together");
    for group in &mut groups {
        assert_eq!(group.news().await.values().map(Found::len).sum::<usize>(), 2);
    }
    stand.wait(12).await;
    assert_eq!(stand.source.names().len(), 2);
    assert_eq!(stand.source.names()[1].split(' ').count(), 11);
    stand.wait(60).await;
    let looks = stand.source.names().len();
    assert!((5..=7).contains(&looks), "{looks} looks in a minute, whatever the number of groups");
}

#[tokio::test(start_paused = true)]
async fn a_new_name_is_asked_for_alone_and_moves_no_refresh() {
    let stand = Stand::start();
    let (mut one, mut other) = (stand.board.interest(), stand.board.interest());
    one.want(names(&["a"]));
    stand.wait(5).await;
    other.want(names(&["a", "b"]));
    stand.wait(12).await;
    assert_eq!(stand.source.names(), ["a", "b", "a b"]);
}

/// The time at which the next answer came.
async fn answered(interest: &mut TopicInterest) -> Moment {
    interest.news().await.into_keys().last().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_look_that_is_wanted_sooner_comes_before_the_regular_one() {
    let stand = Stand::start();
    stand.wait(9).await;
    let mut one = stand.board.interest();
    one.want(names(&["a"]));
    let half = Duration::from_secs(5);
    let from = answered(&mut one).await + half;
    one.look_from(from);
    // The regular look comes too early to count, and who is in doubt asks again.
    answered(&mut one).await;
    one.look_from(from);
    let from = answered(&mut one).await + half;
    one.look_from(from);
    stand.wait(31).await;
    let times = stand.source.times(stand.since);
    let expected = [9.0..=9.0, 10.0..=10.1, 14.0..=14.5, 19.0..=20.0, 29.0..=31.0];
    assert!(times.len() == 5 && times.iter().zip(expected).all(|(at, when)| when.contains(at)), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn nobody_looks_sooner_while_looks_fail() {
    let stand = Stand::start();
    let mut one = stand.board.interest();
    one.want(names(&["a"]));
    let from = answered(&mut one).await;
    stand.source.fail(true);
    stand.wait(60).await;
    let failed = stand.source.names().len();
    while stand.source.names().len() == failed {
        sleep(PAUSE).await;
    }
    one.look_from(from);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(stand.source.names().len(), failed + 1, "the waits have grown to ten seconds and more");
}

#[tokio::test(start_paused = true)]
async fn failures_are_followed_by_growing_waits_and_new_names_wait_with_them() {
    let stand = Stand::start();
    stand.source.fail(true);
    let mut group = stand.board.interest();
    group.want(names(&["a"]));
    stand.wait(60).await;
    group.want(names(&["a", "b"]));
    let times = stand.source.times(stand.since);
    assert!((7..=10).contains(&times.len()), "{times:?}");
    let waits: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits[0] < 1.0 && *waits.last().unwrap() > 10.0, "{waits:?}");
    assert!(stand.shown().contains("topic_looks_failed_total{reason=\"no_answer\"}"), "{}", stand.shown());
    stand.source.fail(false);
    stand.wait(95).await;
    let looks = stand.source.names();
    assert_eq!(looks.iter().filter(|names| *names == "b").count(), 0, "{looks:?}");
    assert!(looks.last().unwrap() == "a b", "{looks:?}");
    assert_eq!(group.news().await.values().map(Found::len).sum::<usize>(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_age_of_the_last_good_look_is_shown_once_there_was_a_look() {
    let stand = Stand::start();
    assert!(!stand.shown().contains("topic_look_age_seconds "), "{}", stand.shown());
    let mut group = stand.board.interest();
    group.want(names(&["a"]));
    stand.wait(3).await;
    assert!(stand.shown().contains("topic_look_age_seconds 3.0"), "{}", stand.shown());
}
