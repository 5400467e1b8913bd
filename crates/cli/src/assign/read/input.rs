//! The content of a line, in the form in which it is written: [`Input`].

mod counts;
mod object;
mod racks;
mod standby;

use kafka_assigner_strategies::MemberState;
use serde::Deserialize;
use serde::de::IgnoredAny;

pub(in crate::assign) use counts::StandbyCounts;
use object::{Object, object, objects};
pub(in crate::assign) use racks::PartitionRacks;
pub(in crate::assign) use standby::StandbyPartition;

use super::refused::Refused;

/// A line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::assign) struct Input {
    pub(in crate::assign) topics: Vec<InputTopic>,
    /// In the order in which the group lists them.
    #[serde(deserialize_with = "objects")]
    pub(in crate::assign) members: Vec<InputMember>,
    #[serde(default)]
    pub(in crate::assign) standbys: StandbyCounts,
    /// Topics whose equal partition numbers are placed as one.
    #[serde(default)]
    pub(in crate::assign) copartition: Vec<Vec<String>>,
    #[serde(default)]
    pub(in crate::assign) pins: Vec<InputPair>,
    #[serde(default)]
    pub(in crate::assign) bans: Vec<InputPair>,
    #[serde(default, deserialize_with = "object")]
    pub(in crate::assign) options: Options,
    #[serde(default)]
    #[expect(dead_code, reason = "results and labels of collected examples are accepted and not looked at")]
    n: IgnoredAny,
    #[serde(default)]
    #[expect(dead_code, reason = "as above")]
    class: IgnoredAny,
    #[serde(default)]
    #[expect(dead_code, reason = "as above")]
    assignor: IgnoredAny,
    #[serde(default)]
    #[expect(dead_code, reason = "as above")]
    expect: IgnoredAny,
}

impl Input {
    /// Reads a line.
    ///
    /// # Errors
    /// [`Refused`] if it is not JSON of this form.
    pub(in crate::assign) fn parse(line: &[u8]) -> Result<Self, Refused> {
        let mut json = serde_json::Deserializer::from_slice(line);
        let Object(input) = serde_path_to_error::deserialize(&mut json)?;
        json.end()?;
        Ok(input)
    }
}

/// `[name, partitions, racks?, weights?]`.
#[derive(Debug, Deserialize)]
pub(in crate::assign) struct InputTopic(
    pub(in crate::assign) String,
    pub(in crate::assign) u32,
    /// By partition.
    #[serde(default)]
    pub(in crate::assign) Option<Vec<PartitionRacks>>,
    /// By partition.
    #[serde(default)]
    pub(in crate::assign) Option<Vec<f64>>,
);

/// A member.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::assign) struct InputMember {
    pub(in crate::assign) id: String,
    pub(in crate::assign) instance: Option<String>,
    pub(in crate::assign) rack: Option<String>,
    pub(in crate::assign) topics: Vec<String>,
    /// The partitions that it claims to own; some may not exist.
    pub(in crate::assign) owned: Option<Vec<(String, Vec<i64>)>>,
    /// The group's generation in which it got what it claims; less than zero is none.
    #[serde(rename = "gen")]
    pub(in crate::assign) claimed_in: Option<i32>,
    pub(in crate::assign) capacity: Option<f64>,
    pub(in crate::assign) max_partitions: Option<u32>,
    #[serde(default)]
    pub(in crate::assign) state: State,
    /// The label of its deployment.
    pub(in crate::assign) generation: Option<String>,
    #[serde(default)]
    pub(in crate::assign) standby_for: Vec<(String, Vec<StandbyPartition>)>,
}

/// The state of a member: it takes partitions, only keeps its own, or gives them up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::assign) enum State {
    #[default]
    Active,
    Hold,
    Draining,
}

impl From<State> for MemberState {
    fn from(state: State) -> Self {
        match state {
            State::Active => Self::Active,
            State::Hold => Self::Hold,
            State::Draining => Self::Draining,
        }
    }
}

/// `[topic, partition, member]`.
#[derive(Debug, Deserialize)]
pub(in crate::assign) struct InputPair(
    pub(in crate::assign) String,
    pub(in crate::assign) u32,
    pub(in crate::assign) String,
);

/// The trade-offs that a strategy may make.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::assign) struct Options {
    /// A share of the mean.
    pub(in crate::assign) tolerance: Option<f64>,
    pub(in crate::assign) acceptable_lag: Option<u64>,
    pub(in crate::assign) movement_budget: Option<u32>,
}
