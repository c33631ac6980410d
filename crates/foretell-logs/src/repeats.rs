//! Finds the runs that repeat one another: same configuration, same declared group, or same curve.

use foretell::{Configuration, Run, Value};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The curve of a run, bit by bit: steps, scores, and where it diverged.
fn curve_bits(run: &Run) -> impl Iterator<Item = u64> + '_ {
    let diverged = run.curve.diverged_at().map_or(u64::MAX, f64::to_bits);
    let points = run.curve.steps().iter().chain(run.curve.scores()).map(|x| x.to_bits());
    std::iter::once(diverged).chain(points)
}

/// For each run the first one with bit by bit the same curve. Only a digest of each curve is kept, so that memory is that of the runs.
pub(crate) fn same_curves(runs: &[Run]) -> Vec<usize> {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
    let firsts = runs.iter().enumerate().map(|(at, run)| {
        let mut digest = DefaultHasher::new();
        curve_bits(run).for_each(|word| digest.write_u64(word));
        let alike = seen.entry(digest.finish()).or_default();
        let same = alike.iter().copied().find(|&other| curve_bits(&runs[other]).eq(curve_bits(run)));
        same.unwrap_or_else(|| {
            alike.push(at);
            at
        })
    });
    firsts.collect()
}

/// The values of a configuration; `None` if all are unknown, because two unknown configurations are not equal.
pub(crate) fn configuration_key(configuration: &Configuration) -> Option<String> {
    let says_something = configuration.values().any(|value| *value != Value::Missing);
    says_something.then(|| format!("{configuration:?}"))
}

/// Whether the curve has two different scores. Two runs that never learn have equal curves without being repeats.
pub(crate) fn varies(run: &Run) -> bool {
    run.curve.scores().windows(2).any(|pair| pair[0].to_bits() != pair[1].to_bits())
}

/// For each run, the first run of its group: runs are joined by equal entry of `configurations`, equal `declared` group, or equal
/// curve (unless flat), and by any chain of these. Complexity: O(n · m) for n runs of m points.
pub(crate) fn repeats(
    runs: &[Run],
    configurations: &[Configuration],
    declared: &[Option<String>],
) -> Vec<usize> {
    let mut groups = DisjointSets { first: (0..runs.len()).collect() };
    groups.join_equal(configurations.iter().map(configuration_key));
    let curves = same_curves(runs);
    groups.join_equal(runs.iter().zip(curves).map(|(run, first)| varies(run).then_some(first)));
    groups.join_equal(declared.iter().map(Option::as_ref));
    (0..runs.len()).map(|at| groups.root(at)).collect()
}

/// Disjoint sets; the root of each is its smallest member.
struct DisjointSets {
    first: Vec<usize>,
}

impl DisjointSets {
    fn root(&mut self, mut at: usize) -> usize {
        while self.first[at] != at {
            self.first[at] = self.first[self.first[at]];
            at = self.first[at];
        }
        at
    }

    fn join_equal<K: Hash + Eq>(&mut self, keys: impl Iterator<Item = Option<K>>) {
        let mut seen: HashMap<K, usize> = HashMap::new();
        for (at, key) in keys.enumerate().filter_map(|(at, key)| Some((at, key?))) {
            let (a, b) = (*seen.entry(key).or_insert(at), at);
            let (a, b) = (self.root(a), self.root(b));
            self.first[a.max(b)] = a.min(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell::{Curve, Direction};

    fn run(lr: f64, values: &[f64]) -> Run {
        Run {
            id: String::new(),
            configuration: [("lr".to_owned(), Value::Number(lr))].into(),
            curve: Curve::from_epoch_values(values, Direction::Maximize),
        }
    }

    fn by_configuration(runs: &[Run], declared: &[Option<String>]) -> Vec<usize> {
        let configurations: Vec<Configuration> = runs.iter().map(|run| run.configuration.clone()).collect();
        repeats(runs, &configurations, declared)
    }

    #[test]
    fn repeats_are_joined_by_any_chain_of_sameness() {
        let runs = [
            run(0.1, &[0.1, 0.2]),
            run(0.2, &[0.3, 0.4]),
            run(0.1, &[0.5, 0.6]), // configuration of run 0
            run(0.3, &[0.5, 0.6]), // curve of run 2
            run(0.4, &[0.0, 0.0]),
            run(0.5, &[0.0, 0.0]), // flat: no repeat of run 4
            run(0.6, &[0.7, 0.8]), // declared group of run 1
        ];
        let mut declared = vec![None; 7];
        declared[1] = Some("g".to_owned());
        declared[6] = Some("g".to_owned());
        assert_eq!(by_configuration(&runs, &declared), [0, 1, 0, 0, 4, 5, 1]);
    }

    #[test]
    fn runs_without_a_configuration_are_not_called_the_same() {
        let bare = |values| Run { configuration: Configuration::new(), ..run(0.0, values) };
        assert_eq!(by_configuration(&[bare(&[0.1, 0.2]), bare(&[0.1, 0.3])], &[None, None]), [0, 1]);
        let unknown =
            |values| Run { configuration: [("lr".to_owned(), Value::Missing)].into(), ..run(0.0, values) };
        assert_eq!(by_configuration(&[unknown(&[0.1, 0.2]), unknown(&[0.1, 0.3])], &[None, None]), [0, 1]);
    }
}
