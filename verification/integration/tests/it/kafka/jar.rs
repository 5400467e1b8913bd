//! Files in a jar.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::DeflateDecoder;

/// The texts of the JSON files below `folder` of the jar, by name without the folder.
pub(super) fn texts(jar: &Path, folder: &str) -> BTreeMap<String, String> {
    let bytes = fs::read(jar).unwrap_or_else(|error| panic!("{}: {error}", jar.display()));
    let mut texts = BTreeMap::new();
    for entry in entries(&bytes) {
        if let Some(name) = entry.name.strip_prefix(folder).filter(|name| name.ends_with(".json")) {
            texts.insert(name.to_owned(), entry.text(&bytes));
        }
    }
    texts
}

/// A file, as the jar's directory has it.
struct JarEntry {
    name: String,
    is_compressed: bool,
    length: usize,
    header: usize,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> usize {
    let digits = &bytes[at..at + N];
    digits.iter().rev().fold(0, |number, digit| number << 8 | usize::from(*digit))
}

/// The directory, which stands at the end of the file (PKZIP's application note, 4.3.12 and 4.3.16).
fn entries(bytes: &[u8]) -> Vec<JarEntry> {
    let end = (0..bytes.len() - 21).rev().find(|at| bytes[*at..].starts_with(b"PK\x05\x06"));
    let end = end.expect("a jar ends with its directory");
    let (count, mut at) = (number::<2>(bytes, end + 10), number::<4>(bytes, end + 16));
    let mut entries = Vec::new();
    for _ in 0..count {
        let [name, extra, comment] = [28, 30, 32].map(|field| number::<2>(bytes, at + field));
        entries.push(JarEntry {
            name: String::from_utf8_lossy(&bytes[at + 46..at + 46 + name]).into_owned(),
            is_compressed: number::<2>(bytes, at + 10) == 8,
            length: number::<4>(bytes, at + 20),
            header: number::<4>(bytes, at + 42),
        });
        at += 46 + name + extra + comment;
    }
    entries
}

impl JarEntry {
    fn text(&self, bytes: &[u8]) -> String {
        let [name, extra] = [26, 28].map(|field| number::<2>(bytes, self.header + field));
        let begin = self.header + 30 + name + extra;
        let data = &bytes[begin..begin + self.length];
        let mut text = String::new();
        if self.is_compressed {
            DeflateDecoder::new(data).read_to_string(&mut text).expect("it is compressed text");
        } else {
            text.push_str(str::from_utf8(data).expect("it is text"));
        }
        text
    }
}
