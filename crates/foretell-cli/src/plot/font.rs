//! The built-in font (Noto Sans, Apache 2.0): widths of texts, outlines of glyphs, breaking into lines.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::figure::{TextAnchor, TextLine};

static REGULAR_FACE: LazyLock<Face<'static>> = LazyLock::new(|| parse(ttf_noto_sans::REGULAR));
static BOLD_FACE: LazyLock<Face<'static>> = LazyLock::new(|| parse(ttf_noto_sans::BOLD));

fn parse(bytes: &'static [u8]) -> Face<'static> {
    Face::parse(bytes, 0).expect("the font built into the program is a TrueType font")
}

fn face(bold: bool) -> &'static Face<'static> {
    if bold { &BOLD_FACE } else { &REGULAR_FACE }
}

/// Width of a text in pixels at a font size in pixels.
pub(crate) fn width(content: &str, size: f64, bold: bool) -> f64 {
    let face = face(bold);
    content.chars().map(|c| advance(face, glyph(face, c), size)).sum()
}

/// Distance in pixels from the place of a text to its left end.
pub(crate) fn indent(text: &TextLine) -> f64 {
    match text.anchor {
        TextAnchor::Start => 0.0,
        TextAnchor::Middle => -0.5 * width(&text.content, text.size, text.bold),
        TextAnchor::End => -width(&text.content, text.size, text.bold),
    }
}

/// Draws the outlines of a text; `pen` gets each glyph with its left end (pixels right of the page's edge) and the
/// pixels that one unit of the font has.
pub(crate) fn outline<P: OutlineBuilder>(text: &TextLine, mut pen: impl FnMut(f64, f64) -> P) -> Vec<P> {
    let face = face(text.bold);
    let mut left = text.at.0 + indent(text);
    let mut pens = Vec::new();
    for id in text.content.chars().map(|c| glyph(face, c)) {
        let mut glyph_pen = pen(left, text.size / f64::from(face.units_per_em()));
        if face.outline_glyph(id, &mut glyph_pen).is_some() {
            pens.push(glyph_pen);
        }
        left += advance(face, id, text.size);
    }
    pens
}

/// Breaks a text at spaces into lines of at most `limit` pixels; a longer word gets a line of its own.
pub(crate) fn wrap(content: &str, size: f64, bold: bool, limit: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in content.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size, bold) <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text cut to at most `limit` pixels, with an ellipsis where something is missing.
pub(crate) fn shorten(content: &str, size: f64, limit: f64) -> String {
    if width(content, size, false) <= limit {
        return content.to_owned();
    }
    let mut kept = content.to_owned();
    while kept.pop().is_some() && width(&format!("{kept}…"), size, false) > limit {}
    format!("{}…", kept.trim_end())
}

fn glyph(face: &Face<'_>, c: char) -> GlyphId {
    face.glyph_index(c).or_else(|| face.glyph_index('?')).unwrap_or(GlyphId(0))
}

fn advance(face: &Face<'_>, id: GlyphId, size: f64) -> f64 {
    f64::from(face.glyph_hor_advance(id).unwrap_or(0)) * size / f64::from(face.units_per_em())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_every_sign_the_figures_use() {
        for sign in "²δΔεκη×–…≥≤±% ,.−".chars() {
            assert!(REGULAR_FACE.glyph_index(sign).is_some(), "{sign} is missing");
            assert!(BOLD_FACE.glyph_index(sign).is_some(), "bold {sign} is missing");
        }
    }

    #[test]
    fn wraps_at_words_and_shortens_with_an_ellipsis() {
        let lines = wrap("one two three four five", 12.0, false, 60.0);
        assert!(lines.len() > 1);
        assert_eq!(lines.join(" "), "one two three four five");
        assert!(lines.iter().all(|l| width(l, 12.0, false) <= 60.0));
        assert!(shorten("a very long name of a run", 12.0, 60.0).ends_with('…'));
        assert_eq!(shorten("short", 12.0, 60.0), "short");
    }
}
