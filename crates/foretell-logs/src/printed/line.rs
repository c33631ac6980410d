//! The content of one line of text: counters, and numbers with their labels.

use super::number::{DecimalNotation, NumberToken, PrintedNumber, TokenKind, tokens};
use super::text::pattern;
use super::words::{self, CounterUnit, Stage, counter, is_past, is_past_line, stage};
use foretell::direction_of;
use regex::Regex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// An epoch and a batch in one bracket at the start of a line: `[3,  2000] loss: 1.2`.
static EPOCH_AND_BATCH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^[ \t]*[\[(] *([0-9]+)(?:/([0-9]+))? *, *([0-9]+)(?:/([0-9]+))? *[\])] *([^ 0-9,\[])")
});
/// A field whose value names a stage: `"mode": "val"`, `"_type": "val_epoch"`.
static STAGE_FIELD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:^|[^A-Za-z])(?:mode|phase|split|stage|subset|type|event|dataset|kind)["']? *[:=] *["']?([A-Za-z_]+)"#,
    )
});
/// A label that ends where a sentence counts: `accuracy of the network on the 10000 test images: 57 %`.
static COUNT_PHRASE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r" (?:on|over|across|of|from)(?: the| all)? $"));
/// What is counted, up to the value.
static COUNTED_NOUN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^ [A-Za-z -]*[A-Za-z]s(?:[ -][A-Za-z -]*)?[:=]? *[-+.0-9]"));

/// A number with decimals right behind a whole one: `Prec@1  05 87.9`.
static DECIMAL_AFTER_COUNT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[ \t]+[0-9]+\.[0-9]+(?:[ \t%]|$)"));
/// The message of an exception: `torch.cuda.OutOfMemoryError: CUDA out of memory`. Python's own have that form with a number, too.
static EXCEPTION_MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^[ \t]*(?:[A-Za-z_][0-9A-Za-z_]*\.)*(?:[A-Z][0-9A-Za-z]*(?:Error|Exception|Warning|Interrupt): *(?:[^-+.0-9n ]|n[^a])|(?:Key|Index|Value|Runtime|Type|OS|Assertion|Import|System)(?:Error|Exit):)",
    )
});

/// The place of a line in a training, as far as the line names it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LinePosition {
    pub(crate) epoch: Option<f64>,
    /// The number of epochs, from `Epoch 3/12`.
    pub(crate) epochs: Option<f64>,
    pub(crate) step: Option<f64>,
    pub(crate) batch: Option<f64>,
    /// The number of batches, from `[10/50]`.
    pub(crate) batches: Option<f64>,
    /// Whether the step may be another number: how many there are, in `Steps: 1000`, or a line's first word, in `12 images`.
    pub(crate) is_unsure: bool,
}

impl LinePosition {
    /// Whether it names an epoch, a step or a batch.
    pub(crate) fn is_named(&self) -> bool {
        self.epoch.is_some() || self.step.is_some() || self.batch.is_some()
    }
}

/// A number with a label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabeledNumber {
    pub(crate) label: String,
    pub(crate) stage: Stage,
    /// Whether it is no current value: the best so far, a target.
    pub(crate) is_past: bool,
    /// The one meant among many: `fold2`.
    pub(crate) group: String,
    pub(crate) reading: PrintedNumber,
    /// How many numbers before it in the line have the same label.
    pub(crate) nth: u8,
}

impl LabeledNumber {
    /// The last word of its label.
    pub(crate) fn name(&self) -> &str {
        let label = self.label.split([' ', '\'', '"']).rfind(|word| !word.is_empty());
        label.unwrap_or_default()
    }
}

/// A line's counters and fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParsedLine {
    pub(crate) place: LinePosition,
    pub(crate) fields: Vec<LabeledNumber>,
    /// The numbers that show points, or commas, before their decimals.
    pub(crate) notations: [u32; 2],
    /// The number of a training among several: `Fold 2/5`.
    pub(crate) training: Option<f64>,
}

