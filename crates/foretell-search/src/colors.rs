//! The colors of a study's trials, by their values: the same on the page and in the plots of the command line.

/// Red, green and blue, each 0–255.
pub type Rgb = [u8; 3];

/// Viridis in steps of a tenth: its lightness grows evenly, so that people with any color vision, and grayscale, keep the order.
///
/// Source: van der Walt & Smith 2015, matplotlib.
const VIRIDIS: [Rgb; 11] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x24, 0x75],
    [0x41, 0x44, 0x87],
    [0x35, 0x5f, 0x8d],
    [0x2a, 0x78, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x22, 0xa8, 0x84],
    [0x44, 0xbf, 0x70],
    [0x7a, 0xd1, 0x51],
    [0xbd, 0xdf, 0x26],
    [0xfd, 0xe7, 0x25],
];
/// Where on it the worst and the best trial are: the best stands out most from the paper, the worst least.
const VIRIDIS_RANGE_ON_WHITE: (f64, f64) = (0.86, 0.0);
const VIRIDIS_RANGE_ON_BLACK: (f64, f64) = (0.18, 1.0);

/// The share of the trials, from the worst, that get the worst color, so that a diverged trial does not use up the scale.
pub const WORST_SHARE: f64 = 0.1;

/// The paper that is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotBackground {
    /// A light one.
    White,
    /// A dark one.
    Black,
}

/// The color of a trial that came to `share` of the way from the worst (0) to the best (1).
///
/// ```
/// use foretell_search::colors::{PlotBackground, trial_color};
/// assert_eq!(trial_color(1.0, PlotBackground::White), [0x44, 0x01, 0x54]);
/// assert_eq!(trial_color(1.0, PlotBackground::Black), [0xfd, 0xe7, 0x25]);
/// ```
pub fn trial_color(share: f64, paper: PlotBackground) -> Rgb {
    let (worst, best) = match paper {
        PlotBackground::White => VIRIDIS_RANGE_ON_WHITE,
        PlotBackground::Black => VIRIDIS_RANGE_ON_BLACK,
    };
    let place = 10.0 * (worst + (best - worst) * share.clamp(0.0, 1.0));
    let below = (place as usize).min(9);
    let part = place - below as f64;
    let mixed = |low: u8, high: u8| (f64::from(low) * (1.0 - part) + f64::from(high) * part).round() as u8;
    std::array::from_fn(|i| mixed(VIRIDIS[below][i], VIRIDIS[below + 1][i]))
}

/// The color of the best trial, which is drawn over all others.
pub fn best_trial_color(paper: PlotBackground) -> Rgb {
    match paper {
        PlotBackground::White => [0xb4, 0x53, 0x09],
        PlotBackground::Black => [0xff, 0x9f, 0x43],
    }
}

/// The color of trials that failed, which have no result.
pub fn failed_trial_color(paper: PlotBackground) -> Rgb {
    match paper {
        PlotBackground::White => [0xb9, 0x1c, 0x1c],
        PlotBackground::Black => [0xff, 0x8a, 0x80],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, as WCAG has it.
    fn luminance(color: Rgb) -> f64 {
        let linear = |part: u8| (f64::from(part) / 255.0).powf(2.2);
        0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2])
    }

    #[test]
    fn better_trials_stand_out_more_on_either_paper() {
        for i in 0..20 {
            let (worse, better) = (f64::from(i) / 20.0, f64::from(i + 1) / 20.0);
            let light = |share, paper| luminance(trial_color(share, paper));
            assert!(light(better, PlotBackground::White) < light(worse, PlotBackground::White), "{better}");
            assert!(light(better, PlotBackground::Black) > light(worse, PlotBackground::Black), "{better}");
        }
        assert_eq!(trial_color(-1.0, PlotBackground::White), trial_color(0.0, PlotBackground::White));
        assert_eq!(trial_color(2.0, PlotBackground::Black), trial_color(1.0, PlotBackground::Black));
    }
}
