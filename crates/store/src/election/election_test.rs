use kafka_assigner_types::kv::{LeaseId, Op, Record, Revision, Txn};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::election::options::LeaseOptions;
use crate::election::term::End;
use crate::embedded::MemoryStore;
use crate::faulty::{Fault, FaultyStore, Outage, Rates};

type Link = FaultyStore<MemoryStore>;

const KEY: &str = "leader";
const TTL: Duration = Duration::from_secs(5);

/// Longer than any of these elections takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn instance(memory: &MemoryStore, seed: u64) -> (Link, Election) {
    instance_until(memory, seed, CancellationToken::new())
}

/// An instance that gives its lease back at `stop`.
fn instance_until(memory: &MemoryStore, seed: u64, stop: CancellationToken) -> (Link, Election) {
    let link = FaultyStore::new(memory.clone(), seed);
    let mut options = Options::new(KEY, format!("instance {seed}"));
    options.backoff.seed = seed;
    let lease = lease(&link, seed, stop);
    (link.clone(), Election::new(Arc::new(link), options, lease))
}

/// The lease of an instance, which is kept until `stop`.
fn lease(link: &Link, seed: u64, stop: CancellationToken) -> LeaderLease {
    let mut options = LeaseOptions { ttl: TTL, ..LeaseOptions::default() };
    options.backoff.seed = seed;
    let (lease, keeper) = LeaderLease::new(Arc::new(link.clone()), options, stop);
    tokio::spawn(keeper.run());
    lease
}

/// Campaigns in a task, so that it goes on meanwhile.
fn campaign(election: &Election) -> JoinHandle<Term> {
    let election = election.clone();
    tokio::spawn(async move { election.campaign(Duration::ZERO).await })
}

async fn won(campaign: JoinHandle<Term>) -> Term {
    timeout(PATIENCE, campaign).await.expect("somebody wins").expect("no panic")
}

async fn holder(memory: &MemoryStore) -> Option<Record> {
    memory.get(KEY.as_bytes()).await.expect("memory answers").0
}

/// Writes under a term's guard and tells whether that was taken.
async fn writes(memory: &MemoryStore, term: &Term) -> bool {
    let txn = Txn::guarded(vec![term.guard()], vec![Op::put("decision", "")]);
    memory.txn(txn).await.expect("memory answers").succeeded
}

#[tokio::test(start_paused = true)]
async fn who_finds_the_key_free_leads_and_says_so() {
    let memory = MemoryStore::new();
    let (_, election) = instance(&memory, 1);
    let term = election.campaign(Duration::ZERO).await;
    let record = holder(&memory).await.expect("it holds the key");
    assert_eq!(&record.value[..], b"instance 1");
    assert_eq!((record.lease, record.create_revision), (term.lease().id, term.create_revision()));
    assert!(term.is_valid() && writes(&memory, &term).await);
}

#[tokio::test(start_paused = true)]
async fn a_term_outlives_its_lease_many_times() {
    let memory = MemoryStore::new();
    let (_, election) = instance(&memory, 1);
    let term = election.campaign(Duration::ZERO).await;
    assert!(timeout(20 * TTL, term.end()).await.is_err(), "nothing ends it");
    assert!(term.is_valid() && writes(&memory, &term).await);
}

