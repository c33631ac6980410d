//! Gaussian processes with one kernel for each group of features, and the pair of them that forecasts final scores.

use crate::compact::{Compact, MARGIN};
use crate::curve::RunScore;
use crate::features::TargetScaler;
use crate::forecast::Forecast;
use crate::inverse::Symmetric;
use crate::lbfgs::{Limits, minimise};
use crate::matrix::Matrix;
use crate::points::Points;
use crate::predictor::{FitError, Model, Predictor, check_training};
use crate::simd::{
    LANES, dispatched, dot, dot_body, exp_body, four_of, inner_products, squared_distances, sum_lanes,
};
use crate::statistics::{quantile_of_sorted, range, widened};
use crate::training::{Query, TrainingSet};
use crate::warp::{Warp, WarpPrior};
use std::ops::Range;

/// Groups of features: level, shape, configuration.
const GROUPS: usize = 3;
const CONFIGURATION: usize = 2;
/// The prior variance of the log of a configuration column's squared weight.
const RELEVANCE_VARIANCE: f64 = 0.3;
/// Hyperparameters, as logs: w of each group, v of each group, s², e.
const PARAMETERS: usize = 2 * GROUPS + 2;
/// The place of e among them.
const NOISE: usize = PARAMETERS - 1;
/// ln 10: the step in which ln e is raised where K cannot be inverted, until it is above `MOST_NOISE`.
const RAISE: f64 = std::f64::consts::LN_10;
const MOST_NOISE: f64 = 60.0;
/// The variance of the constant.
const CONSTANT: f64 = 0.5;
/// The least noise variance.
const JITTER: f64 = 1e-6;
/// With more runs than this the hyperparameters are found on this many of them; the process itself is fitted on all.
const MOST_TUNED: usize = 160;
const LIMITS: Limits = Limits { iterations: 40, gradient: 0.02, decrease: 0.02 };

/// Normal priors (mean, standard deviation) on the logs of the hyperparameters. Those of s² and e are tight: many runs that
/// end alike would otherwise be taken for a process of large variance without noise.
fn priors() -> [(f64, f64); PARAMETERS] {
    let w = ((0.15_f64 / 3.0_f64.sqrt()).ln(), 1.5);
    let v = (0.1_f64.ln(), 2.0);
    [w, w, w, v, v, v, (0.5_f64.ln(), 0.7), (0.05_f64.ln(), 1.0)]
}

/// Hyperparameters of a process.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    /// Inverse squared length of each group.
    w: [f64; GROUPS],
    /// Linear variance of each group.
    v: [f64; GROUPS],
    /// Variance of the nonlinear part.
    s: f64,
    /// Noise variance.
    e: f64,
}

impl Parameters {
    fn of_logs(theta: &[f64]) -> Self {
        let at = |k: usize| theta[k].exp();
        Self { w: [at(0), at(1), at(2)], v: [at(3), at(4), at(5)], s: at(6), e: at(7) + JITTER }
    }

    /// The variance of a run's target, noise included, `own` being its L_g with itself.
    fn variance(&self, own: [f64; GROUPS]) -> f64 {
        self.s + CONSTANT + self.e + self.v.iter().zip(own).map(|(v, own)| v * own).sum::<f64>()
    }

    /// The trace of K.
    fn trace(&self, design: &Design) -> f64 {
        let own = |i: usize| design.products.each_ref().map(|products| products[i * design.stride + i]);
        (0..design.n).map(|i| self.variance(own(i))).sum()
    }
}

/// Features of runs, and what kernels need of every pair: D_g, the squared distance, and L_g, the inner product, in each
/// group of features, both divided by the group's dimension.
pub(crate) struct Design {
    n: usize,
    stride: usize,
    /// The columns of each group, shape (n, dimension).
    features: [Matrix; GROUPS],
    /// The same, as a new run is compared with them.
    points: [Points; GROUPS],
    distances: [Vec<f64>; GROUPS],
    products: [Vec<f64>; GROUPS],
}

impl Design {
    /// The design of standardised `rows`, shape (n, features), whose groups stand at `groups`.
    pub(crate) fn new(rows: &Matrix, groups: &[Range<usize>; GROUPS]) -> Self {
        let n = rows.rows();
        let stride = n.next_multiple_of(LANES);
        let features =
            groups.clone().map(|group| Matrix::from_fn(n, group.len(), |i, j| rows.row(i)[group.start + j]));
        let mut distances =
            [vec![0.0; stride * stride], vec![0.0; stride * stride], vec![0.0; stride * stride]];
        let mut products = distances.clone();
        for g in 0..GROUPS {
            let d = features[g].columns();
            let x = features[g].as_slice();
            squared_distances(x, x, d, stride, &mut distances[g]);
            inner_products(x, x, d, stride, &mut products[g]);
            scale(&mut distances[g], 1.0 / d.max(1) as f64);
            scale(&mut products[g], 1.0 / d.max(1) as f64);
        }
        let points = features.each_ref().map(Points::of_rows);
        Self { n, stride, features, points, distances, products }
    }

    /// How many runs.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// D_g between runs `i` and `j`.
    pub(crate) fn distance(&self, g: usize, i: usize, j: usize) -> f64 {
        self.distances[g][i * self.stride + j]
    }

    /// The dimension of group `g`.
    pub(crate) fn dimension(&self, g: usize) -> usize {
        self.features[g].columns()
    }

