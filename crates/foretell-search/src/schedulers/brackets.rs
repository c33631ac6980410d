//! Hyperband's brackets, computed in integers.
//!
//! A rung with too few results promotes fewer trials. With new trials in place of failed ones the plan would depend on luck.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// The largest resource that a plan is made for: its totals then fit 64 bits with room to spare.
const MAX_PLANNED_RESOURCE: u64 = crate::limits::MAX_COUNT;

/// The reason why a plan is impossible.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum BracketError {
    /// η is too small to discard anything.
    #[error("eta = {eta} keeps every configuration. Use 2 or more (3 is usual)")]
    Eta {
        /// η as given.
        eta: u64,
    },
    /// R is below η: nothing could be compared before it is fully trained.
    #[error("the largest resource {resource} is below eta = {eta}. Raise it to at least {eta}, or lower eta")]
    Resource {
        /// R as given.
        resource: u64,
        /// η as given.
        eta: u64,
    },
    /// R is beyond what a plan is made for.
    #[error("the largest resource {resource} is above {MAX_PLANNED_RESOURCE}. Count in a coarser unit")]
    TooLarge {
        /// R as given.
        resource: u64,
    },
    /// A bracket of no configuration.
    #[error("a bracket must contain at least 1 configuration")]
    NoConfigurations,
}

/// One level of a [`Bracket`]: a number of configurations, trained to a number of epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    /// n_i, how many configurations.
    pub configurations: u64,
    /// r_i, the resource that each of them has had at the end of the rung, in whole units.
    pub resource: u64,
}

/// A bracket of successive halving: rungs with fewer and fewer configurations and more and more epochs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bracket {
    /// s, how often the bracket discards; it has s + 1 rungs (fewer only where no configuration is left).
    pub s: u32,
    /// The rungs, lowest resource first; never empty.
    pub rungs: Vec<Rung>,
}

/// The totals of some brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BracketTotals {
    /// Configurations sampled.
    pub configurations: u64,
    /// Configurations trained up to the largest resource.
    pub full: u64,
    /// Resource spent, in units, if each rung trains its configurations from the beginning: Σ n_i·r_i.
    pub scratch: u64,
    /// Resource spent, in units, if each rung continues from the last: Σ n_i·(r_i − r_{i−1}).
    pub resume: u64,
}

/// The brackets of one Hyperband run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HyperbandPlan {
    /// R, the most resource that a configuration gets, in units.
    pub max_resource: u64,
    /// η: one in so many configurations continues.
    pub eta: u64,
    /// The brackets, most eager first: s from s_max down to 0.
    pub brackets: Vec<Bracket>,
}

/// The brackets of a Hyperband run, in exact integer arithmetic.
///
/// s_max = max { s : η^s ≤ R };  for s = s_max … 0:  n = ⌈(s_max + 1)·η^s/(s + 1)⌉, and rung i = 0 … s has
/// n_i = ⌊n/η^i⌋ configurations and r_i = max(1, round(R/η^(s−i))) units of resource. The best n_{i+1} of a rung
/// continue.
///
/// | symbol | field          | meaning                                  | range            | default |
/// |--------|----------------|------------------------------------------|------------------|---------|
/// | R      | `max_resource` | the most resource a configuration gets   | η … 10^12 units  |         |
/// | η      | `eta`          | one in so many configurations continues  | ≥ 2              | 3       |
/// | s      | `s`            | how often a bracket discards             | 0 … s_max        |         |
///
/// Where R/η^(s−i) lies halfway between two integers it is rounded up. s_max comes from an integer loop: the
/// logarithm of the usual code loses a bracket at R = 243, η = 3. The resources depend on s − i alone, so all brackets
/// share one set of levels, [`levels`].
///
/// Source: Li, Jamieson, DeSalvo, Rostamizadeh & Talwalkar, "Hyperband", JMLR 2018, algorithm 1; the rounding of r_i,
/// which the paper leaves open, is ours.
///
/// # Errors
/// [`BracketError::Eta`] if η < 2, [`BracketError::Resource`] if R < η, [`BracketError::TooLarge`] if R > 10^12.
///
/// ```
/// # use foretell_search::plan;
/// let plan = plan(27, 3)?;
/// let first: Vec<_> = plan.brackets[0].rungs.iter().map(|r| (r.configurations, r.resource)).collect();
/// assert_eq!(first, [(27, 1), (9, 3), (3, 9), (1, 27)]);
/// let totals = plan.totals();
/// assert_eq!((totals.configurations, totals.full, totals.scratch), (49, 8, 423));
/// # Ok::<(), foretell_search::BracketError>(())
/// ```
#[doc(alias = "hyperband")]
pub fn plan(max_resource: u64, eta: u64) -> Result<HyperbandPlan, BracketError> {
    let levels = levels(max_resource, eta)?;
    let s_max = levels.len() - 1;
    let brackets = (0..=s_max).rev().map(|s| {
        let wanted = (s_max as u64 + 1) * eta.pow(s as u32);
        halving_bracket(wanted.div_ceil(s as u64 + 1), eta, &levels[s_max - s..])
    });
    Ok(HyperbandPlan { max_resource, eta, brackets: brackets.collect() })
}

