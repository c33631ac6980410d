//! Lines in, records of series out: headings, blocks and tables give the lines below them their place.

use super::line::{LabeledNumber, LinePosition, ParsedLine, parse};
use super::number::PrintedNumber;
use super::pattern::MetricPattern;
use super::report::ReportProblem;
use super::series::{ChosenSeries, CollectedSeries, MetricName, SeriesKey, SeriesRecord};
use super::table::{PrintedTable, is_rule};
use super::text::{pattern, prefix, to_plain_line};
use super::words::{
    Stage, counter, counting, groups, is_closing, is_of_layers, is_past, is_past_line, is_reloaded,
    is_stage_alone, is_total, stage, telling,
};
use foretell::direction_of;
use regex::Regex;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The most lines of a block.
const MAX_BLOCK_LINES: usize = 300;
/// The most series that are counted.
const MAX_SERIES: usize = 1_024;
/// The longest line without a number that names a stage for the lines below it.
const MAX_TITLE_LENGTH: usize = 60;
/// The longest line with the stages of a table.
const MAX_STAGE_ROW_LENGTH: usize = 200;
/// A list of steps and values behind a name: `'accuracy': [(1, 0.5), (2, 0.6)]`.
static STEP_VALUE_LIST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"["']?([A-Za-z][0-9A-Za-z_ ./@-]*)["']? *[:=] *\[((?:[(\[][0-9]+, *[^()\[\],]+[)\]](?:, *)?)+)\]"#,
    )
});
/// Whether a line may be of a table: columns, a rule or nothing.
fn may_be_table_row(text: &str) -> bool {
    text.trim().is_empty()
        || text.contains("  ")
        || text.contains(['|', '│', '─', '━', '═', '┃', '=', '_', '-', '\t'])
}

/// Whether a line begins with the number of an epoch or a step.
fn starts_with_counter(text: &str) -> bool {
    let label = text.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
    label.len() < text.len() && counter(label.trim_matches(|c: char| !c.is_alphanumeric())).is_some()
}

/// The process of a line that Ray prints: `(RayTrainWorker pid=9)`.
static PROCESS_ID: LazyLock<Regex> = LazyLock::new(|| pattern(r"pid=([0-9]+)"));
static STEP_VALUE_PAIR: LazyLock<Regex> = LazyLock::new(|| pattern(r"[(\[]([0-9]+), *([^()\[\],]+)[)\]]"));

/// The values wanted.
#[derive(Clone, Debug)]
pub(crate) enum MetricFilter {
    /// Everything.
    All,
    /// Those of this name.
    Name(MetricName),
    /// Those that the pattern finds.
    Pattern(Box<MetricPattern>),
}

/// The text above a line.
#[derive(Clone, Debug, Default)]
struct HeadingContext {
    place: LinePosition,
    stage: Option<Stage>,
    /// Whether it names the stage and no more, and no line below it names its stage itself: a sentence is seldom a heading.
    is_plain: bool,
    /// The line that named the place.
    line: u64,
    /// Whether that line closed its epoch: the values that follow are of another one.
    is_closed: bool,
}

/// The lines of one form, as they were read last: their stage, and the epoch and the step that they named.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LineFormState {
    stage: Option<Stage>,
    at: (Option<f64>, Option<f64>),
}

/// Lines that belong together: a pretty-printed dictionary, a box of names and values.
#[derive(Clone, Debug, Default)]
struct LineBlock {
    place: LinePosition,
    fields: Vec<LabeledNumber>,
    lines: usize,
    /// How many braces are open.
    depth: i32,
    form: BlockForm,
    section: String,
    text: String,
}

/// How the lines of a block show that they belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum BlockForm {
    #[default]
    Braces,
    /// `| name | value |`
    Box,
    /// `name: value`, one after another, with the step behind the values.
    Entries,
}

