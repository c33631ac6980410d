//! Fan charts: running curves with forecasts of their final values, in bands that open from the last measured point.

use super::color::{BLUE, GRAY, INK, VERMILLION};
use super::figure::{Figure, Rect, Shape, Stroke, TextAnchor, TextLine, hinted_group};
use super::font;
use super::page::{FigurePage, LegendEntry, LegendMark};
use super::panel::{LABEL_FONT_SIZE, Panel};
use super::scale::{AxisRange, short};

/// One unfinished run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FanRun {
    /// Name of the run.
    pub name: String,
    /// (resource, metric in the user's direction), by resource.
    pub points: Vec<(f64, f64)>,
    /// Median of the forecast at the end.
    pub median: f64,
    /// (coverage 0–1, low, high) of the intervals at the end, in any order; three are usual: 0.5, 0.8, 0.95.
    pub intervals: Vec<(f64, f64, f64)>,
    /// Probability to beat the incumbent, 0–1.
    pub chance: Option<f64>,
}

/// Forecasts of unfinished runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FanFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// Name of the metric.
    pub metric: String,
    /// Whether larger values of the metric are better.
    pub maximize: bool,
    /// The resource, in the plural, such as `epochs`.
    pub resource: String,
    /// The resource at which a run ends.
    pub max_resource: f64,
    /// Score of the best completed run.
    pub incumbent: Option<f64>,
    /// The runs, one panel each.
    pub runs: Vec<FanRun>,
}

impl FanFigure {
    /// Draws a panel for each run, all with the same axes.
    pub(crate) fn draw(&self) -> Figure {
        let columns = columns(self.runs.len());
        let rows = self.runs.len().div_ceil(columns).max(1);
        let height =
            if rows == 1 { 560.0 } else { 150.0 + (640.0 / columns as f64).max(200.0) * rows as f64 };
        let mut page = FigurePage::new(height, &self.title, &self.subtitle, &self.keys());
        let (x, y) = (self.x_range(), self.y_range());
        for (index, (cell, run)) in
            page.cells(self.runs.len(), columns).into_iter().zip(&self.runs).enumerate()
        {
            let area = cell.inset(46.0, 30.0, 16.0, 44.0);
            let panel = self.axes(area, x, y);
            page.draw(heading(cell, run));
            page.draw(self.panel(&panel, run));
            // the name of the axis stands only where no panel is below
            let last = index + columns >= self.runs.len();
            page.draw(panel.axis_labels(&self.resource, "").into_iter().filter(|_| last));
        }
        page.add_footnote(&self.left_out(x, y));
        page.figure
    }

    fn keys(&self) -> Vec<LegendEntry> {
        let mut keys = vec![
            LegendEntry::new(
                LegendMark::Line(Stroke::solid_line(BLUE, 2.4)),
                format!("{} so far", self.metric),
            ),
            LegendEntry::new(
                LegendMark::Dot(VERMILLION),
                format!("forecast at {} {}", short(self.max_resource), self.resource),
            ),
        ];
        for level in self.levels() {
            let label = format!("{:.0} %", 100.0 * level);
            // the wider bands lie under the narrower ones, as in the fans
            let color = self
                .levels()
                .into_iter()
                .filter(|l| *l >= level)
                .fold(0.0, |o, _| o + (1.0 - o) * BAND_OPACITY);
            keys.push(LegendEntry::new(LegendMark::Band(VERMILLION.with_opacity(color)), label));
        }
        if self.incumbent.is_some() {
            keys.push(LegendEntry::new(
                LegendMark::Line(Stroke::dashed_line(INK, 1.2)),
                "best completed run",
            ));
        }
        keys
    }

    /// The distinct coverages of all runs, from narrow to wide.
    fn levels(&self) -> Vec<f64> {
        let mut levels: Vec<f64> = self.runs.iter().flat_map(|r| r.intervals.iter().map(|i| i.0)).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        levels
    }

    fn x_range(&self) -> AxisRange {
        let points = self.runs.iter().flat_map(|r| r.points.iter().map(|p| p.0));
        AxisRange::covering(points.chain([0.0, self.max_resource]))
    }

