//! Which of the numbers that a script prints is its metric.

use super::probe::Sample;
use foretell::Direction;
use foretell_logs::direction_of;
use foretell_run::{MetricSource, ReportReader, scan};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is the metric, as far as can be told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// What `--metric` is given.
    pub(super) source: String,
    pub(super) minimize: bool,
    /// The other names that were printed.
    pub(super) others: Vec<String>,
    /// The table that has it.
    pub(super) table: Option<PathBuf>,
    /// Whether it comes only once, at the end.
    pub(super) once: bool,
}

impl Found {
    /// The metric that the user named.
    pub(super) fn named(source: &str, guessed: Option<&Self>) -> Self {
        let minimize = direction_of(source) == Some(Direction::Minimize);
        let guessed = guessed.cloned();
        let others = guessed.as_ref().map(|found| found.others.clone()).unwrap_or_default();
        Self {
            source: source.to_owned(),
            minimize,
            others,
            table: guessed.as_ref().and_then(|found| found.table.clone()),
            once: false,
        }
    }
}

/// A name that was printed with a number, with the text between this number and the one before.
struct Candidate {
    name: String,
    label: String,
    count: usize,
}

/// By name and the words of its label: in `train accuracy: 0.9, val accuracy: 0.7` the name alone does not tell which.
type Candidates = BTreeMap<(String, String), Candidate>;

/// The most likely metric of a sample.
pub(super) fn find(sample: &Sample) -> Option<Found> {
    let mut candidates = Candidates::new();
    let mut columns: Option<Vec<&str>> = None;
    for line in &sample.lines {
        let cells: Vec<&str> =
            line.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"')).collect();
        let is_name = |cell: &&str| {
            cell.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !cell.contains([' ', '=', ':'])
        };
        if cells.len() > 1 && cells.iter().all(is_name) {
            columns = Some(cells);
            continue;
        }
        if let Some(columns) = columns.as_ref().filter(|columns| columns.len() == cells.len()) {
            for (name, _) in columns.iter().zip(&cells).filter(|(_, cell)| cell.parse::<f64>().is_ok()) {
                count(&mut candidates, name, name);
            }
        }
        let mut end = 0;
        for pair in scan::pairs(line) {
            let label = &line[end..pair.value_at];
            end = pair.end;
            if !pair.is_past {
                count(&mut candidates, pair.name, label);
            }
        }
    }
    candidates.retain(|(name, _), _| !scan::names_step(name));
    let best = candidates.values().max_by_key(|candidate| rank(candidate))?;
    if rank(best).0 == 0 {
        return None;
    }
    let is_alone = candidates.values().filter(|other| other.name == best.name).count() == 1;
    let others = candidates
        .keys()
        .map(|(name, _)| name)
        .filter(|name| **name != best.name && direction_of(name).is_some());
    Some(Found {
        source: if is_alone { best.name.clone() } else { pattern(&best.label) },
        minimize: direction_of(&best.name) == Some(Direction::Minimize),
        others: others.cloned().collect(),
        table: sample
            .table
            .clone()
            .filter(|_| columns.is_some_and(|columns| columns.contains(&best.name.as_str()))),
        once: sample.ended && best.count == 1,
    })
}

fn count(candidates: &mut Candidates, name: &str, label: &str) {
    let fresh = || Candidate { name: name.to_owned(), label: label.to_owned(), count: 0 };
    candidates.entry((name.to_owned(), words(label))).or_insert_with(fresh).count += 1;
}

/// The words of a label, without numbers.
fn words(label: &str) -> String {
    let words = label.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// 3 for a held-out value, 1 for a training value, 2 where it is not said.
fn preference(label: &str) -> u8 {
    let label = label.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| label.contains(word));
    if has(&["val", "eval", "dev", "test", "held"]) {
        3
    } else if has(&["train", "batch"]) {
        1
    } else {
        2
    }
}

