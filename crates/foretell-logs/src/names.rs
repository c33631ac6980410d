//! Kinds of columns by their names: metric, step, id, outcome, label.

use crate::printed::{Stage, split_stage, stage};
use foretell::{Direction, direction_of, words_of_name as words};

const STEP_NAMES: &str = "epoch step total_timesteps iteration global_step _step iter epochs steps iterations update checkpoint budget \
    resource t timesteps num_timesteps round episode generation";
const ID_NAMES: &str = "config_id configuration_id run_id trial_id id run trial run_name experiment_id job_id model_id uid \
    uuid name trial_number number";
const LABEL_WORDS: &str = "id uid uuid hash run trial study experiment job name seed seeds fold split istest istrain isval file \
    filename path folder dir url host hostname user notes tags created date timestamp";
const OUTCOME_WORDS: &str =
    "outcome runtime duration elapsed seconds status state result time finished diverged converged failed";
/// Words for metrics that, alone and next to a curve, name a setting: an entropy bonus, an SVM's cost, bits of precision.
const SETTING_WORDS: &str = "cost entropy precision";
const EXTREME_WORDS: &str = "max min best final last mean avg optimal";
/// Words for something made of a metric's values, such as its spread or its best so far.
const DERIVED_WORDS: &str = "max min best std stddev var smooth smoothed ema target threshold";
/// Metrics that are computed on held-out data alone, or of an agent at work: no training loss has their name.
const TASK_METRIC_WORDS: &str =
    "map bleu rouge meteor wer cer fid miou dice reward rewards return returns rew";
/// Words for what an agent earns.
const RETURN_WORDS: &str = "rew reward rewards return returns";

/// Whether `word` is one of a list written with spaces between.
fn is_listed(word: &str, list: &str) -> bool {
    list.split(' ').any(|entry| entry == word)
}

fn has_listed_word(words: &[String], list: &str) -> bool {
    words.iter().any(|word| is_listed(word, list))
}

/// Whether the name is that of a metric.
pub(crate) fn is_metric(name: &str) -> bool {
    direction_of(name).is_some()
}

/// Whether two names may be of one metric: they have the same words, or one is no metric's, and they don't name different data.
///
/// ```
/// use foretell_logs::is_same_metric;
/// assert!(is_same_metric("val_acc", "acc") && is_same_metric("Val Acc", "validation_acc"));
/// assert!(!is_same_metric("Train Loss", "Val Loss") && !is_same_metric("val_acc", "val_loss"));
/// ```
pub fn is_same_metric(one: &str, other: &str) -> bool {
    let ((words, stage), (others, other_stage)) = (split_stage(one), split_stage(other));
    (words == others || !is_metric(one) || !is_metric(other))
        && (stage == other_stage || stage.is_none() || other_stage.is_none())
}

/// The order in which metrics are preferred, smallest first; `None` for a name that is no metric's.
///
/// 1. a value before a spread, a best so far and the like
/// 2. held-out before training data
/// 3. accuracies before losses
/// 4. validation before test
/// 5. the whole before a part: mAP50-95 before mAP50, top-1 before top-5, `f1_macro` before `f1_0`, F1 before precision
pub(crate) fn metric_rank(name: &str) -> Option<usize> {
    let words = words(name);
    let direction = direction_of(name)?;
    let data = match stage(name) {
        Some(Stage::Training) => 4,
        Some(Stage::Validation) => 0,
        Some(Stage::Test) => 1,
        _ if prominence(name) > 4 || has_listed_word(&words, TASK_METRIC_WORDS) => 0,
        _ => 2,
    };
    let derived = usize::from(has_listed_word(&words, DERIVED_WORDS));
    let loss = usize::from(direction == Direction::Minimize);
    Some(derived * 10_000 + data / 2 * 1000 + loss * 100 + data % 2 * 50 + usize::from(10 - prominence(name)))
}

/// How much a metric says by itself, from 1: of detections all sizes before some, the mean return before losses, the first answer before the
/// first five, a loss before its parts.
pub fn prominence(name: &str) -> u8 {
    const PART_WORDS: &str = "small medium large box cls dfl obj kl value policy aux reg rpn mask bbox std";
    const LESSER_WORDS: &str = "recall precision ar top5 top10 acc5 acc10 prec5 p r";
    let (words, small) = (words(name), name.to_lowercase());
    let is_part =
        has_listed_word(&words, PART_WORDS) || small.contains("maxdets=1 ") || small.contains("maxdets=10 ");
    let is_of_class = words.iter().any(|word| word.chars().all(|c| c.is_ascii_digit()));
    let is_lesser =
        has_listed_word(&words, LESSER_WORDS) || small.contains("@5") || small.contains("@10") || is_of_class;
    let is_detection = small.contains("average precision")
        || words.iter().any(|word| is_listed(word.trim_end_matches(|c: char| c.is_ascii_digit()), "map ap"));
    if is_part {
        1
    } else if is_detection && small.contains("95") {
        7
    } else if is_detection && !small.contains("50") && !small.contains("75")
        || has_listed_word(&words, RETURN_WORDS)
    {
        6
    } else if is_detection || has_listed_word(&words, "top1") || small.contains("@1") {
        5
    } else if is_lesser {
        2
    } else {
        4
    }
}

