//! A study: all learning curves, where trials were stopped, their forecasts, and the best trial.

use super::color::{self, Color, GRAY, INK, SILVER, shade};
use super::figure::{Figure, Rect, Shape, Stroke, TextAnchor, TextLine, group, hinted_group};
use super::font;
use super::page::{FigurePage, LegendEntry, LegendMark, width};
use super::panel::{LABEL_FONT_SIZE, Panel};
use super::scale::{AxisRange, count, short};
use super::watched::{self, WatchedMetric};
use foretell_search::colors::WORST_SHARE;

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchFate {
    /// Ran to the end while forecasts could have stopped it.
    Completed,
    /// Ran to the end during the burn-in.
    BurnIn,
    /// Stopped by its forecast.
    Stopped,
    /// Trained to its rung and not promoted.
    Paused,
    /// Still running.
    Running,
    /// Crashed or diverged.
    Failed,
}

/// A forecast of a trial's final score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SearchForecast {
    /// The mean, in the metric's unit.
    pub mean: f64,
    /// The standard deviation, in the metric's unit.
    pub deviation: f64,
}

/// One trial of a study.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchTrial {
    /// Name, such as `trial 17`.
    pub name: String,
    /// (resource, metric in the user's direction), by resource; not finite where nothing was measured.
    pub points: Vec<(f64, f64)>,
    /// How it ended.
    pub fate: SearchFate,
    /// The last forecast, drawn for trials that did not reach the end.
    pub forecast: Option<SearchForecast>,
}

/// A study.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchFigure {
    /// The title, usually the study's name.
    pub title: String,
    /// Name of the metric.
    pub metric: String,
    /// The resource, in the plural, such as `epochs`.
    pub resource: String,
    /// Whether larger values of the metric are better.
    pub maximize: bool,
    /// The resource at which a full trial ends.
    pub max_resource: f64,
    /// Whether forecasts are of the rung that a trial is trained to, not of its end.
    pub rungs: bool,
    /// The trials in the order in which they were started.
    pub trials: Vec<SearchTrial>,
    /// Index of the best trial in `trials`, and its score.
    pub best: Option<(usize, f64)>,
    /// The resource consumed by all trials together.
    pub spent: f64,
    /// The resource they would have consumed without stopping.
    pub without_stopping: f64,
    /// Other metrics of the trials, drawn below.
    pub watched: Vec<WatchedMetric>,
}

/// The height of the figure without further metrics.
const BASE_HEIGHT: f64 = 660.0;
/// The most forecasts that are drawn: those of running trials first, then the best.
const MAX_FORECASTS: usize = 20;
/// More trials are drawn as bands that hold so much of them.
const MAX_SINGLE_TRIALS: usize = 200;
/// The bands: the fraction of the trials that each holds, and its opacity.
const TRIAL_BANDS: [(f64, f32); 2] = [(0.9, 0.18), (0.5, 0.32)];

impl SearchFigure {
    /// Draws the curves, and to their right a strip with the forecasts of trials that did not reach the end.
    pub(crate) fn draw(&self) -> Figure {
        let below = watched::PANEL_HEIGHT * self.watched.len() as f64;
        let mut page = FigurePage::new(BASE_HEIGHT + below, &self.title, &self.saving_text(), &self.keys());
        let each = watched::PANEL_HEIGHT * page.figure.height / (BASE_HEIGHT + below);
        let below = each * self.watched.len() as f64;
        let strip = self.strip_width();
        let area = page.body.inset(46.0, 34.0, strip + 8.0, 44.0 + below);
        let panel = self.panel(area);
        page.draw(panel.frame(&self.resource, &self.metric));
        page.draw(self.strip_frame(&panel, strip));
        page.draw(self.best_level_line(&panel, strip));
        page.draw(self.bands_and_median(&panel));
        let shades = self.shades();
        page.draw([self.curves(&panel, &shades), self.forecasts(&panel, strip, &shades)]);
        page.draw(self.best_curve(&panel));
        page.draw(self.best_label(&panel, strip));
        let (strokes, best) = (self.strokes(&shades), self.best.map(|best| best.0));
        for (watched, top) in self.watched.iter().zip(0..) {
            let top = area.bottom + 44.0 + 34.0 + each * f64::from(top);
            let area = Rect { top, bottom: top + each - 78.0, ..area };
            page.draw(watched.draw(area, panel.x.range, &self.resource, &strokes, best));
        }
        page.add_footnote(&panel.left_out(&self.values()));
        page.figure
    }

