//! The reasons why an instance is not served.

use std::io;
use std::net::SocketAddr;

use crate::access::AccessFileError;
use crate::supervision::TaskPanicked;

/// The reason why an instance is not served, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// gRPC would be open to other machines, in the clear.
    #[error(
        "refused to listen on {address} without TLS: give --tls-cert and --tls-key, or --insecure where the \
         network is trusted"
    )]
    InTheClear {
        /// The address on which it would listen.
        address: SocketAddr,
    },
    /// gRPC would be open to everybody on the network, who could do everything.
    #[error(
        "refused to listen on {address}, since everybody there could do everything: give --tls-client-ca or \
         --access-file, or --insecure where the network is trusted"
    )]
    OpenToAll {
        /// The address on which it would listen.
        address: SocketAddr,
    },
    /// The access file can't be used.
    #[error("the access file can't be used")]
    AccessFile(#[from] AccessFileError),
    /// HTTP would be open to other machines; it has no TLS.
    #[error(
        "refused to serve HTTP on {address}, since it has no TLS: choose a loopback address, or give --insecure \
         where the network is trusted"
    )]
    HttpInTheClear {
        /// The address on which it would listen.
        address: SocketAddr,
    },
    /// A listener can't be used.
    #[error("the listener can't be used")]
    Listener(#[source] io::Error),
    /// The certificates can't be used.
    #[error("the certificates for TLS can't be used")]
    Tls(#[source] tonic::transport::Error),
    /// gRPC broke down.
    #[error("gRPC can't be served")]
    Grpc(#[source] tonic::transport::Error),
    /// HTTP broke down.
    #[error("HTTP can't be served")]
    Http(#[source] io::Error),
    /// A task that serves all groups panicked.
    #[error(transparent)]
    TaskPanicked(#[from] TaskPanicked),
}
