//! Configurations as numbers: logs of wide positive columns, indicators of categories, architecture counts.

use crate::architecture::{ImageShape, Layer, LayerSequence};
use crate::configuration::{Configuration, FeatureGroup, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A positive column whose largest value is more than this many times its smallest is taken in log10.
const LOG_SPAN: f64 = 20.0;
/// A text column with more values than this is a label, not a category, and is left out.
const MOST_CATEGORIES: usize = 12;

/// How one configuration column becomes feature columns.
#[derive(Clone, Debug, PartialEq)]
enum Encoding {
    /// The number, or, where there is a `least`, its log10. `least` is the smallest number of the fitted rows, and stands for those
    /// that have no logarithm; `center`, the mean over the fitted rows, for those that are missing.
    Number { least: Option<f64>, center: f64, indicator: bool },
    /// One column a value.
    Categories(Vec<String>),
    /// A layer sequence: [`ARCHITECTURE_FEATURES`].
    Layers,
}

/// The features that a layer sequence expands into, in order.
pub const ARCHITECTURE_FEATURES: [&str; 12] = [
    "log10 weights",
    "layers",
    "convolutions",
    "poolings",
    "fully connected layers",
    "global average pooling",
    "mean log2 filters",
    "log2 filters of the last convolution",
    "log2 filters of the first convolution",
    "mean kernel side",
    "log2 image side before the head",
    "log10 multiply-adds",
];

/// An encoder fitted on configurations: turns any configuration into a row of numbers.
///
/// * a number becomes itself, or its log10 if the column is positive and spans more than a factor of 20 (of a new one that is not
///   positive: that of the smallest);
/// * a missing number becomes the mean of the others, and a column of its own says so;
/// * text with at most 12 different values becomes one 0/1 column a value (all 0 for a value never seen);
/// * text in layer notation becomes [`ARCHITECTURE_FEATURES`], counted for 3×32×32 images;
/// * columns that never vary are dropped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoder {
    columns: Vec<(String, FeatureGroup, Encoding)>,
}

impl Encoder {
    /// Fits an encoder. `groups` names the feature group of columns; others are told by [`group_of_name`].
    pub fn fit<'a>(
        configurations: impl Iterator<Item = &'a Configuration> + Clone,
        groups: &BTreeMap<String, FeatureGroup>,
    ) -> Self {
        let names: BTreeSet<&String> = configurations.clone().flat_map(|c| c.keys()).collect();
        let columns = names.into_iter().filter_map(|name| {
            let values =
                configurations.clone().map(|c| c.get(name).unwrap_or(&Value::Missing)).collect::<Vec<_>>();
            let encoding = fit_column(&values)?;
            let group = match encoding {
                Encoding::Layers => FeatureGroup::Architecture,
                _ => groups.get(name).copied().unwrap_or_else(|| group_of_name(name)),
            };
            Some((name.clone(), group, encoding))
        });
        Self { columns: columns.collect() }
    }

    /// The feature group of each column that [`Encoder::encode`] gives.
    pub fn groups(&self) -> Vec<FeatureGroup> {
        self.columns.iter().flat_map(|(_, group, encoding)| vec![*group; width(encoding)]).collect()
    }

    /// The names of the columns that [`Encoder::encode`] gives.
    pub fn names(&self) -> Vec<String> {
        let names = self.columns.iter().flat_map(|(name, _, encoding)| match encoding {
            Encoding::Number { least, indicator, .. } => {
                let number = if least.is_some() { format!("log10 {name}") } else { name.clone() };
                if *indicator { vec![number, format!("{name} is missing")] } else { vec![number] }
            }
            Encoding::Categories(values) => values.iter().map(|value| format!("{name} = {value}")).collect(),
            Encoding::Layers => {
                ARCHITECTURE_FEATURES.iter().map(|feature| format!("{name}: {feature}")).collect()
            }
        });
        names.collect()
    }

    /// `configuration` as numbers, one for each of [`Encoder::names`].
    pub fn encode(&self, configuration: &Configuration) -> Vec<f64> {
        let mut row = Vec::new();
        for (name, _, encoding) in &self.columns {
            let value = configuration.get(name).unwrap_or(&Value::Missing);
            match encoding {
                Encoding::Number { least, center, indicator } => {
                    let number = value.number().map(|v| match *least {
                        Some(least) => if v > 0.0 { v } else { least }.log10(),
                        None => v,
                    });
                    row.push(number.unwrap_or(*center));
                    if *indicator {
                        row.push(f64::from(u8::from(number.is_none())));
                    }
                }
                Encoding::Categories(values) => {
                    let cell = value.to_string();
                    row.extend(values.iter().map(|category| f64::from(u8::from(*category == cell))));
                }
                Encoding::Layers => {
                    row.extend(value.text().map_or([0.0; ARCHITECTURE_FEATURES.len()], layer_features))
                }
            }
        }
        row
    }
}

