//! Forecast accuracy: R² against the observed fraction of the curves, one line per predictor, one panel per set of curves.

use super::bands::{self, BandedLine};
use super::color::{INK, SILVER};
use super::figure::{Figure, Rect, Shape, Stroke, TextLine};
use super::page::FigurePage;
use super::panel::{LABEL_FONT_SIZE, Panel};
use super::scale::AxisRange;

/// Accuracy at one observed fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AccuracyPoint {
    /// Fraction of the curve that the predictor saw, 0–1.
    pub observed: f64,
    /// Mean R² over repeats, at most 1.
    pub r2_mean: f64,
    /// Standard error of R²; not finite for a single repeat.
    pub r2_stderr: f64,
}

/// One predictor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccuracySeries {
    /// Name of the predictor, which has the same color in every panel.
    pub predictor: String,
    /// By observed fraction.
    pub points: Vec<AccuracyPoint>,
}

/// One set of curves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccuracyPanel {
    /// Name of the set.
    pub curves: String,
    /// The predictors tried on it.
    pub series: Vec<AccuracySeries>,
}

/// R² against the observed fraction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccuracyFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// A panel for each set of curves.
    pub panels: Vec<AccuracyPanel>,
}

/// R² below it is left out, as in the paper's figure: such forecasts are worse than the mean of the tested curves.
const R2_FLOOR: f64 = 0.0;

impl AccuracyFigure {
    /// Draws the panels with the same axes; the bands are ± one standard error.
    pub(crate) fn draw(&self) -> Figure {
        let names = self.predictors();
        let single = self.panels.len() < 2;
        let keys = if single { Vec::new() } else { bands::keys(names.iter().copied()) };
        let columns = if self.panels.len() == 4 { 2 } else { 3 };
        let rows = self.panels.len().div_ceil(columns).max(1);
        let height = if rows == 1 { 540.0 } else { 150.0 + 300.0 * rows as f64 };
        let mut page =
            FigurePage::new(height, &self.title, &(self.subtitle.clone() + &self.hidden_note()), &keys);
        for (cell, part) in page.cells(self.panels.len().max(1), columns).into_iter().zip(&self.panels) {
            page.draw(self.panel(cell, part, &names, single));
        }
        page.figure
    }

    /// The note of the subtitle on points that are left out.
    fn hidden_note(&self) -> String {
        let mut absent: Vec<String> = Vec::new();
        for name in self.predictors() {
            let series = self.panels.iter().flat_map(|panel| &panel.series).filter(|s| s.predictor == name);
            let points = series.flat_map(|s| &s.points);
            let count = points.filter(|point| point.r2_mean < R2_FLOOR).count();
            if count > 0 {
                absent.push(format!("{name} ({count})"));
            }
        }
        if absent.is_empty() {
            String::new()
        } else {
            format!("; negative R² is not drawn: {}", absent.join(", "))
        }
    }

    /// The predictors in the order in which they appear.
    fn predictors(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|p| &p.series) {
            if !names.contains(&series.predictor.as_str()) {
                names.push(&series.predictor);
            }
        }
        names
    }

    fn panel(&self, cell: Rect, part: &AccuracyPanel, names: &[&str], single: bool) -> Vec<Shape> {
        let right = if single { bands::room(names.iter().copied()) } else { 14.0 };
        let area = cell.inset(46.0, 52.0, right, 44.0);
        let panel = Panel::new(area, self.x_range(), self.y_range());
        let all: Vec<BandedLine> = part.series.iter().map(banded_line).collect();
        let mut shapes = panel.frame("observed fraction of the curve", "R²");
        let heading =
            TextLine::new((cell.left, cell.top + 18.0), part.curves.clone(), LABEL_FONT_SIZE + 1.0, INK);
        shapes.push(Shape::Text(heading.with_bold()));
        shapes.extend(panel.level(0.0, Stroke::solid_line(SILVER, 1.0)).filter(|_| panel.y.holds(0.0)));
        shapes.push(bands::lines(&panel, &all, |one, _| {
            names.iter().position(|name| *name == one.name).unwrap_or(0)
        }));
        if single {
            shapes.extend(bands::names(&panel, &all));
        }
        shapes
    }

    fn points(&self) -> impl Iterator<Item = &AccuracyPoint> {
        self.panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.points)
    }

    fn x_range(&self) -> AxisRange {
        AxisRange::covering(self.points().map(|p| p.observed))
    }

    fn y_range(&self) -> AxisRange {
        let range = AxisRange::covering(self.points().map(|p| p.r2_mean.clamp(R2_FLOOR, 1.0))).with(1.0);
        AxisRange { low: range.low.min(0.9), high: 1.0 }.with_padding(0.03, 0.0)
    }
}

fn banded_line(series: &AccuracySeries) -> BandedLine {
    let points = series.points.iter().map(|p| {
        let mean = if p.r2_mean < R2_FLOOR { f64::NAN } else { p.r2_mean };
        (p.observed, mean, mean - p.r2_stderr, mean + p.r2_stderr)
    });
    BandedLine { name: series.predictor.clone(), points: points.collect(), steps: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn figure(panels: usize, predictors: usize) -> AccuracyFigure {
        let point = |o: f64| AccuracyPoint { observed: o, r2_mean: 0.5 + 0.4 * o, r2_stderr: 0.02 };
        let series =
            |i| AccuracySeries { predictor: format!("p{i}"), points: [0.1, 0.5, 0.9].map(point).to_vec() };
        let panel =
            |i| AccuracyPanel { curves: format!("set {i}"), series: (0..predictors).map(series).collect() };
        AccuracyFigure {
            title: "t".into(),
            subtitle: String::new(),
            panels: (0..panels).map(panel).collect(),
        }
    }

    #[test]
    fn has_a_line_for_each_predictor_in_each_panel() {
        let svg = encode(&figure(4, 3).draw());
        assert_eq!(svg.matches("class=\"series\"").count(), 12);
        assert!(svg.contains(">set 3<") && svg.contains(">p2<"));
    }

    #[test]
    fn negative_points_are_left_out_and_counted() {
        let mut low = figure(2, 3);
        assert!(!encode(&low.draw()).contains("not drawn"));
        low.panels[1].series[1].points[0].r2_mean = -9.2;
        low.panels[0].series[2].points[2].r2_mean = -0.1;
        let drawn = encode(&low.draw());
        assert!(drawn.contains("; negative R² is not drawn: p1 (1), p2 (1)<"), "{drawn}");
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        let mut odd = figure(1, 2);
        odd.panels[0].series[0].points.truncate(1);
        odd.panels[0].series[1].points[1].r2_mean = f64::NAN;
        odd.panels[0].series[1].points[2].r2_stderr = f64::NAN;
        for figure in [figure(0, 0), figure(1, 0), odd] {
            assert!(!encode(&figure.draw()).contains("NaN"));
        }
    }
}
