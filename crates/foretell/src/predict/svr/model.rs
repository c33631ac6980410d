//! A fitted ν-SVR: f(x) = Σ β_i k(x_i, x) + b on standardized features.

use super::parameters::{Kernel, SearchChoice, SvrParameters};
use super::scaling::{ColumnMoments, ScaledDesign};
use crate::curves::configuration::FeatureGroup;
use crate::curves::training::RunQuery;
use crate::features::paper::{FeatureSet, TargetScaler};
use crate::linalg::simd::{VECTOR_LANES, dispatched, dot, exp2_rough_body, sum_lanes};
use crate::predict::forecast::Forecast;
use crate::predict::predictor::Model;

/// The solution of the solver on standardized targets.
#[derive(Clone, Debug)]
pub(super) struct DualSolution {
    /// β = α − α*.
    pub(super) beta: Vec<f64>,
    /// Whether the tube is closed, ε = 0.
    pub(super) closed: bool,
    pub(super) bias: f64,
}

/// The result of a fit, before it becomes a model.
pub(super) struct FittedSvr {
    pub(super) choice: SearchChoice,
    /// The number of columns it saw.
    pub(super) columns: usize,
    pub(super) solution: DualSolution,
    pub(super) target: TargetScaler,
    pub(super) held_out: Vec<f64>,
    pub(super) sigma: f64,
}

/// Σ β_i k(x_i, ·), ready to be evaluated: support vectors only, or for the linear kernel one weight a column.
#[derive(Clone, Debug)]
pub(super) enum KernelExpansion {
    Rbf {
        gamma: f64,
        /// β of the support vectors, padded with zeros.
        beta: Vec<f64>,
        /// Support vectors, column after column, each padded to the length of `beta`.
        columns: Vec<f64>,
    },
    Linear {
        /// w, one per column.
        weights: Vec<f64>,
    },
}

impl KernelExpansion {
    /// The expansion of a fit on `scaled`.
    pub(super) fn new(kernel: Kernel, scaled: &ScaledDesign, fitted: &FittedSvr) -> Self {
        let columns = scaled.leading(fitted.columns).chunks(scaled.stride.max(1));
        let (beta, gamma) = (&fitted.solution.beta, fitted.choice.parameters.gamma);
        if kernel == Kernel::Linear {
            let weights = columns.map(|column| dot(&column[..beta.len()], beta));
            return Self::Linear { weights: weights.collect() };
        }
        let support: Vec<usize> = (0..beta.len()).filter(|&i| beta[i].abs() > 0.0).collect();
        let width = support.len().next_multiple_of(TILE_BLOCKS * VECTOR_LANES);
        let columns = columns.flat_map(|column| select_padded(column, &support, width)).collect();
        Self::Rbf { gamma, beta: select_padded(beta, &support, width).collect(), columns }
    }

    /// Σ β_i k(x_i, row) for a standardized row. O(support vectors · columns), or O(columns) for the linear kernel.
    pub(super) fn value_at(&self, row: &[f64]) -> f64 {
        match self {
            Self::Linear { weights } => dot(weights, row),
            Self::Rbf { gamma, beta, columns } => {
                expand(columns, beta, row, gamma * std::f64::consts::LOG2_E)
            }
        }
    }
}

/// The values at `support`, padded with zeros to `width`.
fn select_padded(values: &[f64], support: &[usize], width: usize) -> impl Iterator<Item = f64> {
    let selected = support.iter().map(|&i| values[i]);
    selected.chain(std::iter::repeat_n(0.0, width - support.len()))
}

/// Blocks of eight points whose distances stay in registers together.
const TILE_BLOCKS: usize = 4;

