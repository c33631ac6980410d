//! Recorded runs on a common grid of steps: the bridge between curves as recorded and the data that predictors are fitted on.
//!
//! Scores have a floor: one loss of 1e12 would decide every regression. Runs below it are not dropped, because a predictor must learn to
//! recognize them, and no fixed cap fits all metrics. Points below the floor are compressed instead of cut off: the depth of a curve
//! distinguishes a run that recovers from one that is lost. The logarithm of the depth, which has no end, was worse on recorded sets.

use crate::curves::columns::ColumnDeclarations;
use crate::curves::configuration::{Configuration, Run};
use crate::curves::curve::{Curve, RunScore};
use crate::curves::encoding::ConfigurationEncoder;
use crate::curves::metric::{Direction, Metric};
use crate::curves::scale::Scale;
use crate::curves::training::TrainingSet;
use crate::linalg::matrix::Matrix;
use std::borrow::Cow;
use std::collections::BTreeSet;
use thiserror::Error;

/// More grid points than this are thinned to evenly spaced ones when curves do not share their steps.
const MAX_GRID_POINTS: usize = 200;
/// More shared steps than this are thinned, too.
const MAX_SHARED_STEPS: usize = 2000;

/// The reason why runs do not form a history.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum HistoryError {
    /// No run contains a finite value.
    #[error("no run contains a finite value, so there is nothing to learn from")]
    Empty,
    /// No run reaches the target step.
    #[error(
        "no run reaches step {target}. Choose a target of at most {longest}, the last step of the longest run"
    )]
    Target {
        /// The step asked for.
        target: f64,
        /// The last step of any run.
        longest: f64,
    },
    /// The target step comes before every run's first.
    #[error(
        "no run reports a value up to step {target}. Choose a target of at least {first}, the earliest step"
    )]
    Early {
        /// The step asked for.
        target: f64,
        /// The first step of any run.
        first: f64,
    },
    /// A curve was made with another direction than the metric's.
    #[error(
        "the curve of run `{run}` has the opposite direction: {} values of `{}` are better. Create all curves with the same direction",
        metric.direction.better_word(), metric.name
    )]
    Direction {
        /// The run's id.
        run: String,
        /// The metric, whose direction is that of the first curve if it was not declared.
        metric: Metric,
    },
}

/// Options for reading runs into a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryOptions {
    /// The metric; `None`: unbounded, with the direction of the curves.
    pub metric: Option<Metric>,
    /// The scale to forecast on; `None`: [`Scale::detect`].
    pub scale: Option<Scale>,
    /// The step to forecast; `None`: the last step that at least half of the runs reach.
    pub target: Option<f64>,
    /// The declared feature groups and scales of configuration columns.
    pub columns: ColumnDeclarations,
    /// The rule that scores a run. With [`RunScore::Best`], its [running best](Curve::running_best) is forecast, from the running best
    /// so far.
    pub run_score: RunScore,
    /// Leaves scores unchanged, however low, as in the paper: scores below the floor are not compressed (see [`History`]).
    pub literal: bool,
}

/// Recorded runs on a common grid of steps.
///
/// * Curves that share their steps keep them; otherwise values are interpolated straight-line onto a grid, and steps
///   before a curve's first point get its first value.
/// * Scores below [`History::score_floor`] are drawn together, so that one loss of 10¹² does not decide every regression. A score s below
///   the floor f becomes f − R·d/(R + d), d = f − s, R the distance of the floor from the score that it is measured from. The order
///   stays, and no score is as low as f − R. [`History::to_score`] does this and [`History::to_value`] undoes it.
///   With [`HistoryOptions::literal`] scores stay as they are.
/// * A run that diverged counts as completed, with a final score of f − R; where the best value counts, it keeps its best so far.
/// * A run that ends before the target without diverging is unfinished: it can be asked about, not learned from.
#[derive(Clone, Debug)]
pub struct History {
    /// The grid, increasing; its last point is the target step.
    grid: Vec<f64>,
    /// The number of shared steps, if they were too many.
    thinned: Option<usize>,
    /// Scores of each run on the grid, as far as it goes.
    prefixes: Vec<Vec<f64>>,
    finals: Vec<Option<f64>>,
    configurations: Vec<Configuration>,
    columns: ColumnDeclarations,
    metric: Metric,
    scale: Scale,
    floor: f64,
    /// R: how far scores may lie below the floor.
    depth: f64,
    /// The lowest score of any run, at most the floor; not drawn up.
    worst: f64,
    /// The bounds of the metric's values.
    bounds: (f64, f64),
    run_score: RunScore,
    /// Whether scores below the floor stay as they are.
    literal: bool,
}

