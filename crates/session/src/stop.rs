//! Stopping on a signal.

use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first SIGTERM (where there is such a thing) or Ctrl-C. The second one ends the process at
/// once, with the exit code of a process that the signal has killed, 143 or 130: whoever sends it does not want to wait.
///
/// # Errors
///
/// The signal handlers can't be installed.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn on_signal() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let mut signals = Signals::listen()?;
    let stop = token.clone();
    tokio::spawn(async move {
        signals.next().await;
        stop.cancel();
        let code = signals.next().await;
        tracing::warn!(code, "told to stop a second time; ending at once");
        end(code);
    });
    Ok(token)
}

#[expect(clippy::exit, reason = "a second signal would end a process that listens to none")]
fn end(code: i32) -> ! {
    std::process::exit(code)
}

/// The exit code of a process that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// The signals that ask a process to stop.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The exit code of a process that the next signal would have ended.
    async fn next(&mut self) -> i32 {
        const TERMINATED: i32 = 143;
        tokio::select! {
            biased;
            // The orderly request comes first.
            _ = self.terminate.recv() => TERMINATED,
            // A person at the terminal.
            _ = self.interrupt.recv() => INTERRUPTED,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    const fn listen() -> std::io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) -> i32 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => INTERRUPTED,
            // No such signal can come.
            Err(_) => std::future::pending().await,
        }
    }
}
