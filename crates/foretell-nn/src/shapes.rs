//! Images of ten geometric shapes, drawn at run time from a seed: a data set that needs no file and no download.
//!
//! Each image shows one whole light figure on a dark ground that shades from side to side. The figure is one of ten,
//! and it is the class: 0 disc, 1 ring, 2 square, 3 square frame, 4 triangle, 5 plus, 6 star, 7 crescent, 8 two bars,
//! 9 bow tie. Its position, size, rotation (any angle) and color vary; a small square of the ground's color covers
//! something, half of the images contain a small piece of another figure, and every value has noise. Color
//! and place carry no information about the class, and brightness carries little. The network has to find the outline.
//!
//! Difficulty (1000 training and 500 validation images, side 16, steps of 16 images, starting rate 0.001, 10
//! epochs, accuracy on the validation images): a linear classifier 0.32, one small convolution 0.35, two with pooling
//! 0.52, three with global average pooling 0.55, larger ones with a dense layer 0.70 and 0.71.

use crate::error::Error;
use crate::images::{DataSet, LabeledImages, PixelNormalization};
use crate::stream::{StreamPurpose, stream};
use foretell::ImageShape;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Default side of an image in pixels.
pub(crate) const DEFAULT_SIDE: usize = 16;

const CLASS_COUNT: usize = 10;
const SQUARE_CLASS: usize = 2;
const DEFAULT_TRAIN: usize = 1000;
const DEFAULT_VALIDATION: usize = 500;
/// The most images drawn, so that a mistyped size is an error and does not exhaust the memory.
const MAX_IMAGES: usize = 1_000_000;

/// Standard deviation of the noise of a pixel value, of a range of 1.
const PIXEL_NOISE_SD: f32 = 0.05;
/// Pieces of other figures in an image.
const CLUTTER_COUNT_RANGE: std::ops::RangeInclusive<usize> = 0..=1;
/// Values of each channel of the ground, of a range of 1.
const GROUND_RANGE: std::ops::Range<f32> = 0.0..0.5;
/// Values of each channel of a figure.
const FIGURE_RANGE: std::ops::Range<f32> = 0.4..1.0;
/// The least amount by which a figure is lighter than the ground, all three channels together.
const MIN_CONTRAST: f32 = 0.8;

type RgbColor = [f32; 3];

/// Draws `train` training (1000 if `None`) and `validation` (500) images of `side` × `side` pixels, three channels.
///
/// Image i is of class i mod 10, and is the same in every set drawn with this seed and side, however large.
pub(crate) fn draw(
    side: usize,
    train: Option<usize>,
    validation: Option<usize>,
    seed: u64,
) -> Result<DataSet, Error> {
    if !(8..=64).contains(&side) {
        let expected = "8 to 64 pixels".to_owned();
        return Err(Error::Plan { field: "the side of shapes", found: side.to_string(), expected });
    }
    let (train, validation) = (train.unwrap_or(DEFAULT_TRAIN), validation.unwrap_or(DEFAULT_VALIDATION));
    if train == 0 || validation == 0 || train > MAX_IMAGES || validation > MAX_IMAGES {
        return Err(Error::TooFew { data: "shapes".to_owned(), train, validation, available: MAX_IMAGES });
    }
    Ok(DataSet {
        train: images(side, train, seed, StreamPurpose::TrainingImage),
        validation: images(side, validation, seed, StreamPurpose::ValidationImage),
        normalization: PixelNormalization::Range,
        mirror: false,
    })
}

fn images(side: usize, count: usize, seed: u64, purpose: StreamPurpose) -> LabeledImages {
    let mut pixels = Vec::with_capacity(count * 3 * side * side);
    for index in 0..count {
        // a stream for each image, so that an image is the same however many are drawn
        pixels.extend(image(side, index % CLASS_COUNT, &mut stream(seed, purpose, index as u64)));
    }
    LabeledImages {
        shape: ImageShape { channels: 3, height: side, width: side },
        classes: CLASS_COUNT,
        pixels,
        labels: (0..count).map(|index| (index % CLASS_COUNT) as u8).collect(),
    }
}