fn width(encoding: &Encoding) -> usize {
    match encoding {
        Encoding::Number { indicator, .. } => 1 + usize::from(*indicator),
        Encoding::Categories(values) => values.len(),
        Encoding::Layers => ARCHITECTURE_FEATURES.len(),
    }
}

fn fit_column(values: &[&Value]) -> Option<Encoding> {
    let texts: BTreeSet<String> = values.iter().filter_map(|v| v.text()).map(str::to_owned).collect();
    if texts.is_empty() {
        return fit_numbers(values);
    }
    if texts.iter().all(|text| text.parse::<LayerSequence>().is_ok()) {
        return Some(Encoding::Layers);
    }
    let cells: BTreeSet<String> = values.iter().map(|v| v.to_string()).collect();
    (2..=MOST_CATEGORIES).contains(&cells.len()).then(|| Encoding::Categories(cells.into_iter().collect()))
}

fn fit_numbers(values: &[&Value]) -> Option<Encoding> {
    let numbers: Vec<f64> = values.iter().filter_map(|v| v.number()).collect();
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let indicator = !numbers.is_empty() && numbers.len() < values.len();
    if low >= high && !indicator {
        return None;
    }
    let log = low > 0.0 && high > LOG_SPAN * low;
    let sum: f64 = numbers.iter().map(|v| if log { v.log10() } else { *v }).sum();
    Some(Encoding::Number { least: log.then_some(low), center: sum / numbers.len() as f64, indicator })
}

fn layer_features(text: &str) -> [f64; ARCHITECTURE_FEATURES.len()] {
    const INPUT: ImageShape = ImageShape { channels: 3, height: 32, width: 32 };
    let Ok(sequence) = text.parse::<LayerSequence>() else {
        return [0.0; ARCHITECTURE_FEATURES.len()];
    };
    let counted = sequence.counts(INPUT);
    let (weights, multiply_adds) = counted.map_or((1, 1), |c| (c.weights.max(1), c.multiply_adds.max(1)));
    let (mut side, mut filters, mut kernels) = (INPUT.height, Vec::new(), Vec::new());
    let (mut poolings, mut dense, mut averaged, mut layers) = (0.0, 0.0, 0.0, 0.0);
    for layer in &sequence.0 {
        layers += f64::from(u8::from(!matches!(layer, Layer::Dropout { .. })));
        match *layer {
            Layer::Convolution { filters: count, kernel, stride } => {
                side = side.div_ceil(stride);
                filters.push((count as f64).log2());
                kernels.push(kernel as f64);
            }
            Layer::Pooling { kernel, stride } => {
                side = side.saturating_sub(kernel) / stride + 1;
                poolings += 1.0;
            }
            Layer::FullyConnected { .. } => dense += 1.0,
            Layer::GlobalAveragePooling { .. } => averaged = 1.0,
            Layer::Dropout { .. } | Layer::Softmax { .. } => {}
        }
    }
    [
        (weights as f64).log10(),
        layers,
        filters.len() as f64,
        poolings,
        dense,
        averaged,
        crate::statistics::mean(&filters),
        filters.last().copied().unwrap_or(0.0),
        filters.first().copied().unwrap_or(0.0),
        crate::statistics::mean(&kernels),
        (side as f64).log2(),
        (multiply_adds as f64).log10(),
    ]
}

