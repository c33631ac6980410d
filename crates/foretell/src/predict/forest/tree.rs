//! One regression tree: grown node by node, each split the one that leaves the least squared error.

use super::columns::RankedColumns;
use super::random::SplitMix64;
use crate::linalg::simd::{VECTOR_LANES, dispatched};
use crate::statistics::min_and_max;
use std::ops::Range;

/// The choice of a feature's threshold in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThresholdRule {
    /// The best of all: random forests.
    Best,
    /// One at random in the node's range: extremely randomized trees.
    Random,
}

/// The data that trees are grown from, and the method: shared by all trees of a forest.
#[derive(Clone, Copy)]
pub(super) struct TreeRecipe<'a> {
    pub(super) columns: &'a RankedColumns,
    /// Targets, one per row of the columns.
    pub(super) targets: &'a [f64],
    /// The rows that are learned from.
    pub(super) rows: &'a [usize],
    /// The number of features a split may look at, ≥ 1; more when all of those are constant in the node.
    pub(super) features: usize,
    /// Those of trees 0, 2, 4 … and of 1, 3, 5 …
    pub(super) thresholds: [ThresholdRule; 2],
    /// Draw as many rows as there are, with replacement, instead of taking each once.
    pub(super) bootstrap: bool,
    pub(super) seed: u64,
}

/// A node: go to `left` where the feature is at most `threshold`, else to `left + 1`. A leaf leads to itself.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TreeNode {
    threshold: f64,
    feature: u32,
    left: u32,
}

/// Trees, one after the other, in flat arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RegressionTrees {
    nodes: Vec<TreeNode>,
    /// The mean target of the rows in each node.
    means: Vec<f64>,
    /// The root of each tree.
    roots: Vec<u32>,
}

impl RegressionTrees {
    /// The number of trees.
    pub(super) fn len(&self) -> usize {
        self.roots.len()
    }

    /// Forgets all trees and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.means.clear();
        self.roots.clear();
    }

    /// Appends the trees of `other`.
    pub(super) fn append(&mut self, other: &Self) {
        let offset = self.nodes.len() as u32;
        self.nodes.extend(other.nodes.iter().map(|node| TreeNode { left: node.left + offset, ..*node }));
        self.means.extend_from_slice(&other.means);
        self.roots.extend(other.roots.iter().map(|root| root + offset));
    }

    /// The forecast of tree `tree` for `row`.
    pub(super) fn forecast(&self, tree: usize, row: &[f64]) -> f64 {
        let [leaf] = self.leaves([self.roots[tree]], row);
        self.means[leaf as usize]
    }

    /// Hands what each tree says about `row` to `receive`, in order; eight trees are walked at a time, because each
    /// step waits for the memory of the one before.
    pub(super) fn forecasts(&self, row: &[f64], mut receive: impl FnMut(f64)) {
        let (groups, rest) = self.roots.as_chunks::<8>();
        let mut hand_over =
            |leaves: &[u32]| leaves.iter().for_each(|&leaf| receive(self.means[leaf as usize]));
        for group in groups {
            hand_over(&self.leaves(*group, row));
        }
        if let [first, ..] = rest {
            let mut group = [*first; 8];
            group[..rest.len()].copy_from_slice(rest);
            hand_over(&self.leaves(group, row)[..rest.len()]);
        }
    }

    /// The leaves that `row` reaches from the nodes `at`.
    #[inline(always)]
    fn leaves<const TREES: usize>(&self, mut at: [u32; TREES], row: &[f64]) -> [u32; TREES] {
        loop {
            let mut moving = false;
            // not `map`, which is not always inlined
            for at in &mut at {
                let next = self.step_down(*at, row);
                moving |= next != *at;
                *at = next;
            }
            if !moving {
                return at;
            }
        }
    }

    /// One level down; a leaf stays where it is, and has nothing to ask of a row without features.
    #[inline(always)]
    fn step_down(&self, at: u32, row: &[f64]) -> u32 {
        let node = &self.nodes[at as usize];
        node.left + u32::from(row.get(node.feature as usize).is_some_and(|&value| value > node.threshold))
    }

    fn push_leaf(&mut self, mean: f64) -> u32 {
        let at = self.nodes.len() as u32;
        self.nodes.push(TreeNode { threshold: f64::INFINITY, feature: 0, left: at });
        self.means.push(mean);
        at
    }
}

