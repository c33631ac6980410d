//! The size of a picture on paper or on a screen: `3.3x2.5in`.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

/// Pixels of a figure per inch, by which its labels of 13 pixels are 8 points high, as in the captions of a paper.
const PIXELS_PER_INCH: f64 = 13.0 / 8.0 * 72.0;
/// Pixels of a PNG per inch.
const PNG_PIXELS_PER_INCH: f64 = 300.0;
/// Narrower, lower or larger pictures, in inches, are a mistake.
const MIN_INCHES: (f64, f64) = (2.0, 1.5);
const MAX_INCHES: f64 = 40.0;

/// A unit, its name, and how many of it are an inch.
const LENGTH_UNITS: [(&str, f64); 4] = [("in", 1.0), ("cm", 2.54), ("mm", 25.4), ("px", 96.0)];

thread_local! {
    /// The size that the user gave; a command draws for one place.
    static GIVEN_SIZE: Cell<Option<FigureSize>> = const { Cell::new(None) };
}

/// A width and a height with their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FigureSize {
    width: f64,
    height: f64,
    /// Place of the unit in [`LENGTH_UNITS`].
    unit: usize,
}

impl FigureSize {
    /// The size that figures are drawn in from here on, in this thread.
    pub(crate) fn apply(given: Option<Self>) {
        GIVEN_SIZE.set(given);
    }

    /// The size that was given.
    pub(crate) fn given_size() -> Option<Self> {
        GIVEN_SIZE.get()
    }

    fn inches(self) -> (f64, f64) {
        let (_, per_inch) = LENGTH_UNITS[self.unit];
        (self.width / per_inch, self.height / per_inch)
    }

    /// Width and height in the pixels of a figure.
    pub(crate) fn pixels(self) -> (f64, f64) {
        let (width, height) = self.inches();
        (width * PIXELS_PER_INCH, height * PIXELS_PER_INCH)
    }

    /// Pixels of a PNG for each pixel of a figure.
    pub(crate) fn zoom(self) -> f64 {
        let (name, per_inch) = LENGTH_UNITS[self.unit];
        if name == "px" { per_inch / PIXELS_PER_INCH } else { PNG_PIXELS_PER_INCH / PIXELS_PER_INCH }
    }

    /// Width and height as SVG writes them.
    pub(crate) fn to_svg_lengths(self) -> (String, String) {
        let (unit, _) = LENGTH_UNITS[self.unit];
        (format!("{}{unit}", self.width), format!("{}{unit}", self.height))
    }
}

impl fmt::Display for FigureSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}{}", self.width, self.height, LENGTH_UNITS[self.unit].0)
    }
}

impl FromStr for FigureSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = parse_lengths(text).ok_or_else(|| {
            format!("`{text}` is not a size. Write for example 3.3x2.5in, 8x6cm, 84x64mm or 800x600px")
        })?;
        let (wide, high) = size.inches();
        if !(MIN_INCHES.0..=MAX_INCHES).contains(&wide) || !(MIN_INCHES.1..=MAX_INCHES).contains(&high) {
            let (least_wide, least_high) = MIN_INCHES;
            return Err(format!(
                "{size} is not a possible size of a picture. Use at least {least_wide}x{least_high}in, and at most {MAX_INCHES}x{MAX_INCHES}in"
            ));
        }
        Ok(size)
    }
}

/// The size that `text` names, whether or not it is a possible one.
fn parse_lengths(text: &str) -> Option<FigureSize> {
    let mut units = LENGTH_UNITS.iter().enumerate();
    let (unit, numbers) = units.find_map(|(unit, (name, _))| Some((unit, text.strip_suffix(name)?)))?;
    let (width, height) = numbers.split_once(['x', '×'])?;
    Some(FigureSize { width: width.trim().parse().ok()?, height: height.trim().parse().ok()?, unit })
}

#[cfg(test)]
mod tests {
    use super::FigureSize;

    #[test]
    fn a_size_is_read_in_each_unit_and_refused_with_an_example() {
        let pixels = |text: &str| text.parse::<FigureSize>().expect("a size").pixels();
        assert_eq!(pixels("4x2in"), (468.0, 234.0));
        for same in ["10.16x5.08cm", "101.6 x 50.8mm", "384×192px"] {
            let (width, height) = pixels(same);
            assert!((width - 468.0).abs() < 1e-9 && (height - 234.0).abs() < 1e-9, "{same}");
        }
        for wrong in ["", "3.3", "3.3x2.5", "in", "x2in", "3.3x2.5pt", "NaNxNaNin"] {
            let said = wrong.parse::<FigureSize>().expect_err(wrong);
            assert!(said.contains("3.3x2.5in") || said.contains("at least 2x1.5in"), "{said}");
        }
        for odd in ["1x1in", "0x0cm", "-4x4in", "100x4in", "infx2in"] {
            assert!(odd.parse::<FigureSize>().expect_err(odd).contains("at least 2x1.5in"), "{odd}");
        }
    }
}
