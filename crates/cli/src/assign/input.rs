//! What a line says: [`Input`], in the form in which it is written.

mod counts;
mod object;
mod racks;
mod standby;

use kafka_assigner_strategies::MemberState;
use serde::Deserialize;
use serde::de::IgnoredAny;

pub(super) use counts::StandbyCounts;
use object::{Object, object, objects};
pub(super) use racks::Racks;
pub(super) use standby::StandbyPartition;

use super::Refused;

/// A line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    pub(super) topics: Vec<Topic>,
    /// In the order in which the group lists them.
    #[serde(deserialize_with = "objects")]
    pub(super) members: Vec<Member>,
    #[serde(default)]
    pub(super) standbys: StandbyCounts,
    /// Topics whose equal partition numbers are placed as one.
    #[serde(default)]
    pub(super) copartition: Vec<Vec<String>>,
    #[serde(default)]
    pub(super) pins: Vec<Pair>,
    #[serde(default)]
    pub(super) bans: Vec<Pair>,
    #[serde(default, deserialize_with = "object")]
    pub(super) options: Options,
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
    /// Where it is not JSON of this form.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Refused> {
        let mut json = serde_json::Deserializer::from_slice(line);
        let Object(input) = serde_path_to_error::deserialize(&mut json)?;
        json.end()?;
        Ok(input)
    }
}

/// `[name, partitions, racks?, weights?]`.
#[derive(Debug, Deserialize)]
pub(super) struct Topic(
    pub(super) String,
    pub(super) u32,
    /// By partition.
    #[serde(default)]
    pub(super) Option<Vec<Racks>>,
    /// By partition.
    #[serde(default)]
    pub(super) Option<Vec<f64>>,
);

/// A member.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) instance: Option<String>,
    pub(super) rack: Option<String>,
    pub(super) topics: Vec<String>,
    /// What it claims to own. Partitions that do not exist may be among it.
    pub(super) owned: Option<Vec<(String, Vec<i64>)>>,
    /// The group's generation in which it got what it claims; less than zero is none.
    #[serde(rename = "gen")]
    pub(super) claimed_in: Option<i32>,
    pub(super) capacity: Option<f64>,
    pub(super) max_partitions: Option<u32>,
    #[serde(default)]
    pub(super) state: State,
    /// The label of its deployment.
    pub(super) generation: Option<String>,
    #[serde(default)]
    pub(super) standby_for: Vec<(String, Vec<StandbyPartition>)>,
}

/// Whether a member takes, keeps or gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
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
pub(super) struct Pair(pub(super) String, pub(super) u32, pub(super) String);

/// What may be traded for what.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// A share of the mean.
    pub(super) tolerance: Option<f64>,
    pub(super) acceptable_lag: Option<u64>,
    pub(super) movement_budget: Option<u32>,
}
