//! `foretell draw`: recorded curves as a picture, colored by their outcome.

use crate::curves::CurveFlags;
use crate::failure::{CommandResult, Failure};
use crate::output::{metric_value, print, table};
use crate::plot::{self, CurveOutcome, CurvePanel, DrawnCurve, RecordedCurvesFigure};
use crate::scheduling::measure_name;
use foretell::{Curve, History, Run};
use std::path::{Path, PathBuf};

/// The arguments of `foretell draw`.
#[derive(clap::Args)]
pub(crate) struct DrawArguments {
    /// Recorded curves or logs of a tool: files or folders. Each one gets its own panel.
    #[arg(required = true, value_name = "CURVES")]
    curves: Vec<PathBuf>,
    /// Output file (.svg or .png).
    #[arg(long, value_name = "FILE")]
    plot: PathBuf,
    /// Size of the plot in a paper, such as 3.3x2.5in (also cm, mm or px). Text is then 8 points high, and the title is left out.
    #[arg(long, value_name = "SIZE")]
    plot_size: Option<plot::FigureSize>,
    /// Number of curves to plot per set. They are evenly spaced by rank and include the best one.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    number: u32,
    #[command(flatten)]
    reading: CurveFlags,
}

/// A set of curves as it is drawn, and its line in the table.
struct DrawnSet {
    panel: CurvePanel,
    line: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &DrawArguments) -> CommandResult {
    plot::FigureSize::apply(arguments.plot_size);
    plot::check_place(&arguments.plot, None).map_err(Failure::input)?;
    let drawn: Vec<DrawnSet> =
        arguments.curves.iter().map(|path| draw_file(path, arguments)).collect::<Result<_, _>>()?;
    let headings = ["curves", "runs", "drawn", "diverged", "unfinished", "best", "median", "worst"];
    let lines: Vec<Vec<String>> = drawn.iter().map(|one| one.line.clone()).collect();
    print(&table(&headings, &lines))?;
    let title = match &drawn[..] {
        [only] => format!("recorded curves: {}", only.panel.name),
        _ => "recorded curves".to_owned(),
    };
    let subtitle = format!(
        "at most {} curves of each set, evenly spaced in the order of their final results",
        arguments.number
    );
    let panels = drawn.into_iter().map(|one| one.panel).collect();
    let figure = RecordedCurvesFigure { title, subtitle, panels }.draw();
    plot::save(&arguments.plot, &figure).map_err(Failure::midway)
}

fn draw_file(path: &Path, arguments: &DrawArguments) -> Result<DrawnSet, Failure> {
    let recorded = arguments.reading.read(path)?;
    let history = arguments.reading.history(&recorded, path)?;
    let came: Vec<(usize, CurveOutcome)> = run_outcomes(&history, &recorded.runs);
    let finished: Vec<f64> = came
        .iter()
        .filter_map(|(_, came)| if let CurveOutcome::ToTheEnd(_, value) = came { Some(*value) } else { None })
        .collect();
    let count = |wanted: CurveOutcome| came.iter().filter(|(_, came)| *came == wanted).count().to_string();
    let (diverged, unfinished) = (count(CurveOutcome::Diverged), count(CurveOutcome::Unfinished));
    let chosen = spaced_indices(came.len(), arguments.number as usize);
    let curves: Vec<DrawnCurve> = chosen
        .into_iter()
        .map(|place| {
            let (run, came) = came[place];
            drawn_curve(&recorded.runs[run], &history, came)
        })
        .collect();
    let value = |place: Option<&f64>| place.map_or("–".to_owned(), |value| metric_value(*value));
    let line = vec![
        recorded.name.clone(),
        recorded.runs.len().to_string(),
        curves.len().to_string(),
        diverged,
        unfinished,
        value(finished.first()),
        value(finished.get(finished.len() / 2)),
        value(finished.last()),
    ];
    let panel = CurvePanel {
        name: recorded.name,
        runs: recorded.runs.len(),
        metric: measure_name(history.run_score(), &recorded.metric.name),
        maximize: recorded.metric.direction == foretell::Direction::Maximize,
        curves,
    };
    Ok(DrawnSet { panel, line })
}

