//! Every block of Rust in the README, in the guides and in the pages of examples stands in a source file of the examples, so it is compiled.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Finding;
use crate::run::workspace;

/// The folder of the files that hold the blocks; all of them belong to packages of the workspace.
const EXAMPLES: &str = "examples";

/// The blocks that the pages show at least: fewer mean that they are no longer recognised.
const LEAST: usize = 5;

/// The lines without indentation, since a page shows a function's body at the margin.
fn plain(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The blocks that are fenced as Rust, with or without a word behind it.
fn blocks(page: &str) -> impl Iterator<Item = &str> {
    page.split("\n```").skip(1).step_by(2).filter_map(|fence| {
        let (info, text) = fence.split_once('\n')?;
        (info.split(',').next() == Some("rust")).then_some(text)
    })
}

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, extension, found)?;
        } else if path.extension().is_some_and(|its| its == extension) {
            found.push(path);
        }
    }
    Ok(())
}

fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![workspace().join("README.md")];
    files(&workspace().join("docs/guide"), "md", &mut pages)?;
    files(&workspace().join(EXAMPLES), "md", &mut pages)?;
    Ok(pages)
}

/// The sources of the examples, line by line without indentation.
fn sources() -> Result<Vec<String>> {
    let mut paths = Vec::new();
    files(&workspace().join(EXAMPLES), "rs", &mut paths)?;
    paths.iter().map(|path| Ok(plain(&fs::read_to_string(path)?))).collect()
}

fn judge(page: &str, blocks: &[&str], sources: &[String]) -> Vec<Finding> {
    let is_compiled = |block: &str| sources.iter().any(|source| source.contains(&plain(block)));
    let loose = blocks.iter().filter(|block| !is_compiled(block));
    let first = |block: &str| block.lines().next().unwrap_or_default().to_owned();
    loose.map(|block| Finding::new(page, format!("in no example: the block {:?}", first(block)))).collect()
}

pub(super) fn check() -> Result<Vec<Finding>> {
    let (sources, mut findings, mut count) = (sources()?, Vec::new(), 0);
    for path in pages()? {
        let text = fs::read_to_string(&path)?;
        let blocks: Vec<_> = blocks(&text).collect();
        let page = path.strip_prefix(workspace()).unwrap_or(&path).display().to_string();
        count += blocks.len();
        findings.extend(judge(&page, &blocks, &sources));
    }
    println!("blocks of Rust in README and guides {count}");
    let few = (count < LEAST).then(|| Finding::new("docs/guide", format!("only {count} blocks are found")));
    findings.extend(few);
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rust_in_readme_and_guides_is_compiled() {
        assert_eq!(check().unwrap(), []);
    }

    #[test]
    fn a_block_of_which_no_example_has_the_lines_is_found() {
        let page =
            "A page.\n```rust\nlet a = 1;\n```\n\n```console\n$ ls\n```\n```rust,no_run\nlet b = 2;\n```\n";
        let blocks: Vec<_> = blocks(page).collect();
        assert_eq!(blocks.len(), 2);
        let sources = [plain("fn main() {\n    let a = 1;\n}\n")];
        assert_eq!(judge("page", &blocks, &sources).len(), 1);
    }
}
