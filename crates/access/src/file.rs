//! The file of tokens and rules.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;

use crate::caller::CallerName;
use crate::limits::Limits;
use crate::pattern::{MemberPattern, Pattern};
use crate::policy::{AccessRule, Policy};
use crate::right::Right;
use crate::token::TokenHash;

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 4 * 1024 * 1024;

/// The most tokens: a few for each of thousands of services.
const MOST_TOKENS: usize = 10_000;

/// The most rules and patterns in one list of a rule: each call goes through all of them.
const MOST_RULES: usize = 1_000;
const MOST_PATTERNS: usize = 100;

/// A file that is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPolicy {
    /// It is longer than any.
    #[error("it has {bytes} bytes: at most {LARGEST_FILE} are read")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// It is no TOML, or has other fields, or values that break their rules.
    #[error("line {line}: {message}")]
    Malformed {
        /// The line of the file; the first is 1. It is not shown: it may hold a token.
        line: usize,
        /// The rule that is broken.
        message: String,
    },
    /// It has more entries than it may.
    #[error("it has {count} {what}: at most {most} are allowed")]
    TooMany {
        /// The kind of entries.
        what: &'static str,
        /// The number of them.
        count: usize,
        /// The most that are allowed.
        most: usize,
    },
    /// A list that allows nothing.
    #[error("rule {number} has no {list}: it would allow nothing")]
    Empty {
        /// The place of the rule in the file; the first is 1.
        number: usize,
        /// The list that is empty.
        list: &'static str,
    },
    /// It has no rule: that allows nobody anything, and is what a file looks like that is being written.
    #[error("it has no [[rule]]: nobody could do anything")]
    NoRules,
    /// Two entries with one token.
    #[error("the tokens of {first} and {second} are the same: a token has one holder")]
    SharedToken {
        /// One caller.
        first: CallerName,
        /// The other caller.
        second: CallerName,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    #[serde(default)]
    token: Vec<TokenEntry>,
    #[serde(default)]
    rule: Vec<RuleEntry>,
    #[serde(default)]
    limit: Vec<LimitEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    caller: CallerName,
    sha256: TokenHash,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    callers: Vec<Pattern>,
    groups: Vec<Pattern>,
    rights: BTreeSet<Right>,
    #[serde(default = "all_names")]
    members: Vec<MemberPattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitEntry {
    callers: Vec<Pattern>,
    calls_per_second: Option<u32>,
    streams: Option<u32>,
    watches: Option<u32>,
}

fn all_names() -> Vec<MemberPattern> {
    vec![MemberPattern::all()]
}

impl Policy {
    /// Reads a policy from the text of its file.
    ///
    /// # Errors
    /// [`InvalidPolicy`] with the value and the rule that it breaks, or the line where it is no TOML.
    pub fn parse(text: &str) -> Result<Self, InvalidPolicy> {
        if text.len() > LARGEST_FILE {
            return Err(InvalidPolicy::TooLarge { bytes: text.len() });
        }
        let file: PolicyFile = toml::from_str(text).map_err(|error| malformed(text, &error))?;
        at_most("tokens", file.token.len(), MOST_TOKENS)?;
        if file.rule.is_empty() {
            return Err(InvalidPolicy::NoRules);
        }
        at_most("rules", file.rule.len(), MOST_RULES)?;
        at_most("limits", file.limit.len(), MOST_RULES)?;
        let limits = file.limit.into_iter().map(limit).collect::<Result<_, _>>()?;
        Ok(Self { tokens: tokens(file.token)?, rules: rules(file.rule)?, limits })
    }
}

fn malformed(text: &str, error: &toml::de::Error) -> InvalidPolicy {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    InvalidPolicy::Malformed { line: before.matches('\n').count() + 1, message: error.message().to_owned() }
}

fn tokens(entries: Vec<TokenEntry>) -> Result<HashMap<TokenHash, CallerName>, InvalidPolicy> {
    let mut tokens = HashMap::with_capacity(entries.len());
    for TokenEntry { caller, sha256 } in entries {
        let second = caller.clone();
        if let Some(first) = tokens.insert(sha256, caller) {
            return Err(InvalidPolicy::SharedToken { first, second });
        }
    }
    Ok(tokens)
}

fn rules(entries: Vec<RuleEntry>) -> Result<Vec<AccessRule>, InvalidPolicy> {
    (1..).zip(entries).map(|(number, entry)| rule(number, entry)).collect()
}

fn rule(number: usize, entry: RuleEntry) -> Result<AccessRule, InvalidPolicy> {
    let RuleEntry { callers, groups, rights, members } = entry;
    let lists = [
        ("callers", callers.len()),
        ("groups", groups.len()),
        ("rights", rights.len()),
        ("members", members.len()),
    ];
    for (list, count) in lists {
        if count == 0 {
            return Err(InvalidPolicy::Empty { number, list });
        }
        at_most("patterns in one list", count, MOST_PATTERNS)?;
    }
    Ok(AccessRule { callers, groups, rights, members })
}

fn limit(entry: LimitEntry) -> Result<(Vec<Pattern>, Limits), InvalidPolicy> {
    let LimitEntry { callers, calls_per_second, streams, watches } = entry;
    at_most("patterns in one list", callers.len(), MOST_PATTERNS)?;
    Ok((callers, Limits { calls_per_second, streams, watches }))
}

const fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), InvalidPolicy> {
    if count <= most { Ok(()) } else { Err(InvalidPolicy::TooMany { what, count, most }) }
}

#[cfg(test)]
#[path = "file_test.rs"]
mod file_test;
