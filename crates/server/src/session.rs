//! Sessions as the store has them, of consumers and of routers alike: opened once, resumed and renewed by read, keep
//! alive, read.

use std::marker::PhantomData;
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::decode;
use kafka_assigner_core::session::{self, Admission, Opening, Registration};
use kafka_assigner_core::state::{Concern, Entry, GroupState};
use kafka_assigner_core::suspicion;
use kafka_assigner_core::write::same_group;
use kafka_assigner_proto::v1::{FencedPartition, HeartbeatOutcome, HeartbeatResponse, Seen};
use kafka_assigner_proto::{Reason, status, status_after};
use kafka_assigner_store::{Error, Store};
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::{Lease, LeaseId, Record, Revision};
use kafka_assigner_types::moment::millis;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use crate::access::CallPermit;
use crate::convert::fenced;
use crate::group::ServedGroup;
use crate::instance::Instance;
use crate::refusal;

/// The store may take a twentieth of a session's time to live for a heartbeat, within these bounds. That is half of
/// what the client waits: it still hears that the store is silent, and knows that this instance is not.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(100);
const LONGEST_PATIENCE: Duration = Duration::from_secs(1);

/// The number of times that the removal of a mark is tried when the registration changed under it (by a progress report, say).
const ATTEMPTS: usize = 5;

/// The wait that a refused stream is told, where this instance has lost touch with its store: at least this, and up to so
/// much more, so that not all come back at once.
const SHORTEST_WAIT: Duration = Duration::from_secs(5);
const SPREAD_OF_WAITS: Duration = Duration::from_secs(10);

/// A session that is registered, at the revision at which that is certain.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) lease: Lease,
    /// The time at which the request was sent that granted the lease, or kept it alive.
    pub(crate) confirmed: Instant,
    pub(crate) revision: Revision,
}

/// A session that is over, as it was seen at a revision.
#[derive(Debug)]
pub(crate) struct Over {
    pub(crate) reason: FenceReason,
    pub(crate) revision: Revision,
}

/// The store's answer about a session.
#[derive(Debug)]
pub(crate) enum Confirmation {
    /// It goes on, but for the grants that it is fenced of.
    Confirmed {
        fenced: Vec<FencedPartition>,
    },
    Over(FenceReason),
    /// The store did not answer: nothing is renewed and nothing is over.
    Silent(Error),
}

impl Confirmation {
    /// A stable word for metrics.
    pub(crate) const fn label(&self) -> &'static str {
        match self {
            Self::Confirmed { .. } => "confirmed",
            Self::Over(_) => "fenced",
            Self::Silent(_) => "store_unavailable",
        }
    }

    /// The answer to a heartbeat of `member`; `concern` finds what its stream must have told by now.
    pub(crate) fn answer(
        self,
        instance: &Instance,
        group: &ServedGroup,
        member: &Member,
        concern: impl FnOnce(&GroupState) -> Option<Concern>,
    ) -> HeartbeatResponse {
        let (revision, concern) = group.read(|state| (state.revision(), concern(state)));
        let mut response = HeartbeatResponse {
            cluster_id: group.cluster_id().to_owned(),
            revision: revision.0,
            endpoints: instance.peers().addresses(),
            ..HeartbeatResponse::default()
        };
        match self {
            Self::Confirmed { fenced } => {
                let Concern { revision, digest } = concern.unwrap_or_default();
                response.set_outcome(HeartbeatOutcome::Confirmed);
                response.concerned_revision = revision.0;
                response.digest = digest.map(|digest| digest.0);
                response.fenced_partitions = fenced;
            }
            Self::Over(reason) => {
                response.set_outcome(HeartbeatOutcome::Fenced);
                response.fenced = Some(fenced(&reason));
            }
            Self::Silent(error) => {
                tracing::debug!(%member, %error, "heartbeat without the store");
                response.set_outcome(HeartbeatOutcome::StoreUnavailable);
                // Others may know by now that it has another one.
                response.cluster_id = String::new();
            }
        }
        response
    }
}

