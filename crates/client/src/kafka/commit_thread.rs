//! The thread that commits, one commit after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use super::error::KafkaRunnerError;

/// A commit that is due.
type CommitJob = Box<dyn FnOnce() + Send>;

/// A thread beside the runtime: without a coordinator a commit lasts for seconds, and a runtime that ends waits for its own
/// threads. It ends when this is dropped, and the commit under way is over.
#[derive(Debug)]
pub(super) struct CommitThread(mpsc::Sender<CommitJob>);

impl CommitThread {
    /// # Errors
    ///
    /// [`KafkaRunnerError::Thread`]
    pub(super) fn start() -> Result<Self, KafkaRunnerError> {
        let (jobs, due) = mpsc::channel();
        let work = move || due.into_iter().for_each(perform);
        let started = std::thread::Builder::new().name("kafka-commits".to_owned()).spawn(work);
        started.map(|_| Self(jobs)).map_err(|error| KafkaRunnerError::Thread(error.to_string()))
    }

    /// Performs `job` once those before it are over. Whoever waits for it holds the turn to commit, so there is one at most.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        // The thread lives as long as this does. Dropped, the job tells whoever waits for it.
        let _ = self.0.send(Box::new(job));
    }
}

/// A panic is told by the job that was dropped; the next ones go on.
fn perform(job: CommitJob) {
    let _ = catch_unwind(AssertUnwindSafe(job));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_panics_ends_no_other() {
        let thread = CommitThread::start().expect("a thread");
        let (done, is_done) = mpsc::channel();
        let dropped = done.clone();
        thread.run(move || {
            let _dropped = dropped;
            panic!("on purpose");
        });
        thread.run(move || done.send(()).expect("it is waited for"));
        assert_eq!(is_done.recv(), Ok(()));
        assert!(is_done.recv().is_err(), "whoever waited for the first one would know");
    }
}
