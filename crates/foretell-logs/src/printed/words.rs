//! The words around a number, which show its stage, a counter, the past, or a group.

use foretell::words_of_name;
use serde::{Deserialize, Serialize};

/// The data that a value was measured on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    Validation,
    #[default]
    Unsaid,
    Training,
    Test,
}

/// The unit that a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Epoch,
    /// Updates, iterations, rounds, episodes.
    Step,
    /// Parts of an epoch.
    Batch,
}

const VALIDATION: &str = "val valid validation validate validating dev eval evaluation evaluating evaluate heldout 验证 验证集 validierung";
const TRAINING: &str = "train training trn learn 训练 训练集";
const TEST: &str = "test testing tst 测试 测试集";
const EPOCHS: &str = "epoch epochs ep e epoche epoca épocas época epoka эпоха 轮次 轮 エポック";
const STEPS: &str = "step steps iteration iterations iter iters it update updates up timestep timesteps round rounds episode episodes \
    generation gen";
const BATCHES: &str = "batch batches minibatch mb";
/// Words that may stand before a counter's: `global_step`, `num_updates`.
const COUNTED: &str = "global current cur training train total boosting env trainer optimizer optim learner my this val valid validation eval test num";
/// Words that may stand behind: `epoch number 5`.
const INDEX: &str = "num number no nr idx index id";
/// Words that make a setting of a counter, or a mark of the past.
const NO_COUNTER: &str =
    "best max maximum num n number total warmup without per every last saved from patience until stop";
/// Words before a plural that make it a setting: `for 10 epochs`, but not `end of epoch 3`.
const OF_MANY: &str = "of for after";
/// Words for values that are not the current ones.
const PAST: &str = "best max min maximum minimum highest lowest previous prev prior last target goal threshold std stddev stdev var smoothed \
    smooth ema avg_best final from restored restoring improved improvement decreased increased so record baseline";
/// Words after which a whole line speaks of the past, or of settings.
const PAST_LINE: &str = "restored restoring restore reloaded saving saved loading loaded early stopping stopped checkpoint resuming resumed";
/// Words that number one of many of the same kind.
const GROUPS: &str = "fold folds class cls rank gpu worker seed group task client replica member run repeat repetition split domain process \
    node device trial head label category 折";
/// Words at the start of a line that announce numbers.
const REPORTS: &str = "info debug warning result results metric metrics score scores stats performance summary report epoch log logs progress output status model overall";
/// Words between a name and its number.
const FILLERS: &str = "is was are of at to equals has value reached now equal be";

/// Whether `word` is one of a list written with spaces between.
pub(crate) fn within(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|entry| entry == word)
}

/// The words of `text` in small letters; `Acc@1` and `mAP50-95` are one word each.
pub(crate) fn words(text: &str) -> Vec<String> {
    let in_word = |c: char| c.is_alphanumeric() || "@%".contains(c);
    text.to_lowercase()
        .split(|c| !in_word(c))
        .filter(|word| word.contains(char::is_alphanumeric))
        .map(str::to_owned)
        .collect()
}

/// The stage that `word` names.
fn stage_of(word: &str) -> Option<Stage> {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is = |list| within(word, list).then_some(());
    is(VALIDATION)
        .map(|()| Stage::Validation)
        .or(is(TRAINING).map(|()| Stage::Training))
        .or(is(TEST).map(|()| Stage::Test))
}

/// The last stage that `text` names.
pub(crate) fn stage(text: &str) -> Option<Stage> {
    words(text).iter().rev().find_map(|word| stage_of(word))
}

/// Whether a word of `text` is in `list`.
fn names(text: &str, list: &str) -> bool {
    words(text).iter().any(|word| within(word, list))
}

/// Whether `text` speaks of another value than the current one.
pub(crate) fn is_past(text: &str) -> bool {
    names(text, PAST)
}

/// `text` without marks that its line is the best one so far: `[best]`, `(new best)`, `New best!`.
pub(crate) fn unmarked(text: &str) -> String {
    let text = text.rsplit('!').next().unwrap_or_default().to_lowercase().replace("new best", "");
    let (mut kept, mut rest) = (String::new(), text.as_str());
    while let Some((before, inside)) = rest.split_once(['[', '(']) {
        kept.push_str(before);
        rest = inside.split_once([']', ')']).map_or(inside, |(_, after)| after);
    }
    kept + rest
}

/// Whether the part of the line after `text` is no report: a restored checkpoint, a saved model.
pub(crate) fn is_past_line(text: &str) -> bool {
    names(text, PAST_LINE)
}

/// Whether a line reports that the best model was loaded again.
pub(crate) fn is_reloaded(text: &str) -> bool {
    names(text, "restored restoring restore reloaded reloading loaded loading load reload")
        && names(text, "best")
}