/// Reads lines; its records wait in `ready`.
#[derive(Clone, Debug)]
pub(crate) struct SeriesCollector {
    wanted: MetricFilter,
    pub(crate) series: Vec<CollectedSeries>,
    index: HashMap<SeriesKey, usize>,
    heading: HeadingContext,
    /// The forms of lines that were read, by a hash of their labels.
    forms: HashMap<u64, LineFormState>,
    table: Option<PrintedTable>,
    block: Option<LineBlock>,
    /// Whether the step stands below the values in lines `name: value`; `None` until that is known.
    is_below: Option<bool>,
    is_below_past: bool,
    /// Whether the best model was loaded again: values that follow are not of the training.
    is_below_best: bool,
    /// The one among many that the prefix of the line names: a rank, a process.
    group: String,
    /// The first process that a prefix named.
    process: Option<String>,
    /// The numbers so far that show points, or commas, before their decimals.
    pub(crate) notations: [u32; 2],
    lines: u64,
    pub(crate) ready: Vec<SeriesRecord>,
    pub(crate) problems: Vec<ReportProblem>,
    /// The number of epochs that the program announced.
    pub(crate) epochs: Option<u64>,
    /// Whether lines that close an epoch stand below its values, as in `Epoch 3 finished`; `None` until that is known.
    is_footed: Option<bool>,
    /// Records whose epoch is still to be named, below them.
    footless: Vec<SeriesRecord>,
    /// How many trainings headings such as `Fold 2/5` have announced.
    training: u64,
    last_training: Option<f64>,
    /// The number of epochs that lines named, the first one and the last one.
    pub(crate) named: u64,
    pub(crate) range: Option<(f64, f64)>,
    /// The last line without numbers, which may be the upper half of a heading.
    above: (u64, String),
    /// The fields of the last line or block that was read, for callers that look for other values.
    pub(crate) last: Vec<LabeledNumber>,
    /// The place that the last line named.
    pub(crate) last_place: LinePosition,
    /// The text that the heading of a table with the metric has; `None` if any may.
    heading_of_metric: Option<Regex>,
    /// The text of lines that have the metric or may change how the lines below are read; `None` if any may.
    telling: Option<Regex>,
    /// How many lines of a summary of the model's layers came so far, if one is being printed.
    summary: Option<usize>,
    /// Whether somebody looks for other values, too.
    pub(crate) is_watched: bool,
}

impl SeriesCollector {
    pub(crate) fn new(wanted: MetricFilter) -> Self {
        let hint = match &wanted {
            MetricFilter::Name(name) => name.hint(),
            MetricFilter::All | MetricFilter::Pattern(_) => None,
        };
        Self {
            heading_of_metric: hint.as_deref().and_then(counting),
            telling: hint.as_deref().and_then(telling),
            is_watched: true,
            wanted,
            series: Vec::new(),
            index: HashMap::new(),
            heading: HeadingContext::default(),
            forms: HashMap::new(),
            table: None,
            block: None,
            is_below: None,
            is_below_past: false,
            is_below_best: false,
            group: String::new(),
            process: None,
            notations: [0; 2],
            lines: 0,
            ready: Vec::new(),
            problems: Vec::new(),
            epochs: None,
            is_footed: None,
            footless: Vec::new(),
            training: 0,
            last_training: None,
            named: 0,
            range: None,
            above: (0, String::new()),
            last: Vec::new(),
            last_place: LinePosition::default(),
            summary: None,
        }
    }

    /// Reads a line; `is_transient` if the next one is drawn over it. Records that are `held` elsewhere may get another place by it.
    pub(crate) fn take(&mut self, line: &[u8], is_transient: bool, held: &mut [SeriesRecord]) {
        let plain = to_plain_line(line);
        // before this line is counted, because the records that it draws over are those of the last one
        if plain.redraws {
            self.mark_overwritten(held);
        }
        self.lines += 1;
        self.last.clear();
        self.last_place = LinePosition::default();
        if let MetricFilter::Pattern(pattern) = &self.wanted {
            let pattern = pattern.clone();
            self.match_pattern(&pattern, line, &plain.text, is_transient);
        } else {
            self.read_plain_text(&plain.text, is_transient, held);
        }
    }

