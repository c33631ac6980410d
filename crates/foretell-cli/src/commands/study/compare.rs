//! `foretell study compare`: whether one study found something better than another, and how sure that is.

use crate::catalogue::catalogue;
use crate::failure::{CommandResult, Failure};
use crate::output::{OutputFormat, metric_difference, metric_value, print, print_json, with_deviation};
use foretell::statistics::{mean, normal_quantile};
use foretell_run::StoredStudy;
use foretell_search::{Best, Study, TrialState};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One study.
#[derive(Serialize)]
struct StudySide {
    study: String,
    trials: usize,
    epochs: u64,
    best: Best,
    /// Scores of its best with other seeds, trained for as long by `foretell study run`.
    again: Vec<f64>,
    /// The seeds of these trials.
    #[serde(skip)]
    seeds: Vec<u32>,
    /// The best after as many epochs as the shorter of both studies spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    best_at_equal_epochs: Option<f64>,
}

/// The basis of the measured difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DifferenceBasis {
    /// Both winners were trained with the same seeds: the differences seed by seed.
    Pairs,
    /// Both winners were trained with several seeds: their means.
    Seeds,
    /// The winners as they are, with the spread that trainings of one configuration have.
    Spread,
    /// The winners as they are; how much luck is in them is not known.
    Nothing,
}

#[derive(Serialize)]
struct CompareDocument {
    schema: &'static str,
    metric: String,
    a: StudySide,
    b: StudySide,
    /// How much better B is, in the metric's unit; negative where A is better.
    b_is_better_by: f64,
    by: DifferenceBasis,
    /// The 95 % interval of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<(f64, f64)>,
    /// `a`, `b`, or `unclear`.
    better: &'static str,
    /// How many seeds of each would show a difference as large as this one; absent where it is shown, or nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds_needed: Option<u64>,
}

/// The spread of trainings of one configuration: sums of squares and their degrees of freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TrainingNoise {
    squares: f64,
    freedom: usize,
}

impl TrainingNoise {
    /// Takes in trainings of one configuration.
    fn take(&mut self, scores: &[f64]) {
        if scores.len() > 1 {
            let middle = mean(scores);
            self.squares += scores.iter().map(|score| (score - middle).powi(2)).sum::<f64>();
            self.freedom += scores.len() - 1;
        }
    }

    fn deviation(self) -> Option<f64> {
        (self.freedom > 0).then(|| (self.squares / self.freedom as f64).sqrt())
    }
}

/// The standard deviation that `scores` are a sample of.
fn deviation(scores: &[f64]) -> f64 {
    let mut noise = TrainingNoise::default();
    noise.take(scores);
    noise.deviation().unwrap_or(0.0)
}

/// Compares the studies.
pub(super) fn run(first: &StoredStudy, second: &StoredStudy, format: OutputFormat) -> CommandResult {
    let (one, other) = (first.study.spec(), second.study.spec());
    if (&one.metric, one.direction) != (&other.metric, other.direction) {
        return Err(Failure::input(format!(
            "cannot compare the studies: {} searches for a {} {}, but {} for a {} {}",
            first.directory.display(),
            one.direction.better_word(),
            one.metric,
            second.directory.display(),
            other.direction.better_word(),
            other.metric
        )));
    }
    let mut noise = TrainingNoise::default();
    let epochs = first.study.progress().spent.min(second.study.progress().spent);
    let a = side(first, epochs, &mut noise)?;
    let b = side(second, epochs, &mut noise)?;
    let (better_by, by, half) = difference(&a, &b, noise);
    let sign = one.direction.to_score(1.0);
    let better_by = sign * better_by;
    let interval = half.map(|half| (better_by - half, better_by + half));
    let unsure = half.is_some_and(|half| better_by.abs() <= half) && better_by != 0.0;
    let document = CompareDocument {
        seeds_needed: unsure.then(|| seeds_needed(&a, &b, noise, better_by)).flatten(),
        schema: "foretell.compare/1",
        metric: one.metric.clone(),
        better: match interval {
            Some((low, _)) if low > 0.0 => "b",
            Some((_, high)) if high < 0.0 => "a",
            _ => "unclear",
        },
        b_is_better_by: better_by,
        by,
        interval,
        a,
        b,
    };
    match format {
        OutputFormat::Json => print_json(&document),
        OutputFormat::Table => print(&text(&document, noise, epochs)),
    }
}