    fn y_range(&self) -> AxisRange {
        AxisRange::from_most_values(self.values())
            .with(self.incumbent.unwrap_or(f64::NAN))
            .with_padding(0.03, 0.05)
    }

    /// Everything drawn: measured values, medians and ends of intervals.
    fn values(&self) -> Vec<f64> {
        let points = self.runs.iter().flat_map(|r| r.points.iter().map(|p| p.1));
        let ends = self.runs.iter().flat_map(|r| r.intervals.iter().flat_map(|i| [i.1, i.2]));
        points.chain(ends).chain(self.runs.iter().map(|r| r.median)).collect()
    }

    /// The axes of every panel, the same for all so that runs can be compared. They include the best completed run's score.
    fn axes(&self, area: Rect, x: AxisRange, y: AxisRange) -> Panel {
        let mut values = self.values();
        values.extend(self.incumbent);
        Panel::of_curves(area, x, y, self.maximize, &values).holding(self.incumbent.unwrap_or(f64::NAN))
    }

    fn left_out(&self, x: AxisRange, y: AxisRange) -> String {
        let area = Rect { left: 0.0, top: 0.0, right: 1.0, bottom: 1.0 };
        self.axes(area, x, y).left_out(&self.values())
    }

    fn panel(&self, panel: &Panel, run: &FanRun) -> Vec<Shape> {
        let mut shapes = panel.grid();
        shapes.extend(panel.x_axis());
        shapes.extend(self.incumbent.and_then(|best| panel.level(best, Stroke::dashed_line(INK, 1.2))));
        shapes.push(panel.clip(vec![hinted_group("run", self.hint(run), self.fan(panel, run))]));
        if panel.y.holds(run.median) {
            shapes.extend(
                panel.place((self.max_resource, run.median)).map(|end| Shape::Dot(end, 4.0, VERMILLION)),
            );
        }
        shapes
    }

    fn hint(&self, run: &FanRun) -> String {
        format!(
            "{}: forecast {} at {} {}",
            run.name,
            short(run.median),
            short(self.max_resource),
            self.resource
        )
    }

    fn fan(&self, panel: &Panel, run: &FanRun) -> Vec<Shape> {
        let end = self.max_resource;
        let Some(start) = run.points.iter().rev().copied().find(|p| panel.place(*p).is_some()) else {
            return Vec::new();
        };
        if start.0 >= end {
            return panel.line(&run.points, Stroke::solid_line(BLUE, 2.4));
        }
        let mut wide_first = run.intervals.clone();
        wide_first.sort_by(|a, b| b.0.total_cmp(&a.0));
        let bands = wide_first.into_iter().filter_map(|(_, low, high)| {
            panel
                .band(&[(start.0, start.1, start.1), (end, low, high)], VERMILLION.with_opacity(BAND_OPACITY))
        });
        let mut shapes: Vec<Shape> = bands.collect();
        shapes.extend(
            panel
                .line(&[start, (end, run.median)], Stroke::dashed_line(VERMILLION, 1.4))
                .into_iter()
                .filter(is_line),
        );
        shapes.extend(panel.line(&run.points, Stroke::solid_line(BLUE, 2.4)));
        shapes
    }
}

/// Opacity of one band; where two lie over each other it is darker.
const BAND_OPACITY: f32 = 0.2;

fn is_line(shape: &Shape) -> bool {
    matches!(shape, Shape::Line(..))
}

