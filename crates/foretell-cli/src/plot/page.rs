//! A page: title, subtitle and key at the top, the rest for panels.

use super::color::{Color, GRAY, INK, shade};
use super::figure::{Figure, PagePoint, Rect, Shape, Stroke, TextLine, group};
use super::font;
use super::panel::LABEL_FONT_SIZE;
use super::size::FigureSize;

/// Width of a figure in its own pixels (a PNG has 1.6 times as many), if no size is given.
const DEFAULT_WIDTH: f64 = 1000.0;

const PAGE_MARGIN: f64 = 24.0;
/// The margin of a picture for a paper, which has one of its own.
const PAPER_MARGIN: f64 = 8.0;
/// The least width of a cell; narrower pages have fewer columns.
const MIN_CELL_WIDTH: f64 = 200.0;
const TITLE_FONT_SIZE: f64 = 20.0;
const SUBTITLE_FONT_SIZE: f64 = 14.0;

/// Width of a figure in its own pixels.
pub(crate) fn width() -> f64 {
    FigureSize::given_size().map_or(DEFAULT_WIDTH, |size| size.pixels().0)
}

fn margin() -> f64 {
    FigureSize::given_size().map_or(PAGE_MARGIN, |_| PAPER_MARGIN)
}

/// The mark of a thing in a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LegendMark {
    /// A line.
    Line(Stroke),
    /// A disc.
    Dot(Color),
    /// A disc with a whisker.
    Whisker(Color),
    /// A filled area.
    Band(Color),
    /// The colors of results, from the worst to the best.
    Ramp,
    /// A triangle.
    Triangle(Color),
    /// A cross.
    Cross(Color),
}

/// One entry of the key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LegendEntry {
    /// The mark.
    pub mark: LegendMark,
    /// The meaning.
    pub label: String,
}

impl LegendEntry {
    /// An entry.
    pub(crate) fn new(mark: LegendMark, label: impl Into<String>) -> Self {
        Self { mark, label: label.into() }
    }
}

/// A figure with its heading, and the room that is left.
pub(crate) struct FigurePage {
    /// The figure so far.
    pub figure: Figure,
    /// The area below the heading, inside the margins.
    pub body: Rect,
}

impl FigurePage {
    /// A page of `height` pixels with its heading. If a size is given, the page has that size, and no heading: a paper has captions.
    pub(crate) fn new(height: f64, title: &str, subtitle: &str, keys: &[LegendEntry]) -> Self {
        let size = FigureSize::given_size();
        let (width, margin, height) = (width(), margin(), size.map_or(height, |size| size.pixels().1));
        let mut shapes = Vec::new();
        let mut y = margin;
        for line in font::wrap(title, TITLE_FONT_SIZE, true, width - 2.0 * margin)
            .into_iter()
            .filter(|_| size.is_none())
        {
            y += TITLE_FONT_SIZE;
            shapes.push(Shape::Text(TextLine::new((margin, y), line, TITLE_FONT_SIZE, INK).with_bold()));
            y += 6.0;
        }
        for line in font::wrap(subtitle, SUBTITLE_FONT_SIZE, false, width - 2.0 * margin)
            .into_iter()
            .filter(|_| size.is_none())
        {
            y += SUBTITLE_FONT_SIZE;
            shapes.push(Shape::Text(TextLine::new((margin, y), line, SUBTITLE_FONT_SIZE, GRAY)));
            y += 5.0;
        }
        y = key(&mut shapes, keys, y);
        let body = Rect { left: margin, top: y + 10.0, right: width - margin, bottom: height - margin };
        Self { figure: Figure { width, height, size, title: title.to_owned(), shapes }, body }
    }

    /// Adds shapes on top.
    pub(crate) fn draw(&mut self, shapes: impl IntoIterator<Item = Shape>) {
        self.figure.shapes.extend(shapes);
    }

