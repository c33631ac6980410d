//! The network: three hidden layers of tanh and a head, curves over time or plain; its loss and derivatives.

use super::basis::{self, BASIS_COUNT, BASIS_PARAMETERS, PARAMETER_OFFSETS, TimeTerms, sigmoid};
use super::layers::{dense, dense_gradient, dense_single, tanh, through_tanh};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Hidden layers.
const HIDDEN_LAYERS: usize = 3;
/// Outputs of LC-Net's head: θ, weights, asymptote.
const CURVE_OUTPUTS: usize = BASIS_PARAMETERS + BASIS_COUNT + 1;
/// Where the asymptote is among them.
const ASYMPTOTE_INDEX: usize = BASIS_PARAMETERS + BASIS_COUNT;
/// The prior of the log variance: its mean ln 10⁻⁶ and its own variance.
const PRIOR_LOG_VARIANCE: f64 = -13.815_510_557_964_274;
const PRIOR_VARIANCE: f64 = 0.01;
/// The first log variance, ln 10⁻³.
const FIRST_LOG_VARIANCE: f64 = -6.907_755_278_982_137;

/// The meaning of the last layer's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputHead {
    /// LC-Net: μ_∞ + Σ_k w_k·φ_k(t; θ) of a configuration.
    Curves,
    /// One number from a configuration and t.
    Plain,
}

/// The shape of a network, whose parameters are one flat vector: W and b of each layer, then ln σ² of the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NetworkShape {
    pub(super) inputs: usize,
    pub(super) hidden: usize,
    pub(super) head: OutputHead,
}

/// A mini-batch, and the space for its activations.
pub(super) struct MiniBatch {
    /// Inputs, shape (rows, inputs).
    pub(super) inputs: Vec<f64>,
    pub(super) times: Vec<TimeTerms>,
    pub(super) targets: Vec<f64>,
    hidden: [Vec<f64>; HIDDEN_LAYERS],
    slopes: [Vec<f64>; 2],
    outputs: Vec<f64>,
}

impl NetworkShape {
    fn output_count(&self) -> usize {
        if self.head == OutputHead::Curves { CURVE_OUTPUTS } else { 1 }
    }

    /// (from, to) of each layer.
    fn layer_sizes(&self) -> [(usize, usize); HIDDEN_LAYERS + 1] {
        let h = self.hidden;
        [(self.inputs, h), (h, h), (h, h), (h, self.output_count())]
    }

    /// The number of parameters of the layers.
    pub(super) fn layer_parameter_count(&self) -> usize {
        self.layer_sizes().iter().map(|(from, to)| (from + 1) * to).sum()
    }

    /// The number of parameters.
    pub(super) fn parameter_count(&self) -> usize {
        self.layer_parameter_count() + 1
    }

    /// First parameters: weights and biases uniform in ±1/√from.
    pub(super) fn sample_initial_parameters(&self, random: &mut ChaCha8Rng) -> Vec<f64> {
        let mut parameters = Vec::with_capacity(self.parameter_count());
        for (from, to) in self.layer_sizes() {
            let bound = 1.0 / (from.max(1) as f64).sqrt();
            parameters.extend((0..(from + 1) * to).map(|_| random.random_range(-bound..bound)));
        }
        parameters.push(FIRST_LOG_VARIANCE);
        parameters
    }

    pub(super) fn new_batch(&self, rows: usize) -> MiniBatch {
        MiniBatch {
            inputs: vec![0.0; rows * self.inputs],
            times: vec![TimeTerms::new(1.0); rows],
            targets: vec![0.0; rows],
            hidden: std::array::from_fn(|_| vec![0.0; rows * self.hidden]),
            slopes: std::array::from_fn(|_| vec![0.0; rows * self.hidden]),
            outputs: vec![0.0; rows * self.output_count()],
        }
    }

    fn forward(&self, parameters: &[f64], batch: &mut MiniBatch) {
        let mut offset = 0;
        for (layer, (from, to)) in self.layer_sizes().into_iter().enumerate() {
            let weights = &parameters[offset..offset + (from + 1) * to];
            offset += weights.len();
            let (before, after) = batch.hidden.split_at_mut(layer.min(HIDDEN_LAYERS));
            let x = before.last().unwrap_or(&batch.inputs);
            if let Some(out) = after.first_mut() {
                dense(x, weights, from, to, out);
                tanh(out);
            } else {
                dense(x, weights, from, to, &mut batch.outputs);
            }
        }
    }

