//! MetaQNN's space of networks: layers chosen one after the other, each from those that may follow.

use foretell::{ArchitectureError, Configuration, ImageShape, Layer, LayerSequence, Value};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The name under which a network stands in a [`Configuration`], as in the paper's released data.
pub const NETWORK: &str = "net";

/// Why a description is no layer space, or a network not in one.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum LayerSpaceError {
    /// A field of the description cannot be used.
    #[error("layer space: {field} = {value} {reason}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it is.
        value: String,
        /// What is wrong with it, and what to do.
        reason: &'static str,
    },
    /// The text is no network.
    #[error(transparent)]
    Architecture(#[from] ArchitectureError),
    /// A layer cannot follow the ones before it in this space.
    #[error(
        "layer {position}, {layer}, cannot follow state {state} in this space; see the space's layers and sizes"
    )]
    Unreachable {
        /// 1-based position, dropout not counted.
        position: usize,
        /// The layer.
        layer: String,
        /// The state before it.
        state: String,
    },
}

/// What may follow a state: a convolution, pooling, global average pooling, fully connected layer or softmax, never
/// a dropout layer (those are put in afterwards, see [`Trajectory::network`]).
pub type Action = Layer;

/// A pooling layer that a space offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
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
/// What may follow a state ([`LayerSpace::actions`]) is judged on the *bucket* b of the image side, so that the states
/// of the Q-table are all there is to know:
///
/// - from everywhere but the end: the softmax, which ends the network; and if `max_depth` is not reached,
/// - from the start, a convolution or a pooling: a convolution with kernel < b; global average pooling, after which
///   only the softmax may follow; if b ≤ `flatten_bucket`, a fully connected layer;
/// - from a convolution only: a pooling with kernel < b;
/// - from a fully connected layer: another one of at most its size, up to `max_fully_connected` of them.
///
/// The *true* side s is tracked beside it: ⌈(s − kernel + 1)/stride⌉ after a pooling, s after a convolution. Since
/// kernel < b ≤ s, every network of the space can be built ([`LayerSequence::counts`] never refuses it). Images that
/// are not square count by their shorter side.
///
/// Source: Baker, Gupta, Naik & Raskar, "Designing neural network architectures using reinforcement learning", ICLR
/// 2017, and its released code, whose enumeration of poolings is mended here: the code compares a pair with a number
/// and, run as shipped, never offers a pooling; the released networks do have them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LayerSpace {
    /// Colour channels of the images.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
    /// How many classes.
    pub classes: usize,
    /// Output channels of a convolution.
    pub filters: Vec<usize>,
    /// Sides of a convolution's kernel, in pixels.
    pub kernels: Vec<usize>,
    /// Max-poolings.
    pub pools: Vec<Pool>,
    /// Units of a fully connected layer.
    pub fully_connected: Vec<usize>,
    /// How many fully connected layers at most.
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
        let pool = |(kernel, stride)| Pool { kernel, stride };
        Self {
            channels: 3,
            height: 32,
            width: 32,
            classes: 10,
            filters: vec![64, 128, 256, 512],
            kernels: vec![1, 3, 5],
            pools: [(5, 3), (3, 2), (2, 2)].map(pool).to_vec(),
            fully_connected: vec![512, 256, 128],
            max_fully_connected: 2,
            max_depth: 18,
            buckets: vec![8, 4, 1],
            flatten_bucket: 4,
        }
    }
}

/// Where the choice of layers stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The layer chosen last; none at the start, the softmax at the end.
    pub last: Option<Layer>,
    /// Layers chosen so far.
    pub depth: usize,
    /// Fully connected layers chosen so far.
    pub fully_connected: usize,
    /// The true shorter side of the image, in pixels; 1 once it is flat.
    pub size: usize,
}

/// What the Q-table knows of a [`State`]: the image side only by its bucket.
///
/// Written `depth:last@bucket`, with the count of fully connected layers where there are any: `0:start@8`,
/// `3:C(64,3,1)@4`, `7:FC(128)#2@1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateKey {
    /// Layers chosen so far.
    pub depth: usize,
    /// The layer chosen last; none at the start.
    pub last: Option<Layer>,
    /// Fully connected layers chosen so far.
    pub fully_connected: usize,
    /// The bucket of the image side.
    pub bucket: usize,
}

