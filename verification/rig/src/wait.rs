//! Waiting for something that can be observed.

use std::thread;
use std::time::{Duration, Instant};

/// Short enough to go unnoticed in a test's time, long enough to leave the server its processor.
const POLL: Duration = Duration::from_millis(10);

/// True if `condition` came to hold within `bound`; it is looked at least once.
pub fn holds_within(bound: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + bound;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(POLL);
    }
}