/// What is best: known to be a metric, held out, a score before a loss, printed often.
fn rank(candidate: &Candidate) -> (u8, u8, u8, usize) {
    let direction = direction_of(&candidate.name);
    let held_out = preference(&format!("{} {}", candidate.label, candidate.name));
    let score = u8::from(direction == Some(Direction::Maximize));
    (u8::from(direction.is_some()), held_out, score, candidate.count)
}

/// A pattern for the number behind `label`.
fn pattern(label: &str) -> String {
    let label = label.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let escape = |c: char| "\\.+*?()|[]{}^$".contains(c).then_some('\\').into_iter().chain([c]);
    let escaped: String = label.chars().flat_map(escape).collect();
    format!(r"{escaped}([\d.]+)")
}

/// The epochs of a whole training, if a line names them.
pub(super) fn announced(lines: &[String]) -> Option<u64> {
    lines.iter().find_map(|line| epochs(line))
}

/// How many epochs a training that was watched to its end has reported of the metric `source`.
pub(super) fn reported(sample: &Sample, source: &str) -> Option<u64> {
    let source = MetricSource::parse(source).ok().filter(|_| sample.ended && !sample.failed)?;
    let (reports, _) = ReportReader::new(source, 0).read_all(&sample.text);
    let mut steps = reports.into_iter().filter_map(|report| Some(report.ok()?.step));
    let first = steps.next()?;
    Some(steps.fold(first, u64::max) + u64::from(first == 0))
}

/// N of `Epoch 1/N`.
fn epochs(line: &str) -> Option<u64> {
    let pair = scan::pairs(line).into_iter().find(|pair| scan::names_step(pair.name))?;
    let rest = line[pair.end..].strip_prefix('/').or_else(|| line[pair.end..].strip_prefix(" of "))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|&epochs| epochs > 1)
}

#[cfg(test)]
mod tests {
    use super::{Sample, announced, find, reported};

    #[test]
    fn the_held_out_score_is_found() {
        let cases: [(&[&str], &str, bool, Option<u64>); 7] = [
            (&["Epoch 1/10 loss: 0.9 acc: 0.5 val_loss: 0.8 val_acc: 0.6"], "val_acc", false, Some(10)),
            (&["{'eval_loss': '0.5', 'epoch': '1.0'}"], "eval_loss", true, None),
            (&["epoch,loss,val_acc", "1,0.9,0.5"], "val_acc", false, None),
            (&["step 10: train_loss 2.0", "step 20: train_loss 1.0"], "train_loss", true, None),
            (&["train accuracy: 0.9, val accuracy: 0.7"], r"val accuracy: ([\d.]+)", false, None),
            (&["lr=0.1 seed=3 val/acc=0.5"], "val/acc", false, None),
            (&["epoch 1 of 5: perplexity 30.5"], "perplexity", true, Some(5)),
        ];
        for (lines, expected, minimize, epochs) in cases {
            let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
            let found = find(&sample(lines.clone())).expect(expected);
            assert_eq!(
                (found.source.as_str(), found.minimize, announced(&lines)),
                (expected, minimize, epochs)
            );
        }
        assert!(find(&sample(vec!["hello 3".to_owned()])).is_none());
    }

    #[test]
    fn a_training_that_was_watched_to_its_end_shows_how_many_epochs_it_has() {
        let of = |lines: &[&str]| {
            let lines = lines.iter().map(|&line| line.to_owned()).collect();
            reported(&sample(lines), "acc")
        };
        assert_eq!(of(&["Namespace(epochs=40)", "acc=0.1", "acc=0.2", "acc=0.3"]), Some(3));
        assert_eq!(of(&["epoch 0 acc=0.1", "epoch 1 acc=0.2"]), Some(2));
        assert_eq!(of(&["epoch 5 acc=0.1", "epoch 10 acc=0.2"]), Some(10));
        assert_eq!(of(&["loss=0.1"]), None);
        let cut = Sample { ended: false, ..sample(vec!["acc=0.1".to_owned()]) };
        assert_eq!(reported(&cut, "acc"), None);
    }

    fn sample(lines: Vec<String>) -> Sample {
        let text = lines.join("\n");
        Sample { lines, failed: false, ended: true, table: None, text }
    }
}
