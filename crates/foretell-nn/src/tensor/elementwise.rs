//! Operations value by value, and joining.

use crate::tensor::graph::{Array, Gradients, Source};
use crate::tensor::{Tensor, wherever};
#[cfg(feature = "gpu")]
use burn::tensor as burning;

/// max(x, 0).
pub(crate) fn relu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    wherever!(x, x => Tensor::Processor(relu_array(x)), x => Tensor::Gpu(burning::activation::relu(x)))
}

fn relu_array<const D: usize>(x: Array<D>) -> Array<D> {
    let (shape, source) = (x.shape(), x.source());
    let mut values = x.into_values();
    // NaN stays: a network that has diverged is to be seen
    values.iter_mut().for_each(|value| *value = if *value < 0.0 { 0.0 } else { *value });
    let values = std::rc::Rc::new(values);
    let kept = std::rc::Rc::clone(&values);
    Array::made(values, shape, [source], move |mut above, [source], gradients| {
        let cut = |(above, &value): (&mut f32, &f32)| *above = if value > 0.0 { *above } else { 0.0 };
        above.iter_mut().zip(kept.iter()).for_each(cut);
        gradients.add(&source, above);
    })
}

/// a + b.
pub(crate) fn sum_of<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    wherever!(a, a => Tensor::Processor(sum_of_arrays(a, b.array())), a => Tensor::Gpu(a + b.burning()))
}

fn sum_of_arrays<const D: usize>(a: Array<D>, b: Array<D>) -> Array<D> {
    assert_eq!(a.shape(), b.shape(), "what is added has one shape");
    let (shape, sources) = (a.shape(), [a.source(), b.source()]);
    let mut values = a.into_values();
    values.iter_mut().zip(b.values()).for_each(|(sum, value)| *sum += value);
    Array::made(values, shape, sources, |above, [a, b], gradients| {
        if b.is_some() {
            gradients.add(&b, above.clone());
        }
        gradients.add(&a, above);
    })
}

/// Each value times a constant of its own.
pub(crate) fn scaled<const D: usize>(x: Tensor<D>, factors: Vec<f32>) -> Tensor<D> {
    wherever!(x, x => Tensor::Processor(scaled_array(x, factors)), x => {
        let factors = burning::TensorData::new(factors, x.dims());
        let factors = burning::Tensor::from_data(factors, &x.device().inner());
        Tensor::Gpu(x * factors)
    })
}

fn scaled_array<const D: usize>(x: Array<D>, factors: Vec<f32>) -> Array<D> {
    let (shape, source) = (x.shape(), x.source());
    let scale = |values: &mut [f32], factors: &[f32]| {
        values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
    };
    let mut values = x.into_values();
    scale(&mut values, &factors);
    Array::made(values, shape, [source], move |mut above, [source], gradients| {
        scale(&mut above, &factors);
        gradients.add(&source, above);
    })
}

/// For each image the maps of all `parts`, one after the other.
pub(crate) fn joined(parts: Vec<Tensor<4>>) -> Tensor<4> {
    wherever!(&parts[0], _ => {
        Tensor::Processor(joined_arrays(parts.into_iter().map(Tensor::array).collect()))
    }, _ => Tensor::Gpu(burning::Tensor::cat(parts.into_iter().map(Tensor::burning).collect(), 1)))
}

fn joined_arrays(mut parts: Vec<Array<4>>) -> Array<4> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let [images, _, height, width] = parts[0].shape();
    let channels: Vec<usize> = parts.iter().map(|part| part.shape()[1]).collect();
    let lengths: Vec<usize> = channels.iter().map(|channels| channels * height * width).collect();
    let mut values = Vec::with_capacity(images * lengths.iter().sum::<usize>());
    for image in 0..images {
        for (part, &length) in parts.iter().zip(&lengths) {
            values.extend_from_slice(&part.values()[image * length..][..length]);
        }
    }
    let shape = [images, channels.iter().sum(), height, width];
    let sources: Vec<Source> = parts.iter().map(Array::source).collect();
    let apart = move |above: Vec<f32>, sources: &[Source], gradients: &mut Gradients| {
        let (all, mut first) = (lengths.iter().sum(), 0);
        for (source, &length) in sources.iter().zip(&lengths) {
            let of_image = above.chunks_exact(all).flat_map(|image| &image[first..first + length]);
            if source.is_some() {
                gradients.add(source, of_image.copied().collect());
            }
            first += length;
        }
    };
    Array::made_of_many(values, shape, sources, apart)
}
