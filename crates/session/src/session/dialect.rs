//! The messages of a session: the same machine serves consumers and routers, whose streams say different things.

use std::fmt::Debug;

use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{AssignmentCommand, Fenced, GoAway, SessionInfo, Snapshot};

use super::told::ToldItems;

/// The language of one kind of member.
pub trait Dialect: Debug {
    /// A message of the stream.
    type Command: Debug;
    /// Everything that the member has to know, or a part of it.
    type Snapshot: Debug + Default;
    /// The change that is passed on to the member.
    type News: Debug;

    /// True if the member says that it lives when its stream ended: then the service may take one that does not for dead.
    const IS_PRESENT: bool = false;

    /// Takes a message apart.
    fn hear(command: Self::Command) -> Heard<Self::Snapshot, Self::News>;

    /// Adds the next part of a snapshot to those that came before.
    fn append(whole: &mut Self::Snapshot, part: Self::Snapshot);

    /// A whole snapshot, as it is passed on.
    fn news(whole: Self::Snapshot) -> Self::News;

    /// Notes what `news` tells.
    fn note(news: &Self::News, told: &mut ToldItems);
}

/// A message of the stream.
#[derive(Debug)]
pub struct Heard<S, N> {
    /// The store that the service runs on.
    pub cluster_id: String,
    /// The revision of the view that the message was computed from.
    pub revision: u64,
    /// The content.
    pub what: MessageBody<S, N>,
}

/// The content of a message.
#[derive(Debug)]
pub enum MessageBody<S, N> {
    /// Everything, or a part of it; begins each stream.
    Snapshot {
        /// The session that the stream belongs to.
        session: SessionInfo,
        /// Its part about partitions.
        part: S,
        /// True if another part follows.
        more: bool,
    },
    /// A change.
    News(N),
    /// The instance is about to stop.
    GoAway(GoAway),
    /// The instance may know less than there is.
    OutOfTouch,
    /// The session is over.
    Fenced(Fenced),
    /// Nothing that this version knows.
    Nothing,
}

/// Takes a message of a consumer's stream apart. `news` makes the change of a command that the session does not know; `None` = it
/// makes none.
pub fn consumer_message<N>(
    command: AssignmentCommand,
    news: impl FnOnce(Command) -> Option<N>,
) -> Heard<Snapshot, N> {
    let AssignmentCommand { cluster_id, revision, command } = command;
    let what = match command {
        Some(Command::Snapshot(mut part)) => {
            let session = part.session.take().unwrap_or_default();
            MessageBody::Snapshot { session, more: part.more, part }
        }
        Some(Command::GoAway(go_away)) => MessageBody::GoAway(go_away),
        Some(Command::Fenced(fenced)) => MessageBody::Fenced(fenced),
        Some(Command::OutOfTouch(_)) => MessageBody::OutOfTouch,
        Some(other) => news(other).map_or(MessageBody::Nothing, MessageBody::News),
        None => MessageBody::Nothing,
    };
    Heard { cluster_id, revision, what }
}
