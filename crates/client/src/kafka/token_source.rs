//! Tokens for SASL OAUTHBEARER.

use std::fmt;
use std::sync::Arc;

use rdkafka::client::OAuthToken;

use crate::handler::HandlerError;

type Fetch = dyn Fn(Option<&str>) -> Result<OAuthToken, HandlerError> + Send + Sync;

/// Fetches tokens for the mechanism `OAUTHBEARER` of SASL, as managed clouds ask for. Cheap to clone.
///
/// librdkafka asks when four fifths of a token's life are over. It needs `security.protocol`, `sasl.mechanism=OAUTHBEARER`
/// and the feature `sasl` of this crate. Where librdkafka fetches them itself (`sasl.oauthbearer.method=oidc`), none is needed.
///
/// Two are equal if they are clones of each other.
#[derive(Clone)]
pub struct TokenSource(Arc<Fetch>);

impl TokenSource {
    /// Calls `fetch` for each token, with the setting `sasl.oauthbearer.config`, on threads where it may block for as long as
    /// a request takes. An error is tried again after ten seconds.
    pub fn new(
        fetch: impl Fn(Option<&str>) -> Result<OAuthToken, HandlerError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(fetch))
    }

    pub(super) fn token(&self, config: Option<&str>) -> Result<OAuthToken, HandlerError> {
        (self.0)(config)
    }
}

impl PartialEq for TokenSource {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TokenSource {}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource").finish_non_exhaustive()
    }
}
