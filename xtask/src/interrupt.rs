//! Ctrl-C and its like, noticed between steps, so that whatever was started is stopped on the way out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// The longest time until a signal, or the end of what is waited for, is noticed.
const POLL: Duration = Duration::from_millis(20);

/// The exit code of a second, impatient signal: 128 + SIGINT, as shells count.
const IMPATIENT: i32 = 130;

/// True once the user has asked us to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over SIGINT, SIGTERM and SIGHUP; a second one ends this process on the spot.
    pub(crate) fn install() -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            register(signal, &asked).context("failed to take over signals")?;
        }
        Ok(Self(asked))
    }

    /// Polls until `poll` gives a value, `bound` has passed or the user asks us to stop.
    pub(crate) fn wait<T>(
        &self,
        what: &str,
        bound: Duration,
        mut poll: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let deadline = Instant::now() + bound;
        loop {
            if let Some(value) = poll()? {
                return Ok(value);
            }
            self.check()?;
            if Instant::now() >= deadline {
                bail!("{what} took longer than {} s and was stopped", bound.as_secs());
            }
            thread::sleep(POLL);
        }
    }

    /// Fails once the user has asked us to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            bail!("interrupted; everything that was started is stopped");
        }
        Ok(())
    }
}

/// The shutdown goes first: it must see the flag as the signal before left it.
fn register(signal: i32, asked: &Arc<AtomicBool>) -> io::Result<()> {
    flag::register_conditional_shutdown(signal, IMPATIENT, Arc::clone(asked))?;
    flag::register(signal, Arc::clone(asked))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> Interrupt {
        Interrupt(Arc::new(AtomicBool::new(false)))
    }

    #[test]
    fn a_wait_ends_with_its_value() {
        let mut left = 3;
        let value = never().wait("counting", Duration::from_secs(10), || {
            left -= 1;
            Ok((left == 0).then_some("done"))
        });
        assert_eq!(value.unwrap(), "done");
    }

    #[test]
    fn a_wait_ends_at_its_bound() {
        let error = never().wait::<()>("nothing", Duration::ZERO, || Ok(None)).unwrap_err();
        assert!(error.to_string().starts_with("nothing took longer than 0 s"), "{error}");
    }

    #[test]
    fn a_wait_ends_when_interrupted() {
        let interrupt = never();
        interrupt.0.store(true, Ordering::Relaxed);
        let error = interrupt.wait::<()>("nothing", Duration::from_secs(60), || Ok(None)).unwrap_err();
        assert!(error.to_string().starts_with("interrupted"), "{error}");
    }
}
