//! The memory of an instance about the sessions whose heartbeats it receives, beside their registrations.
//!
//! It lives as long as the registration does. Another instance begins anew, which puts a deadline off and loses
//! nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_core::state::{GroupState, Presence};
use kafka_assigner_core::suspicion::suspect;
use kafka_assigner_types::id::{Incarnation, Member};
use kafka_assigner_types::name::MemberName;
use tokio::time::Instant;

/// One page for each session that reports anything.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<MemberName, SessionActivity>>);

#[derive(Debug)]
struct SessionActivity {
    incarnation: Incarnation,
    poll_progress: u64,
    progressed: Instant,
    written: Option<Instant>,
    heard: Option<Instant>,
    /// The last look for it, since it was not heard for so long, and the number of looks that found it renewed.
    looked_for: Option<(Instant, u32)>,
}

/// The looks that find a session renewed until it counts as heard elsewhere: a rolling restart of etcd renews all leases
/// a few times, and then no more.
const LOOKS: u32 = 5;

impl Sessions {
    /// Takes in a heartbeat's counter; true where it has stood still for longer than `limit`.
    pub(crate) fn is_stuck(
        &self,
        state: &GroupState,
        member: &Member,
        counter: u64,
        limit: Duration,
    ) -> bool {
        self.page(state, member, |page| {
            if counter != page.poll_progress {
                page.poll_progress = counter;
                page.progressed = Instant::now();
            }
            page.progressed.elapsed() > limit
        })
    }

    /// Notes a heartbeat; returns the time since the one before, where that was heard here.
    pub(crate) fn note_heartbeat(&self, state: &GroupState, member: &Member) -> Option<Duration> {
        let heard = self.page(state, member, |page| {
            page.looked_for = None;
            page.heard.replace(Instant::now())
        });
        heard.map(|heard| heard.elapsed())
    }

    /// The time since the last heartbeat of the session that was not heard for longest. One that was not heard for two times
    /// to live does not count: it is heard elsewhere, or over; `None` = there is no other.
    pub(crate) fn oldest_heard(&self, state: &GroupState) -> Option<Duration> {
        let age = |(name, page): (&MemberName, &SessionActivity)| {
            let ttl = Duration::from_millis(state.registration(name)?.ttl_ms);
            Some(page.heard?.elapsed()).filter(|age| *age <= ttl * 2)
        };
        self.pages().iter().filter_map(age).max()
    }

    /// True if a heartbeat of `member` was heard here after `moment`.
    pub(crate) fn is_heard_after(&self, member: &Member, moment: Instant) -> bool {
        self.pages().get(&member.name).is_some_and(|page| {
            page.incarnation == member.incarnation && page.heard.is_some_and(|heard| heard > moment)
        })
    }

    /// At most `most` of the sessions that were heard here last, and not for their whole time to live up to now, with the
    /// time at which they were; the time before `in_contact` does not count. Only such as may be suspected.
    pub(crate) fn unheard(
        &self,
        state: &GroupState,
        in_contact: Instant,
        most: usize,
    ) -> Vec<(Member, Instant)> {
        let unheard = |(name, page): (&MemberName, &SessionActivity)| {
            let heard = page.heard?;
            let ttl = Duration::from_millis(state.registration(name)?.ttl_ms);
            let is_due = page.looked_for.is_none_or(|(looked, _)| looked.elapsed() >= ttl / 2);
            if !is_due || heard.max(in_contact).elapsed() < ttl {
                return None;
            }
            let member = Member { name: name.clone(), incarnation: page.incarnation.clone() };
            suspect(state, &member).is_some().then_some((member, heard))
        };
        self.pages().iter().filter_map(unheard).take(most).collect()
    }

    /// Notes that `member`, heard last at `moment`, was looked for and found renewed; it is looked for again half its time to
    /// live later. False where it was often enough, or it was heard here since.
    pub(crate) fn look_again(&self, member: &Member, moment: Instant) -> bool {
        let mut pages = self.pages();
        let page = pages.get_mut(&member.name).filter(|page| page.heard == Some(moment));
        page.is_some_and(|page| {
            let looks = page.looked_for.map_or(0, |(_, looks)| looks) + 1;
            page.looked_for = Some((Instant::now(), looks));
            looks < LOOKS
        })
    }

    /// Forgets that `member` was heard at `moment`, unless it was heard since.
    pub(crate) fn forget_heard(&self, member: &Member, moment: Instant) {
        if let Some(page) = self.pages().get_mut(&member.name) {
            page.heard = page.heard.filter(|heard| *heard != moment);
        }
    }

    /// True if progress was last written at least `interval` ago.
    pub(crate) fn may_write(&self, state: &GroupState, member: &Member, interval: Duration) -> bool {
        self.page(state, member, |page| page.written.is_none_or(|written| written.elapsed() >= interval))
    }

