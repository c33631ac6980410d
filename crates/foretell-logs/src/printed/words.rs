//! The words around a number, which show its stage, a counter, the past, or a group.

use foretell::words_of_name;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The data that a value was measured on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    Validation,
    #[default]
    Unsaid,
    Training,
    Test,
}

impl Stage {
    /// The name in a message; empty if nothing names it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::Unsaid => "",
            Self::Test => "test",
            Self::Training => "training",
        }
    }

    /// The place of this stage in the order in which a name that has several is understood: held-out data first.
    pub(crate) fn place(self) -> u8 {
        match self {
            Self::Validation => 0,
            Self::Unsaid => 1,
            Self::Test => 2,
            Self::Training => 3,
        }
    }
}

/// The unit that a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CounterUnit {
    Epoch,
    /// Updates, iterations, rounds, episodes.
    Step,
    /// Parts of an epoch.
    Batch,
}

/// What words may mean: a set of senses, one bit each.
type WordSenses = u32;

const VALIDATION: WordSenses = 1;
const TRAINING: WordSenses = 1 << 1;
const TEST: WordSenses = 1 << 2;
const ANY_STAGE: WordSenses = VALIDATION | TRAINING | TEST;
const EPOCH: WordSenses = 1 << 3;
const STEP: WordSenses = 1 << 4;
const BATCH: WordSenses = 1 << 5;
/// May stand before a counter's word: `global_step`, `num_updates`.
const COUNTER_PREFIX: WordSenses = 1 << 6;
/// May stand behind it: `epoch number 5`.
const COUNTER_SUFFIX: WordSenses = 1 << 7;
/// Makes a setting of a counter, or a mark of the past.
const NO_COUNTER: WordSenses = 1 << 8;
/// Before a plural makes a setting of it: `for 10 epochs`, but not `end of epoch 3`.
const OF_MANY: WordSenses = 1 << 9;
/// For values that are not the current ones.
const PAST_VALUE: WordSenses = 1 << 10;
/// After it a whole line speaks of the past, or of settings.
const PAST_LINE: WordSenses = 1 << 11;
/// Numbers one of many of the same kind.
const GROUP_WORD: WordSenses = 1 << 12;
/// At the start of a line announces numbers.
const REPORT_START: WordSenses = 1 << 13;
/// Stands between a name and its number.
const FILLER_WORD: WordSenses = 1 << 14;
/// At the start of a line announces settings.
const SETTINGS_START: WordSenses = 1 << 15;
const MODEL_RELOADED: WordSenses = 1 << 16;
/// Before a counter's word makes a unit of it, which belongs to the name: `return per episode`, `acc over epoch`.
const PER_COUNTER: WordSenses = 1 << 17;
/// Behind the name of an epoch shows that its values stand above: `Epoch 3 finished`.
const EPOCH_END: WordSenses = 1 << 18;
/// Belongs to the name of data: `Evaluating on the val set`.
const OF_DATA: WordSenses = 1 << 20;
/// Counts the steps of a table that names no other counter: `trees`, `tokens`.
const STEP_AMOUNT: WordSenses = 1 << 21;
/// Names the values themselves, if they are what is saved: `Saving dict for global step 500`.
const VALUE_NOUN: WordSenses = 1 << 22;
const SAVE_VERB: WordSenses = 1 << 23;
/// Names an amount, so that a stage before it says nothing of other numbers: `Val steps: 10`, `train time 3 s`.
const MEASURED_AMOUNT: WordSenses = 1 << 24;
/// Words for the current value, in a line that also shows the best one.
const CURRENT_VALUE: WordSenses = 1 << 19;

