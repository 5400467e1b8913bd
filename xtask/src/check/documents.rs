//! The pages that map scenarios and knowledge of assignors to tests name tests that exist, and leave no row out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;
use crate::run::workspace;

/// The page that maps scenarios to tests.
const SCENARIOS: &str = "docs/design/scenarios.md";

/// The page that maps what is known of assignors to tests.
const STRATEGIES: &str = "docs/design/strategies-tests.md";

/// A list of numbered rows: its letter, and the number of its last row.
type List = (char, u32);

/// A page with its lists, and the number of tests that it names at least: references that are no longer recognised would
/// pass otherwise.
struct Page {
    path: &'static str,
    lists: &'static [List],
    least: usize,
}

const PAGES: [Page; 2] = [
    Page { path: SCENARIOS, lists: &[('H', 79), ('P', 13), ('M', 29), ('F', 52), ('L', 35)], least: 150 },
    Page {
        path: STRATEGIES,
        lists: &[('R', 14), ('B', 5), ('S', 33), ('C', 9), ('U', 9), ('K', 13), ('A', 9), ('X', 7)],
        least: 100,
    },
];

/// The text between backticks, line by line.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// `crate/name` as it is quoted, where the folder is one of a crate, a verification crate or an example.
fn reference(quoted: &str) -> Option<(PathBuf, &str)> {
    let (folder, name) = quoted.split_once('/')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let found = ["crates", "verification", "examples"].map(|parent| workspace().join(parent).join(folder));
    let found = found.into_iter().find(|path| path.is_dir())?;
    name.chars().all(is_name).then_some((found, name))
}

fn sources(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).expect("a readable folder").map(|entry| entry.expect("readable").path());
    let text = |path: &Path| fs::read_to_string(path).expect("readable");
    entries
        .flat_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
            _ if path.is_dir() => sources(&path),
            Some("rs") => vec![text(&path)],
            _ => Vec::new(),
        })
        .collect()
}

/// A test is a function of that name, or one that a macro makes of `name: "what it is about"`; what a model or the
/// simulation does is a variant.
fn is_defined(name: &str, sources: &[String]) -> bool {
    let (function, made) = (format!("fn {name}("), format!("    {name}: \""));
    let begins_variant =
        |line: &str| line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', ',']));
    let is_variant = name.starts_with(|first: char| first.is_ascii_uppercase());
    sources.iter().any(|source| {
        if is_variant {
            source.lines().any(begins_variant)
        } else {
            source.contains(&function) || source.contains(&made)
        }
    })
}

fn references(text: &str) -> BTreeSet<(PathBuf, &str)> {
    quoted(text).filter_map(reference).collect()
}

/// The tests that a page names and that nobody has defined.
fn missing_tests(page: &str, named: &BTreeSet<(PathBuf, &str)>) -> Vec<Finding> {
    let folders: BTreeSet<_> = named.iter().map(|(folder, _)| folder.as_path()).collect();
    let sources: BTreeMap<_, _> = folders.into_iter().map(|folder| (folder, sources(folder))).collect();
    let missing = named.iter().filter(|(folder, name)| !is_defined(name, &sources[folder.as_path()]));
    missing
        .map(|(_, name)| Finding::new(page, format!("names the test {name}, which is not there")))
        .collect()
}

/// The rows of each list, from one on, that a page leaves out.
fn missing_rows(page: &str, text: &str, lists: &[List]) -> Vec<Finding> {
    let first_cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows: BTreeSet<_> = first_cells.flat_map(|cell| cell.split(", ")).collect();
    let wanted = lists.iter().flat_map(|(list, last)| (1..=*last).map(move |row| format!("{list}{row}")));
    let missing = wanted.filter(|row| !rows.contains(row.as_str()));
    missing.map(|row| Finding::new(page, format!("has no row {row}"))).collect()
}

/// The rows that a page has twice: their numbers are quoted.
fn double_rows(page: &str, text: &str) -> Vec<Finding> {
    let is_number = |cell: &str| {
        let mut letters = cell.chars();
        letters.next().is_some_and(|letter| letter.is_ascii_uppercase())
            && letters.as_str().parse::<u32>().is_ok()
    };
    let first_cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows = first_cells.flat_map(|cell| cell.split(", ")).filter(|cell| is_number(cell));
    let mut seen = BTreeSet::new();
    rows.filter(|row| !seen.insert(*row))
        .map(|row| Finding::new(page, format!("has the row {row} twice")))
        .collect()
}

fn too_few(page: &str, named: usize, least: usize) -> Option<Finding> {
    (named < least).then(|| Finding::new(page, format!("names {named} tests, at least {least} are expected")))
}

pub(super) fn check() -> Vec<Finding> {
    let (mut findings, mut count) = (Vec::new(), 0);
    for Page { path: page, lists, least } in PAGES {
        let text = fs::read_to_string(workspace().join(page)).unwrap_or_default();
        let named = references(&text);
        count += named.len();
        findings.extend(missing_tests(page, &named));
        findings.extend(missing_rows(page, &text, lists));
        findings.extend(double_rows(page, &text));
        findings.extend(too_few(page, named.len(), least));
    }
    println!("tests that scenarios and strategies name {count}");
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_and_every_line_about_strategies_has_its_row_and_its_tests() {
        assert_eq!(check(), []);
    }

    #[test]
    fn a_name_that_is_gone_is_seen() {
        let sources = ["fn old_name(x: u8) {}\n    Frozen,\n    // Thawed\n".to_owned()];
        assert!(is_defined("old_name", &sources) && is_defined("Frozen", &sources));
        let undefined = ["new_name", "name", "Thawed"];
        assert!(undefined.iter().all(|name| !is_defined(name, &sources)));
        let named = references("| H1 | `types/no_such_test` |");
        assert_eq!(missing_tests("page", &named).len(), 1);
    }

    #[test]
    fn a_row_that_is_left_out_is_seen_and_so_are_references_that_nobody_recognises() {
        assert_eq!(missing_rows("page", "| H1, H2 | x |\n| H4 | x |", &[('H', 4), ('P', 1)]).len(), 2);
        assert_eq!(double_rows("page", "| H1, H2 | x |\n| H2 | x |\n| Have | x |\n| Have | y |").len(), 1);
        assert!(too_few("page", 3, 4).is_some() && too_few("page", 4, 4).is_none());
    }
}
