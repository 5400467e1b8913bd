//! The record of a group's settings.

use kafka_assigner_strategies::{Registry, TopicSpread};
use kafka_assigner_types::bounds;
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;
use serde::{Deserialize, Serialize};

use super::{Extra, Version};

/// A moment in the store at which an operator said that the former owners have stopped. It counts for grants that are not
/// newer, in the same history of the store: revisions of another one tell nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnersStopped {
    /// The revision of the group that the operator's call was decided on.
    pub revision: Revision,
    /// The cluster id at that time; `None` where the store has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
}

/// `config/group`: the group's configuration. All times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupConfig {
    /// The version of the record.
    pub version: Version,
    /// The strategy's name; default `balanced`.
    #[serde(default = "default_strategy")]
    pub strategy: String,
    /// The mode of new grants where a topic has none of its own; default `overlap`.
    #[serde(default)]
    pub mode: Mode,
    /// True if a new owner in `exclusive` reads what is left of the log before it becomes the owner, and takes
    /// its fences then; default false. In `routed` it always does, in `overlap` never.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub catch_up: bool,
    /// True if nobody is granted a partition of a vanished session in a strict mode before two thirds of that
    /// session's time to live have passed, in case its lease was revoked from outside; default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait_out_revocations: bool,
    /// The session's time to live for consumers that ask for none; 2 s to 30 min, default 30 s.
    #[serde(default = "default_session_timeout")]
    pub session_timeout_ms: u64,
    /// The longest time to live that a session may ask for; `session_timeout_ms` to 30 min, default 5 min. So long strict
    /// grants wait after the store was put back.
    #[serde(default = "default_max_session_timeout")]
    pub max_session_timeout_ms: u64,
    /// The time for which a change of membership waits for the next one; at most 60 s, default 100 ms.
    #[serde(default = "default_debounce")]
    pub debounce_ms: u64,
    /// The longest time that a warm-up may go without progress; 2 s to 24 h, default 5 min.
    #[serde(default = "default_warm_deadline")]
    pub warm_deadline_ms: u64,
    /// The longest time that every other phase may last; 1 s to 1 h, default 30 s.
    #[serde(default = "default_phase_deadline")]
    pub phase_deadline_ms: u64,
    /// The longest time that a member may be busy with one record while a phase waits for it; longer than that, the move
    /// is cancelled, and in `overlap` the session of an old owner ends. At least `phase_deadline_ms` counts; 1 s to 1 h,
    /// default 5 min. Not in `routed`, where [`hold_deadline_ms`](Self::hold_deadline_ms) counts.
    #[serde(default = "default_drain_deadline")]
    pub drain_deadline_ms: u64,
    /// The longest time for which a move in `routed` may hold requests back, over all its phases: shorter than routers
    /// stash requests (15 s by default), longer than twice the shortest session; 4 s to 1 h, default 10 s. Sessions of
    /// routers last half as long where they ask for nothing else, and a freeze seven tenths of it.
    #[serde(default = "default_hold_deadline")]
    pub hold_deadline_ms: u64,
    /// The time after which a consumer whose process seems to be dead is taken over in `overlap`, from the mark in its
    /// registration on: its session is ended, unless it is heard before. At most 1 h, default 3 s; 0 = never, in no mode:
    /// the end of its session is waited for.
    #[serde(default = "default_takeover_after")]
    pub takeover_after_ms: u64,
    /// The operator's last word that everybody has stopped who owned a partition before and does not now: no switch to a
    /// stricter mode waits for them. Default: none was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners_stopped_at: Option<OwnersStopped>,
    /// The most handoffs in flight; at least 1, default 1 000.
    #[serde(default = "default_moves_in_flight")]
    pub max_moves_in_flight: u32,
    /// The most partitions that one consumer warms at a time; at least 1, default 64.
    #[serde(default = "default_warming")]
    pub max_warming: u32,
    /// The time for which the partitions of a consumer that vanished are kept for its name; at most 1 h, default 0.
    #[serde(default)]
    pub rejoin_grace_ms: u64,
    /// The price that `balanced` may pay to spread each topic evenly over consumers: `ties`, the default, for no move
    /// more, or `moves`. Instances that do not know the field keep it and plan as with `ties`.
    #[serde(default = "default_spread_topics", skip_serializing_if = "is_default_spread")]
    pub spread_topics: String,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

