//! `kafka-groups describe`.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use tokio::time::sleep;

use super::KafkaGroupsError;
use super::asker::{GroupAsker, GroupPlace};
use super::kind::KafkaGroupKind;
use super::report::{MembersReport, OffsetsReport, StateReport};
use super::settings::KafkaSettings;
use super::view::group::KafkaGroupView;
use super::view::offsets::{self, CommittedOffsets, OffsetsRow};
use super::view::topics::{LogEnd, ends_in};
use crate::command_error::CommandError;
use crate::output::Output;

/// The number of looks for a group that is not where it should be, and the wait between two: together a second.
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(400);

/// Describes a group of any type.
#[derive(Debug, Args)]
pub(crate) struct DescribeKafkaGroup {
    /// The group
    #[arg(value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    group: String,
    #[command(flatten)]
    part: DescribedPart,
    /// More columns, as Kafka's own tools have them
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    settings: KafkaSettings,
}

/// The part of a group that is shown.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct DescribedPart {
    /// Show how far it is behind; this is shown where nothing is said
    #[arg(long)]
    offsets: bool,
    /// Show its members, who waits for whom, and clients that still speak the classic protocol
    #[arg(long)]
    members: bool,
    /// Show its state and its coordinator
    #[arg(long)]
    state: bool,
}

impl DescribeKafkaGroup {
    /// Asks the group's coordinator, and writes what it says.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let asker = self.settings.asker()?;
        let (place, group) = found(&asker, &self.group).await?;
        if self.part.members {
            return self.output.write(&MembersReport::new(group, self.verbose));
        }
        if self.part.state {
            return self.output.write(&StateReport::new(group, self.verbose));
        }
        let rows = rows(&asker, &place, &group).await?;
        self.output.write(&OffsetsReport::new(group, rows, self.verbose))
    }
}

/// The group with its coordinator. One that has moved meanwhile, or that a broker does not know that had it, is looked for anew,
/// a few times.
async fn found(asker: &GroupAsker, group: &str) -> Result<(GroupPlace, KafkaGroupView), KafkaGroupsError> {
    let mut looks = 0;
    loop {
        looks += 1;
        let place = asker.coordinator(group).await?;
        match view(asker, &place, group).await.map_err(|error| error.about(group)) {
            Err(error) if error.may_have_moved() && looks < LOOKS => sleep(BETWEEN_LOOKS).await,
            Err(error) => return Err(error),
            Ok(view) => return Ok((place, view)),
        }
    }
}

/// The group as its coordinator describes it. Requests differ by type, so that the type is asked for first.
async fn view(
    asker: &GroupAsker,
    place: &GroupPlace,
    group: &str,
) -> Result<KafkaGroupView, KafkaGroupsError> {
    Ok(match kind(asker, place, group).await? {
        KafkaGroupKind::Classic => KafkaGroupView::of_classic(asker.classic(place, group).await?, place),
        KafkaGroupKind::Consumer => KafkaGroupView::of_consumer(asker.consumer(place, group).await?, place),
        KafkaGroupKind::Share => KafkaGroupView::of_share(asker.share(place, group).await?, place),
        KafkaGroupKind::Streams => KafkaGroupView::of_streams(asker.streams(place, group).await?, place),
    })
}

async fn kind(
    asker: &GroupAsker,
    place: &GroupPlace,
    group: &str,
) -> Result<KafkaGroupKind, KafkaGroupsError> {
    let listed = asker.list(&place.address).await?.groups.into_iter().find(|listed| listed.group_id == group);
    let kind = listed.ok_or_else(|| KafkaGroupsError::NoGroup(group.to_owned()))?.group_type;
    KafkaGroupKind::of_name(&kind)
        .ok_or_else(|| KafkaGroupsError::UnknownType { group: group.to_owned(), kind })
}

/// The offsets of a group, with the ends of its partitions.
async fn rows(
    asker: &GroupAsker,
    place: &GroupPlace,
    group: &KafkaGroupView,
) -> Result<Vec<OffsetsRow>, KafkaGroupsError> {
    if group.kind == KafkaGroupKind::Share {
        return Ok(offsets::share_rows(asker.shared_offsets(place, &group.group).await?));
    }
    let answer = asker.committed(place, &group.group).await?;
    let topics = asker.topics(&offsets::topics_of(group, &answer)).await?;
    let committed = CommittedOffsets::new(&answer, &topics);
    let wanted = offsets::partitions_of(group, &committed);
    let ends = ends_in(&asker.ends(topics.requests(&wanted, LogEnd::Last)).await);
    if group.kind != KafkaGroupKind::Streams {
        return Ok(offsets::consumer_rows(group, &committed, &ends));
    }
    let beginnings: BTreeMap<_, _> = ends_in(&asker.ends(topics.requests(&wanted, LogEnd::First)).await);
    Ok(offsets::streams_rows(group, &committed, &ends, &beginnings))
}
