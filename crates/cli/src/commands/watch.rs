//! `watch`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::Group;
use crate::admin::Connection;
use crate::failure::Failure;
use crate::output::Output;
use crate::reports::Event;

/// Shows the changes of a group.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    of: Group,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: Connection,
}

impl Watch {
    /// Writes each event as it comes.
    ///
    /// # Errors
    /// [`Failure`], also where the instance ends the stream: only the operator ends it in good order.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let admin = self.connection.connect().await?;
        let request = v1::WatchRequest { group: self.of.group };
        let mut events = admin.ask(admin.client().watch(request)).await?;
        while let Some(event) = events.message().await.map_err(|status| admin.failed(status))? {
            if let Some(event) = Event::new(event) {
                self.output.write_line(&event)?;
            }
        }
        Err(admin.ended())
    }
}
