//! Optimizers: the change of parameters by their gradients.

use crate::layers::parameter::{Module, Parameter};
use crate::tensor::Tensor;
use crate::tensor::graph::dot;

/// An optimizer with its state. To the gradient of a parameter it first adds the L2 penalty, λ times the parameter.
#[derive(Clone)]
pub(crate) struct Optimizer {
    rule: UpdateRule,
    penalty: f64,
    progress: OptimizerProgress,
}

/// A step from a gradient g at a rate η; w is the parameter, all operations are value by value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UpdateRule {
    /// w ← w − η·g.
    Descent,
    /// v ← μ·v + g;  w ← w − η·v.
    Momentum {
        /// μ.
        momentum: f64,
    },
    /// v ← μ·v + g;  w ← w − η·(μ·v + g).
    ///
    /// Source: Y. Nesterov (1983), as in I. Sutskever et al., *On the importance of initialization and momentum* (2013).
    Nesterov {
        /// μ.
        momentum: f64,
    },
    /// m ← β₁·m + (1 − β₁)·g;  v ← β₂·v + (1 − β₂)·g²;  w ← w − η·m̂/(√v̂ + 10⁻⁸) with m̂ = m/(1 − β₁ᵗ) and v̂ = v/(1 − β₂ᵗ) in step t;
    /// β₁ is 0.9 and β₂ 0.999.
    ///
    /// Source: D. Kingma, J. Ba, *Adam* (2015).
    Adam,
    /// v ← α·v + (1 − α)·g²;  w ← w − η·g/(√v + 10⁻⁸).
    ///
    /// Source: T. Tieleman, G. Hinton, *RMSProp* (2012).
    RmsProp {
        /// α.
        alpha: f64,
    },
}

const ADAM_BETAS: [f64; 2] = [0.9, 0.999];
const DENOMINATOR_EPSILON: f64 = 1e-8;

impl UpdateRule {
    /// Numbers that are remembered for each value of a parameter.
    fn memories(self) -> usize {
        match self {
            Self::Descent => 0,
            Self::Momentum { .. } | Self::Nesterov { .. } | Self::RmsProp { .. } => 1,
            Self::Adam => 2,
        }
    }
}

/// The progress of an optimizer.
#[derive(Clone, Default)]
pub(crate) struct OptimizerProgress {
    /// Steps so far.
    pub(crate) steps: u64,
    /// The memories of each trained parameter, in the order of visits.
    pub(crate) memories: Vec<Vec<Tensor<1>>>,
}

impl Optimizer {
    /// An optimizer at its start.
    pub(crate) fn new(rule: UpdateRule) -> Self {
        Self { rule, penalty: 0.0, progress: OptimizerProgress::default() }
    }

    /// Sets an L2 penalty for all parameters without one of their own.
    pub(crate) fn with_penalty(mut self, penalty: f64) -> Self {
        self.penalty = penalty;
        self
    }

    /// Progress of the optimizer.
    pub(crate) fn progress(&self) -> &OptimizerProgress {
        &self.progress
    }

    /// Returns the optimizer as it was after `steps` steps on `network`. `memories(n)` reads the next n numbers that it remembered, in the order of
    /// the parameters.
    ///
    /// # Errors
    /// Those of `memories`.
    pub(crate) fn resume_at<N: Module, E>(
        mut self,
        steps: u64,
        network: &N,
        mut memories: impl FnMut(usize) -> Result<Vec<f32>, E>,
    ) -> Result<Self, E> {
        let mut all = Vec::new();
        for parameter in network.parameters().iter().filter(|parameter| steps > 0 && parameter.is_trained()) {
            let count = parameter.count();
            let remembered = (0..self.rule.memories())
                .map(|_| memories(count).map(|values| Tensor::constant(values, [count])));
            all.push(remembered.collect::<Result<_, _>>()?);
        }
        self.progress = OptimizerProgress { steps, memories: all };
        Ok(self)
    }

    /// Changes the parameters of `network` by the gradients of `loss` at this learning rate. A gradient whose norm over all parameters is
    /// larger than `clip` is shortened to it.
    pub(crate) fn step<N: Module>(&mut self, rate: f64, network: &mut N, loss: Tensor<1>, clip: Option<f64>) {
        let mut gradients = loss.backward(vec![1.0]);
        let mut slopes = Vec::new();
        network.visit(&mut |parameter| {
            if parameter.is_trained() {
                slopes.push(gradients.take(&parameter.values.source()));
            }
        });
        drop(gradients);
        let shorten = clip.map_or(1.0, |largest| largest / gradient_norm(&slopes)).min(1.0);
        // counted before the values change, because Adam's correction is that of the step being made
        self.progress.steps += 1;
        let mut slopes = slopes.into_iter().enumerate();
        network.visit(&mut |parameter| {
            if parameter.is_trained() {
                let (place, slope) = slopes.next().expect("a network has the same parameters at each visit");
                self.change(place, parameter, slope, StepSize { rate: rate * parameter.rate, shorten });
            }
        });
    }