fn heading(cell: Rect, run: &FanRun) -> Vec<Shape> {
    let y = cell.top + 18.0;
    let chance = run.chance.filter(|c| c.is_finite()).map(percent);
    let right = chance.map(|c| format!("{c} to beat the best")).unwrap_or_default();
    let room = cell.width() - 32.0 - font::width(&right, LABEL_FONT_SIZE - 1.0, false);
    let name = font::shorten(&run.name, 1.08 * LABEL_FONT_SIZE, room);
    let name = TextLine::new((cell.left + 10.0, y), name, LABEL_FONT_SIZE, INK);
    let chance = TextLine::new((cell.right - 16.0, y), right, LABEL_FONT_SIZE - 1.0, GRAY);
    vec![Shape::Text(name.with_bold()), Shape::Text(chance.with_anchor(TextAnchor::End))]
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p < 1.0 => "<1 %".to_owned(),
        p if p > 99.0 => ">99 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

fn columns(count: usize) -> usize {
    match count {
        0 | 1 => 1,
        2 | 4 => 2,
        3 | 5..=9 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn run(index: usize) -> FanRun {
        FanRun {
            name: format!("run {index}"),
            points: (1..6).map(|e| (f64::from(e), 0.1 * f64::from(e))).collect(),
            median: 0.7,
            intervals: vec![(0.5, 0.65, 0.75), (0.95, 0.5, 0.9), (0.8, 0.6, 0.8)],
            chance: Some(0.12),
        }
    }

    fn figure(runs: Vec<FanRun>) -> FanFigure {
        FanFigure {
            title: "t".into(),
            subtitle: "s".into(),
            metric: "accuracy".into(),
            maximize: true,
            resource: "epochs".into(),
            max_resource: 20.0,
            incumbent: Some(0.8),
            runs,
        }
    }

    #[test]
    fn every_run_has_three_bands_and_its_chance() {
        let svg = encode(&figure((0..12).map(run).collect()).draw());
        assert_eq!(svg.matches("class=\"run\"").count(), 12);
        assert_eq!(svg.matches(">12 % to beat the best<").count(), 12);
        // 12 times three bands and three in the key
        assert_eq!(svg.matches("<polygon").count(), 39);
    }

    /// Heights of the grid lines and of the dashed line, and the tick labels, of each panel in turn.
    fn rulings(fan: &FanFigure) -> Vec<(Vec<String>, f64)> {
        let area = Rect { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 };
        let panel = fan.axes(area, fan.x_range(), fan.y_range());
        let of_run = |run: &FanRun| {
            let shapes = fan.panel(&panel, run);
            let labels = shapes.iter().filter_map(|shape| match shape {
                Shape::Text(text) => Some(text.content.clone()),
                _ => None,
            });
            let best = shapes.iter().find_map(|shape| match shape {
                Shape::Line(places, stroke) if *stroke == Stroke::dashed_line(INK, 1.2) => Some(places[0].1),
                _ => None,
            });
            (labels.collect(), best.unwrap_or(f64::NAN))
        };
        fan.runs.iter().map(of_run).collect()
    }

    #[test]
    fn the_best_finished_loss_lies_inside_axes_that_all_panels_share() {
        let falling = |name: &str, scale: f64| FanRun {
            name: name.into(),
            points: (1..8).map(|e| (f64::from(e), scale * 0.5_f64.powi(e))).collect(),
            median: scale * 0.006,
            intervals: vec![(0.5, scale * 0.005, scale * 0.007)],
            chance: None,
        };
        for best in [1e-6, 1e3, 0.05, 0.0, -2.0] {
            let runs = vec![falling("a", 1.0), falling("b", 30.0)];
            let fan = FanFigure { maximize: false, incumbent: Some(best), ..figure(runs) };
            let rulings = rulings(&fan);
            assert_eq!(rulings[0], rulings[1], "the panels of {best} can be compared");
            assert!((0.0..=200.0).contains(&rulings[0].1), "{best} lies at {}", rulings[0].1);
            assert!(!encode(&fan.draw()).contains("NaN"));
        }
    }

    #[test]
    fn a_run_that_went_past_the_end_has_no_fan() {
        let mut done = run(0);
        (done.points, done.intervals) = ((1..=30).map(|e| (f64::from(e), 0.5)).collect(), Vec::new());
        let svg = encode(&figure(vec![done]).draw());
        assert_eq!((svg.matches("<polygon").count(), svg.matches("class=\"run\"").count()), (0, 1));
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        let mut odd = run(0);
        odd.points = vec![(1.0, f64::NAN)];
        odd.median = f64::INFINITY;
        odd.intervals = vec![(0.5, f64::NAN, 1.0)];
        odd.chance = Some(f64::NAN);
        let mut one = run(1);
        one.points.truncate(1);
        for runs in [vec![], vec![odd], vec![one], (0..60).map(run).collect()] {
            assert!(!encode(&figure(runs).draw()).contains("NaN"));
        }
    }
}
