//! Points in the order in which their products and distances, with a new one or with each other, are fastest to compute.

use crate::linalg::matrix::Matrix;
use crate::linalg::simd::{VECTOR_LANES, dispatched};

/// The features of points, eight points after eight points, each block feature after feature; zeros pad the last block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockedPoints<T = f64> {
    /// The number of features.
    pub(crate) features: usize,
    /// Blocks of eight points, `features` rows of eight numbers each.
    pub(crate) values: Vec<T>,
}

impl<T> BlockedPoints<T> {
    /// From `columns`, feature after feature, each padded to `stride`, a multiple of eight; `of` rounds each number.
    pub(crate) fn new(columns: &[f64], stride: usize, of: impl Fn(f64) -> T) -> Self {
        let mut values = Vec::with_capacity(columns.len());
        for block in (0..stride).step_by(VECTOR_LANES) {
            for column in columns.chunks_exact(stride) {
                values.extend(column[block..block + VECTOR_LANES].iter().map(|&value| of(value)));
            }
        }
        Self { features: columns.len().checked_div(stride).unwrap_or(0), values }
    }
}

impl BlockedPoints {
    /// The rows of `x`, shape (n, features).
    pub(crate) fn of_rows(x: &Matrix) -> Self {
        let stride = x.row_count().next_multiple_of(VECTOR_LANES);
        let mut columns = vec![0.0; x.column_count() * stride];
        for i in 0..x.row_count() {
            for (column, value) in columns.chunks_exact_mut(stride).zip(x.row(i)) {
                column[i] = *value;
            }
        }
        Self::new(&columns, stride, |value| value)
    }

    /// ‖x_i − row‖²·`scale` into `distances` and x_i·row·`scale` into `products`, whose lengths are that of the points in whole lanes.
    pub(crate) fn relate(&self, row: &[f64], scale: f64, distances: &mut [f64], products: &mut [f64]) {
        relations_to(&self.values, row, scale, distances, products);
    }
}

dispatched! {
    /// [`Points::relate`] on padded points.
    pub(crate) fn relations_to(values: &[f64], row: &[f64], scale: f64, distances: &mut [f64], products: &mut [f64]) {
        let blocks = values.as_chunks::<VECTOR_LANES>().0;
        let (distances, products) = (distances.as_chunks_mut::<VECTOR_LANES>().0, products.as_chunks_mut::<VECTOR_LANES>().0);
        for (b, (distances, products)) in distances.iter_mut().zip(products).enumerate() {
            let (mut distance, mut product) = ([0.0; VECTOR_LANES], [0.0; VECTOR_LANES]);
            for (cells, x) in blocks[b * row.len()..(b + 1) * row.len()].iter().zip(row) {
                for l in 0..VECTOR_LANES {
                    distance[l] = (cells[l] - x).mul_add(cells[l] - x, distance[l]);
                    product[l] = cells[l].mul_add(*x, product[l]);
                }
            }
            for l in 0..VECTOR_LANES {
                distances[l] = scale * distance[l];
                products[l] = scale * product[l];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::with_each_instruction_set;

    #[test]
    fn a_new_row_relates_to_all_points_as_the_plain_loops_say() {
        for (n, d) in [(1, 0), (3, 1), (8, 2), (13, 5), (21, 8)] {
            let x = Matrix::from_fn(n, d, |i, j| ((i * 5 + j) as f64 * 0.7).sin());
            let row: Vec<f64> = (0..d).map(|j| (j as f64 * 1.3).cos()).collect();
            let points = BlockedPoints::of_rows(&x);
            let all = with_each_instruction_set(|| {
                let (mut half, mut half_product) = (vec![0.0; 24], vec![0.0; 24]);
                let padded = n.next_multiple_of(VECTOR_LANES);
                points.relate(&row, 0.5, &mut half[..padded], &mut half_product[..padded]);
                (half, half_product)
            });
            assert!(all.iter().all(|found| found == &all[0]), "n = {n}, d = {d}: instruction sets differ");
            for i in 0..n {
                let pairs = || x.row(i).iter().zip(&row);
                let distance: f64 = pairs().map(|(a, b)| (a - b).powi(2)).sum();
                let product: f64 = pairs().map(|(a, b)| a * b).sum();
                let (half, half_product) = &all[0];
                assert!((half[i] - distance / 2.0).abs() < 1e-13);
                assert!((half_product[i] - product / 2.0).abs() < 1e-13);
            }
        }
    }
}