/// The registration of one member's session, by a record of the kind `R`.
pub(crate) struct Registered<'a, R> {
    instance: &'a Instance,
    store: &'a dyn Store,
    group: &'a ServedGroup,
    member: &'a Member,
    kind: PhantomData<fn() -> R>,
}

/// The outcome of a Register.
#[derive(Debug)]
pub(crate) enum Entrance {
    /// The session exists, and was renewed.
    Resumed(Opened),
    /// It is to be opened, in the place of the session with this lease that was read where there was one.
    Create { takes_over: Option<LeaseId> },
    /// It is over.
    Over(Over),
}

impl<'a, R: Registration> Registered<'a, R> {
    /// The place of the session of `member`.
    pub(crate) fn at(instance: &'a Instance, group: &'a ServedGroup, member: &'a Member) -> Self {
        Self { instance, store: &**instance.store(), group, member, kind: PhantomData }
    }

    /// Decides about a Register by what is registered and by what the member has `seen`, and renews the session that
    /// exists. Nobody takes over or resumes the session of another caller.
    pub(crate) async fn enter(
        &self,
        opening: &Opening,
        seen: &Seen,
        permit: &CallPermit,
    ) -> Result<Entrance, Status> {
        let (record, revision) = self.read().await?;
        permit.check_holder(&record.as_ref().and_then(holder::<R>).unwrap_or_default())?;
        if let Some(reason) = self.ahead(seen, revision) {
            return Ok(Entrance::Over(Over { reason, revision }));
        }
        let admission = session::admit::<R>(record.as_ref(), &self.member.incarnation, opening);
        match (admission, opening) {
            (Admission::Create { takes_over }, _) => Ok(Entrance::Create { takes_over }),
            (Admission::Attach, Opening::Resume(lease)) => self.resume(*lease, revision).await,
            (Admission::Attach, Opening::New) => {
                Ok(Entrance::Over(Over { reason: FenceReason::Gone, revision }))
            }
            (Admission::Fenced(reason), _) => Ok(Entrance::Over(Over { reason, revision })),
        }
    }

    /// The reason why a member has no session here that has seen more than there is at `revision`, which was read after
    /// its word had come. That is a word only: nobody begins another history on it.
    fn ahead(&self, seen: &Seen, revision: Revision) -> Option<FenceReason> {
        let seen = floor(self.group, seen);
        (seen > revision).then(|| {
            self.note_ahead(seen, revision);
            FenceReason::StoreRestored
        })
    }

    fn note_ahead(&self, seen: Revision, store: Revision) {
        let (group, member) = (self.group.name(), self.member);
        tracing::error!(%group, %member, %seen, %store,
            "the store holds less than a member has seen: was it put back?");
        self.instance.note_ahead(group, &member.name);
    }

    fn key(&self) -> Bytes {
        self.group.layout().encode(&R::key(&self.member.name))
    }

    /// The registration as the store has it.
    async fn read(&self) -> Result<(Option<Record>, Revision), Status> {
        self.get().await.map_err(|e| refusal::store(&e))
    }

    /// The registration, where the store holds all that the view knows. Otherwise it was put back, and nobody is confirmed
    /// by what it holds until it is served anew, whatever revision it comes to meanwhile.
    async fn get(&self) -> Result<(Option<Record>, Revision), Error> {
        let reached = self.group.view().revision();
        let (record, read) = self.store.get(&self.key()).await?;
        self.must_hold(reached, read)?;
        Ok((record, read))
    }

    /// Checks that a call was answered at a revision that is not below the one that the view had `reached` before it.
    fn must_hold(&self, reached: Revision, answered: Revision) -> Result<(), Error> {
        if answered < reached {
            self.instance.note_fallen_store(self.group, reached, answered);
        }
        if self.group.fallen_store().is_noted() {
            let source =
                format!("the store stands at revision {answered} and held more before: was it restored?");
            return Err(Error::Unavailable { operation: "get", source: Some(source.into()) });
        }
        Ok(())
    }