#[tokio::test(start_paused = true)]
async fn a_standby_writes_nothing_while_the_key_is_held() {
    let memory = MemoryStore::new();
    let [(_, first), (_, second)] = [1, 2].map(|seed| instance(&memory, seed));
    let term = first.campaign(Duration::ZERO).await;
    let standby = campaign(&second);
    let record = holder(&memory).await.expect("held");
    // Neither the leader's own writes to the key nor writes to longer ones are an occasion to campaign.
    for key in [KEY, "leader/other"] {
        let lease = record.lease;
        let op = Op::put_leased(key, "rewritten", lease);
        memory.txn(Txn::guarded(Vec::new(), vec![op])).await.expect("memory takes it");
    }
    memory.txn(Txn::guarded(Vec::new(), vec![Op::delete("leader/other")])).await.expect("memory takes it");
    let before = memory.get(b"").await.expect("memory answers").1;
    let leases_before = memory.grant(TTL).await.expect("memory grants").id;
    assert!(timeout(10 * TTL, term.end()).await.is_err());
    let after = memory.get(b"").await.expect("memory answers").1;
    let leases_after = memory.grant(TTL).await.expect("memory grants").id;
    assert_eq!((after, leases_after), (before, LeaseId(leases_before.0 + 1)), "no write, no lease");
    let deposed = Instant::now();
    term.resign().await;
    let successor = won(standby).await;
    assert_eq!(deposed.elapsed(), Duration::ZERO, "the deletion is an occasion, at once");
    assert!(successor.is_valid());
}

/// Changes between the reading and the watch are replayed.
#[tokio::test(start_paused = true)]
async fn a_key_that_is_freed_before_the_watch_begins_is_not_missed() {
    let memory = MemoryStore::new();
    let [(_, first), (link, second)] = [1, 2].map(|seed| instance(&memory, seed));
    let term = first.campaign(Duration::ZERO).await;
    link.set_rates(Rates { delay: Duration::from_secs(1), ..Rates::default() });
    let standby = campaign(&second);
    // The standby's reading has been carried out and its watch is on the way: both take up to two seconds.
    while link.counts().delayed < 2 {
        sleep(Duration::from_millis(1)).await;
    }
    term.resign().await;
    let start = Instant::now();
    let _successor = won(standby).await;
    assert!(start.elapsed() < Duration::from_secs(10), "not by rereading again and again");
}

