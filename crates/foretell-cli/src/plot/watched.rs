//! Another metric of a study's trials, drawn below its curves: the same trials on the same steps, in the same colors.

use super::color;
use super::figure::{Rect, Shape, Stroke, group};
use super::panel::Panel;
use super::scale::AxisRange;

/// A metric that is watched.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WatchedMetric {
    /// Name of the metric.
    pub metric: String,
    /// Whether larger values are better, as far as its name shows.
    pub maximize: bool,
    /// (resource, value) of each trial, by resource; empty where a trial did not report it.
    pub curves: Vec<Vec<(f64, f64)>>,
}

/// The height of its panel, with its axis.
pub(crate) const PANEL_HEIGHT: f64 = 300.0;

impl WatchedMetric {
    /// Draws it into `area`, over the steps `x`: the trials in `strokes` with their strokes, and the `best` one above them.
    pub(crate) fn draw(
        &self,
        area: Rect,
        x: AxisRange,
        resource: &str,
        strokes: &[(usize, Stroke)],
        best: Option<usize>,
    ) -> Vec<Shape> {
        let values: Vec<f64> = self.curves.iter().flatten().map(|point| point.1).collect();
        let y = AxisRange::from_most_values(values.iter().copied()).with_padding(0.04, 0.04);
        let panel = Panel::of_curves(area, x, y, self.maximize, &values);
        let best = best.map(|trial| (trial, Stroke::solid_line(color::best(), 3.2)));
        let lines = strokes.iter().copied().chain(best).flat_map(|(trial, stroke)| {
            panel.line(self.curves.get(trial).map_or(&[], Vec::as_slice), stroke)
        });
        let mut shapes = panel.frame(resource, &self.metric);
        shapes.push(panel.clip(vec![group("watched", lines.collect())]));
        shapes
    }
}
