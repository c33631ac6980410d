//! Fronts as plain numbers: who is on one, and how much of the space it dominates.

/// Whether `a` is no worse than `b` in anything and better in something; larger is better.
pub(crate) fn dominates(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a >= b) && a.iter().zip(b).any(|(a, b)| a > b)
}

/// Those of `points` that no other dominates, in their order; larger is better. O(n · front · d).
pub(crate) fn front_of(points: &[Vec<f64>]) -> Vec<usize> {
    let mut front: Vec<usize> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        if front.iter().any(|&other| dominates(&points[other], point)) {
            continue;
        }
        front.retain(|&other| !dominates(point, &points[other]));
        front.push(index);
    }
    front
}

/// The volume that `points` dominate above `reference`, which is worse than they are; larger is better.
///
/// Slices along the last objective, each the volume of one objective less. O(n^(d−1) log n).
pub(crate) fn hypervolume(points: &[Vec<f64>], reference: &[f64]) -> f64 {
    let points = points.iter().map(Vec::as_slice);
    let above = points.filter(|point| point.iter().zip(reference).all(|(value, least)| value > least));
    dominated_volume(above.collect(), reference)
}

fn dominated_volume(mut points: Vec<&[f64]>, reference: &[f64]) -> f64 {
    let Some((least, rest)) = reference.split_last() else { return 0.0 };
    let last = rest.len();
    if last == 0 {
        return points.iter().map(|point| point[0] - least).fold(0.0, f64::max);
    }
    points.sort_by(|a, b| b[last].total_cmp(&a[last]));
    let mut sum = 0.0;
    for (taken, point) in points.iter().enumerate() {
        let below = points.get(taken + 1).map_or(*least, |next| next[last]);
        if point[last] > below {
            sum += (point[last] - below) * dominated_volume(points[..=taken].to_vec(), rest);
        }
    }
    sum
}

/// Points turned to shares of the range between `worst` and `best`, each in [0, 1] if it lies between them; larger is better.
pub(crate) fn scale_to_shares(points: &[Vec<f64>], worst: &[f64], best: &[f64]) -> Vec<Vec<f64>> {
    let scaled = points.iter().map(|point| {
        let shares = point.iter().enumerate().map(|(at, &value)| {
            let range = best[at] - worst[at];
            if range > 0.0 { (value - worst[at]) / range } else { 1.0 }
        });
        shares.collect()
    });
    scaled.collect()
}

/// The worst and the best value of each objective among `points`.
pub(crate) fn ranges(points: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let dimensions = points.first().map_or(0, Vec::len);
    let ranges = (0..dimensions).map(|at| {
        let values = points.iter().map(|point| point[at]);
        (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
    });
    ranges.unzip()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole numbers")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn volumes_that_one_can_count_by_hand() {
        let stairs = [vec![1.0, 3.0], vec![2.0, 2.0], vec![3.0, 1.0], vec![1.0, 1.0], vec![0.0, 9.0]];
        assert_eq!(
            hypervolume(&stairs, &[0.0, 0.0]),
            6.0,
            "3 + 2 + 1; what is not above the reference has none"
        );
        assert_eq!(front_of(&stairs), [0, 1, 2, 4]);
        assert_eq!(hypervolume(&[vec![1.0, 2.0, 3.0], vec![2.0, 1.0, 1.0]], &[0.0; 3]), 6.0 + 1.0);
        assert_eq!(hypervolume(&[], &[0.0, 0.0]), 0.0);
        assert_eq!(front_of(&[vec![1.0], vec![1.0]]), [0, 1], "equal ones do not dominate each other");
    }

    proptest! {
        #[test]
        fn the_volume_is_the_share_of_cells_that_are_dominated(points in prop::collection::vec((0_u8..5, 0_u8..5, 0_u8..5), 0..8)) {
            let points: Vec<Vec<f64>> = points.iter().map(|&(a, b, c)| vec![f64::from(a), f64::from(b), f64::from(c)]).collect();
            let mut cells = 0.0;
            for cell in 0..125 {
                let corner = [cell % 5, cell / 5 % 5, cell / 25].map(|at| f64::from(at) + 1.0);
                cells += f64::from(u8::from(points.iter().any(|point| point.iter().zip(corner).all(|(value, corner)| *value >= corner))));
            }
            prop_assert_eq!(hypervolume(&points, &[0.0; 3]), cells);
        }
    }
}
