//! Features of runs in groups, and the quantities that kernels need for every pair of runs.

use crate::linalg::matrix::Matrix;
use crate::linalg::simd::{VECTOR_LANES, dot, inner_products, squared_distances};
use crate::predict::gp::pairs::{GROUP_COUNT, KernelPairs};
use crate::predict::points::BlockedPoints;
use std::ops::Range;

/// The place of the configuration among them.
pub(crate) const CONFIGURATION_GROUP: usize = 2;

/// Features of runs, and what kernels need of every pair: D_g, the squared distance, and L_g, the inner product, in each
/// group of features, both divided by the group's dimension.
pub(crate) struct KernelDesign {
    pub(super) n: usize,
    pub(super) stride: usize,
    /// The columns of each group, shape (n, dimension).
    pub(super) features: [Matrix; GROUP_COUNT],
    /// The columns as a new run is compared with them.
    points: [BlockedPoints; GROUP_COUNT],
    pub(super) distances: [Vec<f64>; GROUP_COUNT],
    pub(super) products: [Vec<f64>; GROUP_COUNT],
}

impl KernelDesign {
    /// The design of standardized `rows`, shape (n, features), whose groups stand at `groups`.
    pub(crate) fn new(rows: &Matrix, groups: &[Range<usize>; GROUP_COUNT]) -> Self {
        let n = rows.row_count();
        let stride = n.next_multiple_of(VECTOR_LANES);
        let features =
            groups.clone().map(|group| Matrix::from_fn(n, group.len(), |i, j| rows.row(i)[group.start + j]));
        let mut distances =
            [vec![0.0; stride * stride], vec![0.0; stride * stride], vec![0.0; stride * stride]];
        let mut products = distances.clone();
        for g in 0..GROUP_COUNT {
            let d = features[g].column_count();
            let x = features[g].as_slice();
            squared_distances(x, x, d, stride, &mut distances[g]);
            inner_products(x, x, d, stride, &mut products[g]);
            scale_values(&mut distances[g], 1.0 / d.max(1) as f64);
            scale_values(&mut products[g], 1.0 / d.max(1) as f64);
        }
        let points = features.each_ref().map(BlockedPoints::of_rows);
        Self { n, stride, features, points, distances, products }
    }

    /// The quantities that kernels need for every pair.
    pub(super) fn pairs(&self) -> KernelPairs<'_> {
        let [d0, d1, d2] = &self.distances;
        let [l0, l1, l2] = &self.products;
        KernelPairs { distances: [d0, d1, d2], products: [l0, l1, l2], stride: self.stride }
    }

    /// The number of runs.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// D_g between runs `i` and `j`.
    pub(crate) fn distance(&self, g: usize, i: usize, j: usize) -> f64 {
        self.distances[g][i * self.stride + j]
    }

    /// The dimension of group `g`.
    pub(crate) fn dimension(&self, g: usize) -> usize {
        self.features[g].column_count()
    }

    /// D_g and L_g between a new `row` and every run, and L_g of the row with itself.
    pub(crate) fn relate(&self, row: &[f64]) -> RunRelation {
        let mut numbers = vec![0.0; 2 * GROUP_COUNT * self.stride];
        let (distances, products) = numbers.split_at_mut(GROUP_COUNT * self.stride);
        let mut own = [0.0; GROUP_COUNT];
        let mut rest = row;
        for (g, own) in own.iter_mut().enumerate() {
            let (group, after) = rest.split_at(self.features[g].column_count());
            rest = after;
            let share = 1.0 / group.len().max(1) as f64;
            let part = g * self.stride..(g + 1) * self.stride;
            self.points[g].relate(group, share, &mut distances[part.clone()], &mut products[part]);
            *own = share * dot(group, group);
        }
        RunRelation { n: self.n, stride: self.stride, numbers, own }
    }

    /// The design of the runs `indices`.
    pub(super) fn select(&self, indices: &[usize]) -> Self {
        let n = indices.len();
        let stride = n.next_multiple_of(VECTOR_LANES);
        let [distances, products] = [&self.distances, &self.products].map(|matrices| {
            matrices.each_ref().map(|matrix| {
                let mut selected = vec![0.0; stride * stride];
                for (a, &i) in indices.iter().enumerate() {
                    for (b, &j) in indices.iter().enumerate() {
                        selected[a * stride + b] = matrix[i * self.stride + j];
                    }
                }
                selected
            })
        });
        let features = [0, 1, 2].map(|g| self.features[g].select_rows(indices));
        Self {
            n,
            stride,
            points: features.each_ref().map(BlockedPoints::of_rows),
            features,
            distances,
            products,
        }
    }
}

fn scale_values(values: &mut [f64], factor: f64) {
    values.iter_mut().for_each(|value| *value *= factor);
}

/// The quantities that kernels need for a new run and the runs of a [`KernelDesign`].
pub(crate) struct RunRelation {
    /// The number of runs, and that rounded up to whole lanes.
    n: usize,
    pub(super) stride: usize,
    /// D_g of each group, then L_g of each, `stride` numbers a group.
    numbers: Vec<f64>,
    /// L_g of the new run with itself.
    pub(super) own: [f64; GROUP_COUNT],
}

impl RunRelation {
    /// D_g to each run, for every group g.
    pub(crate) fn distances(&self) -> [&[f64]; GROUP_COUNT] {
        [0, 1, 2].map(|g| self.part(g))
    }

    /// The quantities that kernels need for the new run and every run.
    pub(super) fn pairs(&self) -> KernelPairs<'_> {
        KernelPairs { distances: self.distances(), products: self.products(), stride: self.stride }
    }

    /// L_g with each run, for every group g.
    fn products(&self) -> [&[f64]; GROUP_COUNT] {
        [3, 4, 5].map(|part| self.part(part))
    }

    fn part(&self, part: usize) -> &[f64] {
        &self.numbers[part * self.stride..part * self.stride + self.n]
    }
}
