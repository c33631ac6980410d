//! MetaQNN's space of networks: layers chosen one after the other, each from those that may follow.

use super::error::LayerSpaceError;
use super::state::{Action, State, StateKey};
use super::trajectory::Trajectory;
use foretell::{ImageShape, Layer};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A pooling layer that a space offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolingSize {
    /// Side of the square window, in pixels.
    pub kernel: usize,
    /// Step of the window, in pixels.
    pub stride: usize,
}

/// The description of a space of networks. The default is MetaQNN's for CIFAR-10.
///
/// | field                 | meaning                                                   | default              |
/// |-----------------------|-----------------------------------------------------------|----------------------|
/// | `channels`, `height`, `width` | the images, pixels                                | 3, 32, 32            |
/// | `classes`             | how many classes                                          | 10                   |
/// | `filters`             | output channels of a convolution                          | 64, 128, 256, 512    |
/// | `kernels`             | sides of a convolution's kernel, stride 1, pixels         | 1, 3, 5              |
/// | `pools`               | (kernel, stride) of a max-pooling                         | (5,3), (3,2), (2,2)  |
/// | `fully_connected`     | units of a fully connected layer                          | 512, 256, 128        |
/// | `max_fully_connected` | how many of them at most                                  | 2                    |
/// | `max_depth`           | layers before the softmax at most (SVHN, MNIST: 12)       | 18                   |
/// | `buckets`             | an image side s counts as the largest bucket ≤ s          | 8, 4, 1              |
/// | `flatten_bucket`      | from images up to this bucket a fully connected layer may follow | 4             |
///
/// The choices after a state (`actions`) depend on the *bucket* b of the image side alone, so the states
/// of the Q-table are all there is to know:
///
/// - from everywhere but the end: the softmax, which ends the network; and if `max_depth` is not reached,
/// - from the start, a convolution or a pooling: a convolution with kernel < b; global average pooling, after which
///   only the softmax may follow; if b ≤ `flatten_bucket`, a fully connected layer;
/// - from a convolution only: a pooling with kernel < b;
/// - from a fully connected layer: another one of at most its size, up to `max_fully_connected` of them.
///
/// The *true* side s is tracked in addition: ⌈(s − kernel + 1)/stride⌉ after a pooling, s after a convolution. Since
/// kernel < b ≤ s, every network of the space can be built ([`LayerSequence::network_counts`](foretell::LayerSequence::network_counts) never refuses it).
/// Images that are not square count by their shorter side.
///
/// Source: Baker, Gupta, Naik & Raskar, "Designing neural network architectures using reinforcement learning", ICLR
/// 2017, and its released code, with one correction in the enumeration of poolings: the code compares a pair with a number
/// and, run as shipped, never offers a pooling; the released networks do contain poolings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LayerSpace {
    /// Color channels of the images.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
    /// The number of classes.
    pub classes: usize,
    /// Output channels of a convolution.
    pub filters: Vec<usize>,
    /// Sides of a convolution's kernel, in pixels.
    pub kernels: Vec<usize>,
    /// Max-poolings.
    pub pools: Vec<PoolingSize>,
    /// Units of a fully connected layer.
    pub fully_connected: Vec<usize>,
    /// The largest number of fully connected layers.
    pub max_fully_connected: usize,
    /// Layers before the softmax at most.
    pub max_depth: usize,
    /// Image sides that states tell apart, falling, the last one 1.
    pub buckets: Vec<usize>,
    /// The largest bucket from which a fully connected layer may follow.
    pub flatten_bucket: usize,
}

impl Default for LayerSpace {
    fn default() -> Self {
        Self {
            channels: 3,
            height: 32,
            width: 32,
            classes: 10,
            filters: vec![64, 128, 256, 512],
            kernels: vec![1, 3, 5],
            pools: [(5, 3), (3, 2), (2, 2)].map(|(kernel, stride)| PoolingSize { kernel, stride }).to_vec(),
            fully_connected: vec![512, 256, 128],
            max_fully_connected: 2,
            max_depth: 18,
            buckets: vec![8, 4, 1],
            flatten_bucket: 4,
        }
    }
}

impl LayerSpace {
    /// The shape of the images.
    pub(crate) fn image_shape(&self) -> ImageShape {
        ImageShape { channels: self.channels, height: self.height, width: self.width }
    }