    fn saving_text(&self) -> String {
        let counts = format!(
            "{} trials, {} stopped early",
            count(self.trials.len() as f64),
            self.count(SearchFate::Stopped)
        );
        let share = 100.0 * self.spent / self.without_stopping;
        if !share.is_finite() {
            return counts;
        }
        let (spent, full, unit) = (count(self.spent), count(self.without_stopping), &self.resource);
        let whole = if self.rungs { "the same rungs without stopping" } else { "a full search" };
        format!("{share:.0} % of the {unit} of {whole} ({spent} of {full}) · {counts}")
    }

    fn count(&self, fate: SearchFate) -> usize {
        self.trials.iter().filter(|t| t.fate == fate).count()
    }

    fn keys(&self) -> Vec<LegendEntry> {
        let names = [
            (SearchFate::Completed, "completed"),
            (SearchFate::Stopped, "stopped"),
            (SearchFate::BurnIn, "learned from"),
            (SearchFate::Paused, "left at a rung"),
            (SearchFate::Running, "running"),
            (SearchFate::Failed, "failed"),
        ];
        let drawn = names.into_iter().filter(|(fate, _)| {
            self.count(*fate) > 0 && (!self.has_many_trials() || *fate == SearchFate::Running)
        });
        let curves = drawn.map(|(fate, name)| {
            let color = if fate == SearchFate::Failed { color::failed_trial_color() } else { GRAY };
            let stroke = Stroke { color, ..self.stroke(fate, color, 2.0) };
            LegendEntry::new(LegendMark::Line(stroke), format!("{name} ({})", self.count(fate)))
        });
        let mut keys: Vec<LegendEntry> = curves.collect();
        if self.has_many_trials() {
            let mut opacity = 0.0;
            for (share, own) in TRIAL_BANDS {
                // the narrow band lies on the wide one, so that its color in the picture is made of both
                opacity += (1.0 - opacity) * own;
                let mark = LegendMark::Band(GRAY.with_opacity(opacity));
                keys.push(LegendEntry::new(mark, format!("{:.0} % of the trials", 100.0 * share)));
            }
            keys.push(LegendEntry::new(LegendMark::Line(Stroke::solid_line(GRAY, 2.0)), "median"));
        }
        if self.unfinished_forecasts().next().is_some() {
            keys.push(LegendEntry::new(LegendMark::Whisker(GRAY), "forecast ± standard deviation"));
        }
        if self.best.is_some() {
            keys.insert(
                0,
                LegendEntry::new(LegendMark::Line(Stroke::solid_line(color::best(), 3.2)), "best"),
            );
            keys.insert(1, LegendEntry::new(LegendMark::Ramp, "from worse to better"));
        }
        keys
    }

    fn stroke(&self, fate: SearchFate, color: Color, width: f64) -> Stroke {
        // with more curves each is fainter, so that where many lie can be seen
        let faint = (14.0 / self.trials.len().max(1) as f64).sqrt().clamp(0.3, 1.0) as f32;
        match fate {
            SearchFate::Completed => Stroke::solid_line(color.with_opacity(0.45 + 0.5 * faint), width),
            SearchFate::BurnIn => Stroke::solid_line(color.with_opacity(0.9 * faint.max(0.5)), 0.6 * width),
            SearchFate::Stopped | SearchFate::Paused => {
                Stroke::dashed_line(color.with_opacity(0.3 + 0.6 * faint), 0.8 * width)
            }
            SearchFate::Running => Stroke::solid_line(color, 1.4 * width),
            SearchFate::Failed => Stroke::dotted_line(color, width),
        }
    }

    /// The color of each trial, by its result: its last value, or its forecast if it ended early.
    fn shades(&self) -> Vec<Color> {
        let turned = if self.maximize { 1.0 } else { -1.0 };
        let scores: Vec<Option<f64>> =
            self.trials.iter().map(|trial| trial.result().map(|value| turned * value)).collect();
        let mut known: Vec<f64> = scores.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        let worst = known.get((known.len() as f64 * WORST_SHARE) as usize).copied().unwrap_or(0.0);
        let best = known.last().copied().unwrap_or(0.0);
        let shades = scores.into_iter().map(|score| match score {
            Some(score) => shade(if best > worst { (score - worst) / (best - worst) } else { 1.0 }),
            None => color::failed_trial_color(),
        });
        shades.collect()
    }

