//! Writes a figure as SVG; text stays text, with the width of the built-in font, so that other fonts keep the layout.

use std::fmt::Write;

use super::color::Color;
use super::figure::{Figure, PagePoint, Rect, Shape, Stroke, TextAnchor, TextLine};
use super::font;
use super::size::FigureSize;

const FONT_FAMILY: &str = "'Noto Sans','DejaVu Sans',Verdana,Helvetica,Arial,sans-serif";

/// The whole document.
pub(crate) fn encode(figure: &Figure) -> String {
    let (w, h) = (format_number(figure.width), format_number(figure.height));
    let (wide, high) = figure.size.map_or_else(|| (w.clone(), h.clone()), FigureSize::to_svg_lengths);
    let mut body = SvgWriter::default();
    body.shapes(&figure.shapes);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
         font-family=\"{FONT_FAMILY}\">\n<title>{}</title>\n<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{}</svg>\n",
        escape_xml(&figure.title),
        body.out
    )
}

#[derive(Default)]
struct SvgWriter {
    out: String,
    clips: usize,
}

impl SvgWriter {
    fn shapes(&mut self, shapes: &[Shape]) {
        for shape in shapes {
            self.shape(shape);
        }
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Line(points, stroke) => {
                let line = format!(
                    "<polyline points=\"{}\" fill=\"none\"{}/>",
                    format_points(points),
                    stroke_style(stroke)
                );
                self.push(&line);
            }
            Shape::Area(points, color) => {
                self.push(&format!("<polygon points=\"{}\"{}/>", format_points(points), fill_style(*color)));
            }
            Shape::Dot(center, radius, color) => self.push(&circle(*center, *radius, &fill_style(*color))),
            Shape::Ring(center, radius, stroke) => {
                self.push(&circle(*center, *radius, &format!(" fill=\"#ffffff\"{}", stroke_style(stroke))));
            }
            Shape::Text(content) => self.push(&text(content)),
            Shape::Group { class, hint, clip, shapes } => {
                self.write_group(class, hint.as_deref(), *clip, shapes)
            }
        }
    }

    fn write_group(&mut self, class: &str, hint: Option<&str>, clip: Option<Rect>, shapes: &[Shape]) {
        let clip = clip.map(|area| self.clip(area)).unwrap_or_default();
        self.push(&format!("<g class=\"{class}\"{clip}>"));
        if let Some(hint) = hint {
            self.push(&format!("<title>{}</title>", escape_xml(hint)));
        }
        self.shapes(shapes);
        self.push("</g>");
    }

    fn clip(&mut self, area: Rect) -> String {
        self.clips += 1;
        let id = self.clips;
        self.push(&format!(
            "<clipPath id=\"c{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
            format_number(area.left),
            format_number(area.top),
            format_number(area.width()),
            format_number(area.height())
        ));
        format!(" clip-path=\"url(#c{id})\"")
    }

    fn push(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }
}

fn circle((x, y): PagePoint, radius: f64, style: &str) -> String {
    format!(
        "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{style}/>",
        format_number(x),
        format_number(y),
        format_number(radius)
    )
}

fn text(text: &TextLine) -> String {
    let anchor = match text.anchor {
        TextAnchor::Start => "",
        TextAnchor::Middle => " text-anchor=\"middle\"",
        TextAnchor::End => " text-anchor=\"end\"",
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
        format_number(text.at.0),
        format_number(text.at.1),
        format_number(text.size),
        format_number(font::width(&text.content, text.size, text.bold)),
        fill_style(text.color),
        escape_xml(&text.content)
    )
}

fn stroke_style(stroke: &Stroke) -> String {
    let dash = stroke
        .dash
        .map(|(on, off)| format!(" stroke-dasharray=\"{} {}\"", format_number(on), format_number(off)));
    let mut style =
        format!(" stroke=\"{}\" stroke-width=\"{}\"", hex(stroke.color), format_number(stroke.width));
    style.push_str(" stroke-linejoin=\"round\" stroke-linecap=\"butt\"");
    style.push_str(&opacity("stroke-opacity", stroke.color));
    style.push_str(&dash.unwrap_or_default());
    style
}

fn fill_style(color: Color) -> String {
    format!(" fill=\"{}\"{}", hex(color), opacity("fill-opacity", color))
}

fn opacity(name: &str, color: Color) -> String {
    if color.opacity >= 1.0 { String::new() } else { format!(" {name}=\"{:.3}\"", color.opacity) }
}

fn hex(color: Color) -> String {
    let [r, g, b] = color.rgb;
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn format_points(points: &[PagePoint]) -> String {
    let mut out = String::with_capacity(points.len() * 14);
    for (x, y) in points {
        let gap = if out.is_empty() { "" } else { " " };
        // writing into a String cannot fail
        let _ = write!(out, "{gap}{},{}", format_number(*x), format_number(*y));
    }
    out
}

fn format_number(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape_xml(text: &str) -> String {
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
        assert_eq!(escape_xml("a<b & \"c\"\u{7}"), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn writes_numbers_without_trailing_zeros() {
        assert_eq!([format_number(3.0), format_number(0.25), format_number(-1.5)], ["3", "0.25", "-1.5"]);
    }
}
