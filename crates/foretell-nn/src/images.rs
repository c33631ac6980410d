//! Labeled images in memory, and how they become the numbers a network sees.

use foretell::ImageShape;

/// The conversion of pixel values (0 to 255) to network inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum PixelNormalization {
    /// x ↦ (x − 127.5)/63.75, so inputs lie in [−2, 2].
    Range,
    /// Global contrast normalization of each image: x ↦ (x − mean)/max(sd, 1), mean and sd over all values of the
    /// image, every channel. MetaQNN's networks saw CIFAR-10 like this.
    Contrast,
    /// The mean of the training images is subtracted, value by value, without scaling: cuda-convnet's inputs.
    MeanImage(Vec<f32>),
}

/// Labeled images of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabeledImages {
    /// The shape of each.
    pub shape: ImageShape,
    /// Number of classes; labels are 0 to `classes` − 1.
    pub classes: usize,
    /// Values 0 to 255 of shape (images, channels, height, width), row-major.
    pub pixels: Vec<u8>,
    /// One label per image.
    pub labels: Vec<u8>,
}

/// The images of a trial: for training and for validation.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// The images that the network learns from.
    pub train: LabeledImages,
    /// The images that its accuracy is measured on after each epoch; no image is also in `train`.
    pub validation: LabeledImages,
    /// The conversion of pixels to inputs.
    pub normalization: PixelNormalization,
    /// Whether training images are mirrored left to right with probability ½, drawn again each epoch.
    pub mirror: bool,
}

impl DataSet {
    /// Takes the mean of the training images off all images, as cuda-convnet's networks and AlexNet see them; `mirror` is whether the
    /// network is one that learns from mirrored images.
    #[must_use]
    pub(crate) fn subtract_mean_image(self, mirror: bool) -> Self {
        let mut sums = vec![0_u64; self.train.values_per_image()];
        for image in self.train.pixels.chunks_exact(sums.len()) {
            sums.iter_mut().zip(image).for_each(|(sum, &value)| *sum += u64::from(value));
        }
        let mean = sums.iter().map(|&sum| (sum as f64 / self.train.len() as f64) as f32).collect();
        Self { normalization: PixelNormalization::MeanImage(mean), mirror: self.mirror && mirror, ..self }
    }
}

impl LabeledImages {
    /// Number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Values of one image: channels · height · width.
    pub fn values_per_image(&self) -> usize {
        self.shape.channels * self.shape.height * self.shape.width
    }

    /// The pixels of image `index`.
    ///
    /// # Panics
    /// If there is no such image.
    pub fn image_pixels(&self, index: usize) -> &[u8] {
        &self.pixels[index * self.values_per_image()..][..self.values_per_image()]
    }

    /// The images `indices`, in that order.
    #[must_use]
    pub(crate) fn part(&self, indices: &[usize]) -> Self {
        Self {
            pixels: indices.iter().flat_map(|&i| self.image_pixels(i)).copied().collect(),
            labels: indices.iter().map(|&i| self.labels[i]).collect(),
            ..*self
        }
    }

    /// Appends the network inputs of image `index` to `inputs`, left and right exchanged if `mirrored`.
    pub(crate) fn push_inputs(
        &self,
        index: usize,
        normalization: &PixelNormalization,
        mirrored: bool,
        inputs: &mut Vec<f32>,
    ) {
        let image = self.image_pixels(index);
        let start = inputs.len();
        match normalization {
            PixelNormalization::MeanImage(mean) => {
                inputs.extend(image.iter().zip(mean).map(|(&value, mean)| f32::from(value) - mean));
            }
            other => {
                let (shift, scale) = other.shift_and_scale(image);
                inputs.extend(image.iter().map(|&value| (f32::from(value) - shift) * scale));
            }
        }
        if mirrored {
            inputs[start..].chunks_exact_mut(self.shape.width).for_each(<[f32]>::reverse);
        }
    }
}

impl PixelNormalization {
    fn shift_and_scale(&self, image: &[u8]) -> (f32, f32) {
        match self {
            Self::MeanImage(_) => (0.0, 1.0),
            Self::Range => (127.5, 1.0 / 63.75),
            Self::Contrast => {
                let count = image.len() as f64;
                let mean = image.iter().map(|&v| f64::from(v)).sum::<f64>() / count;
                let square = image.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / count;
                (mean as f32, (1.0 / square.sqrt().max(1.0)) as f32)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_by_two(pixels: Vec<u8>) -> LabeledImages {
        let shape = ImageShape { channels: 1, height: 2, width: 2 };
        LabeledImages { shape, classes: 2, labels: vec![0; pixels.len() / 4], pixels }
    }

    #[test]
    fn contrast_normalization_gives_each_image_mean_zero_and_deviation_one() {
        let images = two_by_two(vec![10, 20, 30, 40, 7, 7, 7, 7]);
        let mut inputs = Vec::new();
        images.push_inputs(0, &PixelNormalization::Contrast, false, &mut inputs);
        // mean 25, variance (225 + 25 + 25 + 225)/4 = 125
        assert!((inputs[0] + 15.0 / 125_f32.sqrt()).abs() < 1e-6);
        images.push_inputs(1, &PixelNormalization::Contrast, false, &mut inputs);
        assert!(inputs[4..].iter().all(|v| *v == 0.0), "a flat image must not be divided by nothing");
    }

    #[test]
    fn a_mirrored_image_has_its_rows_turned_round() {
        let images = two_by_two(vec![0, 255, 255, 0]);
        let mut inputs = Vec::new();
        images.push_inputs(0, &PixelNormalization::Range, true, &mut inputs);
        assert_eq!(inputs, [2.0, -2.0, -2.0, 2.0]);
    }

    #[test]
    fn the_mean_of_the_training_images_is_subtracted_value_by_value() {
        let (train, validation) = (two_by_two(vec![10, 20, 30, 40, 30, 20, 10, 0]), two_by_two(vec![0; 4]));
        let data = DataSet { train, validation, normalization: PixelNormalization::Range, mirror: true };
        let data = data.subtract_mean_image(false);
        assert!(!data.mirror);
        let mut inputs = Vec::new();
        data.train.push_inputs(0, &data.normalization, false, &mut inputs);
        data.validation.push_inputs(0, &data.normalization, false, &mut inputs);
        assert_eq!(inputs, [-10.0, 0.0, 10.0, 20.0, -20.0, -20.0, -20.0, -20.0]);
    }

    #[test]
    fn a_part_keeps_images_with_their_labels() {
        let mut images = two_by_two((0..12).collect());
        images.labels = vec![0, 1, 0];
        let part = images.part(&[2, 1]);
        assert_eq!((part.labels, part.pixels), (vec![0, 1], vec![8, 9, 10, 11, 4, 5, 6, 7]));
    }
}
