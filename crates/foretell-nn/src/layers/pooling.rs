//! Pooling.

use crate::tensor::Tensor;
use crate::tensor::graph::sum;
use std::ops::Range;

/// Maxima over windows of `kernel` × `kernel`, without padding; windows that do not fit are left out.
pub(crate) fn max_pool(images: Tensor<4>, kernel: usize, stride: usize) -> Tensor<4> {
    pool_maxima(images, PoolingWindows { kernel, stride, ceiling: false })
}

/// Maxima over windows that may reach over the border: the output is ⌈(size − kernel)/stride⌉ + 1 large.
pub(crate) fn max_pool_ceiling(images: Tensor<4>, kernel: usize, stride: usize) -> Tensor<4> {
    pool_maxima(images, PoolingWindows { kernel, stride, ceiling: true })
}

/// The side of a map of side `size` after `poolings` poolings of 3 × 3 with stride 2 whose windows may reach over the border.
pub(crate) fn pooled_side(size: usize, poolings: usize) -> usize {
    let windows = PoolingWindows { kernel: 3, stride: 2, ceiling: true };
    (0..poolings).fold(size, |size, _| windows.count(size))
}

/// Means over windows that may reach over the border; only values inside count.
pub(crate) fn mean_pool_ceiling(images: Tensor<4>, kernel: usize, stride: usize) -> Tensor<4> {
    let windows = PoolingWindows { kernel, stride, ceiling: true };
    means(&images, windows)
}

/// The mean of each map: shape (images, channels).
pub(crate) fn global_mean(images: Tensor<4>) -> Tensor<2> {
    let [count, channels, height, width] = images.dims();
    let share = 1.0 / (height * width) as f32;
    let made: Vec<f32> = images.values().chunks_exact(height * width).map(|map| sum(map) * share).collect();
    Tensor::made(made, [count, channels], [images.source()], move |above, [source], gradients| {
        let slopes = above.iter().flat_map(|above| std::iter::repeat_n(above * share, height * width));
        gradients.add(&source, slopes.collect());
    })
}

/// Square windows over maps.
#[derive(Clone, Copy, Debug)]
struct PoolingWindows {
    kernel: usize,
    stride: usize,
    /// Whether windows may reach over the border.
    ceiling: bool,
}

impl PoolingWindows {
    /// The number of windows in a line of `size` values; each begins inside.
    fn count(&self, size: usize) -> usize {
        let room = size.saturating_sub(self.kernel);
        if self.ceiling {
            room.div_ceil(self.stride).min((size - 1) / self.stride) + 1
        } else {
            room / self.stride + 1
        }
    }

    /// The values of window number `at` that are inside of a line of `size`.
    fn span(&self, at: usize, size: usize) -> Range<usize> {
        at * self.stride..(at * self.stride + self.kernel).min(size)
    }

    /// The lines and the columns of each window over a map, and one over its number of values.
    fn over_map(
        self,
        height: usize,
        width: usize,
    ) -> impl Iterator<Item = (Range<usize>, Range<usize>, f32)> {
        let columns = self.count(width);
        (0..self.count(height) * columns).map(move |place| {
            let (lines, span) = (self.span(place / columns, height), self.span(place % columns, width));
            let share = 1.0 / (lines.len() * span.len()) as f32;
            (lines, span, share)
        })
    }
}

fn pool_maxima(images: Tensor<4>, windows: PoolingWindows) -> Tensor<4> {
    let [count, channels, height, width] = images.dims();
    let [rows, columns] = [height, width].map(|size| windows.count(size));
    let mut made = Vec::with_capacity(count * channels * rows * columns);
    // where in its map each maximum is
    let mut places: Vec<u32> = Vec::with_capacity(made.capacity());
    for map in images.values().chunks_exact(height * width) {
        for row in 0..rows {
            for column in 0..columns {
                let (lines, span) = (windows.span(row, height), windows.span(column, width));
                let (mut best, mut place) = (f32::NEG_INFINITY, lines.start * width + span.start);
                for line in lines {
                    let first = line * width + span.start;
                    for (at, &value) in map[first..line * width + span.end].iter().enumerate() {
                        // NaN stays: a network that has diverged is to be seen
                        if value > best || value.is_nan() {
                            (best, place) = (value, first + at);
                        }
                    }
                }
                made.push(best);
                places.push(place as u32);
            }
        }
    }
    let shape = [count, channels, rows, columns];
    Tensor::made(made, shape, [images.source()], move |above, [source], gradients| {
        let mut slopes = vec![0.0_f32; count * channels * height * width];
        let maps = slopes.chunks_exact_mut(height * width);
        for ((map, above), places) in
            maps.zip(above.chunks(rows * columns)).zip(places.chunks(rows * columns))
        {
            above.iter().zip(places).for_each(|(above, &place)| map[place as usize] += above);
        }
        gradients.add(&source, slopes);
    })
}

