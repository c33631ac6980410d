//! A layer of long short-term memory cells.

pub(crate) use crate::layers::recurrence::State;
use crate::layers::recurrence::recur;
use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::activation::{sigmoid, tanh};

/// LSTM cells without peepholes.
///
/// (i, f, g, o) = x·W + h·U + b;  c ← σ(f)·c + σ(i)·tanh(g);  h ← σ(o)·tanh(c)
///
/// Source: F. Gers et al., *Learning to forget* (2000); gates in PyTorch's order.
#[derive(Module, Debug)]
pub(crate) struct Lstm {
    /// W, shape (inputs, 4 · cells).
    pub(crate) input: Param<Tensor<2>>,
    /// U, shape (cells, 4 · cells).
    pub(crate) recurrent: Param<Tensor<2>>,
    /// b, shape (4 · cells).
    pub(crate) bias: Param<Tensor<1>>,
}

impl Lstm {
    /// The outputs of all steps, shape (steps, sequences, cells), from inputs of shape (steps, sequences, inputs), and the last state.
    /// Gradients go back to the first step, and no further: the state before it counts as constant.
    pub(crate) fn forward(&self, inputs: Tensor<3>, state: State) -> (Tensor<3>, State) {
        let [steps, sequences, size] = inputs.dims();
        let cells = self.recurrent.dims()[0];
        let inputs = inputs.reshape([steps * sequences, size]).matmul(self.input.val());
        let inputs = (inputs + self.bias.val().unsqueeze()).reshape([steps, sequences, 4 * cells]);
        recur(&inputs, &self.recurrent.val(), &state).unwrap_or_else(|| self.step_by_step(inputs, state))
    }

    /// The same from the inputs of the gates, shape (steps, sequences, 4 · cells), step by step by burn's operations.
    fn step_by_step(&self, inputs: Tensor<3>, mut state: State) -> (Tensor<3>, State) {
        let cells = self.recurrent.dims()[0];
        let mut outputs = Vec::with_capacity(inputs.dims()[0]);
        for step in inputs.split(1, 0) {
            let gates = step.squeeze_dim::<2>(0) + state.hidden.matmul(self.recurrent.val());
            let mut gates = gates.split(cells, 1).into_iter();
            let mut gate = || gates.next().expect("there are four gates");
            let (enter, keep, fresh, show) =
                (sigmoid(gate()), sigmoid(gate()), tanh(gate()), sigmoid(gate()));
            let cell = keep * state.cell + enter * fresh;
            state = State { hidden: show * tanh(cell.clone()), cell };
            outputs.push(state.hidden.clone());
        }
        (Tensor::stack(outputs, 0), state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::weights::Weights;
    use burn::tensor::{Device, TensorData};

    const SHAPE: [usize; 3] = [4, 2, 3];

    fn device() -> Device {
        Device::flex().autodiff()
    }

    fn layer() -> Lstm {
        let mut weights = Weights::new(3, 0, &device());
        Lstm {
            input: weights.uniform([3, 20], 0.8),
            recurrent: weights.uniform([5, 20], 0.8),
            bias: weights.uniform([20], 0.8),
        }
    }

    fn inputs(values: &[f32]) -> Tensor<3> {
        Tensor::<3>::from_data(TensorData::new(values.to_vec(), SHAPE), &device()).require_grad()
    }

    fn state() -> State {
        let values: Vec<f32> = (0..20).map(|i| (i as f32 * 1.3).sin() / 2.0).collect();
        let part = |values: &[f32]| Tensor::from_data(TensorData::new(values.to_vec(), [2, 5]), &device());
        State { hidden: part(&values[..10]), cell: part(&values[10..]) }
    }

    /// Σ of all outputs weighted by sin(i).
    fn weighted(inputs: Tensor<3>) -> Tensor<1> {
        let (outputs, _) = layer().forward(inputs, state());
        let weights: Vec<f32> = (0..40).map(|i| (i as f32).sin()).collect();
        (outputs * Tensor::<3>::from_data(TensorData::new(weights, [4, 2, 5]), &device())).sum()
    }

    #[test]
    fn gradients_through_time_agree_with_finite_differences() {
        let values: Vec<f32> = (0..24).map(|i| (i as f32 * 0.7).sin()).collect();
        let input = inputs(&values);
        let gradients = weighted(input.clone()).backward();
        let gradient: Vec<f32> = input.grad(&gradients).unwrap().into_data().try_into_vec().unwrap();
        for at in [0, 5, 11, 23] {
            let moved = |by: f32| {
                let mut moved = values.clone();
                moved[at] += by;
                weighted(inputs(&moved)).into_scalar::<f32>()
            };
            let slope = (moved(0.01) - moved(-0.01)) / 0.02;
            assert!((slope - gradient[at]).abs() < 2e-3, "at {at}: {slope}, not {}", gradient[at]);
        }
        assert!(gradient[..6].iter().any(|g| g.abs() > 1e-4), "the first step is not forgotten");
    }
    #[test]
    fn the_layer_in_one_piece_agrees_with_it_step_by_step() {
        let list = |data: TensorData| data.try_into_vec::<f32>().unwrap();
        let outcome = |whole: bool| {
            let layer = layer();
            let gates: Vec<f32> = (0..160).map(|i| (i as f32 * 0.3).sin() * 2.0).collect();
            let gates = Tensor::<3>::from_data(TensorData::new(gates, [4, 2, 20]), &device()).require_grad();
            let (outputs, last) = if whole {
                recur(&gates, &layer.recurrent.val(), &state()).expect("the tensors are on the processor")
            } else {
                layer.step_by_step(gates.clone(), state())
            };
            let weights: Vec<f32> = (0..40).map(|i| (i as f32).sin()).collect();
            let weights = Tensor::<3>::from_data(TensorData::new(weights, [4, 2, 5]), &device());
            let gradients = (outputs.clone() * weights).sum().backward();
            [
                list(outputs.into_data()),
                list(last.hidden.into_data()),
                list(last.cell.into_data()),
                list(gates.grad(&gradients).unwrap().into_data()),
                list(layer.recurrent.val().grad(&gradients).unwrap().into_data()),
            ]
        };
        for (whole, stepwise) in outcome(true).iter().zip(outcome(false)) {
            assert_eq!(whole.len(), stepwise.len());
            for (a, b) in whole.iter().zip(stepwise) {
                assert!((a - b).abs() < 1e-5, "{a}, not {b}");
            }
        }
    }
}
