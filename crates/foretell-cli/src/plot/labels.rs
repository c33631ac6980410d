//! Labels at the ends of lines, moved apart so that they do not overlap.

use super::color::Color;
use super::figure::{Shape, TextLine};
use super::font;
use super::panel::LABEL_FONT_SIZE;

/// A label with its preferred height.
pub(crate) struct EndLabel {
    /// Height of its line's end, in pixels.
    pub y: f64,
    /// Text of the label.
    pub content: String,
    /// The color of its line.
    pub color: Color,
}

/// The labels in a column that starts at `left`, between `top` and `bottom`, each cut to `limit` pixels.
pub(crate) fn column(labels: &[EndLabel], left: f64, limit: f64, top: f64, bottom: f64) -> Vec<Shape> {
    let heights: Vec<f64> = labels.iter().map(|l| l.y).collect();
    spread(&heights, 1.25 * LABEL_FONT_SIZE, top, bottom)
        .into_iter()
        .zip(labels)
        .map(|(y, label)| {
            let content = font::shorten(&label.content, LABEL_FONT_SIZE, limit);
            Shape::Text(
                TextLine::new((left, y + 0.35 * LABEL_FONT_SIZE), content, LABEL_FONT_SIZE, label.color)
                    .with_halo(),
            )
        })
        .collect()
}

/// Moves heights apart until neighbors are `gap` away from each other, keeping their order and, where there is room,
/// the limits.
pub(crate) fn spread(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut placed: Vec<f64> =
        order.iter().map(|i| if wanted[*i].is_finite() { wanted[*i] } else { bottom }).collect();
    push_down(&mut placed, gap, top);
    push_up(&mut placed, gap, bottom);
    push_down(&mut placed, gap, top);
    let mut result = vec![0.0; wanted.len()];
    for (place, index) in placed.into_iter().zip(order) {
        result[index] = place;
    }
    result
}

fn push_down(sorted: &mut [f64], gap: f64, top: f64) {
    let mut least = top;
    for place in sorted {
        *place = place.max(least);
        least = *place + gap;
    }
}

fn push_up(sorted: &mut [f64], gap: f64, bottom: f64) {
    let mut most = bottom;
    for place in sorted.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_order_and_a_gap() {
        let placed = spread(&[50.0, 48.0, 49.0, f64::NAN], 10.0, 0.0, 100.0);
        assert!(placed[1] + 10.0 <= placed[2] && placed[2] + 10.0 <= placed[0]);
        assert!(placed.iter().all(|y| (0.0..=100.0).contains(y)));
    }
}
