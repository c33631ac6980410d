//! Colours: the palette of Okabe and Ito, which people with colour-blindness can distinguish, and greys for the frame.

use foretell_search::colours::{self, Paper};

/// An RGB colour with opacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Colour {
    /// Red, green, blue, each 0–255.
    pub rgb: [u8; 3],
    /// 0 (invisible) to 1 (opaque).
    pub opacity: f32,
}

impl Colour {
    const fn new(r: u8, g: u8, b: u8) -> Self {
        Self { rgb: [r, g, b], opacity: 1.0 }
    }

    /// The same colour at another opacity.
    pub(crate) const fn with_opacity(self, opacity: f32) -> Self {
        Self { rgb: self.rgb, opacity }
    }
}

/// Titles and labels.
pub(crate) const INK: Colour = Colour::new(0x22, 0x22, 0x22);
/// Tick labels and subtitles.
pub(crate) const GREY: Colour = Colour::new(0x5c, 0x5c, 0x5c);
/// Things in the background that must be visible.
pub(crate) const SILVER: Colour = Colour::new(0xa8, 0xa8, 0xa8);
/// Grid lines.
pub(crate) const MIST: Colour = Colour::new(0xe6, 0xe6, 0xe6);
/// The page.
pub(crate) const WHITE: Colour = Colour::new(0xff, 0xff, 0xff);

/// Blue.
pub(crate) const BLUE: Colour = Colour::new(0x00, 0x72, 0xb2);
/// Vermillion.
pub(crate) const VERMILLION: Colour = Colour::new(0xd5, 0x5e, 0x00);
/// Bluish green.
pub(crate) const GREEN: Colour = Colour::new(0x00, 0x9e, 0x73);
/// Reddish purple.
pub(crate) const PURPLE: Colour = Colour::new(0xcc, 0x79, 0xa7);
/// Orange.
pub(crate) const ORANGE: Colour = Colour::new(0xe6, 0x9f, 0x00);
/// Sky blue.
pub(crate) const SKY: Colour = Colour::new(0x56, 0xb4, 0xe9);

/// The colour of a trial that came to `share` of the way from the worst to the best, as the page has it.
pub(crate) fn shade(share: f64) -> Colour {
    Colour { rgb: colours::shade(share, Paper::White), opacity: 1.0 }
}

/// The colour of the best trial, as the page has it.
pub(crate) fn best() -> Colour {
    Colour { rgb: colours::best(Paper::White), opacity: 1.0 }
}

/// The colour of trials that failed, as the page has it.
pub(crate) fn failed() -> Colour {
    Colour { rgb: colours::failed(Paper::White), opacity: 1.0 }
}

/// Colour of the `index`-th series; the colours repeat after seven.
pub(crate) fn series(index: usize) -> Colour {
    [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY][index % 7]
}