    /// D_g and L_g between a new `row` and every run, and L_g of the row with itself.
    pub(crate) fn relate(&self, row: &[f64]) -> Relation {
        let mut numbers = vec![0.0; 2 * GROUPS * self.stride];
        let (distances, products) = numbers.split_at_mut(GROUPS * self.stride);
        let mut own = [0.0; GROUPS];
        let mut rest = row;
        for (g, own) in own.iter_mut().enumerate() {
            let (group, after) = rest.split_at(self.features[g].columns());
            rest = after;
            let share = 1.0 / group.len().max(1) as f64;
            let part = g * self.stride..(g + 1) * self.stride;
            self.points[g].relate(group, share, &mut distances[part.clone()], &mut products[part]);
            *own = share * dot(group, group);
        }
        Relation { n: self.n, stride: self.stride, numbers, own }
    }
}

fn scale(values: &mut [f64], factor: f64) {
    values.iter_mut().for_each(|value| *value *= factor);
}

/// What kernels need of a new run and the runs of a [`Design`].
pub(crate) struct Relation {
    /// How many runs, and that rounded up to whole lanes.
    n: usize,
    stride: usize,
    /// D_g of each group, then L_g of each, `stride` numbers a group.
    numbers: Vec<f64>,
    /// L_g of the new run with itself.
    own: [f64; GROUPS],
}

impl Relation {
    /// D_g to each run, for every group g.
    pub(crate) fn distances(&self) -> [&[f64]; GROUPS] {
        [0, 1, 2].map(|g| self.part(g))
    }

    /// L_g with each run, for every group g.
    fn products(&self) -> [&[f64]; GROUPS] {
        [3, 4, 5].map(|part| self.part(part))
    }

    fn part(&self, part: usize) -> &[f64] {
        &self.numbers[part * self.stride..part * self.stride + self.n]
    }
}

/// A Gaussian process fitted on a [`Design`] and targets.
///
/// K = s²·exp(−Σ_g w_g D_g) + Σ_g v_g L_g + ½ + (e + 10⁻⁶)·I on warped and standardised targets, the eight hyperparameters at their
/// maximum a posteriori. O(n³) for each of at most 40 iterations; O(n²) to forecast.
///
/// Source: Rasmussen & Williams, *Gaussian Processes for Machine Learning*, chapters 2 and 5 (leave-one-out: 5.4.2).
pub(crate) struct Process {
    parameters: Parameters,
    /// `None`: targets as they are.
    warp: Option<Warp>,
    target: TargetScaler,
    /// L of K⁻¹ = L·Lᵀ, which gives kᵀK⁻¹k = ‖Lᵀk‖².
    factor: Factor,
    /// K⁻¹·y.
    alpha: Vec<f64>,
    /// For each run: (its forecast without it, the standard deviation of that).
    pub(crate) left_out: Vec<(f64, f64)>,
}

/// A process whose hyperparameters are found.
struct Tuned {
    /// The hyperparameters, as logs.
    theta: Vec<f64>,
    warp: Option<Warp>,
    target: TargetScaler,
    /// Warped and standardised targets.
    y: Vec<f64>,
    /// K⁻¹, and α = K⁻¹·y.
    work: Work,
}

impl Tuned {
    /// Finds the hyperparameters for warped `targets`, from `start` on; `None` if the numbers allow none.
    fn new(design: &Design, targets: &[f64], warp: Option<Warp>, start: &[f64]) -> Option<Self> {
        let mut y = targets.to_vec();
        if let Some(warp) = warp {
            y.iter_mut().for_each(|y| *y = warp.apply(*y));
        }
        let target = TargetScaler::fit(y.iter().copied());
        y.iter_mut().for_each(|y| *y = target.apply(*y));
        let mut work = Work::new(design);
        let theta = work.invert_with_noise(design, &tune(design, &y, start))?;
        work.kernel.multiply(&y, &mut work.alpha);
        Some(Self { theta, warp, target, y, work })
    }

    /// The likeliest warp of `targets`, the hyperparameters being what they are.
    fn likeliest_warp(&self, prior: WarpPrior, targets: &[f64]) -> Option<Warp> {
        let mut product = vec![0.0; targets.len()];
        Warp::likeliest(prior, targets, |z| {
            self.work.kernel.multiply(z, &mut product);
            dot(z, &product)
        })
    }

    /// For each column j of group `g`, the slope of the log marginal likelihood in ln c_j², c_j its weight:
    /// Σ_{i ≥ k} m_ik·(v_g x_ij x_kj − w_g R_ik (x_ij − x_kj)²)/d, R the nonlinear part of K, M = ααᵀ − K⁻¹, m_ik = M_ik but half
    /// of it for i = k. O(n²·d).
    fn column_slopes(&self, design: &Design, g: usize) -> Vec<f64> {
        let Parameters { w, v, .. } = Parameters::of_logs(&self.theta);
        let (x, alpha) = (&design.features[g], &self.work.alpha);
        let share = 1.0 / x.columns().max(1) as f64;
        let mut slopes = vec![0.0; x.columns()];
        for i in 0..design.n {
            let row = i * design.stride;
            for k in 0..=i {
                let half = if k == i { 0.5 } else { 1.0 };
                let m = half * share * (alpha[i] * alpha[k] - self.work.kernel.data[row + k]);
                let (linear, apart) = (m * v[g], m * w[g] * self.work.nonlinear[row + k]);
                for ((slope, a), b) in slopes.iter_mut().zip(x.row(i)).zip(x.row(k)) {
                    *slope += linear * a * b - apart * (a - b) * (a - b);
                }
            }
        }
        slopes
    }

    /// The process itself.
    fn process(self, design: &Design) -> Process {
        let Self { theta, warp, target, y, work } = self;
        let parameters = Parameters::of_logs(&theta);
        let left_out = (0..design.n)
            .map(|i| {
                let precision = work.kernel.diagonal(i);
                let mean = target.invert(y[i] - work.alpha[i] / precision);
                turned_back(warp, (mean, target.scale / precision.sqrt()))
            })
            .collect();
        let factor = Factor::of(work.kernel, 1.0 / parameters.trace(design));
        Process { parameters, warp, target, factor, alpha: work.alpha, left_out }
    }
}

