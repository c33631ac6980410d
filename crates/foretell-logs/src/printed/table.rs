//! Tables with a heading: columns between bars, commas, tabs, or blanks.

use super::line::{LabeledNumber, ParsedLine};
use super::number::{PrintedNumber, TokenKind, tokens};
use super::words::{CounterUnit, Stage, counter, is_amount, is_past, is_report, is_stage_alone, stage};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The most lines that may stand between a heading and its first row.
const MAX_LINES_TO_ROW: u8 = 2;
/// The most columns of a heading in two lines.
const MAX_GROUPED_COLUMNS: usize = 64;
/// The longest heading of a column.
const MAX_HEADING_LENGTH: usize = 40;

/// The separator of the cells of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellSeparator {
    Bar,
    Tab,
    Comma,
    Semicolon,
    /// Two blanks or more.
    Blanks,
    /// One blank or more.
    Blank,
}

impl CellSeparator {
    fn is_blank(self) -> bool {
        match self {
            Self::Blanks | Self::Blank => true,
            Self::Bar | Self::Tab | Self::Comma | Self::Semicolon => false,
        }
    }
}

/// The headings of a table that is being printed.
#[derive(Clone, Debug)]
pub(crate) struct PrintedTable {
    sign: CellSeparator,
    names: Vec<String>,
    /// How many rows there were, and, while there are none, how many other lines.
    rows: u64,
    others: u8,
}

/// Whether a line is a rule: `-----`, `|:--:|:--:|`, `=====`.
pub(crate) fn is_rule(text: &str) -> bool {
    text.len() > 2
        && text.chars().all(|c| "-=+|:_*#~ ".contains(c))
        && text.contains(['-', '=', '_', '*', '#', '~'])
}

fn filled_cells(text: &str, sign: CellSeparator) -> Vec<&str> {
    let mut cells = cells(text, sign);
    cells.retain(|cell| !cell.is_empty());
    cells
}

fn cells(text: &str, sign: CellSeparator) -> Vec<&str> {
    let text = text.trim();
    match sign {
        CellSeparator::Bar => {
            text.trim_start_matches('|').trim_end_matches('|').split('|').map(str::trim).collect()
        }
        CellSeparator::Tab => text.split('\t').map(str::trim).collect(),
        CellSeparator::Comma => text.split(',').map(trim_quotes).collect(),
        CellSeparator::Semicolon => text.split(';').map(trim_quotes).collect(),
        CellSeparator::Blanks => text
            .split("  ")
            .map(|cell| cell.trim_matches([' ', '\t']))
            .filter(|cell| !cell.is_empty())
            .collect(),
        CellSeparator::Blank => text.split_ascii_whitespace().collect(),
    }
}

fn trim_quotes(cell: &str) -> &str {
    cell.trim().trim_matches(['"', '\''])
}

/// How many of the first `names` the other half of a heading has no word for: that of the counter.
fn count_unpaired(names: &[String], others: usize) -> usize {
    usize::from(names.len() == others + 1 && names.first().is_some_and(|name| counter(name).is_some()))
}

/// A line without the progress bar at its end.
fn without_progress_bar(text: &str) -> &str {
    let Some(percent) = ["%|", "% -", "% #", "%  -"].iter().filter_map(|bar| text.find(bar)).min() else {
        return text;
    };
    let digits = text[..percent].trim_end_matches(|c: char| c.is_ascii_digit());
    digits.trim_end().trim_end_matches(':')
}

/// The name in a cell of a heading.
fn heading(cell: &str) -> Option<String> {
    let cell = cell.trim_end_matches(':');
    let cell = cell.strip_prefix('#').map(str::trim_start).filter(|cell| !cell.is_empty()).unwrap_or(cell);
    let closes = cell.ends_with(')') && !cell.contains('(');
    let cell = if closes { cell.trim_end_matches(')') } else { cell };
    let begins = cell == "#" || cell.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '%');
    let name = cell.split('@').next().unwrap_or_default();
    let is_name =
        begins && cell.chars().count() <= MAX_HEADING_LENGTH && !name.contains([':', '=', '{', '}', '"']);
    let has_number = tokens(cell).iter().any(|token| matches!(token.kind, TokenKind::Number { .. }));
    (is_name && !has_number).then(|| cell.to_owned())
}

