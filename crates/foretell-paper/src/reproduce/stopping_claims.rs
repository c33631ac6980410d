//! The paper's claims about early stopping and f-Hyperband, compared with measurements on its own data.

use super::measure::Part;
use super::named::distinct;
use super::replayed::Replayed;
use super::searches::{EXTRAPOLATION, rule};
use foretell_search::Reference;

/// Further apart than this many standard errors of the difference, one is ahead of the other.
pub(super) const AHEAD: f64 = 2.0;
/// The paper's predictor, the SRM, with its one σ(τ).
const SRM: &str = "svr-rbf+gaussian";
/// A setting keeps the best reliably if it does so in at least this share of the orders.
const RELIABLE: f64 = 0.95;
/// The saving in the MetaQNN space that the paper's figure shows.
const PUBLISHED_METAQNN: f64 = 6.0;
/// The published savings of f-Hyperband, alone and with models of earlier runs.
const PUBLISHED_HYPERBAND: (f64, f64) = (2.0, 7.0);

/// Sentences on claims that `replays` do not bear out: that the SRM saves more than extrapolation, that Δ = 0.99 keeps the best, how much
/// is saved in a search, and how much in Hyperband.
pub(super) fn refuted(replays: &[Replayed]) -> Vec<String> {
    let (hyperband, searches): (Vec<&Replayed>, Vec<&Replayed>) =
        replays.iter().filter(|row| !row.compressed).partition(|row| row.part == Part::Hyperband);
    let mut sentences = Vec::new();
    for curves in distinct(searches.iter().map(|row| row.curves)) {
        let here: Vec<&Replayed> = searches.iter().copied().filter(|row| row.curves == curves).collect();
        let mut sizes: Vec<usize> = here.iter().map(|row| row.numbers.runs).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for runs in sizes {
            let same: Vec<&Replayed> = here.iter().copied().filter(|row| row.numbers.runs == runs).collect();
            sentences.extend(same.iter().filter_map(|srm| faster_extrapolation(srm, &same)));
            sentences.extend(same.iter().filter_map(|row| unreliable(row)));
        }
        sentences.extend(here.iter().filter_map(|row| slower_than_published(row)));
        sentences.extend(slower_than_the_figure(&here));
    }
    for curves in distinct(hyperband.iter().map(|row| row.curves)) {
        let here: Vec<&Replayed> = hyperband.iter().copied().filter(|row| row.curves == curves).collect();
        sentences.extend(slower_hyperband(&here));
    }
    sentences
}

fn is_plain_srm(row: &Replayed) -> bool {
    row.predictor == Some(SRM) && row.variant == "delta"
}

/// Whether both are equal, as numbers that were written down.
fn same(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-9)
}

fn kept(row: &Replayed) -> String {
    format!(
        "{:.0} of {}",
        row.numbers.best_kept.unwrap_or(0.0) * row.numbers.orderings as f64,
        row.numbers.orderings
    )
}

/// Where extrapolation, from the second run on, saves more than the SRM at its Δ and keeps the best no less often: the fastest rule.
fn faster_extrapolation(srm: &Replayed, rows: &[&Replayed]) -> Option<String> {
    let delta = srm.stop_probability.filter(|_| is_plain_srm(srm))?;
    let ahead = |row: &&&Replayed| {
        row.predictor == Some(EXTRAPOLATION)
            && row.burn_in == 1
            && same(row.stop_probability, delta)
            && row.numbers.best_kept >= srm.numbers.best_kept
            && row.numbers.speedup_mean - srm.numbers.speedup_mean
                > AHEAD * row.numbers.speedup_stderr.hypot(srm.numbers.speedup_stderr)
    };
    let fastest =
        rows.iter().filter(ahead).max_by(|a, b| a.numbers.speedup_mean.total_cmp(&b.numbers.speedup_mean))?;
    Some(format!(
        "{}, {} runs: `{EXTRAPOLATION}` from the second run on ({}) saves more than the SRM at Δ = {delta}: {:.2} against {:.2} times, the best kept in {} orders against {}",
        srm.curves,
        srm.numbers.runs,
        rule(fastest),
        fastest.numbers.speedup_mean,
        srm.numbers.speedup_mean,
        kept(fastest),
        kept(srm)
    ))
}

/// Where the SRM loses the best at the Δ that was published to keep it.
fn unreliable(row: &Replayed) -> Option<String> {
    let loses = row.numbers.best_kept.is_some_and(|kept| kept < RELIABLE);
    (is_plain_srm(row) && same(row.stop_probability, 0.99) && loses).then(|| {
        format!(
            "{}, {} runs: the SRM at Δ = 0.99 keeps the best in {} orders",
            row.curves,
            row.numbers.runs,
            kept(row)
        )
    })
}

fn slower_than_published(row: &Replayed) -> Option<String> {
    let published = row.published.filter(|_| row.predictor == Some(SRM))?;
    (row.numbers.speedup_mean + AHEAD * row.numbers.speedup_stderr < published).then(|| {
        format!("{}: the SRM saves {:.2} times, published {published}", row.curves, row.numbers.speedup_mean)
    })
}