    /// Multiplies filters and units of the space by `factor`, rounded to the nearest, at least 1; sizes that become
    /// equal are merged. 1/16 makes 4, 8, 16, 32 filters of the default's.
    ///
    /// # Errors
    /// [`LayerSpaceError::Field`] if `factor` is not finite or not above 0, or makes a size above 1 000 000.
    pub fn scale_sizes(&self, factor: f64) -> Result<Self, LayerSpaceError> {
        if !(factor.is_finite() && factor > 0.0) {
            let reason = "must be a finite number above 0; 1 keeps the space unchanged";
            return Err(LayerSpaceError::Field { field: "factor", value: factor.to_string(), reason });
        }
        let filters = distinct_scaled_sizes(&self.filters, factor);
        let fully_connected = distinct_scaled_sizes(&self.fully_connected, factor);
        let scaled = Self { filters, fully_connected, ..self.clone() };
        scaled.validate()?;
        Ok(scaled)
    }

    /// Checks the description.
    ///
    /// # Errors
    /// [`LayerSpaceError::Field`] naming the first field that cannot be used.
    pub fn validate(&self) -> Result<(), LayerSpaceError> {
        let sizes = [
            ("channels", &[self.channels][..]),
            ("height", &[self.height]),
            ("width", &[self.width]),
            ("classes", &[self.classes]),
            ("filters", &self.filters),
            ("kernels", &self.kernels),
            ("fully_connected", &self.fully_connected),
            ("buckets", &self.buckets),
        ];
        for (field, sizes) in sizes {
            check_sizes(field, sizes)?;
        }
        let strides: Vec<usize> = self.pools.iter().flat_map(|pool| [pool.kernel, pool.stride]).collect();
        if strides.contains(&0) || (1..self.pools.len()).any(|i| self.pools[..i].contains(&self.pools[i])) {
            return Err(field_error(
                "pools",
                &self.pools,
                "needs kernels and strides of at least 1, no two alike",
            ));
        }
        if self.buckets.last() != Some(&1) || !self.buckets.is_sorted_by(|a, b| a > b) {
            return Err(field_error("buckets", &self.buckets, "must fall and end with 1"));
        }
        if self.max_depth > 10_000 {
            return Err(field_error("max_depth", &self.max_depth, "is more than 10000; lower it"));
        }
        Ok(())
    }

    /// The state before the first layer.
    pub(crate) fn start_state(&self) -> State {
        State { last: None, depth: 0, fully_connected: 0, size: self.height.min(self.width) }
    }

    /// The largest bucket that is not above `size`.
    pub(crate) fn bucket_of(&self, size: usize) -> usize {
        self.buckets.iter().copied().find(|&bucket| bucket <= size).unwrap_or(1)
    }

    /// The key of `state` in the Q-table.
    pub(crate) fn state_key(&self, state: &State) -> StateKey {
        StateKey {
            depth: state.depth,
            last: state.last,
            fully_connected: state.fully_connected,
            bucket: self.bucket_of(state.size),
        }
    }

    /// The layers that may follow `state`, by the rules in [`LayerSpace`], in a fixed order with the softmax last; none at the end.
    pub(crate) fn actions_after(&self, state: &State) -> Vec<Action> {
        let bucket = self.bucket_of(state.size);
        let mut actions = Vec::new();
        if state.depth < self.max_depth {
            match state.last {
                None | Some(Layer::Convolution { .. } | Layer::Pooling { .. }) => {
                    actions.extend(self.possible_convolutions(bucket));
                    actions.push(Layer::GlobalAveragePooling { classes: self.classes });
                    if matches!(state.last, Some(Layer::Convolution { .. })) {
                        actions.extend(self.possible_poolings(bucket));
                    }
                    if bucket <= self.flatten_bucket {
                        actions.extend(self.fully_connected_up_to(usize::MAX, state));
                    }
                }
                Some(Layer::FullyConnected { units }) => {
                    actions.extend(self.fully_connected_up_to(units, state));
                }
                Some(Layer::GlobalAveragePooling { .. } | Layer::Softmax { .. } | Layer::Dropout { .. }) => {}
            }
        }
        if !matches!(state.last, Some(Layer::Softmax { .. })) {
            actions.push(Layer::Softmax { classes: self.classes });
        }
        actions
    }

    fn possible_convolutions(&self, bucket: usize) -> impl Iterator<Item = Layer> {
        let kernels = self.kernels.iter().filter(move |&&kernel| kernel < bucket);
        kernels.flat_map(|&kernel| {
            self.filters.iter().map(move |&filters| Layer::Convolution { filters, kernel, stride: 1 })
        })
    }

    fn possible_poolings(&self, bucket: usize) -> impl Iterator<Item = Layer> {
        let pools = self.pools.iter().filter(move |pool| pool.kernel < bucket);
        pools.map(|pool| Layer::Pooling { kernel: pool.kernel, stride: pool.stride })
    }

