//! Errors of reading data sets and training networks.

use foretell::ArchitectureError;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Errors of reading data sets and training networks.
#[derive(Debug, Error)]
pub enum Error {
    /// The name of the data set is not known.
    #[error("unknown data set `{name}`. Known data sets are {known}")]
    UnknownData {
        /// The name as given.
        name: String,
        /// The known names.
        known: &'static str,
    },
    /// A directory holds none of the files of the data set.
    #[error("no {expected} in {}. Put the files of the data set there, or choose another directory", directory.display())]
    NoFiles {
        /// The directory that was searched.
        directory: PathBuf,
        /// The files that were expected.
        expected: &'static str,
    },
    /// The operating system could not read or write a file.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read`, `write` or `unpack`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file of CIFAR-10 records is not made of whole records.
    #[error("{}: {bytes} bytes are not a multiple of the {record} bytes of a record. Fetch the file again", path.display())]
    RecordSize {
        /// The file.
        path: PathBuf,
        /// Size of the file in bytes.
        bytes: usize,
        /// The size of a record in bytes.
        record: usize,
    },
    /// An idx file begins with the wrong number.
    #[error("{}: the file starts with {found:#010x} instead of {expected:#010x}. Check that it is the right idx file", path.display())]
    Magic {
        /// The file.
        path: PathBuf,
        /// The first four bytes.
        found: u32,
        /// The expected value.
        expected: u32,
    },
    /// A file ends early, or continues after its end.
    #[error("{}: the header promises {needed} bytes, but the file contains {found}. Fetch the file again", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes by the header.
        needed: usize,
        /// Bytes in the file, decompressed.
        found: usize,
    },
    /// A label is not one of the classes.
    #[error("{}: the label of image {image} is {label}, but labels are 0 to {}. Fetch the file again", path.display(), classes - 1)]
    Label {
        /// The file.
        path: PathBuf,
        /// 0-based number of the image in the file.
        image: usize,
        /// The label.
        label: u8,
        /// Number of classes.
        classes: usize,
    },
    /// A file of images and a file of labels do not belong together.
    #[error("{} images in {} do not match {} labels in {}. Use files of one release", .images.0, .images.1.display(), .labels.0, .labels.1.display())]
    Counts {
        /// The number of images, in which file.
        images: (usize, PathBuf),
        /// The number of labels, in which file.
        labels: (usize, PathBuf),
    },
    /// The data set is smaller than the requested parts.
    #[error(
        "{train} training and {validation} validation images are requested, but {data} contains {available}. Ask for fewer"
    )]
    TooFew {
        /// The data set.
        data: String,
        /// Training images requested.
        train: usize,
        /// Validation images requested.
        validation: usize,
        /// Images available.
        available: usize,
    },
    /// A text is shorter than the requested parts.
    #[error(
        "{train} training and {validation} validation tokens are requested, but {data} contains {available}. Ask for fewer, but at least 2 for each part"
    )]
    TooFewTokens {
        /// The text.
        data: String,
        /// Training tokens requested.
        train: usize,
        /// Validation tokens requested.
        validation: usize,
        /// Tokens available.
        available: usize,
    },
    /// A file of text is not in UTF-8.
    #[error("{}: byte {byte} is not UTF-8. Convert the file to UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The place of the first wrong byte.
        byte: usize,
    },
    /// A MATLAB file cannot be used.
    #[error("{}: not a MATLAB file of version 5 with the expected arrays ({reason}). Fetch the file again", path.display())]
    Mat {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        reason: String,
    },
    /// A picture cannot be used.
    #[error("{}: not a usable JPEG or PNG picture ({reason}). Replace it or remove it", path.display())]
    Picture {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        reason: String,
    },
    /// A space of networks by a name that is not known.
    #[error("unknown space `{name}`. Choose one of {known}")]
    UnknownSpace {
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// A parameter of a network is missing or out of its range.
    #[error("parameter {name} of {space} is {found}, but must be {expected}")]
    Parameter {
        /// The space.
        space: String,
        /// The parameter.
        name: &'static str,
        /// Value of the parameter, or that it is missing.
        found: String,
        /// Range of the parameter.
        expected: String,
    },
    /// A network does not fit the size of the images.
    #[error(
        "{space} needs images of at least {needed}×{needed} pixels, but those of {data} have {height}×{width}. Use larger images"
    )]
    SmallImages {
        /// The space.
        space: String,
        /// The data.
        data: String,
        /// The smallest side.
        needed: usize,
        /// Pixels from top to bottom.
        height: usize,
        /// Pixels from left to right.
        width: usize,
    },
    /// Images were named where a text is needed, or a text where images are needed.
    #[error("{space} learns from {needed}, but {data} is {found}. Choose another data set")]
    Material {
        /// The space.
        space: String,
        /// The kind of data it needs.
        needed: &'static str,
        /// The data.
        data: String,
        /// The kind of data found.
        found: &'static str,
    },
    /// The network does not fit the images.
    #[error(transparent)]
    Architecture(#[from] ArchitectureError),
    /// The network ends in another number of classes than the data has.
    #[error("{layer} has {found} classes, but {data} has {expected}. Change the layer")]
    Classes {
        /// The layer, in layer notation.
        layer: String,
        /// Classes of the layer.
        found: usize,
        /// The data set.
        data: String,
        /// Classes of the data.
        expected: usize,
    },
    /// A number of the training plan is out of its range.
    #[error("{field} is {found}, but must be {expected}")]
    Plan {
        /// The field of `TrainSpec`.
        field: &'static str,
        /// Value of the field.
        found: String,
        /// Range of the field.
        expected: String,
    },
    /// The name of a schedule of the learning rate is not known.
    #[error("unknown schedule `{name}`. Choose one of {known}")]
    UnknownSchedule {
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// A data set cannot be fetched by a name that is not known.
    #[error("cannot fetch `{name}`. Choose one of {known}")]
    UnknownDownload {
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// A file could not be fetched.
    #[error(
        "cannot fetch {address}: {reason}. Run the same command again to continue, or download the file elsewhere, put it at {}, and then run it", path.display()
    )]
    Fetch {
        /// Where it was to come from.
        address: String,
        /// The problem.
        reason: String,
        /// Where it belongs.
        path: PathBuf,
    },
    /// A fetched file is not the published one.
    #[error("{}: the SHA-256 checksum is {found}, but the published one is {expected}. The file is damaged or a different one. Delete it and fetch it again", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// Checksum of the file.
        found: String,
        /// The published one.
        expected: String,
    },
    /// No checkpoint of a directory can be read.
    #[error("{}: the checkpoint is damaged ({reason}), and there is no older one. Delete it to start from scratch", path.display())]
    Damaged {
        /// The newest checkpoint.
        path: PathBuf,
        /// The problem with it.
        reason: String,
    },
    /// A checkpoint has another format.
    #[error("{}: another version of Foretell wrote this checkpoint. Continue with that version, or delete the checkpoint to start from scratch", path.display())]
    OtherCheckpoint {
        /// The checkpoint.
        path: PathBuf,
    },
    /// A checkpoint belongs to another training.
    #[error("{}: this is the checkpoint of another training: its {field} is {found} instead of {expected}. Use another directory", path.display())]
    ForeignCheckpoint {
        /// The checkpoint.
        path: PathBuf,
        /// The first field that differs.
        field: String,
        /// Value in the checkpoint.
        found: String,
        /// Value in this training.
        expected: String,
    },
}

impl Error {
    pub(crate) fn read(path: &Path, source: std::io::Error) -> Self {
        Self::File { action: "read", path: path.to_owned(), source }
    }

    pub(crate) fn write(path: &Path, source: std::io::Error) -> Self {
        Self::File { action: "write", path: path.to_owned(), source }
    }
}
