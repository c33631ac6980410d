//! Lines with bands of uncertainty, each with its name at its right end, which several figures share.

use super::color::{Color, series};
use super::figure::{Shape, Stroke, hinted_group};
use super::font;
use super::labels::{EndLabel, column};
use super::page::{LegendEntry, LegendMark, width};
use super::panel::{LABEL_FONT_SIZE, Panel};
use super::scale::AxisRange;

/// Most of a page's width that names take to the right of a panel.
const MAX_NAMES_FRACTION: f64 = 0.36;

/// Room to the right of a panel for names of lines, in pixels.
pub(crate) fn room<'a>(names: impl IntoIterator<Item = &'a str>) -> f64 {
    names
        .into_iter()
        .map(|name| font::width(name, LABEL_FONT_SIZE, false) + 14.0)
        .fold(24.0, f64::max)
        .min(MAX_NAMES_FRACTION * width())
}

/// A line with its band.
pub(crate) struct BandedLine {
    /// The label at its right end.
    pub name: String,
    /// (x, middle, low, high) by x; `low` and `high` are not finite where there is no band.
    pub points: Vec<(f64, f64, f64, f64)>,
    /// Whether the line is level between points.
    pub steps: bool,
}

/// How the `index`-th line is drawn; from the eighth on dashed.
pub(crate) fn stroke(index: usize, width: f64) -> Stroke {
    let color = series(index);
    if index < 7 { Stroke::solid_line(color, width) } else { Stroke::dashed_line(color, width) }
}

/// All lines with their bands, without names.
pub(crate) fn lines(
    panel: &Panel,
    all: &[BandedLine],
    index_of: impl Fn(&BandedLine, usize) -> usize,
) -> Shape {
    let bands = all.iter().enumerate().filter_map(|(i, one)| {
        let points: Vec<(f64, f64, f64)> = step_corners(one).into_iter().map(|p| (p.0, p.2, p.3)).collect();
        panel.band(&points, series(index_of(one, i)).with_opacity(0.16))
    });
    let curves = all.iter().enumerate().map(|(i, one)| {
        let points: Vec<(f64, f64)> = step_corners(one).into_iter().map(|p| (p.0, p.1)).collect();
        hinted_group("series", one.name.clone(), panel.line(&points, stroke(index_of(one, i), 2.2)))
    });
    panel.clip(bands.chain(curves).collect())
}

/// The points, with the corners of the steps if there are any.
fn step_corners(one: &BandedLine) -> Vec<(f64, f64, f64, f64)> {
    if !one.steps {
        return one.points.clone();
    }
    let pairs = one.points.windows(2).flat_map(|p| [p[0], (p[1].0, p[0].1, p[0].2, p[0].3)]);
    pairs.chain(one.points.last().copied()).collect()
}

/// The names of the lines at their right ends.
pub(crate) fn names(panel: &Panel, all: &[BandedLine]) -> Vec<Shape> {
    let labels = all.iter().enumerate().filter_map(|(index, one)| {
        let end = one.points.iter().rev().find(|p| p.1.is_finite())?;
        let y = panel.y.pixel(end.1).clamp(panel.area.top, panel.area.bottom);
        Some(EndLabel { y, content: one.name.clone(), color: darken_color(series(index)) })
    });
    column(
        &labels.collect::<Vec<_>>(),
        panel.area.right + 8.0,
        MAX_NAMES_FRACTION * width() - 12.0,
        panel.area.top,
        panel.area.bottom,
    )
}

/// A color dark enough for text on white.
fn darken_color(color: Color) -> Color {
    let [r, g, b] = color.rgb.map(|c| (f32::from(c) * 0.78) as u8);
    Color { rgb: [r, g, b], opacity: 1.0 }
}

/// Entries of the key for named lines.
pub(crate) fn keys<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<LegendEntry> {
    names
        .into_iter()
        .enumerate()
        .map(|(i, name)| LegendEntry::new(LegendMark::Line(stroke(i, 2.2)), name))
        .collect()
}

/// The range of all x.
pub(crate) fn x_range(all: &[BandedLine]) -> AxisRange {
    AxisRange::covering(all.iter().flat_map(|one| one.points.iter().map(|p| p.0)))
}

/// The range of all lines and bands, without far outliers.
pub(crate) fn y_range(all: &[BandedLine]) -> AxisRange {
    AxisRange::from_most_values(all.iter().flat_map(|one| one.points.iter().flat_map(|p| [p.1, p.2, p.3])))
}
