//! A command against an instance, with the flags that all of them have.

use clap::Args;

use super::connected::Admin;
use super::connection::ConnectionFlags;
use super::typed_names::TypedNames;
use crate::command_error::CommandError;
use crate::output::{Output, Report};

/// A command against an instance: its arguments and what it does with them.
pub(crate) trait Operation: Args {
    /// The result.
    type Report: Report;

    /// The names that were typed, for errors.
    fn names(&self) -> TypedNames;

    /// Carries it out.
    ///
    /// # Errors
    /// [`CommandError`].
    async fn perform(self, admin: &Admin) -> Result<Self::Report, CommandError>;
}

/// An operation with the flags that all of them have.
#[derive(Debug, Args)]
pub(crate) struct InstanceCall<O: Operation> {
    #[command(flatten)]
    operation: O,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: ConnectionFlags,
}

impl<O: Operation> InstanceCall<O> {
    /// Connects, carries the operation out and writes what it found.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        let admin = self.connection.connect().await?;
        let names = self.operation.names();
        match self.operation.perform(&admin).await {
            Ok(report) => self.output.write(&report),
            Err(failure) => Err(names.complete(&admin, failure).await),
        }
    }
}
