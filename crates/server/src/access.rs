//! The callers of calls, and their rights here: certificates and tokens of calls, judged by the access file.
//!
//! Without an access file everybody who can connect may do everything; a caller that shows a certificate has a name all the
//! same, and nobody else acts in its sessions.

mod allowed_stream;
mod denials;
mod file;
mod known_caller;
mod usage;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use kafka_assigner_access::{Identity, Policy, UnnamedCertificate, caller_of_certificate};
use kafka_assigner_proto::Reason;
use tokio::sync::watch;
use tonic::metadata::MetadataMap;
use tonic::transport::server::TlsConnectInfo;
use tonic::{Request, Status};

pub use allowed_stream::Allowed;
use denials::Denials;
pub use file::AccessFileError;
pub(crate) use known_caller::KnownCaller;
pub use known_caller::{CallPermit, StreamPermit};
pub(crate) use usage::StreamKind;
use usage::Usage;

use crate::connection_end::ConnectionEnd;
use crate::instance::Instance;

/// The access of callers to one instance. Clones share the file.
#[derive(Debug, Clone)]
pub struct Access {
    /// The policy as it was read last; `None`: everybody may do everything.
    policy: Option<watch::Receiver<Arc<Policy>>>,
    usage: Usage,
    denials: Denials,
    instance: Instance,
}

impl Access {
    /// Everybody who can connect to `instance` may do everything.
    #[must_use]
    pub fn open(instance: &Instance) -> Self {
        Self {
            policy: None,
            usage: Usage::default(),
            denials: Denials::default(),
            instance: instance.clone(),
        }
    }

    /// The access that the file at `path` allows, with the future that reads it again whenever it changes, for ever.
    ///
    /// # Errors
    /// [`AccessFileError`] where it can't be read, or is no policy.
    pub(crate) async fn by_file(
        path: PathBuf,
        instance: &Instance,
    ) -> Result<(Self, impl Future<Output = Infallible> + use<>), AccessFileError> {
        let (policy, watching) = file::open(path, instance.metrics().clone()).await?;
        Ok((Self { policy: Some(policy), ..Self::open(instance) }, watching))
    }

    /// True if callers may show a token in the place of a certificate.
    pub(crate) fn takes_tokens(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.borrow().has_tokens())
    }

    /// The caller of `request`, whose call counts against its limits.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` where it calls too often. `UNAUTHENTICATED` where there is an access file, and neither a token nor
    /// a certificate tells who calls, or the token is unknown.
    pub(crate) fn admit<T>(&self, request: &Request<T>) -> Result<KnownCaller, Status> {
        let identity = self.identify(request).map_err(|why| self.unknown(&why))?;
        let caller = KnownCaller { identity, access: self.clone() };
        caller.count_call()?;
        Ok(caller)
    }

    /// The caller; `Err` says why nobody knows.
    fn identify<T>(&self, request: &Request<T>) -> Result<Option<Identity>, String> {
        let Some(policy) = &self.policy else { return Ok(of_certificate(request).and_then(Result::ok)) };
        if let Some(token) = bearer_token(request.metadata()) {
            let holder = policy.borrow().holder_of(token?);
            return holder.map(Some).ok_or_else(|| "the bearer token is none of the access file".to_owned());
        }
        match of_certificate(request) {
            Some(named) => named.map(Some).map_err(|unnamed| unnamed.to_string()),
            None => Err("the call has neither a client certificate nor a bearer token".to_owned()),
        }
    }

    fn unknown(&self, why: &str) -> Status {
        self.deny(Reason::CallerUnknown, format!("nobody knows who calls: {why}"))
    }

    fn deny(&self, reason: Reason, message: String) -> Status {
        self.denials.deny(&self.instance, reason, message)
    }
}

/// The token of "authorization: Bearer TOKEN"; `None` without that header.
fn bearer_token(metadata: &MetadataMap) -> Option<Result<&str, String>> {
    let value = metadata.get("authorization")?.to_str().unwrap_or_default();
    let parts = value.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    let token = parts.map(|(_, token)| token.trim());
    Some(token.ok_or_else(|| "the header authorization is no \"Bearer TOKEN\"".to_owned()))
}

/// The caller that the client certificate of the connection names; `None` without one. TLS has verified it.
fn of_certificate<T>(request: &Request<T>) -> Option<Result<Identity, UnnamedCertificate>> {
    let chain = request.extensions().get::<TlsConnectInfo<ConnectionEnd>>()?.peer_certs()?;
    chain.first().map(|leaf| caller_of_certificate(leaf).map(Identity::by_certificate))
}