const SENSE_WORDS: [(WordSenses, &str); 26] = [
    (
        VALIDATION,
        "val vali va valid validation validate validating valset vld dev devel devset eval evals evaluation evaluating evaluate evaluator evalset held \
         heldout hold holdout crossval crossvalidation xval cv unseen 验证 验证集 validierung",
    ),
    (TRAINING, "train tr training trn learn fit trainset 训练 训练集"),
    (TEST, "test te testing tst tester testset 测试 测试集"),
    (EPOCH, "epoch epochs ep e epoche epoca épocas época epoka эпоха 轮次 轮 エポック"),
    (
        STEP,
        "step steps iteration iterations iter iters it update updates up timestep timesteps round rounds episode episodes generation gen nsamp counter",
    ),
    (BATCH, "batch batches minibatch mb"),
    (
        COUNTER_PREFIX,
        "global current cur training train total boosting env trainer optimizer optim learner my this val valid validation eval test num trained processed",
    ),
    (COUNTER_SUFFIX, "num number no nr idx index id completed done count trained seen"),
    (
        NO_COUNTER,
        "best max maximum num n number total warmup without per every last saved from patience until stop",
    ),
    (OF_MANY, "of for after"),
    (
        PAST_VALUE,
        "best max min maximum minimum highest lowest previous prev prior last target goal threshold std stddev stdev var smoothed smooth ema \
         avg_best final from restored restoring improved improvement decreased increased so record baseline",
    ),
    (
        PAST_LINE,
        "restored restoring restore reloaded loading loaded early stopping stopped checkpoint resuming resumed",
    ),
    (PAST_LINE | SAVE_VERB, "saving saved"),
    (
        GROUP_WORD,
        "fold folds class cls rank gpu worker seed group task client replica member run repeat repetition split domain process node device \
         trial head label category 折",
    ),
    (
        REPORT_START,
        "info debug warning result results metric metrics score scores stats performance summary report epoch log logs progress output status \
         model overall",
    ),
    (FILLER_WORD, "is was are of at to equals has value reached now equal be"),
    (
        SETTINGS_START,
        "config configuration args arguments hparams hyperparameters hyperparams settings options usage command namespace parameters params",
    ),
    (MODEL_RELOADED, "restored restoring restore reloaded reloading loaded loading load reload"),
    (PER_COUNTER, "per over"),
    (EPOCH_END, "done finished end ended took completed complete"),
    (CURRENT_VALUE, "cur current"),
    (OF_DATA, "on the set data split running"),
    (OF_DATA | VALUE_NOUN, "dict result results metric metrics score scores"),
    (STEP_AMOUNT, "trees nsamp"),
    (STEP_AMOUNT | MEASURED_AMOUNT, "tokens samples examples images frames"),
    (MEASURED_AMOUNT, "time seconds secs duration elapsed size batches steps iterations iters speed"),
];

/// The senses of words that may change how the lines below are read: counters, stages, headings of trainings, models loaded again.
const CONTEXT_SENSES: WordSenses = ANY_STAGE | EPOCH | STEP | BATCH | GROUP_WORD | PAST_LINE | MODEL_RELOADED;

/// An expression for text that has a word of one of these `wanted` senses, in any letters, or `hint`. It also matches text that only looks so:
/// a word of four letters or more may be part of another one, and a shorter one ends where its letters do, or begins with a capital.
fn word_expression(wanted: WordSenses, hint: &str) -> String {
    let lists = SENSE_WORDS.iter().filter(|(sense, _)| sense & wanted != 0);
    let words = lists.flat_map(|(_, list)| list.split_ascii_whitespace());
    let (long, short): (Vec<String>, Vec<String>) =
        words.map(str::to_owned).partition(|word| word.len() > 3 || !word.is_ascii());
    let capitals = short.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    let [long, short, capitals] = [&long, &short, &capitals].map(|words: &Vec<String>| {
        words.iter().map(|word| regex_syntax::escape(word)).collect::<Vec<_>>().join("|")
    });
    // 第 stands before the number of an epoch, 个 and 期 behind it
    format!("(?i:{hint}|第|个|期|{long})|(?:^|[^A-Za-z])(?i:{short})(?:$|[^a-z])|(?:{capitals})(?:$|[^a-z])")
}

/// Finds a `hint` in any letters, or a word that may change how the lines below are read.
pub(crate) fn telling(hint: &str) -> Option<regex::Regex> {
    regex::Regex::new(&word_expression(CONTEXT_SENSES, &regex_syntax::escape(hint))).ok()
}

/// Finds a `hint` in any letters, or the word of a counter.
pub(crate) fn counting(hint: &str) -> Option<regex::Regex> {
    regex::Regex::new(&word_expression(EPOCH | STEP | BATCH, &regex_syntax::escape(hint))).ok()
}

/// The senses of each known word.
static SENSES_BY_WORD: LazyLock<HashMap<&str, WordSenses>> = LazyLock::new(|| {
    let mut senses = HashMap::new();
    for (sense, list) in SENSE_WORDS {
        list.split_ascii_whitespace().for_each(|word| *senses.entry(word).or_default() |= sense);
    }
    senses
});

/// The senses of `word`, in any letters.
fn senses(word: &str) -> WordSenses {
    let is_small = word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    let known =
        if is_small { SENSES_BY_WORD.get(word) } else { SENSES_BY_WORD.get(word.to_lowercase().as_str()) };
    known.copied().unwrap_or_default()
}

