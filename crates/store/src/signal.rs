//! A value that tasks wait on.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

/// A value whose changes wake those who wait, in the order in which they began to.
///
/// tokio's own watch channel wakes its receivers in an order drawn anew in each run; a simulation that
/// has to replay from a seed can't be built on that.
#[derive(Debug, Default)]
pub(crate) struct Signal<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T> Signal<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Notify::new() }
    }

    /// Looks at the value, for a moment.
    pub(crate) fn read<R>(&self, reader: impl FnOnce(&T) -> R) -> R {
        reader(&self.lock())
    }

    /// Changes the value, and wakes everybody.
    pub(crate) fn update(&self, change: impl FnOnce(&mut T)) {
        self.update_if(|value| {
            change(value);
            true
        });
    }

    /// Changes the value, and wakes everybody when `change` says that it concerns them.
    pub(crate) fn update_if(&self, change: impl FnOnce(&mut T) -> bool) {
        let concerns = change(&mut self.lock());
        if concerns {
            self.changed.notify_waiters();
        }
    }

    /// Waits until `found` finds what it looks for. Cancel safe.
    pub(crate) async fn wait_for<R>(&self, mut found: impl FnMut(&T) -> Option<R>) -> R {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // From here on no change is missed, so the value can be looked at.
            changed.as_mut().enable();
            if let Some(result) = self.read(&mut found) {
                return result;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().expect("no code under this lock panics")
    }
}
