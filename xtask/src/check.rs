//! `cargo xtask check`: the rules of the house that no compiler knows, counted over the sources.
//!
//! ```text
//!  sources ──► names        type names are unique within what ships
//!          ──► comments     doc comments of items state, and ask nothing
//!          ──► sizes        files and functions by length
//!  cargo metadata ──► arrows      nothing that ships depends on what verifies it
//!                 ──► manifests   what ships can be packaged, and nothing else published
//!  docs/ ──► pages        the error page and the index of decisions are complete
//!        ──► documents    scenarios and strategies have their rows, and the tests that they name exist
//!        ──► examples     the Rust of README and guides is compiled
//! ```
//!
//! Each part returns a [`Finding`] for each broken rule and prints its counts. Start reading at [`run`].

mod arrows;
mod comments;
mod documents;
mod examples;
mod manifests;
mod names;
mod pages;
mod sizes;
mod sources;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;

use sources::Sources;

use crate::metadata::Metadata;

/// A rule that something breaks: the place, and the mend.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    place: String,
    rule: String,
}

impl Finding {
    fn new(place: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { place: place.into(), rule: rule.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.rule)
    }
}

/// Checks everything and prints the counts, then the findings; exits with 1 where there is a finding.
pub(crate) fn run() -> Result<ExitCode> {
    let (sources, metadata) = (Sources::of_what_ships()?, Metadata::read()?);
    let mut findings = sizes::check(&sources);
    findings.extend(names::check(&sources));
    findings.extend(comments::check(&sources));
    findings.extend(arrows::check(&metadata));
    findings.extend(manifests::check(&metadata));
    findings.extend(pages::check()?);
    findings.extend(documents::check());
    findings.extend(examples::check()?);
    findings.sort();
    findings.iter().for_each(|finding| println!("{finding}"));
    println!("{} findings", findings.len());
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