impl Process {
    /// The mean and standard deviation (noise included) of the target of a new run.
    pub(crate) fn forecast(&self, relation: &Relation) -> (f64, f64) {
        let Parameters { w, v, s, e } = self.parameters;
        let n = self.alpha.len();
        let mut buffers = vec![0.0; 2 * relation.stride];
        let (k, sums) = buffers.split_at_mut(relation.stride);
        let ([d0, d1, d2], [l0, l1, l2]) = (relation.distances(), relation.products());
        cross_kernel(d0, d1, d2, l0, l1, l2, w, v, s, &mut k[..n]);
        let variance = self.parameters.variance(relation.own) - self.factor.quadratic(k, sums);
        let mean = self.target.invert(dot(&k[..n], &self.alpha));
        turned_back(self.warp, (mean, self.target.scale * variance.max(e).sqrt()))
    }
}

/// A mean and standard deviation of warped targets as those of targets.
fn turned_back(warp: Option<Warp>, normal: (f64, f64)) -> (f64, f64) {
    warp.map_or(normal, |warp| warp.invert(normal))
}

/// The hyperparameters (logs) of largest posterior, searched from `start` on, on at most [`MOST_TUNED`] runs, evenly spread in
/// order of target so that the order of runs does not matter.
fn tune(design: &Design, y: &[f64], start: &[f64]) -> Vec<f64> {
    if design.n <= MOST_TUNED {
        let mut work = Work::new(design);
        return minimise(start, LIMITS, |theta, gradient| work.evaluate(design, y, theta, gradient));
    }
    let mut order: Vec<usize> = (0..design.n).collect();
    order.sort_by(|&a, &b| y[a].total_cmp(&y[b]));
    let used: Vec<usize> = (0..MOST_TUNED).map(|k| order[k * design.n / MOST_TUNED]).collect();
    let part = design.select(&used);
    let targets: Vec<f64> = used.iter().map(|&i| y[i]).collect();
    let mut work = Work::new(&part);
    minimise(start, LIMITS, |theta, gradient| work.evaluate(&part, &targets, theta, gradient))
}

impl Design {
    fn select(&self, indices: &[usize]) -> Self {
        let n = indices.len();
        let stride = n.next_multiple_of(LANES);
        let pick = |from: &Vec<f64>| {
            let mut to = vec![0.0; stride * stride];
            for (a, &i) in indices.iter().enumerate() {
                for (b, &j) in indices.iter().enumerate() {
                    to[a * stride + b] = from[i * self.stride + j];
                }
            }
            to
        };
        let features = [0, 1, 2].map(|g| self.features[g].select(indices));
        Self {
            n,
            stride,
            points: features.each_ref().map(Points::of_rows),
            features,
            distances: self.distances.each_ref().map(pick),
            products: self.products.each_ref().map(pick),
        }
    }
}

/// The buffers of one evaluation of the posterior.
struct Work {
    /// s²·exp(−Σ w_g D_g), lower triangle.
    nonlinear: Vec<f64>,
    /// K, then K⁻¹.
    kernel: Symmetric,
    alpha: Vec<f64>,
}

impl Work {
    fn new(design: &Design) -> Self {
        let nonlinear = vec![0.0; design.stride * design.stride];
        Self { nonlinear, kernel: Symmetric::zeros(design.n), alpha: vec![0.0; design.n] }
    }

    /// K⁻¹ into `kernel`; gives ln det K.
    fn invert_kernel(&mut self, design: &Design, parameters: &Parameters) -> Option<f64> {
        let Parameters { w, v, s, e } = *parameters;
        let [d0, d1, d2] = &design.distances;
        let [l0, l1, l2] = &design.products;
        let (n, stride) = (design.n, design.stride);
        fill_kernel(d0, d1, d2, l0, l1, l2, w, v, s, n, stride, &mut self.nonlinear, &mut self.kernel.data);
        for i in 0..n {
            self.kernel.data[i * stride + i] += e;
        }
        self.kernel.invert()
    }

    /// K⁻¹ into `kernel`, with ten times the noise, and again, until K can be inverted: runs without noise leave it near to singular,
    /// most of all where `theta` was found on a part of them or with other features. Gives `theta` with that noise; `None`
    /// where noise does not help.
    fn invert_with_noise(&mut self, design: &Design, theta: &[f64]) -> Option<Vec<f64>> {
        let mut theta = theta.to_vec();
        while self.invert_kernel(design, &Parameters::of_logs(&theta)).is_none() {
            if theta[NOISE] > MOST_NOISE {
                return None;
            }
            theta[NOISE] += RAISE;
        }
        Some(theta)
    }

