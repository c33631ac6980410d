//! The order of trials at a rung by several objectives: by the front they are on, and within one so that it is spread out.

use super::hypervolume::{dominates, ranges, scaled};

/// How many of `points` come before number `own`; larger is better.
///
/// A point that none dominates is of rank 0, one that only those dominate of rank 1, and so on; a lower rank comes first. Within a rank
/// the best by the first objective comes first, then each time the one that is farthest from those before it, each objective a share of
/// its range: an ε-net. Counts no further than `enough`.
///
/// Source: Schmucker et al., "Multi-objective asynchronous successive halving", 2021. O(n²) where objectives are few.
pub(crate) fn ahead_of(points: &[Vec<f64>], own: usize, enough: usize) -> usize {
    let mut left: Vec<usize> = (0..points.len()).collect();
    let mut ahead = 0;
    loop {
        let is_free = |&index: &usize| !left.iter().any(|&other| dominates(&points[other], &points[index]));
        let front: Vec<usize> = left.iter().copied().filter(is_free).collect();
        if front.contains(&own) {
            return ahead + place_in(points, &front, own);
        }
        ahead += front.len();
        if ahead >= enough || front.is_empty() {
            return ahead;
        }
        left.retain(|index| !front.contains(index));
    }
}

/// The place of `own` in the ε-net of `front`, from 0.
fn place_in(points: &[Vec<f64>], front: &[usize], own: usize) -> usize {
    let (worst, best) = ranges(points);
    let shown: Vec<Vec<f64>> = front.iter().map(|&index| points[index].clone()).collect();
    let places = scaled(&shown, &worst, &best);
    let distance =
        |a: usize, b: usize| -> f64 { places[a].iter().zip(&places[b]).map(|(a, b)| (a - b).powi(2)).sum() };
    let mut to_taken = vec![f64::INFINITY; front.len()];
    let mut left: Vec<usize> = (0..front.len()).collect();
    let mut next = (0..front.len()).max_by(|&a, &b| places[a][0].total_cmp(&places[b][0]).then(b.cmp(&a)));
    let mut place = 0;
    while let Some(taken) = next {
        if front[taken] == own {
            break;
        }
        place += 1;
        left.retain(|&index| index != taken);
        left.iter().for_each(|&index| to_taken[index] = to_taken[index].min(distance(index, taken)));
        next = left.iter().copied().max_by(|&a, &b| to_taken[a].total_cmp(&to_taken[b]).then(b.cmp(&a)));
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts_come_one_after_another_and_each_is_spread_out() {
        let points = [
            vec![0.9, 0.0],
            vec![0.88, 0.1],
            vec![0.1, 1.0],
            vec![0.5, 0.5],
            vec![0.4, 0.4],
            vec![0.05, 0.05],
        ];
        let places: Vec<usize> = (0..points.len()).map(|own| ahead_of(&points, own, 9)).collect();
        assert_eq!(places, [0, 3, 1, 2, 4, 5]);
        assert_eq!(ahead_of(&points, 5, 4), 4, "enough are ahead");
    }
}