impl PrintedTable {
    /// The table that `text` is the heading of.
    pub(crate) fn from_heading(text: &str) -> Option<Self> {
        let text = without_progress_bar(text);
        if text.trim_end().ends_with([':', '.', '!', '?']) {
            return None;
        }
        let signs = [
            (CellSeparator::Bar, '|', 2),
            (CellSeparator::Tab, '\t', 2),
            (CellSeparator::Comma, ',', 2),
            (CellSeparator::Semicolon, ';', 2),
        ];
        let sign = signs
            .iter()
            .find(|(_, sign, _)| text.contains(*sign))
            .map_or((CellSeparator::Blanks, 3), |(sign, _, least)| (*sign, *least));
        let tried =
            if sign.0 == CellSeparator::Blanks { vec![sign, (CellSeparator::Blank, 3)] } else { vec![sign] };
        tried.into_iter().find_map(|(sign, least)| {
            let mut cells = cells(text, sign);
            let columns = cells.len();
            // a table with a row per metric has no name above its names
            let is_of_stages = cells.len() > 2
                && (cells[0].is_empty() || is_report(cells[0]))
                && cells[1..].iter().all(|cell| is_stage_alone(cell));
            if is_of_stages {
                cells.remove(0);
            }
            let names: Vec<String> = cells.iter().filter_map(|cell| heading(cell)).collect();
            // of words between single blanks only a step makes a heading
            let is_heading = sign != CellSeparator::Blank
                || names.iter().any(|name| counter(name).is_some() || name == "#");
            (columns >= least && names.len() == cells.len() && is_heading).then_some(Self {
                sign,
                names,
                rows: 0,
                others: 0,
            })
        })
    }

    /// This heading with the line above it, if that is the upper half of a heading in two lines: `average  since` above `loss  last`, or
    /// `Train  Valid` above `Epoch  Loss  Acc  Loss  Acc`.
    pub(crate) fn under(self, above: &str) -> Self {
        let is_blank = self.sign.is_blank();
        let mut names = self.names.clone();
        let mut upper = filled_cells(above, if is_blank { CellSeparator::Blanks } else { self.sign });
        if is_blank && upper.len() != names.len() {
            // a long name may leave a single blank to the next
            names = names.iter().flat_map(|name| name.split(' ').map(str::to_owned)).collect();
        }
        if upper.len() == 1 && is_blank {
            upper = filled_cells(above, CellSeparator::Blank);
        }
        if !upper.iter().all(|cell| heading(cell).is_some() && counter(cell).is_none())
            || upper.is_empty()
            || names.len() > MAX_GROUPED_COLUMNS
        {
            return self;
        }
        let counted = count_unpaired(&names, upper.len());
        if is_blank && upper.len() + counted == names.len() {
            let joined = upper.iter().zip(&names[counted..]).map(|(upper, name)| format!("{upper} {name}"));
            return Self { names: names[..counted].iter().cloned().chain(joined).collect(), ..self };
        }
        // the names of each group are the same
        let groups: Vec<usize> = (0..names.len())
            .map(|at| names[..at].iter().filter(|name| **name == names[at]).count())
            .collect();
        let is_grouped = groups.is_sorted() && groups.last() == Some(&(upper.len() - 1)) && upper.len() > 1;
        if !is_grouped {
            return self;
        }
        let grouped = names.iter().zip(groups).map(|(name, group)| match counter(name) {
            None => format!("{} {name}", upper[group]),
            Some(_) => name.clone(),
        });
        Self { names: grouped.collect(), ..self }
    }

    /// The two lines of one heading, joined column by column.
    pub(crate) fn merge_heading_line(&self, text: &str) -> Option<Self> {
        let under = cells(text, self.sign);
        let counted = count_unpaired(&self.names, under.len());
        let is_under = self.rows == 0
            && matches!(self.sign, CellSeparator::Bar | CellSeparator::Blanks)
            && under.len() + counted == self.names.len();
        let none_is_number = under.iter().all(|cell| tokens(cell).is_empty());
        let has_name = under.iter().any(|cell| cell.contains(char::is_alphabetic));
        (is_under && none_is_number && has_name).then(|| {
            let blank = std::iter::repeat_n(&"", counted);
            let names = self
                .names
                .iter()
                .zip(blank.chain(&under))
                .map(|(name, under)| format!("{name} {under}").trim().to_owned());
            Self { names: names.collect(), ..self.clone() }
        })
    }

    /// Whether a heading that has had no row yet still waits for one, after a line that is none.
    pub(crate) fn waits(&mut self) -> bool {
        self.others = self.others.saturating_add(1);
        self.rows > 0 || self.others <= MAX_LINES_TO_ROW
    }