    fn read_plain_text(&mut self, text: &str, is_transient: bool, held: &mut [SeriesRecord]) {
        let (before, text) = text.split_at(prefix(text));
        // in this order, because the first one counts the lines of a summary
        if self.is_in_layer_summary(text) || self.is_irrelevant(text) {
            return;
        }
        self.group = groups(&before.replace("rank ", "rank"));
        if before.contains("pid=")
            && let Some(process) = PROCESS_ID.captures(before)
        {
            let first = self.process.get_or_insert_with(|| process[1].to_owned());
            // the first process is the one that is read
            if *first != process[1] {
                self.group.push_str(&format!(" process{}", &process[1]));
            }
        }
        let is_blank = text.trim().is_empty();
        if is_blank || is_rule(text.trim()) {
            self.close_box();
            return;
        }
        let is_block = self.block.as_ref().is_some_and(|block| block.form != BlockForm::Entries);
        // lines of a dictionary or a box look like entries, too, so that an open block goes first
        if !is_block && !is_transient && self.read_entry(text)
            || self.read_table_row(text)
            || self.read_block_line(text)
            || self.read_pairs(text)
        {
            return;
        }
        let mut line = parse(text);
        if line.fields.is_empty() && !line.place.is_named() {
            self.above = (self.lines, text.to_owned());
        }
        if line.place.epoch.is_some()
            && is_closing(text)
            && !line.fields.iter().any(|field| self.may_be_metric(field))
        {
            self.read_footer(line.place, held);
            return;
        }
        self.is_below_best &= line.place.epoch.is_none() && line.place.step.is_none();
        if std::mem::take(&mut self.is_below_past) || self.is_below_best {
            line.fields.iter_mut().for_each(|field| field.is_past = true);
            line.place = LinePosition::default();
        }
        self.is_below_best |= line.fields.is_empty() && is_reloaded(text);
        self.is_below_past =
            line.fields.is_empty() && text.trim_end().ends_with(':') && (is_past(text) || is_past_line(text));
        let shape = line.shape();
        self.finish_line(line, shape, text, is_transient);
    }

    /// Whether reading a line would change nothing: it has numbers, but neither the metric nor a word or a sign that tells how other lines are
    /// read, and no block or table is open.
    fn is_irrelevant(&self, text: &str) -> bool {
        let Some(telling) = self.telling.as_ref().filter(|_| !self.is_watched) else { return false };
        let is_open =
            self.table.is_some() || self.block.is_some() || self.is_below_past || self.is_below_best;
        let begin = text.trim_start_matches(|c: char| c.is_whitespace() || "[(#*-=>|".contains(c));
        !is_open
            && (self.is_below == Some(false) || !is_entry(text))
            // until a number shows a decimal point, another line may show the notation of decimals
            && self.notations[0] > 0
            && text.contains(|c: char| c.is_ascii_digit())
            && !text.contains(['{', '|'])
            && begin.starts_with(|c: char| !c.is_ascii_digit())
            && !text.trim_end().ends_with([':', ','])
            && !telling.is_match(text)
    }

    /// Whether a line is of a summary of the model's layers, from the heading of its table to the count of all parameters.
    fn is_in_layer_summary(&mut self, text: &str) -> bool {
        self.summary = match self.summary {
            None => is_of_layers(text).then_some(0),
            // many summaries have no count: the first sentence, or the first line that counts epochs, is the training's
            Some(lines)
                if lines > MAX_BLOCK_LINES
                    || is_total(text)
                    || !may_be_table_row(text)
                    || starts_with_counter(text) =>
            {
                None
            }
            Some(lines) => Some(lines + 1),
        };
        self.summary.is_some()
    }

    /// Marks the last records as drawn over.
    fn mark_overwritten(&mut self, held: &mut [SeriesRecord]) {
        let last = self.lines;
        held.iter_mut()
            .rev()
            .take_while(|record| record.line == last)
            .for_each(|record| record.is_transient = true);
    }

