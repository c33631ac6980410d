//! A figure: a page of shapes in pixels, which the `svg` and `png` writers draw alike.

use super::color::Color;
use super::size::FigureSize;

/// A place on the page, (right, down) in pixels from the top left corner.
pub(crate) type PagePoint = (f64, f64);

/// A rectangle on the page, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Lower edge.
    pub bottom: f64,
}

impl Rect {
    /// Left to right.
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    /// Top to bottom.
    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// The rectangle made smaller by a margin at each side.
    pub(crate) fn inset(&self, left: f64, top: f64, right: f64, bottom: f64) -> Self {
        Self {
            left: self.left + left,
            top: self.top + top,
            right: self.right - right,
            bottom: self.bottom - bottom,
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    /// The color.
    pub color: Color,
    /// The width in pixels.
    pub width: f64,
    /// Length of dash and gap in pixels; `None` is solid.
    pub dash: Option<(f64, f64)>,
}

impl Stroke {
    /// A solid line.
    pub(crate) const fn solid_line(color: Color, width: f64) -> Self {
        Self { color, width, dash: None }
    }

    /// A dashed line.
    pub(crate) const fn dashed_line(color: Color, width: f64) -> Self {
        Self { color, width, dash: Some((5.0, 4.0)) }
    }

    /// A dotted line.
    pub(crate) const fn dotted_line(color: Color, width: f64) -> Self {
        Self { color, width, dash: Some((1.5, 3.5)) }
    }
}

/// The point of a text that is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextAnchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// One line of text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextLine {
    /// Where the base line is.
    pub at: PagePoint,
    /// The content.
    pub content: String,
    /// Font size in pixels.
    pub size: f64,
    /// The color.
    pub color: Color,
    /// The end that is at `at`.
    pub anchor: TextAnchor,
    /// Bold or regular.
    pub bold: bool,
    /// With a white rim, so that it is legible over lines.
    pub halo: bool,
}

impl TextLine {
    /// Regular text that starts at `at`, without halo.
    pub(crate) fn new(at: PagePoint, content: impl Into<String>, size: f64, color: Color) -> Self {
        let content = content.into();
        Self { at, content, size, color, anchor: TextAnchor::Start, bold: false, halo: false }
    }

    /// Anchors the text elsewhere.
    pub(crate) fn with_anchor(self, anchor: TextAnchor) -> Self {
        Self { anchor, ..self }
    }

    /// Sets the text in bold.
    pub(crate) fn with_bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Draws a white rim around the letters.
    pub(crate) fn with_halo(self) -> Self {
        Self { halo: true, ..self }
    }
}

/// One element of a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A line through points.
    Line(Vec<PagePoint>, Stroke),
    /// A filled polygon.
    Area(Vec<PagePoint>, Color),
    /// A filled disc: center, radius, color.
    Dot(PagePoint, f64, Color),
    /// A ring: center, radius, stroke.
    Ring(PagePoint, f64, Stroke),
    /// A line of text.
    Text(TextLine),
    /// Shapes that belong together.
    Group {
        /// The kind (`class` in SVG).
        class: &'static str,
        /// The hint that the pointer shows (SVG alone).
        hint: Option<String>,
        /// The clip: nothing is drawn outside of it.
        clip: Option<Rect>,
        /// The shapes, in the order in which they are drawn.
        shapes: Vec<Shape>,
    },
}

/// A page of shapes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// The size that it is drawn for; `None` for one pixel of a screen per pixel.
    pub size: Option<FigureSize>,
    /// The title, for readers that cannot see the picture.
    pub title: String,
    /// The shapes, in the order in which they are drawn.
    pub shapes: Vec<Shape>,
}

/// A class of shapes with a hint for the pointer.
pub(crate) fn hinted_group(class: &'static str, hint: impl Into<String>, shapes: Vec<Shape>) -> Shape {
    Shape::Group { class, hint: Some(hint.into()), clip: None, shapes }
}

/// A class of shapes without a hint.
pub(crate) fn group(class: &'static str, shapes: Vec<Shape>) -> Shape {
    Shape::Group { class, hint: None, clip: None, shapes }
}

/// Shapes that end at the edges of `area`.
pub(crate) fn clipped_group(area: Rect, shapes: Vec<Shape>) -> Shape {
    Shape::Group { class: "clip", hint: None, clip: Some(area), shapes }
}