/// The resource levels that all brackets share, and ASHA's rungs: max(1, round(R/η^k)) for k = s_max … 0, strictly
/// rising, the last one R. Ties are rounded up.
///
/// # Errors
/// Those of [`plan`].
///
/// ```
/// # use foretell_search::levels;
/// assert_eq!(levels(300, 3)?, [1, 4, 11, 33, 100, 300]);
/// # Ok::<(), foretell_search::BracketError>(())
/// ```
#[doc(alias = "asha")]
pub fn levels(max_resource: u64, eta: u64) -> Result<Vec<u64>, BracketError> {
    if eta < 2 {
        return Err(BracketError::Eta { eta });
    }
    if max_resource < eta {
        return Err(BracketError::Resource { resource: max_resource, eta });
    }
    if max_resource > MAX_PLANNED_RESOURCE {
        return Err(BracketError::TooLarge { resource: max_resource });
    }
    let s_max = largest_power(max_resource, eta);
    Ok((0..=s_max).rev().map(|k| divide_to_nearest(max_resource, eta.pow(k)).max(1)).collect())
}

/// The last `most` of the [`levels`] below R, and R; all of them without `most`.
///
/// # Errors
/// Those of [`levels`].
pub(crate) fn last_levels(max_resource: u64, eta: u64, most: Option<u32>) -> Result<Vec<u64>, BracketError> {
    let mut levels = levels(max_resource, eta)?;
    let dropped = most.map_or(0, |most| levels.len().saturating_sub(most.max(1) as usize + 1));
    levels.drain(..dropped);
    Ok(levels)
}

/// A single bracket of successive halving that starts with `configurations`.
///
/// The bracket discards s = min(s_max(R), s_max(n)) times, so that at least one configuration reaches R.
///
/// # Errors
/// Those of [`plan`], and [`BracketError::NoConfigurations`].
///
/// ```
/// # use foretell_search::successive_halving;
/// let bracket = successive_halving(20, 27, 3)?;
/// let rungs: Vec<_> = bracket.rungs.iter().map(|r| (r.configurations, r.resource)).collect();
/// assert_eq!(rungs, [(20, 3), (6, 9), (2, 27)]);
/// # Ok::<(), foretell_search::BracketError>(())
/// ```
pub fn successive_halving(configurations: u64, max_resource: u64, eta: u64) -> Result<Bracket, BracketError> {
    let levels = levels(max_resource, eta)?;
    if configurations == 0 {
        return Err(BracketError::NoConfigurations);
    }
    let s = (largest_power(configurations, eta) as usize).min(levels.len() - 1);
    Ok(halving_bracket(configurations, eta, &levels[levels.len() - 1 - s..]))
}