    /// −ln posterior at `theta` and its gradient, up to a constant: ½ yᵀK⁻¹y + ½ ln det K + Σ (θ − μ)²/(2 sd²), with
    /// ∂/∂θ = ½ Σ_ij (K⁻¹ − ααᵀ)_ij ∂K_ij/∂θ + (θ − μ)/sd².
    fn evaluate(&mut self, design: &Design, y: &[f64], theta: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let parameters = Parameters::of_logs(theta);
        let log_determinant = self.invert_kernel(design, &parameters)?;
        self.kernel.multiply(y, &mut self.alpha);
        let mut value = 0.5 * (dot(y, &self.alpha) + log_determinant);
        let mut sums = [0.0; 2 * GROUPS + 1];
        let [d0, d1, d2] = &design.distances;
        let [l0, l1, l2] = &design.products;
        let (n, stride) = (design.n, design.stride);
        let (inverse, nonlinear) = (&self.kernel.data, &self.nonlinear);
        gradient_sums(inverse, nonlinear, d0, d1, d2, l0, l1, l2, &self.alpha, n, stride, &mut sums);
        let mut trace = 0.0;
        for i in 0..n {
            let weight = 0.5 * (self.kernel.diagonal(i) - self.alpha[i] * self.alpha[i]);
            trace += weight;
            for g in 0..GROUPS {
                sums[GROUPS + g] += weight * design.products[g][i * stride + i];
            }
            sums[2 * GROUPS] += weight * parameters.s;
        }
        for g in 0..GROUPS {
            gradient[g] = -parameters.w[g] * sums[g];
            gradient[GROUPS + g] = parameters.v[g] * sums[GROUPS + g];
        }
        gradient[2 * GROUPS] = sums[2 * GROUPS];
        gradient[2 * GROUPS + 1] = (parameters.e - JITTER) * trace;
        for ((slope, &at), (mean, sd)) in gradient.iter_mut().zip(theta).zip(priors()) {
            value += ((at - mean) / sd).powi(2) / 2.0;
            *slope += (at - mean) / (sd * sd);
        }
        value.is_finite().then_some(value)
    }
}

dispatched! {
    /// Fills the lower triangles of the nonlinear part and of K without noise, for the first `n` rows.
    pub(crate) fn fill_kernel(
        d0: &[f64],
        d1: &[f64],
        d2: &[f64],
        l0: &[f64],
        l1: &[f64],
        l2: &[f64],
        w: [f64; 3],
        v: [f64; 3],
        s: f64,
        n: usize,
        stride: usize,
        nonlinear: &mut [f64],
        kernel: &mut [f64],
    ) {
        for i in 0..n {
            let row = i * stride..i * stride + (i / LANES + 1) * LANES;
            let (r, k) = (&mut nonlinear[row.clone()], &mut kernel[row.clone()]);
            let length = r.len();
            let (d0, d1, d2) = (&d0[row.clone()][..length], &d1[row.clone()][..length], &d2[row.clone()][..length]);
            let (l0, l1, l2) = (&l0[row.clone()][..length], &l1[row.clone()][..length], &l2[row][..length]);
            let k = &mut k[..length];
            for j in 0..length {
                let value = s * exp_body(-(w[0] * d0[j] + w[1] * d1[j] + w[2] * d2[j]));
                r[j] = value;
                k[j] = value + (v[0] * l0[j] + v[1] * l1[j] + v[2] * l2[j]) + CONSTANT;
            }
        }
    }
}

dispatched! {
    /// K between a new run and every run.
    pub(crate) fn cross_kernel(
        d0: &[f64],
        d1: &[f64],
        d2: &[f64],
        l0: &[f64],
        l1: &[f64],
        l2: &[f64],
        w: [f64; 3],
        v: [f64; 3],
        s: f64,
        k: &mut [f64],
    ) {
        let n = k.len();
        let (d0, d1, d2) = (&d0[..n], &d1[..n], &d2[..n]);
        let (l0, l1, l2) = (&l0[..n], &l1[..n], &l2[..n]);
        for j in 0..n {
            let value = s * exp_body(-(w[0] * d0[j] + w[1] * d1[j] + w[2] * d2[j]));
            k[j] = value + (v[0] * l0[j] + v[1] * l1[j] + v[2] * l2[j]) + CONSTANT;
        }
    }
}

/// The lanes of a part of a padded matrix.
#[inline(always)]
fn chunks_of<'a>(values: &'a [f64], part: &Range<usize>) -> &'a [[f64; LANES]] {
    values[part.clone()].as_chunks::<LANES>().0
}

dispatched! {
    /// With M = K⁻¹ − ααᵀ and R the nonlinear part, the sums over pairs i > j of M·R·D_g, of M·L_g, and of M·R.
    pub(crate) fn gradient_sums(
        inverse: &[f64],
        nonlinear: &[f64],
        d0: &[f64],
        d1: &[f64],
        d2: &[f64],
        l0: &[f64],
        l1: &[f64],
        l2: &[f64],
        alpha: &[f64],
        n: usize,
        stride: usize,
        sums: &mut [f64; 7],
    ) {
        let mut lanes = [[0.0; LANES]; 7];
        let mut padded = vec![0.0; stride];
        padded[..n].copy_from_slice(&alpha[..n]);
        for i in 0..n {
            let row = i * stride..i * stride + (i / LANES + 1) * LANES;
            let chunks = |values| chunks_of(values, &row);
            let (k, r, alphas) = (chunks(inverse), chunks(nonlinear), padded.as_chunks::<LANES>().0);
            let (d0, d1, d2) = (chunks(d0), chunks(d1), chunks(d2));
            let (l0, l1, l2) = (chunks(l0), chunks(l1), chunks(l2));
            let own = padded[i];
            for c in 0..k.len() {
                let inside = i - c * LANES;
                for l in 0..LANES {
                    let m = if l < inside { k[c][l] - own * alphas[c][l] } else { 0.0 };
                    let mr = m * r[c][l];
                    lanes[0][l] += mr * d0[c][l];
                    lanes[1][l] += mr * d1[c][l];
                    lanes[2][l] += mr * d2[c][l];
                    lanes[3][l] += m * l0[c][l];
                    lanes[4][l] += m * l1[c][l];
                    lanes[5][l] += m * l2[c][l];
                    lanes[6][l] += mr;
                }
            }
        }
        for (sum, lane) in sums.iter_mut().zip(lanes) {
            *sum = sum_lanes(lane);
        }
    }
}

