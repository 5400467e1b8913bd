//! The first consumer is the program of the README. `cargo xtask check` compares the other blocks of Rust with the examples.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
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
