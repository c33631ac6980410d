//! A layer of long short-term memory cells.

use crate::layers::dense::linear;
use crate::layers::parameter::{Param, module};
pub(crate) use crate::layers::recurrence::LstmState;
use crate::layers::recurrence::run_recurrence;
use crate::tensor::Tensor;

/// LSTM cells without peepholes.
///
/// (i, f, g, o) = x·W + h·U + b;  c ← σ(f)·c + σ(i)·tanh(g);  h ← σ(o)·tanh(c)
///
/// Source: F. Gers et al., *Learning to forget* (2000); gates in PyTorch's order.
#[derive(Clone)]
pub(crate) struct LstmLayer {
    /// W, shape (inputs, 4 · cells).
    pub(crate) input: Param<2>,
    /// U, shape (cells, 4 · cells).
    pub(crate) recurrent: Param<2>,
    /// b, shape (4 · cells).
    pub(crate) bias: Param<1>,
}
module!(LstmLayer { input, recurrent, bias });

impl LstmLayer {
    /// The outputs of all steps, shape (steps, sequences, cells), from inputs of shape (steps, sequences, inputs), and the last state.
    /// Gradients go back to the first step, and no further: the state before it counts as constant.
    pub(crate) fn forward(&self, inputs: Tensor<3>, state: LstmState) -> (Tensor<3>, LstmState) {
        let [steps, sequences, size] = inputs.dims();
        let cells = self.recurrent.dims()[0];
        let inputs = inputs.reshape([steps * sequences, size]);
        let gates = linear(inputs, self.input.val(), self.bias.val()).reshape([steps, sequences, 4 * cells]);
        let (recurrent, LstmState { hidden, cell }) = (self.recurrent.val(), state);
        let (outputs, last) = run_recurrence(&gates, &recurrent, &hidden, &cell);
        let [hidden, cell] = last;
        (outputs, LstmState { hidden, cell })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::parameter::Module;
    use crate::layers::weights::WeightInitializer;
    use crate::tensor::graph::PendingGradients;

    const SHAPE: [usize; 3] = [4, 2, 3];

    fn layer() -> LstmLayer {
        let mut weights = WeightInitializer::new(3, 0);
        LstmLayer {
            input: weights.uniform([3, 20], 0.8),
            recurrent: weights.uniform([5, 20], 0.8),
            bias: weights.uniform([20], 0.8),
        }
    }

    fn state() -> LstmState {
        let values: Vec<f32> = (0..20).map(|i| (i as f32 * 1.3).sin() / 2.0).collect();
        let part = |values: &[f32]| Tensor::constant(values.to_vec(), [2, 5]);
        LstmState { hidden: part(&values[..10]), cell: part(&values[10..]) }
    }

    fn weights() -> Vec<f32> {
        (0..40).map(|i| (i as f32).sin()).collect()
    }

    fn inputs() -> Vec<f32> {
        (0..24).map(|i| (i as f32 * 0.7).sin()).collect()
    }

    /// Σ of all outputs weighted by sin(i), and all its gradients.
    fn weighted_output_sum(layer: &LstmLayer, inputs: Tensor<3>) -> (f32, PendingGradients) {
        let (outputs, _) = layer.forward(inputs, state());
        let sum = outputs.values().iter().zip(weights()).map(|(value, weight)| value * weight).sum();
        (sum, outputs.backward(weights()))
    }

    fn assert_close(slope: f32, gradient: f32, what: &str, at: usize) {
        assert!((slope - gradient).abs() < 2e-3, "{what} at {at}: {slope}, not {gradient}");
    }

    #[test]
    fn gradients_through_time_agree_with_finite_differences() {
        let input = Tensor::constant(inputs(), SHAPE).into_parameter();
        let gradient = weighted_output_sum(&layer(), input.clone()).1.take(&input.source()).unwrap();
        for at in [0, 5, 11, 23] {
            let moved = |by: f32| {
                let mut moved = inputs();
                moved[at] += by;
                weighted_output_sum(&layer(), Tensor::constant(moved, SHAPE)).0
            };
            assert_close((moved(0.01) - moved(-0.01)) / 0.02, gradient[at], "input", at);
        }
        assert!(gradient[..6].iter().any(|g| g.abs() > 1e-4), "the first step is not forgotten");
    }

    #[test]
    fn gradients_of_the_weights_agree_with_finite_differences() {
        let layer = layer();
        let mut gradients = weighted_output_sum(&layer, Tensor::constant(inputs(), SHAPE)).1;
        for (number, parameter) in layer.parameters().into_iter().enumerate() {
            let gradient = gradients.take(&parameter.values.clone().source()).unwrap();
            for at in [0, 7, 13, 19] {
                let moved = |by: f32| {
                    let (mut layer, mut seen) = (layer.clone(), 0);
                    layer.visit(&mut |parameter| {
                        let mut list = parameter.values.clone().into_values();
                        list[at] += if seen == number { by } else { 0.0 };
                        parameter.set_value_list(list);
                        seen += 1;
                    });
                    weighted_output_sum(&layer, Tensor::constant(inputs(), SHAPE)).0
                };
                assert_close(
                    (moved(0.01) - moved(-0.01)) / 0.02,
                    gradient[at],
                    &format!("parameter {number}"),
                    at,
                );
            }
        }
    }

    #[test]
    fn the_last_state_continues_where_the_steps_ended() {
        let (whole, last) = layer().forward(Tensor::constant(inputs(), SHAPE), state());
        let half = |values: &[f32]| Tensor::constant(values.to_vec(), [2, 2, 3]);
        let (first, between) = layer().forward(half(&inputs()[..12]), state());
        let (second, end) = layer().forward(half(&inputs()[12..]), between);
        let parts = [first.into_values(), second.into_values()].concat();
        assert!(whole.into_values().iter().zip(&parts).all(|(a, b)| (a - b).abs() < 1e-6));
        let values = |state: LstmState| [state.hidden.into_values(), state.cell.into_values()].concat();
        assert!(values(last).iter().zip(&values(end)).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