/// L of A = L·Lᵀ in single precision, half the memory that a forecast waits for. Rounding L, whose singular values are the
/// roots of those of A, moves kᵀAk = ‖Lᵀk‖² far less than rounding A would: on recorded curves, with 100 and 250 runs, predictive
/// deviations by 1e-5 in the mean and by 3e-4 at most.
struct Factor {
    /// Four rows after four rows, each padded with zeros to the end of the block of eight columns on the diagonal.
    rows: Vec<f32>,
}

impl Factor {
    /// Of a symmetric positive definite matrix, none of whose eigenvalues is below `least` but for rounding.
    fn of(mut matrix: Symmetric, least: f64) -> Self {
        matrix.factorise(least);
        let n = matrix.n;
        let mut rows =
            Vec::with_capacity(n.next_multiple_of(LANES) * (n.next_multiple_of(LANES) + LANES) / 2);
        for i in 0..n.next_multiple_of(4) {
            let row = if i < n { &matrix.data[i * matrix.stride..=i * matrix.stride + i] } else { &[] };
            let width = (i + 1).next_multiple_of(LANES);
            rows.extend(row.iter().map(|&value| value as f32).chain(std::iter::repeat(0.0)).take(width));
        }
        Self { rows }
    }

    /// ‖Lᵀk‖², `k` being padded with zeros to whole lanes and `sums` zeros of the same length.
    fn quadratic(&self, k: &[f64], sums: &mut [f64]) -> f64 {
        squared_norm_of_product(&self.rows, k, sums)
    }
}

dispatched! {
    /// ‖Lᵀk‖² for the rows of a [`Factor`]; `k` is padded with zeros to a multiple of eight, and `sums` has its length.
    pub(crate) fn squared_norm_of_product(rows: &[f32], k: &[f64], sums: &mut [f64]) -> f64 {
        let mut rest = rows;
        for i in (0..k.len()).step_by(4) {
            let width = (i + 4).next_multiple_of(LANES);
            let Some((four, after)) = rest.split_at_checked(4 * width) else { break };
            rest = after;
            let row = |r: usize| &four[r * width..(r + 1) * width];
            let rows = row(0).iter().zip(row(1)).zip(row(2)).zip(row(3));
            let [c0, c1, c2, c3] = four_of(k, i).map(|c| c as f32);
            for (sum, (((x0, x1), x2), x3)) in sums[..width].iter_mut().zip(rows) {
                *sum += f64::from(c0.mul_add(*x0, c1.mul_add(*x1, c2.mul_add(*x2, c3 * x3))));
            }
        }
        dot_body(sums, sums)
    }
}

/// What finished runs have done from here: a forecast outside of it is moved to its edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Least and largest final score.
    finals: (f64, f64),
    /// The 10 % and 90 % quantiles of y_T − y_τ.
    gains: (f64, f64),
    /// The best score that there can be.
    ceiling: f64,
    run_score: RunScore,
}

impl Reach {
    /// The reach of the final scores of `training` and its gains y_T − y_τ, of at least one run.
    pub(crate) fn new(training: &TrainingSet, gains: &[f64]) -> Self {
        let sorted = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let (targets, gains) = (sorted(&training.targets), sorted(gains));
        Self {
            finals: (targets[0], targets[targets.len() - 1]),
            gains: (quantile_of_sorted(&gains, 0.1), quantile_of_sorted(&gains, 0.9)),
            ceiling: training.ceiling.unwrap_or(f64::INFINITY),
            run_score: training.run_score,
        }
    }

    /// `forecast` within [min(y_min, y_τ + q10), max(y_max, y_τ + q90)], widened by 5 % of the range of final scores, and
    /// not above the ceiling, unless y_τ disproves it; not below y_τ where the best value counts.
    pub(crate) fn clip(&self, forecast: f64, last: f64) -> f64 {
        let room = 0.05 * (self.finals.1 - self.finals.0);
        let low = self.finals.0.min(last + self.gains.0) - room;
        let high = self.finals.1.max(last + self.gains.1) + room;
        let high = if last > self.ceiling { high } else { high.min(self.ceiling) };
        let low = match self.run_score {
            RunScore::Last => low,
            RunScore::Best => low.max(last),
        };
        forecast.min(high).max(low)
    }
}

/// How much less sure a forecast is for each unit that y_τ is [`Pair::beyond`]: the standard deviation of a slope near 1.
const BEYOND: f64 = 0.3;

/// The mean of a process on y_T and of y_τ + a process on y_T − y_τ, clipped to the runs' [`Reach`].
///
/// Features stay near those of the training runs, so that a process on y_T says the same of every run below them; y_T of
/// such a run is taken to be lower by as much as its y_τ is, as the process on y_T − y_τ takes it anyway.
pub(crate) struct Pair {
    direct: Process,
    gain: Process,
    reach: Reach,
    /// The least and the largest y_τ that features tell from others.
    lasts: (f64, f64),
    /// For each run: (its forecast without it, its spread).
    pub(crate) left_out: Vec<(f64, f64)>,
}

impl Pair {
    /// Both processes on `design`; `last` holds y_τ of each run, `gains` y_T − y_τ.
    fn new(
        design: &Design,
        tuned: (Tuned, Tuned),
        training: &TrainingSet,
        gains: &[f64],
        last: &[f64],
    ) -> Self {
        let (direct, gain) = rayon::join(|| tuned.0.process(design), || tuned.1.process(design));
        let reach = Reach::new(training, gains);
        let lasts = widened(range(last.iter().copied()), MARGIN);
        let left_out = direct.left_out.iter().zip(&gain.left_out).zip(last);
        let left_out = left_out.map(|((&a, &b), &last)| Self::combine(a, b, last, &reach)).collect();
        Self { direct, gain, reach, lasts, left_out }
    }