impl History {
    /// Lays `runs` on a common grid.
    ///
    /// # Errors
    /// [`HistoryError`] if no run has a finite value, none reaches the target or begins before it, or a curve has another
    /// direction than the metric.
    pub fn new(runs: &[Run], options: &HistoryOptions) -> Result<Self, HistoryError> {
        let metric = resolve_metric(runs, options.metric.as_ref())?;
        let direction = metric.direction;
        let scored: Vec<Cow<'_, Curve>> =
            runs.iter().map(|run| options.run_score.score_curve(&run.curve)).collect();
        let curves: Vec<&Curve> = scored.iter().map(AsRef::as_ref).collect();
        let longest = curves
            .iter()
            .filter_map(|c| c.last_point())
            .map(|(step, _)| step)
            .fold(f64::NEG_INFINITY, f64::max);
        if longest.is_infinite() {
            return Err(HistoryError::Empty);
        }
        let target = options.target.unwrap_or_else(|| common_end(&curves));
        if target > longest || target.is_nan() {
            return Err(HistoryError::Target { target, longest });
        }
        let first = first_step(&curves);
        if target < first {
            return Err(HistoryError::Early { target, first });
        }
        let scale = options.scale.unwrap_or_else(|| Scale::detect(direction, curves.iter().copied()));
        let (grid, thinned) = common_grid(&curves, target);
        let (floor, mut depth) = floor(&curves, target, direction, scale);
        if options.literal {
            // a run that diverged stays the worst of all
            let scores = curves.iter().flat_map(|curve| curve.scores());
            let worst = scores.map(|score| scale.apply(*score, direction)).fold(floor, f64::min);
            depth = depth.max(floor - worst);
        }
        let mut history = Self {
            prefixes: Vec::new(),
            finals: Vec::new(),
            configurations: runs.iter().map(|run| run.configuration.clone()).collect(),
            columns: options.columns.clone(),
            bounds: metric.bounds.range_if_containing(values(&curves, direction)),
            metric,
            floor,
            depth,
            worst: floor,
            grid,
            thinned,
            scale,
            run_score: options.run_score,
            literal: options.literal,
        };
        for curve in curves {
            let prefix = history.scores_on_grid(curve);
            let finished =
                prefix.len() == history.grid.len() || curve.diverged_at().is_some_and(|at| at <= target);
            let last = prefix.last().copied().unwrap_or(floor - depth);
            history.finals.push(finished.then_some(last));
            let scaled = curve.scores().iter().map(|&score| history.scale.apply(score, history.direction()));
            history.worst = scaled.fold(history.worst, f64::min);
            history.prefixes.push(prefix);
        }
        Ok(history)
    }

    /// The scores of this `curve` on the grid, as far as it goes, on the history's scale. After a divergence, the score is
    /// [`History::lowest_score`].
    pub fn prefix_of(&self, curve: &Curve) -> Vec<f64> {
        self.scores_on_grid(&self.run_score.score_curve(curve))
    }

    /// The recorded score at the target step of the run with this `curve`, on the history's scale; `None` if the run has not come so
    /// far, or diverged.
    pub fn end_of(&self, curve: &Curve) -> Option<f64> {
        let scored = self.run_score.score_curve(curve);
        let end = scored.interpolate_at(*self.grid.last()?)?;
        Some(self.compress_below_floor(self.scale.apply(end, self.direction())))
    }

    /// The recorded final value of this `curve`, in the unit of the metric: its value at the target step, or the best value
    /// before it diverged, if that counts. `None` if the run is still to be forecast.
    pub fn recorded_end(&self, curve: &Curve) -> Option<f64> {
        let scored = self.run_score.score_curve(curve);
        let lost = curve.diverged_at().is_some() && self.run_score == RunScore::Best;
        let reached = scored.last_point().filter(|_| lost).map(|(_, score)| score);
        let score = scored.interpolate_at(*self.grid.last()?).or(reached)?;
        Some(self.direction().to_value(score))
    }

    fn scores_on_grid(&self, curve: &Curve) -> Vec<f64> {
        let Some((&first, &start)) = curve.scores().first().zip(curve.steps().first()) else {
            let diverged = curve.diverged_at();
            return self
                .grid
                .iter()
                .filter(|&&step| diverged.is_some_and(|at| at <= step))
                .map(|_| self.lowest_score())
                .collect();
        };
        let mut prefix = Vec::with_capacity(self.grid.len());
        for &step in &self.grid {
            let score = curve.interpolate_at(step).or((step < start).then_some(first));
            match score {
                Some(score) => {
                    prefix.push(self.compress_below_floor(self.scale.apply(score, self.direction())))
                }
                None if curve.diverged_at().is_some() => prefix.push(match (self.run_score, prefix.last()) {
                    (RunScore::Best, Some(&best)) => best,
                    _ => self.lowest_score(),
                }),
                None => break,
            }
        }
        // steps before the first point count only once that point is there
        prefix
    }

    /// `score`, drawn up if it is below the floor: see [`History`].
    fn compress_below_floor(&self, score: f64) -> f64 {
        let below = self.floor - score;
        if below <= 0.0 || self.literal {
            return score;
        }
        self.floor - self.depth * (1.0 - self.depth / (self.depth + below))
    }

