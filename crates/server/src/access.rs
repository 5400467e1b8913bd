//! Who calls, and what that caller may do here: certificates and tokens of calls, judged by the access file.
//!
//! Without an access file everybody who can connect may do everything; a caller that shows a certificate has a name all the
//! same, and nobody else acts in its sessions.

mod allowed_stream;
mod file;
mod visitor;

use std::path::PathBuf;
use std::sync::Arc;

use kafka_assigner_access::{CallerName, Policy, caller_of_certificate};
use kafka_assigner_proto::{Reason, status};
use tokio::sync::watch;
use tonic::metadata::MetadataMap;
use tonic::transport::server::TlsConnectInfo;
use tonic::{Request, Status};

pub use allowed_stream::Allowed;
pub use file::AccessFileError;
pub use visitor::CallPermit;
pub(crate) use visitor::Visitor;

use crate::connection_end::ConnectionEnd;
use crate::instance::Instance;
use crate::metrics::Metrics;

/// The access of callers to one instance. Clones share the file.
#[derive(Debug, Clone)]
pub struct Access {
    /// The policy as it was read last; `None`: everybody may do everything.
    policy: Option<watch::Receiver<Arc<Policy>>>,
    metrics: Metrics,
}

impl Access {
    /// Everybody who can connect to `instance` may do everything.
    #[must_use]
    pub fn open(instance: &Instance) -> Self {
        Self { policy: None, metrics: instance.metrics().clone() }
    }

    /// The access that the file at `path` allows, with the future that reads it again whenever it changes, for ever.
    ///
    /// # Errors
    /// [`AccessFileError`] where it can't be read, or is no policy.
    pub(crate) async fn by_file(
        path: PathBuf,
        metrics: Metrics,
    ) -> Result<(Self, impl Future<Output = std::convert::Infallible>), AccessFileError> {
        let (policy, watching) = file::open(path, metrics.clone()).await?;
        Ok((Self { policy: Some(policy), metrics }, watching))
    }

    /// True if an access file says who may do what.
    pub(crate) const fn has_rules(&self) -> bool {
        self.policy.is_some()
    }

    /// The caller of `request`.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` where there is an access file, and neither a token nor a certificate tells who calls; always
    /// where the token is unknown.
    pub(crate) fn admit<T>(&self, request: &Request<T>) -> Result<Visitor, Status> {
        self.identify(request)
            .map(|name| Visitor { policy: self.policy.clone(), name, metrics: self.metrics.clone() })
            .inspect_err(|_| self.metrics.call_denied(Reason::CallerUnknown))
    }

    fn identify<T>(&self, request: &Request<T>) -> Result<Option<CallerName>, Status> {
        let Some(policy) = &self.policy else { return Ok(of_certificate(request).and_then(Result::ok)) };
        if let Some(token) = bearer_token(request.metadata()) {
            let holder = policy.borrow().caller_of_token(token?).cloned();
            return holder.map(Some).ok_or_else(|| unknown("the bearer token is none of the access file"));
        }
        match of_certificate(request) {
            Some(named) => named.map(Some).map_err(|unnamed| unknown(&unnamed.to_string())),
            None => Err(unknown("the call has neither a client certificate nor a bearer token")),
        }
    }
}

fn unknown(why: &str) -> Status {
    status(Reason::CallerUnknown, format!("nobody knows who calls: {why}"))
}

/// The token of "authorization: Bearer TOKEN"; `None` without that header.
fn bearer_token(metadata: &MetadataMap) -> Option<Result<&str, Status>> {
    let value = metadata.get("authorization")?.to_str().ok();
    let token =
        value.and_then(|text| text.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    Some(
        token
            .map(|(_, token)| token.trim())
            .ok_or_else(|| unknown("the header authorization is no \"Bearer TOKEN\"")),
    )
}

/// The caller that the client certificate of the connection names; `None` without one. TLS has verified it.
fn of_certificate<T>(
    request: &Request<T>,
) -> Option<Result<CallerName, kafka_assigner_access::UnnamedCertificate>> {
    let chain = request.extensions().get::<TlsConnectInfo<ConnectionEnd>>()?.peer_certs()?;
    chain.first().map(|leaf| caller_of_certificate(leaf))
}
