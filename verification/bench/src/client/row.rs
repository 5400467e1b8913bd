//! The row of a case: both sides, and the aim.

use anyhow::Result;
use serde::Serialize;

use super::case::Case;

/// The number that a case must reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Aim {
    /// The ratio is at least this.
    RatioFrom(f64),
    /// The ratio is at most this.
    RatioTo(f64),
    /// This side takes at most this.
    OursTo(f64),
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    case: String,
    /// The cost of the runner.
    ours: f64,
    /// The cost of a plain consumer.
    plain: f64,
    /// The plain consumer's over ours where records are counted; else ours over the plain consumer's.
    ratio: f64,
    /// The unit of both.
    unit: &'static str,
    #[serde(flatten)]
    aim: Aim,
    is_met: bool,
}

impl Row {
    /// The row of what both sides take in `unit`, with what the ratio has to be, or this side.
    pub(super) fn new(case: Case, (ours, plain): (f64, f64), unit: &'static str, aim: Aim) -> Self {
        let ratio = match aim {
            Aim::RatioFrom(_) => plain / ours,
            Aim::RatioTo(_) | Aim::OursTo(_) => ours / plain,
        };
        let is_met = match aim {
            Aim::RatioFrom(least) => ratio >= least,
            Aim::RatioTo(most) => ratio <= most,
            Aim::OursTo(most) => ours <= most,
        };
        Self { case: case.to_string(), ours, plain, ratio, unit, aim, is_met }
    }

    /// Prints it, and a line on the standard error where the aim is missed. True = it is met.
    pub(super) fn tell(&self, json: bool) -> Result<bool> {
        println!("{}", if json { serde_json::to_string(self)? } else { self.text() });
        if !self.is_met {
            eprintln!("MISSED: {}", self.text());
        }
        Ok(self.is_met)
    }

    fn text(&self) -> String {
        let Self { case, ours, plain, ratio, unit, .. } = self;
        let aim = match self.aim {
            Aim::RatioFrom(least) => format!("ratio at least {least}"),
            Aim::RatioTo(most) => format!("ratio at most {most}"),
            Aim::OursTo(most) => format!("ours at most {most}"),
        };
        format!("{case:<10} ours {ours:>8.2} {unit}, plain {plain:>8.2} {unit}, ratio {ratio:.2}; aim: {aim}")
    }
}

/// The middle one; 0 of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_aim_looks_at_its_own_number() {
        let is_met = |ours, plain, aim| Row::new(Case::Small, (ours, plain), "x", aim).is_met;
        assert!(is_met(10.0, 7.0, Aim::RatioFrom(0.7)) && !is_met(10.0, 6.9, Aim::RatioFrom(0.7)));
        assert!(is_met(1.5, 1.0, Aim::RatioTo(1.5)) && !is_met(1.6, 1.0, Aim::RatioTo(1.5)));
        assert!(is_met(512.0, 1.0, Aim::OursTo(512.0)) && !is_met(513.0, 9_999.0, Aim::OursTo(512.0)));
    }

    #[test]
    fn a_row_names_its_case_both_sides_and_their_ratio() {
        let row = Row::new(Case::SmallBatch, (2.0, 1.0), "ns", Aim::RatioFrom(0.9));
        let told = serde_json::to_value(&row).unwrap();
        assert_eq!((&told["case"], &told["ours"]), (&"100b-batch".into(), &2.0.into()));
        assert_eq!((&told["plain"], &told["ratio"]), (&1.0.into(), &0.5.into()));
        assert_eq!((&told["ratio_from"], &told["is_met"]), (&0.9.into(), &false.into()));
    }

    #[test]
    fn one_run_that_was_held_up_does_not_count() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
