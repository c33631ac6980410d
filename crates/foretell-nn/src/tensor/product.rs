//! Products of matrices on the processor, by the crate `matrixmultiply`; the only `unsafe` of this crate.

/// A matrix, seen in place.
#[derive(Clone, Copy)]
pub(crate) struct MatrixView<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    /// Steps to the next row and to the next column.
    strides: [usize; 2],
}

impl<'a> MatrixView<'a> {
    /// The matrix of these values, row after row.
    pub(crate) fn new(values: &'a [f32], [rows, columns]: [usize; 2]) -> Self {
        assert_eq!(values.len(), rows * columns, "a matrix has rows · columns values");
        Self { values, rows, columns, strides: [columns, 1] }
    }

    /// Exchanges rows and columns, without a copy.
    pub(crate) fn transpose(self) -> Self {
        let [row, column] = self.strides;
        Self { rows: self.columns, columns: self.rows, strides: [column, row], ..self }
    }
}

/// a · b, row after row.
pub(crate) fn product(a: MatrixView<'_>, b: MatrixView<'_>) -> Vec<f32> {
    let mut made = vec![0.0; a.rows * b.columns];
    multiply(a, b, 0.0, &mut made);
    made
}

/// Puts a · b + `kept` · `to` into `to`, row after row. With `kept` 0 it does not matter what was in `to`.
#[allow(unsafe_code, reason = "the crate takes pointers; the sizes are checked here")]
pub(crate) fn multiply(a: MatrixView<'_>, b: MatrixView<'_>, kept: f32, to: &mut [f32]) {
    assert_eq!(a.columns, b.rows, "the columns of a match the rows of b");
    assert_eq!(to.len(), a.rows * b.columns, "the shape of the product is the rows of a by the columns of b");
    let [[a_row, a_column], [b_row, b_column]] = [a.strides, b.strides].map(|s| s.map(|s| s as isize));
    // SAFETY: a matrix has rows · columns values, and its strides are (columns, 1) or, exchanged with them, (1, rows): the last value
    // that is read is its last one. `to` has rows · columns values, is written row after row, and is borrowed by nobody else.
    unsafe {
        matrixmultiply::sgemm(
            a.rows,
            a.columns,
            b.columns,
            1.0,
            a.values.as_ptr(),
            a_row,
            a_column,
            b.values.as_ptr(),
            b_row,
            b_column,
            kept,
            to.as_mut_ptr(),
            b.columns as isize,
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(count: usize, seed: f32) -> Vec<f32> {
        (0..count).map(|i| (i as f32 * 0.7 + seed).sin()).collect()
    }

    proptest! {
        #[test]
        fn products_are_the_sums_written_out(
            (rows, inner, columns) in (0_usize..40, 0_usize..40, 0_usize..40),
            (a_turned, b_turned) in any::<(bool, bool)>(),
            kept in prop_oneof![Just(0.0_f32), Just(1.0)],
        ) {
            let (a, b) = (values(rows * inner, 0.1), values(inner * columns, 0.6));
            let matrix = |values, [rows, columns]: [usize; 2], turned| match turned {
                true => MatrixView::new(values, [columns, rows]).transpose(),
                false => MatrixView::new(values, [rows, columns]),
            };
            let entry = |values: &[f32], [rows, columns]: [usize; 2], turned, row: usize, column: usize| {
                values[if turned { column * rows + row } else { row * columns + column }]
            };
            let start = if kept > 0.0 { values(rows * columns, 0.3) } else { vec![f32::NAN; rows * columns] };
            let mut found = start.clone();
            multiply(matrix(&a, [rows, inner], a_turned), matrix(&b, [inner, columns], b_turned), kept, &mut found);
            for (place, &found) in found.iter().enumerate() {
                let (row, column) = (place / columns, place % columns);
                let sum: f32 = (0..inner)
                    .map(|k| entry(&a, [rows, inner], a_turned, row, k) * entry(&b, [inner, columns], b_turned, k, column))
                    .sum();
                let expected = sum + if kept > 0.0 { start[place] } else { 0.0 };
                prop_assert!((found - expected).abs() < 1e-4, "{} instead of {}", found, expected);
            }
        }
    }
}