/// The words of `text`; `Acc@1` and `mAP50-95` are one word each, and `ValidationLoss` is two.
fn split(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && !"@%".contains(c));
    words.filter(|word| word.contains(char::is_alphanumeric)).flat_map(|word| {
        let (stage, rest) = word.split_at(stage_in_front(word));
        [stage, rest].into_iter().filter(|part| !part.is_empty())
    })
}

/// The length of the stage that `word` begins with, if a capital letter follows: `ValidationLoss`, `testAcc`.
fn stage_in_front(word: &str) -> usize {
    let capital = word.bytes().skip(1).position(|byte| byte.is_ascii_uppercase()).map_or(0, |at| at + 1);
    let is_stage = word.is_char_boundary(capital) && senses(&word[..capital]) & ANY_STAGE != 0;
    if is_stage { capital } else { 0 }
}

/// The words of `text` in small letters.
pub(crate) fn words(text: &str) -> Vec<String> {
    split(text).map(str::to_lowercase).collect()
}

/// The stage that `word` names.
fn stage_of(word: &str) -> Option<Stage> {
    match senses(word.trim_end_matches(|c: char| c.is_ascii_digit())) & ANY_STAGE {
        VALIDATION => Some(Stage::Validation),
        TRAINING => Some(Stage::Training),
        TEST => Some(Stage::Test),
        _ => None,
    }
}

/// The last stage that `text` names.
pub(crate) fn stage(text: &str) -> Option<Stage> {
    split(text).rev().find_map(stage_of)
}

/// Whether a word of `text` has this sense.
fn has_sense(text: &str, sense: WordSenses) -> bool {
    split(text).any(|word| senses(word) & sense != 0)
}

/// Whether `text` speaks of another value than the current one.
pub(crate) fn is_past(text: &str) -> bool {
    has_sense(text, PAST_VALUE)
}

/// `text` without marks that its line is the best one so far: `[best]`, `(new best)`, `New best!`.
pub(crate) fn strip_best_marks(text: &str) -> String {
    let text = text.rsplit('!').next().unwrap_or_default().to_lowercase().replace("new best", "");
    let (mut kept, mut rest) = (String::new(), text.as_str());
    while let Some((before, inside)) = rest.split_once(['[', '(']) {
        kept.push_str(before);
        rest = inside.split_once([']', ')']).map_or(inside, |(_, after)| after);
    }
    kept + rest
}

/// Whether the part of the line after `text` is no report: a restored checkpoint, a saved model, but not values that are saved themselves, as in
/// `Saving dict for global step 500: accuracy = 0.5`.
pub(crate) fn is_past_line(text: &str) -> bool {
    if !has_sense(text, PAST_LINE) {
        return false;
    }
    let all: Vec<WordSenses> = split(text).map(senses).collect();
    all.iter().enumerate().any(|(at, word)| {
        let is_of_values =
            word & SAVE_VERB != 0 && all[at + 1..].iter().take(2).any(|next| next & VALUE_NOUN != 0);
        word & PAST_LINE != 0 && !is_of_values
    })
}

/// Whether a line marks the epoch that it names as ended, without naming a stage, which may end earlier.
pub(crate) fn is_closing(text: &str) -> bool {
    has_sense(text, EPOCH_END) && stage(text).is_none()
}

/// Whether a line has the current values of a metric, as opposed to the best ones: `cur metric, acc: 0.51`.
pub(crate) fn is_current(text: &str) -> bool {
    let Some((before, _)) = text.split_once("metric") else { return false };
    split(before).next_back().is_some_and(|word| senses(word) & CURRENT_VALUE != 0)
}

/// Whether `text` consists of words for stages, with words that name nothing: `evaluate:dev`, `Evaluating on val`.
pub(crate) fn is_stage_alone(text: &str) -> bool {
    stage(text).is_some() && split(text).all(|word| senses(word) & (ANY_STAGE | OF_DATA) != 0)
}

/// Whether a line reports that the best model was loaded again.
pub(crate) fn is_reloaded(text: &str) -> bool {
    has_sense(text, MODEL_RELOADED) && split(text).any(|word| word.eq_ignore_ascii_case("best"))
}

/// Whether a line with this text is of settings.
pub(crate) fn is_settings_line(text: &str) -> bool {
    let begin = text.trim_start_matches(|c: char| !c.is_alphabetic());
    let first = begin.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    senses(first) & SETTINGS_START != 0 || text.contains("Namespace(")
}

