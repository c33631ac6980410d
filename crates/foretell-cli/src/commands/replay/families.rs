//! Results of several sets of curves, by family: similar sets count as one.

use super::answer::{deviations, percent, rule};
use super::replayed::ReplayedFile;
use super::report::SettingRow;
use crate::output::table;
use foretell::statistics::{mean, standard_error};
use serde::Serialize;
use std::collections::BTreeMap;

/// Results of all settings over families of sets.
#[derive(Serialize)]
pub(super) struct FamilyComparison {
    /// Each family with the names of its sets.
    pub(super) sets: BTreeMap<String, Vec<String>>,
    /// One row a setting, in the order of each set's rows.
    pub(super) rows: Vec<FamilyRow>,
}

/// One setting. A figure is the mean over families, that of a family the mean over its sets; errors are standard errors over families.
#[derive(Serialize)]
pub(super) struct FamilyRow {
    pub(super) policy: String,
    pub(super) caution: Option<&'static str>,
    pub(super) predictor: Option<String>,
    pub(super) stop_probability: Option<f64>,
    #[serde(skip)]
    rule: String,
    /// Training without stopping over training with it, where each family has the same amount of training.
    pub(super) speedup_total: f64,
    pub(super) speedup_total_stderr: f64,
    pub(super) best_kept: f64,
    pub(super) best_kept_stderr: f64,
    pub(super) best_three_kept: f64,
    pub(super) best_three_kept_stderr: f64,
    pub(super) regret_sd_mean: f64,
    pub(super) regret_sd_stderr: f64,
    /// Over the families that lost the best in any order; none if none did.
    pub(super) regret_sd_where_lost: Option<f64>,
    pub(super) regret_sd_where_lost_stderr: Option<f64>,
}

/// The family of the set called `set`: its name up to the first hyphen or underscore.
fn family(set: &str) -> &str {
    set.split(['-', '_']).next().unwrap_or(set)
}

impl FamilyComparison {
    /// `None` for a single set.
    pub(super) fn compare(files: &[ReplayedFile]) -> Option<Self> {
        if files.len() < 2 {
            return None;
        }
        let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in files {
            sets.entry(family(&file.curves).to_owned()).or_default().push(file.curves.clone());
        }
        // every set is replayed with the same settings, in the same order
        let settings = files.iter().map(|file| file.rows.len()).min().unwrap_or(0);
        let together = |i: usize| {
            let mut rows: BTreeMap<&str, Vec<&SettingRow>> = BTreeMap::new();
            for file in files {
                rows.entry(family(&file.curves)).or_default().push(&file.rows[i]);
            }
            FamilyRow::mean(&rows.into_values().collect::<Vec<_>>())
        };
        Some(Self { sets, rows: (0..settings).map(together).collect() })
    }

    /// The table.
    pub(super) fn text(&self) -> String {
        let names: Vec<String> = self
            .sets
            .iter()
            .map(|(family, sets)| match sets.len() {
                1 => family.clone(),
                n => format!("{family} ({n})"),
            })
            .collect();
        let headings =
            ["policy", "predictor", "Δ", "speed-up", "best kept", "of best 3", "regret in sd", "where lost"];
        format!(
            "All {} sets, of {} families: {}. Each family counts once; ± is the standard error over families.\n\n{}",
            self.sets.values().map(Vec::len).sum::<usize>(),
            self.sets.len(),
            names.join(", "),
            table(&headings, &self.rows.iter().map(FamilyRow::cells).collect::<Vec<_>>())
        )
    }
}

impl FamilyRow {
    /// One setting's rows, family by family.
    fn mean(families: &[Vec<&SettingRow>]) -> Self {
        let each = |value: &dyn Fn(&SettingRow) -> Option<f64>| -> Vec<f64> {
            let of_family = |rows: &Vec<&SettingRow>| {
                let values: Vec<f64> = rows.iter().filter_map(|row| value(row)).collect();
                (!values.is_empty()).then(|| mean(&values))
            };
            families.iter().filter_map(of_family).collect()
        };
        let both = |value: &dyn Fn(&SettingRow) -> Option<f64>| {
            let values = each(value);
            (mean(&values), standard_error(&values))
        };
        // the training that is left is averaged instead of the speed-up, because equal amounts of training add up
        let (left, left_error) = both(&|row| Some(1.0 / row.totals.speedup_total));
        let (best_kept, best_kept_stderr) = both(&|row| Some(row.best_kept));
        let (best_three_kept, best_three_kept_stderr) = both(&|row| Some(row.totals.best_three_kept));
        let (regret_sd_mean, regret_sd_stderr) = both(&|row| Some(row.regret_sd_mean));
        let lost = each(&|row| row.totals.regret_sd_where_lost);
        let first = families[0][0];
        Self {
            policy: first.policy.clone(),
            caution: first.caution,
            predictor: first.predictor.clone(),
            stop_probability: first.stop_probability,
            rule: rule(first),
            speedup_total: 1.0 / left,
            // of 1/x: the error of x over x²
            speedup_total_stderr: left_error / (left * left),
            best_kept,
            best_kept_stderr,
            best_three_kept,
            best_three_kept_stderr,
            regret_sd_mean,
            regret_sd_stderr,
            regret_sd_where_lost: (!lost.is_empty()).then(|| mean(&lost)),
            regret_sd_where_lost_stderr: (!lost.is_empty()).then(|| standard_error(&lost)),
        }
    }

    fn cells(&self) -> Vec<String> {
        let where_lost = self.regret_sd_where_lost.zip(self.regret_sd_where_lost_stderr);
        vec![
            self.caution.map_or(self.policy.clone(), |caution| format!("--caution {caution}")),
            self.predictor.clone().unwrap_or("–".to_owned()),
            self.rule.clone(),
            format!("{:.2} ± {:.2}", self.speedup_total, self.speedup_total_stderr),
            percent(self.best_kept, self.best_kept_stderr),
            percent(self.best_three_kept, self.best_three_kept_stderr),
            format!("{:.3} ± {:.3}", self.regret_sd_mean, self.regret_sd_stderr),
            where_lost.map_or("–".to_owned(), deviations),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn a_family_is_what_stands_before_the_first_hyphen_or_underscore() {
        let cases = [("taskset_imdb_GRU", "taskset"), ("cifar-long", "cifar"), ("runs", "runs")];
        for (set, expected) in cases {
            assert_eq!(family(set), expected);
        }
    }
}
