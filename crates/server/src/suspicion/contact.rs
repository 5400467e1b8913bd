//! The time for which an instance has reached its store without a break.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

/// The store is asked once a second. No answer for longer is a break, whether the store, the network or this process stood
/// still.
const BREAK: Duration = Duration::from_secs(3);

/// The answers of the store to one question that is asked all the time.
#[derive(Debug)]
pub(crate) struct StoreContact(Mutex<Unbroken>);

#[derive(Debug, Clone, Copy)]
struct Unbroken {
    since: Instant,
    last: Instant,
}

impl Default for StoreContact {
    fn default() -> Self {
        let now = Instant::now();
        Self(Mutex::new(Unbroken { since: now, last: now }))
    }
}

impl StoreContact {
    /// The store has answered now.
    pub(crate) fn note(&self) {
        let (mut unbroken, now) = (self.unbroken(), Instant::now());
        if now - unbroken.last > BREAK {
            unbroken.since = now;
        }
        unbroken.last = now;
    }

    /// The time since which it has always answered; `None` where it does not now.
    pub(crate) fn since(&self) -> Option<Instant> {
        let unbroken = *self.unbroken();
        (unbroken.last.elapsed() <= BREAK).then_some(unbroken.since)
    }

    fn unbroken(&self) -> MutexGuard<'_, Unbroken> {
        self.0.lock().expect("nothing panics while it holds it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_break_is_over_with_the_next_answer_and_counts_from_there() {
        let (contact, begin) = (StoreContact::default(), Instant::now());
        for _ in 0..5 {
            tokio::time::advance(Duration::from_secs(1)).await;
            contact.note();
        }
        assert_eq!(contact.since(), Some(begin));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(contact.since(), None);
        contact.note();
        assert_eq!(contact.since(), Some(Instant::now()));
    }
}
