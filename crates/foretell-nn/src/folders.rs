//! Images from folders of pictures, a folder a class: TinyImageNet and sets of one's own.
//!
//! Source of TinyImageNet: Stanford CS231n, `train/CLASS/images/*.JPEG`, 200 classes of 500 images of 64 × 64 pixels.

use crate::error::Error;
use crate::images::{DataSet, LabeledImages, PixelNormalization};
use crate::pictures;
use crate::split::split;
use foretell::ImageShape;
use std::path::{Path, PathBuf};

/// The side to which TinyImageNet is downsampled in the paper.
pub(crate) const TINY_SIDE: usize = 32;
/// The default side of images: the least that all built-in networks accept.
pub(crate) const DEFAULT_SIDE: usize = 64;
/// The classes that a label can tell apart.
const CLASS_COUNT_RANGE: std::ops::RangeInclusive<usize> = 2..=256;
/// The sides that can be asked for.
const SIDE_RANGE: std::ops::RangeInclusive<usize> = 8..=1024;

/// Reads the pictures below `directory`, a folder a class in the order of their names, and cuts off a class-balanced validation part:
/// a tenth unless `validation` sets its size.
///
/// The middle square of each picture is brought to `side` × `side` pixels, contrast-normalized, and mirrored at random in training.
/// Only as many pictures of a class are decoded as the parts need.
pub(crate) fn load(
    directory: &Path,
    side: usize,
    train: Option<usize>,
    validation: Option<usize>,
    seed: u64,
) -> Result<DataSet, Error> {
    if !SIDE_RANGE.contains(&side) {
        let expected = format!("{} to {} pixels", SIDE_RANGE.start(), SIDE_RANGE.end());
        return Err(Error::Plan { field: "the side of folder", found: side.to_string(), expected });
    }
    let classes = classes(directory)?;
    let wanted = train.zip(validation).map(|(train, validation)| train.saturating_add(validation));
    let most = wanted.map_or(usize::MAX, |wanted| wanted.div_ceil(classes.len()));
    let shape = ImageShape { channels: 3, height: side, width: side };
    let mut images = LabeledImages { shape, classes: classes.len(), pixels: Vec::new(), labels: Vec::new() };
    for (label, paths) in classes.iter().enumerate() {
        for path in paths.iter().take(most) {
            images.pixels.extend(pictures::read(path)?.square(side));
            images.labels.push(label as u8);
        }
    }
    let validation = validation.unwrap_or(images.len() / 10);
    let name = format!("folder:{}", directory.display());
    let (train, validation) = split(&images, train, validation, seed, &name)?;
    Ok(DataSet { train, validation, normalization: PixelNormalization::Contrast, mirror: true })
}

/// The pictures of each class, classes and files in the order of their names; folders without pictures are no classes.
fn classes(directory: &Path) -> Result<Vec<Vec<PathBuf>>, Error> {
    let mut classes = Vec::new();
    if directory.is_dir() {
        for class in list_sorted(directory)?.into_iter().filter(|path| path.is_dir()) {
            let mut files = Vec::new();
            collect(&class, &mut files)?;
            classes.push(files);
        }
    }
    classes.retain(|files| !files.is_empty());
    if classes.is_empty() {
        let expected = "folders with pictures (.jpg, .jpeg, .png), one folder per class,";
        return Err(Error::NoFiles { directory: directory.to_owned(), expected });
    }
    if !CLASS_COUNT_RANGE.contains(&classes.len()) {
        let field = "the number of classes";
        let expected = format!(
            "{} to {}, with one folder of pictures each",
            CLASS_COUNT_RANGE.start(),
            CLASS_COUNT_RANGE.end()
        );
        return Err(Error::Plan { field, found: classes.len().to_string(), expected });
    }
    Ok(classes)
}

/// Adds the pictures of `directory` and of all folders in it.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for path in list_sorted(directory)? {
        if path.is_dir() {
            collect(&path, files)?;
        } else if pictures::is_picture(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn list_sorted(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(directory).map_err(|error| Error::read(directory, error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // a folder is listed in no fixed order, and the parts would otherwise depend on it
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gray picture of 64 × 64 pixels, the left half lighter, made with Pillow: see tests/data/images.py.
    const PICTURE: &[u8] = include_bytes!("../tests/data/halves.jpeg");

    fn folder(pictures: &[(&str, &[u8])]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in pictures {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        directory
    }

    fn load_all(directory: &Path, side: usize) -> Result<DataSet, Error> {
        load(directory, side, Some(2), Some(2), 0)
    }

    #[test]
    fn each_folder_is_a_class_at_any_depth_and_squares_become_their_mean() {
        let names = ["n2/images/a.JPEG", "n2/b.jpg", "n1/images/deep/a.jpeg", "n1/b.jpeg", "empty/notes.txt"];
        let directory = folder(&names.map(|name| (name, PICTURE)));
        let data = load_all(directory.path(), 32).unwrap();
        assert_eq!((data.train.classes, data.train.len(), data.validation.labels.len()), (2, 2, 2));
        let row = &data.train.image_pixels(0)[..32];
        assert!(
            row[..15].iter().all(|v| v.abs_diff(200) < 4) && row[17..].iter().all(|v| v.abs_diff(60) < 4)
        );
    }

    #[test]
    fn broken_pictures_and_folders_that_are_no_classes_are_refused_by_name() {
        let message = |pictures: &[(&str, &[u8])], side| {
            load_all(folder(pictures).path(), side).unwrap_err().to_string()
        };
        let broken = message(&[("n1/a.jpeg", &PICTURE[..100]), ("n2/a.jpeg", PICTURE)], 32);
        assert!(broken.contains("a.jpeg") && broken.contains("not a usable JPEG or PNG picture"), "{broken}");
        for pictures in [&[][..], &[("n1/a.txt", &b"x"[..])]] {
            let empty = message(pictures, 32);
            assert!(empty.contains("no folders with pictures (.jpg, .jpeg, .png)"), "{empty}");
        }
        let one = message(&[("n1/a.jpeg", PICTURE)], 32);
        assert!(one.contains("the number of classes is 1, but must be 2 to 256"), "{one}");
        let side = message(&[("n1/a.jpeg", PICTURE)], 4);
        assert!(side.contains("the side of folder is 4, but must be 8 to 1024 pixels"), "{side}");
    }
}