    /// Adds ∂U to `gradient`, U the loss a row of `rows` in all:
    ///
    /// U = 1/m·Σ ((y − μ)²/(2·(σ² + 10⁻¹⁶)) + ln σ²/2) + 1/(N·m)·Σ (ln σ² − ln 10⁻⁶)²/(2·0.01) + Σ p²/(2·N·P)
    ///
    /// for m rows of the batch, N of the training set and P parameters.
    pub(super) fn add_gradient(
        &self,
        parameters: &[f64],
        rows: usize,
        batch: &mut MiniBatch,
        gradient: &mut [f64],
    ) {
        self.forward(parameters, batch);
        let m = batch.targets.len() as f64;
        let outputs = self.output_count();
        let last = parameters.len() - 1;
        let log_variance = parameters[last];
        let variance = log_variance.exp() + 1e-16;
        let prior = (log_variance - PRIOR_LOG_VARIANCE) / (PRIOR_VARIANCE * rows as f64);
        for row in 0..batch.targets.len() {
            let out = &mut batch.outputs[row * outputs..(row + 1) * outputs];
            let target = batch.targets[row];
            let slope = match self.head {
                OutputHead::Curves => {
                    curve_slopes(out, batch.times[row], |mean| -(target - mean) / variance / m)
                }
                OutputHead::Plain => {
                    out[0] = -(target - out[0]) / variance / m;
                    out[0]
                }
            };
            let residual = slope * m * variance;
            let scaled = residual * residual / variance * (log_variance.exp() / variance);
            gradient[last] += (0.5 * (1.0 - scaled) + prior) / m;
        }
        self.backward(parameters, batch, gradient);
        let prior = 1.0 / (rows as f64 * parameters.len() as f64);
        gradient.iter_mut().zip(parameters).for_each(|(g, p)| *g += prior * p);
    }

    /// From the derivatives by the outputs, which have taken their place, to those by the parameters.
    fn backward(&self, parameters: &[f64], batch: &mut MiniBatch, gradient: &mut [f64]) {
        let mut end = self.layer_parameter_count();
        let [first, second] = &mut batch.slopes;
        let (mut slope, mut next) = (first, second);
        for (layer, (from, to)) in self.layer_sizes().into_iter().enumerate().rev() {
            let start = end - (from + 1) * to;
            let x = if layer == 0 { &batch.inputs } else { &batch.hidden[layer - 1] };
            let of_output: &[f64] = if layer == HIDDEN_LAYERS { &batch.outputs } else { slope };
            dense_gradient(x, of_output, from, to, &mut gradient[start..end]);
            if layer > 0 {
                through_tanh(x, of_output, &parameters[start..end], from, to, next);
                std::mem::swap(&mut slope, &mut next);
            }
            end = start;
        }
    }

    /// The outputs for one input `x`, parameters in single precision; `space` is used between.
    pub(super) fn outputs_single(
        &self,
        parameters: &[f32],
        x: &[f32],
        space: &mut [Vec<f32>; 3],
    ) -> [f64; CURVE_OUTPUTS] {
        let [one, other, out] = space;
        let (mut from_row, mut to_row) = (one, other);
        from_row.clear();
        from_row.extend_from_slice(x);
        let mut offset = 0;
        for (layer, (from, to)) in self.layer_sizes().into_iter().enumerate() {
            let weights = &parameters[offset..offset + (from + 1) * to];
            offset += weights.len();
            let into = if layer == HIDDEN_LAYERS { &mut *out } else { &mut *to_row };
            into.resize(to, 0.0);
            dense_single(from_row, weights, layer == HIDDEN_LAYERS, into);
            std::mem::swap(&mut from_row, &mut to_row);
        }
        let mut outputs = [0.0; CURVE_OUTPUTS];
        outputs.iter_mut().zip(&*out).for_each(|(wide, single)| *wide = f64::from(*single));
        outputs
    }
}

/// The curve that a configuration's outputs describe.
#[derive(Clone, Copy, Debug)]
pub(super) struct BasisCurve {
    theta: [f64; BASIS_PARAMETERS],
    weights: [f64; BASIS_COUNT],
    pub(super) asymptote: f64,
}

impl BasisCurve {
    pub(super) fn new(outputs: &[f64]) -> Self {
        let mut theta = [0.0; BASIS_PARAMETERS];
        // θ must not reach 0, because the basis takes logarithms of it and divides by it
        theta.iter_mut().zip(outputs).for_each(|(theta, out)| *theta = sigmoid(*out).clamp(1e-9, 1.0 - 1e-9));
        let logits = &outputs[BASIS_PARAMETERS..ASYMPTOTE_INDEX];
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights = [0.0; BASIS_COUNT];
        // less the largest, so that no exponential overflows
        weights.iter_mut().zip(logits).for_each(|(weight, logit)| *weight = (logit - largest).exp());
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        Self { theta, weights, asymptote: sigmoid(outputs[ASYMPTOTE_INDEX]) }
    }

    /// μ_∞ + Σ_k w_k·φ_k(t).
    pub(super) fn mean(&self, time: TimeTerms) -> f64 {
        let bases = basis::basis_values(&self.theta, time);
        self.asymptote + self.weights.iter().zip(bases).map(|(w, phi)| w * phi).sum::<f64>()
    }
}