    fn change(&mut self, place: usize, parameter: &mut Parameter, slope: Option<Vec<f32>>, step: StepSize) {
        // a parameter without a gradient has memories, too, so that these stay in the order of visits
        if self.progress.memories.len() == place {
            let zeros = (0..self.rule.memories()).map(|_| Tensor::zeros([parameter.count()]));
            self.progress.memories.push(zeros.collect());
        }
        let Some(slope) = slope else { return };
        let penalty = parameter.penalty.unwrap_or(self.penalty);
        let OptimizerProgress { steps, memories } = &mut self.progress;
        let (rule, steps, memories) = (self.rule, *steps, &mut memories[place]);
        parameter.change(|values| {
            let mut lists: Vec<Vec<f32>> = memories.drain(..).map(Tensor::into_values).collect();
            let (mut values, mut slope) = (values.into_values(), slope);
            // the penalty is added to the shortened gradient, because only the gradient of the loss is to be shortened
            add_penalty(&mut slope, &values, step.shorten, penalty);
            update_values(rule, step.rate, steps, &mut values, &slope, &mut lists);
            memories.extend(lists.into_iter().map(constant));
            constant(values)
        });
    }
}

/// The size of a step.
#[derive(Clone, Copy)]
struct StepSize {
    rate: f64,
    /// Factor on the gradient.
    shorten: f64,
}

/// The norm of a whole gradient.
fn gradient_norm(slopes: &[Option<Vec<f32>>]) -> f64 {
    let squares = slopes.iter().flatten().map(|slope| f64::from(dot(slope, slope)));
    squares.sum::<f64>().sqrt()
}

fn constant(values: Vec<f32>) -> Tensor<1> {
    let count = values.len();
    Tensor::constant(values, [count])
}

/// `shorten` · slope + `penalty` · value.
fn add_penalty(slope: &mut [f32], values: &[f32], shorten: f64, penalty: f64) {
    if shorten < 1.0 {
        slope.iter_mut().for_each(|slope| *slope *= shorten as f32);
    }
    if penalty > 0.0 {
        slope.iter_mut().zip(values).for_each(|(slope, value)| *slope += value * penalty as f32);
    }
}

/// The rule, value by value.
fn update_values(
    rule: UpdateRule,
    rate: f64,
    steps: u64,
    values: &mut [f32],
    slope: &[f32],
    memories: &mut [Vec<f32>],
) {
    let rate = rate as f32;
    let slopes = values.iter_mut().zip(slope);
    match (rule, memories) {
        (UpdateRule::Descent, _) => slopes.for_each(|(value, slope)| *value -= rate * slope),
        (UpdateRule::Momentum { momentum }, [speeds]) => {
            let momentum = momentum as f32;
            for ((value, slope), speed) in slopes.zip(speeds) {
                *speed = *speed * momentum + slope;
                *value -= rate * *speed;
            }
        }
        (UpdateRule::Nesterov { momentum }, [speeds]) => {
            let momentum = momentum as f32;
            for ((value, slope), speed) in slopes.zip(speeds) {
                *speed = *speed * momentum + slope;
                *value -= rate * (*speed * momentum + slope);
            }
        }
        (UpdateRule::Adam, [means, squares]) => {
            let [beta_1, beta_2] = ADAM_BETAS.map(|beta| beta as f32);
            let [fresh_1, fresh_2] = ADAM_BETAS.map(|beta| (1.0 - beta) as f32);
            let (factor, epsilon) = adam_correction(steps);
            let (factor, epsilon) = (factor as f32, epsilon as f32);
            for (((value, slope), mean), square) in slopes.zip(means).zip(squares) {
                *mean = *mean * beta_1 + slope * fresh_1;
                *square = *square * beta_2 + slope * slope * fresh_2;
                *value -= rate * (*mean * factor / (square.sqrt() + epsilon));
            }
        }
        (UpdateRule::RmsProp { alpha }, [squares]) => {
            let (old, fresh) = (alpha as f32, (1.0 - alpha) as f32);
            for ((value, slope), square) in slopes.zip(squares) {
                *square = *square * old + slope * slope * fresh;
                *value -= rate * (slope / (square.sqrt() + DENOMINATOR_EPSILON as f32));
            }
        }
        (rule, memories) => unreachable!("{rule:?} with {} memories", memories.len()),
    }
}