    /// The number of epochs that the program announced, counted from 1: 8 for `Epoch 7/7` after `Epoch 0/7`.
    pub(crate) fn announced_epochs(&self) -> Option<u64> {
        let (low, high) = self.range.unwrap_or_default();
        self.epochs.map(|epochs| epochs + u64::from(low == 0.0 && high >= epochs as f64))
    }

    #[cfg(test)]
    pub(crate) fn read_every_line(&mut self) {
        self.telling = None;
    }

    /// Reads the output of a training like that of `chosen`.
    pub(crate) fn expect(&mut self, chosen: &ChosenSeries) {
        (self.is_below, self.is_footed) = (Some(chosen.below), Some(chosen.footed));
        self.heading.is_closed = chosen.footed;
    }

    /// Whether lines that follow may belong to what was read last.
    pub(crate) fn is_open(&self) -> bool {
        self.block.is_some() || !self.footless.is_empty() || !self.ready.is_empty()
    }

    /// Reads the end of the output.
    pub(crate) fn finish(&mut self) {
        self.close_block();
        self.ready.append(&mut self.footless);
    }

    /// Whether a field may be the metric.
    fn may_be_metric(&self, field: &LabeledNumber) -> bool {
        match &self.wanted {
            MetricFilter::Name(name) => name.fit(&SeriesKey::new(field, false, 0)) > 0,
            MetricFilter::All => direction_of(&field.label).is_some(),
            MetricFilter::Pattern(_) => false,
        }
    }

    /// Takes the lists of steps and values in a line.
    fn read_pairs(&mut self, text: &str) -> bool {
        if !text.contains("[(") && !text.contains("[[") {
            return false;
        }
        for list in STEP_VALUE_LIST.captures_iter(text) {
            for pair in STEP_VALUE_PAIR.captures_iter(&list[2]) {
                let mut line = parse(&format!("{} {}", &list[1], &pair[2]));
                line.place = LinePosition { step: pair[1].parse().ok(), ..LinePosition::default() };
                self.finish_line(line, 0, text, false);
            }
        }
        STEP_VALUE_LIST.is_match(text)
    }

    /// Takes a line that closes an epoch: values above it that no line gave an epoch are of this one. In a log whose first such line has no
    /// values above it, it is a heading.
    fn read_footer(&mut self, own: LinePosition, held: &mut [SeriesRecord]) {
        let is_new = self.heading.place.epoch != own.epoch;
        let (since, series) = (self.heading.line, &self.series);
        let mut above: Vec<&mut SeriesRecord> = held
            .iter_mut()
            .chain(&mut self.ready)
            .filter(|record| record.line > since && !record.is_own)
            .collect();
        let is_all = matches!(self.wanted, MetricFilter::All);
        let is_footed = *self.is_footed.get_or_insert(
            above.iter().any(|record| !is_all || direction_of(&series[record.series].key.label).is_some()),
        );
        if is_footed && is_new {
            above.iter_mut().for_each(|record| record.place.epoch = own.epoch);
        }
        self.footless.iter_mut().filter(|_| is_footed).for_each(|record| record.place.epoch = own.epoch);
        self.ready.append(&mut self.footless);
        self.last_place = own;
        self.place(own, false);
        self.heading.is_closed = is_footed;
    }

    fn read_table_row(&mut self, text: &str) -> bool {
        if self.block.is_some() {
            return false;
        }
        if let Some(table) = &mut self.table {
            if let Some((line, shape)) = table.row(text) {
                self.finish_line(line, shape, text, false);
                return true;
            }
            if let Some(joined) = table.merge_heading_line(text) {
                self.table = Some(joined);
                return true;
            }
        }
        let filter = self.heading_of_metric.as_ref();
        let may_head = !text.trim_start().starts_with('{')
            && filter.is_none_or(|filter| filter.is_match(text) || is_short_row(text));
        if let Some(table) = may_head.then(|| PrintedTable::from_heading(text)).flatten() {
            let (line, above) = &self.above;
            self.table = Some(if line + 1 == self.lines { table.under(above) } else { table });
            self.above = (self.lines, text.to_owned());
            return true;
        }
        if self.table.as_mut().is_some_and(|table| !table.waits()) {
            self.table = None;
        }
        false
    }

