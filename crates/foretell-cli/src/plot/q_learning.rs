//! A Q-learning search: mean score at each ε, and over the models the best so far and the means of the best few.

use super::bands::{self, BandedLine};
use super::color::{GRAY, INK, MIST, SILVER};
use super::figure::{Figure, Rect, Shape, Stroke, TextAnchor, TextLine, hinted_group};
use super::font;
use super::page::{FigurePage, LegendEntry, LegendMark};
use super::panel::{Panel, TICK_FONT_SIZE};
use super::scale::{AxisRange, short};

/// A stretch of models sampled at the same ε.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EpsilonStage {
    /// Probability of a random action, 0–1.
    pub epsilon: f64,
    /// The number of models sampled with it.
    pub models: usize,
}

/// A Q-learning search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QLearningFigure {
    /// The title.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// Name of the metric.
    pub metric: String,
    /// Whether larger values of the metric are better.
    pub maximize: bool,
    /// The ε schedule, in order.
    pub stages: Vec<EpsilonStage>,
    /// Score of each model in the order of sampling; not finite for models that failed.
    pub scores: Vec<f64>,
}

impl QLearningFigure {
    /// Draws the mean for each ε, a dot for each model, and lines for the best, the top 5 and the top 15.
    pub(crate) fn draw(&self) -> Figure {
        let keys = [
            LegendEntry::new(
                LegendMark::Line(Stroke::solid_line(GRAY, 4.0)),
                format!("mean {} at each ε", self.metric),
            ),
            LegendEntry::new(LegendMark::Dot(SILVER), "one model"),
        ];
        let mut page = FigurePage::new(620.0, &self.title, &self.subtitle, &keys);
        let all = [self.top("best so far", 1), self.top("mean of top 5", 5), self.top("mean of top 15", 15)];
        let room = bands::room(all.iter().map(|b| b.name.as_str()));
        let area = page.body.inset(46.0, 34.0, room, 62.0);
        let y = AxisRange::from_most_values(
            self.scores.iter().copied().chain(all.iter().flat_map(|b| b.points.iter().map(|p| p.1))),
        );
        let x = AxisRange { low: 0.0, high: self.scores.len().max(1) as f64 };
        let panel = Panel::new(area, x, y.with_padding(0.06, 0.05));
        page.draw(panel.grid());
        page.draw([panel.clip(self.dots(&panel)), panel.clip(self.mean_bars(&panel))]);
        page.draw(self.epsilon_labels(&panel));
        page.draw(panel.x_axis());
        let below = Panel { area: Rect { bottom: area.bottom + 20.0, ..area }, ..panel };
        page.draw(below.axis_labels("models trained", &self.metric));
        page.draw([bands::lines(&panel, &all, |_, i| i)]);
        page.draw(self.mean_labels(&panel));
        page.draw(bands::names(&panel, &all));
        page.figure
    }

    /// (stage, its first model, one past its last model, mean of its finite scores).
    fn stage_spans(&self) -> Vec<(EpsilonStage, usize, usize, f64)> {
        let mut first = 0;
        let spans = self.stages.iter().map(|stage| {
            let start = first;
            first = (start + stage.models).min(self.scores.len());
            let scores = self.scores[start..first].iter().copied().filter(|s| s.is_finite());
            let (sum, count) = scores.fold((0.0, 0.0), |(sum, count), s| (sum + s, count + 1.0));
            (*stage, start, first, sum / count)
        });
        spans.filter(|s| s.1 < s.2).collect()
    }

    fn mean_bars(&self, panel: &Panel) -> Vec<Shape> {
        let bottom = panel.y.range.low;
        let bars = self.stage_spans().into_iter().filter_map(|(stage, start, end, mean)| {
            let (from, to) = (panel.place((start as f64, bottom))?, panel.place((end as f64, mean))?);
            let (left, right) = (from.0 + 1.0, to.0 - 1.0);
            let level = Shape::Line(vec![(left, to.1), (right, to.1)], Stroke::solid_line(GRAY, 4.0));
            let edge =
                Shape::Line(vec![(to.0, panel.area.top), (to.0, from.1)], Stroke::solid_line(MIST, 1.0));
            let hint = format!("ε = {}: {} models, mean {}", short(stage.epsilon), end - start, short(mean));
            Some(hinted_group("stage", hint, vec![edge, level]))
        });
        bars.collect()
    }