/// The watch has gone deaf without a word.
#[tokio::test(start_paused = true)]
async fn a_standby_with_a_deaf_watch_wins_when_it_reads_again() {
    let memory = MemoryStore::new();
    let [(_, first), (link, second)] = [1, 2].map(|seed| instance(&memory, seed));
    let term = first.campaign(Duration::ZERO).await;
    let standby = campaign(&second);
    sleep(Duration::from_millis(10)).await;
    link.hold_watches();
    let freed = Instant::now();
    term.resign().await;
    let successor = won(standby).await;
    assert!(freed.elapsed() <= Options::new(KEY, "").reread_every.interval());
    assert!(successor.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_standby_with_a_cut_watch_wins() {
    let memory = MemoryStore::new();
    let [(_, first), (link, second)] = [1, 2].map(|seed| instance(&memory, seed));
    let term = first.campaign(Duration::ZERO).await;
    let standby = campaign(&second);
    sleep(Duration::from_millis(10)).await;
    link.cut_watches();
    link.compact_under_watches().await.expect("memory compacts");
    term.resign().await;
    assert!(won(standby).await.is_valid());
}

/// A single candidate, whose lease a stranger ends.
#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_is_revoked_steps_down_and_can_win_again() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    let term = election.campaign(Duration::ZERO).await;
    let ended = term.ended();
    let start = Instant::now();
    link.revoke_from_outside(term.lease().id).await.expect("memory revokes");
    assert_eq!(term.end().await, End::KeyLost);
    assert_eq!(start.elapsed(), Duration::ZERO, "its own watch tells, before the next renewal");
    assert!(ended.is_cancelled() && !term.is_valid() && !writes(&memory, &term).await);
    let next = election.campaign(Duration::ZERO).await;
    assert!(next.create_revision() > term.create_revision());
    assert!(!writes(&memory, &term).await, "the old guard is for the old term alone");
    drop((term, next));
    timeout(Duration::from_secs(2), election.close()).await.expect("it stops cleanly");
    assert!(holder(&memory).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_term_is_taken_after_any_number_of_ends() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    let mut last = Revision::default();
    for _ in 0..3 {
        let term = election.campaign(Duration::ZERO).await;
        assert!(term.create_revision() > last);
        last = term.create_revision();
        link.revoke_from_outside(term.lease().id).await.expect("memory revokes");
        term.end().await;
    }
    assert!(election.campaign(Duration::ZERO).await.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_leader_with_a_deaf_watch_learns_of_its_lease_by_renewing_it() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    let term = election.campaign(Duration::ZERO).await;
    sleep(Duration::from_millis(10)).await;
    link.hold_watches();
    link.revoke_from_outside(term.lease().id).await.expect("memory revokes");
    assert_eq!(term.end().await, End::LeaseLost);
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_key_is_deleted_by_hand_steps_down() {
    let memory = MemoryStore::new();
    let (_, election) = instance(&memory, 1);
    let term = election.campaign(Duration::ZERO).await;
    memory.txn(Txn::guarded(Vec::new(), vec![Op::delete(KEY)])).await.expect("memory takes it");
    assert_eq!(term.end().await, End::KeyLost);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_before_its_lease_is_over() {
    for outage in [Outage::Refusing, Outage::Silent, Outage::Deaf] {
        let memory = MemoryStore::new();
        let (link, election) = instance(&memory, 1);
        let term = election.campaign(Duration::ZERO).await;
        sleep(3 * TTL).await;
        link.begin_outage(outage);
        assert_eq!(term.end().await, End::Unconfirmed, "{outage:?}");
        assert!(!term.is_valid());
        // Over a link that only answers can't pass, the cleanup gets through and ends the lease at once.
        if outage == Outage::Deaf {
            continue;
        }
        let left = memory.time_to_live(term.lease().id).await.expect("memory answers");
        assert!(
            left.is_some_and(|left| left + Duration::from_millis(1) >= TTL / 3),
            "{outage:?}: {left:?} left"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_ends_no_term() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    let term = election.campaign(Duration::ZERO).await;
    for outage in [Outage::Refusing, Outage::Silent, Outage::Deaf] {
        link.begin_outage(outage);
        sleep(TTL / 4).await;
        link.end_outage();
        sleep(TTL).await;
        assert!(term.is_valid(), "{outage:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deposed_leaders_writes_never_apply() {
    let memory = MemoryStore::new();
    let [(link, first), (_, second)] = [1, 2].map(|seed| instance(&memory, seed));
    let old = first.campaign(Duration::ZERO).await;
    let standby = campaign(&second);
    link.begin_outage(Outage::Silent);
    let new = won(standby).await;
    assert!(!old.is_valid() && new.is_valid());
    assert!(!writes(&memory, &old).await && writes(&memory, &new).await);
}

#[tokio::test(start_paused = true)]
async fn a_campaign_goes_on_through_an_outage_and_stops_at_once() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    link.begin_outage(Outage::Refusing);
    let running = campaign(&election);
    sleep(Duration::from_secs(30)).await;
    assert!(link.counts().met_outage >= 12, "{:?}", link.counts());
    let start = Instant::now();
    running.abort();
    election.close().await;
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_standby_stops_although_the_store_never_answers() {
    let memory = MemoryStore::new();
    let [(_, first), (link, second)] = [1, 2].map(|seed| instance(&memory, seed));
    let _term = first.campaign(Duration::ZERO).await;
    let standby = campaign(&second);
    sleep(TTL).await;
    link.begin_outage(Outage::Silent);
    sleep(TTL).await;
    standby.abort();
    timeout(Duration::from_secs(2), second.close()).await.expect("it stops");
}

#[tokio::test(start_paused = true)]
async fn a_leader_stops_in_time_although_the_store_never_answers() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    let term = election.campaign(Duration::ZERO).await;
    link.begin_outage(Outage::Silent);
    timeout(Duration::from_secs(2), term.resign()).await.expect("it stops");
    timeout(Duration::from_secs(2), election.close()).await.expect("it stops");
}

/// The cleanup is no part of what is cancelled.
#[tokio::test(start_paused = true)]
async fn the_key_is_free_at_once_when_the_leading_task_is_cancelled() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    let leading = tokio::spawn({
        let election = election.clone();
        async move { election.campaign(Duration::ZERO).await.end().await }
    });
    sleep(Duration::from_secs(1)).await;
    assert!(holder(&memory).await.is_some());
    // Even the first answer to the cleanup is lost.
    link.script([Some(Fault::LoseRequest)]);
    let start = Instant::now();
    leading.abort();
    election.close().await;
    assert!(holder(&memory).await.is_none());
    assert!(start.elapsed() < Duration::from_secs(1), "long before the lease is over");
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_is_dropped_in_the_middle_leaves_nothing_behind() {
    for milliseconds in 0..60 {
        let memory = MemoryStore::new();
        let (link, election) = instance(&memory, milliseconds);
        link.set_rates(Rates { delay: Duration::from_millis(20), ..Rates::default() });
        let campaigning = timeout(Duration::from_millis(milliseconds), election.campaign(Duration::ZERO));
        drop(campaigning.await);
        election.close().await;
        assert!(holder(&memory).await.is_none(), "dropped after {milliseconds} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_victory_blocks_nobody() {
    let late = Fault::ApplyLate(Duration::from_millis(100));
    for fault in [Fault::LoseAnswer, Fault::LoseRequest, late] {
        let memory = MemoryStore::new();
        let (link, election) = instance(&memory, 1);
        // The reading and the grant pass, the creation of the key does not.
        link.script([None, None, Some(fault)]);
        let start = Instant::now();
        let term = election.campaign(Duration::ZERO).await;
        assert!(start.elapsed() < Duration::from_secs(1), "{fault:?}: no waiting for a lease to run out");
        sleep(Duration::from_secs(1)).await;
        assert!(term.is_valid() && writes(&memory, &term).await, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_preferred_instance_wins_although_it_comes_later() {
    let memory = MemoryStore::new();
    let [(_, other), (_, preferred)] = [1, 2].map(|seed| instance(&memory, seed));
    let waiting = tokio::spawn(async move { other.campaign(Duration::from_millis(500)).await });
    sleep(Duration::from_millis(100)).await;
    let term = preferred.campaign(Duration::ZERO).await;
    sleep(TTL).await;
    let freed = Instant::now();
    drop(term);
    waiting.await.expect("no panic");
    assert_eq!(freed.elapsed(), Duration::from_millis(500), "the other one waits once more, and wins");
}

/// Leads for a while, again and again, writing under its guard and telling when it believed to lead.
async fn lead(election: Election, memory: MemoryStore, until: Instant) -> Vec<(Instant, Instant)> {
    let mut reigns = Vec::new();
    while let Ok(term) = tokio::time::timeout_at(until, election.campaign(Duration::ZERO)).await {
        let from = Instant::now();
        let mut last = from;
        while term.is_valid() && Instant::now() < until.min(from + Duration::from_secs(20)) {
            last = Instant::now();
            assert!(writes(&memory, &term).await, "a valid term's guard holds, when nobody else ends leases");
            sleep(Duration::from_millis(50)).await;
        }
        reigns.push((from, last));
        if reigns.len() % 2 == 0 {
            term.resign().await;
        }
    }
    election.close().await;
    reigns
}

#[tokio::test(start_paused = true)]
async fn there_are_never_two_leaders_at_once_whatever_the_links_do() {
    for seed in 0..20 {
        let memory = MemoryStore::new();
        let until = Instant::now() + Duration::from_secs(120);
        let (mut tasks, stop) = (Vec::new(), CancellationToken::new());
        for n in 0..3 {
            let (link, election) = instance_until(&memory, seed * 3 + n, stop.clone());
            link.set_rates(Rates {
                refuse: 0.05,
                lose_request: 0.05,
                lose_answer: 0.05,
                apply_late: 0.05,
                latest: Duration::from_secs(3),
                delay: Duration::from_millis(200),
                cut_watch: 0.1,
                watch_delay: Duration::from_millis(500),
            });
            tasks.push(tokio::spawn(lead(election, memory.clone(), until)));
            tokio::spawn(async move {
                for _ in 0..6 {
                    sleep(Duration::from_secs(10 + n)).await;
                    link.begin_outage(if n == 0 { Outage::Silent } else { Outage::Deaf });
                    sleep(Duration::from_secs(4)).await;
                    link.end_outage();
                }
            });
        }
        let mut reigns = Vec::new();
        for task in tasks {
            reigns.extend(task.await.expect("no panic"));
        }
        stop.cancel();
        sleep(2 * TTL).await;
        reigns.sort();
        assert!(reigns.len() > 5, "seed {seed}: leadership changes");
        assert!(reigns.windows(2).all(|two| two[0].1 <= two[1].0), "seed {seed}: {reigns:?}");
        assert!(holder(&memory).await.is_none(), "seed {seed}: all were given back or ran out");
    }
}

#[tokio::test(start_paused = true)]
async fn all_terms_of_an_instance_cost_one_lease_and_its_renewals() {
    let memory = MemoryStore::new();
    let link = FaultyStore::new(memory.clone(), 1);
    let lease = lease(&link, 1, CancellationToken::new());
    let election = |number: usize| {
        let options = Options::new(format!("leader-{number}"), "instance");
        Election::new(Arc::new(link.clone()), options, lease.clone())
    };
    let elections: Vec<Election> = (0..100).map(election).collect();
    let mut terms = Vec::new();
    for election in &elections {
        terms.push(election.campaign(Duration::ZERO).await);
    }
    let granted = terms[0].lease().id;
    assert!(terms.iter().all(|term| term.lease().id == granted));
    terms.pop().expect("there are 100").resign().await;
    sleep(10 * TTL).await;
    assert!(terms.iter().all(Term::is_valid), "the end of one term is no end of the others");
    let kept = memory.range(b"leader-").await.expect("memory answers").records;
    assert_eq!(kept.len(), 99, "and its key is free at once");
    link.revoke_from_outside(granted).await.expect("memory revokes");
    for term in &terms {
        assert_eq!(term.end().await, End::KeyLost);
    }
}

/// The store carries the creation out after the campaign has given it up, and the lease lives on.
#[tokio::test(start_paused = true)]
async fn a_key_that_was_created_too_late_is_cleared_away_by_the_next_campaign() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    link.script([None, None, Some(Fault::ApplyLate(Duration::from_secs(1)))]);
    assert!(timeout(Duration::from_millis(20), election.campaign(Duration::ZERO)).await.is_err());
    sleep(Duration::from_secs(1)).await;
    assert!(holder(&memory).await.is_some(), "nobody leads by it");
    let start = Instant::now();
    let term = election.campaign(Duration::ZERO).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert!(term.is_valid() && writes(&memory, &term).await);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_created_too_late_is_cleared_away_although_nobody_campaigns() {
    let memory = MemoryStore::new();
    let (link, election) = instance(&memory, 1);
    link.script([None, None, Some(Fault::ApplyLate(TTL))]);
    assert!(timeout(Duration::from_millis(20), election.campaign(Duration::ZERO)).await.is_err());
    sleep(TTL).await;
    assert!(holder(&memory).await.is_some(), "nobody leads by it");
    sleep(TTL / 2).await;
    assert!(holder(&memory).await.is_none(), "and its lease is renewed");
}

/// The lease lives on for the instance's other groups.
#[tokio::test(start_paused = true)]
async fn a_key_that_could_not_be_given_back_in_time_goes_soon_after() {
    let memory = MemoryStore::new();
    let link = FaultyStore::new(memory.clone(), 1);
    let lease = lease(&link, 1, CancellationToken::new());
    let election = |key| Election::new(Arc::new(link.clone()), Options::new(key, "instance"), lease.clone());
    let term = election(KEY).campaign(Duration::ZERO).await;
    let other = election("other").campaign(Duration::ZERO).await;
    let standby = campaign(&instance(&memory, 2).1);
    link.begin_outage(Outage::Refusing);
    let start = Instant::now();
    term.resign().await;
    assert_eq!(start.elapsed(), Options::new(KEY, "").release_within, "nobody waits longer");
    link.end_outage();
    let successor = won(standby).await;
    assert!(start.elapsed() < TTL, "not later than a lease that runs out");
    assert!(successor.is_valid() && other.is_valid());
    // The keeper has no eye on it any more.
    successor.resign().await;
    let again = election(KEY).campaign(Duration::ZERO).await;
    sleep(10 * TTL).await;
    assert!(again.is_valid() && writes(&memory, &again).await);
}

/// A group that was deleted and created again has two elections for a moment.
#[tokio::test(start_paused = true)]
async fn two_campaigns_of_one_instance_for_one_key_leave_each_others_terms_alone() {
    let memory = MemoryStore::new();
    let link = FaultyStore::new(memory.clone(), 1);
    let lease = lease(&link, 1, CancellationToken::new());
    let election = || Election::new(Arc::new(link.clone()), Options::new(KEY, "instance"), lease.clone());
    let (first, second) = (election(), election());
    let term = first.campaign(Duration::ZERO).await;
    let standby = campaign(&second);
    sleep(10 * TTL).await;
    assert!(term.is_valid() && writes(&memory, &term).await);
    let start = Instant::now();
    term.resign().await;
    let next = won(standby).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    sleep(10 * TTL).await;
    assert!(next.is_valid() && writes(&memory, &next).await);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_attempt_gives_nothing_back_that_another_campaign_of_its_instance_leads_by() {
    let memory = MemoryStore::new();
    let links = [1, 2].map(|seed| FaultyStore::new(memory.clone(), seed));
    let lease = lease(&links[0], 1, CancellationToken::new());
    let [first, second] = links.clone().map(|link| {
        let options = Options::new(KEY, "instance");
        Election::new(Arc::new(link), options, lease.clone())
    });
    // Both find the key free; the second one's creation is refused, and it does not learn that.
    links[1].script([None, Some(Fault::LoseAnswer)]);
    let (leading, standby) = (campaign(&first), campaign(&second));
    let term = won(leading).await;
    sleep(10 * TTL).await;
    assert_eq!(links[1].counts().answers_lost, 1);
    assert!(term.is_valid() && writes(&memory, &term).await);
    standby.abort();
    second.close().await;
    sleep(10 * TTL).await;
    assert!(term.is_valid() && writes(&memory, &term).await, "nor does the keeper of the lease");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_stops_gives_all_its_keys_back_at_once() {
    let (memory, stop) = (MemoryStore::new(), CancellationToken::new());
    let (_, election) = instance_until(&memory, 1, stop.clone());
    let term = election.campaign(Duration::ZERO).await;
    stop.cancel();
    assert_eq!(term.end().await, End::Resigned);
    sleep(Duration::from_millis(1)).await;
    assert!(holder(&memory).await.is_none() && !term.is_valid());
}

/// The keeper of the lease, which revokes it, is taken away, so that only the campaigns can write.
#[tokio::test(start_paused = true)]
async fn an_instance_that_leads_many_groups_and_stops_leaves_their_keys_to_one_revocation() {
    let (memory, stop) = (MemoryStore::new(), CancellationToken::new());
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let (lease, keeper) = LeaderLease::new(Arc::clone(&store), LeaseOptions::default(), stop.clone());
    let keeping = tokio::spawn(keeper.run());
    let (mut terms, mut elections) = (Vec::new(), Vec::new());
    for number in 0..20 {
        let options = Options::new(format!("leader-{number}"), "instance");
        let election = Election::new(Arc::clone(&store), options, lease.clone());
        terms.push(election.campaign(Duration::ZERO).await);
        elections.push(election);
    }
    let before = memory.range(b"leader-").await.expect("memory answers");
    keeping.abort();
    stop.cancel();
    for term in terms {
        term.resign().await;
    }
    for election in elections {
        election.close().await;
    }
    let after = memory.range(b"leader-").await.expect("memory answers");
    assert_eq!((after.records.len(), after.revision), (20, before.revision));
}
