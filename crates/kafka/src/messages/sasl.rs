//! `SaslHandshake` and `SaslAuthenticate`: logging in.

use crate::wire::{Blob, wire_struct};

wire_struct! {
    /// Asks to log in by a mechanism.
    request struct SaslHandshakeRequest {
        /// The mechanism.
        mechanism: String, since 0;
    }
}

wire_struct! {
    /// The mechanisms of a broker.
    response struct SaslHandshakeResponse {
        /// The error, 0 for none; 33 where the broker does not have the mechanism.
        error_code: i16, since 0;
        /// The mechanisms that it has.
        mechanisms: Vec<String>, since 0;
    }
}

wire_struct! {
    /// One step of a mechanism.
    request struct SaslAuthenticateRequest {
        /// The mechanism's bytes.
        auth_bytes: Blob, since 0;
    }
}

wire_struct! {
    /// The broker's answer to a step.
    response struct SaslAuthenticateResponse {
        /// The error, 0 for none; 58 where the broker refuses the login.
        error_code: i16, since 0;
        /// The error in words.
        error_message: Option<String>, since 0, nullable 0;
        /// The mechanism's bytes.
        auth_bytes: Blob, since 0;
        /// The time after which the broker wants another login, in milliseconds; 0: never.
        session_lifetime_ms: i64 = 0, since 1;
    }
}
