//! The lives of consumers whose sessions the instances renew.

use std::sync::Arc;
use std::time::Duration;

use super::restore::Restore;
use super::{Act, Driver};
use crate::fault::Fault;

/// The time at which the first ones come: the others have brought the group up by then.
const FIRST: Duration = Duration::from_secs(2);

impl Driver {
    /// Plans when they come, and when some die.
    pub(super) fn plan_minimal(&mut self) {
        let situations = self.world.shape.situations.clone();
        for number in 0..situations.minimal {
            self.later(FIRST, Restore::SpawnMinimal(format!("m{number}").into()));
        }
        for at in situations.minimal_deaths {
            self.schedule(at, Act::Restore(Restore::KillMinimal));
        }
    }

    /// Nobody marks it as dead: it has not promised to be heard at once. Its name comes back before its session is over, or
    /// later.
    pub(super) fn kill_minimal(&mut self) {
        let Some(consumer) = self.world.kill_minimal() else { return };
        self.world.history.excuse(&consumer, Duration::ZERO);
        self.world.history.happened(Fault::MinimalKilled, consumer.to_string());
        let after = self.world.shape.ttl().mul_f64(self.share_of_a_session());
        self.later(after, Restore::SpawnMinimal(Arc::clone(&consumer)));
    }
}
