//! The report of a run, for programs and for people.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Instant;

use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use serde::Serialize;
use stateright::{Checker, Expectation, HasDiscoveries, Model};

use crate::bounds::Bounds;
use crate::control::{Control, Controls};
use crate::step::Protocol;
use crate::suite::{Fault, Scenario, faults, scenarios};

/// What every machine has.
const THREADS: usize = 2;

/// What was seen of the shipped protocol within some bounds.
#[derive(Debug, Serialize)]
pub struct Explored {
    /// The mode.
    pub mode: String,
    /// What happens.
    pub scenario: &'static str,
    /// How much of it, without what does not happen at all.
    pub bounds: BTreeMap<String, serde_json::Value>,
    /// Distinct states.
    pub states: usize,
    /// True if all states within the bounds were visited.
    pub complete: bool,
    /// What became of each property.
    pub properties: BTreeMap<&'static str, Verdict>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What became of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It holds in every state.
    Holds,
    /// There is a state in which it does not.
    Violated,
    /// There is a state that shows it.
    Reached,
    /// There is none within these bounds.
    Unreached,
}

/// What was seen of the protocol without one of its rules.
#[derive(Debug, Serialize)]
pub struct Broken {
    /// What is done wrong.
    pub name: &'static str,
    /// In which mode.
    pub mode: String,
    /// The property that shows it; `None`: nothing did.
    pub caught_by: Option<&'static str>,
    /// How many steps lead to that.
    pub steps: Option<usize>,
    /// The protocol with the rule, within the same bounds.
    pub control: Control,
}

/// Everything.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The shipped protocol.
    pub models: Vec<Explored>,
    /// The protocol without one of its rules.
    pub broken: Vec<Broken>,
}

/// Visits every state within the bounds; with `is_traced`, tells how to come to what is violated.
#[must_use]
pub fn explore(scenario: &Scenario, is_traced: bool) -> Explored {
    explore_protocol(Protocol::shipped(scenario.bounds), scenario.name, is_traced)
}

/// The same, of a protocol that may lack a rule.
pub(crate) fn explore_protocol(protocol: Protocol, scenario: &'static str, is_traced: bool) -> Explored {
    let (began, bounds) = (Instant::now(), protocol.bounds);
    let checker = protocol.checker().threads(THREADS).spawn_bfs().join();
    let discoveries = checker.discoveries();
    let verdict = |expectation: &Expectation, name| match (expectation, discoveries.contains_key(name)) {
        (Expectation::Sometimes, true) => Verdict::Reached,
        (Expectation::Sometimes, false) => Verdict::Unreached,
        (_, true) => Verdict::Violated,
        (_, false) => Verdict::Holds,
    };
    let properties: BTreeMap<_, _> = checker
        .model()
        .properties()
        .iter()
        .map(|property| (property.name, verdict(&property.expectation, property.name)))
        .collect();
    let is_violated = |name: &str| properties.get(name) == Some(&Verdict::Violated);
    for (name, path) in discoveries.iter().filter(|(name, _)| is_traced && is_violated(name)) {
        eprintln!("{name}: {:#?}", path.clone().into_actions());
    }
    Explored {
        mode: bounds.mode.to_string(),
        scenario,
        bounds: named(&bounds),
        states: checker.unique_state_count(),
        // A search that found something stops there.
        complete: checker.is_done() && !properties.values().any(|verdict| *verdict == Verdict::Violated),
        properties,
        took_ms: millis(began.elapsed()),
    }
}

/// The bounds that allow something.
fn named(bounds: &Bounds) -> BTreeMap<String, serde_json::Value> {
    let value = serde_json::to_value(bounds).expect("bounds are plain numbers");
    let serde_json::Value::Object(fields) = value else { return BTreeMap::new() };
    let allows =
        |value: &serde_json::Value| *value != serde_json::json!(0) && *value != serde_json::json!(false);
    fields.into_iter().filter(|(_, value)| allows(value)).collect()
}

/// Searches until what the fault breaks is seen to be broken: how many steps lead to that, where it is.
#[must_use]
pub fn search(fault: &Fault) -> Option<usize> {
    let name = fault.breaks.name();
    let protocol = Protocol::broken(fault.bounds, fault.variant);
    let wanted = HasDiscoveries::AnyOf([name].into());
    let checker = protocol.checker().threads(THREADS).finish_when(wanted).spawn_bfs().join();
    checker.discovery(name).map(|path| path.into_actions().len())
}

