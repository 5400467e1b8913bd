//! Type names are unique within what ships, but for idioms and a few others.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Item, ItemMod};

use super::Finding;
use super::sources::{Sources, is_test};

/// Names that mean the same wherever they stand, as everywhere in the language.
const IDIOMS: [&str; 8] = ["Arguments", "Builder", "Config", "Driver", "Entry", "Error", "Options", "State"];

/// The part of the names that must be distinct: a few short words are the best name in two crates that never meet.
const LEAST_PERCENT: usize = 95;

/// The places of each type name.
#[derive(Default)]
struct Types<'a> {
    path: &'a str,
    places: BTreeMap<String, Vec<String>>,
}

impl Types<'_> {
    fn take(&mut self, name: &Ident, attributes: &[Attribute]) {
        if !is_test(attributes) {
            self.places.entry(name.to_string()).or_default().push(self.path.to_owned());
        }
    }
}

impl<'ast> Visit<'ast> for Types<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Struct(item) => self.take(&item.ident, &item.attrs),
            Item::Enum(item) => self.take(&item.ident, &item.attrs),
            Item::Union(item) => self.take(&item.ident, &item.attrs),
            Item::Trait(item) => self.take(&item.ident, &item.attrs),
            Item::Type(item) => self.take(&item.ident, &item.attrs),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }
}

fn places(sources: &Sources) -> BTreeMap<String, Vec<String>> {
    let mut types = Types::default();
    for source in &sources.0 {
        types.path = &source.path;
        types.visit_file(&source.tree);
    }
    types.places
}

/// The names that are no idiom, with their places.
fn wanted_unique(sources: &Sources) -> BTreeMap<String, Vec<String>> {
    let mut places = places(sources);
    places.retain(|name, _| !IDIOMS.contains(&name.as_str()));
    places
}

/// Names for each hundred types: rounded down, so that 100 means all.
fn percent(places: &BTreeMap<String, Vec<String>>) -> usize {
    let types: usize = places.values().map(Vec::len).sum();
    (100 * places.len()).checked_div(types).unwrap_or(100)
}

fn describe(name: &str, at: &[String]) -> Finding {
    let others = at.iter().map(String::as_str).collect::<BTreeSet<_>>();
    let others = others.into_iter().collect::<Vec<_>>().join(", ");
    Finding::new(format!("type {name}"), format!("{} types have this name: {others}", at.len()))
}

/// Counts the names, and lists those that several types have; they are findings where there are too many of them.
pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let places = wanted_unique(sources);
    let percent = percent(&places);
    println!("distinct type names {percent} %, at least {LEAST_PERCENT} (idioms: {})", IDIOMS.join(", "));
    let shared = places.iter().filter(|(_, at)| at.len() > 1).map(|(name, at)| describe(name, at));
    if percent < LEAST_PERCENT {
        return shared.collect();
    }
    shared.for_each(|name| println!("note: {name}"));
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many types with names of their own, beside whatever else.
    fn with_unique(count: usize, others: &str) -> Sources {
        let unique: String = (0..count).map(|number| format!("struct Unique{number}; ")).collect();
        Sources::of_text(&(unique + others))
    }

    #[test]
    fn a_name_of_two_types_is_found_and_idioms_and_tests_are_not() {
        let text = "struct Told; mod a { enum Told {} struct Options; } struct Options; trait Only {}
            #[cfg(test)] mod tests { struct Only; }";
        let findings = check(&Sources::of_text(text));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "type Told");
    }

    #[test]
    fn less_than_ninety_five_names_for_a_hundred_types_fail() {
        let shared = "mod a { struct Told; } mod b { struct Told; }";
        // 19 names of 20 types are 95 %.
        assert_eq!(check(&with_unique(18, shared)), []);
        assert_eq!(check(&with_unique(17, shared)).len(), 1);
    }
}
