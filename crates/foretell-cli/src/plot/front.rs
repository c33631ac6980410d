//! The front of a study: the metric against another objective, stopped trials at their forecasts.

use super::color::{BLUE, GRAY, SILVER, VERMILLION};
use super::figure::{Figure, Shape, Stroke, hinted_group};
use super::page::{FigurePage, LegendEntry, LegendMark};
use super::panel::Panel;
use super::scale::{AxisRange, short};

/// A trial at its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FrontPoint {
    /// Name of the trial.
    pub name: String,
    /// The other objective.
    pub x: f64,
    /// The metric, or its forecast.
    pub y: f64,
    /// The forecast's standard deviation; 0 for a measured value.
    pub deviation: f64,
}

/// The front of a study.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FrontFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// Name of the metric.
    pub metric: String,
    /// Name of the other objective.
    pub other: String,
    /// Whether larger values of the other objective are better.
    pub other_is_better_large: bool,
    /// The trials on the front.
    pub front: Vec<FrontPoint>,
    /// The finished trials that it dominates.
    pub dominated: Vec<FrontPoint>,
    /// The stopped trials.
    pub stopped: Vec<FrontPoint>,
}

/// The other objective gets a logarithmic axis if its largest value is more than this many times its smallest.
const MIN_LOG_RATIO: f64 = 20.0;

impl FrontFigure {
    /// Draws all trials, those of the front joined by a line.
    pub(crate) fn draw(&self) -> Figure {
        let keys = [
            LegendEntry::new(LegendMark::Dot(BLUE), "on the front"),
            LegendEntry::new(LegendMark::Dot(SILVER), "dominated"),
            LegendEntry::new(
                LegendMark::Whisker(VERMILLION),
                "stopped, at its forecast ± its standard deviation",
            ),
        ];
        let mut page = FigurePage::new(640.0, &self.title, &self.subtitle, &keys);
        let area = page.body.inset(60.0, 34.0, 20.0, 44.0);
        let all: Vec<&FrontPoint> = self.front.iter().chain(&self.dominated).chain(&self.stopped).collect();
        let values: Vec<f64> = all.iter().map(|point| point.y).collect();
        let x = AxisRange::covering(all.iter().map(|point| point.x));
        let y = AxisRange::from_most_values(values.iter().copied()).with_padding(0.06, 0.06);
        let is_wide = x.low > 0.0 && x.high > MIN_LOG_RATIO * x.low;
        let panel = if is_wide {
            Panel::new(area, AxisRange { low: x.low * 0.9, high: x.high * 1.1 }, y).with_log_x()
        } else {
            Panel::new(area, x.with_padding(0.04, 0.04), y)
        };
        page.draw(panel.frame(&self.other, &self.metric));
        page.draw([panel.clip(self.marks(&panel))]);
        page.add_footnote(&panel.left_out(&values));
        page.figure
    }

    /// The edge of the dominated area: nothing between two trials of the front is reached by either.
    fn stairs(&self, along: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let steps = along.windows(2).flat_map(|pair| match self.other_is_better_large {
            // the trial at the right is better in the other objective, and covers all at its left
            true => [pair[0], (pair[0].0, pair[1].1)],
            false => [pair[0], (pair[1].0, pair[0].1)],
        });
        steps.chain(along.last().copied()).collect()
    }

    fn marks(&self, panel: &Panel) -> Vec<Shape> {
        let mut along: Vec<(f64, f64)> = self.front.iter().map(|point| (point.x, point.y)).collect();
        along.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut shapes = panel.line(&self.stairs(&along), Stroke::dashed_line(BLUE.with_opacity(0.5), 1.2));
        let groups =
            [(&self.dominated, SILVER, 3.0), (&self.stopped, VERMILLION, 3.0), (&self.front, BLUE, 4.5)];
        for (points, color, radius) in groups {
            shapes.extend(points.iter().filter_map(|point| {
                let at = panel.place((point.x, point.y))?;
                let (low, high) = (point.y - point.deviation, point.y + point.deviation);
                let whisker =
                    panel.whisker(point.x, low, high, Stroke::solid_line(color.with_opacity(0.5), 1.2));
                let whisker = whisker.filter(|_| point.deviation > 0.0);
                let mut parts: Vec<Shape> = whisker.into_iter().collect();
                parts.push(Shape::Dot(at, radius, color.with_opacity(0.85)));
                let hint = format!(
                    "{}: {} {}, {} {}",
                    point.name,
                    self.metric,
                    short(point.y),
                    self.other,
                    short(point.x)
                );
                Some(hinted_group("point", hint, parts))
            }));
        }
        if self.front.is_empty() {
            let middle =
                ((panel.area.left + panel.area.right) / 2.0, (panel.area.top + panel.area.bottom) / 2.0);
            shapes.push(Shape::Text(super::figure::TextLine::new(
                middle,
                "no trial has finished yet",
                14.0,
                GRAY,
            )));
        }
        shapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    #[test]
    fn the_front_is_a_staircase_whose_corners_are_dominated() {
        let stairs = |other_is_better_large, along: &[(f64, f64)]| {
            let (front, dominated, stopped) = (Vec::new(), Vec::new(), Vec::new());
            let [title, subtitle, metric, other] = ["t", "s", "acc", "size"].map(str::to_owned);
            FrontFigure { title, subtitle, metric, other, other_is_better_large, front, dominated, stopped }
                .stairs(along)
        };
        // with a small size and a large accuracy, a trial larger than the first is no better until the second
        let small = [(1.0, 0.5), (4.0, 0.8), (9.0, 0.9)];
        assert_eq!(stairs(false, &small), [(1.0, 0.5), (4.0, 0.5), (4.0, 0.8), (9.0, 0.8), (9.0, 0.9)]);
        // a large speed and a large accuracy
        assert_eq!(stairs(true, &[(1.0, 0.9), (4.0, 0.5)]), [(1.0, 0.9), (1.0, 0.5), (4.0, 0.5)]);
        assert!(stairs(true, &[]).is_empty());
    }

    #[test]
    fn draws_every_trial_on_linear_and_logarithmic_axes_and_none() {
        let point = |x: f64, y: f64, deviation| FrontPoint { name: "trial 1".into(), x, y, deviation };
        for front in [vec![], vec![point(1.0, 0.5, 0.0)], vec![point(10.0, 0.5, 0.0), point(1e6, 0.9, 0.0)]] {
            let count = front.len() + 2;
            let figure = FrontFigure {
                title: "t".into(),
                subtitle: "s".into(),
                metric: "val_acc".into(),
                other: "weights".into(),
                other_is_better_large: false,
                front,
                dominated: vec![point(1e5, 0.4, 0.0)],
                stopped: vec![point(1e5, 0.3, 0.1)],
            };
            let svg = encode(&figure.draw());
            assert_eq!(svg.matches("class=\"point\"").count(), count);
            assert!(!svg.contains("NaN"));
        }
    }
}