impl ParsedLine {
    /// A hash of the labels without digits, equal for lines of one form.
    pub(crate) fn shape(&self) -> u64 {
        let mut shape = DefaultHasher::new();
        for field in &self.fields {
            let label = field.label.bytes().filter(|byte| !byte.is_ascii_digit());
            label.for_each(|byte| byte.to_ascii_lowercase().hash(&mut shape));
            0xff_u8.hash(&mut shape);
        }
        self.place.batch.is_some().hash(&mut shape);
        shape.finish()
    }
}

/// Reads a line from left to right.
struct LineParser<'a> {
    text: &'a str,
    line: ParsedLine,
    /// The stage that a word of its own named last.
    stage: Option<Stage>,
    group: String,
    /// Where the number before ended.
    since: usize,
    /// The end of the text before the next number that is no part of its name.
    boundary: usize,
    is_past_line: bool,
    /// Where the name of the next number ends, if a count stands between: `accuracy on the 10,000 test images: 57 %`.
    name_end: Option<usize>,
    /// Whether the number before was that of the epoch.
    after_epoch: bool,
    /// The numbers in brackets right behind others, with how many fields stand before.
    means: Vec<(usize, PrintedNumber)>,
    /// How many numbers of a long line have the same label, stage and time.
    counted: HashMap<(String, Stage, bool), u8>,
}

/// A line of so many fields is long.
const MIN_LONG_LINE_FIELDS: usize = 64;

/// The counters and fields of `text`.
pub(crate) fn parse(text: &str) -> ParsedLine {
    // numbers of settings and of error messages must not become values: `config: lr=0.1`, `KeyError: 3`
    if words::is_settings_line(text) || (text.contains(':') && EXCEPTION_MESSAGE.is_match(text)) {
        return ParsedLine::default();
    }
    let mut parser = LineParser {
        text,
        line: ParsedLine::default(),
        stage: None,
        group: words::groups(text) + &words::item(text),
        since: 0,
        boundary: 0,
        is_past_line: false,
        name_end: None,
        after_epoch: false,
        means: Vec::new(),
        counted: HashMap::new(),
    };
    if words::is_current(text) {
        parser.stage = Some(Stage::Validation);
    }
    parser.take_epoch_bracket();
    for token in tokens(text) {
        if token.start >= parser.since {
            parser.take(token);
        }
    }
    // after all fields, because the one that names the stage may stand behind the others
    if let Some(stage) = stage_of_mode_field(text) {
        parser
            .line
            .fields
            .iter_mut()
            .filter(|field| stage_in_label(field).is_none())
            .for_each(|field| field.stage = stage);
    }
    parser.take_means();
    parser.line
}

fn stage_in_label(field: &LabeledNumber) -> Option<Stage> {
    stage(&field.label)
}

/// The stage that the value of a field names.
fn stage_of_mode_field(text: &str) -> Option<Stage> {
    STAGE_FIELD.captures_iter(text).find_map(|field| stage(&field[1]))
}

/// Whether a number between two texts is part of a quoted key, `"AP .5": 0.61`, as in a dictionary.
fn is_in_quoted_key(before: &str, after: &str) -> bool {
    let is_open =
        before.rsplit_once('"').is_some_and(|(outside, _)| outside.trim_end().ends_with(['{', ',']));
    is_open && after.split_once('"').is_some_and(|(_, rest)| rest.trim_start().starts_with(':'))
}

