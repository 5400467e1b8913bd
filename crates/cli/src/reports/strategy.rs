//! Strategies.

use serde::Serialize;

use crate::output::{Page, Report, Table};

/// The strategies that this version has.
#[derive(Debug, Serialize)]
pub(crate) struct Strategies {
    pub(crate) strategies: Vec<Strategy>,
}

/// A strategy.
#[derive(Debug, Serialize)]
pub(crate) struct Strategy {
    /// What it is chosen by.
    pub(crate) name: &'static str,
    /// Whether new groups have it unless told otherwise.
    pub(crate) default: bool,
    /// What it does.
    pub(crate) summary: &'static str,
}

impl Report for Strategies {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(["STRATEGY", "DEFAULT", "WHAT IT DOES"]).overflowing();
        for strategy in &self.strategies {
            let default = if strategy.default { "yes" } else { "-" };
            table.row([strategy.name.into(), default.into(), strategy.summary.into()]);
        }
        page.table(table, "no strategies");
    }
}
