//! MNIST, and any set in its format, from idx files, plain or compressed with gzip.
//!
//! Source: Y. LeCun, C. Cortes, C. J. C. Burges, *The MNIST database*: big-endian headers (magic number, then one size
//! a dimension), then one byte a value.

use crate::error::Error;
use crate::images::{DataSet, LabeledImages, PixelNormalization};
use crate::split::split;
use flate2::read::GzDecoder;
use foretell::ImageShape;
use std::io::Read;
use std::path::{Path, PathBuf};

const CLASS_COUNT: usize = 10;
const IMAGES_MAGIC: u32 = 0x0000_0803;
const LABELS_MAGIC: u32 = 0x0000_0801;

/// Reads the training files of `directory`, or the `t10k` files if only those exist.
///
/// A class-balanced validation part is cut off: a tenth of the training files, a fifth of the `t10k` files, unless
/// `validation` sets its size. The `t10k` files are never read if there are training files. No mirroring.
pub(crate) fn load(
    directory: &Path,
    train: Option<usize>,
    validation: Option<usize>,
    seed: u64,
) -> Result<DataSet, Error> {
    let (images, share) = match find_pair(directory, "train") {
        Some(paths) => (read_pair(&paths)?, 10),
        None => (read_pair(&find_pair(directory, "t10k").ok_or_else(|| no_files_error(directory))?)?, 5),
    };
    let validation = validation.unwrap_or(images.len() / share);
    let name = format!("mnist:{}", directory.display());
    let (train, validation) = split(&images, train, validation, seed, &name)?;
    Ok(DataSet { train, validation, normalization: PixelNormalization::Range, mirror: false })
}

fn no_files_error(directory: &Path) -> Error {
    Error::NoFiles {
        directory: directory.to_owned(),
        expected: "train-images-idx3-ubyte with train-labels-idx1-ubyte, nor t10k-…, plain or .gz",
    }
}

fn find_pair(directory: &Path, part: &str) -> Option<(PathBuf, PathBuf)> {
    let images = find_file(directory, &format!("{part}-images-idx3-ubyte"))?;
    Some((images, find_file(directory, &format!("{part}-labels-idx1-ubyte"))?))
}

fn find_file(directory: &Path, name: &str) -> Option<PathBuf> {
    [name.to_owned(), format!("{name}.gz")].iter().map(|n| directory.join(n)).find(|path| path.is_file())
}

fn read_pair((images_path, labels_path): &(PathBuf, PathBuf)) -> Result<LabeledImages, Error> {
    let (sizes, pixels) = read_idx::<3>(images_path, IMAGES_MAGIC)?;
    let ([labeled], labels) = read_idx::<1>(labels_path, LABELS_MAGIC)?;
    if sizes[0] != labeled {
        return Err(Error::Counts {
            images: (sizes[0], images_path.clone()),
            labels: (labeled, labels_path.clone()),
        });
    }
    if let Some(image) = labels.iter().position(|&label| usize::from(label) >= CLASS_COUNT) {
        let (path, label) = (labels_path.clone(), labels[image]);
        return Err(Error::Label { path, image, label, classes: CLASS_COUNT });
    }
    let shape = ImageShape { channels: 1, height: sizes[1], width: sizes[2] };
    Ok(LabeledImages { shape, classes: CLASS_COUNT, pixels, labels })
}

/// Sizes and values of the idx file at `path`, which has `D` dimensions.
fn read_idx<const D: usize>(path: &Path, magic: u32) -> Result<([usize; D], Vec<u8>), Error> {
    let bytes = read_bytes(path)?;
    let header = 4 * (D + 1);
    if bytes.len() < header {
        return Err(Error::Length { path: path.to_owned(), needed: header, found: bytes.len() });
    }
    let found = read_u32(&bytes, 0);
    if found != magic {
        return Err(Error::Magic { path: path.to_owned(), found, expected: magic });
    }
    let sizes: [usize; D] = std::array::from_fn(|i| read_u32(&bytes, i + 1) as usize);
    // saturating, because the sizes in a damaged file may overflow
    let needed =
        sizes.iter().fold(1_usize, |product, &size| product.saturating_mul(size)).saturating_add(header);
    if bytes.len() != needed {
        return Err(Error::Length { path: path.to_owned(), needed, found: bytes.len() });
    }
    Ok((sizes, bytes[header..].to_vec()))
}