/// The bracket that starts with `configurations` and keeps one of η at each of `levels`.
fn halving_bracket(configurations: u64, eta: u64, levels: &[u64]) -> Bracket {
    let mut left = configurations;
    let mut rungs = Vec::with_capacity(levels.len());
    for &resource in levels {
        if left == 0 {
            break;
        }
        rungs.push(Rung { configurations: left, resource });
        left /= eta; // ⌊⌊n/η^i⌋/η⌋ = ⌊n/η^(i+1)⌋
    }
    Bracket { s: levels.len() as u32 - 1, rungs }
}

/// The largest s with base^s ≤ `number`; `number` ≥ 1, `base` ≥ 2.
fn largest_power(number: u64, base: u64) -> u32 {
    let mut s = 0;
    // in integers, because a quotient of logarithms is one too small for 243 = 3^5
    let mut rest = number / base;
    while rest > 0 {
        s += 1;
        rest /= base;
    }
    s
}

/// numerator/denominator to the nearest integer, halves up.
fn divide_to_nearest(numerator: u64, denominator: u64) -> u64 {
    (2 * numerator + denominator) / (2 * denominator)
}

impl Bracket {
    /// The totals of the bracket.
    pub fn totals(&self) -> BracketTotals {
        let mut totals = BracketTotals::default();
        let mut before = 0;
        for rung in &self.rungs {
            totals.scratch += rung.configurations * rung.resource;
            totals.resume += rung.configurations * (rung.resource - before);
            before = rung.resource;
        }
        totals.configurations = self.rungs.first().map_or(0, |rung| rung.configurations);
        totals.full = self.rungs.get(self.s as usize).map_or(0, |rung| rung.configurations);
        totals
    }
}

impl HyperbandPlan {
    /// The totals of all brackets together.
    pub fn totals(&self) -> BracketTotals {
        self.brackets.iter().map(Bracket::totals).fold(BracketTotals::default(), |sum, next| BracketTotals {
            configurations: sum.configurations + next.configurations,
            full: sum.full + next.full,
            scratch: sum.scratch + next.scratch,
            resume: sum.resume + next.resume,
        })
    }

    /// The number of resource levels.
    fn width(&self) -> usize {
        self.brackets.iter().map(|bracket| bracket.s as usize + 1).max().unwrap_or(0)
    }

    /// The table's rows: s, one `configurations@resource` a level, and the units of resource.
    fn rows(&self) -> Vec<Vec<String>> {
        let width = self.width();
        let mut rows = vec![vec![String::new(); width + 3]];
        rows[0][0] = "s".to_owned();
        rows[0][width + 1] = "from scratch".to_owned();
        rows[0][width + 2] = "with resume".to_owned();
        for bracket in &self.brackets {
            let mut row = vec![String::new(); width + 3];
            let (first, totals) = (width - bracket.s as usize, bracket.totals());
            row[0] = bracket.s.to_string();
            for (i, rung) in bracket.rungs.iter().enumerate() {
                row[first + i] = format!("{}@{}", rung.configurations, rung.resource);
            }
            row[width + 1] = totals.scratch.to_string();
            row[width + 2] = totals.resume.to_string();
            rows.push(row);
        }
        rows
    }
}

