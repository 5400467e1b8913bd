//! Calls to whichever member answers, within a bound, repeated where that is safe.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::Request;
use tonic::metadata::MetadataValue;

use super::advice::Advice;
use super::credentials::{Credentials, Token};
use super::endpoints::{EtcdEndpoints, Pinned};
use super::fault::AttemptError;
use super::options::EtcdOptions;
use super::password_source::PasswordSource;
use super::wire::kv_client::KvClient;
use super::wire::lease_client::LeaseClient;
use super::wire::maintenance_client::MaintenanceClient;
use super::wire::watch_client::WatchClient;
use crate::error::Error;

/// The largest answer that we take. One of a watch that catches up holds up to 1 000 revisions, each of
/// 128 writes; with records of a few kilobytes that is this much.
const LARGEST_ANSWER: usize = 512 << 20;

/// The pause after every endpoint has failed once more.
const PAUSE: Duration = Duration::from_millis(100);

/// The cluster, as one partner for calls.
#[derive(Debug)]
pub(super) struct EtcdConnection {
    endpoints: EtcdEndpoints,
    credentials: Option<Credentials>,
    pub(super) advice: Advice,
    pub(super) attempt_timeout: Duration,
    pub(super) request_timeout: Duration,
}

/// A member with the token that calls to it carry.
#[derive(Debug, Clone)]
pub(super) struct MemberChannel {
    pinned: Pinned,
    token: Option<Token>,
}

impl EtcdConnection {
    pub(super) fn new(options: &EtcdOptions) -> Result<Self, Error> {
        options.validate()?;
        let identity = options.user.clone().zip(PasswordSource::of(options));
        Ok(Self {
            endpoints: EtcdEndpoints::new(options)?,
            credentials: identity.map(|(user, password)| Credentials::new(user, password)),
            advice: Advice::default(),
            attempt_timeout: options.attempt_timeout,
            request_timeout: options.request_timeout,
        })
    }

    /// Makes a call that changes nothing, or nothing more when it is made twice.
    pub(super) async fn read<T, F>(
        &self,
        attempt: impl Fn(MemberChannel) -> F + Send + Sync,
    ) -> Result<T, AttemptError>
    where
        F: Future<Output = Result<tonic::Response<T>, tonic::Status>> + Send,
    {
        let deadline = Instant::now() + self.request_timeout;
        self.repeat(deadline, AttemptError::blames_the_endpoint, || {
            let bound = deadline.min(Instant::now() + self.attempt_timeout);
            self.attempt(bound, &attempt)
        })
        .await
    }

    /// Makes a call that must not happen twice: it is repeated only when it certainly did not happen.
    pub(super) async fn write<T, F>(
        &self,
        attempt: impl Fn(MemberChannel) -> F + Send + Sync,
    ) -> Result<T, AttemptError>
    where
        F: Future<Output = Result<tonic::Response<T>, tonic::Status>> + Send,
    {
        let deadline = Instant::now() + self.request_timeout;
        let unsent = |fault: &AttemptError| matches!(fault, AttemptError::Unsent(_));
        self.repeat(deadline, unsent, || self.attempt(deadline, &attempt)).await
    }

    /// The member in use and a token for it, within one attempt's time.
    pub(super) async fn link(&self) -> Result<MemberChannel, AttemptError> {
        let pinned = self.endpoints.pinned();
        let linked = match timeout(self.attempt_timeout, self.link_to(pinned.clone())).await {
            Ok(linked) => linked,
            Err(_) => Err(AttemptError::Lost(None)).inspect_err(|fault| self.learn(&pinned, None, fault)),
        };
        linked.map_err(AttemptError::before_the_call)
    }

    async fn link_to(&self, pinned: Pinned) -> Result<MemberChannel, AttemptError> {
        let token = match &self.credentials {
            Some(credentials) => credentials.token(pinned.channel.clone()).await,
            None => Ok(None),
        };
        let token = token.inspect_err(|fault| self.learn(&pinned, None, fault))?;
        Ok(MemberChannel { pinned, token })
    }

    /// Returns true if there is a password, so that a token can be requested.
    pub(super) const fn can_log_in(&self) -> bool {
        self.credentials.is_some()
    }

    /// Acts on a failure, so that the next attempt has a better chance: moves on to another member, or
    /// drops a token that aged.
    pub(super) fn learn_from(&self, link: &MemberChannel, fault: &AttemptError) {
        self.learn(&link.pinned, link.token.as_ref(), fault);
    }

    fn learn(&self, pinned: &Pinned, token: Option<&Token>, fault: &AttemptError) {
        if fault.blames_the_endpoint() {
            self.endpoints.move_on_from(pinned);
        }
        if let (AttemptError::StaleToken(_), Some(credentials)) = (fault, &self.credentials) {
            credentials.forget(token);
        }
    }

    /// Attempts until one succeeds, fails for good, or the time is up. A token is renewed once.
    async fn repeat<T, F>(
        &self,
        deadline: Instant,
        may_repeat: impl Fn(&AttemptError) -> bool + Send,
        attempt: impl Fn() -> F + Send,
    ) -> Result<T, AttemptError>
    where
        F: Future<Output = Result<T, AttemptError>> + Send,
    {
        let (mut failures, mut renewals) = (0, 0);
        loop {
            let fault = match attempt().await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if matches!(fault, AttemptError::StaleToken(_)) && self.can_log_in() && renewals == 0 {
                renewals += 1;
                continue;
            }
            failures += 1;
            let pause = if failures % self.endpoints.len() == 0 { PAUSE } else { Duration::ZERO };
            if !may_repeat(&fault) || Instant::now() + pause >= deadline {
                return Err(fault);
            }
            sleep(pause).await;
        }
    }

    async fn attempt<T, F>(
        &self,
        bound: Instant,
        call: &(impl Fn(MemberChannel) -> F + Sync),
    ) -> Result<T, AttemptError>
    where
        F: Future<Output = Result<tonic::Response<T>, tonic::Status>> + Send,
    {
        let link = self.link().await?;
        let answer = match timeout_at(bound, call(link.clone())).await {
            Ok(answer) => answer.map_err(AttemptError::from),
            Err(_) => Err(AttemptError::Lost(None)),
        };
        answer.map(tonic::Response::into_inner).inspect_err(|fault| self.learn_from(&link, fault))
    }
}

impl MemberChannel {
    pub(super) fn kv(&self) -> KvClient<tonic::transport::Channel> {
        KvClient::new(self.pinned.channel.clone()).max_decoding_message_size(LARGEST_ANSWER)
    }

    pub(super) fn watch(&self) -> WatchClient<tonic::transport::Channel> {
        WatchClient::new(self.pinned.channel.clone()).max_decoding_message_size(LARGEST_ANSWER)
    }

    pub(super) fn lease(&self) -> LeaseClient<tonic::transport::Channel> {
        LeaseClient::new(self.pinned.channel.clone())
    }

    pub(super) fn maintenance(&self) -> MaintenanceClient<tonic::transport::Channel> {
        MaintenanceClient::new(self.pinned.channel.clone())
    }

    /// A request that carries the token.
    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }

    /// A stream's request: etcd ends it when the member loses sight of its leader, instead of leaving it
    /// silent.
    pub(super) fn stream_request<T>(&self, messages: T) -> Request<T> {
        let mut request = self.request(messages);
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        request
    }
}