    fn panel(&self, area: Rect) -> Panel {
        let (values, steps) = (self.values(), self.trials.iter().flat_map(|t| t.points.iter().map(|p| p.0)));
        let x = AxisRange::covering(steps.chain([0.0, self.max_resource]));
        let forecasts = self.unfinished_forecasts().map(|(_, f)| f.mean);
        let best = self.best.map_or(f64::NAN, |b| b.1);
        let y = AxisRange::from_most_values(values.iter().copied()).with(best);
        let y = y.with(AxisRange::from_most_values(forecasts.chain([best])).low);
        let y = if self.maximize { y.with_padding(0.02, 0.06) } else { y.with_padding(0.06, 0.02) };
        Panel::of_curves(area, x, y, self.maximize, &values)
    }

    /// The forecasts that are drawn, by trial.
    fn unfinished_forecasts(&self) -> impl Iterator<Item = (usize, SearchForecast)> {
        let trials = self.trials.iter().enumerate();
        let trials = trials.filter(|(_, t)| matches!(t.fate, SearchFate::Stopped | SearchFate::Running));
        let mut all: Vec<(usize, SearchForecast)> =
            trials.filter_map(|(i, t)| t.forecast.filter(|f| f.mean.is_finite()).map(|f| (i, f))).collect();
        let turned = if self.maximize { 1.0 } else { -1.0 };
        all.sort_by(|a, b| {
            let [runs, other_runs] = [a, b].map(|(index, _)| self.trials[*index].fate == SearchFate::Running);
            other_runs.cmp(&runs).then((turned * b.1.mean).total_cmp(&(turned * a.1.mean)))
        });
        all.truncate(MAX_FORECASTS);
        all.sort_by_key(|(index, _)| *index);
        all.into_iter()
    }

    /// Whether there are too many trials to see one among them.
    fn has_many_trials(&self) -> bool {
        self.trials.len() > MAX_SINGLE_TRIALS
    }

