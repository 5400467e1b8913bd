//! Doc comments of public items have a subject: the first word is no question word.

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Field, ImplItemFn, Item, ItemMod, Lit, Meta, TraitItemFn, Variant, Visibility};

use super::Finding;
use super::sources::{Sources, is_test};

const QUESTIONS: [&str; 11] =
    ["What", "How", "Whether", "Who", "Whom", "Whose", "Whoever", "Which", "Where", "When", "Why"];

/// The first lines of all doc comments of items that others may name.
struct Comments<'a> {
    path: &'a str,
    seen: usize,
    findings: Vec<Finding>,
}

impl Comments<'_> {
    fn take(&mut self, is_public: bool, attributes: &[Attribute]) {
        let Some(first) = attributes.iter().find_map(text) else { return };
        if !is_public {
            return;
        }
        self.seen += 1;
        let first = first.trim();
        let word = first.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if QUESTIONS.contains(&word) {
            self.findings
                .push(Finding::new(self.path, format!("a doc comment begins with a question: {first:?}")));
        }
    }
}

fn text(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(literal) = &pair.value else { return None };
    let Lit::Str(text) = &literal.lit else { return None };
    pair.path.is_ident("doc").then(|| text.value())
}

const fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

impl<'ast> Visit<'ast> for Comments<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Struct(item) => self.take(is_public(&item.vis), &item.attrs),
            Item::Enum(item) => self.take(is_public(&item.vis), &item.attrs),
            Item::Trait(item) => self.take(is_public(&item.vis), &item.attrs),
            Item::Type(item) => self.take(is_public(&item.vis), &item.attrs),
            Item::Fn(item) => self.take(is_public(&item.vis), &item.attrs),
            Item::Const(item) => self.take(is_public(&item.vis), &item.attrs),
            Item::Static(item) => self.take(is_public(&item.vis), &item.attrs),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.take(is_public(&function.vis), &function.attrs);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.take(true, &function.attrs);
    }

    fn visit_field(&mut self, field: &'ast Field) {
        self.take(is_public(&field.vis), &field.attrs);
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.take(true, &variant.attrs);
        visit::visit_variant(self, variant);
    }
}

pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let mut comments = Comments { path: "", seen: 0, findings: Vec::new() };
    for source in &sources.0 {
        comments.path = &source.path;
        comments.visit_file(&source.tree);
    }
    println!("question words {}, in {} doc comments of public items", comments.findings.len(), comments.seen);
    comments.findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_found_at_public_items_only() {
        let text = "/// What it is.\npub struct A {\n/// Whether so.\npub b: u8,\n/// Who.\nc: u8 }
            /// How.\nfn private() {}\n/// The size.\npub fn size() {}";
        assert_eq!(check(&Sources::of_text(text)).len(), 2);
    }
}