dispatched! {
    /// Σ_i β_i·2^(−rate·‖x_i − row‖²), `columns` holding the x_i column after column, as long as `beta` each: whole tiles.
    pub(crate) fn expand(columns: &[f64], beta: &[f64], row: &[f64], rate: f64) -> f64 {
        let tiles = beta.as_chunks::<VECTOR_LANES>().0.as_chunks::<TILE_BLOCKS>().0;
        let mut sum = [0.0; VECTOR_LANES];
        for (tile, betas) in tiles.iter().enumerate() {
            let mut distance = [[0.0; VECTOR_LANES]; TILE_BLOCKS];
            for (column, value) in columns.chunks_exact(beta.len()).zip(row) {
                let points = &column.as_chunks::<VECTOR_LANES>().0.as_chunks::<TILE_BLOCKS>().0[tile];
                for u in 0..TILE_BLOCKS {
                    for l in 0..VECTOR_LANES {
                        let difference = points[u][l] - value;
                        distance[u][l] = difference.mul_add(difference, distance[u][l]);
                    }
                }
            }
            // over slices, not lanes: what the compiler vectorizes 2^x in
            let mut kernel = [0.0; TILE_BLOCKS * VECTOR_LANES];
            for (k, d) in kernel.iter_mut().zip(distance.as_flattened()) {
                *k = exp2_rough_body(-rate * d);
            }
            for (k, b) in kernel.as_chunks::<VECTOR_LANES>().0.iter().zip(betas) {
                for l in 0..VECTOR_LANES {
                    sum[l] = b[l].mul_add(k[l], sum[l]);
                }
            }
        }
        sum_lanes(sum)
    }
}

/// A fitted ν-SVR.
#[derive(Clone, Debug)]
pub struct SvrModel {
    pub(super) choice: SearchChoice,
    pub(super) features: FeatureSet,
    pub(super) groups: Vec<FeatureGroup>,
    /// The number of epochs of the curve that are features.
    pub(super) epochs: usize,
    pub(super) columns: ColumnMoments,
    pub(super) expansion: KernelExpansion,
    pub(super) target: TargetScaler,
    pub(super) sigma: f64,
    pub(super) beta: Vec<f64>,
    pub(super) bias: f64,
    pub(super) held_out: Vec<Forecast>,
}

impl SvrModel {
    /// The hyperparameters the search chose.
    pub fn parameters(&self) -> SvrParameters {
        self.choice.parameters
    }

    /// The choice of the search.
    pub fn choice(&self) -> SearchChoice {
        self.choice
    }

    /// σ(τ): the root mean square of the leave-one-out residuals, in units of the score.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// β = α − α*, one per training run, for standardized targets: |β| ≤ C, Σβ = 0, Σ|β| ≤ C·ν·n.
    pub fn coefficients(&self) -> &[f64] {
        &self.beta
    }

    /// Puts the parts per training run back in the order of the runs; `order[k]` is the run that was taken k-th.
    pub(super) fn put_back(&mut self, order: &[usize]) {
        let (beta, held_out) = (self.beta.clone(), self.held_out.clone());
        for ((&i, b), forecast) in order.iter().zip(beta).zip(held_out) {
            self.beta[i] = b;
            self.held_out[i] = forecast;
        }
    }

    /// Appends the standardized features of `query` to `row`: configuration, then epoch after epoch.
    fn append_standardized(&self, query: &RunQuery<'_>, row: &mut impl Extend<f64>) {
        let used = query.configuration.iter().zip(&self.groups);
        let configuration =
            used.filter(|(_, group)| self.features.contains(**group)).map(|(&value, _)| value);
        let curve = EpochFeatures::default();
        let curve = query.prefix[..self.epochs].iter().scan(curve, |state, &value| Some(state.next(value)));
        let curve = curve.flat_map(|(values, count)| values.into_iter().take(count));
        let scales = self.columns.mean.iter().zip(&self.columns.inverse);
        row.extend(
            configuration.chain(curve).zip(scales).map(|(value, (mean, inverse))| (value - mean) * inverse),
        );
    }
}

/// Turns a curve, value after value, into the paper's features of each epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EpochFeatures {
    seen: usize,
    value: f64,
    difference: f64,
}

impl EpochFeatures {
    /// The value, first and second difference of the next epoch, and how many of them exist.
    pub(super) fn next(&mut self, value: f64) -> ([f64; 3], usize) {
        let difference = value - self.value;
        let features = [value, difference, difference - self.difference];
        self.seen += 1;
        (self.value, self.difference) = (value, difference);
        (features, self.seen.min(3))
    }
}

thread_local! {
    /// Room for one standardized row, so that a forecast allocates nothing.
    static ROW_BUFFER: std::cell::RefCell<Vec<f64>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Model for SvrModel {
    fn forecast(&self, query: &RunQuery<'_>) -> Forecast {
        let value = ROW_BUFFER.with_borrow_mut(|row| {
            row.clear();
            self.append_standardized(query, row);
            self.expansion.value_at(row)
        });
        Forecast::gaussian(self.target.invert(value + self.bias), self.sigma)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}