    /// If there are many trials, the range of most of them at each step, and the median.
    fn bands_and_median(&self, panel: &Panel) -> Option<Shape> {
        if !self.has_many_trials() {
            return None;
        }
        let points = self.trials.iter().flat_map(|t| t.points.iter().copied());
        let mut points: Vec<(f64, f64)> = points.filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let steps: Vec<&[(f64, f64)]> = points.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()).collect();
        let mut shapes = Vec::new();
        for (share, opacity) in TRIAL_BANDS {
            let (low, high) = (0.5 - share / 2.0, 0.5 + share / 2.0);
            let corners = steps
                .iter()
                .map(|step| (step[0].0, quantile_of_points(step, low), quantile_of_points(step, high)));
            shapes.extend(panel.band(&corners.collect::<Vec<_>>(), GRAY.with_opacity(opacity)));
        }
        let median = steps.iter().map(|step| (step[0].0, quantile_of_points(step, 0.5)));
        let median: Vec<(f64, f64)> = median.collect();
        shapes.extend(panel.line(&median, Stroke::solid_line(GRAY, 2.0)));
        Some(panel.clip(vec![group("bands", shapes)]))
    }

    fn strip_width(&self) -> f64 {
        let count = self.unfinished_forecasts().count();
        if count == 0 { 16.0 } else { (40.0 + 4.0 * count as f64).min(0.23 * width()) }
    }

    fn strip_frame(&self, panel: &Panel, width: f64) -> Vec<Shape> {
        if self.unfinished_forecasts().next().is_none() {
            return Vec::new();
        }
        let (left, middle) = (panel.area.right + 8.0, panel.area.right + 8.0 + width / 2.0);
        let bottom = panel.area.bottom;
        let end = format!("at {}", short(self.max_resource));
        let at = if self.rungs {
            "at its rung".to_owned()
        } else if width > 70.0 {
            format!("{end} {}", self.resource)
        } else {
            end
        };
        let mut shapes = panel.grid_lines(left, left + width);
        let ends = vec![(left, bottom), (left + width, bottom)];
        shapes.push(Shape::Line(ends, Stroke::solid_line(SILVER, 1.0)));
        for (y, content) in [(bottom + 18.0, "forecast".to_owned()), (bottom + 38.0, at)] {
            let text = TextLine::new((middle, y), content, LABEL_FONT_SIZE, INK);
            shapes.push(Shape::Text(text.with_anchor(TextAnchor::Middle)));
        }
        shapes
    }

    fn best_level_line(&self, panel: &Panel, strip: f64) -> Option<Shape> {
        let y = self.best.map(|b| panel.y.pixel(b.1)).filter(|y| y.is_finite())?;
        let ends = vec![(panel.area.left, y), (panel.area.right + 8.0 + strip, y)];
        Some(Shape::Line(ends, Stroke::dashed_line(color::best().with_opacity(0.7), 1.2)))
    }

    /// The trials that are drawn one by one, from the back to the front, with their strokes; the best is not among them.
    fn strokes(&self, shades: &[Color]) -> Vec<(usize, Stroke)> {
        let order = [
            SearchFate::BurnIn,
            SearchFate::Paused,
            SearchFate::Failed,
            SearchFate::Stopped,
            SearchFate::Completed,
            SearchFate::Running,
        ];
        let trials = order
            .into_iter()
            .flat_map(|fate| self.trials.iter().enumerate().filter(move |(_, t)| t.fate == fate))
            .filter(|(i, _)| Some(*i) != self.best.map(|b| b.0))
            .filter(|(_, t)| !self.has_many_trials() || t.fate == SearchFate::Running);
        trials.map(|(index, trial)| (index, self.stroke(trial.fate, shades[index], 1.6))).collect()
    }

    fn curves(&self, panel: &Panel, shades: &[Color]) -> Shape {
        let strokes = self.strokes(shades).into_iter();
        panel.clip(strokes.map(|(index, stroke)| self.curve(panel, &self.trials[index], stroke)).collect())
    }

    fn curve(&self, panel: &Panel, trial: &SearchTrial, stroke: Stroke) -> Shape {
        let mut shapes = panel.line(&trial.points, stroke);
        if matches!(trial.fate, SearchFate::Stopped | SearchFate::Paused | SearchFate::Failed) {
            shapes.extend(
                last(&trial.points).and_then(|p| panel.place(p)).map(|p| Shape::Dot(p, 2.4, stroke.color)),
            );
        }
        hinted_group("trial", self.hint(trial), shapes)
    }

    fn hint(&self, trial: &SearchTrial) -> String {
        let fate = match trial.fate {
            SearchFate::Completed => "completed",
            SearchFate::BurnIn => "completed (burn-in)",
            SearchFate::Stopped => "stopped",
            SearchFate::Paused => "left at its rung",
            SearchFate::Running => "running",
            SearchFate::Failed => "failed",
        };
        let (at, value) = last(&trial.points).unwrap_or((0.0, f64::NAN));
        let forecast =
            trial.forecast.map(|f| format!(", forecast {} ± {}", short(f.mean), short(f.deviation)));
        let (name, unit, at, value) = (&trial.name, &self.resource, short(at), short(value));
        format!("{name}: {fate} at {at} {unit} with {value}{}", forecast.unwrap_or_default())
    }

    /// One dot for each forecast, side by side in the order of the trials; a ring where it lies outside the picture.
    fn forecasts(&self, panel: &Panel, strip: f64, shades: &[Color]) -> Shape {
        let count = self.unfinished_forecasts().count();
        let step = (strip - 20.0) / count.max(1) as f64;
        let dense = (1.0 / (1.0 + count as f64 / 40.0)).max(0.25) as f32;
        let mut shapes = Vec::new();
        for (rank, (index, forecast)) in self.unfinished_forecasts().enumerate() {
            let x = panel.area.right + 18.0 + (rank as f64 + 0.5) * step;
            let trial = &self.trials[index];
            let color = shades[index];
            let joint = joining_line(panel, trial, (x, forecast.mean), color.with_opacity(0.55 * dense));
            let mut marks: Vec<Shape> = joint.into_iter().collect();
            marks.extend(dot_and_whisker(
                panel,
                x,
                forecast,
                self.stroke(trial.fate, color, 1.0).color,
                count,
            ));
            shapes.push(hinted_group("forecast", self.hint(trial), marks));
        }
        let edge = panel.area.inset(0.0, -4.0, -(strip + 8.0), -4.0);
        super::figure::clipped_group(edge, shapes)
    }

    fn best_curve(&self, panel: &Panel) -> Option<Shape> {
        let trial = self.trials.get(self.best?.0)?;
        let shapes = panel.line(&trial.points, Stroke::solid_line(color::best(), 3.2));
        Some(panel.clip(vec![hinted_group("trial best", self.hint(trial), shapes)]))
    }

    /// The best trial's name and score next to the incumbent line, on the side where there is room.
    fn best_label(&self, panel: &Panel, strip: f64) -> Option<Shape> {
        let (index, score) = self.best?;
        let trial = self.trials.get(index).filter(|_| score.is_finite())?;
        let content = format!("best: {}, {}", trial.name, short(score));
        let content = font::shorten(&content, LABEL_FONT_SIZE, panel.area.width());
        let x = panel.area.right + strip.min(0.0);
        // clear of the curve under the label, too
        let from = x - font::width(&content, LABEL_FONT_SIZE, true);
        let places: Vec<(f64, f64)> = trial.points.iter().filter_map(|&point| panel.place(point)).collect();
        let first = places.iter().position(|place| place.0 >= from).unwrap_or(0).saturating_sub(1);
        let under = places[first..].iter();
        let line = panel.y.pixel(score);
        let y = if self.maximize {
            under.fold(line, |top, place| top.min(place.1)) - 7.0
        } else {
            under.fold(line, |bottom, place| bottom.max(place.1)) + 7.0 + 0.75 * LABEL_FONT_SIZE
        };
        let text = TextLine::new((x, y), content, LABEL_FONT_SIZE, color::best());
        Some(group("label", vec![Shape::Text(text.with_anchor(TextAnchor::End).with_bold().with_halo())]))
    }

    /// The measured values of all trials.
    fn values(&self) -> Vec<f64> {
        self.trials.iter().flat_map(|t| t.points.iter().map(|p| p.1)).collect()
    }
}