/// Replaces a row's outputs by the derivatives of the loss by them. `by_mean` gives that by the mean, which is returned.
fn curve_slopes(out: &mut [f64], time: TimeTerms, by_mean: impl Fn(f64) -> f64) -> f64 {
    let curve = BasisCurve::new(out);
    let bases = basis::basis_values(&curve.theta, time);
    let gradients = basis::basis_gradients(&curve.theta, time);
    let mixture: f64 = curve.weights.iter().zip(bases).map(|(w, phi)| w * phi).sum();
    let mean_slope = by_mean(curve.asymptote + mixture);
    for k in 0..BASIS_COUNT {
        for j in PARAMETER_OFFSETS[k]..PARAMETER_OFFSETS[k + 1] {
            out[j] = mean_slope * curve.weights[k] * gradients[j] * sigmoid_slope(curve.theta[j]);
        }
        out[BASIS_PARAMETERS + k] = mean_slope * curve.weights[k] * (bases[k] - mixture);
    }
    out[ASYMPTOTE_INDEX] = mean_slope * sigmoid_slope(curve.asymptote);
    mean_slope
}

/// The derivative of the sigmoid where its value is `s`.
fn sigmoid_slope(s: f64) -> f64 {
    s * (1.0 - s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// U as it is written, for one batch.
    fn loss(shape: &NetworkShape, parameters: &[f64], rows: usize, batch: &mut MiniBatch) -> f64 {
        shape.forward(parameters, batch);
        let m = batch.targets.len() as f64;
        let n = rows as f64;
        let outputs = shape.output_count();
        let terms = (0..batch.targets.len()).map(|row| {
            let out = &batch.outputs[row * outputs..(row + 1) * outputs];
            let mean = match shape.head {
                OutputHead::Curves => BasisCurve::new(out).mean(batch.times[row]),
                OutputHead::Plain => out[0],
            };
            let log_variance = parameters[parameters.len() - 1];
            let fit = (batch.targets[row] - mean).powi(2) / (2.0 * (log_variance.exp() + 1e-16));
            let prior = (log_variance - PRIOR_LOG_VARIANCE).powi(2) / (2.0 * PRIOR_VARIANCE);
            (fit + log_variance / 2.0 + prior / n) / m
        });
        let decay = parameters.iter().map(|p| p * p).sum::<f64>() / (2.0 * n * parameters.len() as f64);
        terms.sum::<f64>() + decay
    }

    #[test]
    fn derivatives_of_the_loss_are_those_of_finite_differences() {
        for head in [OutputHead::Curves, OutputHead::Plain] {
            let shape = NetworkShape { inputs: 3, hidden: 8, head };
            let mut random = ChaCha8Rng::seed_from_u64(4);
            let mut parameters = shape.sample_initial_parameters(&mut random);
            parameters.iter_mut().enumerate().for_each(|(i, p)| *p += 0.1 * (i as f64).sin());
            let mut batch = shape.new_batch(5);
            batch.inputs.iter_mut().enumerate().for_each(|(i, x)| *x = (2.0 * i as f64).cos());
            batch.targets.iter_mut().enumerate().for_each(|(i, y)| *y = 0.3 + 0.1 * i as f64);
            batch.times = (1..=5).map(|t| TimeTerms::new(f64::from(t) / 5.0)).collect();
            let mut gradient = vec![0.0; parameters.len()];
            shape.add_gradient(&parameters, 50, &mut batch, &mut gradient);
            for j in 0..parameters.len() {
                let mut moved_by = |by: f64| {
                    let mut moved = parameters.clone();
                    moved[j] += by;
                    loss(&shape, &moved, 50, &mut batch)
                };
                let difference = (moved_by(1e-5) - moved_by(-1e-5)) / 2e-5;
                let room = 1e-5 * difference.abs().max(1.0);
                assert!(
                    (difference - gradient[j]).abs() < room,
                    "{head:?} {j}: {} for {difference}",
                    gradient[j]
                );
            }
        }
    }

    #[test]
    fn single_precision_forecasts_agree_with_training() {
        let shape = NetworkShape { inputs: 3, hidden: 8, head: OutputHead::Curves };
        let parameters = shape.sample_initial_parameters(&mut ChaCha8Rng::seed_from_u64(4));
        let mut batch = shape.new_batch(1);
        batch.inputs = vec![0.4, -1.2, 0.7];
        shape.forward(&parameters, &mut batch);
        let single: Vec<f32> = parameters.iter().map(|&p| p as f32).collect();
        let outputs = shape.outputs_single(&single, &[0.4, -1.2, 0.7], &mut Default::default());
        for (a, b) in outputs.iter().zip(&batch.outputs) {
            assert!((a - b).abs() < 1e-5, "{a} for {b}");
        }
    }
}
