//! Colors: the palette of Okabe and Ito, which people with color-blindness can distinguish, and grays for the frame.

use foretell_search::colors::{self as shades, PlotBackground};

/// An RGB color with opacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Color {
    /// Red, green, blue, each 0–255.
    pub rgb: [u8; 3],
    /// 0 (invisible) to 1 (opaque).
    pub opacity: f32,
}

impl Color {
    const fn new(r: u8, g: u8, b: u8) -> Self {
        Self { rgb: [r, g, b], opacity: 1.0 }
    }

    /// Changes the opacity.
    pub(crate) const fn with_opacity(self, opacity: f32) -> Self {
        Self { rgb: self.rgb, opacity }
    }
}

/// Titles and labels.
pub(crate) const INK: Color = Color::new(0x22, 0x22, 0x22);
/// Tick labels and subtitles.
pub(crate) const GRAY: Color = Color::new(0x5c, 0x5c, 0x5c);
/// Things in the background that must be visible.
pub(crate) const SILVER: Color = Color::new(0xa8, 0xa8, 0xa8);
/// Grid lines.
pub(crate) const MIST: Color = Color::new(0xe6, 0xe6, 0xe6);
/// The page.
pub(crate) const WHITE: Color = Color::new(0xff, 0xff, 0xff);

/// Blue.
pub(crate) const BLUE: Color = Color::new(0x00, 0x72, 0xb2);
/// Vermillion.
pub(crate) const VERMILLION: Color = Color::new(0xd5, 0x5e, 0x00);
/// Bluish green.
pub(crate) const GREEN: Color = Color::new(0x00, 0x9e, 0x73);
/// Reddish purple.
pub(crate) const PURPLE: Color = Color::new(0xcc, 0x79, 0xa7);
/// Orange.
pub(crate) const ORANGE: Color = Color::new(0xe6, 0x9f, 0x00);
/// Sky blue.
pub(crate) const SKY: Color = Color::new(0x56, 0xb4, 0xe9);

/// The color of a trial that reached `share` of the way from the worst to the best, the same as on the page.
pub(crate) fn shade(share: f64) -> Color {
    Color { rgb: shades::trial_color(share, PlotBackground::White), opacity: 1.0 }
}

/// The color of the best trial, as the page has it.
pub(crate) fn best() -> Color {
    Color { rgb: shades::best_trial_color(PlotBackground::White), opacity: 1.0 }
}

/// The color of trials that failed, as the page has it.
pub(crate) fn failed_trial_color() -> Color {
    Color { rgb: shades::failed_trial_color(PlotBackground::White), opacity: 1.0 }
}

/// Color of the `index`-th series; the colors repeat after seven.
pub(crate) fn series(index: usize) -> Color {
    [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GRAY][index % 7]
}
