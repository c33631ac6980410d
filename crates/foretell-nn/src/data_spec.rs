//! Data sets by name.

use crate::error::Error;
use crate::images::DataSet;
use crate::text::{self, TextCorpus, TokenUnit};
use crate::{cifar10, folders, mnist, shapes, svhn};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A data set by name: [`KNOWN_NAMES`](DataSpec::KNOWN_NAMES).
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
    /// frame, 4 triangle, 5 plus, 6 star, 7 crescent, 8 two bars, 9 bow tie. Place, size, rotation and color vary; a
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
    /// Street View House Numbers, cropped digits: `train_32x32.mat`, and `extra_32x32.mat` if it is there; the test file is
    /// never read. Each image is contrast-normalized; no mirroring.
    Svhn {
        /// Where the files are.
        directory: PathBuf,
    },
    /// TinyImageNet, or a set in its layout, `train/CLASS/images/*.JPEG`, downsampled to 32 × 32: `folder:32:DIR/train`.
    TinyImagenet {
        /// The folder that contains `train`.
        directory: PathBuf,
    },
    /// Images in one folder per class, at any depth below it: JPEG and PNG files of any size. The middle square is resized to
    /// `side` × `side` pixels. Each image is contrast-normalized, and mirrored at random in training.
    Folder {
        /// The folder that contains the folders of the classes.
        directory: PathBuf,
        /// Side of an image in pixels.
        side: usize,
    },
    /// A text of 50 words sampled at run time, each of them dependent on the two before it: no file, no download.
    Words,
    /// A text of words between blanks: a file, whose last tenth is for validation, or a folder with a file that has `train` and
    /// one that has `valid` in its name (Penn Treebank, WikiText). At most 10 000 words; the others are `<unk>`.
    Text {
        /// The file or folder.
        path: PathBuf,
    },
    /// A text read character by character; files as for `text`.
    Characters {
        /// The file or folder.
        path: PathBuf,
    },
}

/// The part of a data set that a study uses, the same for all its trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataOptions {
    /// Number of training images, class-balanced; `None` is all remaining ones (`shapes`: 1000).
    pub train_size: Option<usize>,
    /// Number of validation images, class-balanced; `None` is a tenth, a fifth of MNIST's `t10k` files, 500 with `shapes`.
    pub validation_size: Option<usize>,
    /// Seed of the choice of images.
    pub seed: u64,
}

impl DataSpec {
    /// The names.
    pub const KNOWN_NAMES: &str = "shapes, shapes:SIDE, cifar10:DIR, mnist:DIR, fashion-mnist:DIR, svhn:DIR, tiny-imagenet:DIR, folder:DIR, folder:SIDE:DIR, words, text:PATH and characters:PATH";

