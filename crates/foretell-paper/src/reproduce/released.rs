//! The eight files that the paper's authors released, our own recording in the place of one, and how each is read for a faithful replica.

use super::failed::ReproductionError;
use foretell::{
    Configuration, Curve, Direction, FeatureGroup, History, HistoryOptions, Run, RunScore, Scale, Value,
};
use foretell_logs::{ReadOptions, RecordedSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One way of preparing a file.
pub(super) struct FilePreparation {
    /// Short name.
    pub(super) name: &'static str,
    /// The description of its work, besides the steps done to every file.
    description: &'static str,
    scale: Scale,
    exclude: &'static [&'static str],
    keep: Option<fn(&Configuration) -> bool>,
    /// Whether runs that repeat others stay, so that splits have them on both sides.
    repeats: bool,
    /// Only runs that end below this are kept.
    below: Option<f64>,
    /// Values below this count as it, so that 0 has a logarithm.
    least: Option<f64>,
    derive: Option<fn(&mut Configuration)>,
    /// Columns that are not taken in logarithms, however wide they span.
    linear: &'static [&'static str],
}

impl FilePreparation {
    /// Leaves of `configuration` what this preparation learns from; after repeats were found, since two networks of one
    /// size are no repeats.
    fn prepare_configuration(&self, configuration: &mut Configuration) {
        configuration.retain(|name, _| !self.exclude.contains(&name.as_str()));
        if let Some(derive) = self.derive {
            derive(configuration);
        }
    }
}

/// Before the name of a released file: our own recording in its place.
const OWN_PREFIX: &str = "own_";

/// The released file that `stem` stands in for, where it names our own recording.
pub(super) fn released_stem(stem: &str) -> &str {
    stem.strip_prefix(OWN_PREFIX).unwrap_or(stem)
}

/// Whether `stem` names our own recording.
pub(super) fn is_own(stem: &str) -> bool {
    stem.starts_with(OWN_PREFIX)
}

/// The most faithful preparation of a file.
pub(super) fn first_preparation(stem: &str) -> &'static str {
    find_released(stem).map_or("", |released| released.preparations[0].name)
}

/// Whether larger values of the file are better.
pub(super) fn metric_direction(stem: &str) -> Direction {
    find_released(stem).map_or(Direction::Maximize, |released| released.direction)
}

fn find_released(stem: &str) -> Option<&'static ReleasedFile> {
    RELEASED_FILES.iter().find(|released| released.stem == stem)
}

/// One released file, or our own recording in its place.
pub(super) struct ReleasedFile {
    /// Name without `.csv`.
    pub(super) stem: &'static str,
    direction: Direction,
    /// The ways of preparing it, the most faithful first.
    pub(super) preparations: &'static [FilePreparation],
}

const AS_RELEASED: FilePreparation = FilePreparation {
    name: "as released",
    description: "all varying columns are features",
    scale: Scale::Linear,
    exclude: &["net"],
    keep: None,
    repeats: false,
    below: None,
    least: None,
    derive: None,
    linear: &[],
};

const fn accuracy_file(stem: &'static str) -> ReleasedFile {
    ReleasedFile { stem, direction: Direction::Maximize, preparations: &[AS_RELEASED] }
}

/// The released files, and our own recordings in the place of one that was not available.
pub(super) static RELEASED_FILES: [ReleasedFile; 9] = [
    ReleasedFile {
        stem: "metaqnn_cifar10",
        direction: Direction::Maximize,
        preparations: &[
            FilePreparation {
                name: "weights, depth",
                description: "AP = log10 num_params and depth; `net` is not used",
                ..AS_RELEASED
            },
            FilePreparation {
                name: "net expanded",
                description: "AP = num_params, depth and 12 features of the layers that `net` names",
                exclude: &[],
                ..AS_RELEASED
            },
        ],
    },
    accuracy_file("metaqnn_svhn"),
    ReleasedFile {
        stem: "deep_resnets_tinyimagenet",
        direction: Direction::Maximize,
        preparations: &[
            FilePreparation {
                name: "weights, depth",
                description: "AP = log10 of the weights and depth, counted from blocks, filters and filter size (6·blocks + 2 layers)",
                derive: Some(count_resnet),
                ..AS_RELEASED
            },
            FilePreparation {
                name: "one schedule",
                description: "only the runs whose learning rate falls after 35000 steps; AP = log10 of the weights and depth",
                keep: Some(falls_after_35000_steps),
                derive: Some(count_resnet),
                ..AS_RELEASED
            },
            FilePreparation {
                name: "repeats, log",
                description: "as one schedule, but repeats stay, and features and target are logarithms of the accuracy, of which less than guessing, 1 in 200, counts as guessing",
                scale: Scale::Log,
                least: Some(1.0 / 200.0),
                keep: Some(falls_after_35000_steps),
                repeats: true,
                derive: Some(count_resnet),
                ..AS_RELEASED
            },
            FilePreparation {
                name: "as released",
                description: "AP = num_blocks, num_filters, filter_size",
                ..AS_RELEASED
            },
        ],
    },
    accuracy_file("deep_resnets_cifar10"),
    accuracy_file("alexnet_imagenet"),
    accuracy_file("cudaconvnet_cifar10"),
    accuracy_file("cudaconvnet_svhn"),
    accuracy_file("own_cudaconvnet_cifar10"),
    ReleasedFile {
        stem: "lstm_ptb",
        direction: Direction::Minimize,
        preparations: &[
            FilePreparation {
                name: "weights, depth",
                description: "perplexity as it is; AP = the weights, counted from layers and inputs (8·layers·inputs² + 20000·inputs), and layers",
                derive: Some(count_lstm),
                linear: &["num_params"],
                ..AS_RELEASED
            },
            FilePreparation {
                name: "log perplexity",
                description: "features and target are logarithms of the perplexity; AP = n_layer and log10 n_inputs",
                scale: Scale::Log,
                ..AS_RELEASED
            },
            FilePreparation {
                name: "ends below 100",
                description: "perplexity as it is; AP = n_layer and log10 n_inputs",
                below: Some(100.0),
                ..AS_RELEASED
            },
        ],
    },
];

