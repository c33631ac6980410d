//! The steps of a layer of long short-term memory on the processor, in one piece.

use crate::tensor::Tensor;
use crate::tensor::product::{MatrixView, multiply, product};
use std::rc::Rc;

/// The state of a layer between two steps, each of shape (sequences, cells). Gradients stop here.
#[derive(Clone)]
pub(crate) struct LstmState {
    /// The output h.
    pub(crate) hidden: Tensor<2>,
    /// The memory c.
    pub(crate) cell: Tensor<2>,
}

/// The outputs, shape (steps, sequences, cells), and the last output and memory, from the inputs of the gates, shape (steps, sequences,
/// 4 · cells), U, shape (cells, 4 · cells), and the output and memory before. Those two count as constant.
pub(crate) fn run_recurrence(
    gates: &Tensor<3>,
    recurrent: &Tensor<2>,
    hidden: &Tensor<2>,
    memory: &Tensor<2>,
) -> (Tensor<3>, [Tensor<2>; 2]) {
    let [steps, sequences, wide] = gates.dims();
    let sizes = RecurrenceSizes { steps, sequences, cells: wide / 4 };
    let sources = [gates.source(), recurrent.source()];
    let run = RecurrenceRun::forward(
        sizes,
        gates.values(),
        recurrent.share_values(),
        hidden.values(),
        memory.values(),
    );
    let (outputs, last) = (run.outputs(), run.last());
    let outputs =
        Tensor::made(outputs, [steps, sequences, sizes.cells], sources, move |above, sources, gradients| {
            let [to_gates, to_recurrent] = sources;
            let slopes = run.backward(&above);
            let before = &run.hidden[..steps * sequences * sizes.cells];
            let before = MatrixView::new(before, [steps * sequences, sizes.cells]).transpose();
            gradients
                .add(&to_recurrent, product(before, MatrixView::new(&slopes, [steps * sequences, wide])));
            gradients.add(&to_gates, slopes);
        });
    (outputs, last.map(|part| Tensor::constant(part, [sequences, sizes.cells])))
}

#[derive(Clone, Copy, Debug)]
struct RecurrenceSizes {
    steps: usize,
    sequences: usize,
    cells: usize,
}

/// A run through all steps, with what its gradients need.
struct RecurrenceRun {
    sizes: RecurrenceSizes,
    recurrent: Rc<Vec<f32>>,
    /// Outputs before the first step and after each, each of sequences · cells.
    hidden: Vec<f32>,
    /// Memories, likewise.
    memory: Vec<f32>,
    /// The outputs of the gates in each step: sequences · 4 · cells.
    open: Vec<f32>,
}

impl RecurrenceRun {
    fn forward(
        sizes: RecurrenceSizes,
        gates: &[f32],
        recurrent: Rc<Vec<f32>>,
        hidden: &[f32],
        memory: &[f32],
    ) -> Self {
        let RecurrenceSizes { steps, sequences, cells } = sizes;
        let (state, wide) = (sequences * cells, 4 * cells);
        let mut run = Self {
            sizes,
            recurrent,
            hidden: Vec::with_capacity((steps + 1) * state),
            memory: Vec::with_capacity((steps + 1) * state),
            open: gates.to_vec(),
        };
        run.hidden.extend_from_slice(hidden);
        run.memory.extend_from_slice(memory);
        for step in 0..steps {
            let open = &mut run.open[step * sequences * wide..][..sequences * wide];
            let before = MatrixView::new(&run.hidden[step * state..], [sequences, cells]);
            multiply(before, MatrixView::new(&run.recurrent, [cells, wide]), 1.0, open);
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
    fn outputs(&self) -> Vec<f32> {
        self.hidden[self.sizes.sequences * self.sizes.cells..].to_vec()
    }

    /// The last output and the last memory.
    fn last(&self) -> [Vec<f32>; 2] {
        let state = self.sizes.sequences * self.sizes.cells;
        [&self.hidden, &self.memory].map(|values| values[values.len() - state..].to_vec())
    }

    /// The gradient of the gates' inputs from that of the outputs.
    fn backward(&self, above: &[f32]) -> Vec<f32> {
        let RecurrenceSizes { steps, sequences, cells } = self.sizes;
        let (state, wide) = (sequences * cells, 4 * cells);
        let transposed = MatrixView::new(&self.recurrent, [cells, wide]).transpose();
        let mut to_gates = vec![0.0_f32; steps * sequences * wide];
        let (mut to_hidden, mut to_memory) = (vec![0.0_f32; state], vec![0.0_f32; state]);
        for step in (0..steps).rev() {
            let open = &self.open[step * sequences * wide..][..sequences * wide];
            let to_open = &mut to_gates[step * sequences * wide..][..sequences * wide];
            for place in 0..state {
                let (sequence, cell) = (place / cells, place % cells);
                let [enter, keep, fresh, show] =
                    [0, 1, 2, 3].map(|number| open[sequence * wide + number * cells + cell]);
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
            multiply(MatrixView::new(to_open, [sequences, wide]), transposed, 0.0, &mut to_hidden);
        }
        to_gates
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// tanh x = 2 σ(2x) − 1, to about 10⁻⁷.
fn tanh(x: f32) -> f32 {
    2.0 * sigmoid(2.0 * x) - 1.0
}
