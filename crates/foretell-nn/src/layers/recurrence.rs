//! The steps of a layer of long short-term memory on the processor, in one piece.
//!
//! burn's operations, step by step, stay for GPUs, and as the oracle of the tests. In one piece a layer needs no graph of its steps.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData};

type Learning = Autodiff<Flex>;
type Plain = FloatTensor<Flex>;

/// The state of a layer between two steps, each of shape (sequences, cells).
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The output h.
    pub(crate) hidden: Tensor<2>,
    /// The memory c.
    pub(crate) cell: Tensor<2>,
}

impl State {
    /// The state without its history: gradients stop here.
    pub(crate) fn detached(self) -> Self {
        Self { hidden: self.hidden.detach(), cell: self.cell.detach() }
    }
}

/// The outputs, shape (steps, sequences, cells), and the last state, from the inputs of the gates, shape (steps, sequences, 4 · cells), and
/// U, shape (cells, 4 · cells); none if the tensors are not on the processor. The state counts as constant.
pub(crate) fn recur(gates: &Tensor<3>, recurrent: &Tensor<2>, state: &State) -> Option<(Tensor<3>, State)> {
    let [steps, sequences, wide] = gates.dims();
    let sizes = Sizes { steps, sequences, cells: wide / 4 };
    if let (Ok(gates), Ok(recurrent)) =
        (gates.clone().try_into_primitive::<Flex>(), recurrent.clone().try_into_primitive::<Flex>())
    {
        let hidden = state.hidden.clone().try_into_primitive::<Flex>().ok()?;
        let cell = state.cell.clone().try_into_primitive::<Flex>().ok()?;
        let run = Run::forward(sizes, gates, recurrent, hidden, &cell);
        let [hidden, cell] = run.last().map(Tensor::from_primitive::<Flex>);
        return Some((Tensor::from_primitive::<Flex>(run.outputs()), State { hidden, cell }));
    }
    let gates = gates.clone().try_into_primitive::<Learning>().ok()?;
    let recurrent = recurrent.clone().try_into_primitive::<Learning>().ok()?;
    let hidden = state.hidden.clone().try_into_primitive::<Learning>().ok()?;
    let cell = state.cell.clone().try_into_primitive::<Learning>().ok()?;
    let nodes = [gates.node(), recurrent.node()];
    let run = Run::forward(
        sizes,
        gates.into_primitive(),
        recurrent.into_primitive(),
        hidden.into_primitive(),
        &cell.into_primitive(),
    );
    let (outputs, last) = (run.outputs(), run.last());
    let operation = Recurrence.prepare::<NoCheckpointing>(nodes).compute_bound().stateful();
    let outputs = match operation {
        OpsKind::Tracked(prepared) => prepared.finish(run, outputs),
        OpsKind::UnTracked(prepared) => prepared.finish(outputs),
    };
    // the last state is without history: the next steps count it as constant
    let [hidden, cell] = last.map(|part| {
        Tensor::from_primitive::<Learning>(<Learning as burn::backend::AutodiffBackend>::from_inner(part))
    });
    Some((Tensor::from_primitive::<Learning>(outputs), State { hidden, cell }))
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    steps: usize,
    sequences: usize,
    cells: usize,
}

/// A run through all steps, with what its gradients need.
#[derive(Clone, Debug)]
struct Run {
    sizes: Sizes,
    recurrent: Plain,
    /// Outputs before the first step and after each, each of sequences · cells.
    hidden: Vec<f32>,
    /// Memories, likewise.
    memory: Vec<f32>,
    /// What came out of the gates in each step: sequences · 4 · cells.
    open: Vec<f32>,
}

impl Run {
    fn forward(sizes: Sizes, gates: Plain, recurrent: Plain, hidden: Plain, cell: &Plain) -> Self {
        let Sizes { steps, sequences, cells } = sizes;
        let (state, wide) = (sequences * cells, 4 * cells);
        let gates = gates.to_contiguous();
        let mut run = Self {
            sizes,
            recurrent,
            hidden: Vec::with_capacity((steps + 1) * state),
            memory: Vec::with_capacity((steps + 1) * state),
            open: vec![0.0; steps * sequences * wide],
        };
        run.hidden.extend_from_slice(hidden.to_contiguous().storage());
        run.memory.extend_from_slice(cell.to_contiguous().storage());
        let inputs = gates.storage::<f32>().chunks_exact(sequences * wide);
        for (step, inputs) in inputs.enumerate() {
            let before = tensor(run.hidden[step * state..].to_vec(), [sequences, cells]);
            let back = Flex::float_matmul(before, run.recurrent.clone()).to_contiguous();
            let open = &mut run.open[step * sequences * wide..][..sequences * wide];
            open.iter_mut()
                .zip(inputs.iter().zip(back.storage::<f32>()))
                .for_each(|(open, (input, back))| *open = input + back);
            for (sequence, open) in open.chunks_exact_mut(wide).enumerate() {
                let (sigmoids, rest) = open.split_at_mut(2 * cells);
                let (fresh, show) = rest.split_at_mut(cells);
                sigmoids.iter_mut().chain(show.iter_mut()).for_each(|value| *value = sigmoid(*value));
                fresh.iter_mut().for_each(|value| *value = tanh(*value));
                for cell in 0..cells {
                    let old = run.memory[step * state + sequence * cells + cell];
                    let new = sigmoids[cells + cell] * old + sigmoids[cell] * fresh[cell];
                    run.memory.push(new);
                    run.hidden.push(show[cell] * tanh(new));
                }
            }
        }
        run
    }

