//! The parsed sources of what ships, without their tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use syn::Attribute;

use crate::run::workspace;

/// One source file.
pub(super) struct Source {
    /// Its path below the workspace, for people.
    pub(super) path: String,
    /// Its text.
    pub(super) text: String,
    /// Its syntax tree.
    pub(super) tree: syn::File,
}

/// All source files of the crates that ship.
pub(super) struct Sources(pub(super) Vec<Source>);

impl Sources {
    /// Reads and parses `crates/*/src`, but for test files and generated code.
    pub(super) fn of_what_ships() -> Result<Self> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(workspace().join("crates"))? {
            collect(&entry?.path().join("src"), &mut paths)?;
        }
        paths.sort();
        paths.iter().map(|path| Source::read(path)).collect::<Result<_>>().map(Self)
    }

    #[cfg(test)]
    pub(super) fn of_text(text: &str) -> Self {
        Self(vec![Source::parse("crates/x/src/lib.rs".to_owned(), text.to_owned()).expect("it parses")])
    }
}

impl Source {
    fn read(path: &Path) -> Result<Self> {
        let shown = path.strip_prefix(workspace()).unwrap_or(path).display().to_string();
        let text = fs::read_to_string(path).with_context(|| shown.clone())?;
        Self::parse(shown, text)
    }

    fn parse(path: String, text: String) -> Result<Self> {
        let tree = syn::parse_file(&text).with_context(|| format!("{path} can't be parsed"))?;
        Ok(Self { path, text, tree })
    }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !is_left_out(name) {
            collect(&path, paths)?;
        } else if name.ends_with(".rs") && !is_left_out(name.trim_end_matches(".rs")) {
            paths.push(path);
        }
    }
    Ok(())
}

/// Tests beside the code, and code that a program wrote.
fn is_left_out(name: &str) -> bool {
    name == "tests" || name == "generated" || name.ends_with("_test")
}

/// True if an item is compiled for tests only.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test")))
    })
}
