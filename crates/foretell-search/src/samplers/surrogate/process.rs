//! A Gaussian process over the points of a space: Matérn-5/2 kernel, one length for each parameter, noise by observation.

use super::cube::{CubePoint, UnitCube};
use foretell::linalg::inverse::SymmetricMatrix;

/// Noise variance that every observation has at least, on standardized scores.
const MIN_NOISE_VARIANCE: f64 = 1e-6;
/// Steps of the search for hyperparameters.
const LIKELIHOOD_STEPS: usize = 40;

/// The logarithms of a process's hyperparameters: 1/ℓ² for each parameter, the signal's variance, the noise's variance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hyperparameters(Vec<f64>);

impl Hyperparameters {
    /// The prior: mean and standard deviation of each. A length is about ½·d^¼.
    fn prior(dimensions: usize) -> Vec<(f64, f64)> {
        let length = 0.5 * (dimensions as f64).powf(0.25);
        let mut prior = vec![(-2.0 * length.ln(), 2.0); dimensions];
        prior.extend([(0.0, 1.0), (-6.0, 2.0)]);
        prior
    }

    /// ℓ for each parameter, on the unit cube.
    pub(crate) fn lengths(&self) -> Vec<f64> {
        self.split().0.into_iter().map(|weight| weight.powf(-0.5)).collect()
    }

    fn split(&self) -> (Vec<f64>, f64, f64) {
        let values: Vec<f64> = self.0.iter().map(|ln| ln.exp()).collect();
        let dimensions = values.len() - 2;
        (values[..dimensions].to_vec(), values[dimensions], values[dimensions + 1] + MIN_NOISE_VARIANCE)
    }

    /// The most likely ones for `targets` with `noise` (variances) at `points`, prior included: 40 steps of resilient
    /// propagation from the prior's mean. O(n³ + n²·d) each.
    ///
    /// Source of the steps: Riedmiller & Braun 1993.
    pub(crate) fn likeliest(cube: &UnitCube, points: &[CubePoint], targets: &[f64], noise: &[f64]) -> Self {
        let prior = Self::prior(cube.dimensions());
        let distances = PairDistances::new(cube, points);
        let mut theta = Self(prior.iter().map(|prior| prior.0).collect());
        let (mut best, mut least) = (theta.clone(), f64::INFINITY);
        let mut steps = vec![0.2; prior.len()];
        let mut before = vec![0.0; prior.len()];
        for _ in 0..LIKELIHOOD_STEPS {
            let Some((mut loss, mut slopes)) = loss(&theta, &distances, targets, noise) else { break };
            for ((slope, at), (mean, sd)) in slopes.iter_mut().zip(&theta.0).zip(&prior) {
                let z = (at - mean) / sd;
                loss += z * z / 2.0;
                *slope += z / sd;
            }
            if loss < least {
                (best, least) = (theta.clone(), loss);
            }
            for (j, slope) in slopes.into_iter().enumerate() {
                let same = slope * before[j];
                steps[j] = if same > 0.0 {
                    f64::min(steps[j] * 1.2, 1.0)
                } else if same < 0.0 {
                    steps[j] * 0.5
                } else {
                    steps[j]
                };
                before[j] = if same < 0.0 { 0.0 } else { slope };
                theta.0[j] -= steps[j] * before[j].signum() * f64::from(u8::from(before[j] != 0.0));
            }
        }
        best
    }
}

/// Squared distances of all pairs of points by parameter: those of pair (i, k), k ≤ i, one after another.
struct PairDistances {
    dimensions: usize,
    of_pairs: Vec<f64>,
}

impl PairDistances {
    fn new(cube: &UnitCube, points: &[CubePoint]) -> Self {
        let dimensions = cube.dimensions();
        let mut of_pairs = Vec::new();
        for (i, a) in points.iter().enumerate() {
            for b in &points[..=i] {
                of_pairs.extend((0..dimensions).map(|j| squared_distance(cube, j, a[j], b[j])));
            }
        }
        Self { dimensions, of_pairs }
    }

    fn pair(&self, i: usize, k: usize) -> &[f64] {
        let pair = (i * (i + 1) / 2 + k) * self.dimensions;
        &self.of_pairs[pair..pair + self.dimensions]
    }
}

