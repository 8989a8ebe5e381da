//! Formats tables for the terminal: columns of fixed width become lines.
//!
//! If a terminal is too narrow, whole columns are omitted, the least important first; without a terminal, all columns
//! are kept. Each line can be printed before the next line is known.

/// A column of a table; the last column shown is not padded.
pub(super) struct Column {
    /// The heading of the column.
    pub heading: &'static str,
    /// The maximum width of the cells, in characters.
    pub width: usize,
    /// Whether the cells are right-aligned, as numbers are.
    pub right: bool,
    /// The columns with the greatest value are omitted first; columns with 0 are never omitted.
    pub spare: u8,
}

/// A table with the columns that fit into the width of the terminal.
pub(super) struct Table {
    columns: Vec<(usize, Column)>,
}

impl Column {
    /// Makes a column of text.
    pub(super) fn text(heading: &'static str, width: usize, spare: u8) -> Column {
        Column { heading, width: width.max(heading.len()), right: false, spare }
    }

    /// Makes a column of numbers.
    pub(super) fn number(heading: &'static str, width: usize, spare: u8) -> Column {
        Column { right: true, ..Column::text(heading, width, spare) }
    }
}

impl Table {
    /// Makes a table of at most `width` characters, provided that enough columns can be omitted.
    pub(super) fn new(columns: Vec<Column>, width: Option<usize>) -> Table {
        let mut columns: Vec<(usize, Column)> = columns.into_iter().enumerate().collect();
        let taken =
            |columns: &[(usize, Column)]| columns.iter().map(|(_, column)| column.width + 1).sum::<usize>();
        while width.is_some_and(|width| taken(&columns) > width + 1) {
            let Some(spare) = columns.iter().map(|(_, column)| column.spare).max().filter(|most| *most > 0)
            else {
                break;
            };
            columns.retain(|(_, column)| column.spare != spare);
        }
        Table { columns }
    }

    /// Returns the line of headings.
    pub(super) fn head(&self) -> String {
        self.join(self.columns.iter().map(|(_, column)| column.heading))
    }

    /// Returns a line of cells, given one cell for every column that [`Table::new`] received.
    pub(super) fn line(&self, cells: &[String]) -> String {
        self.join(self.columns.iter().map(|(place, _)| cells[*place].as_str()))
    }

    fn join<'a>(&self, cells: impl Iterator<Item = &'a str>) -> String {
        let filled = self.columns.iter().zip(cells).map(|((_, column), cell)| {
            if column.right {
                format!("{cell:>0$}", column.width)
            } else {
                format!("{cell:<0$}", column.width)
            }
        });
        filled.collect::<Vec<_>>().join(" ").trim_end().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_important_columns_are_left_out() {
        let lines = |width| {
            let columns = vec![
                Column::text("id", 4, 0),
                Column::number("size", 2, 2),
                Column::number("age", 3, 1),
                Column::text("by", 6, 3),
            ];
            let table = Table::new(columns, width);
            [table.head(), table.line(&["cage", "7", "12", "Steere"].map(String::from))]
        };
        assert_eq!(lines(None), ["id   size age by", "cage    7  12 Steere"]);
        assert_eq!(lines(Some(20)), lines(None));
        assert_eq!(lines(Some(19)), ["id   size age", "cage    7  12"]);
        assert_eq!(lines(Some(12)), ["id   age", "cage  12"]);
        assert_eq!(lines(Some(2)), ["id", "cage"]);
    }
}
