//! The check of what is left out at the beginning of a topic that was created again.
//!
//! A consumer that goes on in a new log at its old place may leave out its beginning. That follows under the first
//! grant of the new topic, which has no bound while leaders are killed; where the topic is gone again before, its
//! beginning is gone with it. So a record that had no effect, though later ones had, is a violation in two cases: its
//! partition had an effect under a grant of that very topic, or one leader led undisturbed for so long that it should
//! have known of the topic, and did not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_rig::clock::Moment;

use super::{Findings, Lived, Run, complain};
use crate::fault::LONGEST_MS;
use crate::history::Entry;
use crate::load::{generation_at, sink_number, stays};
use crate::returning::Generation;
use crate::sink::Verdict;
use crate::stage::Away;
use crate::witness::Term;

/// The longest time between two regular looks of an instance at Kafka.
const REGULAR: Duration = Duration::from_secs(11);

/// The longest time until one that comes sooner, because the topic is in doubt.
const SOONER: Duration = Duration::from_millis(5_500);

/// The longest time for a leader to know of a topic: a regular look, three sooner ones, and a write that a fault of
/// etcd holds up. A sum of settings, so that no machine is too slow for it.
const KNOWN: Duration = REGULAR
    .saturating_add(SOONER)
    .saturating_add(SOONER)
    .saturating_add(SOONER)
    .saturating_add(Duration::from_millis(LONGEST_MS));

/// A partition's number at the sink, and an offset.
type Place = (i32, i64);

impl Run {
    /// Judges the records without an effect; `done` are those that had one.
    pub(super) fn judge_beginnings(&self, done: &BTreeSet<Place>, findings: &mut Findings) {
        let granted = self.granted();
        let (torn, others): (Vec<Place>, Vec<Place>) =
            left_out(done).into_iter().partition(|(number, _)| granted.contains(number));
        let (missed, unseen): (Vec<Place>, Vec<Place>) =
            others.into_iter().partition(|(number, _)| self.was_missed(generation_at(*number)));
        let show = |(number, offset): &Place| format!("{number}@{offset}");
        complain(&mut findings.violations, "records left out", &torn, show);
        let what = "records left out of a topic that a leader should have known";
        complain(&mut findings.violations, what, &missed, show);
        findings.figures.left_out_unseen = unseen.len();
    }

    /// The partitions, by their numbers at the sink, that had an effect under a grant of the very topic that they are of.
    fn granted(&self) -> BTreeSet<i32> {
        self.lives.iter().flat_map(|lived| self.granted_to(lived)).collect()
    }

    fn granted_to(&self, lived: &Lived) -> BTreeSet<i32> {
        let (mut ids, mut granted) = (BTreeMap::new(), BTreeSet::new());
        for entry in &lived.entries {
            match entry {
                Entry::Granted { claimed, topic_id } => {
                    ids.insert((claimed.partition, claimed.epoch), topic_id.as_ref());
                }
                Entry::Wrote { claimed, generation, verdict: Verdict::Applied, .. } => {
                    let id = ids.get(&(claimed.partition, claimed.epoch)).copied().flatten();
                    if id.is_some() && id == self.topic_id(*generation) {
                        granted.insert(sink_number(claimed.partition, *generation));
                    }
                }
                _ => {}
            }
        }
        granted
    }

    fn topic_id(&self, generation: i32) -> Option<&String> {
        self.generations.get(&generation).map(|generation| &generation.topic_id)
    }

    /// True if the group never knew of that generation, though a leader had the time to learn of it.
    fn was_missed(&self, generation: i32) -> bool {
        let Some(generation) = self.generations.get(&generation) else { return false };
        let is_known = self.seen.topic_ids.contains(&generation.topic_id);
        !is_known && self.seen.terms.iter().any(|term| self.undisturbed(term, generation) > KNOWN)
    }

    /// The longest time in a row for which a leader led, ran and reached etcd while the generation was there.
    fn undisturbed(&self, term: &Term, generation: &Generation) -> Duration {
        let end = |to: Option<Moment>| to.unwrap_or(self.watched_until);
        let to = end(term.to).min(end(generation.to));
        let mut disturbed: Vec<&Away> = self.away.iter().filter(|away| is_at(&term.instance, away)).collect();
        disturbed.sort_unstable_by_key(|away| away.from);
        let (mut since, mut longest) = (term.from.max(generation.from), Duration::ZERO);
        for away in disturbed {
            longest = longest.max(away.from.min(to).since(since));
            since = since.max(away.to);
        }
        longest.max(to.since(since))
    }
}

/// True if it befell the place of that instance.
fn is_at(instance: &str, away: &Away) -> bool {
    instance.strip_prefix(&away.process).is_some_and(|number| number.starts_with('.'))
}