/// The squared distance along parameter `j`: 1 between options, and between a value and none.
fn squared_distance(cube: &UnitCube, j: usize, a: Option<f64>, b: Option<f64>) -> f64 {
    match (a, b, cube.options(j)) {
        (Some(a), Some(b), None) => (a - b) * (a - b),
        (Some(a), Some(b), Some(_)) => f64::from(u8::from((a - b).abs() > 1e-9)),
        (None, None, _) => 0.0,
        _ => 1.0,
    }
}

/// Matérn 5/2 of the squared distance q, over the signal's variance, and its slope in q.
fn matern_kernel(q: f64) -> (f64, f64) {
    let r = (5.0 * q).sqrt();
    let e = (-r).exp();
    ((1.0 + r + r * r / 3.0) * e, -5.0 / 6.0 * (1.0 + r) * e)
}

/// The negative logarithm of the marginal likelihood, but for a constant, and its slopes.
fn loss(
    theta: &Hyperparameters,
    distances: &PairDistances,
    targets: &[f64],
    noise: &[f64],
) -> Option<(f64, Vec<f64>)> {
    let (n, (weights, signal, floor)) = (targets.len(), theta.split());
    let mut kernel = SymmetricMatrix::zeros(n);
    let mut slopes_in_q = SymmetricMatrix::zeros(n);
    for (i, own) in noise.iter().enumerate() {
        for k in 0..=i {
            let q: f64 = distances.pair(i, k).iter().zip(&weights).map(|(d, w)| d * w).sum();
            let (value, slope) = matern_kernel(q);
            kernel.row_mut(i)[k] = signal * value;
            slopes_in_q.row_mut(i)[k] = signal * slope;
        }
        kernel.row_mut(i)[i] += floor + own;
    }
    let mut inverse = kernel.clone();
    let log_determinant = inverse.invert()?;
    let mut alpha = vec![0.0; n];
    inverse.multiply_vector(targets, &mut alpha);
    let fit: f64 = alpha.iter().zip(targets).map(|(alpha, y)| alpha * y).sum();
    let loss = (log_determinant + fit) / 2.0;
    let mut slopes = vec![0.0; weights.len() + 2];
    let (by_signal, by_noise) = (weights.len(), weights.len() + 1);
    for i in 0..n {
        for k in 0..=i {
            let m = (inverse.row(i)[k] - alpha[i] * alpha[k]) * if i == k { 0.5 } else { 1.0 };
            let along = m * slopes_in_q.row(i)[k];
            for ((slope, d), w) in slopes.iter_mut().zip(distances.pair(i, k)).zip(&weights) {
                *slope += along * d * w;
            }
            let own = if i == k { floor + noise[i] } else { 0.0 };
            slopes[by_signal] += m * (kernel.row(i)[k] - own);
        }
        let m = (inverse.diagonal_entry(i) - alpha[i] * alpha[i]) / 2.0;
        slopes[by_noise] += m * (floor - MIN_NOISE_VARIANCE);
    }
    slopes.iter().all(|slope| slope.is_finite()).then_some((loss, slopes))
}

/// A process conditioned on observations.
#[derive(Clone, Debug)]
pub(crate) struct SurrogateProcess {
    points: Vec<CubePoint>,
    weights: Vec<f64>,
    signal: f64,
    /// K⁻¹.
    inverse: SymmetricMatrix,
    /// K⁻¹·y.
    alpha: Vec<f64>,
}

impl SurrogateProcess {
    /// Conditioned on `targets` with `noise` (variances) at `points`; `None` if K isn't positive definite. O(n³).
    pub(crate) fn new(
        cube: &UnitCube,
        hyperparameters: &Hyperparameters,
        points: Vec<CubePoint>,
        targets: &[f64],
        noise: &[f64],
    ) -> Option<Self> {
        let (weights, signal, floor) = hyperparameters.split();
        let n = points.len();
        let inverse = SymmetricMatrix::zeros(n);
        let mut process = Self { points, weights, signal, inverse, alpha: vec![0.0; n] };
        for (i, own) in noise.iter().enumerate() {
            for k in 0..=i {
                process.inverse.row_mut(i)[k] = process.kernel(cube, &process.points[i], &process.points[k]);
            }
            process.inverse.row_mut(i)[i] += floor + own;
        }
        process.inverse.invert()?;
        process.inverse.multiply_vector(targets, &mut process.alpha);
        Some(process)
    }

