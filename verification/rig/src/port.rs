//! Ports that nobody listens on.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A loopback port that was free a moment ago.
///
/// Somebody else may take it before its user does; who starts a server on it tries again with another.
///
/// # Errors
/// When the system has no port left.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
