//! The messages that this crate knows, one module for each API.
//!
//! To add one, copy its table from the schemas in Kafka's jar (`common/message/*.json`), add a line of `apis!`, and
//! the test that compares tables and schemas takes it in. Its fields keep Kafka's names.

mod api_versions;
mod metadata;
mod sasl;

pub use api_versions::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
pub use metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};
pub use sasl::{
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
};

use crate::wire::{ApiRequest, VersionRange, WireField, WireType};

/// An answer to somebody who knows nothing of the broker yet must be short: 64 KiB is more than a hundred times that of Kafka 4.4.
const OPENING: usize = 64 * 1024;

/// The answer to a request for metadata; see [`MetadataRequest::MOST_TOPICS`].
const METADATA: usize = 32 * 1024 * 1024;

/// One API as this crate knows it, for the comparison with Kafka's schemas.
#[derive(Debug, Clone, Copy)]
pub struct ApiTable {
    /// The number of the API.
    pub key: i16,
    /// Its name.
    pub name: &'static str,
    /// The versions that the tables know.
    pub versions: VersionRange,
    /// The first flexible version; `i16::MAX` where there is none.
    pub flexible_since: i16,
    /// The fields of the request.
    pub request: fn() -> &'static [WireField],
    /// The fields of the answer.
    pub answer: fn() -> &'static [WireField],
}

/// Makes requests of structs, and lists them.
macro_rules! apis {
    ($($name:literal $key:literal: $request:ident => $answer:ident, versions $first:literal to $last:literal,
        flexible $flexible:expr, used since $oldest:literal, at most $most:expr;)+) => {
        $(
            impl ApiRequest for $request {
                type Answer = $answer;
                const KEY: i16 = $key;
                const NAME: &'static str = $name;
                const VERSIONS: VersionRange = VersionRange::new($first, $last);
                const FLEXIBLE_SINCE: i16 = $flexible;
                const OLDEST: i16 = $oldest;
                const MOST_BYTES: usize = $most;
            }
        )+

        /// Every API that this crate knows.
        pub const APIS: &[ApiTable] = &[
            $( ApiTable {
                key: $key,
                name: $name,
                versions: <$request as ApiRequest>::VERSIONS,
                flexible_since: $flexible,
                request: <$request as WireType>::fields,
                answer: <$answer as WireType>::fields,
            }, )+
        ];
    };
}

apis! {
    "Metadata" 3: MetadataRequest => MetadataResponse, versions 0 to 13, flexible 9, used since 9, at most METADATA;
    "SaslHandshake" 17: SaslHandshakeRequest => SaslHandshakeResponse, versions 0 to 1, flexible i16::MAX,
        used since 1, at most OPENING;
    "ApiVersions" 18: ApiVersionsRequest => ApiVersionsResponse, versions 0 to 5, flexible 3, used since 0,
        at most OPENING;
    "SaslAuthenticate" 36: SaslAuthenticateRequest => SaslAuthenticateResponse, versions 0 to 2, flexible 2,
        used since 0, at most OPENING;
}
