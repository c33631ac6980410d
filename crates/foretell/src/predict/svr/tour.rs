//! The linear search from draw to draw: the solution of one draw is followed to the next.
//!
//! With the linear kernel all draws of a fold share one kernel matrix, and the dual's coefficients are piecewise linear in
//! (C, C·ν). So the active set, the coefficients scaled with C, and the inverse of the free points' kernel are kept from one
//! draw to its neighbor, a few rounds of the active-set method away, where a solve of its own takes hundreds of steps.
//!
//! **The winner stays that of the full search.** Forecasts of a ν-SVR are unique where each side of the tube has a point
//! strictly between its bounds, and nothing else is taken from a followed solution. It and the draw's own solve reach
//! them within the solver's tolerance; the score followed, plus a slack, is therefore a bound on R² like those of
//! [`super::search`], and the draws that the bounds leave are solved on their own.

use super::fold::SearchFold;
use super::parameters::SvrParameters;
use super::pivot::{ActiveSet, FinishOutcome};
use super::solver::{DualSolver, SolveEffort};

/// The largest difference between the R² of a followed solution and of the draw's own solve, in units of 2 − R²: some
/// twenty times what 1500 seeds of the test show (5e-7).
const SCORE_SLACK: f64 = 1e-5;

/// Violation of optimality left in a followed solution, in units of the target.
const FOLLOW_TOLERANCE: f64 = 1e-7;

/// One fold's solution, followed from draw to draw.
#[derive(Debug, Default)]
pub(super) struct SolutionFollower {
    pivot: ActiveSet,
    dual: DualSolver,
    /// Whether `pivot` holds a solution.
    underway: bool,
}

impl SolutionFollower {
    /// Goes on to `draw` and gives R² on the held-out rows; `None` if this method does not reach the optimum, or the
    /// optimum leaves the bias open.
    pub(super) fn score(&mut self, fold: &SearchFold, draw: &SvrParameters) -> Option<f64> {
        let problem = fold.problem(draw);
        if self.underway {
            self.pivot.resume(&problem);
        } else {
            self.dual.solve(&problem, SolveEffort::SEARCH_LINEAR);
            self.pivot.start(&problem, (&self.dual.alpha, &self.dual.alpha_star, &self.dual.gradient), false);
        }
        let ended = self.pivot.finish(problem.kernel, FOLLOW_TOLERANCE, 4 * problem.kernel.n);
        // a solution that is not finished cannot be followed: the next draw starts with a solve of its own
        self.underway = ended == FinishOutcome::Optimal;
        let bias = self.pivot.bias().filter(|_| self.underway)?;
        Some(fold.r_squared(&self.pivot.beta, bias))
    }
}

/// Lowers `bounds`, one per draw and fold, draw after draw, of the draws whose bounds sum to at least `floor` to what their
/// followed solutions reach; gives how many there were.
///
/// O(n²) per draw and round: some ten rounds per draw.
pub(super) fn follow(folds: &[SearchFold], draws: &[SvrParameters], bounds: &mut [f64], floor: f64) -> usize {
    let count = folds.len();
    let order = order_draws(draws);
    let mut followed = 0;
    for (f, fold) in folds.iter().enumerate() {
        let mut follower = SolutionFollower::default();
        for &i in &order {
            let bounds = &mut bounds[i * count..(i + 1) * count];
            if bounds.iter().sum::<f64>() < floor {
                continue;
            }
            followed += 1;
            if let Some(score) = follower.score(fold, &draws[i]) {
                bounds[f] = bounds[f].min(score + SCORE_SLACK * (2.0 - score));
            }
        }
    }
    followed
}

/// Draws in an order in which neighbors have a like ν and C: strip after strip in ν, up and down in C.
fn order_draws(draws: &[SvrParameters]) -> Vec<usize> {
    let strips = (0.7 * (draws.len() as f64).sqrt()).ceil();

    let mut order: Vec<usize> = (0..draws.len()).collect();
    order.sort_by(|&a, &b| {
        let [a, b] = [&draws[a], &draws[b]].map(|draw| {
            let strip = (draw.nu * strips).floor();
            (strip, if strip % 2.0 < 1.0 { draw.c } else { -draw.c })
        });
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;
    use crate::predict::svr::geometry::PairwiseSums;
    use crate::predict::svr::parameters::{Kernel, count_folds, draw_folds, draw_parameters};
    use crate::predict::svr::scaling::ScaledDesign;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// The folds of a random linear search: columns may be fewer than rows or more, rows may be twins, and some columns are sums of others.
    fn folds(random: &mut ChaCha8Rng) -> Vec<SearchFold> {
        let (n, d) = (random.random_range(9..60), random.random_range(1..20));
        let mut x = Matrix::from_fn(n, d + 2, |_, _| 2.0 * random.random::<f64>() - 1.0);
        let twins = random.random_range(0..3) == 0;
        for i in 0..n {
            if twins && i % 2 == 1 {
                let row = x.row(i - 1).to_vec();
                x.row_mut(i).copy_from_slice(&row);
            }
            let row = x.row_mut(i);
            (row[d], row[d + 1]) = (row[0] - row[d - 1], 3.0);
        }
        let mut target =
            |i: usize| 2.0 * x.row(i)[0] + x.row(i)[d - 1].powi(2) + 0.3 * random.random::<f64>();
        let y: Vec<f64> = (0..n).map(&mut target).collect();
        let folds = draw_folds(n, 3, random);
        let count = count_folds(&folds);
        let scaled = ScaledDesign::new(&x, true);
        let mut geometry = PairwiseSums::new(n, Kernel::Linear, count + 1);
        geometry.add(
            &scaled.points,
            0..x.column_count(),
            &scaled.fold_weights(x.column_count(), &folds, count),
        );
        (0..count).map(|f| SearchFold::prepare(&geometry, &y, Kernel::Linear, &folds, f, true)).collect()
    }

    #[test]
    fn followed_scores_are_those_of_each_draw_alone_well_within_the_slack() {
        let (mut reached, mut all) = (0, 0);
        for seed in 0..100 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut folds = folds(&mut random);
            let draws = draw_parameters(40, &mut random);
            for fold in &mut folds {
                let mut follower = SolutionFollower::default();
                for &i in &order_draws(&draws) {
                    all += 1;
                    let Some(score) = follower.score(fold, &draws[i]) else { continue };
                    reached += 1;
                    let alone = fold.score(&draws[i]);
                    let apart = (score - alone).abs() / (2.0 - alone);
                    assert!(
                        apart < SCORE_SLACK / 15.0,
                        "seed {seed}, {:?}: {score}, alone {alone}",
                        draws[i]
                    );
                }
            }
        }
        assert!(reached * 100 > all * 98, "{reached} of {all}");
    }
}