    /// The outputs of all steps.
    fn outputs(&self) -> Plain {
        let Sizes { steps, sequences, cells } = self.sizes;
        tensor(self.hidden[sequences * cells..].to_vec(), [steps, sequences, cells])
    }

    /// The last output and the last memory.
    fn last(&self) -> [Plain; 2] {
        let Sizes { sequences, cells, .. } = self.sizes;
        let last =
            |values: &[f32]| tensor(values[values.len() - sequences * cells..].to_vec(), [sequences, cells]);
        [last(&self.hidden), last(&self.memory)]
    }

    /// The gradient of the gates' inputs from that of the outputs.
    fn backward(&self, above: &[f32]) -> Vec<f32> {
        let Sizes { steps, sequences, cells } = self.sizes;
        let (state, wide) = (sequences * cells, 4 * cells);
        let transposed = Flex::float_swap_dims(self.recurrent.clone(), 0, 1);
        let mut to_gates = vec![0.0_f32; steps * sequences * wide];
        let (mut to_hidden, mut to_memory) = (vec![0.0_f32; state], vec![0.0_f32; state]);
        for step in (0..steps).rev() {
            let open = &self.open[step * sequences * wide..][..sequences * wide];
            let to_open = &mut to_gates[step * sequences * wide..][..sequences * wide];
            for place in 0..state {
                let (sequence, cell) = (place / cells, place % cells);
                let gate = |number: usize| open[sequence * wide + number * cells + cell];
                let (enter, keep, fresh, show) = (gate(0), gate(1), gate(2), gate(3));
                let shown = tanh(self.memory[(step + 1) * state + place]);
                let hidden = above[step * state + place] + to_hidden[place];
                let memory = to_memory[place] + hidden * show * (1.0 - shown * shown);
                let slopes = [
                    memory * fresh * enter * (1.0 - enter),
                    memory * self.memory[step * state + place] * keep * (1.0 - keep),
                    memory * enter * (1.0 - fresh * fresh),
                    hidden * shown * show * (1.0 - show),
                ];
                for (number, slope) in slopes.into_iter().enumerate() {
                    to_open[sequence * wide + number * cells + cell] = slope;
                }
                to_memory[place] = memory * keep;
            }
            let slopes = tensor(to_open.to_vec(), [sequences, wide]);
            let before = Flex::float_matmul(slopes, transposed.clone()).to_contiguous();
            to_hidden.copy_from_slice(before.storage());
        }
        to_gates
    }
}

#[derive(Debug)]
struct Recurrence;

impl Backward<Flex, 2> for Recurrence {
    type State = Run;

    fn backward(self, operation: Ops<Run, 2>, gradients: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let above = gradients.consume::<Flex>(&operation.node).to_contiguous();
        let run = operation.state;
        let Sizes { steps, sequences, cells } = run.sizes;
        let to_gates = run.backward(above.storage());
        let [for_gates, for_recurrent] = operation.parents;
        if let Some(parent) = for_recurrent {
            let before = run.hidden[..steps * sequences * cells].to_vec();
            let before = Flex::float_swap_dims(tensor(before, [steps * sequences, cells]), 0, 1);
            let slopes = tensor(to_gates.clone(), [steps * sequences, 4 * cells]);
            gradients.register::<Flex>(parent.id, Flex::float_matmul(before, slopes));
        }
        if let Some(parent) = for_gates {
            gradients.register::<Flex>(parent.id, tensor(to_gates, [steps, sequences, 4 * cells]));
        }
    }
}

fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> Plain {
    Plain::from_data(TensorData::new(values, shape))
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// tanh x = 2 σ(2x) − 1, to about 10⁻⁷.
fn tanh(x: f32) -> f32 {
    2.0 * sigmoid(2.0 * x) - 1.0
}