    /// The content of `text` as a row of this table; the shape of its line is that of the heading.
    pub(crate) fn row(&mut self, text: &str) -> Option<(ParsedLine, u64)> {
        let text = without_progress_bar(text);
        let mut found = cells(text, self.sign);
        if found.len() == self.names.len() + 1 && self.names.iter().all(|name| stage(name).is_some()) {
            return Some((self.parse_stage_row(&found)?, 1));
        }
        if found.len() != self.names.len() && self.sign == CellSeparator::Blanks {
            found = cells(text, CellSeparator::Blank);
            if self.rows == 0 && found.len() > self.names.len() {
                // a long name may leave a single blank to the next
                let names = self.names.iter().flat_map(|name| name.split(' ').map(str::to_owned));
                self.names = Some(names.collect::<Vec<_>>()).filter(|names| names.len() == found.len())?;
            }
        }
        // the sign of a comment is no column
        if self.rows == 0
            && found.len() + 1 == self.names.len()
            && ["#", "%"].contains(&self.names[0].as_str())
        {
            self.names.remove(0);
        }
        if found.len() != self.names.len() {
            return None;
        }
        let (mut line, mut counted) = (ParsedLine::default(), HashMap::new());
        let (mut group, mut numbers, mut others) = (String::new(), 0, 0);
        let has_hash = self.names.iter().any(|name| name == "#");
        let is_file =
            matches!(self.sign, CellSeparator::Comma | CellSeparator::Semicolon | CellSeparator::Tab);
        let counts = is_file && !self.names.iter().any(|name| counter(name).is_some());
        for (name, cell) in self.names.iter().zip(found) {
            match value(cell) {
                CellContent::Number(reading, of) => {
                    numbers += 1;
                    if counts && line.place.step.is_none() && is_amount(name) {
                        line.place.step = reading.point.or(reading.comma);
                        continue;
                    }
                    add_cell(&mut line, name, (reading, of), has_hash, &mut counted);
                }
                CellContent::Text if cell.contains(':') || cell.contains('=') => return None,
                CellContent::Text if group.is_empty() => group = cell.to_lowercase(),
                CellContent::Text => others += 1,
                CellContent::Empty | CellContent::Other => {}
            }
        }
        if numbers == 0 || numbers < others || (numbers < 2 && self.names.len() > 2) {
            return None;
        }
        line.fields.iter_mut().for_each(|field| field.group.clone_from(&group));
        self.rows += 1;
        let mut shape = DefaultHasher::new();
        self.names.hash(&mut shape);
        Some((line, shape.finish()))
    }
}

impl PrintedTable {
    /// A row that is one metric, with a column per stage.
    fn parse_stage_row(&self, cells: &[&str]) -> Option<ParsedLine> {
        let (mut line, mut counted) = (ParsedLine::default(), HashMap::new());
        for (name, cell) in self.names.iter().zip(&cells[1..]) {
            if let CellContent::Number(reading, _) = value(cell) {
                add_cell(&mut line, cells[0], (reading, None), false, &mut counted);
                line.fields.iter_mut().next_back()?.stage = stage(name)?;
            }
        }
        (!line.fields.is_empty()).then_some(line)
    }
}

enum CellContent {
    Number(PrintedNumber, Option<f64>),
    Text,
    /// A date, a time, a size.
    Other,
    Empty,
}

fn value(cell: &str) -> CellContent {
    let cell = trim_quotes(cell);
    if cell.is_empty() || cell == "-" || cell == "--" {
        return CellContent::Empty;
    }
    let found = tokens(cell);
    match found.first().map(|token| (token, token.kind)) {
        Some((token, TokenKind::Number { reading, of, .. })) if token.start == 0 => {
            let rest = cell[token.end..].trim_start();
            if rest.is_empty() || rest.starts_with(['(', '*', '±', '+']) {
                CellContent::Number(reading, of)
            } else {
                CellContent::Text
            }
        }
        Some((token, TokenKind::Other)) if token.start == 0 => CellContent::Other,
        _ => CellContent::Text,
    }
}

