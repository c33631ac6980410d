//! Configurations as numbers: logs of wide positive columns, indicators of categories, architecture counts.
//!
//! A positive column is taken as a logarithm if its largest value is more than 20 times its smallest, or if it is declared so. A list of
//! names would have to be maintained.

use crate::curves::architecture::{ImageShape, Layer, LayerSequence};
use crate::curves::columns::ColumnDeclarations;
use crate::curves::configuration::{Configuration, FeatureGroup, Value};
use crate::curves::scale::Scale;
use std::collections::BTreeSet;

/// A positive column whose largest value is more than this many times its smallest is transformed to log10.
const MIN_LOG_SPAN: f64 = 20.0;
/// A text column with more values than this is a label, not a category, and is left out.
const MAX_CATEGORIES: usize = 12;
/// A number that lies beyond the range of the fitted rows by more than this share of it lies far.
const FAR_RANGE_FRACTION: f64 = 0.25;

/// The encoding of one configuration column as feature columns.
#[derive(Clone, Debug, PartialEq)]
enum ColumnEncoding {
    /// The number, or, where there is a `least`, its log10. `least` is the smallest number of the fitted rows, and stands for those
    /// that have no logarithm; `center`, the mean over the fitted rows, for those that are missing. `range`: the least and the
    /// largest number of the fitted rows.
    Number { least: Option<f64>, center: f64, indicator: bool, range: (f64, f64) },
    /// One column per value.
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
/// * a number becomes itself, or its log10 if the column is declared logarithmic, or is positive and spans more than a factor of 20
///   (of one that is not positive: that of the smallest positive one);
/// * a missing number becomes the mean of the others, and a column of its own marks it;
/// * text with at most 12 different values becomes one 0/1 column per value (all 0 for a value never seen);
/// * text in layer notation becomes [`ARCHITECTURE_FEATURES`], counted for 3×32×32 images;
/// * text with more values is left out, see [`ConfigurationEncoder::left_out_columns`];
/// * columns that never vary are dropped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigurationEncoder {
    columns: Vec<(String, FeatureGroup, ColumnEncoding)>,
    /// Text columns that are left out, and how many values they have.
    left_out: Vec<(String, usize)>,
}

impl ConfigurationEncoder {
    /// Fits an encoder. `columns` contains the declared feature groups and scales.
    pub fn fit<'a>(
        configurations: impl Iterator<Item = &'a Configuration> + Clone,
        columns: &ColumnDeclarations,
    ) -> Self {
        let names: BTreeSet<&String> = configurations.clone().flat_map(|c| c.keys()).collect();
        let mut encoder = Self::default();
        for name in names {
            let values =
                configurations.clone().map(|c| c.get(name).unwrap_or(&Value::Missing)).collect::<Vec<_>>();
            match fit_column(&values, columns.scales.get(name).copied()) {
                ColumnFit::Constant => {}
                ColumnFit::TooMany(values) => encoder.left_out.push((name.clone(), values)),
                ColumnFit::Column(encoding) => {
                    let group = columns.feature_group(name, encoding == ColumnEncoding::Layers);
                    encoder.columns.push((name.clone(), group, encoding));
                }
            }
        }
        encoder
    }

    /// The text columns that are left out for having more than 12 different values, and how many they have.
    pub fn left_out_columns(&self) -> &[(String, usize)] {
        &self.left_out
    }

    /// The values of `configuration` far from all that the encoder was fitted on, in words: a number beyond their range by more
    /// than a quarter of it, on the column's scale, or a text that none of them has.
    ///
    /// ```
    /// use foretell::{ColumnDeclarations, Configuration, ConfigurationEncoder, Value};
    /// let lr = |rate: f64| Configuration::from([("lr".to_owned(), Value::Number(rate))]);
    /// let encoder = ConfigurationEncoder::fit([lr(1e-4), lr(1e-1)].iter(), &ColumnDeclarations::default());
    /// assert!(encoder.describe_far_values(&lr(0.2)).is_empty());
    /// assert_eq!(encoder.describe_far_values(&lr(10.0)), ["lr = 10, beyond 0.0001 to 0.1"]);
    /// ```
    pub fn describe_far_values(&self, configuration: &Configuration) -> Vec<String> {
        let descriptions = self.columns.iter().filter_map(|(name, _, encoding)| {
            match (encoding, configuration.get(name)?) {
                (ColumnEncoding::Number { least, range, .. }, Value::Number(number)) => {
                    let [low, high, value] =
                        [range.0, range.1, *number].map(|number| to_column_scale(number, *least));
                    let reach = FAR_RANGE_FRACTION * (high - low);
                    let far = value < low - reach || value > high + reach;
                    far.then(|| format!("{name} = {number}, beyond {} to {}", range.0, range.1))
                }
                (ColumnEncoding::Categories(values), value @ (Value::Text(_) | Value::Number(_))) => {
                    let unseen = !values.contains(&value.to_string());
                    unseen.then(|| format!("{name} = {value}, which no completed run has"))
                }
                _ => None,
            }
        });
        descriptions.collect()
    }

    /// The feature group of each column that [`ConfigurationEncoder::encode`] gives.
    pub fn column_groups(&self) -> Vec<FeatureGroup> {
        self.columns.iter().flat_map(|(_, group, encoding)| vec![*group; width(encoding)]).collect()
    }

    /// The names of the columns that [`ConfigurationEncoder::encode`] gives.
    pub fn column_names(&self) -> Vec<String> {
        let names = self.columns.iter().flat_map(|(name, _, encoding)| match encoding {
            ColumnEncoding::Number { least, indicator, .. } => {
                let number = if least.is_some() { format!("log10 {name}") } else { name.clone() };
                if *indicator { vec![number, format!("{name} is missing")] } else { vec![number] }
            }
            ColumnEncoding::Categories(values) => {
                values.iter().map(|value| format!("{name} = {value}")).collect()
            }
            ColumnEncoding::Layers => {
                ARCHITECTURE_FEATURES.iter().map(|feature| format!("{name}: {feature}")).collect()
            }
        });
        names.collect()
    }

    /// The columns of configurations that are transformed to log10.
    pub fn log_columns(&self) -> Vec<&str> {
        let columns = self.columns.iter();
        let logarithmic = columns
            .filter(|(_, _, encoding)| matches!(encoding, ColumnEncoding::Number { least: Some(_), .. }));
        logarithmic.map(|(name, ..)| name.as_str()).collect()
    }

    /// `configuration` as numbers, one for each of [`ConfigurationEncoder::column_names`].
    pub fn encode(&self, configuration: &Configuration) -> Vec<f64> {
        let mut row = Vec::new();
        for (name, _, encoding) in &self.columns {
            let value = configuration.get(name).unwrap_or(&Value::Missing);
            match encoding {
                ColumnEncoding::Number { least, center, indicator, .. } => {
                    let number = value.as_number().map(|v| to_column_scale(v, *least));
                    row.push(number.unwrap_or(*center));
                    if *indicator {
                        row.push(f64::from(u8::from(number.is_none())));
                    }
                }
                ColumnEncoding::Categories(values) => {
                    let cell = value.to_string();
                    row.extend(values.iter().map(|category| f64::from(u8::from(*category == cell))));
                }
                ColumnEncoding::Layers => {
                    row.extend(value.as_text().map_or([0.0; ARCHITECTURE_FEATURES.len()], layer_features))
                }
            }
        }
        row
    }
}

