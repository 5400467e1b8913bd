//! Every block of Rust in the README and in the guides stands in a source file of the examples, so it is compiled.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// The lines without indentation, since a page shows a function's body at the margin.
fn plain(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The blocks that are fenced as `language`, with whatever stands behind it after a comma.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fences = page.split("\n```").skip(1).step_by(2);
    let of_language = |fence: &str| {
        let (info, text) = fence.split_once('\n')?;
        (info.split(',').next() == Some(language)).then(|| text.to_owned())
    };
    fences.filter_map(of_language).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_entry = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => files(&path, extension),
        Some(its) if its == extension => vec![path],
        _ => Vec::new(),
    };
    entries.flat_map(of_entry).collect()
}

#[test]
fn all_rust_in_the_guides_is_compiled() {
    let sources: Vec<_> =
        files(&workspace().join("examples"), "rs").iter().map(|path| plain(&read(path))).collect();
    let pages =
        files(&workspace().join("docs/guide"), "md").into_iter().chain([workspace().join("README.md")]);
    let shown: Vec<_> = pages.flat_map(|page| blocks(&read(page), "rust")).collect();
    assert!(shown.len() >= 5, "only {} blocks are found", shown.len());
    for block in shown {
        let is_compiled = sources.iter().any(|source| source.contains(&plain(&block)));
        assert!(is_compiled, "in no source file of the examples:\n{block}");
    }
}

#[test]
fn the_first_consumer_is_the_whole_program_of_the_readme() {
    let readme = read(workspace().join("README.md"));
    let program = read(workspace().join("examples/first/src/main.rs"));
    assert_eq!(blocks(&readme, "rust").concat() + "\n", program);
}

#[test]
fn the_first_consumer_depends_on_what_the_readme_says() {
    let said = blocks(&read(workspace().join("README.md")), "toml").concat();
    let said: toml::Table = said.replace("../kafka-assigner/", "../../").parse().unwrap();
    let built: toml::Table = read(workspace().join("examples/first/Cargo.toml")).parse().unwrap();
    assert_eq!(said["dependencies"], built["dependencies"]);
}