impl LineParser<'_> {
    /// Takes the epoch and the batch in a bracket at the start.
    fn take_epoch_bracket(&mut self) {
        let Some(found) = EPOCH_AND_BATCH.captures(self.text) else { return };
        let [epoch, epochs, batch, batches] =
            [1, 2, 3, 4].map(|group| found.get(group).and_then(|number| number.as_str().parse().ok()));
        self.line.place = LinePosition { epoch, epochs, batch, batches, ..LinePosition::default() };
        self.skip_to(found.get(5).map_or(0, |next| next.start()));
    }

    /// Starts the next label at the byte `end`.
    fn skip_to(&mut self, end: usize) {
        (self.since, self.boundary) = (end, end);
    }

    fn take(&mut self, token: NumberToken) {
        let TokenKind::Number { reading, of, percent } = token.kind else {
            (self.boundary, self.name_end) = (token.end, None);
            return;
        };
        let name_end = self.name_end.take().unwrap_or(token.start);
        let between = &self.text[self.boundary..name_end];
        let after = &self.text[token.end..];
        let (label, _) = words::label(between);
        let counts = reading.point.is_some_and(|value| value.fract() == 0.0 && value > 1.0)
            && of.is_none()
            && !percent;
        if is_in_quoted_key(between, after)
            || counts && COUNT_PHRASE.is_match(between) && COUNTED_NOUN.is_match(after)
        {
            self.name_end = COUNT_PHRASE.find(between).map(|found| self.boundary + found.start());
            return;
        }
        if is_count_before_value(token, self.text) && direction_of(label).is_some() {
            let place = &mut self.line.place;
            if !place.is_named() {
                (place.step, place.is_unsure) = (reading.point, true);
            }
            self.name_end = Some(name_end);
            return;
        }
        let context = &self.text[self.since..token.start];
        let before = self.stage;
        if let Some(said) = standalone_stage(context, label) {
            self.stage = Some(said);
        }
        self.is_past_line |= is_past_line(context);
        let was_epoch = std::mem::take(&mut self.after_epoch);
        let value = reading.value(DecimalNotation::Point);
        // Epoch -3-
        let value = if counter(label).is_some() { value.abs() } else { value };
        let is_count = value >= 0.0 && !percent && value < 1e15;
        // in `Fold 1/3 Epoch 2`, the first number is that of the fold
        let is_numbered = words::is_group(&label.rsplit(' ').next().unwrap_or_default().to_lowercase());
        let is_before_epoch = !is_numbered && is_epoch_behind(after, &self.text[..token.start]);
        let has_label = label.chars().any(char::is_alphabetic) && !is_before_epoch;
        let is_taken = is_count
            && match has_label {
                true => self.take_labeled_counter(label, value, of, (between, after)),
                false => self.take_bare_counter(token, value, of, was_epoch),
            };
        let is_amount = words::is_measured(label) && of.is_none() && stage(label).is_some();
        if !is_taken && has_label {
            let reading = of.filter(|&of| of >= value.abs()).map_or(reading, |of| reading.scale_by(1.0 / of));
            self.add_field(label, context, reading);
            if let Some((stage, length)) = stage_in_brackets(&self.text[token.end..]) {
                self.line.fields.iter_mut().next_back().into_iter().for_each(|field| field.stage = stage);
                self.skip_to(token.end + length);
                return;
            }
        } else if !has_label && self.text[self.boundary..token.start].trim() == "(" {
            self.means.push((self.line.fields.len(), reading));
        }
        if is_amount {
            let outside = context.rfind(label).map_or("", |at| &context[..at]);
            self.stage = standalone_stage(outside, "").or(before);
        }
        self.skip_to(token.end);
    }

    /// If a line shows a batch's value and the mean of all batches so far, `Test: [20/20] Acc@1: 76.1 (75.2)`, the mean is that of the
    /// held-out data.
    fn take_means(&mut self) {
        for (number, mean) in self.means.iter().filter(|_| self.line.place.batch.is_some()) {
            if let Some(field) = number.checked_sub(1).and_then(|last| self.line.fields.get_mut(last))
                && matches!(field.stage, Stage::Validation | Stage::Test)
            {
                field.reading = *mean;
            }
        }
    }

    /// Takes a number with a label that is a counter, or the number of one of many.
    fn take_labeled_counter(
        &mut self,
        label: &str,
        value: f64,
        of: Option<f64>,
        (between, after): (&str, &str),
    ) -> bool {
        let is_whole = value.fract() == 0.0;
        let place = &mut self.line.place;
        let named = if label.to_lowercase().contains("best") {
            words::strip_best_marks(label)
        } else {
            label.to_owned()
        };
        if let Some(named) = counter(&named).filter(|named| is_whole || !named.is_unit) {
            let is_late = self.is_past_line || self.line.fields.iter().any(|field| field.is_past);
            // behind a value of the past, the epoch is that of the best model, and must not move the place of the line
            if is_late
                || is_past(&words::strip_best_marks(between))
                || (named.counter != CounterUnit::Epoch && !is_whole)
            {
                return true;
            }
            match named.counter {
                // Iter(val) [100/100]
                CounterUnit::Step
                    if of.is_some()
                        && label.contains('(')
                        && matches!(stage(label), Some(Stage::Validation | Stage::Test)) =>
                {
                    (place.batch, place.batches) = (Some(value), of);
                }
                CounterUnit::Epoch if place.epoch.is_none() && (!named.is_plural || of.is_some()) => {
                    (place.epoch, place.epochs, self.after_epoch) = (Some(value), of, true);
                }
                CounterUnit::Step if place.step.is_none() => {
                    (place.step, place.is_unsure) = (Some(value), named.is_plural && of.is_none());
                    place.batches = place.batches.or(of);
                }
                CounterUnit::Batch => (place.batch, place.batches) = (Some(value), of),
                CounterUnit::Epoch | CounterUnit::Step => {}
            }
            return true;
        }
        let last = label.rsplit(' ').next().unwrap_or_default().to_lowercase();
        if is_whole && words::is_group(&last) {
            let training = Some(value).filter(|_| words::is_training(&last, of.is_some()));
            self.line.training = self.line.training.or(training);
            // the folds of one training are no series of their own
            if of.is_none() && training.is_none() {
                self.group.push_str(&format!(" {last}{value}"));
            }
            if of.is_none() || training.is_some() {
                return true;
            }
        }
        let is_stage = words::words(label).iter().all(|word| stage(word).is_some());
        if is_whole && of.is_none() && is_stage && place.epoch.is_none() && has_batches(after) {
            (place.epoch, self.after_epoch) = (Some(value), true);
            return true;
        }
        let is_progress = is_stage || between.trim_end().ends_with(['[', '(']);
        if is_whole && of.is_some() && is_progress {
            (place.batch, place.batches) = (Some(value), of);
            return true;
        }
        false
    }

    /// Takes a number without a label that is a counter: `[12]`, `3/10`, `5th epoch`.
    fn take_bare_counter(
        &mut self,
        token: NumberToken,
        value: f64,
        of: Option<f64>,
        was_epoch: bool,
    ) -> bool {
        let (before, after) = (&self.text[..token.start], &self.text[token.end..]);
        let is_whole = value.fract() == 0.0;
        let place = &mut self.line.place;
        let begins = before.trim_matches(|c: char| c.is_whitespace() || "[(#*-=>|".contains(c)).is_empty();
        let is_closed = after.trim_start().starts_with([']', ')']) && before.trim_end().ends_with(['[', '(']);
        let is_list = after.starts_with([':', ')', '.']) && after[1..].starts_with([' ', '\t']);
        let is_row = after.starts_with([' ', '\t'])
            && after.trim_start_matches([' ', '\t', '|', '-']).starts_with(char::is_alphabetic);
        let is_sure = is_closed || is_list || before.trim_end().ends_with('#');
        let is_marked = begins && (is_sure || is_row && before.trim().is_empty());
        let is_epoch = is_epoch_behind(after, before) || before.trim_end().ends_with('第');
        if is_epoch && place.epoch.is_none() && !self.is_past_line {
            (place.epoch, place.epochs, self.after_epoch) = (Some(value), of, true);
        } else if is_whole && is_marked && place.epoch.is_none() && place.step.is_none() {
            (place.step, place.epochs, place.is_unsure) = (Some(value), of, !is_sure);
        } else if is_whole && (of.is_some() || was_epoch && before.ends_with("[")) && place.batch.is_none() {
            (place.batch, place.batches) = (Some(value), of);
        }
        true
    }

    /// How many numbers before have the same label. Of a long line they are counted in a table, as each number would be compared with each.
    fn count_same_label(&mut self, label: &str, stage: Stage, is_past: bool) -> u8 {
        let fields = &self.line.fields;
        if fields.len() < MIN_LONG_LINE_FIELDS {
            let same = fields
                .iter()
                .filter(|field| field.label == label && field.stage == stage && field.is_past == is_past);
            return same.count().min(255) as u8;
        }
        if self.counted.is_empty() {
            for field in fields {
                let count =
                    self.counted.entry((field.label.clone(), field.stage, field.is_past)).or_default();
                *count = count.saturating_add(1);
            }
        }
        let count = self.counted.entry((label.to_owned(), stage, is_past)).or_default();
        let before = *count;
        *count = count.saturating_add(1);
        before
    }

    fn add_field(&mut self, label: &str, context: &str, reading: PrintedNumber) {
        if let Some(notation) = reading.evidence() {
            self.line.notations[usize::from(notation == DecimalNotation::Comma)] += 1;
        }
        let context = if self.since > 0 { without_unit(context) } else { context };
        let clause = context.rsplit(['.', '!']).next().unwrap_or_default();
        let clause = if clause.contains(label) { clause } else { context };
        // in a line of an epoch, `new best` marks its own value
        let has_place = self.line.place.epoch.is_some() || self.line.place.step.is_some();
        let is_past = self.is_past_line
            || (is_past(clause) && (!has_place || is_past(&words::strip_best_marks(clause))));
        let stage = stage(label).or(self.stage).unwrap_or_default();
        let nth = self.count_same_label(label, stage, is_past);
        let (label, group) = (label.to_owned(), self.group.trim().to_owned());
        self.line.fields.push(LabeledNumber { label, stage, is_past, group, reading, nth });
    }
}