/// A row in a tree, with how often it was drawn.
#[derive(Clone, Copy, Debug)]
struct DrawnRow {
    row: u32,
    weight: f64,
    target: f64,
}

/// A split: the rows whose `feature` is at most `threshold` go left.
#[derive(Clone, Copy, Debug)]
struct NodeSplit {
    feature: usize,
    threshold: f64,
}

/// The quality of a split: (Σ_left w·(y − ȳ))² / (W_left·W_right), which is largest where the squared error left is least;
/// kept as a fraction, to be compared without dividing.
#[derive(Clone, Copy, Debug)]
struct SplitGain {
    numerator: f64,
    denominator: f64,
}

impl SplitGain {
    const NONE: Self = Self { numerator: 0.0, denominator: 1.0 };

    /// Better by more than rounding, so that of equal splits the first stays, in every unit of the target.
    #[inline(always)]
    fn beats(self, other: Self) -> bool {
        self.numerator * other.denominator > other.numerator * self.denominator * (1.0 + 1e-9)
    }

    fn new(left_sum: f64, left_weight: f64, weight: f64) -> Self {
        Self { numerator: left_sum * left_sum, denominator: left_weight * (weight - left_weight) }
    }
}

/// Most samples in a node that is screened; beyond, the quadratic cost of screening is more than it saves.
const MAX_SCREENED_SAMPLES: usize = 16;

/// Most features screened at a time.
const MAX_SCREENED_FEATURES: usize = 16;

/// The samples of a small node, laid out for vectors.
#[derive(Debug)]
pub(crate) struct NodeLanes {
    /// The number of samples the node has.
    count: usize,
    rows: [u32; MAX_SCREENED_SAMPLES],
    /// w·(y − ȳ).
    sums: [f64; MAX_SCREENED_SAMPLES],
    /// w.
    weights: [f64; MAX_SCREENED_SAMPLES],
}

/// Room to grow trees in, kept between trees.
pub(super) struct TreeGrower {
    lanes: NodeLanes,
    /// The features just drawn that may beat the best so far.
    promising: [bool; MAX_SCREENED_FEATURES],
    samples: Vec<DrawnRow>,
    draws: Vec<u32>,
    /// All features; each node shuffles the first few.
    order: Vec<u32>,
    /// (w·(y − ȳ), w) of the node's samples.
    terms: Vec<[f64; 2]>,
    /// The sums of `terms` by rank of the feature looked at; zero between looks.
    buckets: Vec<[f64; 2]>,
    /// The ranks in use, as bits; zero between looks.
    used: Vec<u64>,
    values: Vec<f64>,
    pending: Vec<PendingNode>,
}

/// A node still to be split.
struct PendingNode {
    node: u32,
    start: usize,
    end: usize,
}

impl TreeGrower {
    /// Room for trees on `columns`.
    pub(super) fn new(columns: &RankedColumns) -> Self {
        let n = columns.rows();
        Self {
            lanes: NodeLanes {
                count: 0,
                rows: [0; MAX_SCREENED_SAMPLES],
                sums: [0.0; MAX_SCREENED_SAMPLES],
                weights: [0.0; MAX_SCREENED_SAMPLES],
            },
            promising: [true; MAX_SCREENED_FEATURES],
            samples: Vec::with_capacity(n),
            draws: vec![0; n],
            order: (0..columns.width() as u32).collect(),
            terms: Vec::with_capacity(n),
            buckets: vec![[0.0; 2]; n.max(1)],
            used: vec![0; n.div_ceil(64).max(2)],
            values: Vec::with_capacity(n),
            pending: Vec::new(),
        }
    }

