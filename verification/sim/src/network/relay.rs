//! Carries the commands of one stream from an instance to a member.

use std::pin::Pin;
use std::sync::Arc;

use futures::{Stream as Items, StreamExt as _};
use kafka_assigner_proto::v1::{AssignmentCommand, RouteCommand, Seen, assignment_command, route_command};
use kafka_assigner_server::Commands;
use kafka_assigner_types::id::Member;
use rand::RngExt as _;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, sleep, sleep_until};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::{Cut, Network, Server, Stream};
use crate::history::What;
use crate::hole::Hole;

type Item<C> = Result<C, Status>;

/// The other end of a stream.
pub(super) type Received<C> = Pin<Box<dyn Items<Item = Item<C>> + Send>>;

/// A message of a stream.
pub(super) trait Command: Clone + Send + 'static {
    /// That a stream has told it.
    fn told(self, stream: u64) -> What;

    /// True if it says that its instance may know less than there is.
    fn is_out_of_touch(&self) -> bool;
}

impl Command for AssignmentCommand {
    fn told(self, stream: u64) -> What {
        What::Told { stream, command: Box::new(self) }
    }

    fn is_out_of_touch(&self) -> bool {
        matches!(self.command, Some(assignment_command::Command::OutOfTouch(_)))
    }
}

impl Command for RouteCommand {
    fn told(self, stream: u64) -> What {
        What::Routed { stream, command: Box::new(self) }
    }

    fn is_out_of_touch(&self) -> bool {
        matches!(self.command, Some(route_command::Command::OutOfTouch(_)))
    }
}

/// The time after which a stream that carries nothing looks whether it may again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The number of messages that the buffers of a connection take; then its sender waits.
const BUFFER: usize = 4;

/// One stream on its way.
pub(super) struct Relay<C> {
    network: Arc<Network>,
    number: u64,
    member: Arc<str>,
    from: Commands<C>,
    to: mpsc::Sender<Item<C>>,
    down: CancellationToken,
    cut: CancellationToken,
}

impl<C: Command> Relay<C> {
    /// Puts `from` on the network, and returns its other end.
    pub(super) fn start(
        network: &Arc<Network>,
        (endpoint, server): (&str, &Server),
        member: Member,
        seen: Seen,
        from: Commands<C>,
    ) -> Received<C> {
        let (to, received) = mpsc::channel(BUFFER);
        let (name, cut) = (Arc::<str>::from(member.name.as_str()), CancellationToken::new());
        let (member_name, endpoint) = (Arc::clone(&name), endpoint.to_owned());
        let stream = Stream { member: member_name, endpoint, cut: cut.clone(), deaf_until: Instant::now() };
        let number = network.begin(stream);
        network.history.note(What::Attached { stream: number, member, seen });
        let (network, down) = (Arc::clone(network), server.down.clone());
        tokio::spawn(Self { network, number, member: name, from, to, down, cut }.run());
        Box::pin(ReceiverStream::new(received))
    }

    async fn run(mut self) {
        loop {
            let item = tokio::select! {
                biased;
                // A dead instance or a cut line: the member sees a broken connection.
                () = self.down.cancelled() => Some(Err(broken())),
                () = self.cut.cancelled() => Some(Err(broken())),
                // The member has let go.
                () = self.to.closed() => None,
                // The instance says something.
                item = self.from.next() => item,
            };
            let Some(item) = item else { break };
            let over = item.is_err();
            if !self.pass_on(item).await || over {
                break;
            }
        }
        self.network.end(self.number);
    }

    /// Passes one item on, late; false where nobody is there any more.
    async fn pass_on(&self, item: Item<C>) -> bool {
        if let Ok(command) = &item {
            if command.is_out_of_touch() && self.network.hole == Some(Hole::DeafUnnoticed) {
                return true;
            }
            if self.network.loses_a_command() {
                return true;
            }
            self.network.history.note(command.clone().told(self.number));
            sleep(self.network.throw(&self.member).there).await;
            self.listen().await;
        }
        self.to.send(item).await.is_ok()
    }

    /// Waits until somebody reads, or nobody ever will.
    async fn listen(&self) {
        while let Some(until) = self.network.deaf_until(self.number, &self.member) {
            tokio::select! {
                biased;
                () = self.to.closed() => return,
                () = self.cut.cancelled() => return,
                () = sleep_until(until) => {}
            }
        }
    }
}

fn broken() -> Status {
    Status::unavailable("the connection broke")
}

impl Network {
    /// True if a command is lost, and its stream goes on all the same.
    fn loses_a_command(&self) -> bool {
        self.hole == Some(Hole::CommandsLost) && self.state().dice.random_bool(0.05)
    }

    fn begin(&self, stream: Stream) -> u64 {
        let mut state = self.state();
        state.next_stream += 1;
        let number = state.next_stream;
        state.streams.insert(number, stream);
        number
    }

    fn end(&self, stream: u64) {
        let mut state = self.state();
        if let Some(stream) = state.streams.remove(&stream) {
            state.ended.insert(stream.member, Instant::now());
        }
        drop(state);
        self.history.note(What::Detached { stream });
    }

    fn deaf_until(&self, stream: u64, member: &Arc<str>) -> Option<Instant> {
        let (state, now) = (self.state(), Instant::now());
        if state.cut_off.get(member) == Some(&Cut::Answers) {
            return Some(now + LOOK_AGAIN);
        }
        let stream = state.streams.get(&stream)?;
        if state.is_cut(member, &stream.endpoint) {
            return Some(now + LOOK_AGAIN);
        }
        Some(stream.deaf_until).filter(|until| *until > now)
    }
}