/// Whether the name is that of what an agent earns.
pub(crate) fn is_of_agent(name: &str) -> bool {
    has_listed_word(&words(name), RETURN_WORDS)
}

/// Whether numbered columns with this prefix are a curve: a metric's name, or a word for a step.
pub(crate) fn is_curve_prefix(prefix: &str) -> bool {
    is_metric(prefix) || has_listed_word(&words(prefix), "ep epoch e step iter iteration t curve val")
}

/// The place of a name among the usual names of a step column, smallest first.
pub(crate) fn step_rank(name: &str) -> Option<usize> {
    // `time/total_timesteps` of Stable-Baselines3
    let last = name.strip_prefix("time/").unwrap_or(name);
    STEP_NAMES.split_whitespace().position(|step| last.eq_ignore_ascii_case(step))
}

/// Whether a first column without a name is pandas' index.
pub(crate) fn is_index(name: &str) -> bool {
    name.is_empty() || name.eq_ignore_ascii_case("unnamed: 0")
}

/// Whether a table with these columns, without a column of steps, has one row per epoch of one run: it has metrics only, apart from an index and
/// times. A learning rate may be among them if the same metric is there for training and validation, as in the histories of Keras.
pub(crate) fn is_one_run(headers: &[String]) -> bool {
    let has_pair = headers.iter().any(|name| headers.iter().any(|other| *other == format!("val_{name}")));
    headers.iter().any(|name| is_metric(name))
        && headers.iter().enumerate().all(|(at, name)| {
            is_metric(name)
                || at == 0 && is_index(name)
                || is_listed(&name.to_lowercase(), "time seconds elapsed runtime")
                || has_pair && is_listed(name, "lr learning_rate")
        })
}

/// The place of a name among the usual names of an id column, smallest first.
pub(crate) fn id_rank(name: &str) -> Option<usize> {
    let plain = words(name).join("_");
    ID_NAMES.split(' ').position(|id| plain == id)
}

/// Whether the name is that of a column marking repetitions.
pub(crate) fn is_repetition_group(name: &str) -> bool {
    words(name).join("_") == "config_group"
}

/// Whether the column was measured by the training, so no forecast may look at it.
pub(crate) fn is_outcome(name: &str, numeric: bool) -> bool {
    let words = words(name);
    let extreme = has_listed_word(&words, EXTREME_WORDS);
    let starts = words.first().is_some_and(|first| first == "outcome");
    starts
        || words.last().is_some_and(|last| is_listed(last, OUTCOME_WORDS))
        || (numeric && is_metric(name) && !(words.len() == 1 && has_listed_word(&words, SETTING_WORDS)))
        || (extreme && is_metric(name))
        || (words.len() == 2 && extreme && is_listed(&words[1], "epoch step value"))
}

/// Whether the column only labels the run: ids, seeds, splits, file names.
pub(crate) fn is_label(name: &str) -> bool {
    let words = words(name);
    let joined = words.concat();
    name.trim().is_empty()
        || words.is_empty()
        || is_repetition_group(name)
        || id_rank(name).is_some()
        || is_listed(&joined, LABEL_WORDS)
        || words.last().is_some_and(|last| is_listed(last, "id uuid seed seeds filename path"))
        || (words.len() == 2 && words[0] == "is" && is_listed(&words[1], "test train val valid validation"))
        || joined.starts_with("unnamed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_out_accuracy_comes_first_and_training_loss_last() {
        let best_first = [
            "val_acc",
            "val_acc_1",
            "val_acc5",
            "val_precision",
            "test_accuracy",
            "val_loss",
            "test_ppl",
            "acc",
            "loss",
            "train_acc",
            "train_loss",
            "best_val_acc",
        ];
        let mut sorted = best_first;
        sorted.sort_by_key(|name| metric_rank(name));
        assert_eq!(sorted, best_first);
        assert_eq!(metric_rank("lr"), None);
        let best_first = [
            "metrics/mAP50-95(B)",
            "metrics/mAP50(B)",
            "val/box_loss",
            "metrics/recall(B)",
            "train/box_loss",
        ];
        let mut sorted = best_first;
        sorted.sort_by_key(|name| metric_rank(name));
        assert_eq!(sorted, best_first);
    }

    #[test]
    fn outcomes_and_labels_are_known_by_name() {
        for name in [
            "OUTCOME_ppl_optimal",
            "MaxAccuracy",
            "best_val_acc",
            "final_loss",
            "train_time",
            "best_epoch",
            "val_entropy",
        ] {
            assert!(is_outcome(name, true), "{name}");
        }
        for name in
            ["max_depth", "learning_rate", "last_layer_width", "time_steps", "max_norm", "entropy", "cost"]
        {
            assert!(!is_outcome(name, true), "{name}");
        }
        assert!(!is_outcome("loss", false), "a text column `loss` names the loss that was minimized");
        for name in
            ["config_id", "random_seed", "IsTest", "study", "trial", "config_group", "", "Unnamed: 0", "file"]
        {
            assert!(is_label(name), "{name}");
        }
        for name in ["lr", "net", "submission", "workload", "framework", "bpe"] {
            assert!(!is_label(name), "{name}");
        }
    }
}