/// Records of a topic that is deleted and created again which had no effect, though later ones had.
fn left_out(done: &BTreeSet<Place>) -> Vec<Place> {
    let returning = done.iter().filter(|(number, _)| !stays(*number));
    let ends: BTreeMap<i32, i64> = returning.copied().collect();
    let all = ends.into_iter().flat_map(|(number, end)| (0..end).map(move |offset| (number, offset)));
    all.filter(|record| !done.contains(record)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Claimed;
    use crate::returning::Generations;

    /// A partition of the topic that returns, in histories.
    const PARTITION: i32 = 1_000;

    fn at(seconds: u64) -> Moment {
        Moment(seconds * 1_000_000)
    }

    /// Generation 1 until second 50, and generation 2 from second 52 on until 95, with their ids.
    fn generations() -> Generations {
        let one = Generation { topic_id: "one".to_owned(), from: at(0), to: Some(at(50)) };
        let two = Generation { topic_id: "two".to_owned(), from: at(52), to: Some(at(95)) };
        Generations::from([(1, one), (2, two)])
    }

    fn granted(epoch: u64, topic_id: &str) -> Entry {
        let claimed = Claimed { partition: PARTITION, epoch, at: at(0), until: at(100) };
        Entry::Granted { claimed, topic_id: Some(topic_id.to_owned()) }
    }

    fn wrote(epoch: u64, generation: i32, offset: i64) -> Entry {
        let claimed = Claimed { partition: PARTITION, epoch, at: at(0), until: at(100) };
        Entry::Wrote { claimed, generation, offset, verdict: Verdict::Applied }
    }

    /// An owner of generation 1 that goes on in generation 2, whose first record it leaves out.
    fn gone_on() -> Vec<Entry> {
        vec![granted(1, "one"), wrote(1, 1, 0), wrote(1, 2, 1), wrote(1, 2, 2)]
    }

    fn run(entries: Vec<Entry>) -> Run {
        let lives = vec![Lived { process: "a.1".to_owned(), died: None, entries }];
        Run { lives, generations: generations(), watched_until: at(100), ..Run::default() }
    }

    fn findings(run: &Run) -> (usize, Vec<String>) {
        let written = run.lives.iter().flat_map(|lived| &lived.entries);
        let done = written.filter_map(|entry| match entry {
            Entry::Wrote { claimed, generation, offset, .. } => {
                Some((sink_number(claimed.partition, *generation), *offset))
            }
            _ => None,
        });
        let mut findings = Findings::default();
        run.judge_beginnings(&done.collect(), &mut findings);
        (findings.figures.left_out_unseen, findings.violations)
    }

    fn led(run: &mut Run, from: u64, to: Option<u64>) {
        run.seen.terms.push(Term { instance: "instance-1.2".to_owned(), from: at(from), to: to.map(at) });
    }

    const MISSED: &str = "1 records left out of a topic that a leader should have known, the first: 1200@0";

    #[test]
    fn what_is_left_out_before_a_leader_knows_of_the_topic_is_counted() {
        assert_eq!(findings(&run(gone_on())), (1, Vec::new()));
    }

    #[test]
    fn what_is_left_out_under_a_grant_of_the_topic_is_a_violation() {
        let mut run = run(gone_on());
        run.lives[0].entries.extend([granted(3, "two"), wrote(3, 2, 3)]);
        assert_eq!(findings(&run), (0, vec!["1 records left out, the first: 1200@0".to_owned()]));
    }

    #[test]
    fn a_beginning_that_follows_under_the_grant_of_the_topic_is_whole() {
        let mut run = run(gone_on());
        run.lives[0].entries.extend([granted(3, "two"), wrote(3, 2, 0), wrote(3, 2, 1)]);
        assert_eq!(findings(&run), (0, Vec::new()));
    }

    #[test]
    fn a_grant_without_an_effect_in_the_topic_proves_nothing() {
        let mut run = run(gone_on());
        run.lives[0].entries.extend([granted(3, "two"), wrote(1, 2, 3)]);
        assert_eq!(findings(&run), (1, Vec::new()));
    }

    #[test]
    fn a_leader_that_had_the_time_to_learn_of_the_topic_has_missed_it() {
        for (from, to, is_missed) in
            [(0, None, true), (0, Some(88), true), (0, Some(87), false), (59, None, true), (60, None, false)]
        {
            let mut run = run(gone_on());
            led(&mut run, from, to);
            let expected = if is_missed { (0, vec![MISSED.to_owned()]) } else { (1, Vec::new()) };
            assert_eq!(findings(&run), expected, "{from} {to:?}");
        }
    }

    #[test]
    fn a_leader_that_was_kept_from_its_work_had_less_time() {
        let mut run = run(gone_on());
        led(&mut run, 0, None);
        let away = |process: &str, from, to| Away { process: process.to_owned(), from: at(from), to: at(to) };
        run.away = vec![away("instance-0", 60, 70), away("instance", 60, 70), away("a.1", 60, 70)];
        assert_eq!(findings(&run).1, [MISSED], "it befell others");
        run.away.push(away("instance-1", 70, 71));
        assert_eq!(findings(&run), (1, Vec::new()));
        run.away = vec![away("instance-1", 53, 55), away("instance-1", 40, 58)];
        assert_eq!(findings(&run).1, [MISSED], "it had 37 s afterwards");
    }

    #[test]
    fn a_topic_that_the_group_knew_was_not_missed() {
        let mut run = run(gone_on());
        led(&mut run, 0, None);
        run.seen.topic_ids.insert("two".to_owned());
        assert_eq!(findings(&run), (1, Vec::new()));
    }
}
