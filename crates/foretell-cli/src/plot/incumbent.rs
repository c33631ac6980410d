//! Replay: the best score so far against the resource spent, one line per policy, with bands over runs.

use super::bands::{self, BandedLine};
use super::figure::Figure;
use super::page::FigurePage;
use super::panel::Panel;
use foretell_search::BestSoFarPoint;

/// One policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BestSoFarSeries {
    /// Name of the policy.
    pub name: String,
    /// By resource.
    pub points: Vec<BestSoFarPoint>,
}

/// The best score so far against the resource spent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BestSoFarFigure {
    /// The title.
    pub title: String,
    /// The subtitle, which should explain the bands.
    pub subtitle: String,
    /// Name of the metric.
    pub metric: String,
    /// The resource, in the plural, such as `epochs`.
    pub resource: String,
    /// Whether equal factors of resource are equally long.
    pub log_resource: bool,
    /// The policies.
    pub series: Vec<BestSoFarSeries>,
}

impl BestSoFarFigure {
    /// Draws a step line with its band for each policy.
    pub(crate) fn draw(&self) -> Figure {
        let mut page = FigurePage::new(600.0, &self.title, &self.subtitle, &[]);
        let all: Vec<BandedLine> = self.series.iter().map(banded_line).collect();
        let x = bands::x_range(&all).with(if self.log_resource { f64::NAN } else { 0.0 });
        let y = bands::y_range(&all).with_padding(0.02, 0.03);
        let room = bands::room(self.series.iter().map(|s| s.name.as_str()));
        let panel = Panel::new(page.body.inset(46.0, 34.0, room, 44.0), x, y);
        let panel = if self.log_resource { panel.with_log_x() } else { panel };
        page.draw(panel.frame(&format!("{} spent", self.resource), &format!("best {} so far", self.metric)));
        page.draw([bands::lines(&panel, &all, |_, i| i)]);
        page.draw(bands::names(&panel, &all));
        page.figure
    }
}

fn banded_line(series: &BestSoFarSeries) -> BandedLine {
    let points = series.points.iter().map(|p| (p.resource, p.middle, p.low, p.high));
    BandedLine { name: series.name.clone(), points: points.collect(), steps: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn figure(values: &[f64], log_resource: bool) -> BestSoFarFigure {
        let point = |(i, v): (usize, &f64)| BestSoFarPoint {
            resource: 10.0 * i as f64,
            middle: *v,
            low: v - 0.1,
            high: v + 0.1,
        };
        let series = vec![BestSoFarSeries {
            name: "srm".into(),
            points: values.iter().enumerate().map(point).collect(),
        }];
        let (title, subtitle) = ("t".into(), "s".into());
        BestSoFarFigure {
            title,
            subtitle,
            metric: "accuracy".into(),
            resource: "epochs".into(),
            log_resource,
            series,
        }
    }

    #[test]
    fn has_a_named_line_and_a_band_for_each_policy() {
        let svg = encode(&figure(&[0.1, 0.5, 0.6], false).draw());
        assert_eq!(svg.matches("class=\"series\"").count(), 1);
        assert_eq!(svg.matches("<polygon").count(), 1);
        assert!(svg.contains(">srm</text>") && svg.contains("best accuracy so far"));
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        for values in [vec![], vec![0.5], vec![f64::NAN, 0.5, f64::INFINITY]] {
            for log in [false, true] {
                assert!(!encode(&figure(&values, log).draw()).contains("NaN"));
            }
        }
    }
}
