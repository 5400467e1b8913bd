//! Everything that happened in a world, in order: what the checker decides on.

use std::fmt;
use std::hash::Hasher as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_client::CommittedOffset;
use kafka_assigner_proto::v1::{AssignmentCommand, RouteCommand, Seen};
use kafka_assigner_router::{RequestError, Unsent};
use kafka_assigner_types::id::{Epoch, Member, Offset, TopicPartition};
use kafka_assigner_types::kv::{Change, Revision, Snapshot};
use kafka_assigner_types::name::TopicName;
use rustc_hash::FxHasher;
use tokio::time::Instant;

use crate::call::Call;
use crate::commits::Start;
use crate::desk::Admitted;
use crate::fault::{Fault, Strike};

/// One thing that happened, and when.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) at: Duration,
    pub(crate) what: What,
}

/// A word of a member about a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    Ready,
    Rested,
    Drained,
    CaughtUp,
    Taken,
    Released,
    WarmFailed,
    /// A router has nothing on its way any more.
    Frozen,
}

/// The outcome of a call, as its client learned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It was executed.
    Done,
    /// Nothing of it was executed.
    Unsent(Unsent),
    /// It may have been executed.
    Unknown,
    /// The router's process died, or was never heard of again.
    Died,
}

impl From<Result<(), RequestError>> for Answer {
    fn from(result: Result<(), RequestError>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(RequestError::Unsent(why)) => Self::Unsent(why),
            Err(_) => Self::Unknown,
        }
    }
}

/// The reason why a consumer does not process a partition any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It was told to let go and finished its work.
    Drained,
    /// It leaves without handing over.
    Left,
    /// It was taken away.
    Lost,
    /// Its claim ran out.
    Lapsed,
    /// Its process is frozen.
    Frozen,
    /// Its process is dead.
    Killed,
}

/// Whom an excuse is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everybody.
    Everyone,
    /// Everything that the member owns or routes.
    Member(Arc<str>),
    /// Requests, and nothing else.
    Requests,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// One revision of the store.
    Changed { revision: Revision, changes: Vec<Change> },
    /// The store was put back: that is all it has.
    WentBack(Snapshot),
    /// The instance's transaction made that revision.
    Wrote { instance: Arc<str>, revision: Revision },
    /// A leader on the instance decided something that breaks an invariant.
    Linted { instance: Arc<str>, violation: String },
    /// Kafka has another topic of that name, with another id.
    Recreated { topic: TopicName },
    /// A member said something, before it went over the network.
    Said { process: u32, by: Member, word: Word, handoff: String, of: TopicPartition },
    /// An instance accepted a stream of a member who has seen that revision, in that history of the store.
    Attached { stream: u64, member: Member, seen: Seen },
    /// An instance sent a command over a stream.
    Told { stream: u64, command: Box<AssignmentCommand> },
    /// An instance sent a router a command over a stream.
    Routed { stream: u64, command: Box<RouteCommand> },
    /// A stream is over.
    Detached { stream: u64 },
    /// A process began to process a partition.
    Began { process: u32, consumer: Arc<str>, at: TopicPartition, epoch: Epoch },
    /// A process started from where it was told to; nothing where it was told nothing.
    Started { process: u32, at: TopicPartition, epoch: Epoch, start: Start },
    /// A process stopped in good order before that offset.
    Stopped { process: u32, at: TopicPartition, offset: Offset },
    /// A process committed an offset: it has begun, or stopped in good order.
    Committed { process: u32, at: TopicPartition, epoch: Epoch, committed: CommittedOffset },
    /// A process began a record of a partition.
    RecordBegun { process: u32, at: TopicPartition },
    /// That record has ended, or was cut.
    RecordEnded { process: u32, at: TopicPartition },
    /// A process processes a partition no more.
    Ended { process: u32, consumer: Arc<str>, at: TopicPartition, why: Why },
    /// A process went on after it was frozen for that long.
    Thawed { consumer: Arc<str>, frozen: Duration, ttl: Duration, claims: bool },
    /// A client gave a request to a router's process.
    Asked { call: Call, router: u32, name: Arc<str>, of: TopicPartition },
    /// A router's process put a call on its way to a process of a consumer.
    Sent { call: u64, router: u32, of: TopicPartition, to: u32, epoch: Epoch },
    /// A call, or its answer, was lost on the way, or reached a process that stood still or died.
    Lost { call: u64 },
    /// A process appended a request to a partition's log, at that place, with the state that it had.
    Executed {
        call: Call,
        process: u32,
        consumer: Arc<str>,
        at: TopicPartition,
        admitted: Admitted,
        epoch: Epoch,
        place: u64,
        knows: u64,
    },
    /// A call is not on its way to an owner any more.
    Back { call: u64, refused: bool },
    /// A client learned what became of its call.
    Answered { call: u64, answer: Answer },
    /// A router's process was told to stop.
    RouterStops { router: u32 },
    /// Something was done to the world.
    Happened { fault: Fault, to: String },
    /// A party of a handoff died.
    Struck(Strike),
    /// Gaps of that scope are forgiven until then, and for the usual time after it.
    Excused { scope: Scope, until: Duration },
    /// No more faults from here on.
    Healed,
    /// The group stands still.
    Settled,
    /// The group did not come to stand still.
    Restless { because: String },
}

/// The record of one world; a clone is the same record.
#[derive(Debug, Clone)]
pub(crate) struct History(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    start: Instant,
    trace: bool,
    entries: Mutex<Vec<Entry>>,
}

impl History {
    /// An empty record that starts now; with `trace` each line goes to standard output as well.
    pub(crate) fn start(trace: bool) -> Self {
        Self(Arc::new(Shared { start: Instant::now(), trace, entries: Mutex::default() }))
    }

