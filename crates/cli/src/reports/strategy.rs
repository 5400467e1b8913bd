//! Strategies.

use serde::Serialize;

use crate::output::{Report, TextPage, TextTable};

/// The strategies that this version has.
#[derive(Debug, Serialize)]
pub(crate) struct StrategyList {
    pub(crate) strategies: Vec<StrategyEntry>,
}

/// A strategy.
#[derive(Debug, Serialize)]
pub(crate) struct StrategyEntry {
    /// The name by which it is chosen.
    pub(crate) name: &'static str,
    /// True if new groups have it by default.
    pub(crate) default: bool,
    /// The description.
    pub(crate) summary: &'static str,
}

impl Report for StrategyList {
    fn show(&self, page: &mut TextPage) {
        let mut table = TextTable::new(["STRATEGY", "DEFAULT", "WHAT IT DOES"]).overflowing();
        for strategy in &self.strategies {
            let default = if strategy.default { "yes" } else { "-" };
            table.row([strategy.name.into(), default.into(), strategy.summary.into()]);
        }
        page.table(table, "no strategies");
    }
}
