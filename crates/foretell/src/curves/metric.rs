//! The metric: its name, its direction and its bounds. The only place where "lower is better" is turned round.
//!
//! A share (0 to 1, or 0 to 100) is recognized by its name, and its values decide between 1 and 100. By values alone, a reward that lies
//! between 0 and 1 so far would be taken for one. `auto` and `gp` forecast no share above its end; the paper's regressors are not clipped.

use crate::curves::names::words_of_name;
use serde::{Deserialize, Serialize};

/// Whether larger or smaller values of a metric are better.
///
/// Values are turned once, where they enter ([`Direction::to_score`]), so that everywhere inside Foretell a larger
/// *score* is better; they are turned back ([`Direction::to_value`]) only to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Larger is better: accuracy, reward.
    #[default]
    Maximize,
    /// Smaller is better: loss, perplexity, error.
    Minimize,
}

impl Direction {
    /// The score (larger is better) of a metric value.
    pub fn to_score(self, value: f64) -> f64 {
        match self {
            Self::Maximize => value,
            Self::Minimize => -value,
        }
    }

    /// The metric value, in the user's own direction, of a score.
    pub fn to_value(self, score: f64) -> f64 {
        self.to_score(score)
    }

    /// The better values, as a word: `larger` or `smaller`.
    pub fn better_word(self) -> &'static str {
        match self {
            Self::Maximize => "larger",
            Self::Minimize => "smaller",
        }
    }
}

/// The range of values that a metric can take. Bounds hold only if every recorded value lies within them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MetricBounds {
    /// Any number.
    #[default]
    Unbounded,
    /// A share: between 0 and 1 if all recorded values are, otherwise between 0 and 100 (%).
    Share,
    /// From the first number to the second.
    Between(f64, f64),
}

impl MetricBounds {
    /// The lowest and the highest possible value of a metric with these recorded `values`; −∞ and ∞ without bounds.
    ///
    /// ```
    /// use foretell::MetricBounds;
    /// assert_eq!(MetricBounds::Share.range_if_containing([0.3, 0.9].into_iter()), (0.0, 1.0));
    /// assert_eq!(MetricBounds::Share.range_if_containing([30.0, 90.0].into_iter()), (0.0, 100.0));
    /// assert_eq!(MetricBounds::Between(0.0, 500.0).range_if_containing([-1.0].into_iter()), (f64::NEG_INFINITY, f64::INFINITY));
    /// ```
    pub fn range_if_containing(self, values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let unbounded = (f64::NEG_INFINITY, f64::INFINITY);
        let candidates = match self {
            Self::Unbounded => [unbounded; 2],
            Self::Share => [(0.0, 1.0), (0.0, 100.0)],
            Self::Between(low, high) => [(low, high); 2],
        };
        let mut candidates = candidates.into_iter();
        let containing =
            candidates.find(|(low, high)| values.clone().all(|value| *low <= value && value <= *high));
        containing.unwrap_or(unbounded)
    }
}

/// A metric: its name, its direction and its bounds.
///
/// ```
/// use foretell::{MetricBounds, Direction, Metric};
/// let accuracy = Metric::from_name("val_acc").expect("the name gives the direction");
/// assert_eq!((accuracy.direction, accuracy.bounds), (Direction::Maximize, MetricBounds::Share));
/// assert_eq!(Metric::from_name("quality"), None);
/// assert_eq!(Metric::new("quality", Direction::Minimize).bounds, MetricBounds::Unbounded);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name: `val_acc`.
    pub name: String,
    /// Whether larger or smaller values are better.
    pub direction: Direction,
    /// The values that it can take. Forecasts by `auto` and `gp` and intervals end there.
    pub bounds: MetricBounds,
}

