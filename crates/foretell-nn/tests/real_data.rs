//! The readers and the training on real images, where these are available:
//!
//! in `$FORETELL_DATA/train`, else in `shared/data/train` next to the project.

#[path = "../../../tests/needed.rs"]
mod needed;

use foretell_nn::{DataOptions, DataSet, DataSpec, TrainSpec, train_network};
use std::ops::ControlFlow;
use std::path::PathBuf;

fn directory(name: &str) -> Option<PathBuf> {
    needed::recorded(&format!("train/{name}"))
}

fn count(data: &DataSet, class: u8) -> (usize, usize) {
    let count = |labels: &[u8]| labels.iter().filter(|&&label| label == class).count();
    (count(&data.train.labels), count(&data.validation.labels))
}

#[test]
fn the_mnist_test_part_is_cut_into_8000_and_2000() {
    let Some(directory) = directory("mnist-10k") else { return };
    let data = DataSpec::Mnist { directory }.load_images(&DataOptions::default()).unwrap();
    assert_eq!((data.train.len(), data.validation.len()), (8000, 2000));
    assert!((0..10).all(|class| count(&data, class).1 == 200));
    // the 10 000 images of the published test part: 980 zeros, 1135 ones
    assert_eq!((count(&data, 0).0, count(&data, 1).0), (780, 935));
}

#[test]
fn a_part_of_cifar_10_is_balanced_and_a_small_network_learns_it() {
    let Some(directory) = directory("cifar10-subset") else { return };
    let mut spec = TrainSpec::new(
        &"[C(8,5,2), P(2,2), FC(32), SM(10)]".parse().unwrap(),
        DataSpec::Cifar10 { directory },
    );
    (spec.train_size, spec.validation_size) = (Some(1000), Some(200));
    let data = spec.data.load_images(&spec.data_options()).unwrap();
    assert!((0..10).all(|class| count(&data, class) == (100, 20)));
    (spec.epochs, spec.until, spec.batch_size, spec.learning_rate) = (3, 3, 16, Some(0.001));
    let outcome = train_network(&spec, &mut |_| ControlFlow::Continue(())).unwrap();
    // guessing gives 0.1 with a standard error of 0.021 on 200 images
    assert!(outcome.reports[2].validation_accuracy > 0.18, "{:?}", outcome.reports);
}
