//! Prints the time of a decision of the chain with earlier curves to learn from, and of the longest one, in which everything is fitted again.

#![allow(clippy::print_stdout, reason = "an example speaks")]

use foretell::TrialContest;
use std::time::Instant;

/// The score of curve `number` at a fraction of the training.
fn score(number: usize, time: f64) -> f64 {
    let end = (number as f64 * 0.618_034).fract();
    end * (1.0 - (-5.0 * time).exp()) + 0.01 * (number as f64 * 7.3 + time * 91.7).sin()
}

fn main() {
    const EPOCHS: u64 = 200;
    const TRIALS: usize = 40;
    for lessons in [0, 100, 1000] {
        let levels = foretell::chain_levels(EPOCHS);
        let curve = |number: usize| -> Vec<f64> {
            let reached = if number.is_multiple_of(4) { levels.len() } else { 4 + number % 9 };
            levels[..reached].iter().map(|&level| score(number, level as f64 / EPOCHS as f64)).collect()
        };
        let earlier: Vec<Vec<f64>> = (0..lessons).map(curve).collect();
        let mut contest = TrialContest::new(EPOCHS, &[earlier]);
        let (mut total, mut longest, mut decisions) = (0.0, 0.0_f64, 0);
        for trial in 0..TRIALS {
            for score in curve(trial + 5000) {
                let begun = Instant::now();
                contest.record_level_score(trial, score);
                std::hint::black_box(contest.trial_prospect(trial, TRIALS as u64));
                let taken = begun.elapsed().as_secs_f64() * 1e3;
                (total, longest, decisions) = (total + taken, longest.max(taken), decisions + 1);
            }
            contest.stop_trial(trial);
        }
        println!(
            "{lessons} earlier curves, {} levels: {:.2} ms per decision, {longest:.2} ms at most; they {}",
            levels.len(),
            total / f64::from(decisions),
            if contest.uses_earlier_runs() { "count" } else { "do not count" }
        );
    }
}
