//! The loops around the statement that prints the metric, as the hook recorded them.

use foretell_logs::printed::Report;
use foretell_run::{HookLine, HookRecord};
use std::collections::{BTreeMap, BTreeSet};

/// The reports that are looked for among the lines.
const MAX_MATCHED_REPORTS: usize = 5;

/// The loops around a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EnclosingLoops {
    /// How often the loop over epochs will run.
    pub(super) epochs: Option<u64>,
    /// How often the loop over epochs is started, if that is more than once: folds, seeds.
    pub(super) trainings: Option<u64>,
    /// Whether the line is printed several times per epoch.
    pub(super) in_batches: bool,
    /// The statement.
    pub(super) site: String,
}

/// The loops around the line of a printed metric with these `reports`; `epochs` is the value of the option for epochs.
pub(super) fn around(
    records: &[HookRecord],
    reports: &[Report],
    epochs: Option<u64>,
) -> Option<EnclosingLoops> {
    let lines = records.iter().filter_map(|record| match record {
        HookRecord::Line(line) => Some(line),
        _ => None,
    });
    let values = reports.iter().take(MAX_MATCHED_REPORTS).filter_map(|report| report.value);
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    let mut sites: BTreeMap<&str, Vec<&HookLine>> = BTreeMap::new();
    for line in lines.filter(|line| !line.loops.is_empty()) {
        sites.entry(line.site.as_deref().unwrap_or_default()).or_default().push(line);
    }
    let counted = sites.iter().map(|(site, lines)| {
        let printed = values.iter().filter(|value| lines.iter().any(|line| line.text.contains(*value)));
        (printed.count(), *site, lines)
    });
    let (_, site, lines) = counted.max_by_key(|(count, ..)| *count).filter(|(count, ..)| *count > 0)?;
    let last = lines.last()?;
    let by_length = last.loops.iter().position(|around| around.of.is_some() && around.of == epochs);
    let by_name = last.loops.iter().position(|around| around.text.to_lowercase().contains("epoch"));
    let at = by_length.or(by_name).or((last.loops.len() == 1).then_some(0))?;
    let counts: BTreeSet<Vec<Option<i64>>> =
        lines.iter().map(|line| line.loops.iter().take(at + 1).map(|around| around.now).collect()).collect();
    let outer: u64 = last.loops[..at].iter().map(|around| around.of.unwrap_or(1)).product();
    let is_counted = counts.iter().flatten().all(Option::is_some);
    Some(EnclosingLoops {
        epochs: last.loops[at].of,
        trainings: Some(outer).filter(|&outer| outer > 1),
        in_batches: is_counted && at + 1 < last.loops.len() && lines.len() > counts.len(),
        site: site.to_owned(),
    })
}

/// The `text` without the lines that the statement at `site` printed: those of the form of a recorded line, because the hook records only
/// the first lines of a statement.
pub(super) fn without(records: &[HookRecord], text: &str, site: &str) -> String {
    let (mut whole, mut parts) = (BTreeSet::new(), BTreeSet::new());
    for record in records {
        if let HookRecord::Line(line) = record
            && line.site.as_deref() == Some(site)
        {
            let forms = line.text.lines().map(mask_numbers);
            if line.part {
                parts.extend(forms.filter(|form| !form.is_empty()));
            } else {
                whole.extend(forms);
            }
        }
    }
    let rest = text.lines().filter(|line| {
        let form = mask_numbers(line);
        !whole.contains(&form) && !parts.iter().any(|part| form.contains(part.as_str()))
    });
    rest.collect::<Vec<_>>().join("\n")
}

/// The form of a line, which all lines of one statement share: without its numbers and spaces.
fn mask_numbers(line: &str) -> String {
    line.chars().filter(|&c| !(c.is_ascii_digit() || c.is_whitespace() || "+-.e".contains(c))).collect()
}

#[cfg(test)]
mod tests {
    use super::{EnclosingLoops, around, without};
    use crate::commands::init::probe::OutputSample;
    use foretell_logs::printed::settle_first_trial;
    use foretell_run::{HookLine, HookLoop, HookRecord};

    /// Two lines per item of the innermost of the `loops` (name, length), each with its counters.
    fn sample_of_loops(loops: &[(&str, u64)], rows: &[(&[i64], &str)]) -> OutputSample {
        let line = |(counters, text): &(&[i64], &str)| {
            let around = loops.iter().zip(*counters).map(|((name, of), now)| HookLoop {
                text: (*name).to_owned(),
                now: Some(*now),
                of: Some(*of),
            });
            HookRecord::Line(HookLine {
                text: (*text).to_owned(),
                site: Some("t.py:3".to_owned()),
                loops: around.collect(),
                ..HookLine::default()
            })
        };
        let text = rows.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
        OutputSample { text, records: rows.iter().map(line).collect(), ..OutputSample::default() }
    }

    fn enclosing_loops_of(sample: &OutputSample, epochs: Option<u64>) -> EnclosingLoops {
        around(&sample.records, &settle_first_trial(&sample.text, None, None).whole.reports, epochs)
            .expect("loops")
    }

    #[test]
    fn folds_batches_and_epochs_are_told_apart() {
        let rows: &[(&[i64], &str)] = &[(&[0, 1], "epoch 1 val_acc 0.31"), (&[0, 2], "epoch 2 val_acc 0.42")];
        let folds = enclosing_loops_of(&sample_of_loops(&[("fold", 3), ("e", 2)], rows), Some(2));
        assert_eq!((folds.epochs, folds.trainings, folds.in_batches), (Some(2), Some(3), false));
        let rows: &[(&[i64], &str)] =
            &[(&[0, 0], "val_acc 0.31"), (&[0, 10], "val_acc 0.42"), (&[1, 0], "val_acc 0.53")];
        let sample = sample_of_loops(&[("epoch", 4), ("i", 20)], rows);
        let batches = enclosing_loops_of(&sample, None);
        assert_eq!((batches.epochs, batches.trainings, batches.in_batches), (Some(4), None, true));
        assert_eq!(without(&sample.records, "val_acc 0.31\nTest: 0.5\nval_acc 0.42", "t.py:3"), "Test: 0.5");
    }
}
