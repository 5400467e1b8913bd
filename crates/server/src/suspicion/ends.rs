//! The processes that have streams at this instance, of all groups, and those whose streams ended of late: a network that
//! fails, or an instance that stood still, loses many at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

/// The longest time that a decision about an end may take: the store may be slow, and is asked a few times.
const DECIDED_WITHIN: Duration = Duration::from_secs(10);

/// The most ends that are kept: as many as an instance has streams. So many are too many at once, whichever they are.
const MOST_KEPT: usize = 20_000;

/// The time for which an end is kept where ends within `span` of one another count together.
const fn kept_for(span: Duration) -> Duration {
    span.saturating_mul(2).saturating_add(DECIDED_WITHIN)
}

/// True if a decision about an end at `at` would come so late that others of that time are forgotten already.
pub(super) fn is_too_late(at: Instant, span: Duration) -> bool {
    at.elapsed() > kept_for(span).saturating_sub(span)
}

/// The processes by what their clients call them. It holds no more than there are streams and ends that are kept.
#[derive(Debug, Default)]
pub(crate) struct StreamEnds(Mutex<Processes>);

#[derive(Debug, Default)]
struct Processes {
    /// The number of streams of each process that has one.
    attached: BTreeMap<String, usize>,
    /// The ends that are kept, the oldest first.
    ends: VecDeque<(Instant, String)>,
    streams: u64,
    /// The time at which many ends were last told.
    told: Option<Instant>,
}

/// A stream of a process; dropping it says that it is over.
#[derive(Debug)]
pub(crate) struct AttachedStream {
    ends: Arc<StreamEnds>,
    process: String,
    number: u64,
}

impl StreamEnds {
    /// A stream of `process` begins.
    pub(crate) fn attach(self: &Arc<Self>, process: String) -> AttachedStream {
        let mut processes = self.processes();
        processes.streams += 1;
        *processes.attached.entry(process.clone()).or_default() += 1;
        let number = processes.streams;
        AttachedStream { ends: Arc::clone(self), process, number }
    }

    /// The number of processes of which a stream ended within `span` of `at`, before or after it, and the number of all
    /// that had streams then; `is_enough` of both ends the count.
    pub(super) fn count(
        &self,
        at: Instant,
        span: Duration,
        is_enough: impl Fn(usize, usize) -> bool,
    ) -> (usize, usize) {
        self.processes().count(at, span, is_enough)
    }

    /// Tells whoever calls first that many streams ended at once: returns true to that one, and to nobody else for `span`
    /// after the last call.
    pub(super) fn tells_many(&self, span: Duration) -> bool {
        let now = Instant::now();
        let told = self.processes().told.replace(now);
        told.is_none_or(|told| now - told > span)
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        self.0.lock().expect("nothing panics while it holds the processes")
    }
}

impl Processes {
    fn count(&self, at: Instant, span: Duration, is_enough: impl Fn(usize, usize) -> bool) -> (usize, usize) {
        let (mut ended, mut gone) = (BTreeSet::new(), 0);
        let from = self.ends.partition_point(|(end, _)| *end + span < at);
        for (_, process) in self.ends.range(from..).take_while(|(end, _)| *end <= at + span) {
            if ended.insert(process.as_str()) && !self.attached.contains_key(process) {
                gone += 1;
            }
            if is_enough(ended.len(), self.attached.len() + gone) {
                break;
            }
        }
        (ended.len(), self.attached.len() + gone)
    }

    fn note_end(&mut self, process: String, kept_for: Duration) {
        let now = Instant::now();
        self.ends.push_back((now, process));
        while self.ends.front().is_some_and(|(end, _)| now - *end > kept_for) || self.ends.len() > MOST_KEPT {
            self.ends.pop_front();
        }
    }
}

impl AttachedStream {
    /// Its number within this instance, from 1 on.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Its client closed it. That counts for others that end within `span` of it.
    pub(crate) fn note_closed(&self, span: Duration) {
        self.ends.processes().note_end(self.process.clone(), kept_for(span));
    }
}

impl Drop for AttachedStream {
    fn drop(&mut self) {
        let mut processes = self.ends.processes();
        let Some(streams) = processes.attached.get_mut(&self.process) else { return };
        *streams -= 1;
        if *streams == 0 {
            processes.attached.remove(&self.process);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(1);

    fn attach<const N: usize>(ends: &Arc<StreamEnds>, processes: [&str; N]) -> [AttachedStream; N] {
        processes.map(|process| ends.attach(process.to_owned()))
    }

    fn count(ends: &StreamEnds, at: Instant) -> (usize, usize) {
        ends.count(at, SPAN, |_, _| false)
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_counts_once_however_many_of_its_streams_end() {
        let ends = Arc::<StreamEnds>::default();
        let streams = attach(&ends, ["a", "a", "b", "c"]);
        assert_eq!(streams.each_ref().map(AttachedStream::number), [1, 2, 3, 4]);
        assert_eq!(count(&ends, Instant::now()), (0, 3));
        let [first, second, _b, _c] = streams;
        first.note_closed(SPAN);
        second.note_closed(SPAN);
        assert_eq!(count(&ends, Instant::now()), (1, 3));
        drop((first, second));
        assert_eq!(count(&ends, Instant::now()), (1, 3), "it had one then");
    }

    // However late the decision about it comes.
    #[tokio::test(start_paused = true)]
    async fn an_end_counts_with_those_just_before_and_just_after_it() {
        let ends = Arc::<StreamEnds>::default();
        let begin = Instant::now();
        for process in ["a", "b", "c", "d"] {
            attach(&ends, [process])[0].note_closed(SPAN);
            tokio::time::advance(SPAN).await;
        }
        let counts = |at| count(&ends, begin + SPAN * at).0;
        assert_eq!([0, 1, 2, 3].map(counts), [2, 3, 3, 2]);
        tokio::time::advance(DECIDED_WITHIN).await;
        assert!(is_too_late(begin, SPAN), "others of that time may be forgotten");
        assert!(!is_too_late(begin + SPAN * 3, SPAN));
        attach(&ends, ["e"])[0].note_closed(SPAN);
        assert_eq!([1, 2, 3].map(counts), [1, 2, 2], "the first two are forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_goes_no_further_than_it_must() {
        let ends = Arc::<StreamEnds>::default();
        for process in ["a", "b", "c", "d"] {
            attach(&ends, [process])[0].note_closed(SPAN);
        }
        assert_eq!(ends.count(Instant::now(), SPAN, |ended, _| ended > 1), (2, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn many_ends_are_told_once() {
        let ends = StreamEnds::default();
        assert!(ends.tells_many(SPAN));
        tokio::time::advance(SPAN).await;
        assert!(!ends.tells_many(SPAN));
        tokio::time::advance(SPAN * 2).await;
        assert!(ends.tells_many(SPAN));
    }
}