/// Whether a number counts the value behind it, which is the label's: `Prec@1  05 87.9`.
fn is_count_before_value(token: NumberToken, text: &str) -> bool {
    text[token.start..token.end].bytes().all(|byte| byte.is_ascii_digit())
        && DECIMAL_AFTER_COUNT.is_match(&text[token.end..])
}

/// The stage that a word of its own in `context` names: `train Loss`, `val: loss`, but not `train_loss`.
fn standalone_stage(context: &str, label: &str) -> Option<Stage> {
    let words = context.split(|c: char| !c.is_alphanumeric() && !"_/-.'@".contains(c));
    let alone = words.filter(|word| {
        // Held-out: loss 0.5
        !word.contains(['_', '/', '-', '.']) || words::split_stage(word).0.is_empty()
    });
    let begin = context.len() - label.len().min(context.len());
    let before = context.get(..begin).unwrap_or(context);
    alone.filter_map(stage).next_back().or_else(|| {
        stage(before.rsplit(['{', '}']).next().unwrap_or_default()).filter(|_| before.contains('{'))
    })
}

/// The stage in brackets right behind a number, and how long that is: `acc 0.5 (val)`.
fn stage_in_brackets(after: &str) -> Option<(Stage, usize)> {
    let inside = after.trim_start().strip_prefix('(')?.split(')').next()?;
    let stage = stage(inside).filter(|_| words::words(inside).len() == 1)?;
    Some((stage, after.find(')')? + 1))
}

