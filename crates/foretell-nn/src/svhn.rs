//! Street View House Numbers, cropped digits, from its MATLAB files.
//!
//! Source: Y. Netzer et al., *Reading digits in natural images with unsupervised feature learning* (2011), format 2: `X` of
//! shape (32, 32, 3, images), and `y`, in which label 10 is the digit 0.

use crate::error::Error;
use crate::images::{DataSet, LabeledImages, PixelNormalization};
use crate::mat;
use crate::split::split;
use foretell::ImageShape;
use std::path::Path;

const CLASS_COUNT: usize = 10;
const IMAGE_SIDE: usize = 32;

/// Reads `train_32x32.mat` of `directory`, with `extra_32x32.mat` if it is there, and cuts off a class-balanced validation part: a
/// tenth unless `validation` sets its size. The test file is never read. Images are contrast-normalized each, and not mirrored.
pub(crate) fn load(
    directory: &Path,
    train: Option<usize>,
    validation: Option<usize>,
    seed: u64,
) -> Result<DataSet, Error> {
    let [first, extra] = ["train", "extra"].map(|part| directory.join(format!("{part}_32x32.mat")));
    if !first.is_file() {
        return Err(Error::NoFiles {
            directory: directory.to_owned(),
            expected: "train_32x32.mat (SVHN, format 2)",
        });
    }
    let shape = ImageShape { channels: 3, height: IMAGE_SIDE, width: IMAGE_SIDE };
    let mut images = LabeledImages { shape, classes: CLASS_COUNT, pixels: Vec::new(), labels: Vec::new() };
    append_images(&mut images, &first)?;
    if extra.is_file() {
        append_images(&mut images, &extra)?;
    }
    let validation = validation.unwrap_or(images.len() / 10);
    let name = format!("svhn:{}", directory.display());
    let (train, validation) = split(&images, train, validation, seed, &name)?;
    Ok(DataSet { train, validation, normalization: PixelNormalization::Contrast, mirror: false })
}

fn append_images(images: &mut LabeledImages, path: &Path) -> Result<(), Error> {
    append_arrays(images, &mat::read(path)?).map_err(|reason| Error::Mat { path: path.to_owned(), reason })
}

fn append_arrays(images: &mut LabeledImages, arrays: &[mat::MatArray]) -> Result<(), String> {
    let [pixels, labels] = ["X", "y"].map(|name| {
        let array = arrays.iter().find(|array| array.name == name);
        array.ok_or_else(|| format!("it contains no array {name}"))
    });
    let (pixels, labels) = (pixels?, labels?);
    let count = labels.values.len();
    if pixels.sizes != [IMAGE_SIDE, IMAGE_SIDE, 3, count] {
        return Err(format!("X has sizes {:?} where there are {count} labels", pixels.sizes));
    }
    for (image, &label) in labels.values.iter().enumerate() {
        if !(1..=CLASS_COUNT as u8).contains(&label) {
            return Err(format!("image {image} has label {label}, but labels are 1 to {CLASS_COUNT}"));
        }
        images.labels.push(label % CLASS_COUNT as u8);
        // rows are the fastest index of the file and columns that of an image
        let values = &pixels.values[image * 3 * IMAGE_SIDE * IMAGE_SIDE..][..3 * IMAGE_SIDE * IMAGE_SIDE];
        for (channel, row) in (0..3).flat_map(|channel| (0..IMAGE_SIDE).map(move |row| (channel, row))) {
            let columns = (0..IMAGE_SIDE).map(|column| (channel * IMAGE_SIDE + column) * IMAGE_SIDE);
            images.pixels.extend(columns.map(|column| values[column + row]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mat::tests::file;

    #[test]
    fn images_are_turned_and_label_ten_is_the_digit_nought() {
        let directory = tempfile::tempdir().unwrap();
        let values: Vec<u8> = (0..20 * 3072).map(|i| (i % 251) as u8).collect();
        let labels: Vec<u8> = (0..20).map(|i| if i % 2 == 0 { 10 } else { 3 }).collect();
        let bytes = file(&[("X", &[32, 32, 3, 20], &values), ("y", &[20, 1], &labels)]);
        std::fs::write(directory.path().join("train_32x32.mat"), bytes).unwrap();
        let data = load(directory.path(), None, None, 0).unwrap();
        assert_eq!((data.train.len(), data.validation.labels.as_slice()), (18, &[0, 3][..]));
        let mut images = LabeledImages { pixels: Vec::new(), labels: Vec::new(), ..data.train };
        append_images(&mut images, &directory.path().join("train_32x32.mat")).unwrap();
        // row 0, column 1 of the red plane is value 32 of the file
        assert_eq!(images.image_pixels(0)[..3], [0, 32, 64]);
    }

    #[test]
    fn wrong_arrays_are_refused_with_the_difference() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |bytes: Vec<u8>| {
            std::fs::write(directory.path().join("train_32x32.mat"), bytes).unwrap();
            load(directory.path(), None, None, 0).unwrap_err().to_string()
        };
        let message = refused(file(&[("X", &[1, 1], &[0])]));
        assert!(message.contains("it contains no array y"), "{message}");
        let message = refused(file(&[("X", &[1, 1], &[0]), ("y", &[1, 1], &[1])]));
        assert!(message.contains("X has sizes [1, 1] where there are 1 labels"), "{message}");
        let message = refused(file(&[("X", &[32, 32, 3, 1], &[0; 3072]), ("y", &[1, 1], &[11])]));
        assert!(message.contains("image 0 has label 11"), "{message}");
        let empty = tempfile::tempdir().unwrap();
        let message = load(empty.path(), None, None, 0).unwrap_err().to_string();
        assert!(message.contains("no train_32x32.mat"), "{message}");
    }
}
