//! Replay: all recorded runs, colored by their fate under early stopping: kept, stopped, stopped wrongly.

use super::color::{BLUE, Color, INK, ORANGE, PURPLE};
use super::figure::{Figure, Shape, Stroke, TextAnchor, TextLine, hinted_group};
use super::labels::spread;
use super::page::{FigurePage, LegendEntry, LegendMark};
use super::panel::{LABEL_FONT_SIZE, Panel};
use super::scale::{AxisRange, short};

/// The fate of a run under early stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedFate {
    /// Would have run to the end.
    Kept,
    /// Would have been stopped correctly.
    Stopped,
    /// Would have been stopped wrongly, although it is one of the wanted runs.
    StoppedWrongly,
}

/// One recorded run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedRun {
    /// Name of the run.
    pub name: String,
    /// The whole recorded curve: (resource, metric in the user's direction), by resource.
    pub points: Vec<(f64, f64)>,
    /// Fate under early stopping.
    pub fate: RecordedFate,
    /// At which resource it would have been stopped; nothing for runs that are kept.
    pub stopped_at: Option<f64>,
}

/// Recorded runs by their fate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FatesFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// Name of the metric.
    pub metric: String,
    /// Whether larger values of the metric are better.
    pub maximize: bool,
    /// The resource, in the plural, such as `epochs`.
    pub resource: String,
    /// The runs.
    pub runs: Vec<RecordedRun>,
}

/// The largest number of wrongly stopped runs that are labeled.
const MAX_NAMED_RUNS: usize = 6;

impl FatesFigure {
    /// Draws each curve until its stop, and the part that would not have been trained faintly.
    pub(crate) fn draw(&self) -> Figure {
        let mut page = FigurePage::new(640.0, &self.title, &self.subtitle, &self.legend_entries());
        let values: Vec<f64> = self.runs.iter().flat_map(|r| r.points.iter().map(|p| p.1)).collect();
        let y = AxisRange::from_most_values(values.iter().copied()).with_padding(0.03, 0.04);
        let x = AxisRange::covering(self.runs.iter().flat_map(|r| r.points.iter().map(|p| p.0)).chain([0.0]));
        let area = page.body.inset(46.0, 34.0, 12.0, 44.0);
        let panel = Panel::of_curves(area, x, y, self.maximize, &values);
        page.draw(panel.frame(&self.resource, &self.metric));
        page.draw([self.curves(&panel)]);
        page.draw(self.run_labels(&panel));
        page.add_footnote(&panel.left_out(&values));
        page.figure
    }

    fn legend_entries(&self) -> Vec<LegendEntry> {
        let fates = [
            (RecordedFate::Kept, "kept"),
            (RecordedFate::Stopped, "stopped"),
            (RecordedFate::StoppedWrongly, "stopped wrongly"),
        ];
        let entries = fates.into_iter().map(|(fate, name)| {
            let count = self.runs.iter().filter(|r| r.fate == fate).count();
            let line = LegendMark::Line(Stroke::solid_line(color(fate), 2.4));
            LegendEntry::new(line, format!("{name} ({count})"))
        });
        let untrained = LegendMark::Line(Stroke::dotted_line(ORANGE, 1.4));
        entries.chain([LegendEntry::new(untrained, "not trained")]).collect()
    }

    fn curves(&self, panel: &Panel) -> Shape {
        // later ones are drawn above earlier ones, and the few that were stopped wrongly must not be hidden
        let order = [RecordedFate::Stopped, RecordedFate::Kept, RecordedFate::StoppedWrongly];
        let runs = order.into_iter().flat_map(|fate| self.runs.iter().filter(move |r| r.fate == fate));
        panel.clip(runs.map(|run| self.curve(panel, run)).collect())
    }

    fn curve(&self, panel: &Panel, run: &RecordedRun) -> Shape {
        let faint = (14.0 / self.runs.len().max(1) as f64).sqrt().clamp(0.3, 1.0) as f32;
        let wrong = run.fate == RecordedFate::StoppedWrongly;
        let (width, opacity) = if wrong { (2.6, 1.0) } else { (1.5, 0.25 + 0.6 * faint) };
        let color = color(run.fate).with_opacity(opacity);
        let rest = Stroke::dotted_line(color.with_opacity(if wrong { 0.9 } else { 0.5 * opacity }), 1.0);
        let (trained, saved) = split_at_stop(run);
        let mut shapes = panel.line(saved, rest);
        shapes.extend(panel.line(trained, Stroke::solid_line(color, width)));
        let stop = trained.last().filter(|_| run.stopped_at.is_some()).and_then(|p| panel.place(*p));
        shapes.extend(stop.map(|place| Shape::Dot(place, if wrong { 4.0 } else { 2.2 }, color)));
        hinted_group("run", self.hint(run), shapes)
    }

