//! Carries the commands of one stream from an instance to a consumer.

use std::sync::Arc;

use futures::StreamExt as _;
use kafka_assigner_client::CommandStream;
use kafka_assigner_core::id::Member;
use kafka_assigner_core::kv::Revision;
use kafka_assigner_proto::v1::AssignmentCommand;
use kafka_assigner_server::Commands;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::{Network, Server, Stream};
use crate::history::What;

type Item = Result<AssignmentCommand, Status>;

/// What fits into the buffers of a connection; then its sender waits.
const BUFFER: usize = 4;

/// One stream on its way.
pub(super) struct Relay {
    network: Arc<Network>,
    number: u64,
    consumer: Arc<str>,
    from: Commands,
    to: mpsc::Sender<Item>,
    down: CancellationToken,
    cut: CancellationToken,
}

impl Relay {
    /// Puts `from` on the network, and returns its other end.
    pub(super) fn start(
        network: &Arc<Network>,
        server: &Server,
        member: Member,
        seen: Revision,
        from: Commands,
    ) -> CommandStream {
        let (to, received) = mpsc::channel(BUFFER);
        let (consumer, cut) = (Arc::<str>::from(member.name.as_str()), CancellationToken::new());
        let stream = Stream { consumer: Arc::clone(&consumer), cut: cut.clone(), deaf_until: Instant::now() };
        let number = network.begin(stream);
        network.history.note(What::Attached { stream: number, member, seen });
        let (network, down) = (Arc::clone(network), server.down.clone());
        tokio::spawn(Self { network, number, consumer, from, to, down, cut }.run());
        Box::pin(ReceiverStream::new(received))
    }

    async fn run(mut self) {
        loop {
            let item = tokio::select! {
                biased;
                // A dead instance or a cut line: the consumer sees a broken connection.
                () = self.down.cancelled() => Some(Err(broken())),
                () = self.cut.cancelled() => Some(Err(broken())),
                // The consumer has let go.
                () = self.to.closed() => None,
                // What the instance says.
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
    async fn pass_on(&self, item: Item) -> bool {
        if let Ok(command) = &item {
            let command = Box::new(command.clone());
            self.network.history.note(What::Told { stream: self.number, command });
            sleep(self.network.throw(&self.consumer).there).await;
            self.listen().await;
        }
        self.to.send(item).await.is_ok()
    }

    /// Waits until somebody reads, or nobody ever will.
    async fn listen(&self) {
        while let Some(until) = self.network.deaf_until(self.number) {
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
    fn begin(&self, stream: Stream) -> u64 {
        let mut state = self.state();
        state.next_stream += 1;
        let number = state.next_stream;
        state.streams.insert(number, stream);
        number
    }

    fn end(&self, stream: u64) {
        self.state().streams.remove(&stream);
        self.history.note(What::Detached { stream });
    }

    fn deaf_until(&self, stream: u64) -> Option<Instant> {
        let state = self.state();
        state.streams.get(&stream).map(|stream| stream.deaf_until).filter(|until| *until > Instant::now())
    }
}
