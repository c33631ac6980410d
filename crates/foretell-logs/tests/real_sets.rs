//! The recorded sets that come with the paper and with others' work, read and counted.
//!
//! They are not part of the repository: `FORETELL_DATA` names their folder, by default the one next to the checkout.
//! Where they are missing, the tests say by name that they were skipped.

#[path = "../../../tests/needed.rs"]
mod needed;

use foretell::{Direction, FeatureGroup};
use foretell_logs::{NoteTopic, ReadOptions, RecordedSet, read_runs};
use std::path::{Path, PathBuf};

/// The path of a set; `None` skips the test.
fn set(name: &str) -> Option<PathBuf> {
    needed::recorded(&format!("curves/{name}"))
}

fn load(path: &Path) -> RecordedSet {
    read_runs(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn count(recorded: &RecordedSet, holds: impl Fn(&foretell::Run) -> bool) -> usize {
    recorded.runs.iter().filter(|run| holds(run)).count()
}

fn lengths(recorded: &RecordedSet) -> (usize, usize) {
    let lengths = || recorded.runs.iter().map(|run| run.curve.len());
    (lengths().min().unwrap(), lengths().max().unwrap())
}

fn repeat_count(recorded: &RecordedSet) -> usize {
    recorded.repeats.iter().enumerate().filter(|&(at, &first)| at != first).count()
}

fn features(recorded: &RecordedSet, group: FeatureGroup) -> Vec<&str> {
    recorded.columns.groups.iter().filter(|(_, g)| **g == group).map(|(name, _)| name.as_str()).collect()
}

use FeatureGroup::{Architecture, Hyperparameter};

#[test]
fn metaqnn_has_1000_networks_of_20_epochs() {
    let Some(path) = set("paper/metaqnn_cifar10.csv") else {
        return;
    };
    let recorded = load(&path);
    assert_eq!((recorded.runs.len(), lengths(&recorded)), (1000, (20, 20)));
    assert_eq!(recorded.runs[0].curve.steps()[0].to_bits(), 1.0_f64.to_bits());
    assert_eq!(features(&recorded, Architecture), ["depth", "net", "num_params"]);
    assert_eq!(features(&recorded, Hyperparameter), ["lr"]);
    assert_eq!((recorded.metric.direction, repeat_count(&recorded)), (Direction::Maximize, 0));
}

#[test]
fn deep_resnets_have_684_runs_with_known_repeats() {
    let name = "paper/deep_resnets_tinyimagenet.csv";
    let Some(path) = set(name) else { return };
    let recorded = load(&path);
    assert_eq!((recorded.runs.len(), lengths(&recorded)), (684, (141, 141)));
    assert_eq!(recorded.runs[0].curve.steps()[0].to_bits(), 0.0_f64.to_bits(), "from epoch 0");
    let zero = |run: &foretell::Run| run.curve.scores().iter().all(|score| score.abs() < f64::MIN_POSITIVE);
    assert_eq!(count(&recorded, zero), 14, "all-zero runs are kept");
    assert_eq!(repeat_count(&recorded), 69, "repeated configurations");
    let curves = recorded.clone().without_identical_curves();
    assert_eq!(recorded.runs.len() - curves.runs.len(), 41, "bit-identical curves");
    let deduplicated =
        read_runs(&path, &ReadOptions { deduplicate: true, ..ReadOptions::default() }).unwrap();
    assert_eq!(repeat_count(&deduplicated), 0);
    assert_eq!(features(&recorded, Architecture), ["filter_size", "num_blocks", "num_filters"]);
    assert_eq!(features(&recorded, Hyperparameter), ["ss"]);
}

#[test]
fn lstm_columns_do_not_say_perplexity_but_fall() {
    let Some(path) = set("paper/lstm_ptb.csv") else { return };
    let recorded = load(&path);
    assert_eq!((recorded.runs.len(), lengths(&recorded)), (280, (60, 60)));
    assert_eq!(recorded.metric.direction, Direction::Minimize);
    assert!((recorded.runs[0].curve.scores()[0] + 296.0).abs() < 1e-9);
    assert_eq!(features(&recorded, Architecture), ["n_inputs", "n_layer"]);
}

#[test]
fn naap_outcomes_and_split_flags_are_no_features() {
    let name = "others/naap440_cnn_cifar10";
    let Some(path) = set(name) else { return };
    let recorded = load(&path);
    assert_eq!((recorded.runs.len(), lengths(&recorded)), (440, (90, 90)));
    assert_eq!((recorded.name.as_str(), recorded.metric.name.as_str()), ("naap440_cnn_cifar10", "test_acc"));
    assert!(
        !recorded.columns.groups.contains_key("MaxAccuracy")
            && !recorded.columns.groups.contains_key("IsTest")
    );
    assert!(recorded.columns.groups.values().all(|&group| group == Architecture));
}

#[test]
fn deepobs_has_135_runs_of_101_points_of_which_many_diverge() {
    let name = "others/deepobs_cifar10_3c3d";
    let Some(path) = set(name) else { return };
    let accuracy = load(&path);
    assert_eq!(
        (accuracy.runs.len(), lengths(&accuracy), accuracy.metric.name.as_str()),
        (135, (101, 101), "test_acc")
    );
    assert!(!accuracy.columns.groups.contains_key("random_seed"));
    assert!(repeat_count(&accuracy) >= 27, "three settings have nine further seeds each");
    let options = ReadOptions { metric: Some("test_loss".into()), ..ReadOptions::default() };
    let loss = read_runs(&path, &options).unwrap();
    let finite: usize = loss.runs.iter().map(|run| run.curve.len()).sum();
    assert_eq!(135 * 101 - finite, 3416, "non-finite test losses");
    assert!(count(&loss, |run| run.curve.diverged_at().is_some()) > 30);
}

#[test]
fn taskset_runs_are_losses_some_of_which_diverge() {
    let sets =
        [("taskset_imdb_patch128_LSTM128_bs64", 4633, 99), ("taskset_imdb_patch32_GRU128_bs128", 50, 1)];
    for (name, not_finite, diverged) in sets {
        let Some(path) = set(&format!("others/{name}")) else {
            return;
        };
        // its nan are written as nothing
        let recorded = load(&path);
        assert_eq!((recorded.runs.len(), recorded.metric.name.as_str()), (1000, "val_loss"), "{name}");
        assert_eq!(recorded.metric.direction, Direction::Minimize);
        let finite: usize = recorded.runs.iter().map(|run| run.curve.len()).sum();
        assert_eq!(51_000 - finite, not_finite, "{name}: non-finite losses");
        assert_eq!(
            count(&recorded, |run| run.curve.diverged_at().is_some()),
            diverged,
            "{name}: diverged runs"
        );
        assert_eq!(recorded.columns.groups.len(), 8);
    }
}

#[test]
fn nmt_runs_are_ragged_and_half_repeat_a_configuration() {
    let name = "others/nmt_ted-ru-en";
    let Some(path) = set(name) else { return };
    let recorded = load(&path);
    assert_eq!((recorded.runs.len(), lengths(&recorded)), (193, (18, 165)));
    assert_eq!((recorded.metric.name.as_str(), recorded.metric.direction), ("val_ppl", Direction::Minimize));
    assert_eq!(repeat_count(&recorded), 94, "configurations that repeat an earlier row");
    assert!(!recorded.columns.groups.contains_key("OUTCOME_ppl_optimal"));
    assert!(
        recorded
            .notes
            .iter()
            .any(|note| note.topic == NoteTopic::Lengths && note.text.ends_with("median 23"))
    );
}

#[test]
fn algoperf_repetitions_stay_together() {
    let name = "others/algoperf_imagenet_resnet";
    let Some(path) = set(name) else { return };
    let recorded = load(&path);
    assert_eq!((recorded.runs.len(), lengths(&recorded)), (478, (68, 372)));
    assert_eq!(recorded.metric.name, "val_acc");
    assert_eq!(478 - repeat_count(&recorded), 49, "one group a config_group");
    for label in ["study", "trial", "config_group", "config_id"] {
        assert!(!recorded.columns.groups.contains_key(label), "{label}");
    }
    let options = ReadOptions { step_column: Some("global_step".into()), ..ReadOptions::default() };
    let by_step = read_runs(&path, &options).unwrap();
    assert_eq!(by_step.runs[0].curve.steps()[1].to_bits(), 1508.0_f64.to_bits());
}