/// How much larger B's value is than A's, the basis, and half of the 95 % interval.
fn difference(a: &StudySide, b: &StudySide, noise: TrainingNoise) -> (f64, DifferenceBasis, Option<f64>) {
    let (n, m) = (a.again.len() as f64, b.again.len() as f64);
    let pairs = pairs(a, b);
    if pairs.len() > 1 {
        let half = t_quantile(pairs.len() as f64 - 1.0) * deviation(&pairs) / (pairs.len() as f64).sqrt();
        // the same from every seed: how seeds differ is not known
        return (mean(&pairs), DifferenceBasis::Pairs, Some(half).filter(|half| *half > 0.0));
    }
    if n > 1.0 && m > 1.0 {
        let variances = [&a.again, &b.again].map(|scores| deviation(scores).powi(2) / scores.len() as f64);
        let variance: f64 = variances.iter().sum();
        // Welch 1947
        let freedom =
            variance.powi(2) / (variances[0].powi(2) / (n - 1.0) + variances[1].powi(2) / (m - 1.0));
        // equal scores have no variance, and the quotient of Welch would be 0 / 0
        let freedom = if freedom.is_finite() { freedom } else { n + m - 2.0 };
        let half = Some(t_quantile(freedom) * variance.sqrt()).filter(|_| variance > 0.0);
        return (mean(&b.again) - mean(&a.again), DifferenceBasis::Seeds, half);
    }
    let difference = b.best.score - a.best.score;
    match noise.deviation().filter(|deviation| *deviation > 0.0) {
        Some(deviation) => {
            // √2, because each of the two winners is one training with this deviation
            let half = t_quantile(noise.freedom as f64) * deviation * std::f64::consts::SQRT_2;
            (difference, DifferenceBasis::Spread, Some(half))
        }
        None => (difference, DifferenceBasis::Nothing, None),
    }
}

/// The lead of B's winner over A's, for each seed that both were trained with.
fn pairs(a: &StudySide, b: &StudySide) -> Vec<f64> {
    let known: BTreeMap<u32, f64> = a.seeds.iter().copied().zip(a.again.iter().copied()).collect();
    let of_b = b.seeds.iter().zip(&b.again);
    of_b.filter_map(|(seed, score)| Some(score - known.get(seed)?)).collect()
}

/// How many seeds of each make the half of the 95 % interval as small as the difference is, with the standard deviation seen so far.
fn seeds_needed(a: &StudySide, b: &StudySide, noise: TrainingNoise, difference: f64) -> Option<u64> {
    let pairs = pairs(a, b);
    let variance = match pairs.len() {
        // the difference of two single trainings has twice the variance of one
        0 | 1 => 2.0 * noise.deviation()?.powi(2),
        _ => deviation(&pairs).powi(2),
    };
    let seeds = (normal_quantile(0.975) / difference).powi(2) * variance;
    // few seeds need more than the quantile of many suggests
    (seeds.is_finite() && seeds < 1e6).then_some(seeds.ceil() as u64 + 2)
}

/// The 97.5 % quantile of Student's t distribution: exact for one degree of freedom, else by the expansion of Fisher and Cornish.
fn t_quantile(freedom: f64) -> f64 {
    let p = 0.975;
    if freedom < 1.5 {
        return (std::f64::consts::PI * (p - 0.5)).tan();
    }
    let (z, v) = (normal_quantile(p), freedom);
    let terms = [
        (z.powi(3) + z) / (4.0 * v),
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v.powi(2)),
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * v.powi(3)),
    ];
    z + terms.iter().sum::<f64>()
}

fn side(stored: &StoredStudy, epochs: u64, noise: &mut TrainingNoise) -> Result<StudySide, Failure> {
    let best = stored.study.best().ok_or_else(|| {
        Failure::midway(format!(
            "{}: no trial was completed, so there is no best one yet",
            stored.directory.display()
        ))
    })?;
    let until = stored.study.trial(best.trial).map_or(0, |trial| trial.until);
    let again = read_retraining_scores(&stored.directory, until);
    again
        .values()
        .for_each(|trained| noise.take(&trained.iter().map(|(_, score)| *score).collect::<Vec<_>>()));
    let mut alike: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for trial in stored.study.trials() {
        if let (TrialState::Completed { value }, Ok(key)) =
            // trials of one configuration and one length differ only by their seeds, so they show the noise, too
            (&trial.state, serde_json::to_string(&(&trial.configuration, trial.until)))
        {
            alike.entry(key).or_default().push(*value);
        }
    }
    alike.values().for_each(|scores| noise.take(scores));
    Ok(StudySide {
        study: stored.directory.display().to_string(),
        trials: stored.study.trials().len(),
        epochs: stored.study.progress().spent,
        seeds: again.get(&best.trial).into_iter().flatten().map(|(seed, _)| *seed).collect(),
        again: again.get(&best.trial).into_iter().flatten().map(|(_, score)| *score).collect(),
        best_at_equal_epochs: best_after(stored, epochs)?,
        best,
    })
}

