//! Replay: speed-up against stop probability, one line per variant; a cross where the best run was usually lost.

use super::bands::{self, BandedLine};
use super::color::{GRAY, SILVER};
use super::figure::{Figure, Shape, Stroke, hinted_group};
use super::page::{FigurePage, LegendEntry, LegendMark, mark};
use super::panel::Panel;
use super::scale::{AxisRange, short};

/// One setting, averaged over orderings of the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SpeedupPoint {
    /// Stop probability Δ, 0–1.
    pub stop_probability: f64,
    /// Resource without stopping divided by resource spent: mean over orderings, at least 1.
    pub speedup: f64,
    /// Standard error of the speed-up; not finite for a single ordering.
    pub stderr: f64,
    /// Share of orderings in which the best run was kept, 0–1.
    pub best_kept: f64,
}

/// One variant, such as a predictor or an offset.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpeedupSeries {
    /// Name of the variant.
    pub name: String,
    /// By stop probability.
    pub points: Vec<SpeedupPoint>,
}

/// Speed-up against stop probability.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpeedupFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// The variants.
    pub series: Vec<SpeedupSeries>,
}

impl SpeedupFigure {
    /// Draws the variants over the stop probabilities tried, at equal distances.
    pub(crate) fn draw(&self) -> Figure {
        let keys = [
            LegendEntry::new(LegendMark::Triangle(GRAY), "best run kept in most orderings"),
            LegendEntry::new(LegendMark::Cross(GRAY), "best run lost in most orderings"),
        ];
        let mut page = FigurePage::new(600.0, &self.title, &self.subtitle, &keys);
        let tried = self.tried_probabilities();
        let all: Vec<BandedLine> = self.series.iter().map(|s| banded_line(s, &tried)).collect();
        let x = AxisRange { low: -0.3, high: (tried.len().max(1) - 1) as f64 + 0.3 };
        let y = bands::y_range(&all).with(1.0).with_padding(0.0, 0.06);
        let room = bands::room(self.series.iter().map(|s| s.name.as_str()));
        let panel = Panel::new(page.body.inset(46.0, 34.0, room, 44.0), x, y);
        let ticks: Vec<(f64, String)> =
            tried.iter().enumerate().map(|(i, p)| (i as f64, p.to_string())).collect();
        page.draw(panel.grid().into_iter().chain(panel.x_axis_at(&ticks)));
        page.draw(panel.axis_labels("stop probability Δ", "speed-up (times)"));
        page.draw(panel.level(1.0, Stroke::dashed_line(SILVER, 1.4)).filter(|_| y.low < 1.0));
        page.draw([bands::lines(&panel, &all, |_, i| i)]);
        page.draw(self.marks(&panel, &tried));
        page.draw(bands::names(&panel, &all));
        page.figure
    }

    /// The distinct stop probabilities tried.
    fn tried_probabilities(&self) -> Vec<f64> {
        let points = self.series.iter().flat_map(|s| &s.points);
        let mut tried: Vec<f64> = points.map(|p| p.stop_probability).filter(|p| p.is_finite()).collect();
        tried.sort_by(f64::total_cmp);
        tried.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        tried
    }

    fn marks(&self, panel: &Panel, tried: &[f64]) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            let color = bands::stroke(index, 1.0).color;
            shapes.extend(series.points.iter().filter_map(|point| {
                let place = panel.place((probability_index(tried, point.stop_probability), point.speedup))?;
                let kept = point.best_kept > 0.5;
                let sign = if kept { LegendMark::Triangle(color) } else { LegendMark::Cross(color) };
                let share = 100.0 * point.best_kept;
                let times = short(point.speedup);
                let hint = format!("{}: {times} times, best kept in {share:.0} %", series.name);
                Some(hinted_group(if kept { "kept" } else { "lost" }, hint, mark(sign, place)))
            }));
        }
        shapes
    }
}

/// The index of a stop probability among those tried; NaN if it was not tried.
fn probability_index(tried: &[f64], probability: f64) -> f64 {
    tried.iter().position(|p| (p - probability).abs() < 1e-9).map_or(f64::NAN, |i| i as f64)
}

fn banded_line(series: &SpeedupSeries, tried: &[f64]) -> BandedLine {
    let points = series.points.iter().map(|p| {
        (probability_index(tried, p.stop_probability), p.speedup, p.speedup - p.stderr, p.speedup + p.stderr)
    });
    BandedLine { name: series.name.clone(), points: points.collect(), steps: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn point(stop_probability: f64, best_kept: f64) -> SpeedupPoint {
        SpeedupPoint { stop_probability, speedup: 5.0 - stop_probability, stderr: 0.1, best_kept }
    }

    fn figure(points: Vec<SpeedupPoint>) -> SpeedupFigure {
        let series = vec![SpeedupSeries { name: "svr".into(), points }];
        SpeedupFigure { title: "t".into(), subtitle: "s".into(), series }
    }

    #[test]
    fn a_cross_marks_where_the_best_was_lost() {
        let svg = encode(&figure(vec![point(0.5, 0.2), point(0.9, 0.8), point(0.99, 1.0)]).draw());
        assert_eq!((svg.matches("class=\"kept\"").count(), svg.matches("class=\"lost\"").count()), (2, 1));
        assert!(svg.contains(">0.99<") && svg.contains(">svr</text>"));
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        let mut odd = point(f64::NAN, f64::NAN);
        odd.speedup = f64::INFINITY;
        for points in [vec![], vec![point(0.9, 1.0)], vec![odd, point(0.9, 1.0)]] {
            assert!(!encode(&figure(points).draw()).contains("NaN"));
        }
    }
}