    /// Grants a lease and writes the registration under it, once, with the time to live that was granted; refused where
    /// somebody else registered under the name meanwhile, or the group was deleted. Where that has no definite answer the
    /// client comes again as another incarnation.
    pub(crate) async fn open(&self, registration: R, takes_over: Option<LeaseId>) -> Result<Opened, Status> {
        let confirmed = Instant::now();
        let lease = self.store.grant(registration.ttl()).await.map_err(|e| refusal::store(&e))?;
        let registration = registration.with_ttl(lease.ttl);
        let (layout, name) = (self.group.layout(), &self.member.name);
        let mut write = session::open(layout, name, &registration, lease, takes_over);
        write.guards.push(self.group.read(same_group));
        let reached = self.group.view().revision();
        let outcome = self.store.txn(write.unfenced()).await.map_err(|e| refusal::store(&e))?;
        self.must_hold(reached, outcome.revision).map_err(|e| refusal::store(&e))?;
        if !outcome.succeeded {
            let message = format!(
                "{} {name} was registered by somebody else meanwhile, or the group was deleted; try again",
                R::KIND
            );
            return Err(status(Reason::LostRace, message));
        }
        Ok(Opened { lease, confirmed, revision: outcome.revision })
    }

    /// Confirms a session as a heartbeat does: read (which was done at `revision`), keep alive, read.
    async fn resume(&self, id: LeaseId, revision: Revision) -> Result<Entrance, Status> {
        let confirmed = Instant::now();
        let lease = match self.store.keep_alive(id).await {
            Ok(ttl) => Lease { id, ttl },
            Err(Error::LeaseNotFound(_)) => {
                return Ok(Entrance::Over(Over { reason: FenceReason::Gone, revision }));
            }
            Err(error) => return Err(refusal::store(&error)),
        };
        let (registered, revision) = self.read().await?;
        if let Err(reason) = self.check(registered.as_ref(), id) {
            return Ok(Entrance::Over(Over { reason, revision }));
        }
        let heard = self.note_heard(id, registered, &[], "resume").await.map_err(|e| refusal::store(&e))?;
        Ok(match heard {
            Ok(heard) => {
                Entrance::Resumed(Opened { lease, confirmed, revision: heard.written.unwrap_or(revision) })
            }
            Err(reason) => Entrance::Over(Over { reason, revision }),
        })
    }

    /// Removes the mark that the process seems to be dead, and the fences of what the member says that it has `dropped`,
    /// before anybody is told that the session goes on. Whoever ends the session by the mark was first, or is too late.
    async fn note_heard(
        &self,
        lease: LeaseId,
        mut registered: Option<Record>,
        dropped: &[(TopicPartition, Epoch)],
        by: &'static str,
    ) -> Result<Result<HeardSession, FenceReason>, Error> {
        for _ in 0..ATTEMPTS {
            let look = HeardSession::of::<R>(registered.as_ref(), dropped);
            let write = registered.as_ref().and_then(|record| suspicion::unmark::<R>(record, dropped));
            let Some(write) = write else { return Ok(Ok(look)) };
            let reached = self.group.view().revision();
            let written = self.store.txn(write.unfenced()).await?;
            self.must_hold(reached, written.revision)?;
            if written.succeeded {
                if look.is_marked {
                    self.note_unmarked(by);
                }
                return Ok(Ok(HeardSession { written: Some(written.revision), ..look }));
            }
            (registered, _) = self.get().await?;
            if let Err(reason) = self.check(registered.as_ref(), lease) {
                return Ok(Err(reason));
            }
        }
        // Nobody knows what became of it: the client asks again.
        Err(Error::Unknown { operation: "the removal of a suspicion or a fence", source: None })
    }

    /// Counts and logs that the mark was removed, and by which sign of life.
    pub(crate) fn note_unmarked(&self, by: &'static str) {
        let (group, member) = (self.group.name(), self.member);
        self.instance.metrics().unmarked(group, by);
        tracing::info!(%group, %member, by, "lives: suspected no more");
    }

