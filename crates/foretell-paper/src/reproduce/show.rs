//! The display of measurements by a program.

/// Lays rows out below their headings.
pub type TableLayout = fn(&[&str], &[Vec<String>]) -> String;

/// The display of measurements by a program.
#[derive(Clone, Copy, Debug)]
pub struct DisplayOptions {
    /// Prints a line of progress.
    pub note: fn(&str),
    /// Lays out a table.
    pub table: TableLayout,
}

#[cfg(test)]
impl DisplayOptions {
    /// Notes nothing, and separates cells by bars.
    pub(super) const SILENT: Self = Self {
        note: |_| {},
        table: |headings, rows| {
            let lines = rows.iter().map(|row| row.join(" | "));
            [headings.join(" | ")].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
        },
    };
}
