//! Doc comments of items have a subject: the first word is no question word.
//!
//! Public and private items are looked at alike, and modules with the `//!` lines inside of them. Tests are left out,
//! and so are the arguments of macros: they are no items before the macro has been expanded.

use syn::visit::{self, Visit};
use syn::{AttrStyle, Attribute, Expr, Field, File, ImplItem, Item, Lit, Meta, TraitItem, Variant};

use super::Finding;
use super::sources::{Sources, is_test};

const QUESTIONS: [&str; 11] =
    ["What", "How", "Whether", "Who", "Whom", "Whose", "Whoever", "Which", "Where", "When", "Why"];

/// The first lines of all doc comments of items.
struct Comments<'a> {
    path: &'a str,
    seen: usize,
    findings: Vec<Finding>,
}

impl Comments<'_> {
    /// Takes the comment before an item, and the one inside of it: an inline module may have both.
    fn take(&mut self, attributes: &[Attribute]) {
        for is_inner in [false, true] {
            let is_there = |attribute: &&Attribute| is_inner_line(attribute) == is_inner;
            if let Some(first) = attributes.iter().filter(is_there).find_map(text) {
                self.judge(first.trim());
            }
        }
    }

    fn judge(&mut self, first: &str) {
        self.seen += 1;
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

const fn is_inner_line(attribute: &Attribute) -> bool {
    matches!(attribute.style, AttrStyle::Inner(_))
}

fn of_item(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn of_impl_item(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        _ => &[],
    }
}

fn of_trait_item(item: &TraitItem) -> &[Attribute] {
    match item {
        TraitItem::Const(item) => &item.attrs,
        TraitItem::Fn(item) => &item.attrs,
        TraitItem::Macro(item) => &item.attrs,
        TraitItem::Type(item) => &item.attrs,
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Comments<'_> {
    fn visit_file(&mut self, file: &'ast File) {
        self.take(&file.attrs);
        visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = of_item(item);
        if !is_test(attributes) {
            self.take(attributes);
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = of_impl_item(item);
        if !is_test(attributes) {
            self.take(attributes);
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        self.take(of_trait_item(item));
        visit::visit_trait_item(self, item);
    }

    fn visit_field(&mut self, field: &'ast Field) {
        self.take(&field.attrs);
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.take(&variant.attrs);
        visit::visit_variant(self, variant);
    }
}

pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let mut comments = Comments { path: "", seen: 0, findings: Vec::new() };
    for source in &sources.0 {
        comments.path = &source.path;
        comments.visit_file(&source.tree);
    }
    println!("question words {}, in {} doc comments of items", comments.findings.len(), comments.seen);
    comments.findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Sources::of_text(text)).len()
    }

    #[test]
    fn a_question_is_found_at_public_items() {
        let text = "/// What it is.\npub struct A {\n/// Whether so.\npub b: u8,\n/// The size.\npub c: u8 }";
        assert_eq!(found(text), 2);
    }

    #[test]
    fn a_question_is_found_at_private_items() {
        assert_eq!(found("/// How.\nfn private() {}\n/// The size.\nfn size() {}"), 1);
        assert_eq!(
            found("struct A {\n/// Who.\nb: u8 }\nenum C {\n/// Whose.\nD {\n/// Whom.\ne: u8 } }"),
            3
        );
        assert_eq!(found("/// Which.\nimpl A {\n/// Why.\nfn b() {\n/// When.\nconst C: u8 = 1; } }"), 3);
        assert_eq!(found("trait A {\n/// Where.\ntype B;\n/// How.\nfn c(); }"), 2);
    }

    #[test]
    fn a_question_is_found_at_modules_inside_and_outside() {
        assert_eq!(found("//! What it is.\n\n/// The size.\nfn size() {}"), 1);
        assert_eq!(found("/// The sizes.\nmod sizes {\n//! How.\n}"), 1);
        assert_eq!(found("/// How.\nmod sizes {\n//! The sizes.\n}"), 1);
    }

    #[test]
    fn only_first_lines_count_and_only_outside_of_tests() {
        assert_eq!(found("/// The size.\n/// What else.\n///\n/// When.\nfn size() {}"), 0);
        let tests = "#[cfg(test)]\nmod tests {\n/// How.\nfn helper() {} }\n/// Why.\n#[test]\nfn case() {}";
        assert_eq!(found(tests), 0);
        assert_eq!(found("impl A {\n/// How.\n#[cfg(test)]\nfn b() {} }"), 0);
    }
}
