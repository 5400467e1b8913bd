//! Files and functions by length.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, ItemMod};

use super::Finding;
use super::sources::{Sources, is_test};

/// A file of 400 lines is long; one of more than 600 would need a reason, and none has one.
const LONGEST_FILE: usize = 600;

/// A function of 40 lines is long; the longest that read well are tables of that size.
const LONGEST_FUNCTION: usize = 70;

/// The functions of one file, with their lines.
#[derive(Default)]
struct Functions(Vec<(String, usize)>);

impl Functions {
    fn take(&mut self, name: &syn::Ident, whole: Span, body: &Block) {
        let lines = body.span().end().line - whole.start().line + 1;
        self.0.push((name.to_string(), lines));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if !is_test(&function.attrs) {
            self.take(&function.sig.ident, function.sig.span(), &function.block);
        }
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.take(&function.sig.ident, function.sig.span(), &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }
}

/// The values at 50 %, 95 % and the end, of sorted values.
fn spread(sorted: &[usize]) -> [usize; 3] {
    let at =
        |percent: usize| sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
    [at(50), at(95), at(100)]
}

fn report(what: &str, mut lengths: Vec<usize>) {
    lengths.sort_unstable();
    let [p50, p95, most] = spread(&lengths);
    println!("{what} {}, lines p50 {p50}, p95 {p95}, most {most}", lengths.len());
}

pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    let (mut files, mut functions, mut findings) = (Vec::new(), Vec::new(), Vec::new());
    for source in &sources.0 {
        let lines = source.text.lines().count();
        files.push(lines);
        if lines > LONGEST_FILE {
            findings.push(Finding::new(&source.path, format!("{lines} lines, at most {LONGEST_FILE}")));
        }
        let mut found = Functions::default();
        found.visit_file(&source.tree);
        for (name, lines) in found.0 {
            functions.push(lines);
            if lines > LONGEST_FUNCTION {
                let rule = format!("fn {name} has {lines} lines, at most {LONGEST_FUNCTION}");
                findings.push(Finding::new(&source.path, rule));
            }
        }
    }
    report("files", files);
    report("functions", functions);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_and_a_file_that_are_too_long_are_found() {
        let body = "let _ = 1;\n".repeat(71);
        assert_eq!(check(&Sources::of_text(&format!("fn long() {{\n{body}}}\nfn short() {{}}"))).len(), 1);
        assert_eq!(check(&Sources::of_text(&"\n".repeat(601))).len(), 1);
    }
}