    /// Takes a line of a block, or one that opens it.
    fn read_block_line(&mut self, text: &str) -> bool {
        let trimmed = text.trim();
        if let Some((name, value)) = split_box_cells(trimmed) {
            let block =
                self.block.get_or_insert_with(|| LineBlock { form: BlockForm::Box, ..LineBlock::default() });
            block.take_cell(name, value, text);
            return true;
        }
        if self.block.as_ref().is_some_and(|block| block.form == BlockForm::Box) {
            self.close_block();
        }
        let change = trimmed.matches('{').count() as i32 - trimmed.matches('}').count() as i32;
        match &mut self.block {
            None if change > 0 && (trimmed.starts_with(['{', '[']) || trimmed.ends_with(['{', ','])) => {
                self.block = Some(LineBlock::default())
            }
            None => return false,
            Some(_) => {}
        }
        let Some(block) = &mut self.block else { return false };
        let line = parse(text);
        block.join(&line, text);
        block.depth += change;
        let is_over = block.depth <= 0
            || block.lines > MAX_BLOCK_LINES
            || (!trimmed.contains(':') && !trimmed.starts_with(['{', '}', '[', ']']));
        if is_over {
            self.close_block();
        }
        true
    }

    /// Takes a line `name: value` whose step may be still to come, as in YAML. Where a step stands above the values they are read at once.
    fn read_entry(&mut self, text: &str) -> bool {
        if self.is_below == Some(false) {
            return false;
        }
        let line = if is_entry(text) { parse(text) } else { ParsedLine::default() };
        let (own, is_open) = (line.place, self.block.is_some());
        let has_place = own.epoch.is_some() || own.step.is_some();
        let is_repeat = self.block.as_ref().is_some_and(|block| {
            line.fields.iter().any(|field| block.fields.iter().any(|other| other.label == field.label))
                || has_place && block.place.is_named()
        });
        if !is_entry(text) || is_repeat {
            self.close_block();
            return self.is_below != Some(false) && is_entry(text) && self.read_entry(text);
        }
        let has_heading = self.heading.place.epoch.is_some() || self.heading.place.step.is_some();
        if !is_open && self.is_below.is_none() && (has_place || has_heading) {
            self.is_below = Some(false);
            return false;
        }
        if !is_open && line.fields.is_empty() {
            return false;
        }
        let block =
            self.block.get_or_insert_with(|| LineBlock { form: BlockForm::Entries, ..LineBlock::default() });
        block.join(&line, text);
        self.last = line.fields;
        true
    }

    /// Learns from a block of lines `name: value` whether the step stands below the values.
    fn learn_step_position(&mut self, block: &LineBlock) {
        let is_named = matches!(self.wanted, MetricFilter::Name(_));
        if block.place.is_named() {
            self.is_below = Some(true);
        } else if self.is_below == Some(true) {
            // a value never takes an older step
            self.heading.place = LinePosition::default();
        } else if is_named && block.fields.iter().any(|field| self.may_be_metric(field)) {
            self.is_below = Some(false);
        }
    }

    fn close_box(&mut self) {
        if self
            .block
            .as_ref()
            .is_some_and(|block| block.form != BlockForm::Braces && !block.fields.is_empty())
        {
            self.close_block();
        }
    }

