//! Settings and their sources: flags, environment, one file, defaults, in that order of precedence.
//!
//! A setting has one name. `leader_ttl` is the key in the file, `--leader-ttl` the flag and
//! `KAFKA_ASSIGNER_LEADER_TTL` the variable; all of that, its help, its default and its type are one entry of
//! one table. [`Resolved`](resolved::Resolved) keeps where each value came from, for messages and for `--print-config`.
//!
//! Start reading at [`serve`](ServeConfig), the table itself; [`resolved`] is the mechanism.

mod error;
mod flags;
mod kafka;
mod layers;
mod origin;
mod print;
mod resolved;
mod secret;
mod serve;
mod setting;
mod text;
mod value;

pub(crate) use error::ConfigError;
pub(crate) use flags::{Flags, KafkaFlags, StoreFlags};
pub(crate) use layers::{File, Layers, environment};
pub(crate) use serve::{LogFormat, ServeConfig};
pub(crate) use text::{Endpoint, LogLevel};
pub(crate) use value::Value;