/// `number`, or, where there is a `least`, its log10 (of `least`, if it has none).
fn to_column_scale(number: f64, least: Option<f64>) -> f64 {
    match least {
        Some(least) => if number > 0.0 { number } else { least }.log10(),
        None => number,
    }
}

fn width(encoding: &ColumnEncoding) -> usize {
    match encoding {
        ColumnEncoding::Number { indicator, .. } => 1 + usize::from(*indicator),
        ColumnEncoding::Categories(values) => values.len(),
        ColumnEncoding::Layers => ARCHITECTURE_FEATURES.len(),
    }
}

/// The result of fitting a column.
enum ColumnFit {
    Column(ColumnEncoding),
    /// The column never varies.
    Constant,
    /// The column contains this number of different strings.
    TooMany(usize),
}

/// `scale`: as declared.
fn fit_column(values: &[&Value], scale: Option<Scale>) -> ColumnFit {
    let texts: BTreeSet<String> = values.iter().filter_map(|v| v.as_text()).map(str::to_owned).collect();
    if texts.is_empty() {
        return fit_numbers(values, scale).map_or(ColumnFit::Constant, ColumnFit::Column);
    }
    if texts.iter().all(|text| text.parse::<LayerSequence>().is_ok()) {
        return ColumnFit::Column(ColumnEncoding::Layers);
    }
    let cells: BTreeSet<String> = values.iter().map(|v| v.to_string()).collect();
    match cells.len() {
        ..2 => ColumnFit::Constant,
        2..=MAX_CATEGORIES => ColumnFit::Column(ColumnEncoding::Categories(cells.into_iter().collect())),
        more => ColumnFit::TooMany(more),
    }
}

fn fit_numbers(values: &[&Value], scale: Option<Scale>) -> Option<ColumnEncoding> {
    let numbers: Vec<f64> = values.iter().filter_map(|v| v.as_number()).collect();
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let indicator = !numbers.is_empty() && numbers.len() < values.len();
    // one and the same number still says something if other runs do not have it
    if low >= high && !indicator {
        return None;
    }
    let least = numbers.iter().copied().filter(|&v| v > 0.0).fold(f64::INFINITY, f64::min);
    let log = match scale {
        Some(scale) => scale == Scale::Log && least.is_finite(),
        None => low > 0.0 && high > MIN_LOG_SPAN * low,
    };
    let least = log.then_some(least);
    let sum: f64 = numbers.iter().map(|&v| to_column_scale(v, least)).sum();
    Some(ColumnEncoding::Number { least, center: sum / numbers.len() as f64, indicator, range: (low, high) })
}

