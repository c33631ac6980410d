//! Operations value by value, and joining.

use crate::tensor::Tensor;
use crate::tensor::graph::GradientSource;

/// max(x, 0).
pub(crate) fn relu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let (shape, source) = (x.dims(), x.source());
    let mut values = x.into_values();
    // NaN stays: a network that has diverged is to be seen
    values.iter_mut().for_each(|value| *value = if *value < 0.0 { 0.0 } else { *value });
    let values = std::rc::Rc::new(values);
    let kept = std::rc::Rc::clone(&values);
    Tensor::made(values, shape, [source], move |mut above, [source], gradients| {
        for (above, &value) in above.iter_mut().zip(kept.iter()) {
            *above = if value > 0.0 { *above } else { 0.0 };
        }
        gradients.add(&source, above);
    })
}

/// a + b.
pub(crate) fn sum_of<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    assert_eq!(a.dims(), b.dims(), "the shapes of the addends are equal");
    let (shape, sources) = (a.dims(), [a.source(), b.source()]);
    let mut values = a.into_values();
    values.iter_mut().zip(b.values()).for_each(|(sum, value)| *sum += value);
    Tensor::made(values, shape, sources, |above, [a, b], gradients| {
        // asked first, because the gradient of a constant would be copied for nothing
        if b.is_some() {
            gradients.add(&b, above.clone());
        }
        gradients.add(&a, above);
    })
}

/// Each value times a constant of its own.
pub(crate) fn scale_each<const D: usize>(x: Tensor<D>, factors: Vec<f32>) -> Tensor<D> {
    let (shape, source) = (x.dims(), x.source());
    let mut values = x.into_values();
    multiply_in_place(&mut values, &factors);
    Tensor::made(values, shape, [source], move |mut above, [source], gradients| {
        multiply_in_place(&mut above, &factors);
        gradients.add(&source, above);
    })
}

fn multiply_in_place(values: &mut [f32], factors: &[f32]) {
    values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
}

/// For each image the maps of all `parts`, one after the other.
pub(crate) fn join_maps(mut parts: Vec<Tensor<4>>) -> Tensor<4> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let [images, _, height, width] = parts[0].dims();
    let channels: Vec<usize> = parts.iter().map(|part| part.dims()[1]).collect();
    let lengths: Vec<usize> = channels.iter().map(|channels| channels * height * width).collect();
    let mut values = Vec::with_capacity(images * lengths.iter().sum::<usize>());
    for image in 0..images {
        for (part, &length) in parts.iter().zip(&lengths) {
            values.extend_from_slice(&part.values()[image * length..][..length]);
        }
    }
    let shape = [images, channels.iter().sum(), height, width];
    let sources: Vec<GradientSource> = parts.iter().map(Tensor::source).collect();
    Tensor::from_many_sources(values, shape, sources, move |above, sources, gradients| {
        let (all, mut first) = (lengths.iter().sum(), 0);
        for (source, &length) in sources.iter().zip(&lengths) {
            let of_image = above.chunks_exact(all).flat_map(|image| &image[first..first + length]);
            if source.is_some() {
                gradients.add(source, of_image.copied().collect());
            }
            first += length;
        }
    })
}