    /// The age of the world.
    pub(crate) fn now(&self) -> Duration {
        self.0.start.elapsed()
    }

    pub(crate) fn note(&self, what: What) {
        let entry = Entry { at: self.now(), what };
        if self.0.trace {
            println!("{entry}");
        }
        self.entries().push(entry);
    }

    /// Notes that a fault of this kind hit `to`.
    pub(crate) fn happened(&self, fault: Fault, to: impl Into<String>) {
        self.note(What::Happened { fault, to: to.into() });
    }

    /// Forgives what `member` causes for that long.
    pub(crate) fn excuse(&self, member: &Arc<str>, span: Duration) {
        let scope = Scope::Member(Arc::clone(member));
        self.note(What::Excused { scope, until: self.now() + span });
    }

    /// Forgives requests that fail, for that long: whoever is freezing for a handoff waits for the routers.
    pub(crate) fn excuse_requests(&self, span: Duration) {
        self.note(What::Excused { scope: Scope::Requests, until: self.now() + span });
    }

    /// Forgives gaps of all partitions for that long.
    pub(crate) fn excuse_everyone(&self, span: Duration) {
        self.note(What::Excused { scope: Scope::Everyone, until: self.now() + span });
    }

    /// Takes what happened so far.
    pub(crate) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries())
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.entries.lock().expect("nothing panics while it holds the entries")
    }
}

/// A number that two equal histories share, and different ones practically never.
pub(crate) fn fingerprint(entries: &[Entry]) -> u64 {
    let mut hasher = FxHasher::default();
    for entry in entries {
        hasher.write(entry.to_string().as_bytes());
    }
    hasher.finish()
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.3} {}", self.at.as_secs_f64(), self.what)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { revision, changes } => {
                write!(f, "store  {revision}")?;
                changes.iter().try_for_each(|change| write_change(f, change))
            }
            Self::WentBack(to) => {
                write!(f, "store  BACK to {}, {} records", to.revision, to.records.len())
            }
            Self::Wrote { instance, revision } => write!(f, "wrote  {revision} by {instance}"),
            Self::Recreated { topic } => write!(f, "kafka  has another topic {topic}"),
            Self::Linted { instance, violation } => write!(f, "LINT   {instance}: {violation}"),
            Self::Said { by, word, handoff, of, .. } => write!(f, "said   {by} {word:?} {handoff} of {of}"),
            Self::Attached { stream, member, seen } => {
                write!(f, "stream {stream} of {member}, which has seen {}", seen.revision)
            }
            Self::Told { stream, command } => {
                write!(f, "told   {stream} at {}: {:?}", command.revision, command.command)
            }
            Self::Routed { stream, command } => {
                write!(f, "routed {stream} at {}: {:?}", command.revision, command.command)
            }
            Self::Detached { stream } => write!(f, "stream {stream} over"),
            Self::Began { process, consumer, at, epoch } => {
                write!(f, "work   {consumer}#{process} begins {at} under {epoch}")
            }
            Self::Started { process, at, epoch, start } => {
                write!(f, "work   #{process} starts {at} under {epoch} from {:?}", start.offset)
            }
            Self::Stopped { process, at, offset } => {
                write!(f, "work   #{process} stops {at} before {offset}")
            }
            Self::Committed { process, at, epoch, committed } => {
                write!(f, "work   #{process} commits {} of {at} under {epoch}", committed.offset)
            }
            Self::RecordBegun { process, at } => write!(f, "record #{process} begins one of {at}"),
            Self::RecordEnded { process, at } => write!(f, "record #{process} ends one of {at}"),
            Self::Ended { process, consumer, at, why } => {
                write!(f, "work   {consumer}#{process} ends {at}: {why:?}")
            }
            Self::Thawed { consumer, frozen, claims, .. } => {
                write!(f, "thaw   {consumer} after {frozen:?}, claims: {claims}")
            }
            Self::Asked { call, router, name, of } => {
                write!(f, "ask    {name}#{router} {} of {of}, call {}", call.request, call.number)
            }
            Self::Sent { call, router, of, to, epoch } => {
                write!(f, "send   #{router} {call} of {of} to #{to} under {epoch}")
            }
            Self::Lost { call } => write!(f, "lost   {call}"),
            Self::Executed { call, process, at, admitted, epoch, place, knows, .. } => {
                let (Call { request, number }, Admitted { asked, under }) = (call, admitted);
                write!(
                    f,
                    "append #{process} {request} ({number}) for {asked}, {under} under {epoch} to {at} "
                )?;
                write!(f, "at {place}, has {knows}")
            }
            Self::Back { call, refused } => write!(f, "back   {call}, refused: {refused}"),
            Self::Answered { call, answer } => write!(f, "answer {call} {answer:?}"),
            Self::RouterStops { router } => write!(f, "router #{router} is told to stop"),
            Self::Happened { fault, to } => write!(f, "FAULT  {fault} {to}"),
            Self::Struck(strike) => write!(f, "FAULT  death in a handoff: {strike}"),
            Self::Excused { scope, until } => write!(f, "excuse {scope:?} until {until:?}"),
            Self::Healed => f.write_str("HEALED"),
            Self::Settled => f.write_str("SETTLED"),
            Self::Restless { because } => write!(f, "RESTLESS {because}"),
        }
    }
}

fn write_change(f: &mut fmt::Formatter<'_>, change: &Change) -> fmt::Result {
    match change {
        Change::Put(record) => write!(
            f,
            "\n          put {} (lease {}) {}",
            record.key.escape_ascii(),
            record.lease,
            String::from_utf8_lossy(&record.value)
        ),
        Change::Delete { key, .. } => write!(f, "\n          delete {}", key.escape_ascii()),
    }
}
