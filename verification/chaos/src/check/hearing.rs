//! The check that sessions hear in time of what concerns them, and are taken for dead only where they are.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_rig::clock::Moment;
use kafka_assigner_types::moment::millis;

use super::{Findings, Lived, Run, complain};
use crate::history::Entry;
use crate::witness::{Concerned, Takeover};

/// The longest time for which a client may miss what concerns it: its stream is noticed to be deaf, and opened
/// elsewhere.
const DEAF: Duration = Duration::from_secs(10);

/// The revisions up to which a session heard, and when.
type Heard = Vec<(u64, Moment)>;

/// The sessions, with their processes.
type Sessions<'a> = BTreeMap<&'a str, (&'a Lived, Heard)>;

impl Run {
    pub(super) fn judge_hearing(&self, findings: &mut Findings) {
        let sessions = self.sessions();
        let deaf: Vec<(&Concerned, Duration)> =
            self.seen.concerns.iter().map(|concern| (concern, self.deaf_for(&sessions, concern))).collect();
        findings.figures.deaf_ms.max = millis(deaf.iter().map(|(_, span)| *span).max().unwrap_or_default());
        let late: Vec<_> = deaf.into_iter().filter(|(_, span)| *span > DEAF).collect();
        complain(&mut findings.violations, "times a session heard nothing", &late, |(concern, span)| {
            let process = sessions.get(&*concern.incarnation).map_or("?", |(lived, _)| &lived.process);
            format!("{process} for {span:.1?} of revision {}", concern.revision)
        });
        let is_false = |takeover: &&Takeover| self.is_false(&sessions, takeover);
        let wrong: Vec<&Takeover> = self.seen.takeovers.iter().filter(is_false).collect();
        findings.figures.takeovers = self.seen.takeovers.len();
        findings.figures.false_takeovers = wrong.len();
        complain(&mut findings.violations, "sessions taken for dead that were not", &wrong, |takeover| {
            let process = sessions.get(&*takeover.incarnation).map_or("?", |(lived, _)| &lived.process);
            format!("{process} at {}", takeover.at.0)
        });
    }

    fn sessions(&self) -> Sessions<'_> {
        let mut sessions = Sessions::new();
        for lived in &self.lives {
            for entry in &lived.entries {
                if let Entry::Told { incarnation, revision, at } = entry {
                    let (_, heard) = sessions.entry(incarnation).or_insert_with(|| (lived, Heard::new()));
                    heard.push((*revision, *at));
                }
            }
        }
        sessions
    }

    /// The time for which a session did not hear of it, without that in which its process was away.
    fn deaf_for(&self, sessions: &Sessions<'_>, concern: &Concerned) -> Duration {
        let Some((lived, heard)) = sessions.get(&*concern.incarnation) else { return Duration::ZERO };
        let told = heard.iter().find(|(revision, at)| *revision >= concern.revision && *at >= concern.at);
        let before = heard.iter().any(|(revision, at)| *revision >= concern.revision && *at < concern.at);
        let over = self.seen.ended.get(&concern.incarnation).copied();
        let ends = [told.map(|(_, at)| *at), lived.died, over, Some(self.watched_until)];
        let to = ends.into_iter().flatten().min().unwrap_or(concern.at);
        if before { Duration::ZERO } else { to.since(self.back(&lived.process, concern.at, to)) }
    }

    /// The moment at which the process was there again after the last time that it was away between these; the first of
    /// them where it was not away.
    fn back(&self, process: &str, from: Moment, to: Moment) -> Moment {
        let away = self.away.iter().filter(|away| away.process == process);
        let ends = away.filter(|away| away.from < to && from < away.to).map(|away| away.to);
        ends.chain([from]).max().unwrap_or(from)
    }

    /// True if the process lived, and nothing kept it from its instances since it was marked.
    fn is_false(&self, sessions: &Sessions<'_>, takeover: &Takeover) -> bool {
        let Some((lived, _)) = sessions.get(&*takeover.incarnation) else { return false };
        let is_dead = lived.died.is_some_and(|died| died <= takeover.at);
        let away = self.away.iter().filter(|away| away.process == lived.process);
        let was_away = away.into_iter().any(|away| away.from < takeover.at && takeover.marked < away.to);
        !is_dead && !was_away
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Away;
    use crate::witness::Seen;

    const SECOND: u64 = 1_000_000;

    fn at(seconds: u64) -> Moment {
        Moment(seconds * SECOND)
    }

    fn told(revision: u64, seconds: u64) -> Entry {
        Entry::Told { incarnation: "x".to_owned(), revision, at: at(seconds) }
    }

    fn concerned(revision: u64, seconds: u64) -> Concerned {
        Concerned { incarnation: "x".to_owned(), revision, at: at(seconds) }
    }

    fn taken_over(marked: u64, seconds: u64) -> Takeover {
        Takeover { incarnation: "x".to_owned(), marked: at(marked), at: at(seconds) }
    }

    fn run(entries: Vec<Entry>, seen: Seen) -> Run {
        let lives = vec![Lived { process: "a.1".to_owned(), died: None, entries }];
        Run { lives, seen, watched_until: at(100), ..Run::default() }
    }

    fn findings(run: &Run) -> Findings {
        let mut findings = Findings::default();
        run.judge_hearing(&mut findings);
        findings
    }

    #[test]
    fn what_is_told_within_ten_seconds_was_heard_and_what_is_not_was_missed() {
        let seen = Seen { concerns: vec![concerned(5, 10), concerned(6, 20)], ..Seen::default() };
        let heard = findings(&run(vec![told(4, 9), told(5, 12), told(7, 29)], seen.clone()));
        assert_eq!((heard.figures.deaf_ms.max, heard.violations.len()), (9_000, 0));
        let missed = findings(&run(vec![told(5, 12)], seen));
        assert_eq!(missed.figures.deaf_ms.max, 80_000);
        assert_eq!(
            missed.violations,
            ["1 times a session heard nothing, the first: a.1 for 80.0s of revision 6"]
        );
    }

    #[test]
    fn who_is_away_or_over_misses_nothing() {
        let seen = Seen { concerns: vec![concerned(5, 10)], ..Seen::default() };
        let mut away = run(vec![told(4, 9), told(5, 40)], seen.clone());
        away.away.push(Away { process: "a.1".to_owned(), from: at(5), to: at(35) });
        assert_eq!(findings(&away).figures.deaf_ms.max, 5_000);
        let over = Seen { ended: [("x".to_owned(), at(13))].into(), ..seen };
        assert_eq!(findings(&run(vec![told(4, 9)], over)).figures.deaf_ms.max, 3_000);
    }

    #[test]
    fn a_takeover_is_false_where_its_process_lives_and_can_be_reached() {
        let seen = Seen { takeovers: vec![taken_over(10, 13)], ..Seen::default() };
        let living = run(vec![told(4, 9)], seen);
        let wrong = findings(&living);
        assert_eq!((wrong.figures.takeovers, wrong.figures.false_takeovers), (1, 1));
        assert_eq!(wrong.violations.len(), 1);
        let mut dead = run(vec![told(4, 9)], living.seen.clone());
        dead.lives[0].died = Some(at(9));
        assert_eq!(findings(&dead).figures.false_takeovers, 0);
        let mut away = living;
        away.away.push(Away { process: "a.1".to_owned(), from: at(8), to: at(11) });
        assert_eq!(findings(&away).figures.false_takeovers, 0);
    }
}