/// Whether a line with this text is of settings.
pub(crate) fn is_settings(text: &str) -> bool {
    let begin =
        text.trim_start_matches(|c: char| !c.is_alphabetic()).get(..14).unwrap_or(text).to_ascii_lowercase();
    let first = begin.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    text.contains("Namespace(")
        || within(
            first,
            "config configuration args arguments hparams hyperparameters hyperparams settings options usage command namespace parameters params",
        )
}

/// The words of `name` with the stage taken out, and that stage.
pub(crate) fn staged(name: &str) -> (Vec<String>, Option<Stage>) {
    let (mut kept, mut found) = (Vec::new(), None);
    for word in words(name) {
        match stage_of(&word) {
            Some(stage) => found = Some(stage),
            None => kept.push(word),
        }
    }
    (kept, found)
}

/// Whether `word` numbers one of many.
pub(crate) fn is_group(word: &str) -> bool {
    within(word, GROUPS)
}

/// Words of `text` such as `rank0` and `fold_2`.
pub(crate) fn groups(text: &str) -> String {
    let is_one = |word: &String| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        name.len() < word.len() && is_group(name)
    };
    words(&text.replace('_', "")).into_iter().filter(is_one).collect::<Vec<_>>().join(" ")
}

/// The word that a line begins with as the item of a list: `  cat: acc = 0.5`, but not `val: acc = 0.5`.
pub(crate) fn item(text: &str) -> String {
    let Some((first, rest)) = text.split_once(':') else { return String::new() };
    let word = first.trim().trim_start_matches(['-', '*']).trim_start();
    let is_word = word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || c == '_');
    let is_known = || stage(word).is_some() || is_past(word) || within(&word.to_lowercase(), REPORTS);
    let is_item = is_word
        && rest.starts_with(' ')
        && label(rest.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default())
            .0
            .contains(char::is_alphabetic);
    if is_item && !is_known() { word.to_lowercase() } else { String::new() }
}

/// A counter that a label names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) counter: Counter,
    /// Whether the word may as well say how many there are: `epochs: 10`.
    pub(crate) is_plural: bool,
}

/// The counter that `label`, the text before a number, names.
pub(crate) fn counter(label: &str) -> Option<Named> {
    if label.ends_with('第') {
        return Some(Named { counter: Counter::Epoch, is_plural: false });
    }
    let label = label.split(['(', '[']).next().unwrap_or_default();
    let mut tokens = label
        .split(|c: char| c.is_whitespace() || ",:|".contains(c))
        .filter(|token| token.chars().any(char::is_alphabetic))
        .rev();
    let mut token = tokens.next()?;
    let alone = words(token);
    if alone.len() == 1 && within(&alone[0], INDEX) {
        token = tokens.next()?;
    }
    let mut parts: Vec<String> = if token.is_ascii() { words_of_name(token) } else { words(token) };
    while parts.len() > 1 && parts.last().is_some_and(|last| within(last, INDEX) || stage_of(last).is_some())
    {
        parts.pop();
    }
    let word = parts.pop()?;
    let counter = match () {
        () if within(&word, EPOCHS) => Counter::Epoch,
        () if within(&word, STEPS) => Counter::Step,
        () if within(&word, BATCHES) => Counter::Batch,
        () => return None,
    };
    let plural = word.len() > 2
        && word.ends_with('s')
        && word != "timesteps"
        && !(word == "updates" && parts.iter().any(|part| part == "num"));
    let settings = |part: &String| !within(part, COUNTED) || (part == "num" && counter == Counter::Epoch);
    let mut before = tokens.take(2);
    let nearest = before.next().unwrap_or_default();
    let is_of_many = names(nearest, OF_MANY);
    if parts.iter().any(settings)
        || names(nearest, NO_COUNTER)
        || is_of_many && (plural || before.next().is_some_and(|word| names(word, NO_COUNTER)))
    {
        return None;
    }
    Some(Named { counter, is_plural: plural })
}

/// The label of a number, and the text before the label, from the `text` between the number and the previous one.
pub(crate) fn label(text: &str) -> (&str, &str) {
    let mut end = text.len();
    loop {
        let trimmed =
            text[..end].trim_end_matches(|c: char| c.is_whitespace() || "=:\"'`{}[(<>~*|-→⇒≈#.".contains(c));
        let trimmed = closed(trimmed);
        let last = trimmed.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let is_filler = last.len() < trimmed.len()
            && within(&last.to_ascii_lowercase(), FILLERS)
            && !trimmed[..trimmed.len() - last.len()].ends_with(['/', '.', '@']);
        end = trimmed.len();
        if !is_filler {
            break;
        }
        end -= last.len();
    }
    let text = &text[..end];
    let begin = if text.contains("@[") { 0 } else { separator(text) };
    let mut label = text[begin..].trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '%');
    if label.ends_with(']') && !label.contains('[') {
        label = label.trim_end_matches(']');
    }
    let label = label.trim_end_matches(['"', '\'', ' ']);
    // `the accuracy on the validation set is 0.71`
    let label = [" on the ", " over the "]
        .into_iter()
        .fold(label, |label, phrase| label.split_once(phrase).map_or(label, |(name, _)| name));
    (label, &text[..begin])
}