    /// The mean of each stage above its line, where there is room for it.
    fn mean_labels(&self, panel: &Panel) -> Vec<Shape> {
        let labels = self.stage_spans().into_iter().filter_map(|(_, start, end, mean)| {
            let (x, y) = panel.place(((start + end) as f64 / 2.0, mean))?;
            let content = short((1000.0 * mean).round() / 1000.0);
            let wide = panel.x.pixel(end as f64) - panel.x.pixel(start as f64);
            let text = TextLine::new((x, y - 7.0), content, TICK_FONT_SIZE, INK)
                .with_anchor(TextAnchor::Middle)
                .with_halo();
            (font::width(&text.content, TICK_FONT_SIZE, false) < wide).then_some(Shape::Text(text))
        });
        labels.collect()
    }

    fn dots(&self, panel: &Panel) -> Vec<Shape> {
        let dense = (200.0 / self.scores.len().max(1) as f64).sqrt().clamp(0.2, 1.0) as f32;
        let places = self.scores.iter().enumerate().filter_map(|(i, s)| panel.place((i as f64 + 0.5, *s)));
        places.map(|place| Shape::Dot(place, 1.8, SILVER.with_opacity(0.9 * dense))).collect()
    }

    /// The ε of each stage below the axis, where there is room for it.
    fn epsilon_labels(&self, panel: &Panel) -> Vec<Shape> {
        let (mut shapes, mut free) = (Vec::new(), panel.area.left - 4.0);
        let y = panel.area.bottom + 36.0;
        for (stage, start, end, _) in self.stage_spans() {
            let middle = panel.x.pixel((start + end) as f64 / 2.0);
            let content = if shapes.is_empty() {
                format!("ε = {}", short(stage.epsilon))
            } else {
                short(stage.epsilon)
            };
            let half = 0.5 * font::width(&content, TICK_FONT_SIZE, false);
            if middle - half > free {
                shapes.push(Shape::Text(
                    TextLine::new((middle, y), content, TICK_FONT_SIZE, GRAY).with_anchor(TextAnchor::Middle),
                ));
                free = middle + half + 6.0;
            }
        }
        shapes
    }

    /// After each model the mean of the best `count` scores so far, from the `count`-th finite score on.
    fn top(&self, name: &str, count: usize) -> BandedLine {
        let mut best: Vec<f64> = Vec::new();
        let mut points = Vec::new();
        for (index, score) in self.scores.iter().enumerate().filter(|(_, s)| s.is_finite()) {
            let place = best.partition_point(|b| if self.maximize { b >= score } else { b <= score });
            best.insert(place, *score);
            best.truncate(count);
            if best.len() == count {
                let mean = best.iter().sum::<f64>() / count as f64;
                points.push((index as f64 + 1.0, mean, f64::NAN, f64::NAN));
            }
        }
        let end = points.last().map(|p| (self.scores.len() as f64, p.1, p.2, p.3));
        points.extend(end);
        BandedLine { name: name.to_owned(), points, steps: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::svg::encode;

    fn figure(scores: Vec<f64>, maximize: bool) -> QLearningFigure {
        let stages =
            vec![EpsilonStage { epsilon: 1.0, models: 4 }, EpsilonStage { epsilon: 0.1, models: 400 }];
        QLearningFigure {
            title: "t".into(),
            subtitle: "s".into(),
            metric: "accuracy".into(),
            maximize,
            stages,
            scores,
        }
    }

    #[test]
    fn tops_follow_the_direction_of_the_metric() {
        let scores = vec![0.3, 0.5, f64::NAN, 0.1];
        let last =
            |maximize, count| figure(scores.clone(), maximize).top("", count).points.last().map(|p| p.1);
        assert_eq!(last(true, 1), Some(0.5));
        assert_eq!(last(false, 1), Some(0.1));
        assert_eq!(last(true, 2), Some(0.4));
        assert_eq!(last(true, 5), None);
    }

    #[test]
    fn has_a_level_for_each_epsilon_with_its_mean() {
        let svg = encode(&figure(vec![0.1, 0.2, 0.3, 0.4, 0.8, 0.6], true).draw());
        assert_eq!(svg.matches("class=\"stage\"").count(), 2);
        assert!(svg.contains("ε = 1: 4 models, mean 0.25") && svg.contains("ε = 0.1: 2 models, mean 0.7"));
    }

    #[test]
    fn draws_nothing_one_point_and_missing_values() {
        for scores in [vec![], vec![0.5], vec![f64::NAN; 5], vec![0.1; 500]] {
            assert!(!encode(&figure(scores, true).draw()).contains("NaN"));
        }
    }
}
