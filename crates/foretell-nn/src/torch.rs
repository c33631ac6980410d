//! Compares 50 steps of each space's network with PyTorch's, from the same weights on the same data.
//!
//! `tests/data/torch_losses.py` made the losses and has the formulas of weights and data.

use crate::image_lessons::ImageNetwork;
use crate::layers::embedding::TokenBatch;
use crate::layers::loss::mean_cross_entropy;
use crate::layers::lstm::LstmState;
use crate::layers::parameter::Module;
use crate::layers::weights::WeightInitializer;
use crate::lessons::{EpochSeeds, EpochSteps};
use crate::stream::{StreamPurpose, stream};
use crate::tensor::Tensor;
use crate::text_lessons::TextNetwork;
use crate::training::TrainingRecipe;
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
fn set_by_formula(network: &mut impl Module) {
    let mut made = 0;
    network.visit(&mut |parameter| {
        let shape = parameter.shape();
        let fan_in: usize = match shape.len() {
            0 | 1 => return,
            2 => shape[0],
            _ => shape[1..].iter().product(),
        };
        let bound = (3.0 / fan_in as f64).sqrt();
        parameter.set_value_list((0..parameter.count()).map(|i| (bound * pattern(i, made)) as f32).collect());
        made += 1;
    });
}

/// u(i, k) of the script.
fn pattern(i: usize, k: usize) -> f64 {
    let value = 43_758.545_3 * (12.9898 * (i + 1) as f64 + 78.233 * k as f64).sin();
    2.0 * (value - value.floor()) - 1.0
}

/// The images that a network learns in a check.
#[derive(Clone, Copy)]
pub(crate) struct Images {
    /// Values lie in ± `scale`.
    pub(crate) scale: f64,
    pub(crate) side: usize,
    /// Whether the network drops values out and normalizes by its batch.
    pub(crate) is_training: bool,
}

impl Default for Images {
    fn default() -> Self {
        Self { scale: 1.0, side: SIDE, is_training: true }
    }
}

/// Whether `images`, learned by `recipe` at a rate of `rate`, give the losses of PyTorch's network `name`.
pub(crate) fn check_images<R: TrainingRecipe<Network: ImageNetwork>>(
    name: &str,
    recipe: &R,
    rate: f64,
    images: Images,
) {
    let Images { scale, side, is_training } = images;
    let count = IMAGES * 3 * side * side;
    check(name, recipe, rate, |network, step| {
        let batch = step % BATCHES;
        let images: Vec<f32> = (0..count).map(|i| (scale * pattern(i, 1000 + batch)) as f32).collect();
        let images = Tensor::constant(images, [IMAGES, 3, side, side]);
        let labels: Vec<usize> = (0..IMAGES).map(|image| (image * 3 + batch) % CLASSES).collect();
        let mut rng = stream(0, StreamPurpose::Dropout, 0);
        mean_cross_entropy(network.logits(images, is_training.then_some(&mut rng)), labels)
    });
}

/// As [`check_images`], for a text.
pub(crate) fn check_text<R: TrainingRecipe<Network: TextNetwork>>(name: &str, recipe: &R, rate: f64) {
    check(name, recipe, rate, |network, step| {
        let batch = step % BATCHES;
        let input = TokenBatch { shape: TEXT, values: text_tokens(batch, 0) };
        let states: Vec<LstmState> = network.start(TEXT[1]);
        let (logits, _) = network.logits(input, states, None);
        mean_cross_entropy(logits, text_tokens(batch, 1))
    });
}

fn text_tokens(batch: usize, ahead: usize) -> Vec<usize> {
    let [steps, parts] = TEXT;
    let places = (0..steps).flat_map(|step| (0..parts).map(move |part| (step + ahead, part)));
    places.map(|(step, part)| (7 * step + 3 * part * part + batch) % WORDS).collect()
}

fn check<R: TrainingRecipe>(
    name: &str,
    recipe: &R,
    rate: f64,
    loss: impl Fn(&mut R::Network, usize) -> Tensor<1>,
) {
    let losses: BTreeMap<String, Vec<f64>> = serde_json::from_str(LOSSES).unwrap();
    let mut network = recipe.network(&mut WeightInitializer::new(0, 0));
    set_by_formula(&mut network);
    let mut optimizer = recipe.optimizer();
    let steps = EpochSteps {
        batch_size: IMAGES,
        rate,
        clip: recipe.clip(),
        chance: EpochSeeds { seed: 0, attempt: 0, epoch: 1 },
    };
    assert_eq!(losses[name].len(), 50);
    for (step, expected) in losses[name].iter().enumerate() {
        let value = loss(&mut network, step);
        let found = value.value();
        let gap = ((found - expected) / expected).abs();
        assert!(gap < TOLERANCE, "{name}, step {}: loss {found}, PyTorch's {expected}", step + 1);
        steps.step(&mut network, &mut optimizer, value);
    }
}