/// A file, read and prepared.
pub(super) struct PreparedFile {
    /// The file's name without `.csv`.
    pub(super) stem: &'static str,
    /// The preparation's name.
    pub(super) preparation: &'static str,
    /// Whether scores below the floor are compressed, as in every other command; the paper takes them as they are.
    pub(super) compressed: bool,
    /// Everything that was done, in words.
    pub(super) description: String,
    /// Name of the metric.
    pub(super) metric: String,
    /// The curves.
    pub(super) runs: Vec<Run>,
    /// The options by which they are laid on a grid.
    pub(super) options: HistoryOptions,
    /// All of them on their grid.
    pub(super) history: Arc<History>,
    /// The layers of each run, where the file tells.
    pub(super) depths: Vec<Option<f64>>,
    /// The checksum of the file, by which kept rows are told from those of other data.
    pub(super) fingerprint: u32,
}

impl PreparedFile {
    /// The file and its preparation, for people.
    pub(super) fn display_name(&self) -> String {
        format!("{} ({}{})", self.stem, self.preparation, if self.compressed { ", compressed" } else { "" })
    }

    /// Whether this is the most faithful preparation of its file.
    pub(super) fn is_first(&self) -> bool {
        !self.compressed && self.is_of_first()
    }

    /// Whether this is the most faithful preparation, with or without compressed scores.
    pub(super) fn is_of_first(&self) -> bool {
        first_preparation(self.stem) == self.preparation
    }

    /// Copies the file's runs with scores below the floor compressed.
    fn with_compressed_scores(&self, path: &Path) -> Result<Self, ReproductionError> {
        let options = HistoryOptions { literal: false, ..self.options.clone() };
        let history = build_history(&self.runs, &options, path)?;
        let lost = (0..history.len())
            .filter(|&i| history.final_score(i).is_some_and(|score| score <= history.score_floor()))
            .count();
        let floor = history.to_value(history.score_floor());
        Ok(Self {
            stem: self.stem,
            preparation: self.preparation,
            compressed: true,
            description: format!("the same; scores beyond {floor:.4} are compressed, where {lost} runs end"),
            metric: self.metric.clone(),
            runs: self.runs.clone(),
            options,
            history: Arc::new(history),
            depths: self.depths.clone(),
            fingerprint: self.fingerprint,
        })
    }

    /// Whether any column of `group` varies among the finished runs.
    pub(super) fn has_varying_column(&self, group: FeatureGroup) -> bool {
        let finished: Vec<usize> =
            (0..self.history.len()).filter(|&i| self.history.final_score(i).is_some()).collect();
        self.history.fit_encoder(&finished).column_groups().contains(&group)
    }
}

impl ReleasedFile {
    /// The file in `folder`, plain or gzip, if it is there.
    pub(super) fn find_in(&self, folder: &Path) -> Option<PathBuf> {
        let names = [format!("{}.csv", self.stem), format!("{}.csv.gz", self.stem)];
        names.map(|name| folder.join(name)).into_iter().find(|path| path.is_file())
    }