    /// Undoes [`History::compress_below_floor`], as far down as `worst`: so deep a score is worth the same as all below it, so that a better
    /// score never has a worse value.
    fn expand_below_floor(&self, score: f64, worst: f64) -> f64 {
        let below = self.floor - score;
        if below <= 0.0 || self.literal {
            return score.max(worst);
        }
        let left = score - self.lowest_score();
        if left > 0.0 { (self.floor - self.depth * below / left).max(worst) } else { worst }
    }

    /// The grid of steps; the last one is the target.
    pub fn grid(&self) -> &[f64] {
        &self.grid
    }

    /// The number of steps the runs share, if they are more than 2000, so that the grid has evenly spaced ones in their place.
    pub fn thinned_step_count(&self) -> Option<usize> {
        self.thinned
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.prefixes.len()
    }

    /// Whether the history contains no runs.
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// The final score of run `i`, on the history's scale; `None` if it is unfinished.
    pub fn final_score(&self, i: usize) -> Option<f64> {
        self.finals[i]
    }

    /// The scores of run `i` on the grid, as far as it goes.
    pub fn run_prefix(&self, i: usize) -> &[f64] {
        &self.prefixes[i]
    }

    /// Below this score a run is lost: as far below the runs' median first score as the best final score is above it, or, where
    /// more than half of the runs that did not diverge end lower still (losses that only rise), as far below their median final
    /// score. Scores below it are drawn together: see [`History`].
    pub fn score_floor(&self) -> f64 {
        self.floor
    }

    /// The final score of a run that diverged; all others are higher.
    pub fn lowest_score(&self) -> f64 {
        self.floor - self.depth
    }

    /// Whether a run scores below the floor at some step, so that [`HistoryOptions::literal`] makes a difference.
    pub fn reaches_floor(&self) -> bool {
        self.worst < self.floor
    }

    /// Whether `score` is lower than that of any run. The result of [`History::possible_value`] then means "this value or a worse one".
    pub fn is_beyond_worst(&self, score: f64) -> bool {
        score < self.compress_below_floor(self.worst) || score <= self.lowest_score()
    }

    /// The best score that there can be, if the metric is bounded.
    pub fn score_ceiling(&self) -> Option<f64> {
        let best = match self.direction() {
            Direction::Maximize => self.bounds.1,
            Direction::Minimize => self.bounds.0,
        };
        // no logarithm reaches that of 0
        let reached = best.is_finite() && !(self.scale == Scale::Log && best <= 0.0);
        reached.then(|| self.scale.apply(self.direction().to_score(best), self.direction()))
    }

    /// The lowest and the highest possible value of the metric; −∞ and ∞ without bounds.
    pub fn metric_bounds(&self) -> (f64, f64) {
        self.bounds
    }

    /// The metric.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// The metric's direction.
    pub fn direction(&self) -> Direction {
        self.metric.direction
    }

    /// The rule that scores runs.
    pub fn run_score(&self) -> RunScore {
        self.run_score
    }

    /// The scale of the history's scores.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The metric value, in the user's unit and direction, of a score of this history; the worst value of any run for all scores
    /// that are lower than it, such as [`History::lowest_score`], where a run that diverged stands. A better score never has a worse value.
    pub fn to_value(&self, score: f64) -> f64 {
        self.direction()
            .to_value(self.scale.invert(self.expand_below_floor(score, self.worst), self.direction()))
    }

    /// The score, on the history's scale, of a metric value in the user's unit: undone by [`History::to_value`] for all values that
    /// are no worse than the worst of any run.
    pub fn to_score(&self, value: f64) -> f64 {
        self.compress_below_floor(self.scale.apply(self.direction().to_score(value), self.direction()))
    }

    /// [`History::to_value`] of the score that a run worth `now` may reach, held to possible values: a quantile of an accuracy that lies
    /// above 1 is 1, and where the best value counts none lies below `now`. A run may end worse than all others did.
    pub fn possible_value(&self, score: f64, now: f64) -> f64 {
        let score = match self.run_score {
            RunScore::Last | RunScore::Mean(_) => score,
            RunScore::Best => score.max(now),
        };
        self.unbounded_value(score, now).clamp(self.bounds.0, self.bounds.1)
    }

    /// The value of the score that a run worth `now` may reach, not held to bounds: two scores never have one value.
    pub fn unbounded_value(&self, score: f64, now: f64) -> f64 {
        let now = if now > self.lowest_score() {
            self.expand_below_floor(now, f64::NEG_INFINITY)
        } else {
            self.worst
        };
        let worst = self.worst.min(now);
        let below = self.compress_below_floor(worst) - score;
        // what was drawn together cannot be told apart so far down: from the worst value on, a score is as far below as it says
        let scaled = if below > 0.0 { worst - below } else { self.expand_below_floor(score, worst) };
        self.direction().to_value(self.scale.invert(scaled, self.direction()))
    }

    /// An encoder for configurations, fitted on the runs `indices`.
    pub fn fit_encoder(&self, indices: &[usize]) -> ConfigurationEncoder {
        ConfigurationEncoder::fit(indices.iter().map(|&i| &self.configurations[i]), &self.columns)
    }

