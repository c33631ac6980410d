//! TinyImageNet from its folder of JPEG files, downsampled to 32 × 32.
//!
//! Source: Stanford CS231n, *Tiny ImageNet*: `train/CLASS/images/*.JPEG`, 200 classes of 500 images of 64 × 64 pixels.

use crate::error::Error;
use crate::images::{DataSet, Images, Normalization};
use crate::split::split;
use foretell::ImageShape;
use std::path::{Path, PathBuf};
use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

const SIDE: usize = 32;
/// The most classes that a label can tell apart.
const MOST_CLASSES: usize = 256;

/// Reads the images of `directory/train`, a folder a class in the order of their names, and cuts off a class-balanced validation
/// part: a tenth unless `validation` sets its size. The folders `val` and `test` are never read.
///
/// Images are downsampled to 32 × 32 by the mean of each square, contrast-normalized each, and mirrored at random in training.
/// Only as many images of a class are decoded as the parts need.
pub(crate) fn load(
    directory: &Path,
    train: Option<usize>,
    validation: Option<usize>,
    seed: u64,
) -> Result<DataSet, Error> {
    let classes = class_files(directory)?;
    let wanted = train.zip(validation).map(|(train, validation)| train.saturating_add(validation));
    let most = wanted.map_or(usize::MAX, |wanted| wanted.div_ceil(classes.len()));
    let shape = ImageShape { channels: 3, height: SIDE, width: SIDE };
    let mut images = Images { shape, classes: classes.len(), pixels: Vec::new(), labels: Vec::new() };
    for (label, paths) in classes.iter().enumerate() {
        for path in paths.iter().take(most) {
            images.pixels.extend(decode(path)?);
            images.labels.push(label as u8);
        }
    }
    let validation = validation.unwrap_or(images.len() / 10);
    let name = format!("tiny-imagenet:{}", directory.display());
    let (train, validation) = split(&images, train, validation, seed, &name)?;
    Ok(DataSet { train, validation, normalization: Normalization::Contrast, mirror: true })
}

/// The files of each class, classes and files in the order of their names.
fn class_files(directory: &Path) -> Result<Vec<Vec<PathBuf>>, Error> {
    let none = || Error::NoFiles {
        directory: directory.to_owned(),
        expected: "train/CLASS/images/*.JPEG (TinyImageNet)",
    };
    let train = directory.join("train");
    if !train.is_dir() {
        return Err(none());
    }
    let mut classes = Vec::new();
    for class in sorted(&train)?.into_iter().filter(|path| path.join("images").is_dir()) {
        let mut files = sorted(&class.join("images"))?;
        files.retain(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("jpeg")));
        classes.push(files);
    }
    if classes.is_empty() || classes.iter().all(Vec::is_empty) {
        return Err(none());
    }
    if classes.len() > MOST_CLASSES {
        let expected = format!("at most {MOST_CLASSES} classes");
        return Err(Error::Plan {
            field: "the number of classes",
            found: classes.len().to_string(),
            expected,
        });
    }
    Ok(classes)
}

fn sorted(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(directory).map_err(|error| Error::read(directory, error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// The pixels of a file at 32 × 32, channel by channel.
fn decode(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::read(path, error))?;
    let wrong = |reason: String| Error::Picture { path: path.to_owned(), reason };
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let pixels = decoder.decode().map_err(|error| wrong(error.to_string()))?;
    let (width, height) = decoder.dimensions().ok_or_else(|| wrong("it has no size".to_owned()))?;
    if width % SIDE != 0 || height % SIDE != 0 || width == 0 || height == 0 {
        return Err(wrong(format!("it has {width}×{height} pixels, no multiples of {SIDE}")));
    }
    Ok(downsample(&pixels, width, height))
}

/// Means over equal squares, from pixel by pixel to channel by channel.
fn downsample(pixels: &[u8], width: usize, height: usize) -> Vec<u8> {
    let (across, down) = (width / SIDE, height / SIDE);
    let mut smaller = Vec::with_capacity(3 * SIDE * SIDE);
    for (channel, row, column) in
        (0..3).flat_map(|c| (0..SIDE).flat_map(move |y| (0..SIDE).map(move |x| (c, y, x))))
    {
        let square = (0..down).flat_map(|y| (0..across).map(move |x| (row * down + y, column * across + x)));
        let sum: usize = square.map(|(y, x)| usize::from(pixels[3 * (y * width + x) + channel])).sum();
        smaller.push(((sum + across * down / 2) / (across * down)) as u8);
    }
    smaller
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grey picture of 64 × 64 pixels, the left half lighter, made with Pillow: see tests/data/images.py.
    const PICTURE: &[u8] = include_bytes!("../tests/data/halves.jpeg");

    fn folder(pictures: &[(&str, &[u8])]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in pictures {
            let path = directory.path().join("train").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        directory
    }

    #[test]
    fn each_folder_is_a_class_and_squares_become_their_mean() {
        let names = ["n2/images/a.JPEG", "n2/images/b.JPEG", "n1/images/a.JPEG", "n1/images/b.JPEG"];
        let directory = folder(&names.map(|name| (name, PICTURE)));
        let data = load(directory.path(), Some(2), Some(2), 0).unwrap();
        assert_eq!((data.train.classes, data.train.len(), data.validation.labels.len()), (2, 2, 2));
        let row = &data.train.image(0)[..SIDE];
        assert!(
            row[..15].iter().all(|v| v.abs_diff(200) < 4) && row[17..].iter().all(|v| v.abs_diff(60) < 4)
        );
    }

    #[test]
    fn broken_pictures_and_empty_folders_are_refused_by_name() {
        let message = |pictures: &[(&str, &[u8])]| {
            load(folder(pictures).path(), None, None, 0).unwrap_err().to_string()
        };
        let broken = message(&[("n1/images/a.JPEG", &PICTURE[..100])]);
        assert!(broken.contains("a.JPEG"), "{broken}");
        assert!(message(&[]).contains("no train/CLASS/images/*.JPEG"));
        assert!(message(&[("n1/images/a.txt", b"")]).contains("no train/CLASS/images/*.JPEG"));
    }
}