    /// Reads the file at `path` and prepares it in each way: with scores as they are, and with compressed scores where that makes a
    /// difference.
    pub(super) fn prepare_all(&self, path: &Path) -> Result<Vec<PreparedFile>, ReproductionError> {
        let bytes = std::fs::read(path)
            .map_err(|error| ReproductionError::input(format!("{}: {error}", path.display())))?;
        let fingerprint = crc32fast::hash(&bytes);
        let mut all = Vec::new();
        for preparation in self.preparations {
            let literal = PreparedFile { fingerprint, ..self.prepare_as(preparation, path)? };
            let compressed =
                literal.history.reaches_floor().then(|| literal.with_compressed_scores(path)).transpose()?;
            all.push(literal);
            all.extend(compressed);
        }
        Ok(all)
    }

    fn prepare_as(
        &self,
        preparation: &FilePreparation,
        path: &Path,
    ) -> Result<PreparedFile, ReproductionError> {
        let options = ReadOptions {
            direction: Some(self.direction),
            deduplicate: !preparation.repeats,
            ..ReadOptions::default()
        };
        let mut recorded = foretell_logs::read_runs(path, &options).map_err(ReproductionError::input)?;
        let mut removed = Vec::new();
        let read = recorded.runs.len();
        recorded.runs.retain(|run| run.curve.scores().iter().any(|&score| score != 0.0));
        let dead = read - recorded.runs.len();
        if dead > 0 {
            removed.push(format!("{dead} more without any score but 0 removed"));
        }
        if let Some(keep) = preparation.keep {
            recorded.runs.retain(|run| keep(&run.configuration));
        }
        if let Some(bound) = preparation.below {
            let before = recorded.runs.len();
            recorded.runs.retain(|run| {
                run.curve.last_point().is_some_and(|(_, score)| self.direction.to_value(score) < bound)
            });
            let worse = before - recorded.runs.len();
            removed.push(format!("{worse} runs that do not end below {bound} removed"));
        }
        let depths = recorded.runs.iter().map(|run| layer_count(&run.configuration)).collect();
        for run in &mut recorded.runs {
            preparation.prepare_configuration(&mut run.configuration);
            if let Some(least) = preparation.least {
                run.curve = raise_to_least(&run.curve, least, self.direction);
            }
        }
        let (options, history) = lay_out_history(&recorded, preparation, path)?;
        Ok(PreparedFile {
            stem: self.stem,
            preparation: preparation.name,
            compressed: false,
            description: describe_preparation(preparation, &recorded, removed),
            metric: recorded.metric.name,
            runs: recorded.runs,
            options,
            history: Arc::new(history),
            depths,
            fingerprint: 0,
        })
    }
}

/// `curve` with `least` in the place of all values below it.
fn raise_to_least(curve: &Curve, least: f64, direction: Direction) -> Curve {
    let values = curve.scores().iter().map(|&score| direction.to_value(score).max(least));
    // scores are only the finite ones, so the divergence is added again; otherwise the run would count as one that ended early
    let lost = curve.diverged_at().map(|at| (at, f64::NAN));
    let points = curve.steps().iter().copied().zip(values).chain(lost);
    let (steps, values): (Vec<f64>, Vec<f64>) = points.unzip();
    Curve::new(&steps, &values, direction).expect("the steps of a curve increase")
}

fn lay_out_history(
    recorded: &RecordedSet,
    preparation: &FilePreparation,
    path: &Path,
) -> Result<(HistoryOptions, History), ReproductionError> {
    let mut columns = recorded.columns.clone();
    columns.scales.extend(preparation.linear.iter().map(|&name| (name.to_owned(), Scale::Linear)));
    let options = HistoryOptions {
        metric: Some(recorded.metric.clone()),
        scale: Some(preparation.scale),
        target: None,
        columns,
        run_score: RunScore::Last,
        literal: true,
    };
    let history = build_history(&recorded.runs, &options, path)?;
    // every split forecasts the step that all the runs tell
    Ok((HistoryOptions { target: history.grid().last().copied(), ..options }, history))
}

fn build_history(runs: &[Run], options: &HistoryOptions, path: &Path) -> Result<History, ReproductionError> {
    History::new(runs, options)
        .map_err(|error| ReproductionError::input(format!("{}: {error}", path.display())))
}

fn describe_preparation(
    preparation: &FilePreparation,
    recorded: &RecordedSet,
    removed: Vec<String>,
) -> String {
    let by_reader = recorded.notes.iter().filter(|note| note.topic == foretell_logs::NoteTopic::Removed);
    let mut parts: Vec<String> = vec![preparation.description.to_owned()];
    parts.extend(by_reader.map(|note| note.text.clone()).chain(removed));
    parts.push("features and target standardized on the training runs".to_owned());
    parts.join("; ")
}

fn numeric_value(configuration: &Configuration, name: &str) -> Option<f64> {
    configuration.get(name).and_then(Value::as_number)
}

/// Layers: 6·blocks + 2 of a ResNet of three stages, or as the file says.
fn layer_count(configuration: &Configuration) -> Option<f64> {
    numeric_value(configuration, "num_blocks")
        .map(|blocks| 6.0 * blocks + 2.0)
        .or_else(|| numeric_value(configuration, "depth"))
}

