//! Replay of Hyperband: speed-up by early stopping after each of its iterations, one line per variant.

use super::bands::{self, BandedLine};
use super::color::SILVER;
use super::figure::{Figure, Stroke};
use super::page::FigurePage;
use super::panel::Panel;

/// One variant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HyperbandSeries {
    /// Name of the variant.
    pub name: String,
    /// (iteration, mean speed-up, its standard error), by iteration; the error is not finite for a single run.
    pub points: Vec<(f64, f64, f64)>,
}

/// Speed-up by iteration of Hyperband.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HyperbandFigure {
    /// The title.
    pub title: String,
    /// The subtitle, such as the number of runs.
    pub subtitle: String,
    /// The variants.
    pub series: Vec<HyperbandSeries>,
}

impl HyperbandFigure {
    /// Draws a line with a band of ± one standard error for each variant, and the level of no speed-up.
    pub(crate) fn draw(&self) -> Figure {
        let mut page = FigurePage::new(600.0, &self.title, &self.subtitle, &[]);
        let all: Vec<BandedLine> = self.series.iter().map(banded_line).collect();
        let y = bands::y_range(&all).with(1.0).with_padding(0.03, 0.05);
        let room = bands::room(self.series.iter().map(|s| s.name.as_str()));
        let panel = Panel::new(page.body.inset(46.0, 34.0, room, 44.0), bands::x_range(&all), y);
        page.draw(panel.frame("Hyperband iteration", "speed-up (times)"));
        page.draw(panel.level(1.0, Stroke::dashed_line(SILVER, 1.4)));
        page.draw([bands::lines(&panel, &all, |_, i| i)]);
        page.draw(bands::names(&panel, &all));
        page.figure
    }
}

fn banded_line(series: &HyperbandSeries) -> BandedLine {
    let points =
        series.points.iter().map(|(x, mean, error)| (*x, *mean, mean - error, mean + error)).collect();
    BandedLine { name: series.name.clone(), points, steps: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn figure(points: Vec<(f64, f64, f64)>) -> HyperbandFigure {
        let series = vec![HyperbandSeries { name: "f-Hyperband".into(), points }];
        HyperbandFigure { title: "t".into(), subtitle: "40 runs".into(), series }
    }

    #[test]
    fn has_a_named_line_for_each_variant() {
        let svg = encode(&figure(vec![(1.0, 1.5, 0.1), (2.0, 1.8, 0.1)]).draw());
        assert_eq!(svg.matches("class=\"series\"").count(), 1);
        assert!(svg.contains(">f-Hyperband</text>") && svg.contains("40 runs"));
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        for points in [vec![], vec![(1.0, 2.0, f64::NAN)], vec![(1.0, f64::NAN, 0.1), (2.0, 2.0, 0.1)]] {
            assert!(!encode(&figure(points).draw()).contains("NaN"));
        }
    }
}