impl SearchTrial {
    /// The trial's last value, or its forecast if it ended early; none if it failed.
    fn result(&self) -> Option<f64> {
        let foreseen = self.forecast.map(|forecast| forecast.mean).filter(|mean| mean.is_finite());
        match self.fate {
            SearchFate::Failed => None,
            SearchFate::Completed | SearchFate::BurnIn => last(&self.points).map(|point| point.1),
            SearchFate::Stopped | SearchFate::Paused | SearchFate::Running => {
                foreseen.or_else(|| last(&self.points).map(|point| point.1))
            }
        }
    }
}

fn last(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    points.iter().rev().copied().find(|p| p.0.is_finite() && p.1.is_finite())
}

fn quantile_of_points(step: &[(f64, f64)], share: f64) -> f64 {
    let values: Vec<f64> = step.iter().map(|point| point.1).collect();
    foretell::statistics::quantile_of_sorted(&values, share)
}

fn joining_line(panel: &Panel, trial: &SearchTrial, (x, mean): (f64, f64), color: Color) -> Option<Shape> {
    let start = last(&trial.points).and_then(|p| panel.place(p))?;
    Some(Shape::Line(vec![start, (x, panel.y.pixel(mean))], Stroke::dashed_line(color, 1.0)))
}

fn dot_and_whisker(
    panel: &Panel,
    x: f64,
    forecast: SearchForecast,
    color: Color,
    count: usize,
) -> Vec<Shape> {
    let y = panel.y.pixel(forecast.mean);
    let (low, high) = (forecast.mean - forecast.deviation, forecast.mean + forecast.deviation);
    let whisker = Stroke::solid_line(color.with_opacity(0.6 * color.opacity), 1.3);
    let mut shapes = Vec::new();
    if low.is_finite() && high.is_finite() {
        shapes.push(Shape::Line(vec![(x, panel.y.pixel(low)), (x, panel.y.pixel(high))], whisker));
    }
    let radius = if count > 60 { 2.4 } else { 3.5 };
    if panel.y.holds(forecast.mean) {
        shapes.push(Shape::Dot((x, y), radius, color.with_opacity(1.0)));
    } else {
        let edge = y.clamp(panel.area.top, panel.area.bottom);
        shapes.push(Shape::Ring((x, edge), radius, Stroke::solid_line(color.with_opacity(1.0), 1.2)));
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::png;
    use crate::plot::svg::encode;

    fn trial(index: usize, fate: SearchFate) -> SearchTrial {
        let end = if fate == SearchFate::Stopped { 5 } else { 20 };
        let top = 0.5 + 0.4 * (index as f64 * 0.37).sin();
        let points = (1..=end).map(|e| (f64::from(e), top * (1.0 - (-f64::from(e) / 4.0).exp()))).collect();
        let forecast = Some(SearchForecast { mean: top, deviation: 0.03 });
        SearchTrial { name: format!("trial {index}"), points, fate, forecast }
    }

    fn study(count: usize) -> SearchFigure {
        let fates = [SearchFate::BurnIn, SearchFate::Completed, SearchFate::Stopped, SearchFate::Stopped];
        let trials = (0..count).map(|i| trial(i, fates[i % 4])).collect();
        SearchFigure {
            title: "a < study".into(),
            metric: "accuracy".into(),
            resource: "epochs".into(),
            maximize: true,
            max_resource: 20.0,
            rungs: false,
            trials,
            best: (count > 1).then_some((1, 0.9)),
            spent: 31.0,
            without_stopping: 100.0,
            watched: Vec::new(),
        }
    }

    #[test]
    fn every_trial_has_a_curve_and_the_best_of_the_stopped_a_forecast() {
        for (count, forecasts) in [(12, 6), (200, 20)] {
            let svg = encode(&study(count).draw());
            assert_eq!(svg.matches("class=\"trial").count(), count);
            assert_eq!(svg.matches("class=\"forecast\"").count(), forecasts);
        }
    }

    #[test]
    fn many_trials_are_bands_with_the_best_and_the_running() {
        let mut many = study(10_000);
        many.trials[7].fate = SearchFate::Running;
        let svg = encode(&many.draw());
        assert_eq!(svg.matches("class=\"trial").count(), 2);
        assert_eq!(svg.matches("class=\"bands\"").count(), 1);
        assert_eq!(svg.matches("class=\"forecast\"").count(), 20);
        assert!(svg.contains("90 % of the trials") && svg.contains("running (1)"));
        assert!(svg.len() < 100_000, "{} bytes", svg.len());
    }

    #[test]
    fn another_metric_is_drawn_below_in_the_same_colors() {
        let mut study = study(12);
        let curve = |at: usize| (1..=5).map(|e| (f64::from(e), 3.0 / f64::from(e) + at as f64)).collect();
        let curves = (0..11).map(curve).collect();
        study.watched = vec![WatchedMetric { metric: "loss".into(), maximize: false, curves }];
        let svg = encode(&study.draw());
        assert!(svg.contains(">loss<") && svg.contains("height=\"960\""), "{}", &svg[..300]);
        // the last of the twelve did not report it
        let below = svg.split("class=\"watched\"").nth(1).expect("the panel");
        assert_eq!(below.matches("<polyline").count(), 11);
    }

    #[test]
    fn says_what_was_saved_and_which_trial_was_best() {
        let svg = encode(&study(12).draw());
        for label in
            ["31 % of the epochs", "best: trial 1, 0.9<", "stopped (6)", "learned from (3)", "a &lt; study"]
        {
            assert!(svg.contains(label), "{label} is missing");
        }
    }

    #[test]
    fn draws_nothing_one_point_and_diverged_values() {
        let mut one = study(1);
        one.trials[0].points = vec![(1.0, 0.5)];
        let mut diverged = study(8);
        diverged.maximize = false;
        diverged.trials[2].points = vec![(1.0, f64::NAN), (2.0, 1e300), (3.0, f64::INFINITY)];
        diverged.trials[3].forecast = Some(SearchForecast { mean: 1e200, deviation: f64::NAN });
        diverged.without_stopping = 0.0;
        for search in [study(0), one, diverged] {
            let svg = encode(&search.draw());
            assert!(!svg.contains("NaN") && !svg.contains("inf,") && !svg.contains("=\"inf"));
            assert!(png::encode(&search.draw()).is_ok());
        }
    }
}