/// The text after a number without the unit that it starts with: `min` of `5 min` is no smallest value.
fn without_unit(context: &str) -> &str {
    let rest = context.trim_start();
    let unit = ["mins", "min", "minutes", "minute"].into_iter().find_map(|unit| rest.strip_prefix(unit));
    unit.filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).unwrap_or(context)
}

/// Whether batches are counted right behind a number: `Train: 3 [  50/99 (50%)]`.
fn has_batches(after: &str) -> bool {
    let inside = after.trim_start().strip_prefix('[').map(|inside| inside.trim_start());
    let digits = inside.map(|inside| inside.trim_start_matches(|c: char| c.is_ascii_digit()));
    digits.is_some_and(|rest| rest.starts_with('/'))
}

/// Whether the word behind a number is `epoch`: `5th epoch`, `5. epoch`, `5 轮`, `After 5 epochs`.
fn is_epoch_behind(after: &str, before: &str) -> bool {
    let rest =
        ["st", "nd", "rd", "th", "."].into_iter().find_map(|end| after.strip_prefix(end)).unwrap_or(after);
    let rest = rest.trim_start_matches([' ', '个']);
    let word: String = rest.chars().take_while(|c| c.is_alphabetic()).collect();
    match word.to_lowercase().as_str() {
        "epoch" | "epoche" => true,
        "epochs" => before.trim().is_empty() || before.trim().eq_ignore_ascii_case("after"),
        _ => rest.starts_with(['轮', '期']),
    }
}