fn default_strategy() -> String {
    Registry::DEFAULT.to_owned()
}

fn default_spread_topics() -> String {
    TopicSpread::default().name().to_owned()
}

fn is_default_spread(spread: &str) -> bool {
    spread == TopicSpread::default().name()
}

const fn default_session_timeout() -> u64 {
    30_000
}

const fn default_max_session_timeout() -> u64 {
    300_000
}

const fn default_debounce() -> u64 {
    100
}

const fn default_warm_deadline() -> u64 {
    300_000
}

const fn default_phase_deadline() -> u64 {
    30_000
}

const fn default_drain_deadline() -> u64 {
    300_000
}

const fn default_hold_deadline() -> u64 {
    10_000
}

const fn default_takeover_after() -> u64 {
    3_000
}

const fn default_moves_in_flight() -> u32 {
    1_000
}

const fn default_warming() -> u32 {
    64
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            version: Version,
            strategy: default_strategy(),
            mode: Mode::default(),
            catch_up: false,
            wait_out_revocations: false,
            session_timeout_ms: default_session_timeout(),
            max_session_timeout_ms: default_max_session_timeout(),
            debounce_ms: default_debounce(),
            warm_deadline_ms: default_warm_deadline(),
            phase_deadline_ms: default_phase_deadline(),
            drain_deadline_ms: default_drain_deadline(),
            hold_deadline_ms: default_hold_deadline(),
            takeover_after_ms: default_takeover_after(),
            owners_stopped_at: None,
            max_moves_in_flight: default_moves_in_flight(),
            max_warming: default_warming(),
            rejoin_grace_ms: 0,
            spread_topics: default_spread_topics(),
            extra: Extra::new(),
        }
    }
}

/// A configured value outside what it may be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidConfig {
    /// A number out of its range.
    #[error("{field} = {value} is refused: it must be {low} to {high}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The configured value.
        value: u64,
        /// The least that is allowed.
        low: u64,
        /// The most that is allowed.
        high: u64,
    },
    /// A session timeout that no session may have.
    #[error("session_timeout_ms = {value} is refused: it must be at most max_session_timeout_ms, {most}")]
    AboveMaximum {
        /// The configured value.
        value: u64,
        /// The longest that is allowed.
        most: u64,
    },
    /// A strategy that does not exist.
    #[error("strategy {value:?} is unknown: it must be one of {known}")]
    UnknownStrategy {
        /// The configured value.
        value: String,
        /// The strategies there are, with commas.
        known: String,
    },
    /// A price for even topics that does not exist.
    #[error("spread_topics {value:?} is unknown: it must be ties or moves")]
    UnknownSpread {
        /// The configured value.
        value: String,
    },
}

impl GroupConfig {
    /// The shortest and the longest session timeout in milliseconds: etcd keeps no lease under 2 s, and over
    /// half an hour a dead owner would go unnoticed for longer than anybody wants.
    pub const SESSION_TIMEOUT_MS: (u64, u64) = bounds::SESSION_TIMEOUT_MS;

