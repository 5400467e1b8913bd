//! The shipped protocol within the bounds of a variant: what the variant is held against.
//!
//! That the protocol fails without a rule tells of the rule only where it does not fail with it, the bounds being the
//! same. Bounds that several variants share, or a scenario, are explored once.

use std::fmt;

use serde::Serialize;

use crate::bounds::Bounds;
use crate::report::{Explored, explore};
use crate::suite::{Fault, Scenario};

/// What was seen of the shipped protocol within the bounds of a variant.
#[derive(Debug, Clone, Serialize)]
pub struct Control {
    /// Under which name these bounds were explored first: that of a scenario, or of a fault.
    pub scenario: &'static str,
    /// Distinct states.
    pub states: usize,
    /// True if every state was visited, and nothing is violated in any.
    pub holds: bool,
}

impl Control {
    fn of(explored: &Explored) -> Self {
        Self { scenario: explored.scenario, states: explored.states, holds: explored.complete }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.holds { "all holds" } else { "NOT ALL HOLDS" };
        write!(f, "{verdict} in {} states", self.states)
    }
}

/// The controls so far, each by its bounds.
#[derive(Debug, Default)]
pub struct Controls(Vec<(Bounds, Control)>);

impl Controls {
    /// Keeps what was seen of the shipped protocol within `bounds`.
    pub fn keep(&mut self, bounds: Bounds, explored: &Explored) {
        self.0.push((bounds, Control::of(explored)));
    }

    /// The control of `fault`, explored where nothing was seen yet within its bounds.
    #[must_use]
    pub fn of(&mut self, fault: &Fault) -> Control {
        let is_known = |(bounds, _): &&(Bounds, Control)| *bounds == fault.bounds;
        if let Some((_, control)) = self.0.iter().find(is_known) {
            return control.clone();
        }
        let scenario = Scenario { name: fault.name, bounds: fault.bounds };
        let control = Control::of(&explore(&scenario, false));
        self.0.push((fault.bounds, control.clone()));
        control
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Report, explore_protocol, expose};
    use crate::step::Protocol;
    use crate::suite::faults;

    fn fault(name: &str) -> Fault {
        faults().into_iter().find(|fault| fault.name == name).expect("it is one of the faults")
    }

    #[test]
    fn a_rule_is_held_against_the_protocol_that_has_it_within_the_same_bounds() {
        let report = Report::make("exclusive without its rule: end revokes", false);
        let [broken] = &report.broken[..] else { panic!("{report:?}") };
        assert!(broken.control.holds && broken.caught_by.is_some(), "{broken:?}");
        assert!(report.is_good());
    }

    #[test]
    fn bounds_that_faults_share_are_explored_once() {
        let mut controls = Controls::default();
        let names = ["no margin", "not waited"].map(|name| controls.of(&fault(name)).scenario);
        assert_eq!((names, controls.0.len()), (["no margin"; 2], 1));
    }

    #[test]
    fn a_control_that_fails_spoils_the_report() {
        let fault = fault("end revokes");
        let explored = explore_protocol(Protocol::broken(fault.bounds, fault.variant), fault.name, false);
        let mut controls = Controls::default();
        controls.keep(fault.bounds, &explored);
        let broken = expose(&fault, controls.of(&fault));
        assert!(broken.caught_by.is_some() && !broken.control.holds, "{broken:?}");
        assert!(!Report { broken: vec![broken], ..Report::default() }.is_good());
    }
}
