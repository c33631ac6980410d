//! Quasi-random first draws.

use crate::samplers::random::trial_stream;
use rand::RngExt;

/// Point number `index` of the first draws: the middle of the cube, then a scrambled Sobol sequence in `dimensions` dimensions: it fills the cube more evenly than random
/// points. Dimensions beyond the sequence's own are random.
///
/// Source: Burley 2020, "Practical hash-based Owen scrambling" (the crate `sobol_burley`).
pub(crate) fn first_draw(seed: u64, index: u64, dimensions: usize) -> Vec<f64> {
    if index == 0 {
        return vec![0.5; dimensions];
    }
    let mut stream = trial_stream(seed, index);
    // the crate takes 32 bits of seed, and 2^16 points
    let (point, folded) = ((index % (1 << 16)) as u32, (seed ^ (seed >> 32)) as u32);
    let coordinates = (0..dimensions).map(|j| {
        let random: f64 = stream.random();
        let in_sequence = u32::try_from(j).ok().filter(|&j| j < sobol_burley::NUM_DIMENSIONS);
        in_sequence.map_or(random, |j| f64::from(sobol_burley::sample(point, j, folded)))
    });
    coordinates.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_points_fill_sixteen_strips_of_each_axis() {
        for seed in [0, 1, u64::MAX] {
            let points: Vec<Vec<f64>> = (16..32).map(|index| first_draw(seed, index, 300)).collect();
            for j in 0..4 {
                let mut strips: Vec<u64> = points.iter().map(|point| (point[j] * 16.0) as u64).collect();
                strips.sort_unstable();
                assert_eq!(strips, (0..16).collect::<Vec<_>>(), "seed {seed}, axis {j}");
            }
            assert!(points.iter().flatten().all(|u| (0.0..1.0).contains(u)));
        }
        assert_ne!(first_draw(1, 1, 2), first_draw(2, 1, 2));
    }
}