    fn fully_connected_up_to(&self, units: usize, state: &State) -> impl Iterator<Item = Layer> {
        let more = state.fully_connected < self.max_fully_connected;
        let sizes = self.fully_connected.iter().filter(move |&&size| more && size <= units);
        sizes.map(|&units| Layer::FullyConnected { units })
    }

    /// The state after `action` in `state`.
    ///
    /// # Errors
    /// [`LayerSpaceError::Unreachable`] if `action` may not follow.
    pub(crate) fn state_after(&self, state: &State, action: Action) -> Result<State, LayerSpaceError> {
        if !self.actions_after(state).contains(&action) {
            return Err(LayerSpaceError::Unreachable {
                position: state.depth + 1,
                layer: action.to_string(),
                state: self.state_key(state).to_string(),
            });
        }
        Ok(state.after_action(action))
    }

    /// The states before each layer of `trajectory`, from the start on: as many as it has layers.
    ///
    /// # Errors
    /// [`LayerSpaceError::Unreachable`] at the first layer that may not follow.
    pub(crate) fn states_along(&self, trajectory: &Trajectory) -> Result<Vec<State>, LayerSpaceError> {
        let mut states = Vec::with_capacity(trajectory.layers().len());
        let mut state = self.start_state();
        for &layer in trajectory.layers() {
            states.push(state);
            state = self.state_after(&state, layer)?;
        }
        Ok(states)
    }

    /// [`LayerSpace::states`] of a trajectory that is known to lie in the space.
    pub(crate) fn known_states_along(&self, trajectory: &Trajectory) -> Vec<State> {
        let before = trajectory.layers().iter().scan(self.start_state(), |state, &layer| {
            let next = state.after_action(layer);
            Some(std::mem::replace(state, next))
        });
        before.collect()
    }

    /// Chooses layers by `choose(state, actions)` from the start to the softmax. `choose` returns an index into the
    /// actions, which are never empty; an index beyond them counts as the last, the softmax.
    pub(crate) fn walk_to_softmax(&self, mut choose: impl FnMut(&State, &[Action]) -> usize) -> Trajectory {
        let mut layers = Vec::new();
        let mut state = self.start_state();
        loop {
            let actions = self.actions_after(&state);
            let action = actions[choose(&state, &actions).min(actions.len() - 1)];
            layers.push(action);
            state = state.after_action(action);
            if matches!(action, Layer::Softmax { .. }) {
                return Trajectory { layers };
            }
        }
    }

    /// Draws a network: at each state uniformly one of the actions, as Q-learning does at ε = 1.
    ///
    /// While fewer than `minimum_depth` layers would stand before the softmax, the softmax (and global average
    /// pooling, after which nothing else may follow) is drawn only if there is nothing else. 0 is MetaQNN's own
    /// exploration, in which 1 of the default space's 14 first draws is the bare softmax. A walk that has shrunk its
    /// image too early still ends below the minimum: it is a bound as far as the space allows.
    pub(crate) fn sample_network(&self, minimum_depth: usize, rng: &mut impl Rng) -> Trajectory {
        self.walk_to_softmax(|state, actions| {
            let allowed: Vec<usize> = (0..actions.len())
                .filter(|&index| match actions[index] {
                    Layer::Softmax { .. } => state.depth >= minimum_depth,
                    Layer::GlobalAveragePooling { .. } => state.depth + 1 >= minimum_depth,
                    _ => true,
                })
                .collect();
            match allowed.len() {
                0 => rng.random_range(0..actions.len()),
                count => allowed[rng.random_range(0..count)],
            }
        })
    }
}

fn distinct_scaled_sizes(sizes: &[usize], factor: f64) -> Vec<usize> {
    let mut scaled: Vec<usize> = Vec::with_capacity(sizes.len());
    for size in sizes.iter().map(|&size| ((size as f64 * factor).round() as usize).max(1)) {
        if !scaled.contains(&size) {
            scaled.push(size);
        }
    }
    scaled
}

fn field_error(field: &'static str, value: &impl fmt::Debug, reason: &'static str) -> LayerSpaceError {
    LayerSpaceError::Field { field, value: format!("{value:?}"), reason }
}

fn check_sizes(field: &'static str, sizes: &[usize]) -> Result<(), LayerSpaceError> {
    if let Some(size) = sizes.iter().find(|size| !(1..=1_000_000).contains(*size)) {
        return Err(field_error(field, size, "is not between 1 and 1000000"));
    }
    if (1..sizes.len()).any(|i| sizes[..i].contains(&sizes[i])) {
        return Err(field_error(field, &sizes, "lists a size twice; drop one"));
    }
    Ok(())
}
