//! Data sets by name.

use crate::error::Error;
use crate::images::DataSet;
use crate::{cifar10, mnist, shapes};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A data set by name: `shapes`, `shapes:SIDE`, `cifar10:DIR` or `mnist:DIR`.
///
/// ```
/// use foretell_nn::DataSpec;
/// let data: DataSpec = "cifar10:data/cifar-10-batches-bin".parse()?;
/// assert_eq!(data.to_string(), "cifar10:data/cifar-10-batches-bin");
/// # Ok::<(), foretell_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataSpec {
    /// Images drawn at run time, `side` × `side` pixels, three channels: no file, no download.
    ///
    /// Each shows one light figure on a dark ground, and the figure is the class: 0 disc, 1 ring, 2 square, 3 square
    /// frame, 4 triangle, 5 plus, 6 star, 7 crescent, 8 two bars, 9 bow tie. Place, size, rotation and colour vary; a
    /// small square covers something, half of the images contain a piece of another figure, and all have noise.
    /// Only the requested number of images is drawn. No mirroring.
    Shapes {
        /// Side of an image in pixels, 8 to 64.
        side: usize,
    },
    /// CIFAR-10 from its official binary files, any number of `data_batch_*.bin`; the test file is never read.
    ///
    /// Each image is contrast-normalized, and mirrored at random in training.
    Cifar10 {
        /// Where the files `data_batch_*.bin` are.
        directory: PathBuf,
    },
    /// MNIST, or a set in its format, from idx files, plain or `.gz`: the `train` files, or the `t10k` files if only
    /// those exist. No mirroring.
    Mnist {
        /// Where the idx files are.
        directory: PathBuf,
    },
}

/// The part of a data set that a study uses, the same for all its trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataOptions {
    /// Number of training images, class-balanced; `None` is all remaining ones (`shapes`: 1000).
    pub train_size: Option<usize>,
    /// Number of validation images, class-balanced; `None` is a tenth, a fifth of MNIST's `t10k` files,
    /// 500 with `shapes`.
    pub validation_size: Option<usize>,
    /// Seed of the choice of images.
    pub seed: u64,
}

impl DataSpec {
    /// Reads or draws the images.
    ///
    /// # Errors
    /// If a file is missing or broken, or the set is smaller than the requested parts: see [`Error`].
    pub fn load(&self, options: &DataOptions) -> Result<DataSet, Error> {
        let DataOptions { train_size, validation_size, seed } = *options;
        match self {
            Self::Shapes { side } => shapes::draw(*side, train_size, validation_size, seed),
            Self::Cifar10 { directory } => cifar10::load(directory, train_size, validation_size, seed),
            Self::Mnist { directory } => mnist::load(directory, train_size, validation_size, seed),
        }
    }
}

impl FromStr for DataSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownData { name: text.to_owned() };
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        match (name, rest) {
            ("shapes", "") => Ok(Self::Shapes { side: shapes::DEFAULT_SIDE }),
            ("shapes", side) => Ok(Self::Shapes { side: side.parse().map_err(|_| unknown())? }),
            ("cifar10" | "mnist", "") => Err(unknown()),
            ("cifar10", directory) => Ok(Self::Cifar10 { directory: directory.into() }),
            ("mnist", directory) => Ok(Self::Mnist { directory: directory.into() }),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for DataSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shapes { side } if *side == shapes::DEFAULT_SIDE => f.write_str("shapes"),
            Self::Shapes { side } => write!(f, "shapes:{side}"),
            Self::Cifar10 { directory } => write!(f, "cifar10:{}", directory.display()),
            Self::Mnist { directory } => write!(f, "mnist:{}", directory.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed_alike() {
        for name in ["shapes", "shapes:24", "cifar10:some/where", "mnist:C:/odd"] {
            assert_eq!(name.parse::<DataSpec>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        for name in ["imagenet", "cifar10", "mnist:", "shapes:big", ""] {
            let error = name.parse::<DataSpec>().unwrap_err().to_string();
            assert!(error.contains("known are shapes, shapes:SIDE, cifar10:DIR and mnist:DIR"), "{error}");
        }
    }
}