    /// Whether it is a text; otherwise it is a set of images.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Words | Self::Text { .. } | Self::Characters { .. })
    }

    /// Reads or draws the images.
    ///
    /// # Errors
    /// If a file is missing or broken, or the set is smaller than the requested parts: see [`Error`]. [`Error::UnknownData`] if it
    /// is a text.
    pub fn load_images(&self, options: &DataOptions) -> Result<DataSet, Error> {
        let DataOptions { train_size, validation_size, seed } = *options;
        match self {
            Self::Shapes { side } => shapes::draw(*side, train_size, validation_size, seed),
            Self::Cifar10 { directory } => cifar10::load(directory, train_size, validation_size, seed),
            Self::Mnist { directory } => mnist::load(directory, train_size, validation_size, seed),
            Self::Svhn { directory } => svhn::load(directory, train_size, validation_size, seed),
            Self::TinyImagenet { directory } => {
                folders::load(&directory.join("train"), folders::TINY_SIDE, train_size, validation_size, seed)
            }
            Self::Folder { directory, side } => {
                folders::load(directory, *side, train_size, validation_size, seed)
            }
            Self::Words | Self::Text { .. } | Self::Characters { .. } => Err(self.unknown_error()),
        }
    }

    /// Reads or draws the text.
    ///
    /// # Errors
    /// If a file is missing or broken, or the text is shorter than the requested parts: see [`Error`]. [`Error::UnknownData`] if
    /// these are images.
    pub fn load_text(&self, options: &DataOptions) -> Result<TextCorpus, Error> {
        let DataOptions { train_size, validation_size, seed } = *options;
        match self {
            Self::Words => text::draw(train_size, validation_size, seed),
            Self::Text { path } => text::load(path, TokenUnit::Words, train_size, validation_size),
            Self::Characters { path } => text::load(path, TokenUnit::Characters, train_size, validation_size),
            _ => Err(self.unknown_error()),
        }
    }

    fn unknown_error(&self) -> Error {
        Error::UnknownData { name: self.to_string(), known: Self::KNOWN_NAMES }
    }

    /// The name, and where the files are, if there are any.
    fn name_and_path(&self) -> (&'static str, Option<&Path>) {
        match self {
            Self::Shapes { .. } => ("shapes", None),
            Self::Words => ("words", None),
            Self::Cifar10 { directory } => ("cifar10", Some(directory)),
            Self::Mnist { directory } => ("mnist", Some(directory)),
            Self::Svhn { directory } => ("svhn", Some(directory)),
            Self::TinyImagenet { directory } => ("tiny-imagenet", Some(directory)),
            Self::Folder { directory, .. } => ("folder", Some(directory)),
            Self::Text { path } => ("text", Some(path)),
            Self::Characters { path } => ("characters", Some(path)),
        }
    }

    fn parse_known(text: &str) -> Option<Self> {
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let place = PathBuf::from(rest);
        Some(match (name, rest) {
            ("shapes", "") => Self::Shapes { side: shapes::DEFAULT_SIDE },
            ("shapes", side) => Self::Shapes { side: side.parse().ok()? },
            ("words", "") => Self::Words,
            (_, "") => return None,
            ("cifar10", _) => Self::Cifar10 { directory: place },
            // Fashion-MNIST has MNIST's files
            ("mnist" | "fashion-mnist", _) => Self::Mnist { directory: place },
            ("svhn", _) => Self::Svhn { directory: place },
            ("tiny-imagenet", _) => Self::TinyImagenet { directory: place },
            ("folder", _) => match rest.split_once(':').map(|(side, place)| (side.parse(), place)) {
                Some((Ok(side), place)) if !place.is_empty() => {
                    Self::Folder { directory: place.into(), side }
                }
                _ => Self::Folder { directory: place, side: folders::DEFAULT_SIDE },
            },
            ("text", _) => Self::Text { path: place },
            ("characters", _) => Self::Characters { path: place },
            _ => return None,
        })
    }
}

impl FromStr for DataSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse_known(text)
            .ok_or_else(|| Error::UnknownData { name: text.to_owned(), known: Self::KNOWN_NAMES })
    }
}

impl fmt::Display for DataSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.name_and_path()) {
            (Self::Shapes { side }, (name, _)) if *side != shapes::DEFAULT_SIDE => write!(f, "{name}:{side}"),
            (Self::Folder { directory, side }, (name, _)) if *side != folders::DEFAULT_SIDE => {
                write!(f, "{name}:{side}:{}", directory.display())
            }
            (_, (name, Some(place))) => write!(f, "{name}:{}", place.display()),
            (_, (name, None)) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed_alike() {
        for name in [
            "shapes",
            "shapes:24",
            "words",
            "cifar10:some/where",
            "mnist:C:/odd",
            "svhn:a",
            "tiny-imagenet:b",
            "folder:b",
            "folder:C:/odd",
            "folder:96:b",
            "text:c",
            "characters:d",
        ] {
            assert_eq!(name.parse::<DataSpec>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        for name in ["imagenet", "cifar10", "mnist:", "shapes:big", ""] {
            let error = name.parse::<DataSpec>().unwrap_err().to_string();
            assert!(error.contains("Known data sets are shapes, shapes:SIDE, cifar10:DIR"), "{error}");
        }
    }
}
