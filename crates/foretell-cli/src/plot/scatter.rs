//! Forecasts against true values, one point per curve, with intervals and the diagonal of perfect forecasts.

use super::color::{BLUE, GRAY, INK, SILVER, VERMILLION};
use super::figure::{Figure, Rect, Shape, Stroke, TextLine, hinted_group};
use super::page::{FigurePage, LegendEntry, LegendMark};
use super::panel::{LABEL_FONT_SIZE, Panel};
use super::scale::{AxisRange, short};

/// One forecast and the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScatterPoint {
    /// The final value, in the user's direction.
    pub truth: f64,
    /// The forecast's mean or median.
    pub forecast: f64,
    /// Lower end of its interval; not finite if it has none.
    pub low: f64,
    /// Upper end of its interval; not finite if it has none.
    pub high: f64,
}

/// Forecasts against true values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScatterFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// Name of the metric.
    pub metric: String,
    /// Nominal coverage of the intervals, 0–1, such as 0.9.
    pub level: f64,
    /// A point for each curve.
    pub points: Vec<ScatterPoint>,
}

impl ScatterFigure {
    /// Draws the points in a square, and their summary to the right.
    pub(crate) fn draw(&self) -> Figure {
        let percent = short((100.0 * self.level).round());
        let keys = [
            LegendEntry::new(LegendMark::Whisker(BLUE), format!("{percent} % interval contains the truth")),
            LegendEntry::new(LegendMark::Whisker(VERMILLION), "misses it"),
        ];
        let mut page = FigurePage::new(800.0, &self.title, &self.subtitle, &keys);
        let area = page.body.inset(46.0, 34.0, 0.0, 44.0);
        let side = area.height().min(area.width());
        let area = Rect { right: area.left + side, bottom: area.top + side, ..area };
        let range = AxisRange::from_most_values(self.points.iter().flat_map(|p| [p.truth, p.forecast]))
            .with_padding(0.04, 0.04);
        let panel = Panel::new(area, range, range);
        page.draw(panel.frame(&format!("true {}", self.metric), &format!("forecast {}", self.metric)));
        page.draw([self.marks(&panel)]);
        let values: Vec<f64> = self.points.iter().flat_map(|p| [p.truth, p.forecast]).collect();
        page.add_footnote(&panel.left_out(&values));
        page.draw(self.summary_labels(area.right + 30.0, area.top + 20.0));
        page.figure
    }

    fn marks(&self, panel: &Panel) -> Shape {
        let AxisRange { low, high } = panel.x.range;
        let mut shapes = panel.line(&[(low, low), (high, high)], Stroke::dashed_line(SILVER, 1.4));
        let dense = (120.0 / self.points.len().max(1) as f64).sqrt().clamp(0.25, 1.0) as f32;
        shapes.extend(self.points.iter().filter_map(|point| mark(panel, point, dense)));
        panel.clip(shapes)
    }

    fn summary_labels(&self, left: f64, top: f64) -> Vec<Shape> {
        let finite: Vec<(f64, f64)> = self
            .points
            .iter()
            .map(|p| (p.truth, p.forecast))
            .filter(|p| p.0.is_finite() && p.1.is_finite())
            .collect();
        let rows = [
            ("curves", finite.len().to_string()),
            ("R² of the values", short(r_squared(&finite))),
            ("mean absolute error", short(mean(finite.iter().map(|p| (p.0 - p.1).abs())))),
            ("intervals that contain the truth", self.coverage_text()),
        ];
        let labels = rows.into_iter().enumerate().flat_map(|(i, (name, value))| {
            let y = top + 46.0 * i as f64;
            [
                Shape::Text(TextLine::new((left, y), name, LABEL_FONT_SIZE, GRAY)),
                Shape::Text(TextLine::new((left, y + 20.0), value, LABEL_FONT_SIZE + 4.0, INK).with_bold()),
            ]
        });
        labels.collect()
    }

    fn coverage_text(&self) -> String {
        let with: Vec<bool> = self.points.iter().filter_map(ScatterPoint::holds).collect();
        let share = 100.0 * with.iter().filter(|h| **h).count() as f64 / with.len() as f64;
        if share.is_finite() { format!("{share:.0} %") } else { "–".to_owned() }
    }
}

impl ScatterPoint {
    /// Whether the interval holds the true value; `None` without interval or true value.
    fn holds(&self) -> Option<bool> {
        let known = self.truth.is_finite() && self.low.is_finite() && self.high.is_finite();
        known.then_some(self.low <= self.truth && self.truth <= self.high)
    }
}

fn mark(panel: &Panel, point: &ScatterPoint, dense: f32) -> Option<Shape> {
    let place = panel.place((point.truth, point.forecast))?;
    let color = if point.holds() == Some(false) { VERMILLION } else { BLUE };
    let whisker = Stroke::solid_line(color.with_opacity(0.45 * dense), 1.2);
    let mut shapes: Vec<Shape> =
        panel.whisker(point.truth, point.low, point.high, whisker).into_iter().collect();
    shapes.push(Shape::Dot(place, 3.0, color.with_opacity(0.35 + 0.5 * dense)));
    Some(hinted_group(
        "point",
        format!("true {}, forecast {}", short(point.truth), short(point.forecast)),
        shapes,
    ))
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// 1 − Σ(truth − forecast)² / Σ(truth − mean truth)².
fn r_squared(pairs: &[(f64, f64)]) -> f64 {
    let center = mean(pairs.iter().map(|p| p.0));
    let missed: f64 = pairs.iter().map(|p| (p.0 - p.1).powi(2)).sum();
    let spread: f64 = pairs.iter().map(|p| (p.0 - center).powi(2)).sum();
    1.0 - missed / spread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn figure(points: Vec<ScatterPoint>) -> ScatterFigure {
        ScatterFigure {
            title: "t".into(),
            subtitle: "s".into(),
            metric: "accuracy".into(),
            level: 0.9,
            points,
        }
    }

    fn point(truth: f64, forecast: f64) -> ScatterPoint {
        ScatterPoint { truth, forecast, low: forecast - 0.1, high: forecast + 0.1 }
    }

    #[test]
    fn sums_up_what_it_shows() {
        let svg = encode(
            &figure(vec![point(0.0, 0.05), point(1.0, 1.05), point(0.5, 0.5), point(0.25, 0.75)]).draw(),
        );
        assert_eq!(svg.matches("class=\"point\"").count(), 4);
        assert!(svg.contains(">75 %<") && svg.contains("90 % interval"));
    }

    #[test]
    fn r_squared_is_one_for_perfect_and_zero_for_the_mean() {
        assert!((r_squared(&[(1.0, 1.0), (2.0, 2.0)]) - 1.0).abs() < 1e-12);
        assert!(r_squared(&[(1.0, 1.5), (2.0, 1.5)]).abs() < 1e-12);
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        let odd = ScatterPoint { truth: f64::NAN, forecast: 1.0, low: f64::NAN, high: f64::INFINITY };
        for points in [vec![], vec![point(0.5, 0.5)], vec![odd, point(0.1, 1e300)]] {
            assert!(!encode(&figure(points).draw()).contains("NaN"));
        }
    }
}