impl Metric {
    /// The metric `name` with a known direction, and the bounds of its kind: a share ([`is_share`]) lies between 0 and 1 or 0 and
    /// 100 %, an error ([`is_error`]) is never below 0 (negated, never above), anything else is unbounded.
    pub fn new(name: impl Into<String>, direction: Direction) -> Self {
        let name = name.into();
        let bounds = match direction {
            _ if is_share(&name) => MetricBounds::Share,
            Direction::Minimize if is_error(&name) => MetricBounds::Between(0.0, f64::INFINITY),
            Direction::Maximize if is_error(&name) && is_negated(&words_of_name(&name)) => {
                MetricBounds::Between(f64::NEG_INFINITY, 0.0)
            }
            _ => MetricBounds::Unbounded,
        };
        Self { name, direction, bounds }
    }

    /// The metric `name` with the direction that its name gives, see [`direction_of`]; `None` if it gives none.
    pub fn from_name(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let direction = direction_of(&name)?;
        Some(Self::new(name, direction))
    }
}

/// An unbounded metric without a name.
impl From<Direction> for Metric {
    fn from(direction: Direction) -> Self {
        Self { name: "metric".to_owned(), direction, bounds: MetricBounds::Unbounded }
    }
}

const MAXIMIZED_WORDS: &str = "acc accuracy accuracies auc auroc auprc f1 bleu rouge map miou iou dice r2 reward rewards rew return returns \
    score prec precision recall ap top1 top5 correct likelihood elbo psnr ssim aucpr ndcg mcc genauigkeit 准确率 精度 召回率";
const MINIMIZED_WORDS: &str = "loss losses ppl perplexity error err nll bpc bpb rmse mae mse cost xent crossentropy entropy wer cer \
    ter fid regret logloss mlogloss merror rmsle msle mphe nloglik deviance mape smape perp divergence brier verlust fehler 损失 误差";
/// Words that a `neg` before them reverses; before any other word it is the name of a class: `neg_err`.
const REVERSIBLE_WORDS: &str = "mean root median log mse rmse mae msle rmsle mape brier elbo likelihood logloss cross crossentropy perplexity ppl";
/// Words after which a metric's name is a setting: `loss_weight`, `error_threshold`.
const SETTING_WORDS: &str = "weight fn function type name scale scaling coef coefficient threshold smoothing kind lambda factor \
    margin alpha target thresh thres size sizes sequences bonus dim mode metric order clip reduction class classes \
    budget code";
/// Words for metrics that are a share of something.
const SHARE_WORDS: &str = "acc accuracy accuracies auc auroc auprc f1 bleu map miou iou dice prec precision recall top1 top5 correct ssim";
/// Words for metrics that count or measure errors. A loss is none of them: a likelihood of densities makes it negative.
const ERROR_WORDS: &str =
    "ppl perplexity error err merror bpc bpb rmse rmsle msle mae mse wer cer ter fid mape smape";

/// Whether `word` is one of a list written with spaces between.
fn is_listed(word: &str, list: &str) -> bool {
    list.split(' ').any(|entry| entry == word)
}

/// The words of `name`, after the parts that signs alone divide it into: `mIoU` is one word, whatever its capitals.
fn words_and_spellings(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    parts.chain(words_of_name(name)).collect()
}

/// Whether `word`, with or without the digits at its end, is one of a list.
fn is_listed_with_digits(word: &str, list: &str) -> bool {
    is_listed(word, list) || is_listed(word.trim_end_matches(|c: char| c.is_ascii_digit()), list)
}

/// The direction that a metric's name suggests: `val_acc` up, `test_loss` down, `neg_rmse` up; `None` if it suggests none.
///
/// ```
/// use foretell::{Direction, direction_of};
/// assert_eq!(direction_of("val_loss"), Some(Direction::Minimize));
/// assert_eq!(direction_of("quality"), None);
/// ```
pub fn direction_of(name: &str) -> Option<Direction> {
    let words = words_and_spellings(name);
    // how long something took is no cost of the model
    if words.last().is_some_and(|last| is_listed(last, SETTING_WORDS))
        || words.iter().any(|word| word == "time")
    {
        return None;
    }
    // LightGBM: valid_0's l2; without an owner these are penalties
    if words.windows(2).any(|pair| pair[0] == "s" && is_listed(&pair[1], "l1 l2")) {
        return Some(Direction::Minimize);
    }
    // what the score is of says more: fid_score
    let of_score =
        words.iter().rev().filter(|word| *word != "score").find_map(|word| direction_of_word(word));
    let named = of_score.or_else(|| words.iter().find_map(|word| direction_of_word(word)))?;
    Some(match (named, is_negated(&words)) {
        (Direction::Maximize, false) | (Direction::Minimize, true) => Direction::Maximize,
        _ => Direction::Minimize,
    })
}

