//! A conversation with one broker.

mod link;
mod login;
mod stream;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::address::BrokerAddress;
use crate::error::Error;
use crate::messages::{ApiVersionsRequest, ApiVersionsResponse, MetadataRequest};
use crate::options::{Login, Options};
use crate::tls::{TlsFileError, TlsSource};
use crate::wire::{ApiRequest, VersionRange, read_answer, request_frame};
pub use link::BrokerLink;
use stream::BrokerStream;

/// The error of a broker that does not know the version of a request.
const UNSUPPORTED_VERSION: i16 = 35;

/// Makes connections to the brokers of a cluster.
#[derive(Debug, Clone)]
pub struct Connector {
    tls: Option<Arc<TlsSource>>,
    login: Option<Login>,
    client_id: String,
    patience: Duration,
}

impl Connector {
    /// Reads the files that `options` name. Blocks for some milliseconds.
    ///
    /// # Errors
    /// [`TlsFileError`] where a file can't be used.
    pub fn new(options: &Options) -> Result<Self, TlsFileError> {
        let tls = options.tls.clone().map(TlsSource::new).transpose()?.map(Arc::new);
        let (login, client_id, patience) =
            (options.login.clone(), options.client_id.clone(), options.patience);
        Ok(Self { tls, login, client_id, patience })
    }

    /// The time that a broker has for a connection, and for each answer.
    #[must_use]
    pub const fn patience(&self) -> Duration {
        self.patience
    }

    /// Connects to `broker`, agrees on versions and logs in, all within the patience. Cancel safe: a connection that
    /// is not finished is closed.
    ///
    /// # Errors
    /// [`Error`], by variant.
    pub async fn open(&self, broker: &BrokerAddress) -> Result<BrokerConnection, Error> {
        let deadline = Instant::now() + self.patience;
        let stream = BrokerStream::open(broker, self.tls.as_ref(), deadline, self.patience).await?;
        let client_id = self.client_id.clone();
        let mut connection =
            BrokerConnection { stream, client_id, versions: BTreeMap::new(), next: 0, session_until: None };
        connection.agree(deadline).await?;
        if let Some(login) = &self.login {
            connection.log_in(login, deadline).await?;
        }
        Ok(connection)
    }
}

/// A connection to a broker that is logged in. It carries one request at a time.
#[derive(Debug)]
pub struct BrokerConnection {
    stream: BrokerStream,
    client_id: String,
    /// The versions that the broker knows, by API.
    versions: BTreeMap<i16, VersionRange>,
    /// The number of the next request.
    next: i32,
    /// The broker wants another login then.
    session_until: Option<Instant>,
}

impl BrokerConnection {
    /// The broker.
    #[must_use]
    pub const fn broker(&self) -> &BrokerAddress {
        self.stream.broker()
    }

    /// True where the broker still accepts requests without another login.
    #[must_use]
    pub fn is_logged_in(&self) -> bool {
        self.session_until.is_none_or(|until| Instant::now() < until)
    }

    /// Sends `request` in the newest version that both sides know, and waits for its answer, which begins within the
    /// patience. Not cancel safe: a connection of which a call was dropped, or failed, must be dropped too.
    ///
    /// # Errors
    /// [`Error`], by variant. The version is returned beside the answer.
    pub async fn call<R: ApiRequest>(&mut self, request: &R) -> Result<(R::Answer, i16), Error> {
        let version = self.version::<R>()?;
        let deadline = Instant::now() + self.stream.patience();
        Ok((self.ask(request, version, deadline).await?, version))
    }

    /// The same connection for several requests at once. Must be called within a tokio runtime, on which it then has
    /// two tasks.
    #[must_use]
    pub fn into_link(self) -> BrokerLink {
        BrokerLink::of(self)
    }

    fn version<R: ApiRequest>(&self) -> Result<i16, Error> {
        newest_version::<R>(&self.versions, self.broker())
    }

    async fn ask<R: ApiRequest>(
        &mut self,
        request: &R,
        version: i16,
        deadline: Instant,
    ) -> Result<R::Answer, Error> {
        let correlation = self.send(request, version, deadline).await?;
        let frame = self.stream.frame(R::NAME, R::MOST_BYTES, deadline).await?;
        read_answer::<R>(&frame, version, correlation).map_err(|source| self.malformed::<R>(source))
    }

    async fn send<R: ApiRequest>(
        &mut self,
        request: &R,
        version: i16,
        deadline: Instant,
    ) -> Result<i32, Error> {
        let correlation = self.next;
        self.next = self.next.wrapping_add(1);
        let bytes = request_frame(request, version, correlation, &self.client_id);
        let bytes = bytes.map_err(|source| self.malformed::<R>(source))?;
        self.stream.send(&bytes, R::NAME, deadline).await?;
        Ok(correlation)
    }

    fn malformed<R: ApiRequest>(&self, source: crate::wire::CodecError) -> Error {
        Error::Malformed { broker: self.broker().clone(), asked: R::NAME, source }
    }

    /// Asks for the versions that the broker knows. One that does not know this very request in the version that is
    /// tried answers in version 0 and with an error, and is asked again in that version.
    async fn agree(&mut self, deadline: Instant) -> Result<(), Error> {
        let first = ApiVersionsRequest::FIRST;
        let correlation = self.send(&ApiVersionsRequest::own(), first, deadline).await?;
        let frame =
            self.stream.frame(ApiVersionsRequest::NAME, ApiVersionsRequest::MOST_BYTES, deadline).await?;
        let is_refused = frame.get(4..6) == Some(&UNSUPPORTED_VERSION.to_be_bytes());
        let answer = if is_refused {
            self.ask(&ApiVersionsRequest::plain(), 0, deadline).await?
        } else {
            let answer = read_answer::<ApiVersionsRequest>(&frame, first, correlation);
            answer.map_err(|source| self.malformed::<ApiVersionsRequest>(source))?
        };
        self.learn(&answer)
    }

    fn learn(&mut self, answer: &ApiVersionsResponse) -> Result<(), Error> {
        if answer.error_code != 0 {
            let (broker, asked) = (self.broker().clone(), ApiVersionsRequest::NAME);
            return Err(Error::Refused { broker, asked, code: answer.error_code });
        }
        let ranges = answer.api_keys.iter();
        self.versions =
            ranges.map(|api| (api.api_key, VersionRange::new(api.min_version, api.max_version))).collect();
        // The API that tells the age of a broker best, whatever is asked of it later.
        self.version::<MetadataRequest>().map(drop)
    }
}

/// The newest version of a request that both sides know.
fn newest_version<R: ApiRequest>(
    theirs: &BTreeMap<i16, VersionRange>,
    broker: &BrokerAddress,
) -> Result<i16, Error> {
    let ours = VersionRange::new(R::OLDEST, R::VERSIONS.last);
    let (broker, asked) = (broker.clone(), R::NAME);
    match theirs.get(&R::KEY) {
        Some(theirs) if theirs.last < ours.first => Err(Error::TooOld { broker, asked, theirs: *theirs }),
        Some(theirs) => ours.newest_common(*theirs).ok_or(Error::NotOffered { broker, asked, ours }),
        None => Err(Error::NotOffered { broker, asked, ours }),
    }
}

#[cfg(test)]
#[path = "connection_test.rs"]
mod connection_test;