    /// Checks every value against its range, and that the strategy is one of `strategies`.
    ///
    /// # Errors
    /// [`InvalidConfig`] for the first value that is outside.
    pub fn validate(&self, strategies: &Registry) -> Result<(), InvalidConfig> {
        const HOUR: u64 = 3_600_000;
        let (shortest, longest) = Self::SESSION_TIMEOUT_MS;
        within("session_timeout_ms", self.session_timeout_ms, shortest, longest)?;
        within("max_session_timeout_ms", self.max_session_timeout_ms, shortest, longest)?;
        self.session_timeout_fits()?;
        within("debounce_ms", self.debounce_ms, 0, 60_000)?;
        // Clients report once a second, and a report may come late by as long.
        within("warm_deadline_ms", self.warm_deadline_ms, 2_000, 24 * HOUR)?;
        within("phase_deadline_ms", self.phase_deadline_ms, 1_000, HOUR)?;
        within("drain_deadline_ms", self.drain_deadline_ms, 1_000, HOUR)?;
        within("hold_deadline_ms", self.hold_deadline_ms, 2 * shortest, HOUR)?;
        within("takeover_after_ms", self.takeover_after_ms, 0, HOUR)?;
        within("max_moves_in_flight", self.max_moves_in_flight.into(), 1, 1_000_000)?;
        within("max_warming", self.max_warming.into(), 1, 1_000_000)?;
        within("rejoin_grace_ms", self.rejoin_grace_ms, 0, HOUR)?;
        if TopicSpread::named(&self.spread_topics).is_none() {
            return Err(InvalidConfig::UnknownSpread { value: self.spread_topics.clone() });
        }
        self.known_strategy(strategies)
    }

    /// The price for even topics; that of a newer version, which is unknown here, counts as `ties`.
    pub fn topic_spread(&self) -> TopicSpread {
        TopicSpread::named(&self.spread_topics).unwrap_or_default()
    }

    const fn session_timeout_fits(&self) -> Result<(), InvalidConfig> {
        let (value, most) = (self.session_timeout_ms, self.max_session_timeout_ms);
        if value <= most { Ok(()) } else { Err(InvalidConfig::AboveMaximum { value, most }) }
    }

    fn known_strategy(&self, strategies: &Registry) -> Result<(), InvalidConfig> {
        if strategies.named(&self.strategy).is_some() {
            return Ok(());
        }
        let known: Vec<&str> = strategies.all().iter().map(|s| s.name()).collect();
        Err(InvalidConfig::UnknownStrategy { value: self.strategy.clone(), known: known.join(", ") })
    }
}

const fn within(field: &'static str, value: u64, low: u64, high: u64) -> Result<(), InvalidConfig> {
    if low <= value && value <= high {
        Ok(())
    } else {
        Err(InvalidConfig::OutOfRange { field, value, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        GroupConfig::default().validate(Registry::builtin()).unwrap();
    }

    #[test]
    fn a_refused_value_is_named_with_its_range() {
        let config = GroupConfig { session_timeout_ms: 1_999, ..GroupConfig::default() };
        let error = config.validate(Registry::builtin()).unwrap_err().to_string();
        assert_eq!(error, "session_timeout_ms = 1999 is refused: it must be 2000 to 1800000");
        let config = GroupConfig { strategy: "best".to_owned(), ..GroupConfig::default() };
        assert!(config.validate(Registry::builtin()).unwrap_err().to_string().contains("sticky-balanced"));
        let config = GroupConfig { spread_topics: "none".to_owned(), ..GroupConfig::default() };
        let error = config.validate(Registry::builtin()).unwrap_err().to_string();
        assert_eq!(error, "spread_topics \"none\" is unknown: it must be ties or moves");
    }

    #[test]
    fn the_price_for_even_topics_is_left_out_by_default_and_read_from_older_and_newer_writers() {
        let default = serde_json::to_value(GroupConfig::default()).unwrap();
        assert_eq!(default.get("spread_topics"), None);
        let read = |spread: Option<&str>| -> GroupConfig {
            let mut record = default.clone();
            spread.into_iter().for_each(|spread| record["spread_topics"] = spread.into());
            serde_json::from_value(record).unwrap()
        };
        assert_eq!(read(None).topic_spread(), TopicSpread::Ties);
        assert_eq!(read(Some("moves")).topic_spread(), TopicSpread::Moves);
        let newer = read(Some("everything"));
        assert_eq!(newer.topic_spread(), TopicSpread::Ties);
        assert_eq!(serde_json::to_value(newer).unwrap()["spread_topics"], "everything");
    }
}