fn direction_of_word(word: &str) -> Option<Direction> {
    let maximized = is_listed_with_digits(word, MAXIMIZED_WORDS).then_some(Direction::Maximize);
    maximized.or(is_listed_with_digits(word, MINIMIZED_WORDS).then_some(Direction::Minimize))
}

/// Whether the name is that of a metric between 0 and 1, or between 0 and 100 %: an accuracy, or an area under a curve.
///
/// ```
/// assert!(foretell::is_share("val_acc") && foretell::is_share("top-5") && foretell::is_share("acc1"));
/// assert!(!foretell::is_share("val_loss") && !foretell::is_share("reward"));
/// ```
pub fn is_share(metric: &str) -> bool {
    let words = words_and_spellings(metric);
    words.iter().any(|word| is_listed_with_digits(word, SHARE_WORDS))
        || is_listed(&words_of_name(metric).concat(), SHARE_WORDS)
}

/// Whether the name is that of an error, which is never below 0: an error rate, a mean squared error, a perplexity.
///
/// ```
/// assert!(foretell::is_error("val_err") && foretell::is_error("test_rmse") && foretell::is_error("neg_mse"));
/// assert!(!foretell::is_error("val_loss") && !foretell::is_error("accuracy"));
/// ```
pub fn is_error(metric: &str) -> bool {
    let words = words_of_name(metric);
    !words.last().is_some_and(|last| is_listed(last, SETTING_WORDS))
        && words.iter().any(|word| is_listed_with_digits(word, ERROR_WORDS))
}

fn is_negated(words: &[String]) -> bool {
    words
        .windows(2)
        .any(|pair| (pair[0] == "neg" || pair[0] == "negative") && is_listed(&pair[1], REVERSIBLE_WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_direction_is_in_the_name_or_nowhere() {
        let cases = [
            ("val_acc", Some(Direction::Maximize)),
            ("acc_", Some(Direction::Maximize)),
            ("mIoU", Some(Direction::Maximize)),
            ("val/mAP", Some(Direction::Maximize)),
            ("mIoU_weight", None),
            ("top5", Some(Direction::Maximize)),
            ("val_ppl", Some(Direction::Minimize)),
            ("eval-mlogloss", Some(Direction::Minimize)),
            ("validation_1-merror", Some(Direction::Minimize)),
            ("eval-aucpr", Some(Direction::Maximize)),
            ("cross_entropy", Some(Direction::Minimize)),
            ("val_error", Some(Direction::Minimize)),
            ("neg_rmse", Some(Direction::Maximize)),
            ("negative_log_likelihood", Some(Direction::Minimize)),
            ("test.neg_err", Some(Direction::Minimize)),
            ("neg_mean_squared_error", Some(Direction::Maximize)),
            ("fid_score", Some(Direction::Minimize)),
            ("brier_score", Some(Direction::Minimize)),
            ("error_score", Some(Direction::Minimize)),
            ("score", Some(Direction::Maximize)),
            ("f1_score", Some(Direction::Maximize)),
            ("ep_rew_mean", Some(Direction::Maximize)),
            ("valid_0's l2", Some(Direction::Minimize)),
            ("l2", None),
            ("EPE", None),
            ("ep_", None),
            ("loss_weight", None),
            ("Time cost", None),
            ("error code", None),
            ("Prec@1", Some(Direction::Maximize)),
            ("label_smoothing", None),
        ];
        for (name, expected) in cases {
            assert_eq!(direction_of(name), expected, "{name}");
        }
    }
}
