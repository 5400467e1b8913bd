//! Endpoints of instances that can't be called.

use tonic::transport::Endpoint;

use crate::causes::with_causes;

/// An endpoint of the options that can't be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("endpoints = {endpoint:?} is refused: {reason}")]
pub struct InvalidEndpoint {
    /// The endpoint.
    pub endpoint: String,
    /// The rule that it breaks.
    pub reason: String,
}

impl InvalidEndpoint {
    pub(crate) fn new(endpoint: &str, reason: impl Into<String>) -> Self {
        Self { endpoint: endpoint.to_owned(), reason: reason.into() }
    }

    /// Checks that `endpoint` is an address as "http://host:port" or "https://host:port".
    ///
    /// # Errors
    ///
    /// It is not.
    pub fn check(endpoint: &str) -> Result<(), Self> {
        let parsed = Endpoint::from_shared(endpoint.to_owned());
        let parsed = parsed.map_err(|error| {
            Self::new(endpoint, format!("it must be an address: {}", with_causes(&error)))
        })?;
        let is_web = matches!(parsed.uri().scheme_str(), Some("http" | "https"));
        let has_host = parsed.uri().authority().is_some_and(|at| {
            // A port that is no number is none, and then there is more than the host.
            !at.host().is_empty() && (at.port_u16().is_some() || at.as_str() == at.host())
        });
        if is_web && has_host {
            return Ok(());
        }
        Err(Self::new(endpoint, "it must be as http://host:port or https://host:port"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_a_scheme_and_a_host() {
        for right in ["http://a:7420", "https://a.example", "http://[::1]:7420", "http://127.0.0.1:1"] {
            assert_eq!(InvalidEndpoint::check(right), Ok(()));
        }
        for wrong in
            ["", "a:7420", "localhost", "tcp://a:1", "http://", "http://a b:1", "http://a:port", "/a"]
        {
            let refused = InvalidEndpoint::check(wrong).expect_err(wrong).to_string();
            assert!(refused.contains(&format!("{wrong:?}")), "{refused}");
        }
    }
}
