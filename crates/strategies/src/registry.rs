//! The strategies there are to choose from: [`Registry`].

use std::borrow::Cow;

use crate::{Strategy, all};

static BUILTIN: Registry = Registry(Cow::Borrowed(all()));

/// The strategies there are to choose from: those of this crate, and those that a program adds.
///
/// All instances of a service must have the same ones: one that leads a group and does not know the
/// group's strategy leaves everything where it is.
#[derive(Clone, Debug)]
pub struct Registry(Cow<'static, [&'static dyn Strategy]>);

impl Registry {
    /// The name of the strategy to use where none is named.
    pub const DEFAULT: &'static str = "balanced";

    /// The strategies of this crate.
    pub const fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// These, and `strategy`, which takes the place of one with the same name.
    ///
    /// ```
    /// use kafka_assigner_strategies::{Placement, Problem, Registry, Strategy};
    ///
    /// #[derive(Debug)]
    /// struct Nobody;
    ///
    /// impl Strategy for Nobody {
    ///     fn name(&self) -> &'static str {
    ///         "nobody"
    ///     }
    ///
    ///     fn summary(&self) -> &'static str {
    ///         "leaves every partition to itself"
    ///     }
    ///
    ///     fn assign(&self, problem: &Problem) -> Placement {
    ///         Placement::of(problem, vec![None; problem.units()])
    ///     }
    /// }
    ///
    /// let strategies = Registry::builtin().with(&Nobody);
    /// assert!(strategies.named("nobody").is_some());
    /// assert!(strategies.named("sticky-balanced").is_some());
    /// ```
    #[must_use]
    pub fn with(&self, strategy: &'static dyn Strategy) -> Self {
        let others = self.0.iter().copied().filter(|other| other.name() != strategy.name());
        Self(others.chain([strategy]).collect())
    }

    /// All of them, in the order in which to list them for people.
    pub fn all(&self) -> &[&'static dyn Strategy] {
        &self.0
    }

    /// The strategy of that name, if there is one.
    pub fn named(&self, name: &str) -> Option<&'static dyn Strategy> {
        self.0.iter().copied().find(|strategy| strategy.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JumpHash, Placement, Problem};

    #[derive(Debug)]
    struct Own;

    impl Strategy for Own {
        fn name(&self) -> &'static str {
            JumpHash.name()
        }

        fn summary(&self) -> &'static str {
            "own"
        }

        fn assign(&self, problem: &Problem) -> Placement {
            JumpHash.assign(problem)
        }
    }

    #[test]
    fn an_added_strategy_takes_the_place_of_its_namesake() {
        let registry = Registry::builtin().with(&Own);
        assert_eq!(registry.all().len(), all().len());
        assert_eq!(registry.named(JumpHash.name()).unwrap().summary(), "own");
        assert_ne!(Registry::builtin().named(JumpHash.name()).unwrap().summary(), "own");
    }
}