/// Whether a line is the heading of a summary of a model's layers: `  | Name | Type | Params`, `Layer (type)   Output Shape   Param #`.
pub(crate) fn is_of_layers(text: &str) -> bool {
    let names_all =
        |words: &[&str]| split(text).any(|word| words.iter().any(|other| word.eq_ignore_ascii_case(other)));
    (text.contains('|') || text.trim().contains("  "))
        && !text.contains(|c: char| c.is_ascii_digit())
        && names_all(&["param", "params", "parameters"])
        && names_all(&["layer", "type", "module", "name"])
}

/// Whether a line below such a heading ends the summary: it counts all parameters.
pub(crate) fn is_total(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && split(text).any(|word| ["params", "parameters"].contains(&word))
}

/// The words of `name` with the stage taken out, and that stage.
pub(crate) fn split_stage(name: &str) -> (Vec<String>, Option<Stage>) {
    let (mut kept, mut last, mut before) = (Vec::new(), None, None);
    for word in words(name) {
        let stage = stage_of(&word);
        // held-out
        if stage.is_none() && !(word == "out" && before.is_some()) {
            kept.push(word);
        }
        (last, before) = (stage.or(last), stage);
    }
    (kept, last)
}

/// Whether a word announces numbers: `Metric`.
pub(crate) fn is_report(word: &str) -> bool {
    senses(word) & REPORT_START != 0
}

/// Whether a column of this name counts the steps of a table that names no other counter.
pub(crate) fn is_amount(name: &str) -> bool {
    has_sense(name, STEP_AMOUNT)
        && !has_sense(name, PER_COUNTER)
        && !split(name).any(|word| ["s", "sec", "second"].contains(&word))
}

/// Whether `label` is that of an amount, such as the `steps` of `Val steps: 10`.
pub(crate) fn is_measured(label: &str) -> bool {
    split(label).next_back().is_some_and(|word| senses(word) & MEASURED_AMOUNT != 0)
}

/// Whether `word` numbers one of many.
pub(crate) fn is_group(word: &str) -> bool {
    senses(word) & GROUP_WORD != 0
}

/// Whether `word` numbers one of several trainings in sequence; a seed or a run does only where their number is named: `run 2/5`.
pub(crate) fn is_training(word: &str, has_total: bool) -> bool {
    ["fold", "folds", "折", "repeat", "repetition"].contains(&word)
        || has_total && ["seed", "run"].contains(&word)
}

/// Words of `text` such as `rank0` and `fold_2`.
pub(crate) fn groups(text: &str) -> String {
    let mut words = words(&text.replace('_', ""));
    words.retain(|word| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        name.len() < word.len() && is_group(name)
    });
    words.join(" ")
}

/// The word that a line begins with as the item of a list: `  cat: acc = 0.5`, but not `val: acc = 0.5`.
pub(crate) fn item(text: &str) -> String {
    let Some((first, rest)) = text.split_once(':') else { return String::new() };
    let word = first.trim().trim_start_matches(['-', '*']).trim_start();
    let is_word = word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || c == '_');
    let between = rest.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
    let is_item = is_word
        && rest.starts_with(' ')
        && stage(word).is_none()
        && !is_past(word)
        && senses(word) & REPORT_START == 0
        && label(between).0.contains(char::is_alphabetic);
    if is_item { word.to_lowercase() } else { String::new() }
}

/// A counter that a label names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedCounter {
    pub(crate) counter: CounterUnit,
    /// Whether the word may as well say how many there are: `epochs: 10`.
    pub(crate) is_plural: bool,
    /// Whether a word before it may have it for a unit, if its number is not whole: `mean of epoch: 0.5`.
    pub(crate) is_unit: bool,
}

