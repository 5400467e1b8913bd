//! The sessions that are renewed and say that they have no stream.
//!
//! It is this instance's memory alone: another one that hears them begins anew, which puts their end off and loses nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_proto::v1::StreamState;
use kafka_assigner_types::id::{Incarnation, Member};
use kafka_assigner_types::name::MemberName;
use tokio::time::Instant;

/// A session without a stream is borne for two times to live, and for at least this long: a client needs up to 10 s for
/// one attempt, and instances that restart one after the other refuse several.
const SHORTEST: Duration = Duration::from_secs(60);

/// The time after which a session that was not heard is forgotten: far longer than any session lives without a
/// heartbeat.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(900);

/// So few are not worth to be sought through.
const FEWEST_SWEPT: usize = 50;

/// One entry for each session that said last that it has no stream.
#[derive(Debug, Default)]
pub(crate) struct UnattachedSessions(Mutex<Silences>);

#[derive(Debug, Default)]
struct Silences {
    by_name: BTreeMap<MemberName, Silence>,
    /// The number of them above which those are sought that can be forgotten: so a heartbeat costs the same however many
    /// there are, and there are at most twice as many as had to be remembered at one time.
    swept_above: usize,
}

#[derive(Debug)]
struct Silence {
    incarnation: Incarnation,
    since: Instant,
    heard: Instant,
}

impl UnattachedSessions {
    /// Takes in what a confirmed heartbeat of `member` says of its stream; true if it had none for so long that its session
    /// has to end. A heartbeat that says nothing counts as one with a stream.
    pub(crate) fn is_overdue(&self, member: &Member, stream: Option<&StreamState>, ttl: Duration) -> bool {
        let (mut sessions, now) = (self.sessions(), Instant::now());
        if stream.is_none_or(|stream| stream.revision > 0) {
            sessions.by_name.remove(&member.name);
            return false;
        }
        sessions.forget_old(now);
        let incarnation = member.incarnation.clone();
        let new = || Silence { incarnation, since: now, heard: now };
        let silence = sessions.by_name.entry(member.name.clone()).or_insert_with(new);
        // One that was heard elsewhere meanwhile may have had a stream there.
        let is_gapless = now - silence.heard <= ttl / 2;
        if silence.incarnation != member.incarnation || !is_gapless {
            *silence = Silence { incarnation: member.incarnation.clone(), since: now, heard: now };
        }
        silence.heard = now;
        now - silence.since >= SHORTEST.max(2 * ttl)
    }

    fn sessions(&self) -> MutexGuard<'_, Silences> {
        self.0.lock().expect("nothing panics while it holds the sessions")
    }
}

impl Silences {
    fn forget_old(&mut self, now: Instant) {
        if self.by_name.len() > self.swept_above {
            self.by_name.retain(|_, silence| now - silence.heard <= FORGOTTEN_AFTER);
            self.swept_above = self.by_name.len().max(FEWEST_SWEPT) * 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    fn member(incarnation: &str) -> Member {
        Member { name: "c".parse().unwrap(), incarnation: Incarnation::new(incarnation).unwrap() }
    }

    fn says(sessions: &UnattachedSessions, incarnation: &str, revision: u64) -> bool {
        let stream = StreamState { revision, digest: None };
        sessions.is_overdue(&member(incarnation), Some(&stream), TTL)
    }

    #[tokio::test(start_paused = true)]
    async fn every_heartbeat_must_say_so_for_the_whole_time() {
        let sessions = UnattachedSessions::default();
        for second in (0..60).step_by(5) {
            assert!(!says(&sessions, "1", 0), "after {second} s");
            tokio::time::advance(Duration::from_secs(5)).await;
        }
        assert!(says(&sessions, "1", 0));
        assert!(!says(&sessions, "1", 7), "one with a stream");
        assert!(!says(&sessions, "1", 0), "begins anew");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(!says(&sessions, "2", 0), "and so does another session");
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_are_gone_are_forgotten() {
        let sessions = UnattachedSessions::default();
        for round in 0..10 {
            for n in 0..1_000 {
                let name = format!("c{round}-{n}").parse().unwrap();
                let member = Member { name, ..member("1") };
                assert!(!sessions.is_overdue(&member, Some(&StreamState::default()), TTL));
            }
            tokio::time::advance(2 * FORGOTTEN_AFTER).await;
        }
        let kept = sessions.sessions().by_name.len();
        assert!(kept <= 2_500, "{kept}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_tell_is_left_alone() {
        let sessions = UnattachedSessions::default();
        for _ in 0..100 {
            assert!(!sessions.is_overdue(&member("1"), None, TTL));
            tokio::time::advance(Duration::from_secs(5)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_session_is_borne_for_two_of_its_times_to_live() {
        let (sessions, stream) = (UnattachedSessions::default(), StreamState::default());
        let ttl = Duration::from_secs(100);
        for _ in 0..8 {
            assert!(!sessions.is_overdue(&member("1"), Some(&stream), ttl));
            tokio::time::advance(Duration::from_secs(25)).await;
        }
        assert!(sessions.is_overdue(&member("1"), Some(&stream), ttl));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_heard_elsewhere_between_begins_anew() {
        let sessions = UnattachedSessions::default();
        assert!(!says(&sessions, "1", 0));
        // Minutes with a stream at another instance, where its heartbeats went as well.
        tokio::time::advance(Duration::from_secs(300)).await;
        assert!(!says(&sessions, "1", 0));
    }
}