/// Puts the number of a column into the line, in which each name was `counted`.
fn add_cell<'a>(
    line: &mut ParsedLine,
    name: &'a str,
    (reading, of): (PrintedNumber, Option<f64>),
    has_hash: bool,
    counted: &mut HashMap<&'a str, u8>,
) {
    let value = reading.point.or(reading.comma).unwrap_or_default();
    let named = match name {
        "#" => Some(CounterUnit::Step),
        "E" => Some(CounterUnit::Epoch),
        _ => counter(name).map(|named| named.counter),
    };
    let place = &mut line.place;
    match named {
        // of spaCy's two, the number of updates distinguishes the rows
        Some(CounterUnit::Epoch) if has_hash => {}
        Some(CounterUnit::Epoch) => (place.epoch, place.epochs) = (place.epoch.or(Some(value)), of),
        Some(CounterUnit::Step) => place.step = place.step.or(Some(value)),
        Some(CounterUnit::Batch) => place.batch = Some(value),
        None => {
            let notation = reading
                .evidence()
                .map(|notation| usize::from(notation == super::number::DecimalNotation::Comma));
            notation.into_iter().for_each(|at| line.notations[at] += 1);
            let count = counted.entry(name).or_default();
            let nth = *count;
            *count = count.saturating_add(1);
            line.fields.push(LabeledNumber {
                label: name.to_owned(),
                stage: stage(name).unwrap_or(Stage::Unsaid),
                is_past: is_past(name),
                group: String::new(),
                reading,
                nth,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PrintedTable, is_rule};
    use crate::printed::number::DecimalNotation;

    /// The place of the row and the value in the column `name`.
    fn read(heading: &str, row: &str, name: &str) -> Option<(Option<f64>, f64, String)> {
        let (line, _) = PrintedTable::from_heading(heading)?.row(row)?;
        let field = line.fields.iter().find(|field| field.label == name)?;
        Some((
            line.place.epoch.or(line.place.step),
            field.reading.value(DecimalNotation::Point),
            field.group.clone(),
        ))
    }

    #[test]
    fn rows_are_read_by_their_headings() {
        let cases = [
            (
                "epoch     train_loss  valid_loss  accuracy  time    ",
                "0         1.533100    1.633100    0.510600  00:03     ",
                "accuracy",
                (Some(0.0), 0.5106, ""),
            ),
            (
                "| Training Loss | Epoch | Step | Accuracy |",
                "| 1.5331 | 1.0 | 125 | 0.5106 |",
                "Accuracy",
                (Some(1.0), 0.5106, ""),
            ),
            ("epoch,loss,val_acc", "3,0.9,0.5", "val_acc", (Some(3.0), 0.5, "")),
            (
                "      Epoch    GPU_mem   box_loss   Instances       Size",
                "        1/3      2.38G      1.215         22        640: 100%|####| 8/8 [00:01<00:00]",
                "box_loss",
                (Some(1.0), 1.215, ""),
            ),
            (
                "     Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|##| 4/4 [00:01<00:00]",
                "      all        128        929       0.64      0.537      0.605      0.446",
                "mAP50-95",
                (None, 0.446, "all"),
            ),
            (
                "E    #       LOSS TOK2VEC  ENTS_F  SCORE ",
                "  0     200        12.50    45.10    0.45",
                "SCORE",
                (Some(200.0), 0.45, ""),
            ),
            ("epoch train_loss val_loss", "2 0.5 0.4", "val_loss", (Some(2.0), 0.4, "")),
            ("#  step   rmse_val   lr", "  100   1.5e-01   1e-3", "rmse_val", (Some(100.0), 0.15, "")),
            ("#epoch train_loss val_loss", "2 0.5 0.4", "val_loss", (Some(2.0), 0.4, "")),
            ("| Metric | Train | Val |", "| acc | 0.6 | 0.5 |", "acc", (None, 0.6, "")),
            ("tokens_seen,loss", "3000,0.4", "loss", (Some(3000.0), 0.4, "")),
            ("|      | train | validation | test |", "| acc | 0.6 | 0.5 | 0.4 |", "acc", (None, 0.6, "")),
        ];
        for (heading, row, name, (place, value, group)) in cases {
            assert_eq!(read(heading, row, name), Some((place, value, group.to_owned())), "{heading}\n{row}");
        }
        for (heading, row) in [
            ("Metrics: loss, acc, f1", "3, 224, 224"),
            ("loss, acc, f1", "Input size: 3, 224, 224"),
            ("a,b", "x,y"),
        ] {
            assert_eq!(read(heading, row, "acc"), None, "{heading}");
        }
        let upper = "average  since         example";
        let table =
            PrintedTable::from_heading("loss     last          counter").expect("a heading").under(upper);
        assert_eq!(table.names, ["average loss", "since last", "example counter"]);
        assert!(is_rule("|:---:|:---:|") && is_rule("------") && !is_rule("- loss -"));
    }
}