/// The counter that `label`, the text before a number, names.
pub(crate) fn counter(label: &str) -> Option<NamedCounter> {
    if label.ends_with('第') {
        return Some(NamedCounter { counter: CounterUnit::Epoch, is_plural: false, is_unit: false });
    }
    let label = label.split(['(', '[']).next().unwrap_or_default();
    let mut tokens = label
        .split(|c: char| c.is_whitespace() || ",:|".contains(c))
        .filter(|token| token.contains(char::is_alphabetic))
        .rev();
    let mut token = tokens.next()?;
    if split(token).map(|word| senses(word) & COUNTER_SUFFIX != 0).eq([true]) {
        token = tokens.next()?;
    }
    let mut parts: Vec<String> = if token.is_ascii() { words_of_name(token) } else { words(token) };
    let all = parts.len();
    while parts.len() > 1
        && parts.last().is_some_and(|word| senses(word) & COUNTER_SUFFIX != 0 || stage_of(word).is_some())
    {
        parts.pop();
    }
    // steps_completed
    let is_behind_any = parts.len() < all;
    let word = parts.pop()?;
    let counter = match senses(&word) & (EPOCH | STEP | BATCH) {
        EPOCH => CounterUnit::Epoch,
        STEP => CounterUnit::Step,
        BATCH => CounterUnit::Batch,
        _ => return None,
    };
    let is_plural = word.len() > 2
        && !is_behind_any
        && word.ends_with('s')
        && word != "timesteps"
        && !(word == "updates" && parts.iter().any(|part| part == "num"));
    let is_setting = parts
        .iter()
        .any(|part| senses(part) & COUNTER_PREFIX == 0 || (part == "num" && counter == CounterUnit::Epoch));
    let mut before = tokens.take(2);
    let nearest = before.next().unwrap_or_default();
    let second = before.next().unwrap_or_default();
    let is_of_many = has_sense(nearest, OF_MANY) && (is_plural || has_sense(second, NO_COUNTER));
    let is_per = has_sense(nearest, PER_COUNTER) || has_sense(second, PER_COUNTER);
    // best_model Epoch 3
    let is_of_name = nearest.contains(['_', '-', '/']);
    let is_counter = !(is_setting || has_sense(nearest, NO_COUNTER) && !is_of_name || is_of_many || is_per);
    let is_unit = !nearest.is_empty() && !has_sense(nearest, COUNTER_PREFIX);
    is_counter.then_some(NamedCounter { counter, is_plural, is_unit })
}

/// Whether the last word of `text` counts epochs or steps, as in the name of a file: `metrics_epoch_`, `checkpoint-`.
pub fn ends_with_counter(text: &str) -> bool {
    let last = split(text).next_back().map(str::to_lowercase).unwrap_or_default();
    ["checkpoint", "ckpt"].contains(&last.as_str()) || senses(&last) & (EPOCH | STEP) != 0
}

/// The label of a number, and the text before the label, from the `text` between the number and the previous one.
pub(crate) fn label(text: &str) -> (&str, &str) {
    let text = trim_fillers(text);
    let begin = if text.contains("@[") { 0 } else { label_start(text) };
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

/// `text` without the signs and words at its end that stand between a name and its number: `loss value: `, `acc is `.
pub(crate) fn trim_fillers(text: &str) -> &str {
    let mut end = text.len();
    loop {
        let trimmed =
            text[..end].trim_end_matches(|c: char| c.is_whitespace() || "=:\"'`{}[(<>~*|-→⇒≈#.".contains(c));
        let trimmed = trim_unopened_bracket(trimmed);
        let last = trimmed.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let is_filler = last.len() < trimmed.len()
            && senses(last) & FILLER_WORD != 0
            && !trimmed[..trimmed.len() - last.len()].ends_with(['/', '.', '@']);
        end = trimmed.len();
        if !is_filler {
            break;
        }
        end -= last.len();
    }
    &text[..end]
}

/// `text` without a closing bracket at its end that nothing opened.
fn trim_unopened_bracket(text: &str) -> &str {
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some(rest) = text.strip_suffix(close)
            && text.matches(open).count() < text.matches(close).count()
        {
            return rest.trim_end();
        }
    }
    text
}

/// So many letters before a point are a word cut short: `Avg. loss`.
const MAX_ABBREVIATION_LENGTH: usize = 3;

/// Where the label at the end of `text` begins.
fn label_start(text: &str) -> usize {
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
                    <= MAX_ABBREVIATION_LENGTH => {}
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
    use super::{CounterUnit, Stage, counter, groups, label, stage};

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
            ("| lm loss value: ", "lm loss"),
        ];
        for (text, expected) in cases {
            assert_eq!(label(text).0, expected, "{text}");
        }
    }

    #[test]
    fn counters_are_told_from_settings() {
        let epoch = |plural| Some((CounterUnit::Epoch, plural));
        let step = |plural| Some((CounterUnit::Step, plural));
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
            ("Training acc over epoch", None),
            ("Average return per evaluation episode", None),
            ("steps_completed", step(false)),
            ("number of epoch", None),
            ("after epochs", None),
            ("steps_per_epoch", None),
            ("lr_step", None),
            ("total_timesteps", step(false)),
            ("Steps", step(true)),
            ("num_updates", step(false)),
            ("Batch", Some((CounterUnit::Batch, false))),
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