    fn close_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        if block.form == BlockForm::Entries {
            self.learn_step_position(&block);
        }
        let LineBlock { place, fields, text, .. } = block;
        if !fields.is_empty() || place.is_named() {
            let line = ParsedLine { place, fields, ..ParsedLine::default() };
            self.finish_line(line, u64::MAX, &text, false);
        }
    }

    /// Where a line stands: by its own counters, or those above it.
    fn place(&mut self, own: LinePosition, has_fields: bool) -> LinePosition {
        if own.epoch.is_some() {
            // values below the last closed epoch were of that one
            self.ready.append(&mut self.footless);
            (self.heading.line, self.heading.is_closed) = (self.lines, false);
            let changed = self.heading.place.epoch != own.epoch;
            self.named += u64::from(changed);
            let epoch = own.epoch.unwrap_or_default();
            let (low, high) = self.range.unwrap_or((epoch, epoch));
            self.range = Some((low.min(epoch), high.max(epoch)));
            self.heading.place = LinePosition {
                step: if changed { None } else { self.heading.place.step },
                batch: None,
                ..own
            };
            self.heading.stage = None;
            if let Some(epochs) = own.epochs {
                self.epochs = Some(epochs as u64);
            }
        } else if own.step.is_some() && (!own.is_unsure || has_fields) {
            let epoch = self.heading.place.epoch;
            self.heading.place = LinePosition { epoch, epochs: self.heading.place.epochs, ..own };
        }
        let above = self.heading.place;
        LinePosition {
            epoch: own.epoch.or(above.epoch),
            epochs: own.epochs.or(above.epochs),
            step: own.step.or(above.step),
            ..own
        }
    }

    fn finish_line(&mut self, mut line: ParsedLine, shape: u64, text: &str, is_transient: bool) {
        for (all, own) in self.notations.iter_mut().zip(line.notations) {
            *all += own;
        }
        let mut own = line.place;
        let is_heading = line.fields.is_empty() && own.epoch.is_none() && own.step.is_none();
        if is_heading
            && own.batch.is_some()
            && self.heading.place.epoch.is_none()
            && text.trim_end().ends_with(':')
            && stage(text).is_none()
        {
            // [batch=10/120]: above the values
            own = LinePosition { step: own.batch, ..LinePosition::default() };
        }
        // each line of a fold may name it, so that only another number begins a training
        if line.training.is_some() && line.training != self.last_training {
            (self.training, self.last_training) = (self.training + 1, line.training);
            // the epochs begin again, and a value must not take the last one of the training before
            if is_heading {
                self.heading.place = LinePosition::default();
            }
        }
        self.last_place = own;
        let above = self.heading.clone();
        let place = self.place(own, !line.fields.is_empty());
        // a line of the same epoch below `Evaluating on val`
        let said = if line.fields.is_empty() { None } else { self.stage_from_heading(&line, &above) };
        let is_title = line.fields.is_empty() && !own.is_named() && text.len() <= MAX_TITLE_LENGTH;
        if is_title
            && let Some(stage) = stage(text)
            && (looks_like_title(text)
                || stage == Stage::Test && line.notations == [0, 0]
                || is_stage_alone(text))
        {
            (self.heading.stage, self.heading.is_plain) = (Some(stage), is_stage_alone(text));
        }
        let is_batched =
            own.batch.is_some() || (own.step.is_some() && own.batches.is_some() && place.epoch.is_some());
        for field in &mut line.fields {
            if !self.group.is_empty() {
                field.group = format!("{} {}", self.group, field.group).trim().to_owned();
            }
            if field.stage == Stage::Unsaid {
                field.stage = said.unwrap_or_default();
            }
        }
        let others = current_values(&line);
        for field in &line.fields {
            let key = SeriesKey::new(field, is_batched, shape);
            self.record((key, field.reading), (own, place), &others, text, is_transient);
        }
        self.last = line.fields;
    }

    /// The stage that the heading `above` gives to a line.
    ///
    /// A form of line that was read with another stage before keeps it: text between its lines may have a stage word, too. It changes only below
    /// a plain heading, if its place repeats, or if it has none and something ends such a heading: an epoch, or the heading of another stage.
    fn stage_from_heading(&mut self, line: &ParsedLine, above: &HeadingContext) -> Option<Stage> {
        let (own, at) = (line.place, (line.place.epoch, line.place.step));
        let said = above.stage.filter(|_| own.epoch.is_none() || own.epoch == above.place.epoch);
        let shape = line.shape();
        let before = self.forms.get(&shape).copied();
        let has_place = own.epoch.is_some() || own.step.is_some();
        let stage = match (said, before) {
            (Some(said), Some(before)) if before.stage != Some(said) => {
                let may_change = match has_place {
                    true => before.at == at,
                    false => above.place.epoch.is_some() || before.stage.is_some(),
                };
                if above.is_plain && may_change { Some(said) } else { before.stage }
            }
            // below the heading of an epoch the stage of the last one is over
            (said, _) => said,
        };
        let names_stage = line.fields.iter().any(|field| Some(field.stage) == said);
        self.heading.is_plain &= !names_stage;
        if before.is_some() || self.forms.len() < MAX_SERIES {
            self.forms.insert(shape, LineFormState { stage, at });
        }
        stage
    }

    /// Keeps the number of a series that is looked for, which the line names its `own` place for; returns whether it is one.
    fn record(
        &mut self,
        (key, reading): (SeriesKey, PrintedNumber),
        (own, place): (LinePosition, LinePosition),
        others: &Arc<[(String, PrintedNumber)]>,
        text: &str,
        is_transient: bool,
    ) -> bool {
        let Some(series) = self.series_index(key, text) else { return false };
        self.series[series].take(&place, reading, is_transient);
        let (is_own, line, others) = (own.epoch.is_some(), self.lines, Arc::clone(others));
        let training = self.training;
        let is_placed = own.is_named();
        let record =
            SeriesRecord { series, place, is_own, is_placed, reading, line, training, is_transient, others };
        let is_footless = self.heading.is_closed && !is_own;
        if is_footless {
            self.footless.push(record)
        } else {
            self.ready.push(record)
        }
        true
    }

    /// The number of the series of this `key`, if it is one that is looked for.
    fn series_index(&mut self, key: SeriesKey, example: &str) -> Option<usize> {
        let known = self.index.get(&key).copied();
        let index = known.or_else(|| {
            let fit = match &self.wanted {
                MetricFilter::All | MetricFilter::Pattern(_) => 1,
                MetricFilter::Name(name) => name.fit(&key),
            };
            // half of the room is for series that fit: otherwise a flood of others would keep the metric out
            (self.series.len() < MAX_SERIES && (fit > 0 || self.series.len() < MAX_SERIES / 2)).then(|| {
                self.index.insert(key.clone(), self.series.len());
                self.series.push(CollectedSeries::new(key, fit, if fit > 0 { example } else { "" }));
                self.series.len() - 1
            })
        })?;
        (self.series[index].fit > 0).then_some(index)
    }

    /// The record of each match of a pattern, at the place that it, its line or a heading names.
    ///
    /// Signs of other scripts and wrappers of numbers are replaced in `text`: a pattern that finds nothing in it is matched against the `raw` line.
    fn match_pattern(&mut self, pattern: &MetricPattern, raw: &[u8], text: &str, is_transient: bool) {
        if let Some(step) = pattern.heading(text.as_bytes()).or_else(|| pattern.heading(raw)) {
            self.heading.place = LinePosition { epoch: Some(step), ..LinePosition::default() };
        }
        let line = parse(&text[prefix(text)..]);
        let (others, mut is_found) = (current_values(&line), false);
        let found = Some(pattern.find(text.as_bytes())).filter(|found| !found.is_empty());
        for found in found.unwrap_or_else(|| pattern.find(raw)) {
            let found = match found {
                Ok(found) => found,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let own = match found.step {
                Some(step) => LinePosition { epoch: Some(step as f64), ..LinePosition::default() },
                None if pattern.has_heading() => LinePosition::default(),
                None => line.place,
            };
            let place = self.place(own, true);
            let key = SeriesKey::for_pattern();
            is_found |= self.record((key, found.reading), (own, place), &others, text, is_transient);
        }
        if !is_found && !pattern.has_heading() {
            self.place(line.place, !line.fields.is_empty());
        }
        for (all, own) in self.notations.iter_mut().zip(line.notations) {
            *all += own;
        }
        (self.last, self.last_place) = (line.fields, line.place);
    }

    /// Notes in `chosen` how lines stand to the epochs that they belong to.
    pub(crate) fn describe(&self, chosen: &mut ChosenSeries) {
        (chosen.below, chosen.footed) = (self.is_below == Some(true), self.is_footed == Some(true));
    }

    /// How well series number `series` matches the one that was `chosen` for an earlier trial.
    pub(crate) fn chosen(&self, chosen: &ChosenSeries, series: usize) -> u8 {
        chosen.fit(&self.series[series].key)
    }
}

