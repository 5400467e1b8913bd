//! The report of a strategy that panics.

use serde::Serialize;

use crate::scenario::report::{ScenarioReport, broken};

/// The result.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PanicsReport {
    /// Instances that ended although nobody killed them.
    pub(crate) instances_ended: usize,
    /// The group whose strategy panics.
    pub(crate) poisoned: PoisonedGroup,
    /// The others.
    pub(crate) others: OtherGroups,
}

/// The result of the group whose strategy panics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PoisonedGroup {
    /// True if each partition stayed with its owner.
    pub(crate) assignments_kept: bool,
    /// True if `explain` names the panic, before and after the leader was killed.
    pub(crate) says_why: bool,
    /// The least number of instances whose metrics show it, before and after.
    pub(crate) shown_by: usize,
    /// True if another instance leads the group since its leader was killed.
    pub(crate) led_again: bool,
    /// Records that nobody handled.
    pub(crate) lost: usize,
    /// From another strategy until the consumer that had joined has its share.
    pub(crate) shared_out_after_ms: u64,
}

/// The result of the other groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct OtherGroups {
    /// How many there are.
    pub(crate) groups: usize,
    /// Those in which the consumer that joined got its share meanwhile.
    pub(crate) shared_out: usize,
    /// Records that nobody handled.
    pub(crate) lost: usize,
}

impl ScenarioReport for PanicsReport {
    fn heads(&self) -> Vec<&'static str> {
        vec!["GROUPS", "SHARED OUT", "LOST", "KEPT", "SAYS WHY", "SHOWN BY", "LED AGAIN", "HEALED ms"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let Self { poisoned, others, .. } = self;
        let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
        vec![vec![
            format!("{} + 1", others.groups),
            others.shared_out.to_string(),
            (others.lost + poisoned.lost).to_string(),
            yes(poisoned.assignments_kept),
            yes(poisoned.says_why),
            poisoned.shown_by.to_string(),
            yes(poisoned.led_again),
            poisoned.shared_out_after_ms.to_string(),
        ]]
    }

    fn failures(&self) -> Vec<String> {
        let Self { instances_ended, poisoned, others } = self;
        broken([
            (*instances_ended > 0, format!("{instances_ended} instances ended")),
            (
                others.shared_out < others.groups,
                format!("{} of {} other groups shared out", others.shared_out, others.groups),
            ),
            (others.lost > 0, format!("{} records of other groups lost", others.lost)),
            (poisoned.lost > 0, format!("{} records of the group lost", poisoned.lost)),
            (!poisoned.assignments_kept, "partitions changed their owner without a plan".to_owned()),
            (!poisoned.says_why, "explain does not name the panic".to_owned()),
            (
                poisoned.shown_by != 1,
                format!("{} instances show it, and the leader has to", poisoned.shown_by),
            ),
            (!poisoned.led_again, "nobody leads the group".to_owned()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> PanicsReport {
        let poisoned = PoisonedGroup {
            assignments_kept: true,
            says_why: true,
            shown_by: 1,
            led_again: true,
            lost: 0,
            shared_out_after_ms: 800,
        };
        PanicsReport {
            instances_ended: 0,
            poisoned,
            others: OtherGroups { groups: 3, shared_out: 3, lost: 0 },
        }
    }

    #[test]
    fn every_figure_is_judged() {
        assert_eq!(good().failures(), Vec::<String>::new());
        let spoils: [fn(&mut PanicsReport); 8] = [
            |report| report.instances_ended = 1,
            |report| report.others.shared_out = 2,
            |report| report.others.lost = 1,
            |report| report.poisoned.lost = 1,
            |report| report.poisoned.assignments_kept = false,
            |report| report.poisoned.says_why = false,
            |report| report.poisoned.shown_by = 0,
            |report| report.poisoned.led_again = false,
        ];
        for spoil in spoils {
            let mut report = good();
            spoil(&mut report);
            assert_eq!(report.failures().len(), 1, "{report:?}");
        }
    }

    #[test]
    fn the_table_fits_80_columns() {
        let report = good();
        assert_eq!(report.rows()[0].len(), report.heads().len());
    }
}