/// Where no setting of the SRM reaches what the paper's figure shows in the MetaQNN space.
fn slower_than_the_figure(rows: &[&Replayed]) -> Option<String> {
    let of_srm = rows.iter().filter(|row| row.predictor == Some(SRM) && row.study_size.is_none());
    let fastest = of_srm.max_by(|a, b| a.numbers.speedup_mean.total_cmp(&b.numbers.speedup_mean))?;
    let slow = fastest.numbers.speedup_mean + AHEAD * fastest.numbers.speedup_stderr < PUBLISHED_METAQNN;
    (fastest.curves.starts_with("metaqnn") && slow).then(|| {
        format!(
            "{}: the SRM saves {:.2} times at most, published up to {PUBLISHED_METAQNN}",
            fastest.curves, fastest.numbers.speedup_mean
        )
    })
}

/// f-Hyperband as printed (rung, κ = 1) where it saves less than published.
fn slower_hyperband(rows: &[&Replayed]) -> Option<String> {
    let printed = |variant: &str, predictor: Option<&str>| {
        rows.iter().find(|row| {
            row.variant == variant
                && row.predictor == predictor
                && row.reference == Some(Reference::Rung)
                && same(row.kappa, 1.0)
        })
    };
    let (cold, warm) = (printed("cold", Some(SRM))?, printed("warm", Some(SRM))?);
    let oracle = printed("oracle", None)?;
    let (alone, reused) = PUBLISHED_HYPERBAND;
    (cold.numbers.speedup_mean + AHEAD * cold.numbers.speedup_stderr < alone).then(|| {
        format!(
            "{}: f-Hyperband as printed saves {:.2} times (published on cuda-convnet: {alone}), with models of earlier runs {:.2} (published: up to {reused}); perfect foresight would save {:.2}",
            cold.curves, cold.numbers.speedup_mean, warm.numbers.speedup_mean, oracle.numbers.speedup_mean
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::replayed::{Course, Numbers};

    fn row(predictor: &'static str, stop_probability: f64, speedup_mean: f64, best_kept: f64) -> Replayed {
        Replayed {
            part: Part::Stopping,
            curves: "metaqnn_cifar10",
            preparation: "weights, depth",
            compressed: false,
            variant: "delta",
            predictor: Some(predictor),
            policy: Some("srm".to_owned()),
            study_size: None,
            burn_in: if predictor == SRM { 100 } else { 1 },
            stop_probability: Some(stop_probability),
            offset: 0.0,
            nth_best: 1,
            reference: None,
            kappa: None,
            numbers: Numbers {
                orderings: 10,
                runs: 1000,
                speedup_mean,
                speedup_stderr: 0.1,
                best_kept: Some(best_kept),
                ..Numbers::default()
            },
            published: None,
            course: Course::default(),
        }
    }

    #[test]
    fn extrapolation_refutes_only_where_it_saves_more_and_loses_no_more() {
        let srm = row(SRM, 0.95, 6.1, 0.9);
        let sentences = |lce: Replayed| refuted(&[srm.clone(), lce]);
        let faster = sentences(row(EXTRAPOLATION, 0.95, 7.0, 0.9));
        assert!(matches!(&faster[..], [one] if one.contains("7.00 against 6.10 times")), "{faster:?}");
        for other in [row(EXTRAPOLATION, 0.95, 7.0, 0.8), row(EXTRAPOLATION, 0.95, 6.2, 1.0)] {
            assert!(sentences(other).is_empty(), "loses more, or is hardly faster");
        }
        let late = Replayed { burn_in: 100, ..row(EXTRAPOLATION, 0.95, 7.0, 1.0) };
        assert!(sentences(late).is_empty(), "it may begin at once");
    }

    #[test]
    fn a_best_that_is_lost_and_a_figure_that_is_not_reached_are_said() {
        let sentences = refuted(&[row(SRM, 0.99, 4.1, 0.9)]);
        assert!(
            sentences.iter().any(|one| one.contains("keeps the best in 9 of 10 orders")),
            "{sentences:?}"
        );
        assert!(sentences.iter().any(|one| one.contains("4.10 times at most")), "{sentences:?}");
        assert!(refuted(&[row(SRM, 0.99, 6.0, 1.0)]).is_empty());
    }

    #[test]
    fn f_hyperband_is_held_against_what_was_published() {
        let replayed = |variant, predictor, speedup| Replayed {
            part: Part::Hyperband,
            variant,
            predictor,
            reference: Some(Reference::Rung),
            kappa: Some(1.0),
            ..row(SRM, 0.95, speedup, 1.0)
        };
        let all = |cold| {
            [
                replayed("cold", Some(SRM), cold),
                replayed("warm", Some(SRM), 1.4),
                replayed("oracle", None, 1.6),
            ]
        };
        let sentences = refuted(&all(1.2));
        assert!(matches!(&sentences[..], [one] if one.contains("perfect foresight would save 1.60")));
        assert!(refuted(&all(1.9)).is_empty());
    }
}