/// What is seen of the fault; `control` is what was seen with the rule.
#[must_use]
pub fn expose(fault: &Fault, control: Control) -> Broken {
    let steps = search(fault);
    Broken {
        name: fault.name,
        mode: fault.bounds.mode.to_string(),
        caught_by: steps.map(|_| fault.breaks.name()),
        steps,
        control,
    }
}

impl Report {
    /// Explores everything that has `only` in its name, and tells on the standard error how far it is.
    #[must_use]
    pub fn make(only: &str, is_traced: bool) -> Self {
        let (mut report, mut controls) = (Self::default(), Controls::default());
        for scenario in Mode::ALL.into_iter().flat_map(scenarios) {
            let name = format!("{}: {}", scenario.bounds.mode, scenario.name);
            if name.contains(only) {
                eprint!("{name} … ");
                let explored = explore(&scenario, is_traced);
                eprintln!("{} states, {} ms{}", explored.states, explored.took_ms, explored.complaint());
                controls.keep(scenario.bounds, &explored);
                report.models.push(explored);
            }
        }
        for fault in faults() {
            let name = format!("{} without its rule: {}", fault.bounds.mode, fault.name);
            if name.contains(only) {
                eprint!("{name} … ");
                let broken = expose(&fault, controls.of(&fault));
                eprintln!("{}", broken.verdict());
                report.broken.push(broken);
            }
        }
        report
    }

    /// True if every property holds, everything was visited, every premise is reached in its mode, and every rule that
    /// was taken out is missed where nothing is wrong with it.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.models.iter().all(|model| model.complete)
            && self.unreached().is_empty()
            && self.broken.iter().all(|broken| broken.caught_by.is_some() && broken.control.holds)
    }

    /// The premises that no scenario of their mode reaches.
    #[must_use]
    pub fn unreached(&self) -> BTreeSet<(String, &'static str)> {
        let with = |wanted: Verdict| {
            self.models.iter().flat_map(move |model| {
                let is_it = move |(_, verdict): &(&&str, &Verdict)| **verdict == wanted;
                model.properties.iter().filter(is_it).map(|(name, _)| (model.mode.clone(), *name))
            })
        };
        let reached: BTreeSet<_> = with(Verdict::Reached).collect();
        with(Verdict::Unreached).filter(|premise| !reached.contains(premise)).collect()
    }

    /// One line of JSON.
    ///
    /// # Errors
    /// Where `out` can't be written.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }

    /// A table.
    ///
    /// # Errors
    /// Where `out` can't be written.
    pub fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        for model in &self.models {
            let (mode, scenario, states) = (&model.mode, model.scenario, model.states);
            writeln!(out, "{mode:<10} {scenario:<34} {states:>9} states{}", model.complaint())?;
        }
        for mode in Mode::ALL {
            let states: usize =
                self.models.iter().filter(|m| m.mode == mode.to_string()).map(|m| m.states).sum();
            writeln!(out, "{mode:<10} {:<34} {states:>9} states", "all")?;
        }
        for broken in &self.broken {
            let (mode, name, verdict) = (&broken.mode, broken.name, broken.verdict());
            writeln!(out, "{mode:<10} without its rule: {name:<26} {verdict}")?;
        }
        for (mode, premise) in self.unreached() {
            writeln!(out, "{mode:<10} never reached: {premise}")?;
        }
        Ok(())
    }
}

impl Explored {
    fn complaint(&self) -> String {
        let violated = |(name, verdict): (&&str, &Verdict)| {
            (*verdict == Verdict::Violated).then(|| format!(", VIOLATED: {name}"))
        };
        let mut complaint: String = self.properties.iter().filter_map(violated).collect();
        if !self.complete {
            complaint.push_str(", INCOMPLETE");
        }
        complaint
    }
}

impl Broken {
    fn verdict(&self) -> String {
        let caught = match (self.caught_by, self.steps) {
            (Some(name), Some(steps)) => format!("{name}, after {steps} steps"),
            _ => "NOT CAUGHT".to_owned(),
        };
        format!("{caught}; with it {}", self.control)
    }
}