/// The outcome of each run: completed runs, best first, then those that diverged, then unfinished ones.
fn run_outcomes(history: &History, runs: &[Run]) -> Vec<(usize, CurveOutcome)> {
    let score = |value: f64| history.direction().to_score(value);
    let end = |run: &Run| history.recorded_end(&run.curve).filter(|_| run.curve.diverged_at().is_none());
    let mut finished: Vec<(usize, f64)> =
        runs.iter().enumerate().filter_map(|(i, run)| Some((i, end(run)?))).collect();
    finished.sort_by(|a, b| score(b.1).total_cmp(&score(a.1)));
    let others = finished.len().saturating_sub(1).max(1) as f64;
    // equal results have equal colors: the mean of their ranks
    let share = |value: f64| {
        let better = finished.partition_point(|known| score(known.1) > score(value)) as f64;
        let no_worse = finished.partition_point(|known| score(known.1) >= score(value)) as f64;
        ((finished.len() as f64 - no_worse) + (others - better)) / (2.0 * others)
    };
    let ranked = finished.iter().map(|&(run, value)| (run, CurveOutcome::ToTheEnd(share(value), value)));
    let open = |diverged: bool, came: CurveOutcome| {
        let others = runs
            .iter()
            .enumerate()
            .filter(move |(_, run)| end(run).is_none() && run.curve.diverged_at().is_some() == diverged);
        others.map(move |(i, _)| (i, came)).collect::<Vec<_>>()
    };
    ranked.chain(open(true, CurveOutcome::Diverged)).chain(open(false, CurveOutcome::Unfinished)).collect()
}

/// `number` places of `all`, evenly spaced, the first among them; all of them where they are no more.
fn spaced_indices(all: usize, number: usize) -> Vec<usize> {
    let number = number.min(all);
    let step = |k: usize| (k * all.saturating_sub(1)).checked_div(number.saturating_sub(1)).unwrap_or(0);
    (0..number).map(step).collect()
}

fn drawn_curve(run: &Run, history: &History, came: CurveOutcome) -> DrawnCurve {
    let curve: std::borrow::Cow<'_, Curve> = history.run_score().score_curve(&run.curve);
    let values = curve.scores().iter().map(|&score| history.direction().to_value(score));
    DrawnCurve { name: run.id.clone(), points: curve.steps().iter().copied().zip(values).collect(), came }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell::{Configuration, Direction, HistoryOptions};

    #[test]
    fn places_are_evenly_spaced_with_both_ends() {
        assert_eq!(spaced_indices(10, 4), [0, 3, 6, 9]);
        assert_eq!(spaced_indices(3, 7), [0, 1, 2]);
        assert_eq!((spaced_indices(5, 1), spaced_indices(0, 3)), (vec![0], vec![]));
    }

    #[test]
    fn the_best_comes_first_and_what_is_lost_or_open_last() {
        let down = Direction::Minimize;
        let run = |id: &str, values: &[f64]| Run {
            id: id.into(),
            configuration: Configuration::new(),
            curve: Curve::from_epoch_values(values, down),
        };
        let runs = [
            run("open", &[2.0]),
            run("worst", &[2.0, 1.5, 1.4]),
            run("lost", &[2.0, f64::NAN, f64::NAN]),
            run("best", &[2.0, 1.0, 0.5]),
            run("middle", &[2.0, 1.0, 0.9]),
        ];
        let options = HistoryOptions { target: Some(3.0), ..HistoryOptions::default() };
        let history = History::new(&runs, &options).expect("a history");
        let came = run_outcomes(&history, &runs);
        assert_eq!(came.iter().map(|(run, _)| *run).collect::<Vec<_>>(), [3, 4, 1, 2, 0]);
        assert_eq!(came[1].1, CurveOutcome::ToTheEnd(0.5, 0.9));
        let equal = [run("a", &[2.0, 1.0, 0.5]), run("b", &[2.0, 1.0, 0.5]), run("c", &[2.0, 1.0, 0.9])];
        let shares = run_outcomes(&History::new(&equal, &options).expect("a history"), &equal);
        assert_eq!(
            (shares[0].1, shares[1].1),
            (CurveOutcome::ToTheEnd(0.75, 0.5), CurveOutcome::ToTheEnd(0.75, 0.5))
        );
        assert_eq!((came[3].1, came[4].1), (CurveOutcome::Diverged, CurveOutcome::Unfinished));
    }
}
