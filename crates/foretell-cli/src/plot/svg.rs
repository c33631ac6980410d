//! Writes a figure as SVG; text stays text, with the width of the built-in font, so that other fonts keep the layout.

use std::fmt::Write;

use super::color::Color;
use super::figure::{Anchor, Figure, Place, Rect, Shape, Stroke, Text};
use super::font;
use super::size::Size;

const FAMILY: &str = "'Noto Sans','DejaVu Sans',Verdana,Helvetica,Arial,sans-serif";

/// The whole document.
pub(crate) fn encode(figure: &Figure) -> String {
    let (w, h) = (number(figure.width), number(figure.height));
    let (wide, high) = figure.size.map_or_else(|| (w.clone(), h.clone()), Size::written);
    let mut body = Writer::default();
    body.shapes(&figure.shapes);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
         font-family=\"{FAMILY}\">\n<title>{}</title>\n<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{}</svg>\n",
        escape(&figure.title),
        body.out
    )
}

#[derive(Default)]
struct Writer {
    out: String,
    clips: usize,
}

impl Writer {
    fn shapes(&mut self, shapes: &[Shape]) {
        for shape in shapes {
            self.shape(shape);
        }
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Line(points, stroke) => {
                let line = format!("<polyline points=\"{}\" fill=\"none\"{}/>", places(points), pen(stroke));
                self.push(&line);
            }
            Shape::Area(points, color) => {
                self.push(&format!("<polygon points=\"{}\"{}/>", places(points), fill(*color)));
            }
            Shape::Dot(center, radius, color) => self.push(&circle(*center, *radius, &fill(*color))),
            Shape::Ring(center, radius, stroke) => {
                self.push(&circle(*center, *radius, &format!(" fill=\"#ffffff\"{}", pen(stroke))));
            }
            Shape::Text(content) => self.push(&text(content)),
            Shape::Group { class, hint, clip, shapes } => self.group(class, hint.as_deref(), *clip, shapes),
        }
    }

    fn group(&mut self, class: &str, hint: Option<&str>, clip: Option<Rect>, shapes: &[Shape]) {
        let clip = clip.map(|area| self.clip(area)).unwrap_or_default();
        self.push(&format!("<g class=\"{class}\"{clip}>"));
        if let Some(hint) = hint {
            self.push(&format!("<title>{}</title>", escape(hint)));
        }
        self.shapes(shapes);
        self.push("</g>");
    }

    fn clip(&mut self, area: Rect) -> String {
        self.clips += 1;
        let id = self.clips;
        self.push(&format!(
            "<clipPath id=\"c{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
            number(area.left),
            number(area.top),
            number(area.width()),
            number(area.height())
        ));
        format!(" clip-path=\"url(#c{id})\"")
    }

    fn push(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }
}

fn circle((x, y): Place, radius: f64, style: &str) -> String {
    format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{style}/>", number(x), number(y), number(radius))
}

fn text(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let bold = if text.bold { " font-weight=\"bold\"" } else { "" };
    let halo = if text.halo {
        " stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\""
    } else {
        ""
    };
    format!(
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}{bold}{halo} textLength=\"{}\" \
         lengthAdjust=\"spacingAndGlyphs\"{}>{}</text>",
        number(text.at.0),
        number(text.at.1),
        number(text.size),
        number(font::width(&text.content, text.size, text.bold)),
        fill(text.color),
        escape(&text.content)
    )
}

fn pen(stroke: &Stroke) -> String {
    let dash = stroke.dash.map(|(on, off)| format!(" stroke-dasharray=\"{} {}\"", number(on), number(off)));
    let mut style = format!(" stroke=\"{}\" stroke-width=\"{}\"", hex(stroke.color), number(stroke.width));
    style.push_str(" stroke-linejoin=\"round\" stroke-linecap=\"butt\"");
    style.push_str(&opacity("stroke-opacity", stroke.color));
    style.push_str(&dash.unwrap_or_default());
    style
}

fn fill(color: Color) -> String {
    format!(" fill=\"{}\"{}", hex(color), opacity("fill-opacity", color))
}

fn opacity(name: &str, color: Color) -> String {
    if color.opacity >= 1.0 { String::new() } else { format!(" {name}=\"{:.3}\"", color.opacity) }
}

fn hex(color: Color) -> String {
    let [r, g, b] = color.rgb;
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn places(points: &[Place]) -> String {
    let mut out = String::with_capacity(points.len() * 14);
    for (x, y) in points {
        let gap = if out.is_empty() { "" } else { " " };
        // writing into a String cannot fail
        let _ = write!(out, "{gap}{},{}", number(*x), number(*y));
    }
    out
}

fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_would_break_the_document() {
        assert_eq!(escape("a<b & \"c\"\u{7}"), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn writes_numbers_without_trailing_zeros() {
        assert_eq!([number(3.0), number(0.25), number(-1.5)], ["3", "0.25", "-1.5"]);
    }
}
