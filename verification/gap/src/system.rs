//! The systems that are compared.

use std::time::Duration;

use anyhow::{Result, bail};

/// After so long without a sign of life a member is dead, in every system. The only setting of the Java consumer that
/// differs from its defaults, where it is 45 s; ours has 30 s.
pub(crate) const SESSION_TIMEOUT: Duration = Duration::from_secs(10);

/// One of the systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct System {
    /// The name of the system in rows.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// True if it is measured when there is little time.
    is_quick: bool,
    /// True if the gaps of its planned moves have an aim, beyond which the command fails.
    pub(crate) has_aim: bool,
}

/// The consumers that take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// This project's, in a group that is set so.
    Ours { settings: &'static [&'static str] },
    /// The Java consumer, with properties that differ from its defaults.
    Java { properties: &'static [&'static str] },
}

const SLOW: System =
    System { name: "", kind: Kind::Java { properties: &[] }, is_quick: false, has_aim: false };

const QUICK: System = System { is_quick: true, ..SLOW };

const ALL: [System; 6] = [
    System { name: "overlap", kind: Kind::Ours { settings: &["--mode", "overlap"] }, ..QUICK },
    System {
        name: "exclusive",
        kind: Kind::Ours { settings: &["--mode", "exclusive", "--max-moves-in-flight", "4"] },
        has_aim: true,
        ..QUICK
    },
    // Without routers, which have no part in reading from Kafka: nothing is frozen, but the new owner catches up.
    System {
        name: "routed",
        kind: Kind::Ours { settings: &["--mode", "routed", "--max-moves-in-flight", "4"] },
        ..SLOW
    },
    // The default of the classic protocol is the range assignor, which has everybody let go of everything.
    System { name: "eager", kind: Kind::Java { properties: &["session.timeout.ms=10000"] }, ..SLOW },
    System {
        name: "cooperative-sticky",
        kind: Kind::Java {
            properties: &[
                "session.timeout.ms=10000",
                "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
            ],
        },
        ..QUICK
    },
    // Its session timeout is the broker's business.
    System { name: "kip-848", kind: Kind::Java { properties: &["group.protocol=consumer"] }, ..QUICK },
];

/// The systems of these names, or all that are measured in the time that there is.
pub(crate) fn chosen(names: &[String], quick: bool) -> Result<Vec<System>> {
    if let Some(unknown) = names.iter().find(|name| ALL.iter().all(|system| system.name != **name)) {
        bail!("there is no system {unknown:?}, but {}", ALL.map(|system| system.name).join(", "));
    }
    let is_chosen = |system: &System| {
        if names.is_empty() {
            system.is_quick || !quick
        } else {
            names.iter().any(|name| name == system.name)
        }
    };
    Ok(ALL.into_iter().filter(is_chosen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(chosen: &[System]) -> Vec<&str> {
        chosen.iter().map(|system| system.name).collect()
    }

    #[test]
    fn the_named_ones_are_chosen_or_those_that_there_is_time_for() {
        assert_eq!(names(&chosen(&["kip-848".to_owned()], true).unwrap()), ["kip-848"]);
        assert_eq!(chosen(&[], false).unwrap(), ALL);
        assert!(!names(&chosen(&[], true).unwrap()).contains(&"eager"));
        assert!(chosen(&["sticky".to_owned()], false).is_err());
    }

    #[test]
    fn the_session_timeout_is_the_same_everywhere() {
        let told = format!("session.timeout.ms={}", SESSION_TIMEOUT.as_millis());
        for name in ["eager", "cooperative-sticky"] {
            let system = ALL.iter().find(|system| system.name == name).unwrap();
            let Kind::Java { properties } = system.kind else { panic!("{name} is Kafka's") };
            assert!(properties.contains(&told.as_str()));
        }
    }
}
