//! Strategies.

use serde::Serialize;

use crate::output::{Page, Report, Table};

/// The strategies that this version has.
#[derive(Debug, Serialize)]
pub(crate) struct Strategies {
    /// The default one first.
    pub(crate) strategies: Vec<Strategy>,
}

/// A strategy.
#[derive(Debug, Serialize)]
pub(crate) struct Strategy {
    /// What it is chosen by.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) summary: &'static str,
}

impl Report for Strategies {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(["STRATEGY", "WHAT IT DOES"]);
        for strategy in &self.strategies {
            table.row([strategy.name.into(), strategy.summary.into()]);
        }
        page.table(table, "no strategies");
    }
}