/// Scores of the trials of the study in `directory` that `foretell study run` trained for `until` epochs, by trial, each with its seed.
fn read_retraining_scores(directory: &Path, until: u64) -> BTreeMap<u64, Vec<(u32, f64)>> {
    let mut scores: BTreeMap<u64, Vec<(u32, f64)>> = BTreeMap::new();
    let Ok(folders) = std::fs::read_dir(directory.join("again")) else { return scores };
    for folder in folders.flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        let mut words = name.split('-');
        let trial = words.nth(1).and_then(|word| word.parse().ok());
        let (Some(trial), Ok(stored)) = (trial, StoredStudy::read(&folder.path(), catalogue())) else {
            continue;
        };
        let spec = stored.study.spec();
        // trainings of another length would mix the effect of the length into the noise
        if spec.max_resource == until {
            let trained = (0..).zip(stored.study.trials());
            let achieved = trained
                .filter_map(|(number, trial)| Some((spec.trial_seed(number), trial.achieved_result(spec)?)));
            scores.entry(trial).or_default().extend(achieved);
        }
    }
    scores
}

/// The best score when the study had spent `epochs`.
fn best_after(stored: &StoredStudy, epochs: u64) -> Result<Option<f64>, Failure> {
    let mut study =
        Study::of_log(stored.study.spec().clone(), catalogue().into()).map_err(Failure::midway)?;
    let (mut number, mut best, mut wrong) = (0, None, None);
    stored.for_each_record(|record| {
        number += 1;
        if wrong.is_none() && study.progress().spent <= epochs {
            wrong = study.follow(&record, number).err();
            // looked at again, because a record may have taken the study beyond `epochs`
            if study.progress().spent <= epochs {
                best = study.best().map(|best| best.score);
            }
        }
    })?;
    wrong.map_or(Ok(best), |error| Err(Failure::midway(error)))
}

fn text(document: &CompareDocument, noise: TrainingNoise, epochs: u64) -> String {
    let CompareDocument { metric, a, b, by, .. } = document;
    let mut lines = Vec::new();
    for (letter, side) in [("A", a), ("B", b)] {
        lines.push(format!(
            "{letter}: {}: {metric} {} (trial {}), {} trials, {} epochs",
            side.study,
            metric_value(side.best.score),
            side.best.trial,
            side.trials,
            side.epochs
        ));
    }
    if let (Some(first), Some(second)) = (a.best_at_equal_epochs, b.best_at_equal_epochs) {
        lines.push(format!(
            "after {epochs} epochs each: A {}, B {}",
            metric_value(first),
            metric_value(second)
        ));
    }
    let missing: Vec<String> = [a, b]
        .iter()
        .filter(|side| side.again.len() < 2)
        .map(|side| {
            let study = foretell_run::quote_for_shell(std::slice::from_ref(&side.study));
            format!("foretell study run {study} --seeds 3")
        })
        .collect();
    lines.push(match by {
        DifferenceBasis::Pairs | DifferenceBasis::Seeds => {
            let [a, b] = [&a.again, &b.again].map(|scores| {
                format!("{} with {} seeds", with_deviation(mean(scores), deviation(scores)), scores.len())
            });
            format!("the best trials with other seeds: A {a}, B {b}")
        }
        DifferenceBasis::Spread => format!(
            "runs of the same configuration differ by {} (standard deviation, {} degrees of freedom). The best of many trials is partly luck; to measure it: {}",
            metric_difference(noise.deviation().unwrap_or(0.0), a.best.score, 4),
            noise.freedom,
            missing.join(" and ")
        ),
        DifferenceBasis::Nothing => format!("the effect of luck is unknown; to measure it: {}", missing.join(" and ")),
    });
    lines.push(verdict(document));
    lines.join("\n")
}