impl LineBlock {
    /// Takes a cell of a box.
    fn take_cell(&mut self, name: &str, value: &str, text: &str) {
        if value.is_empty() {
            self.section = name.to_owned();
            return;
        }
        let is_inside = self.section.ends_with('/') && !name.contains('/');
        let line = parse(&format!("{}{name}: {value}", if is_inside { self.section.as_str() } else { "" }));
        // a counter's name stands alone: time/total_timesteps
        let own = counter(name).and_then(|_| {
            parse(&format!("{name}: {value}")).place.is_named().then(|| parse(&format!("{name}: {value}")))
        });
        self.join(&own.unwrap_or(line), text);
    }

    fn join(&mut self, line: &ParsedLine, text: &str) {
        self.lines += 1;
        let LinePosition { epoch, epochs, step, batch, .. } = line.place;
        let place = &mut self.place;
        (place.epoch, place.epochs) = (place.epoch.or(epoch), place.epochs.or(epochs));
        // of iterations and timesteps, the timesteps
        if place.step.is_none() || text.contains("timesteps") {
            place.step = step.or(place.step);
        }
        place.batch = place.batch.or(batch.filter(|_| line.fields.is_empty()));
        self.fields.extend(line.fields.iter().cloned());
        if self.text.is_empty() || !line.fields.is_empty() {
            self.text = text.to_owned();
        }
    }
}

