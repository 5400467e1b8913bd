//! `watch`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::arguments::GroupArgument;
use crate::admin::ConnectionFlags;
use crate::command_error::CommandError;
use crate::output::Output;
use crate::reports::EventReport;

/// Shows the changes of a group.
#[derive(Debug, Args)]
pub(crate) struct WatchGroup {
    #[command(flatten)]
    of: GroupArgument,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: ConnectionFlags,
}

impl WatchGroup {
    /// Writes each event as it comes.
    ///
    /// # Errors
    /// [`CommandError`], also where the instance ends the stream: only the operator ends it in good order.
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        let admin = self.connection.connect().await?;
        let request = v1::WatchRequest { group: self.of.group.clone() };
        let mut events = match admin.ask(admin.client().watch(request)).await {
            Ok(events) => events,
            Err(failure) => return Err(self.of.names().complete(&admin, failure).await),
        };
        while let Some(event) = events.message().await.map_err(|status| admin.stream_failed(status))? {
            if let Some(event) = EventReport::new(event) {
                self.output.write_line(&event)?;
            }
        }
        Err(admin.ended())
    }
}
