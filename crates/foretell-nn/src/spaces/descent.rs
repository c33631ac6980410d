//! Gradient descent as cuda-convnet and Caffe do it.

use burn::module::ParamGroup;
use burn::optim::{ModuleOptimizer, Optimizer, Sgd, SgdConfig, SgdState};
use burn::optim::{decay::WeightDecayConfig, momentum::MomentumConfig};
use burn::tensor::{Device, Tensor};

/// Gradient descent with momentum 0.9. `weights` are the paths of the weights, each with its L2 penalty λ, added to the gradient as
/// λ·w. Everything else is a bias: it learns twice as fast and is not penalised.
///
/// Source: A. Krizhevsky, cuda-convnet, `layers-18pct`; Caffe's `bvlc_alexnet`.
pub(crate) fn descent<'a>(weights: impl Iterator<Item = (&'a str, f64)>) -> ModuleOptimizer {
    let biases = TwiceAsFast(momentum(0.0));
    weights.fold(biases.into(), |optimizer, (path, penalty)| {
        ModuleOptimizer::with_group(optimizer, ParamGroup::from_path(path), momentum(penalty), None)
    })
}

fn momentum(penalty: f64) -> Sgd {
    SgdConfig::new()
        .with_momentum(Some(MomentumConfig::new().with_dampening(0.0)))
        .with_weight_decay((penalty > 0.0).then(|| WeightDecayConfig::new(penalty as f32)))
        .build()
}

/// Gradient descent at twice the rate, for biases.
#[derive(Clone)]
struct TwiceAsFast(Sgd);

impl Optimizer for TwiceAsFast {
    type State<const D: usize> = SgdState<D>;

    fn step<const D: usize>(
        &self,
        rate: f64,
        tensor: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<SgdState<D>>,
    ) -> (Tensor<D>, Option<SgdState<D>>) {
        self.0.step(2.0 * rate, tensor, gradient, state)
    }

    fn to_device<const D: usize>(state: SgdState<D>, device: &Device) -> SgdState<D> {
        Sgd::to_device(state, device)
    }
}