    /// The body as a grid of `count` cells in at most `columns` columns, row by row.
    pub(crate) fn cells(&self, count: usize, columns: usize) -> Vec<Rect> {
        let fit = (self.body.width() / MIN_CELL_WIDTH).max(1.0) as usize;
        let columns = columns.min(count).min(fit).max(1);
        let rows = count.div_ceil(columns).max(1);
        let (width, height) = (self.body.width() / columns as f64, self.body.height() / rows as f64);
        let cells = (0..count).map(|index| {
            let left = self.body.left + width * (index % columns) as f64;
            let top = self.body.top + height * (index / columns) as f64;
            Rect { left, top, right: left + width, bottom: top + height }
        });
        cells.collect()
    }

    /// A note in small print in the lower right corner.
    pub(crate) fn add_footnote(&mut self, content: &str) {
        let content = font::shorten(content, 11.0, width() - 2.0 * margin());
        let at =
            (width() - margin(), self.figure.height - if self.figure.size.is_some() { 2.0 } else { 9.0 });
        self.draw([Shape::Text(
            TextLine::new(at, content, 11.0, GRAY).with_anchor(super::figure::TextAnchor::End),
        )]);
    }
}

/// Draws the key in rows from the left, returns where it ends.
fn key(shapes: &mut Vec<Shape>, keys: &[LegendEntry], top: f64) -> f64 {
    if keys.is_empty() {
        return top;
    }
    let mut entries = Vec::new();
    let (margin, room) = (margin(), width() - margin() + 22.0);
    let (mut x, mut y) = (margin, top + if FigureSize::given_size().is_some() { 6.0 } else { 22.0 });
    for key in keys {
        let width = 34.0 + font::width(&key.label, LABEL_FONT_SIZE, false) + 22.0;
        if x > margin && x + width > room {
            (x, y) = (margin, y + 20.0);
        }
        entries.extend(mark(key.mark, (x + 13.0, y - 4.5)));
        entries.push(Shape::Text(TextLine::new((x + 32.0, y), key.label.clone(), LABEL_FONT_SIZE, INK)));
        x += width;
    }
    shapes.push(group("key", entries));
    y
}

/// A mark around its center.
pub(crate) fn mark(mark: LegendMark, (x, y): PagePoint) -> Vec<Shape> {
    match mark {
        LegendMark::Line(stroke) => vec![Shape::Line(vec![(x - 13.0, y), (x + 13.0, y)], stroke)],
        LegendMark::Dot(color) => vec![Shape::Dot((x, y), 4.0, color)],
        LegendMark::Whisker(color) => vec![
            Shape::Line(vec![(x, y - 8.0), (x, y + 8.0)], Stroke::solid_line(color.with_opacity(0.6), 1.5)),
            Shape::Dot((x, y), 3.5, color),
        ],
        LegendMark::Band(color) => {
            vec![Shape::Area(
                vec![(x - 13.0, y - 6.0), (x + 13.0, y - 6.0), (x + 13.0, y + 6.0), (x - 13.0, y + 6.0)],
                color,
            )]
        }
        LegendMark::Ramp => {
            let parts = (0..13_u8).map(|i| {
                let (left, right) = (x - 13.0 + 2.0 * f64::from(i), x - 11.0 + 2.0 * f64::from(i));
                let corners = vec![(left, y - 5.0), (right, y - 5.0), (right, y + 5.0), (left, y + 5.0)];
                Shape::Area(corners, shade(f64::from(i) / 12.0))
            });
            parts.collect()
        }
        LegendMark::Triangle(color) => {
            vec![Shape::Area(vec![(x, y - 6.0), (x + 5.8, y + 4.5), (x - 5.8, y + 4.5)], color)]
        }
        LegendMark::Cross(color) => {
            let stroke = Stroke::solid_line(color, 2.2);
            let arm = 4.2;
            vec![
                Shape::Line(vec![(x - arm, y - arm), (x + arm, y + arm)], stroke),
                Shape::Line(vec![(x - arm, y + arm), (x + arm, y - arm)], stroke),
            ]
        }
    }
}
