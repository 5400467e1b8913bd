//! The groups with their topics, and the consumers that own them.

use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_proto::v1::{SetGroupConfigRequest, SetTopicRequest, Topic};
use tokio::time::timeout;
use tonic::transport::Channel;

use super::{CONSUMERS, PARTITIONS};
use crate::consumer::{Acknowledging, Consumer, Crowd};

/// The topic of every group.
pub(super) const TOPIC: &str = "topic";

/// Calls under way at a time: the first call about a group may wait for etcd's next round.
const AT_A_TIME: usize = 16;

/// A thousand groups are there within half a minute.
const BOUND: Duration = Duration::from_secs(180);

/// The groups, while they run.
pub(super) struct Fleet {
    /// The calls of a consumer of the first group, to the first instance.
    pub(super) acknowledging: Acknowledging,
    _crowd: Crowd,
}

impl Fleet {
    /// Makes `groups` groups that have [`PARTITIONS`] partitions in all, and waits until [`CONSUMERS`] consumers own all
    /// of them.
    pub(super) async fn start(addresses: &[&str], groups: usize) -> Result<Self> {
        timeout(BOUND, Self::begin(addresses, groups)).await.context("the groups are not served")?
    }

    async fn begin(addresses: &[&str], groups: usize) -> Result<Self> {
        let admin = AdminClient::connect(addresses[0].to_owned()).await?;
        let made = (0..groups).map(|number| make(admin.clone(), number, PARTITIONS / groups));
        stream::iter(made).buffer_unordered(AT_A_TIME).try_collect::<Vec<()>>().await?;
        let joining = (0..CONSUMERS).map(async |number| {
            let address = addresses[number % addresses.len()];
            Consumer::register_in(&group(number % groups), address, number).await
        });
        let consumers: Vec<Consumer> = stream::iter(joining).buffered(AT_A_TIME).try_collect().await?;
        let acknowledging = consumers[0].acknowledging();
        let mut crowd = Crowd::of(consumers);
        crowd.own(PARTITIONS).await?;
        Ok(Self { acknowledging, _crowd: crowd })
    }
}

fn group(number: usize) -> String {
    format!("fleet-{number:04}")
}

async fn make(mut admin: AdminClient<Channel>, number: usize, partitions: usize) -> Result<()> {
    let group = group(number);
    let request = SetGroupConfigRequest { group: group.clone(), ..SetGroupConfigRequest::default() };
    admin.set_group_config(request).await?;
    let partitions = u32::try_from(partitions)?;
    let topic = Topic { topic: TOPIC.to_owned(), partitions, ..Topic::default() };
    admin.set_topic(SetTopicRequest { group, topic: Some(topic) }).await?;
    Ok(())
}
