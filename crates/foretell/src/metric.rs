//! The direction of a metric: the one place where "lower is better" is turned round.

use crate::columns::words_of_name;
use serde::{Deserialize, Serialize};

/// Whether larger or smaller values of a metric are better.
///
/// Values are turned once, where they enter ([`Direction::score`]), so that everywhere inside Foretell a larger
/// *score* is better; they are turned back ([`Direction::value`]) only to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn score(self, value: f64) -> f64 {
        match self {
            Self::Maximize => value,
            Self::Minimize => -value,
        }
    }

    /// The metric value, in the user's own direction, of a score.
    pub fn value(self, score: f64) -> f64 {
        self.score(score)
    }
}

/// Words for metrics that are a share of something.
const SHARES: &str = "acc accuracy accuracies auc auroc auprc f1 bleu map miou iou dice precision recall top1 top5 correct ssim";

/// Whether a metric's name says that it is a share, between 0 and 1 or between 0 and 100 %: an accuracy, an area under
/// a curve.
///
/// ```
/// assert!(foretell::is_share("val_acc") && foretell::is_share("top-5") && foretell::is_share("acc1"));
/// assert!(!foretell::is_share("val_loss") && !foretell::is_share("reward"));
/// ```
pub fn is_share(metric: &str) -> bool {
    let words = words_of_name(metric);
    let known = |word: &str| SHARES.split(' ').any(|share| share == word);
    let numbered = |word: &String| known(word) || known(word.trim_end_matches(|c: char| c.is_ascii_digit()));
    words.iter().any(numbered) || known(&words.concat())
}
