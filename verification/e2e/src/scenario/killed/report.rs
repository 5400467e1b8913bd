//! The report of killed consumers.

use std::time::Duration;

use kafka_assigner_audit::{Micros, Spread};
use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::record::{Consumer, Standing, decode};
use kafka_assigner_types::kv::Change;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::micros;
use serde::Serialize;

use crate::scenario::chronicle::Seen;
use crate::scenario::report::{ScenarioReport, broken, millis};

/// The service's defaults: a consumer is suspected after the one, and taken over after the other.
const SETTINGS_MS: f64 = 1_000.0 + 3_000.0;

/// What half of the gaps in `overlap` may take on top.
const USUAL_MS: f64 = 500.0;

/// What any gap may take on top.
const MOST_MS: f64 = 2_000.0;

/// What one partition of a killed consumer went through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CrashGap {
    /// What the group promises.
    pub(crate) mode: Mode,
    /// The partition.
    pub(crate) partition: u32,
    /// From the kill to the first record that another process handled.
    pub(crate) gap: Duration,
    /// From the kill to the end of the session; `None` = it was not seen to end.
    pub(crate) session: Option<Duration>,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct KilledReport {
    /// Records that nobody handled.
    pub(crate) lost: usize,
    /// Killed consumers whose sessions were over before their leases could run out.
    pub(crate) takeovers: usize,
    /// From a kill in `overlap` to the first record elsewhere, for each partition.
    pub(crate) crash_gap_ms: Spread,
    /// The same in `exclusive`.
    pub(crate) strict_gap_ms: Spread,
    /// The same after the third kill of one partition's owner.
    pub(crate) third_gap_ms: u64,
    /// True if it was shown meanwhile that the partition's owners die.
    pub(crate) third_shown: bool,
    /// How long a session lives after its last heartbeat.
    pub(crate) session_timeout_ms: u64,
    /// True = one consumer was killed, in `overlap`, on a machine that plays other tests as well: what counts is that its
    /// session was not waited for.
    #[serde(skip)]
    pub(crate) is_short: bool,
}

impl KilledReport {
    /// Adds up `gaps`, and the `third` one of a partition's owners with the word if it was shown.
    pub(crate) fn count(
        lost: usize,
        gaps: &[CrashGap],
        third: Option<(CrashGap, bool)>,
        ttl: Duration,
    ) -> Self {
        let spread = |is_strict: bool| {
            let of_mode = gaps.iter().filter(|gap| gap.mode.is_strict() == is_strict);
            Spread::of(of_mode.map(|gap| micros(gap.gap)).collect())
        };
        // Heartbeats come each third of the time to live, so a lease has two thirds left at least.
        let is_early = |gap: &&CrashGap| gap.session.is_some_and(|session| session < ttl * 2 / 3);
        let mut early: Vec<Duration> = gaps.iter().filter(is_early).filter_map(|gap| gap.session).collect();
        // All partitions of one consumer have the end of its session in common.
        early.sort_unstable();
        early.dedup();
        Self {
            lost,
            takeovers: early.len(),
            crash_gap_ms: spread(false),
            strict_gap_ms: spread(true),
            third_gap_ms: third.as_ref().map_or(0, |(gap, _)| millis(gap.gap)),
            third_shown: third.is_some_and(|(_, is_shown)| is_shown),
            session_timeout_ms: millis(ttl),
            is_short: false,
        }
    }

    /// Two thirds of a time to live, in milliseconds: by then nobody acts in a strict mode, and not before a lease runs out.
    const fn two_thirds(&self) -> u64 {
        self.session_timeout_ms * 2 / 3
    }
}

/// When the session of `consumer` was over, after a moment: its registration went, or was marked as ending.
pub(crate) fn end_of_session(
    seen: &[Seen],
    layout: &Layout,
    consumer: &str,
    after: Micros,
) -> Option<Micros> {
    let is_end = |seen: &&Seen| {
        let is_its = matches!(layout.decode(seen.change.key()), Some(Key::Consumer(name)) if name.as_str() == consumer);
        is_its
            && seen.at >= after
            && match &seen.change {
                Change::Delete { .. } => true,
                Change::Put(record) => decode::<Consumer>(&record.value)
                    .is_ok_and(|consumer| matches!(consumer.standing, Standing::Ending(_))),
            }
    };
    seen.iter().find(is_end).map(|seen| seen.at)
}

