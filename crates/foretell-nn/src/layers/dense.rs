//! A fully connected layer.

use crate::layers::parameter::{Param, module};
use crate::tensor::Tensor;
use crate::tensor::product::{MatrixView, multiply, product};

/// x ↦ x·W + b.
#[derive(Clone)]
pub(crate) struct DenseLayer {
    /// Shape (inputs, outputs).
    pub(crate) weight: Param<2>,
    /// Shape (outputs).
    pub(crate) bias: Param<1>,
}
module!(DenseLayer { weight, bias });

impl DenseLayer {
    /// Vectors of shape (examples, outputs).
    pub(crate) fn forward(&self, vectors: Tensor<2>) -> Tensor<2> {
        linear(vectors, self.weight.val(), self.bias.val())
    }
}

/// x·W + b.
pub(crate) fn linear(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    let ([rows, inputs], outputs) = (x.dims(), weight.dims()[1]);
    let mut made: Vec<f32> = bias.values().iter().copied().cycle().take(rows * outputs).collect();
    multiply(as_matrix(&x), as_matrix(&weight), 1.0, &mut made);
    let sources = [x.source(), weight.source(), bias.source()];
    let (x, weight) = (x.share_values(), weight.share_values());
    Tensor::made(made, [rows, outputs], sources, move |above, [to_x, to_weight, to_bias], gradients| {
        let from_above = MatrixView::new(&above, [rows, outputs]);
        if to_x.is_some() {
            gradients
                .add(&to_x, product(from_above, MatrixView::new(&weight, [inputs, outputs]).transpose()));
        }
        if to_weight.is_some() {
            gradients.add(&to_weight, product(MatrixView::new(&x, [rows, inputs]).transpose(), from_above));
        }
        let mut sums = vec![0.0_f32; outputs];
        for row in above.chunks_exact(outputs) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        gradients.add(&to_bias, sums);
    })
}

fn as_matrix(array: &Tensor<2>) -> MatrixView<'_> {
    MatrixView::new(array.values(), array.dims())
}