impl LayerSpace {
    /// The shape of the images.
    pub fn image(&self) -> ImageShape {
        ImageShape { channels: self.channels, height: self.height, width: self.width }
    }

    /// The same space with filters and units times `factor`, rounded to the nearest, at least 1; sizes that become
    /// equal are merged. 1/16 makes 4, 8, 16, 32 filters of the default's.
    ///
    /// # Errors
    /// [`LayerSpaceError::Field`] if `factor` is not finite or not above 0, or makes a size above 1 000 000.
    pub fn scaled(&self, factor: f64) -> Result<Self, LayerSpaceError> {
        if !(factor.is_finite() && factor > 0.0) {
            let reason = "must be a finite number above 0; 1 leaves the space as it is";
            return Err(LayerSpaceError::Field { field: "factor", value: factor.to_string(), reason });
        }
        let scale = |sizes: &[usize]| {
            let mut scaled: Vec<usize> = Vec::with_capacity(sizes.len());
            for size in sizes.iter().map(|&size| ((size as f64 * factor).round() as usize).max(1)) {
                if !scaled.contains(&size) {
                    scaled.push(size);
                }
            }
            scaled
        };
        let (filters, fully_connected) = (scale(&self.filters), scale(&self.fully_connected));
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
            return Err(wrong("pools", &self.pools, "needs kernels and strides of at least 1, no two alike"));
        }
        if self.buckets.last() != Some(&1) || !self.buckets.is_sorted_by(|a, b| a > b) {
            return Err(wrong("buckets", &self.buckets, "must fall and end with 1"));
        }
        if self.max_depth > 10_000 {
            return Err(wrong("max_depth", &self.max_depth, "is more than 10000; lower it"));
        }
        Ok(())
    }

    /// The state before the first layer.
    pub fn start(&self) -> State {
        State { last: None, depth: 0, fully_connected: 0, size: self.height.min(self.width) }
    }

    /// The largest bucket that is not above `size`.
    pub fn bucket(&self, size: usize) -> usize {
        self.buckets.iter().copied().find(|&bucket| bucket <= size).unwrap_or(1)
    }

    /// What the Q-table knows of `state`.
    pub fn key(&self, state: &State) -> StateKey {
        StateKey {
            depth: state.depth,
            last: state.last,
            fully_connected: state.fully_connected,
            bucket: self.bucket(state.size),
        }
    }

    /// The layers that may follow `state`, by the rules in [`LayerSpace`], in a fixed order with the softmax last;
    /// none at the end.
    pub fn actions(&self, state: &State) -> Vec<Action> {
        let bucket = self.bucket(state.size);
        let mut actions = Vec::new();
        if state.depth < self.max_depth {
            match state.last {
                None | Some(Layer::Convolution { .. } | Layer::Pooling { .. }) => {
                    actions.extend(self.convolutions(bucket));
                    actions.push(Layer::GlobalAveragePooling { classes: self.classes });
                    if matches!(state.last, Some(Layer::Convolution { .. })) {
                        actions.extend(self.poolings(bucket));
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

    fn convolutions(&self, bucket: usize) -> impl Iterator<Item = Layer> {
        let kernels = self.kernels.iter().filter(move |&&kernel| kernel < bucket);
        kernels.flat_map(|&kernel| {
            self.filters.iter().map(move |&filters| Layer::Convolution { filters, kernel, stride: 1 })
        })
    }

    fn poolings(&self, bucket: usize) -> impl Iterator<Item = Layer> {
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
    pub fn apply(&self, state: &State, action: Action) -> Result<State, LayerSpaceError> {
        if !self.actions(state).contains(&action) {
            return Err(LayerSpaceError::Unreachable {
                position: state.depth + 1,
                layer: action.to_string(),
                state: self.key(state).to_string(),
            });
        }
        Ok(state.after(action))
    }

    /// The states before each layer of `trajectory`, from the start on: as many as it has layers.
    ///
    /// # Errors
    /// [`LayerSpaceError::Unreachable`] at the first layer that may not follow.
    pub fn states(&self, trajectory: &Trajectory) -> Result<Vec<State>, LayerSpaceError> {
        let mut states = Vec::with_capacity(trajectory.layers().len());
        let mut state = self.start();
        for &layer in trajectory.layers() {
            states.push(state);
            state = self.apply(&state, layer)?;
        }
        Ok(states)
    }

    /// [`LayerSpace::states`] of a trajectory that is known to lie in the space.
    pub(crate) fn path(&self, trajectory: &Trajectory) -> Vec<State> {
        let before = trajectory.layers().iter().scan(self.start(), |state, &layer| {
            let next = state.after(layer);
            Some(std::mem::replace(state, next))
        });
        before.collect()
    }

    /// Chooses layers by `choose(state, actions)` from the start to the softmax. `choose` returns an index into the
    /// actions, which are never empty; an index beyond them counts as the last, the softmax.
    pub fn walk(&self, mut choose: impl FnMut(&State, &[Action]) -> usize) -> Trajectory {
        let mut layers = Vec::new();
        let mut state = self.start();
        loop {
            let actions = self.actions(&state);
            let action = actions[choose(&state, &actions).min(actions.len() - 1)];
            layers.push(action);
            state = state.after(action);
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
    ///
    /// ```
    /// # use foretell_search::{LayerSpace, trial_stream};
    /// let space = LayerSpace::default().scaled(0.125)?;
    /// let network = space.sample(2, &mut trial_stream(1, 0)).network();
    /// assert!(network.counts(space.image()).is_ok());
    /// # Ok::<(), foretell_search::LayerSpaceError>(())
    /// ```
    pub fn sample(&self, minimum_depth: usize, rng: &mut impl Rng) -> Trajectory {
        self.walk(|state, actions| {
            let deep_enough = |action: &Layer| match action {
                Layer::Softmax { .. } => state.depth >= minimum_depth,
                Layer::GlobalAveragePooling { .. } => state.depth + 1 >= minimum_depth,
                _ => true,
            };
            let allowed: Vec<usize> =
                (0..actions.len()).filter(|&index| deep_enough(&actions[index])).collect();
            match allowed.len() {
                0 => rng.random_range(0..actions.len()),
                count => allowed[rng.random_range(0..count)],
            }
        })
    }
}

fn wrong(field: &'static str, value: &impl fmt::Debug, reason: &'static str) -> LayerSpaceError {
    LayerSpaceError::Field { field, value: format!("{value:?}"), reason }
}

fn check_sizes(field: &'static str, sizes: &[usize]) -> Result<(), LayerSpaceError> {
    if let Some(size) = sizes.iter().find(|size| !(1..=1_000_000).contains(*size)) {
        return Err(wrong(field, size, "is not between 1 and 1000000"));
    }
    if (1..sizes.len()).any(|i| sizes[..i].contains(&sizes[i])) {
        return Err(wrong(field, &sizes, "lists a size twice; drop one"));
    }
    Ok(())
}

impl State {
    /// The state after `action`, which must be one of the space's actions here.
    fn after(&self, action: Action) -> Self {
        let size = match action {
            Layer::Pooling { kernel, stride } => (self.size - kernel + 1).div_ceil(stride),
            Layer::Convolution { .. } => self.size,
            _ => 1,
        };
        let flat = usize::from(matches!(action, Layer::FullyConnected { .. }));
        Self { last: Some(action), depth: self.depth + 1, fully_connected: self.fully_connected + flat, size }
    }
}

/// A network as the layers chosen for it: without dropout, ending in the softmax.
///
/// Written and serialised in layer notation, `[C(64,3,1), FC(128), SM(10)]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Trajectory {
    layers: Vec<Layer>,
}

impl Trajectory {
    /// The choices behind a network: its layers without the dropout.
    ///
    /// # Errors
    /// [`LayerSpaceError::Architecture`] if it is no network.
    pub fn of(network: &LayerSequence) -> Result<Self, LayerSpaceError> {
        let chosen = network.0.iter().filter(|layer| !matches!(layer, Layer::Dropout { .. }));
        chosen_layers(&LayerSequence(chosen.copied().collect()).to_string())
    }

    /// The layers, the softmax last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The network to train: the layers with MetaQNN's dropout put in.
    ///
    /// A dropout layer comes after every second layer and after every fully connected one, never after global average
    /// pooling or the softmax. The j-th is `D(j,n)`, of rate 0.5·j/n with
    ///
    /// n = ⌊(L − G − F)/2⌋ + F
    ///
    /// | symbol | meaning                                                                             |
    /// |--------|-------------------------------------------------------------------------------------|
    /// | L      | layers, the softmax included                                                        |
    /// | F      | fully connected layers; one more if the softmax follows one                         |
    /// | G      | global average poolings; one more if the softmax follows one                        |
    ///
    /// Counting the last one twice is the released code's: there the terminal state copies the type of the layer
    /// before it. The rates of the paper's networks depend on it, so it is kept; `[C, FC, SM]` has n = 2 but a single
    /// dropout layer, of rate 0.25.
    ///
    /// Source: MetaQNN's released `state_string_utils.py` and `string_to_model.py`.
    ///
    /// ```
    /// # use foretell_search::Trajectory;
    /// let chosen: Trajectory = "[C(64,3,1), FC(128), SM(10)]".parse()?;
    /// assert_eq!(chosen.network().to_string(), "[C(64,3,1), FC(128), D(1,2), SM(10)]");
    /// # Ok::<(), foretell_search::LayerSpaceError>(())
    /// ```
    pub fn network(&self) -> LayerSequence {
        let of = self.dropout_count();
        let mut network = Vec::with_capacity(self.layers.len() + of);
        let mut index = 0;
        for (i, &layer) in self.layers.iter().enumerate() {
            network.push(layer);
            let ends = matches!(layer, Layer::GlobalAveragePooling { .. } | Layer::Softmax { .. });
            let second = i % 2 == 1 || matches!(layer, Layer::FullyConnected { .. });
            if second && !ends {
                index += 1;
                network.push(Layer::Dropout { index, of });
            }
        }
        LayerSequence(network)
    }

    /// n of [`Trajectory::network`].
    fn dropout_count(&self) -> usize {
        let count = |wanted: fn(&Layer) -> bool| {
            let before_softmax = self.layers.iter().rev().nth(1).is_some_and(wanted);
            self.layers.iter().filter(|layer| wanted(layer)).count() + usize::from(before_softmax)
        };
        let fully_connected = count(|layer| matches!(layer, Layer::FullyConnected { .. }));
        let averaged = count(|layer| matches!(layer, Layer::GlobalAveragePooling { .. }));
        self.layers.len().saturating_sub(averaged + fully_connected) / 2 + fully_connected
    }

    /// The network as a configuration, under the name [`NETWORK`].
    pub fn configuration(&self) -> Configuration {
        Configuration::from([(NETWORK.to_owned(), Value::Text(self.network().to_string()))])
    }
}

/// Reads layer notation without dropout.
fn chosen_layers(text: &str) -> Result<Trajectory, LayerSpaceError> {
    let LayerSequence(layers) = text.parse()?;
    Ok(Trajectory { layers })
}

impl FromStr for Trajectory {
    type Err = LayerSpaceError;

    /// Reads layer notation; dropout layers are left out.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of(&text.parse()?)
    }
}

impl TryFrom<String> for Trajectory {
    type Error = LayerSpaceError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Trajectory> for String {
    fn from(trajectory: Trajectory) -> Self {
        trajectory.to_string()
    }
}

/// The layers without dropout, in layer notation.
impl fmt::Display for Trajectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, layer) in self.layers.iter().enumerate() {
            write!(f, "{}{layer}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.depth)?;
        match self.last {
            None => f.write_str("start")?,
            Some(layer) => write!(f, "{layer}")?,
        }
        if self.fully_connected > 0 {
            write!(f, "#{}", self.fully_connected)?;
        }
        write!(f, "@{}", self.bucket)
    }
}

impl FromStr for StateKey {
    type Err = LayerSpaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let syntax = || ArchitectureError::Syntax { at: text.chars().take(40).collect() };
        let number = |text: &str| text.parse::<usize>().map_err(|_| syntax());
        let (depth, rest) = text.split_once(':').ok_or_else(syntax)?;
        let (rest, bucket) = rest.split_once('@').ok_or_else(syntax)?;
        let (last, fully_connected) = rest.split_once('#').unwrap_or((rest, "0"));
        Ok(Self {
            depth: number(depth)?,
            last: if last == "start" { None } else { Some(read_layer(last)?) },
            fully_connected: number(fully_connected)?,
            bucket: number(bucket)?,
        })
    }
}

/// Reads one layer in layer notation.
pub(crate) fn read_layer(text: &str) -> Result<Layer, LayerSpaceError> {
    let network = if text.starts_with("SM") { format!("[{text}]") } else { format!("[{text}, SM(1)]") };
    let LayerSequence(layers) = network.parse()?;
    match layers[..] {
        [layer, Layer::Softmax { .. }] | [layer @ Layer::Softmax { .. }] => Ok(layer),
        _ => Err(ArchitectureError::Syntax { at: text.chars().take(40).collect() }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::trial_stream;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn state(last: &str, depth: usize, fully_connected: usize, size: usize) -> State {
        let last = if last == "start" { None } else { Some(read_layer(last).unwrap()) };
        State { last, depth, fully_connected, size }
    }

    /// Actions by kind: convolution kernels, pool kernels, fully connected sizes, whether GAP and SM.
    fn kinds(space: &LayerSpace, state: &State) -> (Vec<usize>, Vec<usize>, Vec<usize>, bool, bool) {
        let mut kinds = (vec![], vec![], vec![], false, false);
        for action in space.actions(state) {
            match action {
                Layer::Convolution { kernel, filters: 64, stride: 1 } => kinds.0.push(kernel),
                Layer::Convolution { .. } => {}
                Layer::Pooling { kernel, .. } => kinds.1.push(kernel),
                Layer::FullyConnected { units } => kinds.2.push(units),
                Layer::GlobalAveragePooling { .. } => kinds.3 = true,
                Layer::Softmax { .. } => kinds.4 = true,
                Layer::Dropout { .. } => panic!("dropout is no action"),
            }
        }
        kinds
    }

    #[test]
    fn what_may_follow_is_as_in_the_paper() {
        let space = LayerSpace::default();
        let all = vec![512, 256, 128];
        let rows = [
            //  last          depth FC size   kernels       pools         FC              GAP   SM
            (("start", 0, 0, 32), (vec![1, 3, 5], vec![], vec![], true, true)),
            (("C(64,3,1)", 1, 0, 32), (vec![1, 3, 5], vec![5, 3, 2], vec![], true, true)),
            (("C(64,3,1)", 1, 0, 8), (vec![1, 3, 5], vec![5, 3, 2], vec![], true, true)),
            (("C(64,3,1)", 3, 0, 7), (vec![1, 3], vec![3, 2], all.clone(), true, true)),
            (("C(64,3,1)", 3, 0, 4), (vec![1, 3], vec![3, 2], all.clone(), true, true)),
            (("C(64,3,1)", 3, 0, 3), (vec![], vec![], all.clone(), true, true)),
            (("P(2,2)", 3, 0, 16), (vec![1, 3, 5], vec![], vec![], true, true)), // no pooling after pooling
            (("P(2,2)", 3, 0, 5), (vec![1, 3], vec![], all, true, true)),
            (("FC(256)", 3, 1, 1), (vec![], vec![], vec![256, 128], false, true)), // sizes do not grow
            (("FC(256)", 3, 2, 1), (vec![], vec![], vec![], false, true)),         // two at most
            (("GAP(10)", 3, 0, 1), (vec![], vec![], vec![], false, true)),
            (("C(64,3,1)", 18, 0, 32), (vec![], vec![], vec![], false, true)), // depth limit
            (("C(64,3,1)", 17, 0, 32), (vec![1, 3, 5], vec![5, 3, 2], vec![], true, true)),
            (("SM(10)", 3, 0, 1), (vec![], vec![], vec![], false, false)),
        ];
        for ((last, depth, fully_connected, size), expected) in rows {
            let state = state(last, depth, fully_connected, size);
            assert_eq!(kinds(&space, &state), expected, "{}", space.key(&state));
        }
        assert_eq!(space.actions(&space.start()).len(), 14, "4·3 convolutions, GAP, SM");
    }

    #[test]
    fn the_true_size_is_tracked_through_poolings() {
        let space = LayerSpace::default();
        //   side, kernel, stride, ⌈(s − f + 1)/stride⌉
        for (size, pool, expected) in
            [(32, "P(5,3)", 10), (32, "P(3,2)", 15), (32, "P(2,2)", 16), (7, "P(3,2)", 3), (5, "P(2,2)", 2)]
        {
            let before = state("C(64,1,1)", 1, 0, size);
            assert_eq!(space.apply(&before, read_layer(pool).unwrap()).unwrap().size, expected, "{pool}");
        }
        let before = state("C(64,1,1)", 1, 0, 7);
        let error = space.apply(&before, read_layer("P(5,3)").unwrap()).unwrap_err().to_string();
        assert!(error.contains("layer 2, P(5,3), cannot follow state 1:C(64,1,1)@4"), "{error}");
    }

    #[test]
    fn dropout_is_put_in_as_in_the_released_code() {
        let rows = [
            ("[SM(10)]", "[SM(10)]"),
            ("[GAP(10), SM(10)]", "[GAP(10), SM(10)]"),
            // the fully connected layer counts twice, so the only dropout layer has rate 0.25
            ("[C(64,3,1), FC(128), SM(10)]", "[C(64,3,1), FC(128), D(1,2), SM(10)]"),
            ("[C(64,3,1), SM(10)]", "[C(64,3,1), SM(10)]"),
            ("[C(64,3,1), C(64,3,1), SM(10)]", "[C(64,3,1), C(64,3,1), D(1,1), SM(10)]"),
            ("[C(64,5,1), C(256,3,1), GAP(10), SM(10)]", "[C(64,5,1), C(256,3,1), D(1,1), GAP(10), SM(10)]"),
            // ⌊(5 − 3)/2⌋ + 3 = 4 announced, three put in
            (
                "[C(64,3,1), P(5,3), FC(256), FC(128), SM(10)]",
                "[C(64,3,1), P(5,3), D(1,4), FC(256), D(2,4), FC(128), D(3,4), SM(10)]",
            ),
        ];
        for (chosen, expected) in rows {
            let trajectory: Trajectory = chosen.parse().unwrap();
            assert_eq!(trajectory.network().to_string(), expected);
            assert_eq!(Trajectory::of(&trajectory.network()).unwrap(), trajectory);
        }
    }

    #[test]
    fn keys_trajectories_and_spaces_round_trip_as_text() {
        for key in ["0:start@8", "3:C(64,3,1)@4", "7:FC(128)#2@1", "4:GAP(10)@1", "5:SM(10)@1"] {
            assert_eq!(key.parse::<StateKey>().unwrap().to_string(), key);
        }
        for wrong in ["", "0:start", "x:start@8", "0:C(1,2)@8", "0:C(1,1,1), P(2,2)@8"] {
            assert!(wrong.parse::<StateKey>().is_err(), "{wrong}");
        }
        let trajectory: Trajectory = "[C(64,3,1), D(1,1), SM(10)]".parse().unwrap();
        let json = serde_json::to_string(&trajectory).unwrap();
        assert_eq!(json, r#""[C(64,3,1), SM(10)]""#);
        assert_eq!(serde_json::from_str::<Trajectory>(&json).unwrap(), trajectory);
        let space: LayerSpace = serde_json::from_str(r#"{"max_depth":12}"#).unwrap();
        assert_eq!(space, LayerSpace { max_depth: 12, ..LayerSpace::default() });
    }

    #[test]
    fn scaling_rounds_and_merges() {
        let space = LayerSpace::default();
        let narrow = space.scaled(1.0 / 16.0).unwrap();
        assert_eq!((narrow.filters, narrow.fully_connected), (vec![4, 8, 16, 32], vec![32, 16, 8]));
        let least = space.scaled(1e-9).unwrap();
        assert_eq!((least.filters, least.fully_connected), (vec![1], vec![1]));
        assert_eq!(space.scaled(1.0).unwrap(), space);
        let unsorted = LayerSpace { filters: vec![10, 20, 11], ..LayerSpace::default() };
        assert_eq!(unsorted.scaled(0.1).unwrap().filters, [1, 2]);
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e5] {
            assert!(space.scaled(factor).is_err(), "{factor}");
        }
    }

    #[test]
    fn descriptions_that_cannot_work_are_refused() {
        let space = LayerSpace::default();
        let pool = |kernel, stride| Pool { kernel, stride };
        let rows = [
            (LayerSpace { filters: vec![64, 0], ..space.clone() }, "filters = 0"),
            (LayerSpace { kernels: vec![3, 3], ..space.clone() }, "kernels = [3, 3] lists a size twice"),
            (LayerSpace { pools: vec![pool(2, 0)], ..space.clone() }, "pools"),
            (LayerSpace { pools: vec![pool(2, 2), pool(2, 2)], ..space.clone() }, "pools"),
            (
                LayerSpace { buckets: vec![8, 4], ..space.clone() },
                "buckets = [8, 4] must fall and end with 1",
            ),
            (LayerSpace { buckets: vec![4, 8, 1], ..space.clone() }, "buckets"),
            (LayerSpace { buckets: vec![], ..space.clone() }, "buckets"),
            (LayerSpace { classes: 0, ..space.clone() }, "classes = 0"),
            (LayerSpace { max_depth: 100_000, ..space }, "max_depth"),
        ];
        for (space, expected) in rows {
            let error = space.validate().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(LayerSpace::default().validate(), Ok(()));
    }

    #[test]
    fn the_minimum_depth_is_kept_and_zero_is_the_papers_walk() {
        let space = LayerSpace::default();
        let mut shallow = 0;
        for trial in 0..2000 {
            let bare = space.sample(0, &mut trial_stream(5, trial));
            shallow += usize::from(bare.layers().len() == 1);
            // from two layers the default space always leads on: its first pooling leaves at least 10 pixels
            let deep = space.sample(2, &mut trial_stream(5, trial));
            assert!(deep.layers().len() > 2, "{deep}");
        }
        // the softmax is 1 of 14 first draws: binomial(2000, 1/14), mean 143, standard deviation 11.5
        assert!((85..=201).contains(&shallow), "{shallow}");
    }

    proptest! {
        #[test]
        fn every_drawn_network_can_be_built_and_read_back(
            seed in any::<u64>(), height in 1_usize..70, width in 1_usize..70, depth in 0_usize..25,
            minimum in 0_usize..6, factor in 0.01..2.0_f64, first in 2_usize..12,
        ) {
            let buckets = if first > 4 { vec![first, 4, 1] } else { vec![first, 1] };
            let space = LayerSpace { height, width, max_depth: depth, buckets, ..LayerSpace::default() };
            let space = space.scaled(factor).unwrap();
            let trajectory = space.sample(minimum, &mut trial_stream(seed, 0));
            let network = trajectory.network();
            let counts = network.counts(space.image()).unwrap();
            prop_assert_eq!(counts.layers, trajectory.layers().len());
            prop_assert!(counts.layers <= depth + 1);
            prop_assert_eq!(network.to_string().parse::<Trajectory>().unwrap(), trajectory.clone());
            let states = space.states(&trajectory).unwrap();
            for state in states {
                let key = space.key(&state);
                prop_assert_eq!(key.to_string().parse::<StateKey>().unwrap(), key);
            }
        }
    }

    /// The released networks, or none (and a word on it) where the data are not at hand.
    fn released_networks() -> Vec<String> {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
        let data = std::env::var_os("FORETELL_DATA").map_or(here, PathBuf::from);
        let Ok(text) = std::fs::read_to_string(data.join("curves/paper/metaqnn_cifar10.csv")) else {
            return Vec::new();
        };
        let quoted = text.lines().skip(1).filter_map(|line| line.strip_prefix('"')?.split_once('"'));
        quoted.map(|(network, _)| network.to_owned()).collect()
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn released_networks_have_our_dropout_and_lie_in_our_space() {
        let released = released_networks();
        if released.is_empty() {
            eprintln!(
                "skipped: released_networks_have_our_dropout_and_lie_in_our_space needs curves/paper/metaqnn_cifar10.csv; set FORETELL_DATA"
            );
            return;
        }
        let space = LayerSpace::default();
        let (mut unlike, mut outside) = (Vec::new(), Vec::new());
        for text in &released {
            let trajectory: Trajectory = text.parse().unwrap();
            if trajectory.network().to_string() != *text {
                unlike.push(format!("{text}: ours {}", trajectory.network()));
            }
            if let Err(error) = space.states(&trajectory) {
                outside.push(format!("{text}: {error}"));
            }
        }
        assert_eq!(released.len(), 1000);
        assert!(unlike.is_empty(), "{} of 1000 differ, first: {}", unlike.len(), unlike[0]);
        assert!(outside.is_empty(), "{} of 1000 lie outside, first: {}", outside.len(), outside[0]);
    }
}