    /// Notes that progress was written now.
    pub(crate) fn note_written(&self, member: &Member) {
        if let Some(page) =
            self.pages().get_mut(&member.name).filter(|page| page.incarnation == member.incarnation)
        {
            page.written = Some(Instant::now());
        }
    }

    /// Forgets the sessions among `names` that are not registered in `state`.
    pub(super) fn forget_ended<'a>(&self, state: &GroupState, names: impl Iterator<Item = &'a MemberName>) {
        let mut pages = self.pages();
        for name in names.filter(|name| !state.consumers().contains_key(*name)) {
            pages.remove(name);
        }
    }

    /// Forgets every session that is not registered in `state`.
    pub(super) fn forget_all_ended(&self, state: &GroupState) {
        self.pages().retain(|name, _| state.consumers().contains_key(name));
    }

    /// The number of sessions that are remembered.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.pages().len()
    }

    /// Looks at the page of a session, which is made for one that `state` knows: then what removes the registration
    /// comes later, and takes the page with it.
    fn page<R: Default>(
        &self,
        state: &GroupState,
        member: &Member,
        look: impl FnOnce(&mut SessionActivity) -> R,
    ) -> R {
        if state.presence(member) != Presence::Here {
            return R::default();
        }
        let new = || {
            let incarnation = member.incarnation.clone();
            SessionActivity {
                incarnation,
                poll_progress: 0,
                progressed: Instant::now(),
                written: None,
                heard: None,
                looked_for: None,
            }
        };
        let mut pages = self.pages();
        let page = pages.entry(member.name.clone()).or_insert_with(new);
        if page.incarnation != member.incarnation {
            *page = new();
        }
        look(page)
    }

    fn pages(&self) -> MutexGuard<'_, BTreeMap<MemberName, SessionActivity>> {
        self.0.lock().expect("nothing panics while it holds the pages")
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
    use kafka_assigner_core::record::{Consumer, Renewal, encode};
    use kafka_assigner_types::kv::{Change, LeaseId, Record, Revision};
    use kafka_assigner_types::moment::WallMillis;

    use super::*;

    fn member() -> Member {
        Member { name: "c".parse().unwrap(), incarnation: Incarnation::new("1").unwrap() }
    }

    fn registered() -> GroupState {
        let layout = Layout::new(DEFAULT_PREFIX, "g".parse().unwrap());
        let consumer = Consumer::new(member().incarnation, 30_000, Renewal::Client, WallMillis(0));
        let record = Record {
            key: layout.encode(&Key::Consumer(member().name)),
            value: encode(&consumer),
            create_revision: Revision(1),
            mod_revision: Revision(1),
            lease: LeaseId(1),
        };
        let mut state = GroupState::new(layout);
        let _touched = state.apply(&[Change::Put(record)], Revision(1));
        state
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_lives_as_long_as_its_registration() {
        let (sessions, mut state) = (Sessions::default(), registered());
        assert!(!sessions.is_stuck(&state, &member(), 0, Duration::from_secs(1)));
        sessions.forget_ended(&state, [member().name].iter());
        assert_eq!(sessions.len(), 1);
        let key = state.layout().encode(&Key::Consumer(member().name));
        let _touched = state.apply(&[Change::Delete { key, revision: Revision(2) }], Revision(2));
        sessions.forget_ended(&state, [member().name].iter());
        assert_eq!(sessions.len(), 0);
        assert!(!sessions.may_write(&state, &member(), Duration::ZERO), "and none is made afterwards");
        assert_eq!(sessions.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_the_oldest_for_two_times_to_live() {
        let (sessions, state) = (Sessions::default(), registered());
        assert_eq!(sessions.oldest_heard(&state), None);
        sessions.note_heartbeat(&state, &member());
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(sessions.oldest_heard(&state), Some(Duration::from_secs(60)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(sessions.oldest_heard(&state), None, "it is heard elsewhere");
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeats_are_timed_by_the_one_before() {
        let (sessions, state) = (Sessions::default(), registered());
        assert_eq!(sessions.note_heartbeat(&state, &member()), None);
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(sessions.note_heartbeat(&state, &member()), Some(Duration::from_secs(7)));
        assert_eq!(sessions.note_heartbeat(&state, &member()), Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_counter_that_stands_still_is_stuck_and_one_that_moves_is_not() {
        let (sessions, state) = (Sessions::default(), registered());
        let limit = Duration::from_secs(10);
        for counter in [1, 2, 3] {
            assert!(!sessions.is_stuck(&state, &member(), counter, limit));
            tokio::time::advance(Duration::from_secs(9)).await;
        }
        assert!(!sessions.is_stuck(&state, &member(), 3, limit));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(sessions.is_stuck(&state, &member(), 3, limit));
    }
}