#[cfg(test)]
mod tests {
    use super::{Stage, parse};
    use crate::printed::number::DecimalNotation;

    /// A line, its epoch, step and batch, and its fields.
    type Case<'a> = (&'a str, [Option<f64>; 3], &'a [(&'a str, f64)]);

    fn check(cases: &[Case<'_>]) {
        for (text, place, fields) in cases {
            let line = parse(&crate::printed::to_plain_line(text.as_bytes()).text);
            let found: Vec<_> = line
                .fields
                .iter()
                .map(|field| (field.label.as_str(), field.reading.value(DecimalNotation::Point)))
                .collect();
            let counters = [line.place.epoch, line.place.step, line.place.batch];
            assert_eq!((&counters, &found[..]), (place, *fields), "{text}");
        }
    }

    fn e(epoch: f64) -> [Option<f64>; 3] {
        [Some(epoch), None, None]
    }

    fn s(step: f64) -> [Option<f64>; 3] {
        [None, Some(step), None]
    }

    #[test]
    fn a_line_has_counters_and_labeled_numbers() {
        check(&[
            ("Epoch 3/10 - loss: 0.25 val_acc=.71", e(3.0), &[("loss", 0.25), ("val_acc", 0.71)]),
            ("Epoch 1/12, step 10/40, loss = 2.0401", [Some(1.0), Some(10.0), None], &[("loss", 2.0401)]),
            (
                "Epoch: [0][ 20/60]\tTime  0.11 ( 0.12)\tAcc@1   47.00 ( 44.00)",
                [Some(0.0), None, Some(20.0)],
                &[("Time", 0.11), ("Acc@1", 47.0)],
            ),
            ("Test: [ 0/20]\tAcc@1   56.06 ( 52.06)", [None, None, Some(0.0)], &[("Acc@1", 52.06)]),
            (" * Acc@1 50.560 Acc@5 97.100", [None; 3], &[("Acc@1", 50.56), ("Acc@5", 97.1)]),
            (
                "2031-05-06 10:00:00 INFO Epoch: [  0/120] Iter [ 500/1500] || lr: 0.01 || Loss: 1.9",
                [Some(0.0), Some(500.0), None],
                &[("lr", 0.01), ("Loss", 1.9)],
            ),
            ("[12]\ttrain-auc:0.8\teval-auc:0.7", s(12.0), &[("train-auc", 0.8), ("eval-auc", 0.7)]),
            ("12:\tlearn: 0.6\ttest: 0.5\ttotal: 50ms", s(12.0), &[("learn", 0.6), ("test", 0.5)]),
            (
                "938/938 - 2s 2ms/step - val_accuracy: 0.97",
                [None, None, Some(938.0)],
                &[("val_accuracy", 0.97)],
            ),
            ("5th epoch: acc 0.5", e(5.0), &[("acc", 0.5)]),
            ("第 5 轮: 准确率 0.5", e(5.0), &[("准确率", 0.5)]),
            (
                "Epoch(val) [3][20]  accuracy/top1: 0.5",
                [Some(3.0), None, Some(20.0)],
                &[("accuracy/top1", 0.5)],
            ),
        ]);
    }

    #[test]
    fn a_line_may_hold_a_sentence_an_object_or_another_script() {
        check(&[
            ("Namespace(lr=0.1, epochs=10, target_acc=0.9)", [None; 3], &[]),
            ("Early stopping at epoch 9, val_acc 0.5", [None; 3], &[("val_acc", 0.5)]),
            (
                "Epoch 0:  50%|# | 1/2 [00:01<00:01, 5it/s, acc=0.1]",
                [Some(0.0), None, Some(1.0)],
                &[("acc", 0.1)],
            ),
            ("{'eval_loss': '1.5e-3', 'epoch': '2.0'}", e(2.0), &[("eval_loss", 1.5e-3)]),
            ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.6", [Some(1.0), None, Some(640.0)], &[("Loss", 0.6)]),
            ("step 1,000 | val_loss 1.6331", s(1000.0), &[("val_loss", 1.6331)]),
            ("mIoU: 0.61 ± 0.02", [None; 3], &[("mIoU", 0.61)]),
            ("Accuracy: 98/100 (98%)", [None; 3], &[("Accuracy", 0.98)]),
            ("[3,  2000] loss: 1.2", [Some(3.0), None, Some(2000.0)], &[("loss", 1.2)]),
            ("[3,2000] loss: 1.2", [Some(3.0), None, Some(2000.0)], &[("loss", 1.2)]),
            (
                "Accuracy of the network on the 10000 test images: 57 %",
                [None; 3],
                &[("Accuracy of the network", 57.0)],
            ),
            (r#"{"AP .5": 0.61, "AP": 0.5, "step": 3}"#, s(3.0), &[("AP .5", 0.61), ("AP", 0.5)]),
            ("Average loss on 10,000 samples is 0.5", [None; 3], &[("Average loss", 0.5)]),
            ("acc on 500 images 12ms 3: 0.5", [None; 3], &[]),
            ("* Prec@1  05 87.9", s(5.0), &[("Prec@1", 87.9)]),
            ("torch.cuda.OutOfMemoryError: CUDA out of memory, error 2", [None; 3], &[]),
            ("KeyError: 3", [None; 3], &[]),
            ("TrainError: 0.31", [None; 3], &[("TrainError", 0.31)]),
            ("Training acc over epoch: 0.47", [None; 3], &[("Training acc over epoch", 0.47)]),
        ]);
    }

    #[test]
    fn a_field_has_the_stage_of_the_words_around_it_and_may_be_past() {
        use Stage::{Test, Training, Unsaid, Validation};
        let cases: [(&str, &[(Stage, bool)]); 17] = [
            ("elapsed 5 min, val_acc 0.5", &[(Unsaid, false), (Validation, false)]),
            ("train Loss: 1.5 Acc: 0.6", &[(Training, false), (Training, false)]),
            (
                "train: loss 0.5 | val: loss 0.4 acc 0.3",
                &[(Training, false), (Validation, false), (Validation, false)],
            ),
            ("train_loss=0.5 acc=0.6", &[(Training, false), (Unsaid, false)]),
            ("val_acc 0.51, best so far val_acc 0.51", &[(Validation, false), (Validation, true)]),
            ("Restored the best weights. Test: loss 0.31 val_acc 0.99", &[(Test, true), (Validation, true)]),
            ("max_val_acc 0.5 val_acc_std 0.02", &[(Validation, true), (Validation, true)]),
            (r#"{"loss": 0.3, "epoch": 1, "mode": "val"}"#, &[(Validation, false)]),
            (r#"{"_type": "val_epoch", "epoch": "2/9", "acc": 0.5}"#, &[(Validation, false)]),
            ("{'dtype': 'float32', 'event': 'eval', 'acc': 0.5}", &[(Validation, false)]),
            ("cur metric, acc: 0.5", &[(Validation, false)]),
            ("Train steps: 50 Val steps: 10 loss: 0.5", &[(Unsaid, false)]),
            ("Held-out: loss 0.5", &[(Validation, false)]),
            ("Saving dict for global step 5: accuracy = 0.5", &[(Unsaid, false)]),
            ("[Evaluator] Steps = 2000 | Return = 51.0", &[(Validation, false)]),
            (r#"{"train": {"loss": 0.5}, "val": {"loss": 0.4}}"#, &[(Training, false), (Validation, false)]),
            (
                "| train acc 0.6 | val acc 0.5 | test acc 0.1",
                &[(Training, false), (Validation, false), (Test, false)],
            ),
        ];
        for (text, expected) in cases {
            let found: Vec<_> = parse(text).fields.iter().map(|field| (field.stage, field.is_past)).collect();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(parse("class 0 acc: 0.11").fields[0].group, "class0");
    }
}
