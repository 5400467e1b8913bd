//! The error page names every stable reason, and the index of decisions every decision.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;

use super::Finding;
use crate::run::workspace;

const REASONS: &str = "crates/proto/src/reason.rs";
const ERRORS: &str = "docs/operations/errors.md";
const DECISIONS: &str = "docs/decisions";
const INDEX: &str = "docs/decisions/README.md";

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_default()
}

/// `INVALID_NAME` of `InvalidName = "INVALID_NAME", InvalidArgument;`.
fn reasons(source: &str) -> BTreeSet<&str> {
    let quoted = source.lines().filter_map(|line| line.split_once(" = \"")?.1.split('"').next());
    quoted.filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_')).collect()
}

fn missing_reasons(source: &str, page: &str) -> Vec<Finding> {
    let missing = reasons(source).into_iter().filter(|reason| !page.contains(&format!("`{reason}`")));
    missing.map(|reason| Finding::new(ERRORS, format!("says nothing of {reason}"))).collect()
}

fn missing_decisions(names: &[String], index: &str) -> Vec<Finding> {
    let missing = names.iter().filter(|name| !index.contains(name.as_str()));
    missing.map(|name| Finding::new(INDEX, format!("does not name {name}"))).collect()
}

fn decisions() -> Result<Vec<String>> {
    let entries = fs::read_dir(workspace().join(DECISIONS))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<Result<_>>()?;
    Ok(names.into_iter().filter(|name| name != "README.md").collect())
}

pub(super) fn check() -> Result<Vec<Finding>> {
    let (source, decisions) = (read(REASONS), decisions()?);
    println!("stable reasons {}, decisions {}", reasons(&source).len(), decisions.len());
    let mut findings = missing_reasons(&source, &read(ERRORS));
    findings.extend(missing_decisions(&decisions, &read(INDEX)));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_leaves_out_is_found() {
        let source =
            "    InvalidName = \"INVALID_NAME\", InvalidArgument;\n    LostRace = \"LOST_RACE\", Aborted;";
        assert_eq!(missing_reasons(source, "| `LOST_RACE` | try again |").len(), 1);
        let names = ["0001-a.md".to_owned(), "0002-b.md".to_owned()];
        assert_eq!(missing_decisions(&names, "| [0001](0001-a.md) | a |").len(), 1);
    }
}
