//! Class-balanced choice of the training and the validation part of a data set.

use crate::error::Error;
use crate::images::LabeledImages;
use crate::stream::{StreamPurpose, stream};
use rand::seq::SliceRandom;

/// Cuts `images` into (training, validation) parts of the requested sizes; without a size, all remaining images are for training.
///
/// The images are put into an order in which the classes take turns, shuffled within each class by `seed`; the first
/// `validation` are the validation part, the next `train` the training part. So both parts are balanced as long as no
/// class runs out, and a smaller training part is contained in a larger one.
///
/// # Errors
/// [`Error::TooFew`] if there are not that many images, or nothing is left to train on.
pub(crate) fn split(
    images: &LabeledImages,
    train: Option<usize>,
    validation: usize,
    seed: u64,
    data: &str,
) -> Result<(LabeledImages, LabeledImages), Error> {
    let available = images.len();
    let train = train.unwrap_or(available.saturating_sub(validation));
    if train == 0 || validation == 0 || train.saturating_add(validation) > available {
        return Err(Error::TooFew { data: data.to_owned(), train, validation, available });
    }
    let order = balanced_order(&images.labels, seed);
    let (judged, rest) = order.split_at(validation);
    Ok((images.part(&rest[..train]), images.part(judged)))
}

/// All indices, the classes taking turns, shuffled within each class.
fn balanced_order(labels: &[u8], seed: u64) -> Vec<usize> {
    let mut shuffled: Vec<usize> = (0..labels.len()).collect();
    shuffled.shuffle(&mut stream(seed, StreamPurpose::Split, 0));
    let mut seen = [0_usize; 256];
    let mut turns: Vec<(usize, u8, usize)> = shuffled
        .into_iter()
        .map(|index| {
            let label = labels[index];
            seen[usize::from(label)] += 1;
            (seen[usize::from(label)], label, index)
        })
        .collect();
    // by turn before label, so that the classes alternate
    turns.sort_unstable();
    turns.into_iter().map(|(_, _, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell::ImageShape;
    use proptest::prelude::*;

    fn numbered_images(count: usize) -> LabeledImages {
        LabeledImages {
            shape: ImageShape { channels: 1, height: 1, width: 1 },
            classes: 5,
            pixels: (0..count).map(|i| i as u8).collect(),
            labels: (0..count).map(|i| (i * i % 5) as u8).collect(),
        }
    }

    proptest! {
        #[test]
        fn parts_are_disjoint_and_as_large_as_asked(train in 1_usize..100, validation in 1_usize..100, seed: u64) {
            let (learned, judged) = split(&numbered_images(200), Some(train), validation, seed, "test").unwrap();
            let mut all = [learned.pixels, judged.pixels].concat();
            prop_assert_eq!(all.len(), train + validation);
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), train + validation);
        }
    }

    #[test]
    fn parts_are_class_balanced_and_depend_on_the_seed() {
        let mut images = numbered_images(200);
        images.labels = (0..200).map(|i| (i / 40) as u8).collect();
        let (learned, judged) = split(&images, Some(50), 20, 3, "test").unwrap();
        for class in 0..5 {
            let count = |part: &LabeledImages| part.labels.iter().filter(|&&l| l == class).count();
            assert_eq!((count(&learned), count(&judged)), (10, 4));
        }
        assert_ne!(split(&images, Some(50), 20, 4, "test").unwrap().0, learned);
        assert_eq!(split(&images, None, 20, 3, "test").unwrap().0.len(), 180);
    }

    #[test]
    fn more_than_there_is_is_refused_with_the_numbers() {
        for (train, validation) in [(Some(190), 20), (None, 200), (Some(0), 20), (Some(usize::MAX), 1)] {
            let error =
                split(&numbered_images(200), train, validation, 0, "mnist:here").unwrap_err().to_string();
            assert!(error.contains("mnist:here contains 200"), "{error}");
        }
    }
}