    /// The configuration of run `i`.
    pub fn configuration(&self, i: usize) -> &Configuration {
        &self.configurations[i]
    }

    /// The runs `indices` as seen after `tau` grid points, with their final scores. Unfinished runs are left out.
    pub fn training_set(&self, indices: &[usize], tau: usize, encoder: &ConfigurationEncoder) -> TrainingSet {
        let used: Vec<usize> = indices
            .iter()
            .copied()
            .filter(|&i| self.finals[i].is_some() && self.prefixes[i].len() >= tau)
            .collect();
        let encoded: Vec<Vec<f64>> = used.iter().map(|&i| encoder.encode(&self.configurations[i])).collect();
        let later = &self.grid[tau..self.grid.len().saturating_sub(1).max(tau)];
        let scores_later = used.iter().map(|&i| {
            // a run that was lost on its way keeps its end
            let lost = self.finals[i].unwrap_or(self.floor);
            (tau..tau + later.len()).map(|t| self.prefixes[i].get(t).copied().unwrap_or(lost)).collect()
        });
        let scores_later: Vec<Vec<f64>> = scores_later.collect();
        TrainingSet {
            steps: self.grid[..tau].to_vec(),
            target_step: self.grid.last().copied().unwrap_or(0.0),
            prefixes: Matrix::from_rows(&used.iter().map(|&i| &self.prefixes[i][..tau]).collect::<Vec<_>>()),
            configurations: Matrix::from_rows(&encoded),
            groups: encoder.column_groups(),
            targets: used.iter().filter_map(|&i| self.finals[i]).collect(),
            ceiling: self.score_ceiling(),
            later_steps: later.to_vec(),
            later_scores: Matrix::from_rows(&scores_later),
            run_score: self.run_score,
            ..TrainingSet::default()
        }
    }
}

/// The metric declared, or that of the curves.
///
/// # Errors
/// [`HistoryError::Direction`] for the first run whose curve has another direction.
fn resolve_metric(runs: &[Run], declared: Option<&Metric>) -> Result<Metric, HistoryError> {
    let metric = match declared {
        Some(metric) => metric.clone(),
        None => runs.iter().find_map(|run| run.curve.direction()).unwrap_or_default().into(),
    };
    match runs.iter().find(|run| run.curve.direction().is_some_and(|direction| direction != metric.direction))
    {
        Some(run) => Err(HistoryError::Direction { run: run.id.clone(), metric }),
        None => Ok(metric),
    }
}

/// All values of `curves`, in the metric's unit.
fn values(curves: &[&Curve], direction: Direction) -> impl Iterator<Item = f64> + Clone {
    curves.iter().flat_map(|curve| curve.scores()).map(move |&score| direction.to_value(score))
}

/// The last step that at least half of the (non-diverged) curves reach.
fn common_end(curves: &[&Curve]) -> f64 {
    let mut ends: Vec<f64> = curves
        .iter()
        .filter(|c| c.diverged_at().is_none())
        .filter_map(|c| c.last_point())
        .map(|l| l.0)
        .collect();
    if ends.is_empty() {
        ends = curves.iter().filter_map(|c| c.last_point()).map(|l| l.0).collect();
    }
    ends.sort_by(|a, b| b.total_cmp(a));
    // not the longest: a single run that was trained further would leave all others unfinished
    ends[(ends.len() - 1) / 2]
}

/// The first step of any curve.
fn first_step(curves: &[&Curve]) -> f64 {
    curves.iter().filter_map(|c| c.steps().first().copied()).fold(f64::INFINITY, f64::min)
}

/// The steps of all curves up to `target` if they (nearly) share them, else evenly spaced ones; the last is `target`. And how many
/// shared steps there are, if they are too many.
fn common_grid(curves: &[&Curve], target: f64) -> (Vec<f64>, Option<usize>) {
    let steps = curves.iter().map(|c| c.steps().iter().copied().filter(|&step| step <= target).collect());
    let steps: Vec<Vec<f64>> = steps.collect();
    let all: BTreeSet<u64> = steps.iter().flatten().copied().map(ordered_bits).collect();
    let most = steps.iter().map(Vec::len).max().unwrap_or(0);
    // half as many again: runs that missed some steps still share them, runs on steps of their own do not
    let shared = all.len() <= most + most / 2;
    let thinned = (shared && all.len() > MAX_SHARED_STEPS).then_some(all.len());
    if shared && thinned.is_none() {
        let mut grid: Vec<f64> = all.into_iter().map(from_ordered_bits).collect();
        if grid.last().is_none_or(|&last| last < target) {
            grid.push(target);
        }
        return (grid, None);
    }
    let start = first_step(curves);
    let mut lengths: Vec<usize> = steps.iter().map(Vec::len).collect();
    lengths.sort_unstable();
    // as many points as the median run has: more would be interpolated, fewer would lose what most runs reported
    let points = lengths[lengths.len() / 2].clamp(2, MAX_GRID_POINTS);
    // the target itself, which start + (target − start) may miss by a rounding
    let before = (1..points).map(|k| start + (target - start) * k as f64 / points as f64);
    (before.chain([target]).collect(), thinned)
}