    /// Grows tree number `number` of a forest and appends it to `trees`. The tree depends on the recipe and its number
    /// only, never on the trees before it. Leaves (see [`TreeGrower::drawn`]) which rows it was grown from.
    ///
    /// O(√n…n levels · features · n); n·log n levels-and-rows in balanced trees.
    pub(super) fn grow(&mut self, recipe: &TreeRecipe<'_>, number: usize, trees: &mut RegressionTrees) {
        let mut random = SplitMix64::new(recipe.seed, number);
        self.draw_rows(recipe, &mut random);
        for (feature, place) in self.order.iter_mut().enumerate() {
            *place = feature as u32;
        }
        let targets = self.samples.iter().map(|sample| sample.target);
        let (low, high) = min_and_max(targets);
        // targets that differ by rounding only must not be split: in another unit of the metric the tree would be another
        let flat = 1e-12 * (high - low);
        let thresholds = recipe.thresholds[number % 2];
        let root = trees.push_leaf(0.0);
        self.pending.push(PendingNode { node: root, start: 0, end: self.samples.len() });
        while let Some(PendingNode { node, start, end }) = self.pending.pop() {
            let mean = self.center_targets(start, end);
            trees.means[node as usize] = mean;
            let split = self.split(recipe, thresholds, start..end, flat, &mut random);
            let Some(split) = split else { continue };
            let middle = self.partition(recipe.columns.values(split.feature), split.threshold, start, end);
            let left = trees.push_leaf(mean);
            trees.push_leaf(mean);
            trees.nodes[node as usize] =
                TreeNode { threshold: split.threshold, feature: split.feature as u32, left };
            self.pending.push(PendingNode { node: left + 1, start: middle, end });
            self.pending.push(PendingNode { node: left, start, end: middle });
        }
        trees.roots.push(root);
    }

    /// The number of times that each of the recipe's rows (by position in `rows`) was drawn for the last tree.
    pub(super) fn drawn(&self) -> &[u32] {
        &self.draws
    }

    fn draw_rows(&mut self, recipe: &TreeRecipe<'_>, random: &mut SplitMix64) {
        let n = recipe.rows.len();
        self.draws.clear();
        self.draws.resize(n, u32::from(!recipe.bootstrap));
        if recipe.bootstrap {
            for _ in 0..n {
                self.draws[random.below(n)] += 1;
            }
        }
        let drawn = self.draws.iter().zip(recipe.rows).filter(|(count, _)| **count > 0);
        let samples = drawn.map(|(&count, &row)| DrawnRow {
            row: row as u32,
            weight: f64::from(count),
            target: recipe.targets[row],
        });
        self.samples.clear();
        self.samples.extend(samples);
    }

    /// The mean target of the node start..end; leaves the centered terms.
    fn center_targets(&mut self, start: usize, end: usize) -> f64 {
        let samples = &self.samples[start..end];
        // about the first target, so that the mean of equal targets is that target
        let origin = samples.first().map_or(0.0, |sample| sample.target);
        let (mut sum, mut weight) = (0.0, 0.0);
        for sample in samples {
            sum += sample.weight * (sample.target - origin);
            weight += sample.weight;
        }
        let mean = if weight > 0.0 { origin + sum / weight } else { origin };
        self.terms.clear();
        self.terms.extend(samples.iter().map(|s| [s.weight * (s.target - mean), s.weight]));
        mean
    }

    /// The split of the node start..end; `None` where it is a leaf.
    fn split(
        &mut self,
        recipe: &TreeRecipe<'_>,
        thresholds: ThresholdRule,
        Range { start, end }: Range<usize>,
        flat: f64,
        random: &mut SplitMix64,
    ) -> Option<NodeSplit> {
        let targets = self.samples[start..end].iter().map(|sample| sample.target);
        let (low, high) = min_and_max(targets);
        if end - start < 2 || high - low <= flat {
            return None;
        }
        let weight: f64 = self.terms.iter().map(|term| term[1]).sum();
        self.arrange_lanes(start, end);
        let (mut best, mut split) = (SplitGain::NONE, None);
        let (mut position, mut look) = (0, 1);
        while position < self.order.len() {
            // of two rows every feature makes the same split: the first that tells them apart will do
            if split.is_some() && (position >= recipe.features || end - start == 2) {
                break;
            }
            let room = recipe.features.saturating_sub(position).clamp(1, self.order.len() - position);
            let drawn = if end - start == 2 { 1 } else { room.min(look) };
            self.draw_features(position, drawn, random);
            if thresholds == ThresholdRule::Best && end - start <= MAX_SCREENED_SAMPLES {
                self.screen(recipe.columns, position, drawn, weight, best);
            }
            for at in position..position + drawn {
                let feature = self.order[at] as usize;
                let found = match thresholds {
                    ThresholdRule::Best if !self.promising[at - position] => None,
                    ThresholdRule::Best => {
                        self.best_threshold(recipe.columns, feature, start..end, weight, &mut best)
                    }
                    ThresholdRule::Random => self.random_threshold(
                        recipe.columns,
                        feature,
                        (start..end, weight),
                        random,
                        &mut best,
                    ),
                };
                if let Some(threshold) = found {
                    split = Some(NodeSplit { feature, threshold });
                }
            }
            position += drawn;
            // the more features were seen, the fewer of the next will beat the best of them
            look = (2 * look).min(MAX_SCREENED_FEATURES);
        }
        split
    }

