//! Type names are unique within what ships.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Item, ItemMod};

use super::Finding;
use super::sources::{Sources, is_test};

/// Names that mean the same wherever they stand, as everywhere in the language.
const IDIOMS: [&str; 8] = ["Arguments", "Builder", "Config", "Driver", "Entry", "Error", "Options", "State"];

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

pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let places = places(sources);
    let all: usize = places.values().map(Vec::len).sum();
    println!("types {all}, distinct type names {} %", 100 * places.len() / all.max(1));
    let shared = places.iter().filter(|(name, at)| at.len() > 1 && !IDIOMS.contains(&name.as_str()));
    shared
        .map(|(name, at)| {
            let others = at.iter().collect::<BTreeSet<_>>();
            let others = others.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            Finding::new(format!("type {name}"), format!("{} types have this name: {others}", at.len()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_types_is_found_and_idioms_and_tests_are_not() {
        let text = "struct Told; mod a { enum Told {} struct Options; } struct Options; trait Only {}
            #[cfg(test)] mod tests { struct Only; }";
        let findings = check(&Sources::of_text(text));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "type Told");
    }
}
