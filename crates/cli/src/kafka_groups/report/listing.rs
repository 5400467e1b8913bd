//! The list of groups.

use crate::kafka_groups::view::listing::KafkaGroupsList;
use crate::output::{Report, TextPage, TextTable};

use super::or_dash;

impl Report for KafkaGroupsList {
    fn show(&self, page: &mut TextPage) {
        let mut table = TextTable::new(["GROUP", "TYPE", "PROTOCOL", "STATE"]);
        for group in &self.groups {
            table.row([
                (&group.group).into(),
                (&group.kind).into(),
                (&group.protocol).into(),
                or_dash(group.state.as_ref()),
            ]);
        }
        page.table(table, "no groups");
        for missing in &self.missing {
            page.line(format!("the groups of {} are missing: {}", missing.broker, missing.why));
        }
    }
}