/// A figure in its place: coordinates run from −1 to 1 over the image.
struct PlacedFigure {
    class: usize,
    center: [f32; 2],
    radius: f32,
    turn: [f32; 2],
    color: RgbColor,
}

impl PlacedFigure {
    fn random(
        class: usize,
        reach: f32,
        radius: std::ops::Range<f32>,
        color: RgbColor,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let angle = rng.random_range(0.0..std::f32::consts::TAU);
        let center = [rng.random_range(-reach..reach), rng.random_range(-reach..reach)];
        Self { class, center, radius: rng.random_range(radius), turn: [angle.cos(), angle.sin()], color }
    }

    /// The fraction of the pixel at (x, y) that the figure covers, 0 to 1; edges are as soft as a pixel is wide.
    fn cover(&self, x: f32, y: f32, pixel: f32) -> f32 {
        let (dx, dy) = (x - self.center[0], y - self.center[1]);
        // no figure reaches so far, so its outline need not be computed
        if dx * dx + dy * dy > 2.3 * self.radius * self.radius {
            return 0.0;
        }
        let [cos, sin] = self.turn;
        let (u, v) = ((dx * cos + dy * sin) / self.radius, (dy * cos - dx * sin) / self.radius);
        (0.5 - outline_distance(self.class, u, v) * self.radius / pixel).clamp(0.0, 1.0)
    }
}

/// Approximate distance of (u, v) outside the outline of a figure that fits into the unit circle; negative inside.
fn outline_distance(class: usize, u: f32, v: f32) -> f32 {
    let (radius, square) = (u.hypot(v), u.abs().max(v.abs()));
    match class {
        0 => radius - 0.85,
        1 => (radius - 0.66).abs() - 0.2,
        2 => square - 0.75,
        3 => (square - 0.6).abs() - 0.18,
        4 => v.max(0.866 * u.abs() - 0.5 * v) - 0.5,
        5 => (u.abs() - 0.26).max(v.abs() - 0.9).min((v.abs() - 0.26).max(u.abs() - 0.9)),
        6 => radius - (0.62 + 0.3 * (5.0 * v.atan2(u)).cos()),
        7 => (radius - 0.9).max(0.72 - (u - 0.45).hypot(v)),
        8 => ((u.abs() - 0.5).abs() - 0.22).max(v.abs() - 0.8),
        _ => (v.abs() - u.abs()).max(u.abs() - 0.8),
    }
}

fn color(channel: &std::ops::Range<f32>, rng: &mut ChaCha8Rng) -> RgbColor {
    std::array::from_fn(|_| rng.random_range(channel.clone()))
}

/// A color that is lighter than `ground` by at least [`MIN_CONTRAST`].
fn ink(ground: RgbColor, rng: &mut ChaCha8Rng) -> RgbColor {
    loop {
        let candidate = color(&FIGURE_RANGE, rng);
        if candidate.iter().sum::<f32>() - ground.iter().sum::<f32>() > MIN_CONTRAST {
            return candidate;
        }
    }
}

/// One image of `class`: 3 · side · side values, channel by channel.
fn image(side: usize, class: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let ground = color(&GROUND_RANGE, rng);
    let slope: [f32; 2] = std::array::from_fn(|_| rng.random_range(-0.1..0.1));
    let mut figures: Vec<PlacedFigure> = (0..rng.random_range(CLUTTER_COUNT_RANGE))
        .map(|_| {
            PlacedFigure::random(rng.random_range(0..CLASS_COUNT), 1.0, 0.1..0.22, ink(ground, rng), rng)
        })
        .collect();
    figures.push(PlacedFigure::random(class, 0.2, 0.6..0.9, ink(ground, rng), rng));
    figures.push(PlacedFigure::random(SQUARE_CLASS, 0.9, 0.08..0.12, ground, rng));
    paint_image(side, ground, slope, &figures, rng)
}