/// Adam's m̂/(√v̂ + ε) in step t is factor · m/(√v + ε'): the factor and ε'.
fn adam_correction(steps: u64) -> (f64, f64) {
    let [first, second] = ADAM_BETAS.map(|beta| 1.0 - beta.powf(steps as f64));
    (second.sqrt() / first, DENOMINATOR_EPSILON * second.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::loss::mean_cross_entropy;
    use crate::layers::parameter::Param;

    /// The gradient of the loss of two equal logits if the first is right.
    const SLOPE: [f64; 2] = [-0.5, 0.5];

    fn move_by_one_step(optimizer: &mut Optimizer, parameter: &mut Param<2>, clip: Option<f64>) -> Vec<f64> {
        parameter.set_value_list(vec![0.0, 0.0]);
        optimizer.step(0.1, parameter, mean_cross_entropy(parameter.val(), vec![0]), clip);
        parameter.val().into_values().into_iter().map(|value| f64::from(value) / -0.1).collect()
    }

    fn assert_moves(rule: UpdateRule, expected: [[f64; 2]; 2]) {
        let (mut optimizer, mut parameter) = (Optimizer::new(rule), parameter());
        for expected in expected {
            let found = move_by_one_step(&mut optimizer, &mut parameter, None);
            assert!(
                found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5),
                "{rule:?}: {found:?}, not {expected:?}"
            );
        }
    }

    fn parameter() -> Param<2> {
        Param::new(vec![0.0; 2], [1, 2], true)
    }

    #[test]
    fn two_steps_with_the_same_gradient_move_as_the_formulas_say() {
        assert_moves(UpdateRule::Descent, [SLOPE, SLOPE]);
        assert_moves(UpdateRule::Momentum { momentum: 0.9 }, [SLOPE, SLOPE.map(|g| 1.9 * g)]);
        assert_moves(
            UpdateRule::Nesterov { momentum: 0.9 },
            [SLOPE.map(|g| 1.9 * g), SLOPE.map(|g| (0.9 * 1.9 + 1.0) * g)],
        );
        // both means are those of equal gradients: g/|g|
        assert_moves(UpdateRule::Adam, [[-1.0, 1.0]; 2]);
        let first = (0.01_f64 * 0.25).sqrt();
        let second = (0.99 * 0.01_f64 * 0.25 + 0.01 * 0.25).sqrt();
        assert_moves(
            UpdateRule::RmsProp { alpha: 0.99 },
            [SLOPE.map(|g| g / first), SLOPE.map(|g| g / second)],
        );
    }

    #[test]
    fn a_long_gradient_is_shortened_a_parameter_may_learn_faster_and_penalties_pull_to_zero() {
        let mut optimizer = Optimizer::new(UpdateRule::Descent).with_penalty(0.25);
        let found = move_by_one_step(&mut optimizer, &mut parameter(), Some(0.1));
        let length = 0.1 / 2.0_f64.sqrt();
        assert!((found[0] + length).abs() < 1e-6 && (found[1] - length).abs() < 1e-6, "{found:?}");
        let found = move_by_one_step(&mut optimizer, &mut parameter().with_rate(2.0), Some(1.0));
        assert!((found[0] + 1.0).abs() < 1e-6, "{found:?}");
        for (mut parameter, penalty) in [(parameter(), 0.25), (parameter().with_penalty(2.0), 2.0)] {
            parameter.set_value_list(vec![3.0, 3.0]);
            let loss = mean_cross_entropy(parameter.val(), vec![0]);
            optimizer.step(0.1, &mut parameter, loss, None);
            let found = f64::from(parameter.val().into_values()[1]);
            assert!((found - (3.0 - 0.1 * (0.5 + penalty * 3.0))).abs() < 1e-6, "{penalty}: {found}");
        }
    }

    #[test]
    fn what_is_not_trained_stays() {
        let mut memory = Param::new(vec![0.5; 2], [1, 2], false);
        let mut network = vec![parameter(), memory.clone()];
        let loss = mean_cross_entropy(network[0].val(), vec![0]);
        Optimizer::new(UpdateRule::Adam).step(0.1, &mut network, loss, None);
        assert_eq!(network[1].val().into_values(), memory.val().into_values());
        memory.set_value_list(vec![1.0; 2]);
        assert!(network[0].val().into_values()[0] > 0.0);
    }
}