/// Bits of a finite number that sort as the number does.
fn ordered_bits(x: f64) -> u64 {
    // + 0.0 makes 0 of −0: they are the same step
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

fn from_ordered_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// See [`History::score_floor`]; and its distance from the score that it is measured from.
fn floor(curves: &[&Curve], target: f64, direction: Direction, scale: Scale) -> (f64, f64) {
    let first = curves.iter().filter_map(|c| c.scores().first());
    let mut first: Vec<f64> = first.map(|&score| scale.apply(score, direction)).collect();
    first.sort_by(f64::total_cmp);
    let start = crate::statistics::quantile_of_sorted(&first, 0.5);
    let ends = curves.iter().filter_map(|c| Some((c, c.prefix_until(target).last_point()?.1)));
    let ends: Vec<(&&Curve, f64)> = ends.map(|(c, score)| (c, scale.apply(score, direction))).collect();
    let best = ends.iter().map(|(_, end)| *end).fold(f64::NEG_INFINITY, f64::max);
    let lasting = ends.iter().filter(|(c, _)| c.diverged_at().is_none_or(|at| at > target));
    let mut lasting: Vec<f64> = lasting.map(|(_, end)| *end).collect();
    lasting.sort_by(f64::total_cmp);
    let middle = lasting.get(lasting.len() / 2).copied().unwrap_or(start);
    match [start, middle].map(|from| (from - (best - from), best - from)) {
        [(floor, depth), _] if depth > 0.0 && floor <= middle => (floor, depth),
        [_, (floor, depth)] if depth > 0.0 => (floor, depth),
        // all ends alike, and none better than the start
        _ if best.abs() > 0.0 => (best - best.abs(), best.abs()),
        _ => (-1.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, steps: &[f64], values: &[f64], direction: Direction) -> Run {
        let curve = Curve::new(steps, values, direction).unwrap();
        Run { id: id.into(), configuration: Configuration::new(), curve }
    }

    #[test]
    fn shared_steps_are_kept_and_short_runs_are_unfinished() {
        let up = Direction::Maximize;
        let runs = [
            run("a", &[1.0, 2.0, 3.0], &[0.1, 0.2, 0.3], up),
            run("b", &[1.0, 2.0], &[0.2, 0.3], up),
            run("c", &[1.0, 3.0], &[0.1, 0.5], up),
        ];
        let history = History::new(&runs, &HistoryOptions::default()).unwrap();
        assert_eq!(history.grid(), [1.0, 2.0, 3.0]);
        assert_eq!([0, 1, 2].map(|i| history.final_score(i)), [Some(0.3), None, Some(0.5)]);
        assert!((history.run_prefix(2)[1] - 0.3).abs() < 1e-12, "a gap is interpolated");
        let encoder = history.fit_encoder(&[0, 1, 2]);
        assert_eq!(history.training_set(&[0, 1, 2], 2, &encoder).len(), 2);
    }

    #[test]
    fn diverged_runs_end_below_all_others_and_these_as_they_were_recorded() {
        let down = Direction::Minimize;
        let e = f64::exp(1.0);
        let steps = [1.0, 2.0];
        let runs = [
            run("good", &steps, &[e, 1.0], down),
            run("bad", &steps, &[e, f64::INFINITY], down),
            run("worse", &steps, &[e, 1e12], down),
        ];
        let history = History::new(&runs, &HistoryOptions::default()).unwrap();
        assert_eq!(history.scale(), Scale::Log);
        // first −1, best 0: the floor is −2, that is e², and no score is as low as −3
        let ends = [0, 1, 2].map(|i| history.final_score(i).unwrap());
        assert!((history.score_floor() + 2.0).abs() < 1e-12 && (ends[1] + 3.0).abs() < 1e-12, "{ends:?}");
        assert!(ends[2] > ends[1] && ends[2] < history.score_floor());
        for (end, value) in [(ends[0], 1.0), (ends[2], 1e12), (ends[1], 1e12)] {
            assert!(
                (history.to_value(end) / value - 1.0).abs() < 1e-9,
                "{} for {value}",
                history.to_value(end)
            );
        }
        assert!((history.to_score(1e12) - ends[2]).abs() < 1e-12);
        assert!(history.is_beyond_worst(history.to_score(1e13)) && history.is_beyond_worst(ends[1]));
        assert!(!history.is_beyond_worst(ends[2]));
        let shown =
            |score: f64, now: f64| history.possible_value(history.to_score(score), history.to_score(now));
        assert!(shown(1e13, 2.0) > 1e12, "a run may end worse than all others did");
        assert!((shown(1e13, 2e13) / 1e13 - 1.0).abs() < 1e-9, "a run that is worse now may be");
    }

    #[test]
    fn a_divergence_after_the_target_takes_nothing_from_what_was_reached_there() {
        let up = Direction::Maximize;
        let runs = [
            run("a", &[1.0, 2.0, 3.0], &[0.1, 0.5, 0.6], up),
            run("b", &[1.0, 2.0, 3.0], &[0.2, 0.4, f64::NAN], up),
        ];
        let end_with = |target| {
            let history = History::new(&runs, &HistoryOptions { target: Some(target), ..Default::default() });
            history.unwrap().final_score(1).unwrap()
        };
        assert!((end_with(2.0) - 0.4).abs() < 1e-12, "{}", end_with(2.0));
        assert!(end_with(3.0) < 0.0, "{}", end_with(3.0));
    }

    #[test]
    fn a_run_may_count_with_the_best_it_reached() {
        let down = Direction::Minimize;
        let steps = [1.0, 2.0, 4.0];
        let runs = [
            run("overfits", &steps, &[0.9, 0.4, 0.8], down),
            run("learns", &steps, &[0.9, 0.7, 0.5], down),
            run("diverges", &steps, &[0.9, 0.3, f64::NAN], down),
        ];
        let options =
            HistoryOptions { scale: Some(Scale::Linear), run_score: RunScore::Best, ..Default::default() };
        let history = History::new(&runs, &options).unwrap();
        assert_eq!([0, 1].map(|i| history.final_score(i)), [Some(-0.4), Some(-0.5)]);
        assert_eq!(history.run_prefix(0), [-0.9, -0.4, -0.4]);
        assert_eq!(history.final_score(2), Some(-0.3), "a lost run's best checkpoint is not lost");
        assert!(
            (history.possible_value(-0.5, -0.4) - 0.4).abs() < 1e-12,
            "none comes to less than it is worth"
        );
        let running = Curve::new(&steps[..2], &[0.6, 0.8], down).unwrap();
        assert_eq!(history.prefix_of(&running), [-0.6, -0.6], "so do running ones");
    }

    #[test]
    fn points_below_the_floor_keep_their_order_and_stay_within_reach() {
        let down = Direction::Minimize;
        let loss = |score: f64| (-score).exp();
        let steps = [1.0, 2.0, 3.0, 4.0];
        let runs = [
            run("good", &steps, &[loss(-1.0), loss(-0.5), loss(-0.2), loss(0.0)], down),
            run("recovers", &steps, &[loss(-1.0), loss(-3.0), loss(-2.5), loss(-0.5)], down),
            run("lost", &steps, &[loss(-1.0), loss(-30.0), loss(-2.0), f64::NAN], down),
        ];
        let history = History::new(&runs, &HistoryOptions::default()).unwrap();
        // first −1, best 0: the floor is −2 and its depth 1; 1 below is drawn up to 1/2 below, ½ to ⅓, 28 to 28/29
        let expected =
            [(1, [-1.0, -2.5, -2.0 - 1.0 / 3.0, -0.5]), (2, [-1.0, -2.0 - 28.0 / 29.0, -2.0, -3.0])];
        for (i, expected) in expected {
            for (got, want) in history.run_prefix(i).iter().zip(expected) {
                assert!((got - want).abs() < 1e-9, "run {i}: {got} for {want}");
            }
        }
        assert!((history.final_score(2).unwrap() - history.lowest_score()).abs() < 1e-9);
    }

    #[test]
    fn curves_without_common_steps_are_interpolated_onto_an_even_grid() {
        let up = Direction::Maximize;
        let runs: Vec<Run> = (0..5)
            .map(|i| {
                let shift = f64::from(i) * 0.1;
                let steps: Vec<f64> = (0..10).map(|k| f64::from(k) * 10.0 + shift).collect();
                run(&i.to_string(), &steps, &steps.iter().map(|s| s / 100.0).collect::<Vec<_>>(), up)
            })
            .collect();
        let history = History::new(&runs, &HistoryOptions::default()).unwrap();
        assert_eq!(history.grid().len(), 10);
        assert!((history.grid()[9] - 90.2).abs() < 1e-9);
        assert!((history.run_prefix(4)[4] - history.grid()[4] / 100.0).abs() < 1e-9);
        assert_eq!(history.final_score(0), None, "it ends at 90.0");
    }

    #[test]
    fn a_better_score_never_has_a_worse_value() {
        let down = Direction::Minimize;
        let runs = [
            run("good", &[1.0, 2.0], &[0.9, 0.78], down),
            run("fair", &[1.0, 2.0], &[0.95, 0.9], down),
            run("poor", &[1.0, 2.0], &[0.95, 1.02], down),
        ];
        for scale in [Scale::Log, Scale::Linear] {
            let options = HistoryOptions { scale: Some(scale), ..Default::default() };
            let history = History::new(&runs, &options).unwrap();
            let (lowest, depth) = (history.lowest_score(), history.score_floor() - history.lowest_score());
            let scores: Vec<f64> = (-50..200)
                .map(|k| lowest + depth * f64::from(k) / 100.0)
                .chain([lowest + 1e-9 * depth])
                .collect();
            for now in
                [f64::NEG_INFINITY, history.to_score(60.8), history.to_score(1.0), history.to_score(0.8)]
            {
                let mut pairs: Vec<(f64, f64, f64)> = scores
                    .iter()
                    .map(|&s| (s, history.possible_value(s, now), history.to_value(s)))
                    .collect();
                pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
                for pair in pairs.windows(2) {
                    assert!(pair[1].1 <= pair[0].1 && pair[1].2 <= pair[0].2, "{scale:?} {now}: {pair:?}");
                }
            }
        }
    }

    #[test]
    fn an_error_is_never_below_0() {
        let down = Direction::Minimize;
        let runs = |name: &str, last: f64| {
            let runs = [run("a", &[1.0, 2.0], &[0.2, last], down), run("b", &[1.0, 2.0], &[0.3, 0.1], down)];
            let metric = Some(Metric::new(name, down));
            History::new(&runs, &HistoryOptions { metric, ..Default::default() }).unwrap()
        };
        let held = runs("val_err", 0.0);
        assert_eq!((held.metric_bounds(), held.score_ceiling()), ((0.0, f64::INFINITY), Some(0.0)));
        assert_eq!(held.possible_value(0.0115, -0.2).to_bits(), 0.0_f64.to_bits());
        assert_eq!(runs("val_err", 0.01).score_ceiling(), None, "a logarithm never reaches it");
        assert!(runs("val_err", -0.1).metric_bounds().0.is_infinite(), "what is recorded counts");
        assert!(runs("val_loss", 0.0).possible_value(0.0115, -0.2) < 0.0, "a loss may be negative");
    }

    #[test]
    fn a_share_is_held_between_0_and_1_or_100() {
        let up = Direction::Maximize;
        let within = |values: &[f64], share: bool| {
            let runs = [run("a", &[1.0, 2.0], values, up)];
            let metric = share.then(|| Metric::new("accuracy", up));
            let history = History::new(&runs, &HistoryOptions { metric, ..Default::default() }).unwrap();
            assert!((history.to_value(1e3) - 1e3).abs() < 1e-9, "scores are not held to bounds");
            [history.score_floor(), 0.5, 1e3].map(|score| history.possible_value(score, 0.4).to_bits())
        };
        assert_eq!(within(&[0.2, 0.9], true), [0.0, 0.5, 1.0].map(f64::to_bits));
        let ceiling = |values: &[f64], direction, scale| {
            let runs = [run("a", &[1.0, 2.0], values, direction)];
            let metric = Some(Metric::new("accuracy", direction));
            let options = HistoryOptions { metric, scale, ..Default::default() };
            History::new(&runs, &options).unwrap().score_ceiling()
        };
        assert_eq!(ceiling(&[0.2, 0.9], up, None), Some(1.0));
        assert_eq!(ceiling(&[0.2, 0.9], up, Some(Scale::Log)), Some(0.0));
        assert_eq!(ceiling(&[0.2, 90.0], Direction::Minimize, Some(Scale::Linear)), Some(0.0));
        assert_eq!(ceiling(&[0.2, 101.0], up, None), None);
        assert_eq!(within(&[0.2, 90.0], true), [0.0, 0.5, 100.0].map(f64::to_bits));
        for (values, share) in [([0.2, 101.0], true), ([-0.1, 0.9], true), ([0.2, 0.9], false)] {
            let [low, others @ ..] = within(&values, share).map(f64::from_bits);
            assert!(low < -0.1, "{values:?} {share}: {low}");
            assert_eq!(others.map(f64::to_bits), [0.5, 1e3].map(f64::to_bits), "{values:?} {share}");
        }
    }

    #[test]
    fn a_loss_is_refused_where_larger_is_better() {
        let (up, down) = (Direction::Maximize, Direction::Minimize);
        let runs = [run("a", &[1.0], &[0.5], down), run("b", &[1.0], &[0.4], down)];
        let history = History::new(&runs, &HistoryOptions::default()).unwrap();
        assert_eq!(history.direction(), down, "the direction of the curves");
        let metric = Some(Metric::new("val_acc", up));
        let refused = History::new(&runs, &HistoryOptions { metric, ..Default::default() }).unwrap_err();
        assert!(
            refused.to_string().contains("run `a`")
                && refused.to_string().contains("larger values of `val_acc`")
        );
        let mixed = [runs[0].clone(), run("c", &[1.0], &[0.5], up)];
        let refused = History::new(&mixed, &HistoryOptions::default()).unwrap_err();
        assert_eq!(refused, HistoryError::Direction { run: "c".to_owned(), metric: down.into() });
    }

    #[test]
    fn where_losses_only_rise_the_floor_lies_below_what_runs_come_to() {
        let down = Direction::Minimize;
        let scale = Some(Scale::Linear);
        let rising =
            |i: u32, end: f64| run(&i.to_string(), &[1.0, 2.0, 3.0], &[1.0, (1.0 + end) / 2.0, end], down);
        let lost = run("lost", &[1.0, 2.0, 3.0], &[1.0, 2.0, f64::NAN], down);
        let ordinary: Vec<Run> = (0..10).map(|i| rising(i, 1.2 + 0.1 * f64::from(i))).collect();
        let with = |more: &[Run]| {
            let runs = [&ordinary, more].concat();
            History::new(&runs, &HistoryOptions { scale, ..Default::default() }).unwrap()
        };
        // ends at 1.2 to 2.1, median 1.6, best 1.2
        assert!((with(std::slice::from_ref(&lost)).score_floor() + 2.0).abs() < 1e-9);
        // one run that gains a little says nothing of the others: median 1.6, best 0.99
        let history = with(&[lost, rising(10, 0.99)]);
        assert!((history.score_floor() + 2.21).abs() < 1e-9, "{}", history.score_floor());
        assert_eq!(
            (history.final_score(0), history.final_score(10)),
            (Some(-1.2), Some(history.lowest_score()))
        );
        assert!((history.final_score(9).unwrap() + 2.1).abs() < 1e-9, "and leaves them apart");
    }

    #[test]
    fn a_lost_run_is_worse_than_runs_that_all_end_alike() {
        for score in [0.1, 0.0, -3.0] {
            let alike = |id: &str| run(id, &[1.0, 2.0], &[score, score], Direction::Maximize);
            let lost = run("lost", &[1.0, 2.0], &[score, f64::NAN], Direction::Maximize);
            let history = History::new(&[alike("a"), alike("b"), lost], &HistoryOptions::default()).unwrap();
            let end = history.final_score(2).unwrap();
            assert!(end < score && end > score - 8.0, "{end} beside {score}");
        }
    }

    #[test]
    fn a_target_between_two_steps_is_a_point_of_the_grid() {
        let up = Direction::Maximize;
        let steps = [10.0, 20.0, 30.0];
        let runs = [run("a", &steps, &[0.1, 0.2, 0.4], up), run("b", &steps[..2], &[0.1, 0.3], up)];
        let until =
            |target| History::new(&runs, &HistoryOptions { target: Some(target), ..Default::default() });
        let history = until(25.0).unwrap();
        assert_eq!(history.grid(), [10.0, 20.0, 25.0]);
        assert!((history.final_score(0).unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(history.final_score(1), None, "it ends before");
        assert_eq!(until(10.0).unwrap().grid(), [10.0]);
        for target in [5.0, f64::NEG_INFINITY] {
            assert_eq!(until(target).unwrap_err(), HistoryError::Early { target, first: 10.0 });
        }
    }

    #[test]
    fn runs_that_end_at_the_target_are_finished_whatever_their_steps() {
        // start + (62.5 − start)·k/points rounds to 62.50000000000001 for some
        for seed in 0..200 {
            let runs: Vec<Run> = (0..9)
                .map(|i| {
                    let wobble = |k: i32| f64::from((i * 37 + k * 11 + seed * 7) % 97) / 100.0;
                    let mut steps: Vec<f64> = (0..9).map(|k| f64::from(k) * 6.9 + wobble(k)).collect();
                    steps.push(62.5);
                    run(&i.to_string(), &steps, &[0.5; 10], Direction::Maximize)
                })
                .collect();
            let history = History::new(&runs, &HistoryOptions::default()).unwrap();
            assert!((0..9).all(|i| history.final_score(i).is_some()), "seed {seed}");
        }
    }

    #[test]
    fn more_than_2000_shared_steps_are_thinned() {
        let steps: Vec<f64> = (1..=3000).map(f64::from).collect();
        let runs = [run("a", &steps, &vec![0.5; 3000], Direction::Maximize)];
        let history = History::new(&runs, &HistoryOptions::default()).unwrap();
        assert_eq!((history.grid().len(), history.thinned_step_count()), (200, Some(3000)));
    }

    #[test]
    fn the_least_positive_loss_has_a_logarithm_of_its_own() {
        let down = Direction::Minimize;
        for loss in [5e-324, 1e-310, f64::MIN_POSITIVE, 1.0, f64::MAX] {
            let back = Scale::Log.invert(Scale::Log.apply(-loss, down), down);
            assert!((-back / loss - 1.0).abs() < 1e-3, "{loss}: {back}");
        }
    }

    #[test]
    fn nothing_to_learn_from_is_an_error() {
        let empty = [run("a", &[1.0], &[f64::NAN], Direction::Maximize)];
        assert_eq!(History::new(&empty, &HistoryOptions::default()).unwrap_err(), HistoryError::Empty);
        let short = [run("a", &[1.0], &[0.5], Direction::Maximize)];
        let options = HistoryOptions { target: Some(9.0), ..Default::default() };
        let error = History::new(&short, &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no run reaches step 9. Choose a target of at most 1, the last step of the longest run"
        );
    }
}
