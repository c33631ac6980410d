//! The random search of the paper: 1000 draws of (C, ν, γ), scored by 3-fold cross-validation.
//!
//! The winner is the draw with the largest mean R² over the folds (the first of equals). Most fits are never made. Two
//! upper bounds on a fold's R² come before any solve ([`Fold::reach_bound`], first in a coarser form, and
//! [`Fold::aligned_bound`]), and a draw whose
//! bounds, with the R² of the folds already solved in their place, cannot sum to the best sum so far is left. With the
//! linear kernel a third bound follows the solution from draw to draw ([`super::tour`]), and only the best few are solved
//! on their own.
//!
//! **The winner is that of the full search.** Let S(d) be the sum of a draw's R², U(d) ≥ S(d) the sum of its bounds, and
//! B the best sum at the time. A draw is left only if U(d) < B, hence S(d) < B ≤ the final best: it is neither the winner
//! nor its equal. All others are solved to the end by the same code, and ties go to the smaller index whatever the order.

use super::fold::SearchFold;
use super::geometry::PairwiseSums;
use super::parameters::{FoldAssignment, Kernel, SearchChoice, SvrParameters, count_folds};
use super::scaling::ScaledDesign;
use super::solver::in_order;
use super::tour::follow;
use crate::linalg::matrix::Matrix;

/// Scores `draws` by cross-validation on `x`, shape (n, features), and `y`, and gives the best.
///
/// With `scale`, columns of `x` and the target are standardized on the training rows of each fold; without, they are taken as they are.
pub fn search_parameters(
    x: &Matrix,
    y: &[f64],
    kernel: Kernel,
    draws: &[SvrParameters],
    folds: &FoldAssignment,
    scale: bool,
) -> SearchChoice {
    let count = count_folds(folds);
    let scaled = ScaledDesign::new(x, scale);
    let mut geometry = PairwiseSums::new(y.len(), kernel, count + 1);
    geometry.add(&scaled.points, 0..x.column_count(), &scaled.fold_weights(x.column_count(), folds, count));
    search_sums(&geometry, y, kernel, draws, folds, scale)
}

/// The search on pairwise sums: weighting f of `geometry` is that of fold f.
pub(super) fn search_sums(
    geometry: &PairwiseSums,
    y: &[f64],
    kernel: Kernel,
    draws: &[SvrParameters],
    folds: &FoldAssignment,
    scale: bool,
) -> SearchChoice {
    let mut folds: Vec<SearchFold> =
        (0..count_folds(folds)).map(|f| SearchFold::prepare(geometry, y, kernel, folds, f, scale)).collect();
    let mut best = SearchChoice { index: 0, parameters: draws[0], score: f64::NEG_INFINITY, solved: 0 };
    let mut order = promising_order(draws, kernel);
    let count = folds.len();
    let mut bounds = vec![f64::INFINITY; draws.len() * count];
    if kernel == Kernel::Linear {
        bound_by_following(&mut folds, draws, &mut order, &mut bounds, &mut best.solved);
    }
    let mut hardest: Vec<usize> = (0..count).collect();
    for index in order {
        let draw = &draws[index];
        let needed = best.score * count as f64;
        let known = &bounds[index * count..(index + 1) * count];
        let Some(scores) = race_folds(&mut folds, draw, known, &hardest, needed, &mut best.solved) else {
            continue;
        };
        let sum: f64 = scores.iter().sum();
        let score = sum / folds.len().max(1) as f64;
        if score > best.score || (score >= best.score && index < best.index) {
            best = SearchChoice { index, parameters: *draw, score, ..best };
            hardest.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        }
    }
    best
}

/// Bounds every draw by its followed solution ([`follow`]), as far as it can come up to the first of `order`, and puts
/// those first whose bounds sum to most.
fn bound_by_following(
    folds: &mut [SearchFold],
    draws: &[SvrParameters],
    order: &mut [usize],
    bounds: &mut [f64],
    solved: &mut usize,
) {
    let count = folds.len();
    for (row, draw) in bounds.chunks_mut(count.max(1)).zip(draws) {
        for (bound, fold) in row.iter_mut().zip(&*folds) {
            *bound = fold.reach_bound(draw).min(fold.aligned_bound(draw));
        }
    }
    let first = &draws[order[0]];
    let floor: f64 = folds.iter_mut().map(|fold| fold.score(first)).sum();
    *solved += count + follow(folds, draws, bounds, floor - 1e-9);
    order.sort_by(|&a, &b| {
        let [a, b] = [a, b].map(|i| bounds[i * count..(i + 1) * count].iter().sum::<f64>());
        b.total_cmp(&a)
    });
}

/// The folds' R², or `None` as soon as their sum cannot reach `needed`; `known` are bounds on each fold's. Folds are solved
/// in `order`: with the hardest first, what they leave to the others falls short soonest.
fn race_folds(
    folds: &mut [SearchFold],
    draw: &SvrParameters,
    known: &[f64],
    order: &[usize],
    needed: f64,
    solved: &mut usize,
) -> Option<Vec<f64>> {
    // a sum that ties is not to be lost to rounding
    let needed = needed - 1e-9;
    // fold after fold, 1 standing for the others: most draws are left at the first
    let mut coarse = folds.len() as f64;
    for (fold, known) in folds.iter().zip(known) {
        coarse -= 1.0 - fold.coarse_bound(draw).min(*known);
        if coarse < needed {
            return None;
        }
    }
    let mut bounds: Vec<f64> =
        folds.iter().zip(known).map(|(fold, known)| fold.reach_bound(draw).min(*known)).collect();
    for &f in order {
        if bounds.iter().sum::<f64>() < needed {
            return None;
        }
        folds[f].enter(draw);
        bounds[f] = bounds[f].min(folds[f].aligned_bound(draw));
        if bounds.iter().sum::<f64>() < needed {
            return None;
        }
        *solved += 1;
        bounds[f] = folds[f].score(draw);
    }
    Some(bounds)
}

/// Draws in the order in which they are tried, likely winners first: it changes the time, never the result.
fn promising_order(draws: &[SvrParameters], kernel: Kernel) -> Vec<usize> {
    // integers sort faster
    let mut order: Vec<(i64, usize)> =
        draws.iter().enumerate().map(|(i, draw)| (in_order(-promise_score(draw, kernel)), i)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

/// A guess at how well a draw will do.
fn promise_score(draw: &SvrParameters, kernel: Kernel) -> f64 {
    match kernel {
        Kernel::Rbf => {
            draw.c.ln().min(2.0) - 0.7 * (draw.gamma / 0.003).ln().abs() - draw.nu.ln().abs() * 0.2
        }
        Kernel::Linear => -(draw.c.ln() + 3.0).abs(),
    }
}