    fn combine(direct: (f64, f64), gain: (f64, f64), last: f64, reach: &Reach) -> (f64, f64) {
        (reach.clip((direct.0 + last + gain.0) / 2.0, last), (direct.1 + gain.1) / 2.0)
    }

    /// The mean and spread of the final score of a new run with last score `last`.
    pub(crate) fn forecast(&self, relation: &Relation, last: f64) -> (f64, f64) {
        let beyond = self.beyond(last);
        let (direct, sd) = self.direct.forecast(relation);
        let gain = self.gain.forecast(relation);
        let (mean, sd) = Self::combine((direct + beyond, sd), gain, last, &self.reach);
        (mean, sd.hypot(BEYOND * beyond))
    }

    /// How far `last` is above (or, negative, below) what features tell from others.
    pub(crate) fn beyond(&self, last: f64) -> f64 {
        last - last.clamp(self.lasts.0, self.lasts.1)
    }

    /// What finished runs have done from here.
    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }
}

/// A [`Pair`] with the features it was fitted on.
pub(crate) struct PairFit {
    pub(crate) compact: Compact,
    /// The features of the training runs, shape (n, features).
    pub(crate) rows: Matrix,
    pub(crate) design: Design,
    pub(crate) pair: Pair,
}

impl PairFit {
    /// Fits features, their weights, warps and both processes; `last` holds y_τ of each run. `None` if the numbers allow no fit.
    ///
    /// Both processes are tuned with the warps their priors think likeliest. The weights c_j of the configuration's columns then
    /// take one step of automatic relevance determination: ln c_j² moves by 0.3 times its slope, summed over both log marginal
    /// likelihoods (there a straight line of that slope and a prior N(0, 0.3) are largest together), by 1 at most; each process
    /// takes the warp that is likeliest with its kernel as it is; and both are tuned again.
    pub(crate) fn new(training: &TrainingSet, last: &[f64]) -> Option<Self> {
        let (mut compact, mut rows) = Compact::fit(training);
        let mut design = Design::new(&rows, compact.groups());
        let targets = &training.targets;
        let gains: Vec<f64> = targets.iter().zip(last).map(|(y, last)| y - last).collect();
        let start = priors().map(|prior| prior.0);
        let (direct, gain) = rayon::join(
            || Tuned::new(&design, targets, Warp::first(WarpPrior::SCORES, targets), &start),
            || Tuned::new(&design, &gains, Warp::first(WarpPrior::GAINS, &gains), &start),
        );
        let (direct, gain) = direct.zip(gain)?;
        let configuration = compact.groups()[CONFIGURATION].clone();
        if configuration.len() > 1 {
            let slopes = [&direct, &gain].map(|tuned| tuned.column_slopes(&design, CONFIGURATION));
            let mut factors = vec![1.0; rows.columns()];
            for (k, j) in configuration.enumerate() {
                let step = RELEVANCE_VARIANCE * (slopes[0][k] + slopes[1][k]);
                factors[j] = (step.clamp(-1.0, 1.0) / 2.0).exp();
            }
            compact.reweigh(&factors);
            rows = Matrix::from_fn(rows.rows(), rows.columns(), |i, j| rows.row(i)[j] * factors[j]);
            design = Design::new(&rows, compact.groups());
        }
        let again = |tuned: &Tuned, prior, targets: &[f64]| {
            Tuned::new(&design, targets, tuned.likeliest_warp(prior, targets), &tuned.theta)
        };
        let (direct, gain) = rayon::join(
            || again(&direct, WarpPrior::SCORES, targets),
            || again(&gain, WarpPrior::GAINS, &gains),
        );
        let tuned = direct.zip(gain)?;
        let pair = Pair::new(&design, tuned, training, &gains, last);
        Some(Self { compact, rows, design, pair })
    }
}

/// Two Gaussian processes with grouped kernels on compact curve features: the mean of one on y_T and of one on y_T − y_τ.
///
/// | group | features |
/// |---|---|
/// | level | y_τ; the mean of the last max(2, τ/8) points; the best so far |
/// | shape | y_τ − y_{τ−ℓ} for the Fibonacci numbers ℓ = 1, 2, 3, 5, 8 … < τ and for ℓ = τ − 1; best − y_τ |
/// | configuration | its encoded columns |
///
/// Columns are standardised; those that say the same as an earlier one of their group are left out, the others weighed by how
/// much of the ranks of y_T and of y_T − y_τ a parabola in each explains. Each process has a squared-exponential and a linear kernel for
/// each group, with eight hyperparameters at their maximum a posteriori, and is warped: it is fitted on −ln(β − y), β above all
/// its targets y, or, for gains, on ln(y − β), β below them, whichever is likelier. The weights of the configuration's columns
/// move once along the slope of the marginal likelihood, and the hyperparameters are found anew. Where y_τ is further than a
/// tenth of their range below or above those of all runs, by b, the forecast of y_T moves by b. The spread is each run's own
/// predictive standard deviation, √(s² + (0.3·b)²), Gaussian. Needs 3 runs. O(n³) to fit, O(n²) to forecast.
///
/// Source: Rasmussen & Williams 2006 (5.1: automatic relevance determination); Snelson, Rasmussen & Ghahramani 2003 (warps);
/// features, groups and weights are Foretell's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct GaussianProcess;

struct GaussianProcessModel {
    compact: Compact,
    design: Design,
    pair: Pair,
    floor: Option<f64>,
    held_out: Vec<Forecast>,
}

