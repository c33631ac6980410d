//! Writes a figure as PNG: lines, areas and the outlines of the built-in font, smoothed, about 1600 pixels wide.

use tiny_skia::{
    FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Stroke as Pen, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

use super::color::{Color, WHITE};
use super::error::PlotError;
use super::figure::{Figure, PagePoint, Rect, Shape, Stroke, TextLine};
use super::font;
use super::size::FigureSize;

/// Pixels of the picture for each pixel of the figure, if no size is given.
const DEFAULT_ZOOM: f64 = 1.6;

/// The whole file.
///
/// # Errors
/// [`PlotError::Png`] when there is no memory for the picture or it cannot be encoded.
pub(crate) fn encode(figure: &Figure) -> Result<Vec<u8>, PlotError> {
    // the figures are a few thousand pixels: no cast is out of range
    let zoom = figure.size.map_or(DEFAULT_ZOOM, FigureSize::zoom);
    let (width, height) = ((figure.width * zoom).round() as u32, (figure.height * zoom).round() as u32);
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| PlotError::Png {
        width,
        height,
        reason: "too large or empty".to_owned(),
    })?;
    pixmap.fill(tiny_skia::Color::WHITE);
    PixelCanvas { pixmap: &mut pixmap, zoom: Transform::from_scale(zoom as f32, zoom as f32) }
        .shapes(&figure.shapes, None);
    pixmap.encode_png().map_err(|error| PlotError::Png { width, height, reason: error.to_string() })
}

struct PixelCanvas<'a> {
    pixmap: &'a mut Pixmap,
    zoom: Transform,
}

impl PixelCanvas<'_> {
    fn shapes(&mut self, shapes: &[Shape], mask: Option<&Mask>) {
        for shape in shapes {
            self.shape(shape, mask);
        }
    }

    fn shape(&mut self, shape: &Shape, mask: Option<&Mask>) {
        match shape {
            Shape::Line(points, stroke) => self.stroke(polyline(points, false), stroke, mask),
            Shape::Area(points, color) => self.fill(polyline(points, true), *color, mask),
            Shape::Dot(center, radius, color) => self.fill(circle(*center, *radius), *color, mask),
            Shape::Ring(center, radius, stroke) => {
                self.fill(circle(*center, *radius), WHITE, mask);
                self.stroke(circle(*center, *radius), stroke, mask);
            }
            Shape::Text(text) => self.text(text, mask),
            Shape::Group { clip: None, shapes, .. } => self.shapes(shapes, mask),
            Shape::Group { clip: Some(area), shapes, .. } => {
                let inner = self.mask(*area);
                self.shapes(shapes, inner.as_ref().or(mask));
            }
        }
    }

    fn stroke(&mut self, path: Option<Path>, stroke: &Stroke, mask: Option<&Mask>) {
        let dash = stroke.dash.and_then(|(on, off)| StrokeDash::new(vec![on as f32, off as f32], 0.0));
        let pen = Pen {
            width: stroke.width as f32,
            dash,
            line_cap: LineCap::Butt,
            line_join: LineJoin::Round,
            ..Pen::default()
        };
        if let Some(path) = path {
            self.pixmap.stroke_path(&path, &paint(stroke.color), &pen, self.zoom, mask);
        }
    }

    fn fill(&mut self, path: Option<Path>, color: Color, mask: Option<&Mask>) {
        if let Some(path) = path {
            self.pixmap.fill_path(&path, &paint(color), FillRule::Winding, self.zoom, mask);
        }
    }

    fn text(&mut self, text: &TextLine, mask: Option<&Mask>) {
        let glyphs: Vec<Path> = glyphs(text);
        if text.halo {
            // all rims come before the first letter, because the rim of one would otherwise cover its neighbor
            for glyph in &glyphs {
                self.stroke(Some(glyph.clone()), &Stroke::solid_line(WHITE, 4.0), mask);
            }
        }
        for glyph in glyphs {
            self.fill(Some(glyph), text.color, mask);
        }
    }

    fn mask(&self, area: Rect) -> Option<Mask> {
        let mut mask = Mask::new(self.pixmap.width(), self.pixmap.height())?;
        let corners = [
            (area.left, area.top),
            (area.right, area.top),
            (area.right, area.bottom),
            (area.left, area.bottom),
        ];
        mask.fill_path(&polyline(&corners, true)?, FillRule::Winding, true, self.zoom);
        Some(mask)
    }
}

fn paint(color: Color) -> Paint<'static> {
    let [r, g, b] = color.rgb;
    let alpha = (255.0 * color.opacity.clamp(0.0, 1.0)).round() as u8;
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, alpha);
    paint
}

fn polyline(points: &[PagePoint], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (index, (x, y)) in points.iter().enumerate() {
        if index == 0 {
            builder.move_to(*x as f32, *y as f32);
        } else {
            builder.line_to(*x as f32, *y as f32);
        }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn circle((x, y): PagePoint, radius: f64) -> Option<Path> {
    PathBuilder::from_circle(x as f32, y as f32, radius as f32)
}

fn glyphs(text: &TextLine) -> Vec<Path> {
    let pens = font::outline(text, |left, unit| GlyphPen {
        builder: PathBuilder::new(),
        left: left as f32,
        base: text.at.1 as f32,
        unit: unit as f32,
    });
    pens.into_iter().filter_map(|pen| pen.builder.finish()).collect()
}

/// Turns the font's units (up from the base line) into pixels of the page (down).
struct GlyphPen {
    builder: PathBuilder,
    left: f32,
    base: f32,
    unit: f32,
}

impl GlyphPen {
    fn to_pixels(&self, x: f32, y: f32) -> (f32, f32) {
        (self.left + x * self.unit, self.base - y * self.unit)
    }
}

impl OutlineBuilder for GlyphPen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.to_pixels(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.to_pixels(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.to_pixels(x1, y1), self.to_pixels(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) =
            (self.to_pixels(x1, y1), self.to_pixels(x2, y2), self.to_pixels(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}
