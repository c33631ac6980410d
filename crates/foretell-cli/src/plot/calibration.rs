//! Calibration: how often intervals of a nominal coverage hold the true value, one line per predictor.

use super::bands::{self, BandedLine};
use super::color::{GRAY, SILVER};
use super::figure::{Figure, Rect, Shape, Stroke, TextAnchor, TextLine, group};
use super::page::FigurePage;
use super::panel::{LABEL_FONT_SIZE, Panel};
use super::scale::AxisRange;

/// One predictor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CalibrationSeries {
    /// Name of the predictor.
    pub predictor: String,
    /// (nominal, empirical) coverage, each 0–1, by nominal coverage.
    pub points: Vec<(f64, f64)>,
}

/// Nominal against empirical coverage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CalibrationFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// The predictors.
    pub series: Vec<CalibrationSeries>,
}

impl CalibrationFigure {
    /// Draws the lines with the diagonal; above it intervals are too wide, below it too narrow.
    pub(crate) fn draw(&self) -> Figure {
        let mut page = FigurePage::new(800.0, &self.title, &self.subtitle, &[]);
        let room = bands::room(self.series.iter().map(|s| s.predictor.as_str()));
        let area = page.body.inset(46.0, 34.0, room, 44.0);
        let side = area.height().min(area.width());
        let area = Rect { right: area.left + side, bottom: area.top + side, ..area };
        let unit = AxisRange { low: 0.0, high: 1.0 };
        let panel = Panel::new(area, unit, unit);
        let all: Vec<BandedLine> = self.series.iter().map(banded_line).collect();
        page.draw(panel.frame("nominal coverage", "fraction of intervals that contain the truth"));
        page.draw(diagonal(&panel));
        page.draw([bands::lines(&panel, &all, |_, i| i), self.dots(&panel)]);
        page.draw(bands::names(&panel, &all));
        page.figure
    }

    fn dots(&self, panel: &Panel) -> Shape {
        let mut dots = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            let color = bands::stroke(index, 1.0).color;
            let points = series.points.iter().filter(|p| panel.x.holds(p.0) && panel.y.holds(p.1));
            let places = points.filter_map(|p| panel.place(*p));
            dots.extend(places.map(|place| Shape::Dot(place, 3.6, color)));
        }
        group("points", dots)
    }
}

fn diagonal(panel: &Panel) -> Vec<Shape> {
    let mut shapes = panel.line(&[(0.0, 0.0), (1.0, 1.0)], Stroke::dashed_line(SILVER, 1.4));
    let notes = [
        ((0.02, 0.965), "too cautious: intervals wider than needed", TextAnchor::Start),
        ((0.98, 0.02), "overconfident: intervals too narrow", TextAnchor::End),
    ];
    shapes.extend(notes.into_iter().filter_map(|(point, content, anchor)| {
        let text = TextLine::new(panel.place(point)?, content, LABEL_FONT_SIZE, GRAY);
        Some(Shape::Text(text.with_anchor(anchor)))
    }));
    shapes
}

fn banded_line(series: &CalibrationSeries) -> BandedLine {
    let points = series.points.iter().map(|p| (p.0, p.1, f64::NAN, f64::NAN)).collect();
    BandedLine { name: series.predictor.clone(), points, steps: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn figure(points: Vec<(f64, f64)>) -> CalibrationFigure {
        let series = vec![CalibrationSeries { predictor: "gp".into(), points }];
        CalibrationFigure { title: "t".into(), subtitle: "s".into(), series }
    }

    #[test]
    fn has_a_named_line_for_each_predictor() {
        let svg = encode(&figure(vec![(0.5, 0.4), (0.9, 0.8)]).draw());
        assert_eq!(svg.matches("class=\"series\"").count(), 1);
        assert!(svg.contains(">gp</text>") && svg.contains("overconfident"));
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        for points in [vec![], vec![(0.5, 0.5)], vec![(0.5, f64::NAN), (0.9, 0.9)]] {
            assert!(!encode(&figure(points).draw()).contains("NaN"));
        }
    }
}
