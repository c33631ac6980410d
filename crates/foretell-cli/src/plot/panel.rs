//! A panel: one pair of axes with its grid, and lines, bands and marks drawn in the units of the data.

use super::color::{Color, GRAY, INK, MIST, SILVER};
use super::figure::{PagePoint, Rect, Shape, Stroke, TextAnchor, TextLine, clipped_group};
use super::scale::{AxisRange, AxisScale};

/// Font size of tick labels.
pub(crate) const TICK_FONT_SIZE: f64 = 12.0;
/// Font size of axis labels and direct labels.
pub(crate) const LABEL_FONT_SIZE: f64 = 13.0;

/// One pair of axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel {
    /// Where the data are drawn; tick labels lie outside.
    pub area: Rect,
    /// To the right.
    pub x: AxisScale,
    /// Upwards.
    pub y: AxisScale,
}

impl Panel {
    /// A panel with linear axes.
    pub(crate) fn new(area: Rect, x: AxisRange, y: AxisRange) -> Self {
        Self {
            area,
            x: AxisScale::linear(x, area.left, area.right),
            y: AxisScale::linear(y, area.bottom, area.top),
        }
    }

    /// A copy with a logarithmic horizontal axis, if its range is positive.
    pub(crate) fn with_log_x(self) -> Self {
        Self { x: AxisScale::log(self.x.range, self.area.left, self.area.right), ..self }
    }

    /// A panel for learning curves with these values: a metric to be minimized that is positive and falls by more than
    /// four times gets a logarithmic axis, so that its end is visible.
    pub(crate) fn of_curves(area: Rect, x: AxisRange, y: AxisRange, maximize: bool, values: &[f64]) -> Self {
        let linear = Self::new(area, x, y);
        let most = AxisRange::from_most_values(values.iter().copied());
        if maximize || values.iter().any(|v| *v <= 0.0) || most.low <= 0.0 || most.high / most.low <= 4.0 {
            return linear;
        }
        let logs = AxisRange::from_most_values(values.iter().map(|v| v.ln())).with_padding(0.08, 0.03);
        let y = AxisRange { low: logs.low.exp(), high: logs.high.exp() };
        Self { y: AxisScale::log(y, area.bottom, area.top), ..linear }
    }

    /// The panel with a vertical axis that holds `value` too, if the value is finite and the axis can.
    pub(crate) fn holding(self, value: f64) -> Self {
        if !value.is_finite() || self.y.holds(value) || (self.y.log && value <= 0.0) {
            return self;
        }
        // with a little room, so that nothing lies on the edge
        let AxisRange { low, high } = self.y.range;
        let range = if self.y.log {
            let logs = AxisRange { low: low.ln(), high: high.ln() }.with(value.ln()).with_padding(0.03, 0.03);
            AxisRange { low: logs.low.exp(), high: logs.high.exp() }
        } else {
            AxisRange { low, high }.with(value).with_padding(0.03, 0.03)
        };
        Self { y: AxisScale { range, ..self.y }, ..self }
    }