/// `text` without a closing bracket at its end that nothing opened.
fn closed(text: &str) -> &str {
    let is_open = |open: char, close: char| text.matches(open).count() >= text.matches(close).count();
    match text.chars().next_back() {
        Some(')') if !is_open('(', ')') => text[..text.len() - 1].trim_end(),
        Some(']') if !is_open('[', ']') => text[..text.len() - 1].trim_end(),
        _ => text,
    }
}

/// So many letters before a point are a word cut short: `Avg. loss`.
const SHORT: usize = 3;

/// Where the label at the end of `text` begins.
fn separator(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut round, mut square) = (0, 0);
    for at in (0..bytes.len()).rev() {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        match bytes[at] {
            b')' => round += 1,
            b'(' if round > 0 => round -= 1,
            b']' if square == 0 && at + 1 < bytes.len() => return at + 1,
            b']' => square += 1,
            b'[' if square > 0 => square -= 1,
            b'(' | b'[' | b'{' | b'}' => return at + 1,
            _ if round > 0 || square > 0 => {}
            b',' | b';' | b'|' | b'\t' => return at + 1,
            b'.' if next == b' '
                && bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count()
                    <= SHORT => {}
            b':' | b'.' | b'!' | b'=' | b'>' if next == b' ' || next == b'\t' => return at + 1,
            b' ' if next == b' ' => return at + 1,
            b' ' if next == b'-' && (bytes.get(at + 2) == Some(&b' ')) => return at + 2,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::{Counter, Stage, counter, groups, label, stage};

    #[test]
    fn the_label_is_the_name_before_a_number() {
        let cases = [
            ("\tLoss ", "Loss"),
            (", val loss is ", "val loss"),
            (" || Loss: ", "Loss"),
            (", the accuracy on the validation set is ", "the accuracy"),
            (" - root - INFO: - Validation MSE loss: ", "Validation MSE loss"),
            ("{'train_loss': ", "train_loss"),
            (", 'val_acc': '", "val_acc"),
            ("val: loss ", "loss"),
            (": val_acc -> ", "val_acc"),
            (" * Acc@1 ", "Acc@1"),
            ("saving the best model (val_loss=", "val_loss"),
            ("[rank0] val_acc ", "val_acc"),
            ("loss (val): ", "loss (val)"),
            (
                "Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = ",
                "Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ]",
            ),
            ("Pseudo dice [", "Pseudo dice"),
            ("Restored the best weights. Test: loss ", "loss"),
            ("]\ttrain-logloss:", "train-logloss"),
            ("\tvalid_0's auc: ", "valid_0's auc"),
            (" (", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(label(text).0, expected, "{text}");
        }
    }

    #[test]
    fn counters_are_told_from_settings() {
        let epoch = |plural| Some((Counter::Epoch, plural));
        let step = |plural| Some((Counter::Step, plural));
        let cases = [
            ("Epoch", epoch(false)),
            ("INFO Train Epoch", epoch(false)),
            ("Epochs", epoch(true)),
            ("current_epoch", epoch(false)),
            ("currentEpoch", epoch(false)),
            ("Epoch num", epoch(false)),
            ("Epoch (train)", epoch(false)),
            ("Epoche", epoch(false)),
            ("第", epoch(false)),
            ("num_epochs", None),
            ("Num Epochs", None),
            ("best epoch", None),
            ("End of epoch", epoch(false)),
            ("number of epoch", None),
            ("after epochs", None),
            ("steps_per_epoch", None),
            ("lr_step", None),
            ("total_timesteps", step(false)),
            ("Steps", step(true)),
            ("num_updates", step(false)),
            ("Batch", Some((Counter::Batch, false))),
            ("loss", None),
        ];
        for (text, expected) in cases {
            assert_eq!(counter(text).map(|found| (found.counter, found.is_plural)), expected, "{text}");
        }
        assert_eq!(
            (stage("valid_0's auc"), stage("Test"), stage("eval-logloss")),
            (Some(Stage::Validation), Some(Stage::Test), Some(Stage::Validation))
        );
        assert_eq!(
            (groups("[rank0] val"), groups("fold_2: x"), groups("conv2")),
            ("rank0".into(), "fold2".into(), String::new())
        );
    }
}