    /// Draws the features at position.. of `order`, `count` of them.
    fn draw_features(&mut self, position: usize, count: usize, random: &mut SplitMix64) {
        for at in position..position + count {
            let other = at + random.below(self.order.len() - at);
            self.order.swap(at, other);
        }
        self.promising[..count].fill(true);
    }

    /// Lays the rows and terms of the node start..end out for [`screen`].
    fn arrange_lanes(&mut self, start: usize, end: usize) {
        if end - start <= MAX_SCREENED_SAMPLES {
            self.lanes.count = end - start;
            for (lane, sample) in self.samples[start..end].iter().enumerate() {
                self.lanes.rows[lane] = sample.row;
                [self.lanes.sums[lane], self.lanes.weights[lane]] = self.terms[lane];
            }
        }
    }

    /// Marks those of the features at position.. that may beat `best`.
    fn screen(
        &mut self,
        columns: &RankedColumns,
        position: usize,
        count: usize,
        weight: f64,
        best: SplitGain,
    ) {
        let features = &self.order[position..position + count];
        // half of the margin by which `SplitGain::beats` decides: the lanes sum in another order, and must not lose a winner by rounding
        let node = [weight, best.numerator * (1.0 + 5e-10), best.denominator];
        screen(columns.all_ranks(), columns.rows(), features, &self.lanes, node, &mut self.promising);
    }

    /// The threshold of `feature` that beats `best`, which is then improved.
    fn best_threshold(
        &mut self,
        columns: &RankedColumns,
        feature: usize,
        node: Range<usize>,
        weight: f64,
        best: &mut SplitGain,
    ) -> Option<f64> {
        let ranks = columns.ranks(feature);
        let samples = &self.samples[node];
        for (sample, term) in samples.iter().zip(&self.terms) {
            let rank = usize::from(ranks[sample.row as usize]);
            let bucket = &mut self.buckets[rank];
            *bucket = [bucket[0] + term[0], bucket[1] + term[1]];
            self.used[rank / 64] |= 1 << (rank % 64);
        }
        // walk the ranks in use upwards; a split lies after each but the last
        let (mut sum, mut below_weight) = (0.0, 0.0);
        let (mut before, mut found) = (0, None);
        for (word, bits) in self.used.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                let rank = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let gain = SplitGain::new(sum, below_weight, weight);
                if gain.beats(*best) {
                    *best = gain;
                    found = Some((before, rank));
                }
                let [s, w] = std::mem::take(&mut self.buckets[rank]);
                sum += s;
                below_weight += w;
                before = rank;
            }
        }
        found.map(|(below, above)| columns.split_threshold(feature, below, above))
    }

    /// A random threshold of `feature`, if it beats `best`, which is then improved.
    fn random_threshold(
        &mut self,
        columns: &RankedColumns,
        feature: usize,
        (node, weight): (Range<usize>, f64),
        random: &mut SplitMix64,
        best: &mut SplitGain,
    ) -> Option<f64> {
        let column = columns.values(feature);
        self.values.clear();
        self.values.extend(self.samples[node].iter().map(|sample| column[sample.row as usize]));
        let (low, high) = self.values.iter().fold((self.values[0], self.values[0]), |(l, h), &v| {
            (if v < l { v } else { l }, if v > h { v } else { h })
        });
        if high - low <= columns.resolution(feature) {
            return None;
        }
        let drawn = low + random.uniform() * (high - low);
        // rounding can give the upper end itself, which would leave no row on the right
        let threshold = if drawn < high { drawn } else { low };
        let mut left = [0.0; 2];
        sum_at_most(&self.values, &self.terms, threshold, &mut left);
        let gain = SplitGain::new(left[0], left[1], weight);
        gain.beats(*best).then(|| {
            *best = gain;
            threshold
        })
    }

    /// Puts the samples of start..end with `column` at most `threshold` first; gives where the others start.
    fn partition(&mut self, column: &[f64], threshold: f64, start: usize, end: usize) -> usize {
        let mut middle = start;
        for at in start..end {
            if column[self.samples[at].row as usize] <= threshold {
                self.samples.swap(at, middle);
                middle += 1;
            }
        }
        middle
    }
}