/// Words that mark a column as describing the architecture.
const ARCHITECTURE_WORDS: [&str; 27] = [
    "param",
    "weight",
    "mac",
    "flop",
    "depth",
    "layer",
    "block",
    "filter",
    "width",
    "kernel",
    "stride",
    "unit",
    "hidden",
    "n_inputs",
    "head",
    "ff_num",
    "model_size",
    "skip",
    "residual",
    "stage",
    "net",
    "cell",
    "embed",
    "channel",
    "neuron",
    "arch",
    "rflayers",
];

/// The feature group that the name of a configuration column suggests: architecture if it speaks of weights, layers,
/// filters and the like, hyperparameter otherwise (`weight_decay` and the like are hyperparameters).
///
/// ```
/// use foretell::{FeatureGroup, group_of_name};
/// assert_eq!(group_of_name("num_params"), FeatureGroup::Architecture);
/// assert_eq!(group_of_name("weight_decay"), FeatureGroup::Hyperparameter);
/// assert_eq!(group_of_name("learning_rate"), FeatureGroup::Hyperparameter);
/// ```
pub fn group_of_name(name: &str) -> FeatureGroup {
    let name = name.to_lowercase();
    let decay = name.contains("decay") || name.contains("momentum") || name.contains("dropout");
    if !decay && ARCHITECTURE_WORDS.iter().any(|word| name.contains(word)) {
        FeatureGroup::Architecture
    } else {
        FeatureGroup::Hyperparameter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(pairs: &[(&str, Value)]) -> Configuration {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn each_kind_of_column_is_encoded_by_its_rule() {
        let text = |t: &str| Value::Text(t.to_owned());
        let rows = [
            configuration(&[
                ("lr", Value::Number(1e-3)),
                ("batch", Value::Number(64.0)),
                ("opt", text("adam")),
                ("same", text("x")),
                ("rate", Value::Missing),
            ]),
            configuration(&[
                ("lr", Value::Number(1e-1)),
                ("batch", Value::Number(128.0)),
                ("opt", text("sgd")),
                ("same", text("x")),
                ("rate", Value::Number(0.9)),
            ]),
        ];
        let encoder = Encoder::fit(rows.iter(), &BTreeMap::new());
        assert_eq!(
            encoder.names(),
            ["batch", "log10 lr", "opt = adam", "opt = sgd", "rate", "rate is missing"]
        );
        assert_eq!(encoder.encode(&rows[0]), [64.0, -3.0, 1.0, 0.0, 0.9, 1.0]);
        assert_eq!(encoder.encode(&rows[1]), [128.0, -1.0, 0.0, 1.0, 0.9, 0.0]);
        let unseen = configuration(&[("opt", text("lamb")), ("lr", Value::Number(0.0))]);
        assert_eq!(encoder.encode(&unseen), [96.0, -3.0, 0.0, 0.0, 0.9, 1.0], "0 has no log10: the smallest");
    }

    #[test]
    fn a_net_expands_into_architecture_features() {
        let nets =
            ["[C(64,5,1), P(2,2), FC(128), D(1,1), SM(10)]", "[C(32,3,1), C(128,1,1), GAP(10), SM(10)]"];
        let rows = nets.map(|net| configuration(&[("net", Value::Text(net.into()))]));
        let encoder = Encoder::fit(rows.iter(), &BTreeMap::new());
        assert!(encoder.groups().iter().all(|&group| group == FeatureGroup::Architecture));
        let row = encoder.encode(&rows[1]);
        assert_eq!(row[1..10], [4.0, 2.0, 0.0, 0.0, 1.0, 6.0, 7.0, 5.0, 2.0]);
        assert!((row[10] - 5.0).abs() < 1e-12);
    }
}