    fn kernel(&self, cube: &UnitCube, a: &CubePoint, b: &CubePoint) -> f64 {
        let along = self.weights.iter().enumerate().map(|(j, w)| w * squared_distance(cube, j, a[j], b[j]));
        self.signal * matern_kernel(along.sum()).0
    }

    /// The mean at `point`. O(n).
    pub(crate) fn mean(&self, cube: &UnitCube, point: &CubePoint) -> f64 {
        self.points.iter().zip(&self.alpha).map(|(at, alpha)| alpha * self.kernel(cube, at, point)).sum()
    }

    /// The errors of the means at its own points, each forecast from the others: αᵢ/(K⁻¹)ᵢᵢ. O(n).
    ///
    /// Source: Rasmussen & Williams 2006, section 5.4.2.
    pub(crate) fn held_out_errors(&self) -> Vec<f64> {
        self.alpha.iter().enumerate().map(|(i, alpha)| alpha / self.inverse.diagonal_entry(i)).collect()
    }

    /// The mean and the standard deviation, without noise, at `point`. O(n²).
    pub(crate) fn forecast(&self, cube: &UnitCube, point: &CubePoint) -> (f64, f64) {
        let k: Vec<f64> = self.points.iter().map(|at| self.kernel(cube, at, point)).collect();
        let mean = k.iter().zip(&self.alpha).map(|(k, alpha)| k * alpha).sum();
        let mut solved = vec![0.0; k.len()];
        self.inverse.multiply_vector(&k, &mut solved);
        let explained: f64 = k.iter().zip(&solved).map(|(k, z)| k * z).sum();
        // at a point that was observed, rounding can make the variance negative
        (mean, (self.signal - explained).max(1e-12).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter_space::ParameterSpace;
    use crate::samplers::surrogate::first_draw;

    fn sample(n: u64) -> (UnitCube, Vec<CubePoint>, Vec<f64>) {
        let texts = ["x=float:0:1", "o=choice:a,b", "y=float:0:1 if o=b"];
        let cube = UnitCube::new(ParameterSpace::parse(&texts).unwrap());
        let points: Vec<CubePoint> =
            (0..n).map(|i| cube.point_at_coordinates(&first_draw(3, i, 3))).collect();
        let target = |p: &CubePoint| (5.0 * p[0].unwrap()).sin() + p[2].map_or(0.3, |y| y - 0.5);
        let targets = points.iter().map(target).collect();
        (cube, points, targets)
    }

    #[test]
    fn the_slopes_are_those_of_finite_differences() {
        let (cube, points, targets) = sample(12);
        let distances = PairDistances::new(&cube, &points);
        let noise: Vec<f64> = (0..12).map(|i| 0.01 * f64::from(i)).collect();
        let theta = Hyperparameters(vec![1.0, 0.3, -0.5, 0.2, -2.0]);
        let (_, slopes) = loss(&theta, &distances, &targets, &noise).unwrap();
        for (j, slope) in slopes.into_iter().enumerate() {
            let moved_by = |shift: f64| {
                let mut moved = theta.clone();
                moved.0[j] += shift;
                loss(&moved, &distances, &targets, &noise).unwrap().0
            };
            let difference = (moved_by(1e-5) - moved_by(-1e-5)) / 2e-5;
            assert!(
                (difference - slope).abs() < 1e-6 * (1.0 + difference.abs()),
                "{j}: {difference} {slope}"
            );
        }
    }

    #[test]
    fn a_smooth_function_is_learned_and_the_spread_shrinks_where_points_are() {
        let (cube, points, targets) = sample(60);
        let noise = vec![0.0; 40];
        let hyperparameters = Hyperparameters::likeliest(&cube, &points[..40], &targets[..40], &noise);
        let process =
            SurrogateProcess::new(&cube, &hyperparameters, points[..40].to_vec(), &targets[..40], &noise)
                .unwrap();
        for (point, target) in points.iter().zip(&targets).skip(40) {
            let (mean, sd) = process.forecast(&cube, point);
            assert!((mean - target).abs() < 0.15, "{mean} {target}");
            assert!((process.mean(&cube, point) - mean).abs() < 1e-9);
            assert!(sd < 0.3);
        }
        assert!(process.forecast(&cube, &points[0]).1 < 0.05);
    }
}