    fn hint(&self, run: &RecordedRun) -> String {
        let fate = match (run.fate, run.stopped_at) {
            (RecordedFate::Kept, _) => "kept".to_owned(),
            (_, Some(at)) => format!("stopped at {} {}", short(at), self.resource),
            (_, None) => "stopped".to_owned(),
        };
        let last = run.points.last().map_or(f64::NAN, |p| p.1);
        format!("{}: {fate}, ended at {}", run.name, short(last))
    }

    fn run_labels(&self, panel: &Panel) -> Vec<Shape> {
        let wrong = self.runs.iter().filter(|r| r.fate == RecordedFate::StoppedWrongly);
        let ends: Vec<(&str, (f64, f64))> = wrong
            .filter_map(|r| Some((r.name.as_str(), panel.place(*r.points.last()?)?)))
            .take(MAX_NAMED_RUNS)
            .collect();
        let heights: Vec<f64> = ends.iter().map(|e| e.1.1 - 10.0).collect();
        let placed = spread(&heights, 1.3 * LABEL_FONT_SIZE, panel.area.top, panel.area.bottom);
        let labels = placed.into_iter().zip(ends).map(|(y, (name, _))| {
            let text = TextLine::new((panel.area.right - 4.0, y), name, LABEL_FONT_SIZE, INK);
            Shape::Text(text.with_anchor(TextAnchor::End).with_bold().with_halo())
        });
        labels.collect()
    }
}

fn color(fate: RecordedFate) -> Color {
    match fate {
        RecordedFate::Kept => BLUE,
        RecordedFate::Stopped => ORANGE,
        RecordedFate::StoppedWrongly => PURPLE,
    }
}

/// A part of a curve: (resource, metric).
type CurvePart<'a> = &'a [(f64, f64)];

/// The part of the curve until the stop, and the part from there on, which share a point.
fn split_at_stop(run: &RecordedRun) -> (CurvePart<'_>, CurvePart<'_>) {
    let until = run.stopped_at.unwrap_or(f64::INFINITY);
    let trained = run.points.partition_point(|p| p.0 <= until);
    (
        &run.points[..trained],
        if trained < run.points.len() { &run.points[trained.saturating_sub(1)..] } else { &[] },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn run(index: usize, fate: RecordedFate) -> RecordedRun {
        let points = (1..=10).map(|e| (f64::from(e), f64::from(e) / (f64::from(e) + index as f64))).collect();
        let stopped_at = (fate != RecordedFate::Kept).then_some(4.0);
        RecordedRun { name: format!("run {index}"), points, fate, stopped_at }
    }

    fn figure(runs: Vec<RecordedRun>) -> FatesFigure {
        let (title, subtitle) = ("t".into(), "s".into());
        FatesFigure {
            title,
            subtitle,
            metric: "accuracy".into(),
            maximize: true,
            resource: "epochs".into(),
            runs,
        }
    }

    #[test]
    fn counts_the_fates_and_names_what_was_lost() {
        use RecordedFate::{Kept, Stopped, StoppedWrongly};
        let fates = [Kept, Stopped, Stopped, StoppedWrongly];
        let runs = (0..500).map(|i| run(i, if i == 3 { StoppedWrongly } else { fates[i % 3] })).collect();
        let svg = encode(&figure(runs).draw());
        assert_eq!(svg.matches("class=\"run\"").count(), 500);
        assert!(svg.contains("stopped wrongly (1)") && svg.contains(">run 3</text>"));
    }

    #[test]
    fn splits_a_curve_at_its_stop() {
        let stopped = run(1, RecordedFate::Stopped);
        let (trained, saved) = split_at_stop(&stopped);
        assert_eq!((trained.len(), saved.len()), (4, 7));
        assert_eq!(trained.last(), saved.first());
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        let mut one = run(0, RecordedFate::StoppedWrongly);
        one.points.truncate(1);
        let mut odd = run(1, RecordedFate::Stopped);
        odd.points = vec![(f64::NAN, 1.0), (2.0, f64::NAN)];
        odd.stopped_at = Some(f64::NAN);
        for runs in [vec![], vec![one], vec![odd]] {
            assert!(!encode(&figure(runs).draw()).contains("NaN"));
        }
    }
}