/// The values of a line that are current, by name.
fn current_values(line: &ParsedLine) -> Arc<[(String, PrintedNumber)]> {
    let current = line.fields.iter().filter(|field| !field.is_past);
    current.map(|field| (field.name().to_owned(), field.reading)).collect()
}

/// The two cells of `| name | value |`.
fn split_box_cells(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('|')?.strip_suffix('|')?;
    let (name, value) = inside.split_once('|')?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = name.starts_with(char::is_alphabetic) && !value.contains('|');
    let is_value =
        value.is_empty() || super::number::tokens(value).first().is_some_and(|token| token.start == 0);
    (is_name && is_value).then_some((name, value))
}

/// Whether a line is `name: value` or `name = value` and no more.
fn is_entry(text: &str) -> bool {
    let Some((name, value)) = text.trim().split_once([':', '=']) else { return false };
    let name = if value.starts_with(' ') { name.trim_end() } else { name };
    let is_name = name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
    let is_value = value.is_empty() || value.starts_with(' ') && !value.contains(['=', '|', ',']);
    is_name && is_value && value.split_ascii_whitespace().count() <= 3
}

/// Whether a line may have the stages of a table of names: `Training |  Validation`.
fn is_short_row(text: &str) -> bool {
    text.len() <= MAX_STAGE_ROW_LENGTH
        && (text.contains('|') && stage(text).is_some() || is_stage_alone(text))
}

/// Whether a line looks like a title.
fn looks_like_title(text: &str) -> bool {
    let trimmed = text.trim();
    trimmed.ends_with([':', '-', '=', '*', '#', '.', ']']) || trimmed.starts_with(['-', '=', '*', '#', '['])
}