/// An aligned table, one line per bracket and one column per resource level, and a line of totals.
impl fmt::Display for HyperbandPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let name = if self.brackets.len() > 1 { "Hyperband" } else { "Successive halving" };
        writeln!(f, "{name}, R = {}, eta = {}: configurations@resource", self.max_resource, self.eta)?;
        for row in &rows {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
                format!("{cell:>width$}")
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  "))?;
        }
        let BracketTotals { configurations, full, scratch, resume } = self.totals();
        write!(
            f,
            "{configurations} configurations, {full} to the full {}; {scratch} units from scratch ({:.2} R), {resume} with resume ({:.2} R)",
            self.max_resource,
            scratch as f64 / self.max_resource as f64,
            resume as f64 / self.max_resource as f64,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rungs of each bracket as `n@r n@r`.
    fn written(plan: &HyperbandPlan) -> Vec<String> {
        let rung = |rung: &Rung| format!("{}@{}", rung.configurations, rung.resource);
        plan.brackets
            .iter()
            .map(|bracket| bracket.rungs.iter().map(rung).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn the_paper_table_of_81_and_3_is_reproduced() {
        let plan = plan(81, 3).unwrap();
        let expected =
            ["81@1 27@3 9@9 3@27 1@81", "34@3 11@9 3@27 1@81", "15@9 5@27 1@81", "8@27 2@81", "5@81"];
        assert_eq!(written(&plan), expected);
        let totals = BracketTotals { configurations: 143, full: 10, scratch: 1902, resume: 1581 };
        assert_eq!(plan.totals(), totals);
    }

    #[test]
    fn configurations_of_other_published_settings_are_reproduced() {
        //  R, η, configurations a rung, sampled in all, fully trained
        type Row<'a> = (u64, u64, &'a [&'a [u64]], u64, u64);
        let rows: [Row; 4] = [
            (27, 3, &[&[27, 9, 3, 1], &[12, 4, 1], &[6, 2], &[4]], 49, 8),
            (60, 3, &[&[27, 9, 3, 1], &[12, 4, 1], &[6, 2], &[4]], 49, 8),
            (
                300,
                3,
                &[&[243, 81, 27, 9, 3, 1], &[98, 32, 10, 3, 1], &[41, 13, 4, 1], &[18, 6, 2], &[9, 3], &[6]],
                415,
                14,
            ),
            (300, 4, &[&[256, 64, 16, 4, 1], &[80, 20, 5, 1], &[27, 6, 1], &[10, 2], &[5]], 378, 10),
        ];
        for (max_resource, eta, expected, configurations, full) in rows {
            let plan = plan(max_resource, eta).unwrap();
            let rungs: Vec<Vec<u64>> =
                plan.brackets.iter().map(|b| b.rungs.iter().map(|r| r.configurations).collect()).collect();
            assert_eq!(rungs, expected, "R = {max_resource}, eta = {eta}");
            let totals = plan.totals();
            assert_eq!((totals.configurations, totals.full), (configurations, full));
        }
    }

    #[test]
    fn no_bracket_is_lost_where_the_logarithm_is_an_integer() {
        assert_eq!(plan(243, 3).unwrap().brackets.len(), 6);
        assert_eq!(plan(1000, 10).unwrap().brackets[0].s, 3);
    }

    #[test]
    fn halves_are_rounded_up_and_levels_rise() {
        assert_eq!(levels(10, 4).unwrap(), [3, 10]); // 2.5
        assert_eq!(levels(5, 2).unwrap(), [1, 3, 5]); // 1.25, 2.5
        for eta in 2..=10 {
            for max_resource in eta..2000 {
                let levels = levels(max_resource, eta).unwrap();
                assert!(levels.is_sorted_by(|a, b| a < b), "{max_resource}, {eta}: {levels:?}");
                assert_eq!(levels.last(), Some(&max_resource));
            }
        }
    }

    /// s_max by counting up, n by searching for the least integer, r by comparing distances: nothing but products.
    fn oracle(max_resource: u128, eta: u128) -> Vec<Vec<(u128, u128)>> {
        let mut s_max = 0;
        while (0..=s_max).fold(1, |power, _| power * eta) <= max_resource {
            s_max += 1;
        }
        let power = |k: usize| (0..k).fold(1_u128, |power, _| power * eta);
        let least = |mut low: u128, mut high: u128, enough: &dyn Fn(u128) -> bool| {
            while low < high {
                let middle = (low + high) / 2;
                if enough(middle) { high = middle } else { low = middle + 1 }
            }
            low
        };
        let bracket = |s: usize| {
            let (wanted, share) = ((s_max as u128 + 1) * power(s), s as u128 + 1);
            let n = least(0, wanted, &|n| n * share >= wanted);
            let rung = |i: usize| {
                let below = least(0, n + 1, &|m| m * power(i) > n) - 1;
                let divisor = power(s - i);
                // the least r with r + 1/2 > R/η^(s−i)
                let r = least(1, max_resource, &|r| (2 * r + 1) * divisor > 2 * max_resource);
                (below, r)
            };
            (0..=s).map(rung).take_while(|&(n, _)| n > 0).collect()
        };
        (0..=s_max).rev().map(bracket).collect()
    }

    #[test]
    fn plans_agree_with_an_oracle_around_every_power() {
        let mut compared = 0;
        for eta in 2..=10_u64 {
            for power in (1..=20).map(|k| eta.pow(k)).take_while(|&power| power <= 1_000_000) {
                for max_resource in [power - 1, power, power + 1].into_iter().filter(|&r| r >= eta) {
                    let plan = plan(max_resource, eta).unwrap();
                    let ours: Vec<Vec<(u128, u128)>> = (plan.brackets.iter())
                        .map(|b| {
                            b.rungs.iter().map(|r| (r.configurations.into(), r.resource.into())).collect()
                        })
                        .collect();
                    assert_eq!(ours, oracle(max_resource.into(), eta.into()), "{max_resource}, {eta}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 200, "{compared}");
    }

    #[test]
    fn every_bracket_trains_at_least_one_configuration_fully_and_resuming_is_never_dearer() {
        for eta in 2..=10 {
            for max_resource in (eta..3000).step_by(7) {
                for bracket in plan(max_resource, eta).unwrap().brackets {
                    let totals = bracket.totals();
                    assert!(totals.full >= 1, "{max_resource}, {eta}, {bracket:?}");
                    assert!(totals.resume <= totals.scratch && totals.resume >= max_resource);
                }
            }
        }
    }

    #[test]
    fn one_bracket_of_halving_ends_with_a_survivor() {
        for (configurations, expected) in
            [(1, "1@81"), (2, "2@81"), (3, "3@27 1@81"), (100, "100@1 33@3 11@9 3@27 1@81")]
        {
            let bracket = successive_halving(configurations, 81, 3).unwrap();
            let plan = HyperbandPlan { max_resource: 81, eta: 3, brackets: vec![bracket] };
            assert_eq!(written(&plan), [expected]);
            let table = plan.to_string();
            let halving = table.starts_with("Successive halving, R = 81");
            assert!(halving && expected.split(' ').all(|rung| table.contains(rung)), "{table}");
        }
        assert_eq!(successive_halving(0, 81, 3), Err(BracketError::NoConfigurations));
    }

    #[test]
    fn errors_name_the_value_and_the_cure() {
        for (max_resource, eta, expected) in [
            (81, 1, "eta = 1 keeps every configuration. Use 2 or more"),
            (81, 0, "eta = 0"),
            (2, 3, "resource 2 is below eta = 3. Raise it to at least 3"),
            (0, 3, "resource 0"),
            (u64::MAX, 2, "above 1000000000000"),
        ] {
            let error = plan(max_resource, eta).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let largest = plan(MAX_PLANNED_RESOURCE, 2).unwrap().totals();
        assert!(largest.scratch > MAX_PLANNED_RESOURCE && largest.scratch < u64::MAX / 1000);
    }

    #[test]
    fn the_table_is_aligned() {
        let expected = "\
Hyperband, R = 27, eta = 3: configurations@resource
s                         from scratch  with resume
3  27@1   9@3  3@9  1@27           108           81
2        12@3  4@9  1@27            99           78
1              6@9  2@27           108           90
0                   4@27           108          108
49 configurations, 8 to the full 27; 423 units from scratch (15.67 R), 357 with resume (13.22 R)";
        assert_eq!(plan(27, 3).unwrap().to_string(), expected);
    }
}
