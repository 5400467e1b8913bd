//! Tables as tools print them; pure.

use std::collections::BTreeMap;

/// The table of a group: the columns in their order, and the rows by column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupTable {
    columns: Vec<String>,
    /// Sorted, since Kafka's tools print some of them as they come.
    rows: Vec<BTreeMap<String, String>>,
}

/// A heading that has a space in it, and the same one without.
const SPACED: (&str, &str) = ("COORDINATOR (ID)", "COORDINATOR_(ID)");

impl GroupTable {
    /// The table in `text`, from its headings to its last row, which begins with the group as all of them do.
    pub(super) fn read(text: &str, group: &str) -> Self {
        let mut lines = text.lines().skip_while(|line| !line.starts_with("GROUP "));
        let heads = lines.next().unwrap_or_default().replace(SPACED.0, SPACED.1);
        let columns: Vec<&str> = heads.split_whitespace().collect();
        let starts: Vec<usize> = columns.iter().filter_map(|column| start(&heads, column)).collect();
        let rows = lines.take_while(|line| line.starts_with(group));
        let mut rows: Vec<_> = rows.map(|line| cells(line, &columns, &starts)).collect();
        rows.sort();
        Self { columns: columns.into_iter().map(str::to_owned).collect(), rows }
    }

    /// The number of fields.
    pub(super) fn fields(&self) -> usize {
        self.rows.iter().map(BTreeMap::len).sum()
    }
}

/// The place of a heading as a word of its own: `EPOCH` is also a part of others.
fn start(heads: &str, column: &str) -> Option<usize> {
    let is_word = |at: &usize| {
        let before = heads[..*at].chars().next_back().is_none_or(char::is_whitespace);
        let after = heads[at + column.len()..].chars().next().is_none_or(char::is_whitespace);
        before && after
    };
    heads.match_indices(column).map(|(at, _)| at).find(is_word)
}

fn cells(line: &str, columns: &[&str], starts: &[usize]) -> BTreeMap<String, String> {
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let cell = |(start, end): (usize, usize)| {
        line.get(start..end.max(start).min(line.len())).unwrap_or_default().trim().to_owned()
    };
    let cells = starts.iter().copied().zip(ends).map(cell);
    columns.iter().map(|column| (*column).to_owned()).zip(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KAFKAS: &str = "\n\
        GROUP           COORDINATOR (ID)          STATE     EPOCH GROUP-EPOCH\n\
        orders          127.0.0.1:9092  (1)       Stable    3     7\n\n";

    #[test]
    fn a_table_is_read_whatever_its_widths_and_its_neighbours() {
        let ours = "a sentence\n\
            GROUP   COORDINATOR (ID)     STATE   EPOCH  GROUP-EPOCH\n\
            orders  127.0.0.1:9092  (1)  Stable  3      7\n\
            lag 3 in 1 partitions\n";
        let table = GroupTable::read(ours, "orders");
        assert_eq!(table, GroupTable::read(KAFKAS, "orders"));
        assert_eq!((table.fields(), table.rows[0]["COORDINATOR_(ID)"].as_str()), (5, "127.0.0.1:9092  (1)"));
        assert_eq!((table.rows[0]["EPOCH"].as_str(), table.rows[0]["GROUP-EPOCH"].as_str()), ("3", "7"));
    }

    #[test]
    fn another_value_another_column_or_another_row_is_another_table() {
        let table = GroupTable::read(KAFKAS, "orders");
        for other in [
            KAFKAS.replace("Stable", "Empty "),
            KAFKAS.replace("STATE", "STAND"),
            KAFKAS
                .replace("     7\n", "     7\norders          127.0.0.1:9092  (1)       Stable    3     8\n"),
        ] {
            assert_ne!(GroupTable::read(&other, "orders"), table, "{other}");
        }
        assert_eq!(GroupTable::read("nothing", "orders").fields(), 0);
    }

    #[test]
    fn rows_count_in_any_order() {
        let rows = |first: &str, second: &str| format!("GROUP  N\norders {first}\norders {second}\n");
        assert_eq!(GroupTable::read(&rows("1", "2"), "orders"), GroupTable::read(&rows("2", "1"), "orders"));
    }
}
