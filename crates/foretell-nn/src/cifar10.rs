//! CIFAR-10 from the official binary files.
//!
//! Source: A. Krizhevsky, *Learning Multiple Layers of Features from Tiny Images* (2009), binary version: records of
//! one label byte and 3072 pixel bytes, three 32 × 32 planes (red, green, blue), row-major.

use crate::error::Error;
use crate::images::{DataSet, LabeledImages, PixelNormalization};
use crate::split::split;
use foretell::ImageShape;
use std::path::{Path, PathBuf};

const CLASS_COUNT: usize = 10;
const IMAGE_SHAPE: ImageShape = ImageShape { channels: 3, height: 32, width: 32 };
const RECORD_BYTES: usize = 1 + 3 * 32 * 32;

/// Reads all `data_batch_*.bin` of `directory` and separates a class-balanced validation part, a tenth unless
/// `validation` sets its size (45 000 and 5000 of the full set, as in the paper). The test file is never read.
///
/// Images are contrast-normalized each, and mirrored at random in training.
pub(crate) fn load(
    directory: &Path,
    train: Option<usize>,
    validation: Option<usize>,
    seed: u64,
) -> Result<DataSet, Error> {
    let images = read_all(directory)?;
    let validation = validation.unwrap_or(images.len() / 10);
    let name = format!("cifar10:{}", directory.display());
    let (train, validation) = split(&images, train, validation, seed, &name)?;
    Ok(DataSet { train, validation, normalization: PixelNormalization::Contrast, mirror: true })
}

fn read_all(directory: &Path) -> Result<LabeledImages, Error> {
    let mut images =
        LabeledImages { shape: IMAGE_SHAPE, classes: CLASS_COUNT, pixels: Vec::new(), labels: Vec::new() };
    for path in list_batch_files(directory)? {
        append_records(&mut images, &path, &std::fs::read(&path).map_err(|e| Error::read(&path, e))?)?;
    }
    Ok(images)
}

fn list_batch_files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(directory).map_err(|e| Error::read(directory, e))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("data_batch_") && name.ends_with(".bin")
        })
        .collect();
    // a folder is listed in no fixed order, and the parts would otherwise depend on it
    paths.sort();
    if paths.is_empty() {
        return Err(Error::NoFiles {
            directory: directory.to_owned(),
            expected: "data_batch_*.bin (CIFAR-10, binary version)",
        });
    }
    Ok(paths)
}

fn append_records(images: &mut LabeledImages, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(RECORD_BYTES) {
        return Err(Error::RecordSize { path: path.to_owned(), bytes: bytes.len(), record: RECORD_BYTES });
    }
    for (image, record) in bytes.chunks_exact(RECORD_BYTES).enumerate() {
        let label = record[0];
        if usize::from(label) >= CLASS_COUNT {
            return Err(Error::Label { path: path.to_owned(), image, label, classes: CLASS_COUNT });
        }
        images.labels.push(label);
        images.pixels.extend_from_slice(&record[1..]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(labels: &[u8]) -> Vec<u8> {
        labels.iter().flat_map(|&label| std::iter::once(label).chain((0..3072).map(|i| i as u8))).collect()
    }

    #[test]
    fn all_batches_are_read_in_the_order_of_their_names_and_the_test_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        for (name, labels) in [
            ("data_batch_2.bin", vec![3_u8; 10]),
            ("data_batch_1.bin", vec![1; 10]),
            ("test_batch.bin", vec![9; 10]),
        ] {
            std::fs::write(directory.path().join(name), records(&labels)).unwrap();
        }
        let images = read_all(directory.path()).unwrap();
        assert_eq!(images.labels, [[1; 10], [3; 10]].concat());
        assert_eq!(images.image_pixels(1)[..3], [0, 1, 2]);
        let data = load(directory.path(), None, None, 0).unwrap();
        assert_eq!((data.train.len(), data.validation.len()), (18, 2));
        assert_eq!(data.validation.labels, [1, 3]);
    }

    #[test]
    fn broken_files_are_refused_with_file_value_and_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(directory.path().join("data_batch_1.bin"), bytes).unwrap();
            read_all(directory.path()).unwrap_err().to_string()
        };
        let truncated = read(&records(&[1, 2])[..6000]);
        assert!(
            truncated.contains("data_batch_1.bin: 6000 bytes are not a multiple of the 3073"),
            "{truncated}"
        );
        let label = read(&records(&[1, 10]));
        assert!(label.contains("the label of image 1 is 10, but labels are 0 to 9"), "{label}");
        let empty = tempfile::tempdir().unwrap();
        assert!(read_all(empty.path()).unwrap_err().to_string().contains("no data_batch_*.bin"));
        assert!(read_all(&empty.path().join("nowhere")).unwrap_err().to_string().contains("cannot read"));
    }
}