/// Whether the learning rate falls after as many steps as in nearly all of the released ResNets.
fn falls_after_35000_steps(configuration: &Configuration) -> bool {
    numeric_value(configuration, "ss").is_none_or(|steps| (steps - 35_000.0).abs() < 0.5)
}

/// Puts the paper's two architecture parameters in the place of a ResNet's blocks, filters and filter size.
fn count_resnet(configuration: &mut Configuration) {
    let names = ["num_blocks", "num_filters", "filter_size"];
    let counts = names.map(|name| numeric_value(configuration, name));
    let [Some(blocks), Some(filters), Some(side)] = counts else { return };
    let weights = resnet_weights(blocks, filters, side, 200.0);
    let depth = layer_count(configuration).map_or(Value::Missing, Value::Number);
    for name in names {
        configuration.remove(name);
    }
    configuration.insert("num_params".to_owned(), Value::Number(weights));
    configuration.insert("depth".to_owned(), depth);
}

/// Replaces the inputs h of an LSTM by its weights, and keeps its l layers: 8·h² per layer, and 10 000 words embedded in h
/// numbers and told from h numbers.
fn count_lstm(configuration: &mut Configuration) {
    let counts = ["n_layer", "n_inputs"].map(|name| numeric_value(configuration, name));
    let [Some(layers), Some(inputs)] = counts else { return };
    configuration.remove("n_inputs");
    let weights = 8.0 * layers * inputs * inputs + 2.0 * 10_000.0 * inputs;
    configuration.insert("num_params".to_owned(), Value::Number(weights));
}

/// Multiplicative weights of a ResNet with three stages of f, 2f and 4f filters, n blocks of two k × k convolutions a
/// stage, a first convolution from 3 channels and a last dense layer:
/// k²·(3f + 2n·f² + 2f² + (2n − 1)·4f² + 8f² + (2n − 1)·16f²) + 4f·classes.
fn resnet_weights(blocks: f64, filters: f64, side: f64, classes: f64) -> f64 {
    let square = filters * filters;
    let later = 2.0 * blocks - 1.0;
    let channels =
        3.0 * filters + 2.0 * blocks * square + (2.0 + 4.0 * later) * square + (8.0 + 16.0 * later) * square;
    side * side * channels + 4.0 * filters * classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_a_resnet_are_counted_layer_by_layer() {
        // one block, 16 filters, 3 × 3: the convolutions 3→16, 16→16 twice, 16→32, 32→32, 32→64, 64→64, then 64→10
        let channels = [(3, 16), (16, 16), (16, 16), (16, 32), (32, 32), (32, 64), (64, 64)];
        let expected: i32 = channels.iter().map(|(a, b)| 9 * a * b).sum::<i32>() + 640;
        assert!((resnet_weights(1.0, 16.0, 3.0, 10.0) - f64::from(expected)).abs() < 0.5);
    }

    #[test]
    fn weights_of_an_lstm_take_the_place_of_its_inputs() {
        let released = [("n_layer", 2.0), ("n_inputs", 10.0)];
        let mut configuration: Configuration =
            released.iter().map(|&(name, value)| (name.to_owned(), Value::Number(value))).collect();
        count_lstm(&mut configuration);
        assert_eq!(configuration.keys().collect::<Vec<_>>(), ["n_layer", "num_params"]);
        assert_eq!(numeric_value(&configuration, "num_params"), Some(2.0 * 8.0 * 100.0 + 200_000.0));
    }

    #[test]
    fn what_has_no_logarithm_counts_as_the_least_and_a_divergence_stays() {
        let up = Direction::Maximize;
        let curve = Curve::new(&[0.0, 1.0, 2.0], &[0.0, 0.3, f64::NAN], up).expect("a curve");
        let lifted = raise_to_least(&curve, 0.005, up);
        assert_eq!((lifted.scores(), lifted.diverged_at()), (&[0.005, 0.3][..], Some(2.0)));
    }

    #[test]
    fn the_papers_architecture_parameters_take_the_place_of_the_released_ones() {
        let released = [("num_blocks", 2.0), ("num_filters", 4.0), ("filter_size", 3.0), ("ss", 35000.0)];
        let mut configuration: Configuration =
            released.iter().map(|&(name, value)| (name.to_owned(), Value::Number(value))).collect();
        count_resnet(&mut configuration);
        assert_eq!(configuration.keys().collect::<Vec<_>>(), ["depth", "num_params", "ss"]);
        assert_eq!(numeric_value(&configuration, "depth"), Some(14.0));
        let mut other: Configuration = [("lr".to_owned(), Value::Number(0.1))].into();
        count_resnet(&mut other);
        assert_eq!(other.len(), 1, "a file without these columns is left as it is");
    }
}
