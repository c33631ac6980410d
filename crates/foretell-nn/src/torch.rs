//! Compares 50 steps of each space's network with PyTorch's, from the same weights on the same data.
//!
//! `tests/data/torch_losses.py` made the losses and has the formulas of weights and data.

use crate::image_lessons::ImageNetwork;
use crate::layers::lstm::State;
use crate::layers::weights::Weights;
use crate::lessons::{Chance, Steps};
use crate::stream::{Purpose, stream};
use crate::text_lessons::TextNetwork;
use crate::training::Recipe;
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::loss::cross_entropy_with_logits;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::collections::BTreeMap;

const LOSSES: &str = include_str!("../tests/data/torch_losses.json");
/// The largest difference of a loss, as a share of it: a few times what rounding does to PyTorch's own losses.
const TOLERANCE: f64 = 5e-3;
const BATCHES: usize = 4;
const IMAGES: usize = 8;
pub(crate) const SIDE: usize = 16;
pub(crate) const CLASSES: usize = 10;
/// Steps and parts of a text, and its words.
const TEXT: [usize; 2] = [5, 4];
pub(crate) const WORDS: usize = 11;

/// Gives kernels and matrices the values of the formula and leaves vectors alone.
struct Formula {
    made: usize,
}

impl ModuleMapper for Formula {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if D < 2 {
            return param;
        }
        let shape = param.val().dims();
        let fan_in: usize = if D == 2 { shape[0] } else { shape[1..].iter().product() };
        let bound = (3.0 / fan_in as f64).sqrt();
        let value = |i| (bound * pattern(i, self.made)) as f32;
        let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
        self.made += 1;
        let tensor = Tensor::from_data(TensorData::new(values, shape), &device());
        Param::initialized(param.id, tensor.require_grad())
    }
}

/// u(i, k) of the script.
fn pattern(i: usize, k: usize) -> f64 {
    let value = 43_758.545_3 * (12.9898 * (i + 1) as f64 + 78.233 * k as f64).sin();
    2.0 * (value - value.floor()) - 1.0
}

fn device() -> Device {
    Device::flex().autodiff()
}

/// Whether images of this `scale`, learnt by `recipe` at a rate of `rate`, give the losses of PyTorch's network `name`.
pub(crate) fn check_images<R: Recipe<Network: ImageNetwork>>(name: &str, recipe: &R, rate: f64, scale: f64) {
    let count = IMAGES * 3 * SIDE * SIDE;
    let batch = |batch: usize| {
        let images: Vec<f32> = (0..count).map(|i| (scale * pattern(i, 1000 + batch)) as f32).collect();
        let mut targets = vec![0.0_f32; IMAGES * CLASSES];
        (0..IMAGES).for_each(|image| targets[image * CLASSES + (image * 3 + batch) % CLASSES] = 1.0);
        let images = TensorData::new(images, [IMAGES, 3, SIDE, SIDE]);
        (images, TensorData::new(targets, [IMAGES, CLASSES]))
    };
    check(name, recipe, rate, |network, step| {
        let (images, targets) = batch(step % BATCHES);
        let mut rng = stream(0, Purpose::Dropout, 0);
        let logits = network.logits(Tensor::from_data(images, &device()), Some(&mut rng));
        cross_entropy_with_logits(logits, Tensor::from_data(targets, &device()))
    });
}

/// As [`check_images`], for a text.
pub(crate) fn check_text<R: Recipe<Network: TextNetwork>>(name: &str, recipe: &R, rate: f64) {
    let [steps, parts] = TEXT;
    let tokens = |batch: usize, ahead: usize| -> Vec<i32> {
        let token = |step, part| (7 * (step + ahead) + 3 * part * part + batch) % WORDS;
        (0..steps).flat_map(|step| (0..parts).map(move |part| token(step, part) as i32)).collect()
    };
    check(name, recipe, rate, |network, step| {
        let batch = step % BATCHES;
        let input = Tensor::<2, Int>::from_data(TensorData::new(tokens(batch, 0), TEXT), &device());
        let states: Vec<State> = network.start(parts, &device());
        let (logits, _) = network.logits(input, states, None);
        let mut targets = vec![0.0_f32; steps * parts * WORDS];
        for (row, token) in targets.chunks_exact_mut(WORDS).zip(tokens(batch, 1)) {
            row[token as usize] = 1.0;
        }
        let targets = TensorData::new(targets, [steps * parts, WORDS]);
        cross_entropy_with_logits(logits, Tensor::from_data(targets, &device()))
    });
}

fn check<R: Recipe>(name: &str, recipe: &R, rate: f64, loss: impl Fn(&mut R::Network, usize) -> Tensor<1>) {
    let losses: BTreeMap<String, Vec<f64>> = serde_json::from_str(LOSSES).unwrap();
    let mut network = recipe.network(&mut Weights::new(0, 0, &device())).map(&mut Formula { made: 0 });
    let mut optimizer = recipe.optimizer();
    let steps = Steps {
        batch_size: IMAGES,
        rate,
        clip: recipe.clip(),
        chance: Chance { seed: 0, attempt: 0, epoch: 1 },
        device: &device(),
    };
    assert_eq!(losses[name].len(), 50);
    for (step, expected) in losses[name].iter().enumerate() {
        let value = loss(&mut network, step);
        let found = f64::from(value.clone().into_scalar::<f32>());
        let gap = ((found - expected) / expected).abs();
        assert!(gap < TOLERANCE, "{name}, step {}: loss {found}, PyTorch's {expected}", step + 1);
        network = steps.step(network, &mut optimizer, &value);
    }
}
