//! What documents say of the code exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::run::workspace;

/// The page that maps scenarios to tests.
const SCENARIOS: &str = "docs/design/scenarios.md";

/// The page that maps what is known of assignors to tests.
const STRATEGIES: &str = "docs/design/strategies-tests.md";

/// What is written between backticks, line by line.
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

fn read(page: &str) -> String {
    fs::read_to_string(workspace().join(page)).expect("the page is there")
}

/// Every test that the page names exists, and there are at least so many.
fn assert_names(page: &str, least: usize) {
    let page = read(page);
    let named: BTreeSet<_> = quoted(&page).filter_map(reference).collect();
    assert!(named.len() >= least, "only {} are named: are they still found?", named.len());
    let crates: BTreeSet<_> = named.iter().map(|(folder, _)| folder.clone()).collect();
    let missing: Vec<_> = crates
        .into_iter()
        .flat_map(|folder| {
            let sources = sources(&folder);
            let of_it = named.iter().filter(move |(its, _)| *its == folder);
            of_it.filter(move |(_, name)| !is_defined(name, &sources)).collect::<Vec<_>>()
        })
        .collect();
    assert!(missing.is_empty(), "named, and not there: {missing:#?}");
}

/// The page has a row for each number from one on of each list.
fn assert_rows(page: &str, all: &[(char, u32)]) {
    let page = read(page);
    let first_cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows: BTreeSet<_> = first_cells.flat_map(|cell| cell.split(", ")).collect();
    let missing: Vec<_> = all
        .iter()
        .flat_map(|(list, last)| (1..=*last).map(move |number| format!("{list}{number}")))
        .filter(|number| !rows.contains(number.as_str()))
        .collect();
    assert!(missing.is_empty(), "without a row: {missing:?}");
}

#[test]
fn every_test_that_the_scenarios_name_exists() {
    assert_names(SCENARIOS, 150);
}

#[test]
fn every_test_that_the_strategies_page_names_exists() {
    assert_names(STRATEGIES, 100);
}

#[test]
fn every_scenario_has_its_row() {
    assert_rows(SCENARIOS, &[('H', 79), ('P', 13), ('M', 29), ('F', 52), ('L', 35)]);
}

#[test]
fn every_line_about_strategies_has_its_row() {
    let lists = [('R', 14), ('B', 5), ('S', 33), ('C', 9), ('U', 9), ('K', 13), ('A', 9), ('X', 7)];
    assert_rows(STRATEGIES, &lists);
}

#[test]
fn a_name_that_is_gone_is_seen() {
    let sources = ["fn old_name(x: u8) {}\n    Frozen,\n    // Thawed\n".to_owned()];
    assert!(is_defined("old_name", &sources) && is_defined("Frozen", &sources));
    assert!(
        !is_defined("new_name", &sources) && !is_defined("name", &sources) && !is_defined("Thawed", &sources)
    );
}