fn read_u32(bytes: &[u8], index: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|i| bytes[4 * index + i]))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = std::fs::read(path).map_err(|e| Error::read(path, e))?;
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut plain).map_err(|e| Error::read(path, e))?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn idx(magic: u32, sizes: &[u32], values: &[u8]) -> Vec<u8> {
        let header = std::iter::once(&magic).chain(sizes).flat_map(|n| n.to_be_bytes());
        header.chain(values.iter().copied()).collect()
    }

    fn images(count: u8) -> Vec<u8> {
        idx(IMAGES_MAGIC, &[u32::from(count), 2, 3], &(0..count * 6).collect::<Vec<_>>())
    }

    fn labels(values: &[u8]) -> Vec<u8> {
        idx(LABELS_MAGIC, &[values.len() as u32], values)
    }

    fn write(directory: &Path, part: &str, images: &[u8], labels: &[u8]) {
        std::fs::write(directory.join(format!("{part}-images-idx3-ubyte")), images).unwrap();
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(labels).unwrap();
        let path = directory.join(format!("{part}-labels-idx1-ubyte.gz"));
        std::fs::write(path, compressed.finish().unwrap()).unwrap();
    }

    #[test]
    fn plain_and_compressed_files_are_read_and_the_t10k_part_alone_is_cut_in_five() {
        let directory = tempfile::tempdir().unwrap();
        let classes: Vec<u8> = (0..10).map(|i| i % 2).collect();
        write(directory.path(), "t10k", &images(10), &labels(&classes));
        let data = load(directory.path(), None, None, 7).unwrap();
        assert_eq!((data.train.len(), data.validation.len()), (8, 2));
        assert_eq!(data.train.shape, ImageShape { channels: 1, height: 2, width: 3 });
        let image = usize::from(data.train.image_pixels(0)[0]) / 6;
        assert_eq!(data.train.labels[0], classes[image]);
    }

    #[test]
    fn the_test_part_is_left_alone_where_there_is_a_training_part() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), "t10k", &images(4), &labels(&[0; 4]));
        write(directory.path(), "train", &images(20), &labels(&[1; 20]));
        let data = load(directory.path(), None, None, 7).unwrap();
        assert_eq!((data.train.len(), data.validation.len()), (18, 2));
        assert!(data.train.labels.iter().all(|&l| l == 1));
    }

    #[test]
    fn broken_files_are_refused_with_file_value_and_remedy() {
        let rows = [
            (
                idx(0x0801, &[1, 2, 3], &[0; 6]),
                labels(&[0]),
                "the file starts with 0x00000801 instead of 0x00000803",
            ),
            (images(2)[..20].to_vec(), labels(&[0, 1]), "promises 28 bytes, but the file contains 20"),
            (images(2)[..7].to_vec(), labels(&[0, 1]), "promises 16 bytes, but the file contains 7"),
            (images(2), labels(&[0, 1, 2]), "2 images in"),
            (images(2), labels(&[0, 11]), "the label of image 1 is 11"),
            (idx(IMAGES_MAGIC, &[u32::MAX; 3], &[0; 6]), labels(&[0]), "but the file contains 22"),
        ];
        for (images, labels, expected) in rows {
            let directory = tempfile::tempdir().unwrap();
            write(directory.path(), "train", &images, &labels);
            let error = load(directory.path(), None, Some(1), 0).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let empty = tempfile::tempdir().unwrap();
        assert!(load(empty.path(), None, None, 0).unwrap_err().to_string().contains("no train-images"));
    }
}
