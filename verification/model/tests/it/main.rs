//! The model, exhausted within small bounds; `cargo xtask model` explores more.

mod broken;
mod shipped;
