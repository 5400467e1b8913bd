//! The processes that have streams at this instance, of all groups, and those whose streams ended of late: a network that
//! fails, or an instance that stood still, loses many at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

/// The processes by what their clients call them. It holds no more than there are streams, and ends within two spans.
#[derive(Debug, Default)]
pub(crate) struct StreamEnds(Mutex<Processes>);

#[derive(Debug, Default)]
struct Processes {
    by_word: BTreeMap<String, ProcessStreams>,
    /// The ends that count, the oldest first.
    ends: VecDeque<(Instant, String)>,
    /// The number of processes of which an end counts.
    ended: usize,
    streams: u64,
    /// The time at which many ends were last told.
    told: Option<Instant>,
}

#[derive(Debug, Default)]
struct ProcessStreams {
    attached: usize,
    ended: usize,
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
        processes.by_word.entry(process.clone()).or_default().attached += 1;
        let number = processes.streams;
        AttachedStream { ends: Arc::clone(self), process, number }
    }

    /// The number of processes whose streams ended within `span` of now, and the number of all that had streams then.
    pub(crate) fn count(&self, span: Duration) -> (usize, usize) {
        let mut processes = self.processes();
        processes.forget_before(Instant::now(), span);
        (processes.ended, processes.by_word.len())
    }

    /// True once for each time that many streams end at once, which lasts for `span`.
    pub(crate) fn is_news(&self, span: Duration) -> bool {
        let now = Instant::now();
        let told = self.processes().told.replace(now);
        told.is_none_or(|told| now - told > span)
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        self.0.lock().expect("nothing panics while it holds the processes")
    }
}

impl Processes {
    fn note_end(&mut self, process: String, now: Instant) {
        let streams = self.by_word.entry(process.clone()).or_default();
        self.ended += usize::from(streams.ended == 0);
        streams.ended += 1;
        self.ends.push_back((now, process));
    }

    fn forget_before(&mut self, now: Instant, span: Duration) {
        while self.ends.front().is_some_and(|(ended, _)| now - *ended > span) {
            let Some((_, process)) = self.ends.pop_front() else { return };
            let Some(streams) = self.by_word.get_mut(&process) else { continue };
            streams.ended -= 1;
            self.ended -= usize::from(streams.ended == 0);
            self.forget_empty(&process);
        }
    }

    fn forget_empty(&mut self, process: &str) {
        if self.by_word.get(process).is_some_and(|streams| streams.attached == 0 && streams.ended == 0) {
            self.by_word.remove(process);
        }
    }
}

impl AttachedStream {
    /// Its number within this instance, from 1 on.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Its client closed it. It counts for `span`, as long as others are judged by it.
    pub(crate) fn note_closed(&self, span: Duration) {
        let (mut processes, now) = (self.ends.processes(), Instant::now());
        processes.forget_before(now, span);
        processes.note_end(self.process.clone(), now);
    }
}

impl Drop for AttachedStream {
    fn drop(&mut self) {
        let mut processes = self.ends.processes();
        if let Some(streams) = processes.by_word.get_mut(&self.process) {
            streams.attached -= 1;
        }
        processes.forget_empty(&self.process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn a_process_counts_once_and_its_end_for_a_while() {
        let ends = Arc::<StreamEnds>::default();
        let streams: Vec<_> = ["a", "a", "b", "c"].map(|word| ends.attach(word.to_owned())).into();
        assert_eq!(streams.iter().map(AttachedStream::number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(ends.count(SPAN), (0, 3));
        for stream in streams.into_iter().take(2) {
            stream.note_closed(SPAN);
        }
        assert_eq!(ends.count(SPAN), (1, 1), "b and c left in good order");
        tokio::time::advance(SPAN).await;
        assert_eq!(ends.count(SPAN), (1, 1));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(ends.count(SPAN), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn many_ends_are_told_once() {
        let ends = StreamEnds::default();
        assert!(ends.is_news(SPAN));
        tokio::time::advance(SPAN).await;
        assert!(!ends.is_news(SPAN));
        tokio::time::advance(SPAN * 2).await;
        assert!(ends.is_news(SPAN));
    }
}
