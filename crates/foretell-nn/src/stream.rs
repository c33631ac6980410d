//! Random streams: every use of randomness in a training has its own, derived from one seed.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The purpose of a random stream. Streams of different purposes share nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamPurpose {
    /// Drawing the training images.
    TrainingImage = 1,
    /// Drawing the validation images.
    ValidationImage = 2,
    /// Choosing the images of the training and the validation part.
    Split = 3,
    /// Starting weights.
    Weights = 4,
    /// Order of the training images in an epoch.
    Order = 5,
    /// The images of an epoch that are mirrored.
    Mirror = 6,
    /// The units that drop out in an epoch.
    Dropout = 7,
}

/// The stream of `purpose` number `index` (an image, an attempt, an epoch) under `seed`.
///
/// Nothing of a stream is kept between epochs: a resumed training derives the streams of its epochs again.
pub(crate) fn stream(seed: u64, purpose: StreamPurpose, index: u64) -> ChaCha8Rng {
    let mut stream = ChaCha8Rng::seed_from_u64(seed);
    stream.set_stream(((purpose as u64) << 56) | (index & ((1 << 56) - 1)));
    stream
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_differ_by_seed_purpose_and_index_and_repeat_otherwise() {
        let first = |seed, purpose, index| stream(seed, purpose, index).next_u64();
        let draws = [
            first(1, StreamPurpose::Order, 1),
            first(2, StreamPurpose::Order, 1),
            first(1, StreamPurpose::Mirror, 1),
            first(1, StreamPurpose::Order, 2),
        ];
        assert!((1..4).all(|i| !draws[..i].contains(&draws[i])));
        assert_eq!(first(1, StreamPurpose::Order, 1), draws[0]);
    }
}