    /// A sentence on the values that the picture leaves out; empty if it shows all.
    pub(crate) fn left_out(&self, values: &[f64]) -> String {
        let missing = values.iter().filter(|v| !v.is_finite()).count();
        let outside = values.iter().filter(|v| v.is_finite() && !self.y.holds(**v)).count();
        let parts = [(outside, "lie outside of this picture"), (missing, "are missing or not finite")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts = parts.map(|(count, what)| format!("{count} of {} values {what}", values.len()));
        parts.collect::<Vec<_>>().join(" · ")
    }

    /// The place of a pair of values, if both are finite.
    pub(crate) fn place(&self, (x, y): (f64, f64)) -> Option<PagePoint> {
        (x.is_finite() && y.is_finite()).then(|| (self.x.pixel(x), self.y.pixel(y)))
    }

    /// Grid, ticks and names of the axes: `x_label` below, `y_label` above the vertical axis.
    pub(crate) fn frame(&self, x_label: &str, y_label: &str) -> Vec<Shape> {
        let mut shapes = self.grid();
        shapes.extend(self.x_axis());
        shapes.extend(self.axis_labels(x_label, y_label));
        shapes
    }

    /// The names of the axes: `x_label` below, `y_label` above the vertical axis.
    pub(crate) fn axis_labels(&self, x_label: &str, y_label: &str) -> Vec<Shape> {
        let middle = ((self.area.left + self.area.right) / 2.0, self.area.bottom + 38.0);
        let above = (self.area.left - 46.0, self.area.top - 12.0);
        vec![
            Shape::Text(TextLine::new(middle, x_label, LABEL_FONT_SIZE, INK).with_anchor(TextAnchor::Middle)),
            Shape::Text(TextLine::new(above, y_label, LABEL_FONT_SIZE, INK)),
        ]
    }

    /// Horizontal lines with their values at the left.
    pub(crate) fn grid(&self) -> Vec<Shape> {
        let mut shapes = self.grid_lines(self.area.left, self.area.right);
        for (value, label) in self.y.ticks(self.y_tick_count()) {
            let at = (self.area.left - 7.0, self.y.pixel(value) + 0.35 * TICK_FONT_SIZE);
            shapes.push(Shape::Text(
                TextLine::new(at, label, TICK_FONT_SIZE, GRAY).with_anchor(TextAnchor::End),
            ));
        }
        shapes
    }

    /// The horizontal lines alone, from one pixel to another.
    pub(crate) fn grid_lines(&self, left: f64, right: f64) -> Vec<Shape> {
        let heights = self.y.ticks(self.y_tick_count()).into_iter().map(|(value, _)| self.y.pixel(value));
        heights.map(|y| Shape::Line(vec![(left, y), (right, y)], Stroke::solid_line(MIST, 1.0))).collect()
    }

    fn y_tick_count(&self) -> usize {
        (self.area.height() / 52.0).clamp(3.0, 7.0) as usize
    }

    /// The line at the bottom with its ticks.
    pub(crate) fn x_axis(&self) -> Vec<Shape> {
        let count = (self.area.width() / 70.0).clamp(3.0, 10.0) as usize;
        self.x_axis_at(&self.x.ticks(count))
    }

    /// The line at the bottom with the ticks given: value and label.
    pub(crate) fn x_axis_at(&self, ticks: &[(f64, String)]) -> Vec<Shape> {
        let bottom = self.area.bottom;
        let mut shapes = vec![Shape::Line(
            vec![(self.area.left, bottom), (self.area.right, bottom)],
            Stroke::solid_line(SILVER, 1.0),
        )];
        for (value, label) in ticks {
            let x = self.x.pixel(*value);
            shapes.push(Shape::Line(vec![(x, bottom), (x, bottom + 4.0)], Stroke::solid_line(SILVER, 1.0)));
            let text = TextLine::new((x, bottom + 18.0), label.clone(), TICK_FONT_SIZE, GRAY);
            shapes.push(Shape::Text(text.with_anchor(TextAnchor::Middle)));
        }
        shapes
    }

    /// Lines through the finite points; a gap where a value is missing. A lone point becomes a dot.
    pub(crate) fn line(&self, points: &[(f64, f64)], stroke: Stroke) -> Vec<Shape> {
        points
            .split(|p| self.place(*p).is_none())
            .filter(|piece| !piece.is_empty())
            .map(|piece| piece.iter().filter_map(|p| self.place(*p)).collect::<Vec<PagePoint>>())
            .map(|places| match places.as_slice() {
                [only] => Shape::Dot(*only, stroke.width.max(1.5), stroke.color),
                _ => Shape::Line(places, stroke),
            })
            .collect()
    }

    /// The area between two heights: `(x, low, high)`; points with a missing value are left out.
    pub(crate) fn band(&self, points: &[(f64, f64, f64)], color: Color) -> Option<Shape> {
        let lower =
            points.iter().filter_map(|(x, low, high)| self.place((*x, *low)).filter(|_| high.is_finite()));
        let upper = points
            .iter()
            .rev()
            .filter_map(|(x, low, high)| self.place((*x, *high)).filter(|_| low.is_finite()));
        let places: Vec<PagePoint> = lower.chain(upper).collect();
        (places.len() > 2).then_some(Shape::Area(places, color))
    }

    /// A level line over the whole width.
    pub(crate) fn level(&self, value: f64, stroke: Stroke) -> Option<Shape> {
        let y = value.is_finite().then(|| self.y.pixel(value))?;
        Some(Shape::Line(vec![(self.area.left, y), (self.area.right, y)], stroke))
    }

    /// A vertical line from `low` to `high`.
    pub(crate) fn whisker(&self, x: f64, low: f64, high: f64, stroke: Stroke) -> Option<Shape> {
        Some(Shape::Line(vec![self.place((x, low))?, self.place((x, high))?], stroke))
    }

    /// Shapes cut at the edges of the panel, with a little room for marks that lie on them.
    pub(crate) fn clip(&self, shapes: Vec<Shape>) -> Shape {
        clipped_group(self.area.inset(-4.0, -2.0, -4.0, -1.0), shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel {
        let area = Rect { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
        Panel::new(area, AxisRange { low: 0.0, high: 10.0 }, AxisRange { low: 0.0, high: 1.0 })
    }

    #[test]
    fn a_missing_value_makes_a_gap_in_the_line() {
        let points = [
            (0.0, 0.1),
            (1.0, 0.2),
            (2.0, f64::NAN),
            (3.0, 0.3),
            (4.0, 0.4),
            (5.0, f64::INFINITY),
            (6.0, 0.5),
        ];
        let shapes = panel().line(&points, Stroke::solid_line(INK, 1.0));
        assert_eq!(shapes.len(), 3);
        assert!(matches!(shapes[2], Shape::Dot(..)));
    }

    #[test]
    fn the_axis_of_losses_can_be_made_to_hold_a_value_and_never_loses_one_without_a_logarithm() {
        let area = panel().area;
        let x = AxisRange { low: 0.0, high: 10.0 };
        let falling = [8.0, 4.0, 2.0, 1.0, 0.5];
        let losses = Panel::of_curves(area, x, AxisRange::covering(falling), false, &falling);
        assert!(losses.y.log && !losses.y.holds(0.01) && !losses.y.holds(1e3));
        for value in [0.01, 1e3] {
            let panel = losses.holding(value);
            assert!(panel.y.log && panel.y.holds(value) && falling.iter().all(|loss| panel.y.holds(*loss)));
        }
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(losses.holding(odd).y, losses.y);
        }
        let with_zero = [falling, [0.0, -0.5, 0.5, 0.25, 0.125]].concat();
        let panel =
            Panel::of_curves(area, x, AxisRange::covering(with_zero.iter().copied()), false, &with_zero);
        assert!(!panel.y.log && with_zero.iter().all(|loss| panel.y.holds(*loss)));
        assert!(panel.left_out(&with_zero).is_empty());
    }

    #[test]
    fn larger_values_are_higher_on_the_page() {
        assert_eq!(panel().place((5.0, 0.25)), Some((50.0, 75.0)));
    }
}
