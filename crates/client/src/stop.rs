//! Stopping on a signal.

use tokio_util::sync::CancellationToken;

/// A token that is cancelled by SIGTERM (where there is such a thing) or Ctrl-C.
///
/// # Errors
///
/// The signal handler can't be installed.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn on_signal() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let terminated = terminated()?;
    let stop = token.clone();
    tokio::spawn(async move {
        tokio::select! {
            biased;
            // The orderly request comes first.
            () = terminated => {}
            // A person at the terminal. An error means that no such signal can come.
            Ok(()) = tokio::signal::ctrl_c() => {}
        }
        stop.cancel();
    });
    Ok(token)
}

#[cfg(unix)]
fn terminated() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut sigterm = signal(SignalKind::terminate())?;
    Ok(async move {
        sigterm.recv().await;
    })
}

#[cfg(not(unix))]
fn terminated() -> std::io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}
