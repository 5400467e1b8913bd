//! Bearer tokens, by which instances with an access file know who calls.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tonic::service::Interceptor;
use tonic::{Request, Status};

/// The origin of a token.
#[derive(Clone, PartialEq, Eq)]
pub enum TokenOrigin {
    /// The token itself.
    Given(String),
    /// A file with the token and nothing else. It is read at each call, so that a token that is replaced there counts at once.
    File(PathBuf),
}

impl fmt::Debug for TokenOrigin {
    /// Shows no token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => f.write_str("Given(hidden)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// Adds the token to each call. By default there is none.
#[derive(Debug, Clone, Default)]
pub struct BearerToken(Option<Arc<TokenOrigin>>);

impl BearerToken {
    /// The token of `origin`.
    #[must_use]
    pub fn from_origin(origin: TokenOrigin) -> Self {
        Self(Some(Arc::new(origin)))
    }
}

impl TokenOrigin {
    fn token(&self) -> Result<String, Status> {
        match self {
            Self::Given(token) => Ok(token.clone()),
            Self::File(path) => {
                std::fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|error| {
                    Status::unauthenticated(format!(
                        "the token file {} can't be read: {error}",
                        path.display()
                    ))
                })
            }
        }
    }
}

impl Interceptor for BearerToken {
    /// Refuses a call without asking anybody where the token can't be read, or could not be sent.
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let Some(origin) = &self.0 else { return Ok(request) };
        let header = format!("Bearer {}", origin.token()?).parse();
        let mut header: tonic::metadata::AsciiMetadataValue = header.map_err(|_| {
            Status::unauthenticated("the token is refused: it has to be printable ASCII in one line")
        })?;
        header.set_sensitive(true);
        request.metadata_mut().insert("authorization", header);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(origin: TokenOrigin) -> Result<String, Status> {
        let request = BearerToken::from_origin(origin).call(Request::new(()))?;
        Ok(request.metadata().get("authorization").unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn a_token_goes_with_each_call_and_is_read_anew_where_it_is_in_a_file() {
        assert_eq!(sent(TokenOrigin::Given("one".to_owned())).unwrap(), "Bearer one");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for token in ["first", "second"] {
            std::fs::write(&path, format!("{token}\n")).unwrap();
            assert_eq!(sent(TokenOrigin::File(path.clone())).unwrap(), format!("Bearer {token}"));
        }
        let plain = BearerToken::default().call(Request::new(())).unwrap();
        assert!(plain.metadata().get("authorization").is_none());
    }

    #[test]
    fn what_can_not_be_sent_is_said_and_never_shown() {
        let missing = sent(TokenOrigin::File("/none/token".into())).unwrap_err();
        assert!(missing.message().contains("/none/token"), "{missing}");
        let broken = sent(TokenOrigin::Given("se\ncret".to_owned())).unwrap_err();
        assert!(!format!("{broken:?}").contains("cret\""), "{broken:?}");
        assert!(!format!("{:?}", TokenOrigin::Given("secret".to_owned())).contains("secret"));
    }
}
