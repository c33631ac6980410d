//! The order of trials at a rung by several objectives: by the front they are on, and within one so that it is spread out.

use super::hypervolume::{dominates, ranges, scale_to_shares};

/// The place of each of `points`, from 0; larger values are better.
///
/// A point that none dominates is of rank 0, one that only those dominate of rank 1, and so on; a lower rank comes first. Within a rank
/// the best by the first objective comes first, then each time the one that is farthest from those before it, each objective a share of
/// its range: an ε-net.
///
/// Source: Schmucker et al., "Multi-objective asynchronous successive halving", 2021; the ranks are found as in Zhang et al., "An efficient
/// approach to nondominated sorting", 2015. O(n²) at worst.
pub(crate) fn places(points: &[Vec<f64>]) -> Vec<usize> {
    let (worst, best) = ranges(points);
    let scaled = scale_to_shares(points, &worst, &best);
    let mut places = vec![0; points.len()];
    let ranks = ranks(points);
    let ordered = ranks.iter().flat_map(|rank| order_by_spread(&scaled, rank));
    ordered.enumerate().for_each(|(place, index)| places[index] = place);
    places
}

/// The points of each rank, in their order.
fn ranks(points: &[Vec<f64>]) -> Vec<Vec<usize>> {
    // whoever dominates a point comes before it
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let mut orders = points[a].iter().zip(&points[b]).map(|(a, b)| b.total_cmp(a));
        orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut ranks: Vec<Vec<usize>> = Vec::new();
    for index in order {
        let rank = ranks.partition_point(|rank| {
            rank.iter().rev().any(|&other| dominates(&points[other], &points[index]))
        });
        match rank {
            new if new == ranks.len() => ranks.push(vec![index]),
            rank => ranks[rank].push(index),
        }
    }
    ranks.iter_mut().for_each(|rank| rank.sort_unstable());
    ranks
}

/// The points of one rank, each as far as can be from those before it.
fn order_by_spread(points: &[Vec<f64>], rank: &[usize]) -> Vec<usize> {
    let mut to_taken = vec![f64::INFINITY; points.len()];
    let mut left = rank.to_vec();
    let mut ordered = Vec::with_capacity(rank.len());
    let mut next =
        left.iter().copied().max_by(|&a, &b| points[a][0].total_cmp(&points[b][0]).then(b.cmp(&a)));
    while let Some(taken) = next {
        ordered.push(taken);
        left.retain(|&index| index != taken);
        for &index in &left {
            let distance = points[index].iter().zip(&points[taken]).map(|(a, b)| (a - b).powi(2)).sum();
            to_taken[index] = to_taken[index].min(distance);
        }
        next = left.iter().copied().max_by(|&a, &b| to_taken[a].total_cmp(&to_taken[b]).then(b.cmp(&a)));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::front_of;
    use proptest::prelude::*;

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
        assert_eq!(places(&points), [0, 3, 1, 2, 4, 5]);
        assert!(places(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn each_rank_is_the_front_of_what_is_left(points in prop::collection::vec((0_u8..6, 0_u8..6, 0_u8..6), 0..30)) {
            let points: Vec<Vec<f64>> = points.iter().map(|&(a, b, c)| [a, b, c].map(f64::from).to_vec()).collect();
            let mut left: Vec<usize> = (0..points.len()).collect();
            for rank in ranks(&points) {
                let own: Vec<Vec<f64>> = left.iter().map(|&index| points[index].clone()).collect();
                let front: Vec<usize> = front_of(&own).into_iter().map(|at| left[at]).collect();
                prop_assert_eq!(&rank, &front);
                left.retain(|index| !rank.contains(index));
            }
            prop_assert!(left.is_empty());
        }
    }
}
