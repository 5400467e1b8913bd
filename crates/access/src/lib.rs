//! Access: who calls, and what that caller may do with which groups.
//!
//! ```text
//!  certificate ──┐
//!                ├─► CallerName ──┐
//!  bearer token ─┘                ├─► Policy ─► allowed or Denied
//!  right, group, member ──────────┘
//! ```
//!
//! A caller is known by the first name in its client certificate ([`caller_of_certificate`]), or by a bearer token of which
//! the policy holds the SHA-256 ([`CallerToken`]). A [`Policy`] is read from a file of tokens and rules; whatever no rule allows
//! is denied. All of this is pure: reading the file, and reading it again, is up to the instance.
//!
//! ```toml
//! [[token]]
//! caller = "payments"
//! sha256 = "0c4f…"
//!
//! [[rule]]
//! callers = ["payments"]              # a name, or a prefix and *
//! groups = ["payments-*"]
//! rights = ["consume", "read"]        # consume, route, read, operate
//! members = ["{caller}-*"]            # the names under which it may consume and route; all where left out
//!
//! [[limit]]                           # the first one that names the caller counts; on each instance
//! callers = ["*"]
//! calls_per_second = 500
//! streams = 2000
//! watches = 8
//! ```

mod caller;
mod file;
mod limits;
mod pattern;
mod policy;
mod right;
mod token;

pub use caller::{CallerName, InvalidCaller, UnnamedCertificate, caller_of_certificate};
pub use file::{InvalidPolicy, LARGEST_FILE};
pub use limits::{CallBucket, Limits};
pub use policy::{AccessRule, Denied, Identity, Policy};
pub use right::Right;
pub use token::CallerToken;