fn paint_image(
    side: usize,
    ground: RgbColor,
    slope: [f32; 2],
    figures: &[PlacedFigure],
    rng: &mut ChaCha8Rng,
) -> Vec<u8> {
    let pixel = 2.0 / side as f32;
    let mut values = vec![0; 3 * side * side];
    for (at, (row, column)) in (0..side).flat_map(|r| (0..side).map(move |c| (r, c))).enumerate() {
        let (x, y) = ((column as f32 + 0.5) * pixel - 1.0, (row as f32 + 0.5) * pixel - 1.0);
        let shade = slope[0] * x + slope[1] * y;
        let mut seen = ground.map(|value| value + shade);
        for figure in figures {
            let cover = figure.cover(x, y, pixel);
            for (value, ink) in seen.iter_mut().zip(figure.color) {
                *value += cover * (ink - *value);
            }
        }
        for (channel, value) in seen.into_iter().enumerate() {
            values[channel * side * side + at] = (255.0 * (value + draw_noise(rng))).clamp(0.0, 255.0) as u8;
        }
    }
    values
}

/// Noise of standard deviation [`PIXEL_NOISE_SD`]: the sum of two uniform numbers, each of variance 1/12.
fn draw_noise(rng: &mut ChaCha8Rng) -> f32 {
    let uniform: [u16; 2] = rng.random();
    let sum = (f32::from(uniform[0]) + f32::from(uniform[1])) / 65_536.0 - 1.0;
    PIXEL_NOISE_SD * 6.0_f32.sqrt() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_images_and_a_larger_set_contains_the_smaller() {
        let small = draw(16, Some(20), Some(10), 5).unwrap();
        let large = draw(16, Some(40), Some(10), 5).unwrap();
        assert_eq!(large.train.pixels[..small.train.pixels.len()], small.train.pixels);
        assert_eq!(large.validation, small.validation);
        assert_ne!(draw(16, Some(20), Some(10), 6).unwrap().train, small.train);
        assert_ne!(small.train.part(&[0]).pixels, small.validation.part(&[0]).pixels);
    }

    #[test]
    fn every_figure_fits_its_circle_and_covers_a_fair_part_of_it() {
        for class in 0..CLASS_COUNT {
            let grid =
                (0..100).flat_map(|i| (0..100).map(move |j| (i as f32 / 50.0 - 1.0, j as f32 / 50.0 - 1.0)));
            let inside: Vec<_> = grid.filter(|&(u, v)| outline_distance(class, u, v) < 0.0).collect();
            assert!((1500..8000).contains(&inside.len()), "class {class} covers {} of 10000", inside.len());
            assert!(inside.iter().all(|(u, v)| u.hypot(*v) < 1.25), "class {class} sticks out");
        }
    }

    #[test]
    fn classes_are_balanced_and_mean_brightness_hardly_tells_them_apart() {
        let data = draw(16, Some(2000), Some(10), 1).unwrap().train;
        let mean = |index| data.image_pixels(index).iter().map(|&p| f64::from(p)).sum::<f64>() / 768.0;
        let of_class = |class| (0..2000).filter(move |i| i % CLASS_COUNT == class);
        let means: Vec<f64> =
            (0..CLASS_COUNT).map(|class| of_class(class).map(mean).sum::<f64>() / 200.0).collect();
        let nearest = |index| {
            let gap = |class: &usize| (means[*class] - mean(index)).abs();
            (0..CLASS_COUNT).min_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap()
        };
        let right = (0..2000).filter(|&i| nearest(i) == usize::from(data.labels[i])).count();
        assert!(right < 400, "{right} of 2000 told by brightness alone; guessing tells 200");
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(draw(7, None, None, 0).unwrap_err().to_string().contains("is 7, but must be 8 to 64"));
        assert!(draw(16, Some(0), None, 0).is_err());
        assert!(draw(16, Some(usize::MAX), None, 0).is_err());
    }
}
