//! Recorded curves, colored by their outcome: a panel for each set.

use super::color::{self, Color, SILVER, shade};
use super::figure::{Figure, Rect, Shape, Stroke, TextLine, hinted_group};
use super::font;
use super::page::{FigurePage, LegendEntry, LegendMark};
use super::panel::{LABEL_FONT_SIZE, Panel};
use super::scale::{AxisRange, short};

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CurveOutcome {
    /// Completed, better than this fraction of the completed runs (0–1), with this value.
    ToTheEnd(f64, f64),
    /// Diverged.
    Diverged,
    /// Ended earlier.
    Unfinished,
}

/// A curve that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DrawnCurve {
    /// The run's name.
    pub name: String,
    /// (resource, metric in the user's direction), by resource.
    pub points: Vec<(f64, f64)>,
    /// The outcome of the run.
    pub came: CurveOutcome,
}

/// One set of curves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CurvePanel {
    /// Name of the set.
    pub name: String,
    /// How many runs there are.
    pub runs: usize,
    /// Name of the metric.
    pub metric: String,
    /// Whether larger values of the metric are better.
    pub maximize: bool,
    /// The curves that are drawn.
    pub curves: Vec<DrawnCurve>,
}

/// Sets of recorded curves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedCurvesFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// A panel for each set.
    pub panels: Vec<CurvePanel>,
}

impl RecordedCurvesFigure {
    /// Draws the panels, each with its own axes; worse curves lie below better ones.
    pub(crate) fn draw(&self) -> Figure {
        let columns = if self.panels.len() < 4 { self.panels.len().max(1) } else { 2 };
        let rows = self.panels.len().div_ceil(columns).max(1);
        let height = if self.panels.len() < 2 { 600.0 } else { 150.0 + 340.0 * rows as f64 };
        let mut page = FigurePage::new(height, &self.title, &self.subtitle, &self.keys());
        for (cell, set) in page.cells(self.panels.len().max(1), columns).into_iter().zip(&self.panels) {
            page.draw(set.draw(cell));
        }
        page.figure
    }

    fn keys(&self) -> Vec<LegendEntry> {
        let mut keys = vec![LegendEntry::new(LegendMark::Ramp, "final result, worst to best by rank")];
        for (came, words) in [(CurveOutcome::Diverged, "diverged"), (CurveOutcome::Unfinished, "unfinished")]
        {
            if self.panels.iter().flat_map(|panel| &panel.curves).any(|curve| curve.came == came) {
                keys.push(LegendEntry::new(
                    LegendMark::Line(Stroke::solid_line(outcome_color(came), 2.4)),
                    words,
                ));
            }
        }
        keys
    }
}

impl CurvePanel {
    fn draw(&self, cell: Rect) -> Vec<Shape> {
        let values: Vec<f64> = self.curves.iter().flat_map(|r| r.points.iter().map(|p| p.1)).collect();
        let y = AxisRange::from_most_values(values.iter().copied()).with_padding(0.03, 0.04);
        let x = AxisRange::covering(self.curves.iter().flat_map(|r| r.points.iter().map(|p| p.0)));
        let panel = Panel::of_curves(cell.inset(52.0, 58.0, 20.0, 44.0), x, y, self.maximize, &values);
        let mut shapes = panel.frame("epochs", &self.metric);
        let heading = format!("{}: {} of {} curves", self.name, self.curves.len(), self.runs);
        let heading = font::shorten(&heading, LABEL_FONT_SIZE, cell.width() - 12.0);
        let at = (panel.area.left - 46.0, panel.area.top - 34.0);
        shapes.push(Shape::Text(TextLine::new(at, heading, LABEL_FONT_SIZE, super::color::INK).with_bold()));
        let mut order: Vec<&DrawnCurve> = self.curves.iter().collect();
        order.sort_by(|a, b| drawing_order(a.came).total_cmp(&drawing_order(b.came)));
        shapes.push(panel.clip(order.into_iter().map(|curve| self.curve(&panel, curve)).collect()));
        shapes
    }

    fn curve(&self, panel: &Panel, curve: &DrawnCurve) -> Shape {
        let opacity = (30.0 / self.curves.len().max(1) as f64).sqrt().clamp(0.35, 0.9) as f32;
        let stroke = Stroke::solid_line(outcome_color(curve.came).with_opacity(opacity), 1.4);
        let came = match curve.came {
            CurveOutcome::ToTheEnd(_, value) => format!("ended at {}", short(value)),
            CurveOutcome::Diverged => "diverged".to_owned(),
            CurveOutcome::Unfinished => "unfinished".to_owned(),
        };
        hinted_group("run", format!("{}: {came}", curve.name), panel.line(&curve.points, stroke))
    }
}

/// In which order curves are drawn.
fn drawing_order(came: CurveOutcome) -> f64 {
    match came {
        CurveOutcome::ToTheEnd(share, _) => share,
        CurveOutcome::Diverged => -1.0,
        CurveOutcome::Unfinished => -2.0,
    }
}

fn outcome_color(came: CurveOutcome) -> Color {
    match came {
        CurveOutcome::ToTheEnd(share, _) => shade(share),
        CurveOutcome::Diverged => color::failed_trial_color(),
        CurveOutcome::Unfinished => SILVER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn set(curves: Vec<DrawnCurve>) -> CurvePanel {
        CurvePanel { name: "set".into(), runs: 40, metric: "accuracy".into(), maximize: true, curves }
    }

    fn curve(name: &str, came: CurveOutcome) -> DrawnCurve {
        DrawnCurve { name: name.into(), points: vec![(1.0, 0.1), (2.0, f64::NAN), (3.0, 0.4)], came }
    }

    fn svg(panels: Vec<CurvePanel>) -> String {
        encode(&RecordedCurvesFigure { title: "t".into(), subtitle: "s".into(), panels }.draw())
    }

    #[test]
    fn the_best_lies_on_top_and_every_kind_of_end_is_in_the_key() {
        let all = vec![
            curve("best", CurveOutcome::ToTheEnd(1.0, 0.4)),
            curve("lost", CurveOutcome::Diverged),
            curve("worst", CurveOutcome::ToTheEnd(0.0, 0.2)),
            curve("open", CurveOutcome::Unfinished),
        ];
        let text = svg(vec![set(all)]);
        let position = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is not there"));
        let order = ["open: unfinished", "lost: diverged", "worst: ended", "best: ended"].map(position);
        assert!(order.is_sorted(), "{order:?}");
        assert!(text.contains("set: 4 of 40 curves") && text.contains(">diverged<"));
        assert!(!svg(vec![set(vec![curve("one", CurveOutcome::ToTheEnd(1.0, 0.4))])]).contains(">diverged<"));
    }

    #[test]
    fn draws_no_set_an_empty_one_and_many() {
        for panels in [vec![], vec![set(vec![])], vec![set(vec![curve("a", CurveOutcome::Diverged)]); 5]] {
            assert!(!svg(panels).contains("NaN"));
        }
    }
}
