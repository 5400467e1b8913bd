//! `access check`.

use std::path::PathBuf;

use clap::Args;
use kafka_assigner_access::{CallerName, Policy, Right};
use kafka_assigner_types::name::GroupName;
use serde::Serialize;

use super::token::caller;
use crate::command_error::CommandError;
use crate::output::{Output, Report, TextPage, TextTable};
use crate::pem::text_file;

/// Reads an access file, and shows what a caller may do by it.
#[derive(Debug, Args)]
pub(crate) struct CheckFile {
    /// The access file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show what this caller may do
    #[arg(long, value_name = "CALLER", value_parser = caller, requires = "group")]
    caller: Option<CallerName>,
    /// The group in which
    #[arg(long, value_name = "GROUP", value_parser = group, requires = "caller")]
    group: Option<GroupName>,
    #[command(flatten)]
    output: Output,
}

fn group(text: &str) -> Result<GroupName, String> {
    GroupName::new(text).map_err(|error| error.to_string())
}

/// An access file that can be used.
#[derive(Debug, Serialize)]
struct Checked {
    /// The number of its tokens.
    tokens: usize,
    /// The number of its rules.
    rules: usize,
    /// The rights of the caller that was asked about, in the order of the rights' declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    rights: Option<Vec<RightShown>>,
}

/// One right of the caller that was asked about.
#[derive(Debug, Serialize)]
struct RightShown {
    right: &'static str,
    allowed: bool,
}

impl Report for Checked {
    fn show(&self, page: &mut TextPage) {
        page.line(format!("the file can be used: {} tokens, {} rules", self.tokens, self.rules));
        let Some(rights) = &self.rights else { return };
        page.gap();
        let mut table = TextTable::new(["RIGHT", "ALLOWED"]);
        for RightShown { right, allowed } in rights {
            table.row([(*right).into(), (if *allowed { "yes" } else { "no" }).into()]);
        }
        page.table(table, "");
    }
}

impl CheckFile {
    /// Writes what the file says.
    ///
    /// # Errors
    /// [`CommandError::Unreadable`] for a file that can't be read or is no access file, [`CommandError::Output`].
    pub(super) fn run(self) -> Result<(), CommandError> {
        let text = text_file("FILE", &self.file)?;
        let policy = Policy::parse(&text).map_err(|invalid| CommandError::Unreadable {
            flag: "FILE",
            path: self.file.clone(),
            source: std::io::Error::other(invalid),
        })?;
        let (tokens, rules) = policy.size();
        let rights = self.caller.as_ref().zip(self.group.as_ref()).map(|(caller, group)| {
            let shown = |right: Right| RightShown {
                right: right.as_str(),
                allowed: policy.check(caller, right, group).is_ok(),
            };
            Right::ALL.map(shown).into()
        });
        self.output.write(&Checked { tokens, rules, rights })
    }
}