impl ScenarioReport for KilledReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["MODE", "LOST", "TAKEOVERS", "GAP p50 ms", "MAX ms", "THIRD ms", "SHOWN", "TTL ms"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let gaps = |gaps: &Spread| [gaps.p50, gaps.max].map(|ms| format!("{ms:.0}"));
        let [p50, max] = gaps(&self.crash_gap_ms);
        let counts = [self.lost.to_string(), self.takeovers.to_string()];
        let third = [self.third_gap_ms.to_string(), self.third_shown.to_string()];
        let ttl = self.session_timeout_ms.to_string();
        let overlap = ["overlap".to_owned()].into_iter().chain(counts).chain([p50, max]).chain(third);
        let [p50, max] = gaps(&self.strict_gap_ms);
        let exclusive = ["exclusive", "", ""].map(str::to_owned).into_iter().chain([
            p50,
            max,
            String::new(),
            String::new(),
        ]);
        vec![overlap.chain([ttl.clone()]).collect(), exclusive.chain([ttl]).collect()]
    }

    fn failures(&self) -> Vec<String> {
        let (usual, most) = (SETTINGS_MS + USUAL_MS, SETTINGS_MS + MOST_MS);
        let (crash, strict) = (&self.crash_gap_ms, &self.strict_gap_ms);
        let strict_most = self.two_thirds() as f64 + MOST_MS;
        let short = [
            (self.lost > 0, format!("{} records lost", self.lost)),
            (crash.count == 0, "nobody was killed in overlap".to_owned()),
            (self.takeovers == 0, "no session of a killed consumer was taken over".to_owned()),
        ];
        if self.is_short {
            return broken(short);
        }
        let full = [
            (strict.count == 0, "nobody was killed in exclusive".to_owned()),
            (
                crash.p50 > usual,
                format!("half of the gaps in overlap are {} ms and more, above {usual}", crash.p50),
            ),
            (crash.max > most, format!("a gap in overlap of {} ms, above {most}", crash.max)),
            (
                strict.max > strict_most,
                format!("a gap in exclusive of {} ms, above {strict_most}", strict.max),
            ),
            (
                self.third_gap_ms < self.two_thirds(),
                format!("the session of the third killed owner was not waited for: {} ms", self.third_gap_ms),
            ),
            (!self.third_shown, "it was not shown that the owners of a partition die".to_owned()),
        ];
        broken(short.into_iter().chain(full))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn gap(mode: Mode, gap_ms: u64, session_ms: u64) -> CrashGap {
        let session = Some(Duration::from_millis(session_ms));
        CrashGap { mode, partition: 0, gap: Duration::from_millis(gap_ms), session }
    }

    fn good() -> KilledReport {
        let gaps = [
            gap(Mode::Overlap, 4_300, 4_100),
            gap(Mode::Overlap, 4_200, 4_100),
            gap(Mode::Overlap, 5_900, 4_400),
            gap(Mode::Exclusive, 21_900, 20_000),
        ];
        KilledReport::count(0, &gaps, Some((gap(Mode::Overlap, 28_000, 27_500), true)), TTL)
    }

    #[test]
    fn a_session_that_ends_before_its_lease_can_run_out_is_taken_over_and_counts_once() {
        let report = good();
        assert_eq!((report.takeovers, report.third_gap_ms, report.session_timeout_ms), (2, 28_000, 30_000));
        assert_eq!((report.crash_gap_ms.p50, report.crash_gap_ms.max), (4_300.0, 5_900.0));
        assert_eq!((report.strict_gap_ms.count, report.strict_gap_ms.max), (1, 21_900.0));
    }

    #[test]
    fn every_rule_is_held_against_the_report() {
        assert_eq!(good().failures(), Vec::<String>::new());
        let spoil: [fn(&mut KilledReport); 9] = [
            |report| report.lost = 1,
            |report| report.crash_gap_ms.count = 0,
            |report| report.takeovers = 0,
            |report| report.strict_gap_ms.count = 0,
            |report| report.crash_gap_ms.p50 = 4_501.0,
            |report| report.crash_gap_ms.max = 6_001.0,
            |report| report.strict_gap_ms.max = 22_001.0,
            |report| report.third_gap_ms = 19_999,
            |report| report.third_shown = false,
        ];
        for (number, spoil) in spoil.into_iter().enumerate() {
            let mut report = good();
            spoil(&mut report);
            assert_eq!(report.failures().len(), 1, "{report:?}");
            // The first three hold for a short run as well.
            let short = KilledReport { is_short: true, ..report };
            assert_eq!(short.failures().len(), usize::from(number < 3), "{short:?}");
        }
    }
}
