//! Whole routers against a scripted service and scripted owners, within the process, on a paused clock.

mod fake;
mod leaving;
mod moves;
mod owners;
mod sessions;
mod switching;
