//! `docs/guide/own-strategy.md`.

use kafka_assigner_server::Options;
use kafka_assigner_strategies::{Registry, Strategy};

/// An instance's options with `packed` beside the strategies that come along.
pub fn with_a_strategy(options: Options, packed: &'static dyn Strategy) -> Options {
    Options { strategies: Registry::builtin().with(packed), ..options }
}