impl Predictor for GaussianProcess {
    fn name(&self) -> &'static str {
        "gp"
    }

    fn fit(&self, training: &TrainingSet) -> Result<Box<dyn Model>, FitError> {
        check_training(self.name(), 3, training)?;
        let fitted = PairFit::new(training, &training.last_scores());
        let PairFit { compact, design, pair, .. } =
            fitted.ok_or(FitError::NotFinite { run: 0, what: "squared distance from the mean" })?;
        let held_out = pair.left_out.iter().map(|&(mean, sd)| Forecast::gaussian(mean, sd)).collect();
        Ok(Box::new(GaussianProcessModel { compact, design, pair, floor: training.floor, held_out }))
    }
}

impl Model for GaussianProcessModel {
    fn forecast(&self, query: &Query<'_>) -> Forecast {
        let mut row = Vec::new();
        self.compact.row(query, &mut row);
        let (mean, sd) = self.pair.forecast(&self.design.relate(&row), query.last_score(self.floor));
        Forecast::gaussian(mean, sd)
    }

    fn held_out(&self) -> &[Forecast] {
        &self.held_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::with_each_instruction_set;

    fn wave(n: usize) -> (Design, Vec<f64>) {
        let rows = Matrix::from_fn(n, 5, |i, j| ((i * (j + 1)) as f64 * 0.7).sin() * 1.4);
        let y = (0..n).map(|i| rows.row(i)[0] + 0.5 * (2.0 * rows.row(i)[3]).sin()).collect();
        (Design::new(&rows, &[0..2, 2..3, 3..5]), y)
    }

    fn tuned(design: &Design, y: &[f64]) -> Tuned {
        Tuned::new(design, y, None, &priors().map(|prior| prior.0)).unwrap()
    }

    fn process(design: &Design, y: &[f64]) -> Process {
        tuned(design, y).process(design)
    }

    #[test]
    fn the_slope_of_a_columns_weight_is_that_of_finite_differences() {
        let (n, groups) = (12, [0..2, 2..3, 3..5]);
        let (design, y) = wave(n);
        let found = tuned(&design, &y);
        let prior: f64 =
            found.theta.iter().zip(priors()).map(|(at, (mean, sd))| ((at - mean) / sd).powi(2) / 2.0).sum();
        for j in 0..2 {
            let likelihood = |shift: f64| {
                let column = |c: usize| if c == 3 + j { (shift / 2.0).exp() } else { 1.0 };
                let all = |i: usize, c: usize| {
                    column(c) * design.features.iter().flat_map(|x| x.row(i)).nth(c).unwrap()
                };
                let moved = Design::new(&Matrix::from_fn(n, 5, all), &groups);
                let mut unused = [0.0; PARAMETERS];
                prior - Work::new(&moved).evaluate(&moved, &found.y, &found.theta, &mut unused).unwrap()
            };
            let difference = (likelihood(1e-5) - likelihood(-1e-5)) / 2e-5;
            let slope = found.column_slopes(&design, CONFIGURATION)[j];
            assert!(
                (difference - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                "column {j}: {difference} {slope}"
            );
        }
    }

    #[test]
    fn the_quadratic_form_is_that_of_the_plain_loops() {
        for n in [1_usize, 3, 4, 7, 8, 21, 40] {
            let entry = |i: usize, j: usize| {
                let apart = i.abs_diff(j) as f64;
                (-0.1 * apart * apart).exp() + if i == j { 0.05 } else { 0.0 }
            };
            let mut matrix = Symmetric::zeros(n);
            for i in 0..n {
                for j in 0..=i {
                    matrix.data[i * matrix.stride + j] = entry(i, j);
                }
            }
            let k: Vec<f64> = (0..n).map(|i| (i as f64 * 0.6).cos()).collect();
            let plain: f64 = (0..n * n).map(|at| k[at / n] * entry(at / n, at % n) * k[at % n]).sum();
            let mut padded = k.clone();
            padded.resize(n.next_multiple_of(LANES), 0.0);
            let all = with_each_instruction_set(|| {
                Factor::of(matrix.clone(), 0.05).quadratic(&padded, &mut vec![0.0; padded.len()])
            });
            assert!(
                all.iter().all(|found| found.total_cmp(&all[0]).is_eq()),
                "n = {n}: instruction sets differ"
            );
            assert!((all[0] / plain - 1.0).abs() < 1e-6, "n = {n}: {} {plain}", all[0]);
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for n in [3, 8, 21] {
            let (design, y) = wave(n);
            let mut work = Work::new(&design);
            let theta: Vec<f64> =
                priors().iter().enumerate().map(|(k, p)| p.0 + 0.3 * (k as f64).sin()).collect();
            let (mut gradient, mut unused) = ([0.0; PARAMETERS], [0.0; PARAMETERS]);
            work.evaluate(&design, &y, &theta, &mut gradient).unwrap();
            for k in 0..PARAMETERS {
                let mut at = |shift: f64| {
                    let mut moved = theta.clone();
                    moved[k] += shift;
                    work.evaluate(&design, &y, &moved, &mut unused).unwrap()
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((difference - gradient[k]).abs() < 1e-5 * (1.0 + difference.abs()), "n = {n}, θ_{k}");
            }
        }
    }

    #[test]
    fn closed_form_leave_one_out_is_that_of_leaving_out() {
        let (design, y) = wave(24);
        let whole = process(&design, &y);
        let parameters = whole.parameters;
        for left in [0, 7, 23] {
            let keep: Vec<usize> = (0..24).filter(|&i| i != left).collect();
            let part = design.select(&keep);
            let mut work = Work::new(&part);
            work.invert_kernel(&part, &parameters).unwrap();
            let z: Vec<f64> = keep.iter().map(|&i| whole.target.apply(y[i])).collect();
            let mut alpha = vec![0.0; 23];
            work.kernel.multiply(&z, &mut alpha);
            let model = Process {
                parameters,
                warp: whole.warp,
                target: whole.target,
                factor: Factor::of(work.kernel, 1.0 / parameters.trace(&part)),
                alpha,
                left_out: Vec::new(),
            };
            let row: Vec<f64> = design.features.iter().flat_map(|x| x.row(left).to_vec()).collect();
            let (mean, sd) = model.forecast(&part.relate(&row));
            let expected = whole.left_out[left];
            // the deviation of a new run comes from single precision
            assert!((mean - expected.0).abs() < 1e-8 && (sd / expected.1 - 1.0).abs() < 1e-5, "run {left}");
        }
    }

    #[test]
    fn a_smooth_function_is_learnt() {
        let (design, y) = wave(60);
        let process = process(&design, &y);
        let left_out: Vec<f64> = process.left_out.iter().map(|l| l.0).collect();
        let r2 = crate::statistics::r_squared(&left_out, &y);
        assert!(r2 > 0.95, "R² {r2}");
    }

    #[test]
    fn scores_that_crowd_below_a_ceiling_are_forecast_better_warped() {
        let (design, y) = wave(60);
        let scores: Vec<f64> = y.iter().map(|y| 0.9 - 0.1 * (-y).exp()).collect();
        let plain = tuned(&design, &scores);
        let warp = plain.likeliest_warp(WarpPrior::SCORES, &scores);
        assert!(warp.is_some());
        let warped = Tuned::new(&design, &scores, warp, &plain.theta).unwrap();
        let [plain, warped] = [plain, warped].map(|tuned| {
            let left_out = tuned.process(&design).left_out;
            left_out.iter().zip(&scores).map(|(left_out, y)| (left_out.0 - y).powi(2)).sum::<f64>()
        });
        assert!(warped < 0.5 * plain, "{warped} {plain}");
    }

    #[test]
    fn a_kernel_that_cannot_be_inverted_is_given_as_much_noise_as_it_needs() {
        let (design, _) = wave(40);
        let mut work = Work::new(&design);
        let mut theta = priors().map(|prior| prior.0);
        theta[3..6].fill(40.0);
        theta[NOISE] = -20.0;
        assert!(
            work.invert_kernel(&design, &Parameters::of_logs(&theta)).is_none(),
            "there is something to do"
        );
        let found = work.invert_with_noise(&design, &theta).unwrap();
        assert!(found[NOISE] > theta[NOISE] && found[..NOISE] == theta[..NOISE]);
        let least = Parameters::of_logs(&[&found[..NOISE], &[found[NOISE] - RAISE]].concat());
        assert!(work.invert_kernel(&design, &least).is_none(), "a tenth of it is too little");
        theta[0] = f64::NAN;
        assert!(work.invert_with_noise(&design, &theta).is_none());
    }

    #[test]
    fn a_run_far_below_all_others_is_forecast_to_stay_there_and_less_surely() {
        let level = |i: usize| 0.5 + 0.01 * i as f64;
        let training = TrainingSet {
            steps: (1..=6).map(f64::from).collect(),
            target_step: 30.0,
            prefixes: Matrix::from_fn(30, 6, |i, t| level(i) - 0.1 / (t + 1) as f64),
            targets: (0..30).map(|i| level(i) + 0.02 * (i as f64 * 1.7).sin()).collect(),
            ..TrainingSet::default()
        };
        let model = GaussianProcess.fit(&training).unwrap();
        let at = |level: f64| {
            let prefix: Vec<f64> = (1..=6).map(|t| level - 0.1 / f64::from(t)).collect();
            model.forecast(&Query { prefix: &prefix, configuration: &[] })
        };
        let (edge, far) = (at(0.47), at(0.1));
        assert!((far.mean - edge.mean + 0.37).abs() < 0.02, "{edge:?} {far:?}");
        assert!(far.scale > edge.scale + 0.05, "{edge:?} {far:?}");
    }

    #[test]
    fn clipping_keeps_a_forecast_where_finished_runs_have_been() {
        let runs = TrainingSet { targets: vec![0.2, 0.9, 0.6], ..TrainingSet::default() };
        let reach_of = |runs: &TrainingSet| Reach::new(runs, &[0.1, 0.1, 0.1]);
        let reach = reach_of(&runs);
        let cases = [(0.5, 0.4, 0.5), (5.0, 0.4, 0.935), (-5.0, 0.4, 0.165), (5.0, 0.95, 1.085)];
        for (forecast, last, expected) in cases {
            let clipped = reach.clip(forecast, last);
            assert!((clipped - expected).abs() < 1e-12, "{forecast} from {last}: {clipped}");
        }
        let below_1 = reach_of(&TrainingSet { ceiling: Some(1.0), ..runs.clone() });
        for (forecast, last, expected) in
            [(5.0, 0.95, 1.0), (5.0, 0.4, 0.935), (-5.0, 0.95, 0.165), (5.0, 1.2, 1.335)]
        {
            let clipped = below_1.clip(forecast, last);
            assert!((clipped - expected).abs() < 1e-12, "{forecast} from {last} below 1: {clipped}");
        }
        let of_the_best = reach_of(&TrainingSet { run_score: RunScore::Best, ..runs });
        for (forecast, last, expected) in [(5.0, 0.4, 0.935), (0.5, 0.4, 0.5), (-5.0, 0.4, 0.4)] {
            let clipped = of_the_best.clip(forecast, last);
            assert!(
                (clipped - expected).abs() < 1e-12,
                "{forecast} from {last} where the best counts: {clipped}"
            );
        }
    }
}