dispatched! {
    /// The sums of the terms whose value is at most `threshold`.
    pub(crate) fn sum_at_most(values: &[f64], terms: &[[f64; 2]], threshold: f64, sums: &mut [f64; 2]) {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (&value, term) in values.iter().zip(terms) {
            let inside = value <= threshold;
            sum += if inside { term[0] } else { 0.0 };
            weight += if inside { term[1] } else { 0.0 };
        }
        *sums = [sum, weight];
    }
}

dispatched! {
    /// Whether some split of a node by each feature may beat a gain; `node` is the weight of the node, and numerator and
    /// denominator of that gain. Every sample's split is tried at once, each lane summing the samples that would go left with it.
    ///
    /// Screening costs (samples)² steps and no sorting or branching, which pays in the many small nodes, where few features win.
    pub(crate) fn screen(
        ranks: &[u16],
        n: usize,
        features: &[u32],
        lanes: &NodeLanes,
        node: [f64; 3],
        promising: &mut [bool; MAX_SCREENED_FEATURES],
    ) {
        let (m, [weight, numerator, least]) = (lanes.count, node);
        let (rows, sums, weights) = (&lanes.rows[..m], &lanes.sums[..m], &lanes.weights[..m]);
        // all features first: a vector load waits long for the single stores just before it
        let mut gathered = [[f64::INFINITY; MAX_SCREENED_SAMPLES]; MAX_SCREENED_FEATURES];
        for (&feature, own) in features.iter().zip(&mut gathered) {
            let column = &ranks[feature as usize * n..(feature as usize + 1) * n];
            for (cell, &row) in own.iter_mut().zip(rows) {
                *cell = f64::from(column[row as usize]);
            }
        }
        for ((own, promising), _) in gathered.iter().zip(promising).zip(features) {
            let mut beaten = false;
            for block in own.as_chunks::<VECTOR_LANES>().0.iter().take(m.div_ceil(VECTOR_LANES)) {
                let (mut left, mut left_weight) = ([0.0; VECTOR_LANES], [0.0; VECTOR_LANES]);
                for ((rank, sum), weight) in own.iter().zip(sums).zip(weights) {
                    for l in 0..VECTOR_LANES {
                        // as a number: as a condition the compiler makes branches of it
                        let inside = if *rank <= block[l] { 1.0 } else { 0.0 };
                        left[l] += inside * sum;
                        left_weight[l] += inside * weight;
                    }
                }
                for l in 0..VECTOR_LANES {
                    let denominator = left_weight[l] * (weight - left_weight[l]);
                    let wins = left[l] * left[l] * least > numerator * denominator;
                    beaten |= wins & (denominator > 0.0);
                }
            }
            *promising = beaten;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;
    use crate::linalg::simd::with_each_instruction_set;

    fn sample(n: usize, d: usize) -> (Matrix, Vec<f64>) {
        let x = Matrix::from_fn(n, d, |i, j| {
            ((i * i + 5 * j) as f64 * 0.37).sin() + if j == 0 { (i % 3) as f64 } else { 0.0 }
        });
        let y = (0..n).map(|i| x.row(i)[1] * x.row(i)[2] + 0.3 * x.row(i)[0]).collect();
        (x, y)
    }

    fn recipe<'a>(
        columns: &'a RankedColumns,
        targets: &'a [f64],
        rows: &'a [usize],
        thresholds: ThresholdRule,
    ) -> TreeRecipe<'a> {
        TreeRecipe {
            columns,
            targets,
            rows,
            features: columns.width(),
            thresholds: [thresholds; 2],
            bootstrap: false,
            seed: 5,
        }
    }

    /// The least squared error that one split can leave, by trying all.
    fn least_error(x: &Matrix, y: &[f64]) -> f64 {
        let error = |rows: &[usize]| {
            let mean = rows.iter().map(|&i| y[i]).sum::<f64>() / rows.len().max(1) as f64;
            rows.iter().map(|&i| (y[i] - mean).powi(2)).sum::<f64>()
        };
        let splits = (0..x.column_count()).flat_map(|j| {
            (0..x.row_count())
                .map(move |k| (0..x.row_count()).partition::<Vec<_>, _>(|&i| x.row(i)[j] <= x.row(k)[j]))
        });
        splits.map(|(left, right)| error(&left) + error(&right)).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_first_split_leaves_the_least_error() {
        // 5 and 16 rows are screened, 17 and 70 are not
        for n in [3, 5, 16, 17, 70] {
            let (x, y) = sample(n, 6);
            let (columns, rows) = (RankedColumns::new(&x), (0..n).collect::<Vec<_>>());
            let mut trees = RegressionTrees::default();
            TreeGrower::new(&columns).grow(&recipe(&columns, &y, &rows, ThresholdRule::Best), 0, &mut trees);
            let root = trees.nodes[0];
            let side = |i: usize| usize::from(x.row(i)[root.feature as usize] > root.threshold);
            let means = [trees.means[root.left as usize], trees.means[root.left as usize + 1]];
            let left: f64 = (0..n).map(|i| (y[i] - means[side(i)]).powi(2)).sum();
            assert!((left - least_error(&x, &y)).abs() < 1e-9, "{n} rows: {left}");
        }
    }

    #[test]
    fn a_tree_on_distinct_rows_remembers_them() {
        let (x, y) = sample(50, 4);
        let (columns, rows) = (RankedColumns::new(&x), (0..50).collect::<Vec<_>>());
        for thresholds in [ThresholdRule::Best, ThresholdRule::Random] {
            let mut trees = RegressionTrees::default();
            TreeGrower::new(&columns).grow(&recipe(&columns, &y, &rows, thresholds), 3, &mut trees);
            for (i, y) in y.iter().enumerate() {
                assert!((trees.forecast(0, x.row(i)) - y).abs() < 1e-12, "{thresholds:?}, row {i}");
            }
        }
    }

    #[test]
    fn a_tree_does_not_depend_on_the_trees_before_it_nor_on_the_instruction_set() {
        let (x, y) = sample(60, 9);
        let (columns, rows) = (RankedColumns::new(&x), (0..60).collect::<Vec<_>>());
        for thresholds in [ThresholdRule::Best, ThresholdRule::Random] {
            let recipe =
                TreeRecipe { features: 3, bootstrap: true, ..recipe(&columns, &y, &rows, thresholds) };
            let grown = with_each_instruction_set(|| {
                let mut used = TreeGrower::new(&columns);
                let (mut last, mut alone) = (RegressionTrees::default(), RegressionTrees::default());
                for number in 0..8 {
                    last.clear();
                    used.grow(&recipe, number, &mut last);
                }
                TreeGrower::new(&columns).grow(&recipe, 7, &mut alone);
                assert!(last == alone, "{thresholds:?}");
                last
            });
            assert!(grown.iter().all(|trees| trees == &grown[0]));
        }
    }

    #[test]
    fn no_feature_or_constant_features_make_one_leaf() {
        for x in [Matrix::zeros(6, 0), Matrix::zeros(6, 3)] {
            let (columns, rows) = (RankedColumns::new(&x), (0..6).collect::<Vec<_>>());
            let y = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            let mut trees = RegressionTrees::default();
            TreeGrower::new(&columns).grow(&recipe(&columns, &y, &rows, ThresholdRule::Best), 0, &mut trees);
            assert_eq!(trees.nodes.len(), 1);
            assert!((trees.forecast(0, x.row(0)) - 3.5).abs() < 1e-12);
        }
    }
}
