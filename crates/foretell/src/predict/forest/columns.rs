//! Training columns, ranked once: trees split between ranks, and all forests of a search share them.

use crate::linalg::matrix::Matrix;

/// The columns of a training matrix, shape (n, d), column after column, with the rank of each value among the distinct
/// values of its column.
///
/// Values closer than [`Columns::RANK_RESOLUTION`] of the column's range share a rank, so that rounding (of differences, or of
/// a metric in another unit) cannot make a split.
pub(super) struct RankedColumns {
    n: usize,
    values: Vec<f64>,
    ranks: Vec<u16>,
    /// Least and largest value of each rank, at `column · n + rank`.
    limits: Vec<[f64; 2]>,
    resolutions: Vec<f64>,
}

impl RankedColumns {
    /// The share of a column's range below which two values count as equal.
    const RANK_RESOLUTION: f64 = 1e-10;

    /// Ranks the columns of `x`: O(d·n·log n). Beyond 65 536 distinct values the largest share the last rank.
    pub(super) fn new(x: &Matrix) -> Self {
        let (n, d) = (x.row_count(), x.column_count());
        let mut columns = Self {
            n,
            values: vec![0.0; n * d],
            ranks: vec![0; n * d],
            limits: vec![[0.0; 2]; n * d],
            resolutions: vec![0.0; d],
        };
        for i in 0..n {
            for (j, &value) in x.row(i).iter().enumerate() {
                columns.values[j * n + i] = value;
            }
        }
        for j in 0..d {
            columns.rank(j);
        }
        columns
    }

    fn rank(&mut self, column: usize) {
        let span = column * self.n..(column + 1) * self.n;
        let values = &self.values[span.clone()];
        let (ranks, limits) = (&mut self.ranks[span.clone()], &mut self.limits[span]);
        let mut order: Vec<usize> = (0..self.n).collect();
        order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
        let (Some(&first), Some(&last)) = (order.first(), order.last()) else { return };
        let resolution = Self::RANK_RESOLUTION * (values[last] - values[first]);
        let (mut rank, mut before) = (0_u16, values[first]);
        limits[0] = [before; 2];
        for &i in &order {
            if values[i] - before > resolution && rank < u16::MAX {
                rank += 1;
                limits[usize::from(rank)] = [values[i]; 2];
            }
            before = values[i];
            limits[usize::from(rank)][1] = before;
            ranks[i] = rank;
        }
        self.resolutions[column] = resolution;
    }

    pub(super) fn rows(&self) -> usize {
        self.n
    }

    /// The number of columns.
    pub(super) fn width(&self) -> usize {
        self.resolutions.len()
    }

    /// The values of a column, row by row.
    pub(super) fn values(&self, column: usize) -> &[f64] {
        &self.values[column * self.n..(column + 1) * self.n]
    }

    /// The ranks of a column, row by row: 0 for the least value.
    pub(super) fn ranks(&self, column: usize) -> &[u16] {
        &self.ranks[column * self.n..(column + 1) * self.n]
    }

    /// The ranks of all columns, column after column.
    pub(super) fn all_ranks(&self) -> &[u16] {
        &self.ranks
    }

    /// Below this difference two values of a column count as equal.
    pub(super) fn resolution(&self, column: usize) -> f64 {
        self.resolutions[column]
    }

    /// The middle between the values of two ranks, `below < above`; never the upper value itself.
    pub(super) fn split_threshold(&self, column: usize, below: usize, above: usize) -> f64 {
        let limits = &self.limits[column * self.n..];
        let ([_, low], [high, _]) = (limits[below], limits[above]);
        let middle = low + (high - low) / 2.0;
        if middle < high { middle } else { low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_rank_and_thresholds_lie_between() {
        let x = Matrix::from_rows(&[[3.0], [1.0], [3.0 + 1e-12], [2.0]]);
        let columns = RankedColumns::new(&x);
        assert_eq!(columns.ranks(0), [2, 0, 2, 1]);
        assert_eq!((columns.split_threshold(0, 0, 1), columns.split_threshold(0, 0, 2)), (1.5, 2.0));
    }

    #[test]
    fn neighboring_floats_are_separated_by_the_lower_one() {
        let upper = 1.0 + f64::EPSILON;
        let columns = RankedColumns::new(&Matrix::from_rows(&[[1.0], [upper]]));
        let threshold = columns.split_threshold(0, 0, 1);
        assert!((1.0..upper).contains(&threshold));
    }
}
