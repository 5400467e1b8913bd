//! The right to act, as a handler of records is given it.

use std::pin::Pin;
use std::sync::Arc;

use kafka_assigner_handler::{Ownership, PartitionContext};
use kafka_assigner_types::id::Epoch;
use rdkafka::producer::FutureRecord;

use super::producers::{FencedProducers, WriteError};
use crate::claim::Claim;
use crate::context::{OwnedContext, ReservedContext};

impl Ownership for OwnedContext {
    fn epoch(&self) -> Epoch {
        OwnedContext::epoch(self)
    }

    fn may_act(&self) -> bool {
        self.claim().is_valid()
    }

    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.claim().ended())
    }
}

/// That of a partition that is only reserved: the session's right.
impl Ownership for Claim {
    fn epoch(&self) -> Epoch {
        Claim::epoch(self)
    }

    fn may_act(&self) -> bool {
        self.is_valid()
    }

    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Claim::ended(self))
    }
}

/// The context that a handler of records is given in place of `owned`.
pub(super) fn context_of(owned: &OwnedContext) -> PartitionContext {
    PartitionContext::new(owned.partition().clone(), owned.topic_id(), Arc::new(owned.clone()))
}

/// The same for a partition that is reserved.
pub(super) fn context_of_reserved(reserved: &ReservedContext) -> PartitionContext {
    PartitionContext::new(
        reserved.partition().clone(),
        reserved.topic_id(),
        Arc::new(reserved.claim().clone()),
    )
}

impl FencedProducers {
    /// As [`write`](Self::write), for a [`RecordHandler`](crate::kafka::RecordHandler) that the runner of this crate calls.
    ///
    /// Not cancel safe, as that.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; [`WriteError::NoClaim`] also where the context is that of another source, or only reserved.
    pub async fn write_for(
        &self,
        context: &PartitionContext,
        records: Vec<FutureRecord<'_, [u8], [u8]>>,
    ) -> Result<(), WriteError> {
        match context.ownership::<OwnedContext>() {
            Some(owned) => self.write(owned, records).await,
            None => Err(WriteError::NoClaim(context.partition().clone())),
        }
    }
}
