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
    let [diverged, unfinished] = [CurveOutcome::Diverged, CurveOutcome::Unfinished]
        .map(|wanted| came.iter().filter(|(_, came)| *came == wanted).count().to_string());
    let chosen = spaced_indices(came.len(), arguments.number as usize);
    let curves: Vec<DrawnCurve> = chosen
        .into_iter()
        .map(|place| {
            let (run, came) = came[place];
            drawn_curve(&recorded.runs[run], &history, came)
        })
        .collect();
    let [best, median, worst] = [finished.first(), finished.get(finished.len() / 2), finished.last()]
        .map(|value| value.map_or("–".to_owned(), |value| metric_value(*value)));
    let line = vec![
        recorded.name.clone(),
        recorded.runs.len().to_string(),
        curves.len().to_string(),
        diverged,
        unfinished,
        best,
        median,
        worst,
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
    let (mut finished, mut diverged, mut unfinished) = (Vec::new(), Vec::new(), Vec::new());
    for (number, run) in runs.iter().enumerate() {
        match history.recorded_end(&run.curve) {
            _ if run.curve.diverged_at().is_some() => diverged.push((number, CurveOutcome::Diverged)),
            Some(value) => finished.push((number, value, history.direction().to_score(value))),
            None => unfinished.push((number, CurveOutcome::Unfinished)),
        }
    }
    finished.sort_by(|a, b| b.2.total_cmp(&a.2));
    let others = finished.len().saturating_sub(1).max(1) as f64;
    let ranked = finished.iter().map(|&(number, value, score)| {
        // equal results have equal colors: the mean of their ranks
        let better = finished.partition_point(|known| known.2 > score) as f64;
        let no_worse = finished.partition_point(|known| known.2 >= score) as f64;
        let share = ((finished.len() as f64 - no_worse) + (others - better)) / (2.0 * others);
        (number, CurveOutcome::ToTheEnd(share, value))
    });
    ranked.chain(diverged).chain(unfinished).collect()
}

/// `number` places of `all`, evenly spaced, the first among them; all of them where they are no more.
fn spaced_indices(all: usize, number: usize) -> Vec<usize> {
    let number = number.min(all);
    let gaps = number.saturating_sub(1);
    (0..number).map(|k| (k * all.saturating_sub(1)).checked_div(gaps).unwrap_or(0)).collect()
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
