//! The name of a caller, and the one in a client certificate.

use std::fmt;
use std::sync::Arc;

use rustls_pki_types::CertificateDer;
use serde::{Deserialize, Serialize};
use webpki::EndEntityCert;

/// The longest name of a caller, in bytes. A SPIFFE id may be longer; such callers get another name in their certificates.
const LONGEST: usize = 249;

/// A caller by name: a DNS name or URI of its certificate, or what the policy calls the holder of a token.
///
/// 1 to 249 printable ASCII characters without spaces, quotes and `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CallerName(Arc<str>);

/// A text that is no name of a caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "caller {shown:?} is refused: a name has 1 to 249 printable characters, no space, quote or \"*\" among them"
)]
pub struct InvalidCaller {
    /// The text, cut after 80 characters.
    pub shown: String,
}

/// A client certificate without a name that could be a caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client certificate names no caller: it needs a DNS name or a URI as subject alternative name")]
pub struct UnnamedCertificate;

impl CallerName {
    /// Checks a name against the rule.
    ///
    /// # Errors
    /// [`InvalidCaller`] where `name` breaks it.
    pub fn new(name: &str) -> Result<Self, InvalidCaller> {
        let is_right = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'*' | b'"' | b'\'');
        if (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_right) {
            return Ok(Self(name.into()));
        }
        Err(InvalidCaller { shown: name.chars().take(80).collect() })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for CallerName {
    type Error = InvalidCaller;

    fn try_from(name: String) -> Result<Self, InvalidCaller> {
        Self::new(&name)
    }
}

impl From<CallerName> for String {
    fn from(name: CallerName) -> Self {
        name.as_str().to_owned()
    }
}

/// The caller that a client certificate (DER) names: the first URI among its subject alternative names, else the first DNS
/// name. A URI goes first, since service meshes keep the identity there (SPIFFE). The certificate is not verified: that is
/// up to TLS.
///
/// # Errors
/// [`UnnamedCertificate`] where it has neither, or can't be read.
pub fn caller_of_certificate(certificate: &[u8]) -> Result<CallerName, UnnamedCertificate> {
    let der = CertificateDer::from(certificate);
    let parsed = EndEntityCert::try_from(&der).map_err(|_unreadable| UnnamedCertificate)?;
    let names = parsed.valid_uri_names().chain(parsed.valid_dns_names());
    names.filter_map(|name| CallerName::new(name).ok()).next().ok_or(UnnamedCertificate)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SanType};

    use super::*;

    fn certificate(names: Vec<SanType>) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.subject_alt_names = names;
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    fn dns(name: &str) -> SanType {
        SanType::DnsName(name.try_into().unwrap())
    }

    fn uri(name: &str) -> SanType {
        SanType::URI(name.try_into().unwrap())
    }

    fn named(names: Vec<SanType>) -> Result<String, UnnamedCertificate> {
        caller_of_certificate(&certificate(names)).map(String::from)
    }

    #[test]
    fn a_certificate_names_its_caller_by_uri_and_else_by_dns_name() {
        let spiffe = "spiffe://prod/payments";
        assert_eq!(named(vec![dns("payments.prod"), uri(spiffe)]), Ok(spiffe.to_owned()));
        assert_eq!(named(vec![dns("payments.prod"), dns("other")]), Ok("payments.prod".to_owned()));
    }

    #[test]
    fn a_certificate_without_a_name_or_with_a_wildcard_alone_names_nobody() {
        assert_eq!(named(vec![]), Err(UnnamedCertificate));
        assert_eq!(named(vec![dns("*.prod")]), Err(UnnamedCertificate), "a pattern is nobody's name");
        assert_eq!(caller_of_certificate(b"no certificate"), Err(UnnamedCertificate));
    }

    #[test]
    fn a_name_that_could_be_taken_for_a_pattern_or_break_a_log_line_is_refused() {
        for name in ["", "a b", "a*", "a\n", "a\"b", "ä", &"x".repeat(250)] {
            assert!(CallerName::new(name).is_err(), "{name:?}");
        }
        assert!(CallerName::new(&"x".repeat(249)).is_ok());
    }
}
