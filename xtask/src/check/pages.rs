//! The error page and the interface name every stable reason and no other, each with its code, and the index of decisions
//! names every decision.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;

use super::Finding;
use crate::run::workspace;

const REASONS: &str = "crates/proto/src/reason.rs";
const ERRORS: &str = "docs/operations/errors.md";
const INTERFACE: &str = "crates/proto/proto/kafka_assigner/v1/consumer.proto";
const DECISIONS: &str = "docs/decisions";
const INDEX: &str = "docs/decisions/README.md";

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_default()
}

/// A word in capitals, as reasons and gRPC codes are.
fn is_constant(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// `INVALID_ARGUMENT` of `InvalidArgument`.
fn constant(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// Each reason with its gRPC code: `INVALID_NAME` and `INVALID_ARGUMENT` of
/// `InvalidName = "INVALID_NAME", InvalidArgument;`.
fn reasons(source: &str) -> BTreeMap<&str, String> {
    let entries = source.lines().filter_map(|line| {
        let (name, code) = line.split_once(" = \"")?.1.split_once("\", ")?;
        Some((name, constant(code.strip_suffix(';')?)))
    });
    entries.filter(|(name, _)| is_constant(name)).collect()
}

/// Each reason with its gRPC code, by the first two columns of the page's tables.
fn told_reasons(page: &str) -> BTreeMap<&str, String> {
    let quoted = |cell: &'_ str| cell.trim().strip_prefix('`')?.strip_suffix('`').map(str::to_owned);
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|');
        let (name, code) = (cells.next()?.trim(), quoted(cells.next()?)?);
        Some((name.strip_prefix('`')?.strip_suffix('`')?, code))
    });
    rows.filter(|(name, code)| is_constant(name) && is_constant(code)).collect()
}

fn wrong_reasons(source: &str, page: &str) -> Vec<Finding> {
    let (real, told) = (reasons(source), told_reasons(page));
    let unsaid = real.iter().filter(|(name, code)| told.get(*name) != Some(*code));
    let unsaid =
        unsaid.map(|(name, code)| Finding::new(ERRORS, format!("has no row for {name} with {code}")));
    let gone = told.keys().filter(|name| !real.contains_key(*name));
    unsaid
        .chain(gone.map(|name| Finding::new(ERRORS, format!("has a row for {name}, which is gone"))))
        .collect()
}

/// The interface lists the reasons in its comments.
fn unlisted_reasons(source: &str, interface: &str) -> Vec<Finding> {
    let listed =
        |name: &str| interface.split(|c: char| !c.is_ascii_uppercase() && c != '_').any(|word| word == name);
    let missing = reasons(source).into_keys().filter(|name| !listed(name));
    missing.map(|name| Finding::new(INTERFACE, format!("does not list {name}"))).collect()
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
    let mut findings = wrong_reasons(&source, &read(ERRORS));
    findings.extend(unlisted_reasons(&source, &read(INTERFACE)));
    findings.extend(missing_decisions(&decisions, &read(INDEX)));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "    InvalidName = \"INVALID_NAME\", InvalidArgument;\n    LostRace = \"LOST_RACE\", Aborted;";

    #[test]
    fn reasons_that_the_error_page_leaves_out_invents_or_gives_another_code_are_found() {
        let lost = "| `LOST_RACE` | `ABORTED` | try again |";
        let whole = format!("{lost}\n| `INVALID_NAME` | `INVALID_ARGUMENT` | no |");
        assert!(wrong_reasons(SOURCE, &whole).is_empty());
        assert_eq!(wrong_reasons(SOURCE, lost).len(), 1);
        assert_eq!(wrong_reasons(SOURCE, &whole.replace("ABORTED", "INTERNAL")).len(), 1);
        assert_eq!(wrong_reasons(SOURCE, &format!("{whole}\n| `FORMER` | `ABORTED` | ? |")).len(), 1);
    }

    #[test]
    fn reasons_that_the_interface_does_not_list_are_found() {
        assert_eq!(unlisted_reasons(SOURCE, "// LOST_RACE, INVALID_NAMES").len(), 1);
        assert!(unlisted_reasons(SOURCE, "// LOST_RACE, INVALID_NAME;").is_empty());
    }

    #[test]
    fn decisions_that_the_index_leaves_out_are_found() {
        let names = ["0001-a.md".to_owned(), "0002-b.md".to_owned()];
        assert_eq!(missing_decisions(&names, "| [0001](0001-a.md) | a |").len(), 1);
    }
}