fn verdict(document: &CompareDocument) -> String {
    let by = document.b_is_better_by;
    let (leader, by, interval) = if by < 0.0 {
        ("A", -by, document.interval.map(|(low, high)| [-high, -low]))
    } else {
        ("B", by, document.interval.map(<[f64; 2]>::from))
    };
    let amount = metric_difference(by, document.a.best.score, 4);
    let seeded = matches!(document.by, DifferenceBasis::Pairs | DifferenceBasis::Seeds);
    let sure = match interval {
        None if seeded => {
            return format!(
                "{leader} is {amount} better, but runs with other seeds are identical: the command ignores its seed, or the seed makes no difference"
            );
        }
        None if by == 0.0 => {
            return "their best scores are equal. Whether one study is better is unknown".to_owned();
        }
        None => {
            return format!(
                "the best trial of {leader} is {amount} better. Whether {leader} is better is unknown"
            );
        }
        Some(interval) => {
            let [low, high] = interval.map(|bound| metric_difference(bound, document.a.best.score, 4));
            format!("95 % interval {low} to {high}")
        }
    };
    match document.better {
        "unclear" => {
            let needed = document
                .seeds_needed
                .map(|seeds| format!(". About {seeds} seeds of each would show such a difference"));
            format!("no clear difference: {leader} is {amount} better, {sure}{}", needed.unwrap_or_default())
        }
        _ => format!("{leader} is better: by {amount}, {sure}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{DifferenceBasis, StudySide, TrainingNoise, difference, seeds_needed, t_quantile};
    use foretell_search::Best;

    fn side(score: f64, again: &[f64]) -> StudySide {
        StudySide {
            study: String::new(),
            trials: 1,
            epochs: 1,
            best: Best { trial: 0, score, configuration: Default::default() },
            again: again.to_vec(),
            seeds: Vec::new(),
            best_at_equal_epochs: None,
        }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, table) in [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (10.0, 2.228), (100.0, 1.984)] {
            let relative: f64 = (t_quantile(freedom) - table) / table;
            assert!(relative.abs() < 0.04, "{freedom}: {}", t_quantile(freedom));
        }
    }

    #[test]
    fn seeds_of_both_are_paired_and_identical_trainings_give_no_interval() {
        let with = |score: f64, again: &[f64]| StudySide { seeds: vec![7, 8, 9], ..side(score, again) };
        // differences 0.01, 0.02, 0.03: mean 0.02, standard deviation 0.01
        let (by, what, half) = difference(
            &with(0.9, &[0.8, 0.7, 0.9]),
            &with(0.9, &[0.81, 0.72, 0.93]),
            TrainingNoise::default(),
        );
        assert!((by - 0.02).abs() < 1e-12 && what == DifferenceBasis::Pairs);
        assert!((half.expect("an interval") - 4.303 * 0.01 / 3.0_f64.sqrt()).abs() < 1e-3);
        let same = [0.9, 0.9, 0.9];
        let (_, what, half) =
            difference(&with(0.9, &same), &with(0.9, &[0.91, 0.91, 0.91]), TrainingNoise::default());
        assert_eq!((what, half), (DifferenceBasis::Pairs, None));
        let (_, what, half) =
            difference(&side(0.9, &same), &side(0.9, &[0.91, 0.91]), TrainingNoise::default());
        assert_eq!((what, half), (DifferenceBasis::Seeds, None));
    }

    #[test]
    fn as_many_seeds_are_needed_as_make_the_interval_as_small_as_the_difference() {
        let with = |again: &[f64]| StudySide { seeds: (0..again.len() as u32).collect(), ..side(0.9, again) };
        // differences 0.01, 0.02, 0.03 with a standard deviation of 0.01: (1.96 · 0.01 / 0.004)² = 24.01
        let (a, b) = (with(&[0.8, 0.7, 0.9]), with(&[0.81, 0.72, 0.93]));
        assert_eq!(seeds_needed(&a, &b, TrainingNoise::default(), 0.004), Some(25 + 2));
        // without pairs by the spread of trainings, which both sides have
        let noise = TrainingNoise { squares: 2e-4, freedom: 2 };
        assert_eq!(seeds_needed(&side(0.9, &[]), &side(0.8, &[]), noise, 0.01), Some(8 + 2));
        assert_eq!(seeds_needed(&side(0.9, &[]), &side(0.8, &[]), TrainingNoise::default(), 0.01), None);
    }

    #[test]
    fn seeds_decide_over_single_trainings_and_those_over_nothing() {
        // means 0.9 and 0.93, both of variance 1e-4: se² = 2e-4/3, 4 degrees of freedom
        let (a, b) = (side(0.95, &[0.89, 0.9, 0.91]), side(0.94, &[0.92, 0.93, 0.94]));
        let (by, what, half) = difference(&a, &b, TrainingNoise::default());
        let half = half.expect("an interval");
        assert!((by - 0.03).abs() < 1e-12 && what == DifferenceBasis::Seeds);
        assert!((half - 2.776 * (2e-4_f64 / 3.0).sqrt()).abs() < 1e-3, "{half}");
        let mut noise = TrainingNoise::default();
        noise.take(&a.again);
        let (by, what, half) = difference(&a, &side(0.94, &[0.9]), noise);
        assert!((by + 0.01).abs() < 1e-12 && what == DifferenceBasis::Spread && half.is_some());
        let (_, what, half) = difference(&side(0.95, &[]), &side(0.94, &[]), TrainingNoise::default());
        assert_eq!((what, half), (DifferenceBasis::Nothing, None));
    }
}
