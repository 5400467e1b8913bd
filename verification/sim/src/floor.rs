//! The consumers that process each partition at each moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use kafka_assigner_client::OwnedContext;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

use crate::commits::Commits;
use crate::history::{History, What, Why};
use crate::hole::Hole;

/// The work that is going on; a clone is the same floor.
#[derive(Debug, Clone)]
pub(crate) struct Floor {
    history: History,
    posts: Arc<Mutex<BTreeMap<(u32, TopicPartition), Post>>>,
    commits: Arc<Mutex<Commits>>,
    hole: Option<Hole>,
}

/// One partition in the hands of one process.
#[derive(Debug)]
struct Post {
    consumer: Arc<str>,
    epoch: Epoch,
    /// `None`: its client has no claim of its own, and works until it is told otherwise.
    context: Option<OwnedContext>,
    works: bool,
    /// True if it has worked since it was told to begin.
    started: bool,
}

impl Post {
    fn new(consumer: &Arc<str>, epoch: Epoch, context: Option<OwnedContext>) -> Self {
        Self { consumer: Arc::clone(consumer), epoch, context, works: false, started: false }
    }

    fn is_valid(&self) -> bool {
        self.context.as_ref().is_none_or(|context| context.claim().is_valid())
    }

    /// It rises under an owner that goes on.
    fn epoch(&self) -> Epoch {
        self.context.as_ref().map_or(self.epoch, OwnedContext::epoch)
    }
}

impl Floor {
    pub(crate) fn new(history: History, hole: Option<Hole>) -> Self {
        Self { history, posts: Arc::default(), commits: Arc::default(), hole }
    }

    /// A handler prepares a partition; `is_granted`: it was told already where to start.
    pub(crate) fn prepare(&self, process: u32, at: &TopicPartition, is_granted: bool) {
        let looks = is_granted && self.hole != Some(Hole::CommitsOverlooked);
        self.commits().prepare(process, at, looks);
    }

    /// A handler begins to process.
    pub(crate) fn begin(
        &self,
        process: u32,
        consumer: &Arc<str>,
        at: TopicPartition,
        context: &OwnedContext,
    ) {
        let (epoch, context) = (context.epoch(), Some(context.clone()));
        self.put(process, at, Post::new(consumer, epoch, context));
    }

    /// A client without a clock of its own begins to process.
    pub(crate) fn begin_unclaimed(
        &self,
        process: u32,
        consumer: &Arc<str>,
        at: TopicPartition,
        epoch: Epoch,
    ) {
        self.put(process, at, Post::new(consumer, epoch, None));
    }

    fn put(&self, process: u32, at: TopicPartition, mut post: Post) {
        self.end_lapsed(&at);
        self.look(process, &at, &mut post, false);
        self.posts().insert((process, at), post);
    }

    /// A claim that is over is noticed before somebody else begins, not at the next patrol.
    fn end_lapsed(&self, at: &TopicPartition) {
        for ((process, of), post) in self.posts().iter_mut().filter(|((_, of), post)| of == at && post.works)
        {
            self.look(*process, of, post, false);
        }
    }

    /// A handler has stopped to process. Returns the offset before which it has, and which it commits under a claim alone.
    pub(crate) fn stop(&self, process: u32, owner: &OwnedContext) -> Offset {
        let (at, offset) = (owner.partition().clone(), self.commits().next_offset());
        self.history.note(What::Stopped { process, at, offset });
        if owner.claim().is_valid() {
            self.commit(process, owner, offset);
        }
        offset
    }

    fn commit(&self, process: u32, owner: &OwnedContext, offset: Offset) {
        let committed = self.commits().commit(owner, offset);
        let (at, epoch) = (owner.partition().clone(), owner.epoch());
        self.history.note(What::Committed { process, at, epoch, committed });
    }

    /// A handler has stopped to process.
    pub(crate) fn end(&self, process: u32, at: &TopicPartition, why: Why) {
        let post = self.posts().remove(&(process, at.clone()));
        if let Some(post) = post.filter(|post| post.works) {
            self.ended(process, at, &post, why);
        }
    }

    /// A process is no more.
    pub(crate) fn vacate(&self, process: u32, why: Why) {
        let held: Vec<TopicPartition> =
            self.posts().keys().filter(|(of, _)| *of == process).map(|(_, at)| at.clone()).collect();
        held.iter().for_each(|at| self.end(process, at, why));
    }

    /// Looks at every claim; `frozen` tells which processes make no step.
    pub(crate) fn patrol(&self, frozen: impl Fn(u32) -> bool) {
        for ((process, at), post) in self.posts().iter_mut() {
            self.look(*process, at, post, frozen(*process));
        }
    }

    /// The processes that process `at` now.
    pub(crate) fn workers(&self, at: &TopicPartition) -> Vec<Arc<str>> {
        let posts = self.posts();
        let works = posts.iter().filter(|((_, of), post)| of == at && post.works);
        works.map(|(_, post)| Arc::clone(&post.consumer)).collect()
    }

    fn look(&self, process: u32, at: &TopicPartition, post: &mut Post, frozen: bool) {
        let works = !frozen && post.is_valid();
        if works && !post.started {
            post.started = true;
            // One who is told under a claim that is over by then, as after a suspension, starts nothing.
            self.start(process, at, post);
        }
        if works && !post.works {
            let (consumer, at) = (Arc::clone(&post.consumer), at.clone());
            self.history.note(What::Began { process, consumer, at, epoch: post.epoch() });
        } else if !works && post.works {
            self.ended(process, at, post, if frozen { Why::Frozen } else { Why::Lapsed });
        }
        post.works = works;
    }

    /// An owner begins, and commits at once that it has.
    fn start(&self, process: u32, at: &TopicPartition, post: &Post) {
        let start = post.context.as_ref().map(|owner| self.commits().start(process, owner));
        let (at, epoch, start) = (at.clone(), post.epoch(), start.unwrap_or_default());
        self.history.note(What::Started { process, at, epoch, start });
        if let Some(owner) = &post.context {
            let offset = self.commits().next_offset();
            self.commit(process, owner, offset);
        }
    }

    fn ended(&self, process: u32, at: &TopicPartition, post: &Post, why: Why) {
        self.history.note(What::Ended { process, consumer: Arc::clone(&post.consumer), at: at.clone(), why });
    }

    fn commits(&self) -> MutexGuard<'_, Commits> {
        self.commits.lock().expect("nothing panics while it holds what is committed")
    }

    fn posts(&self) -> MutexGuard<'_, BTreeMap<(u32, TopicPartition), Post>> {
        self.posts.lock().expect("nothing panics while it holds the posts")
    }
}