    fn check(&self, registered: Option<&Record>, lease: LeaseId) -> Result<Option<R>, FenceReason> {
        session::check::<R>(registered, &self.member.incarnation, lease)
    }

    /// The session's time to live. Where the view does not show it, the group's counts.
    pub(crate) fn ttl(&self) -> Duration {
        let ttl = self.group.read(|state| {
            let registered = R::registered(state).get(&self.member.name).and_then(Entry::readable);
            registered.map(|registration| registration.ttl())
        });
        ttl.unwrap_or_else(|| time_to_live(self.group, None))
    }

    /// The time that the store may take for a heartbeat of the session.
    pub(crate) fn patience(&self) -> Duration {
        patience(self.ttl())
    }

    /// Asks the store about a session until `deadline`; its client has `seen` so much, and has `dropped` what it was fenced of.
    pub(crate) async fn confirm(
        &self,
        lease: LeaseId,
        seen: Revision,
        dropped: &[(TopicPartition, Epoch)],
        deadline: Instant,
    ) -> Confirmation {
        let late = |_| Confirmation::Silent(Error::Unknown { operation: "heartbeat", source: None });
        timeout_at(deadline, self.renew(lease, seen, dropped)).await.unwrap_or_else(late)
    }

    /// Read, keep alive, read: a session that was over before the lease was kept alive is left to run down, and
    /// the second read makes sure that it was not taken over meanwhile, and tells what it is fenced of: whoever is not told
    /// of a fence sent this heartbeat before it was written.
    async fn renew(
        &self,
        lease: LeaseId,
        seen: Revision,
        dropped: &[(TopicPartition, Epoch)],
    ) -> Confirmation {
        let first = match self.look(lease, None).await {
            Ok(look) => look,
            Err(outcome) => return outcome,
        };
        match self.store.keep_alive(lease).await {
            Ok(_) => {}
            Err(Error::LeaseNotFound(_)) => return Confirmation::Over(FenceReason::Gone),
            Err(error) => return Confirmation::Silent(error),
        }
        let second = match self.look(lease, Some(&first)).await {
            Ok(look) => look,
            Err(outcome) => return outcome,
        };
        // No read goes back behind what was seen of the same store, and a second one was no chance.
        if first.read_at.max(second.read_at) < seen {
            self.note_ahead(seen, second.read_at);
            return Confirmation::Over(FenceReason::StoreRestored);
        }
        match self.note_heard(lease, second.noted, dropped, "heartbeat").await {
            Ok(Ok(heard)) => Confirmation::Confirmed { fenced: heard.fenced },
            Ok(Err(reason)) => Confirmation::Over(reason),
            Err(error) => Confirmation::Silent(error),
        }
    }

    /// Reads the registration. One that was not written since the look `before` says what it said then.
    async fn look(
        &self,
        lease: LeaseId,
        before: Option<&RegistrationLook>,
    ) -> Result<RegistrationLook, Confirmation> {
        let (record, read_at) = self.get().await.map_err(Confirmation::Silent)?;
        let written = record.as_ref().map(|record| record.mod_revision);
        if let Some(before) = before.filter(|before| written.is_some() && before.written == written) {
            return Ok(RegistrationLook { written, read_at, noted: before.noted.clone() });
        }
        let registered = self.check(record.as_ref(), lease).map_err(Confirmation::Over)?;
        let is_noted =
            |registered: R| registered.unmarked().is_some() || registered.fenced().next().is_some();
        let is_noted = registered.is_some_and(is_noted);
        Ok(RegistrationLook { written, read_at, noted: record.filter(|_| is_noted) })
    }
}

/// The caller that opened the session of a registration; `None` where that can't be read.
fn holder<R: Registration>(record: &Record) -> Option<String> {
    decode::<R>(&record.value).ok().map(|registration| registration.caller().to_owned())
}

