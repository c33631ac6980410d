//! A dense row-major matrix of `f64`: rows are runs, columns are features, unless a doc says otherwise.

/// A dense matrix, stored row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros, shape `(rows, columns)`.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }

    /// A matrix whose entry (i, j) is `entry(i, j)`.
    pub fn from_fn(rows: usize, columns: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut matrix = Self::zeros(rows, columns);
        for i in 0..rows {
            for (j, cell) in matrix.row_mut(i).iter_mut().enumerate() {
                *cell = entry(i, j);
            }
        }
        matrix
    }

    /// A matrix from rows of equal length.
    ///
    /// # Panics
    /// If the rows differ in length.
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Self {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        let mut data = Vec::with_capacity(rows.len() * columns);
        for row in rows {
            assert_eq!(row.as_ref().len(), columns, "rows of a matrix must have equal length");
            data.extend_from_slice(row.as_ref());
        }
        Self { rows: rows.len(), columns, data }
    }

    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn column_count(&self) -> usize {
        self.columns
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// Row `i`, to be changed.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.columns..(i + 1) * self.columns]
    }

    /// Column `j`, copied.
    pub fn column(&self, j: usize) -> Vec<f64> {
        (0..self.rows).map(|i| self.row(i)[j]).collect()
    }

    /// The rows `indices`, in that order, copied.
    #[must_use]
    pub fn select_rows(&self, indices: &[usize]) -> Self {
        let mut data = Vec::with_capacity(indices.len() * self.columns);
        for &i in indices {
            data.extend_from_slice(self.row(i));
        }
        Self { rows: indices.len(), columns: self.columns, data }
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, row after row, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }
}