fn means(images: &Tensor<4>, windows: PoolingWindows) -> Tensor<4> {
    let [count, channels, height, width] = images.dims();
    let [rows, columns] = [height, width].map(|size| windows.count(size));
    let mut made = vec![0.0_f32; count * channels * rows * columns];
    for (map, means) in
        images.values().chunks_exact(height * width).zip(made.chunks_exact_mut(rows * columns))
    {
        for (mean, (lines, span, share)) in means.iter_mut().zip(windows.over_map(height, width)) {
            let lines = lines.map(|line| &map[line * width..][span.clone()]);
            *mean = lines.map(|line| line.iter().sum::<f32>()).sum::<f32>() * share;
        }
    }
    let shape = [count, channels, rows, columns];
    Tensor::made(made, shape, [images.source()], move |above, [source], gradients| {
        let mut slopes = vec![0.0_f32; count * channels * height * width];
        for (map, above) in slopes.chunks_exact_mut(height * width).zip(above.chunks_exact(rows * columns)) {
            for (above, (lines, span, share)) in above.iter().zip(windows.over_map(height, width)) {
                for line in lines {
                    let line = &mut map[line * width..][span.clone()];
                    line.iter_mut().for_each(|slope| *slope += above * share);
                }
            }
        }
        gradients.add(&source, slopes);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOLS: [fn(Tensor<4>, usize, usize) -> Tensor<4>; 4] =
        [max_pool, max_pool_ceiling, mean_pool_ceiling, |images, _, _| {
            global_mean(images).reshape([2, 3, 1, 1])
        }];

    #[test]
    fn gradients_agree_with_finite_differences() {
        let values: Vec<f32> = (0..2 * 3 * 7 * 6).map(|i| (i as f32 * 0.7).sin()).collect();
        let tensor = |values: &[f32]| Tensor::constant(values.to_vec(), [2, 3, 7, 6]);
        for (pool, (kernel, stride)) in
            POOLS.into_iter().flat_map(|pool| [(3, 2), (2, 3), (1, 2)].map(|sizes| (pool, sizes)))
        {
            let weighted = |values: &[f32]| -> f32 {
                let made = pool(tensor(values), kernel, stride).into_values();
                made.iter().enumerate().map(|(i, value)| value * (i as f32).cos()).sum()
            };
            let input = tensor(&values).into_parameter();
            let made = pool(input.clone(), kernel, stride);
            let above = (0..made.values().len()).map(|i| (i as f32).cos()).collect();
            let gradient = made.backward(above).take(&input.source()).unwrap();
            for at in (0..values.len()).step_by(11) {
                let mut moved = values.clone();
                moved[at] += 1e-3;
                let up = weighted(&moved);
                moved[at] -= 2e-3;
                let slope = (up - weighted(&moved)) / 2e-3;
                assert!(
                    (slope - gradient[at]).abs() < 5e-3,
                    "{kernel}, {stride}, {at}: {slope}, not {}",
                    gradient[at]
                );
            }
        }
    }

    fn pool_test_image(pool: fn(Tensor<4>, usize, usize) -> Tensor<4>) -> Vec<f32> {
        let image = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 8.0, 7.0, 6.0], [5.0, 4.0, 3.0, 2.0]];
        pool(Tensor::constant(image.concat(), [1, 1, 4, 4]), 3, 2).into_values()
    }

    #[test]
    fn windows_over_the_border_count_what_is_inside() {
        assert_eq!(pool_test_image(max_pool), [9.0]);
        assert_eq!(pool_test_image(max_pool_ceiling), [9.0, 8.0, 9.0, 7.0]);
        // 3 × 3: 48/9; 3 × 2 at the right: (3+4+7+8+7+6)/6; 2 × 3 below: (9+8+7+5+4+3)/6; 2 × 2: (7+6+3+2)/4
        for (found, expected) in
            pool_test_image(mean_pool_ceiling).iter().zip([48.0 / 9.0, 35.0 / 6.0, 6.0, 4.5])
        {
            assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
        }
    }
}
