//! `ApiVersions`: the APIs that a broker has, and in which versions.

use crate::wire::wire_struct;

wire_struct! {
    /// Asks a broker for the APIs that it has.
    request struct ApiVersionsRequest {
        /// The name of the client's software.
        client_software_name: String, since 3, ignorable true;
        /// The version of the client's software.
        client_software_version: String, since 3, ignorable true;
        /// The cluster that is meant, where it is known.
        cluster_id: Option<String> = None, since 5, nullable 5, ignorable true;
        /// The broker that is meant, where it is known; −1: not known.
        node_id: i32 = -1, since 5, ignorable true;
    }
}

wire_struct! {
    /// The APIs that a broker has.
    response struct ApiVersionsResponse {
        /// The error, 0 for none; 35 where the broker does not know the version of the request.
        error_code: i16, since 0;
        /// The APIs.
        api_keys: Vec<ApiVersion>, since 0;
        /// The time for which the broker throttled the request, in milliseconds.
        throttle_time_ms: i32, since 1;
        /// The features that the broker supports.
        supported_features: Vec<SupportedFeatureKey>, since 3, tag 0;
        /// The epoch of the finalised features; −1: not known.
        finalized_features_epoch: i64 = -1, since 3, tag 1;
        /// The features that the cluster has agreed on.
        finalized_features: Vec<FinalizedFeatureKey>, since 3, tag 2;
        /// True if a controller is ready for a migration from ZooKeeper.
        zk_migration_ready: bool = false, since 3, tag 3;
    }
}

wire_struct! {
    /// One API of a broker.
    response struct ApiVersion {
        /// The number of the API.
        api_key: i16, since 0;
        /// The oldest version that the broker knows.
        min_version: i16, since 0;
        /// The newest version that the broker knows.
        max_version: i16, since 0;
    }
}

wire_struct! {
    /// A feature that a broker supports.
    response struct SupportedFeatureKey {
        /// The feature's name.
        name: String, since 3;
        /// Its lowest level.
        min_version: i16, since 3;
        /// Its highest level.
        max_version: i16, since 3;
    }
}

wire_struct! {
    /// A feature that the cluster has agreed on.
    response struct FinalizedFeatureKey {
        /// The feature's name.
        name: String, since 3;
        /// Its highest level.
        max_version_level: i16, since 3;
        /// Its lowest level.
        min_version_level: i16, since 3;
    }
}

impl ApiVersionsRequest {
    /// The version that is asked in first: every supported broker knows it, and later ones tell nothing that is used.
    pub(crate) const FIRST: i16 = 3;

    /// The request in a version below 3, which has no fields.
    #[must_use]
    pub(crate) fn plain() -> Self {
        Self::default()
    }

    /// The request of this software.
    #[must_use]
    pub(crate) fn own() -> Self {
        Self {
            client_software_name: "kafka-assigner".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Self::default()
        }
    }
}