/// Refuses a call about the session of `member`, where the view shows it as another caller's. A session that the view does not
/// show yet, or no longer, is judged by its incarnation, which its caller made up.
pub(crate) fn check_holder<R: Registration>(
    group: &ServedGroup,
    member: &Member,
    permit: &CallPermit,
) -> Result<(), Status> {
    group.read(|state| {
        let registered = R::registered(state).get(&member.name).and_then(Entry::readable);
        let own = registered.filter(|registration| *registration.incarnation() == member.incarnation);
        own.map_or(Ok(()), |registration| permit.check_holder(registration.caller()))
    })
}

/// A look at a registration that is there.
struct RegistrationLook {
    /// The revision of its last change.
    written: Option<Revision>,
    /// The revision of the store at that time.
    read_at: Revision,
    /// The record, where it has the mark that the process seems to be dead, or fences.
    noted: Option<Record>,
}

/// A session that goes on, as its registration was read last.
struct HeardSession {
    /// The revision at which what it told was written; `None` = nothing was.
    written: Option<Revision>,
    /// True if it had the mark that the process seems to be dead.
    is_marked: bool,
    /// The partitions that it is still fenced of.
    fenced: Vec<FencedPartition>,
}

impl HeardSession {
    fn of<R: Registration>(registered: Option<&Record>, dropped: &[(TopicPartition, Epoch)]) -> Self {
        let read = registered.and_then(|record| decode::<R>(&record.value).ok());
        let is_marked = read.as_ref().is_some_and(|read| read.unmarked().is_some());
        let left = read.as_ref().and_then(|read| read.unfenced(dropped)).or(read);
        let fenced = left.map(|left| left.fenced().map(fenced_partition).collect());
        Self { written: None, is_marked, fenced: fenced.unwrap_or_default() }
    }
}

/// A fence as a client is told of it.
fn fenced_partition((at, epoch): (TopicPartition, Epoch)) -> FencedPartition {
    FencedPartition { topic: at.topic.to_string(), partition: at.kafka_number(), epoch: epoch.0 }
}

fn patience(ttl: Duration) -> Duration {
    (ttl / 20).clamp(SHORTEST_PATIENCE, LONGEST_PATIENCE)
}

/// Refuses a stream that this instance has no room for, or that would have to leave at once.
pub(crate) fn room_for_a_stream(instance: &Instance) -> Result<(), Status> {
    if instance.leaving().is_cancelled() {
        return Err(status(Reason::ShuttingDown, "this instance is stopping; use another one"));
    }
    let limit = instance.options().max_streams;
    if instance.streams() >= limit {
        let message = format!("this instance serves its {limit} streams; use another one");
        return Err(status(Reason::LimitReached, message));
    }
    Ok(())
}

/// Refuses a stream that could not be told the truth. The wait is for clients of which every instance says the same.
pub(crate) fn in_touch(instance: &Instance, group: &ServedGroup) -> Result<(), Status> {
    if !group.touch().is_lost() {
        return Ok(());
    }
    let wait = SHORTEST_WAIT + spread(instance, SPREAD_OF_WAITS);
    let message = "this instance has lost touch with its store; use another one";
    Err(status_after(Reason::StoreUnavailable, message, wait))
}

/// A random part of `span`.
pub(crate) fn spread(instance: &Instance, span: Duration) -> Duration {
    Duration::from_millis(instance.entropy().number() % millis(span).max(1))
}

/// The time to live of a session: what its client `asked` for, or the group's default.
pub(crate) fn time_to_live(group: &ServedGroup, asked: Option<Duration>) -> Duration {
    let default = || group.read(|state| state.configured(|config| config.session_timeout_ms));
    asked.unwrap_or_else(|| Duration::from_millis(default()))
}

/// Waits for a view that is at least as new as the session and what its member has seen: its stream starts from there.
pub(crate) async fn reach(
    instance: &Instance,
    group: &ServedGroup,
    opened: &Opened,
    seen: &Seen,
) -> Result<(), Status> {
    instance.reach(group, opened.revision.max(floor(group, seen))).await
}

/// The newest revision of this store that a member has seen.
pub(crate) fn floor(group: &ServedGroup, seen: &Seen) -> Revision {
    if seen.cluster_id == group.cluster_id() { Revision(seen.revision) } else { Revision::default() }
}