fn layer_features(text: &str) -> [f64; ARCHITECTURE_FEATURES.len()] {
    const INPUT_SHAPE: ImageShape = ImageShape { channels: 3, height: 32, width: 32 };
    let Ok(sequence) = text.parse::<LayerSequence>() else {
        return [0.0; ARCHITECTURE_FEATURES.len()];
    };
    let counted = sequence.network_counts(INPUT_SHAPE);
    // at least 1, because 0 has no logarithm
    let (weights, multiply_adds) = counted.map_or((1, 1), |c| (c.weights.max(1), c.multiply_adds.max(1)));
    let (mut side, mut filters, mut kernels) = (INPUT_SHAPE.height, Vec::new(), Vec::new());
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
        let encoder = ConfigurationEncoder::fit(rows.iter(), &ColumnDeclarations::default());
        assert_eq!(
            encoder.column_names(),
            ["batch", "log10 lr", "opt = adam", "opt = sgd", "rate", "rate is missing"]
        );
        assert_eq!(encoder.encode(&rows[0]), [64.0, -3.0, 1.0, 0.0, 0.9, 1.0]);
        assert_eq!(encoder.encode(&rows[1]), [128.0, -1.0, 0.0, 1.0, 0.9, 0.0]);
        let unseen = configuration(&[("opt", text("lamb")), ("lr", Value::Number(0.0))]);
        assert_eq!(encoder.encode(&unseen), [96.0, -3.0, 0.0, 0.0, 0.9, 1.0], "0 has no log10: the smallest");
    }

    #[test]
    fn a_declared_scale_and_group_come_before_what_values_and_names_tell() {
        let row = |wd: f64, weights: f64| {
            configuration(&[("wd", Value::Number(wd)), ("weights", Value::Number(weights))])
        };
        let rows = [row(0.0, 1e3), row(1e-4, 1e6), row(1e-2, 1e4)];
        let detected = ConfigurationEncoder::fit(rows.iter(), &ColumnDeclarations::default());
        assert_eq!(
            detected.column_names(),
            ["wd", "log10 weights"],
            "a column with 0 is not seen to be logarithmic"
        );
        let scales = [("wd", Scale::Log), ("weights", Scale::Linear), ("absent", Scale::Log)];
        let declared = ColumnDeclarations {
            groups: [("wd".to_owned(), FeatureGroup::Architecture)].into(),
            scales: scales.map(|(name, scale)| (name.to_owned(), scale)).into(),
        };
        let encoder = ConfigurationEncoder::fit(rows.iter(), &declared);
        assert_eq!(encoder.column_names(), ["log10 wd", "weights"]);
        assert_eq!(encoder.encode(&rows[0]), [-4.0, 1e3], "0 has no log10: the smallest above 0");
        assert_eq!(encoder.encode(&rows[2]), [-2.0, 1e4]);
        assert_eq!(encoder.column_groups(), [FeatureGroup::Architecture; 2]);
        assert_eq!(encoder.log_columns(), ["wd"]);
        let nowhere = [row(0.0, 1.0), row(-1.0, 1.0)];
        assert_eq!(
            ConfigurationEncoder::fit(nowhere.iter(), &declared).column_names(),
            ["wd"],
            "no number has a logarithm"
        );
    }

    #[test]
    fn texts_with_many_values_and_what_is_far_from_all_that_was_seen_are_named() {
        let row = |i: u32| {
            configuration(&[
                ("lr", Value::Number(0.1 + f64::from(i % 2))),
                ("many", Value::Text(format!("level {}", i % 13))),
                ("opt", Value::Text(format!("o{}", i % 12))),
            ])
        };
        let rows: Vec<Configuration> = (0..40).map(row).collect();
        let encoder = ConfigurationEncoder::fit(rows.iter(), &ColumnDeclarations::default());
        assert_eq!(encoder.left_out_columns(), [("many".to_owned(), 13)]);
        assert_eq!(encoder.column_names().len(), 1 + 12);
        assert!(encoder.describe_far_values(&rows[0]).is_empty());
        let far = configuration(&[("lr", Value::Number(5.0)), ("opt", Value::Text("new".into()))]);
        assert_eq!(
            encoder.describe_far_values(&far),
            ["lr = 5, beyond 0.1 to 1.1", "opt = new, which no completed run has"]
        );
    }

    #[test]
    fn a_net_expands_into_architecture_features() {
        let nets =
            ["[C(64,5,1), P(2,2), FC(128), D(1,1), SM(10)]", "[C(32,3,1), C(128,1,1), GAP(10), SM(10)]"];
        let rows = nets.map(|net| configuration(&[("net", Value::Text(net.into()))]));
        let encoder = ConfigurationEncoder::fit(rows.iter(), &ColumnDeclarations::default());
        assert!(encoder.column_groups().iter().all(|&group| group == FeatureGroup::Architecture));
        let row = encoder.encode(&rows[1]);
        assert_eq!(row[1..10], [4.0, 2.0, 0.0, 0.0, 1.0, 6.0, 7.0, 5.0, 2.0]);
        assert!((row[10] - 5.0).abs() < 1e-12);
    }
}
